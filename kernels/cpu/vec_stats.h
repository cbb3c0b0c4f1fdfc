/*
 * vec_stats.h - vector loops of statistics: one pass, bound by arithmetic
 *
 * Magnitudes are compared as integers: the bits of an f32 without its sign
 * grow with it, those of infinity and NaN are the largest.
 */

enum { F32_INF = 0x7f800000 };

/* What a range has shown so far, a lane for itself. */
struct lanes {
	vd sum[2], sumsq[2];
	vf min, max;
	vu tiny;		/* bits - 1 of the least magnitude but 0 */
	vi zeros, small, bad;	/* minus their numbers; small: with zeros */
};

FORCE vu
vu_min(vu x, vu y)
{
#if defined(__AVX512F__)
	return (vu)_mm512_min_epu32((__m512i)x, (__m512i)y);
#elif defined(__AVX2__)
	return (vu)_mm256_min_epu32((__m256i)x, (__m256i)y);
#else
	vu less = (vu)(x < y);

	return (x & less) | (y & ~less);
#endif
}

FORCE vu
vu_max(vu x, vu y)
{
	return ~vu_min(~x, ~y);
}

/* The least normal magnitude of a type, as the bits of an f32. */
FORCE uint32_t
least_normal(enum kdtype dt)
{
	return dt == K_F16 ? 0x38800000 : 0x00800000;
}

/* Add the lanes of x that `in` selects. */
FORCE void
stats_step(struct lanes *s, vf x, vi in, enum kdtype dt)
{
	vu u = (vu)x & 0x7fffffff;
	vi ok = in & (vi)(u < F32_INF), zero = in & (vi)(u == 0);
	vhf h[2];

	s->bad += in & ~ok;
	s->zeros += zero;
	s->small += in & (vi)(u < least_normal(dt));
	s->tiny = vu_min(s->tiny, (u - 1) | (vu)~in);
	s->min = -vf_max(-s->min, vf_sel(ok, -x, vf_set(-INFINITY)));
	s->max = vf_max(s->max, vf_sel(ok, x, vf_set(-INFINITY)));
	x = vf_sel(ok, x, vf_set(0));
	memcpy(h, &x, sizeof h);
	for (int j = 0; j < 2; j++) {
		vd d = __builtin_convertvector(h[j], vd);

		s->sum[j] += d;
		s->sumsq[j] += d * d;
	}
}

static void
stats_join(const struct lanes *s, struct k_stats_out *out)
{
	uint32_t tiny = F32_INF - 1;
	float f;

	for (int j = 0; j < 2; j++)
		for (int l = 0; l < VL / 2; l++) {
			out->sum += s->sum[j][l];
			out->sumsq += s->sumsq[j][l];
		}
	for (int l = 0; l < VL; l++) {
		tiny = s->tiny[l] < tiny ? s->tiny[l] : tiny;
		out->min = s->min[l] < out->min ? s->min[l] : out->min;
		out->max = s->max[l] > out->max ? s->max[l] : out->max;
		out->zeros -= s->zeros[l];
		out->subnormals += s->zeros[l] - s->small[l];
		out->nonfinite -= s->bad[l];
	}
	tiny++;
	memcpy(&f, &tiny, sizeof f);
	out->tiny = f;
}

static int64_t
first_bad(const void *x, enum kdtype dt, int64_t rows, int64_t cols,
	  int64_t step)
{
	for (int64_t r = 0; r < rows; r++)
		for (int64_t c = 0; c < cols; c += VL) {
			vf y = ldn(x, dt, r * step + c, cols - c);

			for (int64_t l = 0; l < VL && l < cols - c; l++)
				if (!isfinite(y[l]))
					return r * cols + c + l;
		}
	return -1;
}

FORCE void
stats_body(const void *x, int64_t rows, int64_t cols, int64_t step,
	   struct k_stats_out *out, enum kdtype dt)
{
	struct lanes s = { .min = vf_set(INFINITY), .max = vf_set(-INFINITY),
			   .tiny = (vu){0} + (F32_INF - 1) };
	const vi all = ~(vi){0};

	for (int64_t r = 0; r < rows; r++) {
		int64_t at = r * step, c = 0;

		for (; c + VL <= cols; c += VL)
			stats_step(&s, ld(x, dt, at + c), all, dt);
		if (c < cols)
			stats_step(&s, ld_tail(x, dt, at + c, cols - c),
				   lanes_in(c, 0, cols), dt);
	}
	*out = (struct k_stats_out){ .min = INFINITY, .max = -INFINITY,
				     .first = -1 };
	stats_join(&s, out);
	if (out->nonfinite)
		out->first = first_bad(x, dt, rows, cols, step);
}

static void
stats(const void *x, enum kdtype dt, int64_t rows, int64_t cols, int64_t step,
      struct k_stats_out *out)
{
	BY_TYPE(dt, stats_body, x, rows, cols, step, out);
}

/* VL columns at a time, down all rows. */
FORCE void
colmax_body(const void *x, int64_t rows, int64_t cols, int64_t step, float *y,
	    enum kdtype dt)
{
	for (int64_t r = 0; r < rows; r++)
		for (int64_t c = 0; c < cols; c += VL) {
			int64_t left = cols - c;
			vu u = (vu)ldn(x, dt, r * step + c, left) & 0x7fffffff;

			if (r > 0)
				u = vu_max(u, (vu)ldn(y, K_F32, c, left));
			stn(y, K_F32, c, left, (vf)u);
		}
}

static void
colmax(const void *x, enum kdtype dt, int64_t rows, int64_t cols, int64_t step,
       float *y)
{
	BY_TYPE(dt, colmax_body, x, rows, cols, step, y);
}
