/*
 * rare_scan.c - see rare_scan.h
 */
#include "rare/rare_scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"

/* ---- reading ---- */

/*
 * The model's own tokenizer may be of a kind that we do not encode with; its
 * embeddings can be looked at all the same.  Not so one that is broken.
 */
static int
is_foreign(const char *path)
{
	struct err e = {0};
	struct json *j = json_load(path, &e);

	json_free(j);
	return j != NULL;
}

static int
load_vocab(struct rare_scan *s, const struct rare_scan_opts *o, int needed,
	   struct err *e)
{
	char *path = NULL;
	struct err why = {0};

	if (o->tokenizer) {
		s->vocab = vocab_load(o->tokenizer, o->split, e);
		return s->vocab ? 0 : -1;
	}
	path = xmalloc(strlen(o->model) + sizeof("/tokenizer.json"));
	sprintf(path, "%s/tokenizer.json", o->model);
	if (access(path, F_OK))
		err_set(&why, "%s: no tokenizer.json", o->model);
	else
		s->vocab = vocab_load(path, o->split, &why);
	if (!s->vocab && (needed || (!access(path, F_OK) &&
				     !is_foreign(path))))
		err_set(e, "%s", why.msg);
	else if (!s->vocab && !o->quiet)
		warn("%s: every row counts as a token of category OK",
		     why.msg);
	free(path);
	return e->set ? -1 : 0;
}

/* As many ids as the tokenizer and the model have. */
static int
load_tokens(struct rare_scan *s, const struct rare_scan_opts *o, int needed,
	    struct err *e)
{
	size_t n = s->vocab ? s->vocab->n : 0;

	if (o->model && s->model.V < n) {
		if (needed)
			return err_set(e, "%s: the embedding has %zu rows, "
				       "the tokenizer %zu tokens", o->model,
				       s->model.V, n);
		if (!o->quiet)
			warn("%s: the embedding has %zu rows, the tokenizer "
			     "%zu tokens: those without a row are left out",
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
	hint.vocab = v->n;
	hint.limit = 1;
	hint.bos = v->bos;
	hint.eos = o->eot >= 0 ? o->eot : v->eos;
	if (o->eot >= (int64_t)v->n)
		return err_set(e, "--eot: id %lld, but the tokenizer has ids "
			       "0 to %zu", (long long)o->eot, (size_t)v->n - 1);
	s->shards = shards_open_hint(o->shards, o->nshards, &hint, e);
	if (!s->shards)
		return -1;
	i = shards_info(s->shards);
	if (i->fingerprint && i->fingerprint != v->fingerprint)
		return err_set(e, "%s: made with another tokenizer "
			       "(fingerprint %016llx, this one has %016llx)",
			       o->nshards ? o->shards[0] : "<stdin>",
			       (unsigned long long)i->fingerprint,
			       (unsigned long long)v->fingerprint);
	if (rare_counts_get(&s->counts, s->shards, s->r.n,
			    i->bos >= 0 ? i->bos : v->bos,
			    i->eos >= 0 ? i->eos : hint.eos,
			    o->threads, e))
		return -1;
	rare_join(&s->r, &s->counts, o->min_count);
	return 0;
}

static int
look(struct rare_scan *s, const struct rare_scan_opts *o, struct err *e)
{
	if (rare_model_scan(&s->model, &s->r, o->indicator, o->percent,
			    o->threads, e))
		return -1;
	if (!s->model.ind.converged && !o->quiet)
		warn("%s: the first two principal components are as good as "
		     "equal: no_pc1 depends on which is taken", o->model);
	if (!o->prompts && !o->verify)
		return 0;
	if (rare_prompts_make(&s->prompts, &s->r, s->vocab ? s->vocab->bos : -1,
			      e))
		return -1;
	if (!o->verify)
		return 0;
	if (rare_answers_read(&s->answers, &s->r, &s->prompts, o->verify, e))
		return -1;
	s->r.answers = &s->answers;
	return 0;
}

int
rare_scan(struct rare_scan *s, const struct rare_scan_opts *o, struct err *e)
{
	int needed = o->shards || o->prompts || o->verify;

	memset(s, 0, sizeof(*s));
	if (load_vocab(s, o, needed, e))
		return -1;
	if (o->model && rare_model_load(&s->model, o->model, o->embed, o->head,
					e))
		return -1;
	if (load_tokens(s, o, needed, e) || (o->shards && count(s, o, e)) ||
	    (o->model && look(s, o, e)))
		return -1;
	rare_sum(&s->r, &s->sum);
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
		rare_json(&s->r, id, b);
	else if (form == RARE_TSV)
		rare_tsv(&s->r, id, b);
	else if (s->r.flags[id] & RARE_SUSPICIOUS)
		rare_prompts_put(&s->prompts, id, b);
}

int
rare_scan_put(const struct rare_scan *s, enum rare_form form, size_t rows,
	      struct output *out, struct err *e)
{
	struct buf b = {0};
	uint32_t id;
	int rc = 0;

	if (form == RARE_TSV)
		rare_tsv_head(&s->r, &b);
	if (form == RARE_STATS) {
		rare_stats(&s->r, &s->sum, &b);
	} else if (form == RARE_TABLE) {
		rare_table(&s->r, rows, &b);
		buf_putc(&b, '\n');
		rare_summary(&s->r, &s->sum, &b);
	} else {
		for (id = 0; id < s->r.n && rc == 0; id++) {
			put_id(s, form, id, &b);
			if (b.n > 1 << 16) {
				rc = output_write(out, b.p, b.n, e);
				buf_reset(&b);
			}
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
