/* generator.c - bytes of tokens, characters that are not whole yet */
#include "tests/unit/test.h"

#include "sample/generator.h"

static void
whole_characters(void **state)
{
	const char *s = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x91\x8d";
	/* last byte seen -> length that ends no character in two */
	static const size_t want[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10};

	(void)state;
	for (size_t n = 0; n <= 10; n++)
		assert_int_equal(generator_whole_chars(s, n), want[n]);
	/* continuation bytes alone are nobody's start: nothing to wait for */
	assert_int_equal(generator_whole_chars("\x80\x80\x80\x80", 4), 4);
}

static void
bytes_of_tokens(void **state)
{
	struct span token[] = {
		{"\xe2\x96\x81the\xe2\x96\x81", 9}, {"\x0a", 1},
		{"</s>", 4}, {"", 0},
	};
	uint8_t flags[] = {0, VOCAB_BYTE, VOCAB_SPECIAL, 0};
	struct vocab v = {.kind = VOCAB_SENTENCEPIECE, .n = 4,
		.token = token, .flags = flags};
	struct buf b = {0};

	(void)state;
	for (uint32_t id = 0; id < 6; id++)	/* 4 and 5 are no tokens */
		generator_put_token(&v, id, &b);
	assert_int_equal(b.n, 6);
	assert_memory_equal(b.p, " the \n", 6);
	buf_reset(&b);
	v.kind = VOCAB_BYTE_LEVEL;
	generator_put_token(&v, 0, &b);
	assert_int_equal(b.n, 9);
	buf_clear(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_characters),
		cmocka_unit_test(bytes_of_tokens),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
