/*
 * train.c - learning merges from distinct pieces
 *
 * All pieces stand behind one another in one array of slots, a slot a byte,
 * with an EDGE before, between and behind them.  A symbol of k bytes covers
 * k slots; its id stands in the first and in the last of them.  So the next
 * symbol is found by the length of this one, the one before by the id in the
 * slot just before, and no links are kept.  A slot also holds the weight of
 * its piece: one cache line serves one replacement.
 *
 * For each pair the places of its left symbol are listed, ascending.  Two
 * symbols become neighbours only when the newer one is made, so the list of
 * a pair is complete once that turn is over; after it, places can only go
 * stale.  A place is stale when the two ids are no longer there: a slot that
 * stops being the first of a symbol gets another id (HOLE, or that of the
 * symbol that now ends there), and ids are never made twice, so the test is
 * exact.  Counts likewise only fall after the turn that made the pair.
 *
 * Falling counts make a lazy heap right: the top is the pair to merge if its
 * count is still true, else it goes back with the true one.
 *
 * Most pairs are rare and never merged.  Only those that stand at least
 * `bar` times are kept at all; when none is left, the bar is lowered and the
 * slots are scanned again (bar_lower).  A pair below the bar cannot be the
 * next one while any is above it, so this changes no result.
 *
 * Cost: each replacement removes one symbol, so there are less than n of
 * them, each O(1); list entries are at most n a scan plus 2 a replacement;
 * the heap adds a logarithm; scans are log4 of the first bar at most.
 */
#include "tokenizer/train.h"

#include <stdlib.h>

#include "base/mem.h"
#include "record/vocab.h"

enum {
	NBYTES = 256,
	AHEAD = 8,		/* places to prefetch before they are needed */
	AREA = 1 << 18		/* places in one block of the list store */
};

#define EDGE 0xffffffffu	/* slot id: no symbol, a piece ends */
#define HOLE 0xfffffffeu	/* slot id: inside of a symbol */
#define HEAVY 0x80000000u	/* slot weight: index into heavy[] */
#define NONE (~(uint64_t)0)	/* key of an empty entry */

struct slot {
	uint32_t id;
	uint32_t weight;	/* below HEAVY: itself */
};

struct pair {
	uint64_t key;		/* left << 32 | right, or NONE */
	uint64_t count;
	uint32_t *place;	/* [nplace] slots of the left symbol, ascending */
	uint64_t nplace;
};

struct table {			/* open addressing, linear probing */
	struct pair *v;
	size_t n;
	unsigned bits;
};

struct rank {			/* heap entry */
	uint64_t count, key;
};

struct heap {
	struct rank *v;
	size_t n, cap;
};

struct area {			/* a block of the list store */
	struct area *next;
	size_t n, cap;
	uint32_t v[];
};

/* What the symbols beside a new one add up to, one a symbol. */
struct beside {
	uint64_t count;
	uint32_t *place;	/* where to write the next place, or NULL */
	uint64_t nplace;
};

struct seen {			/* one replacement of this turn */
	uint32_t at, left, right;
};

struct train {
	const struct bpetrain_opts *o;
	struct slot *slot;	/* [nslot] */
	size_t nslot;
	uint64_t *heavy;	/* weights of HEAVY and above */
	size_t nheavy;
	uint32_t *len;		/* [256 + merges] bytes of each symbol */
	struct table pairs;
	struct heap heap;
	uint64_t bar;
	struct area *areas;
	struct beside *left, *right;	/* [256 + merges] */
	uint32_t *lefts, *rights;	/* symbols with an entry in them */
	size_t nlefts, nrights;
	uint64_t undone;	/* of (new, a): its a was replaced as well */
	struct seen *seen;
	size_t nseen, cap_seen;
	uint64_t memory, peak;
	int over;		/* memory passed o->mem */
};

/* ---- memory, counted ---- */

static void
mem_add(struct train *t, uint64_t n)
{
	t->memory += n;
	if (t->memory > t->peak)
		t->peak = t->memory;
	if (t->o->mem && t->memory > t->o->mem)
		t->over = 1;
}

static uint32_t *
places_new(struct train *t, size_t n)
{
	struct area *a = t->areas;
	uint32_t *p;

	if (!a || a->cap - a->n < n) {
		size_t cap = n > AREA ? n : AREA;

		a = xmalloc(sizeof *a + cap * sizeof *a->v);
		a->n = 0;
		a->cap = cap;
		a->next = t->areas;
		t->areas = a;
		mem_add(t, sizeof *a + cap * sizeof *a->v);
	}
	p = a->v + a->n;
	a->n += n;
	return p;
}

static void
places_clear(struct train *t)
{
	struct area *next;

	for (struct area *a = t->areas; a; a = next) {
		next = a->next;
		t->memory -= sizeof *a + a->cap * sizeof *a->v;
		free(a);
	}
	t->areas = NULL;
}

/* ---- pairs by key ---- */

static inline uint64_t
key_of(uint32_t left, uint32_t right)
{
	return (uint64_t)left << 32 | right;
}

static void
table_init(struct train *t, struct table *h, unsigned bits)
{
	h->v = xreallocarray(NULL, (size_t)1 << bits, sizeof *h->v);
	for (size_t i = 0; i < (size_t)1 << bits; i++)
		h->v[i].key = NONE;
	h->n = 0;
	h->bits = bits;
	mem_add(t, sizeof *h->v << bits);
}

static void
table_clear(struct train *t, struct table *h)
{
	if (!h->v)
		return;
	t->memory -= sizeof *h->v << h->bits;
	free(h->v);
	h->v = NULL;
}

/* The entry of a key, or the empty one where it belongs. */
static inline struct pair *
table_slot(const struct table *h, uint64_t key)
{
	size_t mask = ((size_t)1 << h->bits) - 1;
	size_t i = (key * 0x9e3779b97f4a7c15u ^ key >> 29)
		* 0xbf58476d1ce4e5b9u >> (64 - h->bits);

	while (h->v[i].key != key && h->v[i].key != NONE)
		i = (i + 1) & mask;
	return &h->v[i];
}

static struct pair *
table_find(const struct table *h, uint64_t key)
{
	struct pair *p = table_slot(h, key);

	return p->key == key ? p : NULL;
}

static void
table_grow(struct train *t, struct table *h)
{
	struct table to;

	table_init(t, &to, h->bits + 1);
	for (size_t i = 0; i < (size_t)1 << h->bits; i++)
		if (h->v[i].key != NONE)
			*table_slot(&to, h->v[i].key) = h->v[i];
	to.n = h->n;
	table_clear(t, h);
	*h = to;
}

/* The entry of a key, made with count 0 and no places when it is new. */
static struct pair *
table_add(struct train *t, struct table *h, uint64_t key)
{
	struct pair *p = table_slot(h, key);

	if (p->key == key)
		return p;
	if (4 * (h->n + 1) > (size_t)3 << h->bits) {
		table_grow(t, h);
		p = table_slot(h, key);
	}
	h->n++;
	*p = (struct pair){.key = key};
	return p;
}

/* ---- the heap ---- */

static inline int
rank_before(struct rank a, struct rank b)
{
	return a.count != b.count ? a.count > b.count : a.key < b.key;
}

static void
heap_push(struct train *t, uint64_t count, uint64_t key)
{
	struct heap *h = &t->heap;
	struct rank r = {count, key};
	size_t i = h->n++, up;

	if (h->n > h->cap) {
		size_t cap = h->cap ? 2 * h->cap : 1024;

		mem_add(t, (cap - h->cap) * sizeof *h->v);
		h->v = xreallocarray(h->v, cap, sizeof *h->v);
		h->cap = cap;
	}
	for (; i > 0 && rank_before(r, h->v[up = (i - 1) / 4]); i = up)
		h->v[i] = h->v[up];
	h->v[i] = r;
}

static struct rank
heap_pop(struct heap *h)
{
	struct rank top = h->v[0], r = h->v[--h->n];
	size_t i = 0;

	for (;;) {
		size_t kid = 4 * i + 1, best = kid;
		size_t end = kid + 4 < h->n ? kid + 4 : h->n;

		if (kid >= h->n)
			break;
		while (++kid < end)
			if (rank_before(h->v[kid], h->v[best]))
				best = kid;
		if (!rank_before(h->v[best], r))
			break;
		h->v[i] = h->v[best];
		i = best;
	}
	h->v[i] = r;
	return top;
}

/* ---- slots ---- */

static inline uint64_t
slot_weight(const struct train *t, struct slot s)
{
	return s.weight < HEAVY ? s.weight : t->heavy[s.weight - HEAVY];
}

static uint32_t
weight_code(struct train *t, uint64_t count)
{
	if (count < HEAVY)
		return count;
	/* doubled whenever the number is a power of two */
	if ((t->nheavy & (t->nheavy - 1)) == 0)
		t->heavy = xreallocarray(t->heavy,
			t->nheavy ? 2 * t->nheavy : 1, sizeof *t->heavy);
	t->heavy[t->nheavy] = count;
	return HEAVY + t->nheavy++;
}

/* A piece of one byte has no pair, one that never occurred no weight. */
static int
piece_matters(const struct piece *p)
{
	return p->bytes.n > 1 && p->count > 0;
}

static int
slots_fill(struct train *t, const struct pieces *in, struct err *e)
{
	struct piece p;
	size_t it = 0, at = 1;

	t->nslot = 1;
	while (pieces_next(in, &it, &p))
		if (piece_matters(&p))
			t->nslot += p.bytes.n + 1;
	if (t->nslot >= HOLE)
		return err_set(e, "the distinct pieces are %zu bytes long, "
			       "more than 4 GiB: take a sample, or a split "
			       "with shorter pieces", t->nslot);
	t->slot = mem_pages(t->nslot * sizeof *t->slot);
	mem_add(t, t->nslot * sizeof *t->slot);
	t->slot[0].id = EDGE;
	it = 0;
	while (pieces_next(in, &it, &p)) {
		uint32_t w;

		if (!piece_matters(&p))
			continue;
		w = weight_code(t, p.count);
		for (size_t k = 0; k < p.bytes.n; k++) {
			unsigned char c = p.bytes.p[k];

			t->slot[at++] = (struct slot){vocab_byte_id[c], w};
		}
		t->slot[at++].id = EDGE;
	}
	return 0;
}

/* Call fn for every two neighbours, in order of their places. */
static inline __attribute__((always_inline)) void
slots_pairs(struct train *t, struct table *h,
	    void (*fn)(struct train *t, struct table *h, uint64_t key,
		       size_t at))
{
	for (size_t i = 0; i < t->nslot; ) {
		uint32_t id = t->slot[i].id, next;
		size_t j = id == EDGE ? i + 1 : i + t->len[id];

		if (id != EDGE && (next = t->slot[j].id) != EDGE)
			fn(t, h, key_of(id, next), i);
		i = j;
	}
}

static void
pair_count(struct train *t, struct table *h, uint64_t key, size_t at)
{
	struct pair *p;

	if (t->over)
		return;
	p = table_add(t, h, key);
	p->count += slot_weight(t, t->slot[at]);
	p->nplace++;
}

static void
pair_place(struct train *t, struct table *h, uint64_t key, size_t at)
{
	struct pair *p = table_find(h, key);

	(void)t;
	if (p)
		p->place[p->nplace++] = at;
}

static int
too_long(const struct train *t, uint32_t left, uint32_t right)
{
	return t->o->max_bytes &&
		(uint64_t)t->len[left] + t->len[right] > t->o->max_bytes;
}

/*
 * Lower the bar to a quarter, or to a quarter of the highest count that is
 * left, and take every pair that reaches it.
 */
static void
bar_lower(struct train *t)
{
	struct table all;
	uint64_t best = 0;

	table_clear(t, &t->pairs);
	places_clear(t);
	t->heap.n = 0;
	table_init(t, &all, 16);
	slots_pairs(t, &all, pair_count);
	if (t->over) {
		table_clear(t, &all);
		return;
	}
	for (size_t i = 0; i < (size_t)1 << all.bits; i++)
		if (all.v[i].key != NONE && all.v[i].count > best)
			best = all.v[i].count;
	t->bar = (best < t->bar ? best : t->bar) / 4;
	if (t->bar < t->o->min_count)
		t->bar = t->o->min_count;
	table_init(t, &t->pairs, 16);
	for (size_t i = 0; i < (size_t)1 << all.bits; i++) {
		const struct pair *a = &all.v[i];
		struct pair *p;

		if (a->key == NONE || a->count < t->bar ||
		    too_long(t, a->key >> 32, (uint32_t)a->key))
			continue;
		p = table_add(t, &t->pairs, a->key);
		p->count = a->count;
		p->place = places_new(t, a->nplace);
		heap_push(t, p->count, p->key);
	}
	table_clear(t, &all);
	slots_pairs(t, &t->pairs, pair_place);
}

/* ---- one turn ---- */

static inline void
beside_add(struct beside *b, uint32_t *list, size_t *n, uint32_t id,
	   uint64_t w)
{
	if (b[id].nplace++ == 0)
		list[(*n)++] = id;
	b[id].count += w;
}

/* Replace the symbols a b at slot i by c, and note what stands beside. */
static inline void
replace(struct train *t, size_t i, uint32_t a, uint32_t b, uint32_t c)
{
	struct slot *s = t->slot;
	size_t j = i + t->len[a], k = j + t->len[b];
	uint64_t w = slot_weight(t, s[i]);
	uint32_t left = s[i - 1].id, right = s[k].id;

	s[j].id = HOLE;
	s[i].id = c;
	s[k - 1].id = c;
	if (left != EDGE)
		beside_add(t->left, t->lefts, &t->nlefts, left, w);
	if (left == c)		/* it counted this a as its right neighbour */
		t->undone += w;
	if (right != EDGE)
		beside_add(t->right, t->rights, &t->nrights, right, w);
	t->seen[t->nseen++] = (struct seen){i, left, right};
}

static void
replace_all(struct train *t, const struct pair *p, uint32_t c)
{
	uint32_t a = p->key >> 32, b = p->key, la = t->len[a];
	const uint32_t *at = p->place;

	if (p->nplace > t->cap_seen) {
		mem_add(t, (p->nplace - t->cap_seen) * sizeof *t->seen);
		t->cap_seen = p->nplace;
		free(t->seen);
		t->seen = xreallocarray(NULL, t->cap_seen, sizeof *t->seen);
	}
	t->nseen = t->nlefts = t->nrights = 0;
	t->undone = 0;
	for (uint64_t k = 0; k < p->nplace; k++) {
		if (k + AHEAD < p->nplace)
			__builtin_prefetch(&t->slot[at[k + AHEAD]]);
		if (t->slot[at[k]].id == a && t->slot[at[k] + la].id == b)
			replace(t, at[k], a, b, c);
	}
}

static void
pair_less(struct train *t, uint64_t key, uint64_t count)
{
	struct pair *p = table_find(&t->pairs, key);

	if (p)
		p->count -= count;
}

/* Take a new pair if it reaches the bar; b then collects its places. */
static void
pair_new(struct train *t, uint32_t left, uint32_t right, struct beside *b,
	 uint64_t count)
{
	struct pair *p;

	if (count < t->bar || too_long(t, left, right))
		return;
	p = table_add(t, &t->pairs, key_of(left, right));
	p->count = count;
	p->nplace = b->nplace;
	p->place = b->place = places_new(t, b->nplace);
	heap_push(t, count, p->key);
}

/* The old neighbours lose what the new symbol's neighbours gain. */
static void
neighbours(struct train *t, uint32_t a, uint32_t b, uint32_t c)
{
	for (size_t i = 0; i < t->nlefts; i++) {
		uint32_t id = t->lefts[i];

		if (id != c)
			pair_less(t, key_of(id, a), t->left[id].count);
		pair_new(t, id, c, &t->left[id], t->left[id].count);
	}
	for (size_t i = 0; i < t->nrights; i++) {
		uint32_t id = t->rights[i];
		uint64_t n = t->right[id].count;

		pair_less(t, key_of(b, id), n);
		pair_new(t, c, id, &t->right[id],
			 id == a ? n - t->undone : n);
	}
}

static void
neighbour_places(struct train *t)
{
	for (size_t i = 0; i < t->nseen; i++) {
		const struct seen *s = &t->seen[i];

		if (s->left != EDGE && t->left[s->left].place)
			*t->left[s->left].place++ = s->at - t->len[s->left];
		if (s->right != EDGE && t->right[s->right].place)
			*t->right[s->right].place++ = s->at;
	}
	for (size_t i = 0; i < t->nlefts; i++)
		t->left[t->lefts[i]] = (struct beside){0};
	for (size_t i = 0; i < t->nrights; i++)
		t->right[t->rights[i]] = (struct beside){0};
}

static void
turn(struct train *t, const struct pair *top, struct bpetrain *out)
{
	struct pair p = *top;	/* the table moves when it grows */
	uint32_t a = p.key >> 32, b = p.key, c = NBYTES + out->n;

	out->pair[out->n][0] = a;
	out->pair[out->n][1] = b;
	out->count[out->n++] = p.count;
	t->len[c] = t->len[a] + t->len[b];
	replace_all(t, &p, c);
	neighbours(t, a, b, c);
	neighbour_places(t);
}

/* ---- all turns ---- */

static int
over_error(const struct pieces *p, const struct bpetrain_opts *o,
	   uint64_t need, struct err *e)
{
	struct pieces_size s;

	pieces_size(p, &s);
	return err_set(e, "merging %llu distinct pieces of %llu bytes takes "
		       "%llu bytes of memory or more, above --mem %llu: raise "
		       "it, or take a sample",
		       (unsigned long long)s.distinct,
		       (unsigned long long)s.distinct_bytes,
		       (unsigned long long)need, (unsigned long long)o->mem);
}

static int
train_init(struct train *t, const struct pieces *p,
	   const struct bpetrain_opts *o, struct err *e)
{
	size_t n = NBYTES + (size_t)o->merges;
	struct pieces_size s;
	uint64_t need;

	pieces_size(p, &s);
	need = s.memory + sizeof *t->slot * (s.distinct_bytes + s.distinct) +
		n * (2 * sizeof *t->left + 3 * sizeof *t->len);
	if (o->mem && need > o->mem)
		return over_error(p, o, need, e);
	t->o = o;
	mem_add(t, s.memory);
	if (slots_fill(t, p, e))
		return -1;
	t->len = xreallocarray(NULL, n, sizeof *t->len);
	t->left = xcalloc(n, sizeof *t->left);
	t->right = xcalloc(n, sizeof *t->right);
	t->lefts = xreallocarray(NULL, n, sizeof *t->lefts);
	t->rights = xreallocarray(NULL, n, sizeof *t->rights);
	mem_add(t, n * (2 * sizeof *t->left + 3 * sizeof *t->len));
	for (size_t i = 0; i < NBYTES; i++)
		t->len[i] = 1;
	/*
	 * The first bar: a guess of the last merge's count, so that most runs
	 * scan once or twice.  bar_lower() divides by 4.
	 */
	t->bar = s.bytes / (o->merges + 1) / 16;
	return 0;
}

static void
train_clear(struct train *t)
{
	table_clear(t, &t->pairs);
	places_clear(t);
	mem_pages_free(t->slot, t->nslot * sizeof *t->slot);
	free(t->heavy);
	free(t->len);
	free(t->left);
	free(t->right);
	free(t->lefts);
	free(t->rights);
	free(t->seen);
	free(t->heap.v);
}

/* Turn after turn, lowering the bar when no pair reaches it. */
static void
turns(struct train *t, struct bpetrain *out)
{
	while (out->n < t->o->merges && !t->over) {
		struct rank top;
		struct pair *now;

		if (t->heap.n == 0) {
			if (t->bar == t->o->min_count)
				break;
			bar_lower(t);
			continue;
		}
		top = heap_pop(&t->heap);
		now = table_find(&t->pairs, top.key);
		if (now->count == top.count)
			turn(t, now, out);
		else if (now->count >= t->bar)
			heap_push(t, now->count, top.key);
	}
}

int
bpetrain_run(const struct pieces *p, const struct bpetrain_opts *o,
	     struct bpetrain *out, struct err *e)
{
	struct train t = {0};
	int bad;

	*out = (struct bpetrain){0};
	bad = train_init(&t, p, o, e);
	if (!bad) {
		out->pair = xreallocarray(NULL, o->merges + 1u,
					  sizeof *out->pair);
		out->count = xreallocarray(NULL, o->merges + 1u,
					   sizeof *out->count);
		bar_lower(&t);
		turns(&t, out);
		out->memory = t.peak;
		if (t.over)
			bad = over_error(p, o, t.peak, e);
	}
	train_clear(&t);
	if (bad)
		bpetrain_clear(out);
	return bad;
}

void
bpetrain_clear(struct bpetrain *t)
{
	free(t->pair);
	free(t->count);
	*t = (struct bpetrain){0};
}
