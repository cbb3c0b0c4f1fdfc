/*
 * pipeline: order, bounds and errors are those of one thread
 *
 * Items are numbers; work takes a time that depends on the number, so that
 * items finish in another order than they started.
 */
#include <stdatomic.h>
#include <time.h>

#include "tests/unit/test.h"

#include "base/pipeline.h"

enum { ITEMS = 500 };

struct world {
	int end;		/* read() stops here, with an error if ... */
	int read_fails, work_fails, write_fails, enough;	/* at; or -1 */
	int next;
	int wrote[ITEMS], nwrote;
	atomic_int alive, most, reading, writing, busy[16];
	atomic_int overlap;
	int threads;
};

static void *
w_read(void *ctx, struct err *e)
{
	struct world *w = ctx;
	int *item, alive, most;

	w->overlap |= atomic_fetch_add(&w->reading, 1) != 0;
	if (w->next == w->read_fails)
		err_set(e, "read %d", w->next);
	item = e->set || w->next == w->end ? NULL : malloc(sizeof *item);
	if (item) {
		*item = w->next++;
		alive = atomic_fetch_add(&w->alive, 1) + 1;
		most = atomic_load(&w->most);
		while (alive > most &&
		       !atomic_compare_exchange_weak(&w->most, &most, alive))
			;
	}
	atomic_fetch_sub(&w->reading, 1);
	return item;
}

static int
w_work(void *ctx, void *item, int worker, struct err *e)
{
	struct world *w = ctx;
	int i = *(int *)item;
	struct timespec t = { 0, i * 7919 % 13 * 10000 };

	/* The state of one worker is used by one thread at a time. */
	if (worker < 0 || worker >= w->threads ||
	    atomic_fetch_add(&w->busy[worker], 1))
		w->overlap = 1;
	nanosleep(&t, NULL);
	*(int *)item = 3 * i;
	atomic_fetch_sub(&w->busy[worker], 1);
	return i == w->work_fails ? err_set(e, "work %d", i) : 0;
}

static int
w_write(void *ctx, void *item, struct err *e)
{
	struct world *w = ctx;
	int v = *(int *)item;

	w->overlap |= atomic_fetch_add(&w->writing, 1) != 0;
	if (v == 3 * w->write_fails) {
		atomic_fetch_sub(&w->writing, 1);
		return err_set(e, "write %d", v / 3);
	}
	w->wrote[w->nwrote++] = v;
	atomic_fetch_sub(&w->writing, 1);
	return v == 3 * w->enough;
}

static void
w_drop(void *ctx, void *item)
{
	struct world *w = ctx;

	atomic_fetch_sub(&w->alive, 1);
	free(item);
}

/* Run; all items up to `upto` were written, in order, and all were dropped. */
static int
run(struct world *w, int threads, int upto, const char *message)
{
	struct pipeline p = { w, w_read, w_work, w_write, w_drop };
	struct err e = {0};
	int rc;

	w->threads = threads;
	rc = pipeline_run(&p, threads, &e);
	assert_int_equal(rc, message ? -1 : 0);
	assert_string_equal(e.msg, message ? message : "");
	assert_int_equal(w->nwrote, upto);
	for (int i = 0; i < upto; i++)
		assert_int_equal(w->wrote[i], 3 * i);
	assert_int_equal(atomic_load(&w->alive), 0);
	assert_int_equal(atomic_load(&w->overlap), 0);
	assert_true(atomic_load(&w->most) <= (threads < 2 ? 1 : 4 * threads));
	return rc;
}

static const int counts[] = { 1, 2, 3, 7, 16 };

static const struct world fresh = {
	.end = ITEMS, .read_fails = -1, .work_fails = -1, .write_fails = -1,
	.enough = -1,
};

static void
all_in_order(void **state)
{
	(void)state;
	for (size_t i = 0; i < TEST_COUNT(counts); i++) {
		struct world w = fresh;

		run(&w, counts[i], ITEMS, NULL);
	}
}

static void
nothing_and_little(void **state)
{
	(void)state;
	for (size_t i = 0; i < TEST_COUNT(counts); i++)
		for (int end = 0; end < 4; end++) {
			struct world w = fresh;

			w.end = end;
			run(&w, counts[i], end, NULL);
		}
}

static void
errors_come_in_turn(void **state)
{
	(void)state;
	for (size_t i = 0; i < TEST_COUNT(counts); i++) {
		struct world a = fresh, b = fresh, c = fresh, d = fresh;

		a.read_fails = 100;
		run(&a, counts[i], 100, "read 100");
		b.work_fails = 57;
		run(&b, counts[i], 57, "work 57");
		c.write_fails = 31;
		run(&c, counts[i], 31, "write 31");
		/* the first of several errors is reported */
		d.read_fails = 20;
		d.work_fails = 17;
		d.write_fails = 18;
		run(&d, counts[i], 17, "work 17");
	}
}

static void
enough_stops(void **state)
{
	(void)state;
	for (size_t i = 0; i < TEST_COUNT(counts); i++) {
		struct world w = fresh;

		w.enough = 40;
		run(&w, counts[i], 41, NULL);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_in_order),
		cmocka_unit_test(nothing_and_little),
		cmocka_unit_test(errors_come_in_turn),
		cmocka_unit_test(enough_stops),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
