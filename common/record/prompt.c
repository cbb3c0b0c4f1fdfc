/*
 * prompt.c - prompts and texts to score, as JSON Lines
 *
 * Such files are small compared with the work they ask for, so each line is
 * parsed to a tree and checked member by member.
 */
#include "record/prompt.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/path.h"
#include "stream/input.h"
#include "stream/sniff.h"

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
	input_at_once(r->in);
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

uint64_t
prompt_count(const char *path)
{
	struct chunk c = {0};
	struct err ignore = {0};	/* reported when the lines are read */
	struct input *in;
	struct stat st;
	uint64_t lines = 0;

	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	in = input_open(&path, 1);
	while (input_chunk(in, &c, BLOCK, &ignore) > 0)
		for (size_t i = 0, n; i < c.n; i += n) {
			const char *lf = memchr(c.p + i, '\n', c.n - i);

			n = lf ? (size_t)(lf - c.p) + 1 - i : c.n - i;
			lines += !span_is_blank((struct span){c.p + i, n});
		}
	input_close(in);
	chunk_clear(&c);
	return lines;
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

/*
 * Benchmarks as their makers publish them, and the jq program that makes lines
 * to score of them; and other files that people have.  An object is of the
 * first kind of which it has all keys; a[].b is b in the first object of the
 * array a.
 */
static const struct {
	enum prompt_kind kind;
	const char *keys, *name, *program;
} published[] = {
	{ PROMPT_SCORE, "question choices.text choices.label answerKey",
	  "ARC or a benchmark like it", ". as $q | {id, context: "
	  "(\"Question: \" + .question + \"\\nAnswer:\"), choices: "
	  "[.choices.text[] | \" \" + .], answer: (.choices.label | "
	  "index($q.answerKey))}" },
	{ PROMPT_SCORE, "question.stem question.choices answerKey",
	  "ARC as published", ". as $q | {id, context: (\"Question: \" + "
	  ".question.stem + \"\\nAnswer:\"), choices: "
	  "[.question.choices[].text | \" \" + .], answer: "
	  "([.question.choices[].label] | index($q.answerKey))}" },
	{ PROMPT_SCORE, "question_stem choices.text choices.label answerKey",
	  "OpenBookQA", ". as $q | {id, context: .question_stem, choices: "
	  "[.choices.text[] | \" \" + .], answer: (.choices.label | "
	  "index($q.answerKey))}" },
	{ PROMPT_SCORE, "data[].paragraphs", "SQuAD as published; this omits "
	  "questions without an answer", ".data[].paragraphs[] | .context as "
	  "$c | .qas[] | select(.answers != []) | {id, context: ($c + "
	  "\"\\nQuestion: \" + .question + \"\\nAnswer:\"), continuation: "
	  "(\" \" + .answers[0].text)}" },
	{ PROMPT_SCORE, "context question answers.text", "SQuAD; this omits "
	  "questions without an answer", "select(.answers.text != []) | {id, "
	  "context: (.context + \"\\nQuestion: \" + .question + "
	  "\"\\nAnswer:\"), continuation: (\" \" + .answers.text[0])}" },
	{ PROMPT_SCORE, "question choices answer", "MMLU", "{id, context: "
	  "(.question + \"\\nAnswer:\"), choices: [.choices[] | \" \" + .], "
	  "answer}" },
	{ PROMPT_SCORE, "ctx endings label", "HellaSwag", "{id: .ind, context: "
	  ".ctx, choices: [.endings[] | \" \" + .], answer: (.label | "
	  "tonumber)}" },
	{ PROMPT_SCORE, "goal sol1 sol2 label", "PIQA", "{id, context: "
	  "(\"Question: \" + .goal + \"\\nAnswer:\"), choices: [\" \" + "
	  ".sol1, \" \" + .sol2], answer: .label}" },
	{ PROMPT_SCORE, "sentence option1 option2 answer", "WinoGrande",
	  "(.sentence | split(\"_\")) as [$a, $b] | {id: .qID, context: "
	  "($a | rtrimstr(\" \")), choices: [.option1, .option2 | \" \" + "
	  ". + $b], answer: (.answer | tonumber - 1)}" },
	{ PROMPT_SCORE, "passage question answer", "BoolQ", "{id: (.id // "
	  ".idx), context: (.passage + \"\\nQuestion: \" + .question + "
	  "\"?\\nAnswer:\"), choices: [\" no\", \" yes\"], answer: (if "
	  ".answer then 1 else 0 end)}" },
	{ PROMPT_SCORE, "question answer", "a benchmark like GSM8K",
	  "{id, context: (\"Question: \" + .question + \"\\nAnswer:\"), "
	  "continuation: (\" \" + .answer)}" },
	{ PROMPT_SCORE, "query choices gold", "a benchmark as evaluation "
	  "harnesses read it", "{id, context: .query, choices: [.choices[] | "
	  "\" \" + .], answer: .gold}" },
	{ PROMPT_SCORE, "prompt completion", "a set of prompts with their "
	  "completions", "{id, context: .prompt, continuation: .completion}" },
	{ PROMPT_SCORE, "text", "a file of documents; to score the last word, "
	  "as LAMBADA does", "(.text | split(\" \")) as $w | {id, "
	  "context: "
	  "($w[:-1] | join(\" \")), continuation: (\" \" + $w[-1])}" },
	{ PROMPT_SCORE, "prompt", "a file of prompts to continue, not of lines "
	  "to score", NULL },
	{ PROMPT_WRITE, "messages", "a chat: apply its template to get a "
	  "prompt", NULL },
	{ PROMPT_WRITE, "context", "a file of lines to score", "{id, prompt: "
	  ".context}" },
	{ PROMPT_WRITE, "text", "a file of documents", "{id, prompt: .text}" },
	{ PROMPT_WRITE, "question", "a benchmark", "{id, prompt: .question}" },
};

/* path is changed */
static const struct json *
get_path(const struct json *j, char *path)
{
	char *array = strstr(path, "[].");

	if (!array)
		return json_get(j, path);
	*array = '\0';
	j = json_get(j, path);
	if (!j || j->type != JSON_ARRAY || j->n == 0)
		return NULL;
	return json_get(&j->kids[0], array + 3);
}

static int
has_keys(const struct json *j, const char *keys)
{
	char path[64];

	while (*keys) {
		size_t n = strcspn(keys, " ");

		snprintf(path, sizeof(path), "%.*s", (int)n, keys);
		if (!get_path(j, path))
			return 0;
		keys += n + (keys[n] == ' ');
	}
	return 1;
}

/* A key is missing: say what there is instead, and how to convert it. */
static int
missing(const struct prompt_reader *r, const struct prompt_line *l,
	const char *key, struct span line, struct err *e)
{
	const char *other = sniff_object(line);
	struct buf b = {0};
	size_t n = sizeof(published) / sizeof(*published), i = 0;

	buf_printf(&b, "%s is missing, found ", key);
	sniff_keys(line, &b);
	while (i < n && (published[i].kind != r->kind ||
			 !has_keys(l->json, published[i].keys)))
		i++;
	if (other && (i == n || !strchr(published[i].keys, '[')))
		buf_printf(&b, ": %s", other);
	else if (i < n && published[i].program)
		buf_printf(&b, ": this is %s (jq -c '%s' FILE | ...)",
			   published[i].name, published[i].program);
	else if (i < n)
		buf_printf(&b, ": this is %s", published[i].name);
	buf_putc(&b, '\0');
	bad(l, e, b.p, "");
	buf_clear(&b);
	return -1;
}

/* The line is not an object: what is it? */
static int
no_object(const struct prompt_reader *r, const struct prompt_line *l,
	  struct span line, const char *fault, struct err *e)
{
	const char *key = r->kind == PROMPT_WRITE ? "prompt" : "context";
	const char *what = sniff_line(line, key);

	while (line.n && strchr(" \t", *line.p) && *line.p)
		line.p++, line.n--;
	if (l->lineno != 1 || !what || !line.n)
		return err_set(e, "%s", fault);
	if (*line.p == '"' && r->kind == PROMPT_WRITE)
		what = "this is a JSON string (jq -c '{prompt: .}' FILE | "
		       "...)";
	else if (!strncmp(what, "plain text", 10) || *line.p == '"')
		what = r->kind == PROMPT_WRITE ?
			"this is plain text (jq -Rc '{prompt: .}' FILE | ... "
			"makes a prompt of each line, jq -Rsc of the file)" :
			"this is plain text; to score the last word of each "
			"line: (jq -Rc 'split(\" \") as $w | {context: "
			"($w[:-1] | join(\" \")), continuation: (\" \" + "
			"$w[-1])}' FILE | ...)";
	return bad(l, e, "", what);
}

/* A string, or an array of ids. */
static int
get_text(struct prompt_line *l, const struct json *j, const char *name,
	 struct prompt_text *t, struct err *e)
{
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
get_score(const struct prompt_reader *r, struct prompt_line *l,
	  struct span line, struct err *e)
{
	const struct json *j = l->json, *context = json_get(j, "context");
	const struct json *one = json_get(j, "continuation");
	const struct json *choices = json_get(j, "choices");

	if (!context)
		return missing(r, l, "context", line, e);
	if (!choices && !one)
		return missing(r, l, "continuation", line, e);
	if (get_text(l, context, "context", &l->context, e) < 0)
		return -1;
	if (choices) {
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
	struct span line = {p, n};
	const struct json *prompt;
	struct buf where = {0};
	struct err fault = {0};

	l->file = r->chunk.name;
	l->lineno = r->lineno;
	l->answer = -1;
	buf_printf(&where, "%s:%" PRIu64, l->file, l->lineno);
	buf_putc(&where, '\0');
	l->json = json_parse(p, n, where.p, &fault);
	if (l->json && l->json->type != JSON_OBJECT)
		err_set(&fault, "%s: the line is not an object", where.p);
	buf_clear(&where);
	if (fault.set)
		return no_object(r, l, line, fault.msg, e);
	get_id(l, l->json);
	if (r->kind == PROMPT_SCORE)
		return get_score(r, l, line, e);
	prompt = json_get(l->json, "prompt");
	if (!prompt)
		return missing(r, l, "prompt", line, e);
	return get_text(l, prompt, "prompt", &l->context, e);
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
		if (!span_is_blank((struct span){p, n})) {
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
