/*
 * benchmark_table.c - the result for each benchmark, as a table
 *
 * Clean examples are part of all examples, so the two means are not
 * independent: mean_clean - mean_all = (1 - c/a) (mean_clean - mean_rest),
 * and clean and rest have no example in common.
 */
#include "contam/benchmark_table.h"

#include <math.h>
#include <string.h>

#include "stream/json.h"

/* --- figures --- */

/* Sums of scores minus the first one, so that no digits are lost. */
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

static struct benchmark_mean
mean_of(const struct sum *m)
{
	struct benchmark_mean r = {m->n, NAN, NAN};

	if (m->n)
		r.mean = m->base + m->s / m->n;
	if (m->n > 1)
		r.var = (m->ss - m->s * m->s / m->n) / (m->n - 1);
	if (r.var < 0)
		r.var = 0;
	return r;
}

static void
compare(struct benchmark_stats *t, const struct benchmark_mean *rest)
{
	const struct benchmark_mean *c = &t->of[BENCHMARK_CLEAN];
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

struct benchmark_stats
benchmark_stats(const struct benchmarks *b, size_t i)
{
	const struct benchmark *v = &b->v[i];
	struct sum all = {0}, of[BENCHMARK_CLASSES] = {{0}}, rest = {0};
	struct benchmark_stats t = {0};
	struct benchmark_mean r;
	size_t k;

	for (k = v->first; k < v->first + v->n; k++) {
		const struct benchmark_example *x = &b->ex[k];
		enum benchmark_class c = benchmark_class(x);

		t.count[c]++;
		if (!x->scored)
			continue;
		sum_add(&all, x->score);
		sum_add(&of[c], x->score);
		if (c != BENCHMARK_CLEAN)
			sum_add(&rest, x->score);
	}
	t.examples = v->n;
	t.tested = t.count[BENCHMARK_CLEAN] + t.count[BENCHMARK_DIRTY];
	t.clean_percent = t.tested ?
		100.0 * t.count[BENCHMARK_CLEAN] / t.tested : NAN;
	t.all = mean_of(&all);
	for (k = 0; k < BENCHMARK_CLASSES; k++)
		t.of[k] = mean_of(&of[k]);
	r = mean_of(&rest);
	compare(&t, &r);
	return t;
}

/* --- tables --- */

enum { WIDE = 10 };

/* Those of scores come last.  The title is for a terminal. */
static const struct {
	const char *key, *title;
	enum { NAME, COUNT, REAL } type;
} columns[] = {
	{"name", "name", NAME}, {"n", "n", COUNT},
	{"examples", "examples", COUNT}, {"short", "short", COUNT},
	{"dirty", "dirty", COUNT}, {"clean", "clean", COUNT},
	{"tested", "tested", COUNT}, {"clean_percent", "clean %", REAL},
	{"scored", "scored", COUNT},
	{"score", "all", REAL}, {"score_dirty", "dirty", REAL},
	{"score_clean", "clean", REAL}, {"score_short", "short", REAL},
	{"difference", "clean-all", REAL}, {"difference_se", "se", REAL},
	{"relative_percent", "in %", REAL},
};

enum { COUNTS = 8, COLUMNS = sizeof(columns) / sizeof(columns[0]) };

struct row {
	const char *name, *fields;
	double v[COLUMNS];	/* NAN: none */
};

static struct row
row_of(const struct benchmarks *b, size_t i)
{
	const struct benchmark_stats t = benchmark_stats(b, i);

	return (struct row){b->v[i].name, b->v[i].used, {
		0, b->v[i].ngram, t.examples, t.count[BENCHMARK_SHORT],
		t.count[BENCHMARK_DIRTY], t.count[BENCHMARK_CLEAN],
		t.tested, t.clean_percent, t.all.n, t.all.mean,
		t.of[BENCHMARK_DIRTY].mean, t.of[BENCHMARK_CLEAN].mean,
		t.of[BENCHMARK_SHORT].mean, t.difference, t.se, t.relative,
	}};
}

static void
put_fields(const char *lines, struct buf *out)
{
	struct span all = span_str(lines), line;
	int n = 0;

	json_put_key(out, "fields");
	buf_putc(out, '[');
	while (span_line(&all, &line)) {
		if (n++)
			buf_putc(out, ',');
		json_put_str(out, line);
	}
	buf_putc(out, ']');
}

static void
put_json(const struct row *r, size_t n, struct buf *out)
{
	size_t i;

	buf_putc(out, '{');
	for (i = 0; i < n; i++) {
		const char *key = columns[i].key;

		if (columns[i].type == NAME)
			json_put_key_str(out, key, r->name);
		else if (columns[i].type == COUNT)
			json_put_key_uint(out, key, (uint64_t)r->v[i]);
		else
			json_put_key_real(out, key, r->v[i]);
	}
	put_fields(r->fields, out);
	buf_putc(out, '}');
}

void
benchmark_put_json(const struct benchmarks *b, int scores, struct buf *out)
{
	struct row r;
	size_t i;

	json_put_key(out, "benchmarks");
	buf_putc(out, '[');
	for (i = 0; i < b->n; i++) {
		if (i)
			buf_putc(out, ',');
		r = row_of(b, i);
		put_json(&r, scores ? COLUMNS : COUNTS, out);
	}
	buf_putc(out, ']');
}

static void
put_cell(const struct row *r, size_t k, int digits, struct buf *out)
{
	if (columns[k].type == NAME)
		buf_puts(out, r->name);
	else if (columns[k].type == COUNT)
		buf_printf(out, "%.0f", r->v[k]);
	else if (isnan(r->v[k]))
		buf_putc(out, '-');
	else
		buf_printf(out, "%.*g", digits, r->v[k]);
}

void
benchmark_put_table(const struct benchmarks *b, int scores, int json,
		    struct buf *out)
{
	size_t i, k, n = scores ? COLUMNS : COUNTS;
	struct row r;

	for (k = 0; !json && b->n && k < n; k++)
		buf_printf(out, "%s%s", k ? "\t" : "", columns[k].key);
	for (i = 0; i < b->n; i++) {
		r = row_of(b, i);
		if (json)
			put_json(&r, n, out);
		for (k = 0; !json && k < n; k++) {
			buf_putc(out, k ? '\t' : '\n');
			put_cell(&r, k, 6, out);
		}
		if (json)
			buf_putc(out, '\n');
	}
	if (!json && b->n)
		buf_putc(out, '\n');
}

/* The name and columns [from, to) of every benchmark. */
static void
put_columns(const struct benchmarks *b, size_t from, size_t to, int wide,
	    struct buf *out)
{
	struct buf s = {0};
	struct row r;
	size_t i, k;

	buf_printf(out, "%-*s", wide, columns[0].title);
	for (k = from; k < to; k++)
		buf_printf(out, "%*s", k == 1 ? 5 : WIDE, columns[k].title);
	for (i = 0; i < b->n; i++) {
		r = row_of(b, i);
		buf_printf(out, "\n%-*s", wide, r.name);
		for (k = from; k < to; k++) {
			buf_reset(&s);
			put_cell(&r, k, 4, &s);
			buf_printf(out, "%*.*s", k == 1 ? 5 : WIDE, (int)s.n,
				   s.p);
		}
	}
	buf_putc(out, '\n');
	buf_clear(&s);
}

void
benchmark_put_text(const struct benchmarks *b, int scores, struct buf *out)
{
	int wide = 4;
	size_t i;

	for (i = 0; i < b->n; i++)
		if (strlen(b->v[i].name) > (size_t)wide)
			wide = (int)strlen(b->v[i].name);
	put_columns(b, 1, COUNTS, wide, out);
	if (!scores)
		return;
	buf_puts(out, "\nmean scores; clean-all is their difference, with its "
		 "standard error\n");
	put_columns(b, COUNTS, COLUMNS, wide, out);
}
