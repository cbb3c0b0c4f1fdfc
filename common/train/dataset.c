/*
 * dataset.c - see dataset.h
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "stream/input.h"
#include "train/dataset.h"

/* ---- tokenizer ---- */

static int
open_tokenizer(struct dataset *d, const char *path, const char *split,
	       struct err *e)
{
	if (!path)
		return 0;
	d->vocab = vocab_load(path, split, e);
	if (!d->vocab)
		return -1;
	vocab_json(d->vocab, &d->files.tokenizer);
	d->id.fingerprint = d->vocab->fingerprint;
	return 0;
}

int
dataset_token_config(struct dataset *d, const char *tokenizer,
		     int64_t seq_len, struct err *e)
{
	const char *slash = strrchr(tokenizer, '/');
	char *path, *p;
	size_t n;
	int rc = 0;

	path = xstrf("%.*stokenizer_config.json",
		     slash ? (int)(slash - tokenizer + 1) : 0, tokenizer);
	if (access(path, F_OK) != 0)
		vocab_config_json(d->vocab, seq_len, &d->files.config);
	else if ((rc = input_slurp(path, &p, &n, e)) == 0) {
		buf_put(&d->files.config, p, n);
		free(p);
	}
	free(path);
	return rc;
}

/* ---- shards ---- */

/* The ids of shards without a header must be below *limit; 0: unknown. */
static int
id_limit(const struct dataset *d, const struct options *o, const char *folder,
	 uint32_t *limit, struct err *e)
{
	struct model_config c = {0};

	if (o->vocab_size)
		c.vocab = o->vocab_size;
	else if (d->vocab)
		c.vocab = d->vocab->n;
	else if (folder && config_load(&c, folder, e) < 0)
		return -1;
	*limit = (uint32_t)c.vocab;
	return 0;
}

static int
check_windows(const struct shards *s, int64_t t, const char *what,
	      struct err *e)
{
	const struct shard_info *i = shards_info(s);

	if (shards_windows(s, (uint32_t)t))
		return 0;
	if (i->windows && i->seq_len != t)
		return err_set(e, "%s: packed into windows of %" PRIu32
			       " tokens, but --seq-len is %" PRId64, what,
			       i->seq_len, t);
	return err_set(e, "%s: need >= T+1 = %" PRId64 " tokens, have %" PRIu64,
		       what, t + 1, i->tokens);
}

static struct shards *
open_shards(const struct dataset *d, struct options *o,
	    const struct arg_list *paths, const char *folder, struct err *e)
{
	const struct shard_info *i;
	struct shard_hint h;
	struct shards *s;
	int rc = 0;

	shard_hint_init(&h);
	h.format = (enum shard_format)o->shard_format;
	if (d->vocab) {
		h.bos = d->vocab->bos;
		h.eos = d->vocab->eos;
	}
	if (id_limit(d, o, folder, &h.vocab, e) < 0)
		return NULL;
	h.limit = h.vocab > 0;
	s = shards_open_hint(paths->v, paths->n, &h, e);
	if (!s)
		return NULL;
	i = shards_info(s);
	if (i->fingerprint && d->vocab &&
	    i->fingerprint != d->vocab->fingerprint)
		rc = err_set(e, "%s: packed with another tokenizer"
			     " (fingerprint %016" PRIx64 ", this tokenizer has"
			     " %016" PRIx64 ")", paths->v[0],
			     i->fingerprint, d->vocab->fingerprint);
	if (!o->seq_len)
		o->seq_len = i->seq_len ? i->seq_len : 1024;
	if (rc == 0)
		rc = check_windows(s, o->seq_len, paths->v[0], e);
	if (rc == 0)
		return s;
	shards_close(s);
	return NULL;
}

/* What pack put before each document; foreign formats do not say. */
static int64_t
train_bos(const struct dataset *d)
{
	const struct shard_info *i = shards_info(d->train);

	if (i->format == SHARD_ASSAY)
		return i->has_bos ? i->bos : -1;
	return d->vocab ? d->vocab->bos : i->bos;
}

int
dataset_open(struct dataset *d, struct options *o, const char *tokenizer,
	     const char *folder, struct err *e)
{
	if (open_tokenizer(d, tokenizer, o->split, e) < 0)
		return -1;
	if (!o->data.n)
		return err_set(e, "no data: use --data PATH");
	d->train = open_shards(d, o, &o->data, folder, e);
	if (!d->train)
		return -1;
	d->id.hash = shards_info(d->train)->hash;
	d->id.tokens = shards_info(d->train)->tokens;
	d->id.windows = shards_windows(d->train, (uint32_t)o->seq_len);
	d->id.bos = train_bos(d);
	if (!o->val_data.n)
		return !o->eval_every ? 0 :
			err_set(e, "--eval-every needs --val-data");
	d->val = open_shards(d, o, &o->val_data, folder, e);
	if (!d->val)
		return -1;
	d->id.val_hash = shards_info(d->val)->hash;
	return 0;
}

void
dataset_close(struct dataset *d)
{
	shards_close(d->train);
	shards_close(d->val);
	vocab_free(d->vocab);
	buf_clear(&d->files.tokenizer);
	buf_clear(&d->files.config);
}

/* ---- what a model needs ---- */

int64_t
dataset_vocab(const struct dataset *d)
{
	int64_t n = shards_info(d->train)->vocab;

	if (d->val && shards_info(d->val)->vocab > n)
		n = shards_info(d->val)->vocab;
	if (d->vocab && d->vocab->n > n)
		n = d->vocab->n;
	return n;
}

void
dataset_special_ids(struct dataset *d, struct model_config *c)
{
	const struct shard_info *i = shards_info(d->train);
	struct vocab *v = d->vocab;

	c->bos = d->id.bos;
	if (i->format == SHARD_ASSAY)
		c->eos = i->has_eos ? i->eos : -1;
	else
		c->eos = v ? v->eos : i->eos;
	if (v && v->bos < 0)
		v->bos = c->bos;
	if (v && v->eos < 0)
		v->eos = c->eos;
}

static int
same_data(const struct data_id *was, const struct data_id *is, int same_len)
{
	return was->hash == is->hash &&
		(!same_len || was->windows == is->windows);
}

static void
note(struct buf *changed, const char *key, uint64_t was, uint64_t is)
{
	if (was != is)
		buf_printf(changed, "%s %016" PRIx64 " %016" PRIx64 "\n", key,
			   was, is);
}

int
dataset_check(const struct dataset *d, const struct options *o,
	      const struct data_id *was, int64_t seq_len, struct buf *changed,
	      struct err *e)
{
	const struct data_id *is = &d->id;

	if (o->allow_changed_data) {
		note(changed, "data_hash", was->hash, is->hash);
		note(changed, "val_hash", was->val_hash, is->val_hash);
		note(changed, "tokenizer_fingerprint", was->fingerprint,
		     is->fingerprint);
		return 0;
	}
	if (!same_data(was, is, seq_len == o->seq_len))
		return err_set(e, "%s: the shards have changed: hash %016"
			       PRIx64 " (%" PRIu64 " windows), the checkpoint"
			       " has %016" PRIx64 " (%" PRIu64 ");"
			       " --allow-changed-data accepts this",
			       o->data.v[0], is->hash, is->windows, was->hash,
			       was->windows);
	if (was->val_hash && was->val_hash != is->val_hash)
		return err_set(e, "%s: the evaluation shards have changed: hash"
			       " %016" PRIx64 ", the checkpoint has %016" PRIx64
			       "; --allow-changed-data accepts this",
			       d->val ? o->val_data.v[0] : "--val-data",
			       is->val_hash, was->val_hash);
	if (was->fingerprint && was->fingerprint != is->fingerprint)
		return err_set(e, "the tokenizer has changed: fingerprint %016"
			       PRIx64 ", the checkpoint has %016" PRIx64
			       "; --allow-changed-data accepts this",
			       is->fingerprint, was->fingerprint);
	return 0;
}
