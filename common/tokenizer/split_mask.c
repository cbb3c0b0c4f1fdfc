/*
 * split_mask.c - gpt2, cl100k and qwen2, 64 bytes at a time
 *
 * A window of blocks of 64 bytes is classified into bit masks, one bit per
 * byte (AVX-512, AVX2 or SSE2, chosen at run time; characters outside ASCII
 * one by one from the tables, all bytes of a character alike).  Whether a
 * pre-token starts at a byte is then a boolean function of the masks of this
 * character and its neighbours: 64 positions are decided at once, without a
 * branch.
 *
 * gpt2: a run of letters, numbers or others starts a pre-token, unless the
 * byte before it is a space, which then starts it.  A run of white space
 * starts one, and so does its last character, unless the text ends there.
 *
 * cl100k: letters take any one character before them that is not a line end:
 * a blank, or an other that is alone in its run and took no space.  Others
 * take the line ends after them.  White space ends at its last line end; what
 * follows that is as in gpt2.  Numbers go in threes.
 *
 * Rare cases are handled bit by bit: contractions, blanks after a line end
 * with another line end after them, and numbers outside ASCII.
 */
#include <stdlib.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "base/mem.h"
#include "base/utf8.h"
#include "tokenizer/split_priv.h"
#include "text/unicode.h"

enum { WINDOW = 32 };	/* blocks */

struct masks {
	uint64_t l, n, s;	/* letters, numbers, white space */
	uint64_t sp, nl, q;	/* space, line ends, apostrophe */
	uint64_t h, k;		/* not ASCII, continuation bytes */
	uint64_t last;		/* first byte of white space outside ASCII
				   that something else follows */
};

/* What a block passes to the next one. */
struct carry {
	unsigned l, n, o, s;	/* class of the last byte */
	unsigned sp, nl, af, f;
	unsigned phase;		/* numbers since the last start, at the end */
	uint64_t set, clear;	/* starts in the next block */
};

typedef void classify_fn(const char *p, size_t blocks, struct masks *m);

struct split_mask {
	classify_fn *classify;
	const char *text;
	size_t n;
	size_t next;		/* offset of the next window */
	uint64_t spill[3];	/* class bits that reach into the next block */
	struct carry c;
	struct masks m[WINDOW + 1];
	uint64_t starts[WINDOW];	/* bits where pre-tokens start */
	size_t nblocks, at;	/* of this window, and the current one */
	size_t base;		/* offset of starts[0] */
};

/* --- classification of ASCII --- */

/*
 * One classify_fn for each vector width.  V bytes at a time, load() them,
 * below(v, from, count) is a bit for each byte in [from, from + count), and
 * lower(v) sets bit 5, which makes a letter lower case.
 */
#define CLASSIFY(name, V, step, load, lower, below)			\
static void								\
name(const char *p, size_t blocks, struct masks *m)			\
{									\
	for (size_t i = 0; i < blocks; i++, m++) {			\
		*m = (struct masks){0};					\
		for (int j = 0; j < 64; j += step, p += step) {		\
			V v = load(p);					\
			uint64_t sp = below(v, ' ', 1);			\
									\
			m->l |= below(lower(v), 'a', 26) << j;		\
			m->n |= below(v, '0', 10) << j;			\
			m->sp |= sp << j;				\
			m->s |= (below(v, '\t', 5) | sp) << j;		\
			m->nl |= (below(v, '\n', 1) |			\
				  below(v, '\r', 1)) << j;		\
			m->q |= below(v, '\'', 1) << j;			\
			m->h |= below(v, '\x80', 128) << j;		\
			m->k |= below(v, '\x80', 64) << j;		\
		}							\
	}								\
}

#ifdef __x86_64__
#define LOAD512(p) _mm512_loadu_si512(p)
#define LOWER512(v) _mm512_or_si512(v, _mm512_set1_epi8(' '))
#define BELOW512(v, from, count) ((uint64_t)_mm512_cmplt_epu8_mask( \
	_mm512_sub_epi8(v, _mm512_set1_epi8(from)), \
	_mm512_set1_epi8((char)(count))))
__attribute__((target("avx512f,avx512bw")))
CLASSIFY(classify_avx512, __m512i, 64, LOAD512, LOWER512, BELOW512)

#define LOAD256(p) _mm256_loadu_si256((const void *)(p))
#define LOWER256(v) _mm256_or_si256(v, _mm256_set1_epi8(' '))
__attribute__((target("avx2")))
static inline uint64_t
below256(__m256i v, char from, int count)
{
	__m256i x = _mm256_sub_epi8(v, _mm256_set1_epi8(from));
	__m256i y = _mm256_min_epu8(x, _mm256_set1_epi8((char)(count - 1)));

	return (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(x, y));
}
__attribute__((target("avx2")))
CLASSIFY(classify_avx2, __m256i, 32, LOAD256, LOWER256, below256)

#define LOAD128(p) _mm_loadu_si128((const void *)(p))
#define LOWER128(v) _mm_or_si128(v, _mm_set1_epi8(' '))
static inline uint64_t
below128(__m128i v, char from, int count)
{
	__m128i x = _mm_sub_epi8(v, _mm_set1_epi8(from));
	__m128i y = _mm_min_epu8(x, _mm_set1_epi8((char)(count - 1)));

	return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(x, y));
}
CLASSIFY(classify_any, __m128i, 16, LOAD128, LOWER128, below128)
#else
#define LOAD8(p) ((uint8_t)*(p))
#define LOWER8(v) ((v) | ' ')
#define BELOW8(v, from, count) \
	((uint64_t)((uint8_t)((v) - (uint8_t)(from)) < (count)))
CLASSIFY(classify_any, uint8_t, 1, LOAD8, LOWER8, BELOW8)
#endif

static classify_fn *
choose(void)
{
#ifdef __x86_64__
	const char *want = getenv("ASSAY_SIMD");

	if (want && strcmp(want, "sse2") == 0)
		return classify_any;
	if (__builtin_cpu_supports("avx512bw") &&
	    !(want && strcmp(want, "avx2") == 0))
		return classify_avx512;
	if (__builtin_cpu_supports("avx2"))
		return classify_avx2;
#endif
	return classify_any;
}

struct split_mask *
split_mask_new(void)
{
	struct split_mask *w = xaligned(sizeof(*w));

	memset(w, 0, sizeof(*w));
	w->classify = choose();
	return w;
}

void
split_mask_free(struct split_mask *w)
{
	free(w);
}

/* --- characters outside ASCII --- */

/* Add the class of each to the masks, all its bytes alike. */
static void
patch(struct split_mask *w, struct masks *m, size_t base)
{
	uint64_t leads = m->h & ~m->k;

	m->l |= w->spill[0];
	m->n |= w->spill[1];
	m->s |= w->spill[2];
	w->spill[0] = w->spill[1] = w->spill[2] = 0;
	while (leads) {
		unsigned i = (unsigned)__builtin_ctzll(leads), len, cls;
		size_t at = base + i;
		uint64_t bits, over;

		leads &= leads - 1;
		cls = uc_class(uc_next(w->text + at, w->n - at, &len));
		bits = (UINT64_C(1) << len) - 1;
		over = i + len > 64 ? bits >> (64 - i) : 0;
		bits <<= i;
		if (cls & UC_LETTER) {
			m->l |= bits;
			w->spill[0] = over;
		} else if (cls & UC_NUMBER) {
			m->n |= bits;
			w->spill[1] = over;
		} else if (cls & UC_SPACE) {
			unsigned len2;

			m->s |= bits;
			w->spill[2] = over;
			if (at + len < w->n &&
			    !(uc_class(uc_next(w->text + at + len,
					       w->n - at - len, &len2)) &
			      UC_SPACE))
				m->last |= UINT64_C(1) << i;
		}
	}
}

/* Masks of the blocks from offset base on; white space after the end. */
static void
classify(struct split_mask *w, struct masks *m, size_t blocks, size_t base)
{
	size_t whole = w->n > base ? (w->n - base) / 64 : 0;

	if (whole > blocks)
		whole = blocks;
	w->classify(w->text + base, whole, m);
	for (size_t i = whole; i < blocks; i++) {
		size_t at = base + 64 * i;
		size_t left = w->n > at ? w->n - at : 0;
		char tail[64];

		memset(tail, '\t', sizeof(tail));
		memcpy(tail, w->text + (left ? at : 0), left);
		w->classify(tail, 1, &m[i]);
	}
	for (size_t i = 0; i < blocks; i++)
		if (m[i].h | w->spill[0] | w->spill[1] | w->spill[2])
			patch(w, &m[i], base + 64 * i);
}

/* --- starts of pre-tokens --- */

/* q: apostrophes where a pre-token starts.  After a contraction another one
 * starts, and none between the apostrophe and its letters. */
static uint64_t
contractions(const struct split_mask *w, struct carry *c, uint64_t q,
	     uint64_t starts, size_t base, int any_case)
{
	uint64_t set = c->set, clear = c->clear;

	c->set = c->clear = 0;
	while (q) {
		unsigned i = (unsigned)__builtin_ctzll(q), k;
		size_t at = base + i;

		q &= q - 1;
		k = split_contraction(w->text + at, w->n - at, any_case);
		if (k == 0)
			continue;
		if (i + 1 < 64)
			clear |= UINT64_C(1) << (i + 1);
		else
			c->clear |= 1;
		if (i + k < 64)
			set |= UINT64_C(1) << (i + k);
		else
			c->set |= UINT64_C(1) << (i + k - 64);
	}
	return (starts & ~clear) | set;
}

static inline uint64_t
prev(uint64_t x, unsigned carry)
{
	return x << 1 | carry;
}

static inline unsigned
top(uint64_t x)
{
	return (unsigned)(x >> 63);
}

static uint64_t
starts_gpt2(struct split_mask *w, const struct masks *m, size_t base)
{
	struct carry *c = &w->c;
	uint64_t o = ~(m->l | m->n | m->s);
	uint64_t run = ((m->l & ~prev(m->l, c->l)) |
			(m->n & ~prev(m->n, c->n)) |
			(o & ~prev(o, c->o))) & ~prev(m->sp, c->sp);
	uint64_t next_s = m->s >> 1 | m[1].s << 63;
	uint64_t blank = (m->s & ~prev(m->s, c->s)) |
		(m->s & ~m->h & ~next_s) | m->last;
	uint64_t starts = run | blank, q = m->q & run;

	if (q | c->set | c->clear)
		starts = contractions(w, c, q, starts, base, 0);
	c->l = top(m->l);
	c->n = top(m->n);
	c->o = top(o);
	c->s = top(m->s);
	c->sp = top(m->sp);
	return starts;
}

/* Numbers in threes; run: where a run of them begins. */
static uint64_t
starts_numbers(struct carry *c, const struct masks *m, uint64_t run)
{
	uint64_t b = run, n = m->n, t, more;
	unsigned phase = c->phase;

	c->phase = 0;
	if (n & m->h) {		/* character by character */
		uint64_t lead = n & ~m->k;

		b = 0;
		while (lead) {
			unsigned i = (unsigned)__builtin_ctzll(lead);

			lead &= lead - 1;
			if (run >> i & 1 || phase == 3)
				phase = 0;
			if (phase++ == 0)
				b |= UINT64_C(1) << i;
		}
		c->phase = top(n) ? phase : 0;
		return b;
	}
	if (phase && (n & 1)) {
		uint64_t need = (UINT64_C(2) << (3 - phase)) - 1;

		if ((n & need) == need)
			b |= UINT64_C(1) << (3 - phase);
	}
	t = n & n << 1 & n << 2;
	while ((more = b << 3 & t & ~b) != 0)
		b |= more;
	if (top(n)) {
		unsigned since = (unsigned)__builtin_clzll(b | 1) + 1;

		/* a run from the block before without a start is short */
		c->phase = b >> 61 ? since :
			phase + (unsigned)__builtin_popcountll(n);
	}
	return b;
}

/* Is there a line end in the white space from i on?  (i may be inside a
 * character.) */
static int
line_end_ahead(const struct split_mask *w, size_t i)
{
	unsigned len;

	while (i < w->n && utf8_is_cont(w->text[i]))
		i++;
	for (; i < w->n; i += len) {
		if (w->text[i] == '\n' || w->text[i] == '\r')
			return 1;
		if (!(uc_class(uc_next(w->text + i, w->n - i, &len)) &
		      UC_SPACE))
			return 0;
	}
	return 0;
}

/* Of blanks after a line end, those without another line end after them. */
static uint64_t
after_last_line(const struct split_mask *w, const struct masks *m,
		 uint64_t cand, size_t base)
{
	uint64_t keep = 0;

	for (; cand; cand &= cand - 1) {
		unsigned i = (unsigned)__builtin_ctzll(cand);
		uint64_t out = ~m->s >> i, line = m->nl >> i;

		if (out | line ? (out & -out) - 1 < (line & -line) - 1 :
		    !line_end_ahead(w, base + 64))
			keep |= UINT64_C(1) << i;
	}
	return keep;
}

static uint64_t
starts_cl100k(struct split_mask *w, const struct masks *m, size_t base,
	      int digits)
{
	struct carry *c = &w->c;
	uint64_t o = ~(m->l | m->n | m->s), blank = m->s & ~m->nl;
	uint64_t run_l = m->l & ~prev(m->l, c->l);
	uint64_t run_n = m->n & ~prev(m->n, c->n);
	uint64_t run_o = o & ~prev(o, c->o) & ~prev(m->sp, c->sp);
	uint64_t next_s = m->s >> 1 | m[1].s << 63;
	uint64_t f, a, af, last, cand, starts, q = m->q & run_o;

	/* all bytes of the first character of a run of others */
	f = run_o | (c->f & m->k);
	if (m->k) {
		f |= f << 1 & m->k;
		f |= f << 1 & m->k;
		f |= f << 1 & m->k;
	}
	/* line ends after others: a carry runs through them */
	a = m->nl & (prev(o, c->o) | c->af);
	af = m->nl & ~(m->nl + a);
	last = (blank & ~m->h & ~next_s) | m->last;
	cand = prev(m->nl & ~af, c->nl && !c->af) & blank;
	starts = (run_l & ~prev(blank, c->s && !c->nl) & ~prev(f, c->f)) |
		(m->s & ~prev(m->s, c->s) & ~af) | (prev(af, c->af) & blank) |
		last | run_o;
	if (cand)
		starts |= after_last_line(w, m, cand, base);
	starts |= digits == 1 ? m->n & ~m->k : starts_numbers(c, m, run_n);
	if (q | c->set | c->clear)
		starts = contractions(w, c, q, starts, base, 1);
	c->l = top(m->l);
	c->n = top(m->n);
	c->o = top(o);
	c->s = top(m->s);
	c->sp = top(m->sp);
	c->nl = top(m->nl);
	c->af = top(af);
	c->f = top(f);
	return starts;
}

/* The next window: masks (one block ahead), then starts. */
static void
window(enum pattern kind, struct split_mask *w)
{
	size_t blocks = (w->n - w->next + 63) / 64;

	blocks = blocks < WINDOW ? blocks : WINDOW;
	if (w->next == 0)
		classify(w, w->m, blocks + 1, 0);
	else {
		w->m[0] = w->m[WINDOW];
		classify(w, w->m + 1, blocks, w->next + 64);
	}
	for (size_t i = 0; i < blocks; i++) {
		size_t base = w->next + 64 * i;

		w->starts[i] = kind == PATTERN_GPT2 ?
			starts_gpt2(w, &w->m[i], base) :
			starts_cl100k(w, &w->m[i], base,
				      kind == PATTERN_QWEN2 ? 1 : 3);
	}
	w->base = w->next;
	w->next += 64 * blocks;
	w->nblocks = blocks;
	w->at = 0;
	if (w->base == 0)
		w->starts[0] &= ~UINT64_C(1);
	if (w->next > w->n)	/* white space after the end */
		w->starts[blocks - 1] &= UINT64_MAX >> (w->next - w->n);
}

size_t
split_mask_next(enum pattern kind, struct split_mask *w, const char *text,
		size_t n, size_t *pos, uint32_t *ends, size_t max)
{
	size_t k = 0;

	if (*pos == 0) {
		w->text = text;
		w->n = n;
		w->next = w->nblocks = w->at = 0;
		memset(w->spill, 0, sizeof(w->spill));
		memset(&w->c, 0, sizeof(w->c));
	}
	while (k < max) {
		uint64_t b;
		uint32_t base;

		if (w->at == w->nblocks) {
			if (w->next >= n) {
				ends[k++] = (uint32_t)n;
				break;
			}
			window(kind, w);
		}
		b = w->starts[w->at];
		base = (uint32_t)(w->base + 64 * w->at);
		if (k + 64 > max &&	/* counting is a call */
		    k + (size_t)__builtin_popcountll(b) > max) {
			while (k < max) {
				ends[k++] = base +
					(uint32_t)__builtin_ctzll(b);
				b &= b - 1;
			}
			w->starts[w->at] = b;
			break;
		}
		for (; b; b &= b - 1)
			ends[k++] = base + (uint32_t)__builtin_ctzll(b);
		w->at++;
	}
	*pos = k ? ends[k - 1] : n;
	return k;
}
