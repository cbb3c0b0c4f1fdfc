/*
 * spans.c - long passages that stand in a corpus before: texts and following
 *
 * Texts lie one behind the other in a spool.  There are two searches for the
 * first place of a window: in tables, with all texts in memory
 * (spans_memory.c), and by sorting on disk (spans_disk.c).  Both come here to
 * compare texts and to follow what is equal.
 *
 * The first place is enough: if it overlaps the window in the same document,
 * so does every other one before the window.
 *
 * Where characters have several bytes, a window may have to be longer than
 * `least` to end at a bound, and longer ones are not always made of shorter
 * ones: with the shortest from a character of c bytes, and all shorter than
 * least + c, the union is that of all windows.
 */
#include "spans/spans_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { CHUNK = 1024 };		/* compared at a time, on disk */

struct spans *
spans_new(size_t least, size_t mem, int threads)
{
	struct spans *s = xcalloc(1, sizeof(*s));

	s->least = least;
	s->char_max = 4;
	s->mem = mem;
	s->threads = threads;
	s->text = spool_new(mem / 4);
	pthread_mutex_init(&s->lock, NULL);
	return s;
}

void
spans_free(struct spans *s)
{
	if (!s)
		return;
	spool_free(s->text);
	free(s->start);
	free(s->v);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

void
spans_longest_char(struct spans *s, size_t bytes)
{
	s->char_max = bytes;
}

void
spans_weaken(struct spans *s)
{
	s->weak = 1;
}

int
spans_add(struct spans *s, struct span text, struct err *e)
{
	if (text.n >= UINT32_MAX)
		return err_set(e, "--spans: a document of 4 GiB");
	if (s->ndocs + 1 >= s->cap) {
		s->cap = s->cap ? s->cap + s->cap / 2 : 1024;
		s->start = xreallocarray(s->start, s->cap, sizeof(*s->start));
	}
	s->start[s->ndocs++] = spool_size(s->text);
	return spool_append(s->text, text.p, text.n, e);
}

/* --- texts --- */

struct doc_at
spans_doc(const struct spans *s, size_t k)
{
	return (struct doc_at){(uint32_t)k, s->start[k], s->start[k + 1],
			       0, 0};
}

/* Empty documents begin where the next one does. */
size_t
spans_doc_of(const struct spans *s, uint64_t at)
{
	size_t lo = 0, hi = s->ndocs;

	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->start[mid] <= at)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

void
spans_read(struct spans *s, uint64_t at, char *p, size_t n)
{
	if (s->p) {
		memcpy(p, s->p + at, n);
		return;
	}
	pthread_mutex_lock(&s->lock);
	if (s->err.set || spool_read(s->text, at, p, n, &s->err))
		memset(p, 0, n);
	pthread_mutex_unlock(&s->lock);
}

static int
is_bound(struct spans *s, uint64_t at, uint64_t end)
{
	char c;

	if (at >= end)
		return 1;
	spans_read(s, at, &c, 1);
	return (c & 0xc0) != 0x80;
}

/* How many bytes from a and b on are the same, up to max. */
static uint64_t
agree(struct spans *s, uint64_t a, uint64_t b, uint64_t max)
{
	char x[CHUNK], y[CHUNK];
	const char *p = x, *q = y;
	uint64_t k, i = 0, n;

	for (k = 0; k < max; k += n) {
		n = max - k < CHUNK ? max - k : CHUNK;
		if (s->p) {
			p = s->p + a + k;
			q = s->p + b + k;
		} else {
			spans_read(s, a + k, x, n);
			spans_read(s, b + k, y, n);
		}
		for (i = 0; i + 8 <= n && !memcmp(p + i, q + i, 8); i += 8)
			;
		while (i < n && p[i] == q[i])
			i++;
		if (i < n)
			return k + i;
	}
	return max;
}

/* The same for the bytes before a and b. */
static uint64_t
agree_before(struct spans *s, uint64_t a, uint64_t b, uint64_t max)
{
	char x[CHUNK], y[CHUNK];
	const char *p = x, *q = y;
	uint64_t k, i, n;

	for (k = 0; k < max; k += n) {
		n = max - k < CHUNK ? max - k : CHUNK;
		if (s->p) {
			p = s->p + a - k - n;
			q = s->p + b - k - n;
		} else {
			spans_read(s, a - k - n, x, n);
			spans_read(s, b - k - n, y, n);
		}
		for (i = n; i >= 8 && !memcmp(p + i - 8, q + i - 8, 8); i -= 8)
			;
		while (i && p[i - 1] == q[i - 1])
			i--;
		if (i)
			return k + n - i;
	}
	return max;
}

/* --- spans --- */

static uint64_t
least_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void
put_span(struct spans *s, struct text_span v)
{
	/* ends ascend, so what begins there or later lies inside */
	while (s->nv && s->v[s->nv - 1].doc == v.doc &&
	       s->v[s->nv - 1].start >= v.start)
		s->nv--;
	if (s->nv == s->vcap) {
		s->vcap = s->vcap ? 2 * s->vcap : 1024;
		s->v = xreallocarray(s->v, s->vcap, sizeof(*s->v));
	}
	s->v[s->nv++] = v;
}

int
spans_follow(struct spans *s, struct doc_at *d, uint64_t x, uint64_t q,
	     size_t n)
{
	size_t first = spans_doc_of(s, q);
	uint64_t first_begin = s->start[first], first_end = s->start[first + 1];
	uint64_t start, end, max = least_of(first_end - q, d->end - x);
	int same = first == d->doc;

	if (same)		/* the first ends before the other begins */
		max = least_of(max, x - q);
	if (max < n)
		return 0;
	end = x + agree(s, x, q, max);
	if (end - x < n)
		return 0;
	while (!is_bound(s, end, d->end))
		end--;
	max = least_of(x - d->begin, q - first_begin);
	if (same)
		max = least_of(max, x - (q + (end - x)));
	start = x - agree_before(s, x, q, max);
	while (!is_bound(s, start, d->end))
		start++;
	put_span(s, (struct text_span){
		d->doc, (uint32_t)first, (uint32_t)(start - d->begin),
		(uint32_t)(end - d->begin),
		(uint32_t)(q - (x - start) - first_begin)
	});
	d->covered = end;
	d->from = start;
	return 1;
}

const struct text_span *
spans_find(struct spans *s, size_t *n, struct err *e)
{
	int r;

	s->n = spool_size(s->text);
	if (!s->start)
		s->start = xcalloc(1, sizeof(*s->start));
	s->start[s->ndocs] = s->n;
	s->p = s->n ? spool_view(s->text, 0, (size_t)s->n) : "";
	r = s->n < s->least ? 0 : s->p ? spans_in_memory(s) : 1;
	if (r > 0)
		r = spans_on_disk(s, e);
	if (!s->v)
		s->v = xcalloc(1, sizeof(*s->v));
	*n = s->nv;
	return r ? NULL : s->v;
}

/* --- the other way round --- */

static uint32_t
doc_length(const struct spans *s, size_t doc)
{
	return (uint32_t)(s->start[doc + 1] - s->start[doc]);
}

/* Characters from last to first; each as it is. */
static void
turn_text(const char *p, size_t n, char *out)
{
	size_t i, c;

	for (i = 0; i < n; i += c) {
		for (c = 1; i + c < n && (p[i + c] & 0xc0) == 0x80; c++)
			;
		memcpy(out + n - i - c, p + i, c);
	}
}

/* The texts from last to first, turned. */
static int
turn(struct spans *s, struct err *e)
{
	struct spans new = {.text = spool_new(s->mem / 4)};
	struct buf doc = {0}, back = {0};
	size_t k, n;
	int r = 0;

	for (k = s->ndocs; k-- && !r;) {
		n = doc_length(s, k);
		buf_reset(&doc);
		buf_reset(&back);
		r = spool_read(s->text, s->start[k], buf_reserve(&doc, n), n,
			       e);
		turn_text(doc.p, n, buf_reserve(&back, n));
		if (!r)
			r = spans_add(&new, (struct span){back.p, n}, e);
	}
	buf_clear(&doc);
	buf_clear(&back);
	s->spilled |= spool_on_disk(s->text);
	spool_free(s->text);
	s->text = new.text;
	if (new.start) {
		free(s->start);
		s->start = new.start;
		s->cap = new.cap;
	}
	s->nv = 0;
	return r;
}

const struct text_span *
spans_find_later(struct spans *s, size_t *n, struct err *e)
{
	size_t i;

	if (turn(s, e) || !spans_find(s, n, e))
		return NULL;
	for (i = 0; i < *n; i++) {
		struct text_span *v = &s->v[i];
		uint32_t len = v->end - v->start;

		v->start = doc_length(s, v->doc) - v->end;
		v->end = v->start + len;
		v->first_start = doc_length(s, v->first) - v->first_start -
			len;
		v->doc = (uint32_t)s->ndocs - 1 - v->doc;
		v->first = (uint32_t)s->ndocs - 1 - v->first;
	}
	return s->v;
}

int
spans_spilled(const struct spans *s)
{
	return spool_on_disk(s->text) || s->spilled;
}

static int
cmp_start(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (x[0] > y[0]) - (x[0] < y[0]);
}

size_t
spans_merge(const struct text_span *v, size_t n, uint32_t (*range)[2])
{
	size_t i, k = 0;

	for (i = 0; i < n; i++) {
		range[i][0] = v[i].start;
		range[i][1] = v[i].end;
	}
	qsort(range, n, sizeof(*range), cmp_start);
	for (i = 0; i < n; i++) {
		if (k && range[i][0] <= range[k - 1][1]) {
			if (range[i][1] > range[k - 1][1])
				range[k - 1][1] = range[i][1];
			continue;
		}
		range[k][0] = range[i][0];
		range[k++][1] = range[i][1];
	}
	return k;
}
