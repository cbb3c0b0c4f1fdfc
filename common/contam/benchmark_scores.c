/*
 * benchmark_scores.c - scores of a model, joined to the examples
 *
 * Examples are looked up by "benchmark NUL id".  Those with equal keys share
 * the score of the first.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "contam/benchmark_priv.h"
#include "record/names.h"
#include "stream/input.h"
#include "stream/json.h"

struct join {
	struct benchmarks *b;
	const char *path;
	struct buf bytes;	/* of the keys */
	struct span *key;	/* [b->nex] */
	uint32_t *same;		/* [b->nex] the first example of that key */
	struct name_table table;
	struct json_reader *json;
	struct err *e;
};

static void
put_key(struct buf *out, struct span benchmark, struct span id)
{
	buf_put(out, benchmark.p, benchmark.n);
	buf_putc(out, 0);
	if (id.n)
		buf_put(out, id.p, id.n);
}

static void
join_init(struct join *j)
{
	const struct benchmarks *b = j->b;
	struct buf tmp = {0};
	size_t i, at = 0;
	int64_t first;

	j->key = xcalloc(b->nex + 1, sizeof(*j->key));
	j->same = xcalloc(b->nex + 1, sizeof(*j->same));
	for (i = 0; i < b->nex; i++) {
		put_key(&j->bytes, span_str(b->v[b->ex[i].of].name),
			benchmark_id(b, &b->ex[i], &tmp));
		j->key[i].n = j->bytes.n;	/* where it ends, for now */
	}
	names_init(&j->table, j->key, b->nex);
	for (i = 0; i < b->nex; i++) {
		j->key[i] = (struct span){j->bytes.p + at, j->key[i].n - at};
		at += j->key[i].n;
		first = names_find(&j->table, j->key[i]);
		if (first < 0)
			names_add(&j->table, (uint32_t)i);
		j->same[i] = (uint32_t)(first < 0 ? (int64_t)i : first);
	}
	j->json = json_reader_new();
	buf_clear(&tmp);
}

static void
join_clear(struct join *j)
{
	json_reader_free(j->json);
	names_clear(&j->table);
	free(j->key);
	free(j->same);
	buf_clear(&j->bytes);
}

static int
fail(const struct join *j, uint64_t line, const char *what)
{
	return err_set(j->e, "%s:%llu: %s", j->path, (unsigned long long)line,
		       what);
}

static double
score_of(const struct json_pick *v)
{
	struct span s = benchmark_scalar(v);
	char tmp[64];

	if (v->type == JSON_TRUE || v->type == JSON_FALSE)
		return v->type == JSON_TRUE;
	if (v->type != JSON_NUMBER)
		return NAN;
	snprintf(tmp, sizeof(tmp), "%.*s", (int)s.n, s.p);
	return strtod(tmp, NULL);
}

static int
join_line(struct join *j, struct span s, uint64_t line)
{
	static const char *const keys[] = {
		"benchmark", "example", "id", "score"
	};
	struct span benchmark, id;
	struct json_pick v[4];
	uint64_t surrogates = 0;
	struct buf key = {0};
	struct err e = {0};
	double score;
	int64_t at;

	if (json_read(j->json, s.p, s.n, keys, 4, v, &surrogates, &e))
		return fail(j, line, e.msg);
	score = score_of(&v[3]);
	if (!isfinite(score))
		return fail(j, line, "\"score\" is not a number, true or "
			    "false");
	id = benchmark_scalar(v[1].present ? &v[1] : &v[2]);
	if (!id.p)
		return fail(j, line, "no id in \"example\" or \"id\"");
	benchmark = benchmark_scalar(&v[0]);
	if (!benchmark.p && j->b->n != 1)
		return fail(j, line, "no \"benchmark\", and there are several");
	if (!benchmark.p)
		benchmark = span_str(j->b->v[0].name);
	put_key(&key, benchmark, id);
	at = names_find(&j->table, buf_span(&key));
	buf_clear(&key);
	if (at < 0 || j->b->ex[at].scored)
		return err_set(j->e, "%s:%llu: benchmark %.*s %s %.*s",
			       j->path, (unsigned long long)line,
			       (int)(benchmark.n < 200 ? benchmark.n : 200),
			       benchmark.p, at < 0 ? "has no example" :
			       "already has a score for example",
			       (int)(id.n < 200 ? id.n : 200), id.p);
	j->b->ex[at].score = score;
	j->b->ex[at].scored = 1;
	return 0;
}

static int
join_all(struct join *j, struct span all)
{
	struct benchmark_example *ex = j->b->ex;
	uint64_t number = 0;
	struct span line;
	size_t i;

	while (number++, span_line(&all, &line))
		if (!span_is_blank(line) && join_line(j, line, number))
			return -1;
	for (i = 0; i < j->b->nex; i++) {
		ex[i].score = ex[j->same[i]].score;
		ex[i].scored = ex[j->same[i]].scored;
	}
	return 0;
}

int
benchmark_read_scores(struct benchmarks *b, const char *path, struct err *e)
{
	struct join j = {.b = b, .path = path, .e = e};
	char *data;
	size_t n, bom;
	int rc;

	if (benchmark_check_names(b, e) || input_slurp(path, &data, &n, e))
		return -1;
	join_init(&j);
	bom = n >= 3 && !memcmp(data, "\xef\xbb\xbf", 3) ? 3 : 0;
	rc = join_all(&j, (struct span){data + bom, n - bom});
	join_clear(&j);
	free(data);
	return rc;
}
