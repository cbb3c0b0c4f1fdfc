/*
 * scoring.c - see complete.h: lines to scores
 *
 * The context goes through the model once, each continuation on top of it.
 * Context and continuation are tokenized apart; a continuation whose joint
 * tokenization differs is counted.
 */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "sample/complete_priv.h"

struct item {
	struct ids ids;
	double *logprob, sum;
	size_t bytes;
	int greedy;
	double ahead[PROMPT_AHEAD];
	int nahead;
};

static void
item_clear(struct item *x)
{
	free(x->ids.v);
	free(x->logprob);
}

/* Would the two texts as one give other ids? */
static void
check_joint(struct complete *c, const struct prompt_text *a,
	    const struct prompt_text *b, const struct ids *apart_a,
	    const struct ids *apart_b)
{
	struct ids joint = {0};
	struct buf text = {0};
	size_t bos = c->bos >= 0;

	if (a->ids || b->ids)
		return;
	buf_put(&text, a->text.p, a->text.n);
	buf_put(&text, b->text.p, b->text.n);
	bpe_encode(c->enc, buf_span(&text), &joint);
	if (joint.n + bos != apart_a->n + apart_b->n ||
	    memcmp(joint.v, apart_a->v + bos,
		   (apart_a->n - bos) * sizeof(*joint.v)) ||
	    memcmp(joint.v + (apart_a->n - bos), apart_b->v,
		   apart_b->n * sizeof(*joint.v)))
		c->joint_differs++;
	free(joint.v);
	buf_clear(&text);
}

/* Bytes of a continuation: of the text, or of what its ids stand for. */
static size_t
text_bytes(const struct complete *c, const struct prompt_text *t)
{
	struct buf b = {0};
	size_t n;

	if (!t->ids)
		return t->text.n;
	if (!c->v)
		return 0;
	for (size_t i = 0; i < t->n; i++)
		gen_put_token(c->v, t->ids[i], &b);
	n = b.n;
	buf_clear(&b);
	return n ? n : 1;
}

static int
score_item(struct complete *c, struct item *x, struct err *e)
{
	x->logprob = xreallocarray(NULL, x->ids.n, sizeof(*x->logprob));
	if (generator_score(c->g, x->ids.v, x->ids.n, x->logprob, &x->greedy,
			    e) < 0)
		return -1;
	for (size_t i = 0; i < x->ids.n; i++)
		x->sum += x->logprob[i];
	if (isnan(x->sum))
		return err_set(e, "log-likelihood is not a number: the model "
			       "is broken");
	return 0;
}

static int
look_ahead(struct complete *c, struct item *x, size_t n, struct err *e)
{
	x->nahead = generator_ahead(c->g, x->ids.v[0], n, x->ahead, e);
	for (int i = 0; i < x->nahead; i++)
		if (isnan(x->ahead[i]))
			return err_set(e, "log-likelihood is not a number: "
				       "the model is broken");
	return x->nahead < 0 ? -1 : 0;
}

static int
score_all(struct complete *c, const struct prompt_line *l, struct item *item,
	  struct err *e)
{
	struct ids ctx = {0};
	size_t longest = 0;
	int rc = -1;

	if (complete_encode(c, &l->context, 1, &ctx, e) < 0)
		goto out;
	if (!c->v && l->answer >= 0) {
		err_set(e, "choices need --tokenizer: pick_norm is relative "
			"to the bytes that their ids stand for");
		goto out;
	}
	for (size_t i = 0; i < l->nchoices; i++) {
		struct item *x = &item[i];

		if (complete_encode(c, &l->choice[i], 0, &x->ids, e) < 0)
			goto out;
		x->bytes = text_bytes(c, &l->choice[i]);
		if (x->ids.n == 0) {
			err_set(e, "a continuation is empty: there is "
				"nothing to score");
			goto out;
		}
		if (l->ahead && x->ids.n != 1) {
			err_set(e, "ahead needs a continuation of one token, "
				"this one has %zu", x->ids.n);
			goto out;
		}
		if (x->ids.n > longest)
			longest = x->ids.n;
		check_joint(c, &l->context, &l->choice[i], &ctx, &x->ids);
	}
	if (l->ahead > (int64_t)longest)
		longest = (size_t)l->ahead;
	if (ctx.n == 0) {
		complete_no_context(e);
		goto out;
	}
	c->prompt_tokens += ctx.n;
	if (c->positions && ctx.n + longest > (uint64_t)c->positions)
		c->past_end++;
	rc = generator_context(c->g, ctx.v, ctx.n, longest, e);
	for (size_t i = 0; rc == 0 && i < l->nchoices; i++) {
		rc = score_item(c, &item[i], e);
		c->tokens += item[i].ids.n;
	}
	if (rc == 0 && l->ahead)
		rc = look_ahead(c, &item[0], (size_t)l->ahead, e);
out:
	free(ctx.v);
	return rc;
}

static void
put_continuation(const struct item *x, struct buf *b)
{
	json_put_key(b, "logprob");
	json_put_real(b, x->sum);
	json_put_key(b, "tokens");
	json_put_ids(b, x->ids.v, x->ids.n);
	json_put_key(b, "logprobs");
	json_put_reals(b, x->logprob, x->ids.n);
	json_put_key(b, "greedy");
	buf_puts(b, x->greedy ? "true" : "false");
	if (x->nahead) {
		json_put_key(b, "ahead");
		json_put_reals(b, x->ahead, (size_t)x->nahead);
	}
}

static void
put_choices(const struct prompt_line *l, const struct item *x,
	    const double *sum, struct score_pick p, struct buf *b)
{
	json_put_key(b, "logprobs");
	json_put_reals(b, sum, l->nchoices);
	json_put_key(b, "bytes");
	buf_putc(b, '[');
	for (size_t i = 0; i < l->nchoices; i++)
		buf_printf(b, "%s%zu", i ? "," : "", x[i].bytes);
	buf_putc(b, ']');
	json_put_key(b, "pick");
	json_put_uint(b, p.raw);
	json_put_key(b, "pick_norm");
	json_put_uint(b, p.norm);
	json_put_key(b, "answer");
	json_put_int(b, l->answer);
}

/* Sum a line up, and write it down with --json. */
static int
settle(struct complete *c, const struct prompt_line *l,
       const struct item *item, struct score *s, struct err *e)
{
	double *sum = xreallocarray(NULL, l->nchoices, sizeof(*sum));
	size_t *bytes = xreallocarray(NULL, l->nchoices, sizeof(*bytes));
	struct buf b = {0};
	int rc = 0;

	for (size_t i = 0; i < l->nchoices; i++) {
		sum[i] = item[i].sum;
		bytes[i] = item[i].bytes;
	}
	buf_putc(&b, '{');
	if (l->id.n) {
		json_put_key(&b, "id");
		buf_put(&b, l->id.p, l->id.n);
	}
	if (l->answer < 0) {
		score_add(s, sum[0], item[0].ids.n, item[0].greedy);
		put_continuation(&item[0], &b);
	} else {
		struct score_pick p = score_pick(sum, bytes, l->nchoices);

		score_add_choices(s, p, l->nchoices, (size_t)l->answer);
		put_choices(l, item, sum, p, &b);
	}
	buf_puts(&b, "}\n");
	if (c->json)
		rc = output_write(c->out, b.p, b.n, e);
	buf_clear(&b);
	free(sum);
	free(bytes);
	return rc;
}

static int
score_line(struct complete *c, const struct prompt_line *l, struct score *s,
	   struct err *e)
{
	struct item *item = xcalloc(l->nchoices, sizeof(*item));
	struct err why = {0};
	int rc = score_all(c, l, item, &why);

	if (rc < 0)
		err_set(e, "%s:%llu: %s", l->file,
			(unsigned long long)l->lineno, why.msg);
	else
		rc = settle(c, l, item, s, e);
	for (size_t i = 0; i < l->nchoices; i++)
		item_clear(&item[i]);
	free(item);
	c->prompts++;
	return rc;
}

int
complete_scores(struct complete *c, struct prompt_reader *r, struct score *s,
		struct err *e)
{
	struct prompt_line l;
	int rc;

	while ((rc = prompt_next(r, &l, e)) > 0) {
		rc = score_line(c, &l, s, e);
		prompt_line_clear(&l);
		if (rc < 0)
			return -1;
	}
	return rc;
}

/* ---- what they say together ---- */

static void
put_rate(struct buf *b, const char *name, const struct score *s,
	 uint64_t right)
{
	struct score_rate r = score_rate(right, s->choice_lines);
	double z = score_z(s, right);

	buf_printf(b, "%-22s %7.4f +- %.4f   guessing %.4f   z %+.2f   %s\n",
		   name, r.p, r.stderror,
		   s->chance / (double)s->choice_lines, z,
		   fabs(z) > 1.96 ? "differs from guessing"
				  : "no better or worse than guessing");
}

void
complete_summary(const struct score *s, struct buf *b)
{
	uint64_t single = s->lines - s->choice_lines;

	if (s->choice_lines) {
		buf_printf(b, "%-22s %7llu\n", "lines with choices",
			   (unsigned long long)s->choice_lines);
		put_rate(b, "accuracy", s, s->right);
		put_rate(b, "accuracy, normalized", s, s->right_norm);
	}
	if (single) {
		struct score_rate r = score_rate(s->greedy, single);

		buf_printf(b, "%-22s %7llu\n", "continuations",
			   (unsigned long long)single);
		buf_printf(b, "%-22s %7.4f +- %.4f\n", "greedy accuracy",
			   r.p, r.stderror);
		buf_printf(b, "%-22s %7.4f\n", "perplexity of a token",
			   exp(-s->logprob / (double)s->tokens));
	}
	if (!s->lines)
		buf_puts(b, "no lines\n");
}
