/*
 * summary.c - totals, for --stats and for a person at a terminal
 */
#include <stdio.h>

#include "base/progress.h"
#include "dedup/dedup_priv.h"
#include "text/unicode.h"

enum { NAME_SHOWN = 40, EXCERPT = 48 };		/* characters */

static const char *const names[REASONS] = {
	"", "exact", "near", "span", "repeat_run", "repeat_phrase",
	"repeat_gopher"
};

void
dedup_totals_clear(struct totals *t)
{
	size_t i;

	for (i = 0; i < TOP; i++)
		buf_clear(&t->top[i].text);
}

/* --- large clusters --- */

/* The largest first, then by order. */
void
dedup_totals_find_top(struct totals *t, const struct dedup *d)
{
	const uint32_t *size = d->clusters.size;
	struct top *top = t->top;
	size_t k, n = 0;
	uint32_t i;

	for (k = 0; k < TOP; k++)
		top[k].member = NOT;
	for (i = 0; i < d->members.n; i++) {
		if (size[i] < 2 ||
		    (n == TOP && size[top[TOP - 1].member] >= size[i]))
			continue;
		n += n < TOP;
		for (k = n - 1; k && size[top[k - 1].member] < size[i]; k--)
			top[k].member = top[k - 1].member;
		top[k].member = i;
	}
}

int
dedup_totals_is_top(const struct totals *t, uint32_t member)
{
	int i;

	for (i = 0; member != NOT && i < TOP; i++)
		if (t->top[i].member == member)
			return i + 1;
	return 0;
}

/* At most max characters, those that move a cursor as spaces. */
static void
put_plain(struct buf *b, struct span text, size_t max)
{
	size_t k, n = 0;
	unsigned len;

	for (k = 0; k < text.n && n < max; k += len, n++) {
		uint32_t c = uc_next(text.p + k, text.n - k, &len);

		if (uc_class(c) & UC_SPACE || uc_cat(c) == UC_CC ||
		    uc_cat(c) == UC_CF)
			buf_putc(b, ' ');
		else
			buf_put(b, text.p + k, len);
	}
}

void
dedup_totals_excerpt(struct totals *t, const struct doc *doc, uint32_t member)
{
	int i = dedup_totals_is_top(t, member);
	struct buf *b = i ? &t->top[i - 1].text : NULL, id = {0};

	if (!b || b->n || doc->bad || !doc->text.p)
		return;
	put_plain(b, doc_id(doc, &id), NAME_SHOWN);
	buf_puts(b, "  ");
	put_plain(b, doc->text, EXCERPT);
	buf_clear(&id);
}

/* --- --stats --- */

void
dedup_stats_put(const struct dedup *d, const struct totals *t, struct buf *b)
{
	int i;

	for (i = EXACT; i < REASONS; i++)
		buf_printf(b, "%s\"%s\":{\"docs\":%llu,\"bytes\":%llu}",
			   i > EXACT ? "," : "", names[i],
			   (unsigned long long)t->docs[i],
			   (unsigned long long)t->bytes[i]);
	buf_printf(b, ",\"span_dropped\":{\"docs\":%llu,\"bytes\":%llu}",
		   (unsigned long long)t->span_drops,
		   (unsigned long long)t->span_drop_bytes);
	buf_printf(b, ",\"clusters\":%llu,\"largest_cluster\":%llu,"
		   "\"pairs_compared\":%llu,\"pairs_similar\":%llu,"
		   "\"docs_without_words\":%llu,\"sorted_runs\":%zu,"
		   "\"spans_on_disk\":%s",
		   (unsigned long long)d->clusters.n,
		   (unsigned long long)d->clusters.largest,
		   (unsigned long long)d->pairs.compared,
		   (unsigned long long)d->pairs.similar,
		   (unsigned long long)d->no_words,
		   extsort_runs(d->members.exact) +
		   extsort_runs(d->members.bands),
		   d->passages.spilled ? "true" : "false");
}

/* --- for a person --- */

static void
line(const char *name, const char *what, uint64_t docs, uint64_t bytes)
{
	char s[32];

	snprintf(s, sizeof(s), "%s%s", name, what);
	fprintf(stderr, "%-21s %12llu %16llu\n", s, (unsigned long long)docs,
		(unsigned long long)bytes);
}

/* What was dropped, cut or marked, by reason: adds up. */
static void
reason_lines(const struct dedup *d, const struct totals *t)
{
	int i;

	for (i = EXACT; i < REASONS; i++) {
		uint64_t docs = t->docs[i], bytes = t->bytes[i];

		if (i == SPAN && docs > t->span_drops)
			line(names[i], ", cut", docs - t->span_drops,
			     bytes - t->span_drop_bytes);
		if (i == SPAN) {
			docs = t->span_drops;
			bytes = t->span_drop_bytes;
		}
		if (docs)
			line(names[i], i == SPAN ? ", dropped" :
			     i >= RUN && d->o->mark ? ", marked" : "", docs,
			     bytes);
	}
}

void
dedup_summary_print(const struct dedup *d, const struct totals *t,
		    const struct doc_stats *s)
{
	size_t i;

	progress_erase();
	fprintf(stderr, "%-21s %12s %16s\n", "", "documents", "bytes of text");
	line("read", "", s->docs_in, s->bytes_in);
	reason_lines(d, t);
	if (s->docs_bad)
		line("bad", "", s->docs_bad, 0);
	line("kept", "", s->docs_kept, s->bytes_kept);
	if (!d->clusters.n)
		return;
	fprintf(stderr, "%llu clusters, the largest:\n",
		(unsigned long long)d->clusters.n);
	for (i = 0; i < TOP && t->top[i].member != NOT; i++)
		fprintf(stderr, "%8u  %.*s\n",
			d->clusters.size[t->top[i].member],
			(int)t->top[i].text.n, t->top[i].text.p);
}
