/*
 * safetensors.c - reading what is right, refusing every kind of wrong
 */
#include "tests/unit/test.h"

#include <math.h>

#include "record/safetensors.h"

/* A file of a header and n data bytes. */
static const char *
file_of(const char *dir, const char *header, size_t n)
{
	const char *path = test_path(dir, "x.safetensors");
	struct buf b = {0};
	size_t len = strlen(header), i;

	for (i = 0; i < 8; i++)
		buf_putc(&b, (char)(len >> (8 * i)));
	buf_puts(&b, header);
	for (i = 0; i < n; i++)
		buf_putc(&b, (char)i);
	test_write(path, b.p, b.n);
	buf_clear(&b);
	return path;
}

static void
refuse(const char *dir, const char *header, size_t n, const char *word)
{
	struct err e = {0};
	struct st *s = st_open(file_of(dir, header, n), &e);

	if (s)
		fail_msg("accepted: %s", header);
	if (!strstr(e.msg, word) || !strstr(e.msg, "x.safetensors"))
		fail_msg("%s: message is \"%s\", expected \"%s\" in it",
			 header, e.msg, word);
}

static void
reads_what_it_writes(void **state)
{
	const float f[] = {1.5f, -2, 3.25f, 0, 1e-40f, 5};
	const uint16_t h[] = {0x3fc0, 0xc000, 0x7f80};	/* 1.5 -2 inf */
	const char *path = test_path(*state, "w.safetensors");
	struct st_tensor v[2];
	struct buf b = {0};
	struct err e = {0};
	float out[6];
	struct st *s;

	st_describe(&v[0], "b \"quoted\"", ST_F32, 2, 3);
	st_describe(&v[1], "a", ST_BF16, 3, 0);
	st_header(v, 2, &b);
	assert_int_equal(b.n % ST_ALIGN, 0);
	buf_put(&b, f, sizeof f);
	buf_put(&b, h, sizeof h);
	test_write(path, b.p, b.n);
	buf_clear(&b);
	s = st_open(path, &e);
	assert_non_null(s);
	assert_int_equal(s->n, 2);
	assert_string_equal(s->v[0].name, "a");
	assert_int_equal(s->v[1].ndim, 2);
	assert_int_equal(s->v[1].shape[1], 3);
	assert_int_equal(st_f32(&s->v[1], 1, 5, out, &e), 0);
	assert_memory_equal(out, f + 1, 20);
	assert_int_equal(st_f32(st_find(s, "a"), 0, 3, out, &e), 0);
	assert_true(out[0] == 1.5f && out[1] == -2 && isinf(out[2]));
	assert_null(st_find(s, "c"));
	st_close(s);
}

/* Every half there is, against its value by definition. */
static void
halves(void **state)
{
	char *header = malloc(200);
	const char *path;
	struct err e = {0};
	struct buf b = {0};
	struct st *s;
	uint32_t i;
	size_t n;
	float x;

	snprintf(header, 200, "{\"h\":{\"dtype\":\"F16\",\"shape\":[65536],"
		 "\"data_offsets\":[0,131072]}} ");
	path = file_of(*state, header, 0);
	{
		char *p = test_read(path, &n);

		buf_put(&b, p, n);
		free(p);
	}
	for (i = 0; i < 65536; i++) {
		buf_putc(&b, (char)i);
		buf_putc(&b, (char)(i >> 8));
	}
	test_write(path, b.p, b.n);
	s = st_open(path, &e);
	assert_non_null(s);
	for (i = 0; i < 65536; i++) {
		int exp = (int)(i >> 10 & 31), man = (int)(i & 1023);
		double want = exp == 31 ? (man ? NAN : INFINITY) :
			exp ? ldexp(1024 + man, exp - 25) :
			ldexp(man, -24);

		assert_int_equal(st_f32(&s->v[0], i, 1, &x, &e), 0);
		if (i & 0x8000)
			want = -want;
		if (!(isnan(want) && isnan(x)) && x != want)
			fail_msg("half %04x is %g, expected %g", i, x, want);
	}
	st_close(s);
	buf_clear(&b);
	free(header);
}

static void
broken_headers(void **state)
{
#define T(body) "{\"a\":{\"dtype\":\"F32\"," body "}}"
	refuse(*state, T("\"shape\":[2],\"data_offsets\":[0,4]"), 4, "need 8");
	refuse(*state, T("\"shape\":[2],\"data_offsets\":[0,8]"), 4,
	       "truncated");
	refuse(*state, T("\"shape\":[2],\"data_offsets\":[0,8]"), 9,
	       "after the last");
	refuse(*state, T("\"shape\":[2],\"data_offsets\":[4,12]"), 12, "hole");
	refuse(*state, T("\"shape\":[-2],\"data_offsets\":[0,8]"), 8,
	       "not a count");
	refuse(*state, T("\"shape\":[4611686018427387904,4],"
			 "\"data_offsets\":[0,0]"), 0, "overflows");
	refuse(*state, T("\"shape\":[4611686018427387904],"
			 "\"data_offsets\":[0,0]"), 0, "overflows");
	refuse(*state, T("\"shape\":2,\"data_offsets\":[0,8]"), 8, "shape");
	refuse(*state, T("\"shape\":[2],\"data_offsets\":[8,0]"), 8,
	       "data_offsets");
	refuse(*state, "{\"a\":{\"dtype\":\"Q9\",\"shape\":[],"
	       "\"data_offsets\":[0,0]}}", 0, "unknown dtype");
	refuse(*state, "{\"a\":{\"shape\":[],\"data_offsets\":[0,0]}}", 0,
	       "no dtype");
	refuse(*state, "{\"a\":3}", 0, "not an object");
	refuse(*state, "[3]", 0, "does not start");
	refuse(*state, "{\"a\":", 0, "x.safetensors");
	refuse(*state, "{\"a\\u0000\":{\"dtype\":\"F32\",\"shape\":[1],"
	       "\"data_offsets\":[0,4]}}", 4, "NUL");
	refuse(*state, "{\"a\":{\"dtype\":\"U8\",\"shape\":[4],"
	       "\"data_offsets\":[0,4]},\"b\":{\"dtype\":\"U8\","
	       "\"shape\":[4],\"data_offsets\":[2,6]}}", 6, "overlaps");
	refuse(*state, "{\"a\":{\"dtype\":\"U8\",\"shape\":[4],"
	       "\"data_offsets\":[0,4]},\"a\":{\"dtype\":\"U8\","
	       "\"shape\":[4],\"data_offsets\":[0,4]}}", 4, "twice");
#undef T
}

static void
odd_but_legal(void **state)
{
	struct err e = {0};
	struct st *s = st_open(file_of(*state,
		"{\"__metadata__\":{\"a\":\"b:{\"},\"z\":{\"dtype\":\"F32\","
		"\"shape\":[],\"data_offsets\":[0,4]},\"none\":{\"dtype\":"
		"\"BF16\",\"shape\":[0,7],\"data_offsets\":[4,4]}}  ", 4), &e);

	if (!s)
		fail_msg("%s", e.msg);
	assert_int_equal(st_find(s, "z")->n, 1);
	assert_int_equal(st_find(s, "none")->n, 0);
	st_close(s);
}

static void
header_length(void **state)
{
	static const char huge[] = "\xff\xff\xff\xff\xff\xff\xff\x7f{}";
	const char *path = test_path(*state, "x.safetensors");
	struct err e = {0};

	test_write(path, huge, sizeof huge - 1);
	assert_null(st_open(path, &e));
	assert_non_null(strstr(e.msg, "offset 0"));
	e.set = 0;
	test_write(path, "abc", 3);
	assert_null(st_open(path, &e));
	assert_non_null(strstr(e.msg, "at least 10"));
}

static void
sharded_folder(void **state)
{
	struct err e = {0};
	size_t i, changes = 0;
	struct st *s;

	(void)state;
	s = st_open("tests/data/models/llama-bf16-sharded", &e);
	assert_non_null(s);
	assert_int_equal(s->n, 21);
	for (i = 1; i < s->n; i++)
		changes += strcmp(s->v[i].file, s->v[i - 1].file) != 0;
	assert_true(changes > 0);
	st_close(s);
}

static void
index_must_fit(void **state)
{
	const char *one = "{\"a\":{\"dtype\":\"U8\",\"shape\":[4],"
		"\"data_offsets\":[0,4]}}";
	static const struct {
		const char *index, *word;
	} t[] = {
		{"{\"weight_map\":{\"b\":\"x.safetensors\"}}", "b is not in"},
		{"{\"weight_map\":{}}", "lists 0"},
		{"{\"weight_map\":{\"a\":\"../x.safetensors\"}}",
		 "does not name"},
		{"{\"weight_map\":{\"a\":\"y.safetensors\"}}", "y.safetens"},
		{"{}", "no weight_map"},
	};
	size_t i;

	file_of(*state, one, 4);
	for (i = 0; i < TEST_COUNT(t); i++) {
		struct err e = {0};
		struct st *s;

		test_write(test_path(*state, "model.safetensors.index.json"),
			   t[i].index, strlen(t[i].index));
		s = st_open(*state, &e);
		if (i == 1 && s) {	/* an empty model is an empty model */
			assert_int_equal(s->n, 0);
			st_close(s);
			continue;
		}
		assert_null(s);
		if (!strstr(e.msg, t[i].word))
			fail_msg("%s: message \"%s\"", t[i].index, e.msg);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(reads_what_it_writes),
		TEST_IN_FOLDER(halves),
		TEST_IN_FOLDER(broken_headers),
		TEST_IN_FOLDER(odd_but_legal),
		TEST_IN_FOLDER(header_length),
		TEST_IN_FOLDER(sharded_folder),
		TEST_IN_FOLDER(index_must_fit),
	};

	return cmocka_run_group_tests_name("safetensors", tests, NULL, NULL);
}
