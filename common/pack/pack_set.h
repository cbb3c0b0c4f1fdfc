/*
 * pack_set.h - a set of shards and the packer in front of it
 */
#ifndef ASSAY_PACK_SET_H
#define ASSAY_PACK_SET_H

#include "pack/packer.h"
#include "record/shard.h"
#include "record/vocab.h"

struct packset {
	const char *dir;	/* NULL: stdout, one file */
	enum shard_format format;
	uint64_t shard_tokens;	/* of a file */
	const struct vocab *vocab;
	int64_t bos, eos;	/* put around each document; -1: not */
	struct packer_opts packer;
};

/*
 * The writer, which the caller commits or aborts, and a packer that gives it
 * documents or windows.  NULL: error.
 */
struct packer *packset_open(const struct packset *s,
			    struct shard_writer **writer, struct err *e);

#endif
