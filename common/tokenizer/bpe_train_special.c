/*
 * bpe_train_special.c - may a special token have this name?
 *
 * A tokenizer.json writes tokens with one character per byte (the byte-level
 * alphabet: a space is U+0120).  A reader looks special tokens up among these
 * names, so one that is spelled like an ordinary token would silently take
 * over its id.  The name is therefore tried as the bytes that it is and as
 * the bytes that it would spell.  tokenizers decodes a name as what it spells,
 * so it must spell itself or, with a character outside the alphabet, nothing.
 * Whether bytes are a token is decided by the
 * merges: a token's bytes encode to that one token (bpe_train.h).
 */
#include "tokenizer/bpe_train.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "record/vocab.h"
#include "text/unicode.h"

static int
is_token(const struct bpe_train *t, const unsigned char *p, size_t n)
{
	uint32_t *id = xreallocarray(NULL, n, sizeof *id);
	size_t left = n;

	for (size_t i = 0; i < n; i++)
		id[i] = vocab_byte_id[p[i]];
	for (size_t k = 0; k < t->n && left > 1; k++) {
		size_t to = 0;

		for (size_t i = 0; i < left; to++) {
			int hit = i + 1 < left && id[i] == t->pair[k][0] &&
				id[i + 1] == t->pair[k][1];

			id[to] = hit ? 256 + k : id[i];
			i += hit ? 2 : 1;
		}
		left = to;
	}
	free(id);
	return left == 1;
}

/* The bytes that s spells in the byte-level alphabet; 0: none. */
static size_t
spelled(const char *s, size_t n, unsigned char *out)
{
	size_t to = 0;
	unsigned len;

	for (size_t i = 0; i < n; i += len) {
		int byte = vocab_char_byte(uc_next(s + i, n - i, &len));

		if (byte < 0)
			return 0;
		out[to++] = (unsigned char)byte;
	}
	return to;
}

int
bpe_train_special_check(const struct bpe_train *t, const char *const *special,
		       size_t n, struct err *e)
{
	for (size_t i = 0; i < n; i++) {
		const char *s = special[i];
		size_t len = strlen(s), m;
		unsigned char *bytes;
		int taken, changed;

		if (len == 0 || !utf8_valid(s, len))
			return err_set(e, "special token %zu is %s", i + 1,
				       len ? "not UTF-8" : "empty");
		for (size_t k = 0; k < i; k++)
			if (!strcmp(special[k], s))
				return err_set(e, "special token \"%s\" is "
					       "given twice", s);
		bytes = xmalloc(len);
		m = spelled(s, len, bytes);
		changed = m && (m != len || memcmp(bytes, s, len) != 0);
		taken = is_token(t, (const unsigned char *)s, len) ||
			(m && is_token(t, bytes, m));
		free(bytes);
		if (taken)
			return err_set(e, "special token \"%s\" is spelled "
				       "like an ordinary token: choose a name "
				       "that text does not have", s);
		if (changed)
			return err_set(e, "special token \"%s\": the "
				       "tokenizers library would decode it to "
				       "other characters: use ASCII letters",
				       s);
	}
	return 0;
}
