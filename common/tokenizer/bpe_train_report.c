/*
 * bpe_train_report.c - counts and summary of a training run
 */
#include "tokenizer/bpe_train_report.h"

typedef unsigned long long ull;	/* for printf */

static ull
last_count(const struct bpe_train *t)
{
	return t->n ? t->count[t->n - 1] : 0;
}

void
bpe_train_report_stats(const struct bpe_train_report *r, struct buf *b)
{
	struct pretokens_size z;

	pretokens_size(r->pretokens, &z);
	buf_putc(b, '{');
	if (r->docs) {
		doc_stats_json(r->docs, b);
		buf_putc(b, ',');
	}
	buf_printf(b, "\"pieces\":%llu,\"pieces_distinct\":%llu,"
		   "\"pieces_distinct_bytes\":%llu", (ull)z.total,
		   (ull)z.distinct, (ull)z.distinct_bytes);
	if (r->learned)
		buf_printf(b, ",\"vocab_size\":%zu,\"merges\":%zu,"
			   "\"last_merge_count\":%llu", r->tokens,
			   r->learned->n, last_count(r->learned));
	buf_puts(b, "}\n");
}

void
bpe_train_report_summary(const struct bpe_train_report *r, struct buf *b)
{
	const struct doc_stats *d = r->docs;
	struct pretokens_size z;

	pretokens_size(r->pretokens, &z);
	if (d)
		buf_printf(b, "%llu documents, %llu bytes, %llu replaced "
			   "characters; %llu dropped, %llu bad\n",
			   (ull)d->docs_kept, (ull)d->bytes_kept,
			   (ull)d->surrogates, (ull)d->docs_dropped,
			   (ull)d->docs_bad);
	buf_printf(b, "%llu pre-tokens, %llu distinct of %llu bytes\n",
		   (ull)z.total, (ull)z.distinct, (ull)z.distinct_bytes);
	if (r->learned)
		buf_printf(b, "%zu tokens, the last merge seen %llu times; "
			   "%llu MB while merging\n", r->tokens,
			   last_count(r->learned),
			   (ull)(r->learned->memory / 1000000));
}
