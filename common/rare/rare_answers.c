/*
 * rare_answers.c - see rare_answers.h
 */
#include "rare/rare_answers.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/path.h"
#include "stream/input.h"
#include "stream/json.h"

enum { MOST_AHEAD = 64 };

const char *const rare_verdict_names[] = {
	"", "strong_rejected", "weak_rejected", "verification_encoding_failed",
	"strong_verified", "weak_verified"
};

struct reading {
	struct rare_answers *a;
	const struct rare *r;
	const struct rare_prompts *p;
	uint8_t *had;		/* [n] bit k: prompt k was answered */
};

/* "X/K" to X and K, from 0. */
static int
parse_prompt(struct span s, uint32_t *id, int *k)
{
	char text[16];
	const char *p = text;

	if (s.n == 0 || s.n >= sizeof(text))
		return -1;
	memcpy(text, s.p, s.n);
	text[s.n] = 0;
	if (rare_parse_id(&p, id) || *p++ != '/' || p + 1 != text + s.n)
		return -1;
	*k = *p - '1';
	return *k >= 0 && *k < RARE_PROMPTS ? 0 : -1;
}

/* Of a log probability, where null is that of 0.  -1: it is neither. */
static double
probability(const struct json *x)
{
	if (x->type == JSON_NULL)
		return 0;
	return x->type == JSON_NUMBER && x->num <= 1e-3 ? exp(x->num) : -1;
}

/* The greatest of "ahead", else that of "logprob"; -1: neither is valid. */
static double
greatest(const struct json *line)
{
	const struct json *ahead = json_get(line, "ahead");
	const struct json *one = json_get(line, "logprob");
	double most = -1, x;
	size_t i;

	if (!ahead)
		return one && one->type == JSON_NUMBER ? probability(one) : -1;
	if (ahead->type != JSON_ARRAY || ahead->n > MOST_AHEAD)
		return -1;
	for (i = 0; i < ahead->n; i++) {
		x = probability(&ahead->kids[i]);
		if (x < 0)
			return -1;
		most = x > most ? x : most;
	}
	return most;
}

static int
answer(struct reading *g, const struct json *line, struct err *e)
{
	double x = greatest(line);
	struct span s = {0};
	uint32_t id;
	int k;

	if (json_get_str(line, "id", &s, e) || parse_prompt(s, &id, &k))
		return err_set(e, "expected an id that the prompts have, such "
			       "as \"7/1\"");
	if (x < 0)
		return err_set(e, "expected log-probabilities, as lm-sample "
			       "prints them");
	if (id >= g->r->n || !rare_is(g->r, id, RARE_SUSPICIOUS) ||
	    !g->p->made[k])
		return err_set(e, "%u/%d was not asked: is it the answer for "
			       "this model, with these options?", id, k + 1);
	if (g->had[id] & 1 << k)
		return err_set(e, "%u/%d occurs twice", id, k + 1);
	g->had[id] |= (uint8_t)(1 << k);
	if (x > g->a->max_prob[id])
		g->a->max_prob[id] = x;
	return 0;
}

static int
read_lines(struct reading *g, const char *path, const char *name,
	   struct err *e)
{
	struct span rest, line;
	struct err why;
	struct json *j;
	char *text;
	uint64_t no = 0;
	int rc = 0;

	if (input_slurp(path, &text, &rest.n, e))
		return -1;
	rest.p = text;
	while (rc == 0 && span_line(&rest, &line)) {
		no++;
		if (strspn(line.p, " \t\r") >= line.n)
			continue;
		why.set = 0;
		j = json_parse(line.p, line.n, "the line", &why);
		if (!j || answer(g, j, &why))
			rc = err_set(e, "%s:%" PRIu64 ": %s", name, no,
				     why.msg);
		json_free(j);
	}
	free(text);
	return rc;
}

static enum rare_verdict
verdict(double p, int encodable)
{
	return p > 0.9 ? VERDICT_STRONG_REJECTED :
	       p > 0.1 ? VERDICT_WEAK_REJECTED :
	       !encodable ? VERDICT_ENCODING_FAILED :
	       p < 0.001 ? VERDICT_STRONG_VERIFIED : VERDICT_WEAK_VERIFIED;
}

int
rare_answers_read(struct rare_answers *a, const struct rare *r,
		  const struct rare_prompts *p, const char *path,
		  struct err *e)
{
	struct reading g = {.a = a, .r = r, .p = p};
	const char *name = path_is_std(path) ? "<stdin>" : path;
	uint32_t id;
	int k, rc;

	g.had = xcalloc((size_t)r->n + 1, 1);
	a->max_prob = xreallocarray(NULL, (size_t)r->n + 1, sizeof(double));
	a->verdict = xcalloc((size_t)r->n + 1, 1);
	for (id = 0; id < r->n; id++)
		a->max_prob[id] = -1;
	rc = read_lines(&g, path, name, e);
	for (id = 0; id < r->n && rc == 0; id++) {
		if (!rare_is(r, id, RARE_SUSPICIOUS))
			continue;
		for (k = 0; k < RARE_PROMPTS && rc == 0; k++)
			if (p->made[k] && !(g.had[id] >> k & 1))
				rc = err_set(e, "%s: the answer to %u/%d is "
					     "missing", name, id, k + 1);
		a->verdict[id] = (uint8_t)verdict(a->max_prob[id],
					rare_prompts_encode(p, r, id));
	}
	free(g.had);
	if (rc)
		rare_answers_clear(a);
	return rc;
}

void
rare_answers_clear(struct rare_answers *a)
{
	free(a->max_prob);
	free(a->verdict);
	memset(a, 0, sizeof(*a));
}
