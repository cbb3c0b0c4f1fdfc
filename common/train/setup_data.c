/*
 * setup_data.c - see setup.h: the tokenizer, and the shards that must fit it
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/input.h"
#include "base/mem.h"
#include "train/setup.h"

/* ---- tokenizer ---- */

int
setup_token_config(struct job *j, struct err *e)
{
	char *dir = xstrdup(j->tok_path), *slash = strrchr(dir, '/'), *p;
	size_t n;
	int rc = 0;

	if (slash)
		*slash = '\0';
	if (setup_exists(slash ? dir : ".", "tokenizer_config.json")) {
		char *path = xstrf("%s/%s", slash ? dir : ".",
				     "tokenizer_config.json");

		rc = input_slurp(path, &p, &n, e);
		if (rc == 0) {
			buf_put(&j->tok.config, p, n);
			free(p);
		}
		free(path);
	} else
		vocab_config_json(j->vocab, j->o.seq_len, &j->tok.config);
	free(dir);
	return rc;
}

int
setup_tokenizer(struct job *j, struct err *e)
{
	if (!j->tok_path && j->o.tokenizer)
		j->tok_path = xstrdup(j->o.tokenizer);
	if (!j->tok_path)
		return 0;
	j->vocab = vocab_load(j->tok_path, j->o.split, e);
	if (!j->vocab)
		return -1;
	vocab_json(j->vocab, &j->tok.tokenizer);
	j->id.fingerprint = j->vocab->fingerprint;
	return 0;
}

/* ---- shards ---- */

/* Ids of the shards must be below: 0 and no error, nobody says. */
static int
id_limit(const struct job *j, uint32_t *limit, struct err *e)
{
	const char *folder = j->from ? j->from : j->o.init_from;
	struct model_config c;

	*limit = 0;
	if (j->o.vocab_size)
		*limit = (uint32_t)j->o.vocab_size;
	else if (j->vocab)
		*limit = j->vocab->n;
	else if (folder) {
		if (config_load(&c, folder, e) < 0)
			return -1;
		*limit = (uint32_t)c.vocab;
	}
	return 0;
}

static struct shards *
open_shards(struct job *j, const struct arg_list *paths, struct err *e)
{
	const struct shard_info *i;
	struct shard_hint h;
	struct shards *s;

	shard_hint_init(&h);
	h.format = (enum shard_format)j->o.shard_format;
	if (j->vocab) {
		h.bos = j->vocab->bos;
		h.eos = j->vocab->eos;
	}
	if (id_limit(j, &h.vocab, e) < 0)
		return NULL;
	h.limit = h.vocab > 0;
	s = shards_open_hint(paths->v, paths->n, &h, e);
	if (!s)
		return NULL;
	i = shards_info(s);
	if (i->fingerprint && j->vocab &&
	    i->fingerprint != j->vocab->fingerprint) {
		err_set(e, "%s: packed with another tokenizer (fingerprint %016"
			PRIx64 ", that of %s is %016" PRIx64 ")", paths->v[0],
			i->fingerprint, j->tok_path,
			j->vocab->fingerprint);
		shards_close(s);
		return NULL;
	}
	return s;
}

static int
check_windows(const struct job *j, const struct shards *s, const char *what,
	      struct err *e)
{
	const struct shard_info *i = shards_info(s);
	int64_t t = j->o.seq_len;

	if (shards_windows(s, (uint32_t)t))
		return 0;
	if (i->windows && i->seq_len != t)
		return err_set(e, "%s: cut into windows of %" PRIu32
			       " tokens, --seq-len is %" PRId64, what,
			       i->seq_len, t);
	return err_set(e, "%s: need >= T+1 = %" PRId64 " tokens, have %" PRIu64,
		       what, t + 1, i->tokens);
}

int
setup_data(struct job *j, struct err *e)
{
	const struct shard_info *i;

	if (!j->o.data.n)
		return err_set(e, "no data: give --data PATH");
	j->data = open_shards(j, &j->o.data, e);
	if (!j->data)
		return -1;
	i = shards_info(j->data);
	if (!j->o.seq_len)
		j->o.seq_len = i->seq_len ? i->seq_len : 1024;
	if (check_windows(j, j->data, j->o.data.v[0], e) < 0)
		return -1;
	j->id.hash = i->hash;
	j->id.tokens = i->tokens;
	j->id.windows = shards_windows(j->data, (uint32_t)j->o.seq_len);
	if (!j->o.val_data.n) {
		if (j->o.eval_every)
			return err_set(e, "--eval-every without --val-data");
		return 0;
	}
	j->val = open_shards(j, &j->o.val_data, e);
	if (!j->val ||
	    check_windows(j, j->val, j->o.val_data.v[0], e) < 0)
		return -1;
	j->id.val_hash = shards_info(j->val)->hash;
	return 0;
}
