/*
 * setup_model.c - see setup.h: the shape, the memory, and weights to begin with
 */
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "train/setup.h"
#include "record/ckpt.h"

/* ---- shape ---- */

static int64_t
data_vocab(const struct job *j)
{
	int64_t n = shards_info(j->data)->vocab;

	if (j->val && shards_info(j->val)->vocab > n)
		n = shards_info(j->val)->vocab;
	if (j->vocab && j->vocab->n > n)
		n = j->vocab->n;
	return n;
}

/*
 * Prompts get a BOS later exactly when the training data has them: what pack
 * put there counts, also where the tokenizer's file names no such token.
 */
static void
set_special_ids(struct job *j)
{
	const struct shard_info *i = shards_info(j->data);
	struct vocab *v = j->vocab;

	if (j->o.init_from)
		return;
	if (i->format == SHARD_ASSAY) {
		j->c.bos = i->has_bos ? i->bos : -1;
		j->c.eos = i->has_eos ? i->eos : -1;
	} else {
		j->c.bos = v ? v->bos : i->bos;
		j->c.eos = v ? v->eos : i->eos;
	}
	if (v && v->bos < 0)
		v->bos = j->c.bos;
	if (v && v->eos < 0)
		v->eos = j->c.eos;
}

static int
check_schedule(const struct options *o, struct err *e)
{
	struct schedule s = options_schedule(o);

	if (s.warmup > s.steps)
		warn("--warmup-steps %" PRId64 " of %" PRId64 " steps: the"
		     " peak is never reached", s.warmup, s.steps);
	return schedule_check(&s, e);
}

int
setup_shape(struct job *j, struct err *e)
{
	const char *folder = j->from ? j->from : j->o.init_from;

	if (options_resolve(&j->o, folder, data_vocab(j), &j->c, e) < 0 ||
	    check_schedule(&j->o, e) < 0)
		return -1;
	if (j->resumed)
		options_note_derived(&j->o, &j->stored, &j->changed);
	if (!j->from)
		set_special_ids(j);
	if (folder && j->o.seq_len > j->c.max_pos)
		return err_set(e, "--seq-len %" PRId64 ": the model was made"
			       " for %" PRId64 " positions", j->o.seq_len,
			       j->c.max_pos);
	if ((j->o.prompts || j->o.prompt.n) && !j->vocab)
		return err_set(e, "prompts need --tokenizer");
	if (j->c.bos >= j->c.vocab)
		return err_set(e, "%s: bos_token_id is %" PRId64 ", the model"
			       " has %" PRId64 " ids", folder ? folder :
			       j->o.data.v[0], j->c.bos, j->c.vocab);
	if (j->o.sample_every && !j->o.prompts && !j->o.prompt.n)
		return err_set(e, "--sample-every without --prompts or"
			       " --prompt");
	return 0;
}

/* ---- memory ---- */

int64_t
job_bytes(const struct options *o, const struct model_config *c)
{
	enum kdtype dt = (enum kdtype)o->dtype;
	int64_t s = (int64_t)kdtype_size(dt), head;

	head = s * o->micro_batch * o->seq_len * config_vocab_padded(c);
	return config_params(c) * (s + 16) +
		pass_bytes(c, dt, o->micro_batch, o->seq_len, 1) +
		o->batch_size * o->seq_len * 52 +
		(head < 64 << 20 ? head : 64 << 20) + 24000000;
}

static void
warn_memory(const struct job *j)
{
	int64_t need = job_bytes(&j->o, &j->c);
	int64_t have = (int64_t)mem_of_machine();

	if (have > 0 && need > have)
		warn("the run needs about %" PRId64 " MB, this machine has %"
		     PRId64 " MB", need / 1000000, have / 1000000);
}

static void
alloc_step(struct job *j)
{
	size_t n = (size_t)(j->o.batch_size * j->o.seq_len) * 4;

	j->tok_d = j->k->alloc(j->k, n);
	j->target_d = j->k->alloc(j->k, n);
	j->start_d = j->k->alloc(j->k, n);
	j->loss_d = j->k->alloc(j->k, n);
	j->logz_d = j->k->alloc(j->k, n);
	j->loss = xmalloc(n);
	j->logz = xmalloc(n);
}

/* ---- weights ---- */

static int
start_weights(struct job *j, struct err *e)
{
	struct st *s;
	int rc;

	if (!j->o.init_from) {
		llama_flat_init(j->m, (uint64_t)j->o.seed, j->o.init_std,
				j->o.embed_scale, j->opt.master);
		llama_set(j->m, j->opt.master);
		return 0;
	}
	s = st_open(j->o.init_from, e);
	rc = s ? llama_match(j->m, s, e) : -1;
	if (rc == 0)
		rc = llama_flat_load(j->m, s, "", j->opt.master, e);
	st_close(s);
	if (rc == 0)
		llama_set(j->m, j->opt.master);
	return rc;
}

static int
same_data(const struct job *j, const struct data_id *was, struct err *e)
{
	if (j->o.allow_changed_data)
		return 0;
	if (was->hash != j->id.hash || was->windows != j->id.windows)
		return err_set(e, "%s: the shards are not those of the run:"
			       " hash %016" PRIx64 " (%" PRIu64 " windows),"
			       " the checkpoint has %016" PRIx64 " (%" PRIu64
			       "); --allow-changed-data goes on",
			       j->o.data.v[0], j->id.hash, j->id.windows,
			       was->hash, was->windows);
	if (was->val_hash && was->val_hash != j->id.val_hash)
		return err_set(e, "%s: the evaluation shards are not those of"
			       " the run: hash %016" PRIx64 ", the checkpoint"
			       " has %016" PRIx64 "; --allow-changed-data goes"
			       " on", j->val ? j->o.val_data.v[0] :
			       "--val-data", j->id.val_hash, was->val_hash);
	if (was->fingerprint && was->fingerprint != j->id.fingerprint)
		return err_set(e, "the tokenizer is not that of the run;"
			       " --allow-changed-data goes on");
	return 0;
}

static int
restore(struct job *j, struct err *e)
{
	struct data_id was;
	struct err why = {0};

	if (state_load(j->from, &j->at, &was, &j->history, e) < 0 ||
	    same_data(j, &was, e) < 0)
		return -1;
	if ((int64_t)j->at.step != ckpt_step(j->from))
		return err_set(e, "%s/train_state.json: step is %" PRIu64,
			       j->from, j->at.step);
	j->saved = (int64_t)j->at.step;
	if (state_load_tensors(j->from, j->m, &j->opt, &why) == 0)
		return 0;
	return err_set(e, "%s (--init-from %s starts anew from its weights"
		       " alone)", why.msg, j->from);
}

int
setup_model(struct job *j, struct err *e)
{
	const struct options *o = &j->o;
	struct optim_conf oc = {o->beta1, o->beta2, o->eps, o->weight_decay,
		o->decay_embeddings, o->clip};

	warn_memory(j);
	j->m = llama_new(j->k, &j->c, (enum kdtype)o->dtype, K_USE_TRAIN,
			 o->seq_len);
	optim_init(&j->opt, j->m, &oc);
	j->pass = pass_new(j->m, o->micro_batch, o->seq_len, 1);
	alloc_step(j);
	j->at = (struct run_state){.last_eval = -1, .last_sample = -1};
	j->saved = -1;
	if (j->from)
		return restore(j, e);
	return start_weights(j, e);
}
