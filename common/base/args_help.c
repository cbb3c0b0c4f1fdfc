/*
 * args_help.c - --help and --options from an option table
 *
 * --help shows the value that each variable holds once the options before it
 * have been parsed: "tool --preset 10M --help" shows that preset.  Rows under
 * equal headings are printed together, so tables can be joined; rows marked
 * brief are listed by name at the end of their group.
 */
#include <math.h>
#include <string.h>

#include "base/args_priv.h"

enum { HELP_COLUMN = 25, HELP_WIDTH = 80 };

/* 268435456 as 256Mi, 4000000 as 4M. */
static void
put_int(struct buf *b, int64_t v)
{
	static const struct {
		int64_t unit;
		const char *name;
	} t[] = { { 1 << 30, "Gi" }, { 1 << 20, "Mi" }, { 1000000000, "G" },
		  { 1000000, "M" }, { 1, "" } };
	size_t i = 0;

	while (t[i].unit > 1 && (!v || v % t[i].unit))
		i++;
	buf_printf(b, "%lld%s", (long long)(v / t[i].unit), t[i].name);
}

/* " [VALUE]", or nothing. */
static void
put_default(struct buf *b, const struct arg *o)
{
	size_t was = b->n;

	buf_puts(b, " [");
	if (o->type == ARG_BOOL)
		buf_puts(b, *(const int *)o->to ? "on" : "off");
	else if (o->type == ARG_INT &&
		 args_in_range(o, (double)*(const int64_t *)o->to))
		put_int(b, *(const int64_t *)o->to);
	else if (o->type == ARG_REAL && !isnan(*(const double *)o->to) &&
		 args_in_range(o, *(const double *)o->to))
		buf_printf(b, "%.6g", *(const double *)o->to);
	else if (o->type == ARG_STR && *(const char *const *)o->to)
		buf_puts(b, *(const char *const *)o->to);
	else if (o->type == ARG_ENUM && *(const int *)o->to >= 0)
		buf_puts(b, o->choices[*(const int *)o->to]);
	if (b->n == was + 2)
		b->n = was;
	else
		buf_putc(b, ']');
}

/* The words of t from column `at` on, continued at `indent`. */
static void
put_words(struct buf *b, struct span t, size_t at, size_t indent)
{
	size_t i, n;

	for (i = 0; i < t.n; i += n + 1) {
		for (n = 0; i + n < t.n && t.p[i + n] != ' '; n++)
			;
		if (i && at + 1 + n > HELP_WIDTH) {
			buf_printf(b, "\n%*s", (int)indent, "");
			at = indent;
		} else if (i) {
			buf_putc(b, ' ');
			at++;
		}
		/* "\a" is a space at which no line is broken. */
		for (size_t k = 0; k < n; k++)
			buf_putc(b, t.p[i + k] == '\a' ? ' ' : t.p[i + k]);
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
	else
		buf_printf(b, "  --%s%s", o->type == ARG_BOOL ? "[no-]" : "",
			   o->name);
	if (o->meta)
		buf_printf(b, " %s", o->meta);
	else if (o->type == ARG_ENUM) {
		buf_putc(b, ' ');
		args_put_choices(b, o, "|");
	}
	width = b->n - start;
	if (width + 1 > HELP_COLUMN) {
		buf_putc(b, '\n');
		width = 0;
	}
	buf_printf(b, "%*s", (int)(HELP_COLUMN - width), "");
	buf_puts(&text, o->help);
	if (o->type == ARG_ENUM && o->meta) {
		buf_puts(&text, ": ");
		args_put_choices(&text, o, ", ");
	}
	put_default(&text, o);
	put_words(b, buf_span(&text), HELP_COLUMN, HELP_COLUMN);
	buf_clear(&text);
}

/* "-o FILE", "--seed N [1]" of a brief row, after a comma if not the first. */
static void
put_brief(struct buf *b, const struct arg *o)
{
	size_t start;

	if (b->n)
		buf_puts(b, ", ");
	start = b->n;
	if (o->letter)
		buf_printf(b, "-%c", o->letter);
	else
		buf_printf(b, "--%s%s", o->type == ARG_BOOL ? "[no-]" : "",
			   o->name);
	if (o->meta)
		buf_printf(b, " %s", o->meta);
	put_default(b, o);
	for (size_t i = start; i < b->n; i++)
		if (b->p[i] == ' ')
			b->p[i] = '\a';
}

/* Put the rows of each group called `name`. */
static void
put_group(struct buf *b, const char *name)
{
	const char *group = "Options";
	struct buf brief = {0};

	buf_printf(b, "%s:\n", name);
	for (const struct arg *o = args_rows; o->type != ARG_END; o++) {
		if (o->type == ARG_GROUP)
			group = o->name;
		else if (strcmp(group, name))
			continue;
		else if (o->brief || o >= args_own)
			put_brief(&brief, o);
		else
			put_option(b, o);
	}
	if (brief.n) {
		buf_puts(b, "  ");
		put_words(b, buf_span(&brief), 2, 2);
	}
	buf_clear(&brief);
}

static int
group_before(const struct arg *o)
{
	for (const struct arg *q = args_rows; q < o; q++)
		if (q->type == ARG_GROUP && !strcmp(q->name, o->name))
			return 1;
	return 0;
}

void
args_put_help(struct buf *b, const struct args *a)
{
	buf_printf(b, "usage: %s %s\n%s\n", a->name, a->synopsis, a->brief);
	if (args_rows->type != ARG_GROUP)
		put_group(b, "Options");
	for (const struct arg *o = args_rows; o->type != ARG_END; o++)
		if (o->type == ARG_GROUP && !group_before(o))
			put_group(b, o->name);
	if (a->example)
		buf_printf(b, "Example: %s\n", a->example);
}

void
args_put_names(struct buf *b)
{
	for (const struct arg *o = args_rows; o->type != ARG_END; o++) {
		if (o->type == ARG_GROUP)
			continue;
		buf_printf(b, "--%s", o->name);
		if (o->type == ARG_BOOL)
			buf_printf(b, " --no-%s", o->name);
		if (o->letter)
			buf_printf(b, " -%c", o->letter);
		buf_putc(b, '\n');
	}
}
