/*
 * path.h - names of files
 */
#ifndef ASSAY_PATH_H
#define ASSAY_PATH_H

/* "dir/name", with one slash even if dir ends with one; free() it. */
char *path_join(const char *dir, const char *name);

/* Does this operand mean stdin or stdout: NULL or "-"? */
int path_is_std(const char *path);

int path_is_dir(const char *path);	/* links are followed */
int path_exists(const char *path);

/* The part after the last slash. */
const char *path_base(const char *path);

#endif
