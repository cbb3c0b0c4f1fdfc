/*
 * report.c - what contam13 says at its end
 */
#include "contam/report.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/output.h"
#include "base/progress.h"
#include "contam/benchmark_report.h"

enum { IGNORED_SHOWN = 5 };

static void
put_ignored(const struct ngram_bench *nb, struct buf *b)
{
	struct buf text = {0};
	uint32_t *v;
	size_t i, n;

	v = ngram_bench_ignored(nb, &n);
	buf_printf(b, ",\"ignored_grams\":%zu,\"ignored\":[", n);
	for (i = 0; i < n; i++) {
		buf_reset(&text);
		ngram_bench_text(nb, v[i], &text);
		buf_puts(b, i ? ",{\"text\":" : "{\"text\":");
		json_put_str(b, buf_span(&text));
		buf_printf(b, ",\"docs\":%lu}", (unsigned long)nb->df[v[i]]);
	}
	buf_putc(b, ']');
	buf_clear(&text);
	free(v);
}

void
ngram_report_stats(const struct ngram_report *r, struct buf *b)
{
	buf_printf(b, "\"docs_hit\":%llu,\"unit\":\"%s\",\"grams\":%zu,",
		   (unsigned long long)r->run->docs_hit,
		   r->nb->vocab ? "token" : "word", ngram_count(r->nb->g));
	bench_json(&r->nb->b, r->scores, b);
	if (r->nb->max_df)
		put_ignored(r->nb, b);
}

int
ngram_report_shards(const struct ngram_report *r, struct output *out,
		    struct err *e)
{
	struct buf b = {0};
	int rc;

	buf_printf(&b, "{\"docs_in\":%llu,\"tokens_in\":%llu,",
		   (unsigned long long)r->run->docs,
		   (unsigned long long)r->run->tokens);
	ngram_report_stats(r, &b);
	buf_puts(&b, "}\n");
	rc = output_write(out, b.p, b.n, e);
	buf_clear(&b);
	return rc;
}

int
ngram_report_table(const struct ngram_report *r, const char *path, int person,
		   struct err *e)
{
	struct output *out = output_open(path, e);
	struct buf b = {0};
	int rc;

	if (!out)
		return -1;
	if (person)
		bench_table_text(&r->nb->b, r->scores, &b);
	else
		bench_table(&r->nb->b, r->scores, r->json, &b);
	rc = output_write(out, b.p, b.n, e);
	buf_clear(&b);
	if (rc) {
		output_abort(out);
		return -1;
	}
	return output_commit(out, e);
}

static void
show_ignored(const struct ngram_bench *nb)
{
	struct buf text = {0};
	uint32_t *v;
	size_t i, n;

	v = ngram_bench_ignored(nb, &n);
	if (n)
		fprintf(stderr, "grams in more than %llu documents, ignored  "
			"%zu\n", (unsigned long long)nb->max_df, n);
	for (i = 0; i < n && i < IGNORED_SHOWN; i++) {
		buf_reset(&text);
		ngram_bench_text(nb, v[i], &text);
		fprintf(stderr, "  %8lu  %.*s\n", (unsigned long)nb->df[v[i]],
			(int)text.n, text.p);
	}
	free(v);
	buf_clear(&text);
}

void
ngram_report_summary(const struct ngram_report *r, int table, int verbose)
{
	size_t grams = ngram_count(r->nb->g);
	struct buf b = {0};

	progress_erase();
	if (verbose)
		fprintf(stderr, "%zu grams, %.1f bytes each\n", grams,
			grams ? (double)ngram_bytes(r->nb->g) / grams : 0);
	fprintf(stderr, "documents with a hit  %llu\n",
		(unsigned long long)r->run->docs_hit);
	show_ignored(r->nb);
	if (table)
		bench_table_text(&r->nb->b, r->scores, &b);
	if (b.n)
		fwrite(b.p, 1, b.n, stderr);
	buf_clear(&b);
}
