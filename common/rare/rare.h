/*
 * rare.h - which tokens will a model never learn?
 *
 * What is known of each id: of the tokenizer alone (this file), of shards
 * (rare_count.h), of a model (rare_model.h), of its answers (rare_prompt.h);
 * rare_report.h prints it.
 *
 * Categories are those of Land and Bartolo's code, in its order, with
 * s = decode([i]), r = encode(s) without specials:
 *
 *   OK, OK_SPECIAL		r == [i]; special where the tokenizer says so
 *   UNREACHABLE_SPECIAL	s looks like <one> or [one], with a letter in it
 *   UNDECODEABLE		s holds U+FFFD: a part of a character
 *   UNREACHABLE_SINGLE_TOKEN	r is one other token
 *   UNREACHABLE_MULTI_TOKEN	anything else; an id without a token too
 *
 * A tokenizer that puts a space in front of a text encodes a prefix with it,
 * whose ids are taken off again.
 */
#ifndef ASSAY_RARE_H
#define ASSAY_RARE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "record/vocab.h"

struct rare_counts;
struct rare_model;
struct rare_answers;

enum rare_category {
	RARE_CAT_OK, RARE_CAT_OK_SPECIAL, RARE_CAT_UNREACHABLE_SPECIAL,
	RARE_CAT_UNDECODEABLE, RARE_CAT_UNREACHABLE_SINGLE,
	RARE_CAT_UNREACHABLE_MULTI, RARE_CAT_N
};
extern const char *const rare_category_names[];

enum rare_flag {
	RARE_SPECIAL = 1,
	RARE_NO_TOKEN = 2,	/* a row of padding, a number not given */
	RARE_RESERVED = 4,	/* <unused7>, <|reserved_special_token_3|> */
	RARE_NO_UTF8 = 8,	/* its bytes alone are no text */
	RARE_UNUSED = 16,	/* known: no text ever gives it */
	RARE_GIVEN = 32,	/* known because --unused said so */
	RARE_BOUNDARY = 64,	/* BOS or EOS of the shards */
	RARE_STEP = 128,	/* rare, but a step towards a frequent token */
	RARE_RARE = 256,	/* OK, fewer than min_count, no step, not known */
	RARE_SUSPICIOUS = 512
};

enum { RARE_NONE = UINT32_MAX };

struct rare {
	const struct vocab *vocab;	/* NULL: no tokenizer, every id is OK */
	uint32_t n;			/* ids 0..n-1, rows of padding included */
	uint8_t *category;		/* [n] */
	uint16_t *flags;		/* [n] enum rare_flag */
	uint64_t min_count;
	const struct rare_counts *counts;	/* NULL: no shards */
	uint32_t *swallowed_by;		/* [n] with counts; RARE_NONE */
	const struct rare_model *model;	/* NULL: none */
	const struct rare_answers *answers;	/* NULL: none */
};

/*
 * Categories and flags of n ids, n >= v->n (v may be NULL).  Known to be
 * unused are: the bytes C0, C1, F5..FF; ids without a token; reserved tokens;
 * byte tokens of SentencePiece whose character has a token of its own.
 */
int rare_init(struct rare *r, const struct vocab *v, uint32_t n,
	      struct err *e);
void rare_clear(struct rare *r);

/* "7,9,100-120" as known to be unused. */
int rare_unused(struct rare *r, const char *list, struct err *e);

/*
 * What the counts say: r->swallowed_by, the token with the greatest count of
 * those that a merge makes of this one; RARE_STEP, when that or what is made
 * of it in turn has min_count; RARE_RARE.  An id found in the shards is no
 * longer known to be unused, unless it was given by hand.
 */
void rare_join(struct rare *r, const struct rare_counts *c,
	       uint64_t min_count);

/* The text of one id, U+FFFD where it is none; nothing when it has none. */
void rare_text(const struct rare *r, uint32_t id, struct buf *out);

#endif
