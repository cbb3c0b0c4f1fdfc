/*
 * Any bytes as a tokenizer: an error, or a vocabulary that encodes a text into
 * ids that decode to it, and that writes files which load again.
 */
#include <stdlib.h>
#include <string.h>

#include "tokenizer/bpe.h"
#include "tests/fuzz/target.h"

static const char text[] = "It's a\t \r\n  test<x> of 123 'S\xc3\xa9"
	"e\xcc\x81"
	"\xe6\xbc\xa2\xe2\x96\x81 <|bos|>\xf0\x9f\x98\x80";

static void
check(int ok)
{
	if (!ok)
		abort();
}

static void
encode(const struct vocab *v)
{
	struct err e = {0};
	struct bpe *b = bpe_new(v, &e);
	struct bpe_enc *c;
	struct ids ids = {0};
	struct buf back = {0};
	int plain = 0;

	if (!b) {
		check(e.set);
		return;
	}
	c = bpe_enc_new(b, 65536);
	if (bpe_encode(c, (struct span){text, sizeof(text) - 1}, &ids, &e) < 0)
		goto out;
	for (size_t i = 0; i < ids.n; i++)
		check(ids.v[i] < v->n);
	check(vocab_decode(v, ids.v, ids.n, 0, &back, &e) == 0);
	for (size_t i = 0; i < v->nspecial; i++)
		plain |= !v->special[i].special;	/* may strip spaces */
	if (v->kind == VOCAB_BYTE_LEVEL && !v->nfc && !v->add_prefix_space &&
	    v->unk < 0 && !plain)
		check(back.n == sizeof(text) - 1 &&
		      memcmp(back.p, text, back.n) == 0);
out:
	buf_clear(&back);
	free(ids.v);
	bpe_enc_free(c);
	bpe_free(b);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err e = {0};
	const char *split = size && data[0] != '{' ? "gpt2" : NULL;
	struct vocab *v = vocab_parse((const char *)data, size, "fuzz", split,
				      &e);
	struct buf b = {0};

	if (!v) {
		check(e.set);
		return 0;
	}
	encode(v);
	if (split) {
		struct vocab *w;

		vocab_tiktoken(v, &b);
		w = vocab_parse(b.p, b.n, "again", split, &e);
		check(w && w->fingerprint == v->fingerprint);
		vocab_free(w);
	}
	buf_clear(&b);
	vocab_free(v);
	return 0;
}
