/*
 * indicators.c - Land and Bartolo's indicators of a matrix
 *
 * The numbers of the 7 x 3 matrix were computed independently, in pure Python
 * from the formulas of the paper's code (cohere-ai/magikarp, model.py).
 */
#include "tests/unit/test.h"

#include <math.h>

#include "rare/covariance.h"
#include "rare/indicators.h"
#include "rare/pca.h"

static const float E[7 * 3] = {
	1, 0, .5f, 0, 1, .2f, 1, 1, -.3f, 2, 1, .4f, .1f, .1f, .9f,
	-1, .5f, .3f, .2f, 0, 1.1f
};
static const struct matrix M = {E, MATRIX_F32, 7, 3};
static const uint8_t unused[7] = {0, 0, 0, 0, 1, 0, 1};
static const double want[IND_BIAS][7] = {
	{.425756, .757863, 1.068323, .673882, .002560, .850678, .001699},
	{.828361, 1.366868, 1.987567, 1.581967, .008445, .658933, .005679},
	{.059307, .754954, 1.140012, .189824, .002273, .753669, .001509},
	{.987421, 1.251000, 1.820714, 2.164486, .122474, 1.419507, .122474},
	{1.118034, 1.019804, 1.445683, 2.271563, .911043, 1.157584, 1.118034}
};

static void
vector_to_six_decimals(void **state)
{
	static const double pc1[3] = {.964813, .216906, -.148616};
	struct indicators r;
	double sign;
	int i, k;

	(void)state;
	assert_int_equal(0, indicators_get(&r, &M, &M, NULL, unused, 1));
	assert_true(r.converged);
	assert_null(r.v[IND_BIAS]);
	for (i = 0; i < IND_BIAS; i++)
		for (k = 0; k < 7; k++)
			if (!(fabs(r.v[i][k] - want[i][k]) < 6e-7))
				fail_msg("%s of row %d: %.7f, expected %.6f",
					 indicator_names[i], k, r.v[i][k],
					 want[i][k]);
	sign = r.pc1[0] < 0 ? -1 : 1;
	for (k = 0; k < 3; k++)
		assert_true(fabs(sign * r.pc1[k] - pc1[k]) < 6e-7);
	indicators_clear(&r);
}

static double
noise(uint64_t *s)
{
	*s = *s * 6364136223846793005u + 1442695040888963407u;
	return (double)(*s >> 11) / 9007199254740992.0 - 0.5;
}

/* Rows around a mean, spread much in one direction: that is pc1. */
static float *
cloud(size_t V, size_t C)
{
	float *m = malloc(V * C * sizeof(float));
	uint64_t s = 1;
	size_t r, i;

	for (r = 0; r < V; r++) {
		double along = 3 * noise(&s);

		for (i = 0; i < C; i++)
			m[r * C + i] = (float)(noise(&s) + 5 +
					       (i % 7 == 3 ? along : 0));
	}
	return m;
}

/* A pc1 is an eigenvector: C x = l x, compared with the covariance itself. */
static void
pc1_is_an_eigenvector(void **state)
{
	enum { V = 700, C = 37 };
	float *m = cloud(V, C);
	double mean[C] = {0}, cov[C][C] = {{0}}, c[C], y, l = 0, off = 0;
	int r, i, k;

	(void)state;
	for (r = 0; r < V; r++)
		for (i = 0; i < C; i++)
			mean[i] += m[r * C + i] / (double)V;
	for (r = 0; r < V; r++)
		for (i = 0; i < C; i++)
			for (k = 0; k < C; k++)
				cov[i][k] += (m[r * C + i] - mean[i]) *
					     (m[r * C + k] - mean[k]);
	assert_true(pca_first(&(struct matrix){m, MATRIX_F32, V, C}, mean, c,
			      1));
	for (i = 0; i < C; i++)
		for (k = 0; k < C; k++)
			l += c[i] * cov[i][k] * c[k];
	for (i = 0; i < C; i++) {
		for (y = 0, k = 0; k < C; k++)
			y += cov[i][k] * c[k];
		off += (y - l * c[i]) * (y - l * c[i]);
	}
	assert_true(sqrt(off) < 1e-7 * l);
	/* and the greatest: nothing else has half the sum of all */
	for (y = 0, i = 0; i < C; i++)
		y += cov[i][i];
	assert_true(l > 0.1 * y && fabs(c[3]) > 0.3);
	free(m);
}

/*
 * Against plain sums, for columns that fill no block and rows that fill none;
 * and against plain sums in the same order, without a vector or a fused
 * multiply-add, which must have the same bits.
 */
static void
covariance_as_plain_sums(void **state)
{
	static const size_t shape[][2] = {
		{1, 1}, {63, 24}, {64, 25}, {700, 61}
	};
	size_t n, V, C, i, k, r, ld, other;
	double mean[61], *g, *h, x, part, exact;
	struct matrix m = {.type = MATRIX_F32};
	float *p;

	(void)state;
	for (n = 0; n < TEST_COUNT(shape); n++) {
		V = m.V = shape[n][0];
		C = m.C = shape[n][1];
		m.p = p = cloud(V, C);
		memset(mean, 0, sizeof(mean));
		for (r = 0; r < V; r++)
			for (i = 0; i < C; i++)
				mean[i] += p[r * C + i] / (double)V;
		g = covariance(&m, mean, &ld, 1);
		h = covariance(&m, mean, &other, 5);
		assert_int_equal(ld, other);
		assert_memory_equal(g, h, C * ld * sizeof(*g));
		for (i = 0; i < C; i++)
			for (k = i; k < C; k++) {
				x = exact = part = 0;
				for (r = 0; r < V; r++) {
					x += (p[r * C + i] - mean[i]) *
					     (p[r * C + k] - mean[k]);
					part += (double)p[r * C + i] *
						p[r * C + k];
					if (r % 64 < 63 && r + 1 < V)
						continue;
					exact += part;
					part = 0;
				}
				exact += -(double)V * mean[i] * mean[k];
				assert_true(fabs(g[i * ld + k] - x) < 1e-9);
				assert_true(g[i * ld + k] == exact);
				assert_true(g[k * ld + i] == exact);
			}
		free(g);
		free(h);
		free(p);
	}
}

/* Noise: no component dominates, and it is found all the same. */
static void
pc1_of_noise(void **state)
{
	enum { V = 4000, C = 200 };
	float *m = malloc(V * C * sizeof(float));
	double mean[C] = {0}, c[C], *g, l = 0, off = 0, y;
	struct matrix x = {m, MATRIX_F32, V, C};
	uint64_t s = 5;
	size_t i, k, ld;

	(void)state;
	for (i = 0; i < V * C; i++) {
		m[i] = (float)noise(&s);
		mean[i % C] += m[i] / (double)V;
	}
	assert_true(pca_first(&x, mean, c, 2));
	g = covariance(&x, mean, &ld, 1);
	for (i = 0; i < C; i++)
		for (k = 0; k < C; k++)
			l += c[i] * g[i * ld + k] * c[k];
	for (i = 0; i < C; i++) {
		for (y = 0, k = 0; k < C; k++)
			y += g[i * ld + k] * c[k];
		off += (y - l * c[i]) * (y - l * c[i]);
	}
	assert_true(sqrt(off) < 1e-8 * l);
	/* not below what plain power iteration reaches from another start */
	for (i = 0; i < C; i++)
		c[i] = sin((double)i);
	for (k = 0; k < 300; k++) {
		double next[C], len = 0, was = 0;

		for (i = 0; i < C; i++) {
			size_t q;

			for (next[i] = 0, q = 0; q < C; q++)
				next[i] += g[i * ld + q] * c[q];
			was += next[i] * c[i];
			len += next[i] * next[i];
		}
		for (i = 0; i < C; i++)
			c[i] = next[i] / sqrt(len);
		if (k > 0)
			assert_true(was <= l * (1 + 1e-12));
	}
	free(g);
	free(m);
}

static void
same_bits_for_any_threads(void **state)
{
	enum { V = 3000, C = 19 };
	float *m = cloud(V, C);
	const struct matrix x = {m, MATRIX_F32, V, C};
	uint8_t *un = calloc(V, 1);
	struct indicators a, b;
	int i, t;

	(void)state;
	un[7] = un[V - 1] = 1;
	indicators_get(&a, &x, &x, NULL, un, 1);
	for (t = 2; t <= 7; t += 5) {
		indicators_get(&b, &x, &x, NULL, un, t);
		for (i = 0; i < IND_BIAS; i++)
			assert_memory_equal(a.v[i], b.v[i], V * sizeof(double));
		indicators_clear(&b);
	}
	indicators_clear(&a);
	free(un);
	free(m);
}

static void
nothing_known_unused(void **state)
{
	static const uint8_t none[7];
	struct indicators r;

	(void)state;
	indicators_get(&r, &M, &M, NULL, none, 1);
	assert_null(r.v[IND_COS]);
	assert_true(fabs(r.v[IND_IN_NORM][3] - 2.271563) < 6e-7);
	indicators_clear(&r);
}

/* Equal rows have no component: nothing is divided by zero. */
static void
equal_rows(void **state)
{
	static const float m[4 * 2] = {1, 2, 1, 2, 1, 2, 1, 2};
	static const struct matrix x = {m, MATRIX_F32, 4, 2};
	static const uint8_t un[4] = {1};
	struct indicators r;
	int i, k;

	(void)state;
	indicators_get(&r, &x, &x, NULL, un, 1);
	for (i = 0; i < IND_BIAS; i++)
		for (k = 0; k < 4; k++)
			assert_true(isfinite(r.v[i][k]));
	indicators_clear(&r);
}

/* A bias is an indicator if its length is above 1e-3. */
static void
bias_of_the_output(void **state)
{
	static const float b[7] = {0, 0, 3e-3f, -.25f, 0, 0, 0};
	static const float weak[7] = {0, 9e-4f, 0, 0, 0, 0, 0};
	const struct matrix x = {b, MATRIX_F32, 7, 1};
	const struct matrix y = {weak, MATRIX_F32, 7, 1};
	struct indicators r;

	(void)state;
	assert_int_equal(0, indicators_get(&r, &M, &M, &x, unused, 1));
	assert_true(r.v[IND_BIAS][3] == -.25 && r.v[IND_BIAS][2] == 3e-3f);
	assert_true(fabs(r.v[IND_COS][0] - .425756) < 6e-7);
	indicators_clear(&r);
	assert_int_equal(0, indicators_get(&r, &M, &M, &y, unused, 1));
	assert_null(r.v[IND_BIAS]);
	indicators_clear(&r);
}

/* The error names the row and its matrix. */
static void
not_finite(void **state)
{
	static const uint16_t nan16[4 * 2] = {
		0x3c00, 0x3c00, 0x3c00, 0x3c00, 0x3c00, 0xfe01, 0x7c00, 0
	};
	static const float ok[4 * 2] = {1, 2, 3, 4, 5, 6, 7, 9};
	const struct matrix a = {nan16, MATRIX_F16, 4, 2};
	const struct matrix b = {ok, MATRIX_F32, 4, 2};
	struct indicators r;

	(void)state;
	assert_int_equal(-1, indicators_get(&r, &a, &b, NULL, unused, 1));
	assert_ptr_equal(r.bad, &a);
	assert_int_equal(r.bad_row, 2);
	indicators_clear(&r);
	assert_int_equal(-1, indicators_get(&r, &b, &a, NULL, unused, 2));
	assert_ptr_equal(r.bad, &a);
	indicators_clear(&r);
}

/* numpy.percentile of these numbers, written out by hand */
static void
percentile(void **state)
{
	double x[] = {4, 1, 3, 2}, y[101], one[] = {7};
	int i;

	(void)state;
	assert_true(fabs(indicators_percentile(x, 4, 50) - 2.5) < 1e-15);
	assert_true(fabs(indicators_percentile(x, 4, 2) - 1.06) < 1e-15);
	assert_true(indicators_percentile(x, 4, 100) == 4);
	assert_true(indicators_percentile(one, 1, 2) == 7);
	for (i = 0; i < 101; i++)
		y[i] = 100 - i;
	assert_true(indicators_percentile(y, 101, 2) == 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vector_to_six_decimals),
		cmocka_unit_test(pc1_is_an_eigenvector),
		cmocka_unit_test(covariance_as_plain_sums),
		cmocka_unit_test(pc1_of_noise),
		cmocka_unit_test(same_bits_for_any_threads),
		cmocka_unit_test(nothing_known_unused),
		cmocka_unit_test(equal_rows),
		cmocka_unit_test(bias_of_the_output),
		cmocka_unit_test(not_finite),
		cmocka_unit_test(percentile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
