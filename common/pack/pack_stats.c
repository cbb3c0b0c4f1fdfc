/* pack_stats.c - the summary of pack */
#include "pack/pack_stats.h"

#include <stdio.h>

typedef unsigned long long ull;

static struct packer_stats
both(const struct pack_job *j)
{
	struct packer_stats a = packer_stats(j->train), b;

	if (!j->val)
		return a;
	b = packer_stats(j->val);
	a.docs += b.docs;
	a.tokens += b.tokens;
	a.windows += b.windows;
	a.spanning += b.spanning;
	a.repeated += b.repeated;
	a.padding += b.padding;
	if (b.largest > a.largest)
		a.largest = b.largest;
	return a;
}

static double
ratio(double a, double b)
{
	return b ? a / b : 0;
}

/* Bytes of text per token, without BOS and EOS. */
static double
bytes_per_token(const struct pack_job *j, const struct packer_stats *s,
		uint64_t bytes)
{
	return ratio(bytes, s->tokens - s->docs *
		     (j->front.n + j->back.n));
}

/* The fraction of padding in the tokens of windows. */
static double
waste(const struct pack_stats *s, const struct packer_stats *p)
{
	return ratio(p->padding, (double)p->windows * (s->seq_len + 1.0));
}

static void
put_real(struct buf *b, const char *key, double x)
{
	buf_printf(b, ",\"%s\":%.6g", key, x);
}

static void
put_count(struct buf *b, const char *key, uint64_t n)
{
	buf_printf(b, ",\"%s\":%llu", key, (ull)n);
}

static void
put_set(const struct pack_stats *s, const struct packer_stats *p,
	uint64_t bytes,
	struct buf *b)
{
	buf_printf(b, "\"tokens\":%llu", (ull)p->tokens);
	put_real(b, "bytes_per_token", bytes_per_token(s->job, p, bytes));
	put_count(b, "windows", p->windows);
	put_count(b, "windows_spanning", p->spanning);
	put_real(b, "spanning_share", ratio(p->spanning, p->windows));
	put_real(b, "largest_doc_share", p->largest);
	put_count(b, "padding_tokens", p->padding);
	put_real(b, "padding_share", waste(s, p));
	put_count(b, "repeated_tokens", p->repeated);
}

static void
put_part(const struct pack_stats *s, const char *name,
	 const struct packer *from,
	 uint64_t bytes, struct buf *b)
{
	struct packer_stats p = packer_stats(from);

	buf_printf(b, ",\"%s\":{\"docs\":%llu,", name, (ull)p.docs);
	put_set(s, &p, bytes, b);
	buf_putc(b, '}');
}

void
pack_stats_json(const struct pack_stats *s, struct buf *b)
{
	const struct pack_job *j = s->job;
	struct packer_stats all = both(j);

	buf_putc(b, '{');
	doc_stats_json(&j->docs, b);
	buf_putc(b, ',');
	put_set(s, &all, j->train_bytes + j->val_bytes, b);
	put_count(b, "seq_len", s->seq_len);
	put_count(b, "vocab_size", s->vocab);
	buf_printf(b, ",\"tokenizer_fingerprint\":\"%016llx\"",
		   (ull)s->fingerprint);
	if (s->identity)
		buf_printf(b, ",\"pair\":\"%016llx\"", (ull)s->identity);
	if (j->val) {
		put_part(s, "train", j->train, j->train_bytes, b);
		put_part(s, "val", j->val, j->val_bytes, b);
	}
	buf_puts(b, "}\n");
}

static void
line_count(struct buf *b, const char *what, uint64_t n)
{
	buf_printf(b, "%-34s %14llu\n", what, (ull)n);
}

static void
line_share(struct buf *b, const char *what, double x)
{
	buf_printf(b, "%-34s %13.2f%%\n", what, 100 * x);
}

void
pack_stats_text(const struct pack_stats *s, struct buf *b)
{
	const struct pack_job *j = s->job;
	struct packer_stats p = both(j);
	char what[64];

	line_count(b, "documents", j->docs.docs_in);
	line_count(b, "  empty", j->docs.empty);
	line_count(b, "  bad, skipped", j->docs.docs_bad);
	line_count(b, "replaced characters", j->docs.surrogates);
	line_count(b, "tokens", p.tokens);
	buf_printf(b, "%-34s %14.3f\n", "bytes per token",
		   bytes_per_token(j, &p, j->docs.bytes_kept));
	snprintf(what, sizeof(what), "windows of %u", s->seq_len);
	line_count(b, what, p.windows);
	line_share(b, "  that span documents", ratio(p.spanning, p.windows));
	snprintf(what, sizeof(what), "largest document of %u windows",
		 s->batch);
	line_share(b, what, p.largest);
	line_share(b, "padding", waste(s, &p));
	if (j->val) {
		p = packer_stats(j->val);
		line_count(b, "documents for validation", p.docs);
		line_count(b, "tokens for validation", p.tokens);
	}
}
