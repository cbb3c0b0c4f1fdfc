/*
 * eval.c - evaluation and samples of a run (job.h)
 *
 * Evaluation looks at the same windows each time: `n` of them spread evenly
 * over the evaluation shards.  The mean is over target tokens, whatever
 * batches they came in; bits per byte divides by the bytes that the target
 * tokens stand for (special tokens stand for none).
 */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "model/decode.h"
#include "train/interrupt.h"
#include "train/job.h"

void
job_upload(struct job *j, const struct batch *b, int64_t n)
{
	size_t bytes = (size_t)(n * j->o.seq_len) * 4;

	j->k->upload(j->k, j->tok_d, b->tok, bytes);
	j->k->upload(j->k, j->target_d, b->target, bytes);
	j->k->upload(j->k, j->start_d, b->start, bytes);
}

struct sums {
	double loss;		/* nats */
	uint64_t tokens;	/* targets */
	uint64_t bytes;		/* they stand for */
};

/* Text bytes of a token: SentencePiece's U+2581 is a space. */
static uint64_t
token_bytes(const struct vocab *v, int32_t id)
{
	uint64_t n = 0;
	size_t i;

	if ((uint32_t)id >= v->n || !v->token[id].p || v->flags[id] & VOCAB_SPECIAL)
		return 0;
	for (i = 0; i < v->token[id].n; i++)
		if (v->kind == VOCAB_SENTENCEPIECE && v->token[id].n - i > 2 &&
		    !memcmp(v->token[id].p + i, "\xe2\x96\x81", 3)) {
			n++;
			i += 2;
		} else
			n++;
	return n;
}

static void
add_losses(const struct job *j, const struct batch *b, int64_t n,
	   struct sums *s)
{
	int64_t i;

	for (i = 0; i < n * j->o.seq_len; i++) {
		if (b->target[i] < 0)
			continue;
		s->loss += j->loss[i];
		s->tokens++;
		if (j->vocab)
			s->bytes += token_bytes(j->vocab, b->target[i]);
	}
}

/* Loss of the first n windows of b, at most a micro-batch. */
static void
eval_batch(struct job *j, const struct batch *b, int64_t n, struct sums *s)
{
	job_upload(j, b, n);
	pass_run(j->pass, &(struct pass_batch){.b = n, .tok = j->tok_d,
		.target = j->target_d,
		.start = j->o.doc_mask ? j->start_d : NULL,
		.loss = j->loss_d, .logz = j->logz_d});
	j->k->download(j->k, j->loss, j->loss_d,
		       (size_t)(n * j->o.seq_len) * sizeof(float));
	add_losses(j, b, n, s);
}

static int
log_eval(struct job *j, uint64_t windows, const struct sums *s, struct err *e)
{
	trainlog_event(j->log, "eval", j->at.step);
	trainlog_real(j->log, "loss", s->loss / (double)s->tokens);
	trainlog_int(j->log, "windows", windows);
	trainlog_int(j->log, "tokens", s->tokens);
	if (s->bytes)
		trainlog_real(j->log, "bits_per_byte", s->loss / M_LN2 /
			      (double)s->bytes);
	else
		trainlog_null(j->log, "bits_per_byte");
	return trainlog_end(j->log, e);
}

int
job_evaluate(struct job *j, struct err *e)
{
	uint64_t all = shards_windows(j->val, (uint32_t)j->o.seq_len);
	uint64_t n = j->o.eval_windows && (uint64_t)j->o.eval_windows < all ?
		(uint64_t)j->o.eval_windows : all, at, i, k;
	struct sums s = {0};
	struct batch b;
	int rc = 0;

	batch_init(&b, (uint32_t)j->o.micro_batch, (uint32_t)j->o.seq_len);
	for (at = 0; at < n && rc == 0; at += k) {
		k = n - at < (uint64_t)j->o.micro_batch ? n - at :
			(uint64_t)j->o.micro_batch;
		for (i = 0; i < k && rc == 0; i++)
			rc = batch_window(&b, (uint32_t)i, &j->eval,
					  (uint64_t)((unsigned __int128)
						     (at + i) * all / n), e);
		if (rc == 0)
			eval_batch(j, &b, (int64_t)k, &s);
		if (rc == 0 && interrupt_pending())
			rc = 1;
	}
	batch_clear(&b);
	if (rc)
		return rc;
	j->at.last_eval = (int64_t)j->at.step;
	return log_eval(j, n, &s, e);
}

/* ---- samples ---- */

static int
stop_sampling(void *ctx)
{
	(void)ctx;
	return interrupt_pending() != 0;
}

/* A model may have more ids than its tokenizer: those have no text. */
static int
decode_known(const struct vocab *v, const uint32_t *ids, size_t n,
	     struct buf *text, struct err *e)
{
	uint32_t *known = xmalloc((n + 1) * sizeof *known);
	size_t i, k = 0;
	int rc;

	for (i = 0; i < n; i++)
		if (ids[i] < v->n && v->token[ids[i]].p)
			known[k++] = ids[i];
	rc = vocab_decode(v, known, k, 1, text, e);
	free(known);
	return rc;
}

static int
log_sample(struct job *j, const struct prompt *p, const uint32_t *ids,
	   size_t n, struct err *e)
{
	struct buf text = {0}, *line;
	size_t i;
	int rc;

	if (decode_known(j->vocab, ids, n, &text, e) < 0) {
		buf_clear(&text);
		return -1;
	}
	line = trainlog_event(j->log, "sample", j->at.step);
	trainlog_str(j->log, "prompt", p->text);
	trainlog_str(j->log, "text", buf_span(&text));
	buf_puts(line, ",\"tokens\":[");
	for (i = 0; i < n; i++)
		buf_printf(line, "%s%u", i ? "," : "", ids[i]);
	buf_putc(line, ']');
	rc = trainlog_end(j->log, e);
	buf_clear(&text);
	return rc;
}

struct sample {
	uint32_t *ids;
	size_t n;
};

static struct sample
sample_one(const struct job *j, struct decoder *d, const struct prompt *p)
{
	size_t bos = j->c.bos >= 0, n = p->n + bos;
	uint32_t *in = xmalloc((n + 1) * sizeof *in);
	struct sample s = {xmalloc((size_t)j->o.sample_tokens * sizeof *in), 0};

	if (bos)
		in[0] = (uint32_t)j->c.bos;
	memcpy(in + bos, p->ids, p->n * sizeof *in);
	s.n = (size_t)decoder_greedy(d, in, (int64_t)n, j->o.sample_tokens,
				     s.ids, stop_sampling, NULL);
	free(in);
	return s;
}

/*
 * The lines are written when there is one for each prompt: what a signal cuts
 * short is done again after the resume, and must not stand there twice.
 */
int
job_sample(struct job *j, struct err *e)
{
	struct decoder *d = decoder_new(j->m, 1, j->o.seq_len,
					j->o.seq_len < 64 ? j->o.seq_len : 64);
	struct sample *s = xcalloc(j->nprompts, sizeof *s);
	size_t i, n;
	int rc;

	for (n = 0; n < j->nprompts && !interrupt_pending(); n++)
		s[n] = sample_one(j, d, &j->prompts[n]);
	decoder_free(d);
	rc = interrupt_pending() != 0;
	for (i = 0; i < n && rc == 0; i++)
		rc = log_sample(j, &j->prompts[i], s[i].ids, s[i].n, e);
	if (rc == 0)
		j->at.last_sample = (int64_t)j->at.step;
	while (n)
		free(s[--n].ids);
	free(s);
	return rc;
}
