/*
 * rare_summary.c - the summary of rare_report.h
 */
#include <string.h>

#include "rare/rare_answers.h"
#include "rare/rare_counts.h"
#include "rare/rare_model.h"
#include "rare/rare_report.h"
#include "stream/json.h"

/* No text gives it, or none of these shards did. */
static int
is_wasted(const struct rare *r, uint32_t id)
{
	if (rare_is(r, id, RARE_SPECIAL | RARE_BOUNDARY))
		return rare_is(r, id, RARE_UNUSED);
	if (r->counts)
		return r->counts->v[id].count == 0;
	return rare_is(r, id, RARE_UNUSED) ||
	       (r->category[id] > RARE_CAT_OK_SPECIAL &&
		r->category[id] != RARE_CAT_UNDECODEABLE);
}

void
rare_summary_init(struct rare_summary *s, const struct rare *r)
{
	uint32_t id;
	unsigned f;

	memset(s, 0, sizeof(*s));
	for (id = 0; id < r->n; id++) {
		f = r->flags[id];
		if (r->category[id] != RARE_CAT_NONE)
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

static void
number(struct buf *b, const char *what, uint64_t n)
{
	buf_printf(b, "%-34s %12llu\n", what, (unsigned long long)n);
}

static void
share(struct buf *b, const char *what, uint64_t n, uint64_t all)
{
	buf_printf(b, "%-34s %12llu  %6.2f%%\n", what, (unsigned long long)n,
		   all ? 100.0 * (double)n / (double)all : 0);
}

void
rare_summary_text(const struct rare_summary *s, const struct rare *r,
		  struct buf *b)
{
	number(b, "ids", r->n);
	if (r->counts) {
		number(b, "tokens", r->counts->tokens);
		number(b, "BOS and EOS", r->counts->boundary);
	}
	share(b, "no token (padding)", s->no_token, r->n);
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
		share(b, "rare, but a step of a merge", s->steps, r->n);
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

void
rare_summary_json(const struct rare_summary *s, const struct rare *r,
		  struct buf *b)
{
	int i;

	buf_puts(b, "{");
	json_put_key_uint(b, "ids", r->n);
	json_put_key(b, "categories");
	buf_putc(b, '{');
	for (i = 0; i < RARE_CAT_N; i++)
		json_put_key_uint(b, rare_category_names[i], s->category[i]);
	buf_putc(b, '}');
	json_put_key_uint(b, "special", s->special);
	json_put_key_uint(b, "reserved", s->reserved);
	json_put_key_uint(b, "padding", s->no_token);
	json_put_key_uint(b, "partial_utf8", s->no_utf8);
	json_put_key_uint(b, "known_unused", s->known_unused);
	if (r->counts) {
		json_put_key_uint(b, "tokens", r->counts->tokens);
		json_put_key_uint(b, "boundary", r->counts->boundary);
		json_put_key_uint(b, "docs", r->counts->docs);
		json_put_key_uint(b, "rare_below", r->rare_below);
		json_put_key_uint(b, "unused", s->zero);
		json_put_key_uint(b, "rare", s->rare);
		json_put_key_uint(b, "steps", s->steps);
	}
	if (r->model) {
		json_put_key_bool(b, "tied", r->model->tied);
		json_put_key_str(b, "indicator",
				 indicator_names[r->model->which]);
		json_put_key_real(b, "threshold", r->model->threshold);
		json_put_key_uint(b, "suspicious", s->suspicious);
	}
	if (r->counts && r->model)
		json_put_key_uint(b, "rare_and_suspicious", s->both);
	if (r->answers)
		json_put_key_uint(b, "verified", s->verified);
	json_put_key_uint(b, "wasted", s->wasted);
	json_put_key_real(b, "wasted_share",
			  r->n ? (double)s->wasted / r->n : 0);
	if (r->model)
		json_put_key_real(b, "wasted_params_share", s->wasted_params);
	buf_puts(b, "}\n");
}
