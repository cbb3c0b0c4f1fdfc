/*
 * apply.c - candidates found by an external sort: --apply
 *
 * The file has pairs of names, or the band records of a bucket that is too
 * large to be written as pairs.  A name is the hash of a set of shingles; it
 * leads to the first document with that set, and with --edit-sim to the first
 * of each sequence of words with it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dedup/dedup_priv.h"

static int
cmp_name(const void *a, const void *b)
{
	const struct set_hash *x = a, *y = b;

	if (x->a != y->a)
		return x->a < y->a ? -1 : 1;
	return (x->b > y->b) - (x->b < y->b);
}

static int
cmp_named(const void *a, const void *b)
{
	const struct named *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->name > y->name) - (x->name < y->name);
}

static size_t
name_index(const struct applied *a, const struct set_hash *h)
{
	const struct set_hash *p;

	if (!a->n)
		return SIZE_MAX;
	p = bsearch(h, a->name, a->n, sizeof(*p), cmp_name);
	return p ? (size_t)(p - a->name) : SIZE_MAX;
}

int
dedup_apply_has(const struct applied *a, struct set_hash h)
{
	return name_index(a, &h) != SIZE_MAX;
}

void
dedup_apply_clear(struct applied *a)
{
	free(a->name);
	free(a->member);
	free(a->pair);
	free(a->large);
	free(a->next);
}

/* --- the file --- */

struct name_list {
	struct set_hash *v;
	size_t n, cap;
};

static void
add_name(struct name_list *a, struct set_hash h)
{
	GROW(a->v, a->cap, a->n + 1);
	a->v[a->n++] = h;
}

/* Two names per pair; for large buckets one, and its key as another. */
struct loaded {
	struct name_list pairs, large;
};

static int
read_line(const struct dedup_opts *o, struct span line, struct loaded *l,
	  const char *where, uint64_t lineno, struct err *e)
{
	struct band_record r;

	if (dedup_record_parse(line, &r))
		return err_set(e, "%s:%llu: byte 1: not a pair record "
			       "(bands(5))", where,
			       (unsigned long long)lineno);
	if (r.param != dedup_band_param(&o->mh))
		return err_set(e, "%s:%llu: byte 1: pairs made with "
			       "another n-gram length, unit, number of "
			       "bands or rows, or seed", where,
			       (unsigned long long)lineno);
	if (r.pair) {
		add_name(&l->pairs, r.name[0]);
		add_name(&l->pairs, r.name[1]);
	} else {
		add_name(&l->large, r.name[0]);
		add_name(&l->large, (struct set_hash){r.key, 0});
	}
	return 0;
}

static int
read_file(const struct dedup_opts *o, struct input *in, struct loaded *l,
	  struct err *e)
{
	struct span rest, line;
	struct chunk c = {0};
	uint64_t lineno;
	int r;

	while ((r = input_chunk(in, &c, 1 << 18, e)) > 0) {
		rest = (struct span){c.p, c.n};
		for (lineno = c.line; r > 0 && span_line(&rest, &line);
		     lineno++)
			if (read_line(o, line, l, c.name, lineno, e))
				r = -1;
		if (r < 0)
			break;
	}
	chunk_clear(&c);
	return r;
}

/* Sorted and distinct. */
static void
number_names(struct applied *a, const struct loaded *l)
{
	size_t n = l->pairs.n + l->large.n / 2, i;
	struct set_hash *v = xreallocarray(NULL, n + 1, sizeof(*v));

	for (i = 0; i < l->pairs.n; i++)
		v[i] = l->pairs.v[i];
	for (i = 0; i < l->large.n; i += 2)
		v[l->pairs.n + i / 2] = l->large.v[i];
	qsort(v, n, sizeof(*v), cmp_name);
	for (i = 0; i < n; i++)
		if (!a->n || cmp_name(&v[a->n - 1], &v[i]))
			v[a->n++] = v[i];
	a->name = v;
}

static void
number_records(struct applied *a, const struct loaded *l)
{
	size_t i;

	a->npairs = l->pairs.n / 2;
	a->pair = xreallocarray(NULL, a->npairs + 1, sizeof(*a->pair));
	for (i = 0; i < a->npairs; i++)
		a->pair[i] = (struct pair){
			(uint32_t)name_index(a, &l->pairs.v[2 * i]),
			(uint32_t)name_index(a, &l->pairs.v[2 * i + 1])
		};
	a->nlarge = l->large.n / 2;
	a->large = xreallocarray(NULL, a->nlarge + 1, sizeof(*a->large));
	for (i = 0; i < a->nlarge; i++)
		a->large[i] = (struct named){
			l->large.v[2 * i + 1].a,
			(uint32_t)name_index(a, &l->large.v[2 * i])
		};
	qsort(a->large, a->nlarge, sizeof(*a->large), cmp_named);
}

int
dedup_apply_load(struct applied *a, const struct dedup_opts *o, struct err *e)
{
	struct input *in = input_open(&o->apply, 1);
	struct loaded l = {.pairs = {0}};
	int r = read_file(o, in, &l, e);

	input_close(in);
	if (!r && l.pairs.n + l.large.n) {
		number_names(a, &l);
		number_records(a, &l);
	}
	free(l.pairs.v);
	free(l.large.v);
	return r;
}

/* --- joined --- */

/* Add the members of a name. */
static void
add_members(const struct applied *a, uint32_t name, struct bucket *b)
{
	uint32_t i = a->member[name];

	for (; i != NOT; i = a->next ? a->next[i] : NOT)
		dedup_bucket_add(b, i);
}

static int
join_pair(struct pairs *p, const struct bucket *x, const struct bucket *y,
	  struct err *e)
{
	size_t i, k;

	for (i = 0; i < x->n; i++)
		for (k = 0; k < y->n; k++)
			if (dedup_pairs_join(p, x->v[i], y->v[k], e) < 0)
				return -1;
	return 0;
}

static int
join_pairs(const struct applied *a, struct pairs *p, struct err *e)
{
	struct bucket x = {0}, y = {0};
	size_t i;
	int r = 0;

	for (i = 0; !r && i < a->npairs; i++) {
		x.n = y.n = 0;
		add_members(a, a->pair[i].a, &x);
		add_members(a, a->pair[i].b, &y);
		r = join_pair(p, &x, &y, e);
	}
	free(x.v);
	free(y.v);
	return r;
}

static int
join_large(const struct applied *a, struct pairs *p, struct err *e)
{
	struct bucket b = {0};
	size_t i;
	int r = 0;

	for (i = 0; !r && i < a->nlarge; i++) {
		add_members(a, a->large[i].name, &b);
		if (i + 1 < a->nlarge && a->large[i + 1].key == a->large[i].key)
			continue;
		r = dedup_bucket_join(p, &b, e);
		b.n = 0;
	}
	free(b.v);
	return r;
}

/* --edit-sim: the members of each set, which no pair names. */
static int
join_sets(const struct applied *a, struct pairs *p, struct err *e)
{
	uint8_t *seen = xcalloc((size_t)p->n + 1, 1);
	struct bucket b = {0};
	uint32_t i, k;
	int r = 0;

	/* chains lead from the newest to the first */
	for (i = p->n; !r && i--;) {
		if (seen[i] || p->m[i].same != i || !p->m[i].nset)
			continue;
		for (b.n = 0, k = i; k != NOT; k = a->next[k]) {
			seen[k] = 1;
			dedup_bucket_add(&b, k);
		}
		r = dedup_bucket_join(p, &b, e);
	}
	free(seen);
	free(b.v);
	return r;
}

int
dedup_apply_join(const struct applied *a, struct pairs *p, struct err *e)
{
	if (join_pairs(a, p, e) || join_large(a, p, e))
		return -1;
	return a->next ? join_sets(a, p, e) : 0;
}
