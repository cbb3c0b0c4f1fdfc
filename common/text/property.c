/*
 * property.c - sets of characters by name
 */
#include "text/property.h"

#include <string.h>

#include "base/mem.h"
#include "base/search.h"
#include "text/unicode.h"

enum { LONGEST = 64 };

static int
has_name(const char *names, const char *name, size_t n)
{
	while (*names) {
		size_t k = strcspn(names, " ");

		if (k == n && memcmp(names, name, n) == 0)
			return 1;
		names += k + (names[k] == ' ');
	}
	return 0;
}

int
uc_property_find(const char *name, size_t n)
{
	char key[LONGEST];
	size_t k = 0;

	for (size_t i = 0; i < n; i++) {
		char c = name[i];

		if (c == ' ' || c == '-' || c == '_')
			continue;
		if (k == LONGEST)
			return -1;
		key[k++] = c >= 'A' && c <= 'Z' ? c + 32 : c;
	}
	for (size_t i = 0; k && i < uc_nproperty; i++)
		if (has_name(uc_property[i].names, key, k))
			return (int)i;
	return -1;
}

uint32_t *
uc_property_ranges(int property)
{
	const struct uc_property *p = &uc_property[property];
	const uint32_t (*d)[2] = uc_property_diff + p->first;
	size_t cap = 0, n = 0, k = 0;
	uint32_t *v = NULL;
	int was = 0;

	for (uint32_t c = 0; c <= 0x110000; c++) {
		int in = 0;

		if (c < 0x110000) {
			while (k < p->n && d[k][1] < c)
				k++;
			in = (p->cats >> uc_cat(c) & 1) ^
				(k < p->n && d[k][0] <= c);
		}
		if (in == was)
			continue;
		was = in;
		GROW(v, cap, n + 2);
		if (in)
			v[++n] = c;
		else
			v[++n] = c - 1;
	}
	if (!v)
		v = xcalloc(1, sizeof(*v));
	v[0] = (uint32_t)n / 2;
	return v;
}

int
uc_in_ranges(const uint32_t *v, uint32_t c)
{
	size_t i;

	FIND_FIRST(i, 0, v[0], v[2 * i + 2] >= c);
	return i < v[0] && v[2 * i + 1] <= c;
}
