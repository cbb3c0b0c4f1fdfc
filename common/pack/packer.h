/*
 * packer.h - documents of token ids to training windows
 *
 * A window is seq_len + 1 tokens: seq_len inputs and their targets, which are
 * the same tokens shifted by one.  Without a shuffle, policy concat stores no
 * windows: documents are concatenated, and a reader takes window k at token
 * k * seq_len.  Otherwise the packer cuts windows:
 *
 * - concat: the same windows, the last one padded;
 * - best-fit: a document that fits into a window is whole in one; longer ones
 *   are cut into full windows and a remainder.  Fragments go, longest first,
 *   where they leave the least room (best-fit decreasing; Ding et al. 2024,
 *   "Fewer Truncations Improve Language Modeling"), over a buffer of documents
 *   bounded by `mem`;
 * - pad: one document per window, or several windows of one document.
 *
 * If a document continues in another window, its last token in the one is its
 * first in the next, so that every token but a document's first is a target
 * exactly once:  windows * (seq_len + 1) = tokens + repeated + padding.
 *
 * With shuffle, windows are spooled until the last is known and written in the
 * order of a keyed permutation of all of them (rng.h, RNG_SHUFFLE).
 *
 * One thread at a time; the result depends only on the documents, their order
 * and the options.
 */
#ifndef ASSAY_PACKER_H
#define ASSAY_PACKER_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "record/shard.h"

struct packer_opts {
	int policy;		/* enum shard_policy */
	uint32_t seq_len;	/* tokens, at least 1 */
	int shuffle;
	uint64_t seed;		/* of the shuffle */
	size_t mem;		/* bytes of buffers for best-fit and shuffle */
	uint32_t batch;		/* windows per batch, for `largest` below */
};

/* Where the result goes: one of the two is called; 0 or -1. */
struct packer_sink {
	void *ctx;
	int (*doc)(void *ctx, struct span id, const uint32_t *ids, size_t n,
		   struct err *e);
	int (*window)(void *ctx, const uint32_t *ids, size_t real,
		      const struct shard_part *parts, size_t nparts,
		      struct err *e);
};

struct packer_stats {
	uint64_t docs, tokens;	/* as given to packer_add() */
	uint64_t windows;	/* cut, or found by a reader */
	uint64_t spanning;	/* windows with more than one document */
	uint64_t repeated;	/* tokens that are in two windows */
	uint64_t padding;	/* tokens of padding */
	double largest;		/* largest fraction of the tokens of `batch`
				   consecutive windows from one document */
};

/* Does it call sink->window (1) or sink->doc (0)? */
int packer_windowed(const struct packer_opts *o);

struct packer *packer_new(const struct packer_opts *o,
			  const struct packer_sink *sink);
void packer_free(struct packer *p);	/* NULL is fine */

/* The next document, with its BOS and EOS.  0 or -1. */
int packer_add(struct packer *p, struct span id, const uint32_t *ids, size_t n,
	       struct err *e);

/* After the last document: give everything held to the sink. */
int packer_finish(struct packer *p, struct err *e);

/* Complete after packer_finish(). */
struct packer_stats packer_stats(const struct packer *p);

#endif
