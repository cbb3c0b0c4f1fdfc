/*
 * options_resume.c - see options.h: what a resume may change
 */
#include <string.h>

#include "train/options_priv.h"

static void
copy(struct options *to, const struct options *from, const struct spec *s)
{
	memcpy(options_at(to, s), options_at(from, s), options_size(s));
}

/* Append "key old new". */
static void
note(struct buf *changed, const struct spec *s, const struct options *was,
     const struct options *is)
{
	options_put_key(s, changed);
	buf_putc(changed, ' ');
	options_put(s, was, changed);
	buf_putc(changed, ' ');
	options_put(s, is, changed);
	buf_putc(changed, '\n');
}

/* Set derived values back to "not set". */
static void
forget_derived(struct options *o)
{
	struct options defaults;
	size_t i;

	options_init(&defaults);
	for (i = 0; i < options_nspecs; i++)
		if ((options_specs[i].flags & REDERIVED) == REDERIVED &&
		    o->derived[i])
			copy(o, &defaults, &options_specs[i]);
}

/* Apply a stored option from the command line, if its value differs. */
static int
change(struct options *o, const struct options *cmd, const struct spec *s,
       struct buf *changed, struct err *e)
{
	struct buf was = {0}, is = {0};
	int same, rc = 0;

	options_put(s, o, &was);
	options_put(s, cmd, &is);
	same = span_eq(buf_span(&was), buf_span(&is));
	if (!same && !(s->flags & FREE) && !cmd->allow_changed_config)
		rc = err_set(e, "--%s is %.*s, the run has %.*s"
			     " (--allow-changed-config accepts this)",
			     s->arg.name, (int)is.n, is.p, (int)was.n, was.p);
	else if (!same) {
		note(changed, s, o, cmd);
		copy(o, cmd, s);
		o->derived[s - options_specs] = 0;
	}
	buf_clear(&was);
	buf_clear(&is);
	return rc;
}

int
options_override(struct options *o, const struct options *cmd,
		 struct buf *changed, struct err *e)
{
	size_t i;

	for (i = 0; i < options_nspecs; i++) {
		const struct spec *s = &options_specs[i];

		if (s->arg.type == ARG_GROUP)
			continue;
		if (s->flags & START)
			copy(o, cmd, s);
		else if (cmd->given[i] && change(o, cmd, s, changed, e) < 0)
			return -1;
	}
	if (changed->n)
		forget_derived(o);
	return 0;
}

void
options_note_derived(const struct options *o, const struct options *was,
		     struct buf *changed)
{
	size_t i;

	for (i = 0; i < options_nspecs; i++) {
		const struct spec *s = &options_specs[i];

		if ((s->flags & REDERIVED) != REDERIVED || !o->derived[i] ||
		    options_same(o, was, s))
			continue;
		if (options_at(o, s) == &o->decay_steps &&
		    o->schedule != SCHEDULE_WSD)	/* does not use it */
			continue;
		note(changed, s, was, o);
	}
}
