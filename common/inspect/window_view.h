/*
 * window_view.h - one window or one document of a shard, in the forms of decode-batch
 */
#ifndef ASSAY_WINDOW_VIEW_H
#define ASSAY_WINDOW_VIEW_H

#include "record/shard.h"
#include "record/vocab.h"

enum look_form { LOOK_TEXT, LOOK_IDS, LOOK_TARGETS, LOOK_JSON };

/* A document in a window: tokens [start, end) of the window's ids. */
struct look_doc {
	size_t id, id_n;	/* in names */
	uint32_t start, end;
	uint64_t from;		/* token of the document at start */
	int more;		/* it goes on behind end */
};

struct look {
	const struct shards *shards;
	const struct vocab *vocab;	/* NULL: ids only */
	uint32_t T;
	int doc_mask;
	int wide;			/* for a terminal: columns, headings */
	/* private: the window loaded last */
	uint64_t window;
	uint32_t *ids, *targets;
	uint8_t *mask;
	struct look_doc *doc;
	size_t ndoc, cap;
	struct buf names, tmp;
};

void look_init(struct look *l, const struct shards *s, const struct vocab *v,
	       uint32_t T);
void look_clear(struct look *l);

/*
 * Append window k in a form: text with a line "==> ID <==" at each document;
 * ids in one line; a table of inputs beside targets (tab-separated, or in
 * columns when wide); the JSON line of decode-batch.1.
 */
int look_window(struct look *l, uint64_t k, enum look_form f, struct buf *out,
		struct err *e);

/* The headings of a table, where the form has one. */
void look_head(const struct look *l, enum look_form f, struct buf *out);

/* Record d whole (LOOK_TARGETS: the windows that it is in). */
int look_record(struct look *l, uint64_t d, enum look_form f, struct buf *out,
		struct err *e);

#endif
