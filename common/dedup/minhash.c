/*
 * minhash.c - shingles, MinHash and bands
 *
 * The cost is one hash per word; per shingle one multiplication and
 * subtraction (a rolling polynomial), and bands * rows 32-bit multiplications
 * and minima, 16 at a time with AVX-512: the accumulators of up to 128 hash
 * functions stay in registers while the shingles stream by.
 *
 * Sets are sorted by distribution: the hashes are uniform, so the upper bits
 * give the place of each to within a few.
 */
#include "dedup/minhash.h"

#include <math.h>
#include <stdlib.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "base/mem.h"
#include "base/search.h"
#include "base/rng.h"
#include "text/unicode.h"

/* Odd, and 3 mod 4, so that differences of powers lose few bits. */
#define B UINT64_C(0x9e3779b97f4a7c17)
#define K0 UINT64_C(0x452821e638d01377)
#define K1 UINT64_C(0xbe5466cf34e90c6d)

enum { LANES = 16 };

static inline uint64_t
fold(uint64_t a, uint64_t b)
{
	unsigned __int128 x = (unsigned __int128)a * b;

	return (uint64_t)x ^ (uint64_t)(x >> 64);
}

/* --- shingles --- */

/*
 * From unit hashes v[0..n) to the hashes of their runs of k, in place: run i
 * replaces unit i, which is needed once more, to be subtracted.
 */
static size_t
roll(uint64_t *v, size_t n, size_t k)
{
	uint64_t sum = 0, top = 1, out;
	size_t i;

	if (n < k)
		k = n;
	if (n == 0)
		return 0;
	for (i = 0; i < k; i++) {
		sum = sum * B + v[i];
		top *= B;
	}
	for (i = 0; i + k < n; i++) {
		out = v[i];
		v[i] = sum;
		sum = sum * B + v[i + k] - out * top;
	}
	v[i] = sum;
	return n - k + 1;
}

/* One hash per letter, mark or number of the words. */
static void
char_hashes(struct shingles *s, struct span text)
{
	struct buf one = {0};
	unsigned len;
	size_t i, k;

	GROW(s->v, s->cap, text.n);
	for (i = 0; i < s->words.n; i++) {
		buf_reset(&one);
		words_norm(text, &s->words.v[i], &one);
		GROW(s->v, s->cap, s->n + one.n);
		for (k = 0; k < one.n; k += len) {
			uint64_t c = uc_next(one.p + k, one.n - k, &len);

			s->v[s->n++] = fold(c ^ K0, c * B ^ K1);
		}
	}
	buf_clear(&one);
}

void
shingles_of(struct shingles *s, const struct minhash_opts *o, struct span text)
{
	size_t i;

	words_split(&s->words, text);
	s->n = 0;
	if (o->chars) {
		char_hashes(s, text);
	} else {
		GROW(s->v, s->cap, s->words.n);
		s->n = s->words.n;
		for (i = 0; i < s->n; i++)
			s->v[i] = s->words.v[i].hash;
	}
	s->n = roll(s->v, s->n, (size_t)o->ngram);
}

static void
insertion_sort(uint64_t *v, size_t n)
{
	size_t i, k;

	for (i = 1; i < n; i++) {
		uint64_t x = v[i];

		for (k = i; k && v[k - 1] > x; k--)
			v[k] = v[k - 1];
		v[k] = x;
	}
}

/* By the upper bits into about n / 4 buckets, then each of them. */
static void
sort_uniform(struct shingles *s)
{
	unsigned bits = 63 - __builtin_clzll(s->n / 4), shift = 64 - bits;
	size_t buckets = (size_t)1 << bits, i, at = 0, k;
	uint64_t *to;
	uint32_t *count;

	GROW(s->tmp, s->tmp_cap, s->n + buckets);
	to = s->tmp;
	count = (uint32_t *)(s->tmp + s->n);
	memset(count, 0, buckets * sizeof(*count));
	for (i = 0; i < s->n; i++)
		count[s->v[i] >> shift]++;
	for (i = 0; i < buckets; i++) {
		k = count[i];
		count[i] = (uint32_t)at;
		at += k;
	}
	for (i = 0; i < s->n; i++)
		to[count[s->v[i] >> shift]++] = s->v[i];
	for (i = at = 0; i < buckets; at = count[i++]) {
		if (count[i] - at > 48)
			qsort(to + at, count[i] - at, sizeof(*to), cmp_u64);
		else
			insertion_sort(to + at, count[i] - at);
	}
	memcpy(s->v, to, s->n * sizeof(*to));
}

void
shingles_sort(struct shingles *s)
{
	size_t i, n = 0;

	if (s->n > 32)
		sort_uniform(s);
	else
		insertion_sort(s->v, s->n);
	for (i = 0; i < s->n; i++)
		if (n == 0 || s->v[n - 1] != s->v[i])
			s->v[n++] = s->v[i];
	s->n = n;
}

void
shingles_clear(struct shingles *s)
{
	words_clear(&s->words);
	free(s->v);
	free(s->tmp);
	*s = (struct shingles){0};
}

struct set_hash
set_hash(const uint64_t *v, size_t n)
{
	struct set_hash h = {n * K0, n ^ K1};
	size_t i;

	for (i = 0; i < n; i++) {
		h.a = fold(h.a ^ v[i], B);
		h.b = (h.b ^ v[i]) * K1;
		h.b ^= h.b >> 32;
	}
	return h;
}

size_t
set_common(const uint64_t *a, size_t na, const uint64_t *b, size_t nb)
{
	size_t i = 0, k = 0, n = 0;

	while (i < na && k < nb) {
		uint64_t x = a[i], y = b[k];

		n += x == y;
		i += x <= y;
		k += y <= x;
	}
	return n;
}

double
set_jaccard(const uint64_t *a, size_t na, const uint64_t *b, size_t nb)
{
	size_t n = set_common(a, na, b, nb);

	return na + nb ? (double)n / (double)(na + nb - n) : 0;
}

/* --- bands --- */

struct minhash {
	struct minhash_opts o;
	size_t k;		/* bands * rows, up to a multiple of LANES */
	uint32_t *a, *b;	/* k each, 64-byte aligned */
	void (*least)(const uint64_t *s, size_t n, const uint32_t *a,
		      const uint32_t *b, size_t k, uint32_t *min);
};

struct minhash *
minhash_new(const struct minhash_opts *o)
{
	struct minhash *m = xcalloc(1, sizeof(*m));
	size_t i;

	m->o = *o;
	m->k = (size_t)(o->bands * o->rows + LANES - 1) / LANES * LANES;
	m->a = xaligned(m->k * sizeof(*m->a));
	m->b = xaligned(m->k * sizeof(*m->b));
	for (i = 0; i < m->k; i++) {
		uint64_t x = rng_u64((uint64_t)o->seed, RNG_MINHASH, i);

		m->a[i] = (uint32_t)x | 1;
		m->b[i] = (uint32_t)(x >> 32);
	}
	minhash_use(m, 2);
	return m;
}

void
minhash_free(struct minhash *m)
{
	if (!m)
		return;
	free(m->a);
	free(m->b);
	free(m);
}

static void
least_plain(const uint64_t *s, size_t n, const uint32_t *a, const uint32_t *b,
	    size_t k, uint32_t *min)
{
	size_t i, j;

	for (j = 0; j < k; j++)
		min[j] = UINT32_MAX;
	for (i = 0; i < n; i++) {
		uint32_t x = (uint32_t)(s[i] >> 32);

		for (j = 0; j < k; j++) {
			uint32_t h = a[j] * x + b[j];

			min[j] = h < min[j] ? h : min[j];
		}
	}
}

#ifdef __x86_64__
/* V vectors of hash functions; V is a constant where this is inlined. */
__attribute__((target("avx512f"), always_inline))
static inline void
group512(const uint64_t *s, size_t n, const uint32_t *a, const uint32_t *b,
	 uint32_t *min, int V)
{
	__m512i va[8], vb[8], vm[8], x;
	size_t i;
	int j;

	for (j = 0; j < V; j++) {
		va[j] = _mm512_load_si512(a + 16 * j);
		vb[j] = _mm512_load_si512(b + 16 * j);
		vm[j] = _mm512_set1_epi32(-1);
	}
	for (i = 0; i < n; i++) {
		x = _mm512_set1_epi32((int)(s[i] >> 32));
		for (j = 0; j < V; j++)
			vm[j] = _mm512_min_epu32(vm[j], _mm512_add_epi32(
				_mm512_mullo_epi32(va[j], x), vb[j]));
	}
	for (j = 0; j < V; j++)
		_mm512_store_si512(min + 16 * j, vm[j]);
}

__attribute__((target("avx512f")))
static void
least_512(const uint64_t *s, size_t n, const uint32_t *a, const uint32_t *b,
	  size_t k, uint32_t *min)
{
	for (; k >= 128; k -= 128, a += 128, b += 128, min += 128)
		group512(s, n, a, b, min, 8);
	switch (k / 16) {
	case 7: group512(s, n, a, b, min, 7); break;
	case 6: group512(s, n, a, b, min, 6); break;
	case 5: group512(s, n, a, b, min, 5); break;
	case 4: group512(s, n, a, b, min, 4); break;
	case 3: group512(s, n, a, b, min, 3); break;
	case 2: group512(s, n, a, b, min, 2); break;
	case 1: group512(s, n, a, b, min, 1); break;
	}
}

__attribute__((target("avx2"), always_inline))
static inline void
group256(const uint64_t *s, size_t n, const uint32_t *a, const uint32_t *b,
	 uint32_t *min, int V)
{
	__m256i va[4], vb[4], vm[4], x;
	size_t i;
	int j;

	for (j = 0; j < V; j++) {
		va[j] = _mm256_load_si256((const __m256i *)a + j);
		vb[j] = _mm256_load_si256((const __m256i *)b + j);
		vm[j] = _mm256_set1_epi32(-1);
	}
	for (i = 0; i < n; i++) {
		x = _mm256_set1_epi32((int)(s[i] >> 32));
		for (j = 0; j < V; j++)
			vm[j] = _mm256_min_epu32(vm[j], _mm256_add_epi32(
				_mm256_mullo_epi32(va[j], x), vb[j]));
	}
	for (j = 0; j < V; j++)
		_mm256_store_si256((__m256i *)min + j, vm[j]);
}

/* k is a multiple of 16, so two vectors may remain. */
__attribute__((target("avx2")))
static void
least_256(const uint64_t *s, size_t n, const uint32_t *a, const uint32_t *b,
	  size_t k, uint32_t *min)
{
	for (; k >= 32; k -= 32, a += 32, b += 32, min += 32)
		group256(s, n, a, b, min, 4);
	if (k)
		group256(s, n, a, b, min, 2);
}
#endif

void
minhash_use(struct minhash *m, int level)
{
	m->least = least_plain;
#ifdef __x86_64__
	if (level > 1 && __builtin_cpu_supports("avx512f"))
		m->least = least_512;
	else if (level > 0 && __builtin_cpu_supports("avx2"))
		m->least = least_256;
#else
	(void)level;
#endif
}

void
minhash_bands(const struct minhash *m, const uint64_t *s, size_t n,
	      uint64_t *key)
{
	size_t rows = (size_t)m->o.rows, bands = (size_t)m->o.bands, i, j;
	uint32_t small[512] __attribute__((aligned(64))), *min = small;

	if (m->k > 512)
		min = xaligned(m->k * sizeof(*min));
	m->least(s, n, m->a, m->b, m->k, min);
	for (i = 0; i < bands; i++) {
		uint64_t h = fold(i ^ K0, K1);

		for (j = 0; j < rows; j++)
			h = fold(h ^ min[i * rows + j], B);
		key[i] = h;
	}
	if (min != small)
		free(min);
}

double
minhash_curve(const struct minhash_opts *o, double s)
{
	return -expm1((double)o->bands * log1p(-pow(s, (double)o->rows)));
}
