/*
 * display.h - tokens as people read them
 *
 * A special token is printed as its text.  The same string in a document,
 * where it is ordinary tokens, is printed with a backslash in front, so that
 * the two look different.  Bytes that are not UTF-8 (part of a character at
 * the edge) are printed as <0xE5>, and so are control characters, so that no
 * document can control a terminal; line ends and tabs are not changed.
 * SentencePiece's U+2581 is printed as a space, an id without a token as
 * <id 70000>.
 */
#ifndef ASSAY_DISPLAY_H
#define ASSAY_DISPLAY_H

#include "record/vocab.h"

/* Append the text of ids; characters may span tokens. */
void display_text(const struct vocab *v, const uint32_t *ids, size_t n,
	       struct buf *out);

/* One token on one line of a table, with \n \t \\ escaped. */
void display_token(const struct vocab *v, uint32_t id, struct buf *out);

/* n bytes of documents, the same way; line: on one line of a table. */
void display_bytes(const char *p, size_t n, int line, struct buf *out);

/* Columns of a terminal that n bytes of valid UTF-8 take (uc_columns()). */
size_t display_columns(const char *p, size_t n);

/* Pad or truncate b from `from` on to a width of `columns` (> 0). */
void display_fit(struct buf *b, size_t from, size_t columns);

#endif
