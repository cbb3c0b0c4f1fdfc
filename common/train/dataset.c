/*
 * dataset.c - see dataset.h
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
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
	d->id.fingerprint = d->vocab->fingerprint;
	return 0;
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
			       " tokens, not %" PRId64, what,
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
	h.id_bytes = o->id_bytes;
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

/* ---- training data ---- */

/* Paths and weights of o->data.  A mixture has its weights only. */
static int
read_sources(struct dataset *d, const struct options *o, struct err *e)
{
	struct span *weight = xcalloc(o->data.n, sizeof *weight), path;
	size_t i, weighted = 0;
	int rc = 0;

	d->paths = xcalloc(o->data.n + 1, sizeof *d->paths);
	for (i = 0; i < o->data.n && rc >= 0; i++) {
		rc = mixture_split(o->data.v[i], &path, &weight[i], e);
		if (rc >= 0)
			d->paths[i] = xmemdup0(path.p, path.n);
		weighted += rc > 0;
	}
	for (i = 0; weighted && rc >= 0 && i < o->data.n; i++)
		if (!weight[i].p)
			rc = err_set(e, "%s: has no weight, but other sources"
				     " have one", d->paths[i]);
	if (weighted && rc >= 0) {
		d->mix = mixture_new(weight, (const char *const *)d->paths,
				     o->data.n, e);
		d->weights = mixture_sum(weight, o->data.n);
		rc = d->mix ? 0 : -1;
	}
	free(weight);
	return rc < 0 ? -1 : 0;
}

/* Source i must go together with those before it. */
static int
check_source(const struct dataset *d, size_t i, struct err *e)
{
	uint64_t mine = shards_info(d->train[i])->fingerprint, other;
	const char *file = NULL;
	size_t k;

	for (k = 0; k < i; k++) {
		other = shards_info(d->train[k])->fingerprint;
		if (mine && other && mine != other)
			return err_set(e, "%s: packed with another tokenizer"
				       " than %s", d->paths[i], d->paths[k]);
		if (shards_common(d->train[i], d->train[k], &file))
			return err_set(e, "%s: also in source %s: the shards"
				       " of each source must be its own", file,
				       d->paths[k]);
	}
	return 0;
}

static int
open_train(struct dataset *d, struct options *o, const char *folder,
	   struct err *e)
{
	size_t n, i;

	if (read_sources(d, o, e) < 0)
		return -1;
	n = d->mix ? d->mix->n : 1;
	d->train = xcalloc(n, sizeof *d->train);
	for (i = 0; i < n; i++) {
		struct arg_list paths = {(const char **)d->paths + i,
			d->mix ? 1 : o->data.n};
		const struct shard_info *info;
		uint64_t windows;

		d->train[i] = open_shards(d, o, &paths, folder, e);
		if (!d->train[i])
			return -1;
		d->ntrain++;
		if (check_source(d, i, e) < 0)
			return -1;
		info = shards_info(d->train[i]);
		windows = shards_windows(d->train[i], (uint32_t)o->seq_len);
		if (d->mix) {
			d->mix->v[i].windows = windows;
			d->mix->v[i].hash = info->hash;
		}
		d->id.tokens += info->tokens;
		d->id.windows += windows;
		d->id.hash = info->hash;
	}
	if (d->mix)
		d->id.hash = mixture_hash(d->mix);
	return 0;
}

/* ---- validation data ---- */

static void
warn_if_seen(const struct dataset *d)
{
	const char *file = NULL;
	size_t n = 0, i;

	for (i = d->ntrain; i--;)
		n += shards_common(d->val, d->train[i], &file);
	if (n == 1)
		warn("%s: is also in the training data: the evaluation is not"
		     " on unseen text", file);
	else if (n)
		warn("%s and %zu other evaluation shards are also in the"
		     " training data: the evaluation is not on unseen text",
		     file, n - 1);
}

/* One source of several is enough. */
static int
is_of_train(const struct dataset *d)
{
	size_t i;

	for (i = 0; i < d->ntrain; i++)
		if (shards_go_together(d->train[i], d->val))
			return 1;
	return 0;
}

int
dataset_open(struct dataset *d, struct options *o, const char *tokenizer,
	     const char *folder, struct err *e)
{
	if (open_tokenizer(d, tokenizer, o->split, e) < 0)
		return -1;
	if (!o->data.n)
		return err_set(e, "no training data is named");
	if (open_train(d, o, folder, e) < 0)
		return -1;
	if (!o->val_data.n)
		return !o->eval_every ? 0 :
			err_set(e, "evaluation needs validation data");
	d->val = open_shards(d, o, &o->val_data, folder, e);
	if (!d->val)
		return -1;
	d->id.val_hash = shards_info(d->val)->hash;
	if (!o->allow_other_val && !is_of_train(d))
		return err_set(e, "%s: these validation shards were not "
			       "written together with the training shards %s: "
			       "one of the two is from another run of pack "
			       "(--allow-other-val accepts this)",
			       o->val_data.v[0], d->paths[0]);
	warn_if_seen(d);
	return 0;
}

void
dataset_close(struct dataset *d)
{
	size_t i;

	for (i = 0; i < d->ntrain; i++)
		shards_close(d->train[i]);
	free(d->train);
	for (i = 0; d->paths && d->paths[i]; i++)
		free(d->paths[i]);
	free(d->paths);
	mixture_free(d->mix);
	shards_close(d->val);
	vocab_free(d->vocab);
	buf_clear(&d->files.tokenizer);
	buf_clear(&d->files.config);
}

/* ---- what a model needs ---- */

int64_t
dataset_vocab(const struct dataset *d)
{
	int64_t n = 0;
	size_t i;

	for (i = 0; i < d->ntrain; i++)
		if (shards_info(d->train[i])->vocab > n)
			n = shards_info(d->train[i])->vocab;
	if (d->val && shards_info(d->val)->vocab > n)
		n = shards_info(d->val)->vocab;
	if (d->vocab && d->vocab->n > n)
		n = d->vocab->n;
	return n;
}

/* Other EOS ids of a model go on ending a text if its own is one of them. */
static void
set_eos(struct model_config *c, int64_t id)
{
	int i, n = id >= 0 ? c->neos_more : 0;

	for (i = 0; i < n && c->eos_more[i] != id; i++)
		;
	if (i < n)
		c->eos_more[i] = c->eos;
	else if (id != c->eos)
		c->neos_more = 0;
	c->eos = id;
}

/* Files of others do not say whether documents have a BOS: see the first. */
static int
guess_bos(const struct dataset *d, const struct shards *s,
	  const struct model_config *c, int64_t *bos, struct err *e)
{
	const struct shard_info *i = shards_info(s);
	uint32_t first;

	*bos = d->vocab && d->vocab->bos >= 0 ? d->vocab->bos :
		i->bos >= 0 ? i->bos : c->bos;
	if (shards_read(s, 0, 1, &first, e) < 0)
		return -1;
	if (*bos != first)
		*bos = -1;
	return 0;
}

/* BOS and EOS around each document of these shards. */
static int
special_ids(const struct dataset *d, const struct shards *s,
	    const struct model_config *c, int64_t *bos, int64_t *eos,
	    struct err *e)
{
	const struct shard_info *i = shards_info(s);
	const struct vocab *v = d->vocab;

	if (i->format == SHARD_ASSAY) {
		*bos = i->has_bos ? i->bos : -1;
		*eos = i->has_eos ? i->eos : -1;
		return 0;
	}
	*eos = v && v->eos >= 0 ? v->eos : i->eos >= 0 ? i->eos : c->eos;
	return guess_bos(d, s, c, bos, e);
}

/*
 * What is in front of each document: BOS, or all tokens of the tokenizer's
 * template if the first document has them.  All sources have the same BOS.
 */
static int
find_front(struct dataset *d, struct err *e)
{
	const struct vocab_around *all = d->vocab ? &d->vocab->front : NULL;
	uint32_t ids[VOCAB_AROUND], bos = (uint32_t)d->id.bos;
	const struct shards *s = d->train[0];
	uint64_t tokens = shards_info(s)->tokens, at;

	d->id.front = (struct vocab_around){{bos}, d->id.bos >= 0};
	if (d->id.bos < 0 || !all || all->n < 2 || all->id[0] != bos)
		return 0;
	for (at = 0; at + all->n <= tokens; at++) {
		if (shards_read(s, at, all->n, ids, e) < 0)
			return -1;
		if (*ids != bos)
			continue;
		if (!memcmp(ids, all->id, all->n * sizeof *ids))
			d->id.front = *all;
		break;
	}
	return 0;
}

int
dataset_special_ids(struct dataset *d, struct model_config *c, struct err *e)
{
	struct vocab *v = d->vocab;
	int64_t bos, eos;
	size_t i;

	for (i = 0; i < d->ntrain; i++) {
		if (special_ids(d, d->train[i], c, &bos, &eos, e) < 0)
			return -1;
		if (i && (bos != d->id.bos || eos != d->id.eos))
			return err_set(e, "%s: documents have BOS %" PRId64
				       " and EOS %" PRId64 ", those of %s have"
				       " %" PRId64 " and %" PRId64 " (-1:"
				       " none)", d->paths[i], bos, eos,
				       d->paths[0], d->id.bos, d->id.eos);
		d->id.bos = bos;
		d->id.eos = eos;
	}
	c->bos = d->id.bos;
	set_eos(c, d->id.eos);
	if (v && v->bos < 0)
		v->bos = c->bos;
	if (v && v->eos < 0)
		v->eos = c->eos;
	return find_front(d, e);
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
		return err_set(e, "%s: the shards%s have changed: hash %016"
			       PRIx64 " (%" PRIu64 " windows), the checkpoint"
			       " has %016" PRIx64 " (%" PRIu64 ");"
			       " --allow-changed-data accepts this",
			       d->paths[0], d->mix ?
			       ", or the weights of the sources," : "",
			       is->hash, is->windows, was->hash,
			       was->windows);
	if (was->val_hash && was->val_hash != is->val_hash)
		return err_set(e, "%s: the evaluation shards have changed: hash"
			       " %016" PRIx64 ", the checkpoint has %016" PRIx64
			       "; --allow-changed-data accepts this",
			       d->val ? o->val_data.v[0] : "none",
			       is->val_hash, was->val_hash);
	if (was->fingerprint && was->fingerprint != is->fingerprint)
		return err_set(e, "the tokenizer has changed: fingerprint %016"
			       PRIx64 ", the checkpoint has %016" PRIx64
			       "; --allow-changed-data accepts this",
			       is->fingerprint, was->fingerprint);
	return 0;
}
