/*
 * vocab_post.c - the tokens around a text: the post_processor of tokenizer.json
 *
 * Read: TemplateProcessing, RobertaProcessing and BertProcessing put tokens in
 * front of a text and after it; the first of them is BOS, the last EOS.
 * ByteLevel only changes offsets.  A Sequence holds several, of which one may
 * add tokens.
 *
 * Written: the processor that adds tokens is replaced by a TemplateProcessing,
 * or one is put after those that only change offsets, as in Llama-3's file.
 * Every other byte of the file stays.
 */
#include <string.h>

#include "record/vocab_priv.h"
#include "stream/json_scan.h"

/* --- in --- */

static void
around_add(struct vocab_around *a, int64_t id)
{
	if (a->n < VOCAB_AROUND)
		a->id[a->n] = (uint32_t)id;
	a->n++;
}

/* The ids that a template's token stands for: mostly one, its own. */
static int
template_token(struct vocab_load *l, const struct json *j, struct span name,
	       struct vocab_around *a)
{
	const struct json *all = json_get(j, "special_tokens"), *ids = NULL;
	int64_t id = names_find(&l->names, name);

	for (size_t i = 0; all && i < all->n; i++)
		if (span_eq(all->kids[i].key, name))
			ids = json_get(&all->kids[i], "ids");
	for (size_t i = 0; ids && i < ids->n; i++) {
		const struct json *k = &ids->kids[i];

		if (k->type != JSON_NUMBER || !k->is_int || k->i < 0 ||
		    k->i >= l->v->n || !l->v->token[k->i].p)
			return vocab_fail(l, "post_processor: '%.*s': its id "
					  "is not in the vocabulary",
					  (int)name.n, name.p);
		around_add(a, k->i);
	}
	if (ids)
		return 0;
	if (id < 0)
		return vocab_fail(l, "post_processor: '%.*s' is not in the "
				  "vocabulary", (int)name.n, name.p);
	around_add(a, id);
	return 0;
}

static int
template(struct vocab_load *l, const struct json *j)
{
	const struct json *s = json_get(j, "single");
	struct vocab *v = l->v;
	struct vocab_around *to = &v->front;

	for (size_t i = 0; s && s->type == JSON_ARRAY && i < s->n; i++) {
		const struct json *t = json_get(&s->kids[i], "SpecialToken.id");

		if (json_get(&s->kids[i], "Sequence"))
			to = &v->back;
		else if (t && t->type == JSON_STRING &&
			 template_token(l, j, t->str, to) < 0)
			return -1;
	}
	if (v->front.n > VOCAB_AROUND || v->back.n > VOCAB_AROUND)
		return vocab_fail(l, "post_processor: more than %d tokens on "
				  "one side are not supported", VOCAB_AROUND);
	return 0;
}

/* ["</s>", 2] */
static void
named_pair(struct vocab_load *l, const struct json *j, struct vocab_around *a)
{
	int64_t id;

	if (!j || j->type != JSON_ARRAY || j->n != 2 ||
	    j->kids[0].type != JSON_STRING)
		return;
	id = names_find(&l->names, j->kids[0].str);
	if (id >= 0)
		around_add(a, id);
}

static int
post_processor(struct vocab_load *l, const struct json *j)
{
	const struct json *s;

	if (is_null(j) || is_type(j, "ByteLevel"))
		return 0;
	if (is_type(j, "Sequence")) {
		s = json_get(j, "processors");
		for (size_t i = 0; s && i < s->n; i++)
			if (post_processor(l, &s->kids[i]) < 0)
				return -1;
		return 0;
	}
	if (l->v->front.n || l->v->back.n)
		return vocab_fail(l, "post_processor: two that add tokens are "
				  "not supported");
	if (is_type(j, "RobertaProcessing") || is_type(j, "BertProcessing")) {
		named_pair(l, json_get(j, "cls"), &l->v->front);
		named_pair(l, json_get(j, "sep"), &l->v->back);
		return 0;
	}
	if (!is_type(j, "TemplateProcessing"))
		return vocab_unsupported(l, "post_processor", j);
	return template(l, j);
}

int
vocab_post_processor(struct vocab_load *l, const struct json *j)
{
	struct vocab *v = l->v;
	struct vocab_priv *a = v->priv;

	if (post_processor(l, j) < 0)
		return -1;
	a->front = v->front;
	a->back = v->back;
	if (v->front.n)
		v->bos = v->front.id[0];
	if (v->back.n)
		v->eos = v->back.id[v->back.n - 1];
	return 0;
}

int
vocab_adds_bos(const struct vocab *v)
{
	return v->front.n > 0;
}

/* --- out --- */

static void
put_id(const struct vocab *v, uint32_t id, struct buf *b)
{
	const struct vocab_special *s = vocab_added(v, id);

	json_put_str(b, s ? s->text : v->token[id]);
}

/* These tokens as items of a template, for sequence A (0) or B (1). */
static void
put_items(const struct vocab *v, const struct vocab_around *a, int type,
	  struct buf *b)
{
	for (size_t i = 0; i < a->n; i++) {
		buf_puts(b, "{\"SpecialToken\": {\"id\": ");
		put_id(v, a->id[i], b);
		buf_printf(b, ", \"type_id\": %d}}, ", type);
	}
}

static void
put_sequence(const struct vocab *v, const struct vocab_around *front,
	     const struct vocab_around *back, int type, struct buf *b)
{
	put_items(v, front, type, b);
	buf_printf(b, "{\"Sequence\": {\"id\": \"%c\", \"type_id\": %d}}",
		   type ? 'B' : 'A', type);
	if (!back->n)
		return;
	buf_puts(b, ", ");
	put_items(v, back, type, b);
	b->n -= 2;
}

/* Each token of two lists once. */
static void
put_names(const struct vocab *v, const struct vocab_around *front,
	  const struct vocab_around *back, struct buf *b)
{
	uint32_t id[2 * VOCAB_AROUND];
	size_t n = front->n + back->n, k;

	memcpy(id, front->id, front->n * sizeof(*id));
	memcpy(id + front->n, back->id, back->n * sizeof(*id));
	for (size_t i = 0; i < n; i++) {
		for (k = 0; id[k] != id[i]; k++)
			;
		if (k < i)
			continue;
		buf_puts(b, i ? ", " : "");
		put_id(v, id[i], b);
		buf_puts(b, ": {\"id\": ");
		put_id(v, id[i], b);
		buf_printf(b, ", \"ids\": [%u], \"tokens\": [", id[i]);
		put_id(v, id[i], b);
		buf_puts(b, "]}");
	}
}

void
vocab_put_template(const struct vocab *v, const struct vocab_around *front,
		   const struct vocab_around *back, struct buf *b)
{
	if (!front->n && !back->n) {
		buf_puts(b, "null");
		return;
	}
	buf_puts(b, "{\"type\": \"TemplateProcessing\",\n    \"single\": [");
	put_sequence(v, front, back, 0, b);
	buf_puts(b, "],\n    \"pair\": [");
	put_sequence(v, front, back, 0, b);
	buf_puts(b, ", ");
	put_sequence(v, front, back, 1, b);
	buf_puts(b, "],\n    \"special_tokens\": {");
	put_names(v, front, back, b);
	buf_puts(b, "}}");
}

/* The processors in j that change offsets, as list items; their number. */
static int
put_byte_level(const struct json *j, struct buf *b)
{
	static const char *const key[] = {"add_prefix_space", "trim_offsets",
		"use_regex"};
	const struct json *s = json_get(j, "processors"), *k;
	int n = 0;

	for (size_t i = 0; is_type(j, "Sequence") && s && i < s->n; i++)
		n += put_byte_level(&s->kids[i], b);
	if (!is_type(j, "ByteLevel") && !is_type(j, "RobertaProcessing"))
		return n;
	buf_puts(b, "{\"type\": \"ByteLevel\"");
	for (int i = 0; i < 3; i++) {
		k = json_get(j, key[i]);
		buf_printf(b, ", \"%s\": %s", key[i],
			   k && k->type == JSON_FALSE ? "false" : "true");
	}
	buf_puts(b, "}, ");
	return 1;
}

/* The post_processor that takes the place of old. */
static void
put_post(const struct vocab *v, struct span old,
	 const struct vocab_around *front, const struct vocab_around *back,
	 struct buf *b)
{
	struct err ignore = {0};	/* it was read before */
	struct json *j = old.p ? json_parse(old.p, old.n, "", &ignore) : NULL;
	struct buf level = {0};
	int n = put_byte_level(j, &level), adds = front->n || back->n;

	if (n && !adds)
		level.n -= 2;
	if (n + adds > 1)
		buf_puts(b, "{\"type\": \"Sequence\", \"processors\": [");
	buf_put(b, level.p, level.n);
	if (adds || !n)
		vocab_put_template(v, front, back, b);
	buf_puts(b, n + adds > 1 ? "]}" : "");
	buf_clear(&level);
	json_free(j);
}

static void
put_source(const struct vocab *v, struct span all,
	   const struct vocab_around *front, const struct vocab_around *back,
	   struct buf *b)
{
	const char *at = memchr(all.p, '{', all.n);	/* not a BOM's bytes */
	const char *end = all.p + all.n;
	struct span old = json_scan_find((struct span){at, (size_t)(end - at)},
					 "post_processor");

	at = old.p ? old.p : at + 1;
	buf_put(b, all.p, (size_t)(at - all.p));
	buf_puts(b, old.p ? "" : "\n  \"post_processor\": ");
	put_post(v, old, front, back, b);
	buf_puts(b, old.p ? "" : ",");
	at += old.n;
	buf_put(b, at, (size_t)(end - at));
}

static int
same_around(const struct vocab_around *a, const struct vocab_around *b)
{
	return a->n == b->n && !memcmp(a->id, b->id, a->n * sizeof(*a->id));
}

void
vocab_json_around(const struct vocab *v, const struct vocab_around *front,
		  const struct vocab_around *back, struct buf *b)
{
	const struct vocab_priv *a = v->priv;
	struct span all = buf_span(&a->source);

	if (!all.n)
		vocab_put_json(v, front, back, b);
	else if (same_around(front, &a->front) && same_around(back, &a->back))
		buf_put(b, all.p, all.n);
	else
		put_source(v, all, front, back, b);
}

/* A file that is new puts BOS before a text, as Llama-3's; programs that pack
 * documents add EOS. */
void
vocab_json(const struct vocab *v, struct buf *b)
{
	const struct vocab_priv *a = v->priv;
	struct vocab_around front = {{(uint32_t)v->bos}, v->bos >= 0};

	if (a->source.n)
		front = a->front;
	vocab_json_around(v, &front, &a->back, b);
}
