/*
 * input.h - several files as one stream of lines or bytes
 *
 * Plain, zstd and gzip files are recognized by magic number, never by name.
 * Several frames or members in one file are one stream.  Skippable frames are
 * skipped, windows up to 2 GiB (long mode) and zero padding after a gzip member
 * are accepted, other trailing bytes are an error.  Files that are not text are
 * refused by what they are (sniff.h).  A truncated or corrupt stream is an
 * error that names the file and the offsets in it and in the decompressed data,
 * never an end.  A file of 0 bytes that is named as a compressed one is
 * truncated, too.
 *
 * A UTF-8 byte-order mark at the start of a file is skipped.  "-" is stdin.
 */
#ifndef ASSAY_INPUT_H
#define ASSAY_INPUT_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Readable bytes after every chunk, as SIMD parsers need them. */
enum { INPUT_PADDING = 64 };

struct input;

/* Names are kept by reference.  n == 0 means stdin.  Never NULL. */
struct input *input_open(const char *const *paths, size_t n);
void input_close(struct input *in);

/*
 * A block of whole lines, all of one file: p[0..n) ends with LF, except the
 * last block of a file without a final LF.  INPUT_PADDING bytes after it are
 * readable.  Owned by the chunk; reused by the next input_chunk() into
 * the same struct; free with chunk_clear().
 */
struct chunk {
	char *p;
	size_t n, cap;
	const char *name;	/* file, "-" reads "<stdin>" in messages */
	size_t file;		/* index into paths */
	uint64_t line;		/* number of the first line, from 1 */
	uint64_t offset;	/* of p[0] in the decompressed file */
};

/*
 * Fill c with about want bytes (more when one line is longer; a line past
 * 4 GiB is an error).  Memory: want, or twice the longest line.
 * Returns 1, 0 at the end of the last file, -1 on error.
 */
int input_chunk(struct input *in, struct chunk *c, size_t want, struct err *e);
void chunk_clear(struct chunk *c);

/* From now on input_chunk() returns the lines that have arrived: it waits for
 * one, not for want bytes.  For lines that a person or a program writes. */
void input_at_once(struct input *in);

/*
 * For programs that read their input twice.  After input_keep(), called before
 * the first input_chunk(), whatever is not a regular file is spooled as it is
 * read (replay.h).  input_rewind(), called at the end, starts again with the
 * first file, any number of times; a file that changed meanwhile is an error.
 * input_same() is that check alone, for the end of the last pass.  docpipe.h
 * makes both calls.
 */
void input_keep(struct input *in);
int input_rewind(struct input *in, struct err *e);
int input_same(struct input *in, struct err *e);

/*
 * For progress: bytes of the files consumed (any thread may ask), and their
 * total (0: unknown, as for a pipe).
 */
uint64_t input_done(const struct input *in);
uint64_t input_total(const struct input *in);

/*
 * A whole small file (plain, zstd or gzip) with padding; free p with free().
 * Files that are not text are not refused.
 */
int input_slurp(const char *path, char **p, size_t *n, struct err *e);

#endif
