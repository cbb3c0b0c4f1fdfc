/*
 * benchmark_read.c - the forms of benchmarks, read
 *
 * JSON Lines and the elements of an array go through the object reader, which
 * validates each whole.  The array itself is walked here: strings and depth
 * are enough to find where an element ends, and whatever is wrong inside one
 * the reader tells.
 */
#include <stdlib.h>
#include <string.h>

#include "base/input.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "contam/benchmark_priv.h"

enum { MEMBERS = 1024 };

static int
fail(struct bench_reading *r, uint64_t line, const char *what)
{
	return err_set(r->e, "%s:%llu: %s", r->path, (unsigned long long)line,
		       what);
}

static struct bench_example *
example_new(struct benches *b)
{
	if (b->nex == b->excap) {
		b->excap = b->excap ? 2 * b->excap : 1024;
		b->ex = xreallocarray(b->ex, b->excap, sizeof(*b->ex));
	}
	return memset(&b->ex[b->nex++], 0, sizeof(*b->ex));
}

/* The example whose text is in r->text. */
static int
take(struct bench_reading *r, struct span id, struct span raw, uint64_t line)
{
	struct benches *b = r->b;
	struct bench_example *x;

	if (b->nex == UINT32_MAX || id.n > UINT32_MAX || r->text.n > UINT32_MAX)
		return fail(r, line, "too many examples, or one past 4 GiB");
	x = example_new(b);
	x->of = r->of;
	x->line = line;
	x->id = b->ids.n;
	x->idn = (uint32_t)id.n;
	if (id.n)
		buf_put(&b->ids, id.p, id.n);
	if (r->o->keep)
		x->raw = raw;
	b->v[r->of].n++;
	return r->o->text(r->o->ctx, buf_span(&r->text), r->e);
}

/* --- fields --- */

static void
put_text(struct bench_reading *r, struct span s)
{
	if (r->found < 0)
		buf_putc(&r->text, '\n');
	if (s.n)
		buf_put(&r->text, s.p, s.n);
	r->found = -1;		/* a field of this example stands there */
}

/* The strings of an array, and of arrays in it. */
static void
put_strings(struct bench_reading *r, const struct json *j)
{
	size_t i;

	if (j->type == JSON_STRING)
		put_text(r, j->str);
	else if (j->type == JSON_ARRAY)
		for (i = 0; i < j->n; i++)
			put_strings(r, &j->kids[i]);
}

static int
put_value(struct bench_reading *r, const struct json_pick *v)
{
	struct json *j;

	if (!v->present)
		return 0;
	if (v->type == JSON_STRING) {
		put_text(r, v->str);
		return 0;
	}
	if (v->type != JSON_ARRAY)
		return 0;
	j = json_parse(v->raw.p, v->raw.n, r->path, r->e);
	if (!j)
		return -1;
	put_strings(r, j);
	json_free(j);
	return 0;
}

static int
put_all_strings(struct bench_reading *r, uint64_t line)
{
	struct span key[MEMBERS];
	struct json_pick val[MEMBERS];
	size_t i, n = json_members(r->json, key, val, MEMBERS);

	if (n == MEMBERS)
		return fail(r, line, "more than 1,023 fields (--bench-fields "
			    "names those to take)");
	for (i = 0; i < n; i++)
		if (val[i].type == JSON_STRING)
			put_text(r, val[i].str);
	return 0;
}

static struct span
trim(struct span s)
{
	while (s.n && strchr(" \t\r\n", s.p[s.n - 1]))
		s.n--;
	return s;
}

static struct span
id_of(const struct json_pick *v)
{
	if (v->present && v->type == JSON_STRING)
		return v->str;
	if (v->present && v->type == JSON_NUMBER)
		return trim(v->raw);
	return (struct span){NULL, 0};
}

/* One object; `line` goes into messages, `number` into its id. */
static int
read_object(struct bench_reading *r, struct span s, uint64_t line,
	    uint64_t number)
{
	struct json_pick v[64];
	uint64_t surrogates = 0;
	struct err e = {0};
	int found = r->found;
	size_t i;

	if (json_read(r->json, s.p, s.n, r->key, r->nkeys, v, &surrogates, &e))
		return fail(r, line, e.msg);
	buf_reset(&r->text);
	r->found = 0;
	if (!r->o->fields && v[1].type != JSON_STRING &&
	    put_all_strings(r, line))
		return -1;
	for (i = 1; i < r->nkeys; i++)
		if ((r->o->fields || v[i].type == JSON_STRING) &&
		    put_value(r, &v[i]))
			return -1;
	r->found = r->found || found ? 1 : 0;
	return take(r, id_of(&v[0]), s, number);
}

/* --- lines --- */

static int
is_blank(const char *p, size_t n)
{
	while (n && (*p == ' ' || *p == '\t' || *p == '\r'))
		p++, n--;
	return n == 0;
}

static const char *
line_end(const char *p, const char *end)
{
	const char *lf = memchr(p, '\n', (size_t)(end - p));

	return lf ? lf : end;
}

int
bench_is_jsonl(const char *p, size_t n)
{
	const char *end = p + n, *lf = line_end(p, end);
	struct json_reader *r = json_reader_new();
	uint64_t surrogates = 0;
	struct err e = {0};
	int is = json_read(r, p, (size_t)(lf - p), NULL, 0, NULL, &surrogates,
			   &e) == 0;

	json_reader_free(r);
	while (lf < end && strchr(" \t\r\n", *lf) && *lf)
		lf++;
	return is && lf < end;
}

int
bench_read_jsonl(struct bench_reading *r, const char *p, size_t n)
{
	const char *end = p + n, *lf;
	uint64_t line = 1;

	for (; p < end; p = lf + 1, line++) {
		lf = line_end(p, end);
		if (is_blank(p, (size_t)(lf - p)))
			continue;
		if (read_object(r, (struct span){p, (size_t)(lf - p)}, line,
				line))
			return -1;
	}
	return 0;
}

int
bench_read_text(struct bench_reading *r, const char *p, size_t n)
{
	const char *end = p + n, *lf;
	uint64_t line = 1;
	struct span s;

	for (; p < end; p = lf + 1, line++) {
		lf = line_end(p, end);
		s = (struct span){p, (size_t)(lf - p)};
		if (is_blank(s.p, s.n))
			continue;
		if (!utf8_valid(s.p, s.n))
			return fail(r, line, "invalid UTF-8");
		buf_reset(&r->text);
		buf_put(&r->text, s.p, s.n);
		r->found = 1;
		if (take(r, (struct span){NULL, 0}, s, line))
			return -1;
	}
	return 0;
}

/* --- an array --- */

/* Where we are in it, and on which line. */
struct place {
	const char *p, *end;
	uint64_t line;
};

static void
skip_space(struct place *c)
{
	for (; c->p < c->end && strchr(" \t\r\n", *c->p) && *c->p; c->p++)
		c->line += *c->p == '\n';
}

/* Behind a string that begins here; 0, or -1: it has no end. */
static int
skip_string(struct place *c)
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

/* Behind an object or a string; 0, or -1: it has no end. */
static int
skip_element(struct place *c)
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

/* A string of an array, which the object reader takes as a member. */
static int
read_string(struct bench_reading *r, struct span s, uint64_t line,
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
	if (json_read(r->json, b.p, b.n, key, 1, &v, &surrogates, &e)) {
		rc = fail(r, line, e.msg);
	} else {
		buf_reset(&r->text);
		buf_put(&r->text, v.str.p, v.str.n);
		r->found = 1;
		rc = take(r, (struct span){NULL, 0}, s, number);
	}
	buf_clear(&b);
	return rc;
}

static int
read_element(struct bench_reading *r, struct place *c, uint64_t number)
{
	const char *start = c->p;
	uint64_t line = c->line;
	struct span s;

	if (c->p >= c->end || (*c->p != '{' && *c->p != '"'))
		return fail(r, line, "an object or a string is missing in the "
			    "array");
	if (*c->p == '"' ? skip_string(c) : skip_element(c))
		return fail(r, line, "the file ends inside this element");
	s = (struct span){start, (size_t)(c->p - start)};
	return *start == '{' ? read_object(r, s, line, number)
			     : read_string(r, s, line, number);
}

/* c stands at '['; at the end behind ']'. */
static int
read_array(struct bench_reading *r, struct place *c)
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
			return fail(r, c->line, "',' or ']' is missing");
	}
	c->p++;
	return 0;
}

/*
 * The array of objects in an object: "examples" of BIG-bench Hard.  1, 0 when
 * it has none, -1.
 */
static int
find_array(struct bench_reading *r, struct place *c)
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
		q = val[i].raw.p + 1;
		while (strchr(" \t\r\n", *q) && *q)
			q++;
		if (*q != '{')
			continue;
		found = val[i].raw;
		arrays++;
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

int
bench_read_json(struct bench_reading *r, const char *p, size_t n)
{
	struct place c = {p, p + n, 1};
	struct span whole;
	int found;

	skip_space(&c);
	if (c.p < c.end && *c.p == '{') {
		found = find_array(r, &c);
		whole = (struct span){c.p, (size_t)(c.end - c.p)};
		if (found <= 0)
			return found ? -1 : read_object(r, whole, c.line, 1);
	}
	if (c.p >= c.end || *c.p != '[')
		return fail(r, c.line, "neither an array nor an object");
	if (read_array(r, &c))
		return -1;
	skip_space(&c);
	if (c.p < c.end)
		return fail(r, c.line, "something stands behind the array");
	return 0;
}
