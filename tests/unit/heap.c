/* heap.h and arena.h: what comes out is sorted; memory stays where it is. */
#include "tests/unit/test.h"

#include "base/arena.h"
#include "base/heap.h"
#include "base/mem.h"

#define LESS(a, b) ((a) < (b))
HEAP(heap, unsigned, LESS)

enum { N = 1000 };

/* Pushes and pops mixed, against a sorted array. */
static void
test_heap(void **state)
{
	unsigned v[N], sorted[N], seed = 1;
	size_t n = 0, k, turn;

	(void)state;
	for (turn = 0; turn < 20000; turn++) {
		seed = seed * 1103515245 + 12345;
		if (n < N && (n == 0 || seed >> 30 < 2 + (turn < 2000))) {
			unsigned x = seed >> 8 & 255;

			for (k = n; k > 0 && sorted[k - 1] < x; k--)
				sorted[k] = sorted[k - 1];
			sorted[k] = x;
			heap_push(v, n++, x);
		} else {
			assert_int_equal(heap_pop(v, n), sorted[n - 1]);
			n--;
		}
	}
	for (; n; n--)
		assert_int_equal(heap_pop(v, n), sorted[n - 1]);
}

static void
test_arena(void **state)
{
	struct arena a = {0};
	char *p[N];
	size_t i, k, n[N], sum = 0;

	(void)state;
	for (i = 0; i < N; i++) {
		n[i] = i % 50 ? i % 13 : 3000 + i;
		p[i] = arena_take(&a, n[i], 4096);
		memset(p[i], (int)i, n[i]);
		sum += n[i];
	}
	assert_true(a.held >= sum && a.held < 2 * sum + 8192);
	for (i = 0; i < N; i++)
		for (k = 0; k < n[i]; k++)
			assert_int_equal((unsigned char)p[i][k], i & 255);
	arena_clear(&a);
	assert_int_equal(a.held, 0);
	arena_clear(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_heap), cmocka_unit_test(test_arena),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
