/*
 * bpe_train.h - byte-level BPE: learn merges from counted pre-tokens
 *
 * The rule is that of Hugging Face's BpeTrainer (min_frequency 0, the 256
 * bytes as initial alphabet).  A pre-token is a sequence of symbols, at first
 * its bytes in GPT-2 order (ids 0..255).  A pair's count is the number of
 * places where its two symbols are neighbours, overlapping ones included
 * ("aaa" has (a, a) twice), times the count of the pre-token.  Each turn
 * takes the pair with the highest count, of equal ones the smallest (left id,
 * right id), and replaces it in every pre-token from left to right by a new
 * symbol, whose id is 256 + the number of the turn.  Sennrich, Haddow and
 * Birch 2016, "Neural Machine Translation of Rare Words with Subword Units".
 *
 * The result depends on the multiset of pre-tokens alone: not on their order,
 * nor on which thread counted them.
 */
#ifndef ASSAY_BPE_TRAIN_H
#define ASSAY_BPE_TRAIN_H

#include "tokenizer/pretokens.h"

struct bpe_train_opts {
	uint32_t merges;	/* learn at most this many, <= 2^31 */
	uint64_t min_count;	/* stop below it; at least 1 */
	uint32_t max_bytes;	/* longest token in bytes; 0: any length */
	uint64_t mem;		/* memory limit, pre-tokens included; 0: none */
};

struct bpe_train {
	size_t n;		/* merges learned */
	uint32_t (*pair)[2];	/* [n] merge k makes id 256 + k */
	uint64_t *count;	/* [n] the pair's count at its turn */
	uint64_t memory;	/* most bytes held while merging */
};

/*
 * Learn merges: fewer than o->merges if no pair is left that occurs at least
 * min_count times.  p is not changed.  out needs no initialization;
 * bpe_train_clear() afterwards, not needed after an error.  -1: more memory
 * than o->mem (checked once per turn, so a little late), or more than 2^32
 * bytes of distinct pre-tokens.
 *
 * Time: O(n log n) in the n bytes of the distinct pre-tokens, even if they
 * are a single one.  Memory besides p: 8 n for the symbols, 4 n to 12 n for
 * places of pairs, 43 to 85 per distinct pair of neighbours, 64 per token.
 */
int bpe_train_run(const struct pretokens *p, const struct bpe_train_opts *o,
		  struct bpe_train *out, struct err *e);
void bpe_train_clear(struct bpe_train *t);

/*
 * -1 if a special token is empty, not UTF-8, given twice, spelled like an
 * ordinary token (by its bytes, or by the characters that a tokenizer.json
 * has for bytes), or of such characters alone that stand for other bytes.
 * With t->n 0 only what does not depend on merges is checked,
 * so that faults of the command line are reported before the work.
 */
int bpe_train_special_check(const struct bpe_train *t,
			    const char *const *special, size_t n,
			    struct err *e);

#endif
