/*
 * bpe_priv.h - shared by bpe.c and align.c
 */
#ifndef ASSAY_BPE_PRIV_H
#define ASSAY_BPE_PRIV_H

#include "tokenizer/bpe.h"
#include "tokenizer/bpe_added_priv.h"
#include "tokenizer/bpe_merge_priv.h"
#include "tokenizer/split.h"

struct bpe {
	const struct vocab *v;
	struct split *split;
	struct bpe_merge merge;
	struct bpe_shared *shared;
	struct bpe_added *raw, *normal;	/* before and after normalization */
	int missing;		/* some byte has no token */
};

#endif
