/*
 * input: every kind of stream, whole or broken
 *
 * The first table goes over tests/data/nasty: the sizes are those the stock
 * zstd and gzip give (tests/data/README.md).  The other streams are made here.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <zlib.h>
#include <zstd.h>

#include "tests/unit/test.h"

#include "base/buf.h"
#include "stream/input.h"
#include "stream/replay.h"

static struct chunk chunk;

/* All chunks of some files joined; -1 and e on error. */
static int
read_all(const char *const *paths, size_t n, size_t want, struct buf *all,
	 struct err *e)
{
	struct input *in = input_open(paths, n);
	uint64_t line = 1, off = 0;
	size_t file = 0;
	int rc;

	buf_reset(all);
	while ((rc = input_chunk(in, &chunk, want, e)) > 0) {
		if (chunk.file != file) {
			file = chunk.file;
			line = 1;
			off = 0;
		}
		assert_true(chunk.n > 0);
		assert_string_equal(chunk.name, paths[chunk.file]);
		assert_int_equal(chunk.line, line);
		assert_true(chunk.offset == off ||
			    (off == 0 && chunk.offset == 3));
		for (size_t i = 0; i < chunk.n; i++)
			line += chunk.p[i] == '\n';
		off = chunk.offset + chunk.n;
		for (size_t i = 0; i < INPUT_PADDING; i++)
			assert_int_equal(chunk.p[chunk.n + i], 0);
		buf_put(all, chunk.p, chunk.n);
	}
	assert_int_equal(rc < 0, e->set);
	if (!rc && input_total(in))
		assert_int_equal(input_done(in), input_total(in));
	input_close(in);
	return rc;
}

static void
nasty(void **state)
{
	static const struct {
		const char *name;
		size_t bytes, lines;	/* line ends */
		const char *error;
	} t[] = {
		{ "good.jsonl.zst", 126952, 400, NULL },
		{ "good.jsonl.gz", 126952, 400, NULL },
		{ "multiframe.jsonl.zst", 126952, 400, NULL },
		{ "multiframe_skippable.jsonl.zst", 126952, 400, NULL },
		{ "multimember.jsonl.gz", 126952, 400, NULL },
		{ "streamed.jsonl.zst", 126952, 400, NULL },
		{ "long_window.jsonl.zst", 126952, 400, NULL },
		{ "zeros_after.jsonl.gz", 126952, 400, NULL },
		{ "zst_named_plain.jsonl", 126952, 400, NULL },
		{ "plain_named_zst.jsonl.zst", 1897, 6, NULL },
		{ "empty.jsonl", 0, 0, NULL },
		{ "empty.jsonl.gz", 0, 0, NULL },
		{ "empty_frame.jsonl.zst", 0, 0, NULL },
		{ "bom_only.jsonl", 0, 0, NULL },
		{ "bom.jsonl", 150, 5, NULL },
		{ "no_final_newline.jsonl", 149, 4, NULL },
		{ "only_newlines.jsonl", 1000, 1000, NULL },
		{ "cr_only.jsonl", 150, 0, NULL },
		{ "boundaries.jsonl.zst", 3764224, 13, NULL },
		{ "long_line_raw.txt.zst", 5242880, 0, NULL },
		{ "tiny_docs.jsonl.zst", 4755557, 200000, NULL },
		{ "truncated.jsonl.zst", 0, 0,
		  "offset 17321: zstd: truncated frame (offset 60642 of" },
		{ "truncated.jsonl.gz", 0, 0,
		  "offset 19130: gzip: truncated member (offset 83246 of" },
		{ "truncated_header.jsonl.zst", 0, 0,
		  "offset 3: truncated zstd header" },
		{ "bad_checksum.jsonl.zst", 0, 0, "zstd: wrong checksum" },
		{ "corrupt.jsonl.zst", 0, 0, "zstd: " },
		{ "bad_crc.jsonl.gz", 0, 0, "gzip: incorrect data check" },
		{ "garbage_after.jsonl.zst", 0, 0,
		  "offset 25982: zstd: bytes after the last frame are not" },
		{ "zero_bytes.jsonl.zst", 0, 0, "0 bytes, not a compressed" },
		{ "zero_bytes.jsonl.gz", 0, 0, "0 bytes, not a compressed" },
		{ "good.jsonl.bz2", 0, 0, "bzip2 is not supported" },
		{ "good.jsonl.xz", 0, 0, "xz is not supported" },
		{ "utf16le_bom.jsonl", 0, 0, "UTF-16 is not supported" },
	};
	static const size_t wants[] = { 1, 4096, 1 << 20 };
	struct buf all = {0};

	(void)state;
	for (size_t i = 0; i < 3 * TEST_COUNT(t); i++) {
		const char *path = test_path("tests/data/nasty",
					     t[i / 3].name);
		const char *error = t[i / 3].error;
		struct err e = {0};
		size_t lines = 0;

		read_all(&path, 1, wants[i % 3], &all, &e);
		if (error && (!e.set || !strstr(e.msg, error) ||
			      strncmp(e.msg, path, strlen(path))))
			fail_msg("%s: %s", path, e.msg);
		if (error)
			continue;
		if (e.set || all.n != t[i / 3].bytes)
			fail_msg("%s: %zu %s", path, all.n, e.msg);
		for (size_t k = 0; k < all.n; k++)
			lines += all.p[k] == '\n';
		assert_int_equal(lines, t[i / 3].lines);
	}
	buf_clear(&all);
}

static void
several_files_are_one_stream(void **state)
{
	const char *paths[] = {
		"tests/data/nasty/no_final_newline.jsonl",
		"tests/data/nasty/empty.jsonl",
		"tests/data/nasty/good.jsonl.zst",
		"tests/data/nasty/bom.jsonl",
		"tests/data/nasty/good.jsonl.gz",
	};
	struct buf all = {0};
	struct err e = {0};

	(void)state;
	assert_int_equal(read_all(paths, 5, 1 << 16, &all, &e), 0);
	assert_int_equal(all.n, 149 + 126952 + 150 + 126952);
	buf_clear(&all);
}

/* The chunk of a long line grows, later ones are short again. */
static void
chunk_sizes(void **state)
{
	char *dir = test_folder();
	const char *path = test_path(dir, "lines");
	struct input *in;
	struct err e = {0};
	struct buf b = {0};
	size_t chunks = 0;

	(void)state;
	for (int i = 0; i < 1000; i++)
		buf_printf(&b, "%099d\n", i);
	memset(buf_reserve(&b, 300000), 'x', 300000);
	b.n += 300000;
	for (int i = 0; i < 1000; i++)
		buf_printf(&b, "%099d\n", i);
	test_write(path, b.p, b.n);
	in = input_open(&path, 1);
	while (input_chunk(in, &chunk, 10000, &e) > 0) {
		chunks++;
		assert_true(chunk.n <= 10000 || chunk.n >= 300000);
		assert_int_equal(chunk.p[chunk.n - 1], '\n');
	}
	assert_true(!e.set && chunks >= 15 && chunks < 30);
	input_close(in);
	buf_clear(&b);
	test_remove(dir);
}

static void
missing_files_at_once(void **state)
{
	const char *paths[] = { "tests/data/nasty/good.jsonl.zst",
				"/no/such/file" };
	const char *dir = "tests/data";
	struct buf all = {0};
	struct err e = {0}, f = {0};

	(void)state;
	assert_int_equal(read_all(paths, 2, 100, &all, &e), -1);
	assert_int_equal(all.n, 0);
	assert_string_equal(e.msg, "/no/such/file: No such file or directory");
	assert_int_equal(read_all(&dir, 1, 100, &all, &f), -1);
	assert_string_equal(f.msg,
			    "tests/data: is a folder, not a file of lines");
	buf_clear(&all);
}

/* A stream cut at every place: the whole, or an error; never less. */
static void
cut_anywhere(const char *dir, const char *p, size_t n, size_t whole)
{
	const char *path = test_path(dir, "cut");
	struct buf all = {0};

	for (size_t cut = 0; cut <= n; cut++) {
		struct err e = {0};

		test_write(path, p, cut);
		if (read_all(&path, 1, 4096, &all, &e) < 0)
			continue;
		/* 1 byte is not a magic number; 0 bytes are an empty stream. */
		if (cut == n ? all.n != whole : cut > 1)
			fail_msg("cut at %zu of %zu: %zu bytes", cut, n, all.n);
	}
	buf_clear(&all);
}

static void
cut_streams(void **state)
{
	char *dir = test_folder(), text[600], z[4096], g[4096];
	size_t zn;
	z_stream s = {0};

	(void)state;
	for (size_t i = 0; i < sizeof text; i++)
		text[i] = i % 60 == 59 ? '\n' : (char)(' ' + i * i % 91);
	zn = ZSTD_compress(z, sizeof z, text, sizeof text, 3);
	assert_false(ZSTD_isError(zn));
	cut_anywhere(dir, z, zn, sizeof text);

	deflateInit2(&s, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
	s.next_in = (Bytef *)text;
	s.avail_in = sizeof text;
	s.next_out = (Bytef *)g;
	s.avail_out = sizeof g;
	assert_int_equal(deflate(&s, Z_FINISH), Z_STREAM_END);
	cut_anywhere(dir, g, sizeof g - s.avail_out, sizeof text);
	deflateEnd(&s);
	test_remove(dir);
}

static void
slurp(void **state)
{
	struct err e = {0};
	char *p;
	size_t n;

	(void)state;
	assert_int_equal(input_slurp("tests/data/nasty/good.jsonl.gz", &p, &n,
				     &e), 0);
	assert_int_equal(n, 126952);
	assert_int_equal(p[n], 0);
	free(p);
	assert_int_equal(input_slurp("tests/data/nasty/empty.jsonl", &p, &n,
				     &e), 0);
	assert_int_equal(n, 0);
	free(p);
	assert_int_equal(input_slurp("tests/data/nasty/utf16le_bom.jsonl", &p,
				     &n, &e), 0);
	assert_int_equal(n, 108);
	free(p);
	assert_int_equal(input_slurp("/no/such", &p, &n, &e), -1);
}

/* --- the same once more --- */

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

/* Every chunk with its file, line and place. */
static void
read_on(struct input *in, struct buf *out, struct err *e)
{
	while (input_chunk(in, &chunk, 20000, e) > 0) {
		buf_printf(out, "%s:%llu:%llu: ", chunk.name,
			   (unsigned long long)chunk.line,
			   (unsigned long long)chunk.offset);
		buf_put(out, chunk.p, chunk.n);
	}
}

/* A file, a pipe and a pipe that is compressed, three times over. */
static void
rewound(void **state)
{
	static const char plain[] = "tests/data/nasty/boundaries.jsonl.zst";
	static const char docs[] = "tests/data/nasty/good.jsonl.zst";
	char *folder = *state;
	const char *path[] = {docs, test_path(folder, "a"),
			      test_path(folder, "b")};
	struct feed f[] = {{docs, path[1]}, {plain, path[2]}};
	struct buf pass[3] = {{0}};
	struct err e = {0};
	struct input *in;
	pthread_t t[2];
	int i;

	for (i = 0; i < 2; i++) {
		assert_int_equal(mkfifo(f[i].to, 0600), 0);
		assert_int_equal(pthread_create(&t[i], NULL, feed, &f[i]), 0);
	}
	in = input_open(path, 3);
	input_keep(in);
	for (i = 0; i < 3; i++) {
		if (i)
			assert_int_equal(input_rewind(in, &e), 0);
		read_on(in, &pass[i], &e);
		assert_false(e.set);
		assert_true(pass[i].n > 4000000);
		assert_true(span_eq(buf_span(&pass[i]), buf_span(&pass[0])));
	}
	input_close(in);
	for (i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	for (i = 0; i < 3; i++)
		buf_clear(&pass[i]);
}

/* A file on standard input is read again from its first offset. */
static void
stdin_rewound(void **state)
{
	const char *path = test_path(*state, "in");
	int old = dup(STDIN_FILENO), fd, i;
	struct buf all = {0};
	struct err e = {0};
	struct input *in;

	test_write(path, "first\nsecond\nthird\n", 19);
	fd = open(path, O_RDONLY);
	assert_true(fd >= 0 && lseek(fd, 6, SEEK_SET) == 6);
	assert_true(dup2(fd, STDIN_FILENO) == STDIN_FILENO);
	in = input_open(NULL, 0);
	input_keep(in);
	for (i = 0; i < 2; i++) {
		if (i)
			assert_int_equal(input_rewind(in, &e), 0);
		read_on(in, &all, &e);
		assert_false(e.set);
	}
	assert_true(span_eq(buf_span(&all), span_str(
		"<stdin>:1:0: second\nthird\n<stdin>:1:0: second\nthird\n")));
	input_close(in);
	buf_clear(&all);
	dup2(old, STDIN_FILENO);
	close(old);
	close(fd);
}

static void
changed_meanwhile(void **state)
{
	const char *path = test_path(*state, "in");
	struct buf all = {0};
	struct err e = {0};
	struct input *in;

	test_write(path, "first\n", 6);
	in = input_open(&path, 1);
	input_keep(in);
	read_on(in, &all, &e);
	test_write(path, "second\n", 7);
	assert_int_equal(input_rewind(in, &e), -1);
	assert_non_null(strstr(e.msg, "in: changed while it was read"));
	input_close(in);
	buf_clear(&all);
}

/* What does not fit into memory has nowhere to go. */
static void
nowhere_to_put(void **state)
{
	char *old = getenv("TMPDIR"), block[4096];
	struct err e = {0};
	struct replay *k;
	uint64_t x = 1;
	size_t i, n;
	int rc = 0;

	(void)state;
	old = old ? strdup(old) : NULL;
	setenv("TMPDIR", "/nonexistent/folder", 1);
	k = replay_new();
	for (n = 0; n < 40 << 20 && !rc; n += sizeof(block)) {
		for (i = 0; i < sizeof(block); i++) {
			x = x * 6364136223846793005u + 1442695040888963407u;
			block[i] = (char)(x >> 56);
		}
		rc = replay_put(k, block, sizeof(block), &e);
	}
	assert_int_equal(rc, -1);
	assert_true(n > 8 << 20);
	assert_non_null(strstr(e.msg, "/nonexistent/folder"));
	replay_free(k);
	if (old)
		setenv("TMPDIR", old, 1);
	else
		unsetenv("TMPDIR");
	free(old);
}

static int
clear(void **state)
{
	(void)state;
	chunk_clear(&chunk);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nasty),
		cmocka_unit_test(several_files_are_one_stream),
		cmocka_unit_test(chunk_sizes),
		cmocka_unit_test(missing_files_at_once),
		cmocka_unit_test(cut_streams),
		cmocka_unit_test(slurp),
		TEST_IN_FOLDER(rewound),
		TEST_IN_FOLDER(stdin_rewound),
		TEST_IN_FOLDER(changed_meanwhile),
		cmocka_unit_test(nowhere_to_put),
	};

	return cmocka_run_group_tests(tests, NULL, clear);
}
