/*
 * bench_int.h - private to bench.c and bench_read.c
 */
#ifndef ASSAY_BENCH_INT_H
#define ASSAY_BENCH_INT_H

#include "base/json.h"
#include "record/bench.h"

/* A benchmark while its file is read. */
struct bench_reading {
	struct benches *b;
	const struct bench_opts *o;
	const char *path;
	uint32_t of;		/* its number in b->v */
	struct json_reader *json;
	const char **key;	/* "id", then the fields or "text" */
	size_t nkeys;
	int found;		/* an example had one of the fields */
	struct buf text;
	struct err *e;
};

/* Read p[0..n) (INPUT_PADDING readable behind it) as what b->v[of].form says. */
int bench_read_jsonl(struct bench_reading *r, const char *p, size_t n);
int bench_read_json(struct bench_reading *r, const char *p, size_t n);
int bench_read_text(struct bench_reading *r, const char *p, size_t n);

/* Is the first line of p[0..n) by itself an object, and not the last one? */
int bench_is_jsonl(const char *p, size_t n);

#endif
