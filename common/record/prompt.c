/*
 * prompt.c - prompts and texts to score, as JSON Lines
 *
 * Such files are small compared with the work they ask for, so each line is
 * parsed to a tree and checked member by member.
 */
#include "record/prompt.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/path.h"
#include "stream/input.h"

struct prompt_reader {
	struct input *in;
	const char *path;
	enum prompt_kind kind;
	struct chunk chunk;
	size_t at;		/* in chunk */
	uint64_t lineno, lines;	/* lines: not blank */
};

enum { BLOCK = 1 << 16 };

struct prompt_reader *
prompt_open(const char *path, enum prompt_kind kind)
{
	struct prompt_reader *r = xcalloc(1, sizeof(*r));

	r->path = path;
	r->kind = kind;
	r->in = input_open(&r->path, 1);
	return r;
}

void
prompt_close(struct prompt_reader *r)
{
	if (!r)
		return;
	input_close(r->in);
	chunk_clear(&r->chunk);
	free(r);
}

void
prompt_line_clear(struct prompt_line *l)
{
	free(l->context.ids);
	for (size_t i = 0; i < l->nchoices; i++)
		free(l->choice[i].ids);
	free(l->choice);
	buf_clear(&l->id);
	json_free(l->json);
	memset(l, 0, sizeof(*l));
}

static int
bad(const struct prompt_line *l, struct err *e, const char *what,
    const char *found)
{
	return err_set(e, "%s:%" PRIu64 ": %s%s", l->file, l->lineno, what,
		       found);
}

/* A string, or an array of ids. */
static int
get_text(struct prompt_line *l, const struct json *j, const char *name,
	 struct prompt_text *t, struct err *e)
{
	if (!j)
		return bad(l, e, name, " is missing");
	if (j->type == JSON_STRING) {
		t->text = j->str;
		return 0;
	}
	if (j->type != JSON_ARRAY)
		return bad(l, e, name, " is neither a string nor token ids");
	t->ids = xreallocarray(NULL, j->n + 1, sizeof(*t->ids));
	t->n = j->n;
	for (size_t i = 0; i < j->n; i++) {
		const struct json *x = &j->kids[i];

		if (x->type != JSON_NUMBER || !x->is_int || x->i < 0 ||
		    x->i > UINT32_MAX)
			return bad(l, e, name, " contains something that is "
				   "not a token id");
		t->ids[i] = (uint32_t)x->i;
	}
	return 0;
}

static int
get_choices(struct prompt_line *l, const struct json *j, struct err *e)
{
	const struct json *c = json_get(j, "choices");
	const struct json *a = json_get(j, "answer");

	if (c->type != JSON_ARRAY || c->n < 2)
		return bad(l, e, "choices", " is not an array of two or more");
	l->choice = xcalloc(c->n, sizeof(*l->choice));
	l->nchoices = c->n;
	for (size_t i = 0; i < c->n; i++)
		if (get_text(l, &c->kids[i], "a choice", &l->choice[i], e) < 0)
			return -1;
	if (!a || a->type != JSON_NUMBER || !a->is_int || a->i < 0 ||
	    (uint64_t)a->i >= c->n)
		return bad(l, e, "answer", " is not the index of a choice");
	l->answer = a->i;
	return 0;
}

/* "ahead":N of a continuation. */
static int
get_ahead(struct prompt_line *l, const struct json *j, struct err *e)
{
	const struct json *x = json_get(j, "ahead");

	if (!x)
		return 0;
	if (l->answer >= 0)
		return bad(l, e, "ahead", " needs a continuation, not choices");
	if (x->type != JSON_NUMBER || !x->is_int || x->i < 1 ||
	    x->i > PROMPT_AHEAD)
		return bad(l, e, "ahead", " is not a number from 1 to 64");
	l->ahead = x->i;
	return 0;
}

static int
get_score(struct prompt_line *l, const struct json *j, struct err *e)
{
	const struct json *one = json_get(j, "continuation");

	if (get_text(l, json_get(j, "context"), "context", &l->context, e) < 0)
		return -1;
	if (json_get(j, "choices")) {
		if (one)
			return bad(l, e, "continuation", " and choices: "
				   "expected one of them");
		return get_choices(l, j, e) < 0 ? -1 : get_ahead(l, j, e);
	}
	l->choice = xcalloc(1, sizeof(*l->choice));
	l->nchoices = 1;
	if (get_text(l, one, "continuation", &l->choice[0], e) < 0)
		return -1;
	return get_ahead(l, j, e);
}

static void
get_id(struct prompt_line *l, const struct json *j)
{
	const struct json *id = json_get(j, "id");

	if (!id)
		return;
	if (id->type == JSON_STRING)
		json_put_str(&l->id, id->str);
	else if (id->type == JSON_NUMBER && id->is_int)
		json_put_int(&l->id, id->i);
	else if (id->type == JSON_NUMBER)
		json_put_real(&l->id, id->num);
}

static int
parse(struct prompt_reader *r, const char *p, size_t n, struct prompt_line *l,
      struct err *e)
{
	struct buf where = {0};

	l->file = r->chunk.name;
	l->lineno = r->lineno;
	l->answer = -1;
	buf_printf(&where, "%s:%" PRIu64, l->file, l->lineno);
	buf_putc(&where, '\0');
	l->json = json_parse(p, n, where.p, e);
	buf_clear(&where);
	if (!l->json)
		return -1;
	if (l->json->type != JSON_OBJECT)
		return bad(l, e, "the line is not an object", "");
	get_id(l, l->json);
	if (r->kind == PROMPT_SCORE)
		return get_score(l, l->json, e);
	return get_text(l, json_get(l->json, "prompt"), "prompt", &l->context,
			e);
}

static int
is_blank(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strchr(" \t\r\n", p[i]) || !p[i])
			return 0;
	return 1;
}

int
prompt_next(struct prompt_reader *r, struct prompt_line *l, struct err *e)
{
	memset(l, 0, sizeof(*l));
	for (;;) {
		const char *p, *lf;
		size_t n;

		if (r->at == r->chunk.n) {
			int rc = input_chunk(r->in, &r->chunk, BLOCK, e);

			if (rc == 0 && !r->lines++)
				warn("%s: no lines to read",
				     path_is_std(r->path) ? "<stdin>" :
				     r->path);
			if (rc <= 0)
				return rc;
			r->at = 0;
			r->lineno = r->chunk.line;
		}
		p = r->chunk.p + r->at;
		n = r->chunk.n - r->at;
		lf = memchr(p, '\n', n);
		if (lf)
			n = (size_t)(lf - p) + 1;
		r->at += n;
		if (!is_blank(p, n)) {
			int rc = parse(r, p, n, l, e);

			r->lineno++;
			r->lines++;
			if (rc < 0)
				prompt_line_clear(l);
			return rc < 0 ? -1 : 1;
		}
		r->lineno++;
	}
}
