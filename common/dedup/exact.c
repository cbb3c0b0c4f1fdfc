/*
 * exact.c - the text that exact compares
 */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/utf8.h"
#include "dedup/dedup_priv.h"
#include "text/unicode.h"

/* NFC, lower case, runs of white space as one space, none at the ends. */
static void
fold_text(struct worker *w, struct span text, struct buf *out)
{
	int space = 0;
	unsigned len;
	size_t i;

	if (!uc_nfc(text, &w->nfc))
		text = buf_span(&w->nfc);
	buf_reset(out);
	buf_reserve(out, text.n + text.n / 2 + 8);
	for (i = 0; i < text.n; i += len) {
		uint32_t c = uc_next(text.p + i, text.n - i, &len);

		if (uc_class(c) & UC_SPACE) {
			space = out->n > 0;
			continue;
		}
		if (space)
			buf_putc(out, ' ');
		space = 0;
		out->n += utf8_put(buf_reserve(out, 4), uc_to_lower(c));
	}
}

struct span
dedup_exact_text(const struct dedup_opts *o, struct worker *w,
		 struct span text)
{
	if (!o->normalize)
		return text;
	fold_text(w, text, &w->fold);
	return buf_span(&w->fold);
}

struct set_hash
dedup_exact_key(struct span text)
{
	XXH128_hash_t h = XXH3_128bits(text.p, text.n);

	return (struct set_hash){h.low64, h.high64};
}
