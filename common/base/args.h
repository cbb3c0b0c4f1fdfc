/*
 * args.h - one option table parses, checks, documents
 *
 * A program fills a table of struct arg and calls args_parse() once.  The
 * table gives parsing, range checks, --help with live defaults (the value
 * the variable holds before parsing), shell completions (the hidden option
 * --completion bash) and the list that tests hold against the man page.
 * Long options must be written whole, "--name value" or "--name=value";
 * "--" ends the options.  Every program gets --help/-h, --version,
 * -q/--quiet, -v/--verbose and -j/--threads by itself.  A default that lies
 * outside lo..hi (such as -1 for "not given") is not shown in --help.
 *
 * Two options are for tools, not people: --completion bash prints the
 * completion script, --options prints each option's names on a line, as
 * "--output -o", "--bos --no-bos" (the tests hold them against the man page).
 *
 * A fault in the command line ends the program with status 2, the message,
 * and "usage: ...".
 */
#ifndef ASSAY_ARGS_H
#define ASSAY_ARGS_H

#include <stddef.h>
#include <stdint.h>

enum arg_type {
	ARG_SECTION,	/* a heading in --help: only help is used */
	ARG_FLAG,	/* int *: set to 1; no value */
	ARG_BOOL,	/* int *: --x sets 1, --no-x sets 0 */
	ARG_INT,	/* int64_t *: decimal, range lo..hi, suffix k M G Ki Mi Gi */
	ARG_REAL,	/* double *: range lo..hi, finite */
	ARG_STR,	/* const char **: any text */
	ARG_STRS,	/* struct arg_list *: repeatable */
	ARG_ENUM	/* int *: index into choices */
};

struct arg_list {
	const char **v;
	size_t n;
};

struct arg {
	const char *name;	/* without the dashes */
	char letter;		/* one-letter form, else 0; j q v h are taken */
	enum arg_type type;
	void *to;
	const char *meta;	/* FILE, N, ... (NULL for flags) */
	const char *help;	/* one line, with the unit */
	double lo, hi;		/* inclusive; both 0: no bound */
	const char *const *choices;	/* ARG_ENUM: NULL-terminated */
	int *given;		/* set to 1 when it stood on the command line */
};

struct args {
	const char *name;	/* program */
	const char *synopsis;	/* "[options] [FILE...]" */
	const char *brief;	/* one line: what it does */
	const struct arg *table;
	size_t n;
};

/* Set by every program's command line. */
struct args_common {
	int threads;	/* -j, default: processors this process may use */
	int quiet, verbose;
	/* Set before args_parse(): more of --version, what records depend on. */
	const char *frozen;
};
extern struct args_common args_common;

/*
 * Parse.  Returns the index in argv of the first operand; operands are moved
 * behind the options.  argv is permuted, its strings live on.
 */
int args_parse(const struct args *a, int argc, char **argv);

/* End with status 2, "tool: message" and the usage line. */
void args_usage(const struct args *a, const char *fmt, ...)
	__attribute__((noreturn, format(printf, 2, 3)));

/*
 * For programs that read stdin when no FILE is given: a usage error where
 * there are no operands and stdin is a terminal, since somebody would wait
 * for ever.
 */
void args_check_stdin(const struct args *a, int operands);

/* Parse one number as an ARG_INT would; 0 or -1 (message in what). */
int args_int(const char *s, int64_t *out, const char **what);

#endif
