/*
 * benchmark_fields.h - which strings of an example are its text
 *
 * A field is a path: members joined by dots, "[]" after an array of objects.
 * An array of strings, or of arrays of them, has the path of a string.  So
 * "question.choices[].text" is "text" in every object of the array "choices".
 *
 * Named fields are taken in the order given.  Otherwise the file is surveyed
 * first, and the fields that hold prose are taken in the order of each
 * example: those whose strings have three words or more on average, whose names
 * are not those of an id, label, URL, subject and so on, and which are not
 * short strings that come again and again.  Some fields of published benchmarks
 * are known by name.
 */
#ifndef ASSAY_BENCHMARK_FIELDS_H
#define ASSAY_BENCHMARK_FIELDS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "stream/json.h"
#include "text/words.h"

enum { FIELDS_NAMED_MAX = 63 };

struct field {
	char *path;
	uint64_t *hash;		/* of each string */
	size_t n, cap;
	uint64_t words;		/* of all strings */
	int used;
};

/* Of one file.  All zero is valid and empty. */
struct fields {
	struct field *v;	/* seen in the survey, in order */
	size_t n, cap;
	int too_many;		/* fields for a survey */
	int text;		/* an example has its text in "text", which is
				   the caller's to see */
	struct words words;
	struct buf path;
	char *list;		/* the named ones, each ends in NUL */
	const char *named[FIELDS_NAMED_MAX];
	size_t nnamed;		/* 0: none is named */
	int plain;		/* these are members of the example itself */
	uint64_t found;		/* a bit for each named one with a string */
	/* What a path may begin with: the array that holds the examples. */
	struct buf array;	/* "examples[]." */
	int squad;		/* then "paragraphs[].", "qas[]." */
	struct buf *out;	/* the text of the current example */
	size_t strings;		/* joined into it */
};

/* list: "a,b[].c", or NULL.  0, or -1: an empty name, or too many. */
int fields_init(struct fields *f, const char *list, struct err *e);
void fields_clear(struct fields *f);

/*
 * See an example of the file; after the last, choose what is used.  Not needed
 * if fields are named.
 */
void fields_survey(struct fields *f, const struct json *example);
void fields_choose(struct fields *f);

/*
 * Set out to the strings of an example that are used, joined by line ends;
 * returns their number.
 */
size_t fields_text(struct fields *f, const struct json *example,
		   struct buf *out);

/*
 * The same where `plain`, from v[nnamed], the members of these names.  Returns
 * 0 and leaves out as it is if one of them is not a string.
 */
size_t fields_picked(struct fields *f, const struct json_pick *v,
		     struct buf *out);

/* Append the fields that are used, or all that were seen, each and a LF. */
void fields_put_used(const struct fields *f, struct buf *out);
void fields_put_seen(const struct fields *f, struct buf *out);

#endif
