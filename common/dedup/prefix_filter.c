/*
 * prefix_filter.c - the similar pairs of one bucket, without trying all pairs
 *
 * A few sets are compared each with each.  Many are joined by their prefixes
 * (Bayardo, Ma and Srikant 2007; Xiao et al. 2008), which loses no pair.  All
 * shingles have one order, the rarest of the bucket first.  Two sets x and y,
 * |y| <= |x|, of Jaccard t or more share at least t |x| shingles and so one
 * of the first |x| - ceil(t |x|) + 1 of x; and 2t / (1 + t) |y|, so one of
 * the first |y| - ceil(2t / (1 + t) |y|) + 1 of y.  Sets come in order of
 * size; each looks up its prefix in an index and then enters its own, shorter
 * one.  Documents that share what all of the bucket have and differ in the
 * rest, such as those made from a template, never meet.
 *
 * The frequency of shingles is counted in a table in which two may share a
 * slot: any order will do if it is the same for all.  What does not fit into
 * the memory of the index is left to another round.
 *
 * If a list holds only members of one cluster, a set of that cluster skips it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/search.h"
#include "dedup/dedup_priv.h"

enum {
	FEW = 32,		/* sets: each with each */
	COUNTS = 1 << 20,	/* at most */
	INDEX_MIN = 4 << 20	/* bytes */
};

/* A place of the index: the set v[set] has its token at `at`. */
struct entry {
	uint32_t set, at, next;
};

/* All entries of one token, the newest first. */
struct list {
	uint64_t token;
	uint32_t head;		/* NOT: free */
	uint32_t mixed;		/* of more than one cluster */
};

struct join {
	struct pairs *p;
	uint32_t *v;		/* members, the smallest set first */
	size_t n, apart;	/* apart: clusters */
	uint32_t *count;
	size_t ncount;
	uint64_t *token;	/* of the current set */
	size_t token_cap;
	uint32_t *met;		/* by set: the last compared with it */
	struct entry *entry;
	size_t nentry, max_entry;
	struct list *list;	/* by token */
	size_t mask;
};

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

/* The number of clusters of the members v[0..n); tmp has room for n. */
static size_t
clusters(struct pairs *p, const uint32_t *v, size_t n, uint32_t *tmp)
{
	size_t i;

	for (i = 0; i < n; i++)
		tmp[i] = union_find_first(&p->near, v[i]);
	return unique(tmp, n);
}

/* --- each with each --- */

static int
compare(struct join *b, uint32_t x, uint32_t y, struct err *e)
{
	int joined = dedup_pairs_join(b->p, x, y, e);

	if (joined > 0)
		b->apart--;
	return joined < 0 ? -1 : 0;
}

static int
each_with_each(struct join *b, struct err *e)
{
	size_t i, k;

	for (i = 0; i < b->n; i++) {
		for (k = i + 1; k < b->n; k++) {
			if (b->apart < 2 && !b->p->ref)
				return 0;
			if (compare(b, b->v[i], b->v[k], e))
				return -1;
		}
	}
	return 0;
}

/* --- by prefixes --- */

/* Move the k least of n to v[0..k), in any order (Hoare 1961). */
static void
select_least(uint64_t *v, size_t n, size_t k)
{
	size_t lo = 0, hi = n;

	while (hi - lo > 1 && k > lo && k < hi) {
		uint64_t pivot = v[lo + (hi - lo) / 2], x;
		size_t i = lo, j = hi - 1;

		for (;; i++, j--) {
			while (v[i] < pivot)
				i++;
			while (v[j] > pivot)
				j--;
			if (i >= j)
				break;
			x = v[i];
			v[i] = v[j];
			v[j] = x;
		}
		/* v[lo..i) <= pivot <= v[i..hi), neither of them all */
		if (i == lo)
			i++;
		if (k <= i)
			hi = i;
		else
			lo = i;
	}
}

/* share * n rounded up, tolerant of the last bit of the product. */
static size_t
at_least(double share, double n)
{
	return (size_t)ceil(share * n * (1 - 1e-9));
}

static size_t
place(const struct join *b, uint64_t shingle)
{
	return shingle & (b->ncount - 1);
}

static int
count_shingles(struct join *b, struct err *e)
{
	uint64_t all = 0;
	size_t i, k;

	for (i = 0; i < b->n; i++)
		all += b->p->m[b->v[i]].nset;
	for (b->ncount = 1024; b->ncount < COUNTS && b->ncount < all;)
		b->ncount *= 2;
	b->count = xcalloc(b->ncount, sizeof(*b->count));
	for (i = 0; i < b->n; i++) {
		const uint64_t *set = dedup_pairs_set(b->p, b->v[i], 0, e);

		if (!set)
			return -1;
		for (k = 0; k < b->p->m[b->v[i]].nset; k++)
			b->count[place(b, set[k])]++;
	}
	return 0;
}

/*
 * The first k tokens of a set, in order, to b->token.  A token is the count of
 * a shingle, then 40 bits of it; two of a set that are the same token enter
 * once, at the first place, which keeps the bounds true.
 */
static int
prefix(struct join *b, uint32_t member, size_t k, struct err *e)
{
	size_t n = b->p->m[member].nset, i;
	const uint64_t *set = dedup_pairs_set(b->p, member, 0, e);

	if (!set)
		return -1;
	GROW(b->token, b->token_cap, n);
	for (i = 0; i < n; i++) {
		uint64_t many = b->count[place(b, set[i])];

		many = many < 0xffffff ? many : 0xffffff;
		b->token[i] = many << 40 | set[i] >> 24;
	}
	select_least(b->token, n, k);
	qsort(b->token, k, sizeof(*b->token), cmp_u64);
	return 0;
}

static struct list *
find_list(const struct join *b, uint64_t token)
{
	size_t i = token * UINT64_C(0x9e3779b97f4a7c17) >> 32 & b->mask;

	while (b->list[i].head != NOT && b->list[i].token != token)
		i = (i + 1) & b->mask;
	return &b->list[i];
}

/* Compare a set with the earlier ones of a list. */
static int
probe_list(struct join *b, uint32_t x, size_t at, struct list *l,
	   struct err *e)
{
	struct pairs *p = b->p;
	uint32_t i, root = union_find_first(&p->near, b->v[x]);
	size_t nx = p->m[b->v[x]].nset, ny, rest;
	double t = p->o->threshold;
	int mixed = 0;

	for (i = l->head; i != NOT; i = b->entry[i].next) {
		const struct entry *y = &b->entry[i];

		if (!l->mixed && !p->ref &&
		    union_find_first(&p->near, b->v[y->set]) == root)
			return 0;
		ny = p->m[b->v[y->set]].nset;
		if (ny < at_least(t, (double)nx))
			return 0;
		mixed |= union_find_first(&p->near, b->v[y->set]) != root;
		if (b->met[y->set] == x)
			continue;
		b->met[y->set] = x;
		rest = nx - at < ny - y->at ? nx - at : ny - y->at;
		if (rest < at_least(t / (1 + t), (double)(nx + ny)))
			continue;
		if (compare(b, b->v[x], b->v[y->set], e))
			return -1;
		root = union_find_first(&p->near, b->v[x]);
	}
	l->mixed &= (uint32_t)mixed;
	return 0;
}

static void
enter(struct join *b, uint32_t x, size_t k)
{
	struct union_find *near = &b->p->near;
	size_t i;

	for (i = 0; i < k; i++) {
		struct list *l = find_list(b, b->token[i]);

		if (i && b->token[i] == b->token[i - 1])
			continue;
		b->entry[b->nentry] = (struct entry){x, (uint32_t)i, l->head};
		if (l->head != NOT)
			l->mixed |= union_find_first(near, b->v[x]) !=
				union_find_first(near,
					      b->v[b->entry[l->head].set]);
		l->token = b->token[i];
		l->head = (uint32_t)b->nentry++;
	}
}

/* Enter sets from `from` on while there is room; compare all after it. */
static int
one_round(struct join *b, size_t from, size_t *next, struct err *e)
{
	double t = b->p->o->threshold;
	size_t i, k, n, probe, keep;

	memset(b->list, 0xff, (b->mask + 1) * sizeof(*b->list));
	memset(b->met, 0xff, b->n * sizeof(*b->met));
	for (i = 0; i <= b->mask; i++)
		b->list[i].mixed = 0;
	b->nentry = 0;
	*next = b->n;
	for (i = from; i < b->n && (b->apart > 1 || b->p->ref); i++) {
		n = b->p->m[b->v[i]].nset;
		probe = n - at_least(t, (double)n) + 1;
		keep = n - at_least(2 * t / (1 + t), (double)n) + 1;
		if (prefix(b, b->v[i], probe, e))
			return -1;
		for (k = 0; k < probe; k++)
			if ((!k || b->token[k] != b->token[k - 1]) &&
			    probe_list(b, (uint32_t)i, k,
				       find_list(b, b->token[k]), e))
				return -1;
		if (*next == b->n && b->nentry + keep > b->max_entry)
			*next = i;
		if (*next == b->n)
			enter(b, (uint32_t)i, keep);
	}
	return 0;
}

/* Sort by size, then by number. */
static void
by_size(struct join *b)
{
	uint64_t *key = xreallocarray(NULL, b->n, sizeof(*key));
	size_t i;

	for (i = 0; i < b->n; i++)
		key[i] = (uint64_t)b->p->m[b->v[i]].nset << 32 | b->v[i];
	qsort(key, b->n, sizeof(*key), cmp_u64);
	for (i = 0; i < b->n; i++)
		b->v[i] = (uint32_t)key[i];
	free(key);
}

/* Room for the index: 1/16 of the memory, at least the longest set. */
static void
open_index(struct join *b)
{
	double t = b->p->o->threshold;
	size_t each = sizeof(*b->entry) + 4 * sizeof(*b->list), i, keep;
	size_t all = 0, most = 0, max = b->p->mem / 16;

	for (i = 0; i < b->n; i++) {
		size_t n = b->p->m[b->v[i]].nset;

		keep = n - at_least(2 * t / (1 + t), (double)n) + 1;
		all += keep;
		most = keep > most ? keep : most;
	}
	max = (max < INDEX_MIN ? INDEX_MIN : max) / each;
	max = max < most ? most : max;
	b->max_entry = all < max ? all : max;
	b->entry = xreallocarray(NULL, b->max_entry, sizeof(*b->entry));
	for (b->mask = 64; b->mask < 2 * b->max_entry;)
		b->mask *= 2;
	b->list = xreallocarray(NULL, b->mask, sizeof(*b->list));
	b->mask--;
	b->met = xreallocarray(NULL, b->n, sizeof(*b->met));
}

static int
by_prefix(struct join *b, struct err *e)
{
	size_t from, next;
	int r;

	by_size(b);
	open_index(b);
	r = count_shingles(b, e);
	for (from = 0; !r && from < b->n; from = next)
		r = one_round(b, from, &next, e);
	free(b->entry);
	free(b->list);
	free(b->met);
	free(b->count);
	free(b->token);
	return r;
}

void
dedup_bucket_add(struct bucket *b, uint32_t member)
{
	GROW(b->v, b->cap, 2 * b->n + 2);
	b->v[b->n++] = member;
}

int
dedup_bucket_join(struct pairs *p, struct bucket *bucket, struct err *e)
{
	struct join b = {.p = p, .v = bucket->v};
	size_t n = bucket->n, i;

	if (n < 2)	/* --apply: of documents that are not in the input */
		return 0;
	for (i = 0; i < n; i++)
		b.v[i] = p->m[b.v[i]].same;
	b.n = unique(b.v, n);
	if (!p->o->verify) {
		for (i = 1; i < b.n; i++)
			union_find_join(&p->near, b.v[0], b.v[i]);
		return 0;
	}
	b.apart = clusters(p, b.v, b.n, b.v + b.n);
	if (b.n <= FEW)
		return each_with_each(&b, e);
	return b.apart > 1 || p->ref ? by_prefix(&b, e) : 0;
}
