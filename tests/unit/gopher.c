/*
 * Gopher's shares: vectors by hand, and random texts against the definition
 * taken literally, with a mark for each byte and no hashes.
 */
#include "tests/unit/test.h"

#include "base/rng.h"
#include "dedup/gopher.h"

static const double all_on[GOPHER_SHARES];

static void
shares(const char *text, const double *max, double *out)
{
	struct gopher g = {0};
	struct words w = {0};
	struct span t = span_str(text);

	words_split(&w, t);
	gopher_shares(&g, max, t, w.v, w.n, out);
	words_clear(&w);
	gopher_clear(&g);
}

static void
is(const char *text, int share, double part, double of)
{
	double got[GOPHER_SHARES];

	shares(text, all_on, got);
	if (got[share] != part / of)
		fail_msg("\"%s\": %s is %g, not %g / %g", text,
			 gopher_name(share), got[share], part, of);
}

static void
by_hand(void **state)
{
	(void)state;
	/* a, b, a, a: two of four lines, 2 of 7 characters */
	is("a\nb\na\na", GOPHER_LINES, 2, 4);
	is("a\nb\na\na", GOPHER_LINE_CHARS, 2, 7);
	is("a\nb\na\na", GOPHER_PARAGRAPHS, 0, 1);
	/* empty lines are none; a character is a code point */
	is("\n\n\303\251\303\251\n\n\nx\n\303\251\303\251\n", GOPHER_LINES,
	   1, 3);
	is("\n\n\303\251\303\251\n\n\nx\n\303\251\303\251\n",
	   GOPHER_LINE_CHARS, 2, 12);
	/* "p\nq" twice; line feeds at the ends belong to none */
	is("\np\nq\n\nr\n\n\np\nq\n", GOPHER_PARAGRAPHS, 1, 3);
	is("\np\nq\n\nr\n\n\np\nq\n", GOPHER_PARAGRAPH_CHARS, 3, 14);
	/* CR LF ends a line as LF does; a CR elsewhere is a character */
	is("a\r\nb\r\n\r\n\r\na\r\n", GOPHER_LINES, 1, 3);
	is("a\r\nb\r\n\r\n\r\na\r\n", GOPHER_LINE_CHARS, 1, 13);
	is("p\r\nq\r\n\r\nr\r\n\r\np\r\nq", GOPHER_PARAGRAPHS, 1, 3);
	is("p\r\nq\r\n\r\nr\r\n\r\np\r\nq", GOPHER_PARAGRAPH_CHARS, 4, 17);
	is("a\r\na\r", GOPHER_LINES, 0, 2);
	/* case matters in lines, not in words */
	is("A b\na B", GOPHER_LINES, 0, 2);
	is("A b\na B", GOPHER_TOP, 6, 7);
	/* what stands between the words of an n-gram counts */
	is("to, be or to - be", GOPHER_TOP, 6 + 7, 17);
	is("to, be or to - be", GOPHER_TOP + 1, 0, 1);
	/* copies that overlap count once: all of it; from the second on */
	is("a a a a", GOPHER_TOP, 7, 7);
	is("a a a a a a", GOPHER_DUP, 9, 11);
	/* of two that occur twice, the first: "aa b", not "c dddd" */
	is("aa b, c dddd, aa b, c dddd", GOPHER_TOP, 8, 26);
	/* "c d" stands three times, "a b" and others twice */
	is("a b a b x c d c d c d", GOPHER_TOP, 9, 21);
	/* once is not often */
	is("hello world", GOPHER_TOP, 0, 1);
	is("1 2 3 4 5 6 x 1 2 3 4 5 6", GOPHER_DUP, 11, 25);
	is("1 2 3 4 5 6 x 1 2 3 4 5 6", GOPHER_DUP + 1, 11, 25);
	is("1 2 3 4 5 6 x 1 2 3 4 5 6", GOPHER_DUP + 2, 0, 1);
}

static void
nothing(void **state)
{
	static const char *const texts[] = {"", "\n", "\n\n\n", " ", ".", "a"};
	double got[GOPHER_SHARES];
	size_t i, k;

	(void)state;
	for (i = 0; i < TEST_COUNT(texts); i++) {
		shares(texts[i], all_on, got);
		for (k = 0; k < GOPHER_SHARES; k++)
			assert_true(got[k] == 0);
	}
}

/* --- the definition --- */

static double
marked(const char *mark, const char *text, size_t n)
{
	size_t i, part = 0, all = 0;

	for (i = 0; i < n; i++) {
		int head = ((unsigned char)text[i] & 0xc0) != 0x80;

		all += (size_t)head;
		part += (size_t)(head && mark[i]);
	}
	return all ? (double)part / (double)all : 0;
}

/* Is [start, start + len) a whole line (paragraph): nothing of it beyond. */
static size_t
piece_at(const char *t, size_t i, size_t n, int paragraph)
{
	size_t end = i;

	if (t[i] == '\n' || (i && t[i - 1] != '\n'))
		return 0;
	if (paragraph && i > 1 && t[i - 1] == '\n' && t[i - 2] != '\n')
		return 0;
	while (end < n && (t[end] != '\n' ||
			   (paragraph && end + 1 < n && t[end + 1] != '\n')))
		end++;
	return end - i;
}

static void
slow_pieces(const char *t, size_t n, int paragraph, double *share)
{
	char mark[4096] = {0};
	size_t i, k, all = 0, dups = 0;

	for (i = 0; i < n; i++) {
		size_t len = piece_at(t, i, n, paragraph);

		all += len > 0;
		for (k = 0; len && k < i; k++) {
			if (piece_at(t, k, n, paragraph) != len ||
			    memcmp(t + i, t + k, len))
				continue;
			memset(mark + i, 1, len);
			dups++;
			break;
		}
	}
	share[GOPHER_LINES + paragraph] =
		all ? (double)dups / (double)all : 0;
	share[GOPHER_LINE_CHARS + paragraph] = marked(mark, t, n);
}

/* Words as numbers: the first one with the same normalized bytes. */
static void
number(struct span t, const struct words *w, size_t *id)
{
	struct buf x = {0}, y = {0};
	size_t i, k;

	for (i = 0; i < w->n; i++) {
		buf_reset(&x);
		words_norm(t, w->v + i, &x);
		for (k = 0; k < i; k++) {
			buf_reset(&y);
			words_norm(t, w->v + k, &y);
			if (x.n == y.n && !memcmp(x.p, y.p, x.n))
				break;
		}
		id[i] = k;
	}
	buf_clear(&x);
	buf_clear(&y);
}

static int
same(const size_t *id, size_t a, size_t b, size_t len)
{
	return !memcmp(id + a, id + b, len * sizeof(*id));
}

static double
slow_grams(struct span t, const struct words *words, const size_t *id,
	   size_t len, int top)
{
	const struct word *w = words->v;
	char mark[4096] = {0};
	size_t i, k, n = words->n, best = 0, most = 1;

	for (i = 0; i + len <= n; i++) {
		size_t times = 0, before = 0;

		for (k = 0; k + len <= n; k++) {
			int is = same(id, i, k, len);

			times += (size_t)is;
			before += (size_t)(is && k < i);
		}
		if (times > most) {
			most = times;
			best = i;
		}
		if (!top && before)
			memset(mark + w[i].start, 1,
			       w[i + len - 1].end - w[i].start);
	}
	for (i = 0; top && most > 1 && i + len <= n; i++)
		if (same(id, i, best, len))
			memset(mark + w[i].start, 1,
			       w[i + len - 1].end - w[i].start);
	return marked(mark, t.p, t.n);
}

static void
slow(struct span t, const struct words *w, double *share)
{
	size_t i, id[4096];

	number(t, w, id);
	slow_pieces(t.p, t.n, 0, share);
	slow_pieces(t.p, t.n, 1, share);
	for (i = GOPHER_TOP; i < GOPHER_SHARES; i++)
		share[i] = slow_grams(t, w, id, i - GOPHER_TOP + 2,
				      i < GOPHER_DUP);
}

static void
random_texts(void **state)
{
	static const char *const bits[] = {
		"a", "b", "\303\244", "A", " ", " ", ", ", "\n", "\n\n",
		"a b a b a b", "the same line\n", "\xe2\x82\xac"
	};
	struct gopher g = {0};
	struct words w = {0};
	struct buf b = {0};
	double want[GOPHER_SHARES], got[GOPHER_SHARES];
	uint64_t draw = 0;
	int round, i;

	(void)state;
	for (round = 0; round < 600; round++) {
		size_t parts = rng_below(21, 0, draw++, 40);
		size_t kinds = 2 + rng_below(21, 0, draw++,
					     TEST_COUNT(bits) - 1);

		buf_reset(&b);
		while (parts--)
			buf_puts(&b, bits[rng_below(21, 0, draw++, kinds)]);
		assert_true(b.n < 4096);
		words_split(&w, buf_span(&b));
		slow(buf_span(&b), &w, want);
		gopher_shares(&g, all_on, buf_span(&b), w.v, w.n, got);
		for (i = 0; i < GOPHER_SHARES; i++)
			if (want[i] != got[i])
				fail_msg("\"%.*s\": %s is %g, not %g", (int)b.n,
					 b.p, gopher_name(i), got[i], want[i]);
	}
	buf_clear(&b);
	words_clear(&w);
	gopher_clear(&g);
}

/* --- limits --- */

static struct gopher_hit
find(const struct gopher_opts *o, const char *text)
{
	struct gopher g = {0};
	struct words w = {0};
	struct gopher_hit h;

	words_split(&w, span_str(text));
	h = gopher_find(&g, o, span_str(text), w.v, w.n);
	words_clear(&w);
	gopher_clear(&g);
	return h;
}

static void
limits(void **state)
{
	static const double published[GOPHER_SHARES] = {
		.30, .30, .20, .20, .20, .18, .16,
		.15, .14, .13, .12, .11, .10
	};
	struct gopher_opts o;
	struct gopher_hit h;
	struct err e = {0};

	(void)state;
	assert_int_equal(gopher_opts_init(&o, 0, NULL, &e), 0);
	assert_false(o.on);
	assert_int_equal(find(&o, "a\na\na\na").share, -1);
	assert_int_equal(gopher_opts_init(&o, 1, NULL, &e), 0);
	assert_true(o.on);
	assert_memory_equal(o.max, published, sizeof(published));
	h = find(&o, "a\na\na\na");
	assert_int_equal(h.share, GOPHER_LINES);
	assert_true(h.value == 0.75);

	/* a share equal to its limit passes */
	assert_int_equal(gopher_opts_init(&o, 0, "dup_lines=0.5", &e), 0);
	assert_true(o.on);
	assert_int_equal(find(&o, "a\nb\na\nb").share, -1);
	assert_int_equal(find(&o, "a\na\na\nb").share, -1);
	assert_int_equal(find(&o, "a\na\na\na").share, GOPHER_LINES);

	/* a list replaces published limits */
	assert_int_equal(gopher_opts_init(&o, 1, "dup_lines=1", &e), 0);
	assert_int_equal(find(&o, "a\na\na\na").share, GOPHER_LINE_CHARS);
	assert_int_equal(gopher_opts_init(&o, 0, "top_2gram=.5,dup_lines=0,",
					  &e), 0);
	assert_true(o.max[GOPHER_TOP] == .5 && o.max[GOPHER_LINES] == 0);
}

static void
bad_limits(void **state)
{
	static const char *const bad[] = {
		"dup_lines", "dup_lines=", "lines=0.5", "dup_lines=1.5",
		"dup_lines=-1", "dup_lines=nan", "dup_lines=0.5x", ",", "=1",
		"dup_lines=0.5;top_2gram=1", "dup_lines=,top_2gram=1"
	};
	struct gopher_opts o;
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(bad); i++) {
		struct err e = {0};

		if (!gopher_opts_init(&o, 0, bad[i], &e) || !e.set)
			fail_msg("\"%s\" was accepted", bad[i]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_hand),
		cmocka_unit_test(nothing),
		cmocka_unit_test(random_texts),
		cmocka_unit_test(limits),
		cmocka_unit_test(bad_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
