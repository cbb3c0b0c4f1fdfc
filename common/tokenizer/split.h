/*
 * split.h - split text into pre-tokens
 *
 * gpt2, cl100k, o200k and qwen2 have hand-written scanners over Unicode
 * classes (unicode.h); any other pattern goes through Oniguruma.  In a sequence
 * of patterns each one splits the pre-tokens of the one before, as in
 * tokenizers' Sequence: a pattern sees the end of a pre-token as the end of
 * the text.  Text that no match covers is a pre-token too.
 *
 * Text must be valid UTF-8.  NUL is an ordinary character.
 */
#ifndef ASSAY_SPLIT_H
#define ASSAY_SPLIT_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "record/pattern.h"

struct split;	/* immutable; shared by threads */

/*
 * names: gpt2, cl100k, o200k, qwen2, none or a regular expression each; a
 * published spelling of a known pattern gets its scanner.  n 0 is none: a
 * text is one pre-token.  behavior: see pattern.h; NULL: all isolated.
 * NULL: error (the pattern uses what is not supported).
 */
struct split *split_new(const char *const *names, const int *behavior,
			size_t n, struct err *e);
void split_free(struct split *s);
int split_may_fail(const struct split *s);	/* see split_next() */

/*
 * Split text[*pos..n), n < 4 GiB: write the ends (offsets in text, exclusive)
 * of the next pre-tokens, at most max (>= 64), and move *pos to the last end.
 * Returns their number, 0 when *pos == n, or an error: a pattern takes too
 * long on this text, or leaves a part of it that is Removed.  That is found in
 * the first call.  A text starts at *pos 0 and keeps its scratch until its end;
 * each thread needs a scratch of its own.
 */
struct split_scratch;
struct split_scratch *split_scratch_new(const struct split *s);
void split_scratch_free(struct split_scratch *t);
size_t split_next(const struct split *s, struct split_scratch *t,
		  const char *text, size_t n, size_t *pos,
		  uint32_t *ends, size_t max, struct err *e);

#endif
