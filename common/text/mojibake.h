/*
 * mojibake.h - find U+FFFD and UTF-8 read as Latin-1 in a stream of bytes
 *
 * When UTF-8 is read as Latin-1 or Windows-1252 and written as UTF-8 again,
 * each byte of a character becomes a character: "é" (C3 A9) turns into "Ã©".
 * So a fault is a sequence of characters whose Latin-1 or Windows-1252 bytes
 * are one valid UTF-8 character.  French or German text may have such a
 * sequence by chance ("é" before a quote), so two in a row are needed.  Those
 * that begin with "Ã", "Â" or "â€" occur in no orthography and count alone.
 */
#ifndef ASSAY_MOJIBAKE_H
#define ASSAY_MOJIBAKE_H

#include <stddef.h>
#include <stdint.h>

struct mojibake {
	uint64_t replaced;	/* U+FFFD, and bytes that are not UTF-8 */
	uint64_t mojibake;	/* characters read wrongly */
	/* Called for each, with the byte at which it begins; NULL: nobody. */
	void (*found)(void *ctx, int replaced, uint64_t at);
	void *ctx;
	/* private */
	uint32_t cp;		/* of the character being read */
	int need;		/* bytes of it to come */
	uint32_t least;		/* a smaller one is overlong */
	int begun;		/* text before: a part of one is a fault */
	uint8_t byte[4];	/* Latin-1 bytes of the characters read */
	int have, want;
	int row;		/* wrong characters in a row */
	int counted;		/* the last of them was */
	uint64_t at;		/* bytes so far */
	uint64_t start;		/* of the character being read ... */
	uint64_t first, before;	/* ... and of wrong ones: the last two */
};

/* cut: the text may begin inside a character. */
void mojibake_init(struct mojibake *m, int cut);
void mojibake_feed(struct mojibake *m, const char *p, size_t n);
/* The text ends here; cut: it may end inside a character. */
void mojibake_end(struct mojibake *m, int cut);

/* n > 0 ASCII bytes.  Returns 0 if they end nothing, so that no count changed.
 * n may be 0 if no place is asked for. */
static inline int
mojibake_ascii(struct mojibake *m, size_t n)
{
	int open = m->need | m->have | m->row;

	if (open)
		mojibake_end(m, 0);
	m->begun = 1;
	m->at += n;
	return open;
}

#endif
