/*
 * unicode.c - lower case, width, normalization form C
 *
 * NFC (Unicode Standard Annex 15): decompose canonically, put marks into the
 * order of their combining classes, compose again.  Most text is NFC already:
 * a scan finds the first character that NFC could change (the "maybe" table),
 * and only the stretch from the last starter before such a character to the
 * next safe starter is rewritten.
 */
#include "text/unicode.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/search.h"
#include "base/utf8.h"

enum {
	S_BASE = 0xac00, L_BASE = 0x1100, V_BASE = 0x1161, T_BASE = 0x11a7,
	L_COUNT = 19, V_COUNT = 21, T_COUNT = 28,
	N_COUNT = V_COUNT * T_COUNT, S_COUNT = L_COUNT * N_COUNT
};

const uint8_t uc_class_of[UC_NCAT] = {
	[UC_LL] = UC_LOWER, [UC_LM] = UC_CASELESS, [UC_LO] = UC_CASELESS,
	[UC_LT] = UC_UPPER, [UC_LU] = UC_UPPER,
	[UC_MC] = UC_MARK, [UC_ME] = UC_MARK, [UC_MN] = UC_MARK,
	[UC_ND] = UC_NUMBER, [UC_NL] = UC_NUMBER, [UC_NO] = UC_NUMBER,
	[UC_PC] = UC_PUNCT, [UC_PD] = UC_PUNCT, [UC_PE] = UC_PUNCT,
	[UC_PF] = UC_PUNCT, [UC_PI] = UC_PUNCT, [UC_PO] = UC_PUNCT,
	[UC_PS] = UC_PUNCT,
	[UC_SC] = UC_SYMBOL, [UC_SK] = UC_SYMBOL, [UC_SM] = UC_SYMBOL,
	[UC_SO] = UC_SYMBOL,
	[UC_ZL] = UC_SPACE, [UC_ZP] = UC_SPACE, [UC_ZS] = UC_SPACE,
	[UC_SPACE_CC] = UC_SPACE
};

uint32_t
uc_to_lower(uint32_t c)
{
	size_t i;

	if (c < 0x80)
		return c - 'A' < 26 ? c + 32 : c;
	FIND_FIRST(i, 0, uc_nlower, uc_lower[i][0] >= c);
	return i < uc_nlower && uc_lower[i][0] == c ? uc_lower[i][1] : c;
}

unsigned
uc_columns(uint32_t c)
{
	enum uc_cat cat = uc_cat(c);
	size_t i;

	if (cat == UC_MN || cat == UC_ME || (cat == UC_CF && c != 0xad))
		return 0;
	FIND_FIRST(i, 0, uc_nwide, uc_wide[i][1] >= c);
	return i < uc_nwide && uc_wide[i][0] <= c ? 2 : 1;
}

static unsigned
ccc(uint32_t c)
{
	return UC_TABLE(ccc, c);
}

/* Code points of one stretch. */
struct run {
	uint32_t *v;
	size_t n, cap;
};

static void
run_add(struct run *r, uint32_t c)
{
	GROW(r->v, r->cap, r->n + 1);
	r->v[r->n++] = c;
}

static void
decompose(struct run *r, uint32_t c)
{
	size_t k, i;

	if (c - S_BASE < S_COUNT) {
		uint32_t s = c - S_BASE;

		run_add(r, L_BASE + s / N_COUNT);
		run_add(r, V_BASE + s % N_COUNT / T_COUNT);
		if (s % T_COUNT)
			run_add(r, T_BASE + s % T_COUNT);
		return;
	}
	FIND_FIRST(k, 0, uc_ndec, uc_dec_key[k] >= c);
	if (k == uc_ndec || uc_dec_key[k] != c) {
		run_add(r, c);
		return;
	}
	for (i = uc_dec_start[k]; i < uc_dec_start[k + 1]; i++)
		run_add(r, uc_dec_seq[i]);
}

/* A stable merge sort by class: a text may have any number of marks. */
static void
sort_marks(uint32_t *v, uint32_t *tmp, size_t n)
{
	for (size_t w = 1; w < n; w *= 2) {
		for (size_t lo = 0; lo < n; lo += 2 * w) {
			size_t mid = lo + w < n ? lo + w : n;
			size_t hi = mid + w < n ? mid + w : n;
			size_t a = lo, b = mid, k = lo;

			while (k < hi)
				tmp[k++] = b == hi || (a < mid &&
					ccc(v[a]) <= ccc(v[b])) ?
					v[a++] : v[b++];
		}
		memcpy(v, tmp, n * sizeof(*v));
	}
}

static void
reorder(struct run *r)
{
	uint32_t *tmp = xreallocarray(NULL, r->n + 1, sizeof(*tmp));
	size_t i = 0;

	while (i < r->n) {
		size_t j = i;

		while (j < r->n && ccc(r->v[j]))
			j++;
		if (j - i > 1)
			sort_marks(r->v + i, tmp, j - i);
		i = j + 1;
	}
	free(tmp);
}

static uint32_t
compose_pair(uint32_t a, uint32_t b)
{
	size_t i;

	if (a - L_BASE < L_COUNT && b - V_BASE < V_COUNT)
		return S_BASE + ((a - L_BASE) * V_COUNT + b - V_BASE) * T_COUNT;
	if (a - S_BASE < S_COUNT && (a - S_BASE) % T_COUNT == 0 &&
	    b - T_BASE - 1 < T_COUNT - 1)
		return a + b - T_BASE;
	FIND_FIRST(i, 0, uc_ncomp, uc_comp[i][0] > a ||
		   (uc_comp[i][0] == a && uc_comp[i][1] >= b));
	return i < uc_ncomp && uc_comp[i][0] == a && uc_comp[i][1] == b ?
		uc_comp[i][2] : 0;
}

static void
compose(struct run *r)
{
	size_t starter = SIZE_MAX, n = 0;
	unsigned last = 0;	/* class of the character kept before */

	for (size_t i = 0; i < r->n; i++) {
		uint32_t c = r->v[i], x;
		unsigned k = ccc(c);

		/* blocked: something of the same or a higher class between */
		if (starter != SIZE_MAX &&
		    (starter + 1 == n || (last != 0 && last < k)) &&
		    (x = compose_pair(r->v[starter], c)) != 0) {
			r->v[starter] = x;
			continue;
		}
		if (k == 0)
			starter = n;
		last = k;
		r->v[n++] = c;
	}
	r->n = n;
}

static void
flush(struct run *r, struct buf *out)
{
	char *p = buf_reserve(out, 4 * r->n + 4);
	size_t n = 0;

	reorder(r);
	compose(r);
	for (size_t i = 0; i < r->n; i++)
		n += utf8_put(p + n, r->v[i]);
	out->n += n;
	r->n = 0;
}

/* The first character from i on that NFC might change; *safe: the last starter
 * before it, where rewriting must begin. */
static size_t
next_maybe(struct span t, size_t i, size_t *safe)
{
	*safe = i;
	while (i < t.n) {
		unsigned len;
		uint32_t c;

		if ((unsigned char)t.p[i] < 0x80) {
			*safe = i++;
			continue;
		}
		c = uc_next(t.p + i, t.n - i, &len);
		if (!uc_nfc_boundary(c))
			return i;
		*safe = i;	/* every non-starter is a maybe */
		i += len;
	}
	return t.n;
}

int
uc_nfc(struct span t, struct buf *out)
{
	struct run r = {0};
	size_t done = 0, at, safe;

	at = next_maybe(t, 0, &safe);
	if (at == t.n)
		return 1;
	buf_reset(out);
	while (at < t.n) {
		unsigned len;
		uint32_t c;

		buf_put(out, t.p + done, safe - done);
		for (at = safe; at < t.n; at += len) {
			c = uc_next(t.p + at, t.n - at, &len);
			if (at > safe && uc_nfc_boundary(c))
				break;
			decompose(&r, c);
		}
		flush(&r, out);
		done = at;
		at = next_maybe(t, done, &safe);
	}
	buf_put(out, t.p + done, t.n - done);
	free(r.v);
	return 0;
}
