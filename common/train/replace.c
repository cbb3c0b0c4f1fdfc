/*
 * replace.c - run_dir_set_aside(): an old run makes room for a new one
 *
 * The files of the old run are renamed into RUN/.step-old.PID.tmp, a name that
 * ckpt_sweep() removes, so nothing of it is lost until the new run has its
 * config.json and its log.  Other files of the folder stay.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "record/ckpt.h"
#include "train/run_dir.h"

static int
is_of_run(const char *name)
{
	return ckpt_step(name) >= 0 || !strcmp(name, "config.json") ||
		!strcmp(name, "train.jsonl") || !strcmp(name, "latest");
}

/* Move the files of a run from one folder to another. */
static int
move_all(const char *from, const char *to, struct err *e)
{
	DIR *d = opendir(from);
	const struct dirent *de;
	int rc = 0;

	if (!d)
		return err_sys(e, errno, "%s: cannot open", from);
	while (rc == 0 && (de = readdir(d)) != NULL) {
		char *old, *new;

		if (!is_of_run(de->d_name))
			continue;
		old = path_join(from, de->d_name);
		new = path_join(to, de->d_name);
		if (rename(old, new) < 0)
			rc = err_sys(e, errno, "%s: cannot move to %s", old,
				     to);
		free(old);
		free(new);
	}
	closedir(d);
	return rc;
}

int
run_dir_set_aside(struct run_dir *r, struct err *e)
{
	r->aside = xstrf("%s/.step-old.%ld.tmp", r->path, (long)getpid());
	if (mkdir(r->aside, 0777) < 0) {
		err_sys(e, errno, "%s: cannot create", r->aside);
		free(r->aside);
		r->aside = NULL;
		return -1;
	}
	return move_all(r->path, r->aside, e);
}

void
run_dir_put_back(struct run_dir *r)
{
	struct err why = {0};

	if (!r->aside)
		return;
	if (move_all(r->aside, r->path, &why) < 0)
		warn("%s", why.msg);
	else
		rmdir(r->aside);
}
