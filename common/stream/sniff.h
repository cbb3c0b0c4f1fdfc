/*
 * sniff.h - what a file is that is not what was expected
 *
 * The answers are for messages: the kind, and in parentheses the command that
 * makes JSON Lines of it, where FILE is to be replaced.
 */
#ifndef ASSAY_SNIFF_H
#define ASSAY_SNIFF_H

#include <stddef.h>

#include "base/buf.h"

/* Bytes that sniff_binary() wants to see, if there are as many. */
enum { SNIFF_BYTES = 512 };

/* By the first bytes, of a file that is not text; NULL: it may be text. */
const char *sniff_binary(const char *p, size_t n);

/*
 * By the first line, with or without its line end, where that is not a JSON
 * object; NULL: no idea.  text_key makes a CSV file known by its header.
 */
const char *sniff_line(struct span line, const char *text_key);

/* By the members of an object that is the first line and has no text. */
const char *sniff_object(struct span line);

/* What a file is that was given as a tokenizer; NULL: no idea. */
const char *sniff_tokenizer(const char *p, size_t n);
/* The same of a file that is JSON but not a tokenizer.json. */
struct json;
const char *sniff_tokenizer_json(const struct json *root);
/* Is it several lines, of which the first is JSON by itself? */
int sniff_is_lines(const char *p, size_t n);

/* Add its first keys, quoted, to a message. */
void sniff_keys(struct span line, struct buf *b);

#endif
