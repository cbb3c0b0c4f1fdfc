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

enum { HUGE_PAGE = 2 << 20, ALIGN = 256 };

static void *
host_get(void *ctx, size_t bytes)
{
	int huge = bytes >= 2 * HUGE_PAGE;
	void *p;

	(void)ctx;
	if (posix_memalign(&p, huge ? HUGE_PAGE : ALIGN, bytes ? bytes : 1))
		return NULL;
	if (huge)
		madvise(p, bytes, MADV_HUGEPAGE);
	return p;
}

static void
host_put(void *ctx, void *p)
{
	(void)ctx;
	free(p);
}

static int
host_memory(struct kernels *k, size_t *unused, size_t *total)
{
	(void)k;
	*unused = mem_available();
	*total = mem_limit();
	return *total ? 0 : -1;
}

/*
 * The system may promise more memory than there is and end a process that uses
 * it; a block that can never fit is refused here.
 */
static void *
host_alloc_device(struct kernels *k, size_t bytes, struct err *e)
{
	size_t total = mem_limit();
	void *p = NULL;

	if (!total || bytes <= total)
		p = k->mem_get(k->mem_ctx, bytes);
	return p ? p : kernels_no_memory(k, bytes, e);
}

static void *
host_alloc_host(struct kernels *k, size_t bytes, struct err *e)
{
	void *p;

	if (posix_memalign(&p, ALIGN, bytes ? bytes : 1) == 0)
		return p;
	err_set(e, "%s: cannot allocate %zu bytes of host memory", k->name,
		bytes);
	return NULL;
}

static void
host_free_host(struct kernels *k, void *p)
{
	(void)k;
	free(p);
}

/* No list of processors is kept. */
static double
host_nominal(struct kernels *k, enum kdtype dt)
{
	(void)k;
	(void)dt;
	return 0;
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
	if (k->abi != K_ABI) {
		err_set(e, "kernels: table '%s' is of version %d, and %d is"
			" needed: build it again", name, k->abi, K_ABI);
		return NULL;
	}
	k->mem_get = host_get;
	k->mem_put = host_put;
	k->alloc = host_alloc_device;
	k->memory = host_memory;
	k->host_alloc = host_alloc_host;
	k->host_free = host_free_host;
	k->nominal = host_nominal;
	return k;
}
