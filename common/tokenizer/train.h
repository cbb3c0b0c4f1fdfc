/*
 * train.h - byte-level BPE: counting pieces, learning merges
 *
 * Training has two phases.  Texts are cut into pieces (split.h) and equal
 * pieces are counted: a struct pieces, one a thread, added together at the
 * end.  Then bpetrain_run() learns merges from the distinct pieces alone.
 *
 * The rule, equal to that of Hugging Face's BpeTrainer (min_frequency 0,
 * the 256 bytes as initial alphabet): a piece is a row of symbols, at first
 * its bytes in GPT-2 order (ids 0..255).  A pair's count is the number of
 * places where its two symbols are neighbours, overlapping ones included
 * ("aaa" holds (a, a) twice), times the count of the piece.  Each turn takes
 * the pair of the highest count, of equal ones the smallest (left id, right
 * id), and replaces it in every piece from left to right by a new symbol,
 * whose id is 256 + the number of the turn.  Sennrich, Haddow and Birch
 * 2016, "Neural Machine Translation of Rare Words with Subword Units".
 *
 * The result depends on the multiset of pieces only: not on their order, nor
 * on which thread counted them.
 */
#ifndef ASSAY_TRAIN_H
#define ASSAY_TRAIN_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/*
 * The inventory of pieces.  A struct pieces belongs to one thread at a time;
 * different ones are independent.  Counts are 64 bits wide, and so is the
 * sum over all texts of bytes times weight, which bounds every count that
 * can arise: pieces_add() and pieces_merge() refuse what would pass 2^63.
 */
struct pieces;

struct pieces *pieces_new(void);
void pieces_free(struct pieces *p);	/* NULL is fine */

/*
 * Count the pieces of a text: text[start..ends[0]), text[ends[0]..ends[1]),
 * ..., each `weight` times.  Ends ascend strictly.  n is the length of the
 * text; nothing behind it is read.  -1: the sum of counts would overflow.
 */
int pieces_add(struct pieces *p, const char *text, size_t n, size_t start,
	       const uint32_t *ends, size_t nends, uint64_t weight,
	       struct err *e);

/* Add the counts of from to those of to.  -1: overflow. */
int pieces_merge(struct pieces *to, const struct pieces *from, struct err *e);

struct pieces_size {
	uint64_t total;		/* pieces counted, times their weights */
	uint64_t bytes;		/* their bytes, times their weights */
	uint64_t distinct;	/* different pieces */
	uint64_t distinct_bytes;	/* their bytes together */
	uint64_t memory;	/* bytes held by the inventory */
};
void pieces_size(const struct pieces *p, struct pieces_size *s);
uint64_t pieces_memory(const struct pieces *p);	/* the last of these, cheap */

/*
 * Walk: *it starts at 0; returns 1 and a piece, or 0 at the end.  The order
 * is arbitrary.  The bytes are valid until the next call with the same
 * struct piece, and while p is not changed.
 */
struct piece {
	struct span bytes;
	uint64_t count;
	char room[16];		/* private */
};
int pieces_next(const struct pieces *p, size_t *it, struct piece *out);

struct bpetrain_opts {
	uint32_t merges;	/* learn at most so many, <= 2^31 */
	uint64_t min_count;	/* stop below it; at least 1 */
	uint32_t max_bytes;	/* longest token in bytes; 0: any length */
	uint64_t mem;		/* bound on memory, pieces included; 0: none */
};

struct bpetrain {
	size_t n;		/* merges learned */
	uint32_t (*pair)[2];	/* [n] merge k makes id 256 + k */
	uint64_t *count;	/* [n] the pair's count at its turn */
	uint64_t memory;	/* most bytes held while merging */
};

/*
 * Learn merges.  Fewer than o->merges when no pair is left that stands at
 * least min_count times.  p is not changed.  out needs no initialization;
 * bpetrain_clear() afterwards, not needed after an error.  -1: the memory
 * passes o->mem (checked at each turn, so a little late), or the distinct
 * pieces pass 2^32 bytes.
 *
 * Time: O(n log n) in the n bytes of the distinct pieces, also when they are
 * one piece.  Memory beside p: 8 n for the symbols, 4 n to 12 n for places
 * of pairs, 43 to 85 for each distinct pair of neighbours, 64 a token.
 */
int bpetrain_run(const struct pieces *p, const struct bpetrain_opts *o,
		 struct bpetrain *out, struct err *e);
void bpetrain_clear(struct bpetrain *t);

/*
 * -1 where a special token is empty, not UTF-8, given twice, or spelled like
 * an ordinary token: by its bytes, or by the characters that a
 * tokenizer.json has for bytes.  With t->n 0 what depends on merges is not
 * looked at, so that faults of the command line show before the work.
 */
int bpetrain_check_special(const struct bpetrain *t,
			   const char *const *special, size_t n,
			   struct err *e);

#endif
