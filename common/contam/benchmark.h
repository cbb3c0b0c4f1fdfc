/*
 * benchmark.h - benchmarks in the forms in which they are published
 *
 * A file is a benchmark; its examples are numbered in order.  It is one of
 *
 * - JSON Lines: one object per line;
 * - JSON: an array of objects or strings, or an object with one array of
 *   objects (BIG-bench Hard has it under "examples"); an object without one
 *   is the only example;
 * - SQuAD's JSON: an example is a question, with its title and context;
 * - CSV: a header, then one example per record; MMLU's files have no header;
 * - text: one example per line, blank lines skipped.
 *
 * A name in .jsonl, .json, .csv or .txt, perhaps followed by .zst or .gz,
 * determines the form; for any other name the first bytes do.  Compression is
 * recognized by the first bytes, never by the name.  Everything is validated,
 * and an invalid line is an error: an example that was skipped would count as
 * clean.
 *
 * The name of a benchmark is that of its file without these endings.  The id
 * of an example is its member "id" (a string or a number), else NAME:LINE; in
 * an array NAME:NUMBER, from 1.
 *
 * The text of an example is that of the requested fields, joined by line
 * ends: a string, or the strings of an array; "a.b[].c" is member c of every
 * object of the array b in a.  Missing fields are skipped; a benchmark in which
 * no example has any is an error.  Without requested fields: "text" if that is
 * a string, else the fields that hold prose (benchmark_fields.h).
 *
 * Memory: the file while it is read, and a hash of each of its strings; about
 * 60 bytes per example, and its id.
 */
#ifndef ASSAY_BENCHMARK_H
#define ASSAY_BENCHMARK_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

enum benchmark_form {
	BENCHMARK_JSONL, BENCHMARK_JSON, BENCHMARK_TEXT, BENCHMARK_CSV
};

/* What became of an example; examples = short + clean + dirty. */
enum benchmark_class {
	BENCHMARK_CLEAN,	/* none of its n-grams was found */
	BENCHMARK_DIRTY,	/* one was */
	BENCHMARK_SHORT,	/* fewer than n words: cannot be tested */
	BENCHMARK_CLASSES
};

struct benchmark_example {
	uint64_t id;		/* offset in benchmarks.ids */
	uint32_t idn;		/* bytes of it; 0: no id */
	uint32_t of;		/* benchmarks.v[of] is its benchmark */
	uint64_t line;		/* or its number in an array */
	struct span raw;	/* as in the file; p NULL unless kept */
	double score;
	uint8_t scored;		/* score is set */
	uint8_t too_short, dirty;
};

struct benchmark {
	char *name, *path;
	enum benchmark_form form;
	size_t first, n;	/* its examples in benchmarks.ex */
	unsigned ngram;		/* n of its n-grams */
	int found;		/* an example has a text */
	char *used, *seen;	/* fields of its text, and all with strings:
				   lines */
	uint64_t dev, ino;	/* of a regular file */
	char *data;		/* what raw points into, if it is kept */
};

/* All zero is empty. */
struct benchmarks {
	struct benchmark *v;
	size_t n, cap;
	struct benchmark_example *ex;
	size_t nex, excap;
	struct buf ids;
	uint64_t fields_found;	/* a bit for each requested field */
};

struct benchmark_opts {
	const char *fields;	/* "question,choices", or NULL */
	int keep;		/* keep raw */
	/* Called with the text of each example, in order.  0 or -1. */
	int (*text)(void *ctx, struct span text, struct err *e);
	void *ctx;
};

/*
 * Append the benchmark in a file, or all of a folder: the files whose names
 * have one of the endings above, in name order, except hidden ones.  A file
 * that was read before is skipped.
 *
 * notes (may be NULL) gets a line "PATH: what" for everything else in a
 * folder, and for a benchmark there in which no example has a text.  If no
 * benchmark of the folder has one it is an error, as for a single file.
 * 0 or -1.
 */
int benchmark_read(struct benchmarks *b, const char *path,
		   const struct benchmark_opts *o, struct buf *notes,
		   struct err *e);
void benchmark_clear(struct benchmarks *b);

/* After the last: a requested field without a string anywhere is an error. */
int benchmark_check_fields(const struct benchmarks *b, const char *fields,
			   struct err *e);

/* The id of an example; NAME:LINE is built in tmp. */
struct span benchmark_id(const struct benchmarks *b,
			 const struct benchmark_example *x, struct buf *tmp);

enum benchmark_class benchmark_class(const struct benchmark_example *x);

/*
 * The n of Brown et al. 2020, appendix C, for a benchmark: the 5th percentile
 * of the lengths of its examples in words (nearest rank), at least 8 and at
 * most 13.  Sorts lengths.
 */
unsigned benchmark_auto_n(size_t *lengths, size_t n);

/*
 * Read scores: JSON Lines {"benchmark","example","score"}.  "example" (or
 * "id") is an id; the score is a number, true or false; "benchmark" may be
 * missing if there is only one.  A line that names no example, or one that
 * has a score, is an error.  Examples with equal ids share their score.
 */
int benchmark_read_scores(struct benchmarks *b, const char *path,
			  struct err *e);

/*
 * Write DIR/NAME.clean.jsonl, .dirty.jsonl and .short.jsonl for each
 * benchmark (.txt for text), all or none; DIR is created.  Lines are as in
 * the file; an element of an array becomes a line.  Examples must have been
 * kept.  Two benchmarks of one name are an error, here and for scores.
 */
int benchmark_write_subsets(const struct benchmarks *b, const char *dir,
			    struct err *e);

#endif
