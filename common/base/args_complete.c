/*
 * args_complete.c - completion scripts from an option table
 *
 * bash gets one function, zsh a call of _arguments, fish a list of complete
 * commands.  Values are completed by what the table knows of them: choices,
 * or names of files where the placeholder is FILE, DIR or PATH.
 */
#include <string.h>

#include "base/args_priv.h"

/* "name" with _ for each -, as shells want it. */
static void
put_identifier(struct buf *b, const char *name)
{
	for (; *name; name++)
		buf_putc(b, *name == '-' ? '_' : *name);
}

/* The help text inside single quotes; `escape` get a backslash. */
static void
put_quoted(struct buf *b, const char *s, const char *quote, const char *escape)
{
	for (; *s; s++) {
		if (*s == '\'') {
			buf_puts(b, quote);
			continue;
		}
		if (strchr(escape, *s))
			buf_putc(b, '\\');
		buf_putc(b, *s);
	}
}

/* The help of an option, or of its negative form. */
static void
put_description(struct buf *b, const struct arg *o, int no, const char *quote,
		const char *escape)
{
	if (no)
		buf_printf(b, "The opposite of --%s", o->name);
	else
		put_quoted(b, o->help, quote, escape);
}

static int
is_file(const struct arg *o)
{
	return o->meta && (strstr(o->meta, "FILE") || strstr(o->meta, "DIR") ||
			   strstr(o->meta, "PATH"));
}

/* --- bash --- */

static void
bash_case(struct buf *b, const struct arg *o)
{
	buf_printf(b, "\t--%s", o->name);
	if (o->letter)
		buf_printf(b, "|-%c", o->letter);
	buf_puts(b, ") ");
	if (o->type == ARG_ENUM) {
		buf_puts(b, "words='");
		args_put_choices(b, o, " ");
		buf_puts(b, "' ;;\n");
	} else {
		buf_puts(b, is_file(o) ? "words=; files=1 ;;\n"
			 : "words= ;;\n");
	}
}

/*
 * readline splits "--name=value" at the =, so the words before the cursor are
 * --name and =.  mapfile keeps the spaces in names of files.
 */
static void
put_bash(struct buf *b, const struct args *a)
{
	const struct arg *o;

	buf_printf(b, "# bash completion for %s\n_assay_", a->name);
	put_identifier(b, a->name);
	buf_puts(b, "()\n{\n"
		 "\tlocal cur=${COMP_WORDS[COMP_CWORD]} files= words='\n");
	args_put_names(b);
	buf_puts(b, "'\n"
		 "\tlocal prev=${COMP_WORDS[COMP_CWORD-1]}\n"
		 "\tif [[ $cur == = ]]; then\n"
		 "\t\tcur=\n"
		 "\telif [[ $prev == = ]]; then\n"
		 "\t\tprev=${COMP_WORDS[COMP_CWORD-2]}\n"
		 "\tfi\n"
		 "\tcase $prev in\n");
	for (o = args_rows; o->type != ARG_END; o++)
		if (o->type != ARG_GROUP && args_takes_value(o))
			bash_case(b, o);
	buf_puts(b, "\t*) [[ $cur == -* ]] || files=1 ;;\n"
		 "\tesac\n"
		 "\tif [[ $files ]]; then\n"
		 "\t\tcompopt -o filenames 2> /dev/null\n"
		 "\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
		 "\telse\n"
		 "\t\tmapfile -t COMPREPLY < "
		 "<(compgen -W \"$words\" -- \"$cur\")\n"
		 "\tfi\n}\ncomplete -F _assay_");
	put_identifier(b, a->name);
	buf_printf(b, " %s\n", a->name);
}

/* --- zsh --- */

static void
zsh_spec(struct buf *b, const struct arg *o, int no, const char *name)
{
	int value = args_takes_value(o);

	buf_printf(b, " \\\n\t'%s%s%s[", o->type == ARG_STRS ? "*" : "", name,
		   !value ? "" : name[1] == '-' ? "=" : "+");
	put_description(b, o, no, "'\\''", "[]\\");
	buf_putc(b, ']');
	if (value) {
		buf_putc(b, ':');
		put_quoted(b, o->meta ? o->meta : "value", "'\\''", ":\\");
		buf_putc(b, ':');
	}
	if (o->type == ARG_ENUM) {
		buf_putc(b, '(');
		args_put_choices(b, o, " ");
		buf_putc(b, ')');
	} else if (value && is_file(o)) {
		buf_puts(b, "_files");
	}
	buf_putc(b, '\'');
}

static void
put_zsh(struct buf *b, const struct args *a)
{
	struct buf name = {0};

	buf_printf(b, "#compdef %s\n_arguments -s -S", a->name);
	for (const struct arg *o = args_rows; o->type != ARG_END; o++) {
		if (o->type == ARG_GROUP)
			continue;
		for (int no = 0; no <= (o->type == ARG_BOOL); no++) {
			buf_reset(&name);
			buf_printf(&name, "--%s%s%c", no ? "no-" : "", o->name,
				   0);
			zsh_spec(b, o, no, name.p);
		}
		if (o->letter)
			zsh_spec(b, o, 0, (char []){ '-', o->letter, 0 });
	}
	buf_puts(b, " \\\n\t'*:file:_files'\n");
	buf_clear(&name);
}

/* --- fish --- */

static void
fish_line(struct buf *b, const struct args *a, const struct arg *o, int no)
{
	buf_printf(b, "complete -c %s -l %s%s", a->name, no ? "no-" : "",
		   o->name);
	if (o->letter)
		buf_printf(b, " -s %c", o->letter);
	if (o->type == ARG_ENUM) {
		buf_puts(b, " -x -a '");
		args_put_choices(b, o, " ");
		buf_putc(b, '\'');
	} else if (args_takes_value(o)) {
		buf_puts(b, is_file(o) ? " -r -F" : " -x");
	}
	buf_puts(b, " -d '");
	put_description(b, o, no, "\\'", "\\");
	buf_puts(b, "'\n");
}

static void
put_fish(struct buf *b, const struct args *a)
{
	buf_printf(b, "# fish completion for %s\n", a->name);
	for (const struct arg *o = args_rows; o->type != ARG_END; o++) {
		if (o->type == ARG_GROUP)
			continue;
		for (int no = 0; no <= (o->type == ARG_BOOL); no++)
			fish_line(b, a, o, no);
	}
}

const char *
args_put_completion(struct buf *b, const struct args *a, const char *shell)
{
	if (!strcmp(shell, "bash"))
		put_bash(b, a);
	else if (!strcmp(shell, "zsh"))
		put_zsh(b, a);
	else if (!strcmp(shell, "fish"))
		put_fish(b, a);
	else
		return "is not bash, zsh or fish";
	return NULL;
}
