/*
 * pattern.c - the published spellings
 *
 * The current cl100k and o200k of tiktoken with `\s++$` are not included: at
 * the end of a text they differ ("a\n " ends in one pre-token, not two).
 */
#include "record/pattern.h"

#include <stddef.h>
#include <string.h>

#define SHORT "'s|'t|'re|'ve|'m|'ll|'d"
#define LEAD "[^\\r\\n\\p{L}\\p{N}]?"
#define OTHER " ?[^\\s\\p{L}\\p{N}]+"
#define BLANKS "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
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
	{"none", PATTERN_NONE, NULL},
};
enum { NKNOWN = sizeof(known) / sizeof(known[0]) };

static size_t
find(const char *s)
{
	size_t i;

	for (i = 0; i < NKNOWN; i++)
		if (strcmp(s, known[i].name) == 0 ||
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

const char *
pattern_name(enum pattern p)
{
	for (size_t i = 0; i < NKNOWN; i++)
		if (known[i].pattern == p)
			return known[i].name;
	return "regex";
}

int
pattern_check(const char *s, struct err *e)
{
	if (find(s) < NKNOWN || s[strspn(s, "abcdefghijklmnopqrstuvwxyz"
					 "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
					 "0123456789_-")])
		return 0;
	return err_set(e, "--split %s: no such name (gpt2, cl100k, o200k, "
		       "qwen2, none); a pattern that matches only this word "
		       "is (%s)", s, s);
}

const char *
pattern_regex(const char *s)
{
	size_t i = find(s);

	return i < NKNOWN && strcmp(s, known[i].name) == 0 ?
		known[i].regex : s;
}
