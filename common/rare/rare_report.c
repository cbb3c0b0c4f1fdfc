/*
 * rare_report.c - see rare_report.h
 */
#include "rare/rare_report.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "rare/rare_count.h"
#include "rare/rare_model.h"
#include "rare/rare_prompt.h"
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

/* ---- sums ---- */

/* No text gives it, or none of these shards did. */
static int
is_wasted(const struct rare *r, uint32_t id)
{
	if (r->flags[id] & (RARE_SPECIAL | RARE_BOUNDARY))
		return (r->flags[id] & RARE_UNUSED) != 0;
	if (r->counts)
		return r->counts->v[id].count == 0;
	return (r->flags[id] & RARE_UNUSED) ||
	       r->category[id] == RARE_CAT_UNREACHABLE_SPECIAL ||
	       r->category[id] == RARE_CAT_UNREACHABLE_SINGLE ||
	       r->category[id] == RARE_CAT_UNREACHABLE_MULTI;
}

void
rare_sum(const struct rare *r, struct rare_sum *s)
{
	uint32_t id;
	unsigned f;

	memset(s, 0, sizeof(*s));
	for (id = 0; id < r->n; id++) {
		f = r->flags[id];
		s->category[r->category[id]]++;
		s->special += (f & RARE_SPECIAL) != 0;
		s->reserved += (f & RARE_RESERVED) != 0;
		s->no_token += (f & RARE_NO_TOKEN) != 0;
		s->no_utf8 += (f & RARE_NO_UTF8) != 0;
		s->known_unused += (f & RARE_UNUSED) != 0;
		s->rare += (f & RARE_RARE) != 0;
		s->steps += (f & RARE_STEP) != 0;
		s->suspicious += (f & RARE_SUSPICIOUS) != 0;
		s->both += (f & RARE_SUSPICIOUS) && (f & RARE_RARE);
		s->zero += r->counts && r->category[id] == RARE_CAT_OK &&
			   r->counts->v[id].count == 0;
		s->verified += r->answers && r->answers->verdict[id] &&
			       r->answers->max_prob[id] >= 0 &&
			       r->answers->max_prob[id] < 0.01;
		s->wasted += (uint64_t)is_wasted(r, id);
	}
	if (r->model)
		s->wasted_params = (double)s->wasted * (double)r->model->C *
				   (r->model->tied ? 1 : 2) /
				   (double)r->model->params;
}

/* ---- lines ---- */

static void
put_bool(struct buf *b, const char *key, int x)
{
	json_put_key(b, key);
	buf_puts(b, x ? "true" : "false");
}

static void
put_uint(struct buf *b, const char *key, uint64_t x)
{
	json_put_key(b, key);
	json_put_uint(b, x);
}

static void
put_real(struct buf *b, const char *key, double x)
{
	json_put_key(b, key);
	json_put_real(b, x);
}

static struct span
doc_name(const struct rare_counts *c, uint64_t d, struct buf *tmp)
{
	struct shard_doc doc;
	struct err e = {0};

	if (shards_doc(c->shards, d, &doc, &e))
		return span_str("");
	return shards_doc_id(&doc, tmp);
}

static void
json_counts(const struct rare *r, uint32_t id, struct buf *b)
{
	const struct rare_counts *c = r->counts;
	const struct rare_count *x = c->v + id;
	struct buf tmp = {0};
	uint32_t by = r->swallowed_by[id];

	put_uint(b, "count", x->count);
	put_real(b, "per_million", per_million(c, id));
	if (r->flags[id] & RARE_BOUNDARY)
		put_bool(b, "boundary", 1);
	if (c->docs) {
		put_uint(b, "docs", x->docs);
		put_real(b, "top_share", top_share(x));
		if (x->docs) {
			json_put_key(b, "top_doc");
			json_put_str(b, doc_name(c, x->top_doc, &tmp));
		}
	}
	if (by != RARE_NONE) {
		put_uint(b, "swallowed_by", by);
		put_uint(b, "swallowed_count", c->v[by].count);
	}
	put_bool(b, "rare", (r->flags[id] & RARE_RARE) != 0);
	put_bool(b, "step", (r->flags[id] & RARE_STEP) != 0);
	buf_clear(&tmp);
}

static void
json_model(const struct rare *r, uint32_t id, struct buf *b)
{
	const struct rare_model *m = r->model;
	int i;

	put_real(b, "indicator", value(r, id));
	json_put_key(b, "indicators");
	buf_putc(b, '{');
	for (i = 0; i < IND_N; i++)
		if (m->ind.v[i])
			put_real(b, indicator_names[i], m->ind.v[i][id]);
	buf_putc(b, '}');
	put_bool(b, "suspicious", (r->flags[id] & RARE_SUSPICIOUS) != 0);
}

static void
json_answers(const struct rare *r, uint32_t id, struct buf *b)
{
	if (!r->answers->verdict[id])
		return;
	if (r->answers->max_prob[id] >= 0)
		put_real(b, "max_prob", r->answers->max_prob[id]);
	json_put_key(b, "verification");
	json_put_str(b, span_str(rare_verdict_names[r->answers->verdict[id]]));
}

void
rare_json(const struct rare *r, uint32_t id, struct buf *b)
{
	unsigned f = r->flags[id];
	struct buf text = {0};
	size_t i;

	buf_printf(b, "{\"token\":%u,\"text\":", id);
	rare_text(r, id, &text);
	if (!r->vocab || (f & RARE_NO_TOKEN))
		buf_puts(b, "null");
	else
		json_put_str(b, buf_span(&text));
	buf_clear(&text);
	if (f & RARE_NO_UTF8) {
		buf_puts(b, ",\"bytes\":\"");
		for (i = 0; i < r->vocab->token[id].n; i++)
			buf_printf(b, "%02x", (unsigned char)
				   r->vocab->token[id].p[i]);
		buf_putc(b, '"');
	}
	json_put_key(b, "category");
	json_put_str(b, span_str(rare_category_names[r->category[id]]));
	/* what part of a character may come from is not the encoder's to say */
	if (r->category[id] != RARE_CAT_UNDECODEABLE)
		put_bool(b, "reachable", r->category[id] <= RARE_CAT_OK_SPECIAL);
	put_bool(b, "special", (f & RARE_SPECIAL) != 0);
	put_bool(b, "reserved", (f & RARE_RESERVED) != 0);
	put_bool(b, "known_unused", (f & RARE_UNUSED) != 0);
	if (r->counts)
		json_counts(r, id, b);
	if (r->model)
		json_model(r, id, b);
	if (r->answers)
		json_answers(r, id, b);
	buf_puts(b, "}\n");
}

static void
name_of(const struct rare *r, uint32_t id, struct buf *b)
{
	if (!r->vocab)
		buf_printf(b, "<id %u>", id);
	else
		display_token(r->vocab, id, b);
}

void
rare_tsv_head(const struct rare *r, struct buf *b)
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
	buf_puts(b, r->flags[id] & RARE_RARE ? "\trare" :
		 r->flags[id] & RARE_STEP ? "\tstep" : "\t-");
}

void
rare_tsv(const struct rare *r, uint32_t id, struct buf *b)
{
	int i;

	buf_printf(b, "%u\t", id);
	name_of(r, id, b);
	buf_printf(b, "\t%s\t%s", rare_category_names[r->category[id]],
		   r->flags[id] & RARE_UNUSED ? "yes" : "no");
	if (r->counts)
		tsv_counts(r, id, b);
	for (i = 0; r->model && i < IND_N; i++)
		if (r->model->ind.v[i])
			buf_printf(b, "\t%.6f", r->model->ind.v[i][id]);
	if (r->model)
		buf_puts(b, r->flags[id] & RARE_SUSPICIOUS ? "\tyes" : "\tno");
	if (r->answers && r->answers->max_prob[id] >= 0)
		buf_printf(b, "\t%.6f", r->answers->max_prob[id]);
	else if (r->answers)
		buf_puts(b, "\t-");
	if (r->answers)
		buf_printf(b, "\t%s", r->answers->verdict[id] ?
			   rare_verdict_names[r->answers->verdict[id]] : "-");
	buf_putc(b, '\n');
}
