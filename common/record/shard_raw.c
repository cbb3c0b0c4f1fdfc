/*
 * shard_raw.c - files of token ids and little else
 *
 *	llm.c		256 x i32 header: 20240520, 1, tokens (u16) or 20240801,
 *			7, tokens (u32); the file has exactly that size
 *	nanoGPT		u16 ids, nothing else
 *	datatrove	X.ds ids, X.ds.index: u64 ends of documents
 *	OLMo, dolma	X.npy ids without a NumPy header, X.csv.gz: rows
 *			start,end,path,id (or start,end,id,source,line)
 *
 * An llm.c or nanoGPT file may have a NAME.index too; pack writes one.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/path.h"
#include "record/shard_priv.h"
#include "stream/input.h"

enum { LLMC_HEADER = 1024 };

int
shard_ends_with(const char *path, const char *end)
{
	size_t n = strlen(path), k = strlen(end);

	return n > k && strcmp(path + n - k, end) == 0;
}

char *
shard_beside(const char *path, const char *end, const char *other)
{
	size_t n = strlen(path);

	if (shard_ends_with(path, end))
		n -= strlen(end);
	return xstrf("%.*s%s", (int)n, path, other);
}

static int
llmc(struct part *p, const struct shard_map *m, struct err *e)
{
	const unsigned char *b = m->p;
	uint64_t n, want;

	if (m->n < LLMC_HEADER)
		return err_set(e, "%s: truncated: %zu bytes where an llm.c "
			       "header has %d", m->name, m->n, LLMC_HEADER);
	if (shard_sniff(b, 8) != SHARD_LLMC)
		return err_set(e, "%s: offset 0: found magic %u, version %u, "
			       "expected %d, 1 or %d, 7 (llm.c)", m->name,
			       shard_get32(b), shard_get32(b + 4), LLMC_MAGIC16,
			       LLMC_MAGIC32);
	n = shard_get32(b + 8);
	p->width = shard_get32(b) == LLMC_MAGIC16 ? 2 : 4;
	want = LLMC_HEADER + n * p->width;
	if (n == 0 || n > INT32_MAX)
		return err_set(e, "%s: offset 8: %d tokens", m->name,
			       (int)shard_get32(b + 8));
	if (m->n != want)
		return err_set(e, "%s: %zu bytes, but its header has %llu "
			       "tokens, expected %llu bytes", m->name, m->n,
			       (unsigned long long)n, (unsigned long long)want);
	p->tok = b + LLMC_HEADER;
	p->tok_offset = LLMC_HEADER;
	p->tokens = n;
	return 0;
}

/*
 * Is every second of these 2-byte ids 0, as in ids of 4 bytes?  Real text has
 * no such stretch of 32 ids and more.
 */
static int
looks_wider(const struct part *p)
{
	uint64_t n = p->tokens < 65536 ? p->tokens : 65536, i;
	const unsigned char *b = p->tok;
	unsigned low = 0, high = 0;

	if (p->tokens % 2 || n < 32)
		return 0;
	for (i = 0; i + 1 < n; i += 2) {
		low |= b[2 * i] | b[2 * i + 1];
		high |= b[2 * i + 2] | b[2 * i + 3];
	}
	return low && !high;
}

/* Raw ids; the width is known. */
static int
raw(const struct shards *s, struct part *p, const struct shard_map *m,
    struct err *e)
{
	p->tok = m->p;
	if (m->n == 0)
		return err_set(e, "%s: empty", m->name);
	if (m->n % p->width)
		return err_set(e, "%s: %zu bytes are not a multiple of the %u "
			       "bytes of an id", m->name, m->n, p->width);
	p->tokens = m->n / p->width;
	if (p->width == 2 && !s->hint.id_bytes && looks_wider(p))
		return err_set(e, "%s: every second id of 2 bytes is 0, as if "
			       "ids had 4: state the bytes per id (4 or 2)",
			       m->name);
	return 0;
}

/* Width of raw ids from the caller, the index, or the vocabulary. */
static uint32_t
raw_width(const struct shards *s, uint64_t bytes, uint64_t last_end)
{
	if (s->hint.id_bytes)
		return 2 * (uint32_t)s->hint.id_bytes;
	if (last_end && bytes == last_end * 4)
		return 4;
	if (last_end && bytes == last_end * 2)
		return 2;
	return s->hint.vocab > 65536 ? 4 : 2;
}

static int
ends_ascend(const struct part *p, const char *index, struct err *e)
{
	uint64_t i, at = 0;

	for (i = 0; i < p->docs; at = p->ends[i++])
		if (p->ends[i] < at || p->ends[i] > p->tokens)
			return err_set(e, "%s: document %llu ends at token "
				       "%llu, after %llu, of %llu", index,
				       (unsigned long long)i,
				       (unsigned long long)p->ends[i],
				       (unsigned long long)at,
				       (unsigned long long)p->tokens);
	return 0;
}

/* Raw ids; their documents, if p->bounds, are those that index lists. */
static int
raw_indexed(const struct shards *s, struct part *p, const struct shard_map *m,
	    const char *index, struct err *e)
{
	uint64_t last = p->docs ? p->ends[p->docs - 1] : 0;

	p->width = raw_width(s, m->n, last);
	if ((m->n || !p->bounds) && raw(s, p, m, e) < 0)
		return -1;
	if (p->bounds && last != p->tokens)
		return err_set(e, "%s: %zu bytes, but %s ends at token %llu",
			       m->name, m->n, index, (unsigned long long)last);
	return 0;
}

/* NAME.index: u64 ends of documents. */
static int
index_ends(struct shards *s, struct part *p, const char *index, struct err *e)
{
	ptrdiff_t k = shard_map_file(s, index, e);

	if (k < 0)
		return -1;
	if (s->map[k].n % 8)
		return err_set(e, "%s: %zu bytes are not a multiple of the 8 "
			       "bytes of a document end", index, s->map[k].n);
	p->ends = s->map[k].p;
	p->docs = s->map[k].n / 8;
	p->bounds = 1;
	return 0;
}

static int
datatrove(struct shards *s, struct part *p, const struct shard_map *m,
	  struct err *e)
{
	char *index = shard_beside(m->name, "", ".index");
	int r = -1;

	if (!path_exists(index))
		err_set(e, "%s: its index %s is missing", m->name, index);
	else if (index_ends(s, p, index, e) == 0 &&
		 raw_indexed(s, p, m, index, e) == 0)
		r = ends_ascend(p, index, e);
	free(index);
	return r;
}

/* --- OLMo --- */

/* Split one csv line at q into quoted fields; returns its end. */
static char *
csv_line(char *q, char *end, struct span *f, size_t max, size_t *n)
{
	int quoted = 0;

	f[0].p = q;
	for (*n = 1; q < end && (quoted || *q != '\n'); q++) {
		if (*q == '"')
			quoted = !quoted;
		else if (*q == ',' && !quoted && *n < max) {
			f[*n - 1].n = (size_t)(q - f[*n - 1].p);
			f[(*n)++].p = q + 1;
		}
	}
	f[*n - 1].n = (size_t)(q - f[*n - 1].p);
	while (f[*n - 1].n && f[*n - 1].p[f[*n - 1].n - 1] == '\r')
		f[*n - 1].n--;
	return q < end ? q + 1 : q;
}

/* Append f without quotes at `to`, in place; returns the new end. */
static char *
csv_unquote(char *to, struct span f)
{
	size_t i, quoted = f.n >= 2 && f.p[0] == '"';

	for (i = quoted; i + quoted < f.n; i++) {
		*to++ = f.p[i];
		if (quoted && f.p[i] == '"' && f.p[i + 1] == '"')
			i++;
	}
	return to;
}

static int
csv_number(struct span f, uint64_t *v)
{
	size_t i;

	*v = 0;
	for (i = 0; i < f.n; i++) {
		if (f.p[i] < '0' || f.p[i] > '9' || i > 18)
			return -1;
		*v = *v * 10 + (uint64_t)(f.p[i] - '0');
	}
	return f.n ? 0 : -1;
}

static int
csv_parse(struct part *p, const char *name, char *text, size_t n, struct err *e)
{
	char *q = text, *end = text + n, *to = text;
	uint64_t start, stop, at = 0, line = 0;
	size_t k, ends = 0, cap = 0;
	struct span f[5];

	p->id_text = text;
	p->bounds = 1;
	while (q < end) {
		q = csv_line(q, end, f, 5, &k);
		line++;
		if (k < 2 || csv_number(f[0], &start) < 0 ||
		    csv_number(f[1], &stop) < 0 || start != at || stop < at)
			return err_set(e, "%s: line %llu: expected "
				       "\"%llu,END,...\"", name,
				       (unsigned long long)line,
				       (unsigned long long)at);
		GROW(p->own_ends, ends, p->docs + 1);
		GROW(p->id_end, cap, p->docs + 1);
		at = p->own_ends[p->docs] = stop;
		if (k >= 3)	/* start,end,path,id or start,end,id,... */
			to = csv_unquote(to, k == 4 ? f[3] : f[2]);
		p->id_end[p->docs++] = (uint64_t)(to - text);
	}
	p->ends = p->own_ends;
	return 0;
}

static int
npy(struct shards *s, struct part *p, const struct shard_map *m, struct err *e)
{
	char *csv = shard_beside(m->name, ".npy", ".csv.gz");
	char *text;
	size_t n;
	int r = 0;

	if (m->n >= 6 && memcmp(m->p, "\x93NUMPY", 6) == 0)
		r = err_set(e, "%s: a NumPy file with a header; OLMo's .npy "
			    "has raw ids", m->name);
	else if (path_exists(csv) && (input_slurp(csv, &text, &n, e) < 0 ||
		 csv_parse(p, csv, text, n, e) < 0))
		r = -1;
	if (r == 0)
		r = raw_indexed(s, p, m, csv, e);
	free(csv);
	return r;
}

/* --- */

static int
raw_or_llmc(struct shards *s, struct part *p, const struct shard_map *m,
	    struct err *e)
{
	char *index = shard_beside(m->name, "", ".index");
	int r = 0;

	if (p->format == SHARD_NANOGPT && shard_sniff(m->p, m->n))
		r = err_set(e, "%s: starts like a shard of another format, "
			    "not with raw ids", m->name);
	else if (path_exists(index))
		r = index_ends(s, p, index, e);
	if (r == 0 && p->format == SHARD_NANOGPT) {
		p->width = raw_width(s, m->n,
				     p->docs ? p->ends[p->docs - 1] : 0);
		r = raw(s, p, m, e);
	} else if (r == 0) {
		r = llmc(p, m, e);
	}
	if (r == 0 && p->bounds)
		r = ends_ascend(p, index, e);
	free(index);
	return r;
}

int
shard_raw_open(struct shards *s, struct part *p, const struct shard_map *m,
	       struct err *e)
{
	return (p->format == SHARD_DATATROVE ? datatrove :
		p->format == SHARD_NPY ? npy : raw_or_llmc)(s, p, m, e);
}
