/*
 * stats.c - ref: statistics of a matrix
 */
#include "kernels/ref/ref.h"

#include <math.h>

/* The least normal magnitude of a type. */
static double
least_normal(enum kdtype dt)
{
	return dt == K_F16 ? 0x1p-14 : 0x1p-126;
}

void
ref_stats(struct kernels *k, const struct k_stats *a)
{
	struct k_stats_out s = { .min = INFINITY, .max = -INFINITY,
				 .tiny = INFINITY, .first = -1 };

	(void)k;
	for (int64_t r = 0; r < a->rows; r++)
		for (int64_t c = 0; c < a->cols; c++) {
			double x = ref_get(a->x, a->dt, r * a->ld + c);
			double y = fabs(x);

			if (!isfinite(x)) {
				if (s.nonfinite++ == 0)
					s.first = r * a->cols + c;
				continue;
			}
			s.sum += x;
			s.sumsq += x * x;
			s.min = x < s.min ? x : s.min;
			s.max = x > s.max ? x : s.max;
			s.tiny = y > 0 && y < s.tiny ? y : s.tiny;
			s.zeros += y == 0;
			s.subnormals += y > 0 && y < least_normal(a->dt);
		}
	s.min += 0;		/* -0 becomes 0 */
	s.max += 0;
	*a->out = s;
}

void
ref_colmax(struct kernels *k, const struct k_colmax *a)
{
	(void)k;
	for (int64_t c = 0; c < a->cols; c++) {
		double max = 0;

		for (int64_t r = 0; r < a->rows; r++) {
			double y = fabs(ref_get(a->x, a->dt, r * a->ld + c));

			max = max < y || isnan(y) ? y : max;
			if (isnan(max))
				break;
		}
		a->out[c] = (float)max;
	}
}
