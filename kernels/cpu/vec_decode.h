/*
 * vec_decode.h - vector loops of decoding: few rows, everything streamed
 *
 * A product with few rows reads each weight once: ROWS_W rows of the weight
 * meet ROWS_X rows of the input in registers, each pair with a vector of
 * sums.  bf16 pairs go to the dot-product instruction where there is one.
 * Rows ahead are prefetched, because the processor's own prefetch
 * starts again with each row.
 */

enum { ROWS_W = 4, ROWS_X = 4 };

/* sum[j][m] += w[o + j] . x[n + m] over numbers i..i+left of `in`. */
FORCE void
dots_step(const void *w, const void *x, enum kdtype dt, int64_t in, int64_t o,
	  int64_t n, int nw, int nx, int64_t i, int64_t left,
	  vf sum[ROWS_W][ROWS_X])
{
	vf b[ROWS_X];

#pragma GCC unroll 4
	for (int m = 0; m < nx; m++)
		b[m] = ldn(x, dt, (n + m) * in + i, left);
#pragma GCC unroll 4
	for (int j = 0; j < nw; j++) {
		vf a = ldn(w, dt, (o + j) * in + i, left);

#pragma GCC unroll 4
		for (int m = 0; m < nx; m++)
			sum[j][m] += a * b[m];
	}
}

#ifdef __AVX512BF16__
/* The same for 32 bf16 numbers. */
FORCE void
dots_pairs(const uint16_t *w, const uint16_t *x, int64_t in, int64_t o,
	   int64_t n, int nw, int nx, int64_t i, vf sum[ROWS_W][ROWS_X])
{
	__m512bh b[ROWS_X];

#pragma GCC unroll 4
	for (int m = 0; m < nx; m++)
		b[m] = (__m512bh)_mm512_loadu_si512(x + (n + m) * in + i);
#pragma GCC unroll 4
	for (int j = 0; j < nw; j++) {
		__m512bh a = (__m512bh)_mm512_loadu_si512(w + (o + j) * in + i);

		_mm_prefetch((const char *)(w + (o + 2 * nw + j) * in + i),
			     _MM_HINT_T0);
#pragma GCC unroll 4
		for (int m = 0; m < nx; m++)
			sum[j][m] = (vf)_mm512_dpbf16_ps((__m512)sum[j][m],
							 a, b[m]);
	}
}
#endif

/* sum[j][m] = w[o + j] . x[n + m]; nw, nx are constants of the caller. */
FORCE void
dots(const void *w, const void *x, enum kdtype dt, int64_t in, int64_t o,
     int64_t n, int nw, int nx, vf sum[ROWS_W][ROWS_X])
{
	int64_t i = 0;

#pragma GCC unroll 4
	for (int j = 0; j < nw; j++)
#pragma GCC unroll 4
		for (int m = 0; m < nx; m++)
			sum[j][m] = vf_set(0);
#ifdef __AVX512BF16__
	if (dt == K_BF16)
		for (; i + 32 <= in; i += 32)
			dots_pairs(w, x, in, o, n, nw, nx, i, sum);
#endif
	for (; i + VL <= in; i += VL)
		dots_step(w, x, dt, in, o, n, nw, nx, i, VL, sum);
	if (i < in)
		dots_step(w, x, dt, in, o, n, nw, nx, i, in - i, sum);
}

FORCE void
matvec_block(const struct k_matmul_fwd *a, enum kdtype dt, int64_t o,
	     int64_t n, int nw, int nx)
{
	vf sum[ROWS_W][ROWS_X];

	dots(a->w->data, a->x, dt, a->w->in, o, n, nw, nx, sum);
	for (int j = 0; j < nw; j++)
		for (int m = 0; m < nx; m++) {
			int64_t at = (n + m) * a->w->out + o + j;
			float y = vf_sum(sum[j][m]);

			if (a->add)
				y += kdtype_get(a->add, a->ydt, at);
			kdtype_set(a->y, a->ydt, at, y);
		}
}

FORCE void
matvec_rows(const struct k_matmul_fwd *a, enum kdtype dt, int64_t o, int nw)
{
	int64_t n = 0;

	for (; n + ROWS_X <= a->n; n += ROWS_X)
		matvec_block(a, dt, o, n, nw, ROWS_X);
	for (; n < a->n; n++)
		matvec_block(a, dt, o, n, nw, 1);
}

FORCE void
matvec_body(const struct k_matmul_fwd *a, int64_t o0, int64_t o1,
	    enum kdtype dt)
{
	int64_t o = o0;

	for (; o + ROWS_W <= o1; o += ROWS_W)
		matvec_rows(a, dt, o, ROWS_W);
	for (; o < o1; o++)
		matvec_rows(a, dt, o, 1);
}

static void
matvec(const struct k_matmul_fwd *a, int64_t o0, int64_t o1)
{
	BY_TYPE(a->w->dt, matvec_body, a, o0, o1);
}
