/*
 * generator.c - see generator.h
 *
 * Prompts go through the model in pieces, one sequence after another, so that
 * the rows of a matmul, and with them every bit, do not depend on the rest of
 * the batch.  Then each step feeds one row for every sequence still running.
 * Its tokens are chosen on several threads, since that takes as long as a layer
 * for each row.  The decoder is made for the largest batch seen and kept.
 */
#include "sample/generator.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/parallel.h"
#include "base/utf8.h"
#include "model/decode.h"
#include "model/need.h"

enum { CHOICES = 100000 };	/* logits that are worth a thread */

/* The next token of a row: -1 and the reason, or with its log-probability. */
struct choice {
	int64_t id;
	double logprob;
	struct err why;
};

struct generator {
	struct llama *m;
	const struct vocab *v;
	struct decoder *d;
	int64_t slots, positions, rows;
	int32_t *tok, *slot, *pos, *best;	/* host, (rows) */
	float *score;
	struct choice *choice;			/* (slots) */
	struct sampler_scratch *scratch;	/* a thread */
	/* of generator_context() */
	size_t context;			/* positions fed, all but the last id */
	uint32_t last;
	struct ids prefix;		/* dynamic RoPE only: ids fed, */
	int64_t length;			/* for a text of this length */
};

struct generator *
generator_new(struct llama *m, const struct vocab *v)
{
	struct generator *g = xcalloc(1, sizeof(*g));

	g->m = m;
	g->v = v;
	g->scratch = xcalloc((size_t)m->k->threads, sizeof(*g->scratch));
	return g;
}

static void
free_buffers(struct generator *g)
{
	decoder_free(g->d);
	free(g->tok);
	free(g->slot);
	free(g->pos);
	free(g->best);
	free(g->score);
	free(g->choice);
	g->d = NULL;
	g->tok = g->slot = g->pos = g->best = NULL;
	g->score = NULL;
	g->choice = NULL;
}

void
generator_free(struct generator *g)
{
	if (!g)
		return;
	free_buffers(g);
	for (int t = 0; t < g->m->k->threads; t++)
		free(g->scratch[t].v);
	free(g->scratch);
	free(g->prefix.v);
	free(g);
}

void
generator_seq_clear(struct gen_seq *s)
{
	free(s->out.v);
	free(s->logprob);
	buf_clear(&s->text);
	memset(s, 0, sizeof(*s));
}

static int
check_ids(const struct generator *g, const uint32_t *id, size_t n,
	  struct err *e)
{
	for (size_t i = 0; i < n; i++)
		if (id[i] >= (uint64_t)g->m->c.vocab)
			return err_set(e, "token %zu has id %u, but the "
				       "vocabulary has %lld tokens", i, id[i],
				       (long long)g->m->c.vocab);
	return 0;
}

static int
check_positions(const struct generator *g, int64_t positions, struct err *e)
{
	if (positions > g->m->positions)
		return err_set(e, "%lld positions are needed, and the model "
			       "was loaded for at most %lld",
			       (long long)positions,
			       (long long)g->m->positions);
	return 0;
}

int
generator_check(const struct generator *g, const uint32_t *id, size_t n,
		const struct gen_opts *o, struct err *e)
{
	if (check_ids(g, id, n, e) < 0)
		return -1;
	return check_positions(g, (int64_t)n + o->max_tokens, e);
}

static int
reserve(const struct generator *g, struct err *e)
{
	const struct llama *m = g->m;
	struct run_shape r = {.use = m->param[m->head].w->use, .rows = g->rows,
		.positions = g->positions};

	return need_reserve(m->k, &m->c, m->dt, &r, e);
}

static int64_t
larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/*
 * Make room for `slots` sequences of `positions` tokens, of which at most
 * `fed` are known beforehand and fed together.
 */
static int
prepare(struct generator *g, int64_t slots, int64_t positions, int64_t fed,
	struct err *e)
{
	int64_t rows = larger(slots, fed < DECODER_PIECE ? fed :
			      DECODER_PIECE);
	struct err why = {0};

	if (check_positions(g, positions, e) < 0)
		return -1;
	if (g->d && slots <= g->slots && positions <= g->positions &&
	    rows <= g->rows)
		return 0;
	free_buffers(g);
	g->slots = slots = larger(slots, g->slots);
	g->positions = positions = larger(positions, g->positions);
	g->rows = rows = larger(rows, g->rows);
	if (reserve(g, &why) == 0)
		g->d = decoder_new(g->m, slots, positions, rows, &why);
	if (!g->d)
		return err_set(e, "%s: a smaller --batch-size or --max-tokens,"
			       " or a shorter prompt, needs less", why.msg);
	g->tok = xcalloc((size_t)rows, sizeof(*g->tok));
	g->slot = xcalloc((size_t)rows, sizeof(*g->slot));
	g->pos = xcalloc((size_t)rows, sizeof(*g->pos));
	g->best = xcalloc((size_t)rows, sizeof(*g->best));
	g->score = xcalloc((size_t)rows, sizeof(*g->score));
	g->choice = xcalloc((size_t)slots, sizeof(*g->choice));
	return 0;
}

/* ---- text ---- */

void
generator_put_token(const struct vocab *v, uint32_t id, struct buf *b)
{
	if (id < v->n && !(v->flags[id] & VOCAB_SPECIAL))
		vocab_put_token(v, id, b);
}

size_t
generator_whole_chars(const char *p, size_t n)
{
	size_t back = 0, want;
	unsigned char c;

	while (back < 3 && back < n && utf8_is_cont(p[n - 1 - back]))
		back++;
	if (back == n)
		return n;
	c = (unsigned char)p[n - 1 - back];
	want = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
	return back + 1 < want ? n - 1 - back : n;
}

/* End of the text that no stop text can cut off any more: the text may end
 * with the start of one. */
static size_t
safe_end(const struct gen_opts *o, const struct buf *t)
{
	size_t end = t->n;

	for (size_t i = 0; i < o->nstop; i++) {
		size_t len = strlen(o->stop[i]);
		size_t k = len - 1 < t->n ? len - 1 : t->n;

		for (; k > 0; k--)
			if (!memcmp(t->p + t->n - k, o->stop[i], k))
				break;
		if (t->n - k < end)
			end = t->n - k;
	}
	return end;
}

/* Truncate the text at the first stop that its last `added` bytes complete. */
static int
find_stop(const struct gen_opts *o, struct buf *t, size_t added)
{
	size_t first = SIZE_MAX;

	for (size_t i = 0; i < o->nstop; i++) {
		size_t len = strlen(o->stop[i]);
		size_t from = t->n > added + len - 1 ? t->n - added - len + 1
						     : 0;
		const char *hit = t->n ? memmem(t->p + from, t->n - from,
						o->stop[i], len) : NULL;

		if (hit && (size_t)(hit - t->p) < first)
			first = (size_t)(hit - t->p);
	}
	if (first == SIZE_MAX)
		return 0;
	t->n = first;
	return 1;
}

static void
keep_token(struct gen_seq *s, const struct choice *c, const struct gen_opts *o)
{
	size_t cap = s->out.cap;

	ids_add(&s->out, (uint32_t)c->id);
	if (!o->logprobs)
		return;
	if (s->out.cap != cap)
		s->logprob = xreallocarray(s->logprob, s->out.cap,
					   sizeof(*s->logprob));
	s->logprob[s->out.n - 1] = c->logprob;
}

/* Add the chosen token to a sequence. */
static int
advance(struct generator *g, struct gen_seq *s, const struct choice *c,
	const struct gen_opts *o, struct err *e)
{
	size_t before = s->text.n;

	if (c->id < 0)
		return err_set(e, "%s", c->why.msg);
	keep_token(s, c, o);
	if (config_is_eos(&g->m->c, c->id)) {
		s->end = GEN_EOS;
	} else {
		if (g->v)
			generator_put_token(g->v, (uint32_t)c->id, &s->text);
		if (find_stop(o, &s->text, s->text.n - before))
			s->end = GEN_STOP;
		else if (s->out.n == (size_t)o->max_tokens)
			s->end = GEN_LENGTH;
	}
	s->shown = s->end ? s->text.n :
		   generator_whole_chars(s->text.p, safe_end(o, &s->text));
	return 0;
}

/* ---- choices ---- */

struct choosing {
	struct generator *g;
	const struct gen_opts *o;
	const struct gen_seq *v;
	const float *logits;		/* (rows, Vp) */
	int64_t rows;
	int threads;
};

/* Row j is of the sequence in slot[j]. */
static void
choose_rows(void *ctx, int thread)
{
	const struct choosing *x = ctx;
	struct generator *g = x->g;
	size_t vocab = (size_t)g->m->c.vocab;

	for (int64_t j = thread; j < x->rows; j += x->threads) {
		const struct gen_seq *s = &x->v[g->slot[j]];
		const float *l = x->logits + j * g->m->vp;
		struct choice *c = &g->choice[j];

		c->why.set = 0;
		c->id = sampler_pick(&x->o->sampler, l, vocab, s->number,
				     s->out.n, &g->scratch[thread], &c->why);
		if (c->id >= 0 && x->o->logprobs)
			c->logprob = sampler_logprob(l, vocab, (size_t)c->id);
	}
}

/* Fill choice[0..rows) from the logits of rows `first` on. */
static int
choose(struct generator *g, const struct gen_seq *v, int64_t first,
       int64_t rows, const struct gen_opts *o, struct err *e)
{
	struct choosing x = {g, o, v, decoder_logits(g->d, first, rows, e),
			     rows, g->m->k->threads};
	int64_t most = rows * g->m->c.vocab / CHOICES;

	if (!x.logits)
		return -1;
	if (x.threads > most)
		x.threads = most < 1 ? 1 : (int)most;
	parallel_run(x.threads, choose_rows, &x);
	return 0;
}

/* ---- a batch ---- */

/* One step of every running sequence; returns their number, or -1. */
static ptrdiff_t
step_all(struct generator *g, struct gen_seq *v, size_t n,
	 const struct gen_opts *o, gen_step step, void *ctx, struct err *e)
{
	int64_t rows = 0;

	for (size_t i = 0; i < n; i++) {
		if (v[i].end)
			continue;
		g->tok[rows] = (int32_t)v[i].out.v[v[i].out.n - 1];
		g->slot[rows] = (int32_t)i;
		g->pos[rows++] = (int32_t)(v[i].nprompt + v[i].out.n - 1);
	}
	if (rows == 0)
		return 0;
	if (decoder_run(g->d, rows, g->tok, g->slot, g->pos, e) < 0 ||
	    choose(g, v, 0, rows, o, e) < 0)
		return -1;
	for (int64_t j = 0; j < rows; j++) {
		struct gen_seq *s = &v[g->slot[j]];

		if (advance(g, s, &g->choice[j], o, e) < 0 ||
		    (step && step(ctx, s, e) < 0))
			return -1;
	}
	return rows;
}

int
generator_run(struct generator *g, struct gen_seq *v, size_t n,
	      const struct gen_opts *o, gen_step step, void *ctx,
	      struct err *e)
{
	size_t longest = 0;
	ptrdiff_t running;

	for (size_t i = 0; i < n; i++) {
		if (generator_check(g, v[i].prompt, v[i].nprompt, o, e) < 0)
			return -1;
		if (v[i].nprompt > longest)
			longest = v[i].nprompt;
	}
	if (prepare(g, (int64_t)n, (int64_t)longest + o->max_tokens,
		    (int64_t)longest, e) < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		int64_t last;

		decoder_length(g->d, (int64_t)v[i].nprompt);
		if (decoder_feed(g->d, v[i].prompt, (int64_t)v[i].nprompt,
				 (int32_t)i, 0, &last, e) < 0)
			return -1;
		g->slot[0] = (int32_t)i;
		if (choose(g, v, last, 1, o, e) < 0 ||
		    advance(g, &v[i], &g->choice[0], o, e) < 0 ||
		    (step && step(ctx, &v[i], e) < 0))
			return -1;
	}
	decoder_length(g->d, 0);
	do {
		running = step_all(g, v, n, o, step, ctx, e);
	} while (running > 0);
	return (int)running;
}

/* ---- scores ---- */

/*
 * Dynamic RoPE: the keys of the context must be those of a text of this
 * length; feed it again if they are not.  Up to max_pos all are the same.
 */
static int
set_length(struct generator *g, size_t length, struct err *e)
{
	int64_t n = (int64_t)length, max = g->m->c.max_pos, last;

	if (!llama_is_dynamic(g->m))
		return 0;
	n = n < max ? max : n;
	decoder_length(g->d, n);
	if (n != g->length &&
	    decoder_feed(g->d, g->prefix.v, (int64_t)g->prefix.n, 0, 0, &last,
			 e) < 0)
		return -1;
	g->length = n;
	return 0;
}

int
generator_context(struct generator *g, const uint32_t *prefix, size_t nprefix,
		  size_t longest, struct err *e)
{
	int64_t last;

	if (check_ids(g, prefix, nprefix, e) < 0 ||
	    prepare(g, 1, (int64_t)(nprefix + longest),
		    larger((int64_t)nprefix, (int64_t)longest), e) < 0)
		return -1;
	g->context = nprefix - 1;
	if (llama_is_dynamic(g->m)) {
		g->prefix.n = 0;
		for (size_t i = 0; i < g->context; i++)
			ids_add(&g->prefix, prefix[i]);
		g->length = 0;		/* fed when it is known */
	} else if (decoder_feed(g->d, prefix, (int64_t)g->context, 0, 0, &last,
				e) < 0)
		return -1;
	g->last = prefix[nprefix - 1];
	return 0;
}

int
generator_score(struct generator *g, const uint32_t *id, size_t n,
		double *logprob, int *greedy, struct err *e)
{
	if (check_ids(g, id, n, e) < 0 ||
	    set_length(g, g->context + 1 + n, e) < 0)
		return -1;
	*greedy = 1;
	for (size_t at = 0; at < n;) {
		size_t m = n - at < DECODER_PIECE ? n - at : DECODER_PIECE;
		uint32_t in[DECODER_PIECE];
		int32_t target[DECODER_PIECE];
		int64_t last;

		for (size_t i = 0; i < m; i++) {
			in[i] = at + i ? id[at + i - 1] : g->last;
			target[i] = (int32_t)id[at + i];
		}
		if (decoder_feed(g->d, in, (int64_t)m, 0,
				 (int64_t)(g->context + at), &last, e) < 0 ||
		    decoder_score(g->d, 0, (int64_t)m, target, g->score,
				  g->best, e) < 0)
			return -1;
		for (size_t i = 0; i < m; i++) {
			logprob[at + i] = -g->score[i];
			*greedy &= g->best[i] == target[i];
		}
		at += m;
	}
	return 0;
}

int
generator_ahead(struct generator *g, uint32_t id, size_t n, double *logprob,
		struct err *e)
{
	int32_t target = (int32_t)id;
	uint32_t in = g->last;
	int64_t last;
	size_t k = 0;

	if (check_ids(g, &id, 1, e) < 0 ||
	    set_length(g, g->context + 1, e) < 0)
		return -1;
	decoder_length(g->d, 0);
	do {
		if (decoder_feed(g->d, &in, 1, 0, (int64_t)(g->context + k),
				 &last, e) < 0 ||
		    decoder_score(g->d, 0, 1, &target, g->score, g->best,
				  e) < 0)
			return -1;
		logprob[k++] = -g->score[0];
		in = (uint32_t)g->best[0];
	} while (k < n && !config_is_eos(&g->m->c, in));
	return (int)k;
}
