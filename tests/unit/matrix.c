/*
 * matrix.c - conversion of each type, and the same bits from each form
 */
#include "tests/unit/test.h"

#include <math.h>

#include "rare/matrix.h"

enum { C = 77 };

/* IEEE 754 half precision by its definition. */
static double
half(unsigned h)
{
	unsigned e = h >> 10 & 31, m = h & 1023;
	double x = e == 31 ? (m ? NAN : INFINITY) :
		   e ? ldexp(1024 + m, (int)e - 25) : ldexp(m, -24);

	return h >> 15 ? -x : x;
}

static int
same(double a, double b)
{
	return isnan(b) ? isnan(a) : a == b && signbit(a) == signbit(b);
}

static void
all_halves(void **state)
{
	static uint16_t all[65536];
	const struct matrix m = {all, MATRIX_F16, 65536 / 64, 64};
	double x[64];
	unsigned i, k;
	int level;

	(void)state;
	for (i = 0; i < 65536; i++)
		all[i] = (uint16_t)i;
	for (level = 0; level <= MATRIX_BEST; level++)
		for (i = 0; i < 65536; i += 64) {
			matrix_ops(level)->get(&m, i / 64, x);
			for (k = 0; k < 64; k++)
				if (!same(x[k], half(i + k)))
					fail_msg("%04x is %g", i + k, x[k]);
		}
}

/* Second row, at an odd address. */
static void
each_type(void **state)
{
	const double want[C] = {1.5, -0.0, 3, 1e-40, -256};
	unsigned char mem[1 + 2 * C * sizeof(double)];
	double x[C];
	float f;
	uint32_t bits;
	uint16_t h;
	struct matrix m = {mem + 1, MATRIX_F64, 2, C};
	int level, i;

	(void)state;
	for (level = 0; level <= MATRIX_BEST; level++) {
		memset(mem, 0xff, sizeof(mem));
		m.type = MATRIX_F64;
		memcpy(mem + 1 + 8 * C, want, 8 * C);
		matrix_ops(level)->get(&m, 1, x);
		for (i = 0; i < C; i++)
			assert_true(same(x[i], want[i]));
		m.type = MATRIX_F32;
		for (i = 0; i < C; i++) {
			f = (float)want[i];
			memcpy(mem + 1 + 4 * (C + i), &f, 4);
		}
		matrix_ops(level)->get(&m, 1, x);
		for (i = 0; i < C; i++)
			assert_true(same(x[i], (float)want[i]));
		m.type = MATRIX_BF16;
		for (i = 0; i < C; i++) {
			f = (float)want[i];
			memcpy(&bits, &f, 4);
			h = (uint16_t)(bits >> 16);
			memcpy(mem + 1 + 2 * (C + i), &h, 2);
		}
		matrix_ops(level)->get(&m, 1, x);
		for (i = 0; i < C; i++) {
			f = (float)want[i];
			memcpy(&bits, &f, 4);
			bits &= 0xffff0000;
			memcpy(&f, &bits, 4);
			assert_true(same(x[i], f));
		}
	}
}

static void
same_bits(void **state)
{
	double a[C], b[C], y[2][C], z[2][C], d[2];
	size_t n;
	int level, i;

	(void)state;
	for (i = 0; i < C; i++) {
		a[i] = sin(i * 1.7) * exp(i % 9);
		b[i] = cos(i * 0.3) / (i + 1);
	}
	for (n = 0; n <= C; n++) {
		double sum = 0;

		for (i = 0; i < (int)n; i++)
			sum += a[i] * b[i];
		for (level = 0; level <= MATRIX_BEST; level++) {
			const struct matrix_ops *o = matrix_ops(level);
			int k = level > 0;

			memset(y[k], 0, sizeof(y[k]));
			memset(z[k], 0, sizeof(z[k]));
			d[k] = o->dot(a, b, n);
			o->add(y[k], 0.1, a, n);
			o->add(y[k], 0.3, b, n);
			o->sub(z[k], a, 0.7, b, n);
			assert_memory_equal(&d[0], &d[k], sizeof(d[0]));
			assert_memory_equal(y[0], y[k], sizeof(y[0]));
			assert_memory_equal(z[0], z[k], sizeof(z[0]));
		}
		assert_true(fabs(d[0] - sum) <= 1e-9);
		for (i = 0; i < C; i++) {
			assert_true(fabs(z[0][i] - (i < (int)n ?
				    a[i] - 0.7 * b[i] : 0)) < 1e-9);
			assert_true(fabs(y[0][i] - (i < (int)n ? 0.1 * a[i] +
				    0.3 * b[i] : 0)) < 1e-9);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_halves),
		cmocka_unit_test(each_type),
		cmocka_unit_test(same_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
