/*
 * run_data.c - data and order of a training run, from its folder
 */
#include "inspect/run_data.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/path.h"
#include "record/trainlog.h"
#include "stream/json.h"

/* A string, or NULL if it is null or absent. */
static char *
string(const struct json *root, const char *key)
{
	const struct json *j = json_get(root, key);

	return j && j->type == JSON_STRING ? xmemdup0(j->str.p, j->str.n) :
	       NULL;
}

static int
read_config(struct run_data *r, const char *path, struct plan_part *now,
	    struct err *e)
{
	struct json *root = json_load(path, e);
	int64_t world = 1;
	int bad = -1;

	if (root && plan_part_read(now, root, path, e) == 0 &&
	    json_get_int(root, "world_size", &world, e) == 0)
		bad = world < 1 ? err_set(e, "%s: \"world_size\" is %lld",
					  path, (long long)world) : 0;
	if (bad == 0) {
		r->world_size = (uint64_t)world;
		r->tokenizer = string(root, "tokenizer");
		r->split = string(root, "split");
	}
	json_free(root);
	return bad;
}

static int
read_log(struct run_data *r, const char *path, struct err *e)
{
	struct trainlog_tail last;
	const struct json *batches;
	int rc = trainlog_last(path, &last, e);

	r->last_step = last.step;
	batches = json_get(last.resume, "batches");
	if (rc == 0 && batches)
		rc = plan_read(&r->plan, batches, path, e);
	trainlog_tail_clear(&last);
	return rc;
}

int
run_data_load(struct run_data *r, const char *dir, struct err *e)
{
	char *config = path_join(dir, "config.json");
	char *log = path_join(dir, "train.jsonl");
	struct plan_part now = {0};
	int bad = -1;

	memset(r, 0, sizeof(*r));
	if (read_config(r, config, &now, e) == 0 && read_log(r, log, e) == 0) {
		bad = 0;
		if (!r->plan.n)
			plan_continue(&r->plan, 0, &now);
	}
	plan_part_clear(&now);
	free(config);
	free(log);
	return bad;
}

void
run_data_clear(struct run_data *r)
{
	plan_clear(&r->plan);
	free(r->tokenizer);
	free(r->split);
}
