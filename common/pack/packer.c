/*
 * packer.c - documents of token ids to training windows
 *
 * Except for plain concat, a struct window is built and given to emit(), which
 * counts it and passes it on, or spools it for a shuffle.  A record in the
 * spool is the window's head, parts, document ids and token ids as in memory;
 * it never leaves the process.
 *
 * Best-fit holds fragments until their memory exceeds its part of `mem`, packs
 * them (best_fit.c), and writes the bins in the order of their first fragment,
 * the fragments of a bin in input order, so that the corpus roughly keeps its
 * order.  A buffer of a few thousand windows packs as well as the whole corpus.
 */
#include "pack/packer.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/progress.h"
#include "base/rng.h"
#include "pack/best_fit.h"
#include "stream/spool.h"

struct part {
	uint64_t doc;		/* number of the document, from 0 */
	uint64_t at;
	size_t name, name_n;	/* its id in window.names */
	uint32_t n;
	int last;
};

struct window {
	uint32_t real, nparts;
	uint32_t fresh;		/* tokens that are in no earlier window */
	size_t cap;		/* of part */
	struct part *part;
	uint32_t *ids;		/* [seq_len + 1] */
	struct buf names;
};

/* A fragment of a document that waits for its bin. */
struct fragment {
	struct part part;	/* its id is in hold.names */
	size_t ids;		/* offset in hold.ids */
	uint32_t fresh;
};

struct hold {
	struct fragment *v;
	size_t n, cap;
	struct buf ids, names;
};

/* Tokens of one document in the windows of this batch. */
struct share {
	uint64_t doc, n;
};

struct packer {
	struct packer_opts o;
	struct packer_sink sink;
	struct packer_stats st;
	uint32_t size;		/* seq_len + 1 */
	struct window win;	/* being filled */
	struct hold hold;
	struct spool *spool;
	uint64_t *at;		/* [windows + 1] of the spool's records */
	size_t nat, atcap;
	struct shard_part *out;	/* parts for the sink */
	size_t outcap;
	/* for spanning and largest */
	uint64_t last_span;	/* window of the last boundary, plus 1 */
	uint64_t batch_windows, batch_tokens, batch_max, batches;
	struct share *share;
	size_t nshare, sharecap;
};

int
packer_windowed(const struct packer_opts *o)
{
	return o->shuffle || o->policy != POLICY_CONCAT;
}

struct packer *
packer_new(const struct packer_opts *o, const struct packer_sink *sink)
{
	struct packer *p = xcalloc(1, sizeof(*p));

	p->o = *o;
	p->sink = *sink;
	p->size = o->seq_len + 1;
	if (packer_windowed(o))
		p->win.ids = xreallocarray(NULL, p->size, sizeof(uint32_t));
	if (o->shuffle)
		p->spool = spool_new(o->policy == POLICY_BEST_FIT ?
				     o->mem / 2 : o->mem);
	return p;
}

static void
window_clear(struct window *w)
{
	free(w->part);
	free(w->ids);
	buf_clear(&w->names);
}

void
packer_free(struct packer *p)
{
	if (!p)
		return;
	window_clear(&p->win);
	free(p->hold.v);
	buf_clear(&p->hold.ids);
	buf_clear(&p->hold.names);
	spool_free(p->spool);
	free(p->at);
	free(p->out);
	free(p->share);
	free(p);
}

/* --- counts for the summary --- */

static void
batch_done(struct packer *p, uint64_t most, uint64_t tokens)
{
	double share = tokens ? (double)most / tokens : 0;

	if (share > p->st.largest)
		p->st.largest = share;
	p->batches++;
	p->batch_max = p->batch_tokens = p->batch_windows = 0;
	p->nshare = 0;
}

/* A document of n tokens is appended to the plain stream. */
static void
count_stream(struct packer *p, uint64_t n)
{
	uint64_t T = p->o.seq_len, B = T * p->o.batch;
	uint64_t at = p->st.tokens - n, part;

	if (n && at && (at - 1) / T + 1 != p->last_span) {
		p->last_span = (at - 1) / T + 1;
		p->st.spanning++;
	}
	for (; n; n -= part, at += part) {
		part = B - at % B < n ? B - at % B : n;
		if (part > p->batch_max)
			p->batch_max = part;
		if ((at + part) % B == 0)
			batch_done(p, p->batch_max, B);
	}
}

static int
share_cmp(const void *a, const void *b)
{
	const struct share *x = a, *y = b;

	return (x->doc > y->doc) - (x->doc < y->doc);
}

static uint64_t
share_most(struct packer *p)
{
	uint64_t most = 0, sum = 0;
	size_t i;

	qsort(p->share, p->nshare, sizeof(*p->share), share_cmp);
	for (i = 0; i < p->nshare; i++) {
		if (i && p->share[i].doc != p->share[i - 1].doc)
			sum = 0;
		sum += p->share[i].n;
		if (sum > most)
			most = sum;
	}
	return most;
}

static void
count_window(struct packer *p, const struct window *w)
{
	uint32_t i;

	p->st.windows++;
	p->st.spanning += w->nparts > 1;
	p->st.repeated += w->real - w->fresh;
	p->st.padding += p->size - w->real;
	GROW(p->share, p->sharecap, p->nshare + w->nparts);
	for (i = 0; i < w->nparts; i++)
		p->share[p->nshare++] = (struct share){w->part[i].doc,
						       w->part[i].n};
	p->batch_tokens += w->real;
	if (++p->batch_windows == p->o.batch)
		batch_done(p, share_most(p), p->batch_tokens);
}

/* --- windows out --- */

static int
window_out(struct packer *p, const struct window *w, struct err *e)
{
	uint32_t i;

	count_window(p, w);
	GROW(p->out, p->outcap, w->nparts);
	for (i = 0; i < w->nparts; i++)
		p->out[i] = (struct shard_part){
			.id = {w->names.p + w->part[i].name,
			       w->part[i].name_n},
			.at = w->part[i].at,
			.n = w->part[i].n,
			.last = w->part[i].last,
		};
	return p->sink.window(p->sink.ctx, w->ids, w->real, p->out, w->nparts,
			      e);
}

/* Start of a record in the spool; parts, names and ids follow. */
struct head {
	uint32_t real, nparts, fresh;
	size_t names;
};

static int
window_spool(struct packer *p, const struct window *w, struct err *e)
{
	struct head h = {w->real, w->nparts, w->fresh, w->names.n};

	GROW(p->at, p->atcap, p->nat + 1);
	p->at[p->nat++] = spool_size(p->spool);
	if (spool_append(p->spool, &h, sizeof(h), e) ||
	    spool_append(p->spool, w->part, w->nparts * sizeof(*w->part), e) ||
	    spool_append(p->spool, w->names.p, w->names.n, e) ||
	    spool_append(p->spool, w->ids, w->real * sizeof(*w->ids), e))
		return -1;
	return 0;
}

static int
window_unspool(struct packer *p, uint64_t at, struct window *w, struct err *e)
{
	struct head h;

	if (spool_read(p->spool, at, &h, sizeof(h), e))
		return -1;
	at += sizeof(h);
	w->real = h.real;
	w->fresh = h.fresh;
	w->nparts = h.nparts;
	GROW(w->part, w->cap, h.nparts);
	buf_reset(&w->names);
	buf_reserve(&w->names, h.names + 1);
	w->names.n = h.names;
	if (spool_read(p->spool, at, w->part, h.nparts * sizeof(*w->part), e))
		return -1;
	at += h.nparts * sizeof(*w->part);
	if (spool_read(p->spool, at, w->names.p, h.names, e))
		return -1;
	at += h.names;
	return spool_read(p->spool, at, w->ids, h.real * sizeof(*w->ids), e);
}

/* The window is complete: write or spool it, and begin an empty one. */
static int
emit(struct packer *p, struct err *e)
{
	struct window *w = &p->win;
	int r = 0;

	if (w->fresh)
		r = p->spool ? window_spool(p, w, e) : window_out(p, w, e);
	w->real = w->nparts = w->fresh = 0;
	buf_reset(&w->names);
	return r;
}

static void
window_add(struct packer *p, struct span id, const struct part *from,
	   const uint32_t *ids, uint32_t fresh)
{
	struct window *w = &p->win;
	struct part *to;

	GROW(w->part, w->cap, w->nparts + 1);
	to = &w->part[w->nparts++];
	*to = *from;
	to->name = w->names.n;
	to->name_n = id.n;
	buf_put(&w->names, id.p, id.n);
	memcpy(w->ids + w->real, ids, from->n * sizeof(*ids));
	w->real += from->n;
	w->fresh += fresh;
}

/* --- concat with windows: the stream, cut --- */

static int
add_concat(struct packer *p, struct span id, const uint32_t *ids, size_t n,
	   struct err *e)
{
	struct part part = {.doc = p->st.docs};
	size_t at = 0, repeat = 0;

	while (at < n) {
		part.at = at - repeat;
		part.n = p->size - p->win.real;
		if (part.n > n - part.at)
			part.n = n - part.at;
		part.last = part.at + part.n == n;
		window_add(p, id, &part, ids + part.at, part.n - repeat);
		at = part.at + part.n;
		if (p->win.real < p->size)
			break;
		if (emit(p, e))
			return -1;
		repeat = 1;
	}
	/* A full window ends with the document: repeat its last token. */
	if (repeat && at == n && p->win.real == 0) {
		part.at = n - 1;
		part.n = 1;
		part.last = 1;
		window_add(p, id, &part, ids + n - 1, 0);
	}
	return 0;
}

/* --- fragments of at most a window, for best-fit and pad --- */

typedef int fragment_fn(struct packer *, struct span, const struct part *,
		     const uint32_t *, uint32_t fresh, struct err *);

static int
each_fragment(struct packer *p, struct span id, const uint32_t *ids, size_t n,
	   fragment_fn *fn, struct err *e)
{
	struct part part = {.doc = p->st.docs};
	size_t at = 0;

	while (at < n) {
		part.at = at ? at - 1 : 0;
		part.n = n - part.at < p->size ? n - part.at : p->size;
		part.last = part.at + part.n == n;
		if (fn(p, id, &part, ids + part.at, part.n - (at > 0), e))
			return -1;
		at = part.at + part.n;
	}
	return 0;
}

static int
pad_fragment(struct packer *p, struct span id, const struct part *part,
	  const uint32_t *ids, uint32_t fresh, struct err *e)
{
	window_add(p, id, part, ids, fresh);
	return emit(p, e);
}

static int
hold_bin(struct packer *p, uint32_t first, const uint32_t *next,
	 struct err *e)
{
	const struct hold *h = &p->hold;
	const struct fragment *v;
	uint32_t i;

	for (i = first; i != UINT32_MAX; i = next[i]) {
		v = &h->v[i];
		window_add(p, (struct span){h->names.p + v->part.name,
			   v->part.name_n}, &v->part,
			   (const uint32_t *)(h->ids.p + v->ids), v->fresh);
	}
	return emit(p, e);
}

/* Pack what is held: bins in the order of their first fragment. */
static int
hold_flush(struct packer *p, struct err *e)
{
	struct hold *h = &p->hold;
	uint32_t *len = xreallocarray(NULL, h->n + 1, sizeof(*len));
	uint32_t *bin = xreallocarray(NULL, h->n + 1, sizeof(*bin));
	uint32_t *head;
	size_t bins, i;
	int r = 0;

	for (i = 0; i < h->n; i++)
		len[i] = h->v[i].part.n;
	bins = best_fit(len, h->n, p->size, bin);
	head = xreallocarray(NULL, bins + 1, sizeof(*head));
	memset(head, 0xff, bins * sizeof(*head));
	for (i = h->n; i-- > 0; head[bin[i]] = i)
		len[i] = head[bin[i]];		/* from here on: the next */
	for (i = 0; i < h->n && !r; i++)
		if (head[bin[i]] == i)
			r = hold_bin(p, i, len, e);
	free(head);
	free(bin);
	free(len);
	h->n = 0;
	buf_reset(&h->ids);
	buf_reset(&h->names);
	return r;
}

/* With the arrays of hold_flush(). */
static size_t
hold_bytes(const struct hold *h)
{
	return h->ids.n + h->names.n +
	    h->n * (sizeof(*h->v) + 5 * sizeof(uint32_t));
}

static int
hold_fragment(struct packer *p, struct span id, const struct part *part,
	   const uint32_t *ids, uint32_t fresh, struct err *e)
{
	struct hold *h = &p->hold;

	if (h->n && (h->n == INT32_MAX || hold_bytes(h) +
		     part->n * sizeof(*ids) > p->o.mem / 2) &&
	    hold_flush(p, e))
		return -1;
	GROW(h->v, h->cap, h->n + 1);
	h->v[h->n] = (struct fragment){*part, h->ids.n, fresh};
	h->v[h->n].part.name = h->names.n;
	h->v[h->n++].part.name_n = id.n;
	buf_put(&h->ids, ids, part->n * sizeof(*ids));
	buf_put(&h->names, id.p, id.n);
	return 0;
}

int
packer_add(struct packer *p, struct span id, const uint32_t *ids, size_t n,
	   struct err *e)
{
	int r;

	p->st.tokens += n;
	if (!packer_windowed(&p->o)) {
		count_stream(p, n);
		r = p->sink.doc(p->sink.ctx, id, ids, n, e);
	} else if (p->o.policy == POLICY_CONCAT) {
		r = add_concat(p, id, ids, n, e);
	} else {
		r = each_fragment(p, id, ids, n, p->o.policy == POLICY_PAD ?
			       pad_fragment : hold_fragment, e);
	}
	p->st.docs++;
	return r;
}

static int
out_shuffled(struct packer *p, struct err *e)
{
	uint64_t n = p->nat, i, k;

	progress_start("writing", "windows", n);
	for (i = 0; i < n; i++) {
		k = rng_permute(p->o.seed, RNG_SHUFFLE, i, n);
		if (window_unspool(p, p->at[k], &p->win, e) ||
		    window_out(p, &p->win, e))
			return -1;
		progress_add(1);
	}
	progress_stop();
	return 0;
}

int
packer_finish(struct packer *p, struct err *e)
{
	struct packer_stats *s = &p->st;

	if (p->hold.n && hold_flush(p, e))
		return -1;
	if (packer_windowed(&p->o)) {
		if (emit(p, e) || (p->spool && out_shuffled(p, e)))
			return -1;
		if (!p->batches && p->batch_windows)
			batch_done(p, share_most(p), p->batch_tokens);
		return 0;
	}
	s->windows = s->tokens ? (s->tokens - 1) / p->o.seq_len : 0;
	if (p->last_span > s->windows)
		s->spanning--;
	if (!p->batches && s->tokens)
		batch_done(p, p->batch_max, s->tokens);
	return 0;
}

struct packer_stats
packer_stats(const struct packer *p)
{
	return p->st;
}
