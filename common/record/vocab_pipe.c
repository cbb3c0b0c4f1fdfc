/*
 * vocab_pipe.c - tokenizer.json in: what stands around the model
 *
 * Done are: the normalizers NFC, Prepend and Replace of SentencePiece; the
 * pre_tokenizers Split, Digits, ByteLevel and Metaspace; the decoders that
 * undo them; the post_processors that name BOS and EOS.  All else is refused.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/vocab_load.h"

#define U2581 "\xe2\x96\x81"

int
load_fail(struct load *l, const char *fmt, ...)
{
	char what[800];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return err_set(l->e, "%s: %s", l->path, what);
}

/* A boolean member: absent or null is `none`. */
int
load_flag(struct load *l, const struct json *j, const char *key, int none)
{
	const struct json *k = json_get(j, key);

	if (is_null(k))
		return none;
	if (k->type != JSON_TRUE && k->type != JSON_FALSE)
		load_fail(l, "%s: not true or false", key);
	return k->type == JSON_TRUE;
}

/* Refuse members of an object that are not in a NULL-terminated list. */
int
load_only(struct load *l, const struct json *j, const char *where,
     const char *const *keys)
{
	if (j->type != JSON_OBJECT)
		return load_fail(l, "%s: not an object", where);
	for (size_t i = 0; i < j->n; i++) {
		size_t k = 0;

		while (keys[k] && !span_eq(j->kids[i].key, span_str(keys[k])))
			k++;
		if (!keys[k])
			return load_fail(l, "%s: '%.*s' is not done", where,
				    (int)j->kids[i].key.n, j->kids[i].key.p);
	}
	return 0;
}

/* The type of a part, "" where there is none. */
static struct span
type_of(const struct json *j)
{
	const struct json *t = json_get(j, "type");

	return t && t->type == JSON_STRING ? t->str : (struct span){"", 0};
}

int
load_not_done(struct load *l, const char *part, const struct json *j)
{
	struct span t = type_of(j);

	return load_fail(l, "%s '%.*s' is not done", part, (int)t.n, t.p);
}

/* --- normalizer --- */

int
load_normalizer(struct load *l, const struct json *j)
{
	struct vocab *v = l->v;

	if (is_null(j))
		return 0;
	if (is_type(j, "Sequence")) {
		const struct json *s = json_get(j, "normalizers");

		if (!s || s->type != JSON_ARRAY)
			return load_fail(l, "normalizer: Sequence without an "
					 "array");
		for (size_t i = 0; i < s->n; i++)
			if (load_normalizer(l, &s->kids[i]) < 0)
				return -1;
		return 0;
	}
	if (is_type(j, "NFC")) {
		if (l->sp_replace || v->sp_prepend)
			return load_fail(l, "normalizer: NFC behind Prepend or "
					 "Replace is not done");
		v->nfc = 1;
		return 0;
	}
	if (is_type(j, "Prepend")) {
		if (!is_str(json_get(j, "prepend"), U2581) || l->sp_replace ||
		    v->sp_prepend)
			return load_fail(l, "normalizer: Prepend of something "
					 "else than U+2581, or not first, is "
					 "not done");
		v->sp_prepend = VOCAB_PREPEND_EACH;
		return 0;
	}
	if (is_type(j, "Replace")) {
		if (!is_str(json_get(j, "pattern.String"), " ") ||
		    !is_str(json_get(j, "content"), U2581))
			return load_fail(l, "normalizer: Replace of something "
					 "else than a space by U+2581 is not "
					 "done");
		l->sp_replace = 1;
		return 0;
	}
	return load_not_done(l, "normalizer", j);
}

/* --- pre_tokenizer --- */

static int
behavior_of(struct load *l, const struct json *j)
{
	static const char *const name[] = {"Isolated", "Removed",
		"MergedWithPrevious", "MergedWithNext", "Contiguous"};
	const struct json *b = json_get(j, "behavior");
	int invert = load_flag(l, j, "invert", 0) ? SPLIT_INVERT : 0;

	for (int i = 0; i < 5; i++)
		if (is_str(b, name[i])) {
			if (i == SPLIT_REMOVED)
				break;
			return i | invert;
		}
	return load_fail(l, "pre_tokenizer: Split behavior '%.*s' is not done",
		    b ? (int)b->str.n : 0, b ? b->str.p : "");
}

/* A literal string as a regular expression. */
static void
quote(struct span s, struct buf *b)
{
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (c < 0x80 && c > ' ' && !(c >= '0' && c <= '9') &&
		    !((c | 32) >= 'a' && (c | 32) <= 'z'))
			buf_putc(b, '\\');
		buf_putc(b, s.p[i]);
	}
}

static int
looks_like_regex(struct span s)
{
	static const char *const sign[] = {"\\p", "\\s", "\\S", "(?", "[^",
		"\\d", "\\w", "]+", "|"};

	for (size_t i = 0; i < sizeof(sign) / sizeof(sign[0]); i++)
		if (s.n > strlen(sign[i]) &&
		    memmem(s.p, s.n, sign[i], strlen(sign[i])))
			return 1;
	return 0;
}

static int
pre_split(struct load *l, const struct json *j)
{
	const struct json *re = json_get(j, "pattern.Regex");
	const struct json *str = json_get(j, "pattern.String");
	int behavior = behavior_of(l, j);
	struct buf b = {0};

	if (behavior < 0)
		return -1;
	if (re && re->type == JSON_STRING) {
		if (memchr(re->str.p, 0, re->str.n))
			return load_fail(l, "pre_tokenizer: Split has a NUL");
		vocab_add_split(l->v, re->str, behavior);
		return 0;
	}
	if (!str || str->type != JSON_STRING || str->str.n == 0)
		return load_fail(l, "pre_tokenizer: Split without a pattern");
	/* in a normalized SentencePiece text there is no space left */
	if (l->sp_replace && span_eq(str->str, span_str(" ")))
		return 0;
	if (looks_like_regex(str->str) || memchr(str->str.p, 0, str->str.n))
		return load_fail(l, "pre_tokenizer: Split has the String "
				 "'%.*s', which looks like a regular "
				 "expression and would be taken literally: "
				 "write {\"Regex\": ...}",
			    (int)str->str.n, str->str.p);
	quote(str->str, &b);
	vocab_add_split(l->v, buf_span(&b), behavior);
	buf_clear(&b);
	return 0;
}

static int
pre_metaspace(struct load *l, const struct json *j, int alone)
{
	const struct json *scheme = json_get(j, "prepend_scheme");
	struct vocab *v = l->v;
	int prefix = load_flag(l, j, "add_prefix_space", 1);

	if (!is_str(json_get(j, "replacement"), U2581))
		return load_fail(l, "pre_tokenizer: Metaspace with a "
				 "replacement other than U+2581 is not done");
	if (!alone || v->sp_prepend)
		return load_fail(l, "pre_tokenizer: Metaspace beside other "
				 "parts is not done");
	if (is_null(scheme))
		v->sp_prepend = prefix ? VOCAB_PREPEND_ALWAYS :
			VOCAB_PREPEND_NEVER;
	else if (is_str(scheme, "always"))
		v->sp_prepend = VOCAB_PREPEND_ALWAYS;
	else if (is_str(scheme, "first"))
		v->sp_prepend = VOCAB_PREPEND_FIRST;
	else if (!is_str(scheme, "never"))
		return load_fail(l, "pre_tokenizer: prepend_scheme '%.*s' is "
				 "not done", (int)scheme->str.n, scheme->str.p);
	v->sp_split = load_flag(l, j, "split", 1);
	l->metaspace = l->sp_replace = 1;
	return 0;
}

static int
pre_byte_level(struct load *l, const struct json *j, int alone)
{
	struct vocab *v = l->v;

	l->byte_level = 1;
	v->add_prefix_space = load_flag(l, j, "add_prefix_space", 1);
	if (v->add_prefix_space && !alone)
		return load_fail(l, "pre_tokenizer: ByteLevel with "
				 "add_prefix_space behind other parts is not "
				 "done");
	if (load_flag(l, j, "use_regex", 1))
		vocab_add_split(v, span_str("gpt2"), SPLIT_ISOLATED);
	return 0;
}

static int
pre_one(struct load *l, const struct json *j, int alone)
{
	if (l->byte_level)
		return load_fail(l, "pre_tokenizer: ByteLevel before other "
				 "parts is not done");
	if (is_type(j, "Split"))
		return pre_split(l, j);
	if (is_type(j, "Digits")) {
		vocab_add_split(l->v, span_str("\\p{N}"),
				load_flag(l, j, "individual_digits", 0) ?
				SPLIT_ISOLATED : SPLIT_CONTIGUOUS);
		return 0;
	}
	if (is_type(j, "ByteLevel"))
		return pre_byte_level(l, j, alone);
	if (is_type(j, "Metaspace"))
		return pre_metaspace(l, j, alone);
	return load_not_done(l, "pre_tokenizer", j);
}

int
load_pre_tokenizer(struct load *l, const struct json *j)
{
	const struct json *s;

	if (is_null(j))
		return 0;
	if (!is_type(j, "Sequence"))
		return pre_one(l, j, 1);
	s = json_get(j, "pretokenizers");
	if (!s || s->type != JSON_ARRAY)
		return load_fail(l, "pre_tokenizer: Sequence without an array");
	for (size_t i = 0; i < s->n; i++)
		if (pre_one(l, &s->kids[i], s->n == 1) < 0)
			return -1;
	return 0;
}

/* --- decoder: only the ones that undo what is done above --- */

int
load_decoder(struct load *l, const struct json *j)
{
	static const char *const ok[] = {"ByteLevel", "ByteFallback", "Fuse",
		"Metaspace", "Replace", "Strip"};
	const struct json *s;

	if (is_null(j))
		return 0;
	if (is_type(j, "Sequence")) {
		s = json_get(j, "decoders");
		for (size_t i = 0; s && i < s->n; i++)
			if (load_decoder(l, &s->kids[i]) < 0)
				return -1;
		return 0;
	}
	for (size_t i = 0; i < sizeof(ok) / sizeof(ok[0]); i++)
		if (is_type(j, ok[i]))
			return 0;
	return load_not_done(l, "decoder", j);
}

int
load_set_kind(struct load *l)
{
	struct vocab *v = l->v;
	int sp = l->sp_replace || v->sp_prepend || l->metaspace;

	if (l->byte_level && (sp || v->byte_fallback))
		return load_fail(l, "both byte level and SentencePiece");
	if (!l->byte_level && !sp && !v->byte_fallback)
		return load_fail(l, "neither a ByteLevel pre_tokenizer nor "
				 "SentencePiece (byte_fallback, Metaspace, "
				 "Prepend or Replace): other ways are not "
				 "done");
	v->kind = l->byte_level ? VOCAB_BYTE_LEVEL : VOCAB_SENTENCEPIECE;
	if (v->kind == VOCAB_SENTENCEPIECE && !l->sp_replace)
		return load_fail(l, "SentencePiece without a Replace of the "
				 "space by U+2581 is not done");
	if (v->kind == VOCAB_SENTENCEPIECE && (v->nfc || v->nsplit))
		return load_fail(l, "SentencePiece with %s is not done",
				 v->nfc ? "the normalizer NFC" : "a Split");
	return 0;
}

/* --- BOS and EOS --- */

static void
template(struct load *l, const struct json *j)
{
	const struct json *s = json_get(j, "single");
	int64_t id[2] = {-1, -1};
	int count[2] = {0, 0}, behind = 0;

	for (size_t i = 0; s && s->type == JSON_ARRAY && i < s->n; i++) {
		const struct json *t = json_get(&s->kids[i], "SpecialToken.id");

		if (json_get(&s->kids[i], "Sequence")) {
			behind = 1;
		} else if (t && t->type == JSON_STRING) {
			id[behind] = names_find(&l->names, t->str);
			count[behind]++;
		}
	}
	if (count[0] == 1)
		l->v->bos = id[0];
	if (count[1] == 1)
		l->v->eos = id[1];
}

/* ["</s>", 2] */
static void
named_pair(struct load *l, const struct json *j, int64_t *id)
{
	if (j && j->type == JSON_ARRAY && j->n == 2 &&
	    j->kids[0].type == JSON_STRING)
		*id = names_find(&l->names, j->kids[0].str);
}

int
load_post_processor(struct load *l, const struct json *j)
{
	const struct json *s;

	if (is_null(j) || is_type(j, "ByteLevel"))
		return 0;
	if (is_type(j, "Sequence")) {
		s = json_get(j, "processors");
		for (size_t i = 0; s && i < s->n; i++)
			if (load_post_processor(l, &s->kids[i]) < 0)
				return -1;
		return 0;
	}
	if (is_type(j, "RobertaProcessing") || is_type(j, "BertProcessing")) {
		named_pair(l, json_get(j, "cls"), &l->v->bos);
		named_pair(l, json_get(j, "sep"), &l->v->eos);
		return 0;
	}
	if (!is_type(j, "TemplateProcessing"))
		return load_not_done(l, "post_processor", j);
	template(l, j);
	return 0;
}

static int64_t
config_token(struct load *l, const struct json *c, const char *key)
{
	const struct json *t = json_get(c, key);

	if (t && t->type == JSON_OBJECT)
		t = json_get(t, "content");
	return t && t->type == JSON_STRING ? names_find(&l->names, t->str) : -1;
}

/* tokenizer_config.json beside the file, where there is one. */
int
load_config(struct load *l)
{
	const char *slash = strrchr(l->path, '/');
	struct buf b = {0};
	struct json *c;
	FILE *f;

	buf_put(&b, l->path, slash ? (size_t)(slash + 1 - l->path) : 0);
	buf_puts(&b, "tokenizer_config.json");
	buf_putc(&b, 0);
	f = fopen(b.p, "rb");
	if (!f) {
		buf_clear(&b);
		return 0;
	}
	fclose(f);
	c = json_load(b.p, l->e);
	buf_clear(&b);
	if (!c)
		return -1;
	if (l->v->bos < 0)
		l->v->bos = config_token(l, c, "bos_token");
	if (l->v->eos < 0)
		l->v->eos = config_token(l, c, "eos_token");
	l->v->pad = config_token(l, c, "pad_token");
	json_free(c);
	return 0;
}
