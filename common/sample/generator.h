/*
 * generator.h - text from a model, and the log-likelihood of given tokens
 *
 * Wraps decode.h for sequences of tokens: prompts in chunks, then one token
 * per step for every sequence of a batch, until each has ended.
 */
#ifndef ASSAY_GENERATOR_H
#define ASSAY_GENERATOR_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "model/llama.h"
#include "model/sampler.h"
#include "record/vocab.h"
#include "tokenizer/bpe.h"

enum gen_end { GEN_RUNNING, GEN_EOS, GEN_STOP, GEN_LENGTH };

struct gen_opts {
	struct sampler sampler;
	int64_t max_tokens;		/* >= 1, per sequence */
	const char *const *stop;	/* texts that end a sequence */
	size_t nstop;
	int logprobs;			/* wanted? */
};

struct gen_seq {
	/* in: borrowed */
	const uint32_t *prompt;
	size_t nprompt;			/* >= 1 */
	uint64_t number;		/* of the prompt: seeds its draws */
	/* out: zero before; clear with generator_seq_clear() */
	struct ids out;
	double *logprob;		/* (out.n), NULL unless wanted */
	struct buf text;		/* bytes; may end inside a character */
	enum gen_end end;
	size_t shown;			/* bytes of text that are final */
};
void generator_seq_clear(struct gen_seq *s);

struct generator;

/*
 * Keeps both.  v NULL: only token ids, no text.  Sequences end at the EOS ids
 * of m's configuration.
 */
struct generator *generator_new(struct llama *m, const struct vocab *v);
void generator_free(struct generator *g);		/* NULL is fine */

/* -1 if a prompt is too long, or an id of it is not in the vocabulary. */
int generator_check(const struct generator *g, const uint32_t *id, size_t n,
		    const struct gen_opts *o, struct err *e);

/*
 * Continue n sequences.  step (or NULL) is called after each token of a
 * sequence, with `shown` after the last whole character that no stop text can
 * take back.  -1: NaN logits, a prompt that generator_check() refuses, or
 * step returned less than 0.
 */
typedef int (*gen_step)(void *ctx, struct gen_seq *s, struct err *e);
int generator_run(struct generator *g, struct gen_seq *v, size_t n,
		  const struct gen_opts *o, gen_step step, void *ctx,
		  struct err *e);

/*
 * Log-likelihood of continuations of one context.  generator_context() feeds
 * the prefix (nprefix >= 1 ids, continuations of at most `longest` ids); then
 * each generator_score() sets logprob[i] = ln p(id[i] | prefix, id[..i)), and
 * *greedy to whether every id is the greedy choice.
 */
int generator_context(struct generator *g, const uint32_t *prefix,
		      size_t nprefix, size_t longest, struct err *e);
int generator_score(struct generator *g, const uint32_t *id, size_t n,
		    double *logprob, int *greedy, struct err *e);

/*
 * After generator_context() with longest >= n: how probable id is at each of
 * the next n positions of greedy text.  logprob[k] = ln p(id | prefix, k
 * greedy tokens).  Returns the number of positions, less than n if EOS comes
 * first; -1 on error.
 */
int generator_ahead(struct generator *g, uint32_t id, size_t n,
		    double *logprob, struct err *e);

/* Append the bytes of a token inside a text; special tokens have none. */
void generator_put_token(const struct vocab *v, uint32_t id, struct buf *b);

/* Length of p[0..n) without an incomplete UTF-8 character at its end. */
size_t generator_whole_chars(const char *p, size_t n);

#endif
