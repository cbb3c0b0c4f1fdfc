/*
 * same.c - the cpu table against itself: equal bits, always
 *
 * Compares every output of every entry byte for byte: two runs with the same
 * number of threads, runs with 1, 2, 3 and 7 threads, and runs under the guard
 * (memory inaccessible outside calls, calls queued).  The last tests check
 * the guard itself.
 */
#include "tests/kernels/guard.h"
#include "tests/kernels/real.h"
#include "tests/kernels/tap.h"

#include <signal.h>

/* Whether two runs gave the same bytes. */
static int
equal(const struct kt *x, const struct kt *y)
{
	for (int i = 0; i < x->nout; i++)
		if (memcmp(x->out[i].data, y->out[i].data,
			   (size_t)x->out[i].n * kdtype_size(x->out[i].dt))) {
			printf("# %s differs\n", x->out[i].name);
			return 0;
		}
	return x->nout == y->nout;
}

static int
same(struct kernels *k, struct kernels *base, const struct kt_case *c,
     enum kdtype dt, int big, int seed)
{
	struct kt x, y;
	int ok;

	kt_run(&x, k, c, dt, big, seed, NULL);
	kt_run(&y, base, c, dt, big, seed, NULL);
	ok = equal(&x, &y);
	kt_clear(&x);
	kt_clear(&y);
	return ok;
}

static void
one_case(struct kernels *k, struct kernels *base, const struct kt_case *c,
	 const char *what)
{
	int ok = 1;

	for (int dt = 0; dt < K_TYPES; dt++) {
		for (int s = 0; s < c->big; s++)
			ok &= same(k, base, c, (enum kdtype)dt, 1, s);
		if (c->small)
			ok &= same(k, base, c, (enum kdtype)dt, 0, 0);
	}
	tap_ok(ok, "%s: same bits from %s", what, c->name);
}

static void
all_cases(struct kernels *k, struct kernels *base, const char *what)
{
	for (int i = 0; i < KT_CASES; i++)
		one_case(k, base, &kt_cases[i], what);
}

static void
real_cases(struct kernels *k, struct kernels *base, const char *what)
{
	for (int i = 0; i < KT_REAL; i++)
		one_case(k, base, &kt_real[i], what);
}

/* A source changed before sync: a difference under the guard. */
static void
changed_source(struct kernels *k)
{
	float x = 1, y = 0, *d = must_alloc(k, sizeof x);

	kernels_upload(k, d, &x, sizeof x);
	x = 2;
	must_download(k, &y, d, sizeof y);
	kernels_release(k, d);
	tap_ok(y == 2 && guard_of(k)->stale == 1,
	       "guard: an upload's source is read late, and the change seen");
	guard_of(k)->stale = 0;
}

/* A sync that is ignored leaves a fetch and an upload queued. */
static void
ignored_sync(struct kernels *k)
{
	float x = 1, y = 0, *d = must_alloc(k, sizeof x);

	kernels_upload(k, d, &x, sizeof x);
	must_sync(k);
	guard_of(k)->ignore = 2;
	must_download(k, &y, d, sizeof y);
	tap_ok(y == 1, "guard: the sync before the one to ignore waits");
	must_download(k, &y, d, sizeof y);
	tap_ok(isnan(y), "guard: without sync a fetch has not come");
	must_sync(k);
	tap_ok(y == 1 && guard_of(k)->stale == 0,
	       "guard: the next sync has it");
	kernels_release(k, d);
}

/* The host cannot read device memory, nor the page after it. */
static void
touch(struct kernels *k, int offset, const char *what)
{
	volatile float *d = must_alloc(k, 16 * sizeof *d);
	int status;

	kernels_zero(k, (float *)(uintptr_t)d, 16 * sizeof *d);
	must_sync(k);
	if (!tap_fork(&status)) {
		signal(SIGSEGV, SIG_DFL);
		_exit(d[offset] == 0);
	}
	tap_ok(WIFSIGNALED(status), "guard: %s is a crash", what);
	kernels_release(k, (float *)(uintptr_t)d);
}

/* Memory read before it was written is NaN. */
static void
fresh(struct kernels *k)
{
	float *d = must_alloc(k, sizeof *d), x = 0;

	must_download(k, &x, d, sizeof x);
	kernels_release(k, d);
	tap_ok(isnan(x), "guard: fresh memory is NaN");
}

/* The message with which kv_put ends a child under the guard; "" if it does
 * not.  Rows are at positions 0, 1, 2 of slot 0, then 5 of slot 1. */
static void
hinted(struct k_runs runs, char *msg, size_t size)
{
	int32_t at[8] = { 0, 0, 0, 1, 0, 1, 2, 5 };
	int fd[2], status;
	ssize_t n;

	if (pipe(fd) < 0)
		abort();
	if (!tap_fork(&status)) {
		struct err e = {0};
		struct kernels *k = guard_wrap(kernels_open("cpu", 1, &e));
		char *d = must_alloc(k, 4096);
		struct k_kv_put a = { .n = 4, .h = 1, .g = 1, .d = 8, .p = 6,
			.qkv = d, .kc = d + 1024, .vc = d + 2048,
			.slot = (int32_t *)(void *)(d + 3072),
			.pos = (int32_t *)(void *)(d + 3072) + 4,
			.runs = runs };

		dup2(fd[1], 2);
		kernels_upload(k, d + 3072, at, sizeof at);
		k->kv_put(k, &a);
		must_sync(k);
		_exit(0);
	}
	close(fd[1]);
	n = read(fd[0], msg, size - 1);
	close(fd[0]);
	msg[n > 0 && WIFSIGNALED(status) ? n : 0] = 0;
}

/* What the host says of the rows must be true, or absent. */
static void
wrong_hints(void)
{
	static const struct {
		int64_t longest, n;
		int32_t first[4];
		const char *msg;
	} hint[] = {
		{ 0, 0, { 0 }, "" },
		{ 6, 2, { 0, 3 }, "" },
		{ 0, 3, { 0, 1, 3 }, "" },
		{ 6, 1, { 0 }, "guard: a run of rows is not one\n" },
		{ 6, 2, { 0, 2 }, "guard: a run of rows is not one\n" },
		{ 6, 1, { 3 }, "guard: a run of rows is not one\n" },
		{ 6, 3, { 0, 3, 4 }, "guard: a run begins at no row\n" },
		{ 5, 2, { 0, 3 }, "guard: the longest position is wrong\n" },
		{ 7, 0, { 0 }, "guard: the longest position is wrong\n" },
	};

	for (size_t i = 0; i < sizeof hint / sizeof *hint; i++) {
		char msg[80];

		hinted((struct k_runs){ hint[i].longest, hint[i].n,
			hint[i].first }, msg, sizeof msg);
		tap_ok(!strcmp(msg, hint[i].msg), "guard: hint %zu: %s", i,
		       *hint[i].msg ? "is reported" : "is true");
	}
}

int
main(void)
{
	struct err e = {0};
	struct kernels *base = kernels_open("cpu", 1, &e), *k;
	int threads[] = { 1, 2, 3, 7 };

	tap_start();
	for (int i = 0; i < 4; i++) {
		char what[40];

		k = kernels_open("cpu", threads[i], &e);
		snprintf(what, sizeof what, "threads %d", threads[i]);
		all_cases(k, base, what);
		if (threads[i] == 3)
			real_cases(k, base, what);
		k->close(k);
	}
	k = kernels_open("cpu:packed", 3, &e);
	if (k) {
		struct kernels *one = kernels_open("cpu:packed", 1, &e);

		all_cases(k, one, "packed, threads 3");
		one->close(one);
		k->close(k);
	}
	k = guard_wrap(kernels_open("cpu", 2, &e));
	all_cases(k, base, "guard");
	tap_ok(guard_of(k)->stale == 0, "guard: no source has changed");
	changed_source(k);
	ignored_sync(k);
	touch(k, 0, "reading device memory");
	touch(k, 16, "reading after its end");
	fresh(k);
	wrong_hints();
	tap_ok(guard_of(k)->queued > 100 && guard_of(k)->ran > 100,
	       "guard: %zu calls were queued",
	       guard_of(k)->queued);
	k->close(k);
	base->close(base);
	return tap_end();
}
