/*
 * replace.c - run_dir_set_aside(): an old run makes room for a new one
 *
 * The files of the old run are renamed into RUN/.step-old.PID.tmp, a name that
 * ckpt_sweep() removes.  The log goes first and comes back last: as long as
 * RUN has no log, what is set aside is the run, and the next start puts it
 * back.  So nothing of it is lost until the new run has its config.json and
 * its log.  Other files of the folder stay.
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

#define LOG	"train.jsonl"
#define ASIDE	".step-old."

static int
is_of_run(const char *name)
{
	return ckpt_step(name) >= 0 || !strcmp(name, "config.json") ||
		!strcmp(name, LOG) || !strcmp(name, "latest");
}

static int
move(const char *from, const char *to, const char *name, struct err *e)
{
	char *old = path_join(from, name), *new = path_join(to, name);
	int rc = 0;

	if (rename(old, new) < 0 && errno != ENOENT)
		rc = err_sys(e, errno, "%s: cannot move to %s", old, to);
	free(old);
	free(new);
	return rc;
}

/* Move the files of a run, except its log, from one folder to another. */
static int
move_all(const char *from, const char *to, struct err *e)
{
	DIR *d = opendir(from);
	const struct dirent *de;
	int rc = 0;

	if (!d)
		return err_sys(e, errno, "%s: cannot open", from);
	while (rc == 0 && (de = readdir(d)) != NULL)
		if (is_of_run(de->d_name) && strcmp(de->d_name, LOG))
			rc = move(from, to, de->d_name, e);
	closedir(d);
	return rc;
}

static int
put_back(const char *aside, const char *run, struct err *e)
{
	if (move_all(aside, run, e) < 0 || move(aside, run, LOG, e) < 0)
		return -1;
	if (rmdir(aside) < 0)
		return err_sys(e, errno, "%s: cannot remove", aside);
	return 0;
}

int
run_dir_set_aside(struct run_dir *r, struct err *e)
{
	r->aside = xstrf("%s/" ASIDE "%ld.tmp", r->path, (long)getpid());
	if (mkdir(r->aside, 0777) < 0) {
		err_sys(e, errno, "%s: cannot create", r->aside);
		free(r->aside);
		r->aside = NULL;
		return -1;
	}
	return move(r->path, r->aside, LOG, e) < 0 ? -1 :
		move_all(r->path, r->aside, e);
}

int
run_dir_recover(const struct run_dir *r, struct err *e)
{
	char *log = path_join(r->path, LOG), *aside;
	DIR *d = path_exists(log) ? NULL : opendir(r->path);
	const struct dirent *de;
	int rc = 0;

	while (d && rc == 0 && (de = readdir(d)) != NULL) {
		if (strncmp(de->d_name, ASIDE, strlen(ASIDE)))
			continue;
		aside = path_join(r->path, de->d_name);
		rc = put_back(aside, r->path, e);
		if (rc == 0)
			warn("%s: a start that was to replace this run was "
			     "killed: the run is back", r->path);
		free(aside);
	}
	if (d)
		closedir(d);
	free(log);
	return rc;
}

void
run_dir_put_back(struct run_dir *r)
{
	struct err why = {0};

	if (!r->aside)
		return;
	if (put_back(r->aside, r->path, &why) < 0)
		warn("%s", why.msg);
}
