/*
 * split_priv.h - the ways to split text that split.c chooses among
 *
 * gpt2, cl100k and qwen2   split_mask.c, 64 bytes at a time
 * o200k                    split_o200k.c, one pre-token at a time
 * any other pattern        split_re.c, through Oniguruma
 */
#ifndef ASSAY_SPLIT_PRIV_H
#define ASSAY_SPLIT_PRIV_H

#include <stddef.h>
#include <stdint.h>

#include "record/pattern.h"

/* Length of 's 't 're 've 'm 'll 'd at the apostrophe p, else 0.  Without
 * case U+017F is an s too. */
static inline unsigned
split_contraction(const char *p, size_t left, int any_case)
{
	const char fold = any_case ? 0x20 : 0;
	char a, b;

	if (left < 2)
		return 0;
	a = p[1] | (p[1] >= 'A' && p[1] <= 'Z' ? fold : 0);
	if (a == 's' || a == 't' || a == 'm' || a == 'd')
		return 2;
	if (left < 3)
		return 0;
	b = p[2] | (p[2] >= 'A' && p[2] <= 'Z' ? fold : 0);
	if (((a == 'r' || a == 'v') && b == 'e') || (a == 'l' && b == 'l') ||
	    (any_case && a == '\xc5' && b == '\xbf'))
		return 3;
	return 0;
}

/* End of the o200k pre-token that begins at i < n. */
size_t split_o200k(const char *text, size_t n, size_t i);

/*
 * Ends of the gpt2, cl100k or qwen2 pre-tokens from *pos on, at most max
 * (>= 64); *pos moves to the last end.  w keeps the masks from one call to
 * the next.  ASSAY_SIMD=sse2 or avx2 in the environment rules out wider
 * instructions, for tests.
 */
struct split_mask;
struct split_mask *split_mask_new(void);
void split_mask_free(struct split_mask *w);
size_t split_mask_next(enum pattern kind, struct split_mask *w,
		       const char *text, size_t n, size_t *pos,
		       uint32_t *ends, size_t max);

/* The encoding of texts and patterns: UTF-8 with our tables of Unicode.  Not to
 * be called by two threads at once. */
void *split_encoding(void);

/*
 * A regular expression; a struct split_re_match is scratch of one thread.
 * simple_fold: (?i) compares characters one by one, as in tiktoken, so that ß
 * is not ss.
 */
struct split_re;
struct split_re_match;
struct split_re *split_re_new(const char *pattern, size_t n, int simple_fold,
			      struct err *e);
void split_re_free(struct split_re *r);
struct split_re_match *split_re_match_new(void);
void split_re_match_free(struct split_re_match *m);

/*
 * The first match at or after *from, which is 0 at the start of a text and
 * moves to where the next search begins: 1 and its start and end, 0: none is
 * left, -1: it takes too long.  Assertions see all of text[0..n).
 */
int split_re_find(const struct split_re *r, struct split_re_match *m,
		  const char *text, size_t n, size_t *from, size_t *start,
		  size_t *end, struct err *e);

#endif
