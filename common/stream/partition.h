/*
 * partition.h - pairs of numbers, spooled by bucket
 *
 * For more records than memory can sort: writers on several threads put each
 * record into a bucket, and buckets are read back one by one, in no order
 * within a bucket.  What does not fit into `mem` bytes goes to an unnamed file
 * in $TMPDIR.
 */
#ifndef ASSAY_PARTITION_H
#define ASSAY_PARTITION_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct record {
	uint64_t key, value;
};

/* Records of a writer's buffer for a bucket, less a few for itself. */
enum { PARTITION_LEAST = 16, PARTITION_MOST = 4096 };

struct partition;

/*
 * buffers: bytes of all writers together; at least PARTITION_LEAST records per
 * bucket and writer are allocated.  is_short: records take 8 bytes instead of
 * 16, and only the lower 32 bits of their keys are kept; the values that a
 * writer puts into a bucket should be near each other.
 */
struct partition *partition_new(size_t buckets, size_t writers, size_t buffers,
				size_t mem, int is_short);
void partition_free(struct partition *s);	/* NULL is fine */

/* Writer k, 0..writers-1, for one thread at a time. */
int partition_put(struct partition *s, size_t writer, size_t bucket,
		  uint64_t key, uint64_t value, struct err *e);

/* After the last put, before the first read. */
int partition_flush(struct partition *s, struct err *e);

uint64_t partition_count(const struct partition *s, size_t bucket);

/* Position in a bucket; {0} is its start. */
struct partition_at {
	struct record next;
	int begun;
};

/*
 * The next *n records of a bucket, 0 after the last: all of them if room is
 * more than partition_count(), else as many buffers as fit.  room must be at
 * least PARTITION_MOST or partition_count() + 1.  Any thread.  0 or -1.
 */
int partition_read(struct partition *s, size_t bucket, struct partition_at *at,
		 struct record *v, size_t room, size_t *n, struct err *e);

int partition_on_disk(const struct partition *s);

#endif
