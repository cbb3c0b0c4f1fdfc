/*
 * scatter.h - records of two numbers, put aside by bucket
 *
 * For what is too much to be sorted in memory: writers on several threads put
 * each record into a bucket, buckets are read back one by one and whole.
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

/* Records that a writer holds for each bucket, at least. */
enum { SCATTER_LEAST = 16 };

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

/* All records of a bucket, in room for scatter_count(); any thread. */
int scatter_read(struct scatter *s, size_t bucket, struct record *v,
		 struct err *e);

int scatter_on_disk(const struct scatter *s);

#endif
