/*
 * split_enc.c - UTF-8 for Oniguruma, with our tables in place of its own
 *
 * An encoding is a table of functions that Oniguruma asks what a character
 * is: whether it is a letter, which property a name means, what it is without
 * case.  This one is the library's UTF-8 whose answers about Unicode are ours,
 * those of 16.0, for any version of the library.
 *
 * Character types 0 to 14 are Oniguruma's own, in which \w, \d, \s and [:x:]
 * are asked for; a property of ours is OURS and its number; THEIRS and above
 * are the library's, for names that are not ours: blocks (\p{In_...}), whose
 * ranges never change.
 *
 * Case: the library folds what it knows (14.0 or later).  Its pairs with a
 * character that 16.0 does not have are dropped, and a letter without a pair
 * there gets the one of our own table, so that the letters of 15.0 and 16.0
 * are folded, and without folding to several characters ß is still ẞ.
 */
#include <oniguruma.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "text/property.h"
#include "text/unicode.h"
#include "tokenizer/split_priv.h"

enum { OURS = 1000, THEIRS = 100000, MAX_PROPERTY = 1000 };

static OnigEncodingType enc;
static const OnigEncodingType *const utf8 = ONIG_ENCODING_UTF8;

/* The ranges of a property, made when it is first asked for: patterns are
 * compiled one at a time. */
static uint32_t *ranges_of[MAX_PROPERTY];

/* Properties of the types that Oniguruma knows by number. */
static const char *const standard[] = {
	[ONIGENC_CTYPE_NEWLINE] = "newline", [ONIGENC_CTYPE_ALPHA] = "alpha",
	[ONIGENC_CTYPE_BLANK] = "blank", [ONIGENC_CTYPE_CNTRL] = "cntrl",
	[ONIGENC_CTYPE_DIGIT] = "digit", [ONIGENC_CTYPE_GRAPH] = "graph",
	[ONIGENC_CTYPE_LOWER] = "lower", [ONIGENC_CTYPE_PRINT] = "print",
	[ONIGENC_CTYPE_PUNCT] = "posixpunct", [ONIGENC_CTYPE_SPACE] = "space",
	[ONIGENC_CTYPE_UPPER] = "upper", [ONIGENC_CTYPE_XDIGIT] = "xdigit",
	[ONIGENC_CTYPE_WORD] = "word", [ONIGENC_CTYPE_ALNUM] = "alnum",
	[ONIGENC_CTYPE_ASCII] = "ascii"
};
static int standard_property[ONIGENC_MAX_STD_CTYPE + 1];

static const uint32_t *
ranges(int property)
{
	if (!ranges_of[property])
		ranges_of[property] = uc_property_ranges(property);
	return ranges_of[property];
}

static int
property_of(OnigCtype t)
{
	return t <= ONIGENC_MAX_STD_CTYPE ? standard_property[t] :
		(int)t - OURS;
}

/* "In_" at the start of a name. */
static int
is_block(const char *p)
{
	return strncasecmp(p, "in", 2) == 0;
}

static int
type_of_name(OnigEncoding e, OnigUChar *p, OnigUChar *end)
{
	int k = uc_property_find((const char *)p, (size_t)(end - p));

	if (k >= 0)
		return OURS + k;
	k = utf8->property_name_to_ctype(e, p, end);
	if (k < 0 || !is_block((const char *)p))
		return ONIGERR_INVALID_CHAR_PROPERTY_NAME;
	return THEIRS + k;
}

static int
type_ranges(OnigCtype t, OnigCodePoint *single, const OnigCodePoint **r)
{
	if (t >= THEIRS)
		return utf8->get_ctype_code_range(t - THEIRS, single, r);
	*single = 0x80;
	*r = ranges(property_of(t));
	return 0;
}

/* Called by matches for \w and \b, of any thread. */
static int
is_type(OnigCodePoint c, OnigCtype t)
{
	/* of Latin-1, \w outside a class matches more than in one */
	if (c < 0x100 && t <= ONIGENC_MAX_STD_CTYPE)
		return utf8->is_code_ctype(c, t);
	if (t >= THEIRS)
		return utf8->is_code_ctype(c, t - THEIRS);
	return uc_in_ranges(ranges_of[property_of(t)], c);
}

/* ---- case ---- */

static int
unassigned(OnigCodePoint c)
{
	return c < 0x110000 && uc_cat(c) == UC_CN;
}

struct apply {
	OnigApplyAllCaseFoldFunc f;
	void *arg;
};

static int
apply_one(OnigCodePoint from, OnigCodePoint *to, int n, void *arg)
{
	const struct apply *a = arg;

	for (int i = 0; i < n; i++)
		if (unassigned(to[i]))
			return 0;
	return unassigned(from) ? 0 : a->f(from, to, n, a->arg);
}

/* The characters that the library finds equal to c. */
static int
library_pairs(OnigCodePoint c, OnigCaseFoldCodeItem *item,
	      OnigCaseFoldType flag)
{
	OnigUChar s[8];
	size_t n = (size_t)utf8_put((char *)s, c);

	return utf8->get_case_fold_codes_by_str(flag, s, s + n, item);
}

/* Does our table have to say what letter c is without case? */
static int
is_new(OnigCodePoint c, OnigCaseFoldType flag)
{
	OnigCaseFoldCodeItem item[ONIGENC_GET_CASE_FOLD_CODES_MAX_NUM];

	return c >= 0x80 && library_pairs(c, item, flag) == 0;
}

/* Pair i of our table, if it is one that the library lacks.  U+0130 is no
 * pair of i without the locale. */
static int
new_pair(size_t i, OnigCaseFoldType flag)
{
	return uc_lower[i][0] != 0x130 && is_new(uc_lower[i][0], flag) &&
		is_new(uc_lower[i][1], flag);
}

static int
apply_all(OnigCaseFoldType flag, OnigApplyAllCaseFoldFunc f, void *arg)
{
	struct apply a = {f, arg};
	int rc = utf8->apply_all_case_fold(flag, apply_one, &a);

	for (size_t i = 0; i < uc_nlower && rc == 0; i++) {
		OnigCodePoint up = uc_lower[i][0], low = uc_lower[i][1];

		if (!new_pair(i, flag))
			continue;
		rc = f(up, &low, 1, arg);
		if (rc == 0)
			rc = f(low, &up, 1, arg);
	}
	return rc;
}

static int
pairs_of(OnigCaseFoldType flag, const OnigUChar *p, const OnigUChar *end,
	 OnigCaseFoldCodeItem *item)
{
	int n = utf8->get_case_fold_codes_by_str(flag, p, end, item), k = 0;
	unsigned len;
	uint32_t c;

	for (int i = 0; i < n; i++) {
		int drop = 0;

		for (int j = 0; j < item[i].code_len; j++)
			drop |= unassigned(item[i].code[j]);
		if (!drop)
			item[k++] = item[i];
	}
	c = uc_next((const char *)p, (size_t)(end - p), &len);
	if (k || c < 0x80)
		return k;
	for (size_t i = 0; i < uc_nlower; i++)
		if ((uc_lower[i][0] == c || uc_lower[i][1] == c) &&
		    new_pair(i, flag)) {
			item[0].byte_len = (int)len;
			item[0].code_len = 1;
			item[0].code[0] = uc_lower[i][uc_lower[i][0] == c];
			return 1;
		}
	return 0;
}

static int
fold(OnigCaseFoldType flag, const OnigUChar **pp, const OnigUChar *end,
     OnigUChar *to)
{
	const OnigUChar *p = *pp;
	unsigned len;
	uint32_t c = uc_next((const char *)p, (size_t)(end - p), &len), low;
	int n;

	if (unassigned(c)) {
		memcpy(to, p, len);
		*pp += len;
		return (int)len;
	}
	n = utf8->mbc_case_fold(flag, pp, end, to);
	if (c < 0x80 || n != (int)len || memcmp(p, to, len) != 0)
		return n;
	low = uc_to_lower(c);
	return low != c && c != 0x130 && is_new(c, flag) &&
		is_new(low, flag) ? (int)utf8_put((char *)to, low) : n;
}

void *
split_encoding(void)
{
	OnigEncoding own = &enc;

	if (enc.name)
		return &enc;
	enc = *utf8;
	onig_initialize(&own, 1);
	for (int i = 0; i <= ONIGENC_MAX_STD_CTYPE; i++) {
		standard_property[i] = uc_property_find(standard[i],
							strlen(standard[i]));
		ranges(standard_property[i]);
	}
	enc.property_name_to_ctype = type_of_name;
	enc.get_ctype_code_range = type_ranges;
	enc.is_code_ctype = is_type;
	enc.apply_all_case_fold = apply_all;
	enc.get_case_fold_codes_by_str = pairs_of;
	enc.mbc_case_fold = fold;
	return &enc;
}
