/*
 * prompt.h - prompts and texts to score, as JSON Lines
 *
 * Lines are {"prompt"}, {"context","continuation"} or
 * {"context","choices","answer"}, with an optional id; a continuation may have
 * an "ahead" from 1 to PROMPT_AHEAD.  Blank lines are skipped.  Any other line
 * is an error "FILE:LINE: what".
 */
#ifndef ASSAY_PROMPT_H
#define ASSAY_PROMPT_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "stream/json.h"

enum { PROMPT_AHEAD = 64 };

/* A text, or its token ids. */
struct prompt_text {
	struct span text;	/* when ids is NULL */
	uint32_t *ids;		/* owned by the line; NULL: a text */
	size_t n;
};

struct prompt_line {
	const char *file;
	uint64_t lineno;
	struct buf id;			/* JSON of the id; empty: none */
	struct prompt_text context;	/* or the prompt */
	struct prompt_text *choice;	/* continuation: the only one */
	size_t nchoices;		/* 0 for a prompt */
	int64_t answer;		/* index of the right choice; -1: none */
	int64_t ahead;		/* steps of greedy text; 0: none */
	struct json *json;		/* what the spans point into */
};

enum prompt_kind { PROMPT_WRITE, PROMPT_SCORE };

struct prompt_reader;
struct prompt_reader *prompt_open(const char *path, enum prompt_kind kind);
void prompt_close(struct prompt_reader *r);

/* Lines that are not blank in a regular file, for progress; 0: unknown. */
uint64_t prompt_count(const char *path);

/* 1, 0 at the end, -1 on error.  Clear each line that was read. */
int prompt_next(struct prompt_reader *r, struct prompt_line *l, struct err *e);
void prompt_line_clear(struct prompt_line *l);

#endif
