/*
 * mixture.h - several sources of windows that take turns by weight
 *
 * Weights are whole numbers: of every `period` samples, their sum, source s has
 * weight[s].  Which source has which sample of a period is a fixed pattern: in
 * any number of samples from the first one on, every source has less than one
 * window more or less than its share (Tijdeman 1980, "The chairman assignment
 * problem").  The pattern repeats, so the source of a sample and its number
 * among those of that source follow from the sample's number alone.
 *
 * Each source has its own order and its own epochs (order.h): its permutation
 * depends on the seed and on its contents.
 */
#ifndef ASSAY_MIXTURE_H
#define ASSAY_MIXTURE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "order/order.h"
#include "stream/json.h"

enum { MIXTURE_MAX = 256 };		/* sources */
#define MIXTURE_PERIOD UINT64_C(1000000)	/* at most */

struct mix_source {
	uint64_t weight;	/* samples per period */
	uint64_t windows;	/* of its shards, and ... */
	uint64_t hash;		/* ... shard_info.hash of them */
	uint64_t start;		/* its windows before sample `from` */
};

struct mixture {
	struct mix_source *v;
	size_t n;
	uint64_t from;		/* where the pattern begins, a sample */
	/* private: by period and source */
	uint64_t period;
	uint8_t *pattern;	/* [period] the source of each sample */
	uint32_t *at;		/* [period] samples of source 0, of 1, ... */
	uint32_t *first;	/* [n] in `at` */
};

/*
 * Is spec "PATH:WEIGHT", with a decimal number?  Then 1, and both parts; else 0
 * and all of it as the path.  A file named as all of spec is that file.  -1:
 * the weight is not a number above 0.
 */
int mixture_split(const char *spec, struct span *path, struct span *weight,
		  struct err *e);

/*
 * Weights to a mixture of n sources, the rest of which is 0.  Shares are exact
 * if the weights have a common denominator of MIXTURE_PERIOD or less, and else
 * rounded to 1 / MIXTURE_PERIOD.  NULL: error, which names the source by its
 * path.
 */
struct mixture *mixture_new(const struct span *weight,
			    const char *const *path, size_t n, struct err *e);
struct mixture *mixture_copy(const struct mixture *m);	/* NULL: NULL */
void mixture_free(struct mixture *m);			/* NULL is fine */

/* The share of source s, by its weight. */
double mixture_share(const struct mixture *m, size_t s);

double mixture_sum(const struct span *weight, size_t n);

/* Number of windows, and a hash of weights and contents, of all sources. */
uint64_t mixture_windows(const struct mixture *m);
uint64_t mixture_hash(const struct mixture *m);

/* Windows of source s from the beginning of the run up to this sample. */
uint64_t mixture_taken(const struct mixture *m, size_t s, uint64_t sample);

/* The window of a sample >= from, and its source. */
uint64_t mixture_window(const struct mixture *m, enum order_kind kind,
			uint64_t seed, uint64_t sample, size_t *source);

/* The sources as a JSON object, and back. */
void mixture_json(const struct mixture *m, struct buf *out);
struct mixture *mixture_read(const struct json *object, const char *where,
			     struct err *e);

#endif
