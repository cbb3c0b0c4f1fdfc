/*
 * shard_foreign.c - shards of other trainers: documents that no index names
 *
 * Each format has its own reader (shard_raw.c, shard_megatron.c).  Where all
 * files of a stream have an index, that gives the document boundaries.
 * Otherwise they are inferred from the BOS or EOS id that the caller names,
 * in one scan at open; without such an id none are known.  Documents may
 * straddle llm.c and nanoGPT files.  A document belongs to the file of its
 * end, so the open tail of a file is carried into the next.
 */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "record/shard_priv.h"

enum { HASH_WHOLE = 64 << 20, HASH_SAMPLES = 64, HASH_SAMPLE = 1 << 20 };

static uint64_t
hash_bytes(const unsigned char *p, size_t n)
{
	XXH3_state_t x;
	size_t i;

	if (n <= HASH_WHOLE)
		return XXH3_64bits(p, n);
	XXH3_64bits_reset(&x);
	for (i = 0; i < HASH_SAMPLES; i++)
		XXH3_64bits_update(&x, p + (n - HASH_SAMPLE) /
				   (HASH_SAMPLES - 1) * i, HASH_SAMPLE);
	XXH3_64bits_update(&x, &n, sizeof(n));
	return XXH3_64bits_digest(&x);
}

int
shard_foreign_open(struct shards *s, size_t map, struct err *e)
{
	struct part *p = shard_part_add(s);
	struct shard_map m = s->map[map];	/* the array may move */
	int r;

	p->name = m.name;
	p->format = s->info.format;
	p->width = 2;
	r = (p->format == SHARD_MEGATRON ? shard_megatron_open :
	     shard_raw_open)(s, p, &m, e);
	if (r == 0)
		p->hash = hash_bytes(m.p, m.n);
	return r;
}

static uint32_t
token(const struct part *p, uint64_t at)
{
	uint32_t v = 0;

	memcpy(&v, p->tok + at * p->width, p->width);
	return v;
}

/* Boundaries of one part from the BOS before or the EOS after documents. */
static void
infer(struct part *p, int64_t id, int behind, uint64_t carry)
{
	uint64_t i, end, last = 0;
	size_t cap = 0;

	for (i = 0; i < p->tokens; i++) {
		if (token(p, i) != id)
			continue;
		end = i + (uint64_t)behind;
		if (end == last && carry + end == 0)
			continue;		/* BOS at the very start */
		GROW(p->own_ends, cap, p->docs + 1);
		last = p->own_ends[p->docs++] = end;
		carry = 0;
	}
	p->ends = p->own_ends;
	p->bounds = 1;
}

/* The last document of a stream ends with it. */
static void
close_tail(struct part *p)
{
	uint64_t *v;

	if ((p->docs ? p->ends[p->docs - 1] : 0) == p->tokens &&
	    (p->docs || p->carry == 0))
		return;
	v = xreallocarray(NULL, p->docs + 1, 8);
	if (p->docs)
		memcpy(v, p->ends, p->docs * 8);
	v[p->docs++] = p->tokens;
	free(p->own_ends);
	p->ends = p->own_ends = v;
}

int
shard_foreign_join(struct shards *s, struct err *e)
{
	struct shard_info *o = &s->info;
	const struct shard_hint *h = &s->hint;
	int all = 1, behind = o->format != SHARD_LLMC;
	int64_t id = behind ? h->eos : h->bos >= 0 ? h->bos : h->eos;
	uint64_t carry = 0, hash[2] = {0, 0};
	size_t i;

	if (h->limit && h->vocab > 65536 && s->part[0].width == 2)
		return err_set(e, "%s: ids of 2 bytes cannot hold a vocabulary "
			       "of %u", s->part[0].name, h->vocab);
	for (i = 0; i < s->nparts; i++)
		all &= s->part[i].bounds;
	for (i = 0; i < s->nparts; i++) {
		struct part *p = &s->part[i];

		if (p->width != s->part[0].width)
			return err_set(e, "%s: ids of %u bytes, but %u in %s",
				       p->name, p->width, s->part[0].width,
				       s->part[0].name);
		if (!all) {
			free(p->own_ends);
			free(p->id_end);
			p->own_ends = p->id_end = NULL;
			p->ends = NULL;
			p->docs = 0;
			p->bounds = 0;
			if (id >= 0)
				infer(p, id, behind, carry);
		}
		p->carry = carry;
		if (p->bounds && i + 1 == s->nparts)
			close_tail(p);
		carry = p->docs ? p->tokens - p->ends[p->docs - 1] :
			carry + p->tokens;
		hash[1] = p->hash;
		hash[0] = XXH3_64bits(hash, sizeof(hash));
		o->docs += p->docs;
	}
	o->vocab = h->vocab;
	o->width = s->part[0].width;
	o->bos = h->bos;
	o->eos = h->eos;
	o->pad = -1;
	o->hash = hash[0];
	return 0;
}
