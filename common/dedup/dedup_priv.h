/* dedup_priv.h - shared by the files of the job; private to dedup*.c */
#ifndef ASSAY_DEDUP_PRIV_H
#define ASSAY_DEDUP_PRIV_H

#include <pthread.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/spool.h"
#include "tokenizer/bpe.h"
#include "base/union_find.h"
#include "dedup/dedup.h"
#include "base/extsort.h"
#include "spans/spans.h"
#include "spans/spans_tokens.h"
#include "tokenizer/split.h"
#include "record/vocab.h"

enum { NOT = UINT32_MAX };

/* What is known of every document; or'ed. */
enum {
	DOC_BAD = 1, DOC_WORDS = 2, DOC_RUN = 4, DOC_PHRASE = 8,
	DOC_MEMBER = 16,	/* has the key of another one */
	DOC_SPAN = 32,		/* holds a copy */
	DOC_SOURCE = 64,	/* holds a first copy */
	DOC_GOPHER = 128
};

/* A document that may be a duplicate or have one; numbered in input order. */
struct member {
	uint32_t doc;
	uint32_t exact;		/* first member with this text */
	uint32_t same;		/* first member with this set of shingles */
	uint32_t copies;	/* exact == this one: how many there are */
	uint64_t name;		/* of the names spool */
	uint64_t set, words;	/* of the sets spool, in elements; same == it */
	uint32_t nset, nwords;
	double sim;		/* to the first of its cluster; < 0: unknown */
};

/* Per thread. */
struct worker {
	struct doc_parser *parser;
	struct shingles sh;
	struct repeats rep;
	struct gopher gopher;
	struct bpe_enc *enc;
	struct split_scratch *scratch;	/* spans in tokens: ... */
	struct bpe_enc *span_enc;	/* ... or this */
	struct ids ids;
	uint64_t *unit;
	size_t unit_cap;
	struct buf fold, nfc;
};

/* Per block: what a worker found, in the order of the documents. */
struct item {
	uint32_t first;		/* number of its first document */
	uint8_t *flag;
	uint64_t *exact;	/* half of the text's key: lower, look: upper */
	uint64_t *keys;		/* bands of each document that has words */
	struct set_hash *hash;	/* of its set (apply, look) */
	size_t n, cap, nkeys, keys_cap;
	uint64_t *set;		/* look: sets, then word hashes, one by one */
	size_t nset, set_cap;
	uint32_t *len;		/* look: 2 a member: of its set, of its words */
	struct buf text;	/* texts: of all, normalized, cut */
	size_t *text_end;
	uint32_t *tok_end, *tok_id;	/* spans: tokens of all texts */
	size_t *tok_to;		/* of each document */
	size_t ntok, tok_cap;
	struct gopher_hit *hit;
	struct item *next;
};

/* A document that others have copies of. */
struct decompress {
	uint32_t doc;
	uint64_t name;		/* of the names spool */
};

/* The file of --apply; names are numbered. */
struct applied {
	struct set_hash *name;		/* sorted */
	uint32_t *member;		/* of a name: its first, or NOT */
	size_t n;
	struct pair {
		uint32_t a, b;
	} *pair;
	size_t npairs;
	struct named {			/* a name of a large bucket */
		uint64_t key;
		uint32_t name;
	} *large;			/* by key */
	size_t nlarge;
	uint32_t *next;	/* --edit-sim: another member of this name, or NOT */
};

struct dedup {
	const struct dedup_opts *o;
	struct filter *filter;
	struct doc_reader *refs, *docs;	/* refs NULL: none */
	struct worker *worker;
	struct minhash *mh;
	struct vocab *vocab;
	struct bpe *bpe;
	pthread_mutex_t lock;
	struct item *free;

	/* every document */
	uint64_t *digest;
	uint32_t *len;
	uint8_t *flag;
	uint32_t n, cap, nref;
	uint32_t cursor;	/* of the second and third pass */
	struct extsort *exact, *bands;
	size_t mem;		/* of --mem, what spans leave */

	/* those that have something in common with another */
	struct member *m;
	uint32_t nm;
	struct union_find near;
	uint32_t *size;		/* of near clusters, at their first */
	uint32_t *second;	/* drop-all: second of a cluster, at its first */
	uint32_t *copy;		/* drop-all: second with a text, at its first */
	struct spool *sets, *texts, *names;
	struct buf row[4];	/* sets and words of the pair at hand */
	uint64_t *failed;	/* pairs that were not similar, by hash */
	uint32_t *ref;		/* --direct: a reference like the member */

	struct spans *spans;	/* until they are found; bytes, ... */
	struct spans_tokens *spantok;	/* ... or tokens, which are */
	struct split *split;	/* pieces, ... */
	struct vocab *span_vocab;	/* ... or the model's */
	struct bpe *span_bpe;
	struct text_span *span;	/* by document and start */
	struct decompress *source;	/* by document */
	size_t nspan, nsource;
	int spans_spilled;

	struct applied applied;

	/* counts */
	uint64_t surrogates;	/* of the first pass */
	uint64_t candidates, verified;
	uint64_t docs_by[7], bytes_by[7];
	uint64_t span_drops, span_drop_bytes;	/* too little left */
	uint64_t clusters, largest, no_words;
	struct buf line;
	struct top {
		uint32_t member;
		struct buf text;
	} top[5];
};

/* dedup.c */
struct item *item_new(struct dedup *d);
void item_drop(void *ctx, void *batch);	/* a pipeline's drop() */
void item_room(struct item *x, size_t docs);	/* all that is of documents */
void item_keys(struct item *x, size_t more);
void *lines_read(void *ctx, struct err *e);	/* read() of the later passes */
/* What exact compares: the text or, in w->fold, what --normalize makes of it. */
struct span exact_text(const struct dedup *d, struct worker *w,
		       struct span text);

/* Of exact_text(): the sorter has the lower half, texts have both. */
static inline XXH128_hash_t
text_key(struct span text)
{
	return XXH3_128bits(text.p, text.n);
}

struct dedup *dedup_open(const struct dedup_opts *o, const char *const *files,
			 size_t n, int filter, struct err *e);
void dedup_close(struct dedup *d);
/* have_words: of this text, in w->sh.  hit: where the rule is Gopher's. */
struct repeat dedup_repeat(struct dedup *d, struct worker *w, struct span text,
			   int have_words, struct gopher_hit *hit);

/* compare.c */
int dedup_members(struct dedup *d, struct err *e);	/* from the keys */
int dedup_look(struct dedup *d, struct err *e);		/* the pass */
/* Puts {"id_key": the id, "at_key": FILE:LINE} of a document aside, as the
 * report names it; without an id the place alone, under id_key.  *place is
 * where in the names spool. */
int dedup_put_name(struct dedup *d, const struct doc *doc, const char *id_key,
		   const char *at_key, uint64_t *place, struct err *e);
uint32_t dedup_member(const struct dedup *d, uint32_t doc);	/* or NOT */

/* pairs.c */
int dedup_join(struct dedup *d, struct err *e);		/* verify candidates */
/* Of members a < b: 1 to be joined, 0 not or joined already, -1 error. */
int dedup_compare(struct dedup *d, uint32_t a, uint32_t b, struct err *e);
/* Its shingles, until the next call with this row (0..3); NULL: error. */
const uint64_t *dedup_set(struct dedup *d, uint32_t member, int row,
			  struct err *e);

/* A list of members with room for as many again behind them. */
struct members {
	uint32_t *v;
	size_t n, cap;
};
void members_add(struct members *b, uint32_t member);

/* prefix_filter.c: v[0..n) with room for 2 n, which it changes */
int dedup_join_bucket(struct dedup *d, uint32_t *v, size_t n, struct err *e);

/* apply.c */
int dedup_load_pairs(struct dedup *d, struct err *e);
int dedup_in_pairs(const struct dedup *d, struct set_hash h);
int dedup_join_applied(struct dedup *d, struct err *e);
void dedup_apply_clear(struct applied *a);

/* emit.c: records (bands.5) */
enum { BAND_NAME = 32, BAND_HEAD = 31, BAND_LINE = BAND_HEAD + BAND_NAME };
uint32_t dedup_param(const struct minhash_opts *o);

/* passages.c */
int dedup_open_spans(struct dedup *d, struct err *e);
void dedup_span_tokens(struct dedup *d, struct worker *w, struct item *x,
		       struct span text);
int dedup_add_text(struct dedup *d, const struct item *x, size_t i,
		   struct span text, struct err *e);
int dedup_find_spans(struct dedup *d, struct err *e);
void dedup_cut(const struct dedup *d, uint32_t doc, struct span text,
	       struct buf *out);
int dedup_name_source(struct dedup *d, uint32_t n, const struct doc *doc,
		      struct err *e);
int dedup_put_spans(struct dedup *d, uint32_t doc, struct buf *b,
		    struct err *e);

/* write.c */
int dedup_write(struct dedup *d, struct err *e);	/* the pass */
void dedup_stats(const struct dedup *d, struct buf *b);
void dedup_summary(struct dedup *d);

#endif
