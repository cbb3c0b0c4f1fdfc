/*
 * window_view.c - a window or a document of a shard as text, table or JSON
 *
 * Windows come from shards_window(), which the trainer calls too; nothing is
 * computed a second way.
 */
#include "inspect/window_view.h"

#include <stdlib.h>

#include "base/mem.h"
#include "stream/json.h"
#include "text/display.h"

void
window_view_init(struct window_view *l, const struct shards *s,
		 const struct vocab *v, uint32_t T)
{
	memset(l, 0, sizeof(*l));
	l->shards = s;
	l->vocab = v;
	l->T = T;
	l->doc_mask = 1;
	l->ids = xreallocarray(NULL, T, 4);
	l->targets = xreallocarray(NULL, T, 4);
	l->mask = xmalloc(T);
}

void
window_view_clear(struct window_view *l)
{
	free(l->ids);
	free(l->targets);
	free(l->mask);
	free(l->doc);
	buf_clear(&l->names);
	buf_clear(&l->tmp);
}

static void
add_doc(struct window_view *l, const struct shard_doc *d, uint64_t at)
{
	struct span id = shards_doc_id(d, &l->tmp);
	uint64_t end = d->end < at + l->T ? d->end : at + l->T;
	struct window_view_doc *o;

	GROW(l->doc, l->cap, l->ndoc + 1);
	o = &l->doc[l->ndoc++];
	o->id = l->names.n;
	o->id_n = id.n;
	buf_put(&l->names, id.p, id.n);
	o->start = d->start > at ? (uint32_t)(d->start - at) : 0;
	o->end = (uint32_t)(end - at);
	o->from = d->from + (d->start < at ? at - d->start : 0);
	o->more = d->end > end || !d->last;
}

static int
load(struct window_view *l, uint64_t k, struct err *e)
{
	uint64_t at = shards_window_at(l->shards, l->T, k), d, n;
	struct shard_doc doc;

	if (shards_window(l->shards, l->T, k, l->doc_mask, l->ids, l->targets,
			  l->mask, NULL, e) < 0)
		return -1;
	l->window = k;
	l->ndoc = 0;
	buf_reset(&l->names);
	n = shards_info(l->shards)->pieces;
	d = shards_doc_at(l->shards, at, e);
	if (e->set)
		return -1;
	if (d == UINT64_MAX)
		d = 0;
	for (; d < n; d++) {
		if (shards_doc(l->shards, d, &doc, e) < 0)
			return -1;
		if (doc.start >= at + l->T)
			break;
		if (doc.end > at && doc.end > doc.start)
			add_doc(l, &doc, at);
	}
	return 0;
}

static void
put_ids(const uint32_t *v, size_t n, const char *between, struct buf *out)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (i)
			buf_puts(out, between);
		json_put_uint(out, v[i]);
	}
}

static struct span
name_of(const struct window_view *l, const struct window_view_doc *d)
{
	return (struct span){l->names.p + d->id, d->id_n};
}

/* A name on a line of its own; control characters must not break it. */
static void
put_name(struct span s, struct buf *out)
{
	size_t i;

	for (i = 0; i < s.n; i++) {
		if ((unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7f)
			buf_printf(out, "<0x%02X>", (unsigned char)s.p[i]);
		else
			buf_putc(out, s.p[i]);
	}
}

static void
put_text(const struct window_view *l, const uint32_t *ids, size_t n,
	 struct buf *out)
{
	if (l->vocab)
		display_text(l->vocab, ids, n, out);
	else
		put_ids(ids, n, " ", out);
	if (out->n && out->p[out->n - 1] != '\n')
		buf_putc(out, '\n');
}

static void
window_text(const struct window_view *l, struct buf *out)
{
	uint64_t at = shards_window_at(l->shards, l->T, l->window);
	uint32_t pos = 0;
	size_t i;

	buf_printf(out, "==== window %llu", (unsigned long long)l->window);
	if (l->source) {
		buf_puts(out, " of ");
		put_name(span_str(l->source), out);
	}
	buf_printf(out, ": tokens %llu to %llu, ", (unsigned long long)at,
		   (unsigned long long)(at + l->T - 1));
	if (shards_info(l->shards)->pieces)
		buf_printf(out, "%zu document%s ====\n", l->ndoc,
			   l->ndoc == 1 ? "" : "s");
	else
		buf_puts(out, "boundaries unknown ====\n");
	for (i = 0; i < l->ndoc; i++) {
		const struct window_view_doc *d = &l->doc[i];

		buf_puts(out, "==> ");
		put_name(name_of(l, d), out);
		buf_printf(out, " <== %u to %u", d->start, d->end - 1);
		if (d->from)
			buf_printf(out, ", from its token %llu",
				   (unsigned long long)d->from);
		buf_puts(out, d->more ? ", continues\n" : "\n");
		put_text(l, l->ids + d->start, d->end - d->start, out);
		pos = d->end;
	}
	if (pos < l->T && l->ndoc)
		buf_printf(out, "==> padding <== %u to %u\n", pos, l->T - 1);
	else if (pos < l->T)
		put_text(l, l->ids, l->T, out);
}

static void
window_json(const struct window_view *l, struct buf *out)
{
	uint32_t i;
	size_t k;

	buf_printf(out, "{\"window\":%llu", (unsigned long long)l->window);
	if (l->source)
		json_put_key_str(out, "source", l->source);
	buf_puts(out, ",\"ids\":[");
	put_ids(l->ids, l->T, ",", out);
	buf_puts(out, "],\"targets\":[");
	put_ids(l->targets, l->T, ",", out);
	buf_puts(out, "],\"mask\":[");
	for (i = 0; i < l->T; i++)
		buf_puts(out, i ? l->mask[i] ? ",1" : ",0" :
			 l->mask[i] ? "1" : "0");
	buf_puts(out, "],\"docs\":[");
	for (k = 0; k < l->ndoc; k++) {
		buf_puts(out, k ? ",{\"id\":" : "{\"id\":");
		json_put_str(out, name_of(l, &l->doc[k]));
		buf_printf(out, ",\"start\":%u,\"end\":%u}", l->doc[k].start,
			   l->doc[k].end);
	}
	buf_puts(out, "]}\n");
}

/* End a cell of the table: with a tab, or blanks up to its width. */
static void
cell(const struct window_view *l, struct buf *out, size_t from, size_t width)
{
	size_t k;

	if (!l->wide) {
		buf_putc(out, '\t');
		return;
	}
	for (k = display_columns(out->p + from, out->n - from); k < width; k++)
		buf_putc(out, ' ');
	buf_putc(out, ' ');
}

static void
cell_token(const struct window_view *l, uint32_t id, struct buf *out)
{
	size_t from = out->n;

	buf_printf(out, "%u", id);
	cell(l, out, from, 7);
	if (!l->vocab)
		return;
	from = out->n;
	display_token(l->vocab, id, out);
	cell(l, out, from, 20);
}

static void
window_targets(const struct window_view *l, struct buf *out)
{
	struct span none = {"-", 1}, id;
	size_t from, d = 0;
	uint32_t i;

	for (i = 0; i < l->T; i++) {
		from = out->n;
		buf_printf(out, "%llu", (unsigned long long)l->window);
		cell(l, out, from, 8);
		from = out->n;
		buf_printf(out, "%u", i);
		cell(l, out, from, 5);
		cell_token(l, l->ids[i], out);
		cell_token(l, l->targets[i], out);
		from = out->n;
		buf_putc(out, l->mask[i] ? '1' : '0');
		cell(l, out, from, 4);
		while (d < l->ndoc && l->doc[d].end <= i)
			d++;
		id = d < l->ndoc && l->doc[d].start <= i ?
		     name_of(l, &l->doc[d]) : none;
		put_name(id, out);
		if (l->source) {
			buf_putc(out, '\t');
			put_name(span_str(l->source), out);
		}
		buf_putc(out, '\n');
	}
}

void
window_view_heading(const struct window_view *l, enum window_view_form f,
		    struct buf *out)
{
	static const char *const name[] = {"window", "pos", "id", "token",
		"target", "target_token", "mask"};
	static const size_t width[] = {8, 5, 7, 20, 7, 20, 4};
	size_t i, from;

	if (f != VIEW_TARGETS)
		return;
	for (i = 0; i < 7; i++) {
		if (!l->vocab && (i == 3 || i == 5))
			continue;
		from = out->n;
		buf_puts(out, name[i]);
		cell(l, out, from, width[i]);
	}
	buf_puts(out, l->source ? "doc\tsource\n" : "doc\n");
}

int
window_view_put(struct window_view *l, uint64_t k, enum window_view_form f,
		struct buf *out, struct err *e)
{
	if (load(l, k, e) < 0)
		return -1;
	switch (f) {
	case VIEW_TEXT:
		window_text(l, out);
		break;
	case VIEW_IDS:
		put_ids(l->ids, l->T, " ", out);
		buf_putc(out, '\n');
		break;
	case VIEW_TARGETS:
		window_targets(l, out);
		break;
	case VIEW_JSON:
		window_json(l, out);
		break;
	}
	return 0;
}

/* The windows with tokens of [start, end); first > last if there are none. */
static void
windows_of(const struct window_view *l, uint64_t start, uint64_t end,
	   uint64_t *first, uint64_t *last)
{
	uint64_t stride = shards_window_at(l->shards, l->T, 1);
	uint64_t n = shards_windows(l->shards, l->T);

	*first = start / stride;
	*last = (end > start ? end - 1 : start) / stride;
	if (n == 0)
		*first = 1, *last = 0;
	else if (*last >= n)
		*last = n - 1;
}

static void
record_head(struct window_view *l, const struct shard_doc *d, uint64_t first,
	    uint64_t last, struct buf *out)
{
	buf_puts(out, "==> ");
	put_name(shards_doc_id(d, &l->tmp), out);
	buf_printf(out, " <== %llu tokens from token %llu",
		   (unsigned long long)(d->end - d->start),
		   (unsigned long long)d->start);
	if (d->from)
		buf_printf(out, ", from its token %llu",
			   (unsigned long long)d->from);
	if (!d->last)
		buf_puts(out, ", continues elsewhere");
	if (first < last)
		buf_printf(out, ", windows %llu to %llu",
			   (unsigned long long)first,
			   (unsigned long long)last);
	else if (first == last)
		buf_printf(out, ", window %llu", (unsigned long long)first);
	buf_putc(out, '\n');
}

static void
record_json(struct window_view *l, const struct shard_doc *d, uint64_t first,
	    uint64_t last, const uint32_t *ids, struct buf *out)
{
	buf_puts(out, "{\"id\":");
	json_put_str(out, shards_doc_id(d, &l->tmp));
	buf_printf(out, ",\"start\":%llu,\"end\":%llu,\"from\":%llu,"
		   "\"windows\":[", (unsigned long long)d->start,
		   (unsigned long long)d->end, (unsigned long long)d->from);
	if (first <= last)
		buf_printf(out, "%llu,%llu", (unsigned long long)first,
			   (unsigned long long)last);
	buf_puts(out, "],\"ids\":[");
	put_ids(ids, d->end - d->start, ",", out);
	buf_puts(out, "]}\n");
}

int
window_view_record(struct window_view *l, uint64_t k,
		   enum window_view_form f, struct buf *out, struct err *e)
{
	uint64_t first, last;
	struct shard_doc d;
	uint32_t *ids;
	size_t n;
	int r;

	if (shards_doc(l->shards, k, &d, e) < 0)
		return -1;
	windows_of(l, d.start, d.end, &first, &last);
	if (f == VIEW_TARGETS) {
		for (; first <= last; first++)
			if (window_view_put(l, first, f, out, e) < 0)
				return -1;
		return 0;
	}
	n = d.end - d.start;
	ids = xreallocarray(NULL, n + 1, sizeof(*ids));
	r = shards_read(l->shards, d.start, n, ids, e);
	if (r == 0 && f == VIEW_JSON) {
		record_json(l, &d, first, last, ids, out);
	} else if (r == 0 && f == VIEW_TEXT) {
		record_head(l, &d, first, last, out);
		put_text(l, ids, n, out);
	} else if (r == 0) {
		put_ids(ids, n, " ", out);
		buf_putc(out, '\n');
	}
	free(ids);
	return r;
}
