/*
 * edit.h - change a piece of a text in a buffer
 */
#ifndef ASSAY_TEST_EDIT_H
#define ASSAY_TEST_EDIT_H

#include "base/buf.h"
#include "tests/unit/test.h"

/* The first `from`, which must be there, becomes `to`. */
static inline void
replace(struct buf *b, const char *from, const char *to)
{
	char *at = memmem(b->p, b->n, from, strlen(from));
	struct buf out = {0};

	assert_non_null(at);
	buf_put(&out, b->p, (size_t)(at - b->p));
	buf_puts(&out, to);
	at += strlen(from);
	buf_put(&out, at, (size_t)(b->p + b->n - at));
	buf_clear(b);
	*b = out;
}

#endif
