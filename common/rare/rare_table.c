/*
 * rare_table.c - the part of rare_report.h that people read
 *
 * Both tails are shown: in some models unused rows are the farthest, not the
 * nearest.
 */
#include <stdlib.h>

#include "base/json.h"
#include "base/mem.h"
#include "rare/rare_count.h"
#include "rare/rare_model.h"
#include "rare/rare_prompt.h"
#include "rare/rare_report.h"
#include "text/display.h"

struct row {
	double x;
	uint32_t id;
};

static int
cmp_row(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->x != y->x)
		return x->x < y->x ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

/* The rows that compete: text gives them, or a special token does. */
static struct row *
order(const struct rare *r, size_t *n)
{
	struct row *v = xcalloc((size_t)r->n + 1, sizeof(*v));
	uint32_t id;

	for (*n = 0, id = 0; id < r->n; id++) {
		if (r->category[id] > RARE_CAT_OK_SPECIAL ||
		    (r->flags[id] & (RARE_UNUSED | RARE_BOUNDARY)) ||
		    (!r->model && (r->flags[id] & (RARE_STEP | RARE_SPECIAL))))
			continue;
		v[(*n)++] = (struct row){r->model ?
			r->model->ind.v[r->model->which][id] :
			(double)r->counts->v[id].count, id};
	}
	qsort(v, *n, sizeof(*v), cmp_row);
	return v;
}

static void
head(const struct rare *r, struct buf *b)
{
	buf_printf(b, "%8s  %-24s", "token", "text");
	if (r->counts)
		buf_printf(b, " %12s %11s %8s %6s", "count", "per million",
			   "docs", "top");
	if (r->model)
		buf_printf(b, " %10s", indicator_names[r->model->which]);
	if (r->answers)
		buf_printf(b, " %9s", "max prob");
	buf_putc(b, '\n');
}

/* What no column has. */
static void
words(const struct rare *r, uint32_t id, struct buf *b)
{
	unsigned f = r->flags[id];
	uint32_t by = r->counts ? r->swallowed_by[id] : RARE_NONE;

	if (f & RARE_SPECIAL)
		buf_puts(b, "  special");
	if (f & RARE_RESERVED)
		buf_puts(b, "  reserved");
	if (f & RARE_SUSPICIOUS)
		buf_puts(b, "  suspicious");
	if (r->answers && r->answers->verdict[id])
		buf_printf(b, " %s",
			   rare_verdict_names[r->answers->verdict[id]]);
	if (!(f & (RARE_RARE | RARE_STEP)))
		return;
	buf_puts(b, f & RARE_STEP ? "  step" : "  rare");
	if (by == RARE_NONE)
		return;
	buf_puts(b, ", in \"");
	display_token(r->vocab, by, b);
	buf_printf(b, "\" %llu", (unsigned long long)r->counts->v[by].count);
}

static void
line(const struct rare *r, uint32_t id, struct buf *b)
{
	const struct rare_count *c;
	size_t from;

	buf_printf(b, "%8u  ", id);
	from = b->n;
	if (r->vocab)
		display_token(r->vocab, id, b);
	display_fit(b, from, 24);
	if (r->counts) {
		c = r->counts->v + id;
		buf_printf(b, " %12llu %11.3f", (unsigned long long)c->count,
			   r->counts->tokens ? 1e6 * (double)c->count /
			   (double)r->counts->tokens : 0);
		if (r->counts->docs)
			buf_printf(b, " %8llu %5.0f%%",
				   (unsigned long long)c->docs, c->count ?
				   100.0 * (double)c->top / (double)c->count :
				   0);
		else
			buf_printf(b, " %8s %6s", "-", "-");
	}
	if (r->model)
		buf_printf(b, " %10.6f",
			   r->model->ind.v[r->model->which][id]);
	if (r->answers && r->answers->max_prob[id] >= 0)
		buf_printf(b, " %9.6f", r->answers->max_prob[id]);
	words(r, id, b);
	buf_putc(b, '\n');
}

void
rare_table(const struct rare *r, size_t rows, struct buf *b)
{
	struct row *v;
	size_t n, i;

	v = order(r, &n);
	head(r, b);
	for (i = 0; i < n && i < rows; i++)
		line(r, v[i].id, b);
	if (n > 2 * rows)
		buf_printf(b, "%8s  ... %zu more ...\n", "", n - 2 * rows);
	for (i = n > 2 * rows ? n - rows : rows; i < n; i++)
		line(r, v[i].id, b);
	free(v);
}

static void
share(struct buf *b, const char *what, uint64_t n, uint64_t all)
{
	buf_printf(b, "%-34s %12llu  %6.2f%%\n", what, (unsigned long long)n,
		   all ? 100.0 * (double)n / (double)all : 0);
}

void
rare_summary(const struct rare *r, const struct rare_sum *s, struct buf *b)
{
	buf_printf(b, "%-34s %12u\n", "ids", r->n);
	if (r->counts)
		buf_printf(b, "%-34s %12llu\n%-34s %12llu\n", "tokens",
			   (unsigned long long)r->counts->tokens, "BOS and EOS",
			   (unsigned long long)r->counts->boundary);
	share(b, "special", s->special, r->n);
	share(b, "known to be unused", s->known_unused, r->n);
	share(b, "unreachable",
	      s->category[RARE_CAT_UNREACHABLE_SPECIAL] +
	      s->category[RARE_CAT_UNREACHABLE_SINGLE] +
	      s->category[RARE_CAT_UNREACHABLE_MULTI], r->n);
	share(b, "part of a character", s->category[RARE_CAT_UNDECODEABLE],
	      r->n);
	if (r->counts) {
		share(b, "reachable, never seen", s->zero, r->n);
		share(b, "rare", s->rare, r->n);
		share(b, "rare as a step of a merge only", s->steps, r->n);
	}
	if (r->model) {
		share(b, "suspicious", s->suspicious, r->n);
		buf_printf(b, "%-34s %12s  at most %.6f\n", "  by",
			   indicator_names[r->model->which],
			   r->model->threshold);
	}
	if (r->counts && r->model)
		buf_printf(b, "%-34s %12llu  only rare %llu, only suspicious "
			   "%llu\n", "rare and suspicious",
			   (unsigned long long)s->both,
			   (unsigned long long)(s->rare - s->both),
			   (unsigned long long)(s->suspicious - s->both));
	if (r->answers)
		share(b, "verified, of the suspicious", s->verified,
		      s->suspicious);
	share(b, "wasted ids", s->wasted, r->n);
	if (r->model)
		buf_printf(b, "%-34s %12s  %6.2f%%\n", "wasted parameters", "",
			   100 * s->wasted_params);
}

static void
number(struct buf *b, const char *key, uint64_t x)
{
	json_put_key(b, key);
	json_put_uint(b, x);
}

static void
real(struct buf *b, const char *key, double x)
{
	json_put_key(b, key);
	json_put_real(b, x);
}

void
rare_stats(const struct rare *r, const struct rare_sum *s, struct buf *b)
{
	int i;

	buf_puts(b, "{");
	number(b, "ids", r->n);
	json_put_key(b, "categories");
	buf_putc(b, '{');
	for (i = 0; i < RARE_CAT_N; i++)
		number(b, rare_category_names[i], s->category[i]);
	buf_putc(b, '}');
	number(b, "special", s->special);
	number(b, "reserved", s->reserved);
	number(b, "padding", s->no_token);
	number(b, "partial_utf8", s->no_utf8);
	number(b, "known_unused", s->known_unused);
	if (r->counts) {
		number(b, "tokens", r->counts->tokens);
		number(b, "boundary", r->counts->boundary);
		number(b, "docs", r->counts->docs);
		number(b, "min_count", r->min_count);
		number(b, "unused", s->zero);
		number(b, "rare", s->rare);
		number(b, "steps", s->steps);
	}
	if (r->model) {
		json_put_key(b, "tied");
		buf_puts(b, r->model->tied ? "true" : "false");
		json_put_key(b, "indicator");
		json_put_str(b, span_str(indicator_names[r->model->which]));
		real(b, "threshold", r->model->threshold);
		number(b, "suspicious", s->suspicious);
	}
	if (r->counts && r->model)
		number(b, "rare_and_suspicious", s->both);
	if (r->answers)
		number(b, "verified", s->verified);
	number(b, "wasted", s->wasted);
	real(b, "wasted_share", r->n ? (double)s->wasted / r->n : 0);
	if (r->model)
		real(b, "wasted_params_share", s->wasted_params);
	buf_puts(b, "}\n");
}
