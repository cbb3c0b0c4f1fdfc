/*
 * trainlog.c - see trainlog.h
 *
 * The line is built in one buffer and written at once.  The cut keeps the
 * longest head of the file that a run which stopped at that step would have
 * written, so a resumed run appends the very lines of an uninterrupted one.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "stream/input.h"
#include "record/trainlog.h"

struct trainlog {
	int fd;
	char *path;
	struct buf line, bad;
};

struct trainlog *
trainlog_open(const char *path, struct err *e)
{
	struct trainlog *t;
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);

	if (fd < 0) {
		err_sys(e, errno, "%s: cannot open", path);
		return NULL;
	}
	t = xcalloc(1, sizeof *t);
	t->fd = fd;
	t->path = xstrdup(path);
	return t;
}

int
trainlog_sync(struct trainlog *t, struct err *e)
{
	/* a FIFO or a device cannot be synced, and need not be */
	if (fsync(t->fd) < 0 && errno != EINVAL && errno != EROFS)
		return err_sys(e, errno, "%s: cannot sync", t->path);
	return 0;
}

int
trainlog_close(struct trainlog *t, struct err *e)
{
	int rc = trainlog_sync(t, e);

	if (close(t->fd) < 0 && rc == 0)
		rc = err_sys(e, errno, "%s: cannot close", t->path);
	buf_clear(&t->line);
	buf_clear(&t->bad);
	free(t->path);
	free(t);
	return rc;
}

struct buf *
trainlog_event(struct trainlog *t, const char *type, uint64_t step)
{
	buf_reset(&t->line);
	buf_reset(&t->bad);
	buf_printf(&t->line, "{\"type\":\"%s\",\"step\":%" PRIu64, type, step);
	return &t->line;
}

void
trainlog_real(struct trainlog *t, const char *key, double x)
{
	buf_printf(&t->line, ",\"%s\":", key);
	json_put_real(&t->line, x);
	if (!isfinite(x))
		buf_printf(&t->bad, "%s\"%s\"", t->bad.n ? "," : "", key);
}

void
trainlog_null(struct trainlog *t, const char *key)
{
	buf_printf(&t->line, ",\"%s\":null", key);
}

void
trainlog_int(struct trainlog *t, const char *key, uint64_t x)
{
	buf_printf(&t->line, ",\"%s\":%" PRIu64, key, x);
}

void
trainlog_str(struct trainlog *t, const char *key, struct span s)
{
	buf_printf(&t->line, ",\"%s\":", key);
	json_put_str(&t->line, s);
}

int
trainlog_end(struct trainlog *t, struct err *e)
{
	if (t->bad.n) {
		buf_puts(&t->line, ",\"nonfinite\":[");
		buf_put(&t->line, t->bad.p, t->bad.n);
		buf_putc(&t->line, ']');
	}
	buf_puts(&t->line, "}\n");
	if (write_all(t->fd, t->line.p, t->line.n) < 0)
		return err_sys(e, errno, "%s: cannot write", t->path);
	return 0;
}

static void
put_list(struct trainlog *t, const char *key, const double *v, size_t n)
{
	size_t i;

	buf_printf(&t->line, ",\"%s\":", key);
	for (i = 0; i < n; i++) {
		buf_putc(&t->line, i ? ',' : '[');
		json_put_real(&t->line, v[i]);
	}
	buf_putc(&t->line, ']');
}

int
trainlog_step(struct trainlog *t, const struct trainlog_step *s, struct err *e)
{
	trainlog_event(t, "step", s->step);
	trainlog_int(t, "tokens", s->tokens);
	trainlog_real(t, "loss", s->loss);
	trainlog_real(t, "grad_norm", s->grad_norm);
	trainlog_real(t, "lr", s->lr);
	trainlog_real(t, "tokens_per_s", s->tokens_per_s);
	if (s->mfu < 0)
		trainlog_null(t, "mfu");
	else
		trainlog_real(t, "mfu", s->mfu);
	trainlog_real(t, "step_s", s->step_s);
	trainlog_real(t, "data_wait_s", s->data_wait_s);
	if (s->z_loss >= 0)
		trainlog_real(t, "z_loss", s->z_loss);
	if (s->ln_vocab > 0)
		trainlog_real(t, "ln_vocab", s->ln_vocab);
	if (s->sources) {
		put_list(t, "shares", s->shares, s->sources);
		put_list(t, "epochs", s->epochs, s->sources);
	}
	return trainlog_end(t, e);
}

static int
is_type(const struct json *type, const char *name)
{
	return span_eq(type->str, span_str(name));
}

/* Will the run write this line when it continues from there? */
static int
comes_again(const struct json *type, uint64_t step,
	    const struct trainlog_mark *at)
{
	if (step != at->step)
		return step > at->step;
	return is_type(type, "step") || is_type(type, "skip") ||
		is_type(type, "epoch") ||
		(is_type(type, "eval") && !at->evaluated) ||
		(is_type(type, "sample") && !at->sampled);
}

/* Does this line belong to a later state? 1, 0, -1: no line. */
static int
is_later(const char *p, size_t n, const struct trainlog_mark *at)
{
	struct err ignore = {0};
	struct json *j = json_parse(p, n, "line", &ignore);
	const struct json *type = json_get(j, "type");
	const struct json *step = json_get(j, "step");
	int later = -1;

	if (type && type->type == JSON_STRING && step && step->is_int &&
	    step->i >= 0)
		later = comes_again(type, (uint64_t)step->i, at);
	json_free(j);
	return later;
}

/* End of the part to keep; -1: not a log line. */
static int64_t
head_end(const char *path, const char *p, size_t n,
	 const struct trainlog_mark *mark, struct err *e)
{
	struct span rest = {p, n}, line;
	uint64_t number;
	int later;

	for (number = 1; span_line(&rest, &line); number++) {
		if (line.p + line.n == p + n)	/* without its LF */
			return line.p - p;
		later = is_later(line.p, line.n, mark);
		if (later < 0)
			return err_set(e, "%s:%" PRIu64 ": not an object with"
				       " type and step", path, number);
		if (later)
			return line.p - p;
	}
	return (int64_t)n;
}

int
trainlog_cut(const char *path, const struct trainlog_mark *at, struct err *e)
{
	char *p;
	size_t n;
	int64_t end;

	if (access(path, F_OK) < 0 && errno == ENOENT)
		return 0;
	if (input_slurp(path, &p, &n, e) < 0)
		return -1;
	end = head_end(path, p, n, at, e);
	free(p);
	if (end < 0)
		return -1;
	if ((size_t)end < n && truncate(path, end) < 0)
		return err_sys(e, errno, "%s: cannot truncate", path);
	return 0;
}

/* ---- the end of a log ---- */

/* Is it worth parsing the line, for one of the types that are not yet known? */
static int
may_be_new(struct span line, const struct trainlog_tail *last)
{
	return last->step < 0 ||
		(last->saved < 0 && memmem(line.p, line.n, "\"checkpoint\"",
					   12)) ||
		(!last->resume && memmem(line.p, line.n, "\"resume\"", 8));
}

static void
take_line(struct span line, struct trainlog_tail *last)
{
	struct err ignore = {0};
	struct json *j = json_parse(line.p, line.n, "line", &ignore);
	const struct json *type = json_get(j, "type");
	const struct json *step = json_get(j, "step");

	if (!type || type->type != JSON_STRING || !step || !step->is_int ||
	    step->i < 0)
		;
	else if (last->step < 0 && is_type(type, "step"))
		last->step = step->i;
	else if (last->saved < 0 && is_type(type, "checkpoint"))
		last->saved = step->i;
	else if (!last->resume && is_type(type, "resume")) {
		last->resume = j;
		return;
	}
	json_free(j);
}

int
trainlog_last(const char *path, struct trainlog_tail *last, struct err *e)
{
	size_t n, from, end = 0;
	char *p;

	*last = (struct trainlog_tail){.step = -1, .saved = -1};
	if (access(path, F_OK) < 0 && errno == ENOENT)
		return 0;
	if (input_slurp(path, &p, &n, e) < 0)
		return -1;
	/* lines end with LF; from the last one to the first */
	for (end = n; end; end = from) {
		struct span line;

		for (from = end - 1; from && p[from - 1] != '\n'; from--)
			;
		line = (struct span){p + from, end - from};
		if (p[end - 1] == '\n' && may_be_new(line, last))
			take_line(line, last);
	}
	free(p);
	return 0;
}

void
trainlog_tail_clear(struct trainlog_tail *last)
{
	json_free(last->resume);
	last->resume = NULL;
}
