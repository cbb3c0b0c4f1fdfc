/*
 * stage: any bytes as band records and as pairs (bands.5)
 *
 * Bands become pairs, or are refused; what bands became is read as pairs
 * without a word.  Pairs of any names are applied to a few documents: none of
 * them is lost or comes twice.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/args.h"
#include "dedup/dedup.h"
#include "tests/fuzz/target.h"

enum { DOCS = 100, STAGE = 101 };	/* descriptors of what is read */

/* What records of ngram 2, bands 2, rows 2, seed 1 begin with. */
#define PARAM "9b38401f"

static char shm[] = "/dev/shm/assay-fuzz-XXXXXX";
static char tmp[] = "/tmp/assay-fuzz-XXXXXX";
static char kept[64], pairs[64];	/* what is written */

static const char docs[] =
	"{\"text\":\"the quick brown fox jumps over the lazy dog again\"}\n"
	"{\"text\":\"the quick brown fox jumps over the lazy dog, again\"}\n"
	"{\"text\":\"nothing of all this was ever said by anyone here\"}\n"
	"{\"text\":\"\"}\n"
	"{\"text\":\"the quick brown fox jumps over the lazy cat again\"}\n";

static void
must(int ok)
{
	if (!ok)
		abort();
}

/* A file in memory that /proc/self/fd/AT leads to. */
static void
file_at(int at, const void *p, size_t n)
{
	int fd = memfd_create("fuzz", 0);

	must(fd >= 0 && write(fd, p, n) == (ssize_t)n);
	must(dup2(fd, at) == at);
	close(fd);
}

static const char *
path_of(int fd)
{
	return fd == DOCS ? "/proc/self/fd/100" : "/proc/self/fd/101";
}

static void
leave(void)
{
	unlink(kept);
	unlink(pairs);
	rmdir(strncmp(kept, shm, sizeof(shm) - 1) ? tmp : shm);
}

/* In memory where it can be: outputs are fsynced. */
static void
enter(void)
{
	const char *folder;

	if (*kept)
		return;
	folder = mkdtemp(shm);
	if (!folder)
		folder = mkdtemp(tmp);
	must(folder != NULL);
	snprintf(kept, sizeof(kept), "%s/kept", folder);
	snprintf(pairs, sizeof(pairs), "%s/pairs", folder);
	atexit(leave);
}

static size_t
lines(const char *path)
{
	FILE *f = fopen(path, "r");
	size_t lf = 0;
	int c;

	must(f != NULL);
	while ((c = getc(f)) != EOF)
		lf += c == '\n';
	fclose(f);
	return lf;
}

static void
apply(struct dedup_opts *o, const char *file, int may_refuse)
{
	const char *in = path_of(DOCS);
	struct err e = {0};
	size_t n;

	file_at(DOCS, docs, sizeof(docs) - 1);
	o->filter.output = kept;
	o->apply = file;
	if (dedup_run(o, &in, 1, &e) < 0) {
		must(e.set && may_refuse && access(kept, F_OK) != 0);
	} else {
		n = lines(kept);
		must(n >= 3 && n <= 5);
		unlink(kept);
	}
	close(DOCS);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dedup_opts o = {
		.threads = 1, .near = 1, .threshold = 0.5, .edit_sim = -1,
		.verify = 1,
		.mem = 1 << 24,
		.mh = {.ngram = 2, .bands = 2, .rows = 2, .seed = 1},
	};
	const char *in = path_of(STAGE);
	struct err e = {0};

	enter();
	args_common.threads = 1;
	args_common.quiet = 1;
	filter_opts_init(&o.filter);
	file_at(STAGE, data, size);
	apply(&o, in, 1);
	o.filter.output = pairs;
	o.apply = NULL;
	if (dedup_emit_pairs(&o, &in, 1, &e)) {
		must(e.set && access(pairs, F_OK) != 0);
	} else {
		/* those of other options are refused */
		apply(&o, pairs, size >= 8 && memcmp(data, PARAM, 8));
		unlink(pairs);
	}
	close(STAGE);
	return 0;
}
