/*
 * session.c - see session.h
 */
#include "sample/session.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"

int
session_encode(struct session *s, const struct prompt_text *t, int first,
	       struct ids *out, struct err *e)
{
	if (t->ids) {
		for (size_t i = 0; i < t->n; i++)
			ids_add(out, t->ids[i]);
		return 0;
	}
	if (!s->enc)
		return err_set(e, "this is text, but the model folder has no "
			       "tokenizer.json: name a tokenizer, or give "
			       "token ids");
	session_check_special(s, t->text);
	if (!first)
		return bpe_encode_rest(s->enc, t->text, out, e);
	if (session_encode_start(s, t->text, out, e) < 0)
		return -1;
	if (t->text.n && t->text.p[t->text.n - 1] == ' ')
		s->space_end++;
	return 0;
}

void
session_check_special(struct session *s, struct span t)
{
	const struct vocab_special *x = NULL;

	for (size_t i = 0; i < t.n && !x; i++)
		x = vocab_special_at(s->v, t.p + i, t.n - i);
	if (x && !s->specials++)
		s->special = x->text;
}

void
session_parse_specials(struct vocab *v)
{
	for (size_t k = 0; k < v->nspecial; k++)
		v->special[k].special = 0;	/* the flags of its id stay */
}

int
session_encode_start(struct session *s, struct span text, struct ids *out,
		     struct err *e)
{
	for (size_t i = 0; i < s->front.n; i++)
		ids_add(out, s->front.v[i]);
	return bpe_encode(s->enc, text, out, e);
}

int
session_no_context(struct err *e)
{
	return err_set(e, "the text is empty and no BOS is put before it: "
		       "there is nothing to start from");
}

void
session_put_id(const struct prompt_line *l, struct buf *b)
{
	buf_putc(b, '{');
	if (l->id.n) {
		json_put_key(b, "id");
		buf_put(b, l->id.p, l->id.n);
	}
}

void
session_put_ids(struct buf *b, const char *key, const uint32_t *id, size_t n)
{
	json_put_key(b, key);
	buf_putc(b, '[');
	for (size_t i = 0; i < n; i++)
		buf_printf(b, "%s%u", i ? "," : "", id[i]);
	buf_putc(b, ']');
}

void
session_put_reals(struct buf *b, const char *key, const double *v, size_t n)
{
	json_put_key(b, key);
	buf_putc(b, '[');
	for (size_t i = 0; i < n; i++) {
		if (i)
			buf_putc(b, ',');
		json_put_real(b, v[i]);
	}
	buf_putc(b, ']');
}

int
session_line_err(const struct prompt_line *l, const struct err *why,
		 struct err *e)
{
	return err_set(e, "%s:%" PRIu64 ": %s", l->file, l->lineno, why->msg);
}

void
session_warn(const struct session *s)
{
	if (s->space_end)
		warn("%" PRIu64 " of %" PRIu64 " texts end with a space: move "
		     "it to the start of the continuation", s->space_end,
		     s->texts);
	if (s->seams)
		warn("in %" PRIu64 " of %" PRIu64 " lines a token crosses from "
		     "context to continuation: such continuations are "
		     "tokenized alone", s->seams, s->texts);
	if (s->past_end)
		warn("%" PRIu64 " of %" PRIu64 " texts exceed the model's "
		     "context of %" PRId64 " tokens", s->past_end, s->texts,
		     s->positions);
}

void
session_print_rate(const struct session *s, FILE *f)
{
	fprintf(f, "%" PRIu64 " texts, %" PRIu64 " tokens read, %" PRIu64
		" generated or scored, %.1f tokens/s\n", s->texts,
		s->tokens_in, s->tokens_out,
		(double)(s->tokens_in + s->tokens_out) /
		(clock_s() - s->start));
}
