/*
 * token_files.c - the tokenizer in a checkpoint: see dataset.h
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "stream/input.h"
#include "stream/json.h"
#include "train/dataset.h"

/* ---- tokenizer_config.json ---- */

/* The text of a token in a tokenizer_config.json: a string, or its content. */
static int
is_token(const struct json_pick *v, struct span text)
{
	struct err ignore = {0};
	struct json *j;
	const struct json *content;
	int same;

	if (v->type == JSON_STRING)
		return span_eq(v->str, text);
	j = json_parse(v->raw.p, v->raw.n, "token", &ignore);
	content = json_get(j, "content");
	same = content && content->type == JSON_STRING &&
		span_eq(content->str, text);
	json_free(j);
	return same;
}

static void
put_value(const struct json_pick *v, struct buf *b)
{
	if (v->type == JSON_STRING)
		json_put_str(b, v->str);
	else
		buf_put(b, v->raw.p, v->raw.n);
}

/* A special token: the text of id or, if that is -1, the old value. */
static void
put_token(const struct vocab *v, const char *key, int64_t id,
	  const struct json_pick *old, struct buf *b)
{
	int known = id >= 0 && id < v->n && v->token[id].p;

	if (!known && !old)
		return;
	buf_printf(b, "  \"%s\": ", key);
	if (!known || (old && is_token(old, v->token[id])))
		put_value(old, b);
	else
		json_put_str(b, v->token[id]);
	buf_puts(b, ",\n");
}

/* The members of the object that r has read; their number. */
static size_t
members(struct json_reader *r, struct span **key, struct json_pick **val)
{
	size_t max = 64, n;

	for (;; max *= 2) {
		*key = xrealloc(*key, max * sizeof **key);
		*val = xrealloc(*val, max * sizeof **val);
		n = json_members(r, *key, *val, max);
		if (n < max)
			return n;
	}
}

/*
 * GPTNeoXTokenizer of transformers replaces the post_processor by one that adds
 * nothing, so that it must not be named where something is added.
 */
static int
drops_template(const struct json_pick *v)
{
	return v->type == JSON_STRING &&
		(span_eq(v->str, span_str("GPTNeoXTokenizer")) ||
		 span_eq(v->str, span_str("GPTNeoXTokenizerFast")));
}

static void
put_member(const struct dataset *d, struct span key,
	   const struct json_pick *v, struct buf *b)
{
	buf_puts(b, "  ");
	json_put_str(b, key);
	buf_puts(b, ": ");
	if (d->id.front.n && drops_template(v) &&
	    span_eq(key, span_str("tokenizer_class")))
		buf_puts(b, "\"PreTrainedTokenizerFast\"");
	else
		put_value(v, b);
	buf_puts(b, ",\n");
}

/* Copy the object in text, with other tokens.  text has padding after it. */
static int
put_token_config(const struct dataset *d, const char *text, size_t n,
		 const struct model_config *c, struct buf *b, struct err *e)
{
	struct span *key = NULL;
	struct json_pick *val = NULL;
	const struct json_pick *bos = NULL, *eos = NULL;
	struct json_reader *r = json_reader_new();
	size_t keys = 0, i;
	uint64_t lone = 0;
	int rc = json_read(r, text, n, NULL, 0, NULL, &lone, e);

	if (rc == 0)
		keys = members(r, &key, &val);
	buf_puts(b, "{\n");
	for (i = 0; i < keys; i++) {
		if (span_eq(key[i], span_str("bos_token")))
			bos = &val[i];
		else if (span_eq(key[i], span_str("eos_token")))
			eos = &val[i];
		else if (!span_eq(key[i], span_str("add_bos_token")))
			put_member(d, key[i], &val[i], b);
	}
	put_token(d->vocab, "bos_token", c->bos, bos, b);
	put_token(d->vocab, "eos_token", c->eos, eos, b);
	buf_printf(b, "  \"add_bos_token\": %s\n}\n",
		   c->bos >= 0 ? "true" : "false");
	json_reader_free(r);
	free(key);
	free(val);
	return rc;
}

/* ---- tokenizer.json ---- */

/* All ids are tokens: those of shards of others need not be. */
static int
are_tokens(const struct vocab *v, const struct vocab_around *a)
{
	size_t i;

	for (i = 0; i < a->n; i++)
		if (a->id[i] >= v->n || !v->token[a->id[i]].p)
			return 0;
	return 1;
}

/*
 * Loaders of others put around a text what the post_processor says, whatever
 * add_bos_token is: in front what the training data has, after it the file's
 * own EOS, if the data has that.
 */
static void
put_tokenizer(const struct dataset *d, const struct model_config *c,
	      struct buf *b)
{
	const struct vocab *v = d->vocab;
	struct vocab_around back = v->back;

	if (back.n && (int64_t)back.id[back.n - 1] != c->eos)
		back.n = 0;
	if (are_tokens(v, &d->id.front))
		vocab_json_around(v, &d->id.front, &back, b);
	else
		vocab_json(v, b);
}

int
dataset_token_files(struct dataset *d, const char *tokenizer,
		    const struct model_config *c, int64_t seq_len,
		    struct err *e)
{
	const char *slash = strrchr(tokenizer, '/');
	struct buf text = {0};
	struct err why = {0};
	char *path, *p;
	size_t n;
	int rc = 0;

	path = xstrf("%.*stokenizer_config.json",
		     slash ? (int)(slash - tokenizer + 1) : 0, tokenizer);
	if (access(path, F_OK) != 0)
		vocab_config_json(d->vocab, seq_len, &text);
	else if ((rc = input_slurp(path, &p, &n, e)) == 0) {
		buf_put(&text, p, n);
		free(p);
	}
	n = text.n;
	memset(buf_reserve(&text, INPUT_PADDING), 0, INPUT_PADDING);
	if (rc == 0 && put_token_config(d, text.p, n, c, &d->files.config,
					&why) < 0)
		rc = err_set(e, "%s: %s", path, why.msg);
	buf_clear(&text);
	free(path);
	put_tokenizer(d, c, &d->files.tokenizer);
	return rc;
}
