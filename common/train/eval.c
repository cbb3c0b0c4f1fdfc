/*
 * eval.c - evaluation and samples of a run (job.h)
 *
 * Every evaluation uses the same windows: n of them, spread evenly over the
 * evaluation shards.  The loss is the mean over all target tokens, however
 * they are batched; bits per byte divides by the number of text bytes in the
 * target tokens (special tokens have none).
 */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "model/decode.h"
#include "tokenizer/ids.h"
#include "train/interrupt.h"
#include "train/job_priv.h"

struct sums {
	double loss;		/* nats */
	uint64_t tokens;	/* targets */
	uint64_t bytes;		/* of their text */
};

/* Text bytes of a token: SentencePiece's U+2581 is a space. */
static uint64_t
token_bytes(const struct vocab *v, int32_t id)
{
	const struct span *t = &v->token[id];
	uint64_t n = t->n;
	size_t i;

	if (v->flags[id] & VOCAB_SPECIAL)
		return 0;
	for (i = 2; v->kind == VOCAB_SENTENCEPIECE && i < t->n; i++)
		if (!memcmp(t->p + i - 2, VOCAB_SPACE, 3))
			n -= 2;
	return n;
}

static void
add_losses(const struct job *j, const struct batch *b, int64_t n,
	   struct sums *s)
{
	const struct vocab *v = j->data.vocab;
	int64_t i;

	for (i = 0; i < n * j->o.seq_len; i++) {
		int32_t id = b->target[i];

		if (id < 0)
			continue;
		s->loss += j->tr.loss[i];
		s->tokens++;
		if (v && (uint32_t)id < v->n && v->token[id].p)
			s->bytes += token_bytes(v, id);
	}
}

static int
log_eval(struct job *j, uint64_t windows, const struct sums *s, struct err *e)
{
	trainlog_event(j->run.log, "eval", j->at.step);
	trainlog_real(j->run.log, "loss", s->loss / (double)s->tokens);
	trainlog_int(j->run.log, "windows", windows);
	trainlog_int(j->run.log, "tokens", s->tokens);
	if (s->bytes)
		trainlog_real(j->run.log, "bits_per_byte", s->loss / M_LN2 /
			      (double)s->bytes);
	else
		trainlog_null(j->run.log, "bits_per_byte");
	return trainlog_end(j->run.log, e);
}

int
job_evaluate(struct job *j, struct err *e)
{
	struct batch_source src = job_source(j, j->data.val);
	uint64_t all = shards_windows(src.shards, src.t), at, i, k;
	uint64_t micro = (uint64_t)j->o.micro_batch;
	uint64_t want = (uint64_t)j->o.eval_windows;
	uint64_t n = want && want < all ? want : all;
	struct sums s = {0};
	struct batch b;
	int rc = 0;

	batch_init(&b, (uint32_t)micro, src.t);
	for (at = 0; at < n && rc == 0; at += k) {
		k = n - at < micro ? n - at : micro;
		for (i = 0; i < k && rc == 0; i++)
			rc = batch_window(&b, (uint32_t)i, &src,
					  (uint64_t)((unsigned __int128)
						     (at + i) * all / n), e);
		if (rc < 0)
			break;
		trainer_eval(&j->tr, &b, (int64_t)k);
		add_losses(j, &b, (int64_t)k, &s);
		rc = interrupt_pending() != 0;
	}
	batch_clear(&b);
	if (rc)
		return rc;
	j->at.last_eval = (int64_t)j->at.step;
	return log_eval(j, n, &s, e);
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
	return rc;
}

struct sample {
	struct ids ids;		/* the prompt, then what follows */
	size_t prompt;		/* how many are of the prompt */
};

/* Greedy, up to sample_tokens, an EOS, the last position or a signal. */
static struct sample
sample_one(const struct job *j, struct decoder *d, const struct job_prompt *p)
{
	size_t max = (size_t)j->o.sample_tokens, end = (size_t)j->o.seq_len, i;
	int32_t none = -1, tok;
	struct sample s = {0};
	struct ids *x = &s.ids;
	float loss;

	if (j->data.id.bos >= 0)
		ids_add(x, (uint32_t)j->data.id.bos);
	for (i = 0; i < p->n && x->n < end; i++)
		ids_add(x, p->ids[i]);
	s.prompt = x->n;
	for (i = 0; x->n && x->n < s.prompt + max; i = x->n - 1) {
		decoder_score(d, decoder_feed(d, x->v + i, (int64_t)(x->n - i),
					      0, (int64_t)i), 1, &none, &loss,
			      &tok);
		if (config_is_eos(&j->c, tok) || x->n == end ||
		    interrupt_pending())
			break;
		ids_add(x, (uint32_t)tok);
	}
	return s;
}

/*
 * Lines are logged once all prompts are done: a resume repeats samples that a
 * signal interrupted, and they must not be in the log twice.
 */
int
job_sample(struct job *j, struct err *e)
{
	struct decoder *d = decoder_new(j->tr.m, 1, j->o.seq_len,
					j->o.seq_len < 64 ? j->o.seq_len : 64);
	struct sample *s = xcalloc(j->nprompts, sizeof *s);
	size_t i, n;
	int rc;

	for (n = 0; n < j->nprompts && !interrupt_pending(); n++)
		s[n] = sample_one(j, d, &j->prompts[n]);
	decoder_free(d);
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
