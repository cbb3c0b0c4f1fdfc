/*
 * args_help.c - what an option table prints: help, completions, names
 *
 * --help shows the value that each variable holds, after the options that
 * stood before it: "tool --preset 10M --help" shows that preset.  Each text is
 * built in memory and written at once, so that a full device is noticed.
 */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/args_priv.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"

enum { HELP_COLUMN = 28, HELP_WIDTH = 80 };

static int
in_range(const struct arg *o, double v)
{
	return (o->lo == 0 && o->hi == 0) || (v >= o->lo && v <= o->hi);
}

/* 268435456 as 256Mi, 4000000 as 4M where that says the same. */
static void
put_int(struct buf *b, int64_t v)
{
	static const struct {
		int64_t unit;
		const char *name;
	} t[] = { { 1 << 30, "Gi" }, { 1 << 20, "Mi" }, { 1000000000, "G" },
		  { 1000000, "M" } };

	for (size_t i = 0; v && i < sizeof t / sizeof t[0]; i++)
		if (v % t[i].unit == 0) {
			buf_printf(b, "%lld%s", (long long)(v / t[i].unit),
				   t[i].name);
			return;
		}
	buf_printf(b, "%lld", (long long)v);
}

static void
put_default(struct buf *b, const struct arg *o)
{
	size_t was = b->n;

	buf_puts(b, " (default: ");
	switch (o->type) {
	case ARG_BOOL:
		buf_puts(b, *(const int *)o->to ? "on" : "off");
		break;
	case ARG_INT:
		if (!in_range(o, (double)*(const int64_t *)o->to))
			goto none;
		put_int(b, *(const int64_t *)o->to);
		break;
	case ARG_REAL:
		if (!isfinite(*(const double *)o->to) ||
		    !in_range(o, *(const double *)o->to))
			goto none;
		buf_printf(b, "%.10g", *(const double *)o->to);
		break;
	case ARG_STR:
		if (!*(const char *const *)o->to)
			goto none;
		buf_puts(b, *(const char *const *)o->to);
		break;
	case ARG_ENUM:
		if (*(const int *)o->to < 0)
			goto none;
		buf_puts(b, o->choices[*(const int *)o->to]);
		break;
	default:
		goto none;
	}
	buf_putc(b, ')');
	return;
none:
	b->n = was;
}

static void
put_choices(struct buf *b, const struct arg *o, const char *sep)
{
	for (int i = 0; o->choices[i]; i++)
		buf_printf(b, "%s%s", i ? sep : "", o->choices[i]);
}

/* The length of the word at i; "(default:" keeps its value beside it. */
static size_t
word_length(const struct buf *t, size_t i)
{
	size_t n = 0;

	while (i + n < t->n &&
	       (t->p[i + n] != ' ' || (n && t->p[i + n - 1] == ':')))
		n++;
	return n;
}

/* The words of t from HELP_COLUMN on, no line wider than HELP_WIDTH. */
static void
put_words(struct buf *b, const struct buf *t)
{
	size_t at = HELP_COLUMN, n;

	for (size_t i = 0; i < t->n; i += n + 1) {
		n = word_length(t, i);
		if (i && at + 1 + n > HELP_WIDTH) {
			buf_printf(b, "\n%*s", HELP_COLUMN, "");
			at = HELP_COLUMN;
		} else if (i) {
			buf_putc(b, ' ');
			at++;
		}
		buf_put(b, t->p + i, n);
		at += n;
	}
	buf_putc(b, '\n');
}

static void
put_option(struct buf *b, const struct arg *o)
{
	struct buf text = {0};
	size_t start = b->n, width;

	if (o->letter)
		buf_printf(b, "  -%c, --%s", o->letter, o->name);
	else if (o->type == ARG_BOOL)
		buf_printf(b, "      --[no-]%s", o->name);
	else
		buf_printf(b, "      --%s", o->name);
	if (o->type == ARG_ENUM && !o->meta) {
		buf_putc(b, ' ');
		put_choices(b, o, "|");
	} else if (o->meta) {
		buf_printf(b, " %s", o->meta);
	}
	width = b->n - start;
	if (width + 2 > HELP_COLUMN) {
		buf_putc(b, '\n');
		width = 0;
	}
	buf_printf(b, "%*s", (int)(HELP_COLUMN - width), "");
	buf_puts(&text, o->help);
	if (o->type == ARG_ENUM && o->meta) {
		buf_puts(&text, ": ");
		put_choices(&text, o, ", ");
	}
	put_default(&text, o);
	put_words(b, &text);
	buf_clear(&text);
}

static void
put_table(struct buf *b, const struct arg *t, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (t[i].type == ARG_SECTION)
			buf_printf(b, "\n%s:\n", t[i].help);
		else
			put_option(b, &t[i]);
	}
}

static void
put_help(struct buf *b, const struct args *a)
{
	buf_printf(b, "usage: %s %s\n%s\n", a->name, a->synopsis, a->brief);
	if (a->n && a->table[0].type != ARG_SECTION)
		buf_puts(b, "\nOptions:\n");
	put_table(b, a->table, a->n);
	put_table(b, args_own, args_nown);
	buf_puts(b, "\nN takes k M G (powers of 1000) and Ki Mi Gi (of 1024)."
		 "\n");
	buf_printf(b, "The manual: man %s\n", a->name);
}

static void
put_names(struct buf *b, const struct arg *t, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (t[i].type == ARG_SECTION)
			continue;
		buf_printf(b, "--%s", t[i].name);
		if (t[i].type == ARG_BOOL)
			buf_printf(b, " --no-%s", t[i].name);
		if (t[i].letter)
			buf_printf(b, " -%c", t[i].letter);
		buf_putc(b, '\n');
	}
}

static void
put_value_cases(struct buf *b, const struct arg *t, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (t[i].type == ARG_ENUM) {
			buf_printf(b, "\t--%s)\n\t\tCOMPREPLY=($(compgen -W '",
				   t[i].name);
			put_choices(b, &t[i], " ");
			buf_puts(b, "' -- \"$cur\")); return ;;\n");
		} else if (t[i].type == ARG_INT || t[i].type == ARG_REAL) {
			buf_printf(b, "\t--%s", t[i].name);
			if (t[i].letter)
				buf_printf(b, "|-%c", t[i].letter);
			buf_puts(b, ") return ;;\n");
		}
	}
}

static void
put_bash(struct buf *b, const struct args *a)
{
	struct buf names = {0}, fn = {0};

	buf_printf(&fn, "_assay_%s", a->name);
	for (size_t i = 0; i < fn.n; i++)
		if (fn.p[i] == '-')
			fn.p[i] = '_';
	put_names(&names, a->table, a->n);
	put_names(&names, args_own, args_nown);
	for (size_t i = 0; i < names.n; i++)
		if (names.p[i] == '\n')
			names.p[i] = ' ';
	buf_printf(b, "# bash completion for %s, printed by "
		   "%s --completion bash\n%.*s()\n{\n"
		   "\tlocal cur=${COMP_WORDS[COMP_CWORD]}\n"
		   "\tlocal prev=${COMP_WORDS[COMP_CWORD-1]}\n"
		   "\tcase $prev in\n", a->name, a->name, (int)fn.n, fn.p);
	put_value_cases(b, a->table, a->n);
	put_value_cases(b, args_own, args_nown);
	buf_printf(b, "\tesac\n\tcase $cur in\n\t-*) COMPREPLY=($(compgen "
		   "-W '%.*s' -- \"$cur\")) ;;\n"
		   "\t*) COMPREPLY=($(compgen -f -- \"$cur\")) ;;\n"
		   "\tesac\n}\ncomplete -o filenames -F %.*s %s\n",
		   (int)names.n, names.p, (int)fn.n, fn.p, a->name);
	buf_clear(&names);
	buf_clear(&fn);
}

static void
write_stdout(const struct buf *b)
{
	if (write_all(STDOUT_FILENO, b->p, b->n) < 0 ||
	    close(STDOUT_FILENO) < 0)
		die("<stdout>: %s", strerror(errno));
}

void
args_print(const struct args *a, enum args_text what, const char *shell)
{
	const char *frozen = args_common.frozen;
	struct buf b = {0};

	switch (what) {
	case ARGS_HELP:
		put_help(&b, a);
		break;
	case ARGS_VERSION:
		buf_printf(&b, "%s %s (assay; Unicode 16.0%s%s)\n", a->name,
			   ASSAY_VERSION, frozen ? "; " : "",
			   frozen ? frozen : "");
		break;
	case ARGS_OPTIONS:
		put_names(&b, a->table, a->n);
		put_names(&b, args_own, args_nown);
		break;
	case ARGS_COMPLETION:
		if (strcmp(shell, "bash"))
			args_usage(a, "--completion: '%s' is not bash", shell);
		put_bash(&b, a);
		break;
	}
	write_stdout(&b);
	buf_clear(&b);
}
