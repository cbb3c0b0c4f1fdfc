/*
 * rare_report.c - the lines and the table of rare_report.h
 *
 * The table has both tails: in some models unused rows are the farthest from
 * u, not the nearest.
 */
#include "rare/rare_report.h"

#include <stdlib.h>

#include "base/mem.h"
#include "rare/rare_answers.h"
#include "rare/rare_counts.h"
#include "rare/rare_model.h"
#include "stream/json.h"
#include "text/display.h"

static double
per_million(const struct rare_counts *c, uint32_t id)
{
	return c->tokens ? 1e6 * (double)c->v[id].count / (double)c->tokens : 0;
}

static double
top_share(const struct rare_count *c)
{
	return c->count ? (double)c->top / (double)c->count : 0;
}

static double
value(const struct rare *r, uint32_t id)
{
	return r->model->ind.v[r->model->which][id];
}

/* ---- JSON ---- */

static void
json_counts(const struct rare *r, uint32_t id, struct buf *b)
{
	const struct rare_counts *c = r->counts;
	const struct rare_count *x = c->v + id;
	struct shard_doc doc;
	struct buf tmp = {0};
	struct err e = {0};
	uint32_t by = r->swallowed_by[id];

	json_put_key_uint(b, "count", x->count);
	json_put_key_real(b, "per_million", per_million(c, id));
	if (rare_is(r, id, RARE_BOUNDARY))
		json_put_key_bool(b, "boundary", 1);
	if (c->docs) {
		json_put_key_uint(b, "docs", x->docs);
		json_put_key_real(b, "top_share", top_share(x));
		if (x->docs) {
			json_put_key(b, "top_doc");
			json_put_str(b, shards_doc(c->shards, x->top_doc, &doc,
						   &e) ? span_str("") :
				     shards_doc_id(&doc, &tmp));
		}
	}
	if (by != RARE_NONE) {
		json_put_key_uint(b, "swallowed_by", by);
		json_put_key_uint(b, "swallowed_count", c->v[by].count);
	}
	json_put_key_bool(b, "rare", rare_is(r, id, RARE_RARE));
	json_put_key_bool(b, "step", rare_is(r, id, RARE_STEP));
	buf_clear(&tmp);
}

static void
json_model(const struct rare *r, uint32_t id, struct buf *b)
{
	int i;

	json_put_key_real(b, "indicator", value(r, id));
	json_put_key(b, "indicators");
	buf_putc(b, '{');
	for (i = 0; i < IND_N; i++)
		if (r->model->ind.v[i])
			json_put_key_real(b, indicator_names[i],
					  r->model->ind.v[i][id]);
	buf_putc(b, '}');
	json_put_key_bool(b, "suspicious", rare_is(r, id, RARE_SUSPICIOUS));
}

static void
json_answers(const struct rare *r, uint32_t id, struct buf *b)
{
	if (!r->answers->verdict[id])
		return;
	if (r->answers->max_prob[id] >= 0)
		json_put_key_real(b, "max_prob", r->answers->max_prob[id]);
	json_put_key_str(b, "verification",
			 rare_verdict_names[r->answers->verdict[id]]);
}

void
rare_report_json(const struct rare *r, uint32_t id, struct buf *b)
{
	struct buf text = {0};
	size_t i;

	buf_printf(b, "{\"token\":%u,\"text\":", id);
	rare_text(r, id, &text);
	if (!r->vocab || rare_is(r, id, RARE_NO_TOKEN))
		buf_puts(b, "null");
	else
		json_put_str(b, buf_span(&text));
	buf_clear(&text);
	if (rare_is(r, id, RARE_NO_UTF8)) {
		buf_puts(b, ",\"bytes\":\"");
		for (i = 0; i < r->vocab->token[id].n; i++)
			buf_printf(b, "%02x", (unsigned char)
				   r->vocab->token[id].p[i]);
		buf_putc(b, '"');
	}
	if (r->category[id] == RARE_CAT_NONE)
		buf_puts(b, ",\"category\":null");
	else
		json_put_key_str(b, "category",
				 rare_category_names[r->category[id]]);
	/* the encoder cannot say what a part of a character comes from */
	if (r->category[id] != RARE_CAT_UNDECODEABLE &&
	    r->category[id] != RARE_CAT_NONE)
		json_put_key_bool(b, "reachable",
				  r->category[id] <= RARE_CAT_OK_SPECIAL);
	json_put_key_bool(b, "special", rare_is(r, id, RARE_SPECIAL));
	json_put_key_bool(b, "reserved", rare_is(r, id, RARE_RESERVED));
	json_put_key_bool(b, "known_unused", rare_is(r, id, RARE_UNUSED));
	if (r->counts)
		json_counts(r, id, b);
	if (r->model)
		json_model(r, id, b);
	if (r->answers)
		json_answers(r, id, b);
	buf_puts(b, "}\n");
}

/* ---- TSV ---- */

void
rare_report_tsv_header(const struct rare *r, struct buf *b)
{
	int i;

	buf_puts(b, "token\ttext\tcategory\tknown_unused");
	if (r->counts)
		buf_puts(b, "\tcount\tper_million\tdocs\ttop_share\t"
			 "swallowed_by\tswallowed_count\trare");
	for (i = 0; r->model && i < IND_N; i++)
		if (r->model->ind.v[i])
			buf_printf(b, "\t%s", indicator_names[i]);
	if (r->model)
		buf_puts(b, "\tsuspicious");
	if (r->answers)
		buf_puts(b, "\tmax_prob\tverification");
	buf_putc(b, '\n');
}

static void
tsv_counts(const struct rare *r, uint32_t id, struct buf *b)
{
	const struct rare_count *c = r->counts->v + id;
	uint32_t by = r->swallowed_by[id];

	buf_putc(b, '\t');
	json_put_uint(b, c->count);
	buf_printf(b, "\t%.4f\t", per_million(r->counts, id));
	if (r->counts->docs)
		buf_printf(b, "%llu\t%.4f", (unsigned long long)c->docs,
			   top_share(c));
	else
		buf_puts(b, "-\t-");
	if (by == RARE_NONE)
		buf_puts(b, "\t-\t-");
	else
		buf_printf(b, "\t%u\t%llu", by,
			   (unsigned long long)r->counts->v[by].count);
	buf_puts(b, rare_is(r, id, RARE_RARE) ? "\trare" :
		 rare_is(r, id, RARE_STEP) ? "\tstep" : "\t-");
}

void
rare_report_tsv(const struct rare *r, uint32_t id, struct buf *b)
{
	int i;

	buf_printf(b, "%u\t", id);
	if (r->vocab)
		display_token(r->vocab, id, b);
	else
		buf_printf(b, "<id %u>", id);
	buf_printf(b, "\t%s\t%s", r->category[id] == RARE_CAT_NONE ? "-" :
		   rare_category_names[r->category[id]],
		   rare_is(r, id, RARE_UNUSED) ? "yes" : "no");
	if (r->counts)
		tsv_counts(r, id, b);
	for (i = 0; r->model && i < IND_N; i++)
		if (r->model->ind.v[i])
			buf_printf(b, "\t%.6f", r->model->ind.v[i][id]);
	if (r->model)
		buf_puts(b, rare_is(r, id, RARE_SUSPICIOUS) ? "\tyes" :
			 "\tno");
	if (r->answers && r->answers->max_prob[id] >= 0)
		buf_printf(b, "\t%.6f", r->answers->max_prob[id]);
	else if (r->answers)
		buf_puts(b, "\t-");
	if (r->answers)
		buf_printf(b, "\t%s", r->answers->verdict[id] ?
			   rare_verdict_names[r->answers->verdict[id]] : "-");
	buf_putc(b, '\n');
}

/* ---- the table ---- */

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

/* Sorted rows of the tokens that some text, or a special token, gives. */
static struct row *
sorted(const struct rare *r, size_t *n)
{
	struct row *v = xcalloc((size_t)r->n + 1, sizeof(*v));
	uint32_t id;

	for (*n = 0, id = 0; id < r->n; id++) {
		if (r->category[id] > RARE_CAT_OK_SPECIAL ||
		    rare_is(r, id, RARE_UNUSED | RARE_BOUNDARY) ||
		    (!r->model && rare_is(r, id, RARE_STEP | RARE_SPECIAL)))
			continue;
		v[(*n)++] = (struct row){r->model ? value(r, id) :
			(double)r->counts->v[id].count, id};
	}
	qsort(v, *n, sizeof(*v), cmp_row);
	return v;
}

static void
table_header(const struct rare *r, struct buf *b)
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

/* What has no column. */
static void
remarks(const struct rare *r, uint32_t id, struct buf *b)
{
	uint32_t by = r->counts ? r->swallowed_by[id] : RARE_NONE;

	if (rare_is(r, id, RARE_SPECIAL))
		buf_puts(b, "  special");
	if (rare_is(r, id, RARE_RESERVED))
		buf_puts(b, "  reserved");
	if (rare_is(r, id, RARE_SUSPICIOUS))
		buf_puts(b, "  suspicious");
	if (r->answers && r->answers->verdict[id])
		buf_printf(b, " %s",
			   rare_verdict_names[r->answers->verdict[id]]);
	if (!rare_is(r, id, RARE_RARE | RARE_STEP))
		return;
	buf_puts(b, rare_is(r, id, RARE_STEP) ? "  step" : "  rare");
	if (by == RARE_NONE)
		return;
	buf_puts(b, ", in \"");
	display_token(r->vocab, by, b);
	buf_printf(b, "\" %llu", (unsigned long long)r->counts->v[by].count);
}

static void
table_row(const struct rare *r, uint32_t id, struct buf *b)
{
	const struct rare_count *c = r->counts ? r->counts->v + id : NULL;
	size_t from;

	buf_printf(b, "%8u  ", id);
	from = b->n;
	if (r->vocab)
		display_token(r->vocab, id, b);
	display_fit(b, from, 24);
	if (c)
		buf_printf(b, " %12llu %11.3f", (unsigned long long)c->count,
			   per_million(r->counts, id));
	if (c && r->counts->docs)
		buf_printf(b, " %8llu %5.0f%%", (unsigned long long)c->docs,
			   100 * top_share(c));
	else if (c)
		buf_printf(b, " %8s %6s", "-", "-");
	if (r->model)
		buf_printf(b, " %10.6f", value(r, id));
	if (r->answers && r->answers->max_prob[id] >= 0)
		buf_printf(b, " %9.6f", r->answers->max_prob[id]);
	remarks(r, id, b);
	buf_putc(b, '\n');
}

void
rare_report_table(const struct rare *r, size_t rows, struct buf *b)
{
	struct row *v;
	size_t n, i;

	v = sorted(r, &n);
	table_header(r, b);
	for (i = 0; i < n && i < rows; i++)
		table_row(r, v[i].id, b);
	if (n > 2 * rows)
		buf_printf(b, "%8s  ... %zu more ...\n", "", n - 2 * rows);
	for (i = n > 2 * rows ? n - rows : rows; i < n; i++)
		table_row(r, v[i].id, b);
	free(v);
}
