/*
 * spans_anchors.c - step 1 of the search: places that equal windows share
 *
 * The anchor of a window is the place, among its first `starts`, where the hash
 * of the next few bytes is least, the last of equals.  It depends on the
 * bytes of the window alone, so equal windows have their anchors at the same
 * distance, and the block that begins there is within both.  Of random text
 * two in starts + 1 places are anchors ("winnowing": S. Schleimer, D. Wilkerson
 * and A. Aiken, 2003).  In a loop of period p every p-th place is one.
 *
 * Where windows are long, the least is that of the first 2 * starts places; if
 * it is one of the second half, the anchor is `starts` bytes before it.  Of
 * random text three in 2 * starts + 1 places are anchors ("mod-minimizer":
 * R. Groot Koerkamp and G. Pibiri, 2024).  Anchors of successive windows
 * ascend: the least changes when it leaves, as the first place of a window, or
 * for one that enters as the last, whose anchor is the last of the `starts`.
 *
 * A hash is compared once when it enters the window, and on average once more
 * where an anchor leaves.
 */
#include <string.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "spans/spans_priv.h"


#define INLINE __attribute__((always_inline)) static inline

/* The hash of a gram, from its halves, and of the grams at p[i..n). */
#define HIGH UINT32_C(0x9e3779b1)
#define LOW UINT32_C(0x85ebca77)

INLINE void
hash_grams(const unsigned char *p, size_t i, size_t n, size_t gram,
	   int32_t *h)
{
	uint32_t v[2];
	size_t k;

	for (; gram == GRAM && i < n; i++) {
		memcpy(v, p + i, sizeof(v));
		h[i] = (int32_t)(v[0] * HIGH + v[1] * LOW);
	}
	for (; i < n; i++) {
		for (v[0] = 0, k = 0; k < gram; k++)
			v[0] = v[0] * 257 + p[i + k];
		h[i] = (int32_t)(v[0] * HIGH);
	}
}

/* Which of h[0..SOME) are <= v, as bits? */
INLINE unsigned
bits_up_to(const int32_t *h, int32_t v)
{
	unsigned bits = 0, i;

	for (i = 0; i < SOME; i++)
		bits |= (unsigned)(h[i] <= v) << i;
	return bits;
}

INLINE int32_t
least_of(const int32_t *h, size_t n)
{
	int32_t v = h[0];
	size_t i;

	for (i = 1; i < n; i++)
		v = h[i] < v ? h[i] : v;
	return v;
}

#ifdef __x86_64__
#define AVX512 __attribute__((target("avx512f,avx512bw")))

/* The same: four dwords in a lane give the halves of four places. */
AVX512 INLINE void
hash_grams_avx512(const unsigned char *p, size_t i, size_t n, size_t gram,
		  int32_t *h)
{
	const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 1, 2, 3, 4,
						2, 3, 4, 5, 3, 4, 5, 6);
	const __m512i first = _mm512_broadcast_i32x4(_mm_setr_epi8(
		0, 1, 2, 3, 1, 2, 3, 4, 2, 3, 4, 5, 3, 4, 5, 6));
	const __m512i second = _mm512_add_epi8(first, _mm512_set1_epi8(4));
	const __m512i high = _mm512_set1_epi32((int)HIGH);
	const __m512i low = _mm512_set1_epi32((int)LOW);
	__m512i x;

	for (; gram == GRAM && i + 32 <= n + GRAM - 1; i += SOME) {
		x = _mm512_castsi256_si512(_mm256_loadu_si256(
			(const void *)(p + i)));
		x = _mm512_permutexvar_epi32(lanes, x);
		x = _mm512_add_epi32(_mm512_mullo_epi32(
			_mm512_shuffle_epi8(x, first), high),
			_mm512_mullo_epi32(_mm512_shuffle_epi8(x, second),
					   low));
		_mm512_storeu_si512(h + i, x);
	}
	hash_grams(p, i, n, gram, h);
}

AVX512 INLINE unsigned
bits_up_to_avx512(const int32_t *h, int32_t v)
{
	return _mm512_cmple_epi32_mask(_mm512_loadu_si512(h),
				       _mm512_set1_epi32(v));
}

AVX512 INLINE int32_t
least_of_avx512(const int32_t *h, size_t n)
{
	__m512i v = _mm512_set1_epi32(INT32_MAX);

	for (; n >= SOME; n -= SOME, h += SOME)
		v = _mm512_min_epi32(v, _mm512_loadu_si512(h));
	v = _mm512_mask_min_epi32(v, (__mmask16)((1u << n) - 1), v,
				  _mm512_loadu_si512(h));
	return _mm512_reduce_min_epi32(v);
}
#endif

typedef void hash_fn(const unsigned char *p, size_t i, size_t n, size_t gram,
		     int32_t *h);
typedef unsigned up_to_fn(const int32_t *h, int32_t v);
typedef int32_t least_fn(const int32_t *h, size_t n);

/* The first i in [from, to) with h[i] <= v, or to. */
INLINE size_t
first_up_to(const int32_t *h, size_t from, size_t to, int32_t v,
	    up_to_fn *up_to)
{
	unsigned bits;

	for (; from < to; from += SOME) {
		bits = up_to(h + from, v);
		if (bits) {
			from += (unsigned)__builtin_ctz(bits);
			break;
		}
	}
	return from < to ? from : to;
}

INLINE size_t
last_least(const int32_t *h, size_t from, size_t to, up_to_fn *up_to,
	   least_fn *least)
{
	int32_t v = least(h + from, to - from);
	size_t last = from;
	unsigned bits;

	for (; from < to; from += SOME) {
		bits = up_to(h + from, v);
		if (to - from < SOME)
			bits &= (1u << (to - from)) - 1;
		if (bits)
			last = from + 31 - (unsigned)__builtin_clz(bits);
	}
	return last;
}

struct place {
	uint64_t from, to;	/* anchors wanted */
	int (*use)(struct thread *t, const struct anchor *a);
};

/* a: of the hashes from the text's byte x on. */
INLINE int
use(struct thread *t, const struct place *w, struct anchor a, size_t x)
{
	uint64_t p = t->at + x + a.at;

	a.at += x;
	a.first += x;
	a.last += x;
	return p < w->from || p >= w->to ? 0 : w->use(t, &a);
}

/* a.at is the least for these windows. */
INLINE int
use_least(struct thread *t, const struct place *w, struct anchor a, size_t x)
{
	size_t starts = t->s->starts;
	struct anchor far = a;

	if (a.at >= a.first + starts) {
		far.at = a.at - starts;
		if (far.last > far.at)
			far.last = far.at;
		if (use(t, w, far, x))
			return -1;
		if (far.last == a.last)
			return 0;
		a.first = far.last + 1;
	}
	return use(t, w, a, x);
}

/* Of the windows that start in [x, x + last]. */
INLINE int
run(struct thread *t, const struct place *place, size_t x, size_t last,
    struct anchor a, hash_fn *hash, up_to_fn *up_to, least_fn *least)
{
	const struct search *s = t->s;
	size_t w = s->grams, j, stop;
	int32_t *h = t->hash;

	hash((const unsigned char *)t->text + x, 0, last + w, s->gram, h);
	a.at = last_least(h, 0, w, up_to, least);
	a.first = 0;
	for (j = w;;) {
		stop = a.at < last ? a.at + w : last + w;
		j = first_up_to(h, j, stop, h[a.at], up_to);
		a.last = j - w;
		if (use_least(t, place, a, x))
			return -1;
		if (j < stop) {
			a.at = j++;
			a.first = a.last + 1;
			continue;
		}
		a.first = j - w + 1;
		if (a.first > last)
			return 0;
		a.at = last_least(h, a.first, a.first + w, up_to, least);
		j = a.first + w;
	}
}

static int
run_plain(struct thread *t, const struct place *place, size_t x, size_t last,
	  struct anchor a)
{
	return run(t, place, x, last, a, hash_grams, bits_up_to, least_of);
}

#ifdef __x86_64__
AVX512 static int
run_avx512(struct thread *t, const struct place *place, size_t x, size_t last,
	   struct anchor a)
{
	return run(t, place, x, last, a, hash_grams_avx512, bits_up_to_avx512,
		   least_of_avx512);
}
#endif

static int
doc_anchors(struct thread *t, const struct place *place, size_t x, size_t last,
	    struct anchor a)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx512bw"))
		return run_avx512(t, place, x, last, a);
#endif
	return run_plain(t, place, x, last, a);
}

int
spans_anchors(struct thread *t, uint64_t from, uint64_t to,
	      int (*use_anchor)(struct thread *t, const struct anchor *a))
{
	const struct place place = {from, to, use_anchor};
	const struct search *s = t->s;
	const uint64_t *start = s->s->start;
	size_t k, x, last, least = s->s->least;
	struct anchor a = {0};

	for (k = spans_doc_of(s->s, t->at);
	     k < s->s->ndocs && start[k] < to; k++) {
		a.begin = start[k] > t->at ? (size_t)(start[k] - t->at) : 0;
		a.end = (size_t)((start[k + 1] < t->end ? start[k + 1] :
				  t->end) - t->at);
		if (a.end - a.begin < least)
			continue;
		x = a.begin;
		if (from > t->at + x + s->starts)
			x = (size_t)(from - s->starts - t->at);
		last = a.end - least;
		if (t->at + last >= to)
			last = (size_t)(to - 1 - t->at);
		if (x <= last && doc_anchors(t, &place, x, last - x, a))
			return -1;
	}
	return 0;
}

static int
put_anchor(struct thread *t, const struct anchor *a)
{
	struct search *s = t->s;
	uint64_t h = XXH3_64bits(t->text + a->at, s->block);

	if (s->weak)
		h &= UINT64_C(3) << 62 | 3;
	return partition_put(s->blocks, t->k, spans_bucket(s, h),
			     h, t->at + a->at, &t->e);
}

int
spans_put_anchors(struct thread *t, uint64_t segment)
{
	uint64_t from = segment * t->s->segment, to = from + t->s->segment;

	if (to > t->s->s->n)
		to = t->s->s->n;
	spans_load(t, from, to);
	return spans_anchors(t, from, to, put_anchor);
}
