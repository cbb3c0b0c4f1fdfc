/*
 * run_dir.c - see run_dir.h
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/progress.h"
#include "record/ckpt.h"
#include "stream/json.h"
#include "stream/output.h"
#include "train/run_dir.h"

void
run_dir_init(struct run_dir *r, const char *path)
{
	*r = (struct run_dir){.path = xstrdup(path), .lock = -1, .saved = -1};
}

int
run_dir_close(struct run_dir *r, struct err *e)
{
	struct err why = {0};
	int rc = run_dir_saved(r, 1, &why) < 0 ? err_set(e, "%s", why.msg) : 0;

	if (r->log && trainlog_close(r->log, rc < 0 ? &why : e) < 0)
		rc = -1;
	if (r->lock >= 0)
		close(r->lock);
	free(r->path);
	free(r->from);
	free(r->aside);
	buf_clear(&r->history);
	buf_clear(&r->changed);
	return rc;
}

/* ---- opening ---- */

int
run_dir_lock(struct run_dir *r, struct err *e)
{
	r->lock = open(r->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r->lock < 0)
		return err_sys(e, errno, "%s: cannot open", r->path);
	if (flock(r->lock, LOCK_EX | LOCK_NB) < 0)
		return err_sys(e, errno, "%s: in use by another lm-train",
			       r->path);
	return run_dir_recover(r, e);
}

void
run_dir_sweep(const struct run_dir *r)
{
	struct err why = {0};

	if (ckpt_sweep(r->path, &why) < 0)
		warn("%s", why.msg);
}

static void
skipped(void *ctx, const char *msg)
{
	(void)ctx;
	warn("%s: skipping this checkpoint", msg);
}

/* No checkpoint is left: was there none yet? */
static int
check_never_saved(const struct run_dir *r, struct err *e)
{
	char *log = path_join(r->path, "train.jsonl");
	char *latest = path_join(r->path, "latest");
	struct trainlog_tail last;
	struct stat st;
	int rc = trainlog_last(log, &last, e);

	if (rc == 0 && last.saved >= 0)
		rc = err_set(e, "%s: no checkpoint is left, but the log has one"
			     " of step %" PRId64 " (put it back, or start a new"
			     " run in another folder)", r->path, last.saved);
	else if (rc == 0 && lstat(latest, &st) == 0)
		rc = err_set(e, "%s: no checkpoint is left, but latest is a"
			     " link to one (put it back, or start a new run in"
			     " another folder)", r->path);
	trainlog_tail_clear(&last);
	free(latest);
	free(log);
	return rc;
}

/* Steps after this checkpoint will be trained again. */
static int
warn_if_newer(const struct run_dir *r, struct err *e)
{
	char *log = path_join(r->path, "train.jsonl"), *dir = NULL;
	struct trainlog_tail last;
	int rc = trainlog_last(log, &last, e);

	if (rc == 0 && last.saved > ckpt_step(r->from)) {
		dir = xstrf("%s/step-%08" PRId64, r->path, last.saved);
		if (access(dir, F_OK) < 0)
			warn("%s: is gone; continuing from step %" PRId64, dir,
			     ckpt_step(r->from));
	}
	trainlog_tail_clear(&last);
	free(dir);
	free(log);
	return rc;
}

int
run_dir_find(struct run_dir *r, struct err *e)
{
	struct err why = {0};
	int64_t n;

	n = ckpt_count(r->path, e);
	if (n <= 0)
		return n < 0 ? -1 : check_never_saved(r, e);
	r->from = ckpt_newest(r->path, skipped, NULL, &why);
	return r->from ? warn_if_newer(r, e) :
		err_set(e, "%s (use --init-from to start a new run from the"
			" weights of a checkpoint)", why.msg);
}

int
run_dir_make(struct run_dir *r, const struct state_src *s, struct err *e)
{
	int made = mkdir(r->path, 0777) == 0;
	char *log;
	int64_t n;

	if (!made && errno != EEXIST)
		return err_sys(e, errno, "%s: cannot create", r->path);
	if (state_room(r->path, s, e) < 0) {
		if (made)
			rmdir(r->path);
		return -1;
	}
	if (run_dir_lock(r, e) < 0 || (n = ckpt_count(r->path, e)) < 0)
		return -1;
	log = path_join(r->path, "train.jsonl");
	n += access(log, F_OK) == 0;
	free(log);
	if (n && !s->o->overwrite)
		return err_set(e, "%s: already holds a run (use --resume to"
			       " continue it, --overwrite to replace it)",
			       r->path);
	run_dir_sweep(r);
	return n ? run_dir_set_aside(r, e) : 0;
}

/* ---- config.json and the log ---- */

void
run_dir_add_history(struct run_dir *r, uint64_t step, struct kernels *k,
		    const struct peaks *peak)
{
	char when[32];
	time_t now = time(NULL);
	struct tm tm;

	gmtime_r(&now, &tm);
	strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &tm);
	buf_printf(&r->history, "%s{\"step\": %" PRIu64 ", \"time\": \"%s\","
		   " \"version\": \"%s\", \"kernels\": \"%s %s\","
		   " \"threads\": %d, \"peak_tflops\": ",
		   r->history.n ? ",\n    " : "\n    ", step, when,
		   ASSAY_VERSION, k->name, k->isa, k->threads);
	json_put_real(&r->history, peak->used / 1e12);
	buf_puts(&r->history, ", \"nominal_tflops\": ");
	json_put_real(&r->history, peak->nominal / 1e12);
	buf_puts(&r->history, ", \"measured_tflops\": ");
	json_put_real(&r->history, peak->measured / 1e12);
	buf_puts(&r->history, ", \"device\": ");
	k->record(k, &r->history);
	buf_puts(&r->history, ", \"changed\": ");
	json_put_str(&r->history, buf_span(&r->changed));
	buf_putc(&r->history, '}');
}

int
run_dir_config(const struct run_dir *r, const struct options *o,
	       const struct data_id *id, const struct plan_part *now,
	       struct err *e)
{
	char *path = path_join(r->path, "config.json");
	struct output *out = output_open(path, e);
	struct buf b = {0};
	int rc = -1;

	buf_puts(&b, "{\n  ");
	options_json(o, &b);
	plan_part_mixture(now, ",\n  ", &b);
	buf_printf(&b, ",\n  \"world_size\": 1,\n  \"data_hash\": \"%016" PRIx64
		   "\",\n  \"val_hash\": \"%016" PRIx64
		   "\",\n  \"version\": \"%s\"\n}\n", id->hash, id->val_hash,
		   ASSAY_VERSION);
	if (out && output_write(out, b.p, b.n, e) == 0)
		rc = output_commit(out, e);
	else
		output_abort(out);
	buf_clear(&b);
	free(path);
	return rc;
}

int
run_dir_log(struct run_dir *r, const struct run_state *at, struct err *e)
{
	int64_t step = (int64_t)at->step;
	struct trainlog_mark mark = {at->step, at->last_eval == step,
		at->last_sample == step};
	char *path = path_join(r->path, "train.jsonl");

	if (trainlog_cut(path, &mark, e) == 0)
		r->log = trainlog_open(path, e);
	free(path);
	return r->log ? 0 : -1;
}

/* ---- checkpoints ---- */

int
run_dir_save(struct run_dir *r, const struct state_src *s, int wait,
	     struct err *e)
{
	double start = clock_s();
	struct save_conf c = r->save;

	if (r->saved == (int64_t)s->at->step)
		return 0;
	if (trainlog_sync(r->log, e) < 0)
		return -1;
	c.no_copy |= wait;
	r->saving = state_save_begin(r->path, s, &c, e);
	if (!r->saving)
		return -1;
	r->saved = (int64_t)s->at->step;
	r->saving_step = s->at->step;
	r->keep = s->o->keep;
	r->stall_s = clock_s() - start;
	return 0;
}

int
run_dir_saved(struct run_dir *r, int wait, struct err *e)
{
	struct buf name = {0};
	double start = clock_s(), seconds;
	int rc;

	if (!r->saving || (!wait && !state_save_is_done(r->saving)))
		return 0;
	rc = state_save_end(r->saving, &seconds, e);
	r->saving = NULL;
	if (rc < 0)
		return -1;
	buf_printf(&name, "step-%08" PRIu64, r->saving_step);
	trainlog_event(r->log, "checkpoint", r->saving_step);
	trainlog_str(r->log, "path", buf_span(&name));
	trainlog_real(r->log, "save_s", seconds);
	trainlog_real(r->log, "stall_s", r->stall_s + clock_s() - start);
	rc = trainlog_end(r->log, e);
	buf_clear(&name);
	if (rc < 0)
		return -1;
	run_dir_prune(r, r->keep, r->saving_step);
	return 1;
}

void
run_dir_prune(const struct run_dir *r, int64_t keep, uint64_t step)
{
	struct err why = {0};

	if (ckpt_prune(r->path, (size_t)keep, step, &why) == 0)
		return;
	progress_erase();
	warn("%s", why.msg);
}
