/*
 * kernels.c - open a table by name; memory of host tables
 *
 * Host tables use plain memory; large blocks ask for huge pages, because a
 * matmul walks over megabytes and would otherwise miss the TLB.
 */
#include "kernels/kernels.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/mem.h"
#include "kernels/cpu/cpu.h"
#include "kernels/ref/ref.h"

enum { HUGE_PAGE = 2 << 20 };

static void *
host_get(void *ctx, size_t bytes)
{
	void *p;

	(void)ctx;
	if (bytes < 2 * HUGE_PAGE)
		return xaligned(bytes ? bytes : 1);
	if (posix_memalign(&p, HUGE_PAGE, bytes) != 0)
		return xaligned(bytes);		/* ends the program */
	madvise(p, bytes, MADV_HUGEPAGE);
	return p;
}

static void
host_put(void *ctx, void *p)
{
	(void)ctx;
	free(p);
}

static void *
host_alloc(struct kernels *k, size_t bytes)
{
	return k->mem_get(k->mem_ctx, bytes);
}

struct kernels *
kernels_open(const char *name, int threads, struct err *e)
{
	struct kernels *k = NULL;

	if (threads < 1) {
		err_set(e, "kernels: %d threads: at least 1 is needed",
			threads);
		return NULL;
	}
	if (strcmp(name, "ref") == 0)
		k = ref_open();
	else if (strcmp(name, "cpu") == 0)
		k = cpu_open(NULL, threads, e);
	else if (strncmp(name, "cpu:", 4) == 0)
		k = cpu_open(name + 4, threads, e);
	else
		err_set(e, "kernels: unknown table '%s': use cpu, cpu:ISA or "
			"ref", name);
	if (!k)
		return NULL;
	k->mem_get = host_get;
	k->mem_put = host_put;
	k->alloc = host_alloc;
	return k;
}
