/*
 * shard_sets.h - what the tests of shards share: a folder that goes away, a
 * corpus of random documents, sets written from it and held against it
 */
#ifndef SHARD_SETS_H
#define SHARD_SETS_H

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "record/shard.h"

static char root[] = "/tmp/assay-shard-XXXXXX";

struct text {			/* a corpus of random documents */
	size_t n;
	uint32_t *ids;
	size_t *end;
	char (*name)[24];
};

static inline struct text
corpus(size_t n, size_t longest, uint32_t vocab, uint64_t seed)
{
	struct text t = {n, NULL, xreallocarray(NULL, n + 1, sizeof(size_t)),
			 xreallocarray(NULL, n + 1, 24)};
	size_t i, j, k, at = 0, cap = 1;

	t.ids = xmalloc(4);
	for (i = 0; i < n; i++) {
		k = rng_below(seed, RNG_TEST, i * 2, longest + 1);
		if (i % 7 == 3)
			k = 0;
		while (at + k > cap)
			t.ids = xreallocarray(t.ids, cap *= 2, 4);
		for (j = 0; j < k; j++)
			t.ids[at + j] = (uint32_t)rng_below(seed + 1, RNG_TEST,
							    at + j, vocab);
		at += k;
		t.end[i] = at;
		snprintf(t.name[i], 24, "d,\"%zu", i);
	}
	return t;
}

static inline void
corpus_clear(struct text *t)
{
	free(t->ids);
	free(t->end);
	free(t->name);
}

static inline struct shard_info
info_of(uint32_t vocab)
{
	struct shard_info i = {.vocab = vocab, .bos = -1, .eos = vocab - 1,
			       .pad = -1, .fingerprint = 0x1234, .has_eos = 1,
			       .seq_len = 16};

	return i;
}

static inline const char *
path(const char *name)
{
	static char p[4][512];
	static int k;

	k = (k + 1) % 4;
	snprintf(p[k], sizeof(p[k]), "%s/%s", root, name);
	return p[k];
}

static inline void
write_set(const char *dir, enum shard_format f, const struct text *t,
	  uint32_t vocab, uint64_t shard_tokens)
{
	struct shard_info info = info_of(vocab);
	struct err e = {0};
	struct shard_writer *w = shard_writer_open(dir, f, &info, shard_tokens,
						   &e);
	size_t i, at = 0;

	if (!w)
		fail_msg("%s", e.msg);
	for (i = 0; i < t->n; at = t->end[i++])
		if (shard_write_doc(w, span_str(t->name[i]), t->ids + at,
				    t->end[i] - at, &e) < 0)
			fail_msg("%s", e.msg);
	if (shard_writer_commit(w, &e) < 0)
		fail_msg("%s", e.msg);
}

static inline struct shards *
must_open(const char *p, const struct shard_hint *h)
{
	struct err e = {0};
	struct shards *s = shards_open_hint(&p, 1, h, &e);

	if (!s)
		fail_msg("%s", e.msg);
	return s;
}

static inline void
must_fail(const char *p, enum shard_format f, const char *what)
{
	struct err e = {0};
	struct shards *s = shards_open(&p, 1, f, &e);

	if (s)
		fail_msg("%s was opened, expected: %s", p, what);
	if (!strstr(e.msg, what))
		fail_msg("message \"%s\", expected: %s", e.msg, what);
}

/* The stream is the corpus: tokens, documents, names where they are kept. */
static inline void
same_as(struct shards *s, const struct text *t, int bounds, int names)
{
	size_t n = t->n ? t->end[t->n - 1] : 0, i, at, m;
	uint32_t *ids = xreallocarray(NULL, n + 1, 4);
	struct shard_doc d;
	struct err e = {0};

	assert_int_equal(shards_info(s)->tokens, n);
	if (shards_verify(s, &e) < 0)
		fail_msg("%s", e.msg);
	for (at = i = 0; at < n; at += m) {	/* in uneven steps */
		m = rng_below(5, RNG_TEST, i++, 5000) + 1;
		m = m < n - at ? m : n - at;
		assert_int_equal(shards_read(s, at, m, ids + at, &e), 0);
	}
	assert_memory_equal(ids, t->ids, n * 4);
	free(ids);
	assert_int_equal(shards_read(s, n, 1, &(uint32_t){0}, &e), -1);
	e.set = 0;
	if (!bounds)
		return;
	assert_int_equal(shards_info(s)->docs, t->n);
	for (i = 0; i < t->n; i++) {
		assert_int_equal(shards_doc(s, i, &d, &e), 0);
		assert_int_equal(d.start, i ? t->end[i - 1] : 0);
		assert_int_equal(d.end, t->end[i]);
		if (names) {
			assert_int_equal(d.id.n, strlen(t->name[i]));
			assert_memory_equal(d.id.p, t->name[i], d.id.n);
		}
		if (d.end > d.start) {
			assert_int_equal(shards_doc_at(s, d.start, &e), i);
			assert_int_equal(shards_doc_at(s, d.end - 1, &e), i);
		}
	}
}

static inline void
remove_set(const char *name)
{
	char cmd[600];

	snprintf(cmd, sizeof(cmd), "rm -rf %s", path(name));
	assert_int_equal(system(cmd), 0);
}

static inline void *
slurp(const char *p, size_t *n)
{
	int fd = open(p, O_RDONLY);
	struct stat st;
	char *b;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	*n = (size_t)st.st_size;
	b = xaligned(*n + 8);
	assert_int_equal(read(fd, b, *n), *n);
	close(fd);
	return b;
}

static inline void
spill(const char *p, const void *b, size_t n)
{
	int fd = open(p, O_WRONLY | O_CREAT | O_TRUNC, 0666);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, b, n), n);
	close(fd);
}

/* 0: everything about these bytes is in order. */
static inline int
verdict(const void *p, size_t n)
{
	struct shard_hint h;
	struct err e = {0};
	struct shards *s;
	int r;

	shard_hint_init(&h);
	h.format = SHARD_ASSAY;
	s = shards_open_mem(p, n, "mem", &h, &e);
	r = s ? shards_verify(s, &e) : -1;
	assert_int_equal(r < 0, e.set);
	shards_close(s);
	return r;
}

static inline void
every_flip_and_cut(const char *file)
{
	size_t n, i;
	unsigned char *b = slurp(file, &n), bit;

	assert_int_equal(verdict(b, n), 0);
	for (i = 0; i < n; i++) {
		for (bit = 1; bit; bit <<= 1) {
			b[i] ^= bit;
			if (verdict(b, n) == 0)
				fail_msg("byte %zu of %zu, bit %u: not seen",
					 i, n, bit);
			b[i] ^= bit;
		}
	}
	for (i = 0; i < n; i++)
		if (verdict(b, i) == 0)
			fail_msg("cut to %zu of %zu bytes: not seen", i, n);
	free(b);
}

static inline int
setup(void **state)
{
	(void)state;
	return mkdtemp(root) ? 0 : -1;
}

static inline int
teardown(void **state)
{
	char cmd[64];

	(void)state;
	snprintf(cmd, sizeof(cmd), "rm -rf %s", root);
	return system(cmd);
}

#endif
