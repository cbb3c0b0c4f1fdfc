/*
 * cut_text: compared with a definition that marks characters one by one.
 */
#include "tests/unit/test.h"

#include "base/rng.h"
#include "base/utf8.h"
#include "contam/cut.h"

enum { CHARS = 400, HITS = 30 };

/* Mark the characters to remove; what is between them is a piece. */
static size_t
naive(struct span t, const struct ngram_hit *v, size_t n, size_t window,
      struct buf *out)
{
	size_t at[CHARS + 1], chars = 0, i, k, a, pieces = 0;
	char gone[CHARS + 1] = {0};

	for (i = 0; i < t.n; i++)
		if (((unsigned char)t.p[i] & 0xc0) != 0x80)
			at[chars++] = i;
	at[chars] = t.n;
	for (k = 0; k < n; k++)
		for (i = 0; i < chars; i++)
			if (at[i] >= v[k].start && at[i] < v[k].end) {
				a = i > window ? i - window : 0;
				for (; a <= i + window && a < chars; a++)
					gone[a] = 1;
			}
	buf_reset(out);
	for (i = 0; i < chars; i = k) {
		for (k = i; k < chars && !gone[k]; k++)
			;
		if (k == i) {
			k++;
			continue;
		}
		pieces++;
		if (k - i < window)
			continue;
		if (out->n)
			buf_puts(out, "\n\n");
		buf_put(out, t.p + at[i], at[k] - at[i]);
	}
	if (pieces > CUT_PIECES_MAX)
		buf_reset(out);
	return pieces;
}

/* Ascending hits at character boundaries. */
static size_t
make(uint64_t r, struct buf *text, struct ngram_hit *v)
{
	static const unsigned chars[] = {'a', ' ', 0xe9, 0x65e5, 0x1f600};
	size_t at[CHARS + 1], i, n, from = 0, k;
	char c[4];

	buf_reset(text);
	for (i = 0; i < CHARS; i++) {
		at[i] = text->n;
		k = (size_t)utf8_put(c, chars[rng_below(r, RNG_TEST, i, 5)]);
		buf_put(text, c, k);
	}
	at[CHARS] = text->n;
	n = 1 + rng_below(r, RNG_TEST, 1000, HITS);
	for (i = 0; i < n; i++) {
		from += rng_below(r, RNG_TEST, 2000 + i, 2 * CHARS / n);
		if (from >= CHARS)
			break;
		k = from + 1 + rng_below(r, RNG_TEST, 3000 + i, 12);
		v[i] = (struct ngram_hit){0, (uint32_t)at[from],
			(uint32_t)at[k < CHARS ? k : CHARS]};
	}
	return i;
}

static void
as_naive(void **state)
{
	struct buf text = {0}, want = {0}, got = {0};
	struct ngram_hit v[HITS];
	size_t n, pieces, many = 0, several = 0;
	uint64_t r;

	(void)state;
	for (r = 0; r < 4000; r++) {
		n = make(r, &text, v);
		if (!n)
			continue;
		pieces = naive(buf_span(&text), v, n, r % 23, &want);
		assert_int_equal(cut_text(buf_span(&text), v, n, r % 23,
					   &got), pieces);
		assert_true(span_eq(buf_span(&got), buf_span(&want)));
		many += pieces > CUT_PIECES_MAX;
		several += pieces > 2 && got.n;
	}
	assert_true(many > 5 && several > 100);
	buf_clear(&text);
	buf_clear(&want);
	buf_clear(&got);
}

static void
by_hand(void **state)
{
	struct span t = span_str("0123456789abcdefghij");
	const struct ngram_hit v[] = {{0, 5, 8}, {0, 6, 9}, {0, 13, 14}};
	const struct ngram_hit all = {0, 0, 20};
	struct buf out = {0};

	(void)state;
	assert_int_equal(cut_text(t, v, 2, 2, &out), 2);
	assert_true(span_eq(buf_span(&out), span_str("012\n\nbcdefghij")));
	/* 3..11 and 11..16 touch: one window */
	assert_int_equal(cut_text(t, v, 3, 2, &out), 2);
	assert_true(span_eq(buf_span(&out), span_str("012\n\nghij")));
	/* a piece of fewer than 4 is removed */
	assert_int_equal(cut_text(t, v, 2, 4, &out), 2);
	assert_true(span_eq(buf_span(&out), span_str("defghij")));
	assert_int_equal(cut_text(t, v, 2, 0, &out), 2);
	assert_true(span_eq(buf_span(&out), span_str("01234\n\n9abcdefghij")));
	assert_int_equal(cut_text(t, v, 2, 1000000000, &out), 0);
	assert_int_equal(out.n, 0);
	assert_int_equal(cut_text(t, &all, 1, 0, &out), 0);
	assert_int_equal(out.n, 0);
	buf_clear(&out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_naive),
		cmocka_unit_test(by_hand),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
