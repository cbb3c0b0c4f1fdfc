/*
 * args.c - parsing by an option table, and checks between options
 *
 * The program's rows and those that every program has are copied to one array,
 * args_rows; `seen` has a count for each of them.  Parsing permutes argv:
 * options and their values move to the front, operands follow in their order.
 * What is printed from the table is in args_help.c and args_complete.c.
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
#include "base/io.h"
#include "base/mem.h"

struct args_common args_common;

struct arg *args_rows, *args_own;
static size_t nrows, rows_cap;
static unsigned *seen;		/* [nrows] times on the command line */

static int64_t threads;
static int help, version, options, conflicts;
static const char *completion;

static const struct arg own[] = {
	OPT_GROUP("Common, see assay(7)"),
	OPT_INT("threads", &threads, "N", 1, 1024,
		"Threads; the output does not depend on it", .letter = 'j'),
	OPT_FLAG("quiet", &args_common.quiet,
		 "Print no summary and no warnings", .letter = 'q'),
	OPT_FLAG("verbose", &args_common.verbose, "Print more to stderr",
		 .letter = 'v'),
	OPT_FLAG("help", &help, "Print this help", .letter = 'h'),
	OPT_FLAG("version", &version, "Print the version"),
	OPT_END
};

static const struct arg hidden[] = {
	OPT_STR("completion", &completion, "SHELL", ""),
	OPT_FLAG("options", &options, ""),
	OPT_FLAG("conflicts", &conflicts, ""),
	OPT_END
};

static void
add_rows(const struct arg *t)
{
	for (; t->type != ARG_END; t++) {
		if (t->type == ARG_TABLE) {
			add_rows(t->to);
			continue;
		}
		GROW(args_rows, rows_cap, nrows + 1);
		args_rows[nrows++] = *t;
	}
}

static void
join_tables(const struct arg *t)
{
	size_t n;

	nrows = 0;
	add_rows(t);
	n = nrows;
	add_rows(own);
	GROW(args_rows, rows_cap, nrows + 1);
	args_rows[nrows] = (struct arg)OPT_END;
	args_own = args_rows + n;
	seen = xcalloc(nrows, sizeof *seen);
}

void
args_usage(const struct args *a, const char *fmt, ...)
{
	char msg[1200], usage[600];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(msg, sizeof msg, fmt, ap);
	va_end(ap);
	snprintf(usage, sizeof usage, "usage: %s %s", a->name, a->synopsis);
	die_usage(msg, usage);
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

	*what = "is not an integer";
	if (*p < '0' || *p > '9')
		return -1;
	for (; *p >= '0' && *p <= '9'; p++) {
		*what = "is too large";
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, *s == '-' ? '0' - *p : *p - '0',
					   &v))
			return -1;
	}
	*what = *p == '.' || *p == 'e' ? "is not an integer"
		: "has an unknown suffix (k M G are powers of 1000, "
		  "Ki Mi Gi of 1024)";
	unit = suffix_value(p);
	if (!unit)
		return -1;
	*what = "is too large";
	return __builtin_mul_overflow(v, unit, out) ? -1 : 0;
}

int
args_in_range(const struct arg *o, double v)
{
	return (o->lo == 0 && o->hi == 0) || (v >= o->lo && v <= o->hi);
}

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
	if (!args_in_range(o, (double)v))
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
		args_usage(a, "--%s: '%s' is not a number", o->name, s);
	if (!args_in_range(o, v))
		bad_range(a, o, s);
	*(double *)o->to = v;
}

void
args_put_choices(struct buf *b, const struct arg *o, const char *sep)
{
	for (int i = 0; o->choices[i]; i++)
		buf_printf(b, "%s%s", i ? sep : "", o->choices[i]);
}

static void
set_enum(const struct args *a, const struct arg *o, const char *s)
{
	struct buf list = {0};

	for (int i = 0; o->choices[i]; i++)
		if (!strcmp(o->choices[i], s)) {
			*(int *)o->to = i;
			return;
		}
	args_put_choices(&list, o, ", ");
	args_usage(a, "--%s: '%s' is not one of %.*s", o->name, s,
		   (int)list.n, list.p);
}

int
args_takes_value(const struct arg *o)
{
	return o->type != ARG_FLAG && o->type != ARG_BOOL;
}

static int
is_seen(const struct arg *o)
{
	return o >= args_rows && o < args_rows + nrows && seen[o - args_rows];
}

/* A later number overrides an earlier one, but a file that is named and then
 * ignored would not be noticed. */
static void
set_str(const struct args *a, const struct arg *o, const char *s)
{
	const char **to = o->to;

	if (is_seen(o) && strcmp(*to, s))
		args_usage(a, "--%s is given twice, as '%s' and '%s'", o->name,
			   *to, s);
	*to = s;
}

/* no: given as --no-NAME.  s: the value, or NULL. */
static void
set_option(const struct args *a, const struct arg *o, int no, const char *s)
{
	struct arg_list *l = o->to;

	if (!args_takes_value(o)) {
		*(int *)o->to = !no;
	} else if (o->type == ARG_INT) {
		set_int(a, o, s);
	} else if (o->type == ARG_REAL) {
		set_real(a, o, s);
	} else if (o->type == ARG_ENUM) {
		set_enum(a, o, s);
	} else if (o->type == ARG_STR) {
		set_str(a, o, s);
	} else {
		l->v = xreallocarray(l->v, l->n + 1, sizeof *l->v);
		l->v[l->n++] = s;
	}
	if (o >= args_rows && o < args_rows + nrows)
		seen[o - args_rows]++;
	if (o->given)
		*o->given = 1;
}

static int
same_name(const struct arg *o, const char *name, size_t n)
{
	return o->type != ARG_GROUP && strlen(o->name) == n &&
	       !memcmp(o->name, name, n);
}

static const struct arg *
find_in(const struct arg *o, const char *name, size_t n, int *no)
{
	for (; o->type != ARG_END; o++) {
		*no = 0;
		if (same_name(o, name, n))
			return o;
		*no = o->type == ARG_BOOL && n > 3 && !memcmp(name, "no-", 3);
		if (*no && same_name(o, name + 3, n - 3))
			return o;
	}
	return NULL;
}

/* argv[i] is "--name" or "--name=value"; returns the arguments used up. */
static int
parse_long(const struct args *a, char **argv, int i, int argc)
{
	const char *name = argv[i] + 2, *eq = strchr(name, '=');
	size_t n = eq ? (size_t)(eq - name) : strlen(name);
	int no;
	const struct arg *o = find_in(args_rows, name, n, &no);

	if (!o)
		o = find_in(hidden, name, n, &no);
	if (!o)
		args_usage(a, "unknown option --%.*s (see --help)", (int)n,
			   name);
	if (!args_takes_value(o) && eq)
		args_usage(a, "--%.*s takes no value", (int)n, name);
	if (!args_takes_value(o)) {
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
		const struct arg *o = args_rows;

		while (o->type != ARG_END && o->letter != *p)
			o++;
		if (o->type == ARG_END)
			args_usage(a, "unknown option -%c (see --help)", *p);
		if (!args_takes_value(o)) {
			set_option(a, o, 0, NULL);
			continue;
		}
		if (!p[1] && i + 1 >= argc)
			args_usage(a, "-%c needs a value (%s)", *p,
				   o->meta ? o->meta : "VALUE");
		set_option(a, o, 0, p[1] ? p + 1 : argv[i + 1]);
		return p[1] ? 1 : 2;
	}
	return 1;
}

/* Options first, then operands, each in their order. */
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
 * A program started with stdin, stdout or stderr closed would get that
 * descriptor for a file of its own and write messages into it.  Open /dev/null
 * there, in the direction that fails.
 */
static void
fill_standard_files(void)
{
	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			(void)!open("/dev/null", fd ? O_RDONLY : O_WRONLY);
}

/* --- between options --- */

static int
was_given(const char *name, size_t n, int or_set)
{
	int no;
	const struct arg *o = find_in(args_rows, name, n, &no);

	if (!o)
		die("option table: no --%.*s", (int)n, name);
	if (o->type == ARG_BOOL)
		return seen[o - args_rows] && *(int *)o->to == !no;
	return seen[o - args_rows] ||
	       (or_set && o->type == ARG_FLAG && *(int *)o->to);
}

/* The next of several words; its length, 0 at the end. */
static size_t
word(const char **p)
{
	*p += strspn(*p, ": ");
	return strcspn(*p, ": ");
}

static void
check_exclude(const struct args *a, const char *p)
{
	int star = strchr(p, ':') != NULL;	/* first against all others */
	const char *one = NULL;
	size_t n, n1 = 0;

	for (int i = 0; (n = word(&p)); p += n, i++) {
		if (!was_given(p, n, 0)) {
			if (star && i == 0)
				return;
			continue;
		}
		if (one)
			args_usage(a, "--%.*s and --%.*s exclude each other",
				   (int)n1, one, (int)n, p);
		one = p;
		n1 = n;
	}
}

/* An option with a value that it accepts, as on a command line. */
static void
put_use(struct buf *b, const char *name, size_t n)
{
	int no;
	const struct arg *o = find_in(args_rows, name, n, &no);

	buf_printf(b, " --%.*s", (int)n, name);
	if (!o)
		die("option table: no --%.*s", (int)n, name);
	if (o->type == ARG_ENUM)
		buf_printf(b, " %s", o->choices[0]);
	else if (args_takes_value(o))
		buf_printf(b, " %.15g", args_in_range(o, 1) ? 1 : o->lo);
}

/* Lines "--a VALUE --b", one for each pair that check_exclude() refuses. */
static void
put_conflicts(struct buf *b, const struct args *a)
{
	for (size_t i = 0; a->exclude && a->exclude[i]; i++) {
		const char *p = a->exclude[i], *q;
		int star = strchr(p, ':') != NULL;
		size_t n, m;

		for (; (n = word(&p)); p += n) {
			for (q = p + n; (m = word(&q)); q += m) {
				put_use(b, p, n);
				put_use(b, q, m);
				buf_putc(b, '\n');
			}
			if (star)
				break;
		}
	}
}

/* Built in memory and written at once, so that a full device is noticed. */
static void
print(const struct args *a)
{
	const char *frozen = args_common.frozen, *bad;
	struct buf b = {0};

	threads = processors();
	if (help) {
		args_put_help(&b, a);
	} else if (version) {
		buf_printf(&b, "%s %s (assay; Unicode 16.0%s%s)\n", a->name,
			   ASSAY_VERSION, frozen ? "; " : "",
			   frozen ? frozen : "");
	} else if (options) {
		args_put_names(&b);
	} else if (conflicts) {
		put_conflicts(&b, a);
	} else {
		bad = args_put_completion(&b, a, completion);
		if (bad)
			args_usage(a, "--completion: '%s' %s", completion, bad);
	}
	if (write_all(STDOUT_FILENO, b.p, b.n) < 0 || close(STDOUT_FILENO) < 0)
		die("<stdout>: %s", strerror(errno));
	buf_clear(&b);
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
		die("argv is empty");
	join_tables(a->table);
	first = parse_all(a, argc, argv);
	args_common.threads = (int)threads;
	err_quiet = args_common.quiet;
	if (help || version || options || conflicts || completion) {
		print(a);
		exit(EXIT_OK);
	}
	for (size_t i = 0; a->exclude && a->exclude[i]; i++)
		check_exclude(a, a->exclude[i]);
	return first;
}

/* --- what a program asks --- */

int
args_given(const char *name)
{
	return was_given(name, strlen(name), 0);
}

static void
check_of(const struct args *a, const struct arg *o)
{
	struct buf list = {0};
	const char *p = o->of;
	size_t n;

	for (; (n = word(&p)); p += n) {
		if (was_given(p, n, 1))
			return;
		buf_printf(&list, "%s--%.*s", list.n ? " or " : "", (int)n, p);
	}
	args_usage(a, "--%s needs %.*s", o->name, (int)list.n, list.p);
}

void
args_check(const struct args *a)
{
	const struct arg *o;

	for (o = args_rows; o->type != ARG_END; o++)
		if (o->of && seen[o - args_rows])
			check_of(a, o);
}

int
args_summary(void)
{
	return !args_common.quiet &&
	       (args_common.verbose || isatty(STDERR_FILENO));
}

void
args_check_stdin(const struct args *a, int operands)
{
	if (operands == 0 && isatty(STDIN_FILENO))
		args_usage(a, "no FILE, and stdin is a terminal "
			   "(use - to type the input)");
}
