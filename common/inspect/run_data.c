/*
 * run_data.c - data and order of a training run, from its config.json
 */
#include "inspect/run_data.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/path.h"
#include "stream/json.h"

/* The index of a name in a list; if absent *to is unchanged. */
static int
choice(const struct json *j, const char *key, const char *const *names,
       int *to, const char *path, struct err *e)
{
	struct span s = {NULL, 0};
	int i;

	if (json_get_str(j, key, &s, e) < 0)
		return -1;
	for (i = 0; s.p && names[i]; i++)
		if (span_eq(s, span_str(names[i]))) {
			*to = i;
			return 0;
		}
	return s.p ? err_set(e, "%s: \"%s\" is %.*s", path, key, (int)s.n,
			     s.p) : 0;
}

/* A string, or NULL if it is null or absent. */
static char *
string(const struct json *root, const char *key)
{
	const struct json *j = json_get(root, key);

	return j && j->type == JSON_STRING ? xmemdup0(j->str.p, j->str.n) :
	       NULL;
}

static int
data_paths(struct run_data *r, const struct json *root, const char *path,
	   struct err *e)
{
	const struct json *d = json_get(root, "data");
	size_t i;

	if (!d || d->type != JSON_ARRAY || d->n == 0)
		return err_set(e, "%s: \"data\" is not an array of paths",
			       path);
	r->paths = xreallocarray(NULL, d->n, sizeof(*r->paths));
	for (i = 0; i < d->n; i++) {
		if (d->kids[i].type != JSON_STRING)
			return err_set(e, "%s: \"data\" is not an array of "
				       "paths", path);
		r->paths[r->npaths++] = xmemdup0(d->kids[i].str.p,
						 d->kids[i].str.n);
	}
	return 0;
}

static int
numbers(struct run_data *r, const struct json *root, const char *path,
	struct err *e)
{
	int64_t T = 0, B = 0, seed = -1, world = 1;
	int format = SHARD_AUTO, order = ORDER_SHUFFLE;

	r->doc_mask = 1;
	if (choice(root, "shard_format", shard_format_names, &format, path,
		   e) < 0 ||
	    choice(root, "order", order_names, &order, path, e) < 0 ||
	    json_get_int(root, "seq_len", &T, e) < 0 ||
	    json_get_int(root, "batch_size", &B, e) < 0 ||
	    json_get_int(root, "seed", &seed, e) < 0 ||
	    json_get_int(root, "world_size", &world, e) < 0 ||
	    json_get_bool(root, "doc_mask", &r->doc_mask, e) < 0)
		return -1;
	if (T < 1 || T > 1 << 30 || B < 1 || seed < 0 || world < 1)
		return err_set(e, "%s: \"seq_len\", \"batch_size\", \"seed\" "
			       "or \"world_size\" is missing or out of range",
			       path);
	r->format = (enum shard_format)format;
	r->order = (enum order_kind)order;
	r->seq_len = (uint32_t)T;
	r->batch_size = (uint64_t)B;
	r->seed = (uint64_t)seed;
	r->world_size = (uint64_t)world;
	return 0;
}

static int
data_hash(struct run_data *r, const struct json *root, const char *path,
	  struct err *e)
{
	char *s = string(root, "data_hash"), *end;

	if (!s)
		return 0;
	r->hash = strtoull(s, &end, 16);
	r->has_hash = 1;
	if (*end || end != s + 16)
		err_set(e, "%s: \"data_hash\" is %s, expected 16 hex digits",
			path, s);
	free(s);
	return e->set ? -1 : 0;
}

int
run_data_load(struct run_data *r, const char *dir, struct err *e)
{
	char *path = path_join(dir, "config.json");
	struct json *root;
	int bad = -1;

	memset(r, 0, sizeof(*r));
	root = json_load(path, e);
	if (root && data_paths(r, root, path, e) == 0 &&
	    numbers(r, root, path, e) == 0 &&
	    data_hash(r, root, path, e) == 0) {
		r->tokenizer = string(root, "tokenizer");
		r->split = string(root, "split");
		bad = 0;
	}
	json_free(root);
	free(path);
	return bad;
}

void
run_data_clear(struct run_data *r)
{
	while (r->npaths)
		free((char *)(uintptr_t)r->paths[--r->npaths]);
	free(r->paths);
	free(r->tokenizer);
	free(r->split);
}
