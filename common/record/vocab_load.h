/*
 * vocab_load.h - a tokenizer.json while it is read (private)
 */
#ifndef ASSAY_VOCAB_LOAD_H
#define ASSAY_VOCAB_LOAD_H

#include "base/json.h"
#include "record/vocab_priv.h"

struct load {
	const char *path;
	struct vocab *v;
	struct err *e;
	const struct json *root, *model, *vocab;
	struct span *name;	/* [v->n] as in the file */
	struct name_table names;
	int byte_level, metaspace, sp_replace;
	int from_file;
};

/* Record "FILE: message"; returns -1. */
int load_fail(struct load *l, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* A boolean member: absent or null is `none`. */
int load_flag(struct load *l, const struct json *j, const char *key, int none);

/* Refuse members of an object that are not in a NULL-terminated list. */
int load_only(struct load *l, const struct json *j, const char *where,
	      const char *const *keys);
int load_not_done(struct load *l, const char *part, const struct json *j);

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

/* The parts of the file around the model. */
int load_normalizer(struct load *l, const struct json *j);
int load_pre_tokenizer(struct load *l, const struct json *j);
int load_decoder(struct load *l, const struct json *j);
int load_set_kind(struct load *l);

/* BOS and EOS, when the names are known. */
int load_post_processor(struct load *l, const struct json *j);
int load_config(struct load *l);	/* tokenizer_config.json beside it */

#endif
