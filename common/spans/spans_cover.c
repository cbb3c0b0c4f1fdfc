/*
 * spans_cover.c - step 4 of the search: copies, from left to right, to spans
 *
 * Sequential, since each span depends on the one before.  Within a run of
 * starts the windows inside the previous span are skipped at once.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "spans/spans_priv.h"

enum { VIEW = 1 << 16 };

struct cover {
	struct search *s;
	size_t k;		/* document */
	struct doc_at d;
	struct {
		uint64_t x, last, d, end;
		int on, ends;
	} run;
	char *room;		/* text from disk: */
	const char *text;
	uint64_t at, end;
	size_t cap;
};

/* The text at x and what its windows need, as c->text from c->at on. */
static void
view(struct cover *c, uint64_t x)
{
	struct spans *s = c->s->s;
	size_t need = s->least + 2 * s->char_max;

	if (s->p || (x >= c->at && c->end >= (x + need < c->d.end ? x + need :
					      c->d.end)))
		return;
	if (c->cap < need + VIEW)
		c->room = xrealloc(c->room, c->cap = need + VIEW);
	c->text = c->room;
	c->at = x;
	c->end = s->n - x < c->cap ? s->n : x + c->cap;
	spans_read(s, x, c->room, (size_t)(c->end - x));
}

static void
go_to(struct cover *c, uint64_t x)
{
	const uint64_t *start = c->s->s->start;

	if (x < c->d.end)
		return;
	while (x >= start[c->k + 1])
		c->k++;
	c->d = (struct doc_at){
		.doc = (uint32_t)c->k, .begin = start[c->k],
		.end = start[c->k + 1]
	};
}

static int
is_covered(const struct cover *c, uint64_t x, size_t n)
{
	return x >= c->d.from && x + n <= c->d.covered;
}

/* The windows from x on that agree, in a run. */
static void
cover_place(struct cover *c, uint64_t x)
{
	struct spans *s = c->s->s;
	struct lengths l;
	size_t n;

	view(c, x);
	l = (struct lengths){.p = c->text, .x = (size_t)(x - c->at),
			     .end = (size_t)(c->d.end - c->at)};
	if (!spans_is_bound(l.p, l.x, l.end))
		return;
	while ((n = spans_next_length(s, &l)) != 0 && x + n <= c->run.end)
		if (!is_covered(c, x, n) && n <= c->run.d)
			spans_follow(s, &c->d, x, x - c->run.d, n, c->run.end,
				     c->run.ends);
}

/* The run, up to the windows from `to`. */
static void
cover_run(struct cover *c, uint64_t to)
{
	size_t longest = c->s->s->least + c->s->s->char_max - 1;

	if (!c->run.on)
		return;
	for (; c->run.x <= c->run.last && c->run.x <= to; c->run.x++) {
		go_to(c, c->run.x);
		if (c->run.x >= c->d.from &&
		    c->run.x + longest <= c->d.covered) {
			c->run.x = c->d.covered - longest;
			continue;
		}
		cover_place(c, c->run.x);
	}
	c->run.on = c->run.x <= c->run.last;
}

static void
cover_records(struct cover *c, const struct record *v, size_t n)
{
	struct search *s = c->s;
	size_t i, char_max = s->s->char_max, len;

	for (i = 0; i < n && !s->collided; i++) {
		uint64_t window = v[i].key / COPY_KINDS, x = window / char_max;

		switch ((enum copy_kind)(v[i].key % COPY_KINDS)) {
		case COPY_RUN:
			cover_run(c, UINT64_MAX);
			c->run.d = v[i].value;
			c->run.x = x;
			break;
		case COPY_LAST:
			c->run.last = v[i].value;
			break;
		case COPY_END:
			c->run.end = v[i].value >> 1;
			c->run.ends = v[i].value & 1;
			c->run.on = 1;
			break;
		default:
			cover_run(c, x);
			go_to(c, x);
			len = s->s->least + (size_t)(window % char_max);
			if (!is_covered(c, x, len) &&
			    !spans_follow(s->s, &c->d, x, v[i].value, len, x,
					  0))
				s->collided = 1;
		}
	}
}

static int
cover_bucket(struct cover *c, size_t bucket)
{
	struct search *s = c->s;
	size_t n = partition_count(s->copies, bucket);
	struct record *v = xreallocarray(NULL, n + 1, sizeof(*v));
	struct record *tmp = xreallocarray(NULL, n + 1, sizeof(*v));
	struct partition_at at = {0};
	int r = partition_read(s->copies, bucket, &at, v, n + 1, &n, s->e);

	if (!r) {
		spans_sort(v, tmp, n,
			   spans_copy_key(s, bucket * s->range, 0, 0),
			   spans_copy_key(s, s->range, 0, 0));
		cover_records(c, v, n);
	}
	free(v);
	free(tmp);
	return r;
}

int
spans_cover(struct search *s)
{
	struct cover c = {.s = s, .text = s->s->p};
	size_t i;
	int r = 0;

	for (i = 0; i < s->buckets && !r && !s->collided; i++)
		r = cover_bucket(&c, i);
	if (!r && !s->collided)
		cover_run(&c, UINT64_MAX);
	free(c.room);
	if (s->s->err.set && !s->e->set)
		*s->e = s->s->err;
	return s->e->set ? -1 : 0;
}
