/* Shards of other trainers: their layouts byte by byte, their faults, bounds
 * from special ids. */
#include "tests/unit/shard_sets.h"

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
	must_fail(path("x.bin"), SHARD_AUTO, "its header has 5 tokens");
	spill(path("x.bin"), p, 100);
	must_fail(path("x.bin"), SHARD_LLMC, "truncated");
	must_fail(path("lay/00000.bin"), SHARD_NANOGPT, "another format");
	free(p);
	spill(path("x.bin"), "abc", 3);
	must_fail(path("x.bin"), SHARD_NANOGPT, "not a multiple of the");
	must_fail(path("x.bin"), SHARD_AUTO,
		  "no magic number: name its format (nanogpt, ");
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
	static const uint64_t front[] = {3, 4, 7, 9};
	static const uint64_t behind[] = {1, 4, 5, 8, 9};
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
	h.id_bytes = 1;
	e.set = 0;
	assert_null(shards_open_hint((const char *[]){path("v.bin")}, 1, &h,
				     &e));
	assert_non_null(strstr(e.msg, "cannot hold a vocabulary of 70000"));
}

static void
beyond_four_gigabytes(void **state)
{
	const uint64_t tokens = UINT64_C(2) << 30;	/* 4 GiB, sparse */
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
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
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
