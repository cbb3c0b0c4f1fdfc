/*
 * scatter.h - records of two numbers, put aside by bucket
 *
 * For what is too much to be sorted in memory: writers on several threads put
 * each record into a bucket, buckets are read back one by one.
 * What does not fit into `mem` bytes goes to an unlinked file in $TMPDIR.
 * Records of a bucket come back in no order.
 */
#ifndef ASSAY_SCATTER_H
#define ASSAY_SCATTER_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct record {
	uint64_t key, value;
};

/* Records that a writer holds for each bucket. */
enum { SCATTER_LEAST = 16, SCATTER_MOST = 4096 };

struct scatter;
struct scatter_writer;

/*
 * buffers: bytes of all writers together; grows to SCATTER_LEAST records for
 * each bucket and writer.
 */
struct scatter *scatter_new(size_t buckets, size_t writers, size_t buffers,
			    size_t mem);
void scatter_free(struct scatter *s);	/* NULL is fine */

/* Writer k, 0..writers-1, for one thread at a time. */
int scatter_put(struct scatter *s, size_t writer, size_t bucket,
		struct record r, struct err *e);

/* After the last put, before the first read. */
int scatter_flush(struct scatter *s, struct err *e);

uint64_t scatter_count(const struct scatter *s, size_t bucket);

/* Where the reading of a bucket stands; {0} before the first. */
struct scatter_at {
	uint64_t next;
	int begun;
};

/*
 * The next *n records of a bucket, 0 after the last: all of them where there is
 * room for scatter_count(), else as many as fit.  room: SCATTER_MOST or more,
 * or scatter_count().  Any thread.  0 or -1.
 */
int scatter_read(struct scatter *s, size_t bucket, struct scatter_at *at,
		 struct record *v, size_t room, size_t *n, struct err *e);

int scatter_on_disk(const struct scatter *s);

#endif
