/*
 * records.c - band records and pair records (bands.5)
 */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "dedup/dedup_priv.h"

enum { PAIR_LINE = 8 + 2 * (1 + BAND_NAME) };

uint32_t
dedup_band_param(const struct minhash_opts *o)
{
	const int64_t v[7] = {
		WORDS_VERSION, MINHASH_VERSION, o->ngram, o->bands, o->rows,
		o->seed, o->chars
	};

	return (uint32_t)XXH3_64bits(v, sizeof(v));
}

/* n hexadecimal digits; 0, or -1. */
static int
hex(const char *p, int n, uint64_t *x)
{
	int i;

	for (i = 0, *x = 0; i < n; i++) {
		unsigned c = (unsigned char)p[i];
		unsigned v = c - '0' < 10 ? c - '0' :
			c - 'a' < 6 ? c - 'a' + 10 : 16;

		if (v > 15)
			return -1;
		*x = *x << 4 | v;
	}
	return 0;
}

static int
hex_name(const char *p, struct set_hash *h)
{
	return hex(p, 16, &h->a) || hex(p + 16, 16, &h->b);
}

int
dedup_record_parse(struct span line, struct band_record *r)
{
	const char *p = line.p;
	size_t n = line.n;
	uint64_t band;

	r->pair = n == PAIR_LINE;
	if (r->pair)
		return p[8] != ' ' || p[41] != ' ' || hex(p, 8, &r->param) ||
			hex_name(p + 9, &r->name[0]) ||
			hex_name(p + 42, &r->name[1]);
	return n != BAND_LINE || p[8] != ' ' || p[13] != ' ' ||
		p[BAND_HEAD - 1] != ' ' || hex(p, 8, &r->param) ||
		hex(p + 9, 4, &band) || hex(p + 14, 16, &r->key) ||
		hex_name(p + BAND_HEAD, &r->name[0]);
}
