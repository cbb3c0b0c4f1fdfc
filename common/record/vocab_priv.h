/*
 * vocab_priv.h - what the files of vocab*.c share
 */
#ifndef ASSAY_VOCAB_PRIV_H
#define ASSAY_VOCAB_PRIV_H

#include "base/arena.h"
#include "record/names.h"
#include "record/vocab.h"

struct vocab_priv {
	struct arena arena;	/* of token bytes and names */
	size_t cap;		/* of token and flags, while they grow */
	struct buf source;	/* tokenizer.json as it was read */
};

struct vocab *vocab_new(enum vocab_kind kind);

/* A copy of n bytes with a NUL behind, kept with the vocabulary. */
struct span vocab_keep(struct vocab *v, const char *p, size_t n);
void vocab_add_split(struct vocab *v, struct span pattern, int behavior);

/* Names BOS and EOS by the usual texts where still unknown, finds out
 * whether it is `ours`, and computes the fingerprint. */
void vocab_finish(struct vocab *v);

/* The character of a byte in byte-level token names. */
uint32_t vocab_byte_char(unsigned byte);

/* from_file: tokenizer_config.json beside path is read too, and padding is
 * readable behind p, as input_slurp() leaves it. */
struct vocab *vocab_from_json(const char *p, size_t n, const char *path,
			      int from_file, struct err *e);
struct vocab *vocab_from_tiktoken(const char *p, size_t n, const char *path,
				  const char *split, struct err *e);

#endif
