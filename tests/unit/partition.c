/* partition: records come back from their bucket, in memory and on disk. */
#include "tests/unit/test.h"

#include "base/rng.h"
#include "stream/partition.h"

enum { N = 40000, BUCKETS = 7, WRITERS = 2 };

static struct {
	size_t bucket;
	struct record r;
} all[N];

static int
cmp(const void *a, const void *b)
{
	const struct record *x = a, *y = b;

	if (x->value != y->value)
		return x->value < y->value ? -1 : 1;
	return (x->key > y->key) - (x->key < y->key);
}

/* All records of a bucket, `room` at a time. */
static size_t
read_all(struct partition *p, size_t bucket, size_t room, struct record *got)
{
	struct partition_at at = {0};
	struct err e = {0};
	size_t n, sum = 0;

	do {
		assert_int_equal(partition_read(p, bucket, &at, got + sum,
						room, &n, &e), 0);
		sum += n;
	} while (n);
	return sum;
}

static void
check(size_t buffers, size_t mem, int is_short, size_t room)
{
	static struct record want[N], got[N + 65536];
	struct partition *p = partition_new(BUCKETS, WRITERS, buffers, mem,
					    is_short);
	struct err e = {0};
	size_t i, k, n;

	for (i = 0; i < N; i++)
		assert_int_equal(partition_put(p, i % WRITERS, all[i].bucket,
					       all[i].r.key, all[i].r.value,
					       &e), 0);
	assert_int_equal(partition_flush(p, &e), 0);
	assert_int_equal(partition_on_disk(p), mem == 0);
	for (k = 0; k < BUCKETS; k++) {
		for (i = n = 0; i < N; i++) {
			if (all[i].bucket != k)
				continue;
			want[n] = all[i].r;
			if (is_short)
				want[n].key &= UINT32_MAX;
			n++;
		}
		assert_int_equal(partition_count(p, k), n);
		assert_int_equal(read_all(p, k, room, got), n);
		qsort(want, n, sizeof(*want), cmp);
		qsort(got, n, sizeof(*got), cmp);
		assert_memory_equal(want, got, n * sizeof(*want));
	}
	partition_free(p);
}

/* step: from a value to the next, at most; `back`: some are less. */
static void
fill(uint64_t step, uint64_t back)
{
	uint64_t value = UINT64_C(1) << 33, i;

	for (i = 0; i < N; i++) {
		value += rng_below(1, RNG_TEST, i, step);
		all[i].r.key = rng_u64(2, RNG_TEST, i);
		all[i].r.value = value - rng_below(3, RNG_TEST, i, back);
		all[i].bucket = (size_t)rng_below(4, RNG_TEST, i, BUCKETS - 1);
	}
}

static void
check_all(void)
{
	size_t k;

	for (k = 0; k < 8; k++)
		check(k & 1 ? 1 : 1 << 22, k & 2 ? 0 : 1 << 22, k & 4 ? 1 : 0,
		      k % 3 ? PARTITION_MOST : N + 1);
}

static void
near_values(void **state)
{
	(void)state;
	fill(1000, 1);
	check_all();
}

static void
far_values(void **state)
{
	(void)state;
	fill(UINT64_C(1) << 31, UINT64_C(1) << 32);
	check_all();
	fill(UINT64_C(1) << 45, 1);
	check_all();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(near_values),
		cmocka_unit_test(far_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
