/*
 * k_optim.h - part of kernels.h: the arguments of loss_sum, sumsq, clip, adamw
 *
 * Together they are an update that the host need not wait for.
 */
#ifndef ASSAY_K_OPTIM_H
#define ASSAY_K_OPTIM_H

/*
 * sums (+)= the sum of loss, the sum of logz^2 and the number of rows, over
 * the rows that have a target; in double.
 */
struct k_loss_sum {
	int64_t n;
	const int32_t *target;	/* (N), -1: no target */
	const float *loss, *logz;	/* (N) of ce_head */
	double *sums;		/* (3) */
	int accumulate;
};

/*
 * A part of flat arrays: elements [at, at + n).  Tables of segments are HOST
 * memory, in rising order and without overlap; like the source of an upload,
 * they must not change until the next sync().
 */
struct k_segment {
	int64_t at, n;
	int decay;		/* adamw: weight decay applies */
};

/* out[s] = sum of g^2 over segment s, in double; NaN and inf propagate. */
struct k_sumsq {
	int64_t nseg;
	const struct k_segment *seg;
	const float *g;
	double *out;		/* (nseg) */
};

/*
 * What an update needs to know: lr and the bias corrections are set by an
 * upload, the others by clip.  In device memory, so that the host need not
 * wait for the gradient norm before it queues the update.
 */
struct k_step {
	double lr;
	double corr1, corr2;	/* 1 - beta1^t, 1 - beta2^t */
	double factor;		/* on the gradient */
	double norm;		/* of the mean gradient, before clipping */
	int64_t apply;		/* 0: this update changes nothing */
	int64_t bad;		/* see k_clip; nseg: none */
};

/*
 * Gradients come from ce_head with scale = 1 / rows; the mean over the
 * sums[2] rows with a target is share = rows / sums[2] times that (0 if there
 * are none).  With S the sum of sumsq, in the order of segments:
 *	norm = share * sqrt(S)
 *	factor = share * (max_norm > 0 and norm > max_norm ?
 *			  max_norm / norm : 1)
 *	apply = there are targets, and sums and norm are finite
 *	bad = the last segment with a sum that is not finite, or nseg: if the
 *	      segments are listed in the order of the forward pass, the first
 *	      in that of the backward pass
 */
struct k_clip {
	int64_t nseg;
	const double *sumsq;	/* (nseg) */
	const double *sums;	/* (3) of loss_sum */
	double rows;
	double max_norm;	/* 0: no clipping */
	struct k_step *step;	/* device */
};

/*
 * One step of AdamW on the numbers of all segments, g' = gscale * g, t the
 * step from 1:
 *	m = beta1 * m + (1 - beta1) * g';  v = beta2 * v + (1 - beta2) * g'^2
 *	p -= lr * (m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + eps) +
 *		   decay * p)
 * then p, the master copy, rounded to wdt, is written to w.  Numbers outside
 * the segments do not change.  With step, its lr, corr1, corr2 and factor
 * (gscale) replace those of the call, and with apply 0 nothing is written.
 */
struct k_adamw {
	int64_t nseg;
	const struct k_segment *seg;
	float *p, *m, *v;
	const float *g;
	void *w;
	enum kdtype wdt;
	double beta1, beta2, eps;
	double decay;		/* of segments with decay */
	double lr, gscale;	/* without step, as t is */
	int64_t t;
	const struct k_step *step;	/* device, or NULL */
	/*
	 * NULL, or for each segment (nseg, 3): sum of squares of p after -
	 * p before, sum of squares of p after, and how many numbers of w are
	 * what they were.
	 */
	double *stats;
};

#endif
