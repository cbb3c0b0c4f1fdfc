/*
 * display.h - tokens as people read them
 *
 * Special tokens are printed by their text.  The same string in a document,
 * where it is ordinary tokens, gets a backslash in front, so the two cannot
 * be taken for each other.  Bytes that are no UTF-8 (a character cut at the
 * edge) are printed as <0xE5>, control characters too, so that no document
 * can play with a terminal; line ends and tabs stay what they are.
 * SentencePiece's U+2581 is printed as a space.  An id without a token is
 * printed as <id 70000>.
 */
#ifndef ASSAY_DISPLAY_H
#define ASSAY_DISPLAY_H

#include "record/vocab.h"

/* Append the text of ids; characters are joined across tokens. */
void display_text(const struct vocab *v, const uint32_t *ids, size_t n,
	       struct buf *out);

/* One token on one line of a table: \n \t \\ too, and its bytes by itself. */
void display_token(const struct vocab *v, uint32_t id, struct buf *out);

/*
 * How many columns of a terminal n bytes of valid UTF-8 take: two a wide
 * character, none a mark that stands on another.
 */
size_t display_columns(const char *p, size_t n);

/* Make b from `from` on `columns` (> 0) wide: blanks, or its end cut off. */
void display_fit(struct buf *b, size_t from, size_t columns);

#endif
