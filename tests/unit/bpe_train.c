/*
 * bpe_train.c - pre-tokens counted and merges learned, against a trainer that
 * recounts everything at every turn (naive_bpe.h)
 */
#include "tests/unit/test.h"

#include "base/mem.h"
#include "base/rng.h"
#include "tokenizer/bpe_train.h"
#include "record/vocab.h"
#include "tests/unit/naive_bpe.h"

enum { MERGES = 300 };

static uint64_t ticks;

static uint64_t
rnd(uint64_t n)
{
	return rng_below(7, RNG_TEST, ticks++, n);
}

static void
put(struct pretokens *p, const char *s, size_t n, uint64_t count)
{
	/* exactly n bytes on the heap, so that a read past them is caught */
	char *text = xmalloc(n);
	uint32_t end = n;
	struct err e = {0};

	memcpy(text, s, n);
	assert_int_equal(pretokens_add(p, text, n, 0, &end, 1, count, &e), 0);
	free(text);
}

static void
puts_(struct pretokens *p, const char *s, uint64_t count)
{
	put(p, s, strlen(s), count);
}

static struct bpe_train
learn(const struct pretokens *p, uint32_t merges, uint64_t min, uint32_t max)
{
	const struct bpe_train_opts o = {
		.merges = merges, .min_count = min, .max_bytes = max
	};
	struct bpe_train t;
	struct err e = {0};

	assert_int_equal(bpe_train_run(p, &o, &t, &e), 0);
	return t;
}

static void
assert_pair(const struct bpe_train *t, size_t k, const char *ab)
{
	assert_true(k < t->n);
	assert_int_equal(t->pair[k][0], vocab_byte_id[(unsigned char)ab[0]]);
	assert_int_equal(t->pair[k][1], vocab_byte_id[(unsigned char)ab[1]]);
}

/* ---- the rule, by hand ---- */

static void
test_counts_past_32_bits(void **state)
{
	struct pretokens *p = pretokens_new();
	struct bpe_train t;

	(void)state;
	puts_(p, "aa", 3000000000u);
	puts_(p, "bb", 5);
	puts_(p, "cc", 4294967297u);
	t = learn(p, 10, 1, 0);
	assert_int_equal(t.n, 3);
	assert_pair(&t, 0, "cc");
	assert_pair(&t, 1, "aa");
	assert_pair(&t, 2, "bb");
	assert_true(t.count[0] == 4294967297u && t.count[1] == 3000000000u);
	bpe_train_clear(&t);
	pretokens_free(p);
}

static void
test_overlapping_neighbours_count(void **state)
{
	struct pretokens *p = pretokens_new();
	struct bpe_train t;

	(void)state;
	puts_(p, "aaa", 2);	/* (a, a) 4 times */
	puts_(p, "xy", 3);
	t = learn(p, 10, 1, 0);
	assert_pair(&t, 0, "aa");
	assert_int_equal(t.count[0], 4);
	assert_pair(&t, 1, "xy");
	/* left to right: (aa) a remains, not a (aa) */
	assert_int_equal(t.pair[2][0], 256);
	assert_int_equal(t.pair[2][1], vocab_byte_id['a']);
	assert_int_equal(t.n, 3);
	bpe_train_clear(&t);
	pretokens_free(p);
}

/* Byte ids are in GPT-2 order: '!' is 0, a space 220, 0x00 is 188. */
static void
test_ties_take_smallest_ids(void **state)
{
	struct pretokens *p = pretokens_new();
	struct bpe_train t;

	(void)state;
	puts_(p, " b", 1);
	puts_(p, "ab", 1);
	puts_(p, "aa", 1);
	put(p, "\0!", 2, 1);
	t = learn(p, 4, 1, 0);
	assert_pair(&t, 0, "aa");
	assert_pair(&t, 1, "ab");
	assert_pair(&t, 2, "\0!");
	assert_pair(&t, 3, " b");
	bpe_train_clear(&t);
	pretokens_free(p);
}

static void
test_longest_token(void **state)
{
	struct pretokens *p = pretokens_new();
	struct bpe_train t;

	(void)state;
	puts_(p, "hello", 1);
	puts_(p, "world", 1);
	t = learn(p, 100, 1, 1);
	assert_int_equal(t.n, 0);
	bpe_train_clear(&t);
	t = learn(p, 100, 1, 5);
	assert_int_equal(t.n, 8);	/* both words whole */
	bpe_train_clear(&t);
	t = learn(p, 100, 1, 4);
	assert_int_equal(t.n, 6);
	bpe_train_clear(&t);
	pretokens_free(p);
}

static void
test_nothing_to_learn(void **state)
{
	struct pretokens *p = pretokens_new();
	struct bpe_train t = learn(p, 100, 1, 0);

	(void)state;
	assert_int_equal(t.n, 0);
	bpe_train_clear(&t);
	puts_(p, "a", 9);
	puts_(p, "bc", 0);
	t = learn(p, 100, 1, 0);
	assert_int_equal(t.n, 0);
	bpe_train_clear(&t);
	puts_(p, "de", 9);
	t = learn(p, 0, 1, 0);
	assert_int_equal(t.n, 0);
	bpe_train_clear(&t);
	t = learn(p, 5, 10, 0);
	assert_int_equal(t.n, 0);
	bpe_train_clear(&t);
	pretokens_free(p);
}

/* ---- against the oracle ---- */

struct text {
	char v[64];
	size_t n;
	uint64_t count;
};

/* A few letters only, so that runs, ties and nested pairs abound. */
static size_t
texts_random(struct text *t, size_t max)
{
	size_t n = 1 + rnd(max), letters = 1 + rnd(5), len = 2 + rnd(60);
	int heavy = rnd(4) == 0;

	for (size_t i = 0; i < n; i++) {
		t[i].n = 1 + rnd(len);
		t[i].count = 1 + rnd(4);
		if (heavy)
			t[i].count = rnd((uint64_t)1 << (1 + rnd(40)));
		for (size_t k = 0; k < t[i].n; k++)
			t[i].v[k] = "ab\0 \xff"[rnd(letters)];
	}
	return n;
}

static struct pretokens *
texts_count(const struct text *t, size_t n)
{
	struct pretokens *p = pretokens_new();

	for (size_t i = 0; i < n; i++)
		put(p, t[i].v, t[i].n, t[i].count);
	return p;
}

static void
assert_same_as_oracle(const struct text *v, size_t n, uint64_t min,
		      uint32_t max)
{
	struct pretokens *p = texts_count(v, n);
	struct bpe_train t = learn(p, MERGES, min, max);
	struct naive o = {0};
	uint32_t pair[2] = {0, 0};
	uint64_t count;
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		naive_add(&o, vocab_byte_id, v[i].v, v[i].n, v[i].count);
	while (k < MERGES && naive_turn(&o, min, max, pair, &count)) {
		assert_true(k < t.n);
		assert_int_equal(t.pair[k][0], pair[0]);
		assert_int_equal(t.pair[k][1], pair[1]);
		assert_true(t.count[k] == count);
		k++;
	}
	assert_int_equal(t.n, k);
	naive_clear(&o);
	bpe_train_clear(&t);
	pretokens_free(p);
}

static void
test_oracle(void **state)
{
	struct text v[12];

	(void)state;
	for (int round = 0; round < 600; round++) {
		size_t n = texts_random(v, 12);

		assert_same_as_oracle(v, n, 1, 0);
		if (round % 3 == 0)
			assert_same_as_oracle(v, n, 1 + rnd(9), 0);
		if (round % 3 == 1)
			assert_same_as_oracle(v, n, 1, 1 + rnd(9));
	}
}

/* ---- properties of the result ---- */

static void
shuffle(struct text *v, size_t n)
{
	for (size_t i = n; i > 1; i--) {
		size_t k = rnd(i);
		struct text t = v[k];

		v[k] = v[i - 1];
		v[i - 1] = t;
	}
}

static void
assert_same(const struct bpe_train *a, const struct bpe_train *b, size_t n)
{
	assert_true(a->n >= n && b->n >= n);
	assert_memory_equal(a->pair, b->pair, n * sizeof *a->pair);
	assert_memory_equal(a->count, b->count, n * sizeof *a->count);
}

static void
test_order_and_threads_do_not_matter(void **state)
{
	struct text v[400];
	struct err e = {0};

	(void)state;
	for (int round = 0; round < 20; round++) {
		size_t n = texts_random(v, 400), cut = rnd(n + 1);
		struct pretokens *a = texts_count(v, n), *b, *c;
		struct bpe_train x = learn(a, MERGES, 1, 0), y;

		shuffle(v, n);
		b = texts_count(v, cut);
		c = texts_count(v + cut, n - cut);
		assert_int_equal(pretokens_merge(b, c, &e), 0);
		y = learn(b, MERGES, 1, 0);
		assert_int_equal(x.n, y.n);
		assert_same(&x, &y, x.n);
		bpe_train_clear(&x);
		bpe_train_clear(&y);
		pretokens_free(a);
		pretokens_free(b);
		pretokens_free(c);
	}
}

static void
test_smaller_is_prefix_of_larger(void **state)
{
	struct text v[400];

	(void)state;
	for (int round = 0; round < 20; round++) {
		size_t n = texts_random(v, 400);
		struct pretokens *p = texts_count(v, n);
		struct bpe_train x = learn(p, MERGES, 1, 0), y;

		for (size_t k = 0; k <= x.n; k += 1 + x.n / 7) {
			y = learn(p, k, 1, 0);
			assert_int_equal(y.n, k);
			assert_same(&x, &y, k);
			bpe_train_clear(&y);
		}
		for (size_t k = 1; k < x.n; k++)
			assert_true(x.count[k] <= x.count[k - 1]);
		assert_true(x.n == 0 || x.count[x.n - 1] > 0);
		bpe_train_clear(&x);
		pretokens_free(p);
	}
}

/* Encode s with the merges in rank order; the number of ids. */
static size_t
encode(const struct bpe_train *t, const char *s, size_t n, uint32_t *id)
{
	struct naive_piece q = {id, n, 1};

	for (size_t i = 0; i < n; i++)
		id[i] = vocab_byte_id[(unsigned char)s[i]];
	for (size_t k = 0; k < t->n; k++)
		naive_replace(&q, t->pair[k][0], t->pair[k][1], 256 + k);
	return q.n;
}

static struct span *
token_bytes(const struct bpe_train *t, struct buf *room)
{
	struct span *v = xcalloc(256 + t->n, sizeof *v);

	buf_reserve(room, 1 << 20);	/* so that the spans stay */
	for (size_t i = 0; i < 256; i++) {
		v[i] = (struct span){room->p + room->n, 1};
		buf_putc(room, vocab_id_byte[i]);
	}
	for (size_t k = 0; k < t->n; k++) {
		struct span a = v[t->pair[k][0]], b = v[t->pair[k][1]];

		v[256 + k] = (struct span){room->p + room->n, a.n + b.n};
		buf_put(room, a.p, a.n);
		buf_put(room, b.p, b.n);
	}
	return v;
}

/* encode(bytes(t)) == [t], so no two tokens have the same bytes. */
static void
test_token_encodes_to_itself(void **state)
{
	struct text v[200];
	uint32_t id[4096];

	(void)state;
	for (int round = 0; round < 40; round++) {
		size_t n = texts_random(v, 200);
		struct pretokens *p = texts_count(v, n);
		struct bpe_train t = learn(p, MERGES, 1, round % 2 ? 0 : 9);
		struct buf room = {0};
		struct span *tok = token_bytes(&t, &room);

		for (size_t k = 0; k < 256 + t.n; k++) {
			assert_true(tok[k].n <= 64);
			assert_int_equal(encode(&t, tok[k].p, tok[k].n, id),
					 1);
			assert_int_equal(id[0], k);
		}
		buf_clear(&room);
		free(tok);
		bpe_train_clear(&t);
		pretokens_free(p);
	}
}

/* n equal bytes halve at each merge: log2 n merges and the remainders. */
static void
test_one_long_piece(void **state)
{
	size_t n = 1 << 20;
	char *s = xmalloc(n);
	struct pretokens *p = pretokens_new();
	struct bpe_train t;

	(void)state;
	memset(s, 'a', n);
	put(p, s, n, 1);
	t = learn(p, 1000, 1, 0);
	assert_int_equal(t.n, 20);
	assert_int_equal(t.count[0], n - 1);
	assert_int_equal(t.count[19], 1);
	bpe_train_clear(&t);
	pretokens_free(p);
	free(s);
}

/* ---- counting ---- */

static int
text_cmp(const void *x, const void *y)
{
	const struct text *a = x, *b = y;
	int c = memcmp(a->v, b->v, a->n < b->n ? a->n : b->n);

	return c ? c : (a->n > b->n) - (a->n < b->n);
}

/* Every length around the 15 bytes of a short pre-token, with NULs. */
static void
test_pretokens_are_counted(void **state)
{
	enum { N = 20000 };
	struct text *v = xcalloc(N, sizeof *v);
	struct pretokens *p = pretokens_new();
	struct pretokens_size size;
	struct pretoken got;
	uint64_t total = 0, bytes = 0, distinct = 0, distinct_bytes = 0;
	size_t it = 0;

	(void)state;
	for (size_t i = 0; i < N; i++) {
		v[i].n = 1 + rnd(20);
		v[i].count = rnd(3);
		for (size_t k = 0; k < v[i].n; k++)
			v[i].v[k] = "\0a\xff\x0f"[rnd(k % 5 ? 1 : 4)];
		put(p, v[i].v, v[i].n, v[i].count);
		total += v[i].count;
		bytes += v[i].count * v[i].n;
	}
	qsort(v, N, sizeof *v, text_cmp);
	for (size_t i = 0, k; i < N; i = k) {
		uint64_t sum = 0;

		for (k = i; k < N && text_cmp(&v[i], &v[k]) == 0; k++)
			sum += v[k].count;
		v[i].count = sum;
		for (size_t j = i + 1; j < k; j++)
			v[j].count = sum;
		distinct += sum > 0;
		distinct_bytes += sum > 0 ? v[i].n : 0;
	}
	pretokens_size(p, &size);
	assert_true(size.total == total && size.bytes == bytes);
	assert_true(size.distinct == distinct);
	assert_true(size.distinct_bytes == distinct_bytes);
	while (pretokens_next(p, &it, &got)) {
		struct text key = {.n = got.bytes.n};
		const struct text *hit;

		memcpy(key.v, got.bytes.p, got.bytes.n);
		hit = bsearch(&key, v, N, sizeof *v, text_cmp);
		assert_non_null(hit);
		assert_true(hit->count == got.count);
		distinct--;
	}
	assert_int_equal(distinct, 0);
	pretokens_free(p);
	free(v);
}

/* Several pre-tokens of a text, and a start in the middle of a text. */
static void
test_ends(void **state)
{
	struct pretokens *p = pretokens_new();
	const uint32_t ends[] = {3, 4, 24};
	const char *text = "??abcdddddddddddddddddddd";
	struct pretoken got;
	struct err e = {0};
	size_t it = 0, seen = 0;

	(void)state;
	assert_int_equal(pretokens_add(p, text, 24, 2, ends, 3, 2, &e), 0);
	while (pretokens_next(p, &it, &got)) {
		assert_int_equal(got.count, 2);
		seen += got.bytes.n == 1 && *got.bytes.p == 'a';
		seen += got.bytes.n == 1 && *got.bytes.p == 'b';
		seen += got.bytes.n == 20;
	}
	assert_int_equal(seen, 3);
	pretokens_free(p);
}

static void
test_overflow_is_refused(void **state)
{
	struct pretokens *p = pretokens_new(), *q = pretokens_new();
	uint32_t end = 2;
	struct err e = {0};

	(void)state;
	puts_(p, "aa", (uint64_t)1 << 61);
	assert_int_equal(pretokens_add(p, "aa", 2, 0, &end, 1,
				    (uint64_t)1 << 61, &e), -1);
	assert_non_null(strstr(e.msg, "2^63"));
	e.set = 0;
	assert_int_equal(pretokens_add(q, "aa", 2, 0, &end, 1, ~(uint64_t)0,
				    &e), -1);
	e.set = 0;
	puts_(q, "bb", (uint64_t)1 << 61);
	assert_int_equal(pretokens_merge(p, q, &e), -1);
	pretokens_free(p);
	pretokens_free(q);
}

static void
test_memory_limit(void **state)
{
	struct pretokens *p = pretokens_new();
	struct bpe_train_opts o = {.merges = 10, .min_count = 1, .mem = 1000};
	struct bpe_train t;
	struct err e = {0};

	(void)state;
	puts_(p, "abcabc", 1);
	assert_int_equal(bpe_train_run(p, &o, &t, &e), -1);
	assert_non_null(strstr(e.msg, "limit of 1000:"));
	pretokens_free(p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts_past_32_bits),
		cmocka_unit_test(test_overlapping_neighbours_count),
		cmocka_unit_test(test_ties_take_smallest_ids),
		cmocka_unit_test(test_longest_token),
		cmocka_unit_test(test_nothing_to_learn),
		cmocka_unit_test(test_oracle),
		cmocka_unit_test(test_order_and_threads_do_not_matter),
		cmocka_unit_test(test_smaller_is_prefix_of_larger),
		cmocka_unit_test(test_token_encodes_to_itself),
		cmocka_unit_test(test_one_long_piece),
		cmocka_unit_test(test_pretokens_are_counted),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_overflow_is_refused),
		cmocka_unit_test(test_memory_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
