/*
 * args.c - one option table parses, checks, documents
 *
 * The options every program has are one more table, so that each loop below
 * runs over two tables and has no special cases.  Parsing permutes argv:
 * options and their values are passed over, operands are collected and put
 * back behind them in their order.  What is printed is in args_help.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/args.h"
#include "base/args_priv.h"
#include "base/err.h"
#include "base/mem.h"

struct args_common args_common;

static int64_t threads;
static int help, version, options;
static const char *completion;

const struct arg args_own[] = {
	{ "", 0, ARG_SECTION, NULL, NULL, "General", 0, 0, NULL, NULL },
	{ "threads", 'j', ARG_INT, &threads, "N",
	  "threads; the output is the same for any number", 1, 1024, NULL,
	  NULL },
	{ "quiet", 'q', ARG_FLAG, &args_common.quiet, NULL,
	  "no summary and no warnings on stderr", 0, 0, NULL, NULL },
	{ "verbose", 'v', ARG_FLAG, &args_common.verbose, NULL,
	  "say more on stderr", 0, 0, NULL, NULL },
	{ "help", 'h', ARG_FLAG, &help, NULL, "print this and exit", 0, 0,
	  NULL, NULL },
	{ "version", 0, ARG_FLAG, &version, NULL,
	  "print the version and exit", 0, 0, NULL, NULL },
};
const size_t args_nown = sizeof args_own / sizeof args_own[0];

static const struct arg args_hidden[] = {
	{ "completion", 0, ARG_STR, &completion, "SHELL", "", 0, 0, NULL,
	  NULL },
	{ "options", 0, ARG_FLAG, &options, NULL, "", 0, 0, NULL, NULL },
};

void
args_usage(const struct args *a, const char *fmt, ...)
{
	char msg[1200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(msg, sizeof msg, fmt, ap);
	va_end(ap);
	die("%s\nusage: %s %s", msg, a->name, a->synopsis);
}

static int64_t
suffix_value(const char *s)
{
	static const struct {
		const char *name;
		int64_t value;
	} table[] = {
		{ "", 1 }, { "k", 1000 }, { "M", 1000000 },
		{ "G", 1000000000 }, { "Ki", 1 << 10 }, { "Mi", 1 << 20 },
		{ "Gi", 1 << 30 },
	};

	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
		if (!strcmp(s, table[i].name))
			return table[i].value;
	return 0;
}

int
args_int(const char *s, int64_t *out, const char **what)
{
	const char *p = s + (*s == '-' || *s == '+');
	int64_t v = 0, unit;

	*what = "is no integer";
	if (*p < '0' || *p > '9')
		return -1;
	for (; *p >= '0' && *p <= '9'; p++) {
		*what = "is too large";
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, *s == '-' ? '0' - *p : *p - '0',
					   &v))
			return -1;
	}
	*what = *p == '.' || *p == 'e' ? "is no integer"
		: "has an unknown suffix (k M G are powers of 1000, "
		  "Ki Mi Gi of 1024)";
	unit = suffix_value(p);
	if (!unit)
		return -1;
	*what = "is too large";
	return __builtin_mul_overflow(v, unit, out) ? -1 : 0;
}

static int
args_bounded(const struct arg *o)
{
	return o->lo != 0 || o->hi != 0;
}

/* "%.15g" of a bound, with inf as the absence of one. */
static void
bad_range(const struct args *a, const struct arg *o, const char *s)
{
	if (isinf(o->hi))
		args_usage(a, "--%s: %s is out of range (at least %.15g)",
			   o->name, s, o->lo);
	args_usage(a, "--%s: %s is out of range (%.15g to %.15g)", o->name, s,
		   o->lo, o->hi);
}

static void
set_int(const struct args *a, const struct arg *o, const char *s)
{
	const char *what;
	int64_t v;

	if (args_int(s, &v, &what) < 0)
		args_usage(a, "--%s: '%s' %s", o->name, s, what);
	if (args_bounded(o) && ((double)v < o->lo || (double)v > o->hi))
		bad_range(a, o, s);
	*(int64_t *)o->to = v;
}

static void
set_real(const struct args *a, const struct arg *o, const char *s)
{
	char *end;
	double v = strtod(s, &end);

	/* strtod() takes more than we promise: hex, spaces, nan, inf. */
	if (end == s || *end || strspn(s, "0123456789+-.eE") != strlen(s) ||
	    !isfinite(v))
		args_usage(a, "--%s: '%s' is no number", o->name, s);
	if (args_bounded(o) && (v < o->lo || v > o->hi))
		bad_range(a, o, s);
	*(double *)o->to = v;
}

static void
set_enum(const struct args *a, const struct arg *o, const char *s)
{
	char list[512] = "";
	size_t n = 0;

	for (int i = 0; o->choices[i]; i++) {
		if (!strcmp(o->choices[i], s)) {
			*(int *)o->to = i;
			return;
		}
		if (n < sizeof list)
			n += (size_t)snprintf(list + n, sizeof list - n, "%s%s",
					      i ? ", " : "", o->choices[i]);
	}
	args_usage(a, "--%s: '%s' is not one of %s", o->name, s, list);
}

static void
add_str(struct arg_list *l, const char *s)
{
	l->v = xreallocarray(l->v, l->n + 1, sizeof *l->v);
	l->v[l->n++] = s;
}

/* no: the option stood there as --no-NAME.  s: its value, or NULL. */
static void
set_option(const struct args *a, const struct arg *o, int no, const char *s)
{
	switch (o->type) {
	case ARG_FLAG:
	case ARG_BOOL:
		*(int *)o->to = !no;
		break;
	case ARG_INT:
		set_int(a, o, s);
		break;
	case ARG_REAL:
		set_real(a, o, s);
		break;
	case ARG_STR:
		*(const char **)o->to = s;
		break;
	case ARG_STRS:
		add_str(o->to, s);
		break;
	case ARG_ENUM:
		set_enum(a, o, s);
		break;
	case ARG_SECTION:
		break;
	}
	if (o->given)
		*o->given = 1;
}

static int
takes_value(const struct arg *o)
{
	return o->type != ARG_FLAG && o->type != ARG_BOOL;
}

static int
same_name(const struct arg *o, const char *name, size_t n)
{
	return o->type != ARG_SECTION && strlen(o->name) == n &&
	       !memcmp(o->name, name, n);
}

static const struct arg *
find_in(const struct arg *t, size_t nt, const char *name, size_t n, int *no)
{
	for (size_t i = 0; i < nt; i++) {
		*no = 0;
		if (same_name(&t[i], name, n))
			return &t[i];
		*no = t[i].type == ARG_BOOL && n > 3 && !memcmp(name, "no-", 3);
		if (*no && same_name(&t[i], name + 3, n - 3))
			return &t[i];
	}
	return NULL;
}

static const struct arg *
find_long(const struct args *a, const char *name, size_t n, int *no)
{
	const struct arg *o = find_in(a->table, a->n, name, n, no);

	if (!o)
		o = find_in(args_own, args_nown, name, n, no);
	if (!o)
		o = find_in(args_hidden, 2, name, n, no);
	return o;
}

static const struct arg *
find_letter(const struct args *a, char c)
{
	for (size_t i = 0; i < a->n; i++)
		if (a->table[i].letter == c)
			return &a->table[i];
	for (size_t i = 0; i < args_nown; i++)
		if (args_own[i].letter == c)
			return &args_own[i];
	return NULL;
}

/* argv[i] is "--name" or "--name=value"; returns the arguments used up. */
static int
parse_long(const struct args *a, char **argv, int i, int argc)
{
	const char *name = argv[i] + 2, *eq = strchr(name, '=');
	size_t n = eq ? (size_t)(eq - name) : strlen(name);
	int no;
	const struct arg *o = find_long(a, name, n, &no);

	if (!o)
		args_usage(a, "unknown option --%.*s (see --help)", (int)n,
			   name);
	if (!takes_value(o)) {
		if (eq)
			args_usage(a, "--%.*s takes no value", (int)n, name);
		set_option(a, o, no, NULL);
		return 1;
	}
	if (!eq && i + 1 >= argc)
		args_usage(a, "--%s needs a value (%s)", o->name,
			   o->meta ? o->meta : "VALUE");
	set_option(a, o, 0, eq ? eq + 1 : argv[i + 1]);
	return eq ? 1 : 2;
}

/* argv[i] is "-q", "-qv", "-j4" or "-j" "4". */
static int
parse_letters(const struct args *a, char **argv, int i, int argc)
{
	for (const char *p = argv[i] + 1; *p; p++) {
		const struct arg *o = find_letter(a, *p);

		if (!o)
			args_usage(a, "unknown option -%c (see --help)", *p);
		if (!takes_value(o)) {
			set_option(a, o, 0, NULL);
			continue;
		}
		if (p[1]) {
			set_option(a, o, 0, p + 1);
			return 1;
		}
		if (i + 1 >= argc)
			args_usage(a, "-%c needs a value (%s)", *p,
				   o->meta ? o->meta : "VALUE");
		set_option(a, o, 0, argv[i + 1]);
		return 2;
	}
	return 1;
}

/* Options to the front, operands behind, each in their order. */
static int
parse_all(const struct args *a, int argc, char **argv)
{
	char **operand = xmalloc((size_t)argc * sizeof *operand);
	int i = 1, front = 1, n = 0, used;

	while (i < argc && strcmp(argv[i], "--")) {
		if (argv[i][0] != '-' || !argv[i][1]) {
			operand[n++] = argv[i++];
			continue;
		}
		used = argv[i][1] == '-' ? parse_long(a, argv, i, argc)
					 : parse_letters(a, argv, i, argc);
		while (used-- > 0)
			argv[front++] = argv[i++];
	}
	if (i < argc)
		argv[front++] = argv[i++];	/* the "--" */
	while (i < argc)
		operand[n++] = argv[i++];
	memcpy(argv + front, operand, (size_t)n * sizeof *operand);
	free(operand);
	return front;
}

static int
processors(void)
{
	cpu_set_t set;
	int n = 0;

	if (sched_getaffinity(0, sizeof set, &set) == 0)
		n = CPU_COUNT(&set);
	return n < 1 ? 1 : n > 1024 ? 1024 : n;
}

/*
 * A program started with stdin, stdout or stderr closed would get that number
 * for a file of its own and write messages into it.  Fill the gaps with
 * something on which the missing direction fails.
 */
static void
fill_standard_files(void)
{
	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			(void)!open("/dev/null", fd ? O_RDONLY : O_WRONLY);
}

int
args_parse(const struct args *a, int argc, char **argv)
{
	int first;

	err_tool = a->name;
	err_init();
	fill_standard_files();
	threads = processors();
	if (argc < 1)
		die("started without a name in argv");
	first = parse_all(a, argc, argv);
	args_common.threads = (int)threads;
	if (help || version || options || completion) {
		threads = processors();
		args_print(a, help ? ARGS_HELP : version ? ARGS_VERSION
			   : options ? ARGS_OPTIONS : ARGS_COMPLETION,
			   completion);
		exit(EXIT_OK);
	}
	return first;
}

void
args_check_stdin(const struct args *a, int operands)
{
	if (operands == 0 && isatty(STDIN_FILENO))
		args_usage(a, "no FILE, and stdin is a terminal "
			   "(give - to type the input)");
}
