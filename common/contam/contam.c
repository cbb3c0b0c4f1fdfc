/*
 * contam.c - the job of contam13
 *
 * All files are completed at the end: subsets and table, then documents,
 * report and stats, so that a failed run leaves old files as they were.
 */
#include "contam/contam.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "contam/contam_priv.h"
#include "record/vocab.h"
#include "stream/json.h"
#include "stream/output.h"

enum { NOTES_SHOWN = 5 };

static int
write_subsets_and_table(const struct contam *c, struct err *e)
{
	const struct contam_opts *o = c->o;

	if (o->subsets && benchmark_write_subsets(&c->x.b, o->subsets, e))
		return -1;
	return o->table ? contam_report_table(c, o->table, 0, e) : 0;
}

/* --- documents --- */

static int
run_docs(struct contam *c, const char *const *files, size_t n, struct err *e)
{
	struct filter *f = filter_open(&c->o->filter, e);
	struct buf extra = {0};
	int status;

	if (!f)
		return -1;
	if (contam_docs(c, files, n, f, e) || write_subsets_and_table(c, e)) {
		filter_abort(f);
		return -1;
	}
	c->docs_in = filter_stats(f)->docs_in;
	c->docs_kept = filter_stats(f)->docs_kept;
	contam_report_stats(c, &extra);
	status = filter_commit(f, buf_span(&extra), e);
	buf_clear(&extra);
	return status;
}

/* --- shards --- */

int
contam_is_shard(const char *path)
{
	static const char *const endings[] = {".bin", ".npy", ".ds"};
	size_t i, n;
	struct stat s;
	char magic[8];
	FILE *f;

	if (stat(path, &s))
		return 0;
	if (S_ISDIR(s.st_mode))
		return 1;
	for (i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
		if (str_ends(path, endings[i]))
			return 1;
	if (!S_ISREG(s.st_mode) || !(f = fopen(path, "rb")))
		return 0;
	n = fread(magic, 1, sizeof(magic), f);
	fclose(f);
	return n == sizeof(magic) && !memcmp(magic, "assaytok", 8);
}

static struct shards *
open_shards(const struct contam *c, const char *const *files, size_t n,
	    struct err *e)
{
	const struct contam_opts *o = c->o;
	struct shard_hint hint;
	struct shards *s;
	uint64_t theirs;

	shard_hint_init(&hint);
	hint.format = (enum shard_format)o->shard_format;
	hint.id_bytes = o->id_bytes;
	hint.vocab = c->vocab->n;
	hint.limit = 1;
	hint.bos = c->vocab->bos;
	hint.eos = o->eot >= 0 ? o->eot : c->vocab->eos;
	if (o->eot >= (int64_t)c->vocab->n) {
		err_set(e, "%s: no id %lld to end documents (ids are 0 to "
			"%zu)", o->tokenizer, (long long)o->eot,
			(size_t)c->vocab->n - 1);
		return NULL;
	}
	s = shards_open_hint(files, n, &hint, e);
	if (!s)
		return NULL;
	/* Other ids are other words: nothing would be found. */
	theirs = shards_info(s)->fingerprint;
	if (!theirs || theirs == c->vocab->fingerprint)
		return s;
	err_set(e, "%s: the shards were made with another tokenizer "
		"(fingerprint %016llx, theirs is %016llx)", o->tokenizer,
		(unsigned long long)c->vocab->fingerprint,
		(unsigned long long)theirs);
	shards_close(s);
	return NULL;
}

/* Does the table of shards go to a person at a terminal? */
static int
table_is_seen(const struct contam *c)
{
	const struct contam_opts *o = c->o;

	return o->shards && !o->table && !o->filter.output &&
	       !o->filter.check && !o->json && isatty(1);
}

static int
write_shard_stats(const struct contam *c, const struct shard_info *info,
		  struct output *out, struct err *e)
{
	struct buf b = {0};
	int rc;

	buf_putc(&b, '{');
	json_put_key_uint(&b, "docs_in", info->docs);
	json_put_key_uint(&b, "tokens_in", info->tokens);
	contam_report_stats(c, &b);
	buf_puts(&b, "}\n");
	rc = output_put(out, &b, e);
	buf_clear(&b);
	return rc;
}

/* stats: NULL if not wanted; they and the findings are committed here. */
static int
search_shards(struct contam *c, struct shards *s, struct findings *findings,
	      struct output **stats, struct err *e)
{
	const struct contam_opts *o = c->o;
	struct output *all[3];
	size_t n;

	c->docs_in = shards_info(s)->docs;
	if (contam_shards(c, s, findings, e) ||
	    (*stats && write_shard_stats(c, shards_info(s), *stats, e)) ||
	    write_subsets_and_table(c, e))
		return -1;
	n = findings_move(findings, all, 0);
	if (*stats)
		all[n++] = *stats;
	*stats = NULL;
	if (output_commit_all(all, n, e))
		return -1;
	if (o->table || filter_only_checks(&o->filter))
		return 0;
	return contam_report_table(c, o->filter.output, table_is_seen(c), e);
}

static int
run_shards(struct contam *c, const char *const *files, size_t n,
	   struct err *e)
{
	const struct doc_opts *d = &c->o->filter.doc;
	struct findings findings = {{NULL, NULL}};
	struct output *stats = NULL;
	struct shards *s = open_shards(c, files, n, e);
	int rc = -1;

	if (!s)
		return -1;
	if (!findings_open(&findings, &c->o->filter, e) &&
	    (!d->stats || (stats = output_open(d->stats, e))))
		rc = search_shards(c, s, &findings, &stats, e);
	findings_abort(&findings);
	output_abort(stats);
	shards_close(s);
	if (rc)
		return -1;
	return c->o->filter.check && c->docs_hit ? EXIT_ANSWER : EXIT_OK;
}

/* --- both --- */

/* The first lines as warnings, and how many more there are. */
static void
show_notes(const struct contam_opts *o, const struct buf *notes)
{
	struct span rest = buf_span(notes), line;
	size_t n = 0;

	if (o->quiet)
		return;
	for (; span_line(&rest, &line); n++)
		if (n < NOTES_SHOWN || o->verbose)
			warn("%.*s", (int)line.n, line.p);
	if (n > NOTES_SHOWN && !o->verbose)
		warn("%zu more files like these (-v lists all)",
		     n - NOTES_SHOWN);
}

/* Where most examples cannot be tested, "clean" says little. */
static void
warn_short(const struct contam_opts *o, const struct benchmarks *b)
{
	size_t i, k, n, warned = 0;

	for (i = 0; i < b->n; i++) {
		const struct benchmark *v = &b->v[i];

		for (n = 0, k = v->first; k < v->first + v->n; k++)
			n += b->ex[k].too_short;
		if (2 * n <= v->n || !v->found)
			continue;
		if (warned++ < NOTES_SHOWN || o->verbose)
			warn("%s: %zu of %zu examples have fewer than %u %s "
			     "and cannot be tested%s", v->name, n, v->n,
			     v->ngram, o->tokens ? "tokens" : "words",
			     o->n > 8 ? " (-n auto takes fewer)" : "");
	}
	if (warned > NOTES_SHOWN && !o->verbose)
		warn("%zu more benchmarks like these (-v lists all)",
		     warned - NOTES_SHOWN);
}

/* Which fields were chosen, where that was not plain; one line for equals. */
static void
show_fields(const struct contam_opts *o, const struct benchmarks *b)
{
	struct span all, line;
	struct buf out = {0};
	size_t i, first;
	int n;

	for (i = 0; i < b->n && !o->fields && !o->quiet; i++) {
		all = span_str(b->v[i].used);
		if (!all.n || !strcmp(all.p, "text\n"))
			continue;
		for (first = i; i + 1 < b->n &&
		     !strcmp(b->v[i + 1].used, all.p); i++)
			;
		buf_printf(&out, "%s: %s", err_tool, b->v[first].name);
		if (i > first)
			buf_printf(&out, " and %zu more", i - first);
		buf_puts(&out, ": the text is ");
		for (n = 0; span_line(&all, &line); n++)
			buf_printf(&out, "%s%.*s", n ? ", " : "", (int)line.n,
				   line.p);
		buf_putc(&out, '\n');
	}
	if (out.n)
		err_text(out.p, out.n);
	buf_clear(&out);
}

static int
load(struct contam *c, struct err *e)
{
	const struct contam_opts *o = c->o;
	struct benchmark_index_opts opts = {
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
		opts.vocab = c->vocab;
		opts.bpe = c->bpe;
	}
	rc = benchmark_index_init(&c->x, &opts, &notes, e);
	if (!rc) {
		show_notes(o, &notes);
		show_fields(o, &c->x.b);
		warn_short(o, &c->x.b);
	}
	buf_clear(&notes);
	if (rc)
		return -1;
	tally_init(&c->tally, &c->x, (uint64_t)o->max_df);
	return o->scores ? benchmark_read_scores(&c->x.b, o->scores, e) : 0;
}

int
contam_run(const struct contam_opts *o, const char *const *files, size_t n,
	   struct err *e)
{
	struct contam c = {.o = o};
	int status = load(&c, e);

	if (!status)
		status = (o->shards ? run_shards : run_docs)(&c, files, n, e);
	if (status >= 0 && args_summary())
		contam_report_summary(&c, !(table_is_seen(&c) && isatty(2)));
	tally_clear(&c.tally);
	benchmark_index_clear(&c.x);
	bpe_free(c.bpe);
	vocab_free(c.vocab);
	buf_clear(&c.line);
	buf_clear(&c.tmp);
	return status;
}
