/*
 * spans.c - long passages that occur earlier in a corpus: the interface
 *
 * The first place is enough: if it overlaps the window in the same document,
 * so does every other one before the window.
 *
 * Where characters have several bytes, a window may have to be longer than
 * `least` to end at a character boundary, and longer ones are not always made
 * of shorter ones.  With the shortest from a character of c bytes, and all
 * shorter than least + c, the union is that of all windows.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "spans/spans_priv.h"

enum { TEXT_SHARE = 4 };	/* of memory: texts; the same: anchors */

struct spans *
spans_new(size_t least, size_t mem, int threads)
{
	struct spans *s = xcalloc(1, sizeof(*s));

	s->least = least;
	s->char_max = 4;
	s->mem = mem;
	s->threads = threads;
	s->text = spool_new(mem / TEXT_SHARE);
	pthread_mutex_init(&s->lock, NULL);
	return s;
}

void
spans_free(struct spans *s)
{
	if (!s)
		return;
	spool_free(s->text);
	spans_forget(s);
	free(s->start);
	free(s->doc);
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

/* Bytes on disk of a search in n of text, without the texts. */
static uint64_t
search_room(size_t least, size_t mem, uint64_t n)
{
	double bytes = 64.0 * (double)n / (double)least;

	return bytes <= (double)(mem / TEXT_SHARE) ? 0 : (uint64_t)(2 * bytes);
}

static const char what[] = "the search for spans";

int
spans_room(size_t least, size_t mem, uint64_t n, struct err *e)
{
	return spool_room((n > mem / TEXT_SHARE ? n : 0) +
			  search_room(least, mem, n), what, e);
}

int
spans_add(struct spans *s, struct span text, struct err *e)
{
	if (text.n >= UINT32_MAX)
		return err_set(e, "a document of 4 GiB is too long for spans");
	GROW(s->start, s->cap, s->ndocs + 2);
	s->start[s->ndocs++] = spool_size(s->text);
	return spool_append(s->text, text.p, text.n, e);
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
	spans_number(s);
	r = s->n < s->least ? 0 :
		spool_room(search_room(s->least, s->mem, s->n), what, e) ||
		spans_search(s, e) ? -1 : 0;
	if (!s->v)
		s->v = xcalloc(1, sizeof(*s->v));
	*n = s->nv;
	return r ? NULL : s->v;
}

/* --- from the end --- */

static uint32_t
doc_length(const struct spans *s, size_t doc)
{
	return (uint32_t)(s->start[doc + 1] - s->start[doc]);
}

/* Reverse the order of characters, not their bytes. */
static void
reverse_text(const char *p, size_t n, char *out)
{
	size_t i, c;

	for (i = 0; i < n; i += c) {
		for (c = 1; i + c < n && (p[i + c] & 0xc0) == 0x80; c++)
			;
		memcpy(out + n - i - c, p + i, c);
	}
}

/* Reverse the texts and their order. */
static int
reverse(struct spans *s, struct err *e)
{
	struct spans new = {.text = spool_new(s->mem / TEXT_SHARE)};
	struct buf doc = {0}, back = {0};
	size_t k, n;
	int r = 0;

	for (k = s->ndocs; k-- && !r;) {
		n = doc_length(s, k);
		buf_reset(&doc);
		buf_reset(&back);
		r = spool_read(s->text, s->start[k], buf_reserve(&doc, n), n,
			       e);
		reverse_text(doc.p, n, buf_reserve(&back, n));
		if (!r)
			r = spans_add(&new, (struct span){back.p, n}, e);
	}
	buf_clear(&doc);
	buf_clear(&back);
	s->spilled |= spool_on_disk(s->text);
	spool_free(s->text);
	spans_forget(s);
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

	if (reverse(s, e) || !spans_find(s, n, e))
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
