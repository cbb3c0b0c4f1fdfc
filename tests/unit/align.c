/*
 * align.c: every run of tokens is where its bytes are, under tokenizers that
 * normalize, put a space in front or split characters.
 */
#include "tests/unit/test.h"

#include "base/utf8.h"
#include "text/unicode.h"
#include "tokenizer/align.h"
#include "tokenizer/bpe.h"

#define NFD "nai\xcc\x88ve cafe\xcc\x81"
#define WAVE "\xf0\x9f\x91\x8b\xf0\x9f\x8f\xbd"

static const char *const texts[] = {
	"", "x", " x", "   two  spaces ", "a\n\nb\tc", NFD " au lait",
	"e\xcc\x81", "=\xcc\xb8 \xcc\x81x e\xcc\x81" "e\xcc\x81",
	"\xe2\x84\xab\xe2\x84\xa6 \xe1\x84\x80\xe1\x85\xa1 \xea\xb0\x80",
	"wave " WAVE WAVE " \xe4\xb8\xad\xe6\x96\x87",
	"\xe2\x96\x81 a \xe2\x96\x81",
};

/* Is b part of a? */
static int
holds(struct span a, struct span b)
{
	return !b.n || (a.n && memmem(a.p, a.n, b.p, b.n));
}

static void
check_run(const struct vocab *v, const struct bpe *bpe, struct span text,
	  const uint32_t *ids, size_t nids, uint32_t a, uint32_t b)
{
	struct { uint32_t start, end; } h = {a, b};
	struct align at;
	struct buf part = {0}, norm = {0};
	struct span own, piece;
	struct err e = {0};

	align_init(&at, bpe, text, ids, nids);
	align_range(&at, &h.start, &h.end);
	align_clear(&at);
	assert_true(h.start <= h.end && h.end <= text.n);
	assert_true(h.start == text.n || !utf8_is_cont(text.p[h.start]));
	assert_true(h.end == text.n || !utf8_is_cont(text.p[h.end]));
	if (a == 0)
		assert_int_equal(h.start, 0);
	if (b == nids)
		assert_int_equal(h.end, text.n);
	assert_int_equal(vocab_decode(v, ids + a, b - a, 0, &part, &e), 0);
	own = buf_span(&part);
	/* without a space of the tokenizer's own and parts of characters */
	while (own.n && (*own.p == ' ' || utf8_is_cont(*own.p)))
		own.p++, own.n--;
	while (own.n && (own.p[own.n - 1] & 0x80))
		own.n--;
	piece = (struct span){text.p + h.start, h.end - h.start};
	if (v->nfc && !uc_nfc(piece, &norm))
		piece = buf_span(&norm);
	if (v->kind != VOCAB_SENTENCEPIECE && !holds(piece, own))
		fail_msg("tokens %u to %u of \"%s\": \"%.*s\" without "
			 "\"%.*s\"", a, b, text.p, (int)piece.n, piece.p,
			 (int)own.n, own.p);
	buf_clear(&part);
	buf_clear(&norm);
}

static void
runs(void **state)
{
	static const char *const names[] = {
		"tests/data/tok/gpt2_tokenizer.json.zst",
		"tests/data/tok/gptneox_tokenizer.json.zst",
		"tests/data/tok/mistral7b_tokenizer.json.zst",
	};
	struct ids ids = {0};
	struct err e = {0};
	size_t k, i;
	uint32_t a, b;

	(void)state;
	for (k = 0; k < TEST_COUNT(names); k++) {
		struct vocab *v = vocab_load(names[k], NULL, &e);
		struct bpe *bpe = v ? bpe_new(v, &e) : NULL;
		struct bpe_enc *enc;

		assert_non_null(bpe);
		enc = bpe_enc_new(bpe, 0);
		for (i = 0; i < TEST_COUNT(texts); i++) {
			ids.n = 0;
			bpe_units(enc, span_str(texts[i]), &ids,
				  &(struct err){0});
			for (a = 0; a < ids.n; a++)
				for (b = a + 1; b <= ids.n; b++)
					check_run(v, bpe, span_str(texts[i]),
						  ids.v, ids.n, a, b);
		}
		bpe_enc_free(enc);
		bpe_free(bpe);
		vocab_free(v);
	}
	free(ids.v);
}

/* A vocabulary by hand. */
struct by_hand {
	struct vocab v;
	struct span token[8];
	uint8_t flags[8];
};

static struct bpe *
bpe_of(const struct vocab *v)
{
	struct err e = {0};
	struct bpe *b = bpe_new(v, &e);

	if (!b)
		fail_msg("%s", e.msg);
	return b;
}

static void
at(const struct vocab *v, const char *text, const uint32_t *ids, size_t n,
   const uint32_t (*want)[2])
{
	struct bpe *b = bpe_of(v);
	struct align a;
	size_t i;

	align_init(&a, b, span_str(text), ids, n);
	for (i = 0; i < n; i++) {
		uint32_t start = (uint32_t)i, end = start + 1;

		align_range(&a, &start, &end);
		assert_int_equal(start, want[i][0]);
		assert_int_equal(end, want[i][1]);
	}
	align_clear(&a);
	bpe_free(b);
}

static void
places(void **state)
{
	static const char *const bytes[] = {
		"\xc3\xa9", "a", " a", "\xc3", "\xa9", "\xe2\x96\x81\x61",
		"\xe2\x96\x81", "<unk>",
	};
	struct by_hand x = {.v = {.n = 8, .unk = -1, .nfc = 1}};
	size_t i;

	(void)state;
	for (i = 0; i < 8; i++)
		x.token[i] = span_str(bytes[i]);
	x.v.token = x.token;
	x.v.flags = x.flags;
	/* two characters that become one; one in two tokens */
	at(&x.v, "ae\xcc\x81" "a", (uint32_t[]){1, 0, 1}, 3,
	   (uint32_t[][2]){{0, 1}, {1, 4}, {4, 5}});
	at(&x.v, "a\xc3\xa9", (uint32_t[]){1, 3, 4}, 3,
	   (uint32_t[][2]){{0, 1}, {1, 3}, {1, 3}});
	/* a space put in front, and one of the text */
	x.v.add_prefix_space = 1;
	at(&x.v, "a a", (uint32_t[]){2, 2}, 2,
	   (uint32_t[][2]){{0, 1}, {1, 3}});
	x.v.nfc = x.v.add_prefix_space = 0;
	x.v.kind = VOCAB_SENTENCEPIECE;
	x.v.sp_prepend = VOCAB_PREPEND_EACH;
	at(&x.v, "a a  a", (uint32_t[]){5, 5, 6, 5}, 4,
	   (uint32_t[][2]){{0, 1}, {1, 3}, {3, 4}, {4, 6}});
	at(&x.v, " a", (uint32_t[]){6, 5}, 2,
	   (uint32_t[][2]){{0, 0}, {0, 2}});
	/* unknown characters, one or several in a token */
	x.v.unk = 7;
	x.v.fuse_unk = 1;
	at(&x.v, "a\xe4\xb8\xad\xe4\xb8\xad a\xe4\xb8\xad",
	   (uint32_t[]){5, 7, 5, 7}, 4,
	   (uint32_t[][2]){{0, 1}, {1, 7}, {7, 9}, {9, 12}});
	x.v.fuse_unk = 0;
	at(&x.v, "\xe4\xb8\xad\xe4\xb8\xad" "a", (uint32_t[]){6, 7, 7, 1}, 4,
	   (uint32_t[][2]){{0, 0}, {0, 3}, {3, 6}, {6, 7}});
}

/* Ends and ids left of the tokens of a text. */
static void
ends(const struct vocab *v, const char *text, const uint32_t *ids, size_t n,
     const uint32_t (*want)[2], size_t nwant)
{
	uint32_t id[8], end[8];
	struct bpe *b = bpe_of(v);
	size_t i;

	if (n)
		memcpy(id, ids, n * sizeof(*id));
	assert_int_equal(align_ends(b, span_str(text), id, n, end), nwant);
	for (i = 0; i < nwant; i++) {
		assert_int_equal(end[i], want[i][0]);
		assert_int_equal(id[i], want[i][1]);
	}
	bpe_free(b);
}

/* U+2581 is a space; a token that differs from its bytes loses its id. */
static void
ends_of_tokens(void **state)
{
	enum { OTHER = -1 };
	struct span token[] = {
		span_str("\xe2\x96\x81" "a"), span_str("b"),
		span_str("<unk>"), span_str("\xe2\x96\x81"),
		span_str("a"), span_str("\xc3\xa9"), span_str("\xc3"),
		span_str("\xa9"),
	};
	uint8_t flags[8] = {0};
	struct vocab v = {
		.kind = VOCAB_SENTENCEPIECE, .n = 8, .unk = 2, .token = token,
		.flags = flags,
	};

	(void)state;
	ends(&v, " ab\xe2\x96\x81" "a", (uint32_t[]){0, 1, 0}, 3,
	     (uint32_t[][2]){{2, 0}, {3, 1}, {7, OTHER}}, 3);
	/* a space put in front, as part of a token and as one of its own */
	v.sp_prepend = VOCAB_PREPEND_EACH;
	ends(&v, "ab", (uint32_t[]){0, 1}, 2,
	     (uint32_t[][2]){{1, OTHER}, {2, 1}}, 2);
	ends(&v, "b a", (uint32_t[]){3, 1, 0}, 3,
	     (uint32_t[][2]){{1, 1}, {3, 0}}, 2);
	v.sp_prepend = VOCAB_PREPEND_NEVER;
	ends(&v, " a\xe4\xb8\xad", (uint32_t[]){0, 2}, 2,
	     (uint32_t[][2]){{2, 0}, {5, OTHER}}, 2);
	v.kind = VOCAB_BYTE_LEVEL;
	v.unk = -1;
	v.nfc = 1;
	ends(&v, "be\xcc\x81" "a", (uint32_t[]){1, 5, 4}, 3,
	     (uint32_t[][2]){{1, 1}, {4, OTHER}, {5, 4}}, 3);
	/* one character in two tokens, as it is and composed */
	ends(&v, "\xc3\xa9" "a", (uint32_t[]){6, 7, 4}, 3,
	     (uint32_t[][2]){{1, 6}, {2, 7}, {3, 4}}, 3);
	ends(&v, "e\xcc\x81" "a", (uint32_t[]){6, 7, 4}, 3,
	     (uint32_t[][2]){{3, OTHER}, {4, 4}}, 2);
	ends(&v, "", NULL, 0, NULL, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs),
		cmocka_unit_test(places),
		cmocka_unit_test(ends_of_tokens),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
