/*
 * order.c - a keyed permutation of all windows for each epoch
 *
 * The epoch is part of the stream number of the random function, so every
 * epoch has its own permutation and is a true pass.  Sequential order wraps
 * around at the end; random order draws with replacement, once per sample.
 */
#include "record/order.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/rng.h"

const char *const order_names[] = {"shuffle", "sequential", "random", NULL};

uint64_t
order_window(enum order_kind kind, uint64_t seed, uint64_t windows,
	     uint64_t sample)
{
	uint64_t epoch = sample / windows, i = sample % windows;

	switch (kind) {
	case ORDER_SEQUENTIAL:
		return i;
	case ORDER_RANDOM:
		return rng_below(seed, RNG_ORDER, sample, windows);
	default:
		return rng_permute(seed, RNG_ORDER | epoch << 8, i, windows);
	}
}

/* ---- plans ---- */

void
plan_part_clear(struct plan_part *p)
{
	while (p->ndata)
		free(p->data[--p->ndata]);
	free(p->data);
	p->data = NULL;
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
plan_window(const struct plan_part *p, uint64_t step, uint64_t i)
{
	return order_window(p->order, p->seed, p->windows,
			    plan_sample(p, step) + i);
}

static void
set_data(struct plan_part *p, char *const *data, size_t n)
{
	size_t i;

	plan_part_clear(p);
	p->data = xcalloc(n + 1, sizeof *p->data);
	for (i = 0; i < n; i++)
		p->data[i] = xstrdup(data[i]);
	p->ndata = n;
}

/* The same windows in the same order? */
static int
same_order(const struct plan_part *a, const struct plan_part *b)
{
	return a->order == b->order && a->seed == b->seed &&
		a->seq_len == b->seq_len && a->hash == b->hash &&
		a->windows == b->windows;
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
}

void
plan_continue(struct plan *p, uint64_t step, const struct plan_part *now)
{
	const struct plan_part *last;
	uint64_t sample = 0;
	size_t i;

	while (p->n && p->v[p->n - 1].step >= step)
		plan_part_clear(&p->v[--p->n]);
	for (i = 0; i < p->n; i++)
		if (p->v[i].hash == now->hash)
			set_data(&p->v[i], now->data, now->ndata);
	if (p->n) {
		last = &p->v[p->n - 1];
		sample = plan_sample(last, step);
		if (!same_order(last, now))
			sample += (now->windows - sample % now->windows) %
				now->windows;
		else if (last->batch_size == now->batch_size &&
			 last->doc_mask == now->doc_mask)
			return;
	}
	add(p, now, step, sample);
}

/* ---- JSON ---- */

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
	buf_puts(b, "]}");
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
	    read_hash(p, object, where, e) == 0)
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
