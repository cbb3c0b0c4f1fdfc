/*
 * sniff_tokenizer.c - what a file is that was given as a tokenizer
 *
 * By its first bytes or, if it is JSON, by its members.  FILE and DIR in the
 * commands are to be replaced.
 */
#include "stream/sniff.h"

#include <string.h>

#include "stream/json.h"

#define SPM "a SentencePiece model, not a tokenizer.json"
#define BYTE_LEVEL " (python3 -c \"from tokenizers import " \
	"ByteLevelBPETokenizer as T; T('vocab.json', 'merges.txt')" \
	".save('tokenizer.json')\")"

/* A varint at *at; 0 at the end of the text. */
static uint64_t
varint(struct span s, size_t *at)
{
	uint64_t x = 0;

	for (unsigned shift = 0; *at < s.n && shift < 64; shift += 7) {
		unsigned char c = (unsigned char)s.p[(*at)++];

		x |= (uint64_t)(c & 127) << shift;
		if (c < 128)
			break;
	}
	return x;
}

/*
 * A protocol buffer's field: -1 if it is absent or s is not one; its number,
 * or *in where it is a message.  The last one counts.
 */
static int64_t
field(struct span s, unsigned number, struct span *in)
{
	int64_t found = -1;
	size_t at = 0;

	while (at < s.n) {
		uint64_t tag = varint(s, &at), x = 0;
		unsigned wire = tag & 7;

		if (wire == 0 || wire == 2)
			x = varint(s, &at);
		else if (wire != 1 && wire != 5)
			return -1;
		if (tag >> 3 == number && wire == 0)
			found = (int64_t)x;
		if (wire != 2)
			x = wire == 1 ? 8 : wire == 5 ? 4 : 0;
		if (x > s.n - at)
			return -1;
		if (tag >> 3 == number && wire == 2) {
			*in = (struct span){s.p + at, (size_t)x};
			found = 0;
		}
		at += x;
	}
	return found;
}

/* Pieces are field 1; trainer_spec is 2, in it model_type 3 (BPE is 2). */
static const char *
sentencepiece(struct span s)
{
	struct span pieces, trainer = {NULL, 0};
	int64_t type;

	if (s.n < 4 || s.p[0] != '\n' || field(s, 1, &pieces) < 0)
		return NULL;
	type = field(s, 2, &trainer) < 0 ? -1 : field(trainer, 3, &pieces);
	if (type != 2)
		return SPM ", and its kind (unigram, not BPE) is not supported";
	return SPM " (python3 -c \"from transformers import AutoTokenizer as "
		"T; T.from_pretrained('DIR').save_pretrained('DIR')\")";
}

const char *
sniff_tokenizer(const char *p, size_t n)
{
	struct span s = {p, n};
	const char *what = sentencepiece(s), *lf = memchr(p, '\n', n);

	if (what)
		return what;
	if (n > 4 && !memcmp(p, "GGUF", 4))
		return "a GGUF file, not a tokenizer.json: use the one of the "
			"model's own folder";
	if (n > 9 && p[8] == '{' && !p[6] && !p[7])
		return "weights of a model, not its tokenizer.json";
	if (n > 8 && !memcmp(p, "#version", 8))
		return "the merges of a tokenizer without its vocabulary"
			BYTE_LEVEL;
	if (n > 4 && (!memcmp(p, "PK\3\4", 4) || !memcmp(p, "\x80\2", 2)))
		return "a Python pickle, not a tokenizer.json";
	s.n = lf ? (size_t)(lf - p) : n;
	if (s.n && s.p[s.n - 1] == '\r')
		s.n--;
	if (s.n == 5 && !memcmp(p, "[PAD]", 5))
		return "a WordPiece vocabulary, which is not supported";
	return NULL;
}

int
sniff_is_lines(const char *p, size_t n)
{
	const char *lf = memchr(p, '\n', n);
	struct err e = {0};
	struct json *j = lf && lf + 1 < p + n ?
		json_parse(p, (size_t)(lf - p), "line", &e) : NULL;

	json_free(j);
	return j != NULL;
}

/* Are all members ids? */
static int
is_vocab(const struct json *r)
{
	size_t i = 0;

	while (i < r->n && r->kids[i].is_int)
		i++;
	return i == r->n && i > 0;
}

const char *
sniff_tokenizer_json(const struct json *r)
{
	const struct json *v = json_get(r, "vocab");
	const struct json *m = json_get(r, "model");

	if (m && m->type == JSON_OBJECT)
		return NULL;
	if (is_vocab(r))
		return "a vocabulary without its merges" BYTE_LEVEL;
	if (v && v->type == JSON_ARRAY && json_get(r, "config"))
		return "a tekken.json, which is not supported: use the "
			"tokenizer.json of the model's folder";
	if (json_get(r, "tokenizer_class") || json_get(r, "model_max_length") ||
	    json_get(r, "added_tokens_decoder"))
		return "a tokenizer_config.json: use the tokenizer.json beside "
			"it";
	if (json_get(r, "model_type") || json_get(r, "architectures"))
		return "the config.json of a model: use the tokenizer.json "
			"beside it";
	if (json_get(r, "bos_token") || json_get(r, "eos_token"))
		return "a special_tokens_map.json: use the tokenizer.json "
			"beside it";
	if (json_get(r, "weight_map"))
		return "an index of weights: use the tokenizer.json beside it";
	return NULL;
}
