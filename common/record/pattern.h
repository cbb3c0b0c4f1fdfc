/*
 * pattern.h - split patterns that have names
 *
 * A split cuts a text into pre-tokens before the merges.  gpt2 (r50k, p50k),
 * cl100k (GPT-4, Llama-3), o200k (GPT-4o) and qwen2 are known here in every
 * published spelling with the same result; tokenizer/split.h implements them.
 */
#ifndef ASSAY_PATTERN_H
#define ASSAY_PATTERN_H

#include "base/err.h"

enum pattern { PATTERN_OTHER, PATTERN_NONE, PATTERN_GPT2, PATTERN_CL100K,
	PATTERN_QWEN2, PATTERN_O200K };

/*
 * What happens to a match and to the gap between two, as in tokenizers' Split.
 * SPLIT_REMOVED is refused: no text may be lost.  SPLIT_INVERT is or-ed to it:
 * matches and gaps change places.
 */
enum split_behavior { SPLIT_ISOLATED, SPLIT_REMOVED, SPLIT_MERGED_WITH_PREVIOUS,
	SPLIT_MERGED_WITH_NEXT, SPLIT_CONTIGUOUS, SPLIT_INVERT = 8 };

/* Which one a name or a regular expression is. */
enum pattern pattern_find(const char *name_or_regex);
const char *pattern_name(enum pattern p);

/*
 * Check a --split: -1 if it looks like a name but is not one (cl100k_base); as
 * a regular expression it would match that word alone, unnoticed.
 */
int pattern_check(const char *name_or_regex, struct err *e);

/* The regular expression of a name to write into a file; the argument itself
 * if it is not a name; NULL for "none". */
const char *pattern_regex(const char *name_or_regex);

#endif
