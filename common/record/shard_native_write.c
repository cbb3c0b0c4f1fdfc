/*
 * shard_native_write.c - writer of .tok segments, without a seek
 *
 * Tokens and the records of documents that begin among them are collected in
 * a block; a full block is written with its checksums.  The tail needs an
 * index of 24 bytes per block.  Memory: a block (at most 256 KiB of ids, 1.5
 * MiB of records, about 4 MiB of document ids) and the index, 0.4 MB per
 * billion tokens.
 */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "record/shard_priv.h"

struct shard_native_writer {
	struct tok_header head;
	struct output *out;
	XXH3_state_t *content;
	struct tok_tail tail;
	struct tok_index *index;
	size_t cap;
	uint64_t offset;		/* in the segment */
	/* the open block */
	struct tok_block block;
	unsigned char *ids;		/* block_tokens x width */
	struct tok_record *rec;		/* TOK_BLOCK_RECORDS */
	struct buf names;
};

struct shard_native_writer *
shard_native_writer_new(const struct shard_info *i)
{
	struct shard_native_writer *w = xcalloc(1, sizeof(*w));
	struct tok_header *h = &w->head;

	memcpy(h->magic, TOK_MAGIC, 8);
	h->version = TOK_VERSION;
	h->bytes = sizeof(*h);
	h->vocab = i->vocab;
	h->width = i->vocab <= 65536 ? 2 : 4;
	h->fingerprint = i->fingerprint;
	h->bos = i->bos;
	h->eos = i->eos;
	h->pad = i->pad;
	h->flags = (i->has_bos ? TOK_HAS_BOS : 0) |
		   (i->has_eos ? TOK_HAS_EOS : 0) |
		   (i->windows ? TOK_WINDOWS : 0) |
		   (i->shuffled ? TOK_SHUFFLED : 0);
	h->policy = (uint32_t)i->policy;
	h->seq_len = i->seq_len;
	h->block_tokens = TOK_BLOCK_TOKENS;
	h->shuffle_seed = i->shuffle_seed;
	w->ids = xmalloc((size_t)TOK_BLOCK_TOKENS * h->width + 8);
	w->rec = xreallocarray(NULL, TOK_BLOCK_RECORDS, sizeof(*w->rec));
	return w;
}

void
shard_native_writer_free(struct shard_native_writer *w)
{
	if (!w)
		return;
	XXH3_freeState(w->content);
	free(w->index);
	free(w->ids);
	free(w->rec);
	buf_clear(&w->names);
	free(w);
}

/* Begin a segment; the writer keeps its number and the link to the last. */
int
shard_native_begin(struct shard_native_writer *w, struct output *o,
		   struct err *e)
{
	struct tok_header *h = &w->head;

	if (!w->content && !(w->content = XXH3_createState()))
		return err_set(e, "out of memory");
	XXH3_64bits_reset(w->content);
	h->check = XXH3_64bits(h, offsetof(struct tok_header, check));
	memset(&w->tail, 0, sizeof(w->tail));
	memset(&w->block, 0, sizeof(w->block));
	buf_reset(&w->names);
	w->out = o;
	w->offset = sizeof(*h);
	return output_write(o, h, sizeof(*h), e);
}

static int
flush_block(struct shard_native_writer *w, struct err *e)
{
	struct tok_block *b = &w->block;
	size_t n = (size_t)b->tokens * w->head.width;
	size_t r = b->records * sizeof(*w->rec), k = w->names.n;
	XXH3_state_t x;
	struct tok_index *i;

	memset(w->ids + n, 0, pad8(n) - n);
	while (w->names.n % 8)
		buf_putc(&w->names, 0);
	XXH3_64bits_reset(&x);
	XXH3_64bits_update(&x, w->ids, pad8(n));
	XXH3_64bits_update(&x, w->rec, r);
	XXH3_64bits_update(&x, w->names.p, w->names.n);
	b->magic = TOK_BLOCK;
	b->id_bytes = (uint32_t)k;
	b->body = XXH3_64bits_digest(&x);
	b->check = XXH3_64bits(b, offsetof(struct tok_block, check));
	XXH3_64bits_update(w->content, &b->body, 8);
	GROW(w->index, w->cap, w->tail.blocks + 1);
	i = &w->index[w->tail.blocks++];
	i->offset = w->offset;
	i->first_token = b->first_token;
	i->first_record = b->first_record;
	if (output_write(w->out, b, sizeof(*b), e) < 0 ||
	    output_write(w->out, w->ids, pad8(n), e) < 0 ||
	    output_write(w->out, w->rec, r, e) < 0 ||
	    output_write(w->out, w->names.p, w->names.n, e) < 0)
		return -1;
	w->offset += sizeof(*b) + pad8(n) + r + w->names.n;
	b->first_token += b->tokens;
	b->first_record += b->records;
	b->tokens = b->records = 0;
	buf_reset(&w->names);
	return 0;
}

static int
put_record(struct shard_native_writer *w, struct span id, uint64_t tokens,
	   uint64_t from, struct err *e)
{
	struct tok_block *b = &w->block;
	struct tok_record *r;

	if (id.n > TOK_ID_MAX)
		return err_set(e, "document id of %zu bytes, at most %d are "
			       "possible: %.60s...", id.n, TOK_ID_MAX, id.p);
	if (b->records == TOK_BLOCK_RECORDS || w->names.n > TOK_BLOCK_IDS ||
	    (tokens && b->tokens == TOK_BLOCK_TOKENS))
		if (flush_block(w, e) < 0)
			return -1;
	if (id.n)
		buf_put(&w->names, id.p, id.n);
	r = &w->rec[b->records++];
	r->start = b->tokens;
	r->id_end = (uint32_t)w->names.n;
	r->tokens = tokens;
	r->from = from;
	w->tail.records++;
	w->tail.docs += !(from & ~TOK_MORE);
	return 0;
}

static int
put_ids(struct shard_native_writer *w, const uint32_t *ids, size_t n,
	struct err *e)
{
	struct tok_block *b = &w->block;
	size_t i, m;

	w->tail.tokens += n;
	for (; n > 0; ids += m, n -= m) {
		if (b->tokens == TOK_BLOCK_TOKENS && flush_block(w, e) < 0)
			return -1;
		m = TOK_BLOCK_TOKENS - b->tokens;
		if (m > n)
			m = n;
		if (w->head.width == 4) {
			memcpy((uint32_t *)(void *)w->ids + b->tokens, ids,
			       m * 4);
		} else {
			uint16_t *v = (uint16_t *)(void *)w->ids + b->tokens;

			for (i = 0; i < m; i++)
				v[i] = (uint16_t)ids[i];
		}
		b->tokens += (uint32_t)m;
	}
	return 0;
}

int
shard_native_doc_put(struct shard_native_writer *w, struct span id,
		     const uint32_t *ids, size_t n,
	struct err *e)
{
	if (put_record(w, id, n, 0, e) < 0)
		return -1;
	return put_ids(w, ids, n, e);
}

int
shard_native_window(struct shard_native_writer *w, const uint32_t *ids,
		    size_t real,
	   const struct shard_part *v, size_t nv, struct err *e)
{
	size_t all = (size_t)w->head.seq_len + 1, i, at = 0, n;
	uint32_t fill[256];

	for (i = 0; i < nv; i++) {
		if (v[i].n > real - at)
			break;
		if (put_record(w, v[i].id, v[i].n, v[i].at |
			       (v[i].last ? 0 : TOK_MORE), e) < 0 ||
		    put_ids(w, ids + at, v[i].n, e) < 0)
			return -1;
		at += v[i].n;
	}
	if (at != real || real > all || i < nv)
		return err_set(e, "window of %zu tokens, but its parts have "
			       "other lengths",
			       real);
	w->tail.padding += all - real;
	for (i = 0; i < 256; i++)
		fill[i] = w->head.pad >= 0 ? (uint32_t)w->head.pad :
			  w->head.eos >= 0 ? (uint32_t)w->head.eos : 0;
	for (; at < all; at += n) {
		n = all - at < 256 ? all - at : 256;
		if (put_ids(w, fill, n, e) < 0)
			return -1;
	}
	return 0;
}

int
shard_native_digest(struct shard_native_writer *w, uint64_t *out, struct err *e)
{
	uint64_t x[3];

	if ((w->block.tokens || w->block.records) && flush_block(w, e) < 0)
		return -1;
	x[0] = w->head.check;		/* over the files before, too */
	x[1] = XXH3_64bits_digest(w->content);
	x[2] = w->tail.tokens;
	*out = XXH3_64bits(x, sizeof(x));
	return 0;
}

int
shard_native_end(struct shard_native_writer *w, int last, uint64_t pair,
		 struct err *e)
{
	struct tok_tail *t = &w->tail;
	struct tok_foot f = {0};
	size_t n, k;
	XXH3_state_t x;

	if ((w->block.tokens || w->block.records) && flush_block(w, e) < 0)
		return -1;
	n = t->blocks * sizeof(*w->index);
	t->magic = TOK_TAIL;
	pair = last ? pair : 0;
	t->flags = (last ? TOK_LAST : 0) | (pair ? TOK_PAIR : 0);
	t->content = XXH3_64bits_digest(w->content);
	t->header = w->head.check;
	k = pair ? sizeof(pair) : 0;
	f.tail = sizeof(*t) + n + k + sizeof(f);
	f.segment = w->offset + f.tail;
	XXH3_64bits_reset(&x);
	XXH3_64bits_update(&x, t, sizeof(*t));
	XXH3_64bits_update(&x, w->index, n);
	XXH3_64bits_update(&x, &pair, k);
	XXH3_64bits_update(&x, &f, 16);
	f.check = XXH3_64bits_digest(&x);
	memcpy(f.magic, TOK_END, 8);
	w->head.number++;
	w->head.prev = f.check;
	if (output_write(w->out, t, sizeof(*t), e) < 0 ||
	    output_write(w->out, w->index, n, e) < 0 ||
	    output_write(w->out, &pair, k, e) < 0)
		return -1;
	return output_write(w->out, &f, sizeof(f), e);
}
