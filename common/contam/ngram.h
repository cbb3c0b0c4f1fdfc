/*
 * ngram.h - which n-grams of the benchmarks stand in a text
 *
 * An index of every run of n words (or of n tokens) of many examples, built
 * once, then asked by any thread.  A word has a 64-bit hash, a run's hash is
 * rolled over those, and what the hash finds is compared word by word: there
 * is no false match, and no missed one.
 *
 * Examples are appended as unit numbers: the number of a word in a struct
 * ngram_words, or a token id.  Different examples may have different n.
 * A gram is named by its first place in the concatenation of all examples;
 * ngram_next() walks the places where the same gram stands again.
 *
 * Memory: 4 bytes a unit of the examples and at most 25 a gram; the words
 * themselves, each once, come on top.  At most 2^32 - 2 units.
 */
#ifndef ASSAY_NGRAM_H
#define ASSAY_NGRAM_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "text/words.h"

enum { NGRAM_MAX = 100, NGRAM_NONE = UINT32_MAX };

/* --- the distinct words of the benchmarks, numbered --- */

/* All zero is valid and empty. */
struct ngram_words {
	uint64_t *hash;		/* [n] */
	uint64_t *start;	/* [n + 1] of the bytes in `bytes` */
	size_t n, cap;
	struct buf bytes;	/* normalized, behind one another */
	uint32_t *slot;		/* number + 1, by hash */
	size_t mask;
	struct buf tmp;
};

/* The number of a word of text, added where it is new. */
uint32_t ngram_words_add(struct ngram_words *v, struct span text,
			 const struct word *w);
struct span ngram_words_at(const struct ngram_words *v, uint32_t unit);
void ngram_words_clear(struct ngram_words *v);

/* Is w, a word of text, word number unit?  tmp is the thread's. */
int ngram_words_same(const struct ngram_words *v, uint32_t unit,
		     struct span text, const struct word *w, struct buf *tmp);

/* --- the index --- */

struct ngram;

/*
 * hash[u] is the hash of unit u; it is borrowed, and read by ngram_build()
 * only, so that it may move while examples are added.
 */
struct ngram *ngram_new(void);
void ngram_free(struct ngram *g);	/* NULL is fine */

/* The next example; ngram_build() takes its runs of n = ngram_set_n(). */
int ngram_add(struct ngram *g, const uint32_t *unit, size_t n, struct err *e);

/* n of example i: 1 to NGRAM_MAX.  To be set for each one. */
void ngram_set_n(struct ngram *g, size_t i, unsigned n);
size_t ngram_examples(const struct ngram *g);
size_t ngram_length(const struct ngram *g, size_t i);	/* in units */

void ngram_build(struct ngram *g, const uint64_t *hash);

/* Distinct grams, and bytes of the index, after ngram_build(). */
size_t ngram_count(const struct ngram *g);
size_t ngram_bytes(const struct ngram *g);

/* The places of a gram in ascending order; NGRAM_NONE: no further one. */
uint32_t ngram_next(const struct ngram *g, uint32_t at);
/* The example that a place belongs to. */
size_t ngram_example(const struct ngram *g, uint32_t at);
/* The units of a gram; *n gets how many. */
const uint32_t *ngram_units(const struct ngram *g, uint32_t at, unsigned *n);

/* --- a text --- */

/* A gram that stands in a text, from byte start to byte end. */
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
 * Append a hit for each run of w[0..n) that is a gram, in order of the runs,
 * for one n of the index after another.  same(ctx, i, unit) says whether w[i]
 * is that unit.
 */
void ngram_scan(const struct ngram *g, const struct word *w, size_t n,
		int (*same)(void *ctx, size_t i, uint32_t unit), void *ctx,
		struct ngram_hits *out);

/* The hash of a token id, to be used in w[i].hash and for ngram_build(). */
static inline uint64_t
ngram_token_hash(uint32_t id)
{
	uint64_t x = id + 0x9e3779b97f4a7c15u;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

#endif
