/*
 * faults.c - a preloaded library in which the nth call of one kind fails
 *
 * FAULT_CALL names the kind (open read write close fsync rename malloc mmap
 * unlink mkdir symlink truncate), FAULT_N the call, counted from 1.  When it
 * fails, the empty file FAULT_MARK is made, so that the runner knows that the
 * fault was met.  With FAULT_KILL set the process is killed there instead,
 * with the call not made: a cut of the power, as far as one process can tell.
 * Only calls that the program and the libraries it leans on make are counted:
 * not those of the loader before main(), not output to stderr (the message
 * must come out), and no memory of libraries that end the process by
 * themselves when there is none (C++ runtime, OpenMP, oneDNN).
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);
extern void *__libc_memalign(size_t align, size_t n);

enum { MAX_SPARED = 16 };

static struct {
	int ready, kills;
	char call[16], mark[4096];
	long nth;
	atomic_long count;
	struct {
		const char *from, *to;
	} spared[MAX_SPARED];
	int nspared;
} f;

static int
note_library(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	if (!strstr(info->dlpi_name, "libdnnl") &&
	    !strstr(info->dlpi_name, "libgomp") &&
	    !strstr(info->dlpi_name, "libstdc++"))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const char *p = (const char *)info->dlpi_addr +
				info->dlpi_phdr[i].p_vaddr;

		if (info->dlpi_phdr[i].p_type != PT_LOAD ||
		    f.nspared == MAX_SPARED)
			continue;
		f.spared[f.nspared].from = p;
		f.spared[f.nspared++].to = p + info->dlpi_phdr[i].p_memsz;
	}
	return 0;
}

__attribute__((constructor)) static void
faults_init(void)
{
	const char *call = getenv("FAULT_CALL"), *n = getenv("FAULT_N");
	const char *mark = getenv("FAULT_MARK");

	if (!call || !n || !mark)
		return;
	snprintf(f.call, sizeof f.call, "%s", call);
	snprintf(f.mark, sizeof f.mark, "%s", mark);
	f.nth = atol(n);
	f.kills = getenv("FAULT_KILL") != NULL;
	dl_iterate_phdr(note_library, NULL);
	/* Programs that this one starts are not its business. */
	unsetenv("LD_PRELOAD");
	f.ready = 1;
}

static int
is_spared(const void *caller)
{
	const char *p = caller;

	for (int i = 0; i < f.nspared; i++)
		if (p >= f.spared[i].from && p < f.spared[i].to)
			return 1;
	return 0;
}

/* Is this the call that has to fail?  error: what errno then is. */
static int
fails(const char *call, int error, const void *caller)
{
	long fd;

	if (!f.ready || strcmp(call, f.call) || is_spared(caller) ||
	    atomic_fetch_add(&f.count, 1) + 1 != f.nth)
		return 0;
	fd = syscall(SYS_open, f.mark, O_WRONLY | O_CREAT, 0666);
	if (fd >= 0)
		syscall(SYS_close, fd);
	if (f.kills)
		syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
	errno = error;
	return 1;
}

#define CALLER __builtin_return_address(0)

int
open(const char *path, int flags, ...)
{
	va_list ap;
	int mode;

	va_start(ap, flags);
	mode = va_arg(ap, int);
	va_end(ap);
	return fails("open", EMFILE, CALLER) ? -1
		: (int)syscall(SYS_open, path, flags, mode);
}

ssize_t
read(int fd, void *p, size_t n)
{
	return fails("read", EIO, CALLER) ? -1 : syscall(SYS_read, fd, p, n);
}

ssize_t
pread(int fd, void *p, size_t n, off_t off)
{
	return fails("read", EIO, CALLER) ? -1
		: syscall(SYS_pread64, fd, p, n, off);
}

ssize_t
write(int fd, const void *p, size_t n)
{
	if (fd != STDERR_FILENO && fails("write", ENOSPC, CALLER))
		return -1;
	return syscall(SYS_write, fd, p, n);
}

ssize_t
pwrite(int fd, const void *p, size_t n, off_t off)
{
	return fails("write", ENOSPC, CALLER) ? -1
		: syscall(SYS_pwrite64, fd, p, n, off);
}

int
close(int fd)
{
	int failed = fails("close", EIO, CALLER);
	int rc = (int)syscall(SYS_close, fd);

	if (failed)
		errno = EIO;
	return failed ? -1 : rc;
}

int
fsync(int fd)
{
	return fails("fsync", EIO, CALLER) ? -1 : (int)syscall(SYS_fsync, fd);
}

int
rename(const char *from, const char *to)
{
	return fails("rename", EACCES, CALLER) ? -1
		: (int)syscall(SYS_rename, from, to);
}

int
renameat2(int from, const char *old, int to, const char *new, unsigned flags)
{
	return fails("rename", EACCES, CALLER) ? -1
		: (int)syscall(SYS_renameat2, from, old, to, new, flags);
}

int
renameat(int from, const char *old, int to, const char *new)
{
	return fails("rename", EACCES, CALLER) ? -1
		: (int)syscall(SYS_renameat, from, old, to, new);
}

int
linkat(int from, const char *old, int to, const char *new, int flags)
{
	return fails("rename", EMLINK, CALLER) ? -1
		: (int)syscall(SYS_linkat, from, old, to, new, flags);
}

/* What a program removes and makes beside files: one kind for the removals. */
int
unlink(const char *path)
{
	return fails("unlink", EACCES, CALLER) ? -1
		: (int)syscall(SYS_unlink, path);
}

int
unlinkat(int fd, const char *path, int flags)
{
	return fails("unlink", EACCES, CALLER) ? -1
		: (int)syscall(SYS_unlinkat, fd, path, flags);
}

int
rmdir(const char *path)
{
	return fails("unlink", EACCES, CALLER) ? -1
		: (int)syscall(SYS_rmdir, path);
}

int
mkdir(const char *path, mode_t mode)
{
	return fails("mkdir", EACCES, CALLER) ? -1
		: (int)syscall(SYS_mkdir, path, mode);
}

int
symlink(const char *to, const char *path)
{
	return fails("symlink", EACCES, CALLER) ? -1
		: (int)syscall(SYS_symlink, to, path);
}

int
truncate(const char *path, off_t n)
{
	return fails("truncate", EIO, CALLER) ? -1
		: (int)syscall(SYS_truncate, path, n);
}

void *
mmap(void *at, size_t n, int prot, int flags, int fd, off_t off)
{
	if (fails("mmap", ENOMEM, CALLER))
		return MAP_FAILED;
	return (void *)syscall(SYS_mmap, at, n, prot, flags, fd, off);
}

void *
malloc(size_t n)
{
	return fails("malloc", ENOMEM, CALLER) ? NULL : __libc_malloc(n);
}

void *
calloc(size_t n, size_t size)
{
	return fails("malloc", ENOMEM, CALLER) ? NULL : __libc_calloc(n, size);
}

void *
realloc(void *p, size_t n)
{
	return fails("malloc", ENOMEM, CALLER) ? NULL : __libc_realloc(p, n);
}

void *
aligned_alloc(size_t align, size_t n)
{
	return fails("malloc", ENOMEM, CALLER) ? NULL
		: __libc_memalign(align, n);
}

int
posix_memalign(void **p, size_t align, size_t n)
{
	if (fails("malloc", ENOMEM, CALLER))
		return ENOMEM;
	*p = __libc_memalign(align, n);
	return *p ? 0 : ENOMEM;
}
