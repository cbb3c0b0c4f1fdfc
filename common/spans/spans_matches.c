/*
 * spans_matches.c - step 3 of the search: anchors against their first place
 *
 * The block at an anchor p occurs first at q.  A window with this anchor that
 * agrees with the text there has its first place there, since every occurrence
 * of the window holds an occurrence of the block.  One that does not agree may
 * only be a copy of another such window; where the block occurs a third time,
 * their cells go to step 2, and come back to be compared in the same way.  Of
 * those that do not agree then, if a cell occurs a third time, the hashes of
 * windows go to step 2.
 *
 * A long copy has many anchors, all with the same p - q: its bytes are compared
 * once, and its windows are one run of starts.
 *
 * A block whose hash collides with another's is not at q.  Then no window
 * agrees, and all that hold the block are in the same case.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "spans/spans_priv.h"

enum { CHUNK = 1024, BACK = 256, AT_LEAST = 256 };

struct matches {
	const struct record *v;	/* by place */
	size_t n, i;
	/* text [s, e) and the same `d` bytes before it agree */
	uint64_t d, s, e;
	uint64_t seen;		/* nothing before it was compared */
	int known;		/* there are such */
	int ends;		/* not a byte more */
	uint64_t limit;		/* the end of one of the documents */
	uint64_t first_begin, first_end;	/* the earlier document */
	/* starts of windows in it, not yet put */
	uint64_t run_from, run_to, run_d, run_end;
	int run, run_ends;
	char other[BACK + CHUNK];	/* text from disk */
	uint64_t other_at, other_end;
};

/* --- runs of starts --- */

/*
 * A run of one start, as in a loop: its windows take less room.  The next
 * document begins a character, so the end of this one is not needed.
 */
static int
put_start(struct thread *t)
{
	const struct matches *m = t->ctx;
	const struct spans *s = t->s->s;
	struct lengths l = {
		.p = t->text, .x = (size_t)(m->run_from - t->at),
		.end = (size_t)(t->end - t->at)
	};
	size_t n;

	if (!spans_is_bound(l.p, l.x, l.end))
		return 0;
	while ((n = spans_next_length(s, &l)) != 0 &&
	       m->run_from + n <= m->run_end)
		if (n <= m->run_d &&
		    spans_put_copy(t, m->run_from, n - s->least, COPY_WINDOW,
				   m->run_from - m->run_d))
			return -1;
	return 0;
}

static int
put_run(struct thread *t)
{
	struct matches *m = t->ctx;
	uint64_t x = m->run_from;

	if (!m->run)
		return 0;
	m->run = 0;
	if (x == m->run_to)
		return put_start(t);
	return spans_put_copy(t, x, 0, COPY_RUN, m->run_d) ||
		spans_put_copy(t, x, 0, COPY_LAST, m->run_to) ||
		spans_put_copy(t, x, 0, COPY_END, m->run_end << 1 |
			       (uint64_t)m->run_ends) ? -1 : 0;
}

static int
add_run(struct thread *t, uint64_t from, uint64_t to)
{
	struct matches *m = t->ctx;

	if (!m->run || m->run_d != m->d || from != m->run_to + 1) {
		if (put_run(t))
			return -1;
		m->run = 1;
		m->run_d = m->d;
		m->run_from = from;
	}
	m->run_to = to;
	m->run_end = m->e;
	m->run_ends = m->ends;
	return 0;
}

/* --- comparing --- */

/* n bytes of all texts, n <= CHUNK. */
static const char *
text_at(struct thread *t, uint64_t at, size_t n)
{
	struct matches *m = t->ctx;
	struct spans *s = t->s->s;

	if (s->p)
		return s->p + at;
	if (at < m->other_at || at + n > m->other_end) {
		m->other_at = at < BACK ? 0 : at - BACK;
		m->other_end = s->n - at < CHUNK ? s->n : at + CHUNK;
		spans_read(s, m->other_at, m->other,
			   (size_t)(m->other_end - m->other_at));
	}
	return m->other + (at - m->other_at);
}

/* From the place p on a new diagonal, to the left down to x. */
static void
start(struct thread *t, uint64_t p, uint64_t d, uint64_t x, uint64_t end)
{
	struct matches *m = t->ctx;
	const struct spans *s = t->s->s;
	size_t doc, n, k;

	if (p - d < m->first_begin || p - d >= m->first_end) {
		doc = spans_doc_of(s, p - d);
		m->first_begin = s->start[doc];
		m->first_end = s->start[doc + 1];
	}
	m->known = 1;
	m->ends = 0;
	m->d = d;
	m->s = m->e = p;
	m->seen = x;
	m->limit = m->first_end + d < end ? m->first_end + d : end;
	if (x < m->first_begin + d)
		x = m->first_begin + d;
	while (m->s > x) {
		n = m->s - x < CHUNK ? (size_t)(m->s - x) : CHUNK;
		k = spans_agree_end(t->text + (m->s - n - t->at),
				    text_at(t, m->s - n - d, n), n);
		m->s -= k;
		if (k < n)
			break;
	}
}

/* To the right, up to `want` at least. */
static void
extend(struct thread *t, uint64_t want)
{
	struct matches *m = t->ctx;
	uint64_t left;
	size_t n, k;

	while (!m->ends && m->e < want && m->e < m->limit) {
		left = m->limit - m->e;
		n = want - m->e < AT_LEAST ? AT_LEAST : CHUNK;
		n = left < n ? (size_t)left : n;
		k = spans_agree(t->text + (m->e - t->at),
				text_at(t, m->e - m->d, n), n);
		m->e += k;
		m->ends = k < n;
	}
}

/* All windows from text[from..to]: none agrees with the first place. */
static int
put_others(struct thread *t, const struct anchor *a, size_t from, size_t to)
{
	const struct search *s = t->s;

	if (s->unit == 1 && s->cell > 1)
		return spans_put_cells(t, a->at, from, to);
	return spans_put_windows(t, from, to, a->end, 0);
}

/* Those that end after `past`: the others agree. */
static int
put_longer(struct thread *t, const struct anchor *a, size_t from, size_t to,
	   size_t past)
{
	const struct spans *s = t->s->s;
	size_t n;

	for (; from <= to; from++) {
		struct lengths l = {.p = t->text, .x = from, .end = a->end};

		if (!spans_is_bound(t->text, from, a->end))
			continue;
		while ((n = spans_next_length(s, &l)) != 0)
			if (from + n > past)
				return spans_put_windows(t, from, to, a->end,
							 past);
	}
	return 0;
}

static int
match(struct thread *t, const struct anchor *a, uint64_t q, int third)
{
	struct matches *m = t->ctx;
	const struct spans *s = t->s->s;
	uint64_t p = t->at + a->at, first = t->at + a->first;
	uint64_t last = t->at + a->last, from, to, whole;
	size_t longest = s->least + s->char_max - 1;

	if (!m->known || m->d != p - q || p < m->s || p > m->e ||
	    p >= m->limit || first < m->seen)
		start(t, p, p - q, first, t->at + a->end);
	extend(t, last + longest);
	from = first > m->s ? first : m->s;
	to = m->e >= s->least ? m->e - s->least : 0;
	to = to < last ? to : last;
	if (m->e - m->s >= s->least && from <= to && add_run(t, from, to))
		return -1;
	if (!third)
		return 0;
	if (from > first && put_others(t, a, a->first,
			(size_t)((from <= last ? from - 1 : last) - t->at)))
		return -1;
	if (last + longest <= m->e || from > last)
		return 0;
	if (m->e >= longest && from < m->e - longest + 1)
		from = m->e - longest + 1;
	/* no window from here on agrees */
	whole = m->e >= s->least && from < m->e - s->least + 1 ?
		m->e - s->least + 1 : from;
	if (whole > last + 1)
		whole = last + 1;
	if (from < whole &&
	    put_longer(t, a, (size_t)(from - t->at),
		       (size_t)(whole - 1 - t->at), (size_t)(m->e - t->at)))
		return -1;
	return whole > last ? 0 :
		put_others(t, a, (size_t)(whole - t->at), a->last);
}

static int
use_anchor(struct thread *t, const struct anchor *a)
{
	struct matches *m = t->ctx;
	uint64_t p = t->at + a->at;

	while (m->i < m->n && m->v[m->i].key < p)
		m->i++;
	if (m->i == m->n || m->v[m->i].key != p)
		return 0;
	return match(t, a, m->v[m->i].value >> 1, m->v[m->i].value & 1);
}

/* The cells from m->i on that end before `to`. */
static int
match_cells(struct thread *t, uint64_t to)
{
	struct matches *m = t->ctx;
	const struct search *s = t->s;
	const uint64_t *start = s->s->start;
	uint64_t x, in, q, end = 0, cell = s->cell;
	struct anchor a = {0};

	for (; m->i < m->n && m->v[m->i].key / s->unit < to; m->i++) {
		x = m->v[m->i].key / s->unit;
		in = m->v[m->i].key % s->unit;
		q = m->v[m->i].value >> 1;
		a.at = (size_t)(x - t->at);
		a.first = a.at - (size_t)(in / cell);
		a.last = a.at - (size_t)(in % cell);
		if (t->at + a.first >= end)
			end = start[spans_doc_of(s->s, t->at + a.first) + 1];
		a.end = (size_t)((end < t->end ? end : t->end) - t->at);
		if (match(t, &a, q, m->v[m->i].value & 1))
			return -1;
	}
	return 0;
}

/* --- a bucket --- */

/* The end of the text to load for the records from m->i on. */
static uint64_t
part_end(const struct search *s, const struct matches *m)
{
	uint64_t from = m->v[m->i].key / s->unit, at = from, next;
	size_t i;

	for (i = m->i + 1; i < m->n; i++, at = next) {
		next = m->v[i].key / s->unit;
		if (next - from >= s->segment || next - at >= 4 * s->over)
			break;
	}
	return at + 1;
}

static int
match_parts(struct thread *t)
{
	struct matches *m = t->ctx;
	uint64_t from, to, unit = t->s->unit;

	while (m->i < m->n) {
		from = m->v[m->i].key / unit;
		to = part_end(t->s, m);
		m->known = 0;
		spans_load(t, from, to);
		if ((unit > 1 ? match_cells(t, to) :
		     spans_anchors(t, from, to, use_anchor)) || put_run(t))
			return -1;
		while (m->i < m->n && m->v[m->i].key / unit < to)
			m->i++;
	}
	return 0;
}

int
spans_matches(struct thread *t, uint64_t bucket)
{
	struct search *s = t->s;
	size_t n = partition_count(s->repeats, bucket);
	struct record *v = xreallocarray(NULL, n + 1, sizeof(*v));
	struct record *tmp = xreallocarray(NULL, n + 1, sizeof(*v));
	struct partition_at at = {0};
	struct matches *m = xcalloc(1, sizeof(*m));
	int r;

	r = partition_read(s->repeats, bucket, &at, v, n + 1, &n, &t->e);
	if (!r) {
		spans_sort(v, tmp, n, bucket * s->range * s->unit,
			   s->range * s->unit);
		free(tmp);
		tmp = NULL;
		m->v = v;
		m->n = n;
		t->ctx = m;
		r = match_parts(t);
	}
	free(tmp);
	free(v);
	free(m);
	return r;
}
