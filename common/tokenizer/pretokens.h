/*
 * pretokens.h - distinct pre-tokens and their counts
 *
 * A struct pretokens belongs to one thread at a time; different ones are
 * independent.  Counts are 64 bits wide, and so is the sum over all texts of
 * bytes times weight, which bounds every count that can arise:
 * pretokens_add() and pretokens_merge() refuse to pass 2^63.
 */
#ifndef ASSAY_PRETOKENS_H
#define ASSAY_PRETOKENS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct pretokens;

struct pretokens *pretokens_new(void);
void pretokens_free(struct pretokens *p);	/* NULL is fine */

/*
 * Count the pre-tokens text[start..ends[0]), text[ends[0]..ends[1]), ..., each
 * `weight` times.  Ends ascend strictly.  n is the length of the text; nothing
 * after it is read.  -1: the sum of counts would overflow.
 */
int pretokens_add(struct pretokens *p, const char *text, size_t n,
		  size_t start, const uint32_t *ends, size_t nends,
		  uint64_t weight, struct err *e);

/* Add the counts of from to those of to.  -1: overflow. */
int pretokens_merge(struct pretokens *to, const struct pretokens *from,
		    struct err *e);

struct pretokens_size {
	uint64_t total;		/* pre-tokens counted, times their weights */
	uint64_t bytes;		/* their bytes, times their weights */
	uint64_t distinct;	/* different pre-tokens */
	uint64_t distinct_bytes;	/* their bytes together */
	uint64_t memory;	/* bytes held */
};
void pretokens_size(const struct pretokens *p, struct pretokens_size *s);
uint64_t pretokens_memory(const struct pretokens *p);	/* `memory`, cheap */

/*
 * Walk: *it starts at 0; returns 1 and a pre-token, or 0 at the end.  The
 * order is arbitrary.  The bytes are valid until the next call with the same
 * struct pretoken, and as long as p is not changed.
 */
struct pretoken {
	struct span bytes;
	uint64_t count;
	char room[16];		/* private */
};
int pretokens_next(const struct pretokens *p, size_t *it,
		   struct pretoken *out);

#endif
