/*
 * benchmark_convert.c - forms that become JSON Lines first
 *
 * SQuAD's own file holds articles with paragraphs with questions; each question
 * becomes an object with the title and the context before its own members.
 * A record of a CSV file (RFC 4180) becomes an object of strings.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "contam/benchmark_priv.h"
#include "stream/input.h"

/* --- SQuAD --- */

/* The next element of an array without its brackets; 0: none. */
static int
next_element(struct span *rest, struct span *element)
{
	struct benchmark_cursor c = {rest->p, rest->p + rest->n, 1};

	while (c.p < c.end && strchr(" \t\r\n,", *c.p))
		c.p++;
	element->p = c.p;
	if (c.p == c.end)
		return 0;
	if (*c.p != '{' && *c.p != '[' && *c.p != '"')
		while (c.p < c.end && *c.p != ',')
			c.p++;
	else if (benchmark_skip_element(&c))
		return 0;
	element->n = (size_t)(c.p - element->p);
	*rest = (struct span){c.p, (size_t)(c.end - c.p)};
	return 1;
}

static struct span
inside(struct span array)
{
	return (struct span){array.p + 1, array.n - 2};
}

/* The value of an array without spaces after it; n 0: v is something else. */
static struct span
array_of(const struct json_pick *v)
{
	struct span s = v->raw;

	if (!v->present || v->type != JSON_ARRAY)
		return (struct span){NULL, 0};
	while (s.n && s.p[s.n - 1] != ']')
		s.n--;
	return s;
}

static int
read_members(struct benchmark_parser *r, struct span s,
	     const char *const key[2], struct json_pick v[2])
{
	uint64_t surrogates = 0;
	struct err e = {0};

	if (!s.n || *s.p != '{')
		return err_set(r->e, "%s: expected an object in the arrays of "
			       "SQuAD", r->path);
	if (json_read(r->json, s.p, s.n, key, 2, v, &surrogates, &e))
		return err_set(r->e, "%s: %s", r->path, e.msg);
	return 0;
}

/* A line: the members in head, then those of the question. */
static int
put_question(struct benchmark_parser *r, const struct buf *head,
	     struct span q)
{
	struct buf *out = &r->lines;
	size_t i, first = out->n;

	if (q.n < 2 || *q.p != '{')
		return err_set(r->e, "%s: expected an object in the arrays of "
			       "SQuAD", r->path);
	buf_put(out, head->p, head->n);
	for (i = 1; strchr(" \t\r\n", q.p[i]); i++)
		;
	if (q.p[i] != '}' && head->n > 1)
		buf_putc(out, ',');
	buf_put(out, q.p + i, q.n - i);
	for (i = first; i < out->n; i++)
		if (out->p[i] == '\n' || out->p[i] == '\r')
			out->p[i] = ' ';
	buf_putc(out, '\n');
	return 0;
}

static void
put_member(struct buf *head, const char *key, const struct json_pick *v)
{
	if (!v->present || v->type != JSON_STRING)
		return;
	json_put_key(head, key);
	json_put_str(head, v->str);
}

static int
put_paragraph(struct benchmark_parser *r, const struct buf *title,
	      struct span paragraph)
{
	static const char *const key[] = {"context", "qas"};
	struct buf head = {0};
	struct json_pick v[2];
	struct span qas, q;
	int rc = read_members(r, paragraph, key, v);

	if (rc)
		return -1;
	buf_put(&head, title->p, title->n);
	put_member(&head, "context", &v[0]);
	qas = array_of(&v[1]);
	if (qas.n)
		qas = inside(qas);
	while (!rc && next_element(&qas, &q))
		rc = put_question(r, &head, q);
	buf_clear(&head);
	return rc;
}

int
benchmark_is_squad(struct benchmark_parser *r, struct span array)
{
	static const char *const key[] = {"paragraphs"};
	struct span rest = inside(array), article;
	uint64_t surrogates = 0;
	struct json_pick v;
	struct err e = {0};

	return next_element(&rest, &article) && *article.p == '{' &&
	       !json_read(r->json, article.p, article.n, key, 1, &v,
			  &surrogates, &e) && array_of(&v).n;
}

int
benchmark_squad(struct benchmark_parser *r, struct span array)
{
	static const char *const key[] = {"title", "paragraphs"};
	struct span rest = inside(array), article, all, paragraph;
	struct buf title = {0};
	struct json_pick v[2];
	int rc = 0;

	r->fields.squad = 1;
	buf_reset(&r->lines);
	while (!rc && next_element(&rest, &article)) {
		rc = read_members(r, article, key, v);
		if (rc)
			break;
		buf_reset(&title);
		buf_putc(&title, '{');
		put_member(&title, "title", &v[0]);
		all = array_of(&v[1]);
		if (all.n)
			all = inside(all);
		while (!rc && next_element(&all, &paragraph))
			rc = put_paragraph(r, &title, paragraph);
	}
	buf_clear(&title);
	memset(buf_reserve(&r->lines, INPUT_PADDING), 0, INPUT_PADDING);
	return rc;
}

/* --- CSV --- */

/* The fields of a record, concatenated in text. */
struct record {
	struct buf text;
	size_t *end;		/* of each field in text */
	size_t n, cap;
};

static struct span
field_of(const struct record *c, size_t i)
{
	size_t start = i ? c->end[i - 1] : 0;

	return (struct span){c->text.p + start, c->end[i] - start};
}

/* A field, up to the comma or line end after it; -1: a quote is open. */
static int
read_field(struct benchmark_cursor *c, struct record *to)
{
	int quoted = c->p < c->end && *c->p == '"', open = quoted;
	const char *end;

	for (c->p += quoted; c->p < c->end && open; c->p++) {
		if (*c->p == '"') {
			open = c->p + 1 < c->end && c->p[1] == '"';
			c->p += open;
			if (!open)
				continue;
		}
		c->line += *c->p == '\n';
		buf_putc(&to->text, *c->p);
	}
	if (open)
		return -1;
	for (end = c->p; end < c->end && *end != ',' && *end != '\n'; end++)
		;
	if (end > c->p && end[-1] == '\r' && (end == c->end || *end == '\n'))
		end--;		/* of the line end */
	if (!quoted) {
		buf_put(&to->text, c->p, (size_t)(end - c->p));
		c->p = end;
	}
	if (c->p < c->end && c->p == end && *c->p == '\r')
		c->p++;
	GROW(to->end, to->cap, to->n + 1);
	to->end[to->n++] = to->text.n;
	return 0;
}

/* 1; 0: no more; -1. */
static int
read_record(struct benchmark_parser *r, struct benchmark_cursor *c,
	    struct record *to)
{
	uint64_t line;

	while (c->p < c->end && (*c->p == '\n' || *c->p == '\r'))
		c->line += *c->p++ == '\n';
	to->n = to->text.n = 0;
	line = c->line;
	if (c->p == c->end)
		return 0;
	for (;; c->p++) {
		if (read_field(c, to))
			return err_set(r->e, "%s:%llu: a quoted field does not "
				       "end", r->path,
				       (unsigned long long)line);
		if (c->p == c->end || *c->p == '\n')
			return 1;
		if (*c->p != ',')
			return err_set(r->e, "%s:%llu: expected a comma after "
				       "the quoted field", r->path,
				       (unsigned long long)c->line);
	}
}

/* MMLU's own files have no header: the last field is the right choice. */
static int
is_mmlu(const struct record *c)
{
	struct span last;

	if (c->n != 6)
		return 0;
	last = field_of(c, 5);
	return last.n == 1 && *last.p >= 'A' && *last.p <= 'D';
}

static void
put_record(struct buf *out, const struct record *names,
	   const struct record *c)
{
	static const char *const mmlu[] = {
		"question", "A", "B", "C", "D", "answer"
	};
	size_t i;

	for (i = 0; i < c->n; i++) {
		buf_putc(out, i ? ',' : '{');
		json_put_str(out, names->n ? field_of(names, i)
					   : span_str(mmlu[i]));
		buf_putc(out, ':');
		json_put_str(out, field_of(c, i));
	}
	buf_puts(out, "}\n");
}

int
benchmark_csv(struct benchmark_parser *r, struct span all)
{
	struct benchmark_cursor c = {all.p, all.p + all.n, 1};
	struct record first = {0}, one = {0};
	size_t n = 0;
	int rc;

	if (!utf8_valid(all.p, all.n))
		return err_set(r->e, "%s: invalid UTF-8", r->path);
	buf_reset(&r->lines);
	rc = read_record(r, &c, &first);
	n = first.n;
	if (rc > 0 && is_mmlu(&first)) {
		struct record none = {0};

		put_record(&r->lines, &none, &first);
		first.n = 0;
	}
	while (rc > 0 && (rc = read_record(r, &c, &one)) > 0) {
		if (one.n != n)
			rc = err_set(r->e, "%s:%llu: %zu fields, the first "
				     "record has %zu", r->path,
				     (unsigned long long)c.line, one.n, n);
		else
			put_record(&r->lines, &first, &one);
	}
	free(first.end);
	free(one.end);
	buf_clear(&first.text);
	buf_clear(&one.text);
	memset(buf_reserve(&r->lines, INPUT_PADDING), 0, INPUT_PADDING);
	return rc;
}
