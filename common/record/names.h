/*
 * names.h - byte strings to their index, for vocabularies
 */
#ifndef ASSAY_NAMES_H
#define ASSAY_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* The strings are borrowed and may be set one by one before names_add(). */
struct name_table {
	uint64_t *slot;		/* high half of the hash, index + 1 */
	size_t mask;
	const struct span *name;
};

void names_init(struct name_table *t, const struct span *name, size_t n);
void names_clear(struct name_table *t);
void names_add(struct name_table *t, uint32_t index);	/* name[index] is set */
int64_t names_find(const struct name_table *t, struct span s);	/* -1: none */

#endif
