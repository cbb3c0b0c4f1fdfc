/* Shards: what is written is read, in every format; a flipped bit or a missing
 * end is an error; sets and pipes. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "tests/unit/shard_sets.h"

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

/* A tail whose own checksum is right, but not its number of documents. */
static void
counts_are_verified(void **state)
{
	struct text t = corpus(9, 12, 300, 3);
	struct shard_hint h;
	struct err e = {0};
	struct shards *s;
	unsigned char *b, *tail;
	uint64_t back, check;
	size_t n;

	(void)state;
	shard_hint_init(&h);
	write_set(path("counts"), SHARD_ASSAY, &t, 300, 0);
	b = slurp(path("counts/00000.tok"), &n);
	memcpy(&back, b + n - 32, 8);
	tail = b + n - back;
	tail[32]--;			/* docs */
	check = XXH3_64bits(tail, back - 16);
	memcpy(b + n - 16, &check, 8);
	spill(path("counts/00000.tok"), b, n);
	s = must_open(path("counts/00000.tok"), &h);
	assert_int_equal(shards_verify(s, &e), -1);
	assert_non_null(strstr(e.msg, "counts in the tail"));
	shards_close(s);
	free(b);
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

	/* a missing file and one from another run are detected */
	rename(path("r/00001.tok"), path("r1"));
	must_fail(path("r"), SHARD_AUTO, "a shard is missing");
	rename(path("r1"), path("r/00001.tok"));
	write_set(path("q"), SHARD_ASSAY, &u, 300, 200);
	rename(path("r/00001.tok"), path("r1"));
	rename(path("q/00001.tok"), path("r/00001.tok"));
	must_fail(path("r"), SHARD_AUTO, "from another run");
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trips),
		cmocka_unit_test(many_empty_documents),
		cmocka_unit_test(damage_is_seen),
		cmocka_unit_test(counts_are_verified),
		cmocka_unit_test(concatenated_is_valid),
		cmocka_unit_test(through_a_pipe),
		cmocka_unit_test(sets_replace_and_are_whole),
		cmocka_unit_test(ids_never_wrap),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
