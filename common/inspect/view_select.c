/*
 * view_select.c - write selected windows or documents of a shard
 */
#include "inspect/view_select.h"

#include "base/rng.h"

static int
window(struct view_select *w, uint64_t k, struct err *e)
{
	if (window_view_put(&w->view, k, w->form, &w->buf, e) < 0)
		return -1;
	return output_put(w->out, &w->buf, e);
}

int
view_select_windows(struct view_select *w, uint64_t first, uint64_t count,
		struct err *e)
{
	uint64_t n = shards_windows(w->view.shards, w->view.T), i;

	for (i = 0; i < count && (!i || first + i < n); i++)
		if (window(w, first + i, e) < 0)
			return -1;
	return 0;
}

int
view_select_random(struct view_select *w, uint64_t seed, uint64_t count,
	       struct err *e)
{
	uint64_t n = shards_windows(w->view.shards, w->view.T), i;

	if (n == 0)		/* for its message */
		return window(w, 0, e);
	for (i = 0; i < count && i < n; i++)
		if (window(w, rng_permute(seed, RNG_PICK, i, n), e) < 0)
			return -1;
	return 0;
}

int
view_select_step(struct view_select *w, const struct plan_part *p,
		 struct shards *const *shards, uint64_t step, uint64_t from,
		 uint64_t to, struct err *e)
{
	uint64_t i, k;
	size_t s;

	if (p->windows == 0)	/* for its message */
		return window(w, 0, e);
	for (i = from; i < to; i++) {
		k = plan_window(p, step, i, &s);
		w->view.shards = shards[s];
		if (p->mix)
			w->view.source = p->data[s];
		if (window(w, k, e) < 0)
			return -1;
	}
	return 0;
}

int
view_select_doc(struct view_select *w, const char *id, struct err *e)
{
	const struct shard_info *info = shards_info(w->view.shards);
	struct span want = span_str(id);
	uint64_t d, hits = 0;
	struct shard_doc doc;
	struct buf tmp = {0};

	for (d = 0; d < info->pieces; d++) {
		if (shards_doc(w->view.shards, d, &doc, e) < 0)
			break;
		if (!span_eq(shards_doc_id(&doc, &tmp), want))
			continue;
		hits++;
		if (window_view_record(&w->view, d, w->form, &w->buf, e) < 0 ||
		    output_put(w->out, &w->buf, e) < 0)
			break;
	}
	buf_clear(&tmp);
	if (!e->set && hits == 0)
		err_set(e, "no document %s among %llu", id,
			(unsigned long long)info->docs);
	return e->set ? -1 : 0;
}
