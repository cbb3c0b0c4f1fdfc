/*
 * args_priv.h - private to args.c and args_help.c
 */
#ifndef ASSAY_ARGS_PRIV_H
#define ASSAY_ARGS_PRIV_H

#include "base/args.h"

enum args_text { ARGS_HELP, ARGS_VERSION, ARGS_OPTIONS, ARGS_COMPLETION };

/* The options that every program has. */
extern const struct arg args_own[];
extern const size_t args_nown;

/* Print to stdout, checked; a fault ends the program with status 2. */
void args_print(const struct args *a, enum args_text what, const char *shell);

#endif
