/*
 * split_re.c - any split pattern, through PCRE2
 *
 * Patterns are written for Oniguruma (tokenizers) with Ruby's syntax.  What
 * both engines read alike is passed on.  \p{..}, \s and \d become ranges from
 * our own tables, so that pre-tokens do not depend on the library's version of
 * Unicode.  What the two read differently is refused by name.  `^` and `$`
 * match at line ends, as they do in Ruby.
 *
 * Patterns are compiled to machine code.  If its stack overflows, the
 * interpreter, which keeps its state on the heap, repeats the match.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "tokenizer/split_priv.h"
#include "text/unicode.h"

struct split_re {
	pcre2_code *code;
	int jit;
};

struct split_re_match {
	pcre2_match_data *data;
	pcre2_match_context *ctx;
	pcre2_jit_stack *stack;
};

/* Ranges of the code points whose category is in set (or not in it). */
static void
put_ranges(struct buf *b, uint32_t set, int negate)
{
	uint32_t c = 0;

	while (c < 0x110000) {
		uint32_t first = c;
		int in = (set >> uc_cat(c) & 1) != (uint32_t)negate;

		while (c < 0x110000 &&
		       ((set >> uc_cat(c) & 1) != (uint32_t)negate) == in)
			c++;
		if (!in)
			continue;
		/* a text has no surrogates */
		if (first <= 0xdfff && c > 0xd800) {
			if (first < 0xd800)
				buf_printf(b, "\\x{%x}-\\x{d7ff}", first);
			if (c > 0xe000)
				buf_printf(b, "\\x{e000}-\\x{%x}", c - 1);
		} else {
			buf_printf(b, "\\x{%x}-\\x{%x}", first, c - 1);
		}
	}
}

static void
put_class(struct buf *b, uint32_t set, int negate, int in_class)
{
	if (in_class) {
		put_ranges(b, set, negate);
		return;
	}
	buf_puts(b, negate ? "[^" : "[");
	put_ranges(b, set, 0);
	buf_putc(b, ']');
}

static uint32_t
space_set(void)
{
	return 1u << UC_ZL | 1u << UC_ZP | 1u << UC_ZS | 1u << UC_SPACE_CC;
}

/* \p{Name}, \p{^Name}, \P{Name} at p[i] == 'p' or 'P'; moves *i past it. */
static int
property(struct buf *b, struct span p, size_t *i, int in_class, struct err *e)
{
	int negate = p.p[*i] == 'P';
	size_t j = *i + 1, k;
	uint32_t set;

	if (j >= p.n || p.p[j] != '{')
		return err_set(e, "split pattern: byte %zu: \\p without {name}",
			       *i);
	j++;
	if (j < p.n && p.p[j] == '^') {
		negate = !negate;
		j++;
	}
	for (k = j; k < p.n && p.p[k] != '}'; k++)
		;
	set = uc_cat_set(p.p + j, k - j);
	if (k == p.n || set == 0)
		return err_set(e, "split pattern: byte %zu: \\p{%.*s} is not "
			       "supported (general categories are: L, Lu, "
			       "N, ...)",
			       *i, (int)(k - j > 40 ? 40 : k - j), p.p + j);
	put_class(b, set, negate, in_class);
	*i = k + 1;
	return 0;
}

/* The escape after the backslash at p[*i - 1]. */
static int
escape(struct buf *b, struct span p, size_t *i, int in_class, struct err *e)
{
	char c = *i < p.n ? p.p[*i] : 0;

	switch (c) {
	case 'p': case 'P':
		return property(b, p, i, in_class, e);
	case 's': case 'S':
		put_class(b, space_set(), c == 'S', in_class);
		break;
	case 'd': case 'D':
		put_class(b, 1u << UC_ND, c == 'D', in_class);
		break;
	case 'u':
		if (p.n - *i < 5)
			return err_set(e, "split pattern: byte %zu: \\u "
				       "without four digits", *i);
		buf_printf(b, "\\x{%.4s}", p.p + *i + 1);
		*i += 4;
		break;
	case 'n': case 'r': case 't': case 'f': case 'v': case 'a': case 'e':
	case 'x': case 'A': case 'z':
		if (c == 'v')
			buf_puts(b, "\\x0b");
		else
			buf_printf(b, "\\%c", c);
		break;
	default:
		if (c == 0 || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
		    || (c >= '0' && c <= '9') || (unsigned char)c >= 0x80)
			return err_set(e, "split pattern: byte %zu: \\%c is "
				       "not supported", *i, c ? c : '?');
		buf_printf(b, "\\%c", c);
	}
	++*i;
	return 0;
}

/* A bracket class; *i is after the '['. */
static int
bracket(struct buf *b, struct span p, size_t *i, struct err *e)
{
	size_t first;

	buf_putc(b, '[');
	if (*i < p.n && p.p[*i] == '^')
		buf_putc(b, p.p[(*i)++]);
	for (first = *i; *i < p.n; ) {
		char c = p.p[(*i)++];

		if (c == ']' && *i - 1 > first) {
			buf_putc(b, ']');
			return 0;
		}
		if (c == '\\') {
			if (escape(b, p, i, 1, e) < 0)
				return -1;
		} else if (c == '[' || c == ']' ||
			   (c == '&' && *i < p.n && p.p[*i] == '&')) {
			return err_set(e, "split pattern: byte %zu: a class "
				       "in a class is not supported", *i - 1);
		} else {
			buf_putc(b, c);
		}
	}
	return err_set(e, "split pattern: a class without ]");
}

/* "(?" with something both engines read alike: (?: (?= (?! (?<= (?<! (?> (?i */
static int
group_ok(struct span p, size_t i)
{
	if (i >= p.n)
		return 0;
	if (strchr(":=!>", p.p[i]))
		return 1;
	if (p.p[i] == '<')
		return i + 1 < p.n && (p.p[i + 1] == '=' || p.p[i + 1] == '!');
	return p.p[i] == 'i' && i + 1 < p.n &&
		(p.p[i + 1] == ':' || p.p[i + 1] == ')');
}

static int
translate(struct buf *b, struct span p, struct err *e)
{
	size_t i = 0;

	while (i < p.n) {
		char c = p.p[i++];

		if (c == '\\') {
			if (escape(b, p, &i, 0, e) < 0)
				return -1;
		} else if (c == '[') {
			if (bracket(b, p, &i, e) < 0)
				return -1;
		} else if (c == '(' && i < p.n && p.p[i] == '?' &&
			   !group_ok(p, i + 1)) {
			return err_set(e, "split pattern: byte %zu: this kind "
				       "of (?...) is not supported", i);
		} else if (c == '}' && i < p.n && p.p[i] == '+') {
			return err_set(e, "split pattern: byte %zu: {n,m}+ "
				       "is ambiguous: write (?>...)", i);
		} else {
			buf_putc(b, c);
		}
	}
	return 0;
}

struct split_re *
split_re_new(const char *pattern, size_t n, struct err *e)
{
	struct buf b = {0};
	struct split_re *r;
	pcre2_code *code;
	PCRE2_SIZE at;
	int rc;

	buf_puts(&b, "(*LF)");
	if (translate(&b, (struct span){pattern, n}, e) < 0) {
		buf_clear(&b);
		return NULL;
	}
	code = pcre2_compile((PCRE2_SPTR)b.p, b.n, PCRE2_UTF | PCRE2_MULTILINE |
			     PCRE2_NEVER_BACKSLASH_C, &rc, &at, NULL);
	buf_clear(&b);
	if (!code) {
		char what[200];

		pcre2_get_error_message(rc, (PCRE2_UCHAR *)what, sizeof(what));
		err_set(e, "split pattern '%.*s': %s",
			(int)(n > 200 ? 200 : n), pattern, what);
		return NULL;
	}
	r = xcalloc(1, sizeof(*r));
	r->code = code;
	r->jit = pcre2_jit_compile(code, PCRE2_JIT_COMPLETE) == 0;
	return r;
}

void
split_re_free(struct split_re *r)
{
	if (!r)
		return;
	pcre2_code_free(r->code);
	free(r);
}

struct split_re_match *
split_re_match_new(const struct split_re *r)
{
	struct split_re_match *m = xcalloc(1, sizeof(*m));

	m->data = pcre2_match_data_create_from_pattern(r->code, NULL);
	m->ctx = pcre2_match_context_create(NULL);
	m->stack = pcre2_jit_stack_create(32 << 10, 64 << 20, NULL);
	if (!m->data || !m->ctx || !m->stack)
		die("out of memory (a match of a split pattern)");
	pcre2_jit_stack_assign(m->ctx, NULL, m->stack);
	pcre2_set_match_limit(m->ctx, UINT32_MAX);
	pcre2_set_depth_limit(m->ctx, UINT32_MAX);
	pcre2_set_heap_limit(m->ctx, UINT32_MAX);
	return m;
}

void
split_re_match_free(struct split_re_match *m)
{
	if (!m)
		return;
	pcre2_match_data_free(m->data);
	pcre2_match_context_free(m->ctx);
	pcre2_jit_stack_free(m->stack);
	free(m);
}

int
split_re_find(const struct split_re *r, struct split_re_match *m,
	      const char *text, size_t n, size_t from, size_t *start,
	      size_t *end)
{
	const uint32_t flags = PCRE2_NO_UTF_CHECK;
	PCRE2_SIZE *o;
	int rc;

	rc = pcre2_match(r->code, (PCRE2_SPTR)text, n, from, flags, m->data,
			 m->ctx);
	if (rc == PCRE2_ERROR_JIT_STACKLIMIT)
		rc = pcre2_match(r->code, (PCRE2_SPTR)text, n, from,
				 flags | PCRE2_NO_JIT, m->data, m->ctx);
	if (rc == PCRE2_ERROR_NOMATCH)
		return 0;
	if (rc < 0) {
		char what[200];

		pcre2_get_error_message(rc, (PCRE2_UCHAR *)what, sizeof(what));
		die("split pattern: byte %zu of a document: %s", from, what);
	}
	o = pcre2_get_ovector_pointer(m->data);
	*start = o[0];
	*end = o[1];
	return 1;
}
