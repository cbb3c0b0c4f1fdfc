/*
 * property.h - sets of characters by name: categories, scripts, \w, emoji
 *
 * The names and sets are those that \p{name} has in tokenizers, Unicode 16.0:
 * general categories, scripts, POSIX classes and the binary properties of
 * table `uc_property`, in unicode_tab.c.  A set is a union of general
 * categories and a list of ranges in which it differs from that union.
 */
#ifndef ASSAY_PROPERTY_H
#define ASSAY_PROPERTY_H

#include <stddef.h>
#include <stdint.h>

struct uc_property {
	const char *names;	/* lower case, without - and _; by spaces */
	uint32_t cats;		/* bit set over enum uc_cat */
	uint32_t first, n;	/* ranges of uc_property_diff */
};

extern const struct uc_property uc_property[];
extern const uint32_t uc_property_diff[][2];
extern const size_t uc_nproperty;

/* The number of a property, or -1.  Case, spaces, - and _ do not matter. */
int uc_property_find(const char *name, size_t n);

/* Its set: the number of ranges, then first and last of each in ascending
 * order.  malloc()ed. */
uint32_t *uc_property_ranges(int property);

/* Is c in such an array? */
int uc_in_ranges(const uint32_t *ranges, uint32_t c);

#endif
