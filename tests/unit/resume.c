/*
 * resume.c - a resumed run ends with the same bits as one that was not stopped
 */
#include "tests/unit/job_world.h"

#include <signal.h>
#include <sys/wait.h>

#include "train/interrupt.h"

static void
forget_m(struct job *j)
{
	kernels_zero(j->tr.k, j->tr.opt.m1, (size_t)j->tr.m->flat * 4);
}

static void
forget_count(struct job *j)
{
	j->at.updates = 0;
}

static void
resume(const char *from, const char *to, void (*before)(struct job *))
{
	struct options r;
	struct err e = {0};
	char cmd[9000];

	snprintf(cmd, sizeof cmd, "cp -r '%s/%s' '%s/%s'", world.dir, from,
		 world.dir, to);
	assert_int_equal(system(cmd), 0);
	options_init(&r);
	r.resume = xstrdup(test_path(world.dir, to));
	if (run_with(&r, table("cpu", 1), before, &e) != 0)
		fail_msg("%s", e.msg);
}

/* 8 steps equal 3 and 5, unless some state is lost. */
static void
resume_gives_the_same_bits(void **state)
{
	struct options o = base_options("whole");

	(void)state;
	o.z_loss = 1e-3;
	o.schedule = SCHEDULE_WSD;
	run(&o, table("cpu", 1));
	o.out = xstrdup(test_path(world.dir, "half"));
	o.stop_after = 3;
	run(&o, table("cpu", 1));
	resume("half", "rest", NULL);
	assert_true(same_tensors("whole", "rest"));
	assert_true(same_logs("whole", "rest"));
	resume("half", "no_m", forget_m);
	assert_false(same_tensors("whole", "no_m"));
	assert_false(same_logs("whole", "no_m"));
	resume("half", "no_t", forget_count);
	assert_false(same_tensors("whole", "no_t"));
}

/* ---- signals ---- */

static void (*real_head)(struct kernels *, const struct k_ce_head *);
static int calls_left;		/* until the signal comes */
static int by;			/* that signal */

static void
head_with_signal(struct kernels *k, const struct k_ce_head *a)
{
	if (calls_left-- == 0)
		raise(by);
	real_head(k, a);
}

/*
 * Run in a child process that gets the signal at the nth matmul with the
 * output matrix (of a step, an evaluation or a sample).
 */
static void
run_until(const struct options *o, int n, int sig)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		struct kernels *k = table("cpu", 1);
		struct err e = {0};

		real_head = k->ce_head;
		k->ce_head = head_with_signal;
		calls_left = n;
		by = sig;
		interrupt_install();
		_exit(run_with(o, k, NULL, &e) == (calls_left < 0 ? sig : 0) ?
		      0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(status == 0 || (sig == SIGKILL && status == SIGKILL));
}

/*
 * Signals in a step, in the evaluation after step 4, in the two samples after
 * it, and again during the resume: the final state is the same, and each line
 * is in the log once.
 */
static void
signals_lose_or_repeat_nothing(void **state)
{
	struct options o = base_options("said"), r;
	int n;

	(void)state;
	run(&o, table("cpu", 1));
	for (n = 0; n < 20; n += n < 8 ? 1 : 4) {
		char name[20];

		snprintf(name, sizeof name, "cut%d", n);
		o.out = xstrdup(test_path(world.dir, name));
		run_until(&o, n, SIGTERM);
		options_init(&r);
		r.resume = o.out;
		run_until(&r, n, SIGTERM);
		run_until(&r, n, SIGKILL);
		run_until(&r, 14, SIGKILL);
		run(&r, table("cpu", 1));
		assert_true(same_tensors("said", name));
		assert_true(same_logs("said", name));
	}
}

/* ---- data ---- */

static void
changed_data_is_refused(void **state)
{
	struct options o = base_options("moved"), r;
	struct err e = {0};

	(void)state;
	o.stop_after = 2;
	run(&o, table("ref", 1));
	options_init(&r);
	r.resume = o.out;
	write_shards(world.data, 9);
	assert_int_equal(run_with(&r, table("ref", 1), NULL, &e), -1);
	write_shards(world.data, 1);
	assert_non_null(strstr(e.msg, "the shards have changed"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(resume_gives_the_same_bits),
		cmocka_unit_test(signals_lose_or_repeat_nothing),
		cmocka_unit_test(changed_data_is_refused),
	};

	return cmocka_run_group_tests_name("resume", tests, make_world,
					   remove_world);
}
