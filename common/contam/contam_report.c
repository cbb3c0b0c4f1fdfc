/*
 * contam_report.c - report, stats, table and summary of contam13
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/progress.h"
#include "base/utf8.h"
#include "contam/benchmark_table.h"
#include "contam/contam_priv.h"
#include "stream/json.h"

enum { TEXT_MAX = 4096, IGNORED_SHOWN = 5 };

/* The text, or if it is long both ends of it, at character boundaries. */
static struct span
shorten(struct span s, struct buf *tmp)
{
	size_t a = TEXT_MAX / 2, b = s.n - a;

	if (s.n <= TEXT_MAX)
		return s;
	while (a && utf8_is_cont(s.p[a]))
		a--;
	while (b < s.n && utf8_is_cont(s.p[b]))
		b++;
	buf_reset(tmp);
	buf_put(tmp, s.p, a);
	buf_puts(tmp, " [...] ");
	buf_put(tmp, s.p + b, s.n - b);
	return buf_span(tmp);
}

struct span
contam_report_line(struct contam *c, struct span id,
		   const struct tally_match *m, uint64_t base,
		   struct span text)
{
	const struct benchmarks *b = &c->x.b;
	struct buf *out = &c->line;

	buf_reset(out);
	buf_putc(out, '{');
	json_put_key(out, "id");
	json_put_str(out, id);
	json_put_key_str(out, "benchmark", b->v[b->ex[m->ex].of].name);
	json_put_key(out, "example");
	json_put_str(out, benchmark_id(b, &b->ex[m->ex], &c->tmp));
	json_put_key_uint(out, "start", base + m->start);
	json_put_key_uint(out, "end", base + m->end);
	json_put_key_uint(out, "grams", m->grams);
	json_put_key(out, "text");
	json_put_str(out, shorten(text, &c->tmp));
	buf_putc(out, '}');
	return buf_span(out);
}

static void
put_ignored(const struct contam *c, struct buf *b)
{
	struct buf text = {0};
	struct tally_ignored *v;
	size_t i, n;

	v = tally_ignored(&c->tally, &n);
	json_put_key_uint(b, "ignored_grams", n);
	json_put_key(b, "ignored");
	buf_putc(b, '[');
	for (i = 0; i < n; i++) {
		buf_reset(&text);
		benchmark_index_text(&c->x, v[i].gram, &text);
		buf_puts(b, i ? ",{" : "{");
		json_put_key(b, "text");
		json_put_str(b, buf_span(&text));
		json_put_key_uint(b, "docs", v[i].docs);
		buf_putc(b, '}');
	}
	buf_putc(b, ']');
	buf_clear(&text);
	free(v);
}

void
contam_report_stats(const struct contam *c, struct buf *b)
{
	json_put_key_uint(b, "docs_hit", c->docs_hit);
	json_put_key_str(b, "unit", c->vocab ? "token" : "word");
	json_put_key_uint(b, "grams", ngram_count(c->x.ngrams));
	benchmark_put_json(&c->x.b, c->o->scores != NULL, b);
	if (c->tally.max_df)
		put_ignored(c, b);
}

int
contam_report_table(const struct contam *c, const char *path, int person,
		    struct err *e)
{
	int scores = c->o->scores != NULL, rc;
	struct output *out = output_open(path, e);
	struct buf b = {0};

	if (!out)
		return -1;
	if (person)
		benchmark_put_text(&c->x.b, scores, &b);
	else
		benchmark_put_table(&c->x.b, scores, c->o->json, &b);
	rc = output_put(out, &b, e);
	buf_clear(&b);
	if (!rc)
		return output_commit(out, e);
	output_abort(out);
	return -1;
}

static void
show_ignored(const struct contam *c)
{
	struct buf text = {0};
	struct tally_ignored *v;
	size_t i, n;

	v = tally_ignored(&c->tally, &n);
	if (n)
		fprintf(stderr, "ignored n-grams, in more than %llu documents  "
			"%zu\n", (unsigned long long)c->tally.max_df, n);
	for (i = 0; i < n && i < IGNORED_SHOWN; i++) {
		buf_reset(&text);
		benchmark_index_text(&c->x, v[i].gram, &text);
		fprintf(stderr, "  %8lu  %.*s\n", (unsigned long)v[i].docs,
			(int)text.n, text.p);
	}
	free(v);
	buf_clear(&text);
}

void
contam_report_summary(const struct contam *c, int table)
{
	size_t n = ngram_count(c->x.ngrams);
	struct buf b = {0};

	progress_erase();
	if (c->o->verbose)
		fprintf(stderr, "%zu n-grams, %.1f bytes per n-gram\n", n,
			n ? (double)ngram_bytes(c->x.ngrams) / n : 0);
	fprintf(stderr, "documents read        %llu\n",
		(unsigned long long)c->docs_in);
	if (!c->o->shards)
		fprintf(stderr, "documents kept        %llu\n",
			(unsigned long long)c->docs_kept);
	fprintf(stderr, "documents with a hit  %llu\n",
		(unsigned long long)c->docs_hit);
	show_ignored(c);
	if (table)
		benchmark_put_text(&c->x.b, c->o->scores != NULL, &b);
	if (b.n)
		fwrite(b.p, 1, b.n, stderr);
	buf_clear(&b);
}
