/*
 * compare.c - the second pass: documents that share a key
 *
 * Only members are parsed.  Texts with the same key are compared byte for byte
 * with the first that had it.  Each set of shingles is kept once: a document
 * whose set occurred before (by a 128-bit hash of the whole set) is joined to
 * that one at once, so that a million copies cost a million times the same.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dedup/dedup_priv.h"

/* What a worker found in a block. */
struct compared {
	struct compared_doc {
		struct set_hash key;	/* of the text, for exact */
		struct set_hash hash;	/* of its set */
		uint32_t shingles, words;
		size_t text_to;		/* end of its text in `text` */
		double value;		/* --keep KEY */
	} *doc;
	size_t cap;
	struct buf text;	/* --normalize: normalized texts */
	uint64_t *set;		/* shingles, then words, of each document */
	size_t nset, set_cap;
};

/* Texts of one key that differ: a chain. */
struct text {
	uint64_t at, key;	/* key: the high half */
	size_t n;
	uint32_t member, next;
};

struct compare {
	struct dedup *d;
	struct table sets;	/* with --edit-sim: sequences of words */
	struct table heads;	/* --apply with that: by set, the newest */
	struct spool *texts;
	struct text *text;	/* those compared with, in order of member */
	size_t ntext, text_cap;
	uint32_t *text_of;	/* of a member, or NOT */
	struct buf old;
	int differ;		/* a DOC_COPY is none */
};

static void
compared_reset(void *result)
{
	struct compared *x = result;

	x->nset = 0;
	buf_reset(&x->text);
}

static void
compared_clear(void *result)
{
	struct compared *x = result;

	free(x->doc);
	buf_clear(&x->text);
	free(x->set);
}

/* --- tables --- */

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

void
dedup_table_clear(struct table *t)
{
	free(t->hash);
	free(t->member);
	*t = (struct table){0};
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

/* --- workers --- */

/* The set of shingles and, for --edit-sim, the words. */
static void
take_set(const struct dedup *d, struct worker *w, struct compared *x,
	 struct compared_doc *to, struct span text)
{
	size_t nw, k;

	shingles_of(&w->sh, &d->o->mh, text);
	shingles_sort(&w->sh);
	nw = d->o->has_edit ? w->sh.words.n : 0;
	GROW(x->set, x->set_cap, x->nset + w->sh.n + nw);
	memcpy(x->set + x->nset, w->sh.v, w->sh.n * sizeof(*x->set));
	x->nset += w->sh.n;
	for (k = 0; k < nw; k++)
		x->set[x->nset++] = w->sh.words.v[k].hash;
	to->hash = nw ? set_hash(x->set + x->nset - nw, nw) :
		set_hash(w->sh.v, w->sh.n);
	to->shingles = (uint32_t)w->sh.n;
	to->words = (uint32_t)nw;
}

static void
take_text(const struct dedup *d, struct worker *w, struct compared *x,
	  struct compared_doc *to, struct span text)
{
	text = dedup_exact_text(d->o, w, text);
	to->key = dedup_exact_key(text);
	if (d->o->normalize)
		buf_put(&x->text, text.p, text.n);
}

static void
take_value(const struct dedup *d, struct worker *w, struct compared_doc *to,
	   struct span line)
{
	if (!w->json)
		w->json = json_reader_new();
	to->value = dedup_keep_value(w->json, line, d->o->keep_key);
}

static int
compare_block(const struct docpipe_work *dw, struct doc_batch *b,
	      struct err *e)
{
	const struct dedup *d = ((const struct compare *)dw->ctx)->d;
	struct worker *w = &d->worker[dw->worker];
	struct compared *x = dw->result;
	uint32_t first;
	size_t i;

	if (dedup_corpus_block(&d->corpus, b, &first, e))
		return -1;
	GROW(x->doc, x->cap, b->n);
	for (i = 0; i < b->n; i++) {
		struct doc *doc = &b->v[i];
		struct compared_doc *to = &x->doc[i];
		unsigned flag = d->corpus.flag[first + i];

		to->shingles = to->words = 0;
		if (flag & (DOC_MEMBER | DOC_COPY))
			doc_parse_at(dw->parser, b, i);
		if (flag & (DOC_MEMBER | DOC_COPY) && !doc->bad) {
			if (d->o->keep == DEDUP_KEEP_KEY)
				take_value(d, w, to, doc->line);
			if (d->o->exact)
				take_text(d, w, x, to, doc->text);
			if (flag & DOC_WORDS && d->o->near && d->o->verify)
				take_set(d, w, x, to, doc->text);
		}
		to->text_to = x->text.n;
	}
	return 0;
}

/* --- in order: texts --- */

static uint32_t
text_put(struct compare *c, struct span text, uint64_t key, uint32_t member,
	 struct err *e)
{
	GROW(c->text, c->text_cap, c->ntext + 1);
	c->text[c->ntext] = (struct text){
		spool_size(c->texts), key, text.n, member, NOT
	};
	if (spool_append(c->texts, text.p, text.n, e))
		return NOT;
	return (uint32_t)c->ntext++;
}

/* 1: the same bytes as the spooled text, 0: not, -1: error. */
static int
text_same(struct compare *c, const struct text *t, struct span text,
	  uint64_t key, struct err *e)
{
	if (t->n != text.n || t->key != key)
		return 0;
	buf_reset(&c->old);
	if (spool_read(c->texts, t->at, buf_reserve(&c->old, t->n + 1), t->n,
		       e))
		return -1;
	return t->n == 0 || !memcmp(c->old.p, text.p, text.n);
}

static void
table_put(struct table *t, struct set_hash h, uint32_t member)
{
	table_grow(t);
	*table_find(t, h) = member;
	t->hash[member] = h;
	t->n++;
}

uint32_t
dedup_copied(const struct dedup *d, struct set_hash key)
{
	return *table_find(&d->texts, key);
}

/* A DOC_COPY: 0, 1: not a copy, -1: error. */
static int
compare_copy(struct compare *c, struct span text, struct set_hash h,
	     struct err *e)
{
	uint32_t i = dedup_copied(c->d, h);
	int same = i == NOT ? 0 :
		text_same(c, &c->text[c->text_of[i]], text, h.b, e);

	if (same > 0)
		c->d->members.v[i].copies++;
	return same < 0 ? -1 : !same;
}

/* Which of the earlier texts with this key is the same, if any? */
static int
compare_text(struct compare *c, uint32_t i, struct span text,
	     struct set_hash h, struct err *e)
{
	uint64_t key = h.b;
	struct member *m = &c->d->members.v[i];
	uint32_t first = m->exact, t;
	int same;

	if (first == i) {
		if (m->copies > 1 &&
		    (c->text_of[i] = text_put(c, text, key, i, e)) == NOT)
			return -1;
		if (m->copies > 1 && c->d->apart)
			table_put(&c->d->texts, h, i);
		m->copies = 1;
		return 0;
	}
	for (t = c->text_of[first];; t = c->text[t].next) {
		same = text_same(c, &c->text[t], text, key, e);
		if (same < 0)
			return -1;
		if (same) {
			m->exact = c->text[t].member;
			c->d->members.v[m->exact].copies++;
			return 0;
		}
		if (c->text[t].next == NOT)
			break;
	}
	m->exact = i;
	first = text_put(c, text, key, i, e);
	c->text[t].next = first;
	return first == NOT ? -1 : 0;
}

/* --- in order: sets --- */

/* --apply: a pair names a set, which may be that of several texts. */
static void
add_to_name(struct compare *c, uint32_t i, const uint64_t *set)
{
	struct set_hash h = set_hash(set, c->d->members.v[i].nset);
	uint32_t *head;

	table_grow(&c->heads);
	head = table_find(&c->heads, h);
	c->heads.n += *head == NOT;
	c->heads.hash[i] = h;
	c->d->applied.next[i] = *head;
	*head = i;
}

static int
compare_set(struct compare *c, uint32_t i, const struct compared_doc *x,
	    const uint64_t *set, struct err *e)
{
	struct dedup *d = c->d;
	struct member *m = &d->members.v[i];
	uint32_t *first;

	table_grow(&c->sets);
	first = table_find(&c->sets, x->hash);
	if (*first != NOT) {
		m->same = *first;
		union_find_join(&d->pairs.near, *first, i);
		return 0;
	}
	*first = i;
	c->sets.hash[i] = x->hash;
	c->sets.n++;
	m->nset = x->shingles;
	m->nwords = x->words;
	m->set = spool_size(d->pairs.sets) / sizeof(*set);
	m->words = m->set + m->nset;
	if (d->applied.next)
		add_to_name(c, i, set);
	return spool_append(d->pairs.sets, set,
			    ((size_t)m->nset + m->nwords) * sizeof(*set), e);
}

/* --- the pass --- */

static int
compare_doc(struct compare *c, const struct doc *doc, uint32_t n,
	    const struct compared *x, size_t i, struct err *e)
{
	struct dedup *d = c->d;
	uint32_t at;
	size_t from = i ? x->doc[i - 1].text_to : 0;
	struct span text = doc->text;

	if (doc->bad || doc->digest != d->corpus.digest[n])
		return err_set(e, "%s:%llu: changed while it was read",
			       doc->file, (unsigned long long)doc->lineno);
	if (d->o->normalize)
		text = (struct span){x->text.p + from,
				     x->doc[i].text_to - from};
	if (d->corpus.flag[n] & DOC_COPY)
		return compare_copy(c, text, x->doc[i].key, e);
	at = dedup_member(&d->members, n);
	if (d->o->keep == DEDUP_KEEP_KEY) {
		d->members.v[at].value = x->doc[i].value;
		d->no_value += isnan(x->doc[i].value) != 0;
	}
	if (d->reports &&
	    dedup_names_put(&d->names, doc, "duplicate_of", "duplicate_at",
			    &d->members.v[at].name, e))
		return -1;
	return d->o->exact ? compare_text(c, at, text, x->doc[i].key, e) : 0;
}

static int
compare_write(void *ctx, struct doc_batch *b, void *result, struct err *e)
{
	struct compare *c = ctx;
	struct dedup *d = c->d;
	const struct compared *x = result;
	const uint64_t *set = x->set;
	uint32_t first = dedup_corpus_next(&d->corpus, b), n;
	size_t i;
	int r;

	for (i = 0; i < b->n; i++) {
		n = first + (uint32_t)i;
		if (!(d->corpus.flag[n] & (DOC_MEMBER | DOC_COPY)))
			continue;
		r = compare_doc(c, &b->v[i], n, x, i, e);
		if (r < 0)
			return -1;
		c->differ |= r;
		if (!x->doc[i].shingles)
			continue;
		if (compare_set(c, dedup_member(&d->members, n), &x->doc[i],
				set, e))
			return -1;
		set += (size_t)x->doc[i].shingles + x->doc[i].words;
	}
	return 0;
}

/* --apply: names to members. */
static void
resolve_names(struct compare *c)
{
	struct applied *a = &c->d->applied;
	struct table *t = a->next ? &c->heads : &c->sets;
	size_t i;

	a->member = xreallocarray(NULL, a->n + 1, sizeof(*a->member));
	for (i = 0; i < a->n; i++)
		a->member[i] = *table_find(t, a->name[i]);
}

int
dedup_compare(struct dedup *d, struct err *e)
{
	struct compare c = {.d = d};
	const struct docpipe_pass pass = {
		.ctx = &c, .label = "comparing", .mode = DOCPIPE_LINES,
		.block = compare_block, .write = compare_write,
		.result_size = sizeof(struct compared),
		.reset = compared_reset, .clear = compared_clear
	};
	uint32_t n = d->members.n;
	int r;

	if (!n)
		return 0;
	if (d->o->near)
		table_open(&c.sets, n);
	if (d->apart)
		table_open(&d->texts, n);
	if (d->o->apply && d->o->has_edit) {
		table_open(&c.heads, n);
		d->applied.next = xreallocarray(NULL, n,
						sizeof(*d->applied.next));
	}
	c.texts = spool_new(d->pairs.mem / 16);
	c.text_of = xreallocarray(NULL, n, sizeof(*c.text_of));
	r = dedup_corpus_again(&d->corpus, &pass, e);
	if (!r && d->no_value == n && n)
		warn("\"%s\" is a number or a date in none of %u documents "
		     "that may be duplicates: the first ones are kept",
		     d->o->keep_key, n);
	if (!r && d->o->apply)
		resolve_names(&c);
	spool_free(c.texts);
	dedup_table_clear(&c.sets);
	dedup_table_clear(&c.heads);
	free(c.text);
	free(c.text_of);
	buf_clear(&c.old);
	return r ? r : c.differ;
}
