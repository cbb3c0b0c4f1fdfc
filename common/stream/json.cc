/*
 * json.cc - JSON in, by simdjson's tree parser
 *
 * The only C++ file; json.h hides the library.  Each line is parsed whole into
 * the parser's tape, which checks structure and UTF-8, then the members of the
 * object are visited once.
 *
 * A text with surrogate escapes is copied, lone ones are overwritten by \ufffd,
 * which has the same length, and the copy is parsed, because versions of the
 * library treat them differently.  The object reader does the same for numbers
 * out of range.  If the text of a value is wanted, json_scan.c finds it in the
 * line.
 *
 * Works with simdjson 3.0 (Debian 12) and later, without exceptions.
 */
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>

#include <simdjson.h>

extern "C" {
#include "stream/input.h"
#include "stream/json.h"
#include "base/mem.h"
#include "stream/json_scan.h"
}

namespace dom = simdjson::dom;

static_assert((int)INPUT_PADDING >= (int)simdjson::SIMDJSON_PADDING,
	      "the padding that json_read() asks for is too small");

/* Room for the digits of one picked integer. */
struct digits {
	char s[24];
};

struct json_reader {
	dom::parser parser;
	size_t capacity;
	dom::element root;
	const char *line;	/* the last one read */
	size_t n;
	struct buf fixed;	/* the copy with surrogates replaced */
	uint64_t nfixed;
	bool numbers_as_text;	/* so none is out of range */
	struct digits *digits;
	size_t ndigits;
};

static struct span
span_of(std::string_view s)
{
	return { s.data(), s.size() };
}

/* Without "where: " if where is NULL. */
static int
fault_at(struct err *e, const char *where, size_t at, const char *what)
{
	return err_set(e, "%s%sbyte %zu: %s", where ? where : "",
		       where ? ": " : "", at + 1, what);
}

/* The library fails on n bytes of valid JSON. */
[[noreturn]] static void
parser_trouble(size_t n, simdjson::error_code code)
{
	if (code == simdjson::MEMALLOC)
		die("out of memory (JSON of %zu bytes)", n);
	die("simdjson cannot read %zu bytes of valid JSON: %s", n,
	    simdjson::error_message(code));
}

/* What the scanner found at `at`. */
static int
parse_fault(struct err *e, const char *where, size_t n, size_t at,
	    const char *what, simdjson::error_code code)
{
	/* Trouble of ours: it must never be taken for a bad line. */
	if (at == SIZE_MAX)
		parser_trouble(n, code);
	return fault_at(e, where, at, what);
}

/* Room for a text of n bytes, in powers of two so that it rarely grows. */
static int
reader_room(struct json_reader *r, size_t n, const char *where, struct err *e)
{
	size_t cap = 1 << 16;

	if (n > simdjson::SIMDJSON_MAXSIZE_BYTES - 64)
		return fault_at(e, where, 0, "longer than 4 GiB");
	if (n <= r->capacity)
		return 0;
	while (cap < n)
		cap *= 2;
	if (cap > simdjson::SIMDJSON_MAXSIZE_BYTES)
		cap = simdjson::SIMDJSON_MAXSIZE_BYTES;
	/* The library's depth counts the scalar inside the last bracket. */
	if (r->parser.allocate(cap, JSON_DEPTH_MAX + 1) ||
	    r->parser.doc.allocate(cap))
		parser_trouble(n, simdjson::MEMALLOC);
	r->capacity = cap;
	return 0;
}

/* b := p[0..n) and padding. */
static void
copy_padded(struct buf *b, const char *p, size_t n)
{
	buf_reset(b);
	buf_put(b, p, n);
	memset(buf_reserve(b, INPUT_PADDING), 0, INPUT_PADDING);
}

static int
reader_parse(struct json_reader *r, const char *p, size_t n, const char *where,
	     struct err *e)
{
	const char *text = p, *what;
	size_t at;

	r->line = p;
	r->n = n;
	r->nfixed = 0;
	if (reader_room(r, n, where, e) < 0)
		return -1;
	/* Newer versions skip a byte-order mark, older ones do not. */
	if (n > 2 && !memcmp(p, "\xef\xbb\xbf", 3)) {
		at = json_scan_error(p, n, &what);
		return parse_fault(e, where, n, at, what,
				   simdjson::TAPE_ERROR);
	}
	if (n > 2 && json_scan_maybe_surrogate(p, n - 2)) {
		copy_padded(&r->fixed, p, n);
		r->nfixed = json_scan_fix_surrogates(r->fixed.p, n);
		text = r->fixed.p;
	}
	auto code = r->parser.parse(text, n, false).get(r->root);
	if (code == simdjson::MEMALLOC)
		parser_trouble(n, code);
	if (!code)
		return 0;
	if (!r->numbers_as_text) {
		at = json_scan_error(p, n, &what);
		return parse_fault(e, where, n, at, what, code);
	}
	if (text == p)
		copy_padded(&r->fixed, p, n);
	if (json_scan_tame_words(r->fixed.p, n) &&
	    !r->parser.parse(r->fixed.p, n, false).get(r->root))
		return 0;
	at = json_scan_tame_numbers(r->fixed.p, n, &what);
	if (at == SIZE_MAX)
		code = r->parser.parse(r->fixed.p, n, false).get(r->root);
	return code ? parse_fault(e, where, n, at, what, code) : 0;
}

struct json_reader *
json_reader_new(void)
{
	void *p = xcalloc(1, sizeof(struct json_reader));

	return new (p) json_reader();
}

void
json_reader_free(struct json_reader *r)
{
	if (!r)
		return;
	buf_clear(&r->fixed);
	free(r->digits);
	r->~json_reader();
	free(r);
}

static enum json_type
type_of(dom::element v)
{
	switch (v.type()) {
	case dom::element_type::ARRAY:
		return JSON_ARRAY;
	case dom::element_type::OBJECT:
		return JSON_OBJECT;
	case dom::element_type::STRING:
		return JSON_STRING;
	case dom::element_type::BOOL:
		return v.get_bool().value_unsafe() ? JSON_TRUE : JSON_FALSE;
	case dom::element_type::NULL_VALUE:
		return JSON_NULL;
	default:
		return JSON_NUMBER;
	}
}

/* The digits of an integer are its text, unless it is 0, which may be -0. */
static int
pick_integer(dom::element v, struct digits *d, struct span *raw)
{
	std::to_chars_result res { d->s, std::errc() };

	if (v.type() == dom::element_type::INT64 &&
	    v.get_int64().value_unsafe() != 0)
		res = std::to_chars(d->s, d->s + sizeof d->s,
				    v.get_int64().value_unsafe());
	else if (v.type() == dom::element_type::UINT64)
		res = std::to_chars(d->s, d->s + sizeof d->s,
				    v.get_uint64().value_unsafe());
	*raw = { d->s, (size_t)(res.ptr - d->s) };
	return raw->n > 0;
}

/* Python's NaN and Infinity are no numbers: they are read as null is. */
static enum json_type
type_in_line(enum json_type t, struct span raw)
{
	bool word = raw.n && (raw.p[raw.n - 1] == 'N' ||
			      raw.p[raw.n - 1] == 'y');

	return t == JSON_NUMBER && word ? JSON_NULL : t;
}

static void
pick_value(struct json_reader *r, dom::element v, const char *path,
	   struct digits *d, struct json_pick *out, uint64_t *surrogates)
{
	struct span line = { r->line, r->n };

	out->type = type_of(v);
	if (out->type == JSON_STRING) {
		out->str = span_of(v.get_string().value_unsafe());
		if (r->nfixed) {
			struct span raw = json_scan_find(line, path);
			size_t at = (size_t)(raw.p - r->line);

			*surrogates += json_scan_count_fixed(
				r->line, r->fixed.p, at, at + raw.n);
		}
	} else if (!pick_integer(v, d, &out->raw)) {
		out->raw = json_scan_find(line, path);
		out->type = type_in_line(out->type, out->raw);
	}
}

/* The member of a path: its whole name first, then its part before a dot. */
static bool
find_path(dom::object o, const char *path, dom::element *out)
{
	const char *dot = strchr(path, '.');
	std::string_view whole(path), head;
	bool found = false, inside = false;
	dom::element part;
	dom::object sub;

	if (dot)
		head = whole.substr(0, (size_t)(dot - path));
	for (auto m : o) {
		if (m.key == whole) {
			*out = m.value;
			found = true;
		} else if (dot && m.key == head) {
			part = m.value;
			inside = true;
		}
	}
	if (found || !inside || part.get_object().get(sub))
		return found;
	return find_path(sub, dot + 1, out);
}

int
json_read(struct json_reader *r, const char *line, size_t n,
	  const char *const *keys, size_t nkeys, struct json_pick *out,
	  uint64_t *surrogates, struct err *e)
{
	dom::object o;
	dom::element v;

	*surrogates = 0;
	if (nkeys > r->ndigits) {
		r->digits = (struct digits *)xreallocarray(
			r->digits, nkeys, sizeof *r->digits);
		r->ndigits = nkeys;
	}
	r->numbers_as_text = true;
	if (reader_parse(r, line, n, NULL, e) < 0)
		return -1;
	if (r->root.get_object().get(o))
		return fault_at(e, NULL, 0, "not an object");
	for (size_t i = 0; i < nkeys; i++) {
		out[i] = {};
		out[i].present = find_path(o, keys[i], &v);
		if (out[i].present)
			pick_value(r, v, keys[i], &r->digits[i], &out[i],
				   surrogates);
	}
	return 0;
}

size_t
json_members(struct json_reader *r, struct span *key, struct json_pick *val,
	     size_t max)
{
	struct span line = { r->line, r->n }, k, raw;
	struct json_walk w;
	dom::object o;
	size_t n = 0, i;

	if (!r->line || r->root.get_object().get(o))
		return 0;
	json_walk_open(&w, line);
	for (auto m : o) {
		if (!json_walk_next(&w, &k, &raw))
			break;
		i = 0;
		while (i < n && !span_eq(key[i], span_of(m.key)))
			i++;
		if (i == max)
			continue;
		key[i] = span_of(m.key);
		val[i] = {};
		val[i].present = 1;
		val[i].type = type_in_line(type_of(m.value), raw);
		if (val[i].type == JSON_STRING)
			val[i].str = span_of(m.value.get_string()
					     .value_unsafe());
		else
			val[i].raw = raw;
		n += i == n;
	}
	return n;
}

/* --- trees --- */

/* The root comes first, so that a struct json * is all that a caller holds. */
struct tree {
	struct json root;
	struct json_reader *reader;	/* owns the strings */
};

static void build(struct json *j, dom::element v);

static void
build(struct json *j, dom::key_value_pair m)
{
	j->key = span_of(m.key);
	build(j, m.value);
}

template <class List> static void
build_kids(struct json *j, List list)
{
	struct json *kid;

	for (auto v : list) {
		(void)v;
		j->n++;
	}
	j->kids = kid = (struct json *)xcalloc(j->n, sizeof *kid);
	for (auto v : list)
		build(kid++, v);
}

static void
build(struct json *j, dom::element v)
{
	j->type = type_of(v);
	switch (j->type) {
	case JSON_ARRAY:
		build_kids(j, v.get_array().value_unsafe());
		break;
	case JSON_OBJECT:
		build_kids(j, v.get_object().value_unsafe());
		break;
	case JSON_STRING:
		j->str = span_of(v.get_string().value_unsafe());
		break;
	case JSON_NUMBER:
		j->is_int = v.is_int64();
		if (j->is_int)
			j->i = v.get_int64().value_unsafe();
		j->num = v.get_double().value_unsafe();
		break;
	default:
		break;
	}
}

/* Again without the numbers that the library refuses. */
static int
parse_loose(struct json_reader *r, const char *p, size_t n)
{
	struct buf loose = {};
	struct err ignore = {};
	int rc = json_scan_loose(p, n, &loose);

	memset(buf_reserve(&loose, INPUT_PADDING), 0, INPUT_PADDING);
	if (rc == 0)
		rc = reader_parse(r, loose.p, loose.n, NULL, &ignore);
	buf_clear(&loose);
	return rc;
}

struct json *
json_parse_padded(const char *p, size_t n, const char *where, struct err *e)
{
	struct tree *t = (struct tree *)xcalloc(1, sizeof *t);
	struct err why = {};

	t->reader = json_reader_new();
	if (reader_parse(t->reader, p, n, where, &why) < 0 &&
	    parse_loose(t->reader, p, n) < 0) {
		err_set(e, "%s", why.msg);
		json_free(&t->root);
		return NULL;
	}
	build(&t->root, t->reader->root);
	return &t->root;
}

struct json *
json_parse(const char *p, size_t n, const char *where, struct err *e)
{
	struct buf padded = {};
	struct json *root;

	copy_padded(&padded, p, n);
	root = json_parse_padded(padded.p, n, where, e);
	buf_clear(&padded);
	return root;
}

struct json *
json_load(const char *path, struct err *e)
{
	struct json *j;
	char *p;
	size_t n, skip;

	if (input_slurp(path, &p, &n, e) < 0)
		return NULL;
	skip = n >= 3 && !memcmp(p, "\xef\xbb\xbf", 3) ? 3 : 0;
	j = json_parse_padded(p + skip, n - skip, path, e);
	free(p);
	return j;
}

static void
free_kids(const struct json *j)
{
	for (size_t i = 0; i < j->n; i++)
		if (j->kids[i].n || j->kids[i].kids)
			free_kids(&j->kids[i]);
	free((void *)j->kids);
}

void
json_free(struct json *root)
{
	struct tree *t = (struct tree *)root;

	if (!t)
		return;
	free_kids(root);
	json_reader_free(t->reader);
	free(t);
}

void
json_put_real(struct buf *b, double x)
{
	char *p = buf_reserve(b, 40);
	std::to_chars_result res { p, std::errc() };

	if (std::isfinite(x))
		res = std::to_chars(p, p + 40, x);
	else
		res.ptr = (char *)memcpy(p, "null", 4) + 4;
	b->n += (size_t)(res.ptr - p);
}
