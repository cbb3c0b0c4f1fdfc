/*
 * guard.h - a table that behaves like a device which the host cannot see
 *
 * guard_wrap() takes a freshly opened table of the host and returns one with
 * the same arithmetic and two differences:
 *
 *  - device memory is inaccessible (mprotect) outside the table's own work,
 *    with an inaccessible page after each block: reading or writing through
 *    a host pointer to it crashes;
 *  - calls are queued, and run only at sync() or peak(), with host memory read
 *    or written only then.  The source of an upload is compared with what it
 *    was at the call, and a difference counted (stale).  The destination of a
 *    fetch is full of ones until it is written, as NaN is, or the id -1.
 *
 * `ignore` makes one sync do nothing: a program that needed it has another
 * result then, or a stale source.
 *
 * A wrong hint about the rows of a cache ends the program.  Fresh memory is
 * full of NaN, so that a result which was read before it was
 * written shows.  A program that trains and samples the same bits with and
 * without the guard obeys the contract of kernels.h.
 *
 *	struct kernels *k = guard_wrap(kernels_open("cpu", 2, &e));
 */
#ifndef ASSAY_GUARD_H
#define ASSAY_GUARD_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "kernels/kernels.h"
#include "kernels/recent.h"

enum { GUARD_ALIGN = 256 };

struct guard_block {
	char *p;		/* whole pages, then one that is never open */
	size_t pages, user;	/* bytes; where the user's part starts */
};

/* A queued call, followed by the struct of its arguments. */
struct guard_call {
	const char *name;
	void (*run)(struct kernels *inner, const void *args);
	size_t size;
	void *copy;		/* of an upload's source, or NULL */
	struct guard_call *next;
};

struct guard {
	struct kernels *inner;
	struct guard_block *block;
	size_t nblocks, cap;
	struct guard_call *first, **last;
	int open;		/* memory accessible: inside the table */
	size_t queued, ran;	/* calls, for tests */
	size_t refuse;		/* the n-th allocation from now on fails */
	size_t fail;		/* the n-th call from now on fails when run */
	int failed;		/* for good */
	size_t ignore;		/* the n-th sync from now on does nothing */
	size_t stale;		/* uploads whose source had changed */
	struct k_recent recent;
};

static inline struct guard *
guard_of(struct kernels *k)
{
	return k->priv;
}

static inline void
guard_protect(struct guard *g, int open)
{
	if (g->open == open)
		return;
	g->open = open;
	for (size_t i = 0; i < g->nblocks; i++)
		if (mprotect(g->block[i].p, g->block[i].pages,
			     open ? PROT_READ | PROT_WRITE : PROT_NONE) != 0)
			abort();
}

/* The inner table's memory: the block ends where its last page does. */
static inline void *
guard_get(void *ctx, size_t bytes)
{
	struct guard *g = ctx;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t need = (bytes + GUARD_ALIGN - 1) / GUARD_ALIGN * GUARD_ALIGN;
	size_t pages = (need + page - 1) / page * page;
	char *p;

	if (g->refuse && --g->refuse == 0)
		return NULL;
	if (need == 0)
		need = GUARD_ALIGN, pages = page;
	p = mmap(NULL, pages + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
		 -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	if (mprotect(p, pages, PROT_READ | PROT_WRITE) != 0)
		abort();
	memset(p, 0xff, pages);
	if (!g->open && mprotect(p, pages, PROT_NONE) != 0)
		abort();
	GROW(g->block, g->cap, g->nblocks + 1);
	g->block[g->nblocks++] = (struct guard_block){ p, pages, pages - need };
	return p + pages - need;
}

static inline void
guard_put(void *ctx, void *user)
{
	struct guard *g = ctx;

	for (size_t i = 0; i < g->nblocks; i++) {
		struct guard_block *b = &g->block[i];

		if (b->p + b->user != (char *)user)
			continue;
		munmap(b->p, b->pages + (size_t)sysconf(_SC_PAGESIZE));
		*b = g->block[--g->nblocks];
		return;
	}
	abort();		/* not from here, or released twice */
}

/* What an upload will read, and what a fetch will write. */
static inline void
guard_host(struct guard_call *c)
{
	if (!strcmp(c->name, "upload")) {
		const struct k_upload *a = (const void *)(c + 1);

		c->copy = xmalloc(a->n + 1);
		memcpy(c->copy, a->src, a->n);
	} else if (!strcmp(c->name, "fetch")) {
		const struct k_fetch *a = (const void *)(c + 1);

		memset(a->dst, 0xff, a->n);
	}
}

static inline void
guard_compare(struct guard *g, struct guard_call *c)
{
	const struct k_upload *a = (const void *)(c + 1);

	if (c->copy && memcmp(c->copy, a->src, a->n) != 0)
		g->stale++;
	free(c->copy);
}

static inline void
guard_queue(struct kernels *k, void (*fn)(struct kernels *, const void *),
	    const void *args, size_t size, const char *name)
{
	struct guard *g = guard_of(k);
	struct guard_call *c = xmalloc(sizeof *c + size);

	k_recent_add(&g->recent, name);
	c->name = name;
	c->run = fn;
	c->size = size;
	c->copy = NULL;
	c->next = NULL;
	memcpy(c + 1, args, size);
	*g->last = c;
	g->last = &c->next;
	g->queued++;
	guard_host(c);
}

/* After a failure nothing runs but what frees. */
static inline int
guard_runs(struct guard *g, const char *name)
{
	if (g->fail && --g->fail == 0)
		g->failed = 1;
	return !g->failed || !strcmp(name, "release") ||
	       !strcmp(name, "weight_free");
}

static inline int
guard_flush(struct guard *g, struct err *e)
{
	struct guard_call *c;
	int rc;

	guard_protect(g, 1);
	while ((c = g->first)) {
		g->first = c->next;
		guard_compare(g, c);
		if (guard_runs(g, c->name))
			c->run(g->inner, c + 1);
		free(c);
		g->ran++;
	}
	g->last = &g->first;
	rc = g->inner->sync(g->inner, e);
	guard_protect(g, 0);
	return g->failed ? k_recent_error(&g->recent, "guard",
					  "a call failed", e) : rc;
}

/* --- entries that take an argument struct --- */

static inline _Noreturn void
guard_wrong(const char *what)
{
	fprintf(stderr, "guard: %s\n", what);
	abort();
}

/* What the host said about the rows of a cache is true; memory is open. */
static inline void
guard_hint(const struct k_runs *r, int64_t n, const int32_t *slot,
	   const int32_t *pos)
{
	int64_t next = 0, last = 0;

	for (int64_t i = 0; i < n; i++) {
		int begins = next < r->n && r->first[next] == i;

		next += begins;
		if (r->n && !begins && (i == 0 || slot[i] != slot[i - 1] ||
					pos[i] != pos[i - 1] + 1))
			guard_wrong("a run of rows is not one");
		last = pos[i] > last ? pos[i] : last;
	}
	if (next != r->n)
		guard_wrong("a run begins at no row");
	if (r->longest && r->longest != last + 1)
		guard_wrong("the longest position is wrong");
}

static inline void
guard_check_put(const struct k_kv_put *a)
{
	guard_hint(&a->runs, a->n, a->slot, a->pos);
}

static inline void
guard_check_cache(const struct k_attn_cache *a)
{
	guard_hint(&a->runs, a->n, a->slot, a->pos);
}

static inline void
guard_check_none(const void *a)
{
	(void)a;
}

#define GUARD_CHECK(a) _Generic((a), \
	struct k_kv_put *: guard_check_put, \
	struct k_attn_cache *: guard_check_cache, \
	default: guard_check_none)(a)

#define X(op) \
static inline void guard_run_##op(struct kernels *inner, const void *args) \
{ \
	struct k_##op a; \
	memcpy(&a, args, sizeof a); \
	GUARD_CHECK(&a); \
	inner->op(inner, &a); \
} \
static inline void guard_##op(struct kernels *k, const struct k_##op *a) \
{ \
	guard_queue(k, guard_run_##op, a, sizeof *a, #op); \
}
KERNEL_OPS(X)
#undef X

/* --- the others --- */

static inline int
guard_sync(struct kernels *k, struct err *e)
{
	struct guard *g = guard_of(k);

	if (g->ignore && --g->ignore == 0)
		return 0;
	return guard_flush(g, e);
}

static inline void *
guard_alloc(struct kernels *k, size_t bytes, struct err *e)
{
	struct kernels *inner = guard_of(k)->inner;

	return inner->alloc(inner, bytes, e);
}

static inline int
guard_memory(struct kernels *k, size_t *unused, size_t *total)
{
	struct kernels *inner = guard_of(k)->inner;

	return inner->memory(inner, unused, total);
}

static inline void *
guard_host_alloc(struct kernels *k, size_t bytes, struct err *e)
{
	struct guard *g = guard_of(k);

	if (g->refuse && --g->refuse == 0) {
		err_set(e, "guard: no host memory");
		return NULL;
	}
	return g->inner->host_alloc(g->inner, bytes, e);
}

static inline void
guard_host_free(struct kernels *k, void *p)
{
	struct kernels *inner = guard_of(k)->inner;

	inner->host_free(inner, p);
}

static inline struct kweight *
guard_weight_new(struct kernels *k, const struct k_weight_new *a,
		 struct err *e)
{
	struct kernels *inner = guard_of(k)->inner;

	return inner->weight_new(inner, a, e);
}

static inline size_t
guard_copies(struct kernels *k, enum kdtype dt, int64_t out, int64_t in,
	     int use)
{
	struct kernels *inner = guard_of(k)->inner;

	return inner->copies(inner, dt, out, in, use);
}

static inline size_t
guard_need(struct kernels *k, const struct k_need *s)
{
	struct kernels *inner = guard_of(k)->inner;

	return inner->need(inner, s);
}

static inline int
guard_reserve(struct kernels *k, size_t bytes, struct err *e)
{
	struct kernels *inner = guard_of(k)->inner;

	return inner->reserve(inner, bytes, e);
}

static inline double
guard_peak(struct kernels *k, enum kdtype dt)
{
	struct kernels *inner = guard_of(k)->inner;
	struct err e = {0};

	guard_flush(guard_of(k), &e);
	return inner->peak(inner, dt);
}

static inline double
guard_nominal(struct kernels *k, enum kdtype dt)
{
	struct kernels *inner = guard_of(k)->inner;

	return inner->nominal(inner, dt);
}

static inline void
guard_record(struct kernels *k, struct buf *json)
{
	struct kernels *inner = guard_of(k)->inner;

	inner->record(inner, json);
}

static inline void
guard_close(struct kernels *k)
{
	struct guard *g = guard_of(k);
	struct err e = {0};

	guard_flush(g, &e);
	if (g->nblocks)
		abort();	/* device memory was not released */
	g->inner->close(g->inner);
	free(g->block);
	free(g);
	free(k);
}

static inline struct kernels *
guard_wrap(struct kernels *inner)
{
	struct kernels *k = xcalloc(1, sizeof *k);
	struct guard *g = xcalloc(1, sizeof *g);

	g->inner = inner;
	g->last = &g->first;
	inner->mem_get = guard_get;
	inner->mem_put = guard_put;
	inner->mem_ctx = g;
	k->abi = inner->abi;
	k->name = inner->name;
	k->isa = inner->isa;
	k->threads = inner->threads;
	k->alloc = guard_alloc;
	k->memory = guard_memory;
	k->host_alloc = guard_host_alloc;
	k->host_free = guard_host_free;
	k->sync = guard_sync;
	k->weight_new = guard_weight_new;
#define X(op) k->op = guard_##op;
	KERNEL_OPS(X)
#undef X
	k->copies = guard_copies;
	k->need = guard_need;
	k->reserve = guard_reserve;
	k->peak = guard_peak;
	k->nominal = guard_nominal;
	k->record = guard_record;
	k->close = guard_close;
	k->priv = g;
	return k;
}

#endif
