/*
 * record.c - what all host tables record: the table and the processor
 */
#include "kernels/kernels.h"

#include <stdio.h>
#include <string.h>
#ifdef __x86_64__
#include <cpuid.h>
#else
#include <sys/utsname.h>
#endif

#include "base/buf.h"

/* The processor's name for itself, or its architecture; n >= 49. */
#ifdef __x86_64__
static void
processor(char *name, size_t n)
{
	unsigned v[12] = {0};

	for (unsigned i = 0; i < 3; i++)
		if (!__get_cpuid(0x80000002 + i, &v[4 * i], &v[4 * i + 1],
				 &v[4 * i + 2], &v[4 * i + 3]))
			break;
	snprintf(name, n, "%.48s", (const char *)v);
}
#else
static void
processor(char *name, size_t n)
{
	struct utsname u;

	snprintf(name, n, "%s", uname(&u) == 0 ? u.machine : "");
}
#endif

void
host_record(struct kernels *k, struct buf *json)
{
	char name[80], *p = name;
	size_t n;

	processor(name, sizeof name);
	while (*p == ' ')
		p++;
	n = strlen(p);
	while (n && p[n - 1] == ' ')
		n--;
	buf_printf(json, "{\"table\": \"%s\", \"isa\": \"%s\", \"threads\":"
		   " %d, \"device\": \"", k->name, k->isa, k->threads);
	for (; n; p++, n--)
		if (*p >= ' ' && *p <= '~' && *p != '"' && *p != '\\')
			buf_putc(json, *p);
	buf_putc(json, '"');
}
