/*
 * pack_set.c - a set of shards and the packer in front of it
 *
 * What the shards say of themselves: a BOS or EOS that is not put is still
 * named, and padding without a token of its own is EOS, else 0.
 */
#include "pack/pack_set.h"

static int
sink_doc(void *ctx, struct span id, const uint32_t *ids, size_t n,
	 struct err *e)
{
	return shard_write_doc(ctx, id, ids, n, e);
}

static int
sink_window(void *ctx, const uint32_t *ids, size_t real,
	    const struct shard_part *parts, size_t nparts, struct err *e)
{
	return shard_write_window(ctx, ids, real, parts, nparts, e);
}

struct packer *
packset_open(const struct packset *s, struct shard_writer **writer,
	     struct err *e)
{
	const struct packer_opts *o = &s->packer;
	const struct vocab *v = s->vocab;
	const struct shard_info info = {
		.vocab = v->n, .fingerprint = v->fingerprint,
		.bos = s->bos >= 0 ? s->bos : v->bos, .has_bos = s->bos >= 0,
		.eos = s->eos >= 0 ? s->eos : v->eos, .has_eos = s->eos >= 0,
		.pad = v->pad >= 0 ? v->pad : v->eos >= 0 ? v->eos : 0,
		.seq_len = o->seq_len, .policy = o->policy,
		.windows = packer_windowed(o),
		.shuffled = o->shuffle,
		.shuffle_seed = o->shuffle ? o->seed : 0,
	};
	struct packer_sink sink = {NULL, sink_doc, sink_window};

	*writer = shard_writer_open(s->dir, s->format, &info,
				    s->dir ? s->shard_tokens : 0, e);
	if (!*writer)
		return NULL;
	sink.ctx = *writer;
	return packer_new(o, &sink);
}
