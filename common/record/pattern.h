/*
 * pattern.h - split patterns that have names
 *
 * A split cuts a text into pre-tokens before the merges.  gpt2 (r50k, p50k),
 * cl100k (GPT-4, Llama-3), o200k (GPT-4o) and qwen2 are known here in every
 * published spelling with the same result; tokenizer/split.h implements them.
 */
#ifndef ASSAY_PATTERN_H
#define ASSAY_PATTERN_H

#include "base/buf.h"
#include "base/err.h"

enum pattern { PATTERN_OTHER, PATTERN_NONE, PATTERN_GPT2, PATTERN_CL100K,
	PATTERN_CL100K_END, PATTERN_QWEN2, PATTERN_O200K };

/*
 * What happens to a match and to the gap between two, as in tokenizers' Split.
 * SPLIT_REMOVED must be inverted: gaps are removed, and as no text may be
 * lost, one is an error.  Or-ed to it: SPLIT_INVERT, matches and gaps change
 * places; SPLIT_SIMPLE_FOLD, without case a letter equals single letters only,
 * as in tiktoken (not ß and ss); SPLIT_BYTES, after ByteLevel: the pattern sees
 * the character of each byte (vocab_byte_char()).
 */
enum split_behavior { SPLIT_ISOLATED, SPLIT_REMOVED, SPLIT_MERGED_WITH_PREVIOUS,
	SPLIT_MERGED_WITH_NEXT, SPLIT_CONTIGUOUS, SPLIT_INVERT = 8,
	SPLIT_SIMPLE_FOLD = 16, SPLIT_BYTES = 32 };

/* Which one a name or a regular expression is. */
enum pattern pattern_find(const char *name_or_regex);

/*
 * What a --split says, as split_new() and tokenizer.json have it: a name, or a
 * regular expression of tiktoken's in the syntax of Oniguruma.  malloc()ed.
 * NULL: error, or it looks like a name but is not one (cl100k_base), since as
 * a regular expression it would match that word alone, unnoticed.
 */
char *pattern_split(const char *name_or_regex, struct err *e);

/* The regular expression of a name to write into a file; the argument itself
 * if it is not a name; NULL for "none". */
const char *pattern_regex(const char *name_or_regex);

#endif
