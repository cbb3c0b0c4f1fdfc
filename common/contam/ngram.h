/*
 * ngram.h - an exact index of n-grams
 *
 * Holds every n-gram of many examples; built once, then searched by any number
 * of threads.  The hash of an n-gram is rolled over the 64-bit hashes of its
 * units, and a hash match is verified unit by unit: no false match, no missed
 * one.
 *
 * Examples are appended as unit numbers: word numbers (word_table.h) or token
 * ids.  Each example has its own n.  An n-gram is named by its position in the
 * concatenation of all examples, the first one where it occurs; ngram_next()
 * walks its other positions.
 *
 * Memory: 4 bytes per unit of the examples and at most 25 per n-gram.  At most
 * 2^32 - 2 units.
 */
#ifndef ASSAY_NGRAM_H
#define ASSAY_NGRAM_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "text/words.h"

enum { NGRAM_MAX = 100, NGRAM_NONE = UINT32_MAX };

struct ngram_index;

struct ngram_index *ngram_new(void);
void ngram_free(struct ngram_index *g);	/* NULL is fine */

/* Append an example.  0, or -1: too many units. */
int ngram_add(struct ngram_index *g, const uint32_t *unit, size_t n,
	      struct err *e);
size_t ngram_length(const struct ngram_index *g, size_t i);	/* in units */

/* n of example i, 1 to NGRAM_MAX; must be set before ngram_build(). */
void ngram_set_n(struct ngram_index *g, size_t i, unsigned n);

/* Once, after all examples.  hash[u] is the hash of unit u; not kept. */
void ngram_build(struct ngram_index *g, const uint64_t *hash);

/* Distinct n-grams, and bytes of the index, after ngram_build(). */
size_t ngram_count(const struct ngram_index *g);
size_t ngram_bytes(const struct ngram_index *g);

/* The next position of an n-gram, ascending; NGRAM_NONE after the last. */
uint32_t ngram_next(const struct ngram_index *g, uint32_t at);
/* The example that a position belongs to. */
size_t ngram_example(const struct ngram_index *g, uint32_t at);
/* The units of an n-gram; *n gets how many. */
const uint32_t *ngram_units(const struct ngram_index *g, uint32_t at,
			    unsigned *n);

/* --- searching a text --- */

/* An n-gram that occurs in a text, from byte start to byte end. */
struct ngram_hit {
	uint32_t gram;
	uint32_t start, end;
};

/* Grows; all zero is empty. */
struct ngram_hits {
	struct ngram_hit *v;
	size_t n, cap;
};

/*
 * Append a hit for each run of w[0..n) that is an n-gram of the index: in the
 * order of the text, for each n of the index in turn.  same(ctx, i, unit) says
 * whether w[i] is that unit.
 */
void ngram_scan(const struct ngram_index *g, const struct word *w, size_t n,
		int (*same)(void *ctx, size_t i, uint32_t unit), void *ctx,
		struct ngram_hits *out);

/* The hash of a token id, for w[i].hash and for ngram_build(). */
static inline uint64_t
ngram_token_hash(uint32_t id)
{
	uint64_t x = id + 0x9e3779b97f4a7c15u;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

#endif
