/*
 * complete.c - see complete.h: prompts to text
 *
 * Prompts are read, answered and written a batch at a time, so a stream of
 * any length needs the memory of one batch.  Scores are in scoring.c.
 */
#include "sample/complete.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "sample/complete_priv.h"

static const char *const end_names[] = {
	[GEN_RUNNING] = "running", [GEN_EOS] = "eos", [GEN_STOP] = "stop",
	[GEN_LENGTH] = "length",
};

int
complete_encode(struct complete *c, const struct prompt_text *t, int first,
		struct ids *out, struct err *e)
{
	if (t->ids) {
		for (size_t i = 0; i < t->n; i++)
			ids_add(out, t->ids[i]);
		return 0;
	}
	if (!c->enc)
		return err_set(e, "this is a text, and the model's folder has "
			       "no tokenizer.json: give --tokenizer, or token "
			       "ids");
	if (first && c->bos >= 0)
		ids_add(out, (uint32_t)c->bos);
	bpe_encode(c->enc, t->text, out);
	if (first && t->text.n && t->text.p[t->text.n - 1] == ' ')
		c->space_end++;
	return 0;
}

void
json_put_ids(struct buf *b, const uint32_t *id, size_t n)
{
	buf_putc(b, '[');
	for (size_t i = 0; i < n; i++)
		buf_printf(b, "%s%u", i ? "," : "", id[i]);
	buf_putc(b, ']');
}

void
json_put_reals(struct buf *b, const double *v, size_t n)
{
	buf_putc(b, '[');
	for (size_t i = 0; i < n; i++) {
		if (i)
			buf_putc(b, ',');
		json_put_real(b, v[i]);
	}
	buf_putc(b, ']');
}

int
complete_no_context(struct err *e)
{
	return err_set(e, "nothing to start from: the text is empty and the "
		       "model has no beginning-of-sequence token");
}

/* Text as UTF-8: what is not becomes U+FFFD, as a decoder of bytes does. */
static void
put_text(struct buf *b, const char *p, size_t n)
{
	while (n > 0) {
		int k = utf8_step(p, n);
		size_t len = (size_t)(k < 0 ? -k : k);

		if (k < 0)
			buf_puts(b, "\xef\xbf\xbd");
		else
			buf_put(b, p, len);
		p += len;
		n -= len;
	}
}

static void
put_json(const struct prompt_line *l, const struct gen_seq *s,
	 const struct vocab *v, struct buf *b)
{
	buf_putc(b, '{');
	if (l->id.n) {
		json_put_key(b, "id");
		buf_put(b, l->id.p, l->id.n);
	}
	json_put_key(b, "prompt");
	if (l->context.ids)
		json_put_ids(b, l->context.ids, l->context.n);
	else
		json_put_str(b, l->context.text);
	json_put_key(b, "text");
	if (v)
		json_put_str(b, buf_span(&s->text));
	else
		buf_puts(b, "null");
	json_put_key(b, "tokens");
	json_put_ids(b, s->out.v, s->out.n);
	json_put_key(b, "logprobs");
	json_put_reals(b, s->logprob, s->out.n);
	json_put_key(b, "end");
	json_put_str(b, span_str(end_names[s->end]));
	buf_puts(b, "}\n");
}

static int
put_answer(struct complete *c, const struct prompt_line *l,
	   const struct gen_seq *s, struct err *e)
{
	struct buf b = {0};
	int rc;

	if (c->json) {
		put_json(l, s, c->v, &b);
	} else {
		if (c->prompts)
			buf_putc(&b, '\n');
		buf_put(&b, l->context.text.p, l->context.text.n);
		put_text(&b, s->text.p, s->text.n);
		buf_putc(&b, '\n');
	}
	rc = output_write(c->out, b.p, b.n, e);
	buf_clear(&b);
	return rc;
}

static void
count(struct complete *c, const struct gen_seq *s)
{
	c->prompts++;
	c->prompt_tokens += s->nprompt;
	c->tokens += s->out.n;
	if (c->positions && s->nprompt + s->out.n > (uint64_t)c->positions)
		c->past_end++;
}

/* ---- one prompt, as it grows ---- */

struct stream {
	struct complete *c;
	size_t done;		/* bytes of the text written */
};

static int
stream_step(void *ctx, struct gen_seq *s, struct err *e)
{
	struct stream *t = ctx;
	struct buf b = {0};
	int rc = 0;

	if (s->end) {
		put_text(&b, s->text.p + t->done, s->text.n - t->done);
		buf_putc(&b, '\n');
	} else if (s->shown > t->done) {
		put_text(&b, s->text.p + t->done, s->shown - t->done);
		t->done = s->shown;
	}
	if (b.n && (output_write(t->c->out, b.p, b.n, e) < 0 ||
		    output_flush(t->c->out, e) < 0))
		rc = -1;
	buf_clear(&b);
	return rc;
}

int
complete_text(struct complete *c, struct span prompt, struct err *e)
{
	struct prompt_line l = {.context = {.text = prompt}};
	struct stream t = {c, 0};
	struct gen_seq s = {0};
	struct ids in = {0};
	int rc = -1;

	if (complete_encode(c, &l.context, 1, &in, e) < 0)
		return -1;
	s.prompt = in.v;
	s.nprompt = in.n;
	if (in.n == 0)
		complete_no_context(e);
	else if (c->json)
		rc = generator_run(c->g, &s, 1, &c->gen, NULL, NULL, e) < 0 ?
			-1 : put_answer(c, &l, &s, e);
	else if (output_write(c->out, prompt.p, prompt.n, e) == 0 &&
		 output_flush(c->out, e) == 0)
		rc = generator_run(c->g, &s, 1, &c->gen, stream_step, &t, e);
	count(c, &s);
	gen_seq_clear(&s);
	free(in.v);
	return rc;
}

/* ---- many prompts ---- */

struct batch {
	struct prompt_line *line;
	struct gen_seq *seq;
	struct ids *in;
	size_t n;
};

/* What is to be written as text needs the texts of tokens. */
static int
check_output(const struct complete *c, struct err *e)
{
	if (c->v || (c->json && !c->gen.nstop))
		return 0;
	return err_set(e, "the model's folder has no tokenizer.json: %s",
		       c->json ? "--stop compares texts, give --tokenizer" :
		       "give --tokenizer, or --json to get token ids");
}

static int
check_prompt(const struct complete *c, const struct ids *in, struct err *e)
{
	if (in->n == 0)
		return complete_no_context(e);
	return generator_check(c->g, in->v, in->n, &c->gen, e);
}

static int
read_batch(struct complete *c, struct prompt_reader *r, struct batch *b,
	   struct err *e)
{
	for (b->n = 0; b->n < (size_t)c->batch; b->n++) {
		struct prompt_line *l = &b->line[b->n];
		struct ids *in = &b->in[b->n];
		struct err why = {0};
		int rc = prompt_next(r, l, e);

		if (rc <= 0)
			return rc;
		rc = complete_encode(c, &l->context, 1, in, &why);
		b->seq[b->n] = (struct gen_seq){
			.prompt = in->v, .nprompt = in->n,
			.number = c->prompts + b->n };
		if (rc < 0 || check_prompt(c, in, &why) < 0)
			return err_set(e, "%s:%llu: %s", l->file,
				       (unsigned long long)l->lineno,
				       why.msg);
	}
	return 0;
}

static void
clear_batch(struct complete *c, struct batch *b)
{
	for (size_t i = 0; i < (size_t)c->batch; i++) {
		prompt_line_clear(&b->line[i]);
		gen_seq_clear(&b->seq[i]);
		b->in[i].n = 0;
	}
}

static int
run_batch(struct complete *c, struct batch *b, struct err *e)
{
	if (generator_run(c->g, b->seq, b->n, &c->gen, NULL, NULL, e) < 0)
		return -1;
	for (size_t i = 0; i < b->n; i++) {
		if (put_answer(c, &b->line[i], &b->seq[i], e) < 0)
			return -1;
		count(c, &b->seq[i]);
	}
	return output_flush(c->out, e);
}

int
complete_prompts(struct complete *c, struct prompt_reader *r, struct err *e)
{
	size_t n = (size_t)c->batch;
	struct batch b = {
		xcalloc(n, sizeof(*b.line)), xcalloc(n, sizeof(*b.seq)),
		xcalloc(n, sizeof(*b.in)), 0 };
	int rc = check_output(c, e);

	while (rc == 0 && n == (size_t)c->batch) {
		rc = read_batch(c, r, &b, e);
		if (rc == 0 && b.n > 0)
			rc = run_batch(c, &b, e);
		n = b.n;
		clear_batch(c, &b);
	}
	for (size_t i = 0; i < (size_t)c->batch; i++)
		free(b.in[i].v);
	free(b.line);
	free(b.seq);
	free(b.in);
	return rc;
}
