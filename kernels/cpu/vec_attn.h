/*
 * vec_attn.h - vector loops between the matmuls of attention and loss
 */

FORCE float
dot_body(const void *x, const void *y, int64_t n, enum kdtype dt)
{
	vf s = {0};

	for (int64_t i = 0; i < n; i += VL)
		s += ldn(x, dt, i, n - i) * ldn(y, dt, i, n - i);
	return vf_sum(s);
}

static float
dot_any(const void *x, const void *y, enum kdtype dt, int64_t n)
{
	return BY_TYPE(dt, dot_body, x, y, n);
}

/* Lanes i + lane in [lo, hi). */
FORCE vi
lanes_in(int64_t i, int64_t lo, int64_t hi)
{
	vi lane;

	for (int j = 0; j < VL; j++)
		lane[j] = j;
	return (lane >= (int32_t)(lo - i)) & (lane < (int32_t)(hi - i));
}

/* The largest of s[lo..hi). */
FORCE float
row_max(const float *s, int64_t lo, int64_t hi)
{
	vf m = vf_set(-INFINITY);
	float max = -INFINITY;
	int64_t i = lo;

	for (; i + VL <= hi; i += VL)
		m = vf_max(m, vf_load(s + i));
	max = vf_hmax(m);
	for (; i < hi; i++)
		max = s[i] > max || s[i] != s[i] ? s[i] : max;
	return max;
}

static void
zero_row(void *e, enum kdtype dt, int64_t from, int64_t to)
{
	size_t b = kdtype_size(dt);

	if (to > from)
		memset((char *)e + (size_t)from * b, 0,
		       (size_t)(to - from) * b);
}

FORCE float
softmax_body(const float *s, void *e, float scale, int64_t lo, int64_t hi,
	     int64_t n, float *max, enum kdtype dt)
{
	float m = row_max(s, lo, hi);
	int64_t first = lo / VL * VL;
	vf sum = {0};
	int64_t i;

	for (i = first; i < hi; i += VL) {
		vf x = vf_exp(scale * (ldn(s, K_F32, i, n - i) - m));

		if (i < lo || i + VL > hi)
			x = vf_sel(lanes_in(i, lo, hi), x, vf_set(0));
		sum += x;
		stn(e, dt, i, n - i, x);
	}
	zero_row(e, dt, 0, first);
	zero_row(e, dt, i, n);
	*max = m;
	return vf_sum(sum);
}

static float
softmax(const float *s, void *e, enum kdtype dt, float scale, int64_t lo,
	int64_t hi, int64_t n, float *max)
{
	return BY_TYPE(dt, softmax_body, s, e, scale, lo, hi, n, max);
}

FORCE void
softmax_bwd_body(const float *s, const float *dp, void *p, void *ds,
		 float scale, float lse, float delta, int64_t lo, int64_t hi,
		 int64_t n, enum kdtype dt)
{
	int64_t first = lo / VL * VL, i = first;

	for (; i < hi; i += VL) {
		vf x = vf_exp(scale * ldn(s, K_F32, i, n - i) - lse);
		vf y = ldn(dp, K_F32, i, n - i);

		if (i < lo || i + VL > hi) {
			vi in = lanes_in(i, lo, hi);

			x = vf_sel(in, x, vf_set(0));
			y = vf_sel(in, y, vf_set(0));
		}
		stn(p, dt, i, n - i, x);
		stn(ds, dt, i, n - i, scale * x * (y - delta));
	}
	if (hi <= lo)
		i = first = 0;
	zero_row(p, dt, 0, first);
	zero_row(ds, dt, 0, first);
	zero_row(p, dt, i, n);
	zero_row(ds, dt, i, n);
}

static void
softmax_bwd(const float *s, const float *dp, void *p, void *ds,
	    enum kdtype dt, float scale, float lse, float delta, int64_t lo,
	    int64_t hi, int64_t n)
{
	BY_TYPE(dt, softmax_bwd_body, s, dp, p, ds, scale, lse, delta, lo, hi,
		n);
}

FORCE float
ce_stats_body(const float *l, void *e, int64_t n, float *max, int64_t *arg,
	      enum kdtype dt)
{
	float m = row_max(l, 0, n);
	vf sum = {0};

	*max = m;
	if (arg)
		for (*arg = 0; *arg < n - 1 && l[*arg] != m; )
			++*arg;
	for (int64_t i = 0; i < n; i += VL) {
		vf x = vf_exp(ldn(l, K_F32, i, n - i) - m);

		if (n - i < VL)
			x = vf_sel(lanes_in(i, 0, n), x, vf_set(0));
		sum += x;
		if (e)
			stn(e, dt, i, n - i, vec_exp_unit(dt) * x);
	}
	return vf_sum(sum);
}

static float
ce_stats(const float *l, void *e, enum kdtype dt, int64_t n, float *max,
	 int64_t *arg)
{
	return BY_TYPE(dt, ce_stats_body, l, e, n, max, arg);
}

FORCE void
ce_scale_body(void *e, float f, int64_t n, enum kdtype dt)
{
	for (int64_t i = 0; i < n; i += VL)
		stn(e, dt, i, n - i, f * ldn(e, dt, i, n - i));
}

static void
ce_scale(void *e, enum kdtype dt, float f, int64_t n)
{
	BY_TYPE(dt, ce_scale_body, e, f, n);
}
