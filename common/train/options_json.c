/*
 * options_json.c - see options.h: options from and to JSON
 *
 * config.json of a run has every resolved value, so that people and
 * decode-batch can read it, and under "derived" the keys that nobody set.  A
 * resume uses all values; a new run with --config derives those again from
 * its own.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "train/options_priv.h"

static int
set_list(struct arg_list *l, const struct json *j)
{
	size_t i;

	free(l->v);
	*l = (struct arg_list){0};
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
set_choice(const char *const *choices, int *to, const struct json *j)
{
	int i;

	for (i = 0; choices[i] && j->type == JSON_STRING; i++)
		if (span_eq(span_str(choices[i]), j->str)) {
			*to = i;
			return 0;
		}
	return -1;
}

/* NULL, or what was expected.  Strings live as long as the program. */
static const char *
set_value(const struct spec *s, void *to, const struct json *j)
{
	switch (s->arg.type) {
	case ARG_INT:
		*(int64_t *)to = j->i;
		return j->type == JSON_NUMBER && j->is_int ? NULL :
			"an integer";
	case ARG_REAL:
		*(double *)to = j->num;
		return j->type == JSON_NUMBER ? NULL : "a number";
	case ARG_FLAG:
	case ARG_BOOL:
		*(int *)to = j->type == JSON_TRUE;
		return j->type == JSON_TRUE || j->type == JSON_FALSE ? NULL :
			"true or false";
	case ARG_ENUM:
		return set_choice(s->arg.choices, to, j) == 0 ? NULL :
			"one of the names that --help lists";
	case ARG_STRS:
		return set_list(to, j) == 0 ? NULL : "an array of strings";
	default:
		*(const char **)to = j->type == JSON_STRING ?
			xmemdup0(j->str.p, j->str.n) : NULL;
		return j->type == JSON_STRING || j->type == JSON_NULL ? NULL :
			"a string or null";
	}
}

static int
set_option(struct options *o, size_t row, const struct json *j,
	   const char *path, struct err *e)
{
	const struct spec *s = &options_specs[row];
	const char *expected = set_value(s, options_at(o, s), j);
	double lo = s->arg.lo, hi = s->arg.hi;

	if (expected)
		return err_set(e, "%s: %.*s: expected %s", path, (int)j->key.n,
			       j->key.p, expected);
	if (j->type == JSON_NUMBER && (lo != 0 || hi != 0) &&
	    !(j->num >= lo && j->num <= hi))
		return err_set(e, "%s: %.*s: %g is out of range (%g to %g)",
			       path, (int)j->key.n, j->key.p, j->num, lo, hi);
	o->in_file[row] = 1;
	return 0;
}

/* Keys in run/config.json that are not options. */
static int
is_extra(struct span key)
{
	static const char *const extra[] = {"world_size", "data_hash",
		"val_hash", "derived", "version", "mixture"};
	size_t i;

	for (i = 0; i < sizeof extra / sizeof *extra; i++)
		if (span_eq(key, span_str(extra[i])))
			return 1;
	return 0;
}

/*
 * --preset replaces the whole shape of a file: config.json of a run has every
 * resolved dimension, which would otherwise override the preset.
 */
static int
preset_replaces(const struct options *o, size_t row)
{
	size_t preset = options_find(span_str("preset"));

	return o->given[preset] && row > preset &&
		row <= options_find(span_str("intermediate-size"));
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
		size_t row = options_find(v->kids[i].str);

		if (v->kids[i].type != JSON_STRING || row == options_nspecs)
			return err_set(e, "%s: derived: element %zu is not the"
				       " name of an option", path, i + 1);
		o->derived[row] = 1;
	}
	return 0;
}

static int
read_member(struct options *o, const struct json *j, int all,
	    const char *path, struct err *e)
{
	size_t row = options_find(j->key);

	if (is_extra(j->key))
		return 0;
	if (row == options_nspecs || options_specs[row].flags & START)
		return err_set(e, "%s: %.*s is not an option that can be set"
			       " in a file", path, (int)j->key.n, j->key.p);
	if (o->given[row] || preset_replaces(o, row) ||
	    (!all && o->derived[row]))
		return 0;
	return set_option(o, row, j, path, e);
}

int
options_load(struct options *o, const char *path, int all, struct err *e)
{
	struct json *root = json_load(path, e);
	size_t i;
	int rc;

	if (!root)
		return -1;
	rc = root->type == JSON_OBJECT ? read_derived(o, root, path, e) :
		err_set(e, "%s: not a JSON object", path);
	for (i = 0; rc == 0 && i < root->n; i++)
		rc = read_member(o, &root->kids[i], all, path, e);
	json_free(root);
	return rc;
}

/* ---- writing ---- */

static void
put_list(const struct arg_list *l, struct buf *b)
{
	size_t i;

	buf_putc(b, '[');
	for (i = 0; i < l->n; i++) {
		buf_puts(b, i ? ", " : "");
		json_put_str(b, span_str(l->v[i]));
	}
	buf_putc(b, ']');
}

void
options_put(const struct spec *s, const struct options *o, struct buf *b)
{
	const void *p = options_at(o, s);
	const char *str;

	switch (s->arg.type) {
	case ARG_INT:
		json_put_int(b, *(const int64_t *)p);
		break;
	case ARG_REAL:
		json_put_real(b, *(const double *)p);
		break;
	case ARG_FLAG:
	case ARG_BOOL:
		buf_puts(b, *(const int *)p ? "true" : "false");
		break;
	case ARG_ENUM:
		json_put_str(b, span_str(s->arg.choices[*(const int *)p]));
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

void
options_put_key(const struct spec *s, struct buf *b)
{
	const char *p;

	for (p = s->arg.name; *p; p++)
		buf_putc(b, *p == '-' ? '_' : *p);
}

void
options_json(const struct options *o, struct buf *b)
{
	const struct spec *s = options_specs;
	const char *quote = "\"";
	size_t i;

	for (i = 0; i < options_nspecs; i++) {
		if (s[i].flags & START)
			continue;
		buf_putc(b, '"');
		options_put_key(&s[i], b);
		buf_puts(b, "\": ");
		options_put(&s[i], o, b);
		buf_puts(b, ",\n  ");
	}
	buf_puts(b, "\"derived\": [");
	for (i = 0; i < options_nspecs; i++) {
		if (!o->derived[i])
			continue;
		buf_puts(b, quote);
		options_put_key(&s[i], b);
		buf_putc(b, '"');
		quote = ", \"";
	}
	buf_putc(b, ']');
}
