/* Windows of shards, from the reader or stored, against a naive definition. */
#include "tests/unit/shard_sets.h"

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
	assert_non_null(strstr(e.msg, "windows have 4 tokens, not 3"));
	shards_close(s);
	/* what only the native format holds is refused elsewhere */
	e.set = 0;
	assert_null(shard_writer_open(path("st2"), SHARD_LLMC, &info, 0, &e));
	assert_int_equal(access(path("st2"), F_OK), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(windows_as_defined),
		cmocka_unit_test(stored_windows),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
