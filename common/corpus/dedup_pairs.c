/*
 * dedup_pairs.c - candidate pairs: verified, then joined
 *
 * All pairs of a bucket are candidates.  Of documents with one set only the
 * first stands in it, and a pair that is joined already need not be looked
 * at: the clusters are the same.  So a bucket of k documents that are all
 * alike costs k - 1 comparisons, and one of k that are not costs k^2 / 2 in
 * the worst case, of which those of too different size are told at once and
 * the others are given up as soon as too little can be common.
 */
#include "corpus/dedup_int.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "corpus/editdist.h"

enum { FAILED = 1 << 20 };	/* pairs remembered */

/* n elements of the sets spool from at on, in place or in b. */
static const uint64_t *
load(struct dedup *d, uint64_t at, size_t n, struct buf *b, struct err *e)
{
	const void *p = spool_view(d->sets, 8 * at, 8 * n);

	if (p)
		return p;
	buf_reset(b);
	p = buf_reserve(b, 8 * n + 8);
	return spool_read(d->sets, 8 * at, b->p, 8 * n, e) ? NULL : p;
}

/* 1 or 0: is Jaccard >= t; the similarity itself when it is. */
static int
similar(const uint64_t *a, size_t na, const uint64_t *b, size_t nb, double t)
{
	size_t i = 0, k = 0, n = 0, stop;
	double least = t / (1 + t) * (double)(na + nb) - 1;

	while (i < na && k < nb) {
		stop = i + 256 < na ? i + 256 : na;
		while (i < stop && k < nb) {
			uint64_t x = a[i], y = b[k];

			n += x == y;
			i += x <= y;
			k += y <= x;
		}
		if ((double)(n + (na - i < nb - k ? na - i : nb - k)) < least)
			return 0;
	}
	return (double)n / (double)(na + nb - n) >= t;
}

/* Of two that are not joined: 1 when they are to be, 0, -1 error. */
static int
verify(struct dedup *d, uint32_t a, uint32_t b, struct err *e)
{
	const struct member *x = &d->m[a], *y = &d->m[b];
	uint64_t pair = (uint64_t)a << 32 | b;
	uint64_t *failed = &d->failed[pair * UINT64_C(0x9e3779b97f4a7c17) >>
				      44];
	double small = x->nset < y->nset ? x->nset : y->nset;
	double large = x->nset < y->nset ? y->nset : x->nset;
	const uint64_t *p, *q;

	if (*failed == pair)
		return 0;
	d->candidates++;
	*failed = pair;
	if (small / large < d->o->threshold)
		return 0;
	p = load(d, x->set, x->nset, &d->row[0], e);
	q = p ? load(d, y->set, y->nset, &d->row[1], e) : NULL;
	if (!q)
		return -1;
	if (!similar(p, x->nset, q, y->nset, d->o->threshold))
		return 0;
	if (d->o->has_edit) {
		p = load(d, x->words, x->nwords, &d->row[2], e);
		q = p ? load(d, y->words, y->nwords, &d->row[3], e) : NULL;
		if (!q)
			return -1;
		if (!edit_similar(p, x->nwords, q, y->nwords, d->o->edit_sim))
			return 0;
	}
	d->verified++;
	return 1;
}

static int
cmp32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static size_t
unique(uint32_t *v, size_t n)
{
	size_t i, k = 0;

	qsort(v, n, sizeof(*v), cmp32);
	for (i = 0; i < n; i++)
		if (k == 0 || v[k - 1] != v[i])
			v[k++] = v[i];
	return k;
}

/* How many clusters the members v[0..n) are in; tmp has room for them. */
static size_t
roots(struct dedup *d, const uint32_t *v, size_t n, uint32_t *tmp)
{
	size_t i;

	for (i = 0; i < n; i++)
		tmp[i] = cluster_first(&d->near, v[i]);
	return unique(tmp, n);
}

/* v: members of one bucket, twice the room. */
static int
join_bucket(struct dedup *d, uint32_t *v, size_t n, struct err *e)
{
	size_t i, k, apart;
	int same;

	for (i = 0; i < n; i++)
		v[i] = d->m[v[i]].same;
	n = unique(v, n);
	apart = roots(d, v, n, v + n);
	for (i = 0; i < n && apart > 1; i++) {
		for (k = i + 1; k < n && apart > 1; k++) {
			if (d->o->verify &&
			    cluster_first(&d->near, v[i]) ==
			    cluster_first(&d->near, v[k]))
				continue;
			same = !d->o->verify ? 1 : verify(d, v[i], v[k], e);
			if (same < 0)
				return -1;
			if (same)
				apart -= cluster_join(&d->near, v[i], v[k]);
		}
	}
	return 0;
}

static int
join_buckets(struct dedup *d, struct err *e)
{
	const uint32_t *doc;
	uint32_t *v = NULL;
	size_t n, i, cap = 0;
	int r;

	if (keysort_rewind(d->bands, e))
		return -1;
	while ((r = keysort_group(d->bands, &doc, &n, e)) > 0) {
		if (2 * n > cap) {
			cap = 4 * n;
			v = xreallocarray(v, cap, sizeof(*v));
		}
		for (i = 0; i < n; i++)
			v[i] = dedup_member(d, doc[i]);
		r = join_bucket(d, v, n, e);
		if (r)
			break;
	}
	free(v);
	return r;
}

static int
join_pairs(struct dedup *d, struct err *e)
{
	size_t i;
	int same;

	for (i = 0; i < d->npairs; i++) {
		uint32_t a = d->pair_member[d->pair[i].a];
		uint32_t b = d->pair_member[d->pair[i].b];

		if (a == NOT || b == NOT ||
		    cluster_first(&d->near, a) == cluster_first(&d->near, b))
			continue;
		same = a < b ? verify(d, a, b, e) : verify(d, b, a, e);
		if (same < 0)
			return -1;
		if (same)
			cluster_join(&d->near, a, b);
	}
	return 0;
}

/* Everyone's similarity to the first of its cluster. */
static int
measure(struct dedup *d, uint32_t i, uint32_t first, struct err *e)
{
	const struct member *x = &d->m[d->m[first].same];
	const struct member *y = &d->m[d->m[i].same];
	const uint64_t *p, *q;

	d->m[i].sim = -1;
	if (!d->o->near || !d->o->verify || !x->nset || !y->nset)
		return 0;
	p = load(d, x->set, x->nset, &d->row[0], e);
	q = p ? load(d, y->set, y->nset, &d->row[1], e) : NULL;
	if (!q)
		return -1;
	d->m[i].sim = x == y ? 1 : set_jaccard(p, x->nset, q, y->nset);
	return 0;
}

/* Roots at once, sizes, seconds, similarities. */
static int
finish(struct dedup *d, struct err *e)
{
	uint32_t i, first;

	d->size = xcalloc((size_t)d->nm + 1, sizeof(*d->size));
	d->second = xcalloc((size_t)d->nm + 1, sizeof(*d->second));
	for (i = 0; i < d->nm; i++)
		if (d->m[i].exact != i)
			cluster_join(&d->near, d->m[i].exact, i);
	for (i = 0; i < d->nm; i++) {
		first = cluster_first(&d->near, i);
		d->near.parent[i] = first;
		if (d->size[first]++ == 1)
			d->second[first] = i;
		if (first != i && measure(d, i, first, e))
			return -1;
	}
	for (i = 0; i < d->nm; i++) {
		d->clusters += d->size[i] > 1;
		if (d->size[i] > d->largest)
			d->largest = d->size[i];
	}
	return 0;
}

int
dedup_join(struct dedup *d, struct err *e)
{
	int r = 0;

	if (!d->nm)
		return 0;
	if (d->o->near) {
		d->failed = xcalloc(FAILED, sizeof(*d->failed));
		r = d->o->apply ? join_pairs(d, e) : join_buckets(d, e);
	}
	return r ? r : finish(d, e);
}

/* --- the file of --apply --- */

uint32_t
dedup_param(const struct minhash_opts *o)
{
	const int64_t v[7] = {
		WORDS_VERSION, MINHASH_VERSION, o->ngram, o->bands, o->rows,
		o->seed, o->chars
	};

	return (uint32_t)XXH3_64bits(v, sizeof(v));
}

static int
cmp_name(const void *a, const void *b)
{
	const struct set_hash *x = a, *y = b;

	if (x->a != y->a)
		return x->a < y->a ? -1 : 1;
	return (x->b > y->b) - (x->b < y->b);
}

static size_t
name_index(const struct dedup *d, const struct set_hash *h)
{
	const struct set_hash *p;

	if (!d->npair_names)
		return SIZE_MAX;
	p = bsearch(h, d->pair_name, d->npair_names, sizeof(*p), cmp_name);
	return p ? (size_t)(p - d->pair_name) : SIZE_MAX;
}

int
dedup_in_pairs(const struct dedup *d, struct set_hash h)
{
	return name_index(d, &h) != SIZE_MAX;
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

/* "PPPPPPPP NAME NAME" */
static int
pair_line(const char *p, size_t n, uint64_t *param, struct set_hash h[2])
{
	enum { LINE = 8 + 2 * 33 };

	return n != LINE || p[8] != ' ' || p[41] != ' ' ||
	       hex(p, 8, param) || hex(p + 9, 16, &h[0].a) ||
	       hex(p + 25, 16, &h[0].b) || hex(p + 42, 16, &h[1].a) ||
	       hex(p + 58, 16, &h[1].b) ? -1 : 0;
}

struct names {
	struct set_hash *v;	/* two a pair */
	size_t n, cap;
};

static int
read_pairs(struct dedup *d, struct input *in, struct names *names,
	   struct err *e)
{
	struct chunk c = {0};
	uint64_t param;
	int r;

	while ((r = input_chunk(in, &c, 1 << 18, e)) > 0) {
		const char *p = c.p, *end = c.p + c.n, *lf;
		uint64_t line = c.line;

		for (; p < end; p = lf + 1, line++) {
			lf = memchr(p, '\n', (size_t)(end - p));
			if (!lf)
				lf = end;
			if (names->n + 2 > names->cap) {
				names->cap = names->cap ? 2 * names->cap : 512;
				names->v = xreallocarray(names->v, names->cap,
							 sizeof(*names->v));
			}
			if (pair_line(p, (size_t)(lf - p), &param,
				      names->v + names->n))
				r = err_set(e, "%s:%llu: byte 1: no record of "
					    "dedup --emit pairs", c.name,
					    (unsigned long long)line);
			else if (param != dedup_param(&d->o->mh))
				r = err_set(e, "%s:%llu: byte 1: pairs of "
					    "other --ngram, --unit, --bands, "
					    "--rows or --seed", c.name,
					    (unsigned long long)line);
			if (r < 0) {
				chunk_clear(&c);
				return -1;
			}
			names->n += 2;
		}
	}
	chunk_clear(&c);
	return r;
}

int
dedup_load_pairs(struct dedup *d, struct err *e)
{
	struct input *in = input_open(&d->o->apply, 1);
	struct names names = {0};
	size_t i, n = 0;
	int r = read_pairs(d, in, &names, e);

	input_close(in);
	if (r || !names.n) {
		free(names.v);
		return r;
	}
	d->pair_name = xreallocarray(NULL, names.n, sizeof(*names.v));
	memcpy(d->pair_name, names.v, names.n * sizeof(*names.v));
	qsort(d->pair_name, names.n, sizeof(*names.v), cmp_name);
	for (i = 0; i < names.n; i++)
		if (!n || cmp_name(&d->pair_name[n - 1], &d->pair_name[i]))
			d->pair_name[n++] = d->pair_name[i];
	d->npair_names = n;
	d->npairs = names.n / 2;
	d->pair = xreallocarray(NULL, d->npairs, sizeof(*d->pair));
	for (i = 0; i < d->npairs; i++)
		d->pair[i] = (struct pair){
			(uint32_t)name_index(d, &names.v[2 * i]),
			(uint32_t)name_index(d, &names.v[2 * i + 1])
		};
	free(names.v);
	return 0;
}
