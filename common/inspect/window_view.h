/*
 * window_view.h - a window or a document of a shard as text, table or JSON
 */
#ifndef ASSAY_WINDOW_VIEW_H
#define ASSAY_WINDOW_VIEW_H

#include "record/shard.h"
#include "record/vocab.h"

enum window_view_form { VIEW_TEXT, VIEW_IDS, VIEW_TARGETS, VIEW_JSON };

/* A document in a window: tokens [start, end) of the window's ids. */
struct window_view_doc {
	size_t id, id_n;	/* in names */
	uint32_t start, end;
	uint64_t from;		/* token of the document at start */
	int more;		/* it continues after end */
};

struct window_view {
	const struct shards *shards;
	const char *source;		/* of a mixture; NULL: not shown */
	const struct vocab *vocab;	/* NULL: ids only */
	uint32_t T;
	int doc_mask;
	int wide;			/* columns, for a terminal */
	/* private: the window loaded last */
	uint64_t window;
	uint32_t *ids, *targets;
	uint8_t *mask;
	struct window_view_doc *doc;
	size_t ndoc, cap;
	struct buf names, tmp;
};

void window_view_init(struct window_view *l, const struct shards *s,
		      const struct vocab *v,
	       uint32_t T);
void window_view_clear(struct window_view *l);

/*
 * Append window k: text with a line "==> ID <==" for each document; a line of
 * ids; a table of inputs and targets (with tabs, or in columns if wide); or
 * the JSON line of decode-batch(1).
 */
int window_view_put(struct window_view *l, uint64_t k,
		    enum window_view_form f, struct buf *out, struct err *e);

/* The heading of a table, if the form is one. */
void window_view_heading(const struct window_view *l,
			 enum window_view_form f, struct buf *out);

/* The whole record d (VIEW_TARGETS: the windows that it is in). */
int window_view_record(struct window_view *l, uint64_t d,
		       enum window_view_form f, struct buf *out,
		       struct err *e);

#endif
