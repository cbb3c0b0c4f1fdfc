/*
 * benchmark_join.c - scores in, subsets out
 *
 * Examples are found by benchmark and id in one sorted list.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/input.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/output.h"
#include "contam/benchmark_report.h"

/* --- scores --- */

struct key {
	const char *name;	/* of the benchmark */
	struct span id;
	size_t ex;
};

struct join {
	struct benches *b;
	const char *path;
	struct key *key;	/* sorted */
	struct buf ids;		/* those that were built */
	struct json_reader *json;
	struct err *e;
};

static int
by_key(const void *a, const void *b)
{
	const struct key *x = a, *y = b;
	size_t n = x->id.n < y->id.n ? x->id.n : y->id.n;
	int d = strcmp(x->name, y->name);

	if (!d && n)
		d = memcmp(x->id.p, y->id.p, n);
	if (!d)
		d = (x->id.n > y->id.n) - (x->id.n < y->id.n);
	return d;
}

static void
make_keys(struct join *j)
{
	const struct benches *b = j->b;
	struct buf tmp = {0};
	size_t i, *at = xreallocarray(NULL, b->nex + 1, sizeof(*at));

	j->key = xreallocarray(NULL, b->nex + 1, sizeof(*j->key));
	for (i = 0; i < b->nex; i++) {
		struct span id = bench_id(b, &b->ex[i], &tmp);

		at[i] = j->ids.n;
		buf_put(&j->ids, id.p, id.n);
		j->key[i] = (struct key){b->v[b->ex[i].of].name,
					 {NULL, id.n}, i};
	}
	for (i = 0; i < b->nex; i++)
		j->key[i].id.p = j->ids.p + at[i];
	if (b->nex)
		qsort(j->key, b->nex, sizeof(*j->key), by_key);
	free(at);
	buf_clear(&tmp);
}

static int
fail(const struct join *j, uint64_t line, const char *what)
{
	return err_set(j->e, "%s:%llu: %s", j->path, (unsigned long long)line,
		       what);
}

static struct span
text_of(const struct json_pick *v)
{
	struct span s = {NULL, 0};

	if (v->present && v->type == JSON_STRING)
		return v->str;
	if (!v->present || v->type != JSON_NUMBER)
		return s;
	for (s = v->raw; s.n && strchr(" \t\r", s.p[s.n - 1]); s.n--)
		;
	return s;
}

static double
score_of(const struct json_pick *v)
{
	char tmp[64];
	size_t n = v->raw.n < sizeof(tmp) - 1 ? v->raw.n : sizeof(tmp) - 1;

	if (v->type == JSON_TRUE || v->type == JSON_FALSE)
		return v->type == JSON_TRUE;
	if (!v->present || v->type != JSON_NUMBER)
		return NAN;
	memcpy(tmp, v->raw.p, n);
	tmp[n] = 0;
	return strtod(tmp, NULL);
}

/* Give x to every example of that key: 1; 0: there is none; -1: it has one. */
static int
give(struct join *j, const struct key *k, double x)
{
	size_t lo = 0, hi = j->b->nex, mid;
	int n = 0;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (by_key(&j->key[mid], k) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < j->b->nex && !by_key(&j->key[lo], k); lo++, n = 1) {
		struct bench_example *ex = &j->b->ex[j->key[lo].ex];

		if (ex->scored)
			return -1;
		ex->score = x;
		ex->scored = 1;
	}
	return n;
}

static int
join_line(struct join *j, const char *p, size_t n, uint64_t line)
{
	static const char *const keys[] = {
		"benchmark", "example", "id", "score"
	};
	struct json_pick v[4];
	uint64_t surrogates = 0;
	struct err e = {0};
	struct span bench;
	struct key k = {0};
	char *name;
	double x;
	int given;

	if (json_read(j->json, p, n, keys, 4, v, &surrogates, &e))
		return fail(j, line, e.msg);
	x = score_of(&v[3]);
	if (!isfinite(x))
		return fail(j, line, "\"score\" is no number, true or false");
	k.id = text_of(v[1].present ? &v[1] : &v[2]);
	if (!k.id.p)
		return fail(j, line, "no id in \"example\" or \"id\"");
	bench = text_of(&v[0]);
	if (!bench.p && j->b->n != 1)
		return fail(j, line, "no \"benchmark\", and there are several");
	name = bench.p ? xmemdup0(bench.p, bench.n)
		       : xstrdup(j->b->v[0].name);
	k.name = name;
	given = give(j, &k, x);
	if (given <= 0)
		err_set(j->e, "%s:%llu: benchmark %.200s %s %.*s", j->path,
			(unsigned long long)line, name, given ?
			"has a score already for example" : "has no example",
			(int)(k.id.n < 200 ? k.id.n : 200), k.id.p);
	free(name);
	return given > 0 ? 0 : -1;
}

static int
check_names(const struct benches *b, const char *what, struct err *e)
{
	size_t i, k;

	for (i = 0; i < b->n; i++)
		for (k = 0; k < i; k++)
			if (!strcmp(b->v[i].name, b->v[k].name))
				return err_set(e, "%s: two benchmarks are "
					       "called %s: %s and %s (rename "
					       "one)", what, b->v[i].name,
					       b->v[k].path, b->v[i].path);
	return 0;
}

static int
is_blank(const char *p, size_t n)
{
	while (n && strchr(" \t\r", *p) && *p)
		p++, n--;
	return n == 0;
}

static int
join_all(struct join *j, const char *p, size_t n)
{
	const char *end = p + n, *lf;
	uint64_t line = 1;

	for (; p < end; p = lf + 1, line++) {
		lf = memchr(p, '\n', (size_t)(end - p));
		if (!lf)
			lf = end;
		if (!is_blank(p, (size_t)(lf - p)) &&
		    join_line(j, p, (size_t)(lf - p), line))
			return -1;
	}
	return 0;
}

int
bench_scores(struct benches *b, const char *path, struct err *e)
{
	struct join j = {.b = b, .path = path, .e = e};
	char *data;
	size_t n, bom;
	int rc;

	if (check_names(b, "--scores", e) || input_slurp(path, &data, &n, e))
		return -1;
	make_keys(&j);
	j.json = json_reader_new();
	bom = n >= 3 && !memcmp(data, "\xef\xbb\xbf", 3) ? 3 : 0;
	rc = join_all(&j, data + bom, n - bom);
	json_reader_free(j.json);
	free(j.key);
	buf_clear(&j.ids);
	free(data);
	return rc;
}

/* --- subsets --- */

/* One line: what was an element of an array loses its line ends. */
static int
write_example(struct output *o, const struct bench *v,
	      const struct bench_example *x, struct buf *line, struct err *e)
{
	int element = v->form == BENCH_JSON, string;
	size_t i;

	string = element && x->raw.n && *x->raw.p == '"';
	buf_reset(line);
	buf_puts(line, string ? "{\"text\":" : "");
	buf_put(line, x->raw.p, x->raw.n);
	for (i = 0; element && i < line->n; i++)
		if (line->p[i] == '\n' || line->p[i] == '\r')
			line->p[i] = ' ';
	buf_puts(line, string ? "}\n" : "\n");
	return output_write(o, line->p, line->n, e);
}

/* The folders in the name of a benchmark, made in dir. */
static int
make_folders(const char *dir, const char *name, struct err *e)
{
	struct buf path = {0};
	const char *slash;
	int rc = 0;

	for (slash = name; !rc && (slash = strchr(slash, '/')); slash++) {
		buf_reset(&path);
		buf_printf(&path, "%s/%.*s%c", dir, (int)(slash - name), name,
			   0);
		if (mkdir(path.p, 0777) && errno != EEXIST)
			rc = err_sys(e, errno, "%s", path.p);
	}
	buf_clear(&path);
	return rc;
}

static struct output *
write_subset(const struct benches *b, const struct bench *v, const char *dir,
	     enum bench_class c, struct err *e)
{
	static const char *const names[] = {"clean", "dirty", "short"};
	struct buf path = {0}, line = {0};
	struct output *o;
	size_t i;
	int rc = 0;

	buf_printf(&path, "%s/%s.%s.%s", dir, v->name, names[c],
		   v->form == BENCH_TEXT ? "txt" : "jsonl");
	buf_putc(&path, 0);
	o = output_open(path.p, e);
	for (i = v->first; o && !rc && i < v->first + v->n; i++)
		if (bench_class(&b->ex[i]) == c)
			rc = write_example(o, v, &b->ex[i], &line, e);
	if (o && !rc)
		rc = output_finish(o, e);
	if (o && rc) {
		output_abort(o);
		o = NULL;
	}
	buf_clear(&path);
	buf_clear(&line);
	return o;
}

int
bench_subsets(const struct benches *b, const char *dir, struct err *e)
{
	struct output **o;
	size_t i, n = 0;
	int c, rc = 0;

	if (check_names(b, "--subsets", e))
		return -1;
	if (mkdir(dir, 0777) && errno != EEXIST)
		return err_sys(e, errno, "%s", dir);
	o = xreallocarray(NULL, 3 * b->n + 1, sizeof(*o));
	for (i = 0; i < b->n && !rc; i++) {
		rc = make_folders(dir, b->v[i].name, e);
		for (c = 0; c < 3 && !rc; c++) {
			o[n] = write_subset(b, &b->v[i], dir, c, e);
			if (o[n])
				n++;
			else
				rc = -1;
		}
	}
	if (!rc)
		rc = output_commit_all(o, n, e);
	else
		while (n)
			output_abort(o[--n]);
	free(o);
	return rc;
}
