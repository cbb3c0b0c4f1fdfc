/*
 * vocab.c - the vocabulary in memory
 *
 * Token bytes and names are kept in blocks that are freed with it.
 * Byte-level files write each byte of a token as one character: printable
 * bytes (0x21-7E, A1-AC, AE-FF) as themselves, the other 68 in ascending order
 * as U+0100 and up.  Byte ids in GPT-2 order follow these characters.
 */
#include "record/vocab.h"

#include <stdlib.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/mem.h"
#include "base/search.h"
#include "record/vocab_priv.h"

const uint8_t vocab_id_byte[256] = {
#define R8(x) x, x + 1, x + 2, x + 3, x + 4, x + 5, x + 6, x + 7
	R8(0x21), R8(0x29), R8(0x31), R8(0x39), R8(0x41), R8(0x49), R8(0x51),
	R8(0x59), R8(0x61), R8(0x69), R8(0x71), 0x79, 0x7a, 0x7b, 0x7c, 0x7d,
	0x7e, R8(0xa1), 0xa9, 0xaa, 0xab, 0xac, 0xae, 0xaf, R8(0xb0), R8(0xb8),
	R8(0xc0), R8(0xc8), R8(0xd0), R8(0xd8), R8(0xe0), R8(0xe8), R8(0xf0),
	R8(0xf8), R8(0x00), R8(0x08), R8(0x10), R8(0x18), 0x20, R8(0x7f),
	R8(0x87), R8(0x8f), R8(0x97), 0x9f, 0xa0, 0xad
};

/* 0x21..7e are ids 0..93, a1..ac 94..105, ae..ff 106..187, 00..20 188..220,
 * 7f..a0 221..254, ad 255. */
#define ID(b) (uint8_t)((b) < 0x21 ? (b) + 188 : (b) < 0x7f ? (b) - 0x21 : \
	(b) < 0xa1 ? (b) - 0x7f + 221 : (b) < 0xad ? (b) - 0xa1 + 94 : \
	(b) == 0xad ? 255 : (b) - 0xae + 106)
#define I8(x) ID(x), ID(x + 1), ID(x + 2), ID(x + 3), ID(x + 4), ID(x + 5), \
	ID(x + 6), ID(x + 7)
#define I64(x) I8(x), I8(x + 8), I8(x + 16), I8(x + 24), I8(x + 32), \
	I8(x + 40), I8(x + 48), I8(x + 56)
const uint8_t vocab_byte_id[256] = {I64(0), I64(64), I64(128), I64(192)};

uint32_t
vocab_byte_char(unsigned byte)
{
	unsigned id = vocab_byte_id[byte];

	return id < 188 ? byte : 0x100 + id - 188;
}

int
vocab_char_byte(uint32_t c)
{
	if (c >= 0x100)
		return c < 0x144 ? vocab_id_byte[188 + c - 0x100] : -1;
	return vocab_byte_id[c] < 188 ? (int)c : -1;
}

struct vocab *
vocab_new(enum vocab_kind kind)
{
	struct vocab *v = xcalloc(1, sizeof(*v));

	v->priv = xcalloc(1, sizeof(struct vocab_priv));
	v->kind = kind;
	v->bos = v->eos = v->unk = v->pad = -1;
	return v;
}

struct span
vocab_keep(struct vocab *v, const char *p, size_t n)
{
	struct vocab_priv *a = v->priv;
	char *copy = arena_take(&a->arena, n + 1, 65536);

	if (n)
		memcpy(copy, p, n);
	copy[n] = 0;
	return (struct span){copy, n};
}

void
vocab_add_split(struct vocab *v, struct span pattern, int behavior)
{
	size_t k = v->nsplit++;

	v->split = xreallocarray(v->split, k + 1, sizeof(*v->split));
	v->split_behavior = xreallocarray(v->split_behavior, k + 1,
					  sizeof(*v->split_behavior));
	v->split[k] = vocab_keep(v, pattern.p, pattern.n);
	v->split_behavior[k] = behavior;
}

void
vocab_free(struct vocab *v)
{
	struct vocab_priv *a;

	if (!v)
		return;
	a = v->priv;
	arena_clear(&a->arena);
	buf_clear(&a->source);
	free(a);
	free(v->token);
	free(v->flags);
	free(v->merge);
	free(v->special);
	free(v->by_text);
	free(v->split);
	free(v->split_behavior);
	free(v);
}

/* Bytes in GPT-2 order, then merges in order, then the added tokens. */
static int
layout_is_ours(const struct vocab *v)
{
	if (v->kind != VOCAB_BYTE_LEVEL || v->rank_by_id || v->nfc ||
	    v->n != 256 + v->nmerges + v->nspecial)
		return 0;
	for (size_t i = 0; i < 256; i++)
		if (v->token[i].n != 1 ||
		    (uint8_t)v->token[i].p[0] != vocab_id_byte[i])
			return 0;
	for (size_t i = 0; i < v->nmerges; i++)
		if (v->merge[i][2] != 256 + i)
			return 0;
	for (size_t i = 0; i < v->nspecial; i++)
		if (v->special[i].id != 256 + v->nmerges + i)
			return 0;
	return 1;
}

static int64_t
special_named(const struct vocab *v, const char *name)
{
	for (size_t i = 0; i < v->nspecial; i++)
		if (v->special[i].special &&
		    span_eq(v->special[i].text, span_str(name)))
			return v->special[i].id;
	return -1;
}

/* The fingerprint covers values of fixed order and width, not memory. */
static void
mix(XXH3_state_t *h, const void *p, size_t n)
{
	uint64_t len = n;

	XXH3_64bits_update(h, &len, sizeof(len));
	if (n)
		XXH3_64bits_update(h, p, n);
}

static uint64_t
fingerprint(const struct vocab *v)
{
	uint32_t how[] = {(uint32_t)v->kind, v->n, (uint32_t)v->nfc,
		(uint32_t)v->add_prefix_space, (uint32_t)v->sp_prepend,
		(uint32_t)v->sp_split, (uint32_t)v->byte_fallback,
		(uint32_t)v->fuse_unk, (uint32_t)v->ignore_merges,
		(uint32_t)v->rank_by_id, (uint32_t)v->unk};
	XXH3_state_t h;

	XXH3_64bits_reset(&h);
	mix(&h, how, sizeof(how));
	for (uint32_t i = 0; i < v->n; i++)
		mix(&h, v->token[i].p, v->token[i].n);
	mix(&h, v->merge, v->nmerges * sizeof(*v->merge));
	for (size_t i = 0; i < v->nsplit; i++) {
		const char *re = pattern_regex(v->split[i].p);

		mix(&h, re, re ? strlen(re) : 0);
		how[0] = (uint32_t)v->split_behavior[i] &
			~(uint32_t)SPLIT_SIMPLE_FOLD;	/* rank_by_id */
		mix(&h, how, sizeof(how[0]));
	}
	for (size_t i = 0; i < v->nspecial; i++) {
		const struct vocab_special *x = &v->special[i];
		uint32_t s[3] = {x->id, (uint32_t)x->special,
			(uint32_t)x->normalized};

		if (!x->special)
			s[2] |= (uint32_t)(x->lstrip << 1 | x->rstrip << 2 |
				x->single_word << 3 |
				(x->normalized && v->metaspace) << 4);
		mix(&h, s, sizeof(s));
	}
	return XXH3_64bits_digest(&h);
}

static int
cmp_text(const void *a, const void *b)
{
	const struct vocab_special *x = *(const struct vocab_special *const *)a;
	const struct vocab_special *y = *(const struct vocab_special *const *)b;
	size_t n = x->text.n < y->text.n ? x->text.n : y->text.n;
	int r = memcmp(x->text.p, y->text.p, n);

	return r ? r : (x->text.n > y->text.n) - (x->text.n < y->text.n);
}

static void
sort_by_text(struct vocab *v)
{
	v->by_text = xcalloc(v->nspecial + 1, sizeof(*v->by_text));
	for (size_t i = 0; i < v->nspecial; i++)
		if (v->special[i].special && v->special[i].text.n)
			v->by_text[v->nby_text++] = &v->special[i];
	if (v->nby_text)
		qsort(v->by_text, v->nby_text, sizeof(*v->by_text), cmp_text);
}

void
vocab_finish(struct vocab *v)
{
	v->ours = layout_is_ours(v);
	if (v->ours) {
		if (v->bos < 0)
			v->bos = special_named(v, "<|bos|>");
		if (v->eos < 0)
			v->eos = special_named(v, "<|eos|>");
		if (v->eos < 0)
			v->eos = special_named(v, "<|endoftext|>");
	}
	v->fingerprint = fingerprint(v);
	sort_by_text(v);
}

static int
build_merges(struct vocab *v, const uint32_t (*pairs)[2], size_t n,
	     struct name_table *names, struct err *e)
{
	struct buf b = {0};

	for (size_t i = 0; i < n; i++) {
		uint32_t l = pairs[i][0], r = pairs[i][1];
		uint32_t id = 256 + (uint32_t)i;

		if (l >= id || r >= id) {
			err_set(e, "merge %zu: ids %u and %u, but only %u "
				"tokens exist so far", i, l, r, id);
			break;
		}
		buf_reset(&b);
		buf_put(&b, v->token[l].p, v->token[l].n);
		buf_put(&b, v->token[r].p, v->token[r].n);
		v->token[id] = vocab_keep(v, b.p, b.n);
		if (names_find(names, v->token[id]) >= 0) {
			err_set(e, "merge %zu: its bytes are already token "
				"%lld", i,
				(long long)names_find(names, v->token[id]));
			break;
		}
		names_add(names, id);
		memcpy(v->merge[i], (uint32_t[]){l, r, id}, 3 * sizeof(l));
	}
	buf_clear(&b);
	return e->set ? -1 : 0;
}

static int
build_special(struct vocab *v, const char *const *special, size_t n,
	      struct name_table *names, struct err *e)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t id = 256 + (uint32_t)(v->nmerges + i);
		int64_t same;

		v->token[id] = vocab_keep(v, special[i], strlen(special[i]));
		if (v->token[id].n == 0)
			return err_set(e, "special token %zu is empty", i + 1);
		same = names_find(names, v->token[id]);
		if (same >= 0)
			return err_set(e, "special token '%s' is already "
				       "token %lld", special[i],
				       (long long)same);
		names_add(names, id);
		v->flags[id] = VOCAB_SPECIAL | VOCAB_ADDED;
		v->special[i] = (struct vocab_special){
			.text = v->token[id], .id = id, .special = 1};
	}
	return 0;
}

struct vocab *
vocab_build(const uint32_t (*pairs)[2], size_t nmerges,
	    const char *const *special, size_t nspecial,
	    const char *split_pattern, struct err *e)
{
	struct vocab *v = vocab_new(VOCAB_BYTE_LEVEL);
	struct name_table names;

	v->nmerges = nmerges;
	v->nspecial = nspecial;
	v->n = (uint32_t)(256 + nmerges + nspecial);
	v->token = xcalloc(v->n, sizeof(*v->token));
	v->flags = xcalloc(v->n, 1);
	v->merge = xcalloc(nmerges + 1, sizeof(*v->merge));
	v->special = xcalloc(nspecial + 1, sizeof(*v->special));
	names_init(&names, v->token, v->n);
	for (uint32_t i = 0; i < 256; i++) {
		v->token[i] = vocab_keep(v, (const char *)&vocab_id_byte[i], 1);
		v->flags[i] = VOCAB_BYTE;
		names_add(&names, i);
	}
	if (split_pattern && pattern_find(split_pattern) != PATTERN_NONE)
		vocab_add_split(v, span_str(split_pattern), SPLIT_ISOLATED);
	if (build_merges(v, pairs, nmerges, &names, e) < 0 ||
	    build_special(v, special, nspecial, &names, e) < 0) {
		names_clear(&names);
		vocab_free(v);
		return NULL;
	}
	names_clear(&names);
	vocab_finish(v);
	if (v->bos >= 0)	/* as vocab_json() writes it */
		v->front = (struct vocab_around){{(uint32_t)v->bos}, 1};
	return v;
}

int64_t
vocab_named(const struct vocab *v, const char *name)
{
	struct span s = span_str(name);
	size_t i;

	for (i = 0; i < v->nspecial; i++)
		if (span_eq(v->special[i].text, s))
			return v->special[i].id;
	for (i = 0; i < v->n; i++)
		if (span_eq(v->token[i], s))
			return (int64_t)i;
	return -1;
}

void
vocab_list_special(const struct vocab *v, size_t max, struct buf *b)
{
	size_t n = 0;

	for (size_t i = 0; i < v->nspecial; i++) {
		const struct vocab_special *s = &v->special[i];

		if (!s->special || n++ >= max)
			continue;
		buf_printf(b, "%s%.*s", n > 1 ? ", " : "", (int)s->text.n,
			   s->text.p);
	}
	if (n > max)
		buf_printf(b, " and %zu more", n - max);
	if (n == 0)
		buf_puts(b, "none");
}

/* Byte k of a text in by_text; -1: it has none. */
static int
byte_at(const struct vocab *v, size_t i, size_t k)
{
	struct span t = v->by_text[i]->text;

	return k < t.n ? (unsigned char)t.p[k] : -1;
}

const struct vocab_special *
vocab_special_at(const struct vocab *v, const char *p, size_t n)
{
	size_t lo = 0, hi = v->nby_text, k, end;

	for (k = 0; k < n && lo < hi; k++) {
		int c = (unsigned char)p[k];

		FIND_FIRST(lo, lo, hi, byte_at(v, lo, k) >= c);
		end = hi;
		FIND_FIRST(hi, lo, end, byte_at(v, hi, k) > c);
		if (lo < hi && v->by_text[lo]->text.n == k + 1 &&
		    v->by_text[lo]->special)
			return v->by_text[lo];
	}
	return NULL;
}

const struct vocab_special *
vocab_added(const struct vocab *v, uint32_t id)
{
	size_t i;

	FIND_FIRST(i, 0, v->nspecial, v->special[i].id >= id);
	return i < v->nspecial && v->special[i].id == id ? &v->special[i] :
		NULL;
}

void
vocab_put_token(const struct vocab *v, uint32_t id, struct buf *out)
{
	struct span t = v->token[id];

	if (v->kind == VOCAB_BYTE_LEVEL) {
		buf_put(out, t.p, t.n);
		return;
	}
	for (size_t i = 0; i < t.n; i++) {
		if (t.n - i >= 3 && memcmp(t.p + i, VOCAB_SPACE, 3) == 0) {
			buf_putc(out, ' ');
			i += 2;
		} else {
			buf_putc(out, t.p[i]);
		}
	}
}

int
vocab_decode(const struct vocab *v, const uint32_t *ids, size_t n,
	     int skip_special, struct buf *out, struct err *e)
{
	size_t start = out->n;
	int strip = v->kind == VOCAB_SENTENCEPIECE &&
		v->sp_prepend != VOCAB_PREPEND_NEVER;

	for (size_t i = 0; i < n; i++) {
		if (ids[i] >= v->n || !v->token[ids[i]].p)
			return err_set(e, "position %zu: id %u, but the "
				       "tokenizer has ids 0 to %u%s", i, ids[i],
				       v->n - 1, ids[i] < v->n ?
				       " without this one" : "");
		if (skip_special && (v->flags[ids[i]] & VOCAB_SPECIAL))
			continue;
		vocab_put_token(v, ids[i], out);
	}
	if (strip && out->n > start && out->p[start] == ' ') {
		memmove(out->p + start, out->p + start + 1, out->n - start - 1);
		out->n--;
	}
	return 0;
}

int
vocab_puts_space(const struct vocab *v, int64_t after)
{
	if (after < 0)
		return v->add_prefix_space || v->sp_prepend;
	return (v->add_prefix_space || v->sp_prepend == VOCAB_PREPEND_EACH ||
		v->sp_prepend == VOCAB_PREPEND_ALWAYS) &&
		vocab_added(v, (uint32_t)after);
}

uint64_t
vocab_text_bytes(const struct vocab *v, struct span t, int space_put)
{
	uint64_t n = t.n;
	size_t i;

	if (v->kind != VOCAB_SENTENCEPIECE)
		return n - (space_put && n && t.p[0] == ' ');
	for (i = 2; i < t.n; i++)
		if (!memcmp(t.p + i - 2, VOCAB_SPACE, 3))
			n -= 2;
	return n - (space_put && t.n > 2 && !memcmp(t.p, VOCAB_SPACE, 3));
}
