/*
 * vocab_pipe.c - tokenizer.json in: the parts around the model
 *
 * Supported: the normalizers NFC, and SentencePiece's Prepend and Replace; the
 * pre_tokenizers Split, Digits, Punctuation, ByteLevel and Metaspace; the
 * decoders that undo them.  Anything else is refused.  vocab_post.c has the
 * post_processor.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "record/vocab_priv.h"

int
vocab_fail(struct vocab_load *l, const char *fmt, ...)
{
	char what[800];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return err_set(l->e, "%s: %s", l->path, what);
}

int
vocab_flag(struct vocab_load *l, const struct json *j, const char *key,
	   int none)
{
	const struct json *k = json_get(j, key);

	if (is_null(k))
		return none;
	if (k->type != JSON_TRUE && k->type != JSON_FALSE)
		vocab_fail(l, "%s: not true or false", key);
	return k->type == JSON_TRUE;
}

/* The type of a part, or "". */
static struct span
type_of(const struct json *j)
{
	const struct json *t = json_get(j, "type");

	return t && t->type == JSON_STRING ? t->str : (struct span){"", 0};
}

int
vocab_unsupported(struct vocab_load *l, const char *part, const struct json *j)
{
	struct span t = type_of(j);

	return vocab_fail(l, "%s '%.*s' is not supported", part, (int)t.n,
			  t.p);
}

/* --- normalizer --- */

int
vocab_normalizer(struct vocab_load *l, const struct json *j)
{
	struct vocab *v = l->v;

	if (is_null(j))
		return 0;
	if (is_type(j, "Sequence")) {
		const struct json *s = json_get(j, "normalizers");

		if (!s || s->type != JSON_ARRAY)
			return vocab_fail(l, "normalizer: Sequence without an "
					 "array");
		for (size_t i = 0; i < s->n; i++)
			if (vocab_normalizer(l, &s->kids[i]) < 0)
				return -1;
		return 0;
	}
	if (is_type(j, "NFC")) {
		if (l->sp_replace || v->sp_prepend)
			return vocab_fail(l, "normalizer: NFC after Prepend or "
					  "Replace is not supported");
		v->nfc = 1;
		return 0;
	}
	if (is_type(j, "Prepend")) {
		if (!is_str(json_get(j, "prepend"), VOCAB_SPACE) ||
		    l->sp_replace || v->sp_prepend)
			return vocab_fail(l, "normalizer: Prepend is supported "
					  "only for U+2581 and as the first "
					  "step");
		v->sp_prepend = VOCAB_PREPEND_EACH;
		return 0;
	}
	if (is_type(j, "Replace")) {
		if (!is_str(json_get(j, "pattern.String"), " ") ||
		    !is_str(json_get(j, "content"), VOCAB_SPACE))
			return vocab_fail(l, "normalizer: Replace is supported "
					  "only from a space to U+2581");
		l->sp_replace = 1;
		return 0;
	}
	return vocab_unsupported(l, "normalizer", j);
}

/* --- pre_tokenizer --- */

static int
behavior_of(struct vocab_load *l, const struct json *j)
{
	static const char *const name[] = {"Isolated", "Removed",
		"MergedWithPrevious", "MergedWithNext", "Contiguous"};
	const struct json *b = json_get(j, "behavior");
	int invert = vocab_flag(l, j, "invert", 0) ? SPLIT_INVERT : 0;

	for (int i = 0; i < 5; i++)
		if (is_str(b, name[i])) {
			if (i == SPLIT_REMOVED && !invert)
				return vocab_fail(l, "pre_tokenizer: behavior "
						  "Removed without invert is "
						  "not supported: text would "
						  "be lost");
			return i | invert;
		}
	return vocab_fail(l, "pre_tokenizer: behavior '%.*s' is not supported",
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

/* What comes after ByteLevel sees the characters that it writes. */
static void
add_split(struct vocab_load *l, struct span pattern, int behavior)
{
	vocab_add_split(l->v, pattern, behavior |
			(l->byte_level ? SPLIT_BYTES : 0));
}

static int
pre_split(struct vocab_load *l, const struct json *j)
{
	const struct json *re = json_get(j, "pattern.Regex");
	const struct json *str = json_get(j, "pattern.String");
	int behavior = behavior_of(l, j);
	struct buf b = {0};

	if (behavior < 0)
		return -1;
	if (re && re->type == JSON_STRING) {
		if (memchr(re->str.p, 0, re->str.n))
			return vocab_fail(l, "pre_tokenizer: the pattern of a "
					  "Split contains NUL");
		add_split(l, re->str, behavior);
		return 0;
	}
	if (!str || str->type != JSON_STRING || str->str.n == 0)
		return vocab_fail(l, "pre_tokenizer: Split without a pattern");
	/* normalization has replaced all spaces by U+2581 */
	if (l->sp_replace && span_eq(str->str, span_str(" ")))
		return 0;
	if (looks_like_regex(str->str) || memchr(str->str.p, 0, str->str.n))
		return vocab_fail(l, "pre_tokenizer: Split has the String "
				 "'%.*s', which looks like a regular "
				 "expression and would be taken literally: "
				 "write {\"Regex\": ...}",
			    (int)str->str.n, str->str.p);
	quote(str->str, &b);
	add_split(l, buf_span(&b), behavior);
	buf_clear(&b);
	return 0;
}

static int
pre_metaspace(struct vocab_load *l, const struct json *j, int alone)
{
	const struct json *scheme = json_get(j, "prepend_scheme");
	struct vocab *v = l->v;
	int prefix = vocab_flag(l, j, "add_prefix_space", 1);

	if (!is_str(json_get(j, "replacement"), VOCAB_SPACE))
		return vocab_fail(l, "pre_tokenizer: Metaspace with a "
				 "replacement other than U+2581 is not "
				  "supported");
	if (!alone || v->sp_prepend)
		return vocab_fail(l, "pre_tokenizer: Metaspace with other "
				  "parts is not supported");
	if (is_null(scheme))
		v->sp_prepend = prefix ? VOCAB_PREPEND_ALWAYS :
			VOCAB_PREPEND_NEVER;
	else if (is_str(scheme, "always"))
		v->sp_prepend = VOCAB_PREPEND_ALWAYS;
	else if (is_str(scheme, "first"))
		v->sp_prepend = VOCAB_PREPEND_FIRST;
	else if (!is_str(scheme, "never"))
		return vocab_fail(l, "pre_tokenizer: prepend_scheme '%.*s' is "
				  "not supported", (int)scheme->str.n,
				  scheme->str.p);
	v->sp_split = vocab_flag(l, j, "split", 1);
	v->metaspace = l->sp_replace = 1;
	return 0;
}

static int
pre_byte_level(struct vocab_load *l, const struct json *j, int alone)
{
	struct vocab *v = l->v;

	if (l->byte_level)
		return vocab_fail(l, "pre_tokenizer: ByteLevel twice is not "
				  "supported");
	v->add_prefix_space = vocab_flag(l, j, "add_prefix_space", 1);
	if (v->add_prefix_space && !alone)
		return vocab_fail(l, "pre_tokenizer: ByteLevel with "
				 "add_prefix_space after other parts is not "
				  "supported");
	if (vocab_flag(l, j, "use_regex", 1))
		add_split(l, span_str("gpt2"), SPLIT_ISOLATED);
	l->byte_level = 1;
	return 0;
}

/* Punctuation of tokenizers is that of Unicode 8.0 and all symbols of ASCII:
 * without the characters added since, with two that were punctuation then. */
#define PUNCTUATION "[\\p{P}!-/:-@\\[-`{-~\\x{166d}\\x{111c9}&&[^\\x{61d}" \
	"\\x{9fd}-\\x{a76}\\x{c77}-\\x{c84}\\x{1b4e}-\\x{1b4f}" \
	"\\x{1b7d}-\\x{1b7f}\\x{2e43}-\\x{2e5d}\\x{10d6e}-\\x{10f89}" \
	"\\x{113d4}-\\x{1145d}\\x{11660}-\\x{116b9}\\x{1183b}-\\x{11fff}" \
	"\\x{12ff1}-\\x{12ff2}\\x{16d6d}-\\x{16fe2}\\x{1e5ff}-\\x{1e95f}]]"

static int
pre_punctuation(struct vocab_load *l, const struct json *j)
{
	int behavior = is_null(json_get(j, "behavior")) ? SPLIT_ISOLATED :
		behavior_of(l, j);

	if (behavior < 0)
		return -1;
	add_split(l, span_str(PUNCTUATION), behavior);
	return 0;
}

static int
pre_one(struct vocab_load *l, const struct json *j, int alone)
{
	if (is_type(j, "Split"))
		return pre_split(l, j);
	if (is_type(j, "Punctuation"))
		return pre_punctuation(l, j);
	if (is_type(j, "Digits")) {
		add_split(l, span_str("\\p{N}"),
			  vocab_flag(l, j, "individual_digits", 0) ?
			  SPLIT_ISOLATED : SPLIT_CONTIGUOUS);
		return 0;
	}
	if (is_type(j, "ByteLevel"))
		return pre_byte_level(l, j, alone);
	if (is_type(j, "Metaspace"))
		return pre_metaspace(l, j, alone);
	return vocab_unsupported(l, "pre_tokenizer", j);
}

int
vocab_pre_tokenizer(struct vocab_load *l, const struct json *j)
{
	const struct json *s;

	if (is_null(j))
		return 0;
	if (!is_type(j, "Sequence"))
		return pre_one(l, j, 1);
	s = json_get(j, "pretokenizers");
	if (!s || s->type != JSON_ARRAY)
		return vocab_fail(l, "pre_tokenizer: Sequence without an "
				  "array");
	for (size_t i = 0; i < s->n; i++)
		if (pre_one(l, &s->kids[i], s->n == 1) < 0)
			return -1;
	return 0;
}

/* --- decoder: only the inverse of the parts above --- */

int
vocab_decoder(struct vocab_load *l, const struct json *j)
{
	static const char *const ok[] = {"ByteLevel", "ByteFallback", "Fuse",
		"Metaspace", "Replace", "Strip"};
	const struct json *s;

	if (is_null(j))
		return 0;
	if (is_type(j, "Sequence")) {
		s = json_get(j, "decoders");
		for (size_t i = 0; s && i < s->n; i++)
			if (vocab_decoder(l, &s->kids[i]) < 0)
				return -1;
		return 0;
	}
	for (size_t i = 0; i < sizeof(ok) / sizeof(ok[0]); i++)
		if (is_type(j, ok[i]))
			return 0;
	return vocab_unsupported(l, "decoder", j);
}

int
vocab_set_kind(struct vocab_load *l)
{
	struct vocab *v = l->v;
	int sp = l->sp_replace || v->sp_prepend || v->metaspace;

	if (l->byte_level && (sp || v->byte_fallback))
		return vocab_fail(l, "both byte-level and SentencePiece");
	if (!l->byte_level && !sp && !v->byte_fallback)
		return vocab_fail(l, "neither a ByteLevel pre_tokenizer nor "
				  "SentencePiece (byte_fallback, Metaspace, "
				  "Prepend or Replace): other kinds are not "
				  "supported");
	v->kind = l->byte_level ? VOCAB_BYTE_LEVEL : VOCAB_SENTENCEPIECE;
	if (v->kind == VOCAB_SENTENCEPIECE && !l->sp_replace)
		return vocab_fail(l, "SentencePiece without a Replace of "
				  "spaces by U+2581 is not supported");
	if (v->kind == VOCAB_SENTENCEPIECE && (v->nfc || v->nsplit))
		return vocab_fail(l, "SentencePiece with %s is not supported",
				  v->nfc ? "the normalizer NFC" : "a Split");
	return 0;
}

/*
 * --- tokenizer_config.json ---
 *
 * It names the BOS and EOS that tokenizer.json does not, and `add_bos_token`
 * overrides whether BOS is added.
 */

static int64_t
config_token(struct vocab_load *l, const struct json *c, const char *key)
{
	const struct json *t = json_get(c, key);

	if (t && t->type == JSON_OBJECT)
		t = json_get(t, "content");
	return t && t->type == JSON_STRING ? names_find(&l->names, t->str) : -1;
}

static void
config_read(struct vocab_load *l, const struct json *c)
{
	const struct json *add = json_get(c, "add_bos_token");
	struct vocab *v = l->v;

	if (v->bos < 0)
		v->bos = config_token(l, c, "bos_token");
	if (v->eos < 0)
		v->eos = config_token(l, c, "eos_token");
	v->pad = config_token(l, c, "pad_token");
	if (add && add->type == JSON_FALSE)
		v->front.n = 0;
	else if (add && add->type == JSON_TRUE && !v->front.n && v->bos >= 0)
		v->front = (struct vocab_around){{(uint32_t)v->bos}, 1};
}

int
vocab_config(struct vocab_load *l)
{
	const char *slash = strrchr(l->path, '/');
	char *path = xstrf("%.*stokenizer_config.json",
			   slash ? (int)(slash + 1 - l->path) : 0, l->path);
	FILE *f = fopen(path, "rb");
	struct json *c = NULL;

	if (f) {
		fclose(f);
		c = json_load(path, l->e);
	}
	free(path);
	if (!c)
		return f ? -1 : 0;
	config_read(l, c);
	json_free(c);
	return 0;
}
