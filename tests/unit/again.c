/* again: the second reading of files and pipes is the first one again. */
#include "tests/unit/test.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "record/again.h"

/* All of path's bytes go into a FIFO. */
struct feed {
	const char *from, *to;
};

static void *
feed(void *arg)
{
	const struct feed *f = arg;
	size_t n;
	char *p = test_read(f->from, &n);

	test_write(f->to, p, n);
	free(p);
	return NULL;
}

/* Every line with its file and number, each block handed to a (or not). */
static void
read_all(const char *const *path, size_t n, struct again *a, int second,
	 struct buf *out)
{
	struct doc_opts o;
	struct doc_reader *r;
	struct doc_parser *p;
	struct doc_batch *b;
	struct err e = {0};
	size_t i;

	doc_opts_init(&o);
	o.on_bad = DOC_PASS;
	r = doc_reader_open(path, n, &o);
	p = doc_parser_new(&o);
	while ((b = doc_read(r, 20000, &e))) {
		if (!second)
			assert_int_equal(again_put(a, b, &e), 0);
		assert_int_equal(doc_parse(p, b, &e), 0);
		if (second)
			again_name(a, b);
		for (i = 0; i < b->n; i++) {
			buf_printf(out, "%s:%llu: ", b->v[i].file,
				   (unsigned long long)b->v[i].lineno);
			buf_put(out, b->v[i].line.p, b->v[i].line.n);
		}
		doc_batch_free(b);
	}
	assert_false(e.set);
	doc_parser_free(p);
	doc_reader_close(r);
}

static void
read_twice(void **state)
{
	static const char docs[] = "tests/data/nasty/good.jsonl.zst";
	char *folder = test_folder();
	const char *fifo = test_path(folder, "fifo");
	const char *tail = test_path(folder, "tail");
	const char *path[] = {docs, fifo, tail};
	const char *const *again;
	struct feed f = {docs, fifo};
	struct buf first = {0}, second = {0};
	struct err e = {0};
	struct again *a;
	pthread_t t;
	size_t n;

	(void)state;
	test_write(tail, "\n{\"text\":\"\"}", 12);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	a = again_new(path, 3, &e);
	assert_non_null(a);
	assert_int_equal(pthread_create(&t, NULL, feed, &f), 0);
	read_all(path, 3, a, 0, &first);
	pthread_join(t, NULL);
	assert_int_equal(again_paths(a, &again, &n, &e), 0);
	assert_int_equal(n, 3);
	assert_ptr_equal(again[0], docs);
	read_all(again, n, a, 1, &second);
	assert_true(first.n > 200000);
	assert_true(span_eq(buf_span(&first), buf_span(&second)));
	again_free(a);
	buf_clear(&first);
	buf_clear(&second);
	test_remove(folder);
}

/* It is told before anything is read. */
static void
nowhere_to_put(void **state)
{
	const char *path[] = {"-"};
	struct err e = {0};

	(void)state;
	setenv("TMPDIR", "/nonexistent/folder", 1);
	assert_null(again_new(path, 1, &e));
	assert_non_null(strstr(e.msg, "/nonexistent/folder"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(read_twice),
		cmocka_unit_test(nowhere_to_put),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
