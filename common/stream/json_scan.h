/*
 * json_scan.h - what simdjson does not provide; private to base/json
 *
 * simdjson reports an error without its place, does not know where a value is
 * in the text, and refuses lone surrogates and numbers that others write.
 * These scanners do those four, and run only when needed.
 */
#ifndef ASSAY_JSON_SCAN_H
#define ASSAY_JSON_SCAN_H

#include "base/buf.h"

enum { JSON_DEPTH_MAX = 1024 };

/*
 * The offset at which p[0..n) stops being JSON (RFC 8259, UTF-8, at most
 * JSON_DEPTH_MAX levels, numbers in range), with the reason in *what; SIZE_MAX
 * if it is JSON.  The byte after p[0..n) must not be one of a number.
 */
size_t json_scan_error(const char *p, size_t n, const char **what);

/*
 * The same, but numbers that are out of range, and Python's NaN, Infinity and
 * -Infinity, are accepted: they are overwritten by 0.
 */
size_t json_scan_tame_numbers(char *p, size_t n, const char **what);

/*
 * Append p[0..n) to out with the numbers that simdjson refuses changed: an
 * integer past 64 bits becomes the nearest double; what no finite double holds
 * (1e400, and NaN, Infinity and -Infinity, which Python writes) becomes a
 * string of its text.  Returns 0, or -1 if p[0..n) has other errors.
 */
int json_scan_loose(const char *p, size_t n, struct buf *out);

/*
 * The same for NaN, Infinity and -Infinity alone, quickly, in a text that need
 * not be valid.  Returns how many there were.
 */
size_t json_scan_tame_words(char *p, size_t n);

/*
 * May p[0..n) contain an escape of a surrogate ("\ud")?  Reads up to 2 bytes
 * after the end.
 */
int json_scan_maybe_surrogate(const char *p, size_t n);

/* Where p[0..end) has no more white space. */
const char *json_skip_space(const char *p, const char *end);

/* The value of a hexadecimal digit, or -1. */
int json_scan_hex(int b);

/*
 * The character of the \u escape, or pair of them, at *p, which moves past it;
 * a lone surrogate is returned as it is.  -1: there is no \u escape.
 */
int json_scan_escape(const char **p, const char *end);

/* Replace lone surrogate escapes of valid JSON by \ufffd; returns how many. */
uint64_t json_scan_fix_surrogates(char *p, size_t n);

/* The same number, for the part [from, to) of a text and its fixed copy. */
uint64_t json_scan_count_fixed(const char *old, const char *fixed,
			       size_t from, size_t to);

/* --- below: for text that has been validated --- */

/* Walk an object: raw keys (without quotes, still escaped) and raw values. */
struct json_walk {
	const char *p, *end;
};
void json_walk_open(struct json_walk *w, struct span object);
int json_walk_next(struct json_walk *w, struct span *key, struct span *val);

/* The value of a path as json_read() defines it; p is NULL where absent. */
struct span json_scan_find(struct span object, const char *path);

#endif
