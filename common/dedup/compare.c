/*
 * compare.c - the second pass: documents that share a key
 *
 * The sorted keys say which documents may be duplicates; they become members,
 * numbered in input order.  The pass parses only them.  Texts with one key
 * are compared byte for byte with the first that had it.  Sets of shingles
 * are kept once each: a document whose set stood before (by a hash of 128
 * bits of the whole set) is joined to that one and not looked at again, so
 * that a million copies cost a million times one look.
 */
#include "dedup/dedup_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/pipeline.h"
#include "base/progress.h"

/* --- who is a member --- */

static int
mark_groups(struct dedup *d, struct extsort *s, struct err *e)
{
	const uint32_t *doc;
	size_t n, i;
	int r;

	if (extsort_rewind(s, e))
		return -1;
	while ((r = extsort_group(s, &doc, &n, e)) > 0)
		for (i = 0; i < n; i++)
			d->flag[doc[i]] |= DOC_MEMBER;
	return r;
}

uint32_t
dedup_member(const struct dedup *d, uint32_t doc)
{
	uint32_t lo = 0, hi = d->nm;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (d->m[mid].doc < doc)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < d->nm && d->m[lo].doc == doc ? lo : NOT;
}

/* Members with one key: the first stands for them until texts are compared. */
static int
exact_groups(struct dedup *d, struct err *e)
{
	const uint32_t *doc;
	uint32_t first;
	size_t n, i;
	int r;

	if (extsort_rewind(d->exact, e))
		return -1;
	while ((r = extsort_group(d->exact, &doc, &n, e)) > 0) {
		first = dedup_member(d, doc[0]);
		d->m[first].copies = (uint32_t)n;
		for (i = 1; i < n; i++)
			d->m[dedup_member(d, doc[i])].exact = first;
	}
	return r;
}

int
dedup_members(struct dedup *d, struct err *e)
{
	uint32_t i, n = 0;

	if (mark_groups(d, d->exact, e) || mark_groups(d, d->bands, e))
		return -1;
	for (i = 0; i < d->n; i++)
		n += (d->flag[i] & DOC_MEMBER) != 0;
	d->m = xcalloc((size_t)n + 1, sizeof(*d->m));
	for (i = 0; i < d->n; i++) {
		if (!(d->flag[i] & DOC_MEMBER))
			continue;
		d->m[d->nm] = (struct member){
			.doc = i, .exact = d->nm, .same = d->nm, .copies = 1
		};
		d->nm++;
	}
	union_find_init(&d->near, d->nm);
	return exact_groups(d, e);
}

/* --- the pass --- */

/* Members by a hash; hash[] by member, slots hold members or NOT. */
struct table {
	struct set_hash *hash;
	uint32_t *member;
	size_t n, cap;
};

/* Texts of one key that differ: a chain. */
struct text {
	uint64_t at, key;	/* key: the upper half */
	size_t n;
	uint32_t member, next;
};

struct look {
	struct dedup *d;
	struct table sets;	/* with --edit-sim: sequences of words */
	struct table heads;	/* --apply with that: by set, the newest */
	struct text *text;	/* those compared with, in order of member */
	uint32_t ntext, text_cap;
	uint32_t *text_of;	/* of a member, or NOT */
	struct buf old;
};

static uint32_t *
table_find(const struct table *t, struct set_hash h)
{
	size_t mask = t->cap - 1, i = h.a & mask;

	for (; t->member[i] != NOT; i = (i + 1) & mask) {
		const struct set_hash *x = &t->hash[t->member[i]];

		if (x->a == h.a && x->b == h.b)
			break;
	}
	return &t->member[i];
}

static void
table_clear(struct table *t)
{
	free(t->hash);
	free(t->member);
}

/* Room for one more. */
static void
table_grow(struct table *t)
{
	uint32_t *old = t->member;
	size_t n = t->cap, i;

	if (2 * t->n < t->cap)
		return;
	t->cap = n ? 2 * n : 1024;
	t->member = xreallocarray(NULL, t->cap, sizeof(*t->member));
	memset(t->member, 0xff, t->cap * sizeof(*t->member));
	for (i = 0; i < n; i++)
		if (old[i] != NOT)
			*table_find(t, t->hash[old[i]]) = old[i];
	free(old);
}

static void
table_open(struct table *t, uint32_t members)
{
	t->hash = xreallocarray(NULL, members, sizeof(*t->hash));
	table_grow(t);
}

static void
set_room(struct item *x, size_t more)
{
	if (x->nset + more <= x->set_cap)
		return;
	x->set_cap = 2 * (x->nset + more);
	x->set = xreallocarray(x->set, x->set_cap, sizeof(*x->set));
}

/* The set of shingles and, for --edit-sim, the words. */
static void
look_set(struct dedup *d, struct worker *w, struct item *x, size_t i,
	 struct span text)
{
	size_t nw, k;

	shingles_of(&w->sh, &d->o->mh, text);
	shingles_sort(&w->sh);
	nw = d->o->has_edit ? w->sh.words.n : 0;
	set_room(x, w->sh.n + nw);
	memcpy(x->set + x->nset, w->sh.v, w->sh.n * sizeof(*x->set));
	x->nset += w->sh.n;
	for (k = 0; k < nw; k++)
		x->set[x->nset++] = w->sh.words.v[k].hash;
	x->hash[i] = nw ? set_hash(x->set + x->nset - nw, nw) :
		set_hash(w->sh.v, w->sh.n);
	x->len[2 * i] = (uint32_t)w->sh.n;
	x->len[2 * i + 1] = (uint32_t)nw;
}

static void
look_text(struct dedup *d, struct worker *w, struct item *x, size_t i,
	  struct span text)
{
	text = exact_text(d, w, text);
	x->exact[i] = text_key(text).high64;
	if (!d->o->normalize)
		return;
	buf_put(&x->text, text.p, text.n);
	x->text_end[i] = x->text.n;
}

static int
look_work(void *ctx, void *batch, int worker, struct err *e)
{
	struct look *l = ctx;
	struct dedup *d = l->d;
	struct worker *w = &d->worker[worker];
	struct doc_batch *b = batch;
	struct item *x = b->user;
	size_t i;

	(void)e;
	item_room(x, b->n);
	for (i = 0; i < b->n; i++) {
		struct doc *doc = &b->v[i];
		uint8_t flag = d->flag[x->first + i];

		x->text_end[i] = x->text.n;
		if (!(flag & DOC_MEMBER))
			continue;
		doc_parse_at(w->parser, b, i);
		if (doc->bad)
			continue;
		if (d->o->exact)
			look_text(d, w, x, i, doc->text);
		x->len[2 * i] = x->len[2 * i + 1] = 0;
		if (flag & DOC_WORDS && d->o->near && d->o->verify)
			look_set(d, w, x, i, doc->text);
	}
	return 0;
}

static uint32_t
text_put(struct look *l, struct span text, uint64_t key, uint32_t member,
	 struct err *e)
{
	if (l->ntext == l->text_cap) {
		l->text_cap = l->text_cap ? l->text_cap + l->text_cap / 2 :
			256;
		l->text = xreallocarray(l->text, l->text_cap,
					sizeof(*l->text));
	}
	l->text[l->ntext] = (struct text){
		spool_size(l->d->texts), key, text.n, member, NOT
	};
	if (spool_append(l->d->texts, text.p, text.n, e))
		return NOT;
	return l->ntext++;
}

/* 1: the same bytes as the text put aside, 0: not, -1: error. */
static int
text_same(struct look *l, const struct text *t, struct span text,
	  uint64_t key, struct err *e)
{
	if (t->n != text.n || t->key != key)
		return 0;
	buf_reset(&l->old);
	if (spool_read(l->d->texts, t->at, buf_reserve(&l->old, t->n + 1),
		       t->n, e))
		return -1;
	return t->n == 0 || !memcmp(l->old.p, text.p, text.n);
}

/* Find out which of the texts before with this key is the same, if any. */
static int
look_exact(struct look *l, uint32_t i, struct span text, uint64_t key,
	   struct err *e)
{
	struct member *m = &l->d->m[i];
	uint32_t first = m->exact, t;
	int same;

	if (first == i) {
		if (m->copies > 1 &&
		    (l->text_of[i] = text_put(l, text, key, i, e)) == NOT)
			return -1;
		m->copies = 1;
		return 0;
	}
	for (t = l->text_of[first];; t = l->text[t].next) {
		same = text_same(l, &l->text[t], text, key, e);
		if (same < 0)
			return -1;
		if (same) {
			m->exact = l->text[t].member;
			l->d->m[m->exact].copies++;
			return 0;
		}
		if (l->text[t].next == NOT)
			break;
	}
	m->exact = i;
	first = text_put(l, text, key, i, e);
	l->text[t].next = first;
	return first == NOT ? -1 : 0;
}

/* --apply: a pair names a set, which may be that of several texts. */
static void
add_to_name(struct look *l, uint32_t i, const uint64_t *set)
{
	struct set_hash h = set_hash(set, l->d->m[i].nset);
	uint32_t *head;

	table_grow(&l->heads);
	head = table_find(&l->heads, h);
	l->heads.n += *head == NOT;
	l->heads.hash[i] = h;
	l->d->applied.next[i] = *head;
	*head = i;
}

static int
look_near(struct look *l, uint32_t i, const struct item *x, size_t at,
	  const uint64_t *set, struct err *e)
{
	struct dedup *d = l->d;
	struct member *m = &d->m[i];
	uint32_t *first;

	table_grow(&l->sets);
	first = table_find(&l->sets, x->hash[at]);
	if (*first != NOT) {
		m->same = *first;
		union_find_join(&d->near, *first, i);
		return 0;
	}
	*first = i;
	l->sets.hash[i] = x->hash[at];
	l->sets.n++;
	m->nset = x->len[2 * at];
	m->nwords = x->len[2 * at + 1];
	m->set = spool_size(d->sets) / sizeof(*set);
	m->words = m->set + m->nset;
	if (d->applied.next)
		add_to_name(l, i, set);
	return spool_append(d->sets, set,
			    ((size_t)m->nset + m->nwords) * sizeof(*set), e);
}

int
dedup_put_name(struct dedup *d, const struct doc *doc, const char *id_key,
	       const char *at_key, uint64_t *place, struct err *e)
{
	struct buf *b = &d->line;
	struct buf at = {0};
	uint32_t n;
	int r;

	buf_printf(&at, "%s:%llu", doc->file, (unsigned long long)doc->lineno);
	buf_reset(b);
	buf_printf(b, "\"%s\":", id_key);
	json_put_str(b, doc->id.p ? doc->id : buf_span(&at));
	if (doc->id.p) {
		buf_printf(b, ",\"%s\":", at_key);
		json_put_str(b, buf_span(&at));
	}
	buf_clear(&at);
	*place = spool_size(d->names);
	n = (uint32_t)b->n;
	r = spool_append(d->names, &n, sizeof(n), e);
	return r ? r : spool_append(d->names, b->p, b->n, e);
}

static int
look_write(void *ctx, void *batch, struct err *e)
{
	struct look *l = ctx;
	struct dedup *d = l->d;
	const struct doc_batch *b = batch;
	const struct item *x = b->user;
	const uint64_t *set = x->set;
	uint32_t at;
	size_t i;

	for (i = 0; i < b->n; i++) {
		const struct doc *doc = &b->v[i];
		uint8_t flag = d->flag[x->first + i];
		struct span text = doc->text;

		if (!(flag & DOC_MEMBER))
			continue;
		at = dedup_member(d, x->first + (uint32_t)i);
		if (doc->bad || doc->digest != d->digest[x->first + i])
			return err_set(e, "%s:%llu: changed while it was read",
				       doc->file,
				       (unsigned long long)doc->lineno);
		if (d->o->normalize) {
			size_t from = i ? x->text_end[i - 1] : 0;

			text = (struct span){x->text.p + from,
					     x->text_end[i] - from};
		}
		if ((filter_reports(d->filter) &&
		     dedup_put_name(d, doc, "duplicate_of", "duplicate_at",
				    &d->m[at].name, e)) ||
		    (d->o->exact &&
		     look_exact(l, at, text, x->exact[i], e)))
			return -1;
		if (!(flag & DOC_WORDS) || !d->o->near || !d->o->verify)
			continue;
		if (look_near(l, at, x, i, set, e))
			return -1;
		set += (size_t)x->len[2 * i] + x->len[2 * i + 1];
	}
	return 0;
}

static void *
look_read(void *ctx, struct err *e)
{
	return lines_read(((struct look *)ctx)->d, e);
}

static void
look_drop(void *ctx, void *batch)
{
	item_drop(((struct look *)ctx)->d, batch);
}

/* --apply: names to members. */
static void
resolve_names(struct look *l)
{
	struct table *t = l->d->applied.next ? &l->heads : &l->sets;
	struct applied *a = &l->d->applied;
	size_t i;

	a->member = xreallocarray(NULL, a->n + 1, sizeof(*a->member));
	for (i = 0; i < a->n; i++)
		a->member[i] = *table_find(t, a->name[i]);
}

int
dedup_look(struct dedup *d, struct err *e)
{
	struct look l = {.d = d};
	const struct pipeline pipe = {
		&l, look_read, look_work, look_write, look_drop
	};
	int r;

	if (!d->nm)
		return 0;
	if (input_rewind(doc_reader_input(d->docs), e) ||
	    (d->refs && input_rewind(doc_reader_input(d->refs), e)))
		return -1;
	d->cursor = 0;
	if (d->o->near)
		table_open(&l.sets, d->nm);
	if (d->o->apply && d->o->has_edit) {
		table_open(&l.heads, d->nm);
		d->applied.next = xreallocarray(NULL, d->nm,
						sizeof(*d->applied.next));
	}
	l.text_of = xreallocarray(NULL, d->nm, sizeof(*l.text_of));
	progress_start("comparing", "B",
		       input_total(doc_reader_input(d->docs)));
	r = pipeline_run(&pipe, args_common.threads, e);
	progress_stop();
	if (!r && d->o->apply)
		resolve_names(&l);
	table_clear(&l.sets);
	table_clear(&l.heads);
	free(l.text);
	free(l.text_of);
	buf_clear(&l.old);
	return r;
}
