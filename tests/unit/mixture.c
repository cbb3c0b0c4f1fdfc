/*
 * Sources that take turns: shares hold from the first window on, every window
 * of a source is taken once per pass, and all of it is what a walk over all
 * samples finds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "order/plan.h"

static const char *const paths[] = {"/a", "/b", "/c", "/d", "/e", "/f"};

/* Weights as words; each source has windows and a hash of its own. */
static struct mixture *
mix(const char *weights, struct err *e)
{
	struct span w[6];
	char text[200], *save, *p;
	struct mixture *m;
	size_t n = 0, i;

	snprintf(text, sizeof text, "%s", weights);
	for (p = strtok_r(text, " ", &save); p;
	     p = strtok_r(NULL, " ", &save))
		w[n++] = span_str(p);
	m = mixture_new(w, paths, n, e);
	for (i = 0; m && i < n; i++) {
		m->v[i].windows = 11 + 7 * i;
		m->v[i].hash = 1000 + i;
	}
	return m;
}

static const char *const some[] = {"1", "0.7 0.3", "0.5 0.5", "1 99",
	"0.999 0.001", "5 3 2", "0.1 0.2 0.3 0.4", "1 1 1", "0.91 0.05 0.04",
	"1 2 4 8 16 32", "0.97 0.01 0.01 0.01", "17 13 11 7 5 3"};
enum { SOME = sizeof some / sizeof *some };

/* Tijdeman's bound, in whole numbers. */
static void
shares_hold_in_every_prefix(void **state)
{
	struct err e = {0};
	size_t k, s;

	(void)state;
	for (k = 0; k < SOME; k++) {
		struct mixture *m = mix(some[k], &e);
		uint64_t i, period = 0, f;
		int64_t off;

		for (s = 0; s < m->n; s++)
			period += m->v[s].weight;
		f = m->n > 1 ? 2 * m->n - 2 : 1;
		for (i = 0; i <= 3 * period; i++)
			for (s = 0; s < m->n; s++) {
				off = (int64_t)(mixture_taken(m, s, i) *
						period) -
					(int64_t)(i * m->v[s].weight);
				assert_true((uint64_t)llabs(off) * f <=
					    period * (f - 1));
				if (i % period == 0)
					assert_int_equal(off, 0);
			}
		mixture_free(m);
	}
}

/* A walk that counts the samples of each source is the oracle. */
static void
walk(struct mixture *m, enum order_kind kind, uint64_t seed)
{
	uint64_t taken[6] = {0}, i;
	unsigned char seen[6][64] = {{0}};
	size_t s, source;

	m->from = 1000;
	for (s = 0; s < m->n; s++)
		m->v[s].start = taken[s] = m->v[s].windows * s;
	for (i = 1000; i < 4000; i++) {
		uint64_t k = mixture_window(m, kind, seed, i, &s);
		const struct mix_source *v = &m->v[s];

		for (source = 0; source < m->n; source++)
			assert_int_equal(mixture_taken(m, source, i),
					 taken[source]);
		assert_int_equal(k, order_window(kind, seed ^ v->hash,
						 v->windows, taken[s]++));
		if (kind == ORDER_RANDOM)
			continue;
		/* each window once per pass of its source */
		assert_int_equal(seen[s][k]++, 0);
		if (taken[s] % v->windows == 0)
			memset(seen[s], 0, sizeof seen[s]);
	}
}

static void
a_walk_finds_the_same(void **state)
{
	struct err e = {0};
	size_t k;
	int kind;

	(void)state;
	for (k = 0; k < SOME; k++)
		for (kind = ORDER_SHUFFLE; kind <= ORDER_RANDOM; kind++) {
			struct mixture *m = mix(some[k], &e);

			walk(m, (enum order_kind)kind, k);
			mixture_free(m);
		}
}

/*
 * Runs depend on it: it must never change.  Made with fractions, in Python.
 */
static void
the_pattern_is_fixed(void **state)
{
	static const char *const want[][2] = {
		{"0.7 0.3", "abaaabaabaabaaabaaba"},
		{"5 3 2", "abacabacababacabacab"},
	};
	struct err e = {0};
	size_t k, s;
	uint64_t i;

	(void)state;
	for (k = 0; k < sizeof want / sizeof *want; k++) {
		struct mixture *m = mix(want[k][0], &e);
		char got[21] = "";

		for (i = 0; i < 20; i++) {
			mixture_window(m, ORDER_SHUFFLE, 1, i, &s);
			got[i] = "abc"[s];
		}
		assert_string_equal(got, want[k][1]);
		mixture_free(m);
	}
}

/* Two sources with as many windows are not in the same order. */
static void
each_source_has_its_own_order(void **state)
{
	struct err e = {0};
	struct mixture *m = mix("1 1", &e);
	uint64_t i, k[2], same = 0;
	size_t s;

	(void)state;
	m->v[0].windows = m->v[1].windows = 500;
	for (i = 0; i < 1000; i += 2) {
		k[0] = mixture_window(m, ORDER_SHUFFLE, 1, i, &s);
		k[1] = mixture_window(m, ORDER_SHUFFLE, 1, i + 1, &s);
		same += k[0] == k[1];
	}
	assert_true(same < 12);
	mixture_free(m);
}

static void
far_along(void **state)
{
	uint64_t far = UINT64_C(1) << 60, i, n, before, after;
	struct err e = {0};
	struct mixture *m = mix("0.123457 0.876543", &e);
	size_t s, source;

	(void)state;
	for (i = far; i < far + 1000; i++) {
		mixture_window(m, ORDER_SHUFFLE, 1, i, &source);
		for (n = s = 0; s < 2; s++) {
			before = mixture_taken(m, s, i);
			after = mixture_taken(m, s, i + 1);
			assert_int_equal(after - before, s == source);
			n += before;
		}
		assert_int_equal(n, i);
	}
	mixture_free(m);
}

static void
check_weights(const char *weights, const uint64_t *want)
{
	struct err e = {0};
	struct mixture *m = mix(weights, &e);
	size_t i;

	assert_non_null(m);
	for (i = 0; i < m->n; i++)
		assert_int_equal(m->v[i].weight, want[i]);
	mixture_free(m);
}

static void
weights_are_exact_or_rounded(void **state)
{
	static const char *const bad[] = {"1 0.0000001",
		"1000000000000 1 1"};
	struct err e = {0};
	size_t i;

	(void)state;
	check_weights("0.7 0.3", (uint64_t[]){7, 3});
	check_weights("70 30.00", (uint64_t[]){7, 3});
	check_weights(".5 00.50", (uint64_t[]){1, 1});
	check_weights("0.333333 0.666667", (uint64_t[]){333333, 666667});
	check_weights("1 2 3 4 5 6", (uint64_t[]){1, 2, 3, 4, 5, 6});
	/* 123456789 / 1111111110 = 0.11111111 */
	check_weights("123456789 987654321", (uint64_t[]){111111, 888889});
	check_weights("0.3333333 0.3333333 0.3333334",
		      (uint64_t[]){333333, 333333, 333334});
	for (i = 0; i < sizeof bad / sizeof *bad; i++) {
		e.set = 0;
		assert_null(mix(bad[i], &e));
		assert_non_null(strstr(e.msg, "/b: its share is below"));
	}
}

static void
paths_and_weights(void **state)
{
	static const struct {
		const char *spec;
		int weighted;
		const char *path, *weight;
	} want[] = {
		{"dir/:0.7", 1, "dir/", "0.7"}, {"a:b:2", 1, "a:b", "2"},
		{"a", 0, "a", ""}, {":3", 0, ":3", ""}, {"a:b", 0, "a:b", ""},
		{"a:", 0, "a:", ""}, {"a:1e3", 0, "a:1e3", ""},
		{"a:0", -1, "", ""}, {"a:0.000", -1, "", ""},
		{"a:1234567890123456789", -1, "", ""},
		{"/tmp:-1", -1, "", ""}, {"/tmp:1.2.3", -1, "", ""},
	};
	char name[] = "/tmp/mixture-XXXXXX:0.7", spec[40];
	struct span path, weight;
	struct err e = {0};
	size_t i;
	int fd;

	(void)state;
	for (i = 0; i < sizeof want / sizeof *want; i++) {
		e.set = 0;
		assert_int_equal(mixture_split(want[i].spec, &path, &weight,
					       &e), want[i].weighted);
		if (want[i].weighted < 0)
			continue;
		assert_true(span_eq(path, span_str(want[i].path)));
		if (want[i].weighted)
			assert_true(span_eq(weight,
					    span_str(want[i].weight)));
	}
	/* a file with that name, alone and with a weight */
	fd = mkstemps(name, 4);
	assert_true(fd >= 0);
	close(fd);
	snprintf(spec, sizeof spec, "%s:3", name);
	assert_int_equal(mixture_split(name, &path, &weight, &e), 0);
	assert_int_equal(mixture_split(spec, &path, &weight, &e), 1);
	assert_true(span_eq(path, span_str(name)));
	unlink(name);
	assert_int_equal(mixture_split(name, &path, &weight, &e), 1);
}

/* ---- plans ---- */

static struct plan_part
part(struct mixture *m, uint64_t batch)
{
	return (struct plan_part){.batch_size = batch, .seed = 3,
		.seq_len = 16, .doc_mask = 1, .mix = m,
		.windows = mixture_windows(m), .hash = mixture_hash(m),
		.data = (char **)(uintptr_t)paths, .ndata = m->n};
}

static void
batch_sizes_change_nothing(void **state)
{
	static const uint64_t sizes[] = {4, 8, 1, 7, 100, 3};
	enum { STEPS = 5 };
	struct err e = {0};
	struct mixture *m = mix("5 3 2", &e);
	struct plan p = {0};
	uint64_t sample = 0, step, i;
	size_t k, s, source;

	(void)state;
	for (k = 0; k < sizeof sizes / sizeof *sizes; k++) {
		struct plan_part now = part(m, sizes[k]);

		plan_continue(&p, k * STEPS, &now);
	}
	for (step = 0; step < k * STEPS; step++) {
		const struct plan_part *at = plan_at(&p, step);

		for (i = 0; i < at->batch_size; i++, sample++) {
			assert_int_equal(plan_window(at, step, i, &source),
					 mixture_window(m, ORDER_SHUFFLE, 3,
							sample, &s));
			assert_int_equal(source, s);
		}
	}
	plan_clear(&p);
	mixture_free(m);
}

/*
 * Steps of one window.  The source with hash 1000 changes its weight, goes, and
 * comes back beside others: no window of it comes twice in a pass.
 */
static void
sources_continue_where_they_were(void **state)
{
	struct err e = {0};
	struct mixture *a = mix("0.7 0.3", &e), *b = mix("1 3", &e);
	struct mixture *c = mix("1 1", &e), *d = mix("2 1 1", &e);
	struct mixture *const in_turn[] = {a, b, c, d};
	unsigned char seen[11] = {0};
	struct plan p = {0};
	uint64_t step, taken = 0, k;
	struct plan_part now;
	size_t i, s;

	(void)state;
	c->v[0].hash = 2000;
	d->v[0].hash = 3000;
	d->v[2].hash = 1000;
	d->v[2].windows = 11;
	for (i = 0; i < 4; i++) {
		now = part(in_turn[i], 1);
		plan_continue(&p, i * 30, &now);
	}
	assert_int_equal(p.n, 4);
	for (step = 0; step < 120; step++) {
		const struct plan_part *at = plan_at(&p, step);

		k = plan_window(at, step, 0, &s);
		if (at->mix->v[s].hash != 1000)
			continue;
		assert_int_equal(seen[k]++, 0);
		if (++taken % 11 == 0)
			memset(seen, 0, sizeof seen);
	}
	assert_in_range(taken, 21 + 7 + 7, 21 + 8 + 8);
	/* another order begins a pass of each source */
	now = part(d, 1);
	now.order = ORDER_SEQUENTIAL;
	plan_continue(&p, 120, &now);
	for (s = 0; s < 3; s++)
		assert_int_equal(p.v[4].mix->v[s].start %
				 d->v[s].windows, 0);
	assert_int_equal(p.v[4].mix->v[2].start, 44);
	plan_clear(&p);
	for (i = 0; i < 4; i++)
		mixture_free(in_turn[i]);
}

static void
read_bad(const char *text)
{
	struct err e = {0};
	struct json *j = json_parse(text, strlen(text), "bad", &e);

	assert_non_null(j);
	assert_null(mixture_read(j, "bad", &e));
	assert_true(e.set);
	json_free(j);
}

static void
mixtures_come_back(void **state)
{
	static const char text[] = "[{\"step\": 0, \"sample\": 0,"
		" \"batch_size\": 4, \"seq_len\": 16, \"order\": \"shuffle\","
		" \"seed\": 3, \"doc_mask\": true, \"windows\": 29,"
		" \"data_hash\": \"%016llx\", \"shard_format\": \"auto\","
		" \"id_bytes\": \"auto\", \"data\": [\"/a\", \"/b\"],"
		" \"mixture\": {\"from\": 0, \"sources\": [{\"weight\": 7,"
		" \"windows\": 11, \"data_hash\": \"00000000000003e8\","
		" \"start\": 0}, {\"weight\": 3, \"windows\": 18,"
		" \"data_hash\": \"00000000000003e9\", \"start\": 0}]}}]";
	struct err e = {0};
	struct mixture *m = mix("0.7 0.3", &e);
	struct plan_part now = part(m, 4);
	struct plan p = {0}, q = {0};
	struct buf b = {0}, want = {0};
	struct json *j;

	(void)state;
	buf_printf(&want, text, (unsigned long long)mixture_hash(m));
	plan_continue(&p, 0, &now);
	plan_json(&p, &b);
	assert_true(span_eq(buf_span(&b), buf_span(&want)));
	j = json_parse(b.p, b.n, "text", &e);
	assert_int_equal(plan_read(&q, j, "text", &e), 0);
	buf_reset(&b);
	plan_json(&q, &b);
	assert_true(span_eq(buf_span(&b), buf_span(&want)));
	json_free(j);
	plan_clear(&p);
	plan_clear(&q);
	mixture_free(m);
	buf_clear(&b);
	buf_clear(&want);
	read_bad("{\"from\": 0, \"sources\": []}");
	read_bad("{\"from\": -1, \"sources\": [{}]}");
	read_bad("{\"from\": 0, \"sources\": [{}]}");
	read_bad("{\"from\": 0, \"sources\": [{\"weight\": 1000001,"
		 " \"windows\": 1, \"data_hash\": \"00000000000003e9\","
		 " \"start\": 0}]}");
	read_bad("{\"from\": 0, \"sources\": [{\"weight\": 1, \"windows\": 1,"
		 " \"data_hash\": \"3e9\", \"start\": 0}]}");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_hold_in_every_prefix),
		cmocka_unit_test(a_walk_finds_the_same),
		cmocka_unit_test(the_pattern_is_fixed),
		cmocka_unit_test(each_source_has_its_own_order),
		cmocka_unit_test(far_along),
		cmocka_unit_test(weights_are_exact_or_rounded),
		cmocka_unit_test(paths_and_weights),
		cmocka_unit_test(batch_sizes_change_nothing),
		cmocka_unit_test(sources_continue_where_they_were),
		cmocka_unit_test(mixtures_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
