/*
 * json.h - JSON in (simdjson, strict, UTF-8 checked) and out
 *
 * Two readers.  The tree is for configurations, tokenizers and headers:
 * everything in memory, any shape.  The object reader is for JSON Lines: one
 * object per line, a few keys picked out, the whole line validated.  Both join
 * surrogate pairs, replace a lone surrogate escape by U+FFFD and count it, take
 * the last of equal keys, and refuse what RFC 8259 forbids and more than 1,024
 * levels of nesting.  The object reader returns numbers as text, whatever their
 * size, and reads Python's NaN, Infinity and -Infinity as null.  A tree takes
 * what other programs write into files of which we need few keys: an integer
 * past 64 bits is a double; 1e400, and Python's words, are strings of their
 * text, so that a reader that needs a number refuses them by the key.
 *
 * A path "a.b" is the member of that name or, if there is none, member b of a.
 */
#ifndef ASSAY_JSON_H
#define ASSAY_JSON_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

enum json_type {
	JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING,
	JSON_ARRAY, JSON_OBJECT
};

/* A node of a tree.  Children of an object carry their key. */
struct json {
	enum json_type type;
	struct span key;	/* of a member of an object */
	struct span str;	/* JSON_STRING: unescaped */
	double num;		/* JSON_NUMBER */
	int64_t i;		/* the same when is_int */
	int is_int;
	size_t n;		/* children of an array or object */
	const struct json *kids;	/* n nodes in file order */
};

/*
 * Parse a whole text; p needs no padding.  The root lives until
 * json_free().  NULL: error, with `where` and the byte offset.
 */
struct json *json_parse(const char *p, size_t n, const char *where,
			struct err *e);
/* The same if INPUT_PADDING bytes after it can be read. */
struct json *json_parse_padded(const char *p, size_t n, const char *where,
			       struct err *e);
struct json *json_load(const char *path, struct err *e);	/* a file */
void json_free(struct json *root);

/* Member of a path; NULL if it is absent or j is NULL or not an object. */
const struct json *json_get(const struct json *j, const char *path);

/* Typed members; *v is unchanged if absent or null, and a wrong type is an
 * error. */
int json_get_int(const struct json *j, const char *k, int64_t *v,
		 struct err *e);
int json_get_bool(const struct json *j, const char *k, int *v, struct err *e);
int json_get_str(const struct json *j, const char *k, struct span *v,
		 struct err *e);

/* --- the object reader, one per thread --- */
struct json_reader;
struct json_reader *json_reader_new(void);
void json_reader_free(struct json_reader *r);

/* One picked value.  type JSON_NULL with present 0: the key is absent. */
struct json_pick {
	int present;
	enum json_type type;
	struct span str;	/* unescaped string, until the next read */
	struct span raw;	/* otherwise: the value as it is in the line */
};

/*
 * Read the object in line[0..n); at least INPUT_PADDING bytes after it must be
 * readable.  keys are paths ("text", "meta.url"); out has nkeys
 * entries.  *surrogates gets the number of lone surrogates replaced in
 * picked strings.  Returns 0, or -1 with e->msg "byte N: what" (no file name:
 * the caller adds FILE:LINE): the line is not valid.  Without memory the
 * program ends, as in mem.h.
 */
int json_read(struct json_reader *r, const char *line, size_t n,
	      const char *const *keys, size_t nkeys, struct json_pick *out,
	      uint64_t *surrogates, struct err *e);

/*
 * The members of the last object read by json_read(), in order, each key
 * once (the last value): for filters that rewrite one field and for
 * benchmarks with any string fields.  Returns the number written, at most max.
 */
size_t json_members(struct json_reader *r, struct span *key,
		    struct json_pick *val, size_t max);

/* --- writing into a buf --- */
/* Quoted; invalid UTF-8 becomes U+FFFD. */
void json_put_str(struct buf *b, struct span s);
/* "key": with a comma before it unless it is the first. */
void json_put_key(struct buf *b, const char *key);
void json_put_real(struct buf *b, double x);	/* shortest that reads back;
						   null when not finite */
void json_put_int(struct buf *b, int64_t x);
void json_put_uint(struct buf *b, uint64_t x);

/* A key and its value. */
void json_put_key_uint(struct buf *b, const char *key, uint64_t x);
void json_put_key_real(struct buf *b, const char *key, double x);
void json_put_key_bool(struct buf *b, const char *key, int x);
void json_put_key_str(struct buf *b, const char *key, const char *s);

#endif
