/*
 * vec_rows.h - vector loops over rows: copies, RMSNorm, SwiGLU, RoPE
 *
 * Included by vec_impl.h once for each instruction set.  The type dt is a
 * constant in every inner loop (BY_TYPE).
 */

static void
row_add(float *y, const float *x, float scale, int64_t n)
{
	for (int64_t i = 0; i < n; i += VL)
		stn(y, K_F32, i, n - i, ldn(y, K_F32, i, n - i) +
		    scale * ldn(x, K_F32, i, n - i));
}

static void
row_scale(void *y, enum kdtype dt, const float *x, float scale, int64_t n)
{
	for (int64_t i = 0; i < n; i += VL)
		stn(y, dt, i, n - i, scale * ldn(x, K_F32, i, n - i));
}

static void
cast(const void *src, enum kdtype sdt, void *dst, enum kdtype ddt, int64_t n)
{
	for (int64_t i = 0; i < n; i += VL)
		stn(dst, ddt, i, n - i, ldn(src, sdt, i, n - i));
}

FORCE void
rmsnorm_fwd_body(const struct k_rmsnorm_fwd *a, int64_t n0, int64_t n1,
		 enum kdtype dt)
{
	int64_t c = a->c;

	for (int64_t n = n0; n < n1; n++) {
		const float *x = a->x + n * c;
		vf ss = {0}, s2 = {0};
		int64_t i = 0;
		float r;

		for (; i + 2 * VL <= c; i += 2 * VL) {
			vf p = vf_load(x + i), q = vf_load(x + i + VL);

			ss += p * p;
			s2 += q * q;
		}
		for (; i < c; i += VL) {
			vf p = ldn(x, K_F32, i, c - i);

			ss += p * p;
		}
		r = 1 / sqrtf(vf_sum(ss + s2) / (float)c + a->eps);
		for (i = 0; i < c; i += VL)
			stn(a->y, dt, n * c + i, c - i,
			    ldn(x, K_F32, i, c - i) * r *
			    ldn(a->w, dt, i, c - i));
		if (a->rstd)
			a->rstd[n] = r;
	}
}

static void
rmsnorm_fwd(const struct k_rmsnorm_fwd *a, int64_t n0, int64_t n1)
{
	BY_TYPE(a->dt, rmsnorm_fwd_body, a, n0, n1);
}

FORCE void
rmsnorm_bwd_body(const struct k_rmsnorm_bwd *a, int64_t n0, int64_t n1,
		 float *dw, enum kdtype dt)
{
	int64_t c = a->c;

	for (int64_t n = n0; n < n1; n++) {
		const float *x = a->x + n * c;
		float *dx = a->dx + n * c, r = a->rstd[n], s;
		vf sum = {0};

		for (int64_t i = 0; i < c; i += VL) {
			int64_t left = c - i;
			vf px = ldn(x, K_F32, i, left);
			vf dyx = ldn(a->dy, dt, n * c + i, left) * px;

			sum += dyx * ldn(a->w, dt, i, left);
			stn(dw, K_F32, i, left,
			    ldn(dw, K_F32, i, left) + dyx * r);
		}
		s = vf_sum(sum) / (float)c * r * r;
		for (int64_t i = 0; i < c; i += VL) {
			int64_t left = c - i;
			vf g = ldn(a->dy, dt, n * c + i, left) *
			       ldn(a->w, dt, i, left);
			vf d = r * (g - ldn(x, K_F32, i, left) * s);

			if (a->dx_accumulate)
				d += ldn(dx, K_F32, i, left);
			stn(dx, K_F32, i, left, d);
			if (a->dxc)
				stn(a->dxc, dt, n * c + i, left, d);
		}
	}
}

static void
rmsnorm_bwd(const struct k_rmsnorm_bwd *a, int64_t n0, int64_t n1, float *dw)
{
	memset(dw, 0, (size_t)a->c * sizeof *dw);
	BY_TYPE(a->dt, rmsnorm_bwd_body, a, n0, n1, dw);
}

FORCE void
swiglu_fwd_body(const struct k_swiglu_fwd *a, int64_t n0, int64_t n1,
		enum kdtype dt)
{
	int64_t f = a->f;

	for (int64_t n = n0; n < n1; n++)
		for (int64_t i = 0; i < f; i += VL) {
			int64_t at = 2 * n * f + i, left = f - i;
			vf g = ldn(a->gu, dt, at, left);
			vf u = ldn(a->gu, dt, at + f, left);

			stn(a->a, dt, n * f + i, left,
			    g * u / (1.0f + vf_exp(-g)));
		}
}

static void
swiglu_fwd(const struct k_swiglu_fwd *a, int64_t n0, int64_t n1)
{
	BY_TYPE(a->dt, swiglu_fwd_body, a, n0, n1);
}

FORCE void
swiglu_bwd_body(const struct k_swiglu_bwd *a, int64_t n0, int64_t n1,
		enum kdtype dt)
{
	int64_t f = a->f;

	for (int64_t n = n0; n < n1; n++)
		for (int64_t i = 0; i < f; i += VL) {
			int64_t at = 2 * n * f + i, left = f - i;
			vf g = ldn(a->gu, dt, at, left);
			vf u = ldn(a->gu, dt, at + f, left);
			vf d = ldn(a->da, dt, n * f + i, left);
			vf s = 1.0f / (1.0f + vf_exp(-g));
			vf gs = g * s;

			stn(a->dgu, dt, at, left,
			    d * u * s * (1.0f + g * (1.0f - s)));
			stn(a->dgu, dt, at + f, left, d * gs);
			if (a->a)
				stn(a->a, dt, n * f + i, left, gs * u);
		}
}

static void
swiglu_bwd(const struct k_swiglu_bwd *a, int64_t n0, int64_t n1)
{
	BY_TYPE(a->dt, swiglu_bwd_body, a, n0, n1);
}

/* 1 / sqrt(mean x^2 + eps) of one head. */
FORCE float
head_rstd(const void *x, enum kdtype dt, int64_t at, int64_t d, float eps)
{
	vf ss = {0};

	for (int64_t i = 0; i < d; i += VL) {
		vf p = ldn(x, dt, at + i, d - i);

		ss += p * p;
	}
	return 1 / sqrtf(vf_sum(ss) / (float)d + eps);
}

FORCE void
rope_head(const struct k_rope_fwd *a, int64_t n, int64_t at, const void *w,
	  enum kdtype dt)
{
	int64_t half = a->d / 2, p = a->pos[n] * half;
	float r = w ? head_rstd(a->in, dt, at, a->d, a->eps) : 1;

	for (int64_t i = 0; i < half; i += VL) {
		int64_t left = half - i;
		vf c = ldn(a->cos, K_F32, p + i, left);
		vf s = ldn(a->sin, K_F32, p + i, left);
		vf x0 = ldn(a->in, dt, at + i, left);
		vf x1 = ldn(a->in, dt, at + half + i, left);

		if (w) {
			x0 *= r * ldn(w, dt, i, left);
			x1 *= r * ldn(w, dt, half + i, left);
		}
		stn(a->out, dt, at + i, left, x0 * c - x1 * s);
		stn(a->out, dt, at + half + i, left, x1 * c + x0 * s);
	}
}

FORCE void
rope_fwd_body(const struct k_rope_fwd *a, int64_t n0, int64_t n1,
	      enum kdtype dt)
{
	int64_t q = (a->h + 2 * a->g) * a->d;
	size_t e = kdtype_size(dt), v = (size_t)((a->h + a->g) * a->d) * e;

	for (int64_t n = n0; n < n1; n++) {
		char *out = (char *)a->out + (size_t)(n * q) * e + v;

		for (int64_t h = 0; h < a->h + a->g; h++)
			rope_head(a, n, n * q + h * a->d,
				  h < a->h ? a->qw : a->kw, dt);
		if (a->in != a->out)
			memcpy(out, (const char *)a->in +
			       (size_t)(n * q) * e + v,
			       (size_t)(a->g * a->d) * e);
	}
}

static void
rope_fwd(const struct k_rope_fwd *a, int64_t n0, int64_t n1)
{
	BY_TYPE(a->dt, rope_fwd_body, a, n0, n1);
}

/* Back through the norm of one head: g (D) is dy and becomes dx. */
FORCE void
head_norm_bwd(const struct k_rope_bwd *a, int64_t at, const void *w, float *g,
	      float *dw, enum kdtype dt)
{
	float r = head_rstd(a->in, dt, at, a->d, a->eps), s;
	vf sum = {0};

	for (int64_t i = 0; i < a->d; i += VL) {
		int64_t left = a->d - i;
		vf x = ldn(a->in, dt, at + i, left);
		vf d = ldn(g, K_F32, i, left);
		vf gw = d * ldn(w, dt, i, left);

		stn(dw, K_F32, i, left, ldn(dw, K_F32, i, left) + d * x * r);
		stn(g, K_F32, i, left, gw);
		sum += gw * x;
	}
	s = vf_sum(sum) / (float)a->d * r * r;
	for (int64_t i = 0; i < a->d; i += VL) {
		int64_t left = a->d - i;

		stn(g, K_F32, i, left, r * (ldn(g, K_F32, i, left) -
			ldn(a->in, dt, at + i, left) * s));
	}
}

FORCE void
rope_bwd_head(const struct k_rope_bwd *a, int64_t n, int64_t at,
	      const void *w, float *dw, enum kdtype dt)
{
	int64_t half = a->d / 2, p = a->pos[n] * half;
	float g[256];

	for (int64_t i = 0; i < half; i += VL) {
		int64_t left = half - i;
		vf c = ldn(a->cos, K_F32, p + i, left);
		vf s = ldn(a->sin, K_F32, p + i, left);
		vf y0 = ldn(a->dqkv, dt, at + i, left);
		vf y1 = ldn(a->dqkv, dt, at + half + i, left);

		stn(g, K_F32, i, left, y0 * c + y1 * s);
		stn(g, K_F32, half + i, left, y1 * c - y0 * s);
	}
	if (w)
		head_norm_bwd(a, at, w, g, dw, dt);
	for (int64_t i = 0; i < a->d; i += VL)
		stn(a->dqkv, dt, at + i, a->d - i, ldn(g, K_F32, i, a->d - i));
}

static void
rope_bwd(const struct k_rope_bwd *a, int64_t n0, int64_t n1, float *dw)
{
	int64_t q = (a->h + 2 * a->g) * a->d;

	if (a->qw)
		memset(dw, 0, (size_t)(2 * a->d) * sizeof *dw);
	for (int64_t n = n0; n < n1; n++)
		for (int64_t h = 0; h < a->h + a->g; h++) {
			const void *w = h < a->h ? a->qw : a->kw;
			float *d = h < a->h ? dw : dw + a->d;

			BY_TYPE(a->dt, rope_bwd_head, a, n, n * q + h * a->d,
				w, d);
		}
}
