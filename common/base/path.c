/*
 * path.c - names of files
 */
#include "base/path.h"

#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"

char *
path_join(const char *dir, const char *name)
{
	size_t n = strlen(dir);

	return xstrf("%s%s%s", dir, n && dir[n - 1] == '/' ? "" : "/", name);
}

int
path_is_std(const char *path)
{
	return !path || !strcmp(path, "-");
}

int
path_is_dir(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

int
path_exists(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0;
}

const char *
path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}
