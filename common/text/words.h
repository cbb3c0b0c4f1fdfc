/*
 * words.h - the words of a text, for near duplicates and contam13
 *
 * A word is a maximal run of letters, marks and numbers (general category L,
 * M or N of unicode.h) of the text in normalization form C and lower case.
 * Everything else separates: underscore, apostrophe, hyphen, line breaks.  So
 * "co-operation" is two words, and the NFC and NFD spellings of a word are
 * one word.  Before anything else U+00AD, U+200B to U+200D, U+2060 and U+FEFF
 * are dropped.
 *
 * In scripts that are written without spaces (Thai, Lao, Myanmar, Khmer, kana,
 * Han) each letter or number is a word of its own, with the marks after it.
 *
 * Lower case is Unicode's simple mapping, one code point to one, except that
 * U+0130 becomes i with a combining dot above, and a capital sigma a final one
 * where Unicode's Final_Sigma says so, which looks past apostrophes.
 *
 * Each word has a 64-bit hash of its normalized bytes and its place in the
 * original text.  The hash is frozen: files contain it (bands, pairs).
 */
#ifndef ASSAY_WORDS_H
#define ASSAY_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Raised when any word or hash changes. */
#define WORDS_VERSION 2

struct word {
	uint64_t hash;
	uint32_t start, end;	/* bytes of the original text, end exclusive */
};

/*
 * All zero is valid and empty.  One thread at a time.  v is reused by the
 * next words_split().
 */
struct words {
	struct word *v;
	size_t n, cap;
	struct buf lower, norm;	/* private: lower-case ASCII, one word */
	struct buf nfc, seen;
};

/*
 * The words of text (valid UTF-8, up to 4 GiB, no padding needed).
 * Memory: 16 bytes per word and the size of the text.  About 0.3 ns per byte
 * of ASCII.
 */
void words_split(struct words *w, struct span text);
void words_clear(struct words *w);

/*
 * Append the normalized bytes of the word at text[start..end) to out; they are
 * equal exactly when two words are equal.
 */
void words_norm(struct span text, const struct word *w, struct buf *out);

/* The hash of normalized bytes: words_hash(norm of w) == w->hash. */
uint64_t words_hash(struct span norm);

#endif
