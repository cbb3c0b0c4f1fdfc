/*
 * split_scan.h - the known patterns as scanners (private to split*.c)
 *
 * split_scan.c is the definition: one piece at a time, plain code.
 * split_mask.c cuts gpt2, cl100k and qwen2 64 bytes at a time and must give
 * the same pieces.
 */
#ifndef ASSAY_SPLIT_SCAN_H
#define ASSAY_SPLIT_SCAN_H

#include <stddef.h>
#include <stdint.h>

enum scan { SCAN_NONE, SCAN_GPT2, SCAN_CL100K, SCAN_QWEN2, SCAN_O200K,
	SCAN_REGEX };

/* End of the piece that begins at i < n. */
size_t scan_piece(enum scan kind, const char *text, size_t n, size_t i);

/*
 * The same as scan_piece() again and again for gpt2, cl100k and qwen2: ends
 * of the pieces from *pos on, at most max (>= 64), *pos moved behind the
 * last.  w is the caller's work space for masks; ASSAY_SIMD=sse2 or avx2 in
 * the environment keeps it from wider instructions (for tests).
 */
struct scan_work;
struct scan_work *scan_work_new(void);
void scan_work_free(struct scan_work *w);
size_t scan_masks(enum scan kind, struct scan_work *w, const char *text,
		  size_t n, size_t *pos, uint32_t *ends, size_t max);

/* --- any pattern, through PCRE2 (split_re.c) --- */
struct regex;
struct regex_match;
struct err;
struct regex *regex_new(const char *pattern, size_t n, struct err *e);
void regex_free(struct regex *r);
struct regex_match *regex_match_new(const struct regex *r);
void regex_match_free(struct regex_match *m);

/* First match at or after from: 1 and its bounds, or 0.  The whole of
 * text[0..n) is in sight of assertions. */
int regex_find(const struct regex *r, struct regex_match *m, const char *text,
	       size_t n, size_t from, size_t *start, size_t *end);

#endif
