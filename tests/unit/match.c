/*
 * match and tally: the same examples, ranges and counts as a naive program that
 * keeps every n-gram as strings and compares them all.
 */
#include "tests/unit/test.h"

#include <ctype.h>

#include "base/mem.h"
#include "base/rng.h"
#include "contam/match.h"
#include "contam/tally.h"

enum { BENCHES = 3, EXAMPLES = 25, DOCS = 60, N = 4, WORDS = 120 };

struct text {
	char p[8 * WORDS];
	size_t nword;
	char word[WORDS][8];
	uint32_t start[WORDS], end[WORDS];
};

static uint64_t draws;

static uint64_t
draw(uint64_t below)
{
	return rng_below(7, RNG_TEST, draws++, below);
}

/* Few distinct words, in any case and after any separator. */
static void
make(struct text *t, size_t n, unsigned kinds)
{
	static const char *const gaps[] = {" ", ", ", "\\n", "-", " (", "'"};
	size_t i, at = 0;
	unsigned k;

	t->nword = n;
	for (i = 0; i < n; i++) {
		k = (unsigned)draw(kinds);
		at += (size_t)sprintf(t->p + at, "%s%c%u", gaps[draw(6)],
				      (draw(2) ? 'a' : 'A') + k % 26, k / 26);
	}
	t->p[at] = 0;
}

/* Its words in lower case, and their bytes in the unescaped text. */
static void
split(struct text *t)
{
	size_t i, n = 0, out = 0, k = 0;

	for (i = 0; t->p[i]; i++, out++) {
		if (t->p[i] == '\\') {
			i++;
		} else if (isalnum((unsigned char)t->p[i])) {
			if (!k)
				t->start[n] = (uint32_t)out;
			t->word[n][k++] = (char)tolower(t->p[i]);
			t->word[n][k] = 0;
			t->end[n] = (uint32_t)out + 1;
			continue;
		}
		n += k > 0;
		k = 0;
	}
	n += k > 0;
	assert_int_equal(n, t->nword);
}

struct world {
	struct text ex[BENCHES][EXAMPLES], doc[DOCS];
	char *folder;
	struct benchmark_index x;
	struct tally tally;
};

static struct world *
world_new(uint64_t max_df)
{
	struct world *w = xcalloc(1, sizeof(*w));
	struct benchmark_index_opts o = {0};
	const char *path[BENCHES];
	struct buf b = {0};
	struct err e = {0};
	char name[16];
	size_t i, k;

	w->folder = test_folder();
	for (i = 0; i < BENCHES; i++) {
		buf_reset(&b);
		for (k = 0; k < EXAMPLES; k++) {
			make(&w->ex[i][k], draw(20), 60);
			split(&w->ex[i][k]);
			buf_printf(&b, "{\"text\":\"%s\"}\n",
				   w->ex[i][k].p);
		}
		snprintf(name, sizeof(name), "b%zu.jsonl", i);
		path[i] = test_path(w->folder, name);
		test_write(path[i], b.p, b.n);
	}
	for (i = 0; i < DOCS; i++) {
		make(&w->doc[i], draw(WORDS), 60);
		split(&w->doc[i]);
		/* a copy of an example in its middle */
		k = draw(BENCHES * EXAMPLES);
		if (w->doc[i].nword > 40 &&
		    w->ex[k % BENCHES][k / BENCHES].nword > 3) {
			strcpy(w->doc[i].p, w->ex[k % BENCHES][k / BENCHES].p);
			w->doc[i].nword = w->ex[k % BENCHES][k / BENCHES].nword;
			split(&w->doc[i]);
		}
	}
	o.path = path;
	o.npath = BENCHES;
	o.n = N;
	assert_int_equal(benchmark_index_init(&w->x, &o, NULL, &e), 0);
	tally_init(&w->tally, &w->x, max_df);
	buf_clear(&b);
	return w;
}

static void
world_free(struct world *w)
{
	tally_clear(&w->tally);
	benchmark_index_clear(&w->x);
	test_remove(w->folder);
	free(w);
}

static int
same_gram(const struct text *a, size_t i, const struct text *b, size_t k)
{
	size_t j;

	if (i + N > a->nword || k + N > b->nword)
		return 0;
	for (j = 0; j < N; j++)
		if (strcmp(a->word[i + j], b->word[k + j]))
			return 0;
	return 1;
}

/* In how many documents the n-gram of a at i occurs. */
static size_t
df(const struct world *w, const struct text *a, size_t i)
{
	size_t d, k, n = 0;

	for (d = 0; d < DOCS; d++) {
		for (k = 0; k < w->doc[d].nword; k++)
			if (same_gram(a, i, &w->doc[d], k))
				break;
		n += k < w->doc[d].nword;
	}
	return n;
}

/* What a document shares with an example. */
static struct tally_match
naive(const struct world *w, const struct text *d, const struct text *x,
      uint64_t max_df)
{
	struct tally_match f = {.start = UINT32_MAX};
	size_t i, k;

	for (i = 0; i < d->nword; i++) {
		for (k = 0; k < x->nword; k++)
			if (same_gram(d, i, x, k))
				break;
		if (k == x->nword || (max_df && df(w, d, i) > max_df))
			continue;
		if (d->start[i] < f.start)
			f.start = d->start[i];
		f.end = d->end[i + N - 1];
		f.grams++;
	}
	return f;
}

static char *
unescaped(const struct text *t)
{
	char *s = xstrdup(t->p);
	size_t i, n = 0;

	for (i = 0; t->p[i]; i++)
		s[n++] = t->p[i] == '\\' ? (i++, '\n') : t->p[i];
	s[n] = 0;
	return s;
}

static size_t
check_doc(struct world *w, size_t d, const struct tally_matches *o,
	  uint64_t max_df, char *dirty)
{
	struct tally_match f;
	size_t i, at, n = 0;

	for (i = 0; i < BENCHES * EXAMPLES; i++) {
		f = naive(w, &w->doc[d], &w->ex[i / EXAMPLES][i % EXAMPLES],
			  max_df);
		if (!f.grams)
			continue;
		n++;
		dirty[i] = 1;
		for (at = 0; at < o->n && o->v[at].ex != i; at++)
			;
		assert_true(at < o->n);
		assert_int_equal(o->v[at].start, f.start);
		assert_int_equal(o->v[at].end, f.end);
		assert_int_equal(o->v[at].grams, f.grams);
	}
	assert_int_equal(o->n, n);
	for (i = 1; i < o->n; i++)
		assert_true(o->v[i - 1].start <= o->v[i].start);
	return n;
}

/* listed: with the list of examples, else only dirty marks. */
static void
compare(uint64_t max_df, int listed)
{
	struct world *w = world_new(max_df);
	struct match *m = match_new(&w->x);
	struct ngram_hits h[DOCS] = {{0}};
	struct tally_matches o = {0};
	char dirty[BENCHES * EXAMPLES] = {0}, *s;
	size_t i, n = 0, ignored;
	struct tally_ignored *v;

	for (i = 0; i < DOCS; i++) {
		s = unescaped(&w->doc[i]);
		match_text(m, span_str(s), &h[i], &(struct err){0});
		free(s);
		if (max_df)
			tally_count(&w->tally, &h[i]);
	}
	v = tally_ignored(&w->tally, &ignored);
	assert_true((ignored > 0) == (max_df == 1));
	for (i = 0; i < ignored; i++)
		assert_true(v[i].docs > max_df);
	free(v);
	for (i = 0; i < DOCS; i++) {
		tally_judge(&w->tally, &h[i], listed ? &o : NULL);
		if (listed)
			n += check_doc(w, i, &o, max_df, dirty);
		else
			for (n = 0; n < BENCHES * EXAMPLES; n++)
				dirty[n] |= naive(w, &w->doc[i],
					&w->ex[n / EXAMPLES][n % EXAMPLES],
					max_df).grams > 0;
		free(h[i].v);
	}
	assert_true(n > (max_df == 1 ? 2 : 20));
	for (i = 0; i < BENCHES * EXAMPLES; i++) {
		assert_int_equal(w->x.b.ex[i].dirty, dirty[i]);
		assert_int_equal(w->x.b.ex[i].too_short,
				 w->ex[i / EXAMPLES][i % EXAMPLES].nword < N);
	}
	free(o.v);
	match_free(m);
	world_free(w);
}

static void
as_naive(void **state)
{
	(void)state;
	compare(0, 1);
	compare(0, 0);
}

static void
document_frequency(void **state)
{
	(void)state;
	compare(1, 1);
	compare(1, 0);
	compare(1000, 1);
}

static void
gram_as_text(void **state)
{
	struct world *w = world_new(0);
	struct buf b = {0};
	size_t i, k, place = 0;
	char want[64];

	(void)state;
	for (i = 0; w->ex[0][i].nword < N; i++)
		;
	for (k = 0; k < i; k++)
		place += w->ex[0][k].nword;
	benchmark_index_text(&w->x, (uint32_t)place, &b);
	snprintf(want, sizeof(want), "%s %s %s %s", w->ex[0][i].word[0],
		 w->ex[0][i].word[1], w->ex[0][i].word[2],
		 w->ex[0][i].word[3]);
	assert_true(span_eq(buf_span(&b), span_str(want)));
	buf_clear(&b);
	world_free(w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_naive),
		cmocka_unit_test(document_frequency),
		cmocka_unit_test(gram_as_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
