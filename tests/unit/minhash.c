/*
 * Shingles, bands, sorted keys, clusters, edit distance against naive ones;
 * and the whole of --near against all pairs of a real corpus.
 */
#include "tests/unit/test.h"

#include <math.h>

#include "base/args.h"
#include "base/rng.h"
#include "base/union_find.h"
#include "dedup/dedup.h"
#include "dedup/edit_distance.h"
#include "dedup/minhash.h"
#include "record/doc.h"
#include "stream/extsort.h"
#include "stream/json.h"

static const struct minhash_opts fineweb = {5, 14, 8, 1, 0};

static uint64_t at;

static uint64_t
below(uint64_t n)
{
	return rng_below(11, 0, at++, n);
}

static int
cmp64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void
test_shingles(void **state)
{
	struct shingles a = {0}, b = {0};
	struct minhash_opts o = fineweb;

	(void)state;
	shingles_of(&a, &o, span_str("one two three four five six"));
	assert_int_equal(a.n, 2);
	shingles_of(&b, &o, span_str("Two, three - FOUR five six!"));
	assert_int_equal(b.n, 1);
	assert_true(a.v[1] == b.v[0]);
	shingles_of(&b, &o, span_str("two"));
	assert_int_equal(b.n, 1);
	shingles_of(&b, &o, span_str("..."));
	assert_int_equal(b.n, 0);
	o.chars = 1;
	shingles_of(&a, &o, span_str("ab-cd e"));
	shingles_of(&b, &o, span_str("a b c d e f"));
	assert_int_equal(a.n, 1);
	assert_int_equal(b.n, 2);
	assert_true(a.v[0] == b.v[0]);
	shingles_clear(&a);
	shingles_clear(&b);
}

static void
test_sets(void **state)
{
	struct shingles s = {0};
	uint64_t *want = malloc(20000 * sizeof(*want));
	size_t round, i, n, k;

	(void)state;
	for (round = 0; round < 300; round++) {
		n = below(round % 10 ? 300 : 20000);
		s.n = n;
		if (s.cap < n) {
			s.cap = n;
			s.v = realloc(s.v, n * sizeof(*s.v));
		}
		for (i = 0; i < n; i++)
			/* sometimes few of them, sometimes in one bucket */
			want[i] = s.v[i] = round % 3 == 0 ? below(50) * 3 :
				round % 3 == 1 ? rng_u64(3, 0, below(400)) :
				rng_u64(3, 0, i + round);
		qsort(want, n, sizeof(*want), cmp64);
		for (i = k = 0; i < n; i++)
			if (!k || want[k - 1] != want[i])
				want[k++] = want[i];
		shingles_sort(&s);
		assert_int_equal(s.n, k);
		assert_memory_equal(s.v, want, k * sizeof(*want));
	}
	free(want);
	shingles_clear(&s);
}

/* Every way to compute them gives the same; files hold them. */
static void
test_bands(void **state)
{
	static const int shape[][2] = {
		{14, 8}, {1, 1}, {20, 13}, {3, 5}, {450, 20}, {16, 8}, {17, 1}
	};
	uint64_t s[300], a[450], b[450];
	size_t i, k, n;
	int level;

	(void)state;
	for (i = 0; i < 300; i++)
		s[i] = rng_u64(5, 0, i);
	for (i = 0; i < TEST_COUNT(shape); i++) {
		struct minhash_opts o = {5, shape[i][0], shape[i][1], 9, 0};
		struct minhash *m = minhash_new(&o);

		for (n = 1; n < 300; n += 1 + n / 3) {
			minhash_use(m, 0);
			minhash_bands(m, s, n, a);
			for (level = 1; level < 3; level++) {
				minhash_use(m, level);
				minhash_bands(m, s, n, b);
				assert_memory_equal(a, b, (size_t)o.bands *
						    sizeof(*a));
			}
		}
		for (k = 1; k < (size_t)o.bands; k++)
			assert_true(a[k] != a[k - 1]);
		minhash_free(m);
	}
}

/* Band files of other days and machines must fit. */
static void
test_frozen(void **state)
{
	struct minhash *m = minhash_new(&fineweb);
	struct shingles s = {0};
	struct set_hash h;
	uint64_t key[14];

	(void)state;
	shingles_of(&s, &fineweb, span_str("the first of a cluster is kept, "
					   "for any number of threads"));
	minhash_bands(m, s.v, s.n, key);
	shingles_sort(&s);
	h = set_hash(s.v, s.n);
	assert_int_equal(s.n, 8);
	assert_true(s.v[0] == UINT64_C(0x0778c8e8cf8b3217));
	assert_true(s.v[7] == UINT64_C(0xf9bd3bebd2f215a7));
	assert_true(key[0] == UINT64_C(0xff1c7c0bd6e30d05));
	assert_true(key[13] == UINT64_C(0x82000d7dfd935c34));
	assert_true(h.a == UINT64_C(0x82241e58f5aee4b3) &&
		    h.b == UINT64_C(0x3a31fa27eb2b3a88));
	shingles_clear(&s);
	minhash_free(m);
}

/* Pairs of known similarity meet as often as the curve says. */
static void
test_curve(void **state)
{
	enum { N = 120, PAIRS = 4000, SEEDS = 8 };
	static const size_t common[] = {80, 95, 107, 114};
	uint64_t x[N], y[N], a[14], b[14], next = 0;
	size_t c, t, i, k, hits, n;

	(void)state;
	assert_true(fabs(minhash_curve(&fineweb, 0.8) - 0.923548) < 1e-6);
	for (c = 0; c < TEST_COUNT(common); c++) {
		double s = (double)common[c] / (double)(2 * N - common[c]);
		double want = minhash_curve(&fineweb, s);

		for (t = hits = n = 0; t < SEEDS; t++) {
			struct minhash_opts o = fineweb;
			struct minhash *m;

			o.seed = (int64_t)t;
			m = minhash_new(&o);
			for (k = 0; k < PAIRS / SEEDS; k++, n++) {
				for (i = 0; i < N; i++) {
					x[i] = rng_u64(6, 0, next++);
					y[i] = i < common[c] ? x[i] :
						rng_u64(6, 0, next++);
				}
				minhash_bands(m, x, N, a);
				minhash_bands(m, y, N, b);
				for (i = 0; i < 14 && a[i] != b[i]; i++)
					;
				hits += i < 14;
			}
			minhash_free(m);
		}
		assert_true(fabs((double)hits / (double)n - want) <
			    4.5 * sqrt(want * (1 - want) / (double)n) + 1e-3);
	}
}

static int
by_key(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return x[0] != y[0] ? (x[0] < y[0] ? -1 : 1) :
		x[1] < y[1] ? -1 : x[1] > y[1];
}

/* The groups are the runs of equal keys of the same records, sorted. */
static void
check_groups(struct extsort *s, uint64_t (*want)[2], size_t n)
{
	struct err e = {0};
	const uint32_t *doc;
	size_t j = 0, k;

	assert_int_equal(extsort_rewind(s, &e), 0);
	while (extsort_group(s, &doc, &k, &e) > 0) {
		while (j + 1 < n && want[j][0] != want[j + 1][0])
			j++;
		for (size_t i = 0; i < k; i++, j++) {
			assert_true(j < n);
			assert_true(want[j][0] == want[j - i][0]);
			assert_true(want[j][1] == doc[i]);
		}
		assert_true(j == n || want[j][0] != want[j - 1][0]);
	}
	for (; j + 1 < n; j++)
		assert_true(want[j][0] != want[j + 1][0]);
	assert_false(e.set);
}

static void
test_keysort(void **state)
{
	static const size_t mem[] = {1 << 24, 1 << 15, 0};
	enum { N = 50000 };
	uint64_t (*want)[2] = malloc(N * sizeof(*want));
	struct err e = {0};

	(void)state;
	for (size_t k = 0; k < TEST_COUNT(mem); k++) {
		struct extsort *s = extsort_new(mem[k]);

		for (size_t i = 0; i < N; i++) {
			want[i][0] = k == 0 && i % 2 ? 7 :
				rng_u64(8, 0, below(20000)) >> below(2) * 40;
			want[i][1] = (uint32_t)i;
			assert_int_equal(extsort_put(s, want[i][0],
						     (uint32_t)i, &e), 0);
		}
		qsort(want, N, sizeof(*want), by_key);
		for (int pass = 0; pass < 2; pass++)
			check_groups(s, want, N);
		assert_true((extsort_runs(s) > 0) == (k > 0));
		extsort_free(s);
	}
	free(want);
}

static void
test_cluster(void **state)
{
	static const uint32_t order[6][2] = {
		{0, 1}, {0, 2}, {1, 0}, {1, 2}, {2, 0}, {2, 1}
	};
	static const uint32_t edge[3][2] = {{4, 1}, {1, 2}, {2, 4}};
	struct union_find c;
	size_t i, k;

	(void)state;
	for (i = 0; i < 6; i++) {
		union_find_init(&c, 5);
		for (k = 0; k < 2; k++)
			union_find_join(&c, edge[order[i][k]][0],
				     edge[order[i][k]][1]);
		assert_int_equal(union_find_first(&c, 4), 1);
		assert_int_equal(union_find_first(&c, 2), 1);
		assert_int_equal(union_find_first(&c, 0), 0);
		assert_int_equal(union_find_first(&c, 3), 3);
		assert_int_equal(union_find_join(&c, 4, 2), 0);
		union_find_clear(&c);
	}
}

static size_t
naive_edit(const uint64_t *a, size_t n, const uint64_t *b, size_t m)
{
	size_t row[80], i, k, diag, up, best;

	for (k = 0; k <= m; k++)
		row[k] = k;
	for (i = 1; i <= n; i++) {
		diag = row[0];
		row[0] = i;
		for (k = 1; k <= m; k++) {
			up = row[k];
			best = diag + (a[i - 1] != b[k - 1]);
			if (up + 1 < best)
				best = up + 1;
			if (row[k - 1] + 1 < best)
				best = row[k - 1] + 1;
			diag = up;
			row[k] = best;
		}
	}
	return row[m];
}

static void
test_edit(void **state)
{
	uint64_t a[70], b[70];
	size_t round, i, n, m, want, max;

	(void)state;
	for (round = 0; round < 20000; round++) {
		n = below(70);
		m = below(70);
		for (i = 0; i < 70; i++) {
			a[i] = below(1 + round % 7);
			b[i] = below(5) ? a[i] : below(3);
		}
		max = below(80);
		want = naive_edit(a, n, b, m);
		assert_int_equal(edit_distance(a, n, b, m, max),
				 want <= max ? want : max + 1);
		/* inclusive, also where 1 - d / n is a bit too small */
		max = n > m ? n : m;
		if (max)
			assert_true(edit_similar(a, n, b, m, (double)
						 (max - want) / (double)max));
	}
}

/* --- all pairs --- */

struct corpus {
	struct shingles *set;
	uint64_t *key;
	size_t n;
};

static void
read_corpus(struct corpus *c, const char *path)
{
	struct doc_opts o;
	struct doc_reader *r;
	struct doc_parser *p;
	struct doc_batch *b;
	struct minhash *m = minhash_new(&fineweb);
	struct err e = {0};
	size_t i;

	doc_opts_init(&o);
	r = doc_reader_open(&path, 1, &o);
	p = doc_parser_new(&o);
	while ((b = doc_read(r, 0, &e))) {
		assert_int_equal(doc_parse(p, b, &e), 0);
		c->set = realloc(c->set, (c->n + b->n) * sizeof(*c->set));
		c->key = realloc(c->key, (c->n + b->n) * 14 * sizeof(*c->key));
		for (i = 0; i < b->n; i++, c->n++) {
			struct shingles *s = &c->set[c->n];

			*s = (struct shingles){0};
			shingles_of(s, &fineweb, b->v[i].text);
			shingles_sort(s);
			if (s->n)
				minhash_bands(m, s->v, s->n,
					      c->key + 14 * c->n);
		}
		doc_batch_free(b);
	}
	doc_parser_free(p);
	doc_reader_close(r);
	minhash_free(m);
}

static int
meet(const struct corpus *c, size_t i, size_t k)
{
	size_t j;

	for (j = 0; j < 14; j++)
		if (c->key[14 * i + j] == c->key[14 * k + j])
			return 1;
	return 0;
}

/* Each document of a real corpus, and versions with words put in. */
static void
write_versions(const char *from, const char *to)
{
	struct doc_opts o;
	struct doc_reader *r;
	struct doc_parser *p;
	struct doc_batch *b;
	struct err e = {0};
	struct buf text = {0}, line = {0};
	FILE *f = fopen(to, "w");
	size_t i, k, v;

	doc_opts_init(&o);
	r = doc_reader_open(&from, 1, &o);
	p = doc_parser_new(&o);
	while ((b = doc_read(r, 0, &e))) {
		assert_int_equal(doc_parse(p, b, &e), 0);
		for (v = 0; v < 4 * b->n; v++) {
			struct span t = b->v[v / 4].text;
			size_t rare = 5 + below(300);

			buf_reset(&text);
			for (i = k = 0; i < t.n; i++) {
				buf_putc(&text, t.p[i]);
				if (v % 4 && t.p[i] == ' ' && !below(rare))
					buf_printf(&text, "new%zu ", k++);
			}
			buf_reset(&line);
			buf_puts(&line, "{\"text\":");
			json_put_str(&line, buf_span(&text));
			buf_puts(&line, "}\n");
			fwrite(line.p, 1, line.n, f);
		}
		doc_batch_free(b);
	}
	doc_parser_free(p);
	doc_reader_close(r);
	fclose(f);
	buf_clear(&text);
	buf_clear(&line);
}

/* What near drops is exactly what all candidate pairs of 0.6 say. */
static void
test_all_pairs(void **state)
{
	char *dir = test_folder();
	const char *path = test_path(dir, "versions");
	struct dedup_opts o = {
		.threads = 2, .near = 1, .mh = fineweb, .threshold = 0.6,
		.verify = 1, .mem = 1 << 26,
	};
	struct corpus c = {0};
	struct union_find want;
	struct err e = {0};
	size_t i, k, n, dropped = 0, similar = 0, found = 0;
	double expect = 0, spread = 0;
	char line[64], *got;

	(void)state;
	write_versions("tests/data/text/digitalgov.jsonl.zst", path);
	read_corpus(&c, path);
	union_find_init(&want, (uint32_t)c.n);
	for (i = 0; i < c.n; i++)
		for (k = i + 1; k < c.n; k++) {
			double s = set_jaccard(c.set[i].v, c.set[i].n,
					       c.set[k].v, c.set[k].n);
			double p = minhash_curve(&fineweb, s);

			if (s < o.threshold)
				continue;
			similar++;
			expect += p;
			spread += p * (1 - p);
			if (!meet(&c, i, k))
				continue;
			found++;
			union_find_join(&want, (uint32_t)i, (uint32_t)k);
		}
	assert_true(similar > c.n / 2 && spread > 1);
	assert_true(fabs((double)found - expect) < 5 * sqrt(spread));
	for (i = 0; i < c.n; i++)
		dropped += union_find_first(&want, (uint32_t)i) != i;
	filter_opts_init(&o.filter);
	o.filter.output = test_path(dir, "out");
	o.filter.doc.stats = test_path(dir, "stats");
	args_common.threads = 2;
	args_common.quiet = 1;
	if (dedup_run(&o, &path, 1, &e))
		fail_msg("%s", e.msg);
	assert_int_equal(input_slurp(o.filter.doc.stats, &got, &n, &e), 0);
	snprintf(line, sizeof(line), "\"docs_dropped\":%zu,", dropped);
	if (!strstr(got, line))
		fail_msg("want %s got %s", line, got);
	free(got);
	for (i = 0; i < c.n; i++)
		shingles_clear(&c.set[i]);
	free(c.set);
	free(c.key);
	union_find_clear(&want);
	test_remove(dir);
}

/* A pipe read again gives the same chunks. */
static void
test_again(void **state)
{
	const char *path = "tests/data/text/digitalgov.jsonl.zst";
	struct err e = {0};
	struct buf pass[2] = {{0}};
	struct chunk c = {0};
	struct input *in;
	const char *name;
	char fd_name[64], *p;
	int fd[2], i;
	size_t n;

	(void)state;
	assert_int_equal(input_slurp(path, &p, &n, &e), 0);
	assert_int_equal(pipe(fd), 0);
	if (fork() == 0) {
		close(fd[0]);
		for (i = 0; i < 3; i++)
			if (write(fd[1], p, n) != (ssize_t)n)
				_exit(1);
		_exit(0);
	}
	close(fd[1]);
	snprintf(fd_name, sizeof(fd_name), "/dev/fd/%d", fd[0]);
	name = fd_name;
	in = input_open(&name, 1);
	input_keep(in);
	for (i = 0; i < 2; i++) {
		while (input_chunk(in, &c, 5000, &e) > 0)
			buf_put(&pass[i], c.p, c.n);
		assert_int_equal(e.set, 0);
		if (i == 0)
			assert_int_equal(input_rewind(in, &e), 0);
	}
	assert_int_equal(pass[0].n, 3 * n);
	assert_int_equal(pass[1].n, 3 * n);
	assert_memory_equal(pass[0].p, pass[1].p, 3 * n);
	buf_clear(&pass[0]);
	buf_clear(&pass[1]);
	chunk_clear(&c);
	input_close(in);
	close(fd[0]);
	free(p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shingles),
		cmocka_unit_test(test_sets),
		cmocka_unit_test(test_bands),
		cmocka_unit_test(test_frozen),
		cmocka_unit_test(test_curve),
		cmocka_unit_test(test_keysort),
		cmocka_unit_test(test_cluster),
		cmocka_unit_test(test_edit),
		cmocka_unit_test(test_all_pairs),
		cmocka_unit_test(test_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
