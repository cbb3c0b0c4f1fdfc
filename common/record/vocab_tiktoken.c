/*
 * vocab_tiktoken.c - .tiktoken rank files
 *
 * One line per token: base64 of its bytes, a space, its rank, which is its id.
 * The file names neither the split nor the special tokens; for the published
 * files both are known by the hash of the content.  tiktoken merges any two
 * neighbours whose bytes together are a token, lowest rank first.  So every
 * way to cut a token into two tokens is a merge here, with the token's rank.
 */
#include <stdlib.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/mem.h"
#include "record/vocab_priv.h"

struct published {
	uint64_t hash;		/* XXH3 of the file, unpacked */
	const char *split;
	struct {
		const char *text;
		uint32_t id;
	} special[5];
};

static const struct published published[] = {
	{UINT64_C(0x3cb2fbe95939bd2d), "gpt2", {{"<|endoftext|>", 50256}}},
	{UINT64_C(0xf2d3fa62565e6e17), "gpt2", {{"<|endoftext|>", 50256}}},
	{UINT64_C(0xaa5d7bf38900641a), "cl100k", {{"<|endoftext|>", 100257},
		{"<|fim_prefix|>", 100258}, {"<|fim_middle|>", 100259},
		{"<|fim_suffix|>", 100260}, {"<|endofprompt|>", 100276}}},
	{UINT64_C(0x72a095e82ca109d6), "o200k", {{"<|endoftext|>", 199999},
		{"<|endofprompt|>", 200018}}},
};
enum { NPUBLISHED = sizeof(published) / sizeof(published[0]) };

static int
value64(char c)
{
	return c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ?
		c - 'a' + 26 : c >= '0' && c <= '9' ? c - '0' + 52 :
		c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Standard base64 with padding; -1: it is not. */
static int
decode64(struct span s, struct buf *out)
{
	buf_reset(out);
	if (s.n == 0 || s.n % 4)
		return -1;
	for (size_t i = 0; i < s.n; i += 4) {
		int pad = 0, last = i + 4 == s.n;
		uint32_t x = 0;

		for (size_t j = 0; j < 4; j++) {
			int d = value64(s.p[i + j]);

			if (s.p[i + j] == '=' && last && j >= 2) {
				pad++;
				d = 0;
			} else if (d < 0 || pad) {
				return -1;
			}
			x = x << 6 | (uint32_t)d;
		}
		for (int j = 0; j < 3 - pad; j++)
			buf_putc(out, (char)(x >> (16 - 8 * j)));
	}
	return 0;
}

static void
encode64(struct span s, struct buf *out)
{
	static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"abcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < s.n; i += 3) {
		uint32_t x = 0;
		size_t k = s.n - i < 3 ? s.n - i : 3;

		for (size_t j = 0; j < 3; j++)
			x = x << 8 | (j < k ? (uint8_t)s.p[i + j] : 0);
		for (size_t j = 0; j < 4; j++)
			buf_putc(out, j <= k ? digit[x >> (18 - 6 * j) & 63] :
				 '=');
	}
}

/* A rank: digits only, below 2^31 - 1. */
static int64_t
rank_of(struct span s)
{
	int64_t x = 0;

	if (s.n == 0 || s.n > 10)
		return -1;
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] < '0' || s.p[i] > '9')
			return -1;
		x = x * 10 + (s.p[i] - '0');
	}
	return x < INT32_MAX ? x : -1;
}

/* Room for id; the ids before it may still be unused. */
static void
grow(struct vocab *v, uint32_t id)
{
	struct vocab_priv *a = v->priv;

	GROW(v->token, a->cap, (size_t)id + 1);
	GROW(v->flags, a->flags_cap, (size_t)id + 1);
	for (; v->n <= id; v->n++) {
		v->token[v->n] = (struct span){NULL, 0};
		v->flags[v->n] = 0;
	}
}

struct line {
	struct span text;
	size_t number;
};

static int
read_line(struct vocab *v, struct line l, const char *path, struct buf *bytes,
	  struct err *e)
{
	const char *sp = memchr(l.text.p, ' ', l.text.n);
	struct span b64 = {l.text.p, sp ? (size_t)(sp - l.text.p) : 0};
	int64_t rank;

	if (l.number == 1 && (!sp || decode64(b64, bytes) < 0))
		return err_set(e, "%s: neither a tokenizer.json nor a rank "
			       "file (base64 of a token, a space, its rank)",
			       path);
	if (!sp)
		return err_set(e, "%s:%zu: no space found, expected base64 of "
			       "a token, a space, its rank", path, l.number);
	if (decode64(b64, bytes) < 0)
		return err_set(e, "%s:%zu: byte 1: '%.*s' is not base64", path,
			       l.number, (int)(b64.n > 60 ? 60 : b64.n), b64.p);
	rank = rank_of((struct span){sp + 1, l.text.n - b64.n - 1});
	if (rank < 0)
		return err_set(e, "%s:%zu: byte %zu: '%.*s' is not a rank",
			       path, l.number, b64.n + 2, (int)
			       (l.text.n - b64.n - 1 > 60 ? 60 :
				l.text.n - b64.n - 1), sp + 1);
	/* a huge rank must not allocate more than the file is worth */
	if ((uint64_t)rank > 2 * l.number + 1024)
		return err_set(e, "%s:%zu: rank %lld, but only %zu lines so "
			       "far: ranks are dense", path, l.number,
			       (long long)rank, l.number);
	if ((uint64_t)rank < v->n && v->token[rank].p)
		return err_set(e, "%s:%zu: rank %lld occurs twice",
			       path, l.number, (long long)rank);
	grow(v, (uint32_t)rank);
	v->token[rank] = vocab_keep(v, bytes->p, bytes->n);
	v->flags[rank] = bytes->n == 1 ? VOCAB_BYTE : 0;
	return 0;
}

static int
read_lines(struct vocab *v, const char *p, size_t n, const char *path,
	   struct err *e)
{
	struct buf bytes = {0};
	struct span rest = {p, n};
	struct line l = {{NULL, 0}, 0};

	while (span_line(&rest, &l.text)) {
		l.number++;
		if (l.text.n && l.text.p[l.text.n - 1] == '\r')
			l.text.n--;
		if (l.text.n && read_line(v, l, path, &bytes, e) < 0)
			break;
	}
	buf_clear(&bytes);
	return e->set ? -1 : 0;
}

static int
check_tokens(struct vocab *v, struct name_table *names, int holes,
	     const char *path, struct err *e)
{
	for (uint32_t i = 0; i < v->n; i++) {
		if (!v->token[i].p) {
			if (holes)
				continue;
			return err_set(e, "%s: no token has rank %u", path, i);
		}
		if (names_find(names, v->token[i]) >= 0)
			return err_set(e, "%s: ranks %lld and %u are the same "
				       "bytes", path, (long long)
				       names_find(names, v->token[i]), i);
		names_add(names, i);
	}
	return 0;
}

/* Every split of every token into two tokens, by the token's rank. */
static void
all_merges(struct vocab *v, const struct name_table *names)
{
	size_t cap = 0;

	for (uint32_t id = 0; id < v->n; id++) {
		struct span t = v->token[id];

		for (size_t k = 1; k < t.n; k++) {
			int64_t l = names_find(names, (struct span){t.p, k});
			int64_t r = l < 0 ? -1 : names_find(names,
				(struct span){t.p + k, t.n - k});

			if (r < 0)
				continue;
			GROW(v->merge, cap, v->nmerges + 1);
			memcpy(v->merge[v->nmerges++], (uint32_t[]){
				(uint32_t)l, (uint32_t)r, id}, 12);
		}
	}
}

static void
add_specials(struct vocab *v, const struct published *pub)
{
	for (size_t i = 0; i < 5 && pub->special[i].text; i++) {
		uint32_t id = pub->special[i].id;

		grow(v, id);
		v->token[id] = vocab_keep(v, pub->special[i].text,
					  strlen(pub->special[i].text));
		v->flags[id] = VOCAB_SPECIAL | VOCAB_ADDED;
		v->special = xreallocarray(v->special, v->nspecial + 1,
					   sizeof(*v->special));
		v->special[v->nspecial++] = (struct vocab_special){
			.text = v->token[id], .id = id, .special = 1};
	}
	v->eos = pub->special[0].id;
}

struct vocab *
vocab_from_tiktoken(const char *p, size_t n, const char *path,
		    const char *split, struct err *e)
{
	struct vocab *v = vocab_new(VOCAB_BYTE_LEVEL);
	const struct published *pub = NULL;
	struct name_table names = {0};
	char *pattern = NULL;
	uint64_t hash = XXH3_64bits(p, n);

	for (size_t i = 0; i < NPUBLISHED; i++)
		if (published[i].hash == hash)
			pub = &published[i];
	if (read_lines(v, p, n, path, e) < 0)
		goto bad;
	if (pub && !split)
		split = pub->split;
	if (!split) {
		err_set(e, "%s: not one of the published rank files: name the "
			"split (gpt2, cl100k, o200k, qwen2 or a regular "
			"expression)", path);
		goto bad;
	}
	pattern = pattern_split(split, e);
	if (!pattern)
		goto bad;
	names_init(&names, v->token, v->n);
	if (check_tokens(v, &names, pub != NULL, path, e) < 0)
		goto bad;
	all_merges(v, &names);
	v->rank_by_id = 1;
	v->ignore_merges = 1;	/* a piece that is a token is that token */
	if (pattern_find(pattern) != PATTERN_NONE)
		vocab_add_split(v, span_str(pattern), SPLIT_ISOLATED |
				SPLIT_SIMPLE_FOLD);
	if (pub)
		add_specials(v, pub);
	free(pattern);
	names_clear(&names);
	vocab_finish(v);
	return v;
bad:
	free(pattern);
	names_clear(&names);
	vocab_free(v);
	return NULL;
}

void
vocab_tiktoken(const struct vocab *v, struct buf *b)
{
	for (uint32_t i = 0; i < v->n; i++) {
		if (!v->token[i].p || (v->flags[i] & VOCAB_SPECIAL))
			continue;
		encode64(v->token[i], b);
		buf_printf(b, " %u\n", i);
	}
}
