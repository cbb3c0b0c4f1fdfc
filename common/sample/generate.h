/*
 * generate.h - text from a model, and the log-likelihood of given tokens
 *
 * Wraps decode.h for sequences of tokens: prompts in pieces, then one token
 * a step for every sequence of a batch until each has ended.
 */
#ifndef ASSAY_GENERATE_H
#define ASSAY_GENERATE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "tokenizer/bpe.h"
#include "model/llama.h"
#include "model/sampler.h"
#include "record/vocab.h"

enum gen_end { GEN_RUNNING, GEN_EOS, GEN_STOP, GEN_LENGTH };

struct gen_opts {
	struct sampler sampler;
	int64_t max_tokens;		/* >= 1, for each sequence */
	const char *const *stop;	/* texts that end a sequence */
	size_t nstop;
	int logprobs;			/* wanted? */
};

struct gen_seq {
	/* in: borrowed */
	const uint32_t *prompt;
	size_t nprompt;			/* >= 1 */
	uint64_t number;		/* of the prompt: part of every draw */
	/* out: zero before; clear with gen_seq_clear() */
	struct ids out;
	double *logprob;		/* (out.n), NULL unless wanted */
	struct buf text;		/* bytes; may end inside a character */
	enum gen_end end;
	size_t shown;			/* bytes of text that are final */
};
void gen_seq_clear(struct gen_seq *s);

struct generator;

/* Keeps both; v NULL: no text is made.  eos: m's configuration has it. */
struct generator *generator_new(struct llama *m, const struct vocab *v);
void generator_free(struct generator *g);		/* NULL is fine */

/* Are all ids of a prompt in the vocabulary, and is there room for it? */
int generator_check(const struct generator *g, const uint32_t *id, size_t n,
		    const struct gen_opts *o, struct err *e);

/*
 * Continue n sequences.  step (or NULL) is called after each token of a
 * sequence, with shown moved to the end of the last whole character that no
 * stop text can take back any more.  -1: broken logits, a prompt with an id
 * outside the vocabulary, or too many positions (llama's are the bound), or
 * what step returned below 0.
 */
typedef int (*gen_step)(void *ctx, struct gen_seq *s, struct err *e);
int generator_run(struct generator *g, struct gen_seq *v, size_t n,
		  const struct gen_opts *o, gen_step step, void *ctx,
		  struct err *e);

/*
 * Log-likelihood of continuations of one context: prefix (nprefix >= 1 ids)
 * is fed by generator_context(), then any number of generator_score() give
 * for each id of a continuation logprob[i] = ln p(id[i] | prefix, id[..i))
 * and whether every id was the greedy choice.
 */
int generator_context(struct generator *g, const uint32_t *prefix,
		      size_t nprefix, size_t longest, struct err *e);
int generator_score(struct generator *g, const uint32_t *id, size_t n,
		    double *logprob, int *greedy, struct err *e);

/*
 * After generator_context() with longest >= n: how probable id is at each of
 * the n next places, while the greedy token is taken at every one of them.
 * logprob[k] = ln p(id | prefix, k greedy tokens).  Returns the number of
 * places, less than n where greedy text ends before; -1 on error.
 */
int generator_ahead(struct generator *g, uint32_t id, size_t n,
		    double *logprob, struct err *e);

/*
 * Append the bytes that a token stands for inside a text; special tokens are
 * empty.
 */
void gen_put_token(const struct vocab *v, uint32_t id, struct buf *b);

/* Length of the longest prefix of p[0..n) that does not end inside a
 * character of UTF-8. */
size_t gen_whole_chars(const char *p, size_t n);

#endif
