/*
 * options_priv.h - the table of options, for the three files that are its
 * module: options.c, options_file.c, options_resolve.c
 */
#ifndef ASSAY_OPTIONS_PRIV_H
#define ASSAY_OPTIONS_PRIV_H

#include "train/options.h"

/*
 * What a resume may do with a row: FIXED decides the numbers of the run, FREE
 * does not, START belongs to one start and is not stored.
 */
enum state { FIXED, FREE, START };

struct spec {
	const char *name;
	char letter;
	enum arg_type type;
	size_t at;		/* in struct options */
	const char *meta, *help;
	double lo, hi;
	const char *const *choices;
	enum state state;
};

extern const struct spec options_specs[];
extern const size_t options_nspecs;

/* The row of a name, "_" or "-" between its words; options_nspecs: none. */
size_t options_find(struct span name);

/* Append a value as JSON; p points to it. */
void options_put(const struct spec *s, const void *p, struct buf *b);

/* min_lr, decay_steps, micro_batch, where derived, are no longer resolved. */
void options_forget_derived(struct options *o);

/* Bytes of a value in struct options. */
size_t options_size(enum arg_type t);

#endif
