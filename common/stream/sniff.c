/*
 * sniff.c - what a file is that is not JSON Lines
 */
#include "stream/sniff.h"

#include <string.h>

#include "stream/json_scan.h"

#define ARROW(how) "an Arrow file is not supported (python3 -c \"import " \
	"json, pyarrow as a; [print(json.dumps(r)) for r in a.ipc." how \
	"('FILE').read_all().to_pylist()]\" | ...)"
#define UTF16 "UTF-16 is not supported (iconv -f UTF-16 -t UTF-8)"

/* "TEXT" where sizeof counts the bytes, NUL too. */
#define MAGIC(s) s, sizeof(s) - 1

static const struct {
	const char *magic;
	size_t n;
	size_t at;
	const char *what;
} magics[] = {
	{ MAGIC("BZh"), 0, "bzip2 is not supported (bzip2 -dc FILE | ...)" },
	{ MAGIC("\xfd" "7zXZ"), 0, "xz is not supported (xz -dc FILE | ...)" },
	{ MAGIC("\x04\x22\x4d\x18"), 0,
	  "lz4 is not supported (lz4 -dc FILE | ...)" },
	{ MAGIC("PK\x03\x04"), 0,
	  "zip archives are not supported (unzip -p FILE | ...)" },
	{ MAGIC("7z\xbc\xaf\x27\x1c"), 0,
	  "7z archives are not supported (7z x -so FILE | ...)" },
	{ MAGIC("ustar"), 257,
	  "tar archives are not supported (tar -xOf FILE | ...)" },
	{ MAGIC("\xff\xfe"), 0, UTF16 },
	{ MAGIC("\xfe\xff"), 0, UTF16 },
	{ MAGIC("\0\0\xfe\xff"), 0,
	  "UTF-32 is not supported (iconv -f UTF-32 -t UTF-8)" },
	{ MAGIC("PAR1"), 0, "a Parquet file is not supported (duckdb -c "
	  "\"copy (from 'FILE') to '/dev/stdout' (format json)\" | ..., or "
	  "python3 -c \"import json, pyarrow.parquet as p; "
	  "[print(json.dumps(r)) for b in p.ParquetFile('FILE').iter_batches() "
	  "for r in b.to_pylist()]\" | ...)" },
	{ MAGIC("ARROW1"), 0, ARROW("open_file") },
	{ MAGIC("\xff\xff\xff\xff"), 0, ARROW("open_stream") },
	{ MAGIC("FEA1"), 0, "a Feather file is not supported" },
	{ MAGIC("Obj\x01"), 0, "an Avro file is not supported" },
	{ MAGIC("\x89HDF"), 0, "an HDF5 file is not supported" },
	{ MAGIC("SQLite format 3"), 0, "an SQLite database is not supported "
	  "(sqlite3 -json FILE 'select ...' | jq -c '.[]' | ...)" },
	{ MAGIC("%PDF-"), 0, "a PDF file is not supported (pdftotext FILE -)" },
	{ MAGIC("\x93NUMPY"), 0, "this is a NumPy array, not documents" },
	{ MAGIC("GGUF"), 0, "these are weights of a model, not documents" },
	{ MAGIC("assaytok"), 0, "this is a shard of token ids, not documents" },
};

const char *
sniff_binary(const char *p, size_t n)
{
	for (size_t i = 0; i < sizeof magics / sizeof magics[0]; i++)
		if (n >= magics[i].at + magics[i].n &&
		    !memcmp(p + magics[i].at, magics[i].magic, magics[i].n))
			return magics[i].what;
	/* Protocol buffers: the first piece, its text in angle brackets. */
	if (n > 5 && p[0] == '\n' && p[2] == '\n' && p[3] < 0x40 &&
	    p[4] == '<')
		return "this is a SentencePiece model, not documents";
	/* A header of JSON after its length in eight bytes. */
	if (n > 9 && p[8] == '{' && !p[5] && !p[6] && !p[7])
		return "these are weights of a model (safetensors), not "
		       "documents";
	return NULL;
}

static int
begins(struct span s, const char *with)
{
	size_t n = strlen(with);

	return s.n >= n && !memcmp(s.p, with, n);
}

static struct span
trim(struct span s)
{
	while (s.n && strchr(" \t\r\n", *s.p) && *s.p)
		s.p++, s.n--;
	while (s.n && strchr(" \t\r\n", s.p[s.n - 1]) && s.p[s.n - 1])
		s.n--;
	return s;
}

/* Is the key one of the fields of a header that sep divides? */
static int
has_field(struct span s, const char *key, char sep)
{
	size_t n = strlen(key);
	const char *end = s.p + s.n, *p = s.p, *q;
	int fields = 0, found = 0;

	for (; p <= end; p = q + 1, fields++) {
		struct span f;

		q = memchr(p, sep, (size_t)(end - p));
		if (!q)
			q = end;
		f = (struct span){ p, (size_t)(q - p) };
		if (f.n > 1 && *f.p == '"' && f.p[f.n - 1] == '"')
			f = (struct span){ f.p + 1, f.n - 2 };
		found |= f.n == n && !memcmp(f.p, key, n);
	}
	return found && fields > 1;
}

const char *
sniff_line(struct span line, const char *text_key)
{
	struct span s = trim(line);

	if (!s.n)
		return NULL;
	if (*s.p == '[')
		return "this is a JSON array (jq -c '.[]' FILE | ...)";
	if (*s.p == '{' && strchr("{[,", s.p[s.n - 1]))
		return "this is JSON over several lines (jq -c . FILE | ...)";
	if (*s.p == '{')
		return NULL;
	if (*s.p == '"' && s.p[s.n - 1] == '"' && s.n > 1 &&
	    !has_field(s, text_key, ','))
		return "this is a JSON string (jq -c '{text: .}' FILE | ...)";
	if (begins(s, "version https://git-lfs"))
		return "this is a pointer of Git LFS, not the file (git lfs "
		       "pull)";
	if (begins(s, "WARC/"))
		return "this is a WARC file: extract its text first";
	if (*s.p == '<')
		return "this is HTML or XML: extract its text first";
	if (begins(s, "#version:"))
		return "these are the merges of a tokenizer, not documents";
	if (has_field(s, text_key, ','))
		return "this is a CSV file (duckdb -c \"copy (from "
		       "read_csv('FILE')) to '/dev/stdout' (format json)\" | "
		       "...)";
	if (has_field(s, text_key, '\t'))
		return "this is a TSV file (duckdb -c \"copy (from "
		       "read_csv('FILE')) to '/dev/stdout' (format json)\" | "
		       "...)";
	return "plain text is converted by jq: -Rc '{text: .}' FILE makes a "
	       "document of each line, -Rsc of the file";
}

const char *
sniff_object(struct span line)
{
	struct json_walk w;
	struct span key, val;
	size_t n = 0, numbers = 0, model = 0;

	json_walk_open(&w, line);
	while (n < 100 && json_walk_next(&w, &key, &val)) {
		n++;
		numbers += strchr("-0123456789", *val.p) != NULL;
		model += begins(key, "added_tokens") && key.n == 12;
		model += begins(key, "model") && key.n == 5;
		if (*val.p == '[' && begins(trim((struct span){
					val.p + 1, val.n - 1 }), "{") &&
		    begins(key, "data") && key.n == 4)
			return "this is one object with an array (jq -c "
			       "'.data[]' FILE | ...)";
	}
	if (model == 2)
		return "this is a tokenizer.json, not documents";
	if (n > 2 && n == numbers)
		return "this is a vocabulary (vocab.json), not documents";
	return NULL;
}

void
sniff_keys(struct span line, struct buf *b)
{
	enum { MOST = 8, LONGEST = 40 };
	struct span key, val;
	struct json_walk w;
	size_t n = 0;

	json_walk_open(&w, line);
	while (n < MOST && json_walk_next(&w, &key, &val)) {
		size_t k = key.n < LONGEST ? key.n : LONGEST;

		buf_printf(b, "%s\"%.*s%s\"", n++ ? ", " : "", (int)k, key.p,
			   k < key.n ? "..." : "");
	}
	buf_puts(b, n == 0 ? "nothing" :
		 json_walk_next(&w, &key, &val) ? ", ..." : "");
}
