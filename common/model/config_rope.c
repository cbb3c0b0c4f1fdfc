/*
 * config_rope.c - the keys of RoPE in config.json
 *
 * transformers 4 writes rope_theta and rope_scaling, transformers 5 one table
 * rope_parameters; a scaling names its type in "rope_type", older ones in
 * "type".  If two spellings are present and differ, that is an error: a reader
 * that knows only one of them would use wrong angles, which costs 0.7 nats
 * per token.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "model/config_priv.h"

/* Keys of all types; those of other types are ignored, as by transformers. */
static const char *const known[] = {"rope_type", "type", "rope_theta",
	"factor", "original_max_position_embeddings", "attention_factor",
	"beta_fast", "beta_slow", "mscale", "mscale_all_dim", "truncate",
	"low_freq_factor", "high_freq_factor", "finetuned",
	"partial_rotary_factor", NULL};

static int
is_known(struct span key)
{
	size_t i;

	for (i = 0; known[i]; i++)
		if (span_eq(key, span_str(known[i])))
			return 1;
	return 0;
}

static int
check_keys(struct config_reader *r, const char *table)
{
	const struct json *v = config_value(r, table);
	size_t i;

	for (i = 0; i < v->n; i++) {
		const struct json *m = &v->kids[i];

		if (m->type != JSON_NULL && !is_known(m->key))
			return err_set(r->e, "%s: %s has the key \"%.*s\","
				       " which is not supported", r->path,
				       table,
				       (int)(m->key.n > 40 ? 40 : m->key.n),
				       m->key.p);
		if (span_eq(m->key, span_str("partial_rotary_factor")) &&
		    m->type != JSON_NULL && m->num != 1)
			return config_refuse(r, table, "has a"
					     " partial_rotary_factor other"
					     " than 1");
	}
	return 0;
}

/* The type is that of rope_type, else of type; they may not disagree. */
static int
get_type(struct config_reader *r, const char *table, struct rope_scaling *s)
{
	const struct json *t = config_value(r, table);
	const struct json *a = json_get(t, "rope_type");
	const struct json *b = json_get(t, "type");
	int i;

	if (!a || a->type == JSON_NULL)
		a = b;
	if (!b || b->type == JSON_NULL)
		b = a;
	if (!a || a->type == JSON_NULL)
		return 0;
	if (a->type != JSON_STRING || b->type != JSON_STRING)
		return config_refuse(r, table, "has a type that is not a"
				     " string");
	if (!span_eq(a->str, b->str))
		return err_set(r->e, "%s: %s has the rope_type \"%.*s\", but"
			       " the type \"%.*s\"", r->path, table,
			       (int)a->str.n, a->str.p, (int)b->str.n,
			       b->str.p);
	for (i = 0; i < ROPE_TYPES; i++)
		if (span_eq(a->str, span_str(rope_names[i]))) {
			s->type = (enum rope_type)i;
			return 0;
		}
	return err_set(r->e, "%s: %s has the type \"%.*s\", which is not"
		       " supported (default, linear, dynamic, yarn and llama3"
		       " are)", r->path, table, (int)a->str.n, a->str.p);
}

/* A number of the table, above 0; fallback < 0: it must be there. */
static int
get(struct config_reader *r, const char *table, const char *key,
    double fallback, double *to)
{
	char *path = xstrf("%s.%s", table, key);
	int rc = 0;

	*to = fallback;
	if (!config_value(r, path) && fallback < 0)
		rc = err_set(r->e, "%s: %s is missing", r->path, path);
	else if (config_real(r, path, to) < 0)
		rc = -1;
	else if (!(*to > 0) || !isfinite(*to))
		rc = err_set(r->e, "%s: %s is %g, expected > 0", r->path, path,
			     *to);
	free(path);
	return rc;
}

/* Positions before the extension: the key may be in the table or outside. */
static int
get_original(struct config_reader *r, const char *table, int64_t max_pos,
	     int64_t *to)
{
	static const char key[] = "original_max_position_embeddings";
	char *path = xstrf("%s.%s", table, key);
	int rc = config_int(r, config_value(r, key) ? key : path, to, 0);

	if (rc == 0 && !config_value(r, key) && !config_value(r, path))
		*to = max_pos;
	if (rc == 0 && *to < 1)
		rc = err_set(r->e, "%s: %s is %" PRId64 ", expected > 0",
			     r->path, key, *to);
	free(path);
	return rc;
}

static int
get_yarn(struct config_reader *r, const char *table, int64_t max_pos,
	 struct rope_scaling *s)
{
	const struct json *t = config_value(r, table);
	const struct json *truncate = json_get(t, "truncate");
	const struct json *fast = json_get(t, "beta_fast");
	const struct json *slow = json_get(t, "beta_slow");
	const struct json *m = json_get(t, "mscale");
	const struct json *all = json_get(t, "mscale_all_dim");
	double ratio;

	if (get_original(r, table, max_pos, &s->original) < 0)
		return -1;
	ratio = (double)max_pos / (double)s->original;
	/* null is the ratio of the positions, absent an error */
	if (get(r, table, "factor", json_get(t, "factor") ? ratio : -1,
		&s->factor) < 0)
		return -1;
	s->beta_fast = fast && fast->num != 0 ? fast->num : 32;
	s->beta_slow = slow && slow->num != 0 ? slow->num : 1;
	s->truncate = !truncate || truncate->type != JSON_FALSE;
	return get(r, table, "attention_factor",
		   rope_attention(s->factor, m ? m->num : 0,
				  all ? all->num : 0), &s->attention);
}

static int
get_table(struct config_reader *r, const char *table, int64_t max_pos,
	  struct rope_scaling *s)
{
	const struct json *v = config_value(r, table);

	memset(s, 0, sizeof *s);
	if (v->type != JSON_OBJECT)
		return config_refuse(r, table, "is not an object");
	if (check_keys(r, table) < 0 || get_type(r, table, s) < 0)
		return -1;
	switch (s->type) {
	case ROPE_LINEAR:
	case ROPE_DYNAMIC:
		return get(r, table, "factor", -1, &s->factor);
	case ROPE_YARN:
		return get_yarn(r, table, max_pos, s);
	case ROPE_LLAMA3:
		if (get(r, table, "factor", -1, &s->factor) < 0 ||
		    get(r, table, "low_freq_factor", -1, &s->low) < 0 ||
		    get(r, table, "high_freq_factor", -1, &s->high) < 0 ||
		    get_original(r, table, max_pos, &s->original) < 0)
			return -1;
		return s->high > s->low ? 0 :
			config_refuse(r, table, "has a high_freq_factor that is"
				      " not above low_freq_factor");
	default:
		return 0;
	}
}

static int
get_theta(struct config_reader *r, double *theta)
{
	const struct json *old = config_value(r, "rope_theta");
	const struct json *new = config_value(r, "rope_parameters.rope_theta");

	if (!new)	/* an older name of the same table */
		new = config_value(r, "rope_scaling.rope_theta");
	*theta = 10000;
	if (config_real(r, "rope_theta", theta) < 0)
		return -1;
	if (new && new->type != JSON_NUMBER)
		return config_refuse(r, "rope_parameters", "has a rope_theta"
				     " that is not a number");
	if (new && old && new->num != *theta)
		return err_set(r->e, "%s: rope_theta is %g, but %g in"
			       " rope_parameters", r->path, *theta, new->num);
	if (new)
		*theta = new->num;
	return 0;
}

int
config_rope(struct config_reader *r, struct model_config *c)
{
	static const char *const tables[] = {"rope_scaling",
		"rope_parameters"};
	struct rope_scaling s[2];
	int n = 0, i;

	for (i = 0; i < 2; i++) {
		const struct json *v = config_value(r, tables[i]);

		if (!v || (v->type == JSON_OBJECT && v->n == 0))
			continue;
		if (get_table(r, tables[i], c->max_pos, &s[n++]) < 0)
			return -1;
	}
	if (n == 2 && memcmp(&s[0], &s[1], sizeof s[0]))
		return err_set(r->e, "%s: rope_scaling and rope_parameters"
			       " differ", r->path);
	if (n)
		c->rope = s[0];
	if (c->rope.type == ROPE_DYNAMIC && c->head_dim <= 2)
		return config_refuse(r, "rope_scaling", "is dynamic with a head"
				     " dimension of 2");
	return get_theta(r, &c->rope_theta);
}

/* ---- writing ---- */

static void
put_real(struct buf *b, const char *key, double x)
{
	buf_printf(b, ", \"%s\": ", key);
	json_put_real(b, x);
}

static void
put_table(const struct model_config *c, int theta, struct buf *b)
{
	const struct rope_scaling *s = &c->rope;

	buf_printf(b, "{\"rope_type\": \"%s\"", rope_names[s->type]);
	if (theta)
		put_real(b, "rope_theta", c->rope_theta);
	if (s->type != ROPE_DEFAULT)
		put_real(b, "factor", s->factor);
	if (s->type == ROPE_YARN) {
		put_real(b, "attention_factor", s->attention);
		put_real(b, "beta_fast", s->beta_fast);
		put_real(b, "beta_slow", s->beta_slow);
		buf_printf(b, ", \"truncate\": %s",
			   s->truncate ? "true" : "false");
	}
	if (s->type == ROPE_LLAMA3) {
		put_real(b, "low_freq_factor", s->low);
		put_real(b, "high_freq_factor", s->high);
	}
	if (s->original)
		buf_printf(b, ", \"original_max_position_embeddings\": %"
			   PRId64, s->original);
	buf_putc(b, '}');
}

void
config_rope_json(const struct model_config *c, struct buf *b)
{
	buf_puts(b, "  \"rope_theta\": ");
	json_put_real(b, c->rope_theta);
	buf_puts(b, ",\n  \"rope_scaling\": ");
	if (c->rope.type == ROPE_DEFAULT)
		buf_puts(b, "null");
	else
		put_table(c, 0, b);
	buf_puts(b, ",\n  \"rope_parameters\": ");
	put_table(c, 1, b);
	buf_puts(b, ",\n");
}
