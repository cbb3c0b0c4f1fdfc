/*
 * complete.c - see complete.h
 *
 * Prompts are read, continued and written one batch at a time, so that an
 * endless stream needs the memory of one batch.
 */
#include "sample/complete.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/progress.h"
#include "base/utf8.h"

static const char *const end_names[] = {
	[GEN_RUNNING] = "running", [GEN_EOS] = "eos", [GEN_STOP] = "stop",
	[GEN_LENGTH] = "length",
};

/* Text as UTF-8; each invalid byte becomes U+FFFD. */
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
	session_put_id(l, b);
	if (l->context.ids) {
		session_put_ids(b, "prompt", l->context.ids, l->context.n);
	} else {
		json_put_key(b, "prompt");
		json_put_str(b, l->context.text);
	}
	json_put_key(b, "text");
	if (v)
		json_put_str(b, buf_span(&s->text));
	else
		buf_puts(b, "null");
	session_put_ids(b, "tokens", s->out.v, s->out.n);
	session_put_reals(b, "logprobs", s->logprob, s->out.n);
	json_put_key_str(b, "end", end_names[s->end]);
	buf_puts(b, "}\n");
}

static int
put_answer(struct session *c, const struct prompt_line *l,
	   const struct gen_seq *s, struct err *e)
{
	struct buf b = {0};
	int rc;

	if (c->json) {
		put_json(l, s, c->v, &b);
	} else {
		if (c->texts)
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
count(struct session *c, const struct gen_seq *s)
{
	c->texts++;
	c->tokens_in += s->nprompt;
	c->tokens_out += s->out.n;
	if (c->positions && s->nprompt + s->out.n > (uint64_t)c->positions)
		c->past_end++;
}

/* ---- one prompt, as it grows ---- */

struct stream {
	struct session *c;
	size_t done;		/* bytes of the text written */
};

static int
stream_step(void *ctx, struct gen_seq *s, struct err *e)
{
	struct stream *t = ctx;
	struct buf b = {0};
	int rc = 0;

	put_text(&b, s->text.p + t->done, s->shown - t->done);
	t->done = s->shown;
	if (s->end)
		buf_putc(&b, '\n');
	if (b.n && (output_write(t->c->out, b.p, b.n, e) < 0 ||
		    output_flush(t->c->out, e) < 0))
		rc = -1;
	buf_clear(&b);
	return rc;
}

int
complete_text(struct session *c, const struct gen_opts *o, struct span prompt,
	      struct err *e)
{
	struct prompt_line l = {.context = {.text = prompt}};
	struct stream t = {c, 0};
	struct gen_seq s = {.number = c->texts};
	struct ids in = {0};
	int rc = -1;

	if (session_encode(c, &l.context, 1, &in, e) < 0)
		return -1;
	s.prompt = in.v;
	s.nprompt = in.n;
	if (in.n == 0)
		session_no_context(e);
	else if (c->json)
		rc = generator_run(c->g, &s, 1, o, NULL, NULL, e) < 0 ?
			-1 : put_answer(c, &l, &s, e);
	else if ((!c->texts || output_write(c->out, "\n", 1, e) == 0) &&
		 output_write(c->out, prompt.p, prompt.n, e) == 0 &&
		 output_flush(c->out, e) == 0)
		rc = generator_run(c->g, &s, 1, o, stream_step, &t, e);
	count(c, &s);
	generator_seq_clear(&s);
	free(in.v);
	return rc;
}

/* ---- many prompts ---- */

struct batch {
	struct session *c;
	const struct gen_opts *o;
	struct prompt_line *line;	/* (size) */
	struct gen_seq *seq;
	struct ids *in;
	size_t n, size;
};

/* Text cannot be written without a tokenizer. */
static int
check_output(const struct session *c, const struct gen_opts *o, struct err *e)
{
	if (c->v || (c->json && !o->nstop))
		return 0;
	return err_set(e, "the model folder has no tokenizer.json, and %s",
		       c->json ? "stop strings need a tokenizer" :
		       "text needs a tokenizer (JSON with token ids does not)");
}

static int
read_prompt(struct batch *b, const struct prompt_line *l, struct ids *in,
	    struct err *e)
{
	if (session_encode(b->c, &l->context, 1, in, e) < 0)
		return -1;
	return in->n == 0 ? session_no_context(e) :
	       generator_check(b->c->g, in->v, in->n, b->o, e);
}

static int
read_batch(struct batch *b, struct prompt_reader *r, struct err *e)
{
	struct err why = {0};

	for (b->n = 0; b->n < b->size; b->n++) {
		struct prompt_line *l = &b->line[b->n];
		struct ids *in = &b->in[b->n];
		int rc = prompt_next(r, l, e);

		if (rc <= 0)
			return rc;
		if (read_prompt(b, l, in, &why) < 0)
			return session_line_err(l, &why, e);
		b->seq[b->n] = (struct gen_seq){
			.prompt = in->v, .nprompt = in->n,
			.number = b->c->texts + b->n };
	}
	return 0;
}

static int
run_batch(struct batch *b, struct err *e)
{
	if (generator_run(b->c->g, b->seq, b->n, b->o, NULL, NULL, e) < 0)
		return -1;
	for (size_t i = 0; i < b->n; i++) {
		progress_erase();	/* stdout may be the terminal, too */
		if (put_answer(b->c, &b->line[i], &b->seq[i], e) < 0)
			return -1;
		count(b->c, &b->seq[i]);
		progress_add(1);
	}
	return output_flush(b->c->out, e);
}

static void
clear_batch(struct batch *b)
{
	for (size_t i = 0; i < b->size; i++) {
		prompt_line_clear(&b->line[i]);
		generator_seq_clear(&b->seq[i]);
		b->in[i].n = 0;
	}
}

int
complete_prompts(struct session *c, const struct gen_opts *o, int64_t batch,
		 struct prompt_reader *r, struct err *e)
{
	size_t n = (size_t)batch;
	struct batch b = {
		.c = c, .o = o, .n = n, .size = n,
		.line = xcalloc(n, sizeof(*b.line)),
		.seq = xcalloc(n, sizeof(*b.seq)),
		.in = xcalloc(n, sizeof(*b.in)) };
	int rc = check_output(c, o, e);

	while (rc == 0 && b.n == n) {	/* a short batch is the last */
		rc = read_batch(&b, r, e);
		if (rc == 0 && b.n > 0)
			rc = run_batch(&b, e);
		clear_batch(&b);
	}
	for (size_t i = 0; i < n; i++)
		free(b.in[i].v);
	free(b.line);
	free(b.seq);
	free(b.in);
	return rc;
}
