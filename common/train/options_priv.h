/*
 * options_priv.h - the option table, shared by the options*.c files
 *
 * options_json.c and options_resolve.c use options.c; options_resume.c uses
 * options.c and options_json.c.
 */
#ifndef ASSAY_OPTIONS_PRIV_H
#define ASSAY_OPTIONS_PRIV_H

#include "train/options.h"

enum {
	/* What may a resume do with this option? */
	FIXED = 0,		/* keep it: it affects the result */
	FREE = 1,		/* change it */
	START = 2,		/* set it: it is not stored */
	/* Where nobody sets it, is its value derived from others? */
	DERIVED = 4,
	REDERIVED = 8 | DERIVED	/* and derived again by a resume */
};

struct spec {
	struct arg arg;		/* `to` points into options_any, no `given` */
	int flags;
};

extern const struct spec options_specs[];
extern const size_t options_nspecs;
extern struct options options_any;

/* The row of a key ("_" or "-" between words); options_nspecs if unknown. */
size_t options_find(struct span key);

/* Size in bytes of a value in struct options. */
size_t options_size(const struct spec *s);

/* The value of an option. */
static inline void *
options_at(const struct options *o, const struct spec *s)
{
	return (char *)(uintptr_t)o +
		((char *)s->arg.to - (char *)&options_any);
}

/* Do two sets of options have the same bytes for s?  Not for lists. */
int options_same(const struct options *a, const struct options *b,
		 const struct spec *s);

/* options_json.c: append the key, or the value in o, as JSON. */
void options_put_key(const struct spec *s, struct buf *b);
void options_put(const struct spec *s, const struct options *o,
		 struct buf *b);

#endif
