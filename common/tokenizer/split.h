/*
 * split.h - text into pieces (pre-tokenization)
 *
 * gpt2, cl100k, o200k and qwen2 are hand-written scanners over Unicode
 * classes (tables of one stated version, see unicode.h); any other pattern
 * goes through PCRE2.  Several patterns in a row split each other's pieces,
 * as a Sequence of Splits does: a later one sees the end of its piece as the
 * end of the text.  What a pattern leaves between two matches is a piece too.
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
 * name: gpt2, cl100k, o200k, qwen2, none, or a regular expression.  Patterns
 * that are one of the known ones (in any published spelling with the same
 * pieces) use its scanner.  n 0 is none: a text is one piece.  behavior NULL:
 * all isolated.  NULL: error (the pattern asks for what is not done).
 */
struct split *split_new(const char *const *names, const int *behavior,
			size_t n, struct err *e);
void split_free(struct split *s);

/* The pattern to write into tokenizer.json for a name (or the name itself);
 * NULL for none. */
const char *split_pattern(const char *name);

/* The name of the scanner a pattern (or name) is cut by, "regex" if none. */
const char *split_name(const char *pattern);

/*
 * Cut text[*pos..n): writes the ends (offsets in text, exclusive) of the next
 * pieces, at most max, and moves *pos behind the last one.  Returns how many;
 * 0 when *pos == n.  n < 4 GiB; max >= 64.  scratch is one a thread
 * (split_scratch_new); a call sequence over one text must use one scratch and
 * start at *pos 0.
 */
struct split_scratch;
struct split_scratch *split_scratch_new(const struct split *s);
void split_scratch_free(struct split_scratch *t);
size_t split_next(const struct split *s, struct split_scratch *t,
		  const char *text, size_t n, size_t *pos,
		  uint32_t *ends, size_t max);

#endif
