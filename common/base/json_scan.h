/*
 * json_scan.h - what the parser does not tell; private to base/json
 *
 * simdjson says that a text is wrong but not where, does not know where in
 * the text a value stands, and refuses lone surrogates.  These are plain
 * scanners for those three; they run only where they are needed.
 */
#ifndef ASSAY_JSON_SCAN_H
#define ASSAY_JSON_SCAN_H

#include "base/buf.h"

enum { JSON_DEPTH_MAX = 1024 };

/*
 * Where p[0..n) stops being JSON (RFC 8259, UTF-8, at most JSON_DEPTH_MAX
 * levels, numbers in range): the byte, from 0, with *what; SIZE_MAX: nowhere.
 * A byte that belongs to no number must stand behind p[0..n).
 */
size_t json_scan_error(const char *p, size_t n, const char **what);

/*
 * Write 0 over each number that is out of range.  0, or -1: p[0..n) is wrong
 * in other ways too.
 */
int json_scan_tame_numbers(char *p, size_t n);

/*
 * Does an escape of a surrogate ("\ud") stand in p[0..n)?  May say yes where
 * none does.  Reads up to 2 bytes behind the end.
 */
int json_scan_maybe_surrogate(const char *p, size_t n);

/* Write fffd into each lone surrogate escape of valid JSON; their number. */
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
