/*
 * rope.h - the frequencies of RoPE, scaled or not
 *
 * Position p turns pair i of a head by p * f[i], where f[i] = theta^(-2i/D) is
 * changed by the type of scaling:
 *	linear	f / factor
 *	dynamic	theta grows with the length of a text beyond max_pos
 *		(NTK-aware); shorter texts are not changed
 *	yarn	f for fast pairs, f / factor for slow ones, a ramp between;
 *		cos and sin times `attention` (Peng et al., 2023)
 *	llama3	f below a wavelength, f / factor above another, smooth between
 * as transformers computes them, in double.
 */
#ifndef ASSAY_ROPE_H
#define ASSAY_ROPE_H

#include <stdint.h>

struct model_config;

enum rope_type { ROPE_DEFAULT, ROPE_LINEAR, ROPE_DYNAMIC, ROPE_YARN,
	ROPE_LLAMA3, ROPE_TYPES };
extern const char *const rope_names[];	/* "default", ..., NULL */

struct rope_scaling {
	enum rope_type type;
	double factor;
	double attention;		/* yarn: of cos and sin */
	double beta_fast, beta_slow;	/* yarn: turns where the ramp ends */
	int truncate;			/* yarn: ends are whole pairs */
	double low, high;		/* llama3: low_, high_freq_factor */
	int64_t original;		/* yarn, llama3: positions trained on */
};

/*
 * f[0 .. D/2) for a text of `length` tokens, which matters only to dynamic.
 * Returns the factor of cos and sin.
 */
double rope_frequencies(const struct model_config *c, int64_t length,
			double *f);

/* yarn's factor of cos and sin where the configuration has none. */
double rope_attention(double factor, double mscale, double mscale_all_dim);

#endif
