/*
 * bpe_train.c - learning merges from distinct pre-tokens
 *
 * All pre-tokens are in one array of slots, a slot per byte, with an EDGE
 * before, between and after them.  A symbol of k bytes covers k slots; its id
 * is in the first and in the last of them.  So the next symbol is found by
 * the length of this one and the previous one by the id in the slot before:
 * no links are needed.  A slot also holds the weight of its pre-token, so
 * that a replacement touches one cache line.
 *
 * For each pair the places of its left symbol are listed, ascending.  Two
 * symbols become neighbours only when the newer one is made, so a pair's list
 * is complete once that turn is over; after it, places can only go stale.  A
 * place is stale when the two ids are no longer there.  A slot that stops
 * being the first of a symbol gets another id (HOLE, or that of the symbol
 * that now ends there), and ids are never reused, so the test is exact.
 * Counts, too, only fall after the turn that made the pair.
 *
 * Falling counts allow a lazy heap: the top is the pair to merge if its count
 * is still true; otherwise it goes back with the true count.
 *
 * Most pairs are rare and never merged.  Only those that occur at least `bar`
 * times are kept; when none is left, the bar is lowered and the slots are
 * scanned again (bar_lower).  A pair below the bar cannot be the next one
 * while any is above it, so this does not change the result.
 *
 * Cost: each replacement removes one symbol, so there are fewer than n, each
 * O(1); lists have at most n entries per scan and 2 per replacement; the heap
 * adds a logarithm; there are at most log4(first bar) scans.
 */
#include "tokenizer/bpe_train.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/heap.h"
#include "base/mem.h"
#include "record/vocab.h"
#include "tokenizer/bpe_pairs_priv.h"

enum {
	NBYTES = 256,
	AHEAD = 8,		/* places to prefetch before they are needed */
	BLOCK = 1 << 20		/* bytes of one block of lists */
};

#define EDGE 0xffffffffu	/* slot id: no symbol, a pre-token ends */
#define HOLE 0xfffffffeu	/* slot id: inside of a symbol */
#define HEAVY 0x80000000u	/* slot weight: index into heavy[] */

struct slot {
	uint32_t id;
	uint32_t weight;	/* below HEAVY: itself */
};

struct rank {			/* heap entry */
	uint64_t count, key;
};

static inline int
rank_before(struct rank a, struct rank b)
{
	return a.count != b.count ? a.count > b.count : a.key < b.key;
}

HEAP(heap, struct rank, rank_before)

/* Totals over the neighbours on one side of a new symbol, per neighbour. */
struct beside {
	uint64_t count;
	uint32_t *place;	/* where to write the next place, or NULL */
	uint64_t nplace;
};

struct seen {			/* one replacement of this turn */
	uint32_t at, left, right;
};

struct trainer {
	const struct bpe_train_opts *o;
	struct slot *slot;	/* [nslot] */
	size_t nslot;
	uint64_t *heavy;	/* weights of HEAVY and above */
	size_t nheavy, cap_heavy;
	uint32_t *len;		/* [256 + merges] bytes of each symbol */
	struct bpe_pairs pairs;
	struct rank *heap;
	size_t nheap, cap_heap;
	uint64_t bar;
	struct arena places;
	struct beside *left, *right;	/* [256 + merges] */
	uint32_t *lefts, *rights;	/* symbols with an entry in them */
	size_t nlefts, nrights;
	uint64_t undone;	/* of (new, a): its a was replaced as well */
	struct seen *seen;
	size_t nseen, cap_seen;
	struct budget mem;
};

static uint32_t *
places_new(struct trainer *t, size_t n)
{
	size_t held = t->places.held;
	uint32_t *p = arena_take(&t->places, n * sizeof *p, BLOCK);

	budget_add(&t->mem, t->places.held - held);
	return p;
}

static void
places_clear(struct trainer *t)
{
	t->mem.now -= t->places.held;
	arena_clear(&t->places);
}

static void
rank_add(struct trainer *t, uint64_t count, uint64_t key)
{
	size_t cap = t->cap_heap;

	GROW(t->heap, t->cap_heap, t->nheap + 1);
	budget_add(&t->mem, (t->cap_heap - cap) * sizeof *t->heap);
	heap_push(t->heap, t->nheap++, (struct rank){count, key});
}

/* ---- slots ---- */

static inline uint64_t
slot_weight(const struct trainer *t, struct slot s)
{
	return s.weight < HEAVY ? s.weight : t->heavy[s.weight - HEAVY];
}

static uint32_t
weight_code(struct trainer *t, uint64_t count)
{
	if (count < HEAVY)
		return count;
	GROW(t->heavy, t->cap_heavy, t->nheavy + 1);
	t->heavy[t->nheavy] = count;
	return HEAVY + t->nheavy++;
}

/* One of a single byte has no pair, one that never occurred no weight. */
static int
matters(const struct pretoken *p)
{
	return p->bytes.n > 1 && p->count > 0;
}

static int
slots_fill(struct trainer *t, const struct pretokens *in, struct err *e)
{
	struct pretoken p;
	size_t it = 0, at = 1;

	t->nslot = 1;
	while (pretokens_next(in, &it, &p))
		if (matters(&p))
			t->nslot += p.bytes.n + 1;
	if (t->nslot >= HOLE)
		return err_set(e, "the distinct pre-tokens have %zu bytes, "
			       "more than 4 GiB: take a sample, or a split "
			       "with shorter pre-tokens", t->nslot);
	t->slot = mem_pages(t->nslot * sizeof *t->slot);
	budget_add(&t->mem, t->nslot * sizeof *t->slot);
	t->slot[0].id = EDGE;
	it = 0;
	while (pretokens_next(in, &it, &p)) {
		uint32_t w;

		if (!matters(&p))
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
slots_pairs(struct trainer *t, struct bpe_pairs *h,
	    void (*fn)(struct trainer *t, struct bpe_pairs *h, uint64_t key,
		       size_t at))
{
	for (size_t i = 0; i < t->nslot; ) {
		uint32_t id = t->slot[i].id, next;
		size_t j = id == EDGE ? i + 1 : i + t->len[id];

		if (id != EDGE && (next = t->slot[j].id) != EDGE)
			fn(t, h, pair_key(id, next), i);
		i = j;
	}
}

static void
pair_count(struct trainer *t, struct bpe_pairs *h, uint64_t key, size_t at)
{
	struct pair *p;

	if (t->mem.over)
		return;
	p = bpe_pairs_add(h, key);
	p->count += slot_weight(t, t->slot[at]);
	p->nplace++;
}

static void
pair_place(struct trainer *t, struct bpe_pairs *h, uint64_t key, size_t at)
{
	struct pair *p = bpe_pairs_find(h, key);

	(void)t;
	if (p)
		p->place[p->nplace++] = at;
}

static int
too_long(const struct trainer *t, uint32_t left, uint32_t right)
{
	return t->o->max_bytes &&
		(uint64_t)t->len[left] + t->len[right] > t->o->max_bytes;
}

/*
 * Lower the bar to a quarter, or to a quarter of the highest count that is
 * left, and take every pair that reaches it.
 */
static void
bar_lower(struct trainer *t)
{
	struct bpe_pairs all;
	uint64_t best = 0;

	bpe_pairs_clear(&t->pairs);
	places_clear(t);
	t->nheap = 0;
	bpe_pairs_init(&all, &t->mem, 16);
	slots_pairs(t, &all, pair_count);
	if (t->mem.over) {
		bpe_pairs_clear(&all);
		return;
	}
	for (size_t i = 0; i < (size_t)1 << all.bits; i++)
		if (all.v[i].key != PAIR_NONE && all.v[i].count > best)
			best = all.v[i].count;
	t->bar = (best < t->bar ? best : t->bar) / 4;
	if (t->bar < t->o->min_count)
		t->bar = t->o->min_count;
	bpe_pairs_init(&t->pairs, &t->mem, 16);
	for (size_t i = 0; i < (size_t)1 << all.bits; i++) {
		const struct pair *a = &all.v[i];
		struct pair *p;

		if (a->key == PAIR_NONE || a->count < t->bar ||
		    too_long(t, a->key >> 32, (uint32_t)a->key))
			continue;
		p = bpe_pairs_add(&t->pairs, a->key);
		p->count = a->count;
		p->place = places_new(t, a->nplace);
		rank_add(t, p->count, p->key);
	}
	bpe_pairs_clear(&all);
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

/* Replace the symbols a b at slot i by c, and note the neighbours. */
static inline void
replace(struct trainer *t, size_t i, uint32_t a, uint32_t b, uint32_t c)
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
	if (left == c)		/* it counted this a as its right one */
		t->undone += w;
	if (right != EDGE)
		beside_add(t->right, t->rights, &t->nrights, right, w);
	t->seen[t->nseen++] = (struct seen){i, left, right};
}

static void
replace_all(struct trainer *t, const struct pair *p, uint32_t c)
{
	uint32_t a = p->key >> 32, b = p->key, la = t->len[a];
	const uint32_t *at = p->place;

	if (p->nplace > t->cap_seen) {
		budget_add(&t->mem, (p->nplace - t->cap_seen) *
			   sizeof *t->seen);
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
pair_less(struct trainer *t, uint64_t key, uint64_t count)
{
	struct pair *p = bpe_pairs_find(&t->pairs, key);

	if (p)
		p->count -= count;
}

/* Take a new pair if it reaches the bar; b then collects its places. */
static void
pair_new(struct trainer *t, uint32_t left, uint32_t right, struct beside *b,
	 uint64_t count)
{
	struct pair *p;

	if (count < t->bar || too_long(t, left, right))
		return;
	p = bpe_pairs_add(&t->pairs, pair_key(left, right));
	p->count = count;
	p->nplace = b->nplace;
	p->place = b->place = places_new(t, b->nplace);
	rank_add(t, count, p->key);
}

/* Pairs with the old symbols lose what pairs with the new one gain. */
static void
neighbours(struct trainer *t, uint32_t a, uint32_t b, uint32_t c)
{
	for (size_t i = 0; i < t->nlefts; i++) {
		uint32_t id = t->lefts[i];

		if (id != c)
			pair_less(t, pair_key(id, a), t->left[id].count);
		pair_new(t, id, c, &t->left[id], t->left[id].count);
	}
	for (size_t i = 0; i < t->nrights; i++) {
		uint32_t id = t->rights[i];
		uint64_t n = t->right[id].count;

		pair_less(t, pair_key(b, id), n);
		pair_new(t, c, id, &t->right[id],
			 id == a ? n - t->undone : n);
	}
}

static void
neighbour_places(struct trainer *t)
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
turn(struct trainer *t, const struct pair *top, struct bpe_train *out)
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
over_error(const struct pretokens *p, const struct bpe_train_opts *o,
	   uint64_t need, struct err *e)
{
	struct pretokens_size s;

	pretokens_size(p, &s);
	return err_set(e, "merging %llu distinct pre-tokens of %llu bytes "
		       "takes at least %llu bytes of memory, more than the "
		       "limit of %llu: raise it, or use a sample",
		       (unsigned long long)s.distinct,
		       (unsigned long long)s.distinct_bytes,
		       (unsigned long long)need, (unsigned long long)o->mem);
}

static int
train_init(struct trainer *t, const struct pretokens *p,
	   const struct bpe_train_opts *o, struct err *e)
{
	size_t n = NBYTES + (size_t)o->merges;
	struct pretokens_size s;
	uint64_t need;

	pretokens_size(p, &s);
	need = s.memory + sizeof *t->slot * (s.distinct_bytes + s.distinct) +
		n * (2 * sizeof *t->left + 3 * sizeof *t->len);
	if (o->mem && need > o->mem)
		return over_error(p, o, need, e);
	t->o = o;
	t->mem.limit = o->mem;
	budget_add(&t->mem, s.memory);
	if (slots_fill(t, p, e))
		return -1;
	t->len = xreallocarray(NULL, n, sizeof *t->len);
	t->left = xcalloc(n, sizeof *t->left);
	t->right = xcalloc(n, sizeof *t->right);
	t->lefts = xreallocarray(NULL, n, sizeof *t->lefts);
	t->rights = xreallocarray(NULL, n, sizeof *t->rights);
	budget_add(&t->mem, n * (2 * sizeof *t->left + 3 * sizeof *t->len));
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
train_clear(struct trainer *t)
{
	bpe_pairs_clear(&t->pairs);
	places_clear(t);
	mem_pages_free(t->slot, t->nslot * sizeof *t->slot);
	free(t->heavy);
	free(t->len);
	free(t->left);
	free(t->right);
	free(t->lefts);
	free(t->rights);
	free(t->seen);
	free(t->heap);
}

/* Turn after turn, lowering the bar when no pair reaches it. */
static void
turns(struct trainer *t, struct bpe_train *out)
{
	while (out->n < t->o->merges && !t->mem.over) {
		struct rank top;
		struct pair *now;

		if (t->nheap == 0) {
			if (t->bar == t->o->min_count)
				break;
			bar_lower(t);
			continue;
		}
		top = heap_pop(t->heap, t->nheap--);
		now = bpe_pairs_find(&t->pairs, top.key);
		if (now->count == top.count)
			turn(t, now, out);
		else if (now->count >= t->bar)
			rank_add(t, now->count, top.key);
	}
}

int
bpe_train_run(const struct pretokens *p, const struct bpe_train_opts *o,
	     struct bpe_train *out, struct err *e)
{
	struct trainer t = {0};
	int bad;

	*out = (struct bpe_train){0};
	bad = train_init(&t, p, o, e);
	if (!bad) {
		out->pair = xreallocarray(NULL, o->merges + 1u,
					  sizeof *out->pair);
		out->count = xreallocarray(NULL, o->merges + 1u,
					   sizeof *out->count);
		bar_lower(&t);
		turns(&t, out);
		out->memory = t.mem.peak;
		if (t.mem.over)
			bad = over_error(p, o, t.mem.peak, e);
	}
	train_clear(&t);
	if (bad)
		bpe_train_clear(out);
	return bad;
}

void
bpe_train_clear(struct bpe_train *t)
{
	free(t->pair);
	free(t->count);
	*t = (struct bpe_train){0};
}
