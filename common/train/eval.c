/*
 * eval.c - evaluation and samples of a run (job.h)
 *
 * Every evaluation uses the same windows: n of them, spread evenly over the
 * evaluation shards.  The loss is the mean over all target tokens, however
 * they are batched.  Bits per byte has only the targets that are text: neither
 * the loss of special tokens nor the spaces that a tokenizer puts in front.
 */
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "model/decode.h"
#include "tokenizer/ids.h"
#include "train/interrupt.h"
#include "train/job_priv.h"

struct sums {
	double loss;		/* nats, of all targets */
	uint64_t tokens;	/* targets */
	double text_loss;	/* of those that are text */
	uint64_t bytes;		/* their UTF-8 as the documents have it */
};

/* Is it what was put around the documents?  Formats of other trainers do not
 * say what that was. */
static int
is_around(const struct job *j, int32_t id)
{
	const struct shard_info *i = shards_info(j->data.val);
	const struct vocab *v = j->data.vocab;

	if (i->format != SHARD_ASSAY)
		return id == v->bos || id == v->eos;
	return (i->has_bos && id == i->bos) || (i->has_eos && id == i->eos);
}

/* Special tokens are not text, and ids without a token are nothing. */
static int
is_text(const struct job *j, int32_t id)
{
	const struct vocab *v = j->data.vocab;

	return (uint32_t)id < v->n && v->token[id].p &&
		!(v->flags[id] & VOCAB_SPECIAL) && !is_around(j, id);
}

/* b has n windows; first: (n, T), 1 where a target begins a document. */
static void
add_losses(const struct job *j, const struct batch *b, int64_t n,
	   const uint8_t *first, struct sums *s)
{
	const struct vocab *v = j->data.vocab;
	int64_t i;

	for (i = 0; i < n * j->o.seq_len; i++) {
		int32_t id = b->target[i], after = b->tok[i];

		if (id < 0)
			continue;
		s->loss += j->tr.loss[i];
		s->tokens++;
		if (!v || !is_text(j, id))
			continue;
		if (first[i] || !is_text(j, after))
			after = -1;
		s->text_loss += j->tr.loss[i];
		s->bytes += vocab_text_bytes(v, v->token[id],
					     vocab_puts_space(v, after));
	}
}

static int
log_eval(struct job *j, uint64_t windows, const struct sums *s, double start,
	 struct err *e)
{
	double loss = s->loss / (double)s->tokens, bits = -1;
	double seconds = clock_s() - start;

	trainlog_event(j->run.log, "eval", j->at.step);
	trainlog_real(j->run.log, "loss", loss);
	trainlog_int(j->run.log, "windows", windows);
	trainlog_int(j->run.log, "tokens", s->tokens);
	if (s->bytes) {
		bits = s->text_loss / (M_LN2 * (double)s->bytes);
		trainlog_real(j->run.log, "bits_per_byte", bits);
	} else {
		trainlog_null(j->run.log, "bits_per_byte");
	}
	trainlog_real(j->run.log, "eval_s", seconds);
	if (trainlog_end(j->run.log, e) < 0)
		return -1;
	monitor_eval(j, loss, bits, windows, seconds);
	return 0;
}

/*
 * Window k as row `row` of b.  The mask that stops at documents says which
 * targets begin one; in b these are no targets, if it has that mask itself.
 */
static int
read_window(struct batch *b, uint64_t row, const struct batch_source *src,
	    uint64_t k, uint8_t *first, struct err *e)
{
	size_t t = src->t, i;
	uint32_t *ids;
	int rc;

	if (batch_window(b, (uint32_t)row, src, k, e) < 0)
		return -1;
	memset(first, 0, t);
	if (src->doc_mask)
		return 0;
	ids = xreallocarray(NULL, 2 * t, sizeof *ids);
	rc = shards_window(src->shards, src->t, k, 1, ids, ids + t, first,
			   NULL, e);
	for (i = 0; i < t; i++)
		first[i] = !first[i];
	free(ids);
	return rc;
}

int
job_evaluate(struct job *j, struct err *e)
{
	struct batch_source src = job_source(j, j->data.val);
	uint64_t all = shards_windows(src.shards, src.t), at, i, k;
	uint64_t micro = (uint64_t)j->o.micro_batch;
	uint64_t want = (uint64_t)j->o.eval_windows;
	uint64_t n = want && want < all ? want : all;
	uint8_t *first = xmalloc((size_t)micro * src.t);
	double start = clock_s();
	struct sums s = {0};
	struct batch b;
	int rc = 0;

	batch_init(&b, (uint32_t)micro, src.t);
	for (at = 0; at < n && rc == 0; at += k) {
		k = n - at < micro ? n - at : micro;
		for (i = 0; i < k && rc == 0; i++)
			rc = read_window(&b, i, &src, (uint64_t)
					 ((unsigned __int128)(at + i) * all /
					  n), first + i * src.t, e);
		if (rc < 0)
			break;
		rc = trainer_eval(&j->tr, &b, (int64_t)k, e);
		if (rc < 0)
			break;
		add_losses(j, &b, (int64_t)k, first, &s);
		rc = interrupt_pending() != 0;
	}
	batch_clear(&b);
	free(first);
	if (rc)
		return rc;
	j->at.last_eval = (int64_t)j->at.step;
	return log_eval(j, n, &s, start, e);
}

/* ---- samples ---- */

static int
log_sample(struct job *j, const struct job_prompt *p, const uint32_t *ids,
	   size_t n, struct err *e)
{
	const struct vocab *v = j->data.vocab;
	struct buf text = {0}, *line;
	struct ids known = {0};
	size_t i;
	int rc;

	/* A model can have more ids than its tokenizer; they have no text. */
	for (i = 0; i < n; i++)
		if (ids[i] < v->n && v->token[ids[i]].p)
			ids_add(&known, ids[i]);
	rc = vocab_decode(v, known.v, known.n, 1, &text, e);
	free(known.v);
	if (rc < 0) {
		buf_clear(&text);
		return -1;
	}
	line = trainlog_event(j->run.log, "sample", j->at.step);
	trainlog_str(j->run.log, "prompt", p->text);
	trainlog_str(j->run.log, "text", buf_span(&text));
	buf_puts(line, ",\"tokens\":[");
	for (i = 0; i < n; i++)
		buf_printf(line, "%s%u", i ? "," : "", ids[i]);
	buf_putc(line, ']');
	rc = trainlog_end(j->run.log, e);
	buf_clear(&text);
	if (rc == 0)
		monitor_sample(j, p, ids, n);
	return rc;
}

struct sample {
	struct ids ids;		/* the prompt, then what follows */
	size_t prompt;		/* how many are of the prompt */
};

/* Greedy, up to sample_tokens, an EOS, the last position or a signal. */
static int
sample_one(const struct job *j, struct decoder *d, const struct job_prompt *p,
	   struct sample *s, struct err *e)
{
	size_t max = (size_t)j->o.sample_tokens, end = (size_t)j->o.seq_len, i;
	int32_t none = -1, tok;
	struct ids *x = &s->ids;
	int64_t last;
	float loss;

	for (i = 0; i < j->data.id.front.n && x->n < end; i++)
		ids_add(x, j->data.id.front.id[i]);
	for (i = 0; i < p->n && x->n < end; i++)
		ids_add(x, p->ids[i]);
	s->prompt = x->n;
	for (i = 0; x->n && x->n < s->prompt + max; i = x->n - 1) {
		if (decoder_feed(d, x->v + i, (int64_t)(x->n - i), 0,
				 (int64_t)i, &last, e) < 0 ||
		    decoder_score(d, last, 1, &none, &loss, &tok, e) < 0)
			return -1;
		if (config_is_eos(&j->c, tok) || x->n == end ||
		    interrupt_pending())
			break;
		ids_add(x, (uint32_t)tok);
	}
	return 0;
}

/*
 * Lines are logged once all prompts are done: a resume repeats samples that a
 * signal interrupted, and they must not be in the log twice.
 */
int
job_sample(struct job *j, struct err *e)
{
	struct decoder *d = decoder_new(j->tr.m, 1, j->o.seq_len,
					j->o.seq_len < 64 ? j->o.seq_len : 64,
					e);
	struct sample *s = xcalloc(j->nprompts, sizeof *s);
	size_t i, n;
	int rc = d ? 0 : -1;

	for (n = 0; n < j->nprompts && rc == 0 && !interrupt_pending(); n++)
		rc = sample_one(j, d, &j->prompts[n], &s[n], e);
	decoder_free(d);
	if (rc == 0)
		rc = interrupt_pending() != 0;
	for (i = 0; i < n && rc == 0; i++)
		rc = log_sample(j, &j->prompts[i], s[i].ids.v + s[i].prompt,
				s[i].ids.n - s[i].prompt, e);
	if (rc == 0)
		j->at.last_sample = (int64_t)j->at.step;
	while (n)
		free(s[--n].ids.v);
	free(s);
	return rc;
}
