/* benchmark_priv.h - private to benchmark*.c */
#ifndef ASSAY_BENCHMARK_PRIV_H
#define ASSAY_BENCHMARK_PRIV_H

#include <sys/stat.h>

#include "contam/benchmark.h"
#include "contam/benchmark_fields.h"
#include "stream/json.h"

/* --- benchmark.c --- */

/* Two benchmarks of one name are an error. */
int benchmark_check_names(const struct benchmarks *b, struct err *e);

/* Append " (strings are in a, b)", or nothing. */
void benchmark_put_seen(const struct benchmark *v, struct buf *out);

/* --- benchmark_folder.c: as benchmark_read(), for a folder --- */

int benchmark_read_folder(struct benchmarks *b, const char *path,
			  const struct benchmark_opts *o, struct buf *notes,
			  struct err *e);

/* --- benchmark_file.c --- */

/*
 * Read a file unless it has been read.  A file without any text is a line in
 * notes, or if that is NULL an error.  s is NULL for standard input.
 */
int benchmark_read_file(struct benchmarks *b, const char *path,
			const struct stat *s, const struct benchmark_opts *o,
			struct buf *notes, struct err *e);

/*
 * The name of a file without folder and endings, to be freed; *form gets what
 * the endings say (enum benchmark_form), or -1.
 */
char *benchmark_name(const char *path, int *form);

/* Why a file of a folder, by its name, is not read, and what to do. */
const char *benchmark_skipped(const char *name);

/* --- benchmark_parse.c: the examples in the bytes of a file --- */

struct benchmark_parser {
	struct benchmarks *b;
	const struct benchmark_opts *o;
	const char *path;
	uint32_t of;		/* its number in b->v */
	struct json_reader *json;
	int form;		/* enum benchmark_form */
	struct span all;	/* the file */
	int survey;		/* the fields are only seen */
	int surveyed;		/* they have been, or are named */
	struct fields fields;
	int found;		/* an example has a text */
	struct buf text;	/* of the current example */
	struct buf lines;	/* the file as JSON Lines (SQuAD, CSV) */
	struct err *e;
};

/*
 * INPUT_PADDING readable bytes must follow p[0..n); form as above.  r->fields
 * and r->lines are the caller's to clear.
 */
int benchmark_parse(struct benchmark_parser *r, int form, const char *p,
		    size_t n);

struct benchmark_cursor {
	const char *p, *end;
	uint64_t line;
};

/* To after an object, array or string; -1: it does not end. */
int benchmark_skip_element(struct benchmark_cursor *c);

/* A string or a number as text; p NULL: the value is something else. */
struct span benchmark_scalar(const struct json_pick *v);

/* --- benchmark_convert.c: to r->lines, padded.  0 or -1 --- */

/* array: SQuAD's "data", a valid array, without spaces after it. */
int benchmark_is_squad(struct benchmark_parser *r, struct span array);
int benchmark_squad(struct benchmark_parser *r, struct span array);
int benchmark_csv(struct benchmark_parser *r, struct span all);

#endif
