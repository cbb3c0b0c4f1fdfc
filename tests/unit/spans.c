/*
 * Spans against their definition, and the repeats rules against theirs.
 */
#include "tests/unit/test.h"

#include "base/rng.h"
#include "dedup/repeats.h"
#include "spans/spans.h"

enum { DOCS = 6, LONGEST = 120 };

static uint64_t at;

static uint64_t
below(uint64_t n)
{
	return rng_below(7, 0, at++, n);
}

static int
bound(struct span t, size_t i)
{
	return i == t.n || (t.p[i] & 0xc0) != 0x80;
}

/* Do the bytes d[k][s, e) occur in one of d(k..n), or in d[k] from e on? */
static int
stands_later(const struct span *d, size_t n, size_t k, size_t s, size_t e)
{
	size_t i, q;

	for (i = k; i < n; i++)
		for (q = i > k ? 0 : e; q + (e - s) <= d[i].n; q++)
			if (!memcmp(d[i].p + q, d[k].p + s, e - s))
				return 1;
	return 0;
}

/* Do they occur in one of d[0..k), or in d[k] before s? */
static int
is_copy(const struct span *d, size_t k, size_t s, size_t e)
{
	size_t i, q;

	for (i = 0; i <= k; i++) {
		size_t end = i < k ? d[i].n : s;

		for (q = 0; q + (e - s) <= end; q++)
			if (!memcmp(d[i].p + q, d[k].p + s, e - s))
				return 1;
	}
	return 0;
}

static void
naive(const struct span *d, size_t n, size_t k, size_t least, int later,
      char *cut)
{
	size_t s, e;

	memset(cut, 0, d[k].n + 1);
	for (s = 0; s < d[k].n; s++)
		for (e = s + least; e <= d[k].n; e++)
			if (bound(d[k], s) && bound(d[k], e) &&
			    (later ? stands_later(d, n, k, s, e) :
			     is_copy(d, k, s, e)))
				memset(cut + s, 1, e - s);
}

/* The first place of d[k][s, e): 1 when it is before, as a copy must be. */
static int
first_place(const struct span *d, size_t k, size_t s, size_t e, size_t *doc,
	    size_t *q)
{
	for (*doc = 0; *doc <= k; ++*doc)
		for (*q = 0; *q + (e - s) <= (*doc < k ? d[*doc].n : s); ++*q)
			if (!memcmp(d[*doc].p + *q, d[k].p + s, e - s))
				return 1;
	return 0;
}

static struct text_span
naive_follow(const struct span *d, size_t k, size_t s, size_t e, size_t doc,
	     size_t q)
{
	size_t to = q + (e - s);

	while (e < d[k].n && to < (doc < k ? d[doc].n : s) &&
	       d[k].p[e] == d[doc].p[to]) {
		e++;
		to++;
	}
	while (!bound(d[k], e)) {
		e--;
		to--;
	}
	while (s && q && (doc < k || to < s) &&
	       d[k].p[s - 1] == d[doc].p[q - 1]) {
		s--;
		q--;
	}
	while (!bound(d[k], s)) {
		s++;
		q++;
	}
	return (struct text_span){(uint32_t)k, (uint32_t)doc, (uint32_t)s,
				  (uint32_t)e, (uint32_t)q};
}

/* The spans of a document as the header defines them; returns how many. */
static size_t
naive_spans(const struct span *d, size_t k, size_t least, struct text_span *v)
{
	struct text_span last = {0, 0, 0, 0, 0};
	size_t s, e, c, n = 0, doc, q;
	int found;

	for (s = 0; s < d[k].n; s += c) {
		for (c = 1; !bound(d[k], s + c); c++)
			;
		found = 0;
		for (e = s + least; e <= d[k].n && (!found ||
		     e < s + least + c); e++) {
			if (!bound(d[k], e))
				continue;
			found = 1;
			if ((s >= last.start && e <= last.end) ||
			    !first_place(d, k, s, e, &doc, &q))
				continue;
			last = naive_follow(d, k, s, e, doc, q);
			while (n && v[n - 1].start >= last.start)
				n--;
			v[n++] = last;
		}
	}
	return n;
}

struct way {
	size_t mem;
	int threads, weak;
};

static void
check_way(const struct span *d, size_t n, size_t least, struct way w)
{
	char want[LONGEST * 8], got[LONGEST * 8];
	struct spans *s = spans_new(least, w.mem, w.threads);
	static struct text_span naively[LONGEST * 8];
	const struct text_span *v;
	uint32_t (*range)[2];
	struct err e = {0};
	size_t i, k, nv, at_span = 0, m;

	if (w.weak)
		spans_weaken(s);
	for (i = 0; i < n; i++)
		assert_int_equal(spans_add(s, d[i], &e), 0);
	v = spans_find(s, &nv, &e);
	assert_non_null(v);
	range = malloc((nv + 1) * sizeof(*range));
	for (i = 0; i < n; i++) {
		size_t first = at_span;

		memset(got, 0, d[i].n + 1);
		while (at_span < nv && v[at_span].doc == i)
			at_span++;
		m = naive_spans(d, i, least, naively);
		if (m != at_span - first ||
		    memcmp(naively, v + first, m * sizeof(*v)))
			fail_msg("spans of document %zu of %zu, windows of "
				 "%zu, \"%.*s\", %zu bytes", i, n, least,
				 (int)d[i].n, d[i].p, w.mem);
		m = spans_merge(v + first, at_span - first, range);
		for (k = 0; k < m; k++)
			memset(got + range[k][0], 1,
			       range[k][1] - range[k][0]);
		naive(d, n, i, least, 0, want);
		if (memcmp(got, want, d[i].n))
			fail_msg("document %zu of %zu, windows of %zu, "
				 "\"%.*s\"", i, n, least, (int)d[i].n, d[i].p);
	}
	assert_int_equal(at_span, nv);
	v = spans_find_later(s, &nv, &e);
	assert_non_null(v);
	for (i = 0; i < n; i++) {
		memset(got, 0, d[i].n + 1);
		for (k = 0; k < nv; k++)
			if (v[k].doc == i)
				memset(got + v[k].start, 1,
				       v[k].end - v[k].start);
		naive(d, n, i, least, 1, want);
		assert_memory_equal(got, want, d[i].n);
	}
	for (k = 0; k < nv; k++) {
		size_t len = v[k].end - v[k].start;

		assert_true(v[k].first > v[k].doc || (v[k].first == v[k].doc &&
			    v[k].first_start >= v[k].end));
		assert_memory_equal(d[v[k].doc].p + v[k].start,
				    d[v[k].first].p + v[k].first_start, len);
	}
	free(range);
	spans_free(s);
}

/* In memory; windows on disk; texts too, three threads; hash collisions. */
static const struct way ways[] = {
	{(size_t)1 << 30, 1, 0}, {8192, 1, 0}, {256, 3, 0}, {4096, 1, 1}
};

static void
check_docs(const struct span *d, size_t n, size_t least)
{
	static size_t turn;

	check_way(d, n, least, ways[0]);
	check_way(d, n, least, ways[1 + turn++ % (TEST_COUNT(ways) - 1)]);
}

static void
test_random(void **state)
{
	static const char *const piece[] = {
		"a", "b", "c", "\xc3\xa9", "\xc3\xa8", "\xe6\x97\xa5",
		"\xe6\x97\xa6", "\xf0\x9f\x98\x80", "abcab", "a\xc3\xa9\x62",
	};
	struct buf b[DOCS] = {{0}};
	struct span d[DOCS];
	size_t round, i, k, n, len, kinds;

	(void)state;
	for (round = 0; round < 2000; round++) {
		n = 1 + below(DOCS);
		kinds = round % 3 == 0 ? 2 : round % 3 == 1 ? 3 :
			TEST_COUNT(piece);
		for (i = 0; i < n; i++) {
			buf_reset(&b[i]);
			len = below(round % 5 ? 30 : 4);
			for (k = 0; k < len; k++)
				buf_puts(&b[i], piece[below(kinds)]);
			d[i] = buf_span(&b[i]);
		}
		check_docs(d, n, 1 + below(16));
	}
	for (i = 0; i < DOCS; i++)
		buf_clear(&b[i]);
}

/*
 * Passages that occur many times, in contexts of which some occur again too:
 * parts of one text, with changed places.
 */
static void
test_contexts(void **state)
{
	static const char *const piece[] = {"a", "b", "c", "\xc3\xa9", "d"};
	static const char *const other[] = {"x", "\xc3\xa8"};
	enum { MASTER = 50 };
	size_t round, i, k, from, len, kinds, master[MASTER];
	struct buf b[DOCS] = {{0}};
	struct span d[DOCS];

	(void)state;
	for (round = 0; round < 300; round++) {
		kinds = 2 + round % 4;
		for (i = 0; i < MASTER; i++)
			master[i] = below(kinds);
		for (i = 0; i < DOCS; i++) {
			buf_reset(&b[i]);
			while (b[i].n < LONGEST / 2) {
				from = below(MASTER / 2);
				len = 1 + below(MASTER - from);
				len = len < 28 ? len : 28;
				for (k = from; k < from + len; k++)
					buf_puts(&b[i], below(20) ?
						 piece[master[k]] :
						 other[below(2)]);
			}
			d[i] = buf_span(&b[i]);
		}
		check_docs(d, DOCS, 9 + below(32));
	}
	for (i = 0; i < DOCS; i++)
		buf_clear(&b[i]);
}

static void
test_loops(void **state)
{
	char p[5][LONGEST];
	struct span d[5];
	size_t i, k, least;

	(void)state;
	for (i = 0; i < 5; i++) {
		for (k = 0; k < LONGEST; k++)
			p[i][k] = (char)('a' + k % (i + 1) * 2);
		d[i] = (struct span){p[i], LONGEST - i};
	}
	for (least = 1; least < 40; least += 3)
		for (i = 0; i < 5; i++)
			check_docs(d + i, 5 - i, least);
}

static void
test_examples(void **state)
{
	/* google-research/deduplicate-text-datasets #26, #53, #24 */
	const struct span a[2] = {
		span_str("aaaaaaaaaaaabbbccccc"), span_str("aaaaaaaaaaaaccccc")
	};
	const struct span b[2] = {
		span_str("\xd0\xbc\xd0\xb0\xd0\xbc\xd0\xb0 \xd0\xb4\xd0\xb0"),
		span_str("\xd0\xbc\xd0\xb0\xd0\xbc\xd0\xb0 \xd0\xbd\xd0\xbe")
	};
	const struct span c[3] = {
		span_str("hello world"), span_str(""), span_str("hello world")
	};

	(void)state;
	check_docs(a, 2, 3);
	check_docs(b, 2, 8);
	check_docs(c, 3, 5);
	check_docs(c, 0, 5);
	check_docs(c + 1, 1, 1);
}

/* Many segments: the result on disk is the one in memory. */
static void
test_long(void **state)
{
	enum { SIZE = 300000, MOST = 64 };
	struct buf b = {0};
	size_t round, i, k, n, from, len, nv[2];
	const struct text_span *v[2];
	struct spans *s[2];
	struct err e = {0};

	(void)state;
	for (round = 0; round < 6; round++) {
		size_t least = round < 5 ? 1 + below(200) : 70000;

		buf_reset(&b);
		while (b.n < SIZE) {
			len = below(1000);
			if (b.n > 5000 && below(3)) {
				from = below(b.n - 1000);
				buf_reserve(&b, len);
				buf_put(&b, b.p + from, len);
				continue;
			}
			while (len--)
				buf_putc(&b, (char)('a' + below(3)));
		}
		if (round == 5) {
			buf_reserve(&b, b.n);
			buf_put(&b, b.p, b.n);
		}
		s[0] = spans_new(least, (size_t)1 << 30, 1);
		s[1] = spans_new(least, 200000, 2);
		for (i = 0; i < b.n; i += n) {
			n = round < 5 ? below(40000) : b.n / 3;
			n = n < b.n - i ? n : b.n - i;
			for (k = 0; k < 2; k++)
				spans_add(s[k], (struct span){b.p + i, n}, &e);
		}
		for (k = 0; k < 2; k++)
			v[k] = spans_find(s[k], &nv[k], &e);
		assert_int_equal(e.set, 0);
		assert_int_equal(nv[0], nv[1]);
		assert_true(nv[0] > 0);
		assert_memory_equal(v[0], v[1], nv[0] * sizeof(*v[0]));
		assert_false(spans_spilled(s[0]));
		assert_true(spans_spilled(s[1]));
		for (k = 0; k < 2; k++)
			spans_free(s[k]);
	}
	buf_clear(&b);
}

/* --- repeats --- */

static struct repeat
naive_run(const uint64_t *u, size_t n)
{
	size_t p, s, e;

	for (p = 1; p <= 13; p++)
		for (s = 0; s + p < n; s++) {
			for (e = s + p; e < n && u[e] == u[e - p]; e++)
				;
			if (e > s + p && (e - s) / p >= 32)
				return (struct repeat){REPEAT_RUN, s, e, p,
						       (e - s) / p};
		}
	return (struct repeat){REPEAT_NONE, 0, 0, 0, 0};
}

static void
test_run(void **state)
{
	struct repeat_opts o;
	struct repeats r = {0};
	uint64_t u[1200];
	size_t round, i, n, p, from, len;

	(void)state;
	repeat_opts_init(&o);
	o.phrase_count = 0;
	for (round = 0; round < 3000; round++) {
		struct repeat want, got;

		n = below(1200);
		for (i = 0; i < n; i++)
			u[i] = below(3 + round % 50);
		p = 1 + below(15);
		len = p * 30 + below(3 * p + 2);
		from = below(700);
		for (i = from + p; i < from + len && i < n; i++)
			u[i] = u[i - p];
		want = naive_run(u, n);
		got = repeats_find(&r, &o, u, n);
		assert_int_equal(got.rule, want.rule);
		assert_int_equal(got.period, want.period);
		if (want.rule) {
			assert_int_equal(got.start, want.start);
			assert_int_equal(got.end, want.end);
		}
	}
	repeats_clear(&r);
}

/* Copies of u[s, s + n), not overlapping, from the left. */
static size_t
count(const uint64_t *u, size_t total, size_t s, size_t n)
{
	size_t i, k = 0;

	for (i = 0; i + n <= total;) {
		if (memcmp(u + i, u + s, n * sizeof(*u))) {
			i++;
			continue;
		}
		k++;
		i += n;
	}
	return k;
}

static int
naive_phrase(const struct repeat_opts *o, const uint64_t *u, size_t total)
{
	size_t n, s, k;

	for (n = 2; n <= 13; n++)
		for (s = 0; s + n <= total; s++) {
			k = count(u, total, s, n);
			if (k >= (size_t)o->phrase_count &&
			    (double)(k * n) >= o->phrase_frac *
			    (double)total)
				return 1;
		}
	return 0;
}

static void
test_phrase(void **state)
{
	struct repeat_opts o;
	struct repeats r = {0};
	uint64_t u[260];
	size_t round, i, k, n, len, yes = 0;

	(void)state;
	repeat_opts_init(&o);
	o.run_count = 1000;
	o.phrase_count = 6;
	for (round = 0; round < 600; round++) {
		len = 1 + below(6);
		o.phrase_frac = 0.1 * (double)below(8);
		n = 30 + below(230);
		for (i = 0; i < n; i++)
			u[i] = 100 + below(2000);
		for (i = 0; i + len < n; i += len + 1 + below(6 * len))
			for (k = 0; k < len; k++)
				u[i + k] = k;
		assert_int_equal(repeats_find(&r, &o, u, n).rule != 0,
				 naive_phrase(&o, u, n));
		yes += naive_phrase(&o, u, n);
	}
	assert_true(yes > 50 && yes < 550);
	repeats_clear(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_contexts),
		cmocka_unit_test(test_loops),
		cmocka_unit_test(test_examples),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_run),
		cmocka_unit_test(test_phrase),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
