/*
 * rare.h - what is known of each token id
 *
 * The tokenizer alone gives a category and the ids known to be unused (this
 * file).  Shards add counts (rare_counts.h), a model adds indicators
 * (rare_model.h), its answers add verdicts (rare_answers.h).
 *
 * Categories are those of Land and Bartolo's code, in its order, with
 * s = decode([i]), r = encode(s) without special tokens:
 *
 *   OK, OK_SPECIAL		r == [i]; OK_SPECIAL: a special token
 *   UNREACHABLE_SPECIAL	s looks like <one> or [one], with a letter in it
 *   UNDECODEABLE		s contains U+FFFD: a part of a character
 *   UNREACHABLE_SINGLE_TOKEN	r is one other token
 *   UNREACHABLE_MULTI_TOKEN	anything else
 *
 * A padding row and an unassigned id have no token, hence no category.
 *
 * A tokenizer that puts a space in front of a text encodes s after a prefix,
 * whose ids are removed again.
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
	RARE_CAT_UNREACHABLE_MULTI, RARE_CAT_N,
	RARE_CAT_NONE = RARE_CAT_N	/* no token */
};
extern const char *const rare_category_names[];

enum rare_flag {
	RARE_SPECIAL = 1,
	RARE_NO_TOKEN = 2,	/* a padding row, or an unassigned id */
	RARE_RESERVED = 4,	/* <unused7>, <|reserved_special_token_3|> */
	RARE_NO_UTF8 = 8,	/* its bytes alone are not UTF-8 */
	RARE_UNUSED = 16,	/* known to be unused: no text gives it */
	RARE_GIVEN = 32,	/* known because --unused names it */
	RARE_BOUNDARY = 64,	/* BOS or EOS of the shards */
	RARE_STEP = 128,	/* rare, but merged into a frequent token */
	RARE_RARE = 256,	/* OK, count below the limit, none of those */
	RARE_SUSPICIOUS = 512
};

enum { RARE_NONE = UINT32_MAX };

struct rare {
	const struct vocab *vocab;	/* NULL: no tokenizer, every id is OK */
	uint32_t n;			/* ids 0..n-1, padding rows included */
	uint8_t *category;		/* [n] enum rare_category */
	uint16_t *flags;		/* [n] enum rare_flag */
	uint64_t rare_below;		/* the limit */
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

/* Add the ids of a list such as "7,9,100-120" to those known to be unused. */
int rare_unused(struct rare *r, const char *list, struct err *e);

/* Parse the id at *p, in a string, and move *p past it.  -1: none there. */
int rare_parse_id(const char **p, uint32_t *id);

/* The text of an id, with U+FFFD for invalid bytes; empty without a token. */
void rare_text(const struct rare *r, uint32_t id, struct buf *out);

/* Does this id have a flag? */
static inline int
rare_is(const struct rare *r, uint32_t id, unsigned flag)
{
	return (r->flags[id] & flag) != 0;
}

#endif
