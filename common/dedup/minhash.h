/*
 * minhash.h - shingles, MinHash and bands
 *
 * A document is the set of its shingles: distinct runs of n words (words.h),
 * or, with chars, of n letters, marks and numbers without separators.  A text
 * with fewer is one shingle; a text without any has none.
 *
 * MinHash (Broder 1997): the minimum over all shingles under each of
 * bands * rows hash functions.  Two sets of Jaccard similarity s have the same
 * minimum with probability s, agree in all rows of a band with s^rows, and in
 * some band with 1 - (1 - s^rows)^bands (Indyk and Motwani 1998): the S-curve.
 *
 * A shingle's hash is sum(word[j] * B^(n-1-j)) mod 2^64.  Hash function i is
 * a[i] * x + b[i] mod 2^32, where x is its upper half, a[i] is odd, and both
 * come from the seed.  All of this is frozen: band files hold the keys.
 */
#ifndef ASSAY_MINHASH_H
#define ASSAY_MINHASH_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "text/words.h"

/* Must change if any band key does. */
#define MINHASH_VERSION 1

enum { MINHASH_MAX = 1 << 16 };		/* bands * rows */

struct minhash_opts {
	int64_t ngram, bands, rows, seed;
	int chars;
};

/* --- shingles: one struct per thread; all zero is empty --- */

struct shingles {
	uint64_t *v;	/* in the order of the text, or sorted and distinct */
	size_t n, cap;
	struct words words;	/* of the text */
	uint64_t *tmp;
	size_t tmp_cap;
};

/* The shingles of text in its order, repeated ones included. */
void shingles_of(struct shingles *s, const struct minhash_opts *o,
		 struct span text);
void shingles_sort(struct shingles *s);		/* sorted and distinct */
void shingles_clear(struct shingles *s);

/* Hash of a sorted set; equal for equal sets. */
struct set_hash {
	uint64_t a, b;
};
struct set_hash set_hash(const uint64_t *v, size_t n);

/* Elements that two sorted sets share, and their Jaccard similarity. */
size_t set_common(const uint64_t *a, size_t na, const uint64_t *b, size_t nb);
double set_jaccard(const uint64_t *a, size_t na, const uint64_t *b, size_t nb);

/* --- bands: read only, shared by threads --- */

struct minhash;
struct minhash *minhash_new(const struct minhash_opts *o);
void minhash_free(struct minhash *m);

/* key[0..bands) of n > 0 shingles in any order, repeated or not. */
void minhash_bands(const struct minhash *m, const uint64_t *shingle, size_t n,
		   uint64_t *key);

/* Use 0: plain C, 1: AVX2, 2: AVX-512, if supported.  All give the same. */
void minhash_use(struct minhash *m, int level);

/* Probability that a pair of Jaccard s becomes a candidate. */
double minhash_curve(const struct minhash_opts *o, double s);

#endif
