/*
 * vec_cache.h - vector loops of attention over the cache, a row at a time
 *
 * Key and value rows are read once for up to HEADS query heads of their group.
 * The scores of VL pairs of key and head are sums of VL vectors, added across
 * in one go.  Sums over positions are kept in registers, COLS vectors at once.
 */

enum { HEADS = 4, COLS = VL == 16 ? 4 : 2 };

/* Lane i of the result: the sum over the lanes of s[i]. */
FORCE vf
sum_each(vf s[VL])
{
	vi lo, hi;

	for (int i = 0; i < VL; i++) {
		lo[i] = i / 2 + i % 2 * VL;
		hi[i] = lo[i] + VL / 2;
	}
#pragma GCC unroll 4
	for (int n = VL / 2; n > 0; n /= 2)
#pragma GCC unroll 8
		for (int i = 0; i < n; i++)
			s[i] = __builtin_shuffle(s[i], s[i + n], lo) +
			       __builtin_shuffle(s[i], s[i + n], hi);
	return s[0];
}

/*
 * Scores of nh heads and VL / nh keys from k on: lanes of a head are together.
 * Keys from `left` on are read as the last one.
 */
FORCE vf
score_block(const char *q, const char *k, enum kdtype dt, int64_t d, int nh,
	    int64_t left)
{
	int per = VL / nh;
	vf s[VL] = {0};
	int64_t i = 0;

#ifdef __AVX512BF16__
	for (; dt == K_BF16 && i + 32 <= d; i += 32) {
		__m512bh x[HEADS];

#pragma GCC unroll 4
		for (int h = 0; h < nh; h++)
			x[h] = (__m512bh)_mm512_loadu_si512(q + 2 *
							    (h * d + i));
#pragma GCC unroll 16
		for (int m = 0; m < per; m++) {
			int64_t row = m < left ? m : left - 1;
			__m512bh y = (__m512bh)_mm512_loadu_si512(k + 2 *
				(row * d + i));

#pragma GCC unroll 4
			for (int h = 0; h < nh; h++)
				s[h * per + m] = (vf)_mm512_dpbf16_ps((__m512)
					s[h * per + m], x[h], y);
		}
	}
#endif
	for (; i < d; i += VL) {
		vf x[HEADS];

#pragma GCC unroll 4
		for (int h = 0; h < nh; h++)
			x[h] = ldn(q, dt, h * d + i, d - i);
#pragma GCC unroll 16
		for (int m = 0; m < per; m++) {
			int64_t row = m < left ? m : left - 1;
			vf y = ldn(k, dt, row * d + i, d - i);

#pragma GCC unroll 4
			for (int h = 0; h < nh; h++)
				s[h * per + m] += x[h] * y;
		}
	}
	return sum_each(s);
}

/* acc (nh, D) from column i on, nc vectors = sum of p[j] * v[j]. */
FORCE void
value_block(const char *v, enum kdtype dt, int64_t d, int64_t i, int64_t n,
	    const float *p, int nh, int nc, float *acc, int64_t ld)
{
	vf s[HEADS][COLS];

#pragma GCC unroll 4
	for (int h = 0; h < nh; h++)
#pragma GCC unroll 4
		for (int c = 0; c < nc; c++)
			s[h][c] = vf_set(0);
	for (int64_t j = 0; j < n; j++) {
#pragma GCC unroll 4
		for (int c = 0; c < nc; c++) {
			vf x = ldn(v, dt, j * d + i + c * VL,
				   nc > 1 ? VL : d - i);

#pragma GCC unroll 4
			for (int h = 0; h < nh; h++)
				s[h][c] += p[h * (VEC_SPLIT + VL) + j] * x;
		}
	}
#pragma GCC unroll 4
	for (int h = 0; h < nh; h++)
#pragma GCC unroll 4
		for (int c = 0; c < nc; c++)
			stn(acc, K_F32, h * ld + i + c * VL,
			    nc > 1 ? VL : d - i, s[h][c]);
}

/* nh heads from q on over n positions of k and v (n, D). */
FORCE void
part_heads(const char *q, const char *k, const char *v, int64_t d, int64_t n,
	   float scale, float *part, int nh, enum kdtype dt)
{
	float p[HEADS * (VEC_SPLIT + VL)], t[VL];
	int64_t e = (int64_t)kdtype_size(dt), ld = d + VEC_PART, i = 0;
	int per = VL / nh;

	for (int64_t j = 0; j < n; j += per) {
		vf_store(t, score_block(q, k + j * d * e, dt, d, nh, n - j));
		for (int h = 0; h < nh; h++)
			memcpy(p + h * (VEC_SPLIT + VL) + j, t + h * per,
			       (size_t)per * sizeof *t);
	}
	for (int h = 0; h < nh; h++) {
		float *s = p + h * (VEC_SPLIT + VL), *to = part + h * ld;

		to[1] = softmax(s, s, K_F32, scale, 0, n, n, &to[0]);
		to[0] *= scale;
	}
	for (; i + COLS * VL <= d; i += COLS * VL)
		value_block(v, dt, d, i, n, p, nh, COLS, part + VEC_PART, ld);
	for (; i < d; i += VL)
		value_block(v, dt, d, i, n, p, nh, 1, part + VEC_PART, ld);
}

static void
attn_part(const struct k_attn_cache *a, int64_t n, int64_t g, int64_t j0,
	  int64_t j1, float *part)
{
	int64_t e = (int64_t)kdtype_size(a->dt), rep = a->h / a->g, h = 0;
	int64_t kv = ((a->slot[n] * a->g + g) * a->p + j0) * a->d * e;
	const char *q = (const char *)a->qkv +
			(n * (a->h + 2 * a->g) + g * rep) * a->d * e;
	const char *k = (const char *)a->kc + kv;
	const char *v = (const char *)a->vc + kv;

	for (; VL >= HEADS && h + HEADS <= rep; h += HEADS)
		BY_TYPE(a->dt, part_heads, q + h * a->d * e, k, v, a->d,
			j1 - j0, a->scale, part + h * (a->d + VEC_PART),
			HEADS);
	for (; h < rep; h++)
		BY_TYPE(a->dt, part_heads, q + h * a->d * e, k, v, a->d,
			j1 - j0, a->scale, part + h * (a->d + VEC_PART), 1);
}
