/*
 * benchmark_parse.c - the forms of benchmarks
 *
 * Objects go through the object reader, which validates each completely.  An
 * array is only split into its elements here; strings and nesting depth are
 * enough to find where an element ends, and the reader reports whatever is
 * wrong inside it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "contam/benchmark_priv.h"
#include "stream/input.h"

enum { MEMBERS = 1024 };

static int
fail(struct benchmark_parser *r, uint64_t line, const char *what)
{
	return err_set(r->e, "%s:%llu: %s", r->path, (unsigned long long)line,
		       what);
}

static int
is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

struct span
benchmark_scalar(const struct json_pick *v)
{
	struct span s = v->type == JSON_STRING ? v->str : v->raw;

	if (!v->present || (v->type != JSON_STRING && v->type != JSON_NUMBER))
		return (struct span){NULL, 0};
	while (v->type == JSON_NUMBER && s.n && is_space(s.p[s.n - 1]))
		s.n--;
	return s;
}

/* The example whose text is in r->text. */
static int
add_example(struct benchmark_parser *r, struct span id, struct span raw,
	    uint64_t line)
{
	struct benchmarks *b = r->b;

	if (b->nex == UINT32_MAX || id.n > UINT32_MAX || r->text.n > UINT32_MAX)
		return fail(r, line, "too many examples, or one above 4 GiB");
	GROW(b->ex, b->excap, b->nex + 1);
	b->ex[b->nex++] = (struct benchmark_example){
		.id = b->ids.n, .idn = (uint32_t)id.n, .of = r->of,
		.line = line,
		.raw = r->o->keep ? raw : (struct span){NULL, 0},
	};
	if (id.n)
		buf_put(&b->ids, id.p, id.n);
	b->v[r->of].n++;
	return r->o->text(r->o->ctx, buf_span(&r->text), r->e);
}

/* An example that is one string. */
static int
read_bare(struct benchmark_parser *r, struct span id, struct span text,
	  struct span raw, uint64_t number)
{
	if (r->survey)
		return 0;
	buf_reset(&r->text);
	if (text.n)
		buf_put(&r->text, text.p, text.n);
	r->found = 1;
	return add_example(r, id, raw, number);
}

static int survey(struct benchmark_parser *r);

/* An object without "text", or with named fields; id: its id. */
static int
read_fields(struct benchmark_parser *r, struct span s, uint64_t line,
	    uint64_t number, struct span id)
{
	struct err e = {0};
	struct json *j = json_parse_padded(s.p, s.n, r->path, &e);

	if (!j)
		return fail(r, line, e.msg);
	if (r->survey)
		fields_survey(&r->fields, j);
	else
		r->found |= fields_text(&r->fields, j, &r->text) > 0;
	json_free(j);
	return r->survey ? 0 : add_example(r, id, s, number);
}

/* An object; `line` is for messages, `number` for its id. */
static int
read_object(struct benchmark_parser *r, struct span s, uint64_t line,
	    uint64_t number)
{
	const char *key[2 + FIELDS_NAMED_MAX] = {"id", "text"};
	struct json_pick v[2 + FIELDS_NAMED_MAX];
	struct fields *f = &r->fields;
	size_t named = f->plain ? f->nnamed : 0, i;
	uint64_t surrogates = 0;
	struct err e = {0};

	for (i = 0; i < named; i++)
		key[2 + i] = f->named[i];
	if (json_read(r->json, s.p, s.n, key, 2 + named, v, &surrogates, &e))
		return fail(r, line, e.msg);
	if (!f->nnamed && v[1].type == JSON_STRING) {
		f->text = 1;
		return read_bare(r, benchmark_scalar(&v[0]), v[1].str, s,
				 number);
	}
	if (!r->surveyed)
		return survey(r) ? -1 : read_object(r, s, line, number);
	if (named && fields_picked(f, v + 2, &r->text)) {
		r->found = 1;
		return add_example(r, benchmark_scalar(&v[0]), s, number);
	}
	return read_fields(r, s, line, number, benchmark_scalar(&v[0]));
}

/* --- lines --- */

static int
read_jsonl(struct benchmark_parser *r, struct span all)
{
	uint64_t number = 0;
	struct span line;

	while (number++, span_line(&all, &line))
		if (!span_is_blank(line) &&
		    read_object(r, line, number, number))
			return -1;
	return 0;
}

/* Of a file that was converted: its examples are numbered. */
static int
read_lines(struct benchmark_parser *r)
{
	struct span all = buf_span(&r->lines), line;
	uint64_t number = 0;

	while (span_line(&all, &line))
		if (number++, read_object(r, line, number, number))
			return -1;
	return 0;
}

static int
read_csv(struct benchmark_parser *r, struct span all)
{
	return benchmark_csv(r, all) ? -1 : read_lines(r);
}

static int
read_text(struct benchmark_parser *r, struct span all)
{
	const struct span none = {NULL, 0};
	uint64_t number = 0;
	struct span line;

	while (number++, span_line(&all, &line)) {
		if (span_is_blank(line))
			continue;
		if (!utf8_valid(line.p, line.n))
			return fail(r, number, "invalid UTF-8");
		if (read_bare(r, none, line, line, number))
			return -1;
	}
	return 0;
}

/* --- an array --- */

static void
skip_space(struct benchmark_cursor *c)
{
	for (; c->p < c->end && is_space(*c->p); c->p++)
		c->line += *c->p == '\n';
}

/* From the start of a string to after its end; -1: it does not end. */
static int
skip_string(struct benchmark_cursor *c)
{
	for (c->p++; c->p < c->end && *c->p != '"'; c->p++) {
		if (*c->p == '\\' && c->p + 1 < c->end)
			c->p++;
		c->line += *c->p == '\n';
	}
	if (c->p >= c->end)
		return -1;
	c->p++;
	return 0;
}

int
benchmark_skip_element(struct benchmark_cursor *c)
{
	size_t depth = 0;

	do {
		if (c->p >= c->end)
			return -1;
		if (*c->p == '"') {
			if (skip_string(c))
				return -1;
			continue;
		}
		if (*c->p == '{' || *c->p == '[')
			depth++;
		else if (*c->p == '}' || *c->p == ']')
			depth--;
		c->line += *c->p++ == '\n';
	} while (depth);
	return 0;
}

/* A string of the array, as a member of an object for the reader. */
static int
read_string(struct benchmark_parser *r, struct span s, uint64_t line,
	    uint64_t number)
{
	static const char *const key[] = {"x"};
	struct buf b = {0};
	struct json_pick v;
	uint64_t surrogates = 0;
	struct err e = {0};
	int rc;

	buf_puts(&b, "{\"x\":");
	buf_put(&b, s.p, s.n);
	buf_putc(&b, '}');
	memset(buf_reserve(&b, INPUT_PADDING), 0, INPUT_PADDING);
	if (json_read(r->json, b.p, b.n, key, 1, &v, &surrogates, &e))
		rc = fail(r, line, e.msg);
	else
		rc = read_bare(r, (struct span){NULL, 0}, v.str, s, number);
	buf_clear(&b);
	return rc;
}

static int
read_element(struct benchmark_parser *r, struct benchmark_cursor *c,
	     uint64_t number)
{
	const char *start = c->p;
	uint64_t line = c->line;
	struct span s;

	if (c->p >= c->end || (*c->p != '{' && *c->p != '"'))
		return fail(r, line, "expected an object or a string in the "
			    "array");
	if (benchmark_skip_element(c))
		return fail(r, line, "the file ends inside this element");
	s = (struct span){start, (size_t)(c->p - start)};
	return *start == '{' ? read_object(r, s, line, number)
			     : read_string(r, s, line, number);
}

/* From '[' to after ']'. */
static int
read_array(struct benchmark_parser *r, struct benchmark_cursor *c)
{
	uint64_t number = 0;

	c->p++;
	skip_space(c);
	if (c->p < c->end && *c->p == ']') {
		c->p++;
		return 0;
	}
	for (;; c->p++) {
		skip_space(c);
		if (read_element(r, c, ++number))
			return -1;
		skip_space(c);
		if (c->p < c->end && *c->p == ']')
			break;
		if (c->p >= c->end || *c->p != ',')
			return fail(r, c->line, "expected ',' or ']'");
	}
	c->p++;
	return 0;
}

/*
 * Narrow c to the one array of objects in an object ("examples" of BIG-bench
 * Hard).  1, 0: it has none, -1.
 */
static int
find_array(struct benchmark_parser *r, struct benchmark_cursor *c)
{
	struct span key[MEMBERS], found = {0};
	struct json_pick val[MEMBERS];
	uint64_t surrogates = 0;
	struct err e = {0};
	const char *q;
	size_t i, n, arrays = 0;

	if (json_read(r->json, c->p, (size_t)(c->end - c->p), NULL, 0, NULL,
		      &surrogates, &e))
		return fail(r, c->line, e.msg);
	n = json_members(r->json, key, val, MEMBERS);
	for (i = 0; i < n; i++) {
		if (val[i].type != JSON_ARRAY)
			continue;
		for (q = val[i].raw.p + 1; is_space(*q); q++)
			;
		if (*q != '{')
			continue;
		found = val[i].raw;
		arrays++;
		buf_reset(&r->fields.array);
		buf_put(&r->fields.array, key[i].p, key[i].n);
		buf_puts(&r->fields.array, "[].");
	}
	if (arrays > 1)
		return fail(r, c->line, "several arrays of objects in one "
			    "object: which are the examples?");
	if (!arrays)
		return 0;
	for (q = c->p; q < found.p; q++)
		c->line += *q == '\n';
	c->p = found.p;
	c->end = found.p + found.n;
	return 1;
}

static int
read_json(struct benchmark_parser *r, struct span all)
{
	struct benchmark_cursor c = {all.p, all.p + all.n, 1};
	struct span whole;
	int found, object;

	skip_space(&c);
	object = c.p < c.end && *c.p == '{';
	if (object) {
		found = find_array(r, &c);
		whole = (struct span){c.p, (size_t)(c.end - c.p)};
		if (found <= 0)
			return found ? -1 : read_object(r, whole, c.line, 1);
	}
	if (c.p >= c.end || *c.p != '[')
		return fail(r, c.line, "neither an array nor an object");
	whole = (struct span){c.p, (size_t)(c.end - c.p)};
	if (object && benchmark_is_squad(r, whole))
		return benchmark_squad(r, whole) ? -1 : read_lines(r);
	if (read_array(r, &c))
		return -1;
	skip_space(&c);
	if (c.p < c.end)
		return fail(r, c.line, "unexpected text after the array");
	return 0;
}

/* --- which form --- */

/* Is the first line an object by itself, with more after it? */
static int
is_jsonl(struct benchmark_parser *r, struct span all)
{
	uint64_t surrogates = 0;
	struct err e = {0};
	struct span line;

	return span_line(&all, &line) &&
	       !json_read(r->json, line.p, line.n, NULL, 0, NULL, &surrogates,
			  &e) &&
	       !span_is_blank(all);
}

/* A .json file may hold one object per line, a file of any name anything. */
static enum benchmark_form
form_of(struct benchmark_parser *r, int form, struct span s)
{
	if (form >= 0 && form != BENCHMARK_JSON)
		return form;
	while (s.n && is_space(*s.p))
		s.p++, s.n--;
	if (s.n && *s.p == '{')
		return is_jsonl(r, s) ? BENCHMARK_JSONL : BENCHMARK_JSON;
	return form == BENCHMARK_JSON || (s.n && *s.p == '[') ? BENCHMARK_JSON
							      : BENCHMARK_TEXT;
}

static int
read_all(struct benchmark_parser *r)
{
	static int (*const read[])(struct benchmark_parser *, struct span) = {
		[BENCHMARK_JSONL] = read_jsonl, [BENCHMARK_JSON] = read_json,
		[BENCHMARK_TEXT] = read_text, [BENCHMARK_CSV] = read_csv,
	};

	return read[r->form](r, r->all);
}

/* See the fields of all examples and choose. */
static int
survey(struct benchmark_parser *r)
{
	int rc;

	r->survey = r->surveyed = 1;
	rc = read_all(r);
	r->survey = 0;
	fields_choose(&r->fields);
	if (!rc && r->fields.too_many)
		rc = err_set(r->e, "%s: more than 1,000 different fields (name "
			     "those to use)", r->path);
	return rc;
}

int
benchmark_parse(struct benchmark_parser *r, int form, const char *p, size_t n)
{
	int bom = n >= 3 && !memcmp(p, "\xef\xbb\xbf", 3) ? 3 : 0;
	int rc = 0;

	if (fields_init(&r->fields, r->o->fields, r->e))
		return -1;
	r->json = json_reader_new();
	r->all = (struct span){p + bom, n - bom};
	r->form = r->b->v[r->of].form = form_of(r, form, r->all);
	/* lines may not need it: read_object() */
	r->surveyed = r->o->fields || r->form == BENCHMARK_TEXT;
	if (!r->surveyed && r->form != BENCHMARK_JSONL)
		rc = survey(r);
	if (!rc)
		rc = read_all(r);
	json_reader_free(r->json);
	buf_clear(&r->text);
	return rc;
}
