/*
 * contam.c - the job of contam13
 *
 * Whatever is written is written at the end: documents, report and stats by
 * filter_commit(), table and subsets before it, so that a run that fails
 * leaves what was there.
 */
#include "contam/contam.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/output.h"
#include "tokenizer/bpe.h"
#include "contam/match.h"
#include "contam/report.h"
#include "contam/benchmark_report.h"
#include "record/shard.h"
#include "record/vocab.h"

enum { NOTES_SHOWN = 5 };

struct contam {
	const struct contam_opts *o;
	struct ngram_bench nb;
	struct ngram_run run;
	struct vocab *vocab;
	struct bpe *bpe;
};

static struct ngram_report
report_of(const struct contam *c)
{
	return (struct ngram_report){&c->nb, &c->run, c->o->scores != NULL,
				     c->o->json};
}

/* What stands beside the documents: subsets, the table. */
static int
write_rest(const struct contam *c, struct err *e)
{
	struct ngram_report r = report_of(c);

	if (c->o->subsets && bench_subsets(&c->nb.b, c->o->subsets, e))
		return -1;
	return c->o->table ? ngram_report_table(&r, c->o->table, 0, e) : 0;
}

/* --- documents --- */

static int
run_docs(struct contam *c, const char *const *files, size_t n, struct err *e)
{
	struct filter *f = filter_open(&c->o->filter, e);
	struct ngram_report r = report_of(c);
	struct buf extra = {0};
	int status;

	if (!f)
		return -1;
	if (ngram_run_docs(&c->run, files, n, &c->o->filter.doc, f, e) ||
	    write_rest(c, e)) {
		filter_abort(f);
		return -1;
	}
	ngram_report_stats(&r, &extra);
	status = filter_commit(f, buf_span(&extra), e);
	buf_clear(&extra);
	return status;
}

/* --- shards --- */

int
contam_is_shard(const char *path)
{
	static const char *const names[] = {".bin", ".npy", ".ds"};
	size_t i, n = strlen(path), k;
	struct stat s;
	char magic[8];
	FILE *f;

	if (stat(path, &s))
		return 0;
	if (S_ISDIR(s.st_mode))
		return 1;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		k = strlen(names[i]);
		if (n > k && !strcmp(path + n - k, names[i]))
			return 1;
	}
	if (!S_ISREG(s.st_mode) || !(f = fopen(path, "rb")))
		return 0;
	n = fread(magic, 1, sizeof(magic), f);
	fclose(f);
	return n == sizeof(magic) && !memcmp(magic, "assaytok", 8);
}

/* Ids of another tokenizer mean other words: nothing would be found. */
static int
check_tokenizer(const struct contam *c, const struct shards *s, struct err *e)
{
	uint64_t theirs = shards_info(s)->fingerprint;

	if (!theirs || theirs == c->vocab->fingerprint)
		return 0;
	return err_set(e, "%s: not the tokenizer that the shards were made "
		       "with (fingerprint %016llx, theirs is %016llx)",
		       c->o->tokenizer,
		       (unsigned long long)c->vocab->fingerprint,
		       (unsigned long long)theirs);
}

/* Is the table that shards give read by a person, as a summary is? */
static int
table_is_seen(const struct contam *c)
{
	return c->o->shards && !c->o->table && !c->o->filter.output &&
	       !c->o->json && isatty(1);
}

/* out: report and stats, NULL where not wanted. */
static int
end_shards(struct contam *c, struct output **out, struct err *e)
{
	struct ngram_report r = report_of(c);
	struct output *all[2];
	size_t n = 0, i;

	if ((out[1] && ngram_report_shards(&r, out[1], e)) || write_rest(c, e))
		return -1;
	for (i = 0; i < 2; i++)
		if (out[i])
			all[n++] = out[i];
	out[0] = out[1] = NULL;
	if (output_commit_all(all, n, e))
		return -1;
	if (c->o->table)
		return 0;
	return ngram_report_table(&r, c->o->filter.output, table_is_seen(c),
				  e);
}

static int
run_shards(struct contam *c, const char *const *files, size_t n,
	   struct err *e)
{
	const struct doc_opts *d = &c->o->filter.doc;
	struct output *out[2] = {NULL, NULL};
	struct shard_hint hint;
	struct shards *s;
	int rc = -1;

	shard_hint_init(&hint);
	hint.format = (enum shard_format)c->o->shard_format;
	hint.vocab = c->vocab->n;
	hint.limit = 1;
	hint.bos = c->vocab->bos;
	hint.eos = c->o->eot >= 0 ? c->o->eot : c->vocab->eos;
	if (c->o->eot >= (int64_t)c->vocab->n)
		return err_set(e, "--eot: id %lld, but the tokenizer has ids "
			       "0 to %zu", (long long)c->o->eot,
			       (size_t)c->vocab->n - 1);
	s = shards_open_hint(files, n, &hint, e);
	if (!s)
		return -1;
	if (!check_tokenizer(c, s, e) &&
	    (!d->report || (out[0] = output_open(d->report, e))) &&
	    (!d->stats || (out[1] = output_open(d->stats, e))) &&
	    !ngram_run_shards(&c->run, s, out[0], e))
		rc = end_shards(c, out, e);
	output_abort(out[0]);
	output_abort(out[1]);
	shards_close(s);
	if (rc)
		return -1;
	return c->o->filter.check && c->run.docs_hit ? EXIT_ANSWER : EXIT_OK;
}

/* --- both --- */

/* The first lines as warnings, and how many more there are. */
static void
show_notes(const struct buf *notes)
{
	const char *p = notes->p, *end = p + notes->n, *lf;
	size_t n = 0;

	for (; p < end; p = lf + 1, n++) {
		lf = memchr(p, '\n', (size_t)(end - p));
		if (n < NOTES_SHOWN || args_common.verbose)
			warn("%.*s", (int)(lf - p), p);
	}
	if (n > NOTES_SHOWN && !args_common.verbose)
		warn("%zu more such files (all with --verbose)",
		     n - NOTES_SHOWN);
}

static int
load(struct contam *c, struct err *e)
{
	const struct contam_opts *o = c->o;
	struct ngram_bench_opts bo = {
		.path = o->against.v, .npath = o->against.n,
		.fields = o->fields, .n = o->n, .keep = o->subsets != NULL,
	};
	struct buf notes = {0};
	int rc;

	if (o->tokens) {
		c->vocab = vocab_load(o->tokenizer, o->split, e);
		c->bpe = c->vocab ? bpe_new(c->vocab, e) : NULL;
		if (!c->bpe)
			return -1;
		bo.vocab = c->vocab;
		bo.bpe = c->bpe;
	}
	rc = ngram_bench_load(&c->nb, &bo, (uint64_t)o->max_df, &notes, e);
	if (!rc && notes.n && !args_common.quiet)
		show_notes(&notes);
	buf_clear(&notes);
	return rc || !o->scores ? rc : bench_scores(&c->nb.b, o->scores, e);
}

static void
summary(const struct contam *c)
{
	struct ngram_report r = report_of(c);

	if (!args_common.quiet && (args_common.verbose || isatty(2)))
		ngram_report_summary(&r, !(table_is_seen(c) && isatty(2)),
				     args_common.verbose);
}

int
contam_run(const struct contam_opts *o, const char *const *files, size_t n,
	   struct err *e)
{
	struct contam c = {.o = o};
	int status = load(&c, e);

	c.run = (struct ngram_run){
		.nb = &c.nb, .action = o->action, .window = (size_t)o->window,
		.threads = args_common.threads,
	};
	if (!status)
		status = (o->shards ? run_shards : run_docs)(&c, files, n, e);
	if (status >= 0)
		summary(&c);
	ngram_bench_clear(&c.nb);
	bpe_free(c.bpe);
	vocab_free(c.vocab);
	return status;
}
