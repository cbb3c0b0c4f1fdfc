/*
 * words.c - the words of a text
 *
 * ASCII is classified 64 bytes at a time: a bit per byte for "letter or
 * digit", one for "not ASCII", while a lower-case copy is stored.  Words are
 * then the runs of ones, found by counting trailing zeros.
 *
 * A byte that is not ASCII ends that.  From the start of its word (or from
 * the ASCII character before it, with which it may compose) code points are
 * taken one by one, up to the next ASCII separator that nothing can compose
 * with.  Normalization works on segments: a code point that composes with
 * nothing before it, and those after it that may.  If NFC changes a segment,
 * all characters that result have the place of the whole segment.  Invisible
 * characters are removed from a segment first: they must not keep a mark from
 * its letter.
 */
#include "text/words.h"

#include <stdlib.h>
#ifdef __x86_64__
#include <emmintrin.h>
#endif

#include "base/mem.h"
#include "base/utf8.h"
#include "text/unicode.h"

enum { BLOCK = 64, PAD = 16 };
#define NONE UINT32_MAX

enum { CAPITAL_SIGMA = 0x3a3, FINAL_SIGMA = 0x3c2, DOT_ABOVE = 0x307,
	CAPITAL_I_DOT = 0x130 };

/* Odd numbers with as many ones as zeros, from the digits of pi. */
#define K0 UINT64_C(0x243f6a8885a308d3)
#define K1 UINT64_C(0x13198a2e03707345)
#define K2 UINT64_C(0xa4093822299f31d1)

/* --- the hash --- */

static inline uint64_t
load64(const char *p)
{
	uint64_t x;

	memcpy(&x, p, 8);
	return x;
}

static inline uint64_t
fold(uint64_t a, uint64_t b)
{
	unsigned __int128 x = (unsigned __int128)a * b;

	return (uint64_t)x ^ (uint64_t)(x >> 64);
}

static uint64_t
hash_long(const char *p, size_t n)
{
	uint64_t h = n * K2;
	size_t i;

	for (i = 0; i + 16 < n; i += 16)
		h = fold(load64(p + i) ^ K0 ^ h, load64(p + i + 8) ^ K1);
	h = fold(load64(p + n - 16) ^ K0 ^ h, load64(p + n - 8) ^ K1);
	return fold(h ^ K2, n ^ K1);
}

/* n > 0; 8 bytes from p are readable. */
static inline uint64_t
hash_word(const char *p, size_t n)
{
	if (n <= 8)
		return fold((load64(p) & UINT64_MAX >> (64 - 8 * n)) ^ K0,
			    n ^ K1);
	if (n <= 16)
		return fold(load64(p) ^ K0, load64(p + n - 8) ^ K2 ^ n);
	return hash_long(p, n);
}

uint64_t
words_hash(struct span norm)
{
	char tmp[8] = {0};

	if (norm.n >= 8)
		return hash_word(norm.p, norm.n);
	if (norm.n == 0)
		return 0;
	memcpy(tmp, norm.p, norm.n);
	return hash_word(tmp, norm.n);
}

/* --- code point by code point --- */

/*
 * A word in the making, its bytes in out.  w NULL: only the bytes of the word
 * whose hash is `want` are wanted (a segment may have parts of others).
 */
struct slow {
	struct words *w;
	struct buf *out, *nfc, *seen;
	uint64_t want;
	uint32_t start, end;
	struct span text;	/* all of it: a sigma looks around */
	size_t base;		/* of the places in it */
	int whole;		/* only marks can be added */
	int found;		/* the word wanted is in out */
};

static inline void
word_add(struct words *w, uint64_t hash, uint32_t start, uint32_t end)
{
	w->v[w->n++] = (struct word){hash, start, end};
}

/* Room for the words of n more bytes: at most one in two. */
static inline void
words_room(struct words *w, size_t n)
{
	if (w->n + n / 2 + 2 > w->cap)
		GROW(w->v, w->cap, w->n + n / 2 + 2);
}

/* Soft hyphen, zero-width space and joiners, word joiner, byte-order mark. */
static inline int
is_invisible(uint32_t c)
{
	return c == 0xad || (c >= 0x200b &&
			     (c <= 0x200d || c == 0x2060 || c == 0xfeff));
}

/* Of a script that is written without spaces?  c is a letter or number. */
static inline int
is_unspaced(uint32_t c)
{
	static const uint32_t range[][2] = {
		{0xe00, 0xeff}, {0x1000, 0x109f}, {0x1780, 0x17ff},
		{0x3005, 0x3007}, {0x3021, 0x3029}, {0x3031, 0x303c},
		{0x3040, 0x312f}, {0x31a0, 0x31bf}, {0x31f0, 0x31ff},
		{0x3400, 0x4dbf}, {0x4e00, 0x9fff}, {0xf900, 0xfaff},
		{0xff66, 0xff9d}, {0x1b000, 0x1b16f}, {0x20000, 0x3fffd},
	};
	size_t i;

	if (c < range[0][0])
		return 0;
	for (i = 0; i < sizeof(range) / sizeof(range[0]); i++)
		if (c <= range[i][1])
			return c >= range[i][0];
	return 0;
}

/* Does NFC change c, to something that composes with nothing before it? */
static int __attribute__((noinline))
is_changed_start(uint32_t c, struct buf *nfc)
{
	char p[4];
	unsigned len;
	struct span s = {p, utf8_put(p, c)};

	return !uc_nfc(s, nfc) && uc_nfc_boundary(uc_next(nfc->p, nfc->n,
							  &len));
}

/* A segment begins here.  Without the second part a text of such characters
 * would be one segment, and each of its words have the place of all. */
static inline int
is_start(uint32_t c, struct buf *nfc)
{
	return uc_nfc_boundary(c) ||
	       (!(uc_class(c) & UC_MARK) && is_changed_start(c, nfc));
}

/*
 * Unicode's Final_Sigma: a capital sigma at t[from..to) is final if it follows
 * a cased letter and none follows it, those that Case_Ignorable has apart.
 */
enum casing { UNCASED, CASED, IGNORABLE };

static enum casing
casing_of(uint32_t c)
{
	/* Beside categories: Word_Break of MidLetter, MidNumLet, Single_Quote;
	 * Other_Lowercase and Other_Uppercase. */
	static const uint32_t ignorable[] = {0x27, 0x2e, 0x3a, 0xb7, 0x387,
		0x55f, 0x5f4, 0x2018, 0x2019, 0x2024, 0x2027, 0xfe13, 0xfe52,
		0xfe55, 0xff07, 0xff0e, 0xff1a};
	static const uint32_t cased[][2] = {{0xaa, 0xaa}, {0xba, 0xba},
		{0x2160, 0x217f}, {0x24b6, 0x24e9}, {0x1f130, 0x1f149},
		{0x1f150, 0x1f169}, {0x1f170, 0x1f189}};
	enum uc_cat k = uc_cat(c);

	if (k == UC_LU || k == UC_LL || k == UC_LT)
		return CASED;
	if (k == UC_MN || k == UC_ME || k == UC_CF || k == UC_LM || k == UC_SK)
		return IGNORABLE;
	for (size_t i = 0; i < sizeof(ignorable) / sizeof(*ignorable); i++)
		if (c == ignorable[i])
			return IGNORABLE;
	for (size_t i = 0; i < sizeof(cased) / sizeof(*cased); i++)
		if (c >= cased[i][0] && c <= cased[i][1])
			return CASED;
	return UNCASED;
}

static int
is_final(struct span t, size_t from, size_t to)
{
	enum casing before = IGNORABLE, after = IGNORABLE;
	unsigned len;
	size_t k;

	for (; from && before == IGNORABLE; from = k) {
		for (k = from - 1; k && utf8_is_cont(t.p[k]); k--)
			;
		before = casing_of(uc_next(t.p + k, from - k, &len));
	}
	for (; to < t.n && before == CASED && after == IGNORABLE; to += len)
		after = casing_of(uc_next(t.p + to, t.n - to, &len));
	return before == CASED && after != CASED;
}

static void
slow_end(struct slow *s)
{
	uint64_t hash;

	if (s->start == NONE)
		return;
	buf_reserve(s->out, PAD);
	hash = hash_word(s->out->p, s->out->n);
	if (s->w) {
		words_room(s->w, 0);
		word_add(s->w, hash, s->start, s->end);
	}
	s->start = NONE;
	s->whole = 0;
	s->found = !s->w && hash == s->want;
	if (!s->found)
		buf_reset(s->out);
}

/* A character of the normalized text; it comes from [from, to). */
static void
slow_put(struct slow *s, uint32_t c, size_t from, size_t to)
{
	enum uc_cat cat = uc_cat(c);
	unsigned class = uc_class_of[cat];
	uint32_t low = c;

	if (s->found)
		return;
	if (!(class & (UC_LETTER | UC_MARK | UC_NUMBER))) {
		slow_end(s);
		return;
	}
	if (!(class & UC_MARK)) {
		int unspaced = is_unspaced(c);

		if (unspaced || s->whole)
			slow_end(s);
		if (s->found)
			return;
		s->whole = unspaced;
	}
	if (s->start == NONE)
		s->start = (uint32_t)from;
	s->end = (uint32_t)to;
	if (class & UC_UPPER || cat == UC_NL)
		low = uc_to_lower(c);
	if (c == CAPITAL_SIGMA && is_final(s->text, s->base + from,
					   s->base + to))
		low = FINAL_SIGMA;
	s->out->n += utf8_put(buf_reserve(s->out, 8), low);
	if (c == CAPITAL_I_DOT)
		s->out->n += utf8_put(s->out->p + s->out->n, DOT_ABOVE);
}

/* text[from, to) without its invisible characters, in s->seen. */
static struct span
visible(struct slow *s, struct span text, size_t from, size_t to)
{
	unsigned len;

	buf_reset(s->seen);
	for (; from < to; from += len)
		if (!is_invisible(uc_next(text.p + from, to - from, &len)))
			buf_put(s->seen, text.p + from, len);
	return buf_span(s->seen);
}

/*
 * text[from, to) begins with a character that does not compose backwards;
 * hidden: it has invisible ones.  Characters at its start that do not change
 * keep their own places, so that a space is not part of the word whose first
 * mark follows it.
 */
static void
slow_segment(struct slow *s, struct span text, size_t from, size_t to,
	     int hidden)
{
	struct span part = {text.p + from, to - from};
	int same = 1;
	unsigned len, n;
	size_t i, at = from;

	if (hidden)
		part = visible(s, text, from, to);
	if (!uc_nfc(part, s->nfc))
		part = buf_span(s->nfc);
	for (i = 0; i < part.n; i += len) {
		uint32_t c = uc_next(part.p + i, part.n - i, &len), was = NONE;

		while (at < to &&
		       is_invisible(was = uc_next(text.p + at, to - at, &n)))
			at += n;
		same = same && at < to && was == c;
		slow_put(s, c, at, same ? at + len : to);
		at += same ? len : 0;
	}
}

static int
is_ascii_word(unsigned char c)
{
	return (c | 32u) - 'a' < 26 || c - 48u < 10;
}

/*
 * From `from` to where the fast path can take over: an ASCII separator that
 * nothing composes with, or the end.  Returns that place.
 */
static size_t
slow_run(struct slow *s, struct span text, size_t from)
{
	size_t i = from, j, end;
	uint32_t c, next = 0;
	unsigned len = 0;

	if (from < text.n)
		next = uc_next(text.p + from, text.n - from, &len);
	for (; i < text.n; i = j) {
		int alone, invisible, hidden = 0;

		c = next;
		alone = uc_nfc_boundary(c);
		invisible = is_invisible(c);
		end = i + len;
		if (c < 0x80 && !is_ascii_word(c) && s->w &&
		    (end == text.n || (unsigned char)text.p[end] < 0x80))
			break;
		for (j = end; j < text.n; j += len) {
			next = uc_next(text.p + j, text.n - j, &len);
			if (is_invisible(next)) {
				invisible = 1;
				continue;
			}
			if (is_start(next, s->nfc))
				break;
			alone = 0;
			hidden = invisible;
			end = j + len;
		}
		if (!alone)
			slow_segment(s, text, i, end, hidden);
		else if (!is_invisible(c))
			slow_put(s, c, i, end);
	}
	slow_end(s);
	return i;
}

void
words_norm(struct span text, const struct word *word, struct buf *out)
{
	struct buf one = {0}, nfc = {0}, seen = {0};
	struct span part = {text.p + word->start, word->end - word->start};
	struct slow s = {
		.out = &one, .nfc = &nfc, .seen = &seen, .want = word->hash,
		.text = text, .base = word->start, .start = NONE
	};

	slow_run(&s, part, 0);
	if (!s.found) {		/* it begins with marks of the word before */
		s.whole = 1;
		slow_run(&s, part, 0);
	}
	buf_put(out, one.p, one.n);
	buf_clear(&one);
	buf_clear(&nfc);
	buf_clear(&seen);
}

/* --- 64 bytes at a time --- */

#ifdef __x86_64__
static inline __m128i
in_range(__m128i x, char first, char count)
{
	x = _mm_sub_epi8(x, _mm_set1_epi8(first));
	return _mm_cmpeq_epi8(_mm_min_epu8(x, _mm_set1_epi8(count - 1)), x);
}

/* A bit for each letter or digit, and for each byte that is not ASCII; the
 * lower-case copy goes to out. */
static inline void
classify(const char *p, char *out, uint64_t *word, uint64_t *high)
{
	uint64_t w = 0, h = 0;
	int i;

	for (i = 0; i < 4; i++) {
		__m128i x = _mm_loadu_si128((const __m128i *)p + i);
		__m128i up = in_range(x, 'A', 26), low, is;

		low = _mm_or_si128(x, _mm_and_si128(up, _mm_set1_epi8(32)));
		is = _mm_or_si128(in_range(low, 'a', 26),
				  in_range(low, '0', 10));
		_mm_storeu_si128((__m128i *)out + i, low);
		w |= (uint64_t)(unsigned)_mm_movemask_epi8(is) << 16 * i;
		h |= (uint64_t)(unsigned)_mm_movemask_epi8(x) << 16 * i;
	}
	*word = w;
	*high = h;
}
#else
static inline void
classify(const char *p, char *out, uint64_t *word, uint64_t *high)
{
	*word = *high = 0;
	for (int i = 0; i < BLOCK; i++) {
		unsigned char c = (unsigned char)p[i];

		out[i] = (char)(c + ((unsigned)c - 'A' < 26 ? 32 : 0));
		*word |= (uint64_t)is_ascii_word(c) << i;
		*high |= (uint64_t)(c >> 7) << i;
	}
}
#endif

/*
 * The words that end in the first k bytes of the block at `at`.  *open is the
 * start of a word that continues from the block before, or NONE.
 */
static inline void
fast_block(struct words *w, uint64_t word, size_t at, unsigned k,
	   uint32_t *open)
{
	uint64_t mask = k < 64 ? (UINT64_C(1) << k) - 1 : UINT64_MAX;
	uint64_t before, edges;
	uint32_t start = *open;

	word &= mask;
	before = word << 1 | (start != NONE);
	edges = (word ^ before) & mask;
	while (edges) {
		uint32_t pos = (uint32_t)at + (uint32_t)__builtin_ctzll(edges);

		edges &= edges - 1;
		if (start == NONE) {
			start = pos;
			continue;
		}
		word_add(w, hash_word(w->lower.p + start, pos - start), start,
			 pos);
		start = NONE;
	}
	*open = start;
}

void
words_split(struct words *w, struct span text)
{
	struct slow s = {
		.w = w, .out = &w->norm, .nfc = &w->nfc, .seen = &w->seen,
		.text = text, .start = NONE
	};
	uint32_t open = NONE;
	char tail[BLOCK];
	size_t i = 0;

	w->n = 0;
	w->lower.n = 0;
	buf_reserve(&w->lower, text.n + BLOCK + PAD);
	while (i < text.n) {
		unsigned k = (unsigned)(text.n - i < BLOCK ? text.n - i :
					BLOCK);
		const char *p = text.p + i;
		uint64_t word, high;

		if (k < BLOCK) {
			memset(tail, 0, sizeof(tail));
			p = memcpy(tail, p, k);
		}
		classify(p, w->lower.p + i, &word, &high);
		words_room(w, BLOCK);
		if (high)
			k = (unsigned)__builtin_ctzll(high);
		fast_block(w, word, i, k, &open);
		i += k;
		if (!high)
			continue;
		i = slow_run(&s, text, open != NONE ? open : i ? i - 1 : 0);
		open = NONE;
	}
	words_room(w, 0);
	if (open != NONE)
		word_add(w, hash_word(w->lower.p + open, text.n - open), open,
			 (uint32_t)text.n);
}

void
words_clear(struct words *w)
{
	free(w->v);
	buf_clear(&w->lower);
	buf_clear(&w->norm);
	buf_clear(&w->nfc);
	buf_clear(&w->seen);
	*w = (struct words){0};
}
