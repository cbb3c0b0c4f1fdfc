/*
 * pattern.c - the published spellings, and tiktoken's syntax in Oniguruma's
 *
 * tiktoken's current cl100k differs from the older one at the end of a text:
 * "a\n " ends in one pre-token, not two.  It has no name; its spelling is that
 * of pattern_split().
 *
 * tiktoken's patterns are read by the Rust crates regex and fancy-regex.
 * What Oniguruma reads otherwise is rewritten:
 *
 *	x{1,3}+		is possessive: (?>x{1,3})
 *	x{2}?		lazy, hence x{2}; {,3} is {0,3}
 *	^ $		text, not line, unless (?m): \A \z
 *	(?s) (?m)	(?m), and anchors as above
 *	a(?i)b|c	the flag holds for c too, as a part of another branch
 *	\w \b		know U+200C and U+200D as word characters
 *	[:alpha:]	is ASCII
 *	\u{..} \U.. \pL \p{Script=..} (?P<n>..)
 *
 * What has no equivalent is an error.
 */
#include "record/pattern.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/mem.h"

enum { MAX_DEPTH = 200, MAX_REOPEN = 8 };

#define SHORT "'s|'t|'re|'ve|'m|'ll|'d"
#define LEAD "[^\\r\\n\\p{L}\\p{N}]?"
#define OTHER " ?[^\\s\\p{L}\\p{N}]+"
#define BLANKS "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define WORD "\\w\\x{200c}\\x{200d}"
#define U "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define W "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"

/* The first spelling of each is the one that is written. */
static const struct {
	const char *name;
	enum pattern pattern;
	const char *regex;
} known[] = {
	{"gpt2", PATTERN_GPT2, SHORT "| ?\\p{L}+| ?\\p{N}+|" OTHER
	 "|\\s+(?!\\S)|\\s+"},
	{"gpt2", PATTERN_GPT2, "'(?:[sdmt]|ll|ve|re)| ?\\p{L}+| ?\\p{N}+|"
	 OTHER "|\\s+(?!\\S)|\\s+"},
	{"gpt2", PATTERN_GPT2, "'(?:[sdmt]|ll|ve|re)| ?\\p{L}++| ?\\p{N}++|"
	 OTHER "+|\\s++$|\\s+(?!\\S)|\\s"},
	{"cl100k", PATTERN_CL100K, "(?i:" SHORT ")|" LEAD "\\p{L}+|"
	 "\\p{N}{1,3}|" OTHER "[\\r\\n]*|" BLANKS},
	{"cl100k", PATTERN_CL100K, "'(?i:[sdmt]|ll|ve|re)|" LEAD "\\p{L}+|"
	 "\\p{N}{1,3}|" OTHER "[\\r\\n]*|" BLANKS},
	{"qwen2", PATTERN_QWEN2, "(?i:" SHORT ")|" LEAD "\\p{L}+|"
	 "\\p{N}|" OTHER "[\\r\\n]*|" BLANKS},
	{"o200k", PATTERN_O200K, LEAD U "*" W "+(?i:" SHORT ")?|"
	 LEAD U "+" W "*(?i:" SHORT ")?|\\p{N}{1,3}|"
	 OTHER "[\\r\\n/]*|" BLANKS},
	{NULL, PATTERN_CL100K_END, "'(?i:[sdmt]|ll|ve|re)|" LEAD "+\\p{L}++|"
	 "(?>\\p{N}{1,3})|" OTHER "+[\\r\\n]*+|\\s++\\z|\\s*[\\r\\n]|"
	 "\\s+(?!\\S)|\\s"},
	{"none", PATTERN_NONE, NULL},
};
enum { NKNOWN = sizeof(known) / sizeof(known[0]) };

static size_t
find(const char *s)
{
	size_t i;

	for (i = 0; i < NKNOWN; i++)
		if ((known[i].name && strcmp(s, known[i].name) == 0) ||
		    (known[i].regex && strcmp(s, known[i].regex) == 0))
			break;
	return i;
}

enum pattern
pattern_find(const char *s)
{
	size_t i = find(s);

	return i < NKNOWN ? known[i].pattern : PATTERN_OTHER;
}

/* ---- tiktoken's syntax ---- */

struct group {
	size_t start;		/* in the output */
	int lines;		/* (?m) */
	/* flag groups that were opened in it, to open again after | */
	char reopen[MAX_REOPEN][16];
	int nreopen;
};

struct tr {
	const char *p;
	size_t i;
	struct buf *b;
	size_t atom;		/* start of the last atom; SIZE_MAX: none */
	size_t repeated;	/* end of the last repetition */
	struct group g[MAX_DEPTH];
	int depth;
	struct err *e;
};

static int
fail(struct tr *t, const char *what)
{
	return err_set(t->e, "split pattern: byte %zu: %s", t->i, what);
}

static void
atom(struct tr *t)
{
	t->atom = t->b->n;
}

static int
starts(const struct tr *t, const char *s)
{
	return strncmp(t->p + t->i, s, strlen(s)) == 0;
}

/* ---- escapes ---- */

/* \p at i: \pL, \p{Script=Han}, \p{^L} */
static int
property(struct tr *t)
{
	static const char *const prefix[] = {"script=", "sc=",
		"general_category=", "gc="};
	const char *s = t->p + t->i + 1, *end;

	buf_printf(t->b, "\\%c{", t->p[t->i]);
	if (*s != '{') {
		if (!((*s | 32) >= 'a' && (*s | 32) <= 'z'))
			return fail(t, "\\p without a name");
		buf_printf(t->b, "%c}", *s);
		t->i += 2;
		return 0;
	}
	end = strchr(++s, '}');
	if (!end)
		return fail(t, "\\p{ without }");
	for (size_t k = 0; k < sizeof(prefix) / sizeof(prefix[0]); k++)
		if (strncasecmp(s, prefix[k], strlen(prefix[k])) == 0) {
			s += strlen(prefix[k]);
			break;
		}
	buf_put(t->b, s, (size_t)(end + 1 - s));
	t->i = (size_t)(end + 1 - t->p);
	return 0;
}

/* \u{..}, \U{..}, \UHHHHHHHH at i */
static int
code_point(struct tr *t)
{
	const char *s = t->p + t->i + 1;
	size_t n = strspn(s + (*s == '{'), "0123456789abcdefABCDEF");

	if (*s == '{' ? n == 0 || s[n + 1] != '}' :
	    n < (t->p[t->i] == 'u' ? 4 : 8))
		return fail(t, "\\u without a code point");
	if (*s != '{')
		n = t->p[t->i] == 'u' ? 4 : 8;
	buf_printf(t->b, "\\x{%.*s}", (int)n, s + (*s == '{'));
	t->i += 1 + n + (*s == '{' ? 2 : 0);
	return 0;
}

static int
escape(struct tr *t, int in_class)
{
	const char *ok = in_class ? "dDsShHnrtfvaexn0" :
		"dDsShHnrtfvaexAzZGKRk0123456789";
	char c;

	if (!in_class)
		atom(t);
	c = t->p[++t->i];
	switch (c) {
	case 0:
		return fail(t, "ends in a backslash");
	case 'p': case 'P':
		return property(t);
	case 'u': case 'U':
		return code_point(t);
	case 'w':
		buf_puts(t->b, in_class ? WORD : "[" WORD "]");
		break;
	case 'W':
		buf_puts(t->b, "[^" WORD "]");
		break;
	case 'b': case 'B':
		if (in_class || t->p[t->i + 1] == '{')
			return fail(t, "this \\b is not supported");
		buf_puts(t->b, c == 'b' ?
			 "(?:(?<=[" WORD "])(?![" WORD "])|"
			 "(?<![" WORD "])(?=[" WORD "]))" :
			 "(?:(?<=[" WORD "])(?=[" WORD "])|"
			 "(?<![" WORD "])(?![" WORD "]))");
		break;
	default:
		if ((((c | 32) >= 'a' && (c | 32) <= 'z') ||
		     (c >= '0' && c <= '9')) && !strchr(ok, c))
			return fail(t, "this escape is not supported");
		if (c == '<' || c == '>')
			return fail(t, "\\< and \\> are not supported");
		buf_printf(t->b, "\\%c", c);
	}
	t->i++;
	return 0;
}

/* ---- classes ---- */

/* [:alpha:] and [:^alpha:] at i, which are ASCII. */
static int
posix(struct tr *t)
{
	static const char *const set[][2] = {
		{"alnum", "0-9A-Za-z"}, {"alpha", "A-Za-z"},
		{"ascii", "\\x00-\\x7f"}, {"blank", "\\t "},
		{"cntrl", "\\x00-\\x1f\\x7f"}, {"digit", "0-9"},
		{"graph", "!-~"}, {"lower", "a-z"}, {"print", " -~"},
		{"punct", "!-\\/:-@\\[-`{-~"}, {"space", "\\t\\n\\v\\f\\r "},
		{"upper", "A-Z"}, {"word", "0-9A-Za-z_"},
		{"xdigit", "0-9A-Fa-f"}
	};
	const char *s = t->p + t->i + 2;
	int negate = *s == '^';

	s += negate;
	for (size_t k = 0; k < sizeof(set) / sizeof(set[0]); k++) {
		size_t n = strlen(set[k][0]);

		if (strncmp(s, set[k][0], n) || strncmp(s + n, ":]", 2))
			continue;
		buf_printf(t->b, "[%s%s]", negate ? "^" : "", set[k][1]);
		t->i = (size_t)(s + n + 2 - t->p);
		return 0;
	}
	return fail(t, "unknown [:class:]");
}

static int
class(struct tr *t)
{
	int depth = 0;

	atom(t);
	do {
		char c = t->p[t->i];

		if (c == 0)
			return fail(t, "a class without ]");
		if (c == '\\') {
			if (escape(t, 1) < 0)
				return -1;
			continue;
		}
		if (c == '[' && t->p[t->i + 1] == ':') {
			if (posix(t) < 0)
				return -1;
			continue;
		}
		if (starts(t, "--") || starts(t, "~~"))
			return fail(t, "-- and ~~ in a class are not "
				    "supported");
		buf_putc(t->b, c);
		t->i++;
		if (c == ']')
			depth--;
		if (c != '[')
			continue;
		depth++;
		if (t->p[t->i] == '^')
			buf_putc(t->b, t->p[t->i++]);
		if (t->p[t->i] == ']') {
			buf_puts(t->b, "\\]");
			t->i++;
		}
	} while (depth);
	return 0;
}

/* ---- groups ---- */

static int
push(struct tr *t)
{
	struct group *g;

	if (t->depth + 1 == MAX_DEPTH)
		return fail(t, "groups are nested too deeply");
	g = &t->g[++t->depth];
	g->start = t->b->n;
	g->lines = t->g[t->depth - 1].lines;
	g->nreopen = 0;
	return 0;
}

/* (?i) (?is:...) (?-m) at i. */
static int
flags(struct tr *t)
{
	struct group *g;
	char on[16] = "", off[16] = "", head[40];
	size_t i = t->i + 2, n[2] = {0, 0};
	int negate = 0, lines = t->g[t->depth].lines;

	for (; t->p[i] && t->p[i] != ':' && t->p[i] != ')'; i++) {
		char c = t->p[i];

		if (c == '-' && !negate)
			negate = 1;
		else if (c == 'm')
			lines = !negate;
		else if ((c == 'i' || c == 's') && n[negate] < 8)
			(negate ? off : on)[n[negate]++] = c == 's' ? 'm' : c;
		else if (c != 'u' || negate)
			return fail(t, "this kind of (?...) is not supported");
	}
	if (!t->p[i])
		return fail(t, "a group without )");
	snprintf(head, sizeof(head), "(?%s%s%s:", on, *off ? "-" : "", off);
	if (t->p[i] == ':') {
		atom(t);
		if (push(t) < 0)
			return -1;
		t->g[t->depth].lines = lines;
		buf_puts(t->b, head);
	} else {
		g = &t->g[t->depth];
		if (g->nreopen == MAX_REOPEN || strlen(head) > 15)
			return fail(t, "too many (?flags)");
		memcpy(g->reopen[g->nreopen++], head, strlen(head) + 1);
		g->lines = lines;
		buf_puts(t->b, head);
		t->atom = SIZE_MAX;
	}
	t->i = i + 1;
	return 0;
}

static int
group(struct tr *t)
{
	static const char *const as_is[] = {"(?:", "(?=", "(?!", "(?<=",
		"(?<!", "(?>", "(?<"};

	if (!starts(t, "(?") || starts(t, "(?P<") || starts(t, "(?#")) {
		if (starts(t, "(?#")) {
			const char *end = strchr(t->p + t->i, ')');

			if (!end)
				return fail(t, "a comment without )");
			t->i = (size_t)(end + 1 - t->p);
			return 0;
		}
		atom(t);
		if (push(t) < 0)
			return -1;
		buf_puts(t->b, starts(t, "(?P<") ? "(?<" : "(");
		t->i += starts(t, "(?P<") ? 4 : 1;
		return 0;
	}
	for (size_t k = 0; k < sizeof(as_is) / sizeof(as_is[0]); k++)
		if (starts(t, as_is[k])) {
			atom(t);
			if (push(t) < 0)
				return -1;
			buf_puts(t->b, as_is[k]);
			t->i += strlen(as_is[k]);
			return 0;
		}
	return flags(t);
}

/* | or ), or the end: flag groups are closed, and opened again after |. */
static int
branch(struct tr *t, char c)
{
	struct group *g = &t->g[t->depth];

	for (int k = 0; k < g->nreopen; k++)
		buf_putc(t->b, ')');
	if (c == 0)
		return t->depth ? fail(t, "a group without )") : 0;
	if (c == ')' && t->depth == 0)
		return fail(t, "a ) without a group");
	buf_putc(t->b, c);
	t->i++;
	if (c == '|') {
		t->atom = SIZE_MAX;
		for (int k = 0; k < g->nreopen; k++)
			buf_puts(t->b, g->reopen[k]);
	} else {
		t->atom = g->start;
		t->depth--;
	}
	return 0;
}

/* ---- repetition ---- */

/* x+* and the like: the two engines do not agree. */
static int
repeat_twice(struct tr *t)
{
	if (t->repeated != t->b->n)
		return 0;
	return fail(t, "a repetition of a repetition is not supported: write "
		    "(?:...)");
}

/* {n}, {n,}, {,m} or {n,m} at i, or a literal {. */
static int
interval(struct tr *t)
{
	const char *s = t->p + t->i + 1, *comma, *end;
	size_t lo = strspn(s, "0123456789"), hi;

	comma = s + lo;
	hi = *comma == ',' ? strspn(comma + 1, "0123456789") : 0;
	end = *comma == ',' ? comma + 1 + hi : comma;
	if (*end != '}' || lo + hi == 0 || t->atom == SIZE_MAX) {
		atom(t);
		buf_puts(t->b, "\\{");
		t->i++;
		return 0;
	}
	if (repeat_twice(t) < 0)
		return -1;
	if (end[1] == '+') {
		struct buf x = {0};

		buf_put(&x, t->b->p + t->atom, t->b->n - t->atom);
		t->b->n = t->atom;
		buf_puts(t->b, "(?>");
		buf_put(t->b, x.p, x.n);
		buf_clear(&x);
	}
	buf_printf(t->b, "{%s%.*s}", lo ? "" : "0", (int)(end - s), s);
	if (end[1] == '+')
		buf_putc(t->b, ')');
	else if (end[1] == '?' && end != comma)
		buf_putc(t->b, '?');
	t->i = (size_t)(end + 1 - t->p) + (end[1] == '+' || end[1] == '?');
	t->repeated = t->b->n;
	return 0;
}

static int
one(struct tr *t)
{
	char c = t->p[t->i];
	int lines = t->g[t->depth].lines;

	switch (c) {
	case '\\':
		return escape(t, 0);
	case '[':
		return class(t);
	case '(':
		return group(t);
	case '|': case ')':
		return branch(t, c);
	case '{':
		return interval(t);
	case '^':
		atom(t);
		buf_puts(t->b, lines ? "(?:\\A|(?<=\\n))" : "\\A");
		break;
	case '$':
		atom(t);
		buf_puts(t->b, lines ? "(?:\\z|(?=\\n))" : "\\z");
		break;
	case '*': case '+': case '?':
		if (repeat_twice(t) < 0)
			return -1;
		buf_putc(t->b, c);
		if (t->p[t->i + 1] == '?' || t->p[t->i + 1] == '+')
			buf_putc(t->b, t->p[++t->i]);
		t->repeated = t->b->n;
		break;
	default:
		if (((unsigned char)c & 0xc0) != 0x80)
			atom(t);
		buf_putc(t->b, c);
	}
	t->i++;
	return 0;
}

static int
from_tiktoken(const char *pattern, struct buf *out, struct err *e)
{
	struct tr *t = xcalloc(1, sizeof(*t));
	int rc = 0;

	t->p = pattern;
	t->b = out;
	t->e = e;
	t->atom = t->repeated = SIZE_MAX;
	while (rc == 0 && t->p[t->i])
		rc = one(t);
	if (rc == 0)
		rc = branch(t, 0);
	buf_putc(out, 0);
	free(t);
	return rc;
}

char *
pattern_split(const char *s, struct err *e)
{
	struct buf b = {0};

	if (find(s) < NKNOWN)
		return xstrdup(s);
	if (!s[strspn(s, "abcdefghijklmnopqrstuvwxyz"
		      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")]) {
		err_set(e, "split '%s': no such name (gpt2, cl100k, o200k, "
			"qwen2, none); a pattern that matches only this word "
			"is (%s)", s, s);
		return NULL;
	}
	if (from_tiktoken(s, &b, e) < 0) {
		buf_clear(&b);
		return NULL;
	}
	return b.p;
}

const char *
pattern_regex(const char *s)
{
	size_t i = find(s);

	return i < NKNOWN && known[i].name && strcmp(s, known[i].name) == 0 ?
		known[i].regex : s;
}
