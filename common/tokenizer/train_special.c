/*
 * train_special.c - may a special token have this name?
 *
 * In a tokenizer.json a token is written with one character a byte (the byte
 * level alphabet: a space is U+0120).  A reader looks special tokens up among
 * these names, so one that is spelled like an ordinary token would take over
 * its id, silently.  The name is therefore tried as the bytes it is and as
 * the bytes it would spell.  Whether a row of bytes is a token is asked of
 * the merges: a token's bytes, encoded, are that one token (train.h).
 */
#include "tokenizer/train.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "text/unicode.h"
#include "record/vocab.h"

enum {
	SHOWN = 188,		/* bytes that are their own character */
	FIRST_HIDDEN = 0x100	/* character of the first of the others */
};

static int
is_token(const struct bpetrain *t, const unsigned char *p, size_t n)
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

/* The bytes that s spells in the byte level alphabet; 0: it does not. */
static size_t
spelled(const char *s, size_t n, unsigned char *out)
{
	size_t to = 0;
	unsigned len;

	for (size_t i = 0; i < n; i += len) {
		uint32_t c = uc_next(s + i, n - i, &len);

		if (c < FIRST_HIDDEN && vocab_byte_id[c] < SHOWN)
			out[to++] = c;
		else if (c >= FIRST_HIDDEN && c < FIRST_HIDDEN + 256 - SHOWN)
			out[to++] = vocab_id_byte[SHOWN + c - FIRST_HIDDEN];
		else
			return 0;
	}
	return to;
}

static int
is_utf8(const char *s, size_t n)
{
	for (size_t i = 0; i < n; ) {
		int len = utf8_step(s + i, n - i);

		if (len <= 0)
			return 0;
		i += len;
	}
	return 1;
}

int
bpetrain_check_special(const struct bpetrain *t, const char *const *special,
		       size_t n, struct err *e)
{
	for (size_t i = 0; i < n; i++) {
		const char *s = special[i];
		size_t len = strlen(s), m;
		unsigned char *bytes;
		int taken;

		if (len == 0 || !is_utf8(s, len))
			return err_set(e, "special token %zu is %s", i + 1,
				       len ? "not UTF-8" : "empty");
		for (size_t k = 0; k < i; k++)
			if (!strcmp(special[k], s))
				return err_set(e, "special token \"%s\" is "
					       "given twice", s);
		bytes = xmalloc(len);
		m = spelled(s, len, bytes);
		taken = is_token(t, (const unsigned char *)s, len) ||
			(m && is_token(t, bytes, m));
		free(bytes);
		if (taken)
			return err_set(e, "special token \"%s\" is spelled "
				       "like an ordinary token: choose a name "
				       "that text does not have", s);
	}
	return 0;
}
