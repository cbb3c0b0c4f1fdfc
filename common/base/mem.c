/*
 * mem.c - memory
 *
 * malloc(0) may return NULL, so zero bytes count as one.  mem_pages() maps
 * anonymous memory aligned to the 2 MiB of a huge page and asks for huge pages
 * before the first access: a lookup in a hash table of several GiB then costs
 * one TLB miss instead of two.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"

enum { HUGE_PAGE = 2 << 20 };

static void *
mem_check(void *p, size_t n)
{
	if (!p)
		die("out of memory (asked for %zu bytes)", n);
	return p;
}

void *
xmalloc(size_t n)
{
	return mem_check(malloc(n ? n : 1), n);
}

void *
xcalloc(size_t n, size_t size)
{
	size_t all;

	if (__builtin_mul_overflow(n, size, &all))
		mem_check(NULL, SIZE_MAX);
	return mem_check(calloc(all ? all : 1, 1), all);
}

void *
xrealloc(void *p, size_t n)
{
	return mem_check(realloc(p, n ? n : 1), n);
}

void *
xreallocarray(void *p, size_t n, size_t size)
{
	size_t all;

	if (__builtin_mul_overflow(n, size, &all))
		mem_check(NULL, SIZE_MAX);
	return xrealloc(p, all);
}

void *
xgrow(void *v, size_t *cap, size_t need, size_t size)
{
	size_t n = *cap;

	if (need <= n)
		return v;
	n = n > SIZE_MAX / 2 || 2 * n < need ? need : 2 * n;
	if (n < 16 && size <= 64)
		n = 16;
	v = xreallocarray(v, n, size);
	*cap = n;
	return v;
}

char *
xstrdup(const char *s)
{
	return xmemdup0(s, strlen(s));
}

char *
xmemdup0(const void *p, size_t n)
{
	char *q = xmalloc(n + 1);

	if (n)
		memcpy(q, p, n);
	q[n] = 0;
	return q;
}

char *
xstrf(const char *fmt, ...)
{
	va_list ap, again;
	char *s;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		die("cannot format '%s'", fmt);
	s = xmalloc((size_t)n + 1);
	vsnprintf(s, (size_t)n + 1, fmt, again);
	va_end(again);
	return s;
}

void *
xaligned(size_t n)
{
	size_t up = (n + 63) & ~(size_t)63;

	if (up < n)
		mem_check(NULL, n);
	return mem_check(aligned_alloc(64, up ? up : 64), n);
}

static size_t
mem_whole_pages(size_t n)
{
	size_t up = (n + HUGE_PAGE - 1) & ~(size_t)(HUGE_PAGE - 1);

	if (up < n || up > SIZE_MAX - HUGE_PAGE)
		mem_check(NULL, n);
	return up ? up : HUGE_PAGE;
}

void *
mem_pages(size_t n)
{
	size_t up = mem_whole_pages(n), before;
	char *p = mmap(NULL, up + HUGE_PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		mem_check(NULL, n);
	before = (HUGE_PAGE - (uintptr_t)p % HUGE_PAGE) % HUGE_PAGE;
	if (before)
		munmap(p, before);
	if (before < HUGE_PAGE)
		munmap(p + before + up, HUGE_PAGE - before);
	p += before;
	madvise(p, up, MADV_HUGEPAGE);	/* only a hint */
	return p;
}

void
mem_pages_free(void *p, size_t n)
{
	if (p)
		munmap(p, mem_whole_pages(n));
}

uint64_t
mem_of_machine(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);

	return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : 0;
}

/* The number after `key` in a small file; UINT64_MAX: none. */
static uint64_t
number_in(const char *path, const char *key)
{
	char line[128];
	uint64_t x = UINT64_MAX;
	size_t n = strlen(key);
	FILE *f = fopen(path, "re");

	while (f && x == UINT64_MAX && fgets(line, sizeof line, f))
		if (!strncmp(line, key, n) && strpbrk(line + n, "0123456789"))
			x = strtoull(line + n, NULL, 10);
	if (f)
		fclose(f);
	return x;
}

/*
 * The lowest limit of the cgroups that this process is in (version 2), or what
 * is left of it; UINT64_MAX: none.
 */
static uint64_t
cgroup_limit(int left)
{
	static const char root[] = "/sys/fs/cgroup";
	char line[512], path[600];
	uint64_t least = UINT64_MAX, max, used;
	FILE *f = fopen("/proc/self/cgroup", "re");
	char *end = NULL;

	while (f && !end && fgets(line, sizeof line, f))
		if (!strncmp(line, "0::/", 4))
			end = line + strcspn(line, "\n");
	if (f)
		fclose(f);
	for (; end; end = strrchr(line + 3, '/')) {
		*end = '\0';
		snprintf(path, sizeof path, "%s%s/memory.max", root, line + 3);
		max = number_in(path, "");
		snprintf(path, sizeof path, "%s%s/memory.current", root,
			 line + 3);
		used = left && max != UINT64_MAX ? number_in(path, "") : 0;
		max = used == UINT64_MAX ? max : max > used ? max - used : 0;
		least = max < least ? max : least;
	}
	return least;
}

/* The same for the address space. */
static uint64_t
address_limit(int left)
{
	struct rlimit r;
	uint64_t max, kib;

	if (getrlimit(RLIMIT_AS, &r) != 0 || r.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	max = r.rlim_cur;
	kib = left ? number_in("/proc/self/status", "VmSize:") : 0;
	if (kib == UINT64_MAX)
		return max;
	return max > kib * 1024 ? max - kib * 1024 : 0;
}

static uint64_t
limited(uint64_t n, int left)
{
	uint64_t a = cgroup_limit(left), b = address_limit(left);

	n = a < n ? a : n;
	return b < n ? b : n;
}

uint64_t
mem_limit(void)
{
	return limited(mem_of_machine(), 0);
}

uint64_t
mem_available(void)
{
	uint64_t kib = number_in("/proc/meminfo", "MemAvailable:");

	return kib == UINT64_MAX ? 0 : limited(kib * 1024, 1);
}
