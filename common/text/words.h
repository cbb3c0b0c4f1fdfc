/*
 * words.h - the words of a text, as near duplicates and contam13 see them
 *
 * A word is a maximal run of letters, marks and numbers (general category L,
 * M or N of unicode.h) of the text in normalization form C and lower case.
 * Everything else separates: underscore, apostrophe, hyphen, line breaks.  So
 * "co-operation" is two words, and NFC and NFD spellings of a word are one.
 *
 * Lower case is the simple mapping of Unicode 16.0, one code point to one,
 * but for U+0130, which is i with a dot above it; and sigma at the end of a
 * word with a letter before it is final.
 *
 * Each word comes with a 64-bit hash of its normalized bytes and its place in
 * the text as given.  The hash is frozen: files hold it (bands, pairs).
 */
#ifndef ASSAY_WORDS_H
#define ASSAY_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Changes when any word or hash would. */
#define WORDS_VERSION 1

struct word {
	uint64_t hash;
	uint32_t start, end;	/* bytes of the text as given, end exclusive */
};

/*
 * All zero is valid and empty.  One thread at a time.  v is reused by the
 * next words_split().
 */
struct words {
	struct word *v;
	size_t n, cap;
	struct buf lower, norm;	/* private: ASCII lowered, one word */
	struct buf nfc;
};

/*
 * The words of text (valid UTF-8, up to 4 GiB, no padding needed).
 * Memory: 16 bytes a word and the size of the text.  About 0.3 ns a byte of
 * ASCII.
 */
void words_split(struct words *w, struct span text);
void words_clear(struct words *w);

/*
 * Normalized bytes of the word that stands at text[start..end), appended to
 * out: equal exactly where two words are equal.
 */
void words_norm(struct span text, const struct word *w, struct buf *out);

/* The hash of normalized bytes: words_hash(norm of w) == w->hash. */
uint64_t words_hash(struct span norm);

#endif
