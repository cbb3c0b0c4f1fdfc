/*
 * prompt: any bytes as lines of prompts and of texts to score
 *
 * A line that is accepted has what the program goes on to use; a refusal
 * names the file and the line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "record/prompt.h"
#include "tests/fuzz/target.h"

static void
must(int ok)
{
	if (!ok)
		abort();
}

static void
check(const struct prompt_line *l, enum prompt_kind kind)
{
	size_t sum = 0;

	must(l->lineno > 0);
	must(kind == PROMPT_SCORE ? l->nchoices > 0 : l->nchoices == 0);
	must(l->answer < 0 || (size_t)l->answer < l->nchoices);
	must(l->answer < 0 || l->nchoices >= 2);
	for (size_t i = 0; i < l->nchoices; i++) {
		const struct prompt_text *t = &l->choice[i];

		for (size_t j = 0; t->ids && j < t->n; j++)
			sum += t->ids[j];
		for (size_t j = 0; !t->ids && j < t->text.n; j++)
			sum += (unsigned char)t->text.p[j];
	}
	must(sum < SIZE_MAX);
}

static void
read_as(const char *path, enum prompt_kind kind)
{
	struct prompt_reader *r = prompt_open(path, kind);
	struct prompt_line l;
	struct err e = {0};
	uint64_t last = 0;
	int rc;

	while ((rc = prompt_next(r, &l, &e)) > 0) {
		check(&l, kind);
		must(l.lineno > last);
		last = l.lineno;
		prompt_line_clear(&l);
	}
	must((rc < 0) == (e.set != 0));
	must(rc == 0 || strstr(e.msg, path));
	prompt_close(r);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[64];
	int fd = memfd_create("prompt", 0);

	err_quiet = 1;		/* about empty files */
	must(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	read_as(path, PROMPT_WRITE);
	read_as(path, PROMPT_SCORE);
	close(fd);
	return 0;
}
