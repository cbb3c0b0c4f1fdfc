/*
 * plan.c - see plan.h
 */
#include "order/plan.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"

void
plan_part_clear(struct plan_part *p)
{
	while (p->ndata)
		free(p->data[--p->ndata]);
	free(p->data);
	p->data = NULL;
	mixture_free(p->mix);
	p->mix = NULL;
}

void
plan_clear(struct plan *p)
{
	while (p->n)
		plan_part_clear(&p->v[--p->n]);
	free(p->v);
	*p = (struct plan){0};
}

/* ---- steps and windows ---- */

const struct plan_part *
plan_at(const struct plan *p, uint64_t step)
{
	size_t i = p->n - 1;

	while (i && p->v[i].step > step)
		i--;
	return &p->v[i];
}

uint64_t
plan_sample(const struct plan_part *p, uint64_t step)
{
	return p->sample + (step - p->step) * p->batch_size;
}

uint64_t
plan_window(const struct plan_part *p, uint64_t step, uint64_t i,
	    size_t *source)
{
	uint64_t sample = plan_sample(p, step) + i;

	*source = 0;
	return p->mix ? mixture_window(p->mix, p->order, p->seed, sample,
				       source) :
		order_window(p->order, p->seed, p->windows, sample);
}

static void
set_data(struct plan_part *p, char *const *data, size_t n)
{
	size_t i;

	while (p->ndata)
		free(p->data[--p->ndata]);
	free(p->data);
	p->data = xcalloc(n + 1, sizeof *p->data);
	for (i = 0; i < n; i++)
		p->data[i] = xstrdup(data[i]);
	p->ndata = n;
}

/* Are equal windows in the same order? */
static int
same_order(const struct plan_part *a, const struct plan_part *b)
{
	return a->order == b->order && a->seed == b->seed &&
		a->seq_len == b->seq_len;
}

static int
same_windows(const struct plan_part *a, const struct plan_part *b)
{
	return same_order(a, b) && a->hash == b->hash &&
		a->windows == b->windows && !a->mix == !b->mix;
}

static uint64_t
to_next_pass(uint64_t sample, uint64_t windows)
{
	return sample + (windows - sample % windows) % windows;
}

/*
 * Windows that earlier parts took from the shards of s; a part ends where the
 * next one begins, the last at `step`.
 */
static uint64_t
taken_before(const struct plan *p, uint64_t step, const struct plan_part *now,
	     const struct mix_source *s)
{
	uint64_t taken;
	size_t i, k;

	for (i = p->n; i--; step = p->v[i].step) {
		const struct plan_part *was = &p->v[i];

		for (k = 0; was->mix && k < was->mix->n; k++) {
			if (was->mix->v[k].hash != s->hash)
				continue;
			taken = mixture_taken(was->mix, k,
					      plan_sample(was, step));
			return same_order(was, now) ? taken :
				to_next_pass(taken, s->windows);
		}
	}
	return 0;
}

static void
add(struct plan *p, const struct plan_part *part, uint64_t step,
    uint64_t sample)
{
	struct plan_part *to;

	GROW(p->v, p->cap, p->n + 1);
	to = &p->v[p->n++];
	*to = *part;
	to->step = step;
	to->sample = sample;
	to->data = NULL;
	to->ndata = 0;
	set_data(to, part->data, part->ndata);
	to->mix = mixture_copy(part->mix);
}

/* The mixture has changed: its pattern starts again here. */
static void
begin_mixture(struct plan *p, uint64_t step, const struct plan_part *now,
	      uint64_t sample)
{
	struct mixture *m = mixture_copy(now->mix);
	struct plan_part part = *now;
	size_t i;

	m->from = sample;
	for (i = 0; i < m->n; i++)
		m->v[i].start = taken_before(p, step, now, &m->v[i]);
	part.mix = m;
	add(p, &part, step, sample);
	mixture_free(m);
}

void
plan_continue(struct plan *p, uint64_t step, const struct plan_part *now)
{
	const struct plan_part *last;
	struct plan_part part;
	uint64_t sample = 0;
	size_t i;

	while (p->n && p->v[p->n - 1].step >= step)
		plan_part_clear(&p->v[--p->n]);
	for (i = 0; i < p->n; i++)
		if (p->v[i].hash == now->hash)
			set_data(&p->v[i], now->data, now->ndata);
	last = p->n ? &p->v[p->n - 1] : NULL;
	if (last)
		sample = plan_sample(last, step);
	if (!last || !same_windows(last, now)) {
		if (now->mix)
			begin_mixture(p, step, now, sample);
		else
			add(p, now, step, last ?
			    to_next_pass(sample, now->windows) : 0);
		return;
	}
	if (last->batch_size == now->batch_size &&
	    last->doc_mask == now->doc_mask)
		return;
	part = *now;
	part.mix = last->mix;
	add(p, &part, step, sample);
}

/* ---- JSON ---- */

void
plan_part_mixture(const struct plan_part *p, const char *before,
		  struct buf *b)
{
	if (!p->mix)
		return;
	buf_printf(b, "%s\"mixture\": ", before);
	mixture_json(p->mix, b);
}

static void
put_part(const struct plan_part *p, struct buf *b)
{
	size_t i;

	buf_printf(b, "{\"step\": %" PRIu64 ", \"sample\": %" PRIu64
		   ", \"batch_size\": %" PRIu64 ", \"seq_len\": %" PRIu32
		   ", \"order\": \"%s\", \"seed\": %" PRIu64
		   ", \"doc_mask\": %s, \"windows\": %" PRIu64
		   ", \"data_hash\": \"%016" PRIx64
		   "\", \"shard_format\": \"%s\", \"id_bytes\": \"%s\","
		   " \"data\": [", p->step,
		   p->sample, p->batch_size, p->seq_len, order_names[p->order],
		   p->seed, p->doc_mask ? "true" : "false", p->windows,
		   p->hash, shard_format_names[p->format],
		   shard_id_bytes_names[p->id_bytes]);
	for (i = 0; i < p->ndata; i++) {
		buf_puts(b, i ? ", " : "");
		json_put_str(b, span_str(p->data[i]));
	}
	buf_putc(b, ']');
	plan_part_mixture(p, ", ", b);
	buf_putc(b, '}');
}

void
plan_json(const struct plan *p, struct buf *out)
{
	size_t i;

	buf_putc(out, '[');
	for (i = 0; i < p->n; i++) {
		buf_puts(out, i ? ", " : "");
		put_part(&p->v[i], out);
	}
	buf_putc(out, ']');
}

/* The index of a name in a list; if absent *to is unchanged. */
static int
choice(const struct json *j, const char *key, const char *const *names,
       int *to, const char *where, struct err *e)
{
	struct span s = {NULL, 0};
	int i;

	if (json_get_str(j, key, &s, e) < 0)
		return -1;
	for (i = 0; s.p && names[i]; i++)
		if (span_eq(s, span_str(names[i]))) {
			*to = i;
			return 0;
		}
	return s.p ? err_set(e, "%s: \"%s\" is %.*s", where, key, (int)s.n,
			     s.p) : 0;
}

static int
read_data(struct plan_part *p, const struct json *j, const char *where,
	  struct err *e)
{
	const struct json *d = json_get(j, "data");
	size_t i;

	if (!d || d->type != JSON_ARRAY || d->n == 0)
		return err_set(e, "%s: \"data\" is not an array of paths",
			       where);
	p->data = xcalloc(d->n, sizeof *p->data);
	for (i = 0; i < d->n; i++) {
		if (d->kids[i].type != JSON_STRING)
			return err_set(e, "%s: \"data\" is not an array of "
				       "paths", where);
		p->data[p->ndata++] = xmemdup0(d->kids[i].str.p,
					       d->kids[i].str.n);
	}
	return 0;
}

/* A configuration has the paths with their weights. */
static int
read_mixture(struct plan_part *p, const struct json *j, const char *where,
	     struct err *e)
{
	const struct json *mix = json_get(j, "mixture");
	size_t i;

	if (!mix)
		return 0;
	p->mix = mixture_read(mix, where, e);
	if (!p->mix)
		return -1;
	if (p->mix->n != p->ndata)
		return err_set(e, "%s: \"mixture\" has %zu sources, \"data\""
			       " %zu", where, p->mix->n, p->ndata);
	for (i = 0; !json_get(j, "windows") && i < p->ndata; i++) {
		char *colon = strrchr(p->data[i], ':');

		if (colon)
			*colon = '\0';
	}
	p->windows = mixture_windows(p->mix);
	p->hash = mixture_hash(p->mix);
	return 0;
}

static int
read_numbers(struct plan_part *p, const struct json *j, const char *where,
	     struct err *e)
{
	int64_t T = 0, B = 0, seed = -1, step = 0, sample = 0, windows = 0;
	int format = SHARD_AUTO, order = ORDER_SHUFFLE;

	p->doc_mask = 1;
	if (choice(j, "shard_format", shard_format_names, &format, where,
		   e) < 0 ||
	    choice(j, "id_bytes", shard_id_bytes_names, &p->id_bytes, where,
		   e) < 0 ||
	    choice(j, "order", order_names, &order, where, e) < 0 ||
	    json_get_int(j, "seq_len", &T, e) < 0 ||
	    json_get_int(j, "batch_size", &B, e) < 0 ||
	    json_get_int(j, "seed", &seed, e) < 0 ||
	    json_get_int(j, "step", &step, e) < 0 ||
	    json_get_int(j, "sample", &sample, e) < 0 ||
	    json_get_int(j, "windows", &windows, e) < 0 ||
	    json_get_bool(j, "doc_mask", &p->doc_mask, e) < 0)
		return -1;
	if (T < 1 || T > 1 << 30 || B < 1 || seed < 0)
		return err_set(e, "%s: \"seq_len\", \"batch_size\" or \"seed\""
			       " is missing or out of range", where);
	if (step < 0 || sample < 0 || windows < 0)
		return err_set(e, "%s: \"step\", \"sample\" or \"windows\" is"
			       " negative", where);
	p->format = (enum shard_format)format;
	p->order = (enum order_kind)order;
	p->seq_len = (uint32_t)T;
	p->batch_size = (uint64_t)B;
	p->seed = (uint64_t)seed;
	p->step = (uint64_t)step;
	p->sample = (uint64_t)sample;
	p->windows = (uint64_t)windows;
	return 0;
}

static int
read_hash(struct plan_part *p, const struct json *j, const char *where,
	  struct err *e)
{
	struct span s = {NULL, 0};
	char hex[17] = "", *end = hex;

	if (json_get_str(j, "data_hash", &s, e) < 0)
		return -1;
	if (!s.p)
		return 0;
	if (s.n == 16)
		memcpy(hex, s.p, 16);
	p->hash = strtoull(hex, &end, 16);
	return end == hex + 16 ? 0 :
		err_set(e, "%s: \"data_hash\" is %.*s, expected 16 hex digits",
			where, (int)(s.n > 40 ? 40 : s.n), s.p);
}

int
plan_part_read(struct plan_part *p, const struct json *object,
	       const char *where, struct err *e)
{
	*p = (struct plan_part){0};
	if (read_data(p, object, where, e) == 0 &&
	    read_numbers(p, object, where, e) == 0 &&
	    read_hash(p, object, where, e) == 0 &&
	    read_mixture(p, object, where, e) == 0)
		return 0;
	plan_part_clear(p);
	return -1;
}

int
plan_read(struct plan *p, const struct json *array, const char *where,
	  struct err *e)
{
	size_t i;

	if (array->type != JSON_ARRAY || !array->n)
		return err_set(e, "%s: \"batches\" is not an array of objects",
			       where);
	for (i = 0; i < array->n; i++) {
		struct plan_part part;
		int ordered;

		if (plan_part_read(&part, &array->kids[i], where, e) < 0)
			return -1;
		ordered = i ? part.step > p->v[i - 1].step : !part.step;
		if (ordered && part.windows)
			add(p, &part, part.step, part.sample);
		plan_part_clear(&part);
		if (p->n != i + 1)
			return err_set(e, "%s: \"batches\": element %zu does"
				       " not follow the one before it", where,
				       i + 1);
	}
	return 0;
}
