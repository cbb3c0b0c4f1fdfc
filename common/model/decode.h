/*
 * decode.h - generation with a key/value cache, a few rows at a time
 *
 * A decoder has `slots` sequences, each with room for `positions` tokens.
 * Each call takes rows (token, slot, position) in any mix: a prompt in chunks,
 * one row per sequence, or both.  A row attends to positions 0..pos of its
 * slot, including itself.  The caller keeps track of the position in each
 * slot; a slot is reused by starting at 0 again.
 *
 * The model needs K_USE_FWD or K_USE_PLAIN, and enough positions.  One thread.
 */
#ifndef ASSAY_DECODE_H
#define ASSAY_DECODE_H

#include "model/llama.h"

struct decoder;

/* NULL: too little device memory. */
struct decoder *decoder_new(struct llama *m, int64_t slots, int64_t positions,
			    int64_t max_rows, struct err *e);
void decoder_free(struct decoder *d);		/* NULL is fine */

/*
 * Dynamic RoPE: rows of the calls from now on turn by the frequencies of a
 * text of `length` tokens; 0, the default: of one that ends with the row.  Keys
 * in the cache do not change.  Without dynamic RoPE: nothing.
 */
void decoder_length(struct decoder *d, int64_t length);

/*
 * Run n rows, 1..max_rows.  tok (0..V-1), slot and pos are host arrays, copied
 * before the call returns.  Each (slot, pos) occurs once in a call.  The final
 * hidden states of the rows stay until the next call.
 */
int decoder_run(struct decoder *d, int64_t n, const int32_t *tok,
		const int32_t *slot, const int32_t *pos, struct err *e);

/*
 * Run n tokens of one slot from position `at` on, DECODER_PIECE rows (or
 * max_rows, if less) at a time.  Sets *last to the row of the last token.
 */
enum { DECODER_PIECE = 1024 };
int decoder_feed(struct decoder *d, const uint32_t *id, int64_t n,
		 int32_t slot, int64_t at, int64_t *last, struct err *e);

/*
 * Logits of rows [first, first + n) of the last call: host memory, (n, Vp),
 * valid until the next call; only the first V of a row count.  Waits for the
 * device.  NULL: an error.
 */
const float *decoder_logits(struct decoder *d, int64_t first, int64_t n,
			    struct err *e);

/*
 * For scoring: for rows [first, first + n), loss[i] = -log p(target[i]) and
 * the id of the largest logit (the lowest id if tied).  target -1: only
 * argmax.  Host arrays; logits are never stored.  argmax may be NULL.
 */
int decoder_score(struct decoder *d, int64_t first, int64_t n,
		  const int32_t *target, float *loss, int32_t *argmax,
		  struct err *e);

#endif
