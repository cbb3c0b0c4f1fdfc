/*
 * shard_check_list.c - each place at which a check found something
 *
 * Only records with findings are read again or, where they are too many to
 * remember, units that have some.  The same code as in the first pass reports
 * the places of a document: tokens, or bytes of its text.  The document is then
 * walked once, which gives each place its token, byte and window.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "inspect/shard_check_priv.h"
#include "stream/json.h"
#include "text/display.h"

enum { AROUND = 10, REACH = 4 * AROUND + 8, COLUMNS = 48 };

struct place {
	uint64_t at;		/* token of the document, or byte of its text */
	uint64_t step;		/* of a batch */
	enum hit hit;		/* HIT_N: a batch */
};

struct places {
	struct place *v;
	size_t n, cap, done;
};

struct lister {
	struct check_list list;	/* first: what the pass calls */
	const struct checker *c;
	const struct shard_check_listing *how;
	uint64_t *first;	/* take this token, print nothing; or NULL */
	unsigned listed;
	uint64_t taken[HIT_N + 1];
	size_t next[HIT_N];		/* of c->hits */
	struct places tokens, bytes;	/* of this document */
	struct shard_doc doc;
	int has_doc;
	struct buf out, id, near;
};

/* A place in the document that is walked. */
struct spot {
	const struct place *p;
	uint64_t i;		/* token of the record; its length: the end */
	uint64_t byte;		/* of the document; UINT64_MAX: unknown */
	size_t within;		/* the token, in bytes */
};

static const enum shard_check check_of[HIT_N + 1] = {
	[HIT_IDS] = CHECK_IDS, [HIT_REPLACED] = CHECK_REPLACED,
	[HIT_MOJIBAKE] = CHECK_MOJIBAKE, [HIT_REPEAT] = CHECK_REPEAT,
	[HIT_NO_BOS] = CHECK_SEPARATORS, [HIT_NO_EOS] = CHECK_SEPARATORS,
	[HIT_INSIDE] = CHECK_SEPARATORS, [HIT_CLOSED] = CHECK_BOUNDS,
	[HIT_N] = CHECK_BATCH
};

/* ---- collecting ---- */

static void
add(struct lister *l, struct places *to, enum hit k, uint64_t at, uint64_t step)
{
	if (!(l->listed >> k & 1) || l->taken[k] >= l->how->max)
		return;
	l->taken[k]++;
	GROW(to->v, to->cap, to->n + 1);
	to->v[to->n++] = (struct place){at, step, k};
}

static void
on_hit(struct check_list *list, enum hit k, uint64_t token)
{
	struct lister *l = (struct lister *)list;

	add(l, &l->tokens, k, token, 0);
}

static void
on_text(void *list, int replaced, uint64_t at)
{
	struct lister *l = list;

	add(l, &l->bytes, replaced ? HIT_REPLACED : HIT_MOJIBAKE, at, 0);
}

/* Is it a byte of the text, not a token? */
static int
is_in_text(const struct place *p)
{
	return p->hit == HIT_REPLACED || p->hit == HIT_MOJIBAKE;
}

static int
by_place(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	if (x->hit != y->hit)
		return x->hit < y->hit ? -1 : 1;
	return x->step < y->step ? -1 : x->step > y->step;
}

/* ---- ten characters around ---- */

static int
is_text(const struct lister *l, uint32_t id)
{
	const struct checker *c = l->c;

	return c->o.vocab && id < c->o.vocab->n &&
		!(c->class[id] & CHECK_SPECIAL);
}

/* Up to n bytes of a token; SentencePiece's U+2581 is a space. */
static void
put_token(const struct lister *l, uint32_t id, size_t n, struct buf *out)
{
	const struct vocab *v = l->c->o.vocab;
	const char *p;
	size_t i;

	if (!is_text(l, id)) {
		display_token(v, id, out);
		return;
	}
	p = v->token[id].p;
	if (n > v->token[id].n)
		n = v->token[id].n;
	for (i = 0; i < n; i++) {
		if (v->kind == VOCAB_SENTENCEPIECE && n - i >= 3 &&
		    !memcmp(p + i, VOCAB_SPACE, 3)) {
			buf_putc(out, ' ');
			i += 2;
		} else {
			buf_putc(out, p[i]);
		}
	}
}

static size_t
forward(const struct buf *b, size_t at, int n)
{
	for (; n && at < b->n; n--) {
		int len = utf8_step(b->p + at, b->n - at);

		at += len > 0 ? (size_t)len : 1;
	}
	return at;
}

/* Bytes without a start count by themselves. */
static size_t
back(const struct buf *b, size_t at, int n)
{
	size_t k;

	for (; n && at; n--) {
		for (k = 1; k < 4 && k < at && utf8_is_cont(b->p[at - k]); k++)
			;
		at -= utf8_step(b->p + at - k, k) == (int)k ? k : 1;
	}
	return at;
}

static void
put_ids_near(const uint32_t *ids, size_t n, size_t i, struct buf *out)
{
	size_t k = i > 4 ? i - 4 : 0, end = n - i > 5 ? i + 5 : n;

	for (; k < end; k++)
		buf_printf(out, out->n ? " %u" : "%u", ids[k]);
}

/* Into l->near. */
static void
cut_near(struct lister *l, const struct spot *s, const uint32_t *ids, size_t n,
	 size_t place)
{
	struct buf b = {0};
	size_t at = 0, end = 0, i, from;

	for (i = 0; i < n; i++) {
		if (i == place) {
			from = b.n;
			put_token(l, ids[i], s->within, &b);
			at = s->within ? b.n : from;
			b.n = from;
		}
		put_token(l, ids[i], SIZE_MAX, &b);
		if (i == place)
			end = b.n;
	}
	if (place == n)
		at = end = b.n;
	if (is_in_text(s->p))
		end = forward(&b, at, 1);
	from = back(&b, at, AROUND);
	end = forward(&b, end, AROUND);
	display_bytes(b.p + from, end - from, !l->how->json, &l->near);
	buf_clear(&b);
}

static int
load_near(struct lister *l, const struct spot *s, struct err *e)
{
	uint64_t len = l->doc.end - l->doc.start;
	uint64_t lo = s->i > REACH ? s->i - REACH : 0;
	uint64_t hi = len - s->i > REACH ? s->i + REACH : len;
	uint32_t ids[2 * REACH];

	buf_reset(&l->near);
	if (shards_read(l->c->s, l->doc.start + lo, (size_t)(hi - lo), ids,
			e) < 0)
		return -1;
	if (l->c->o.vocab)
		cut_near(l, s, ids, (size_t)(hi - lo), (size_t)(s->i - lo));
	else
		put_ids_near(ids, (size_t)(hi - lo), (size_t)(s->i - lo),
			     &l->near);
	return 0;
}

/* ---- printing ---- */

/* The window that has token i of the record as an input; UINT64_MAX: none. */
static uint64_t
window_of(const struct lister *l, uint64_t i)
{
	const struct checker *c = l->c;
	uint64_t T = c->o.T, per = T + !!c->info->windows, at, k;

	if (T == 0 || l->doc.start == l->doc.end)
		return UINT64_MAX;
	at = l->doc.start + i - (l->doc.start + i == l->doc.end);
	k = at / per;
	return k < shards_windows(c->s, (uint32_t)T) ? k : UINT64_MAX;
}

static void
put_json(struct lister *l, const struct spot *s, uint64_t window)
{
	struct buf *b = &l->out;

	buf_puts(b, "{\"check\":");
	json_put_str(b, span_str(check_names[check_of[s->p->hit]]));
	if (l->has_doc) {
		buf_puts(b, ",\"doc\":");
		json_put_str(b, buf_span(&l->id));
	}
	if (s->p->hit == HIT_N)
		json_put_key_uint(b, "step", s->p->step);
	if (window != UINT64_MAX)
		json_put_key_uint(b, "window", window);
	json_put_key_uint(b, "token", l->doc.from + s->i);
	if (s->byte != UINT64_MAX)
		json_put_key_uint(b, "byte", s->byte);
	buf_puts(b, ",\"text\":");
	json_put_str(b, buf_span(&l->near));
	buf_puts(b, "}\n");
}

static void
put_number(struct lister *l, uint64_t x)
{
	char s[24] = "-";

	if (x != UINT64_MAX)
		snprintf(s, sizeof s, "%llu", (unsigned long long)x);
	buf_printf(&l->out, l->how->wide ? "%10s  " : "%s\t", s);
}

static void
put_row(struct lister *l, const struct spot *s, uint64_t window)
{
	struct buf *b = &l->out;
	size_t from;

	buf_printf(b, l->how->wide ? "%-10s  " : "%s\t",
		   check_names[check_of[s->p->hit]]);
	put_number(l, window);
	put_number(l, l->doc.from + s->i);
	put_number(l, s->byte);
	from = b->n;
	if (s->p->hit == HIT_N)
		buf_printf(b, "step %llu: ", (unsigned long long)s->p->step);
	buf_put(b, l->near.p, l->near.n);
	if (l->how->wide)
		display_fit(b, from, COLUMNS);
	buf_puts(b, l->how->wide ? "  " : "\t");
	if (l->has_doc)
		display_bytes(l->id.p, l->id.n, 1, b);
	else
		buf_putc(b, '-');
	buf_putc(b, '\n');
}

static void
put_head(struct lister *l)
{
	if (l->how->wide)
		buf_printf(&l->out, "\n%-10s  %10s  %10s  %10s  %-*s  doc\n",
			   "check", "window", "token", "byte", COLUMNS, "text");
	else
		buf_puts(&l->out, "\ncheck\twindow\ttoken\tbyte\ttext\tdoc\n");
}

static int
put_spot(struct lister *l, const struct spot *s, struct err *e)
{
	uint64_t window = window_of(l, s->i);

	if (l->first) {
		*l->first = l->doc.from + s->i;
		return 0;
	}
	if (load_near(l, s, e) < 0)
		return -1;
	if (l->how->json)
		put_json(l, s, window);
	else
		put_row(l, s, window);
	return output_put(l->how->out, &l->out, e);
}

/* ---- a document ---- */

struct walk {
	uint64_t raw;		/* bytes of tokens so far */
	uint64_t byte;		/* of the document */
	int64_t after;		/* the last token, if it is text, or -1 */
};

static int
at_token(struct lister *l, struct walk *w, uint64_t i, uint32_t id,
	 struct err *e)
{
	const struct vocab *v = l->c->o.vocab;
	int known = v && l->has_doc && l->doc.from == 0, text, space;
	struct spot s = {.i = i, .byte = known ? w->byte : UINT64_MAX};
	struct places *t = &l->tokens, *b = &l->bytes;
	struct span token = {0};

	for (; t->done < t->n && t->v[t->done].at == l->doc.from + i;
	     t->done++) {
		s.p = &t->v[t->done];
		if (put_spot(l, &s, e) < 0)
			return -1;
	}
	text = is_text(l, id);
	space = text && vocab_puts_space(v, w->after);
	if (text)
		token = v->token[id];
	for (; b->done < b->n && b->v[b->done].at < w->raw + token.n;
	     b->done++) {
		s.p = &b->v[b->done];
		s.within = (size_t)(s.p->at - w->raw);
		s.byte = known ? w->byte + vocab_text_bytes(v, (struct span){
					token.p, s.within}, space) : UINT64_MAX;
		if (put_spot(l, &s, e) < 0)
			return -1;
	}
	w->raw += token.n;
	if (text)
		w->byte += vocab_text_bytes(v, token, space);
	w->after = text ? (int64_t)id : -1;
	return 0;
}

/* Print the places of l->doc. */
static int
walk(struct lister *l, uint32_t *ids, struct err *e)
{
	uint64_t len = l->doc.end - l->doc.start, at, n = 0, i;
	struct places *t = &l->tokens, *b = &l->bytes;
	struct walk w = {.after = -1};
	int r = 0;

	qsort(t->v, t->n, sizeof(*t->v), by_place);
	qsort(b->v, b->n, sizeof(*b->v), by_place);
	t->done = b->done = 0;
	for (at = 0; at < len && r == 0; at += n) {
		if (t->done == t->n && b->done == b->n)
			break;
		n = len - at < CHECK_CHUNK ? len - at : CHECK_CHUNK;
		r = shards_read(l->c->s, l->doc.start + at, (size_t)n, ids, e);
		for (i = 0; i < n && r == 0; i++)
			r = at_token(l, &w, at + i, ids[i], e);
	}
	for (; t->done < t->n && r == 0; t->done++) {	/* at the end */
		struct spot s = {&t->v[t->done], len, UINT64_MAX, 0};

		if (l->c->o.vocab && l->has_doc && l->doc.from == 0)
			s.byte = w.byte;
		r = put_spot(l, &s, e);
	}
	t->n = b->n = 0;
	return r;
}

static int
set_doc(struct lister *l, uint64_t record, struct err *e)
{
	struct span id;
	struct buf tmp = {0};

	if (shards_doc(l->c->s, record, &l->doc, e) < 0)
		return -1;
	l->has_doc = 1;
	id = shards_doc_id(&l->doc, &tmp);
	buf_reset(&l->id);
	buf_put(&l->id, id.p, id.n);
	buf_clear(&tmp);
	return 0;
}

/* ---- all of them ---- */

static int
list_record(struct lister *l, struct work *w, uint64_t k, uint32_t *ids,
	    struct err *e)
{
	if (shard_check_record(l->c, w, k, ids, e) < 0)
		return -1;
	if (!l->tokens.n && !l->bytes.n)
		return 0;
	return set_doc(l, k, e) < 0 ? -1 : walk(l, ids, e);
}

static int
list_unit(struct lister *l, struct work *w, uint32_t *ids, struct err *e)
{
	uint64_t k;
	int r = 0;

	if (l->c->info->pieces == 0) {
		l->doc = (struct shard_doc){w->from, w->to, w->from, 0, 0,
			{NULL, 0}, NULL, 0};
		r = shard_check_unit(l->c, w, ids, e);
		return r < 0 ? r : walk(l, ids, e);
	}
	for (k = w->from; k < w->to && r == 0; k++)
		r = list_record(l, w, k, ids, e);
	return r;
}

static int
by_record(const void *a, const void *b)
{
	const struct shard_check_batch *x = a, *y = b;

	if (x->record != y->record)
		return x->record < y->record ? -1 : 1;
	return x->step < y->step ? -1 : x->step > y->step;
}

static int
list_batches(struct lister *l, const struct shard_check_report *r,
	     uint32_t *ids, struct err *e)
{
	size_t i;
	int rc = 0;

	qsort(r->batch, r->nbatch, sizeof(*r->batch), by_record);
	for (i = 0; i < r->nbatch && rc == 0; i++) {
		add(l, &l->tokens, HIT_N, r->batch[i].token, r->batch[i].step);
		if (l->tokens.n && (i + 1 == r->nbatch ||
				    r->batch[i + 1].record !=
				    r->batch[i].record))
			rc = set_doc(l, r->batch[i].record, e) < 0 ? -1 :
				walk(l, ids, e);
	}
	return rc;
}

/* Of what this unit has: what is still to be listed. */
static unsigned
wanted(const struct lister *l, unsigned hits)
{
	unsigned m = 0;
	int k;

	for (k = 0; k < HIT_N; k++)
		if (l->taken[k] < l->how->max)
			m |= 1u << k;
	return m & hits & l->listed;
}

/* The next record before `to` with hits of a wanted kind; UINT64_MAX: none. */
static uint64_t
next_record(struct lister *l, const struct unit *u)
{
	unsigned want = wanted(l, u->hits);
	uint64_t least = UINT64_MAX;
	int k;

	for (k = 0; k < HIT_N; k++) {
		const struct records *r = &l->c->hits[k];

		if (want >> k & 1 && l->next[k] < r->n &&
		    r->v[l->next[k]] < least)
			least = r->v[l->next[k]];
	}
	return least < u->to ? least : UINT64_MAX;
}

/* Skip the records before `to`. */
static void
skip_records(struct lister *l, uint64_t to)
{
	int k;

	for (k = 0; k < HIT_N; k++)
		while (l->next[k] < l->c->hits[k].n &&
		       l->c->hits[k].v[l->next[k]] < to)
			l->next[k]++;
}

static int
list_units(struct lister *l, uint32_t *ids, struct err *e)
{
	struct work *w = xcalloc(1, sizeof(*w));
	const struct unit *u = l->c->unit, *end = u + l->c->nunit;
	uint64_t k;
	int rc = 0;

	w->list = &l->list;
	for (; u < end && rc == 0; u++) {
		unsigned want = wanted(l, u->hits);

		w->from = u->from;
		w->to = u->to;
		if (want && (want & u->whole || !l->c->info->pieces)) {
			rc = list_unit(l, w, ids, e);
		} else {
			skip_records(l, u->from);
			while (rc == 0 && (k = next_record(l, u)) !=
			       UINT64_MAX) {
				rc = list_record(l, w, k, ids, e);
				skip_records(l, k + 1);
			}
		}
	}
	free(w);
	return rc;
}

static void
lister_clear(struct lister *l)
{
	free(l->tokens.v);
	free(l->bytes.v);
	buf_clear(&l->out);
	buf_clear(&l->id);
	buf_clear(&l->near);
}

void
shard_check_first(const struct checker *c, enum hit k, uint64_t *token,
		  struct err *e)
{
	struct shard_check_listing one = {.max = 1};
	struct lister l = {.list = {on_hit, on_text}, .c = c, .how = &one,
		.listed = 1u << k, .first = token};
	uint32_t *ids = xreallocarray(NULL, CHECK_CHUNK, sizeof(*ids));

	list_units(&l, ids, e);
	lister_clear(&l);
	free(ids);
}

int
shard_check_list(const struct shard_check_report *r,
		 const struct shard_check_listing *how, struct err *e)
{
	struct lister l = {.list = {on_hit, on_text}, .c = r->c, .how = how,
		.listed = r->listed | 1u << HIT_N};
	uint32_t *ids = xreallocarray(NULL, CHECK_CHUNK, sizeof(*ids));
	int rc;

	if (!how->json && how->max && (r->listed || r->nbatch))
		put_head(&l);
	rc = list_units(&l, ids, e);
	if (rc == 0)
		rc = list_batches(&l, r, ids, e);
	lister_clear(&l);
	free(ids);
	return rc;
}
