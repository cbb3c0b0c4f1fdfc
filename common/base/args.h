/*
 * args.h - option tables
 *
 * A program fills a table of struct arg with the OPT_ macros below and calls
 * args_parse() once.  The table drives parsing, range checks, --help with
 * current defaults (what the variables hold before parsing), completions for
 * bash, zsh and fish, and the test that compares it with the manual page.
 *
 * Long options must be written in full, as "--name value" or "--name=value";
 * "--" ends the options.  Every program also has --threads/-j, --quiet/-q,
 * --verbose/-v, --help/-h, --version, and two for other programs:
 * --completion bash|zsh|fish prints a completion script, --options prints the
 * names of each option on a line ("--output -o", "--bos --no-bos").  A third,
 * --conflicts, is for a test: each pair that excludes each other, with values.
 *
 * An error in the command line ends the program with status 2, a message, and
 * the usage line.
 */
#ifndef ASSAY_ARGS_H
#define ASSAY_ARGS_H

#include <stddef.h>
#include <stdint.h>

enum arg_type {
	ARG_END,	/* last row */
	ARG_GROUP,	/* heading in --help */
	ARG_TABLE,	/* struct arg *: the rows of another table */
	ARG_FLAG,	/* int *: set to 1; no value */
	ARG_BOOL,	/* int *: --x sets 1, --no-x sets 0 */
	ARG_INT,	/* int64_t *: decimal; suffix k M G Ki Mi Gi */
	ARG_REAL,	/* double *: range lo..hi, finite */
	ARG_STR,	/* const char **: any text; a second, other one is an
			   error, whereas of other types the last one counts */
	ARG_STRS,	/* struct arg_list *: may be repeated */
	ARG_ENUM	/* int *: index into choices */
};

struct arg_list {
	const char **v;
	size_t n;
};

struct arg {
	const char *name;	/* without dashes; a heading of a group */
	char letter;		/* one-letter form, or 0; j q v h are taken */
	enum arg_type type;
	void *to;
	const char *meta;	/* FILE, N, ... (NULL for flags) */
	const char *help;	/* one line, with the unit */
	double lo, hi;		/* inclusive; both 0: no bounds */
	const char *const *choices;	/* ARG_ENUM: NULL-terminated */
	int *given;		/* set to 1 if the option is given; or NULL */
	const char *of;		/* "a b": only with --a or --b; or NULL */
	int brief;		/* --help shows no more than name and default */
};

/*
 * Rows of a table.  Members that follow (letter, given, of, brief) are set by
 * name: OPT_STR("output", &o.out, "FILE", "Write to FILE", .letter = 'o').
 * A default outside lo..hi, such as -1 for "not given", is not shown.
 */
#define OPT_ROW(name_, type_, ctype, to_, meta_, help_, ...) \
	{ .name = name_, .type = type_, .to = 1 ? (to_) : (ctype *)0, \
	  .meta = meta_, .help = help_, __VA_ARGS__ }
#define OPT_FLAG(name, to, ...) \
	OPT_ROW(name, ARG_FLAG, int, to, NULL, __VA_ARGS__)
#define OPT_BOOL(name, to, ...) \
	OPT_ROW(name, ARG_BOOL, int, to, NULL, __VA_ARGS__)
#define OPT_INT(name, to, meta, lo_, hi_, ...) \
	OPT_ROW(name, ARG_INT, int64_t, to, meta, __VA_ARGS__, \
		.lo = lo_, .hi = hi_)
#define OPT_REAL(name, to, meta, lo_, hi_, ...) \
	OPT_ROW(name, ARG_REAL, double, to, meta, __VA_ARGS__, \
		.lo = lo_, .hi = hi_)
#define OPT_STR(name, to, meta, ...) \
	OPT_ROW(name, ARG_STR, const char *, to, meta, __VA_ARGS__)
#define OPT_STRS(name, to, meta, ...) \
	OPT_ROW(name, ARG_STRS, struct arg_list, to, meta, __VA_ARGS__)
#define OPT_ENUM(name, to, meta, choices_, ...) \
	OPT_ROW(name, ARG_ENUM, int, to, meta, __VA_ARGS__, \
		.choices = choices_)
#define OPT_GROUP(heading) { .name = heading, .type = ARG_GROUP }
#define OPT_TABLE(rows) { .type = ARG_TABLE, .to = rows }
#define OPT_END { .type = ARG_END }

struct args {
	const char *name;	/* program */
	const char *synopsis;	/* "[options] [FILE...]" */
	const char *brief;	/* one line: what it does */
	const char *example;	/* a command line for the end of --help */
	const struct arg *table;	/* up to OPT_END */
	/*
	 * Options that exclude each other, NULL at the end or altogether;
	 * args_parse() refuses them.
	 * "a b c": at most one of them; "a: b c": with a, neither b nor c.
	 * "no-x" is the negative form of a switch.
	 */
	const char *const *exclude;
};

/* Set by every program's command line. */
struct args_common {
	int threads;	/* -j, default: processors this process may use */
	int quiet, verbose;
	/* Set before args_parse(): what --version adds for records. */
	const char *frozen;
};
extern struct args_common args_common;

/*
 * Parse.  Returns the index in argv of the first operand; operands are moved
 * after the options.  argv is permuted, its strings live on.  The table may go
 * away afterwards, the variables may not.
 */
int args_parse(const struct args *a, int argc, char **argv);

/* Was this option given on the command line ("no-x": as --no-x)? */
int args_given(const char *name);

/*
 * Check that options with `of` have the one that they need.  That one also
 * counts where its flag is set, so call this after args_parse() and the
 * program's own defaults.
 */
void args_check(const struct args *a);

/* End with status 2, "tool: message" and the usage line. */
void args_usage(const struct args *a, const char *fmt, ...)
	__attribute__((noreturn, format(printf, 2, 3)));

/* Print a summary to stderr?  With -v, or without -q at a terminal. */
int args_summary(void);

/*
 * For programs that read stdin when no FILE is given: a usage error
 * without operands if stdin is a terminal, where the program would seem to
 * hang.
 */
void args_check_stdin(const struct args *a, int operands);

/* Parse one number as an ARG_INT would; 0 or -1 (message in what). */
int args_int(const char *s, int64_t *out, const char **what);

#endif
