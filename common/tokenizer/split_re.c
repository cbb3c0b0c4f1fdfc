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
 * A call of the engine costs more than most matches, so a second pattern, RUN
 * times the first one in a row, finds many matches in one call.  Each is atomic
 * and ends in a callout that notes its end.  It is used where matches in a row
 * are those that calls would find: not for patterns that see where a call
 * begins, or what an earlier match captured.
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

enum { STACK = 1 << 23, RUN = 64 };
#define RETRIES_MATCH 10000000ul
#define RETRIES_SEARCH 500000000ul

struct split_re {
	OnigRegex re;
	OnigRegex run;		/* NULL: not for this pattern */
};

struct split_re_match {
	OnigMatchParam *param;
	OnigRegion region;
	size_t last;		/* end of the last match; SIZE_MAX: none */
	const char *text;	/* of the callouts */
	size_t end[RUN];	/* of matches in a row, the first not, ... */
	size_t n, next;		/* ... found and returned */
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

static int
compile(OnigRegex *re, struct span pattern, int simple_fold,
	OnigErrorInfo *info)
{
	static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
	const OnigUChar *p = (const OnigUChar *)pattern.p;
	OnigCompileInfo how = {.num_of_elements = 5};
	int rc;

	pthread_mutex_lock(&one);
	how.pattern_enc = how.target_enc = split_encoding();
	how.syntax = ONIG_SYNTAX_ONIGURUMA;
	how.option = ONIG_OPTION_NONE;
	how.case_fold_flag = simple_fold ? 0 : ONIGENC_CASE_FOLD_MIN;
	rc = onig_new_deluxe(re, p, p + pattern.n, &how, info);
	pthread_mutex_unlock(&one);
	return rc;
}

/*
 * Are matches in a row those of calls?  \G, \K, recursion and captures may
 * differ.  \x and the like mean something else at the end of a pattern, and #
 * may begin a comment that hides what comes after it.
 */
static int
can_run(OnigRegex re, struct span p)
{
	size_t i;

	for (i = 0; i + 1 < p.n; i++)
		if (p.p[i] == '\\' && strchr("GKgk", p.p[i + 1]))
			return 0;
	if (p.n > 1 && p.p[p.n - 2] == '\\' &&
	    strchr("xuopPcCMN", p.p[p.n - 1]))
		return 0;
	return p.n && !memchr(p.p, '#', p.n) &&
		onig_number_of_captures(re) == 0;
}

static OnigRegex
compile_run(OnigRegex re, struct span pattern, int simple_fold)
{
	struct buf b = {0};
	OnigErrorInfo info;
	OnigRegex run = NULL;

	if (!can_run(re, pattern))
		return NULL;
	buf_puts(&b, "(?:(?>");
	buf_put(&b, pattern.p, pattern.n);
	buf_printf(&b, ")(?{})){1,%d}", RUN);
	if (compile(&run, buf_span(&b), simple_fold, &info) != ONIG_NORMAL)
		run = NULL;
	buf_clear(&b);
	return run;
}

/* A match of the row ends. */
static int
on_end(OnigCalloutArgs *args, void *user)
{
	struct split_re_match *m = user;
	size_t at = (size_t)((const char *)onig_get_current_by_callout_args(
				args) - m->text);

	if (m->n < RUN)
		m->end[m->n++] = at;
	return ONIG_CALLOUT_SUCCESS;
}

struct split_re *
split_re_new(const char *pattern, size_t n, int simple_fold, struct err *e)
{
	struct span all = {pattern, n};
	OnigErrorInfo info;
	struct split_re *r;
	OnigRegex re;
	int rc;

	if (check(all, e) < 0)
		return NULL;
	rc = compile(&re, all, simple_fold, &info);
	if (rc != ONIG_NORMAL) {
		OnigUChar what[ONIG_MAX_ERROR_MESSAGE_LEN];

		onig_error_code_to_str(what, rc, &info);
		err_set(e, "split pattern '%.*s': %s",
			(int)(n > 200 ? 200 : n), pattern, (char *)what);
		return NULL;
	}
	r = xcalloc(1, sizeof(*r));
	r->re = re;
	r->run = compile_run(re, all, simple_fold);
	return r;
}

void
split_re_free(struct split_re *r)
{
	if (!r)
		return;
	onig_free(r->re);
	if (r->run)
		onig_free(r->run);
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
	onig_set_progress_callout_of_match_param(m->param, on_end);
	onig_set_callout_user_data_of_match_param(m->param, m);
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
 * The next match from `from` on, into the region; many in a row if possible.
 * An error of those (they share limits) leaves it to the pattern by itself.
 */
static int
search(const struct split_re *r, struct split_re_match *m, const char *text,
       size_t n, size_t from)
{
	const OnigUChar *p = (const OnigUChar *)text;
	int rc;

	m->text = text;
	m->n = m->next = 0;
	rc = !r->run ? -2 :
		onig_search_with_param(r->run, p, p + n, p + from, p + n,
				       &m->region, ONIG_OPTION_NONE, m->param);
	if (rc >= 0 || (r->run && rc == ONIG_MISMATCH)) {
		if (rc >= 0 && m->n)
			m->region.end[0] = (int)m->end[0];
		m->next = 1;
		return rc;
	}
	m->n = 0;
	return onig_search_with_param(r->re, p, p + n, p + from, p + n,
				      &m->region, ONIG_OPTION_NONE, m->param);
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
	OnigUChar what[ONIG_MAX_ERROR_MESSAGE_LEN];
	int rc;

	if (n > INT_MAX)
		return err_set(e, "a text of %zu bytes: a split pattern can "
			       "split at most %d", n, INT_MAX);
	if (*from == 0) {
		m->last = SIZE_MAX;
		m->n = 0;
	}
	if (m->next < m->n && m->end[m->next] > *from) {
		*start = *from;
		m->last = *end = *from = m->end[m->next++];
		return 1;
	}
	while (*from <= n) {
		rc = search(r, m, text, n, *from);
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
			if (*start == *end) {
				*from = next_char(text, n, *from);
				m->n = 0;
			}
			m->last = *end;
			return 1;
		}
		*from = next_char(text, n, *from);
	}
	return 0;
}
