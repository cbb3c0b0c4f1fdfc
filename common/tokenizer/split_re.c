/*
 * split_re.c - any split pattern, through Oniguruma
 *
 * Oniguruma is the engine of tokenizers, so a pattern means here what it means
 * there by construction: the default syntax, no options, and matches found one
 * after another by the rule below.  Categories, scripts, \w, \b and case come
 * from our own tables (split_enc.c), so that pre-tokens do not depend on the
 * library's version of Unicode.  What only the library's tables decide is
 * refused.
 *
 * A match may backtrack RETRIES_MATCH times, the engine's own default, which
 * tokenizers keeps; a search, which tries a match from each character, may
 * RETRIES_SEARCH times.  The stack of one match is bounded by STACK entries of
 * 32 bytes.  Beyond these the text cannot be split.
 */
#include <limits.h>
#include <oniguruma.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "tokenizer/split_priv.h"

enum { STACK = 1 << 23 };
#define RETRIES_MATCH 10000000ul
#define RETRIES_SEARCH 500000000ul

struct split_re {
	OnigRegex re;
};

struct split_re_match {
	OnigMatchParam *param;
	OnigRegion region;
	size_t last;		/* end of the last match; SIZE_MAX: none */
};

/* Text segments (\X, \y, \Y) come from the library's tables; callouts keep
 * state that threads would share. */
static int
check(struct span p, struct err *e)
{
	int in_class = 0;

	if (!utf8_valid(p.p, p.n))
		return err_set(e, "split pattern: not UTF-8");
	for (size_t i = 0; i + 1 < p.n; i++) {
		char c = p.p[i], next = p.p[i + 1];

		if (c == '\\') {
			if (!in_class && (next == 'X' || next == 'y' ||
					  next == 'Y'))
				return err_set(e, "split pattern: byte %zu: "
					       "\\%c is not supported", i,
					       next);
			i++;
		} else if (c == '[') {
			in_class++;
			i += next == '^';
			i += i + 1 < p.n && p.p[i + 1] == ']';
		} else if (c == ']' && in_class) {
			in_class--;
		} else if (!in_class && c == '(' &&
			   (next == '*' || (next == '?' && i + 2 < p.n &&
					    p.p[i + 2] == '{'))) {
			return err_set(e, "split pattern: byte %zu: callouts "
				       "are not supported", i);
		}
	}
	return 0;
}

struct split_re *
split_re_new(const char *pattern, size_t n, int simple_fold, struct err *e)
{
	static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
	const OnigUChar *p = (const OnigUChar *)pattern;
	OnigErrorInfo info;
	OnigCompileInfo how = {.num_of_elements = 5};
	struct split_re *r;
	OnigRegex re;
	int rc;

	if (check((struct span){pattern, n}, e) < 0)
		return NULL;
	pthread_mutex_lock(&one);
	how.pattern_enc = how.target_enc = split_encoding();
	how.syntax = ONIG_SYNTAX_ONIGURUMA;
	how.option = ONIG_OPTION_NONE;
	how.case_fold_flag = simple_fold ? 0 : ONIGENC_CASE_FOLD_MIN;
	rc = onig_new_deluxe(&re, p, p + n, &how, &info);
	pthread_mutex_unlock(&one);
	if (rc != ONIG_NORMAL) {
		OnigUChar what[ONIG_MAX_ERROR_MESSAGE_LEN];

		onig_error_code_to_str(what, rc, &info);
		err_set(e, "split pattern '%.*s': %s",
			(int)(n > 200 ? 200 : n), pattern, (char *)what);
		return NULL;
	}
	r = xcalloc(1, sizeof(*r));
	r->re = re;
	return r;
}

void
split_re_free(struct split_re *r)
{
	if (!r)
		return;
	onig_free(r->re);
	free(r);
}

struct split_re_match *
split_re_match_new(void)
{
	struct split_re_match *m = xcalloc(1, sizeof(*m));

	m->param = onig_new_match_param();
	if (!m->param)
		die("out of memory (a match of a split pattern)");
	onig_initialize_match_param(m->param);
	onig_set_retry_limit_in_match_of_match_param(m->param, RETRIES_MATCH);
	onig_set_retry_limit_in_search_of_match_param(m->param,
						      RETRIES_SEARCH);
	onig_set_match_stack_limit_size_of_match_param(m->param, STACK);
	onig_region_init(&m->region);
	return m;
}

void
split_re_match_free(struct split_re_match *m)
{
	if (!m)
		return;
	onig_free_match_param(m->param);
	onig_region_free(&m->region, 0);
	free(m);
}

/* Where the character after i begins; n + 1 at the end. */
static size_t
next_char(const char *text, size_t n, size_t i)
{
	do
		i++;
	while (i < n && utf8_is_cont(text[i]));
	return i;
}

/*
 * An empty match where the last match ended does not count.  Other empty
 * matches do: they cut the text between two characters.
 */
int
split_re_find(const struct split_re *r, struct split_re_match *m,
	      const char *text, size_t n, size_t *from, size_t *start,
	      size_t *end, struct err *e)
{
	const OnigUChar *p = (const OnigUChar *)text;
	OnigUChar what[ONIG_MAX_ERROR_MESSAGE_LEN];
	int rc;

	if (n > INT_MAX)
		return err_set(e, "a text of %zu bytes: a split pattern can "
			       "split at most %d", n, INT_MAX);
	if (*from == 0)
		m->last = SIZE_MAX;
	while (*from <= n) {
		rc = onig_search_with_param(r->re, p, p + n, p + *from, p + n,
					    &m->region, ONIG_OPTION_NONE,
					    m->param);
		if (rc == ONIG_MISMATCH)
			break;
		if (rc < 0) {
			onig_error_code_to_str(what, rc);
			return err_set(e, "byte %zu of the text: a split "
				       "pattern backtracks too much (%s)",
				       *from, (char *)what);
		}
		*start = (size_t)m->region.beg[0];
		*end = *from = (size_t)m->region.end[0];
		if (*start < *end || m->last != *end) {
			if (*start == *end)
				*from = next_char(text, n, *from);
			m->last = *end;
			return 1;
		}
		*from = next_char(text, n, *from);
	}
	return 0;
}
