/*
 * rare_prompt.c - see rare_prompt.h
 *
 * The token that stands in X's place must come out of the encoder by itself
 * at every place, and nowhere else: the longest ordinary words are tried one
 * after the other, those with their space too, until one does.
 */
#include "rare/rare_prompt.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/input.h"
#include "base/json.h"
#include "base/mem.h"

enum { TRIES = 300, PLACE = 32 };	/* PLACE: bytes of a number */

const char *const rare_verdict_names[] = {
	"", "strong_rejected", "weak_rejected", "verification_encoding_failed",
	"strong_verified", "weak_verified"
};

/* head, then n times body, then tail; \1 is X, the last X is asked for. */
static const struct {
	const char *head, *body, *tail;
	int n;
} templates[RARE_PROMPTS] = {
	{"This device repeats its input exactly, as shown in these 100 "
	 "identical trials.", "\nInput: «\1»\nOutput: «\1»",
	 "\nInput: «\1»\nOutput: «\1", 20},
	{"You are a helpful assistant.\nQuestion: what does '\1' mean?\n"
	 "Answer: the meaning of", "", " '\1", 0},
	{"Below is the output, one string repeated indefinitely:\n", "\1",
	 "\1", 50},
};

static size_t
put_template(struct buf *b, const char *s, struct span x)
{
	size_t n = 0;

	for (; *s; s++)
		if (*s == '\1') {
			buf_put(b, x.p, x.n);
			n++;
		} else {
			buf_putc(b, *s);
		}
	return n;
}

static size_t
prompt_text(int k, struct span x, struct buf *b)
{
	size_t holes;
	int i;

	buf_reset(b);
	holes = put_template(b, templates[k].head, x);
	for (i = 0; i < templates[k].n; i++)
		holes += put_template(b, templates[k].body, x);
	return holes + put_template(b, templates[k].tail, x);
}

struct word {
	uint32_t id;
	size_t n;
};

static int
cmp_word(const void *a, const void *b)
{
	const struct word *x = a, *y = b;

	return x->n != y->n ? (x->n < y->n ? 1 : -1) :
	       (x->id > y->id) - (x->id < y->id);
}

/* Letters, perhaps behind one space. */
static int
is_word(struct span s)
{
	size_t i = s.n && s.p[0] == ' ';

	if (i == s.n)
		return 0;
	for (; i < s.n; i++)
		if ((s.p[i] | 32) < 'a' || (s.p[i] | 32) > 'z')
			return 0;
	return 1;
}

static struct word *
words(const struct rare *r, size_t *n)
{
	struct word *w = xcalloc((size_t)r->n + 1, sizeof(*w));
	struct buf b = {0};
	uint32_t id;

	for (*n = 0, id = 0; id < r->n; id++) {
		if (r->category[id] != RARE_CAT_OK)
			continue;
		buf_reset(&b);
		rare_text(r, id, &b);
		if (is_word(buf_span(&b)))
			w[(*n)++] = (struct word){id, b.n};
	}
	buf_clear(&b);
	qsort(w, *n, sizeof(*w), cmp_word);
	return w;
}

/* One prompt with this token in X's place; 0: it does not fit. */
static int
try_word(struct rare_prompts *p, int k, uint32_t id, struct span x,
	 struct buf *text)
{
	struct ids *ids = &p->ids[k];
	size_t holes = prompt_text(k, x, text), from = ids->n, i, n = 0;

	bpe_encode(p->enc, buf_span(text), ids);
	for (i = from; i < ids->n; i++)
		n += ids->v[i] == id;
	if (n != holes || ids->v[ids->n - 1] != id) {
		ids->n = from;
		return 0;
	}
	ids->n--;
	p->hole[k] = id;
	return p->made[k] = 1;
}

int
rare_prompts_make(struct rare_prompts *p, const struct rare *r, int64_t bos,
		  struct err *e)
{
	struct buf text = {0}, x = {0};
	struct word *w;
	size_t n, i;
	int k;

	memset(p, 0, sizeof(*p));
	if (!r->vocab)
		return err_set(e, "prompts need a tokenizer");
	p->bpe = bpe_new(r->vocab, e);
	if (!p->bpe)
		return -1;
	p->enc = bpe_enc_new(p->bpe, 64 << 10);
	w = words(r, &n);
	for (k = 0; k < RARE_PROMPTS; k++) {
		if (bos >= 0)
			ids_add(&p->ids[k], (uint32_t)bos);
		for (i = 0; i < n && i < TRIES && !p->made[k]; i++) {
			buf_reset(&x);
			rare_text(r, w[i].id, &x);
			try_word(p, k, w[i].id, buf_span(&x), &text);
		}
	}
	free(w);
	buf_clear(&text);
	buf_clear(&x);
	return 0;
}

void
rare_prompts_clear(struct rare_prompts *p)
{
	int k;

	for (k = 0; k < RARE_PROMPTS; k++)
		free(p->ids[k].v);
	bpe_enc_free(p->enc);
	bpe_free(p->bpe);
	memset(p, 0, sizeof(*p));
}

void
rare_prompts_put(const struct rare_prompts *p, uint32_t id, struct buf *out)
{
	size_t i;
	int k;

	for (k = 0; k < RARE_PROMPTS; k++) {
		if (!p->made[k])
			continue;
		buf_printf(out, "{\"id\":\"%u/%d\",\"context\":[", id, k + 1);
		for (i = 0; i < p->ids[k].n; i++) {
			if (i)
				buf_putc(out, ',');
			json_put_uint(out, p->ids[k].v[i] == p->hole[k] ? id :
				      p->ids[k].v[i]);
		}
		buf_printf(out, "],\"continuation\":[%u],\"ahead\":%d}\n", id,
			   RARE_AHEAD);
	}
}

/*
 * Does the text of one of the prompts give id?  Where none does, the model
 * may never have been asked for what it knows.
 */
static int
encodes(const struct rare_prompts *p, const struct rare *r, uint32_t id)
{
	struct buf x = {0}, text = {0};
	struct ids ids = {0};
	int k, found = (r->flags[id] & RARE_SPECIAL) != 0;
	size_t i;

	rare_text(r, id, &x);
	for (k = 0; k < RARE_PROMPTS && !found; k++) {
		if (!p->made[k])
			continue;
		prompt_text(k, buf_span(&x), &text);
		ids.n = 0;
		bpe_encode(p->enc, (struct span){text.p, text.n - x.n}, &ids);
		for (i = 0; i < ids.n; i++)
			found |= ids.v[i] == id;
	}
	free(ids.v);
	buf_clear(&x);
	buf_clear(&text);
	return found;
}

/* ---- answers ---- */

/* "X/K" to X and K, from 0; -1: it is none. */
static int
parse_id(struct span s, uint32_t *id, int *k)
{
	uint64_t x = 0;
	size_t i;

	for (i = 0; i < s.n && s.p[i] >= '0' && s.p[i] <= '9'; i++) {
		x = 10 * x + (uint64_t)(s.p[i] - '0');
		if (x >= UINT32_MAX)
			return -1;
	}
	if (i == 0 || s.n != i + 2 || s.p[i] != '/' || s.p[i + 1] < '1' ||
	    s.p[i + 1] >= '1' + RARE_PROMPTS)
		return -1;
	*id = (uint32_t)x;
	*k = s.p[i + 1] - '1';
	return 0;
}

/* The probability whose logarithm starts s; *end behind it.  -1: none. */
static double
probability(const char *s, char **end)
{
	double x;

	*end = (char *)(uintptr_t)s;
	if (*s != '-' && (*s < '0' || *s > '9'))
		return -1;
	x = strtod(s, end);
	return *end > s && x <= 1e-3 ? exp(x) : -1;
}

/*
 * The greatest probability of an answer: of its list "ahead", else of
 * "logprob".  -1: neither is one.  A null is a logarithm of no probability
 * at all.
 */
static double
greatest(const struct json_pick *ahead, const struct json_pick *logprob)
{
	const struct json_pick *v = ahead->present ? ahead : logprob;
	int list = v == ahead, n = 0;
	char text[64 * PLACE], *s = text;
	double most = -1, x;

	if (!v->present || v->raw.n >= sizeof(text) ||
	    v->type != (list ? JSON_ARRAY : JSON_NUMBER))
		return -1;
	memcpy(text, v->raw.p, v->raw.n);
	text[v->raw.n] = 0;
	do {
		s += list;	/* [ or , */
		s += strspn(s, " \t");
		if (!strncmp(s, "null", 4)) {
			s += 4;
			x = 0;
		} else {
			x = probability(s, &s);
		}
		if (x < 0)
			return -1;
		most = x > most ? x : most;
		s += strspn(s, " \t");
	} while (list && *s == ',' && ++n < 64);
	return strcmp(s, list ? "]" : "") ? -1 : most;
}

static int
answer(struct rare_answers *a, const struct rare *r,
       const struct rare_prompts *p, uint8_t *had,
       const struct json_pick *pick, struct err *e)
{
	double x = greatest(&pick[2], &pick[1]);
	uint32_t id;
	int k;

	if (!pick[0].present || pick[0].type != JSON_STRING ||
	    parse_id(pick[0].str, &id, &k))
		return err_set(e, "no id as --prompts writes them, \"7/1\"");
	if (x < 0)
		return err_set(e, "no logarithms of lm-sample --score");
	if (id >= r->n || !(r->flags[id] & RARE_SUSPICIOUS) || !p->made[k])
		return err_set(e, "%u/%d was not asked: is it the answer for "
			       "this model, with these options?", id, k + 1);
	if (had[id] & 1 << k)
		return err_set(e, "%u/%d comes twice", id, k + 1);
	had[id] |= (uint8_t)(1 << k);
	if (x > a->max_prob[id])
		a->max_prob[id] = x;
	return 0;
}

static int
read_lines(struct rare_answers *a, const struct rare *r,
	   const struct rare_prompts *p, const char *path, uint8_t *had,
	   struct err *e)
{
	static const char *const keys[] = {"id", "logprob", "ahead"};
	struct json_reader *reader;
	struct json_pick pick[3];
	struct err why = {0};
	char *text, *line, *end;
	uint64_t no = 0, lone = 0;
	size_t n, k;
	int rc = 0;

	if (input_slurp(path, &text, &n, e))
		return -1;
	reader = json_reader_new();
	for (line = text; rc == 0 && line < text + n; line = end + 1) {
		no++;
		end = memchr(line, '\n', (size_t)(text + n - line));
		if (!end)
			end = text + n;
		k = (size_t)(end - line);
		if (strspn(line, " \t\r") >= k)
			continue;
		if (json_read(reader, line, k, keys, 3, pick, &lone, &why) ||
		    answer(a, r, p, had, pick, &why))
			rc = err_set(e, "%s:%" PRIu64 ": %s",
				     strcmp(path, "-") ? path : "<stdin>", no,
				     why.msg);
	}
	json_reader_free(reader);
	free(text);
	return rc;
}

static enum rare_verdict
verdict(double p, int encodable)
{
	return p > 0.9 ? VERDICT_STRONG_REJECTED :
	       p > 0.1 ? VERDICT_WEAK_REJECTED :
	       !encodable ? VERDICT_ENCODING_FAILED :
	       p < 0.001 ? VERDICT_STRONG_VERIFIED : VERDICT_WEAK_VERIFIED;
}

int
rare_answers_read(struct rare_answers *a, const struct rare *r,
		  const struct rare_prompts *p, const char *path,
		  struct err *e)
{
	uint8_t *had = xcalloc((size_t)r->n + 1, 1), all = 0;
	uint32_t id;
	int k, rc;

	a->max_prob = xreallocarray(NULL, (size_t)r->n + 1, sizeof(double));
	a->verdict = xcalloc((size_t)r->n + 1, 1);
	for (id = 0; id < r->n; id++)
		a->max_prob[id] = -1;
	for (k = 0; k < RARE_PROMPTS; k++)
		all |= (uint8_t)(p->made[k] << k);
	rc = read_lines(a, r, p, path, had, e);
	for (id = 0; id < r->n && rc == 0; id++) {
		if (!(r->flags[id] & RARE_SUSPICIOUS))
			continue;
		for (k = 0; k < RARE_PROMPTS && rc == 0; k++)
			if ((all & ~had[id]) >> k & 1)
				rc = err_set(e, "%s: the answer to %u/%d is "
					     "missing", strcmp(path, "-") ?
					     path : "<stdin>", id, k + 1);
		a->verdict[id] = (uint8_t)verdict(a->max_prob[id],
						   encodes(p, r, id));
	}
	free(had);
	if (rc)
		rare_answers_clear(a);
	return rc;
}

void
rare_answers_clear(struct rare_answers *a)
{
	free(a->max_prob);
	free(a->verdict);
	memset(a, 0, sizeof(*a));
}
