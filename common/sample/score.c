/*
 * score.c - see score.h
 *
 * The context goes through the model once, each continuation on top of it.
 */
#include "sample/score.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/progress.h"

/* One continuation and its scores. */
struct item {
	struct ids ids;
	double *logprob, sum;
	size_t bytes;
	int greedy;
	double ahead[PROMPT_AHEAD];
	int nahead;
};

/*
 * The ids of b as the end of the text a b, whose first ids are those of a
 * alone.  0: they are not, a token crosses the seam.
 */
static int
encode_joint(struct session *c, struct span a, struct span b,
	     const struct ids *ctx, struct ids *out)
{
	struct ids joint = {0};
	struct buf text = {0};
	struct err why = {0};
	int ok;

	buf_put(&text, a.p, a.n);
	buf_put(&text, b.p, b.n);
	ok = session_encode_start(c, buf_span(&text), &joint, &why) == 0 &&
		joint.n > ctx->n && (!ctx->n || !memcmp(joint.v, ctx->v,
				     ctx->n * sizeof(*ctx->v)));
	for (size_t i = ctx->n; ok && i < joint.n; i++)
		ids_add(out, joint.v[i]);
	free(joint.v);
	buf_clear(&text);
	return ok;
}

/* *crosses is set if the continuation had to be tokenized alone. */
static int
encode_item(struct session *c, const struct prompt_text *a,
	    const struct prompt_text *b, const struct ids *ctx,
	    struct ids *out, int *crosses, struct err *e)
{
	if (c->enc && !a->ids && !b->ids) {
		if (encode_joint(c, a->text, b->text, ctx, out)) {
			session_check_special(c, b->text);
			return 0;
		}
		*crosses |= b->text.n > 0;
	}
	return session_encode(c, b, 0, out, e);
}

/* Length of a continuation in bytes, decoded if it was given as ids.  The space
 * that separates it from the context does not count. */
static size_t
text_bytes(const struct session *c, const struct prompt_text *t)
{
	struct buf b = {0};
	size_t n = t->text.n;

	if (!t->ids)
		return n - (n > 1 && *t->text.p == ' ');
	if (!c->v)
		return 0;
	for (size_t i = 0; i < t->n; i++)
		generator_put_token(c->v, t->ids[i], &b);
	n = b.n - (b.n > 1 && *b.p == ' ');
	buf_clear(&b);
	return n ? n : 1;
}

static int
score_item(struct session *c, struct item *x, struct err *e)
{
	x->logprob = xreallocarray(NULL, x->ids.n, sizeof(*x->logprob));
	if (generator_score(c->g, x->ids.v, x->ids.n, x->logprob, &x->greedy,
			    e) < 0)
		return -1;
	for (size_t i = 0; i < x->ids.n; i++)
		x->sum += x->logprob[i];
	if (isnan(x->sum))
		return err_set(e, "log-likelihood is NaN: the model is broken");
	return 0;
}

static int
look_ahead(struct session *c, struct item *x, size_t n, struct err *e)
{
	x->nahead = generator_ahead(c->g, x->ids.v[0], n, x->ahead, e);
	for (int i = 0; i < x->nahead; i++)
		if (isnan(x->ahead[i]))
			return err_set(e, "log-likelihood is NaN: the model is "
				       "broken");
	return x->nahead < 0 ? -1 : 0;
}

/* Encode all continuations of l; *longest gets the tokens of the longest. */
static int
encode_items(struct session *c, const struct prompt_line *l,
	     const struct ids *ctx, struct item *item, size_t *longest,
	     struct err *e)
{
	int crosses = 0;

	*longest = (size_t)l->ahead;
	if (!c->v && l->answer >= 0)
		return err_set(e, "choices need a tokenizer: pick_norm divides "
			       "by their length in bytes");
	for (size_t i = 0; i < l->nchoices; i++) {
		struct item *x = &item[i];

		if (encode_item(c, &l->context, &l->choice[i], ctx, &x->ids,
				&crosses, e) < 0)
			return -1;
		x->bytes = text_bytes(c, &l->choice[i]);
		if (x->ids.n == 0)
			return err_set(e, "continuation is empty: there is "
				       "nothing to score");
		if (l->ahead && x->ids.n != 1)
			return err_set(e, "ahead needs a continuation of one "
				       "token, this one has %zu", x->ids.n);
		if (x->ids.n > *longest)
			*longest = x->ids.n;
	}
	c->seams += crosses != 0;
	return 0;
}

static int
score_items(struct session *c, const struct prompt_line *l,
	    const struct ids *ctx, struct item *item, size_t longest,
	    struct err *e)
{
	if (ctx->n == 0)
		return session_no_context(e);
	c->tokens_in += ctx->n;
	if (c->positions && ctx->n + longest > (uint64_t)c->positions)
		c->past_end++;
	if (generator_context(c->g, ctx->v, ctx->n, longest, e) < 0)
		return -1;
	for (size_t i = 0; i < l->nchoices; i++) {
		if (score_item(c, &item[i], e) < 0)
			return -1;
		c->tokens_out += item[i].ids.n;
	}
	return l->ahead ? look_ahead(c, &item[0], (size_t)l->ahead, e) : 0;
}

static void
put_continuation(const struct item *x, struct buf *b)
{
	json_put_key_real(b, "logprob", x->sum);
	session_put_ids(b, "tokens", x->ids.v, x->ids.n);
	session_put_reals(b, "logprobs", x->logprob, x->ids.n);
	json_put_key_bool(b, "greedy", x->greedy);
	if (x->nahead)
		session_put_reals(b, "ahead", x->ahead, (size_t)x->nahead);
}

static void
put_choices(const struct prompt_line *l, const struct item *x,
	    const double *sum, size_t pick, size_t pick_norm, struct buf *b)
{
	session_put_reals(b, "logprobs", sum, l->nchoices);
	json_put_key(b, "bytes");
	buf_putc(b, '[');
	for (size_t i = 0; i < l->nchoices; i++)
		buf_printf(b, "%s%zu", i ? "," : "", x[i].bytes);
	buf_putc(b, ']');
	json_put_key_uint(b, "pick", pick);
	json_put_key_uint(b, "pick_norm", pick_norm);
	json_put_key_uint(b, "answer", (uint64_t)l->answer);
}

/* Add a line to the totals, and write its scores as JSON if wanted. */
static int
put_line(struct session *c, const struct prompt_line *l,
       const struct item *item, struct accuracy *s, struct err *e)
{
	double *sum = xreallocarray(NULL, l->nchoices, sizeof(*sum));
	size_t *bytes = xreallocarray(NULL, l->nchoices, sizeof(*bytes));
	struct buf b = {0};
	int rc = 0;

	for (size_t i = 0; i < l->nchoices; i++) {
		sum[i] = item[i].sum;
		bytes[i] = item[i].bytes;
	}
	session_put_id(l, &b);
	if (l->answer < 0) {
		accuracy_add(s, sum[0], item[0].ids.n, item[0].greedy);
		put_continuation(&item[0], &b);
	} else {
		struct accuracy_best raw, norm;

		accuracy_add_choices(s, sum, bytes, l->nchoices,
				     (size_t)l->answer, &raw, &norm);
		put_choices(l, item, sum, raw.pick, norm.pick, &b);
	}
	buf_puts(&b, "}\n");
	progress_add(1);
	progress_erase();	/* stdout may be the terminal, too */
	if (c->json)
		rc = output_write(c->out, b.p, b.n, e);
	buf_clear(&b);
	free(sum);
	free(bytes);
	return rc;
}

static int
score_line(struct session *c, const struct prompt_line *l, struct accuracy *s,
	   struct err *e)
{
	struct item *item = xcalloc(l->nchoices, sizeof(*item));
	struct ids ctx = {0};
	struct err why = {0};
	size_t longest;
	int rc;

	if (session_encode(c, &l->context, 1, &ctx, &why) < 0 ||
	    encode_items(c, l, &ctx, item, &longest, &why) < 0 ||
	    score_items(c, l, &ctx, item, longest, &why) < 0)
		rc = session_line_err(l, &why, e);
	else
		rc = put_line(c, l, item, s, e);
	for (size_t i = 0; i < l->nchoices; i++) {
		free(item[i].ids.v);
		free(item[i].logprob);
	}
	free(item);
	free(ctx.v);
	c->texts++;
	return rc;
}

int
score_lines(struct session *c, struct prompt_reader *r, struct accuracy *s,
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
