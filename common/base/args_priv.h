/*
 * args_priv.h - private to args.c, args_help.c and args_complete.c
 */
#ifndef ASSAY_ARGS_PRIV_H
#define ASSAY_ARGS_PRIV_H

#include "base/args.h"
#include "base/buf.h"

/* What args_parse() made of the program's table: its rows, then those that
 * every program has from args_own on, up to ARG_END. */
extern struct arg *args_rows, *args_own;

int args_takes_value(const struct arg *o);
int args_in_range(const struct arg *o, double v);

/* The choices of an ARG_ENUM, separated by sep. */
void args_put_choices(struct buf *b, const struct arg *o, const char *sep);

/* The text of --help, --options, --version; of --completion, or NULL. */
void args_put_help(struct buf *b, const struct args *a);
void args_put_names(struct buf *b);
const char *args_put_completion(struct buf *b, const struct args *a,
				const char *shell);

#endif
