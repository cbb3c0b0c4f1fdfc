/*
 * options_file.c - see options.h: options from and to JSON
 *
 * config.json of a run has every value as it was resolved, so that a person
 * and decode-batch find them there, and under "derived" the names of those
 * that nobody chose.  A resume needs the values; a new run that is to be like
 * an old one derives them again from what it has.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "train/options_priv.h"

static int
bad_value(const struct spec *s, const char *path, const char *want,
	  struct err *e)
{
	return err_set(e, "%s: %s: expected %s", path, s->name, want);
}

static int
in_bounds(const struct spec *s, double v, const char *path, struct err *e)
{
	if ((s->lo != 0 || s->hi != 0) && !(v >= s->lo && v <= s->hi))
		return err_set(e, "%s: %s: %g is out of range (%g to %g)",
			       path, s->name, v, s->lo, s->hi);
	return 0;
}

static int
set_list(struct arg_list *l, const struct json *j)
{
	size_t i;

	free(l->v);
	l->v = NULL;
	l->n = 0;
	if (j->type != JSON_ARRAY)
		return -1;
	l->v = xcalloc(j->n + 1, sizeof *l->v);
	for (i = 0; i < j->n; i++) {
		if (j->kids[i].type != JSON_STRING)
			return -1;
		l->v[l->n++] = xmemdup0(j->kids[i].str.p, j->kids[i].str.n);
	}
	return 0;
}

static int
set_choice(const struct spec *s, int *to, const struct json *j)
{
	int i;

	for (i = 0; s->choices[i] && j->type == JSON_STRING; i++)
		if (span_eq(span_str(s->choices[i]), j->str)) {
			*to = i;
			return 0;
		}
	return -1;
}

/* Strings of a file live as long as the program. */
static int
set_json(const struct spec *s, void *to, const struct json *j,
	 const char *path, struct err *e)
{
	switch (s->type) {
	case ARG_INT:
		if (j->type != JSON_NUMBER || !j->is_int)
			return bad_value(s, path, "an integer", e);
		*(int64_t *)to = j->i;
		return in_bounds(s, (double)j->i, path, e);
	case ARG_REAL:
		if (j->type != JSON_NUMBER)
			return bad_value(s, path, "a number", e);
		*(double *)to = j->num;
		return in_bounds(s, j->num, path, e);
	case ARG_FLAG:
	case ARG_BOOL:
		if (j->type != JSON_TRUE && j->type != JSON_FALSE)
			return bad_value(s, path, "true or false", e);
		*(int *)to = j->type == JSON_TRUE;
		return 0;
	case ARG_ENUM:
		if (set_choice(s, to, j) < 0)
			return bad_value(s, path, s->help, e);
		return 0;
	case ARG_STRS:
		if (set_list(to, j) < 0)
			return bad_value(s, path, "an array of strings", e);
		return 0;
	default:
		if (j->type != JSON_STRING && j->type != JSON_NULL)
			return bad_value(s, path, "a string or null", e);
		*(const char **)to = j->type == JSON_NULL ? NULL :
			xmemdup0(j->str.p, j->str.n);
		return 0;
	}
}

/* Keys that run/config.json has beside the options. */
static int
is_extra(struct span key)
{
	return span_eq(key, span_str("world_size")) ||
		span_eq(key, span_str("data_hash")) ||
		span_eq(key, span_str("val_hash")) ||
		span_eq(key, span_str("derived")) ||
		span_eq(key, span_str("version"));
}

/*
 * A preset on the command line takes the place of all that a file says of the
 * shape: the config.json of a run has every dimension, as it was resolved, and
 * none of them would be left for the preset.
 */
static int
preset_replaces(const struct options *o, size_t at)
{
	size_t preset = options_find(span_str("preset"));

	return o->given[preset] && at > preset &&
		at <= options_find(span_str("intermediate-size"));
}

static int
read_derived(struct options *o, const struct json *root, const char *path,
	     struct err *e)
{
	const struct json *v = json_get(root, "derived");
	size_t i;

	if (v && v->type != JSON_ARRAY)
		return err_set(e, "%s: derived: expected an array", path);
	for (i = 0; v && i < v->n; i++) {
		size_t at = options_find(v->kids[i].str);

		if (v->kids[i].type != JSON_STRING || at == options_nspecs)
			return err_set(e, "%s: derived: number %zu is no name"
				       " of an option", path, i + 1);
		o->derived[at] = 1;
	}
	return 0;
}

/* all: those too that are derived, for a resume. */
static int
load(struct options *o, const char *path, int all, struct err *e)
{
	struct json *root = json_load(path, e);
	size_t i;
	int rc = 0;

	if (!root)
		return -1;
	if (root->type != JSON_OBJECT)
		rc = err_set(e, "%s: no JSON object", path);
	else
		rc = read_derived(o, root, path, e);
	for (i = 0; rc == 0 && i < root->n; i++) {
		const struct json *j = &root->kids[i];
		size_t at = options_find(j->key);

		if (is_extra(j->key))
			continue;
		if (at == options_nspecs || options_specs[at].state == START)
			rc = err_set(e, "%s: %.*s is no option that a file"
				     " may set", path, (int)j->key.n,
				     j->key.p);
		else if (!o->given[at] && !preset_replaces(o, at) &&
			 (all || !o->derived[at])) {
			rc = set_json(&options_specs[at], (char *)o +
				      options_specs[at].at, j, path, e);
			o->in_file[at] = 1;
		}
	}
	json_free(root);
	return rc;
}

int
options_load(struct options *o, const char *path, struct err *e)
{
	return load(o, path, 0, e);
}

int
options_restore(struct options *o, const char *path, struct err *e)
{
	return load(o, path, 1, e);
}

static void
put_list(const struct arg_list *l, struct buf *b)
{
	size_t i;

	buf_putc(b, '[');
	for (i = 0; i < l->n; i++) {
		if (i)
			buf_puts(b, ", ");
		json_put_str(b, span_str(l->v[i]));
	}
	buf_putc(b, ']');
}

void
options_put(const struct spec *s, const void *p, struct buf *b)
{
	const char *str;

	switch (s->type) {
	case ARG_INT:
		buf_printf(b, "%" PRId64, *(const int64_t *)p);
		break;
	case ARG_REAL:
		json_put_real(b, *(const double *)p);
		break;
	case ARG_FLAG:
	case ARG_BOOL:
		buf_puts(b, *(const int *)p ? "true" : "false");
		break;
	case ARG_ENUM:
		json_put_str(b, span_str(s->choices[*(const int *)p]));
		break;
	case ARG_STRS:
		put_list(p, b);
		break;
	default:
		str = *(const char *const *)p;
		if (str)
			json_put_str(b, span_str(str));
		else
			buf_puts(b, "null");
	}
}

static void
put_key(const struct spec *s, struct buf *b)
{
	const char *p;

	buf_putc(b, '"');
	for (p = s->name; *p; p++)
		buf_putc(b, *p == '-' ? '_' : *p);
	buf_putc(b, '"');
}

void
options_json(const struct options *o, struct buf *b)
{
	const struct spec *s = options_specs;
	size_t i;
	int first = 1;

	for (i = 0; i < options_nspecs; i++) {
		if (s[i].state == START)
			continue;
		put_key(&s[i], b);
		buf_puts(b, ": ");
		options_put(&s[i], (const char *)o + s[i].at, b);
		buf_puts(b, ",\n  ");
	}
	buf_puts(b, "\"derived\": [");
	for (i = 0; i < options_nspecs; i++)
		if (o->derived[i]) {
			buf_puts(b, first ? "" : ", ");
			put_key(&s[i], b);
			first = 0;
		}
	buf_putc(b, ']');
}
