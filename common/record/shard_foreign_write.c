/*
 * shard_foreign_write.c - one file after another in a format of other trainers
 *
 * Ids go out as they come.  Document lengths and boundaries that belong in an
 * index go to a second file beside them (datatrove, csv, NAME.index), or are
 * kept until the end where the index lists all of one kind first (Megatron:
 * 4 bytes and 8 for each document).
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "record/shard_priv.h"
#include "stream/json.h"

enum { LLMC_HEADER = 1024 };

struct shard_foreign_writer {
	enum shard_format format;
	struct shard_info info;
	struct output *ids, *side, *meta;	/* of the file now open */
	uint64_t tokens;		/* in it */
	uint64_t sequences;		/* in it (megatron) */
	struct buf tmp, length, bound;
};

struct shard_foreign_writer *
shard_foreign_writer_new(enum shard_format format,
			 const struct shard_info *info)
{
	struct shard_foreign_writer *w = xcalloc(1, sizeof(*w));

	w->format = format;
	w->info = *info;
	return w;
}

void
shard_foreign_writer_free(struct shard_foreign_writer *w)
{
	if (!w)
		return;
	buf_clear(&w->tmp);
	buf_clear(&w->length);
	buf_clear(&w->bound);
	free(w);
}

int
shard_foreign_begin(struct shard_foreign_writer *w, struct output *const out[3],
		    struct err *e)
{
	unsigned char head[LLMC_HEADER] = {0};

	w->ids = out[0];
	w->side = out[1];
	w->meta = out[2];
	w->tokens = w->sequences = 0;
	buf_reset(&w->length);
	buf_reset(&w->bound);
	switch (w->format) {
	case SHARD_LLMC:		/* the count follows at the end */
		return output_write(w->ids, head, LLMC_HEADER, e);
	case SHARD_MEGATRON:
		buf_put(&w->bound, &w->sequences, 8);
		return 0;
	default:
		return 0;
	}
}

static int
megatron_index(struct shard_foreign_writer *w, struct err *e)
{
	uint64_t head[3] = {1, w->sequences, w->bound.n / 8}, at = 0;
	unsigned char code = w->info.width == 2 ? 8 : 4;
	uint64_t i, k, ptr[512];
	uint32_t n;

	if (output_write(w->side, "MMIDIDX\0\0", 9, e) < 0 ||
	    output_write(w->side, head, 8, e) < 0 ||
	    output_write(w->side, &code, 1, e) < 0 ||
	    output_write(w->side, head + 1, 16, e) < 0 ||
	    output_write(w->side, w->length.p, w->length.n, e) < 0)
		return -1;
	for (i = k = 0; i < w->sequences; i++) {
		ptr[k++] = at * w->info.width;
		memcpy(&n, w->length.p + i * 4, 4);
		at += n;
		if (k == 512 || i + 1 == w->sequences) {
			if (output_write(w->side, ptr, k * 8, e) < 0)
				return -1;
			k = 0;
		}
	}
	return output_write(w->side, w->bound.p, w->bound.n, e);
}

/* datatrove: tokenizer|bytes an id, count, the same for a person. */
static int
datatrove_metadata(struct shard_foreign_writer *w, struct err *e)
{
	static const char unit[] = " kMGT";
	double v = (double)w->tokens;
	size_t u = 0;

	for (; v >= 1000 && u < 4; u++)
		v /= 1000;
	buf_reset(&w->tmp);
	buf_printf(&w->tmp, "assay:%016llx|%u\n%llu\n",
		   (unsigned long long)w->info.fingerprint, w->info.width,
		   (unsigned long long)w->tokens);
	if (u)
		buf_printf(&w->tmp, "%.1f%c", v, unit[u]);
	else
		buf_printf(&w->tmp, "%.0f", v);
	return output_write(w->meta, w->tmp.p, w->tmp.n, e);
}

int
shard_foreign_end(struct shard_foreign_writer *w, struct err *e)
{
	int two = w->info.width == 2;
	const uint32_t head[LLMC_HEADER / 4] = {
		two ? LLMC_MAGIC16 : LLMC_MAGIC32, two ? 1 : 7,
		(uint32_t)w->tokens
	};

	switch (w->format) {
	case SHARD_LLMC:
		return output_pwrite(w->ids, head, LLMC_HEADER, 0, e);
	case SHARD_MEGATRON:
		return megatron_index(w, e);
	case SHARD_DATATROVE:
		return datatrove_metadata(w, e);
	default:
		return 0;
	}
}

int
shard_foreign_ids(struct shard_foreign_writer *w, const uint32_t *ids, size_t n,
	  struct err *e)
{
	uint16_t v[4096];
	size_t i, m;

	w->tokens += n;
	if (w->info.width == 4)
		return output_write(w->ids, ids, n * 4, e);
	for (; n > 0; ids += m, n -= m) {
		m = n < 4096 ? n : 4096;
		for (i = 0; i < m; i++)
			v[i] = (uint16_t)ids[i];
		if (output_write(w->ids, v, m * 2, e) < 0)
			return -1;
	}
	return 0;
}

int
shard_foreign_bound(struct shard_foreign_writer *w, struct err *e)
{
	return output_write(w->side, &w->tokens, 8, e);
}

static int
megatron(struct shard_foreign_writer *w, const uint32_t *ids, size_t n,
	  struct err *e)
{
	int32_t length = (int32_t)n;

	if (n > INT32_MAX)
		return err_set(e, "format megatron: a document of %zu tokens, "
			       "its index holds less than 2^31", n);
	if (n) {		/* an empty document has no sequence */
		buf_put(&w->length, &length, 4);
		w->sequences++;
	}
	buf_put(&w->bound, &w->sequences, 8);
	return shard_foreign_ids(w, ids, n, e);
}

/* start,end,path,id */
static int
csv(struct shard_foreign_writer *w, struct span id, const uint32_t *ids,
    size_t n, struct err *e)
{
	uint64_t start = w->tokens;
	int quote = 0;
	size_t i;

	if (shard_foreign_ids(w, ids, n, e) < 0)
		return -1;
	buf_reset(&w->tmp);
	buf_printf(&w->tmp, "%llu,%llu,,", (unsigned long long)start,
		   (unsigned long long)w->tokens);
	for (i = 0; i < id.n; i++)
		quote |= strchr(",\"\r\n", id.p[i]) != NULL;
	if (quote)
		buf_putc(&w->tmp, '"');
	for (i = 0; i < id.n; i++) {
		if (id.p[i] == '"')
			buf_putc(&w->tmp, '"');
		buf_putc(&w->tmp, id.p[i]);
	}
	buf_puts(&w->tmp, quote ? "\"\n" : "\n");
	return output_write(w->side, w->tmp.p, w->tmp.n, e);
}

static int
jsonl(struct shard_foreign_writer *w, struct span id, const uint32_t *ids,
      size_t n, struct err *e)
{
	size_t i;

	w->tokens += n;
	buf_reset(&w->tmp);
	buf_puts(&w->tmp, "{\"id\":");
	json_put_str(&w->tmp, id);
	buf_puts(&w->tmp, ",\"ids\":[");
	for (i = 0; i < n; i++) {
		if (i)
			buf_putc(&w->tmp, ',');
		json_put_uint(&w->tmp, ids[i]);
	}
	buf_puts(&w->tmp, "]}\n");
	return output_write(w->ids, w->tmp.p, w->tmp.n, e);
}

int
shard_foreign_doc(struct shard_foreign_writer *w, struct span id,
		  const uint32_t *ids, size_t n, struct err *e)
{
	switch (w->format) {
	case SHARD_MEGATRON:
		return megatron(w, ids, n, e);
	case SHARD_DATATROVE:
		if (shard_foreign_ids(w, ids, n, e) < 0)
			return -1;
		return shard_foreign_bound(w, e);
	case SHARD_NPY:
		return csv(w, id, ids, n, e);
	default:
		return jsonl(w, id, ids, n, e);
	}
}
