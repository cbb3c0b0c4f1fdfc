/*
 * benchmark.h - benchmarks in the forms in which they are published
 *
 * One file is one benchmark, its examples are numbered in order:
 *
 * - JSON Lines: an object a line;
 * - JSON: an array of objects or strings, or an object with one array of
 *   objects (as BIG-bench Hard has under "examples"), or without: then it is
 *   the one example;
 * - text: a line is an example, blank lines are none.
 *
 * A name in .jsonl, .json or .txt, with .zst or .gz behind it or not, tells
 * which; any other name is told by the first bytes.  What is compressed is
 * told by its first bytes always.  Everything is validated whole, and a line
 * that is wrong is an error: an example left out would be called clean.
 *
 * The name of a benchmark is that of its file without .zst or .gz, then
 * without .jsonl, .json or .txt.  The id of an example is its field
 * `id`, a string or a number, else NAME:LINE, in an array its number there,
 * from 1.
 *
 * Its text is that of the fields asked for, joined by a line end: a string,
 * or the strings of an array; "a.b" goes down.  Fields that an example lacks
 * are passed over; a benchmark in which none has any is an error.  Where no
 * fields are asked for: `text` if that is a string, else all string fields in
 * their order.
 *
 * Memory: the file, while it is read; about 60 bytes an example, and its id.
 */
#ifndef ASSAY_BENCHMARK_H
#define ASSAY_BENCHMARK_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

enum bench_form { BENCH_JSONL, BENCH_JSON, BENCH_TEXT };

struct bench_example {
	uint64_t id;		/* where its id stands in benches.ids */
	uint32_t idn;		/* bytes of it; 0: none */
	uint32_t of;		/* benches.v[of] is its benchmark */
	uint64_t line;		/* or its number in an array */
	struct span raw;	/* as in the file; p NULL unless kept */
	double score;
	uint8_t scored;		/* score is given */
	uint8_t too_short;	/* fewer words than n */
	uint8_t dirty;		/* a gram of it was found */
};

struct bench {
	char *name, *path;
	enum bench_form form;
	size_t first, n;	/* its examples in benches.ex */
	unsigned gram;		/* n of its grams */
	int found;		/* an example has a text */
	uint64_t dev, ino;	/* of a regular file */
	char *data;		/* the file, where raw is kept */
};

struct benches {
	struct bench *v;
	size_t n, cap;
	struct bench_example *ex;
	size_t nex, excap;
	struct buf ids;
};

struct bench_opts {
	const char *fields;	/* "question,choices"; NULL: see above */
	int keep;		/* keep raw */
	/* Called for each example, in order; 0 or -1. */
	int (*text)(void *ctx, struct span text, struct err *e);
	void *ctx;
};

/*
 * Read a file, or of a folder each file whose name tells that it is a
 * benchmark, in the order of their names, hidden ones left out.  The same
 * file is read once, however often it is met.
 *
 * notes gets a line "PATH: what" for all else in a folder, and for
 * each of its benchmarks in which no example has a text; where none in the
 * folder has, that is an error, as it is for a file asked for by itself.
 * 0 or -1.  b begins as all zero.
 */
int benches_read(struct benches *b, const char *path,
		 const struct bench_opts *o, struct buf *notes,
		 struct err *e);
void benches_clear(struct benches *b);

/* The id of an example, or NAME:LINE built in tmp. */
struct span bench_id(const struct benches *b, const struct bench_example *x,
		     struct buf *tmp);

/*
 * The paper's n for a benchmark (Brown et al. 2020, appendix C): the length
 * in words of its example at 5 % from the shortest (nearest rank), at least
 * 8 and at most 13.  lengths gets sorted.
 */
unsigned bench_auto_n(size_t *lengths, size_t n);

#endif
