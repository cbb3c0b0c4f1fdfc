/*
 * shard_megatron.c - Megatron: X.bin with raw ids, X.idx with their layout
 *
 * X.idx: "MMIDIDX\0\0", u64 version 1, a byte for the type of the ids, u64
 * sequences, u64 documents; then per sequence a u32 length and a u64 pointer
 * (byte offset in X.bin), and the number of the first sequence of each
 * document, with one more for the end.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/path.h"
#include "record/shard_priv.h"

enum { IDX_HEADER = 34 };

/* Sequences must be adjacent: each pointer is the sum of the lengths before. */
static int
megatron_index(struct part *p, const struct shard_map *m,
	       const struct shard_map *x, struct err *e)
{
	const unsigned char *b = x->p, *len, *ptr, *doc;
	uint64_t seqs, docs, i, at = 0, k, left = x->n - IDX_HEADER;
	uint64_t *end;

	seqs = shard_get64(b + 18);
	docs = shard_get64(b + 26);
	if (seqs > left / 12 || docs > (left - seqs * 12) / 8 || docs == 0)
		return err_set(e, "%s: %zu bytes are too few for %llu "
			       "sequences and %llu document boundaries",
			       x->name, x->n, (unsigned long long)seqs,
			       (unsigned long long)docs);
	left -= seqs * 12 + docs * 8;
	if (left != 0 && left != seqs)		/* modes, a byte a sequence */
		return err_set(e, "%s: %llu bytes too long", x->name,
			       (unsigned long long)left);
	len = b + IDX_HEADER;
	ptr = len + seqs * 4;
	doc = ptr + seqs * 8;
	p->docs = docs - 1;
	p->ends = p->own_ends = end = xreallocarray(NULL, docs, 8);
	p->bounds = 1;
	for (i = k = 0; k < docs; k++) {
		uint64_t to = shard_get64(doc + k * 8);

		if (to < i || to > seqs || (k == 0 && to != 0) ||
		    (k == docs - 1 && to != seqs))
			return err_set(e, "%s: document boundary %llu is at "
				       "sequence %llu of %llu", x->name,
				       (unsigned long long)k,
				       (unsigned long long)to,
				       (unsigned long long)seqs);
		for (; i < to; i++) {
			if ((int32_t)shard_get32(len + i * 4) < 0)
				return err_set(e, "%s: sequence %llu has %d "
					       "tokens", x->name,
					       (unsigned long long)i,
					       (int)shard_get32(len + i * 4));
			if (shard_get64(ptr + i * 8) != at * p->width)
				return err_set(e, "%s: sequence %llu is at "
					       "byte %llu, expected %llu",
					       x->name, (unsigned long long)i,
					       (unsigned long long)
					       shard_get64(ptr + i * 8),
					       (unsigned long long)at *
					       p->width);
			at += shard_get32(len + i * 4);
		}
		if (k)
			end[k - 1] = at;
	}
	if (at * p->width != m->n)
		return err_set(e, "%s: %zu bytes, but %s says %llu tokens of "
			       "%u bytes", m->name, m->n, x->name,
			       (unsigned long long)at, p->width);
	p->tokens = at;
	return 0;
}

int
shard_megatron_open(struct shards *s, struct part *p,
		    const struct shard_map *m, struct err *e)
{
	char *name = shard_beside(m->name, ".bin", ".idx");
	const struct shard_map *x;
	const unsigned char *b;
	ptrdiff_t k;
	int r = -1;

	if (!path_exists(name)) {
		err_set(e, "%s: its index %s is missing", m->name, name);
		goto out;
	}
	if ((k = shard_map_file(s, name, e)) < 0)
		goto out;
	x = &s->map[k];
	b = x->p;
	if (x->n < IDX_HEADER || shard_sniff(b, 9) != SHARD_MEGATRON ||
	    shard_get64(b + 9) != 1) {
		err_set(e, "%s: offset 0: not a Megatron index of version 1",
			name);
		goto out;
	}
	if (b[17] != 8 && b[17] != 4) {
		err_set(e, "%s: offset 17: dtype code %u, expected 8 (uint16) "
			"or 4 (int32)", name, b[17]);
		goto out;
	}
	p->width = b[17] == 8 ? 2 : 4;
	p->tok = m->p;
	r = megatron_index(p, m, x, e);
out:
	free(name);
	return r;
}
