/*
 * ngram: the n-grams that a naive comparison of all runs finds, even if all
 * hashes are equal.
 */
#include "tests/unit/test.h"

#include "base/mem.h"
#include "base/rng.h"
#include "contam/ngram.h"
#include "contam/word_table.h"

enum { EXAMPLES = 40, LONGEST = 30, TEXT = 300, UNITS = 64 };

struct setting {
	uint32_t *unit[EXAMPLES];
	size_t len[EXAMPLES];
	unsigned n[EXAMPLES];
	uint64_t hash[UNITS];
	uint32_t text[TEXT];
	struct word word[TEXT];
	uint64_t round, draws;
};

static uint64_t
draw(struct setting *s, uint64_t below)
{
	return rng_below(s->round, RNG_TEST, s->draws++, below);
}

/* few: the number of distinct units; equal: all have one hash. */
static void
make(struct setting *s, uint64_t round, unsigned few, int equal)
{
	size_t i, k;

	s->round = round;
	s->draws = 0;
	for (i = 0; i < UNITS; i++)
		s->hash[i] = equal ? 7 : ngram_token_hash((uint32_t)i);
	for (i = 0; i < EXAMPLES; i++) {
		s->len[i] = draw(s, LONGEST);
		s->n[i] = 1 + (unsigned)(i % 3 ? 4 : draw(s, 7));
		s->unit[i] = xcalloc(LONGEST, sizeof(uint32_t));
		for (k = 0; k < s->len[i]; k++)
			s->unit[i][k] = (uint32_t)draw(s, few);
	}
	for (i = 0; i < TEXT; i++) {
		s->text[i] = (uint32_t)draw(s, few);
		s->word[i] = (struct word){s->hash[s->text[i]],
					   (uint32_t)(10 * i),
					   (uint32_t)(10 * i + 7)};
	}
	/* a whole example */
	for (k = 0; k < s->len[5]; k++) {
		s->text[100 + k] = s->unit[5][k];
		s->word[100 + k].hash = s->hash[s->unit[5][k]];
	}
}

static int
same(void *ctx, size_t i, uint32_t unit)
{
	return ((struct setting *)ctx)->text[i] == unit;
}

static int
is_run(const struct setting *s, size_t i, size_t ex, size_t at)
{
	return i + s->n[ex] <= TEXT && at + s->n[ex] <= s->len[ex] &&
	       !memcmp(s->text + i, s->unit[ex] + at,
		       s->n[ex] * sizeof(uint32_t));
}

static int
has_hit(const struct ngram_hits *h, const struct ngram_index *g, size_t i,
	size_t place, unsigned n)
{
	uint32_t at;
	size_t k;

	for (k = 0; k < h->n; k++) {
		if (h->v[k].start != 10 * i ||
		    h->v[k].end != 10 * (i + n - 1) + 7)
			continue;
		for (at = h->v[k].gram; at != NGRAM_NONE;
		     at = ngram_next(g, at))
			if (at == place)
				return 1;
	}
	return 0;
}

/* Every position of every hit is a run, every run is a position of a hit. */
static void
check(struct setting *s, struct ngram_index *g, const struct ngram_hits *h)
{
	size_t start[EXAMPLES], i, ex, at, k, runs = 0, places = 0;
	uint32_t p, was;

	for (ex = 0, at = 0; ex < EXAMPLES; at += s->len[ex++])
		start[ex] = at;
	for (i = 0; i < TEXT; i++)
		for (ex = 0; ex < EXAMPLES; ex++)
			for (at = 0; at < s->len[ex]; at++) {
				if (!is_run(s, i, ex, at))
					continue;
				runs++;
				assert_true(has_hit(h, g, i, start[ex] + at,
						    s->n[ex]));
			}
	for (k = 0; k < h->n; k++) {
		was = NGRAM_NONE;
		for (p = h->v[k].gram; p != NGRAM_NONE;
		     p = ngram_next(g, p)) {
			ex = ngram_example(g, p);
			assert_true(was == NGRAM_NONE || p > was);
			assert_true(is_run(s, h->v[k].start / 10, ex,
					   p - start[ex]));
			was = p;
			places++;
		}
	}
	assert_true(runs == places);
}

static void
compare(uint64_t round, unsigned few, int equal)
{
	struct setting *s = xcalloc(1, sizeof(*s));
	struct ngram_index *g = ngram_new();
	struct ngram_hits h = {0};
	struct err e = {0};
	size_t i;

	make(s, round, few, equal);
	for (i = 0; i < EXAMPLES; i++) {
		assert_int_equal(ngram_add(g, s->unit[i], s->len[i], &e), 0);
		ngram_set_n(g, i, s->n[i]);
		assert_int_equal(ngram_length(g, i), s->len[i]);
	}
	ngram_build(g, s->hash);
	ngram_scan(g, s->word, TEXT, same, s, &h);
	check(s, g, &h);
	/* no text, or one shorter than n */
	i = h.n;
	ngram_scan(g, s->word, 0, same, s, &h);
	assert_int_equal(h.n, i);
	ngram_free(g);
	for (i = 0; i < EXAMPLES; i++)
		free(s->unit[i]);
	free(h.v);
	free(s);
}

static void
as_naive(void **state)
{
	uint64_t r;

	(void)state;
	for (r = 0; r < 30; r++)
		compare(r, r % 3 ? 2 + (unsigned)r : 64, 0);
}

static void
equal_hashes(void **state)
{
	uint64_t r;

	(void)state;
	for (r = 0; r < 5; r++)
		compare(r, 3 + (unsigned)r, 1);
}

static void
nothing(void **state)
{
	struct word w = {1, 0, 1};
	struct ngram_index *g = ngram_new();
	struct ngram_hits h = {0};
	struct err e = {0};

	(void)state;
	ngram_build(g, NULL);
	ngram_scan(g, &w, 1, same, NULL, &h);
	assert_int_equal(h.n, 0);
	assert_int_equal(ngram_count(g), 0);
	ngram_free(g);
	g = ngram_new();
	assert_int_equal(ngram_add(g, NULL, 0, &e), 0);
	ngram_set_n(g, 0, 13);
	ngram_build(g, NULL);
	ngram_scan(g, &w, 1, same, NULL, &h);
	assert_int_equal(h.n, 0);
	ngram_free(g);
}

/* The manual page promises 25 bytes per n-gram. */
static void
bytes(void **state)
{
	const size_t n = 200000;
	uint32_t *u = xcalloc(n, sizeof(*u));
	uint64_t *hash = xcalloc(n, sizeof(*hash));
	struct ngram_index *g = ngram_new();
	struct err e = {0};
	size_t i;

	(void)state;
	for (i = 0; i < n; i++) {
		u[i] = (uint32_t)i;
		hash[i] = ngram_token_hash(u[i]);
	}
	assert_int_equal(ngram_add(g, u, n, &e), 0);
	ngram_set_n(g, 0, 13);
	ngram_build(g, hash);
	assert_int_equal(ngram_count(g), n - 12);
	assert_true(ngram_bytes(g) < 25 * n);
	ngram_free(g);
	free(u);
	free(hash);
}

static uint32_t
number_of(struct word_table *v, const char *text)
{
	struct words w = {0};
	uint32_t unit;

	words_split(&w, span_str(text));
	assert_int_equal(w.n, 1);
	unit = word_table_add(v, span_str(text), &w.v[0]);
	words_clear(&w);
	return unit;
}

static void
words_are_numbered(void **state)
{
	struct word_table v = {0};
	struct words w = {0};
	struct buf tmp = {0};
	char name[32];
	struct span text = span_str("Fish \xc3\x89t\xc3\xa9");
	int i;

	(void)state;
	assert_int_equal(number_of(&v, "fish"), 0);
	assert_int_equal(number_of(&v, "e\xcc\x81te\xcc\x81"), 1);
	assert_int_equal(number_of(&v, "FISH"), 0);
	assert_int_equal(number_of(&v, "\xc3\x89T\xc3\x89"), 1);
	assert_true(span_eq(word_table_get(&v, 1),
			    span_str("\xc3\xa9t\xc3\xa9")));
	for (i = 0; i < 5000; i++) {
		snprintf(name, sizeof(name), "word%d", i);
		assert_int_equal(number_of(&v, name), i + 2);
	}
	assert_int_equal(number_of(&v, "Word4999"), 5001);
	words_split(&w, text);
	assert_int_equal(w.n, 2);
	assert_true(word_table_is(&v, 0, text, &w.v[0], &tmp));
	assert_true(word_table_is(&v, 1, text, &w.v[1], &tmp));
	assert_false(word_table_is(&v, 1, text, &w.v[0], &tmp));
	/* equal hash, another word */
	w.v[0].hash = v.hash[1];
	assert_false(word_table_is(&v, 1, text, &w.v[0], &tmp));
	words_clear(&w);
	word_table_clear(&v);
	buf_clear(&tmp);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_naive),
		cmocka_unit_test(equal_hashes),
		cmocka_unit_test(nothing),
		cmocka_unit_test(bytes),
		cmocka_unit_test(words_are_numbered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
