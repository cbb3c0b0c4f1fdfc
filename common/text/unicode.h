/*
 * unicode.h - general categories, lower case, width, NFC: tables of our own
 *
 * No result depends on the machine's libraries.  Categories, lower case and
 * width are those of Unicode 16.0; the categories are equal, code point by
 * code point, to what `tokenizers` matches with \p{L}, \p{N} and \p{M}.
 * Normalization is that of 9.0, as in its normalizer: characters added later
 * are left alone.  gen-unicode.py makes the tables in unicode_tab.c.
 *
 * Everything here is a pure function; any thread may call it.
 */
#ifndef ASSAY_UNICODE_H
#define ASSAY_UNICODE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* General categories in alphabetical order.  UC_SPACE_CC are the controls
 * U+0009..000D and U+0085, which are Cc and white space. */
enum uc_cat {
	UC_CN, UC_CC, UC_CF, UC_CO, UC_CS, UC_LL, UC_LM, UC_LO, UC_LT, UC_LU,
	UC_MC, UC_ME, UC_MN, UC_ND, UC_NL, UC_NO, UC_PC, UC_PD, UC_PE, UC_PF,
	UC_PI, UC_PO, UC_PS, UC_SC, UC_SK, UC_SM, UC_SO, UC_ZL, UC_ZP, UC_ZS,
	UC_SPACE_CC, UC_NCAT
};

/* Classes as bits; a letter has one of the first three. */
enum {
	UC_UPPER = 1,		/* Lu Lt */
	UC_LOWER = 2,		/* Ll */
	UC_CASELESS = 4,	/* Lm Lo */
	UC_LETTER = 7,
	UC_MARK = 8,		/* Mn Mc Me */
	UC_NUMBER = 16,		/* Nd Nl No */
	UC_SPACE = 32,		/* the 25 code points of \s */
	UC_PUNCT = 64,
	UC_SYMBOL = 128
};

extern const uint16_t uc_cat_index[], uc_ccc_index[], uc_maybe_index[];
extern const uint8_t uc_cat_data[], uc_ccc_data[], uc_maybe_data[];
extern const uint8_t uc_class_of[UC_NCAT];
extern const uint32_t uc_dec_key[], uc_dec_seq[], uc_comp[][3];
extern const uint32_t uc_lower[][2], uc_wide[][2];
extern const uint16_t uc_dec_start[];
extern const size_t uc_ndec, uc_ncomp, uc_nlower, uc_nwide;

/* The value of c < 0x110000 in one of the two-stage tables. */
#define UC_TABLE(name, c) (uc_##name##_data[ \
	(size_t)uc_##name##_index[(c) >> 7] << 7 | ((c) & 127)])

static inline enum uc_cat
uc_cat(uint32_t c)
{
	return UC_TABLE(cat, c);
}

static inline unsigned
uc_class(uint32_t c)
{
	return uc_class_of[uc_cat(c)];
}

/*
 * Nonzero if NFC leaves c as it is and never joins it to what comes before:
 * the texts before and from c on may be normalized separately.
 */
static inline int
uc_nfc_boundary(uint32_t c)
{
	return !UC_TABLE(maybe, c);
}

/* Simple lower case of a letter, mark or number; others stay as they are. */
uint32_t uc_to_lower(uint32_t c);

/* Columns of a terminal: 2 if East Asian Width is W or F, 0 for marks on
 * another character and invisible ones, else 1. */
unsigned uc_columns(uint32_t c);

/*
 * The code point at p[0..n), n > 0, in valid UTF-8; *len gets its bytes.
 * Where the text is not valid the result is some code point, *len is 1..n.
 */
static inline uint32_t
uc_next(const char *text, size_t n, unsigned *len)
{
	const unsigned char *p = (const unsigned char *)text;

	if (p[0] < 0x80 || n < 2) {
		*len = 1;
		return p[0];
	}
	if (p[0] < 0xe0 || n < 3) {
		*len = 2;
		return (p[0] & 31u) << 6 | (p[1] & 63u);
	}
	if (p[0] < 0xf0 || n < 4) {
		*len = 3;
		return (p[0] & 15u) << 12 | (p[1] & 63u) << 6 | (p[2] & 63u);
	}
	*len = 4;
	return ((p[0] & 7u) << 18 | (p[1] & 63u) << 12 | (p[2] & 63u) << 6 |
		(p[3] & 63u)) % 0x110000;
}

/*
 * Normalization form C.  Returns 1 if text is in that form, without touching
 * out; else 0, and out (reset first) gets it.  Valid UTF-8 in and out.
 */
int uc_nfc(struct span text, struct buf *out);

#endif
