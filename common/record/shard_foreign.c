/*
 * shard_foreign.c - shards of other trainers, each held to its own rules
 *
 *	llm.c		256 x i32 header: 20240520, 1, tokens (u16) or 20240801,
 *			7, tokens (u32); the file has exactly that size
 *	nanoGPT		u16 ids, nothing else
 *	Megatron	X.bin ids, X.idx: magic, version, dtype, sequences,
 *			documents, lengths, pointers, document bounds
 *	datatrove	X.ds ids, X.ds.index: u64 ends of documents
 *	OLMo, dolma	X.npy ids without a NumPy header, X.csv.gz: rows
 *			start,end,path,id (or start,end,id,source,line)
 *
 * Bounds come from the index where there is one (also NAME.index beside an
 * llm.c or nanoGPT file, as pack writes it).  Without one they are inferred
 * from the BOS or EOS id that the caller names, in one scan at open; else
 * there are none.  Documents may straddle llm.c and nanoGPT files, so a
 * document belongs to the file of its end, and a file's open tail is carried
 * into the next.
 */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/input.h"
#include "base/mem.h"
#include "record/shard_priv.h"

enum {
	LLMC_HEADER = 1024,
	LLMC_MAGIC16 = 20240520, LLMC_MAGIC32 = 20240801,
	IDX_HEADER = 34,
	HASH_WHOLE = 64 << 20, HASH_SAMPLES = 64, HASH_SAMPLE = 1 << 20
};

static uint64_t
get64(const unsigned char *p)
{
	uint64_t v;

	memcpy(&v, p, 8);
	return v;
}

static uint32_t
get32(const unsigned char *p)
{
	uint32_t v;

	memcpy(&v, p, 4);
	return v;
}

enum shard_format
shard_sniff(const void *p, size_t n)
{
	if (n >= 8 && memcmp(p, TOK_MAGIC, 8) == 0)
		return SHARD_ASSAY;
	if (n >= 8 && ((get32(p) == LLMC_MAGIC16 &&
			get32((const unsigned char *)p + 4) == 1) ||
		       (get32(p) == LLMC_MAGIC32 &&
			get32((const unsigned char *)p + 4) == 7)))
		return SHARD_LLMC;
	if (n >= 9 && memcmp(p, "MMIDIDX\0\0", 9) == 0)
		return SHARD_MEGATRON;
	return SHARD_AUTO;
}

static uint32_t
token(const struct part *p, uint64_t at)
{
	uint32_t v = 0;

	memcpy(&v, p->tok + at * p->width, p->width);
	return v;
}

static uint64_t
hash_bytes(const unsigned char *p, size_t n)
{
	XXH3_state_t *x;
	uint64_t h;
	size_t i;

	if (n <= HASH_WHOLE)
		return XXH3_64bits(p, n);
	if (!(x = XXH3_createState()))
		return n;
	XXH3_64bits_reset(x);
	for (i = 0; i < HASH_SAMPLES; i++)
		XXH3_64bits_update(x, p + (n - HASH_SAMPLE) /
				   (HASH_SAMPLES - 1) * i, HASH_SAMPLE);
	XXH3_64bits_update(x, &n, sizeof(n));
	h = XXH3_64bits_digest(x);
	XXH3_freeState(x);
	return h;
}

static int
llmc(struct part *p, const struct shard_map *m, struct err *e)
{
	const unsigned char *b = m->p;
	uint64_t n, want;

	if (m->n < LLMC_HEADER)
		return err_set(e, "%s: truncated: %zu bytes where an llm.c "
			       "header has %d", m->name, m->n, LLMC_HEADER);
	if (shard_sniff(b, 8) != SHARD_LLMC)
		return err_set(e, "%s: offset 0: found magic %u, version %u, "
			       "expected %d, 1 or %d, 7 (llm.c)", m->name,
			       get32(b), get32(b + 4), LLMC_MAGIC16,
			       LLMC_MAGIC32);
	n = get32(b + 8);
	p->width = get32(b) == LLMC_MAGIC16 ? 2 : 4;
	want = LLMC_HEADER + n * p->width;
	if (n == 0 || n > INT32_MAX)
		return err_set(e, "%s: offset 8: %d tokens", m->name,
			       (int)get32(b + 8));
	if (m->n != want)
		return err_set(e, "%s: %zu bytes, but its header says %llu "
			       "tokens, which make %llu", m->name, m->n,
			       (unsigned long long)n, (unsigned long long)want);
	p->tok = b + LLMC_HEADER;
	p->tok_offset = LLMC_HEADER;
	p->tokens = n;
	return 0;
}

/* Raw ids; the width is known. */
static int
raw(struct part *p, const struct shard_map *m, struct err *e)
{
	p->tok = m->p;
	if (m->n == 0)
		return err_set(e, "%s: empty", m->name);
	if (m->n % p->width)
		return err_set(e, "%s: %zu bytes are no whole number of ids of "
			       "%u bytes", m->name, m->n, p->width);
	p->tokens = m->n / p->width;
	return 0;
}

/* Width of a raw file from its index, the caller, or the vocabulary. */
static uint32_t
raw_width(const struct shards *s, uint64_t bytes, uint64_t last_end)
{
	if (s->hint.width)
		return s->hint.width;
	if (last_end && bytes == last_end * 4)
		return 4;
	if (last_end && bytes == last_end * 2)
		return 2;
	return s->hint.vocab > 65536 ? 4 : 2;
}

static int
exists(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0;
}

static char *
with_suffix(const char *name, size_t cut, const char *suffix)
{
	size_t n = strlen(name) - cut;
	char *s = xmalloc(n + strlen(suffix) + 1);

	memcpy(s, name, n);
	strcpy(s + n, suffix);
	return s;
}

static int
ends_with(const char *s, const char *suffix)
{
	size_t n = strlen(s), k = strlen(suffix);

	return n > k && strcmp(s + n - k, suffix) == 0;
}

static int
ends_ascend(const struct part *p, const char *index, struct err *e)
{
	uint64_t i, at = 0;

	for (i = 0; i < p->docs; at = p->ends[i++])
		if (p->ends[i] < at || p->ends[i] > p->tokens)
			return err_set(e, "%s: document %llu ends at token "
				       "%llu, after %llu, of %llu", index,
				       (unsigned long long)i,
				       (unsigned long long)p->ends[i],
				       (unsigned long long)at,
				       (unsigned long long)p->tokens);
	return 0;
}

/* NAME.index: u64 ends.  0: read or none there; the map must not move. */
static int
index_ends(struct shards *s, struct part *p, const char *index, struct err *e)
{
	ptrdiff_t k = shards_map(s, index, e);

	if (k < 0)
		return -1;
	if (s->map[k].n % 8)
		return err_set(e, "%s: %zu bytes are no whole number of "
			       "document ends of 8 bytes", index, s->map[k].n);
	p->ends = s->map[k].p;
	p->docs = s->map[k].n / 8;
	p->bounds = 1;
	return 0;
}

static int
datatrove(struct shards *s, struct part *p, const struct shard_map *m,
	  struct err *e)
{
	char *index = with_suffix(m->name, 0, ".index");
	uint64_t last = 0;
	int r = -1;

	if (!exists(index)) {
		err_set(e, "%s: its index %s is missing", m->name, index);
		goto out;
	}
	if (index_ends(s, p, index, e) < 0)
		goto out;
	if (p->docs)
		last = p->ends[p->docs - 1];
	p->width = raw_width(s, m->n, last);
	if (m->n && raw(p, m, e) < 0)
		goto out;
	if (last != p->tokens) {
		err_set(e, "%s: %zu bytes, but %s ends at token %llu", m->name,
			m->n, index, (unsigned long long)last);
		goto out;
	}
	r = ends_ascend(p, index, e);
out:
	free(index);
	return r;
}

/* One line of the csv from q: fields as spans with quotes; returns its end. */
static char *
csv_line(char *q, char *end, struct span *f, size_t max, size_t *n)
{
	int quoted = 0;

	f[0].p = q;
	for (*n = 1; q < end && (quoted || *q != '\n'); q++) {
		if (*q == '"')
			quoted = !quoted;
		else if (*q == ',' && !quoted && *n < max) {
			f[*n - 1].n = (size_t)(q - f[*n - 1].p);
			f[(*n)++].p = q + 1;
		}
	}
	f[*n - 1].n = (size_t)(q - f[*n - 1].p);
	while (f[*n - 1].n && f[*n - 1].p[f[*n - 1].n - 1] == '\r')
		f[*n - 1].n--;
	return q < end ? q + 1 : q;
}

/* Take quotes off in place behind *to; returns the new end of *to. */
static char *
csv_unquote(char *to, struct span f)
{
	size_t i, quoted = f.n >= 2 && f.p[0] == '"';

	for (i = quoted; i + quoted < f.n; i++) {
		*to++ = f.p[i];
		if (quoted && f.p[i] == '"' && f.p[i + 1] == '"')
			i++;
	}
	return to;
}

static int
csv_number(struct span f, uint64_t *v)
{
	size_t i;

	*v = 0;
	for (i = 0; i < f.n; i++) {
		if (f.p[i] < '0' || f.p[i] > '9' || i > 18)
			return -1;
		*v = *v * 10 + (uint64_t)(f.p[i] - '0');
	}
	return f.n ? 0 : -1;
}

static int
csv_parse(struct part *p, const char *name, char *text, size_t n, struct err *e)
{
	char *q = text, *end = text + n, *to = text;
	uint64_t start, stop, at = 0, line = 0;
	size_t k, ends = 0, cap = 0;
	struct span f[5];

	p->id_text = text;
	p->bounds = 1;
	while (q < end) {
		q = csv_line(q, end, f, 5, &k);
		line++;
		if (k < 2 || csv_number(f[0], &start) < 0 ||
		    csv_number(f[1], &stop) < 0 || start != at || stop < at)
			return err_set(e, "%s: line %llu: expected "
				       "\"%llu,END,...\"", name,
				       (unsigned long long)line,
				       (unsigned long long)at);
		GROW(p->own_ends, ends, p->docs + 1);
		GROW(p->id_end, cap, p->docs + 1);
		at = p->own_ends[p->docs] = stop;
		if (k >= 3)	/* start,end,path,id or start,end,id,... */
			to = csv_unquote(to, k == 4 ? f[3] : f[2]);
		p->id_end[p->docs++] = (uint64_t)(to - text);
	}
	p->ends = p->own_ends;
	return 0;
}

static int
npy(struct shards *s, struct part *p, const struct shard_map *m, struct err *e)
{
	char *csv = with_suffix(m->name, ends_with(m->name, ".npy") ? 4 : 0,
				".csv.gz");
	uint64_t last = 0;
	char *text;
	size_t n;
	int r = -1;

	if (m->n >= 6 && memcmp(m->p, "\x93NUMPY", 6) == 0) {
		err_set(e, "%s: a NumPy file with a header; OLMo's .npy is raw "
			"ids", m->name);
		goto out;
	}
	if (exists(csv)) {
		if (input_slurp(csv, &text, &n, e) < 0)
			goto out;
		if (csv_parse(p, csv, text, n, e) < 0)
			goto out;
		last = p->docs ? p->ends[p->docs - 1] : 0;
	}
	p->width = raw_width(s, m->n, last);
	if ((m->n || !p->bounds) && raw(p, m, e) < 0)
		goto out;
	if (p->bounds && last != p->tokens) {
		err_set(e, "%s: %zu bytes, but %s ends at token %llu", m->name,
			m->n, csv, (unsigned long long)last);
		goto out;
	}
	r = 0;
out:
	free(csv);
	return r;
}

/*
 * X.idx: see IDX_HEADER above.  The pointers of sequences that lie one behind
 * the other without a gap are the sums of their lengths, which is checked.
 */
static int
megatron_index(struct part *p, const struct shard_map *m,
	       const struct shard_map *x, struct err *e)
{
	const unsigned char *b = x->p, *len, *ptr, *doc;
	uint64_t seqs, docs, i, at = 0, k, left = x->n - IDX_HEADER;
	uint64_t *end;

	seqs = get64(b + 18);
	docs = get64(b + 26);
	if (seqs > left / 12 || docs > (left - seqs * 12) / 8 || docs == 0)
		return err_set(e, "%s: %zu bytes are too few for %llu "
			       "sequences and %llu document bounds", x->name,
			       x->n, (unsigned long long)seqs,
			       (unsigned long long)docs);
	left -= seqs * 12 + docs * 8;
	if (left != 0 && left != seqs)		/* modes, a byte a sequence */
		return err_set(e, "%s: %llu bytes too many", x->name,
			       (unsigned long long)left);
	len = b + IDX_HEADER;
	ptr = len + seqs * 4;
	doc = ptr + seqs * 8;
	p->docs = docs - 1;
	p->ends = p->own_ends = end = xreallocarray(NULL, docs, 8);
	p->bounds = 1;
	for (i = k = 0; k < docs; k++) {
		uint64_t to = get64(doc + k * 8);

		if (to < i || to > seqs || (k == 0 && to != 0) ||
		    (k == docs - 1 && to != seqs))
			return err_set(e, "%s: document bound %llu is sequence "
				       "%llu of %llu", x->name,
				       (unsigned long long)k,
				       (unsigned long long)to,
				       (unsigned long long)seqs);
		for (; i < to; i++) {
			if ((int32_t)get32(len + i * 4) < 0)
				return err_set(e, "%s: sequence %llu has %d "
					       "tokens", x->name,
					       (unsigned long long)i,
					       (int)get32(len + i * 4));
			if (get64(ptr + i * 8) != at * p->width)
				return err_set(e, "%s: sequence %llu is at "
					       "byte %llu, expected %llu",
					       x->name, (unsigned long long)i,
					       (unsigned long long)
					       get64(ptr + i * 8),
					       (unsigned long long)at *
					       p->width);
			at += get32(len + i * 4);
		}
		if (k)
			end[k - 1] = at;
	}
	if (at * p->width != m->n)
		return err_set(e, "%s: %zu bytes, but %s says %llu tokens of "
			       "%u bytes", m->name, m->n, x->name,
			       (unsigned long long)at, p->width);
	p->tokens = at;
	return 0;
}

static int
megatron(struct shards *s, struct part *p, const struct shard_map *m,
	 struct err *e)
{
	char *name = with_suffix(m->name, ends_with(m->name, ".bin") ? 4 : 0,
				 ".idx");
	const struct shard_map *x;
	const unsigned char *b;
	struct shard_map copy = *m;
	ptrdiff_t k;
	int r = -1;

	if (!exists(name)) {
		err_set(e, "%s: its index %s is missing", m->name, name);
		goto out;
	}
	if ((k = shards_map(s, name, e)) < 0)
		goto out;
	x = &s->map[k];
	b = x->p;
	if (x->n < IDX_HEADER || shard_sniff(b, 9) != SHARD_MEGATRON ||
	    get64(b + 9) != 1) {
		err_set(e, "%s: offset 0: no Megatron index of version 1", name);
		goto out;
	}
	if (b[17] != 8 && b[17] != 4) {
		err_set(e, "%s: offset 17: dtype code %u, expected 8 (uint16) "
			"or 4 (int32)", name, b[17]);
		goto out;
	}
	p->width = b[17] == 8 ? 2 : 4;
	p->tok = copy.p;
	r = megatron_index(p, &copy, x, e);
out:
	free(name);
	return r;
}

static int
raw_or_llmc(struct shards *s, struct part *p, const struct shard_map *m,
	    struct err *e)
{
	char *index = with_suffix(m->name, 0, ".index");
	struct shard_map copy = *m;
	int r = -1;

	if (p->format == SHARD_NANOGPT && shard_sniff(m->p, m->n)) {
		err_set(e, "%s: begins like a shard of another format, not "
			"with raw ids", m->name);
		goto out;
	}
	if (exists(index) && index_ends(s, p, index, e) < 0)
		goto out;
	if (p->format == SHARD_NANOGPT) {
		p->width = raw_width(s, copy.n,
				     p->docs ? p->ends[p->docs - 1] : 0);
		r = raw(p, &copy, e);
	} else {
		r = llmc(p, &copy, e);
	}
	if (r == 0 && p->bounds)
		r = ends_ascend(p, index, e);
out:
	free(index);
	return r;
}

int
foreign_open(struct shards *s, size_t map, struct err *e)
{
	struct part *p = shards_add_part(s);
	struct shard_map m = s->map[map];	/* more maps may move the array */
	int r;

	p->name = m.name;
	p->format = s->info.format;
	p->width = 2;
	switch (p->format) {
	case SHARD_LLMC:
	case SHARD_NANOGPT:
		r = raw_or_llmc(s, p, &m, e);
		break;
	case SHARD_MEGATRON:
		r = megatron(s, p, &m, e);
		break;
	case SHARD_DATATROVE:
		r = datatrove(s, p, &m, e);
		break;
	default:
		r = npy(s, p, &m, e);
		break;
	}
	if (r == 0)
		p->hash = hash_bytes(m.p, m.n);
	return r;
}

/* Bounds of one part from the BOS in front or the EOS behind documents. */
static void
infer(struct part *p, int64_t id, int behind, uint64_t carry)
{
	uint64_t i, end, last = 0;
	size_t cap = 0;

	for (i = 0; i < p->tokens; i++) {
		if (token(p, i) != id)
			continue;
		end = i + (uint64_t)behind;
		if (end == last && carry + end == 0)
			continue;		/* BOS at the very start */
		GROW(p->own_ends, cap, p->docs + 1);
		last = p->own_ends[p->docs++] = end;
		carry = 0;
	}
	p->ends = p->own_ends;
	p->bounds = 1;
}

/* The last document of a stream ends with it. */
static void
close_tail(struct part *p)
{
	uint64_t *v;

	if ((p->docs ? p->ends[p->docs - 1] : 0) == p->tokens &&
	    (p->docs || p->carry == 0))
		return;
	v = xreallocarray(NULL, p->docs + 1, 8);
	if (p->docs)
		memcpy(v, p->ends, p->docs * 8);
	v[p->docs++] = p->tokens;
	free(p->own_ends);
	p->ends = p->own_ends = v;
}

int
foreign_join(struct shards *s, struct err *e)
{
	struct shard_info *o = &s->info;
	const struct shard_hint *h = &s->hint;
	int all = 1, behind = o->format != SHARD_LLMC;
	int64_t id = behind ? h->eos : h->bos >= 0 ? h->bos : h->eos;
	uint64_t carry = 0, hash[2] = {0, 0};
	size_t i;

	if (h->limit && h->vocab > 65536 && s->part[0].width == 2)
		return err_set(e, "%s: ids of 2 bytes cannot hold a vocabulary "
			       "of %u", s->part[0].name, h->vocab);
	for (i = 0; i < s->nparts; i++)
		all &= s->part[i].bounds;
	for (i = 0; i < s->nparts; i++) {
		struct part *p = &s->part[i];

		if (p->width != s->part[0].width)
			return err_set(e, "%s: ids of %u bytes, but %u in %s",
				       p->name, p->width, s->part[0].width,
				       s->part[0].name);
		if (!all) {
			free(p->own_ends);
			free(p->id_end);
			p->own_ends = p->id_end = NULL;
			p->ends = NULL;
			p->docs = 0;
			p->bounds = 0;
			if (id >= 0)
				infer(p, id, behind, carry);
		}
		p->carry = carry;
		if (p->bounds && i + 1 == s->nparts)
			close_tail(p);
		carry = p->docs ? p->tokens - p->ends[p->docs - 1] :
			carry + p->tokens;
		hash[1] = p->hash;
		hash[0] = XXH3_64bits(hash, sizeof(hash));
		o->docs += p->docs;
	}
	o->vocab = h->vocab;
	o->width = s->part[0].width;
	o->bos = h->bos;
	o->eos = h->eos;
	o->pad = -1;
	o->hash = hash[0];
	return 0;
}
