/*
 * mem.h - memory
 *
 * The x functions never return NULL: if memory is out they end the program with
 * "out of memory (asked for N bytes)" and status 2.  A size that overflows
 * counts as out of memory.  Any thread may call them.
 */
#ifndef ASSAY_MEM_H
#define ASSAY_MEM_H

#include <stddef.h>
#include <stdint.h>

void *xmalloc(size_t n);
void *xcalloc(size_t n, size_t size);		/* zeroed */
void *xrealloc(void *p, size_t n);
void *xreallocarray(void *p, size_t n, size_t size);
/*
 * Make room for `need` elements in the array v of *cap elements of `size`
 * bytes; returns the array, which may have moved.  The capacity at least
 * doubles, so that appending is linear.  Call it through GROW(), where v and
 * cap (a size_t) are lvalues: GROW(w->v, w->cap, w->n + 1).
 */
void *xgrow(void *v, size_t *cap, size_t need, size_t size);
#define GROW(v, cap, need) \
	((v) = xgrow((v), &(cap), (need), sizeof(*(v))))

char *xstrdup(const char *s);
char *xmemdup0(const void *p, size_t n);	/* n bytes and a NUL */
char *xstrf(const char *fmt, ...)		/* as printf would print */
	__attribute__((format(printf, 1, 2)));

/*
 * Zeroed pages for large tables, on huge pages if the kernel has them.  Free
 * with the same n.
 */
void *mem_pages(size_t n);
void mem_pages_free(void *p, size_t n);

/* 64-byte aligned, not zeroed; free with free(). */
void *xaligned(size_t n);

/* Bytes of memory in this machine; 0: unknown. */
uint64_t mem_of_machine(void);

/*
 * Those that this process may have in all: the memory of the machine, or the
 * limit of its cgroup or address space if that is lower.  0: unknown.
 */
uint64_t mem_limit(void);

/* Those that it may still take before the system swaps; 0: unknown. */
uint64_t mem_available(void);

#endif
