/*
 * Mojibake: UTF-8 read as Windows-1252 is found, correct text is not; U+FFFD
 * and broken UTF-8 are counted, however the bytes are chunked.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "text/mojibake.h"

static struct mojibake
scan(const char *s, size_t step)
{
	size_t n = strlen(s), i, k;
	struct mojibake m;

	mojibake_init(&m, 0);
	for (i = 0; i < n; i += k) {
		k = n - i < step ? n - i : step;
		mojibake_feed(&m, s + i, k);
	}
	mojibake_end(&m, 0);
	return m;
}

static void
count(const char *s, uint64_t mojibake, uint64_t replaced)
{
	size_t step;

	for (step = 1; step < 6; step++) {
		struct mojibake m = scan(s, step);

		if (m.mojibake != mojibake || m.replaced != replaced)
			fail_msg("\"%s\": %d wrong, %d replaced, expected %d, "
				 "%d", s, (int)m.mojibake, (int)m.replaced,
				 (int)mojibake, (int)replaced);
	}
}

static char places[256];

static void
on_found(void *ctx, int replaced, uint64_t at)
{
	size_t n = strlen(places);

	snprintf(places + n, sizeof places - n, "%s%c%d", n ? " " : "",
		 replaced ? 'r' : 'm', (int)at);
	assert_ptr_equal(ctx, places);
}

/* Where each begins: a wrong character at the first of its characters. */
static void
where(const char *s, const char *want)
{
	size_t step, n = strlen(s), i, k;

	for (step = 1; step < 6; step++) {
		struct mojibake m;

		places[0] = 0;
		mojibake_init(&m, 0);
		m.found = on_found;
		m.ctx = places;
		for (i = 0; i < n; i += k) {
			k = n - i < step ? n - i : step;
			mojibake_feed(&m, s + i, k);
		}
		mojibake_end(&m, 0);
		assert_string_equal(places, want);
	}
}

static void
place(void **state)
{
	(void)state;
	where("CafÃ©", "m3");
	where("ÐœÐ¾", "m0 m4");		/* the first is certain only now */
	where("xÃ©Ð¾ y", "m1 m5");
	where("xÐ¾Ã© y", "m1 m5");
	where("a\xef\xbf\xbd" "b\xff" "c\xc3", "r1 r5 r7");
	where("a\xe4\xb8" "b\xc3\xa9\x80", "r1 r6");
}

static void
found(void **state)
{
	(void)state;
	count("CafÃ©", 1, 0);
	count("Ã©Ð¾", 2, 0);	/* one that is certain, and its neighbour */
	count("Ð¾Ã©", 2, 0);
	count("donâ€™t â€œhere", 2, 0);		/* Windows-1252 */
	count("don\xc3\xa2\xc2\x80\xc2\x99t", 1, 0);	/* Latin-1 */
	count("Ã¼ber MÃ¤dchen", 2, 0);
	count("20\xc3\x82\xc2\xb0", 1, 0);		/* a degree sign */
	count("ÐœÐ¾ÑÐºÐ²Ð°", 5, 0);	/* Москва, a byte of с lost */
	count("Ð¿Ñ€Ð¸", 3, 0);
	count("æ–‡å­—", 2, 0);
	count("ðŸ˜€ðŸ˜€", 2, 0);
}

static void
honest(void **state)
{
	(void)state;
	count("", 0, 0);
	count("plain ASCII, nothing else\n", 0, 0);
	count("Éric à l’école : « café », été.", 0, 0);
	count("café”—so it is", 0, 0);
	count("Ärger, Öl, “Übung”", 0, 0);
	count("NÃO, MANHÃ” e “MANHÔ", 0, 0);
	count("Việt Nam, Â Ê Ô", 0, 0);
	count("Москва 文字 😀", 0, 0);
}

static void
broken(void **state)
{
	(void)state;
	count("a\xef\xbf\xbd" "b", 0, 1);
	count("a\xff" "b", 0, 1);
	count("a\xc3", 0, 1);
	count("a\xe4\xb8" "b", 0, 1);
	count("\xed\xa0\x80", 0, 1);		/* a surrogate */
	count("\xc0\xaf", 0, 1);		/* overlong */
	count("\xf4\x90\x80\x80", 0, 1);
}

static void
cut_at_the_edges(void **state)
{
	struct mojibake m;

	(void)state;
	mojibake_init(&m, 1);
	mojibake_feed(&m, "\xb8\xad good \xe4\xb8", 10);
	mojibake_end(&m, 1);
	assert_int_equal(m.replaced, 0);
	mojibake_init(&m, 1);
	mojibake_feed(&m, "a\xb8", 2);
	mojibake_end(&m, 1);
	assert_int_equal(m.replaced, 1);
	mojibake_init(&m, 0);
	mojibake_feed(&m, "\xe4\xb8", 2);
	mojibake_ascii(&m, 1);		/* a cut inside is a fault */
	assert_int_equal(m.replaced, 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(found),
		cmocka_unit_test(place),
		cmocka_unit_test(honest),
		cmocka_unit_test(broken),
		cmocka_unit_test(cut_at_the_edges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
