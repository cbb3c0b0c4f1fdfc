/*
 * monitor.c - the lines of a run that a person reads
 *
 * One for each step, evaluation and sample, with the numbers of the log.  At a
 * terminal the line of a step is the progress line, and the next step replaces
 * it.
 */
#include <inttypes.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/progress.h"
#include "stream/json.h"
#include "text/display.h"
#include "train/job_priv.h"

static void
put_time_left(const struct job *j, struct buf *b)
{
	uint64_t done = j->at.step - j->first_step, s;
	uint64_t left = (uint64_t)j->o.steps - j->at.step;

	if (j->o.stop_after && (uint64_t)j->o.stop_after < left + done)
		left = (uint64_t)j->o.stop_after - done;
	s = (uint64_t)((clock_s() - j->began) / (double)done * (double)left +
		       0.5);
	buf_printf(b, "%" PRIu64 ":%02d:%02d left", s / 3600,
		   (int)(s / 60 % 60), (int)(s % 60));
}

void
monitor_start(const struct job *j)
{
	struct buf b = {0};

	buf_printf(&b, "step %" PRIu64 " of %" PRId64, j->at.step, j->o.steps);
	progress_start("training", "steps", (uint64_t)j->o.steps);
	progress_text(buf_span(&b));
	buf_clear(&b);
}

void
monitor_step(const struct job *j, const struct trainlog_step *l)
{
	struct buf b = {0};

	buf_printf(&b, "step %" PRIu64 " of %" PRId64 ", ", l->step,
		   j->o.steps);
	put_time_left(j, &b);
	buf_printf(&b, ", loss %.4f, grad norm %.3g, lr %.3g, %.0f tokens/s",
		   l->loss, l->grad_norm, l->lr, l->tokens_per_s);
	if (l->mfu >= 0)
		buf_printf(&b, ", MFU %.1f %%", 100 * l->mfu);
	progress_text(buf_span(&b));
	buf_putc(&b, '\n');
	if (j->report >= JOB_REPORT_STEPS)
		err_text(b.p, b.n);
	buf_clear(&b);
}

void
monitor_eval(const struct job *j, double loss, double bits, uint64_t windows,
	     double seconds)
{
	struct buf b = {0};

	if (j->report < JOB_REPORT_EVENTS)
		return;
	buf_printf(&b, "step %" PRIu64 ": evaluation loss %.4f", j->at.step,
		   loss);
	if (bits >= 0)
		buf_printf(&b, ", %.4f bits per byte", bits);
	buf_printf(&b, " (%" PRIu64 " windows, %.1f s)\n", windows, seconds);
	err_text(b.p, b.n);
	buf_clear(&b);
}

static void
put_quoted(const struct job *j, const uint32_t *ids, size_t n, struct buf *b)
{
	struct buf text = {0};

	display_text(j->data.vocab, ids, n, &text);
	json_put_str(b, buf_span(&text));
	buf_clear(&text);
}

void
monitor_sample(const struct job *j, const struct job_prompt *p,
	       const uint32_t *ids, size_t n)
{
	struct buf b = {0};

	if (j->report < JOB_REPORT_EVENTS)
		return;
	buf_printf(&b, "step %" PRIu64 ": prompt ", j->at.step);
	put_quoted(j, p->ids, p->n, &b);
	buf_puts(&b, ", sample ");
	put_quoted(j, ids, n, &b);
	buf_putc(&b, '\n');
	err_text(b.p, b.n);
	buf_clear(&b);
}
