/*
 * dedup_priv.h - shared by the files of the job
 *
 * Calls go one way, from the top down:
 *
 *	dedup.c		the job: its passes in order
 *	emit.c explain.c	what is written instead of documents
 *	scan.c compare.c write.c	the passes
 *	join.c		candidates to clusters
 *	keep.c		which document of a cluster is kept
 *	apply.c		candidates of --apply
 *	prefix_filter.c	the similar pairs of a bucket
 *	pairs.c		one pair
 *	records.c	band and pair records
 *	passages.c loops.c	spans, and text that loops
 *	members.c names.c corpus.c	what is known of documents
 */
#ifndef ASSAY_DEDUP_PRIV_H
#define ASSAY_DEDUP_PRIV_H

#include "base/union_find.h"
#include "dedup/dedup.h"
#include "record/docpipe.h"
#include "record/vocab.h"
#include "spans/spans.h"
#include "spans/spans_tokens.h"
#include "stream/extsort.h"
#include "stream/json.h"
#include "stream/spool.h"
#include "tokenizer/bpe.h"
#include "tokenizer/split.h"

enum { NOT = UINT32_MAX };

/* --- corpus.c: all documents, numbered in input order --- */

/* Or'ed. */
enum {
	DOC_BAD = 1, DOC_WORDS = 2, DOC_RUN = 4, DOC_PHRASE = 8,
	DOC_MEMBER = 16,	/* shares a key with another document */
	DOC_SPAN = 32,		/* holds a copy */
	DOC_SOURCE = 64,	/* holds the first copy of a span */
	DOC_GOPHER = 128,
	DOC_COPY = 256		/* a copy of a member, which stands for it */
};

struct corpus {
	struct docpipe *refs, *docs;	/* refs NULL: none */
	uint64_t *digest;
	uint32_t *len;			/* bytes of the text */
	uint16_t *flag;
	uint32_t n, cap, nref;		/* documents, of them references */
	uint32_t base, end;		/* of a later pass: now read */
	uint32_t seen;			/* in a later pass */
};

void dedup_corpus_open(struct corpus *c, const struct dedup_opts *o,
		       const char *const *files, size_t n);
void dedup_corpus_clear(struct corpus *c);

/* The first pass: write() calls dedup_corpus_add() for each document. */
int dedup_corpus_scan(struct corpus *c, struct docpipe_pass *pass,
		      struct err *e);
int dedup_corpus_add(struct corpus *c, const struct doc *d, uint8_t flag,
		     struct err *e);

/*
 * A later pass, of lines, over the same documents.  Its block() and write()
 * call these for the number of a block's first document; block() fails where
 * there are more documents than before.
 */
int dedup_corpus_again(struct corpus *c, const struct docpipe_pass *pass,
		       struct err *e);
int dedup_corpus_block(const struct corpus *c, const struct doc_batch *b,
		       uint32_t *first, struct err *e);
uint32_t dedup_corpus_next(struct corpus *c, const struct doc_batch *b);

/* --- names.c: how the report names documents --- */

struct names {
	struct spool *spool;
	struct buf line;
};

/*
 * Store {"id_key": the id, "at_key": FILE:LINE} of a document; without an id
 * the place alone, under id_key.  *at is for dedup_names_get(), which appends
 * it to b.
 */
int dedup_names_put(struct names *n, const struct doc *doc, const char *id_key,
		    const char *at_key, uint64_t *at, struct err *e);
int dedup_names_get(const struct names *n, uint64_t at, struct buf *b,
		    struct err *e);

/* --- loops.c: text that loops --- */

struct loops {
	const struct dedup_opts *o;
	struct vocab *vocab;
	struct bpe *bpe;		/* NULL: units are words */
};

/* Per thread. */
struct loops_scratch {
	struct repeats rep;
	struct gopher gopher;
	struct bpe_enc *enc;
	struct ids ids;
	uint64_t *unit;
	size_t cap;
};

int dedup_loops_open(struct loops *l, const struct dedup_opts *o,
		     struct err *e);
void dedup_loops_clear(struct loops *l);
void dedup_loops_scratch_clear(struct loops_scratch *s);

/*
 * Does the text loop?  words are those of the text if `split`, else it splits
 * them where it needs them.  hit: of Gopher's rule.  e is set if the text
 * cannot be tokenized.
 */
struct repeat dedup_loops_find(const struct loops *l, struct loops_scratch *s,
			       struct words *words, int split,
			       struct span text, struct gopher_hit *hit,
			       struct err *e);

/* --- passages.c: spans that are cut --- */

/* A document that others hold copies of. */
struct source {
	uint32_t doc;
	uint64_t name;			/* dedup_names_put() */
};

struct passages {
	const struct dedup_opts *o;
	struct spans *spans;		/* of bytes, until they are found */
	struct spans_tokens *tokens;	/* ... or of tokens: */
	struct split *split;		/* pre-tokens, */
	struct vocab *vocab;		/* ... or those of a model */
	struct bpe *bpe;
	struct text_span *span;		/* by document and start */
	struct source *source;		/* by document */
	size_t nspan, nsource;
	int spilled;
};

/* Per thread. */
struct passages_scratch {
	struct split_scratch *split;
	struct bpe_enc *enc;
	struct ids ids;
};

/* Texts of a block and their tokens, one after the other. */
struct passages_block {
	struct buf text;
	uint32_t *end, *id;		/* of tokens */
	size_t ntok, end_cap, id_cap;
	struct {
		size_t text, tok;
	} *to;				/* of each document */
	size_t n, cap;
};
void dedup_passages_block_reset(struct passages_block *b);
void dedup_passages_block_clear(struct passages_block *b);

/* Is there room on disk for the spans of these files, by their sizes? */
int dedup_passages_room(const struct dedup_opts *o, const char *const *files,
			size_t n, struct err *e);

int dedup_passages_open(struct passages *p, const struct dedup_opts *o,
			struct err *e);
void dedup_passages_clear(struct passages *p);
void dedup_passages_scratch_clear(struct passages_scratch *s);

/* A worker: add a text to its block, -1 if it cannot be tokenized.  Then in
 * order: the i-th of a block. */
int dedup_passages_take(const struct passages *p, struct passages_scratch *s,
			struct passages_block *b, struct span text,
			struct err *e);
int dedup_passages_add(struct passages *p, const struct passages_block *b,
		       size_t i, struct err *e);

/* Find spans in all texts, set DOC_SPAN and DOC_SOURCE. */
int dedup_passages_find(struct passages *p, struct corpus *c, struct err *e);

/* What is left of a text; who has the first copies; the report's spans. */
void dedup_passages_cut(const struct passages *p, uint32_t doc,
			struct span text, struct buf *out);
int dedup_passages_name(struct passages *p, struct names *names, uint32_t doc,
			const struct doc *d, struct err *e);
int dedup_passages_put(const struct passages *p, const struct names *names,
		       uint32_t doc, struct buf *b, struct err *e);

/* --- members.c: documents that may be a duplicate or have one --- */

struct member {
	uint32_t doc;
	uint32_t exact;		/* first member with this text */
	uint32_t same;		/* first member with this set of shingles */
	uint32_t copies;	/* exact == this one: how many there are */
	uint64_t name;		/* dedup_names_put() */
	uint64_t set, words;	/* of the sets spool, in elements; same == it */
	uint32_t nset, nwords;
	double sim;		/* to the one kept; < 0: unknown */
	double value;		/* --keep KEY: NAN if there is none */
};

struct members {
	struct extsort *exact, *bands;	/* documents by key */
	struct member *v;		/* in input order */
	uint32_t n;
};

void dedup_members_open(struct members *m, size_t mem);
void dedup_members_clear(struct members *m);
/*
 * apart: where only the first of equal texts matters, the others are DOC_COPY,
 * so that a text costs the same however often it occurs.  Not those with
 * words for near.
 */
int dedup_members_find(struct members *m, struct corpus *c, int apart,
		       struct err *e);
/* To find them again, without any DOC_COPY. */
void dedup_members_restart(struct members *m, struct corpus *c);
uint32_t dedup_member(const struct members *m, uint32_t doc);	/* or NOT */

/* --- pairs.c: one candidate pair --- */

/* Is the Jaccard similarity of two sorted sets >= t? */
int dedup_similar(const uint64_t *a, size_t na, const uint64_t *b, size_t nb,
		  double t);

struct pairs {
	const struct dedup_opts *o;
	const struct corpus *corpus;
	struct member *m;
	uint32_t n;
	size_t mem;
	struct spool *sets;	/* shingles and words of members */
	struct buf row[4];	/* sets and words of the current pair */
	struct union_find near;
	uint64_t *failed;	/* pairs that were not similar, by hash */
	uint32_t *ref;		/* --direct: a reference like the member */
	uint64_t compared, similar;
};

void dedup_pairs_open(struct pairs *p, const struct dedup_opts *o,
		      const struct corpus *c, size_t mem);
void dedup_pairs_start(struct pairs *p, const struct members *m);
void dedup_pairs_clear(struct pairs *p);

/*
 * Join two members that are similar.  1: they were joined; 0: not, or were
 * already; -1: error.
 */
int dedup_pairs_join(struct pairs *p, uint32_t a, uint32_t b, struct err *e);

/* Its shingles, until the next call with this row (0..3); NULL: error. */
const uint64_t *dedup_pairs_set(struct pairs *p, uint32_t member, int row,
				struct err *e);

/* Set m[i].sim to the similarity to another member; see pairs.c. */
int dedup_pairs_measure(struct pairs *p, uint32_t i, uint32_t other,
			struct err *e);

/* --- prefix_filter.c --- */

/* A bucket: members, with room for as many again after them. */
struct bucket {
	uint32_t *v;
	size_t n, cap;
};
void dedup_bucket_add(struct bucket *b, uint32_t member);

/* Join all similar pairs of b, whose content changes. */
int dedup_bucket_join(struct pairs *p, struct bucket *b, struct err *e);

/* --- records.c: band records and pair records (bands.5) --- */

enum { BAND_NAME = 32, BAND_HEAD = 31, BAND_LINE = BAND_HEAD + BAND_NAME };
uint32_t dedup_band_param(const struct minhash_opts *o);

struct band_record {
	int pair;		/* two names, else a band's key and one */
	uint64_t param, key;
	struct set_hash name[2];
};
/* 0, or -1 if it is neither. */
int dedup_record_parse(struct span line, struct band_record *r);

/* --- apply.c: candidates of --apply; names are numbered --- */

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
	uint32_t *next;	/* --edit-sim: of a member, another of its name */
};

int dedup_apply_load(struct applied *a, const struct dedup_opts *o,
		     struct err *e);
int dedup_apply_has(const struct applied *a, struct set_hash h);
int dedup_apply_join(const struct applied *a, struct pairs *p, struct err *e);
void dedup_apply_clear(struct applied *a);

/* --- join.c: clusters --- */

struct clusters {
	uint32_t *size;		/* at the first member of each */
	uint32_t *second;	/* drop-all: its second, at its first */
	uint32_t *copy;		/* drop-all: second with a text, at its first */
	uint32_t *kept;		/* of each cluster, at its first */
	uint32_t *kept_text;	/* of each text, at its first */
	uint64_t n, largest;
};

void dedup_clusters_clear(struct clusters *c);

/* n times NOT. */
uint32_t *dedup_no_members(uint32_t n);

/* --- keep.c --- */

/* The number or date at a key of a line, or NAN. */
double dedup_keep_value(struct json_reader *r, struct span line,
			const char *key);

/* Fill c->kept and c->kept_text, unless the first are kept. */
void dedup_keep_choose(const struct pairs *p, struct clusters *c);

/* Of a cluster, or of a text: the member kept, from the first one. */
static inline uint32_t
dedup_kept(const uint32_t *kept, uint32_t first)
{
	return kept ? kept[first] : first;
}

/* --- the job --- */

/* Members by a hash; hash[] by member, slots hold members or NOT. */
struct table {
	struct set_hash *hash;
	uint32_t *member;
	size_t n, cap;
};

/* Per thread. */
struct worker {
	struct shingles sh;
	struct buf fold, nfc;	/* of --normalize */
	struct loops_scratch loops;
	struct passages_scratch passages;
	struct json_reader *json;	/* --keep KEY */
};

struct dedup {
	const struct dedup_opts *o;
	int reports;			/* there is a report */
	struct worker *worker;
	struct minhash *mh;
	struct corpus corpus;
	struct names names;
	struct loops loops;
	struct passages passages;
	struct members members;
	struct applied applied;
	struct pairs pairs;
	struct clusters clusters;
	uint64_t surrogates, no_words;	/* of the first pass */
	uint32_t no_value;		/* members: --keep KEY */
	int apart;			/* dedup_members_find() */
	struct table texts;		/* ... first members, by text */
};

/* scan.c: the first pass */
int dedup_scan(struct dedup *d, struct err *e);

/* exact.c: what exact compares, the text or, in w->fold, its normal form. */
struct span dedup_exact_text(const struct dedup_opts *o, struct worker *w,
			     struct span text);
/* The key of that: scan sorts by the low half, compare checks the high one. */
struct set_hash dedup_exact_key(struct span text);

/*
 * compare.c: the second pass, over members and copies.  1: a copy is not one
 * after all, though its key is that of another text.
 */
int dedup_compare(struct dedup *d, struct err *e);

/* The first member with the text of a DOC_COPY, by its key. */
uint32_t dedup_copied(const struct dedup *d, struct set_hash key);
void dedup_table_clear(struct table *t);

/* join.c: candidates to clusters */
int dedup_join(struct dedup *d, struct err *e);

/* write.c: the last pass.  Commits f; the status of the program or -1. */
int dedup_write(struct dedup *d, struct filter *f, struct err *e);

/* --- summary.c: what it came to --- */

/* Why a document is not kept as it is; from RUN on as enum repeat_rule. */
enum reason { KEPT, EXACT, NEAR, SPAN, RUN, PHRASE, GOPHER, REASONS };

enum { TOP = 5 };		/* largest clusters shown */

struct totals {
	uint64_t docs[REASONS], bytes[REASONS];
	uint64_t span_drops, span_drop_bytes;	/* too little left */
	struct top {
		uint32_t member;	/* first of a large cluster, or NOT */
		struct buf text;	/* its name and how it begins */
	} top[TOP];
};

void dedup_totals_clear(struct totals *t);

/* Find the largest clusters; its place + 1 if this is the first of one. */
void dedup_totals_find_top(struct totals *t, const struct dedup *d);
int dedup_totals_is_top(const struct totals *t, uint32_t member);
/* For its line of the summary. */
void dedup_totals_excerpt(struct totals *t, const struct doc *doc,
			  uint32_t member);

/* For --stats; and for a person. */
void dedup_stats_put(const struct dedup *d, const struct totals *t,
		     struct buf *b);
void dedup_summary_print(const struct dedup *d, const struct totals *t,
			 const struct doc_stats *s);

#endif
