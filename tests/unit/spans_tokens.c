/*
 * Spans of tokens against their definition.
 */
#include "tests/unit/test.h"

#include "base/rng.h"
#include "tokenizer/bpe.h"
#include "spans/spans_tokens.h"

enum { DOCS = 6, LONGEST = 160 };

/* A document: its text, and the ends of its tokens. */
struct tokens {
	struct buf text;
	uint32_t end[LONGEST], id[LONGEST];
	size_t n;
};

static uint64_t at;

static uint64_t
below(uint64_t n)
{
	return rng_below(11, 0, at++, n);
}

static size_t
begin_of(const struct tokens *d, size_t i)
{
	return i ? d->end[i - 1] : 0;
}

static int
bound(const struct tokens *d, size_t i)
{
	return i == d->n || (d->text.p[begin_of(d, i)] & 0xc0) != 0x80;
}

static int
same(const struct tokens *a, size_t i, const struct tokens *b, size_t k)
{
	size_t n = a->end[i] - begin_of(a, i);

	return n == b->end[k] - begin_of(b, k) &&
		!memcmp(a->text.p + begin_of(a, i), b->text.p + begin_of(b, k),
			n);
}

/* Do tokens [s, e) of d[k] occur in one of d[0..k), or in d[k] before s? */
static int
is_copy(const struct tokens *d, size_t k, size_t s, size_t e)
{
	size_t i, q, j;

	for (i = 0; i <= k; i++) {
		size_t end = i < k ? d[i].n : s;

		for (q = 0; q + (e - s) <= end; q++) {
			for (j = 0; j < e - s; j++)
				if (!same(&d[i], q + j, &d[k], s + j))
					break;
			if (j == e - s)
				return 1;
		}
	}
	return 0;
}

static void
naive(const struct tokens *d, size_t k, size_t least, char *cut)
{
	size_t s, e;

	memset(cut, 0, d[k].text.n + 1);
	for (s = 0; s < d[k].n; s++)
		for (e = s + least; e <= d[k].n; e++)
			if (bound(&d[k], s) && bound(&d[k], e) &&
			    is_copy(d, k, s, e))
				memset(cut + begin_of(&d[k], s), 1,
				       begin_of(&d[k], e) -
				       begin_of(&d[k], s));
}

/* The number of the token that begins at a byte; fails where none does. */
static size_t
token_at(const struct tokens *d, size_t byte)
{
	size_t i;

	for (i = 0; i <= d->n; i++)
		if (begin_of(d, i) == byte)
			return i;
	fail_msg("no token bound at byte %zu", byte);
	return 0;
}

static void
check_span(const struct tokens *d, const struct text_span *x, size_t least)
{
	const struct tokens *to = &d[x->doc], *from = &d[x->first];
	size_t s = token_at(to, x->start), e = token_at(to, x->end), i;
	size_t q = token_at(from, x->first_start);

	assert_true(e >= s + least && bound(to, s) && bound(to, e));
	assert_true(x->first < x->doc ||
		    (x->first == x->doc && q + (e - s) <= s));
	assert_true(q + (e - s) <= from->n);
	for (i = 0; i < e - s; i++)
		assert_true(same(from, q + i, to, s + i));
}

static size_t
check_docs(const struct tokens *d, size_t n, size_t least, int ids)
{
	char want[LONGEST * 8], got[LONGEST * 8];
	static unsigned turn;	/* in memory, sorted, all on disk */
	static const size_t mem[] = {(size_t)1 << 30, 8192, 256};
	struct spans_tokens *t = spans_tokens_new(least, mem[turn++ % 3], 2);
	const struct text_span *v;
	struct err e = {0};
	size_t i, nv, k = 0, sum = 0;

	for (i = 0; i < n; i++)
		assert_int_equal(spans_tokens_add(t, buf_span(&d[i].text),
						  d[i].end,
						  ids ? d[i].id : NULL,
						  d[i].n, &e), 0);
	v = spans_tokens_find(t, &nv, &e);
	for (i = 0; i < n; i++) {
		memset(got, 0, d[i].text.n + 1);
		for (; k < nv && v[k].doc == i; k++) {
			check_span(d, &v[k], least);
			memset(got + v[k].start, 1, v[k].end - v[k].start);
		}
		naive(d, i, least, want);
		if (memcmp(got, want, d[i].text.n))
			fail_msg("document %zu of %zu, windows of %zu, "
				 "\"%.*s\"", i, n, least,
				 (int)d[i].text.n, d[i].text.p);
	}
	assert_int_equal(k, nv);
	for (i = 0; i < nv; i++)
		sum += v[i].end - v[i].start;
	spans_tokens_free(t);
	return sum;
}

/* Tokens of a character or several, and those that cut one apart. */
static const char *const unit[][5] = {
	{"a"}, {"b"}, {"ab"}, {"\xc3\xa9"}, {"\xc3", "\xa9"},
	{"\xe6\x97\xa5"}, {"\xe6\x97", "\xa5"}, {"\xe6", "\x97\xa5"},
	{"\xe6", "\x97", "\xa5"}, {"\xf0", "\x9f", "\x98", "\x80"},
	{"a\xe6", "\x97", "\xa6"}, {"\xf0\x9f", "\x98", "\x80"},
	{"\xe6\x97", "\xa5" "a"}, {"\xf0", "\x9f", "\x98", "\x81"},
};

static const uint32_t tops[] = {
	0, 1u << 18, 0x7fu << 18, 0x80u << 18, 0xbfu << 18
};

/* An id that is the same for the same bytes; all of the codes' range. */
static uint32_t
id_of(const char *s)
{
	uint32_t h = 0;
	const char *p;

	for (p = s; *p; p++)
		h = h * 37 + ((unsigned char)*p & 0x3f);
	h &= 0x3ffff;
	if ((*s & 0xc0) == 0x80)
		return h;
	return h + tops[h % TEST_COUNT(tops)];
}

static void
test_random(void **state)
{
	struct tokens d[DOCS] = {{{0}, {0}, {0}, 0}};
	size_t round, i, k, j, n, len, kinds, from, sum = 0;

	(void)state;
	for (round = 0; round < 6000; round++) {
		n = 1 + below(DOCS);
		kinds = round % 3 == 0 ? 2 : round % 3 == 1 ? 5 :
			TEST_COUNT(unit);
		from = below(TEST_COUNT(unit) - kinds + 1);
		for (i = 0; i < n; i++) {
			buf_reset(&d[i].text);
			d[i].n = 0;
			len = below(round % 5 ? 30 : 4);
			for (k = 0; k < len; k++) {
				const char *const *u =
					unit[from + below(kinds)];

				for (j = 0; u[j]; j++) {
					buf_puts(&d[i].text, u[j]);
					d[i].id[d[i].n] = id_of(u[j]);
					d[i].end[d[i].n++] =
						(uint32_t)d[i].text.n;
				}
			}
		}
		sum += check_docs(d, n, 1 + below(10), round % 2);
	}
	assert_true(sum > 10000);
	for (i = 0; i < DOCS; i++)
		buf_clear(&d[i].text);
}

/* Many different pieces, so that the table grows; all come twice. */
static void
test_many(void **state)
{
	enum { PIECES = 50000 };
	uint32_t *end = malloc(PIECES * sizeof(*end));
	struct spans_tokens *t = spans_tokens_new(50, (size_t)1 << 30, 1);
	const struct text_span *v;
	struct buf b = {0};
	struct err e = {0};
	size_t i, n;

	(void)state;
	for (i = 0; i < PIECES; i++) {
		buf_printf(&b, " %zu", i);
		end[i] = (uint32_t)b.n;
	}
	assert_int_equal(spans_tokens_add(t, buf_span(&b), end, NULL, PIECES,
					  &e),
			 0);
	assert_int_equal(spans_tokens_add(t, span_str(""), end, NULL, 0, &e),
			 0);
	assert_int_equal(spans_tokens_add(t, buf_span(&b), end, NULL, PIECES,
					  &e),
			 0);
	v = spans_tokens_find(t, &n, &e);
	assert_int_equal(n, 1);
	assert_int_equal(v->doc, 2);
	assert_int_equal(v->first, 0);
	assert_int_equal(v->start, 0);
	assert_int_equal(v->end, b.n);
	spans_tokens_free(t);
	buf_clear(&b);
	free(end);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
