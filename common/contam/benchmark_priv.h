/*
 * benchmark_priv.h - private to benchmark.c, benchmark_read.c and benchmark_dir.c
 */
#ifndef ASSAY_BENCHMARK_PRIV_H
#define ASSAY_BENCHMARK_PRIV_H

#include <sys/stat.h>

#include "base/json.h"
#include "contam/benchmark.h"

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

/* What may hold a benchmark but is not read, and what to do about it. */
enum bench_other {
	BENCH_TAR, BENCH_ZIP, BENCH_BZIP2, BENCH_XZ, BENCH_PARQUET,
	BENCH_ARROW, BENCH_CSV, BENCH_UTF16
};
extern const char *const bench_others[];

/*
 * The file's name without its folder and endings, to be freed; *form gets
 * what the endings say (enum bench_form), or -1.
 */
char *bench_name(const char *path, int *form);

/*
 * Read a file, unless it has been read.  With notes a file without any text
 * is a line there, else an error.
 */
int bench_read_file(struct benches *b, const char *path,
		    const struct stat *s, const struct bench_opts *o,
		    struct buf *notes, struct err *e);
int bench_read_folder(struct benches *b, const char *path,
		      const struct bench_opts *o, struct buf *notes,
		      struct err *e);

/* Is the first line of p[0..n) by itself an object, and not the last one? */
int bench_is_jsonl(const char *p, size_t n);

#endif
