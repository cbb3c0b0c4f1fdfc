/*
 * Shards: what is written is read, in every format; a flipped bit or a
 * missing end is an error; other trainers' layouts byte by byte; windows
 * against a naive definition.
 */
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

static struct text
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

static void
corpus_clear(struct text *t)
{
	free(t->ids);
	free(t->end);
	free(t->name);
}

static struct shard_info
info_of(uint32_t vocab)
{
	struct shard_info i = {.vocab = vocab, .bos = -1, .eos = vocab - 1,
			       .pad = -1, .fingerprint = 0x1234, .has_eos = 1,
			       .seq_len = 16};

	return i;
}

static const char *
path(const char *name)
{
	static char p[4][512];
	static int k;

	k = (k + 1) % 4;
	snprintf(p[k], sizeof(p[k]), "%s/%s", root, name);
	return p[k];
}

static void
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

static struct shards *
must_open(const char *p, const struct shard_hint *h)
{
	struct err e = {0};
	struct shards *s = shards_open_hint(&p, 1, h, &e);

	if (!s)
		fail_msg("%s", e.msg);
	return s;
}

static void
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
static void
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

static void
remove_set(const char *name)
{
	char cmd[600];

	snprintf(cmd, sizeof(cmd), "rm -rf %s", path(name));
	assert_int_equal(system(cmd), 0);
}

static void
trip(enum shard_format f, uint32_t vocab, uint64_t shard_tokens, size_t docs,
     size_t longest)
{
	struct text t = corpus(docs, longest, vocab, f + docs);
	struct shard_hint h;
	struct shards *s;

	shard_hint_init(&h);
	if (f == SHARD_NANOGPT || f == SHARD_DATATROVE || f == SHARD_NPY)
		h.format = f;
	h.vocab = vocab;
	write_set(path("set"), f, &t, vocab, shard_tokens);
	s = must_open(path("set"), &h);
	assert_int_equal(shards_info(s)->format, f);
	same_as(s, &t, 1, f == SHARD_ASSAY || f == SHARD_NPY);
	shards_close(s);
	corpus_clear(&t);
	remove_set("set");
}

static void
round_trips(void **state)
{
	static const uint32_t vocab[] = {300, 65535, 65536, 65537, 200000};
	enum shard_format f;
	size_t v;

	(void)state;
	for (f = SHARD_ASSAY; f <= SHARD_NPY; f++)
		for (v = 0; v < 5; v++) {
			trip(f, vocab[v], 0, 50, 100);
			trip(f, vocab[v], 1000, 100, 300);
			trip(f, vocab[v], 0, 5, 200000);
			trip(f, vocab[v], 70000, 6, 200000);
		}
}

static void
many_empty_documents(void **state)
{
	struct text t = corpus(200000, 0, 300, 1);
	struct shard_hint h;
	struct shards *s;

	(void)state;
	shard_hint_init(&h);
	write_set(path("empty"), SHARD_ASSAY, &t, 300, 0);
	s = must_open(path("empty"), &h);
	same_as(s, &t, 1, 1);
	assert_int_equal(shards_windows(s, 16), 0);
	shards_close(s);
	corpus_clear(&t);
}

/* ---- damage ---- */
static void *
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

static void
spill(const char *p, const void *b, size_t n)
{
	int fd = open(p, O_WRONLY | O_CREAT | O_TRUNC, 0666);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, b, n), n);
	close(fd);
}

/* 0: everything about these bytes is in order. */
static int
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

static void
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

static void
damage_is_seen(void **state)
{
	struct text t = corpus(9, 12, 300, 3);

	(void)state;
	write_set(path("flip"), SHARD_ASSAY, &t, 300, 0);
	every_flip_and_cut(path("flip/00000.tok"));
	corpus_clear(&t);
	t = corpus(0, 0, 300, 3);
	write_set(path("flip"), SHARD_ASSAY, &t, 300, 0);
	every_flip_and_cut(path("flip/00000.tok"));
	corpus_clear(&t);
}

static void
concatenated_is_valid(void **state)
{
	struct text a = corpus(20, 100, 300, 1), all = corpus(40, 100, 300, 1);
	struct text b = {20, all.ids + all.end[19], NULL, all.name + 20};
	struct shard_hint h;
	struct shards *s;
	size_t i, na, nb;
	char *pa, *pb, *p;

	(void)state;
	b.end = xreallocarray(NULL, 20, sizeof(size_t));
	for (i = 0; i < 20; i++)
		b.end[i] = all.end[20 + i] - all.end[19];
	write_set(path("a"), SHARD_ASSAY, &a, 300, 0);
	write_set(path("b"), SHARD_ASSAY, &b, 300, 0);
	pa = slurp(path("a/00000.tok"), &na);
	pb = slurp(path("b/00000.tok"), &nb);
	p = xmalloc(na + nb);
	memcpy(p, pa, na);
	memcpy(p + na, pb, nb);
	spill(path("ab.tok"), p, na + nb);
	shard_hint_init(&h);
	s = must_open(path("ab.tok"), &h);
	same_as(s, &all, 1, 1);
	shards_close(s);
	for (i = 1; i < nb; i += 8) {		/* cut in the second */
		struct err e = {0};
		const char *q = path("cut.tok");

		spill(q, p, na + i);
		s = shards_open(&q, 1, SHARD_AUTO, &e);
		assert_null(s);
		assert_non_null(strstr(e.msg, "offset"));
	}
	free(p);
	free(pa);
	free(pb);
	free(b.end);
	corpus_clear(&a);
	corpus_clear(&all);
}

static void
through_a_pipe(void **state)
{
	struct text t = corpus(30, 100, 300, 9);
	const char *dir = path("pipe");
	struct err e = {0};
	struct shards *s;
	int old = dup(0), fd[2];
	size_t n;
	char *b;

	(void)state;
	write_set(dir, SHARD_ASSAY, &t, 300, 0);
	b = slurp(path("pipe/00000.tok"), &n);
	assert_int_equal(pipe(fd), 0);
	assert_int_equal(write(fd[1], b, n), n);
	close(fd[1]);
	dup2(fd[0], 0);
	close(fd[0]);
	s = shards_open(NULL, 0, SHARD_AUTO, &e);
	dup2(old, 0);
	close(old);
	if (!s)
		fail_msg("%s", e.msg);
	same_as(s, &t, 1, 1);
	shards_close(s);
	free(b);
	corpus_clear(&t);
}

/* ---- sets ---- */
static void
sets_replace_and_are_whole(void **state)
{
	struct text t = corpus(100, 100, 300, 5), u = corpus(20, 50, 300, 6);
	struct shard_info info = info_of(300);
	struct shard_hint h;
	struct shard_writer *w;
	struct err e = {0};
	struct shards *s;

	(void)state;
	shard_hint_init(&h);
	write_set(path("r"), SHARD_ASSAY, &t, 300, 1000);
	assert_int_equal(access(path("r/00003.tok"), F_OK), 0);

	/* an aborted writer harms nothing */
	w = shard_writer_open(path("r"), SHARD_ASSAY, &info, 0, &e);
	assert_non_null(w);
	assert_int_equal(shard_write_doc(w, span_str("x"), u.ids, 5, &e), 0);
	shard_writer_abort(w);
	s = must_open(path("r"), &h);
	same_as(s, &t, 1, 1);
	shards_close(s);

	/* a missing file and one of another run are seen */
	rename(path("r/00001.tok"), path("r1"));
	must_fail(path("r"), SHARD_AUTO, "a shard is missing");
	rename(path("r1"), path("r/00001.tok"));
	write_set(path("q"), SHARD_ASSAY, &u, 300, 200);
	rename(path("r/00001.tok"), path("r1"));
	rename(path("q/00001.tok"), path("r/00001.tok"));
	must_fail(path("r"), SHARD_AUTO, "of another run");
	rename(path("r1"), path("r/00001.tok"));

	/* a shorter set takes the place of the longer one */
	write_set(path("r"), SHARD_ASSAY, &u, 300, 0);
	assert_int_equal(access(path("r/00001.tok"), F_OK), -1);
	s = must_open(path("r"), &h);
	same_as(s, &u, 1, 1);
	shards_close(s);

	/* formats that share a name replace each other, index and all */
	write_set(path("r"), SHARD_MEGATRON, &u, 300, 0);
	assert_int_equal(access(path("r/00000.idx"), F_OK), 0);
	write_set(path("r"), SHARD_NANOGPT, &u, 300, 0);
	assert_int_equal(access(path("r/00000.idx"), F_OK), -1);
	must_fail(path("r"), SHARD_AUTO, "several formats");
	corpus_clear(&t);
	corpus_clear(&u);
}

static void
ids_never_wrap(void **state)
{
	struct shard_info info = info_of(65536);
	uint32_t ids[] = {1, 65535, 65536};
	struct err e = {0};
	struct shard_writer *w;
	enum shard_format f;

	(void)state;
	for (f = SHARD_ASSAY; f <= SHARD_JSONL; f++) {
		memset(&e, 0, sizeof(e));
		w = shard_writer_open(path("wrap"), f, &info, 0, &e);
		assert_non_null(w);
		assert_int_equal(shard_write_doc(w, span_str("doc7"), ids, 2,
						 &e), 0);
		assert_int_equal(shard_write_doc(w, span_str("doc7"), ids, 3,
						 &e), -1);
		assert_non_null(strstr(e.msg, "doc7: token 2 is id 65536"));
		shard_writer_abort(w);
	}
}

/* ---- other trainers' layouts, byte by byte ---- */
static uint64_t
le(const unsigned char *p, int n)
{
	uint64_t v = 0;

	while (n--)
		v = v << 8 | p[n];
	return v;
}

static struct text
tiny(void)
{
	struct text t = corpus(3, 0, 300, 1);

	t.ids = xreallocarray(t.ids, 5, 4);
	memcpy(t.ids, (uint32_t[]){7, 299, 8, 9, 299}, 20);
	t.end[0] = 2;
	t.end[1] = 2;
	t.end[2] = 5;
	return t;
}

static unsigned char *
file_of(const char *name, enum shard_format f, uint32_t vocab, size_t *n)
{
	struct text t = tiny();
	char full[64];

	write_set(path("lay"), f, &t, vocab, 0);
	corpus_clear(&t);
	snprintf(full, sizeof(full), "lay/%s", name);
	return slurp(path(full), n);
}

static void
ids_are(const unsigned char *p, int width)
{
	static const uint32_t want[] = {7, 299, 8, 9, 299};
	int i;

	for (i = 0; i < 5; i++)
		assert_int_equal(le(p + i * width, width), want[i]);
}

static void
layout_llmc(void **state)
{
	size_t n;
	unsigned char *p = file_of("00000.bin", SHARD_LLMC, 300, &n);

	(void)state;
	assert_int_equal(n, 1024 + 5 * 2);
	assert_int_equal(le(p, 4), 20240520);
	assert_int_equal(le(p + 4, 4), 1);
	assert_int_equal(le(p + 8, 4), 5);
	assert_int_equal(le(p + 12, 4), 0);
	ids_are(p + 1024, 2);
	free(p);
	p = file_of("00000.bin", SHARD_LLMC, 65537, &n);
	assert_int_equal(n, 1024 + 5 * 4);
	assert_int_equal(le(p, 4), 20240801);
	assert_int_equal(le(p + 4, 4), 7);
	ids_are(p + 1024, 4);
	free(p);
}

static void
layout_nanogpt(void **state)
{
	size_t n;
	unsigned char *p = file_of("00000.bin", SHARD_NANOGPT, 65536, &n);

	(void)state;
	assert_int_equal(n, 10);
	ids_are(p, 2);
	free(p);
	p = file_of("00000.bin.index", SHARD_NANOGPT, 65536, &n);
	assert_int_equal(n, 24);
	assert_int_equal(le(p + 16, 8), 5);
	free(p);
}

static void
layout_megatron(void **state)
{
	size_t n;
	unsigned char *p = file_of("00000.idx", SHARD_MEGATRON, 65499, &n);

	(void)state;
	assert_int_equal(n, 34 + 2 * 4 + 2 * 8 + 4 * 8);
	assert_memory_equal(p, "MMIDIDX\0\0", 9);
	assert_int_equal(le(p + 9, 8), 1);
	assert_int_equal(p[17], 8);
	assert_int_equal(le(p + 18, 8), 2);	/* the empty one has none */
	assert_int_equal(le(p + 26, 8), 4);	/* documents + 1 */
	assert_int_equal(le(p + 34, 4), 2);
	assert_int_equal(le(p + 38, 4), 3);
	assert_int_equal(le(p + 42, 8), 0);
	assert_int_equal(le(p + 50, 8), 4);	/* in bytes */
	assert_int_equal(le(p + 58, 8), 0);
	assert_int_equal(le(p + 66, 8), 1);
	assert_int_equal(le(p + 74, 8), 1);
	assert_int_equal(le(p + 82, 8), 2);
	free(p);
	p = file_of("00000.bin", SHARD_MEGATRON, 65499, &n);
	assert_int_equal(n, 10);
	ids_are(p, 2);
	free(p);
	p = file_of("00000.idx", SHARD_MEGATRON, 65500, &n);
	assert_int_equal(p[17], 4);
	free(p);
	p = file_of("00000.bin", SHARD_MEGATRON, 65500, &n);
	ids_are(p, 4);
	free(p);
}

static void
layout_datatrove(void **state)
{
	size_t n;
	unsigned char *p = file_of("00000.ds", SHARD_DATATROVE, 300, &n);

	(void)state;
	assert_int_equal(n, 10);
	ids_are(p, 2);
	free(p);
	p = file_of("00000.ds.index", SHARD_DATATROVE, 300, &n);
	assert_int_equal(n, 24);
	assert_int_equal(le(p, 8), 2);
	assert_int_equal(le(p + 8, 8), 2);
	assert_int_equal(le(p + 16, 8), 5);
	free(p);
	p = file_of("00000.ds.metadata", SHARD_DATATROVE, 300, &n);
	assert_int_equal(n, strlen("assay:0000000000001234|2\n5\n5"));
	assert_memory_equal(p, "assay:0000000000001234|2\n5\n5", n);
	free(p);
}

static void
layout_npy(void **state)
{
	size_t n;
	unsigned char *p = file_of("00000.npy", SHARD_NPY, 300, &n);
	char cmd[600];
	FILE *f;
	char line[3][64];

	(void)state;
	assert_int_equal(n, 10);
	ids_are(p, 2);
	free(p);
	snprintf(cmd, sizeof(cmd), "gzip -dc %s", path("lay/00000.csv.gz"));
	f = popen(cmd, "r");
	assert_non_null(fgets(line[0], 64, f));
	assert_non_null(fgets(line[1], 64, f));
	assert_non_null(fgets(line[2], 64, f));
	pclose(f);
	assert_string_equal(line[0], "0,2,,\"d,\"\"0\"\n");
	assert_string_equal(line[1], "2,2,,\"d,\"\"1\"\n");
	assert_string_equal(line[2], "2,5,,\"d,\"\"2\"\n");
}

static void
layout_jsonl(void **state)
{
	static const char want[] = "{\"id\":\"d,\\\"0\",\"ids\":[7,299]}\n"
		"{\"id\":\"d,\\\"1\",\"ids\":[]}\n"
		"{\"id\":\"d,\\\"2\",\"ids\":[8,9,299]}\n";
	size_t n;
	unsigned char *p = file_of("00000.jsonl", SHARD_JSONL, 300, &n);

	(void)state;
	assert_int_equal(n, sizeof(want) - 1);
	assert_memory_equal(p, want, n);
	free(p);
}

static void
other_formats_faults(void **state)
{
	size_t n;
	unsigned char *p = file_of("00000.bin", SHARD_LLMC, 300, &n);

	(void)state;
	spill(path("x.bin"), p, n - 1);
	must_fail(path("x.bin"), SHARD_AUTO, "its header says 5 tokens");
	spill(path("x.bin"), p, 100);
	must_fail(path("x.bin"), SHARD_LLMC, "truncated");
	must_fail(path("lay/00000.bin"), SHARD_NANOGPT, "another format");
	free(p);
	spill(path("x.bin"), "abc", 3);
	must_fail(path("x.bin"), SHARD_NANOGPT, "no whole number of ids");
	must_fail(path("x.bin"), SHARD_AUTO, "--shard-format nanogpt");
	must_fail(path("x.bin"), SHARD_MEGATRON, "is missing");
	spill(path("x.ds"), "abcd", 4);
	must_fail(path("x.ds"), SHARD_DATATROVE, "is missing");
	spill(path("x.ds.index"), "\3\0\0\0\0\0\0\0", 8);
	must_fail(path("x.ds"), SHARD_DATATROVE, "ends at token 3");
	p = file_of("00000.idx", SHARD_MEGATRON, 300, &n);
	p[50]++;			/* a pointer */
	spill(path("lay/00000.idx"), p, n);
	must_fail(path("lay"), SHARD_MEGATRON, "sequence 1 is at byte 5");
	p[50]--;
	p[37] ^= 0x80;			/* a length */
	spill(path("lay/00000.idx"), p, n);
	must_fail(path("lay"), SHARD_MEGATRON, "sequence 0 has -");
	p[37] ^= 0x80;
	spill(path("lay/00000.idx"), p, n - 1);
	must_fail(path("lay"), SHARD_MEGATRON, "too few");
	free(p);
	p = file_of("00000.csv.gz", SHARD_NPY, 300, &n);
	spill(path("lay/00000.csv.gz"), p, n / 2);
	must_fail(path("lay"), SHARD_NPY, "gzip");
	free(p);
	spill(path("z.tok"), "", 0);
	must_fail(path("z.tok"), SHARD_AUTO, "empty");
	must_fail(path("nothing"), SHARD_AUTO, "cannot open");
}

static void
bounds_from_special_ids(void **state)
{
	/* two files; EOT is 9; a document straddles them */
	static const uint16_t a[] = {9, 1, 2, 9, 9, 3}, b[] = {4, 9, 5};
	static const uint64_t front[] = {3, 4, 7, 9}, behind[] = {1, 4, 5, 8, 9};
	const char *v[2];
	struct shard_hint h;
	struct shard_doc d;
	struct shards *s;
	struct err e = {0};
	unsigned char llm[1024 + 12] = {0};
	uint32_t head[3] = {20240520, 1, 6};
	size_t i;

	(void)state;
	shard_hint_init(&h);
	h.eos = 9;
	h.format = SHARD_NANOGPT;
	spill(path("n0.bin"), a, sizeof(a));
	spill(path("n1.bin"), b, sizeof(b));
	v[0] = path("n0.bin");
	v[1] = path("n1.bin");
	s = shards_open_hint(v, 2, &h, &e);
	assert_non_null(s);
	assert_int_equal(shards_info(s)->docs, 5);
	for (i = 0; i < 5; i++) {
		assert_int_equal(shards_doc(s, i, &d, &e), 0);
		assert_int_equal(d.end, behind[i]);
	}
	assert_int_equal(shards_doc_at(s, 5, &e), 3);
	assert_int_equal(shards_doc_at(s, 6, &e), 3);
	shards_close(s);

	memcpy(llm, head, 12);
	memcpy(llm + 1024, a, 12);
	spill(path("l0.bin"), llm, sizeof(llm));
	head[2] = 3;
	memcpy(llm, head, 12);
	memcpy(llm + 1024, b, 6);
	spill(path("l1.bin"), llm, 1024 + 6);
	v[0] = path("l0.bin");
	v[1] = path("l1.bin");
	h.format = SHARD_AUTO;
	s = shards_open_hint(v, 2, &h, &e);
	assert_non_null(s);
	assert_int_equal(shards_info(s)->docs, 4);
	for (i = 0; i < 4; i++) {
		assert_int_equal(shards_doc(s, i, &d, &e), 0);
		assert_int_equal(d.start, i ? front[i - 1] : 0);
		assert_int_equal(d.end, front[i]);
	}
	shards_close(s);

	h.eos = -1;		/* nobody says: no bounds */
	s = shards_open_hint(v, 2, &h, &e);
	assert_non_null(s);
	assert_int_equal(shards_info(s)->docs, 0);
	assert_true(shards_doc_at(s, 3, &e) == UINT64_MAX);
	shards_close(s);
}

static void
ids_beyond_the_vocabulary(void **state)
{
	static const uint16_t a[] = {1, 2, 300, 4};
	struct shard_hint h;
	struct err e = {0};
	struct shards *s;
	uint32_t ids[4];

	(void)state;
	shard_hint_init(&h);
	h.format = SHARD_NANOGPT;
	h.vocab = 300;
	spill(path("v.bin"), a, sizeof(a));
	s = must_open(path("v.bin"), &h);
	assert_int_equal(shards_read(s, 0, 4, ids, &e), 0);
	shards_close(s);
	h.limit = 1;
	s = must_open(path("v.bin"), &h);
	assert_int_equal(shards_read(s, 0, 2, ids, &e), 0);
	assert_int_equal(shards_read(s, 1, 3, ids, &e), -1);
	assert_non_null(strstr(e.msg, "offset 4: token 2 is id 300, the "
			       "vocabulary has 300"));
	shards_close(s);
	/* 16 bits are too few for the vocabulary */
	h.vocab = 70000;
	h.width = 2;
	e.set = 0;
	assert_null(shards_open_hint((const char *[]){path("v.bin")}, 1, &h,
				     &e));
	assert_non_null(strstr(e.msg, "cannot hold a vocabulary of 70000"));
}

static void
beyond_four_gigabytes(void **state)
{
	const uint64_t tokens = UINT64_C(2) << 30;	/* 4 GiB of u16, sparse */
	const uint16_t mark[3] = {11, 12, 13};
	struct shard_hint h;
	struct err e = {0};
	struct shards *s;
	uint32_t ids[1024], to[1024];
	int fd = open(path("big.bin"), O_RDWR | O_CREAT, 0666);

	(void)state;
	if (ftruncate(fd, (off_t)(tokens + 3) * 2) < 0) {
		close(fd);
		skip();
	}
	assert_int_equal(pwrite(fd, mark, 6, (off_t)tokens * 2), 6);
	close(fd);
	shard_hint_init(&h);
	h.format = SHARD_NANOGPT;
	s = must_open(path("big.bin"), &h);
	assert_int_equal(shards_info(s)->tokens, tokens + 3);
	assert_int_equal(shards_read(s, tokens, 3, ids, &e), 0);
	assert_int_equal(ids[2], 13);
	assert_int_equal(shards_windows(s, 1024), tokens / 1024);
	assert_int_equal(shards_window(s, 1024, tokens / 1024 - 1, 1, ids, to,
				       NULL, NULL, &e), 0);
	assert_int_equal(to[1023], 11);
	shards_close(s);
	unlink(path("big.bin"));
}

/* ---- windows ---- */
static void
windows_as_defined(void **state)
{
	struct text t = corpus(60, 20, 300, 8);
	size_t n = t.end[t.n - 1], *doc = xreallocarray(NULL, n, sizeof(*doc));
	uint32_t ids[16], to[16], seg[16];
	uint8_t mask[16];
	struct shard_hint h;
	struct shards *s;
	struct err e = {0};
	uint64_t k;
	size_t i, j;
	int m;

	(void)state;
	for (i = j = 0; i < n; doc[i++] = j)
		while (t.end[j] <= i)
			j++;
	write_set(path("w"), SHARD_ASSAY, &t, 300, 200);
	shard_hint_init(&h);
	s = must_open(path("w"), &h);
	assert_int_equal(shards_windows(s, 16), (n - 1) / 16);
	for (k = 0; k < (n - 1) / 16; k++)
		for (m = 0; m < 2; m++) {
			assert_int_equal(shards_window(s, 16, k, m, ids, to,
						       mask, seg, &e), 0);
			for (i = 0; i < 16; i++) {
				size_t at = k * 16 + i, x;
				uint32_t want = 0;

				for (x = k * 16 + 1; x <= at; x++)
					want += doc[x] != doc[x - 1];
				assert_int_equal(ids[i], t.ids[at]);
				assert_int_equal(to[i], t.ids[at + 1]);
				assert_int_equal(seg[i], want);
				assert_int_equal(mask[i], !m ||
						 doc[at] == doc[at + 1]);
			}
		}
	assert_int_equal(shards_window(s, 16, k, 1, ids, to, mask, seg, &e),
			 -1);
	shards_close(s);
	free(doc);
	corpus_clear(&t);
}

static void
stored_windows(void **state)
{
	struct shard_info info = info_of(300);
	static const uint32_t one[] = {1, 2, 3, 4, 5}, two[] = {5, 6, 7, 8};
	struct shard_part p1[] = {{span_str("a"), 0, 5, 0}};
	struct shard_part p2[] = {{span_str("a"), 4, 2, 1},
				  {span_str("b"), 0, 2, 1}};
	uint32_t ids[4], to[4], seg[4];
	uint8_t mask[4];
	struct shard_doc d;
	struct shard_hint h;
	struct shard_writer *w;
	struct err e = {0};
	struct shards *s;

	(void)state;
	info.seq_len = 4;
	info.windows = 1;
	info.policy = POLICY_BEST_FIT;
	info.pad = 299;
	w = shard_writer_open(path("st"), SHARD_ASSAY, &info, 0, &e);
	assert_non_null(w);
	assert_int_equal(shard_write_window(w, one, 5, p1, 1, &e), 0);
	assert_int_equal(shard_write_window(w, two, 4, p2, 2, &e), 0);
	assert_int_equal(shard_writer_commit(w, &e), 0);
	every_flip_and_cut(path("st/00000.tok"));
	shard_hint_init(&h);
	s = must_open(path("st"), &h);
	assert_int_equal(shards_verify(s, &e), 0);
	assert_int_equal(shards_windows(s, 4), 2);
	assert_int_equal(shards_windows(s, 3), 0);
	assert_int_equal(shards_info(s)->docs, 2);
	assert_int_equal(shards_info(s)->pieces, 3);
	assert_int_equal(shards_info(s)->padding, 1);
	assert_int_equal(shards_window(s, 4, 0, 1, ids, to, mask, seg, &e), 0);
	assert_memory_equal(ids, one, 16);
	assert_memory_equal(to, one + 1, 16);
	assert_memory_equal(mask, ((uint8_t[]){1, 1, 1, 1}), 4);
	assert_int_equal(shards_window(s, 4, 1, 1, ids, to, mask, seg, &e), 0);
	assert_memory_equal(ids, two, 16);
	assert_memory_equal(to, ((uint32_t[]){6, 7, 8, 299}), 16);
	assert_memory_equal(mask, ((uint8_t[]){1, 0, 1, 0}), 4);
	assert_memory_equal(seg, ((uint32_t[]){0, 0, 1, 1}), 16);
	assert_int_equal(shards_window(s, 4, 1, 0, ids, to, mask, seg, &e), 0);
	assert_memory_equal(mask, ((uint8_t[]){1, 1, 1, 0}), 4);
	assert_int_equal(shards_doc(s, 1, &d, &e), 0);
	assert_int_equal(d.from, 4);
	assert_false(d.first);
	assert_true(d.last);
	assert_int_equal(shards_window(s, 3, 0, 1, ids, to, mask, seg, &e), -1);
	assert_non_null(strstr(e.msg, "--seq-len 4"));
	shards_close(s);
	/* what only the native format holds is refused elsewhere */
	e.set = 0;
	assert_null(shard_writer_open(path("st2"), SHARD_LLMC, &info, 0, &e));
	assert_int_equal(access(path("st2"), F_OK), -1);
}

static int
setup(void **state)
{
	(void)state;
	return mkdtemp(root) ? 0 : -1;
}

static int
teardown(void **state)
{
	char cmd[64];

	(void)state;
	snprintf(cmd, sizeof(cmd), "rm -rf %s", root);
	return system(cmd);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trips),
		cmocka_unit_test(many_empty_documents),
		cmocka_unit_test(damage_is_seen),
		cmocka_unit_test(concatenated_is_valid),
		cmocka_unit_test(through_a_pipe),
		cmocka_unit_test(sets_replace_and_are_whole),
		cmocka_unit_test(ids_never_wrap),
		cmocka_unit_test(layout_llmc),
		cmocka_unit_test(layout_nanogpt),
		cmocka_unit_test(layout_megatron),
		cmocka_unit_test(layout_datatrove),
		cmocka_unit_test(layout_npy),
		cmocka_unit_test(layout_jsonl),
		cmocka_unit_test(other_formats_faults),
		cmocka_unit_test(bounds_from_special_ids),
		cmocka_unit_test(ids_beyond_the_vocabulary),
		cmocka_unit_test(beyond_four_gigabytes),
		cmocka_unit_test(windows_as_defined),
		cmocka_unit_test(stored_windows),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
