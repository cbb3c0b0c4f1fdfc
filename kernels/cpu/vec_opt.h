/*
 * vec_opt.h - vector loops of the optimizer: AdamW and the sum of squares
 *
 * Both are bound by memory: 28 to 30 bytes a parameter for AdamW (gradient,
 * master, two moments in; master, moments, weight out) and 4 for the sum.
 */

FORCE void
adamw_body(const struct k_adamw *a, const struct vec_adamw *k, void *w,
	   int64_t i0, int64_t i1, enum kdtype wdt)
{
	for (int64_t i = i0; i < i1; i += VL) {
		int64_t left = i1 - i;
		vf g = k->gscale * ldn(a->g, K_F32, i, left);
		vf m = ldn(a->m, K_F32, i, left);
		vf v = ldn(a->v, K_F32, i, left);
		vf p = ldn(a->p, K_F32, i, left);

		m += k->mix1 * (g - m);
		v += k->mix2 * (g * g - v);
		p = p - k->shrink * p -
		    k->rate * m / (vf_sqrt(v) * k->rc2 + k->eps);
		stn(a->m, K_F32, i, left, m);
		stn(a->v, K_F32, i, left, v);
		stn(a->p, K_F32, i, left, p);
		stn(w, wdt, i, left, p);
	}
}

static void
adamw_plain(const struct k_adamw *a, const struct vec_adamw *c, int64_t i0,
	    int64_t i1)
{
	BY_TYPE(a->wdt, adamw_body, a, c, a->w, i0, i1);
}

typedef float vhf __attribute__((vector_size(VL * 2), may_alias));
typedef double vd __attribute__((vector_size(VL * 4), may_alias));

static double
sumsq(const float *g, int64_t n)
{
	vd s[4] = {{0}};
	double sum = 0;
	int64_t i = 0;

	for (; i + 2 * VL <= n; i += 2 * VL)
		for (int j = 0; j < 4; j++) {
			vhf h;
			vd x;

			memcpy(&h, g + i + j * (VL / 2), sizeof h);
			x = __builtin_convertvector(h, vd);
			s[j] += x * x;
		}
	for (int j = 0; j < 4; j++)
		for (int l = 0; l < VL / 2; l++)
			sum += s[j][l];
	for (; i < n; i++)
		sum += (double)g[i] * g[i];
	return sum;
}

/* Numbers of x and y (of type dt) that are the same bits. */
static int64_t
count_same(const void *x, const void *y, enum kdtype dt, int64_t n)
{
	const uint16_t *hx = x, *hy = y;
	const uint32_t *fx = x, *fy = y;
	int64_t same = 0;

	for (int64_t i = 0; i < n; i++)
		same += dt != K_F32 ? hx[i] == hy[i] : fx[i] == fy[i];
	return same;
}

/*
 * With stats, a few numbers at a time: what they were is copied, and compared
 * while all of it is in the first cache.
 */
enum { ADAMW_PART = 512 };

static void
adamw(const struct k_adamw *a, const struct vec_adamw *c, int64_t i0,
      int64_t i1, double *stats)
{
	size_t size = kdtype_size(a->wdt);
	float p[ADAMW_PART], w[ADAMW_PART];
	int64_t n;

	if (!stats) {
		adamw_plain(a, c, i0, i1);
		return;
	}
	memset(stats, 0, 3 * sizeof *stats);
	for (int64_t i = i0; i < i1; i += n) {
		const char *now = (const char *)a->w + (size_t)i * size;

		n = i1 - i < ADAMW_PART ? i1 - i : ADAMW_PART;
		memcpy(p, a->p + i, (size_t)n * sizeof *p);
		memcpy(w, now, (size_t)n * size);
		adamw_plain(a, c, i, i + n);
		for (int64_t j = 0; j < n; j++)
			p[j] = a->p[i + j] - p[j];
		stats[0] += sumsq(p, n);
		stats[1] += sumsq(a->p + i, n);
		stats[2] += (double)count_same(w, now, a->wdt, n);
	}
}
