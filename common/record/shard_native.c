/*
 * shard_native.c - .tok segments: found from the end, verified when touched
 *
 * A file is a sequence of segments.  The foot of each has its length, so that
 * a mapped file is taken apart from its end, in one step per segment.  Opening
 * verifies header, tail, index and foot.  A block is verified whole (XXH3-64
 * of header and body, records in order, ids below the vocabulary) when it is
 * first touched, and a flag remembers that.  If two threads verify the same
 * block at once, both set the same flag.
 *
 * A token is found in O(1): blocks hold at most block_tokens tokens, so token
 * t is in block t / block_tokens or a later one; the latter only if there are
 * very many empty documents.
 */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/search.h"
#include "record/shard_priv.h"

static uint64_t
check_of(const void *p, size_t n)
{
	return XXH3_64bits(p, n);
}

static int
header_ok(const struct tok_header *h)
{
	return memcmp(h->magic, TOK_MAGIC, 8) == 0 &&
	       h->check == check_of(h, offsetof(struct tok_header, check));
}

/* What is wrong with a header whose checksum is right; NULL: nothing. */
static const char *
header_fault(const struct tok_header *h)
{
	if (h->version != TOK_VERSION || h->bytes != sizeof(*h))
		return "written in a later version of the format";
	if (h->width != 2 && h->width != 4)
		return "ids are neither 2 nor 4 bytes";
	if (h->vocab == 0 || (h->width == 2 && h->vocab > 65536))
		return "the vocabulary does not fit the ids";
	if (h->flags & ~(uint32_t)TOK_FLAGS || h->policy > POLICY_PAD)
		return "unknown flags or policy";
	if (h->block_tokens == 0 || h->block_tokens > TOK_BLOCK_MAX)
		return "impossible block size";
	if ((h->flags & TOK_WINDOWS) && (h->seq_len == 0 ||
	    h->seq_len == UINT32_MAX))
		return "windows without a length";
	return NULL;
}

static size_t
body_bytes(const struct tok_header *h, const struct tok_block *b)
{
	return pad8((size_t)b->tokens * h->width) +
	       (size_t)b->records * sizeof(struct tok_record) +
	       pad8(b->id_bytes);
}

static const struct tok_block *
block_of(const struct part *p, uint64_t b)
{
	return (const struct tok_block *)(p->base + p->index[b].offset);
}

static uint64_t
block_end(const struct part *p, uint64_t b)
{
	return b + 1 < p->blocks_n ? p->index[b + 1].offset :
	       p->foot->segment - p->foot->tail;
}

static const struct tok_record *
records_of(const struct part *p, const struct tok_block *b)
{
	return (const struct tok_record *)((const char *)(b + 1) +
	       pad8((size_t)b->tokens * p->width));
}

/* From the tail to the end of the segment; its number of blocks is possible. */
static size_t
tail_bytes(const struct tok_tail *t)
{
	return sizeof(*t) + (size_t)t->blocks * sizeof(struct tok_index) +
	       (t->flags & TOK_PAIR ? sizeof(uint64_t) : 0) +
	       sizeof(struct tok_foot);
}

/* The end of the file is wrong: find place and fault from its start. */
static int
diagnose(const struct shard_map *m, struct err *e)
{
	const unsigned char *p = m->p;
	const struct tok_header *h;
	const struct tok_block *b;
	const struct tok_tail *t;
	size_t off = 0, left, want;

	for (;;) {
		left = m->n - off;
		h = (const struct tok_header *)(p + off);
		if (left < sizeof(*h))
			return err_set(e, "%s: offset %zu: truncated: %zu "
				       "bytes where a header has %zu", m->name,
				       off, left, sizeof(*h));
		if (memcmp(h->magic, TOK_MAGIC, 8) != 0)
			return err_set(e, "%s: offset %zu: not the start of a "
				       "shard", m->name, off);
		if (!header_ok(h))
			return err_set(e, "%s: offset %zu: damaged header "
				       "(checksum)", m->name, off);
		if (header_fault(h))
			return err_set(e, "%s: offset %zu: %s", m->name, off,
				       header_fault(h));
		off += sizeof(*h);
		for (;; off += want) {
			left = m->n - off;
			b = (const struct tok_block *)(p + off);
			if (left < sizeof(*b))
				return err_set(e, "%s: offset %zu: truncated: "
					       "the file ends inside a shard",
					       m->name, off);
			if (b->magic != TOK_BLOCK)
				break;
			if (b->check != check_of(b,
			    offsetof(struct tok_block, check)))
				return err_set(e, "%s: offset %zu: damaged "
					       "block (checksum)", m->name,
					       off);
			want = sizeof(*b) + body_bytes(h, b);
			if (left < want)
				return err_set(e, "%s: offset %zu: truncated: "
					       "a block of %zu bytes has only "
					       "%zu", m->name, off, want, left);
		}
		t = (const struct tok_tail *)b;
		if (left < sizeof(*t) || t->magic != TOK_TAIL)
			return err_set(e, "%s: offset %zu: neither a block nor "
				       "the tail of a shard", m->name, off);
		if (t->blocks > left / sizeof(struct tok_index) ||
		    (want = tail_bytes(t)) > left)
			return err_set(e, "%s: offset %zu: truncated or "
				       "damaged tail", m->name, off);
		if (((const struct tok_foot *)(p + off + want))[-1].check !=
		    check_of(t, want - 16))
			return err_set(e, "%s: offset %zu: damaged tail "
				       "(checksum)", m->name, off);
		off += want;
		if (off == m->n)
			return err_set(e, "%s: offset %zu: damaged end",
				       m->name, off);
	}
}

static int
index_ok(const struct part *p)
{
	const struct tok_index *x = p->index;
	uint64_t i, n = p->blocks_n, off, tok, rec;
	uint64_t end = p->foot->segment - p->foot->tail;

	for (i = 0; i < n; i++) {
		off = i + 1 < n ? x[i + 1].offset : end;
		tok = i + 1 < n ? x[i + 1].first_token : p->tokens;
		rec = i + 1 < n ? x[i + 1].first_record : p->docs;
		if (x[i].offset % 8 || off > end || off < x[i].offset ||
		    off - x[i].offset < sizeof(struct tok_block) ||
		    tok < x[i].first_token || rec < x[i].first_record ||
		    tok - x[i].first_token > p->head->block_tokens)
			return 0;
	}
	if (n == 0)
		return end == sizeof(struct tok_header) && p->tokens == 0 &&
		       p->docs == 0;
	return x[0].offset == sizeof(struct tok_header) &&
	       x[0].first_token == 0 && x[0].first_record == 0;
}

/* The segment that ends at `end` of the file; 0, or -1 without a message. */
static int
segment(struct part *p, const struct shard_map *m, size_t end)
{
	const unsigned char *file = m->p;
	const struct tok_foot *f;
	const struct tok_tail *t;
	const size_t least = sizeof(struct tok_header) + sizeof(*t) +
	    sizeof(*f);

	if (end < least || end % 8)
		return -1;
	f = (const struct tok_foot *)(file + end) - 1;
	if (memcmp(f->magic, TOK_END, 8) != 0 || f->segment > end ||
	    f->segment < least || f->segment % 8 || f->tail % 8 ||
	    f->tail < sizeof(*t) + sizeof(*f) ||
	    f->tail > f->segment - sizeof(struct tok_header))
		return -1;
	t = (const struct tok_tail *)(file + end - f->tail);
	if (f->check != check_of(t, f->tail - 16) || t->magic != TOK_TAIL)
		return -1;
	p->name = m->name;
	p->format = SHARD_ASSAY;
	p->offset = end - f->segment;
	p->base = file + p->offset;
	p->head = (const struct tok_header *)p->base;
	p->tail = t;
	p->index = (const struct tok_index *)(t + 1);
	p->foot = f;
	p->tokens = t->tokens;
	p->docs = t->records;
	p->blocks_n = t->blocks;
	if (!header_ok(p->head) || header_fault(p->head) ||
	    t->header != p->head->check ||
	    t->blocks > f->tail / sizeof(struct tok_index) ||
	    f->tail != tail_bytes(t) || !index_ok(p) ||
	    t->docs > t->records || t->padding > t->tokens ||
	    t->flags & ~(uint32_t)TOK_TAIL_FLAGS)
		return -1;
	if (t->flags & TOK_PAIR)
		memcpy(&p->pair, p->index + t->blocks, sizeof(p->pair));
	if ((p->head->flags & TOK_WINDOWS) &&
	    t->tokens % ((uint64_t)p->head->seq_len + 1))
		return -1;
	p->width = p->head->width;
	p->bounds = 1;
	return 0;
}

int
shard_native_open(struct shards *s, const struct shard_map *m, struct err *e)
{
	size_t end = m->n, from = s->nparts, i, k;
	struct part *p, t;
	uint64_t nth = 0;

	while (end > 0) {
		p = shard_part_add(s);
		if (segment(p, m, end) < 0)
			return diagnose(m, e);
		p->checked = xcalloc(p->blocks_n + 1, 1);
		end = p->offset;
	}
	for (i = from, k = s->nparts; i + 1 < k; i++) {	/* into file order */
		t = s->part[i];
		s->part[i] = s->part[--k];
		s->part[k] = t;
	}
	for (i = from; i < s->nparts; i++) {
		s->part[i].nth = nth;
		nth += s->part[i].docs;
	}
	return 0;
}

/* The segments of one stream must agree on ids and windows. */
int
shard_native_join(struct shards *s, struct err *e)
{
	const struct tok_header *a = s->part[0].head, *b;
	const char *what = NULL;
	struct shard_info *o = &s->info;
	XXH3_state_t x;
	size_t i;

	XXH3_64bits_reset(&x);
	for (i = 0; i < s->nparts; i++) {
		const struct part *p = &s->part[i];

		b = p->head;
		if (a->fingerprint != b->fingerprint)
			what = "tokenizer";
		else if (a->vocab != b->vocab)
			what = "vocabulary size";
		else if (a->bos != b->bos || a->eos != b->eos ||
			 a->pad != b->pad)
			what = "BOS, EOS or padding id";
		else if ((a->flags ^ b->flags) & ~(uint32_t)TOK_SHUFFLED)
			what = "BOS, EOS or windows in use";
		else if ((a->flags & TOK_WINDOWS) && a->seq_len != b->seq_len)
			what = "window length";
		if (what)
			return err_set(e, "%s: offset %llu: its %s differs "
				       "from %s: not one stream", p->name,
				       (unsigned long long)p->offset, what,
				       s->part[0].name);
		XXH3_64bits_update(&x, &p->tail->content, 8);
		XXH3_64bits_update(&x, &p->tail->tokens, 8);
		o->docs += p->tail->docs;
		o->padding += p->tail->padding;
	}
	o->hash = XXH3_64bits_digest(&x);
	o->vocab = a->vocab;
	o->width = a->width;
	o->bos = a->bos;
	o->eos = a->eos;
	o->pad = a->pad;
	o->has_bos = !!(a->flags & TOK_HAS_BOS);
	o->has_eos = !!(a->flags & TOK_HAS_EOS);
	o->fingerprint = a->fingerprint;
	o->seq_len = a->seq_len;
	o->policy = (int)a->policy;
	o->windows = !!(a->flags & TOK_WINDOWS);
	o->shuffled = !!(a->flags & TOK_SHUFFLED);
	o->shuffle_seed = a->shuffle_seed;
	return 0;
}

/*
 * A folder holds complete sets: numbered from 0, each file linked to the one
 * before by the checksum of its foot, the last one marked.  A missing file or a
 * mix of two runs is therefore detected.
 */
int
shard_native_chain(const struct shards *s, size_t from, size_t to,
	     const char *folder, struct err *e)
{
	uint64_t want = 0, prev = 0;
	size_t i;

	for (i = from; i < to; i++) {
		const struct part *p = &s->part[i];

		if (p->head->number != want || p->head->prev != prev)
			return err_set(e, "%s: number %llu of its set does not "
				       "follow %s in folder %s: a shard is "
				       "missing or from another run (name "
				       "the files to read them as they are)",
				       p->name,
				       (unsigned long long)p->head->number,
				       want ? p[-1].name : "nothing", folder);
		want = p->tail->flags & TOK_LAST ? 0 : want + 1;
		prev = want ? p->foot->check : 0;
	}
	if (want)
		return err_set(e, "%s: not the last shard of its set, but none "
			       "follows in folder %s: a shard is missing (name "
			       "the files to read them as they are)",
			       s->part[to - 1].name, folder);
	return 0;
}

static int
block_bad(const struct part *p, uint64_t b, struct err *e, const char *what)
{
	return err_set(e, "%s: offset %llu: block %llu is damaged: %s", p->name,
		       (unsigned long long)(p->offset + p->index[b].offset),
		       (unsigned long long)b, what);
}

static uint32_t
largest(const void *p, uint32_t width, size_t n)
{
	const uint16_t *a = p;
	const uint32_t *b = p;
	uint32_t m = 0;
	uint16_t m16 = 0;
	size_t i;

	if (width == 2) {
		for (i = 0; i < n; i++)
			m16 = a[i] > m16 ? a[i] : m16;
		return m16;
	}
	for (i = 0; i < n; i++)
		m = b[i] > m ? b[i] : m;
	return m;
}

/* Records are in order; without windows they leave no gap. */
static const char *
records_fault(const struct part *p, const struct tok_block *b)
{
	const struct tok_record *r = records_of(p, b);
	int windows = !!(p->head->flags & TOK_WINDOWS);
	uint64_t at = 0, left = p->tokens - b->first_token;
	uint32_t i, id = 0;

	for (i = 0; i < b->records; i++) {
		if (r[i].start > b->tokens || r[i].tokens > left - r[i].start)
			return "a document extends past the end";
		if (r[i].start < at || (!windows && i && r[i].start != at))
			return "documents overlap or leave a gap";
		if (r[i].id_end < id || r[i].id_end > b->id_bytes)
			return "document ids out of order";
		if (r[i].start == b->tokens && r[i].tokens)
			return "a document begins in the next block";
		at = r[i].start + r[i].tokens;
		id = r[i].id_end;
		if (at > b->tokens && i + 1 < b->records)
			return "documents overlap";
	}
	return NULL;
}

static int
block_check(const struct part *p, uint64_t n, struct err *e)
{
	const struct tok_block *b = block_of(p, n);
	const struct tok_index *x = p->index + n;
	uint64_t size = block_end(p, n) - x->offset;
	uint64_t tok = n + 1 < p->blocks_n ? x[1].first_token : p->tokens;
	uint64_t rec = n + 1 < p->blocks_n ? x[1].first_record : p->docs;
	const char *what;

	if (b->magic != TOK_BLOCK ||
	    b->check != check_of(b, offsetof(struct tok_block, check)))
		return block_bad(p, n, e, "checksum of its header");
	if (b->first_token != x->first_token ||
	    b->first_record != x->first_record ||
	    b->tokens != tok - x->first_token ||
	    b->records != rec - x->first_record ||
	    size != sizeof(*b) + body_bytes(p->head, b))
		return block_bad(p, n, e, "does not match the index");
	if (b->body != check_of(b + 1, size - sizeof(*b)))
		return block_bad(p, n, e, "checksum");
	if ((what = records_fault(p, b)))
		return block_bad(p, n, e, what);
	if (b->tokens &&
	    largest(b + 1, p->width, b->tokens) >= p->head->vocab)
		return block_bad(p, n, e, "an id is outside the vocabulary");
	__atomic_store_n(&p->checked[n], 1, __ATOMIC_RELEASE);
	return 0;
}

static inline int
block_touch(const struct part *p, uint64_t n, struct err *e)
{
	if (__atomic_load_n(&p->checked[n], __ATOMIC_ACQUIRE))
		return 0;
	return block_check(p, n, e);
}

/* Last block whose first token is at or before `at`; at < tokens. */
static uint64_t
block_at(const struct part *p, uint64_t at)
{
	uint64_t k = at / p->head->block_tokens + 1, n = p->blocks_n;

	if (k < n && p->index[k].first_token <= at)
		FIND_FIRST(k, k + 1, n, p->index[k].first_token > at);
	return k - 1;
}

int
shard_native_read(const struct part *p, uint64_t at, size_t n, uint32_t *ids,
	    struct err *e)
{
	while (n > 0) {
		uint64_t k = block_at(p, at);
		const struct tok_block *b = block_of(p, k);
		size_t off = at - p->index[k].first_token, m;

		if (block_touch(p, k, e) < 0)
			return -1;
		m = b->tokens - off;
		if (m > n)
			m = n;
		shard_widen(ids, (const char *)(b + 1) + off * p->width,
			    p->width, m);
		ids += m;
		at += m;
		n -= m;
	}
	return 0;
}

int
shard_native_doc(const struct part *p, uint64_t d, struct shard_doc *out,
	   struct err *e)
{
	const struct tok_block *b;
	const struct tok_record *r;
	const char *ids;
	uint32_t id;
	uint64_t k;

	FIND_FIRST(k, 1, p->blocks_n, p->index[k].first_record > d);
	if (block_touch(p, k - 1, e) < 0)
		return -1;
	b = block_of(p, k - 1);
	d -= b->first_record;
	r = records_of(p, b) + d;
	ids = (const char *)(records_of(p, b) + b->records);
	id = d ? r[-1].id_end : 0;
	out->start = p->first + b->first_token + r->start;
	out->end = out->start + r->tokens;
	out->from = r->from & ~TOK_MORE;
	out->first = out->from == 0;
	out->last = !(r->from & TOK_MORE);
	out->id.p = r->id_end > id ? ids + id : NULL;
	out->id.n = r->id_end - id;
	return 0;
}

uint64_t
shard_native_doc_at(const struct part *p, uint64_t at, struct err *e)
{
	uint64_t k = block_at(p, at), i;
	const struct tok_block *b = block_of(p, k);
	const struct tok_record *r;

	if (block_touch(p, k, e) < 0)
		return UINT64_MAX;
	r = records_of(p, b);
	at -= b->first_token;
	FIND_FIRST(i, 0, b->records, r[i].start > at);
	return b->first_record + i - 1;		/* none at all: UINT64_MAX */
}

/* Every block, and the totals in the tail. */
int
shard_native_verify(const struct part *p, struct err *e)
{
	uint64_t k, at = 0, docs = 0, covered = 0;
	const struct tok_record *r;
	const struct tok_block *b;
	XXH3_state_t x;
	uint32_t i;

	XXH3_64bits_reset(&x);
	for (k = 0; k < p->blocks_n; k++) {
		b = block_of(p, k);
		if (block_touch(p, k, e) < 0)
			return -1;
		XXH3_64bits_update(&x, &b->body, 8);
		r = records_of(p, b);
		for (i = 0; i < b->records; i++) {
			uint64_t start = b->first_token + r[i].start;

			if (start < at || (start != at &&
			    !(p->head->flags & TOK_WINDOWS)))
				return block_bad(p, k, e, "documents overlap "
						 "or leave a gap");
			at = start + r[i].tokens;
			covered += r[i].tokens;
			docs += !(r[i].from & ~TOK_MORE);
		}
	}
	if (XXH3_64bits_digest(&x) != p->tail->content ||
	    docs != p->tail->docs ||
	    p->tokens - covered != p->tail->padding ||
	    (!(p->head->flags & TOK_WINDOWS) && p->tail->padding))
		return err_set(e, "%s: offset %llu: the counts in the "
			       "tail do not match the blocks", p->name,
			       (unsigned long long)(p->offset +
			       p->foot->segment - p->foot->tail));
	return 0;
}
