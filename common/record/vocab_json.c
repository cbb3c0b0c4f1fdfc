/*
 * vocab_json.c - a vocabulary as tokenizer.json and its companions
 *
 * The layout is one that `tokenizers`, `transformers` and older readers load:
 * merges as "a b" strings; special tokens in ascending order right after a
 * dense vocabulary (tokenizers gives them ids by count, not by "id"); the
 * pattern in a Split, then ByteLevel with use_regex false; gpt2 is the one of
 * ByteLevel itself, which readers without regular expressions know too.
 */
#include <stdlib.h>

#include "base/utf8.h"
#include "record/vocab_priv.h"
#include "stream/json.h"

/* A byte-level token's name, escaped. */
static void
put_name(struct buf *b, struct span t)
{
	for (size_t i = 0; i < t.n; i++) {
		uint32_t c = vocab_byte_char((uint8_t)t.p[i]);

		if (c == '"' || c == '\\')
			buf_putc(b, '\\');
		b->n += (size_t)utf8_put(buf_reserve(b, 4), c);
	}
}

static void
put_added(const struct vocab *v, struct buf *b)
{
	buf_puts(b, "  \"added_tokens\": [");
	for (size_t i = 0; i < v->nspecial; i++) {
		buf_printf(b, "%s\n    {\"id\": %u, \"content\": ",
			   i ? "," : "", v->special[i].id);
		json_put_str(b, v->special[i].text);
		buf_printf(b, ", \"single_word\": false, \"lstrip\": false, "
			   "\"rstrip\": false, \"normalized\": %s, "
			   "\"special\": %s}",
			   v->special[i].normalized ? "true" : "false",
			   v->special[i].special ? "true" : "false");
	}
	buf_puts(b, v->nspecial ? "\n  ],\n" : "],\n");
}

static void
put_splits(const struct vocab *v, struct buf *b)
{
	if (v->nsplit == 1 && pattern_find(v->split[0].p) == PATTERN_GPT2) {
		buf_puts(b, "  \"pre_tokenizer\": {\"type\": \"ByteLevel\", "
			 "\"add_prefix_space\": false, \"trim_offsets\": "
			 "true, \"use_regex\": true},\n");
		return;
	}
	buf_puts(b, "  \"pre_tokenizer\": {\"type\": \"Sequence\", "
		 "\"pretokenizers\": [\n");
	for (size_t i = 0; i < v->nsplit; i++) {
		buf_puts(b, "    {\"type\": \"Split\", \"pattern\": "
			 "{\"Regex\": ");
		json_put_str(b, span_str(pattern_regex(v->split[i].p)));
		buf_puts(b, "}, \"behavior\": \"Isolated\", \"invert\": "
			 "false},\n");
	}
	buf_puts(b, "    {\"type\": \"ByteLevel\", \"add_prefix_space\": "
		 "false, \"trim_offsets\": true, \"use_regex\": false}\n"
		 "  ]},\n");
}

static void
put_model(const struct vocab *v, struct buf *b)
{
	int first = 1;

	buf_printf(b, "  \"model\": {\"type\": \"BPE\", \"dropout\": null, "
		   "\"unk_token\": null, \"continuing_subword_prefix\": null, "
		   "\"end_of_word_suffix\": null, \"fuse_unk\": false, "
		   "\"byte_fallback\": false, \"ignore_merges\": %s,\n"
		   "    \"vocab\": {", v->ignore_merges ? "true" : "false");
	for (uint32_t i = 0; i < v->n; i++) {
		if (!v->token[i].p || (v->flags[i] & VOCAB_ADDED))
			continue;
		buf_puts(b, first ? "\n      \"" : ",\n      \"");
		put_name(b, v->token[i]);
		buf_printf(b, "\": %u", i);
		first = 0;
	}
	buf_puts(b, "\n    },\n    \"merges\": [");
	for (size_t i = 0; i < v->nmerges; i++) {
		buf_puts(b, i ? ",\n      \"" : "\n      \"");
		put_name(b, v->token[v->merge[i][0]]);
		buf_putc(b, ' ');
		put_name(b, v->token[v->merge[i][1]]);
		buf_putc(b, '"');
	}
	buf_puts(b, v->nmerges ? "\n    ]}\n}\n" : "]}\n}\n");
}

void
vocab_put_json(const struct vocab *v, const struct vocab_around *front,
	       const struct vocab_around *back, struct buf *b)
{
	buf_puts(b, "{\n  \"version\": \"1.0\",\n  \"truncation\": null,\n"
		 "  \"padding\": null,\n");
	put_added(v, b);
	buf_puts(b, "  \"normalizer\": null,\n");
	put_splits(v, b);
	buf_puts(b, "  \"post_processor\": ");
	vocab_put_template(v, front, back, b);
	buf_puts(b, ",\n");
	buf_puts(b, "  \"decoder\": {\"type\": \"ByteLevel\", "
		 "\"add_prefix_space\": true, \"trim_offsets\": true, "
		 "\"use_regex\": true},\n");
	put_model(v, b);
}

static void
put_config_token(const struct vocab *v, struct buf *b, const char *key,
		 int64_t id)
{
	if (id < 0)
		return;
	buf_printf(b, "  \"%s\": ", key);
	json_put_str(b, v->token[id]);
	buf_puts(b, ",\n");
}

void
vocab_config_json(const struct vocab *v, int64_t max_len, struct buf *b)
{
	buf_puts(b, "{\n");
	put_config_token(v, b, "bos_token", v->bos);
	put_config_token(v, b, "eos_token", v->eos);
	put_config_token(v, b, "pad_token", v->pad);
	put_config_token(v, b, "unk_token", v->unk);
	buf_puts(b, "  \"clean_up_tokenization_spaces\": false,\n");
	buf_printf(b, "  \"model_max_length\": %lld,\n", (long long)max_len);
	buf_puts(b, "  \"tokenizer_class\": \"PreTrainedTokenizerFast\"\n}\n");
}
