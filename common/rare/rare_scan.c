/*
 * rare_scan.c - see rare_scan.h
 */
#include "rare/rare_scan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/path.h"
#include "stream/json.h"

/* ---- reading ---- */

static int
is_json(const char *path)
{
	struct err e = {0};
	struct json *j = json_load(path, &e);

	json_free(j);
	return j != NULL;
}

/*
 * The model's own tokenizer may be of an unsupported kind: the embeddings can
 * be scanned without it.  A broken file is an error.
 */
static int
load_vocab(struct rare_scan *s, const struct rare_scan_opts *o, int needed,
	   struct err *e)
{
	struct err why = {0};
	char *path;
	int there;

	if (o->tokenizer) {
		s->vocab = vocab_load(o->tokenizer, o->split, e);
		return s->vocab ? 0 : -1;
	}
	path = path_join(o->model, "tokenizer.json");
	there = path_exists(path);
	if (there)
		s->vocab = vocab_load(path, o->split, &why);
	else
		err_set(&why, "%s: no tokenizer.json", o->model);
	if (!s->vocab && (needed || (there && !is_json(path))))
		err_set(e, "%s", why.msg);
	else if (!s->vocab && !o->quiet)
		warn("%s: every row counts as a token of category OK",
		     why.msg);
	free(path);
	return e->set ? -1 : 0;
}

/* As many ids as the model has rows or, without one, the tokenizer tokens. */
static int
categorize(struct rare_scan *s, const struct rare_scan_opts *o, int needed,
	   struct err *e)
{
	size_t n = s->vocab ? s->vocab->n : 0;

	if (o->model && s->model.V < n) {
		if (needed)
			return err_set(e, "%s: the embedding has %zu rows, but "
				       "the tokenizer has %zu tokens",
				       o->model, s->model.V, n);
		if (!o->quiet)
			warn("%s: the embedding has %zu rows, the tokenizer "
			     "%zu tokens: tokens without a row are omitted",
			     o->model, s->model.V, n);
	}
	if (o->model)
		n = s->model.V;
	if (rare_init(&s->r, s->vocab, (uint32_t)n, e))
		return -1;
	return o->unused ? rare_unused(&s->r, o->unused, e) : 0;
}

static int
count(struct rare_scan *s, const struct rare_scan_opts *o, struct err *e)
{
	const struct vocab *v = s->vocab;
	const struct shard_info *i;
	struct shard_hint hint;

	shard_hint_init(&hint);
	hint.format = o->format;
	hint.id_bytes = o->id_bytes;
	hint.vocab = v->n;
	hint.limit = 1;
	hint.bos = v->bos;
	hint.eos = o->eot >= 0 ? o->eot : v->eos;
	if (o->eot >= (int64_t)v->n)
		return err_set(e, "end of text: id %" PRId64 ", but the "
			       "tokenizer has ids 0 to %zu", o->eot,
			       (size_t)v->n - 1);
	s->shards = shards_open_hint(o->shards, o->nshards, &hint, e);
	if (!s->shards)
		return -1;
	i = shards_info(s->shards);
	if (i->fingerprint && i->fingerprint != v->fingerprint)
		return err_set(e, "%s: made with another tokenizer "
			       "(fingerprint %016" PRIx64 ", this one has "
			       "%016" PRIx64 ")",
			       o->nshards ? o->shards[0] : "<stdin>",
			       i->fingerprint, v->fingerprint);
	if (rare_counts_get(&s->counts, s->shards, s->r.n,
			    i->bos >= 0 ? i->bos : v->bos,
			    i->eos >= 0 ? i->eos : hint.eos,
			    o->threads, e))
		return -1;
	rare_counts_join(&s->counts, &s->r, o->rare_below);
	return 0;
}

static int
scan_model(struct rare_scan *s, const struct rare_scan_opts *o, struct err *e)
{
	if (rare_model_scan(&s->model, &s->r, o->indicator,
			    o->suspicious_frac, o->threads, e))
		return -1;
	if (!s->model.ind.converged && !o->quiet)
		warn("%s: the first two principal components are nearly "
		     "equal: no_pc1 depends on which one is used", o->model);
	if (!o->prompts && !o->answers)
		return 0;
	if (rare_prompts_make(&s->prompts, &s->r, s->vocab ? s->vocab->bos : -1,
			      e))
		return -1;
	if (!o->answers)
		return 0;
	if (rare_answers_read(&s->answers, &s->r, &s->prompts, o->answers, e))
		return -1;
	s->r.answers = &s->answers;
	return 0;
}

int
rare_scan(struct rare_scan *s, const struct rare_scan_opts *o, struct err *e)
{
	int needed = o->shards || o->prompts || o->answers;

	memset(s, 0, sizeof(*s));
	if (load_vocab(s, o, needed, e))
		return -1;
	if (o->model && rare_model_load(&s->model, o->model, o->embed, o->head,
					e))
		return -1;
	if (categorize(s, o, needed, e) || (o->shards && count(s, o, e)) ||
	    (o->model && scan_model(s, o, e)))
		return -1;
	rare_summary_init(&s->summary, &s->r);
	return 0;
}

void
rare_scan_clear(struct rare_scan *s)
{
	rare_prompts_clear(&s->prompts);
	rare_answers_clear(&s->answers);
	rare_counts_clear(&s->counts);
	rare_model_clear(&s->model);
	rare_clear(&s->r);
	if (s->shards)
		shards_close(s->shards);
	vocab_free(s->vocab);
}

/* ---- writing ---- */

static void
put_id(const struct rare_scan *s, enum rare_form form, uint32_t id,
       struct buf *b)
{
	if (form == RARE_JSON)
		rare_report_json(&s->r, id, b);
	else if (form == RARE_TSV)
		rare_report_tsv(&s->r, id, b);
	else if (rare_is(&s->r, id, RARE_SUSPICIOUS))
		rare_prompts_put(&s->prompts, id, b);
}

int
rare_scan_write(const struct rare_scan *s, enum rare_form form, size_t rows,
		struct output *out, struct err *e)
{
	struct buf b = {0};
	uint32_t id, n = s->r.n;
	int rc = 0;

	if (form == RARE_STATS || form == RARE_TABLE)
		n = 0;
	if (form == RARE_STATS) {
		rare_summary_json(&s->summary, &s->r, &b);
	} else if (form == RARE_TABLE) {
		rare_report_table(&s->r, rows, &b);
		buf_putc(&b, '\n');
		rare_summary_text(&s->summary, &s->r, &b);
	} else if (form == RARE_TSV) {
		rare_report_tsv_header(&s->r, &b);
	}
	for (id = 0; id < n && rc == 0; id++) {
		put_id(s, form, id, &b);
		if (b.n > 1 << 16) {
			rc = output_write(out, b.p, b.n, e);
			buf_reset(&b);
		}
	}
	if (rc == 0)
		rc = output_write(out, b.p, b.n, e);
	buf_clear(&b);
	return rc;
}

void
rare_scan_notes(const struct rare_scan *s, struct buf *out)
{
	int k;

	for (k = 0; k < RARE_PROMPTS; k++)
		if (!s->prompts.made[k])
			buf_printf(out, "no word of the vocabulary fits into "
				   "prompt %d\n", k + 1);
}
