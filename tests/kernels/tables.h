/*
 * tables.h - a test of every kernel table that this processor can run
 *
 * One process each, because oneDNN's limit of instruction sets is set once.
 * What the processor has is read from /proc/cpuinfo, not asked of the table: a
 * table that it can run must open, one that it cannot run must not, and is
 * skipped.  A comment lists both.
 */
#ifndef ASSAY_TABLES_H
#define ASSAY_TABLES_H

#include <ctype.h>
#include <string.h>

#include "kernels/kernels.h"
#include "tests/kernels/tap.h"

struct table {
	const char *name;
	const char *flags;	/* of /proc/cpuinfo, all needed; "": none */
};

static const struct table tables[] = {
	{ "ref", "" }, { "cpu", "" }, { "cpu:packed", "" },
	{ "cpu:scalar", "" }, { "cpu:avx2", "avx2 fma" },
	{ "cpu:avx512", "avx512f avx512bw avx512dq avx512vl" },
	{ "cpu:avx512_bf16", "avx512_bf16" },
	{ "cpu:amx", "amx_bf16 amx_tile" },
};

enum { TABLES = sizeof tables / sizeof *tables };

/* Whether the word (n bytes) is one of those in line. */
static int
has_word(const char *line, const char *word, size_t n)
{
	for (const char *p = line; (p = strstr(p, word)); p++)
		if (p > line && isspace((unsigned char)p[-1]) &&
		    (isspace((unsigned char)p[n]) || p[n] == '\0'))
			return 1;
	return 0;
}

/* Whether this processor has all flags. */
static int
has_flags(const char *flags)
{
	static char line[16384];
	FILE *f = fopen("/proc/cpuinfo", "r");
	int found = 0;

	while (f && !found && fgets(line, sizeof line, f))
		found = strncmp(line, "flags", 5) == 0;
	if (f)
		fclose(f);
	if (!found)
		line[0] = '\0';
	while (*flags) {
		size_t n = strcspn(flags, " ");
		char word[32];

		snprintf(word, sizeof word, "%.*s", (int)n, flags);
		if (!has_word(line, word, n))
			return 0;
		flags += n + (flags[n] == ' ');
	}
	return 1;
}

static void
one_table(const struct table *t, int threads,
	  void (*test)(const char *name, struct kernels *k))
{
	struct err e = {0};
	struct kernels *k = kernels_open(t->name, threads, &e);

	if (has_flags(t->flags)) {
		tap_ok(k != NULL, "%s opens: %s", t->name,
		       k ? k->isa : e.msg);
		if (k)
			test(t->name, k);
	} else if (k) {
		tap_ok(0, "%s does not open without %s", t->name, t->flags);
	} else {
		tap_ok(1, "%s # SKIP %s", t->name, e.msg);
	}
	if (k)
		k->close(k);
}

/* from: 0, or 1 without ref. */
static void
each_table(size_t from, int threads,
	   void (*test)(const char *name, struct kernels *k))
{
	printf("# kernel tables:");
	for (size_t i = from; i < TABLES; i++)
		printf(" %s%s", tables[i].name, has_flags(tables[i].flags) ?
		       "" : " (not on this processor)");
	putchar('\n');
	for (size_t i = from; i < TABLES; i++) {
		int status;

		if (tap_fork(&status)) {
			tap_ok(WIFEXITED(status) && WEXITSTATUS(status) == 0,
			       "%s: ended well", tables[i].name);
			continue;
		}
		one_table(&tables[i], threads, test);
		exit(0);
	}
}

#endif
