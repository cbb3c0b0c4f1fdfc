/*
 * rng.h - random numbers without state
 *
 * Every number is a function of (seed, stream, index), so nothing has to be
 * saved and any thread may ask for any number: Philox 4x32-10 (Salmon et al.
 * 2011, "Parallel Random Numbers: As Easy as 1, 2, 3").
 */
#ifndef ASSAY_RNG_H
#define ASSAY_RNG_H

#include <stdint.h>

/* Streams: one per purpose.  Numbers of different streams are unrelated. */
enum rng_stream {
	RNG_INIT = 1,		/* weights; tensor number in the high bits */
	RNG_ORDER,		/* window order */
	RNG_SAMPLE,		/* sampling from a model */
	RNG_SHUFFLE,		/* pack --shuffle */
	RNG_PICK,		/* decode-batch --random, tok-train's sample of
				   documents, hashes of repeated spans */
	RNG_TEST,
	RNG_MINHASH = 0x6d68	/* dedup --near */
};

/* 128 random bits of one counter. */
void rng_block(uint64_t seed, uint64_t stream, uint64_t index, uint32_t out[4]);
uint64_t rng_u64(uint64_t seed, uint64_t stream, uint64_t index);
double rng_uniform(uint64_t seed, uint64_t stream, uint64_t index); /* [0,1) */

/* Normal deviate (Box-Muller in double); the same on every machine. */
double rng_normal(uint64_t seed, uint64_t stream, uint64_t index);

/* Integer in [0, n), n > 0; the bias of any value is below 2^-64. */
uint64_t rng_below(uint64_t seed, uint64_t stream, uint64_t index, uint64_t n);

/*
 * The i-th element of a keyed permutation of 0..n-1 (Feistel network of at
 * least 4 rounds with cycle walking; Black and Rogaway 2002).  i < n.
 */
uint64_t rng_permute(uint64_t seed, uint64_t stream, uint64_t i, uint64_t n);

#endif
