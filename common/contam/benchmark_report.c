/*
 * benchmark_report.c - what became of each benchmark
 *
 * Clean examples are part of all examples, so the two means are not
 * independent: mean_clean - mean_all = (1 - c/a) (mean_clean - mean_rest),
 * and clean and rest have no example in common.
 */
#include "contam/benchmark_report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

enum bench_class
bench_class(const struct bench_example *x)
{
	return x->too_short ? BENCH_SHORT : x->dirty ? BENCH_DIRTY
						     : BENCH_CLEAN;
}

/* --- the figures --- */

/* Sums of scores, less the first of them so that no digits are lost. */
struct sum {
	uint64_t n;
	double base, s, ss;
};

static void
sum_add(struct sum *m, double x)
{
	if (!m->n++)
		m->base = x;
	x -= m->base;
	m->s += x;
	m->ss += x * x;
}

static struct bench_mean
mean_of(const struct sum *m)
{
	struct bench_mean r = {m->n, NAN, NAN};

	if (m->n)
		r.mean = m->base + m->s / m->n;
	if (m->n > 1)
		r.var = (m->ss - m->s * m->s / m->n) / (m->n - 1);
	if (r.var < 0)
		r.var = 0;
	return r;
}

static void
compare(struct bench_tally *t, const struct bench_mean *rest)
{
	const struct bench_mean *c = &t->of[BENCH_CLEAN];
	double share;

	t->difference = t->se = t->relative = NAN;
	if (!c->n)
		return;
	share = (double)c->n / t->all.n;
	t->difference = c->mean - t->all.mean;
	t->relative = t->all.mean ? 100 * t->difference / t->all.mean : NAN;
	if (!rest->n)
		t->se = 0;
	else
		t->se = (1 - share) * sqrt(c->var / c->n +
					   rest->var / rest->n);
}

struct bench_tally
bench_tally(const struct benches *b, size_t i)
{
	const struct bench *v = &b->v[i];
	struct sum all = {0}, of[3] = {{0}}, rest = {0};
	struct bench_tally t = {0};
	struct bench_mean r;
	size_t k;

	for (k = v->first; k < v->first + v->n; k++) {
		const struct bench_example *x = &b->ex[k];
		enum bench_class c = bench_class(x);

		t.count[c]++;
		if (!x->scored)
			continue;
		sum_add(&all, x->score);
		sum_add(&of[c], x->score);
		if (c != BENCH_CLEAN)
			sum_add(&rest, x->score);
	}
	t.examples = v->n;
	t.clean_percent = v->n > t.count[BENCH_SHORT] ?
		100.0 * t.count[BENCH_CLEAN] / (v->n - t.count[BENCH_SHORT]) :
		NAN;
	t.all = mean_of(&all);
	for (k = 0; k < 3; k++)
		t.of[k] = mean_of(&of[k]);
	r = mean_of(&rest);
	compare(&t, &r);
	return t;
}

/* --- a table of them --- */

enum { COLUMNS = 17 };

/* A cell: the name, a count or a real number (NAN: none). */
struct cell {
	const char *key;
	enum { CELL_NAME, CELL_COUNT, CELL_REAL } type;
	const char *name;
	uint64_t count;
	double real;
};

static struct cell
count(const char *key, uint64_t n)
{
	return (struct cell){key, CELL_COUNT, NULL, n, 0};
}

static struct cell
real(const char *key, double x)
{
	return (struct cell){key, CELL_REAL, NULL, 0, x};
}

static size_t
row_of(const struct benches *b, size_t i, int scores, struct cell *c)
{
	struct bench_tally t = bench_tally(b, i);
	size_t n = 0;

	c[n++] = (struct cell){"name", CELL_NAME, b->v[i].name, 0, 0};
	c[n++] = count("n", b->v[i].gram);
	c[n++] = count("examples", t.examples);
	c[n++] = count("short", t.count[BENCH_SHORT]);
	c[n++] = count("dirty", t.count[BENCH_DIRTY]);
	c[n++] = count("clean", t.count[BENCH_CLEAN]);
	c[n++] = real("clean_percent", t.clean_percent);
	if (!scores)
		return n;
	c[n++] = count("scored", t.all.n);
	c[n++] = real("score", t.all.mean);
	c[n++] = real("score_dirty", t.of[BENCH_DIRTY].mean);
	c[n++] = real("score_clean", t.of[BENCH_CLEAN].mean);
	c[n++] = real("score_short", t.of[BENCH_SHORT].mean);
	c[n++] = real("difference", t.difference);
	c[n++] = real("difference_se", t.se);
	c[n++] = real("relative_percent", t.relative);
	return n;
}

static void
put_json(const struct cell *c, size_t n, struct buf *out)
{
	size_t i;

	buf_putc(out, '{');
	for (i = 0; i < n; i++) {
		json_put_key(out, c[i].key);
		if (c[i].type == CELL_NAME)
			json_put_str(out, span_str(c[i].name));
		else if (c[i].type == CELL_COUNT)
			json_put_uint(out, c[i].count);
		else
			json_put_real(out, c[i].real);
	}
	buf_putc(out, '}');
}

void
bench_json(const struct benches *b, int scores, struct buf *out)
{
	struct cell c[COLUMNS];
	size_t i;

	buf_puts(out, "\"benchmarks\":[");
	for (i = 0; i < b->n; i++) {
		if (i)
			buf_putc(out, ',');
		put_json(c, row_of(b, i, scores, c), out);
	}
	buf_putc(out, ']');
}

static void
put_cell(const struct cell *c, struct buf *out)
{
	if (c->type == CELL_NAME)
		buf_puts(out, c->name);
	else if (c->type == CELL_COUNT)
		buf_printf(out, "%llu", (unsigned long long)c->count);
	else if (isnan(c->real))
		buf_putc(out, '-');
	else
		buf_printf(out, "%.6g", c->real);
}

void
bench_table(const struct benches *b, int scores, int json, struct buf *out)
{
	struct cell c[COLUMNS];
	size_t i, k, n = 0;

	for (i = 0; i < b->n; i++) {
		n = row_of(b, i, scores, c);
		if (json) {
			put_json(c, n, out);
			buf_putc(out, '\n');
			continue;
		}
		for (k = 0; i == 0 && k < n; k++)
			buf_printf(out, "%s%s", k ? "\t" : "", c[k].key);
		for (k = 0; k < n; k++) {
			buf_putc(out, k ? '\t' : '\n');
			put_cell(&c[k], out);
		}
	}
	if (!json && n)
		buf_putc(out, '\n');
}

/* --- for a person: what became of the examples, then their scores --- */

enum { COUNTS = 7, WIDE = 10 };

static const char *const titles[] = {
	"name", "n", "examples", "short", "dirty", "clean", "clean %",
	"scored", "all", "dirty", "clean", "short", "clean-all", "se", "in %",
};

static void
put_wide(const char *p, size_t n, size_t wide, int left, struct buf *out)
{
	size_t pad = wide > n ? wide - n : 0, i;

	for (i = 0; !left && i < pad; i++)
		buf_putc(out, ' ');
	buf_put(out, p, n);
	for (i = 0; left && i < pad; i++)
		buf_putc(out, ' ');
}

/* The name and columns [from, to) of every benchmark. */
static void
put_columns(const struct benches *b, size_t from, size_t to, size_t wide,
	    struct buf *out)
{
	struct cell c[COLUMNS];
	struct buf s = {0};
	size_t i, k;

	put_wide("name", 4, wide, 1, out);
	for (k = from; k < to; k++)
		put_wide(titles[k], strlen(titles[k]), k == 1 ? 5 : WIDE,
			 0, out);
	for (i = 0; i < b->n; i++) {
		row_of(b, i, 1, c);
		buf_putc(out, '\n');
		put_wide(c[0].name, strlen(c[0].name), wide, 1, out);
		for (k = from; k < to; k++) {
			buf_reset(&s);
			if (c[k].type == CELL_REAL && !isnan(c[k].real))
				buf_printf(&s, "%.4g", c[k].real);
			else
				put_cell(&c[k], &s);
			put_wide(s.p, s.n, k == 1 ? 5 : WIDE, 0, out);
		}
	}
	buf_putc(out, '\n');
	buf_clear(&s);
}

void
bench_table_text(const struct benches *b, int scores, struct buf *out)
{
	size_t i, wide = 4;

	for (i = 0; i < b->n; i++)
		if (strlen(b->v[i].name) > wide)
			wide = strlen(b->v[i].name);
	put_columns(b, 1, COUNTS, wide, out);
	if (!scores)
		return;
	buf_puts(out, "\nmean scores; clean-all is their difference, with its "
		 "standard error\n");
	put_columns(b, COUNTS, sizeof(titles) / sizeof(titles[0]), wide, out);
}
