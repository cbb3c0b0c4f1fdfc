/*
 * vocab_priv.h - shared by vocab*.c
 */
#ifndef ASSAY_VOCAB_PRIV_H
#define ASSAY_VOCAB_PRIV_H

#include "base/arena.h"
#include "record/names.h"
#include "record/vocab.h"
#include "stream/json.h"

struct vocab_priv {
	struct arena arena;	/* of token bytes and names */
	size_t cap, flags_cap;	/* of token and flags, while they grow */
	struct buf source;	/* tokenizer.json as it was read */
	struct vocab_around front, back;	/* of its post_processor */
};

struct vocab *vocab_new(enum vocab_kind kind);

/* A copy of n bytes and a NUL, freed with the vocabulary. */
struct span vocab_keep(struct vocab *v, const char *p, size_t n);
void vocab_add_split(struct vocab *v, struct span pattern, int behavior);

/* Sets `ours`, BOS and EOS by their usual names if still unknown, and the
 * fingerprint. */
void vocab_finish(struct vocab *v);

struct vocab *vocab_from_tiktoken(const char *p, size_t n, const char *path,
				  const char *split, struct err *e);

/* ---- a tokenizer.json while it is read ---- */
struct vocab_load {
	const char *path;
	struct vocab *v;
	struct err *e;
	const struct json *root, *model, *vocab;
	struct span *name;	/* [v->n] as in the file */
	struct name_table names;
	int byte_level, sp_replace;
	int from_file;
};

/* Record "FILE: message"; returns -1. */
int vocab_fail(struct vocab_load *l, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* A boolean member: absent or null is `none`. */
int vocab_flag(struct vocab_load *l, const struct json *j, const char *key,
	       int none);

/* Refuse a part of this type. */
int vocab_unsupported(struct vocab_load *l, const char *part,
		      const struct json *j);

static inline int
is_null(const struct json *j)
{
	return !j || j->type == JSON_NULL;
}

static inline int
is_str(const struct json *j, const char *s)
{
	return j && j->type == JSON_STRING && span_eq(j->str, span_str(s));
}

static inline int
is_type(const struct json *j, const char *name)
{
	return is_str(json_get(j, "type"), name);
}

/* The parts of the file around the model (vocab_pipe.c). */
int vocab_normalizer(struct vocab_load *l, const struct json *j);
int vocab_pre_tokenizer(struct vocab_load *l, const struct json *j);
int vocab_decoder(struct vocab_load *l, const struct json *j);
int vocab_set_kind(struct vocab_load *l);

/* What goes around a text, when the names are known. */
int vocab_post_processor(struct vocab_load *l, const struct json *j);
int vocab_config(struct vocab_load *l);	/* tokenizer_config.json */

/* ---- a tokenizer.json while it is written ---- */
void vocab_put_json(const struct vocab *v, const struct vocab_around *front,
		    const struct vocab_around *back, struct buf *b);
void vocab_put_template(const struct vocab *v, const struct vocab_around *front,
			const struct vocab_around *back, struct buf *b);

#endif
