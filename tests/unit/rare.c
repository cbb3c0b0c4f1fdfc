/*
 * rare.c - counts of shards against a naive count, categories, steps
 */
#include "tests/unit/test.h"

#include "base/mem.h"
#include "tokenizer/bpe.h"
#include "rare/rare.h"
#include "rare/rare_counts.h"
#include "rare/rare_prompts.h"
#include "rare/rare_report.h"
#include "record/shard.h"

enum { V = 300 };

static uint32_t
draw(uint64_t *s, uint32_t n)
{
	*s = *s * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((*s >> 33) % n);
}

/* Documents of random ids; want gets the counts of a plain loop. */
static char *
make_shards(struct rare_count *want, unsigned docs)
{
	struct shard_info info = {.vocab = V, .bos = 298, .eos = 299,
				  .pad = -1, .has_bos = 1, .has_eos = 1};
	char *dir = test_folder(), id[16];
	struct shard_writer *w;
	struct err e = {0};
	uint64_t s = 7, n;
	uint32_t *ids = xmalloc(70000 * sizeof(*ids)), here[V];
	unsigned d, i;

	/* 20,000 tokens per file: several files, and documents that cross the
	 * reader's runs of 32,768 */
	w = shard_writer_open(dir, SHARD_ASSAY, &info, 20000, &e);
	assert_non_null(w);
	for (d = 0; d < docs; d++) {
		n = d == 5 ? 69000 : d == 6 ? 0 : draw(&s, 400);
		memset(here, 0, sizeof(here));
		ids[0] = 298;
		for (i = 1; i <= n; i++)
			ids[i] = draw(&s, 2) ? draw(&s, 290) : draw(&s, 3);
		ids[n + 1] = 299;
		for (i = 0; i < n + 2; i++)
			here[ids[i]]++;
		for (i = 0; i < V; i++) {
			want[i].count += here[i];
			want[i].docs += here[i] > 0;
			if (here[i] > want[i].top) {
				want[i].top = here[i];
				want[i].top_doc = d;
			}
		}
		snprintf(id, sizeof(id), "d%u", d);
		assert_int_equal(0, shard_write_doc(w, span_str(id), ids, n + 2,
						    &e));
	}
	assert_int_equal(0, shard_writer_commit(w, &e));
	free(ids);
	return dir;
}

static void
remove_folder(char *dir)
{
	char cmd[4200];

	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", dir);
	if (system(cmd))
		fail_msg("%s failed", cmd);
	free(dir);
}

static void
counts_as_a_plain_loop(void **state)
{
	struct rare_count want[V] = {{0}};
	char *dir = make_shards(want, 900);
	const char *path = dir;
	struct rare_counts c;
	struct shards *s;
	struct err e = {0};
	uint64_t all = 0;
	int t, i;

	(void)state;
	s = shards_open(&path, 1, SHARD_AUTO, &e);
	assert_non_null(s);
	for (i = 0; i < 298; i++)
		all += want[i].count;
	for (t = 1; t <= 7; t += 3) {
		assert_int_equal(0, rare_counts_get(&c, s, V, 298, 299, t, &e));
		assert_int_equal(c.tokens, all);
		assert_int_equal(c.boundary, 1800);
		assert_int_equal(c.docs, 900);
		for (i = 0; i < V; i++) {
			assert_int_equal(c.v[i].count, want[i].count);
			assert_int_equal(c.v[i].docs, want[i].docs);
			assert_int_equal(c.v[i].top, want[i].top);
			assert_int_equal(c.v[i].top_doc, want[i].top_doc);
		}
		rare_counts_clear(&c);
	}
	/* an id past the end is refused, and named */
	assert_int_equal(-1, rare_counts_get(&c, s, 299, 298, -1, 2, &e));
	assert_non_null(strstr(e.msg, "id 299"));
	shards_close(s);
	remove_folder(dir);
}

/* A document split by stored windows: every token once, no padding. */
static void
windows_count_once(void **state)
{
	struct shard_info info = {.vocab = V, .bos = -1, .eos = -1, .pad = 0,
				  .seq_len = 4, .policy = POLICY_BEST_FIT,
				  .windows = 1};
	static const uint32_t one[5] = {1, 2, 3, 4, 5}, two[3] = {5, 6, 7};
	const char *path;
	char *dir = test_folder();
	struct shard_writer *w;
	struct rare_counts c;
	struct shards *s;
	struct err e = {0};
	int i;

	(void)state;
	w = shard_writer_open(dir, SHARD_ASSAY, &info, 0, &e);
	assert_non_null(w);
	assert_int_equal(0, shard_write_window(w, one, 5,
		&(struct shard_part){span_str("a"), 0, 5, 0}, 1, &e));
	assert_int_equal(0, shard_write_window(w, two, 3,
		&(struct shard_part){span_str("a"), 4, 3, 1}, 1, &e));
	assert_int_equal(0, shard_writer_commit(w, &e));
	path = dir;
	s = shards_open(&path, 1, SHARD_AUTO, &e);
	assert_non_null(s);
	assert_int_equal(0, rare_counts_get(&c, s, V, -1, -1, 1, &e));
	assert_int_equal(c.tokens, 7);
	for (i = 0; i < 8; i++)
		assert_int_equal(c.v[i].count, i > 0);
	rare_counts_clear(&c);
	shards_close(s);
	remove_folder(dir);
}

/* "ab" = 256, "abc" = 257, "abcd" = 258; no pre-token is "a b". */
static struct vocab *
small_vocab(void)
{
	static const char *const special[] = {"<|bos|>", "<|eos|>"};
	const uint32_t a = vocab_byte_id['a'], sp = vocab_byte_id[' '];
	const uint32_t pairs[][2] = {
		{a, a + 1}, {256, a + 2}, {257, a + 3}, {a, sp}, {259, a + 1},
		{vocab_byte_id['<'], a}, {261, vocab_byte_id['>']}
	};
	struct err e = {0};
	struct vocab *v = vocab_build(pairs, TEST_COUNT(pairs), special, 2,
				      "gpt2", &e);

	assert_non_null(v);
	return v;
}

static void
categories(void **state)
{
	struct vocab *v = small_vocab();
	struct rare r;
	struct err e = {0};
	unsigned known = 0, i;

	(void)state;
	assert_int_equal(0, rare_init(&r, v, v->n + 3, &e));
	assert_int_equal(r.category[256], RARE_CAT_OK);
	assert_int_equal(r.category[260], RARE_CAT_UNREACHABLE_MULTI);
	assert_int_equal(r.category[262], RARE_CAT_UNREACHABLE_SPECIAL);
	assert_int_equal(r.category[v->n - 1], RARE_CAT_OK_SPECIAL);
	assert_int_equal(r.category[vocab_byte_id[0xe5]],
			 RARE_CAT_UNDECODEABLE);
	assert_int_equal(r.category[vocab_byte_id['a']], RARE_CAT_OK);
	/* 13 bytes that UTF-8 never uses: ids 124, 125, 177 to 187 */
	for (i = 0; i < v->n; i++) {
		assert_int_equal((r.flags[i] & RARE_UNUSED) != 0,
				 i == 124 || i == 125 ||
				 (i >= 177 && i <= 187));
		known += (r.flags[i] & RARE_UNUSED) != 0;
	}
	assert_int_equal(known, 13);
	for (; i < v->n + 3; i++) {
		assert_true(r.flags[i] & RARE_NO_TOKEN);
		assert_int_equal(r.category[i], RARE_CAT_NONE);
		assert_true(r.flags[i] & RARE_UNUSED);
	}
	rare_clear(&r);
	vocab_free(v);
}

static void
lists_of_unused(void **state)
{
	static const char *const bad[] = {
		"", ",", "1,", "5-2", "x", "7 ,8", "1-", "-1", "99999",
		"4294967295", "99999999999999999999"
	};
	struct rare r;
	struct err e = {0};
	size_t i;

	(void)state;
	assert_int_equal(0, rare_init(&r, NULL, 200, &e));
	assert_int_equal(0, rare_unused(&r, "7,9,100-120", &e));
	for (i = 0; i < 200; i++)
		assert_int_equal((r.flags[i] & RARE_UNUSED) != 0,
				 i == 7 || i == 9 || (i >= 100 && i <= 120));
	for (i = 0; i < TEST_COUNT(bad); i++) {
		e.set = 0;
		if (!rare_unused(&r, bad[i], &e))
			fail_msg("'%s' was accepted", bad[i]);
		assert_true(e.set);
	}
	rare_clear(&r);
}

/* "ab" occurs only in "abcd", which is frequent: a step. */
static void
steps_are_harmless(void **state)
{
	struct vocab *v = small_vocab();
	struct rare_counts c = {.n = v->n, .bos = v->bos, .eos = v->eos};
	struct rare_summary sum;
	struct rare r;
	struct err e = {0};

	(void)state;
	c.v = xcalloc(v->n, sizeof(*c.v));
	c.v[258].count = 50;
	c.v[124].count = 1;	/* a byte C0 after all */
	c.v[125].count = 1;
	assert_int_equal(0, rare_init(&r, v, v->n, &e));
	assert_int_equal(0, rare_unused(&r, "125", &e));
	rare_counts_join(&c, &r, 10);
	assert_int_equal(r.swallowed_by[256], 257);
	assert_int_equal(r.swallowed_by[257], 258);
	assert_int_equal(r.swallowed_by[258], RARE_NONE);
	assert_true(r.flags[256] & RARE_STEP);
	assert_false(r.flags[256] & RARE_RARE);
	assert_true(r.flags[vocab_byte_id['z']] & RARE_RARE);
	assert_false(r.flags[258] & (RARE_RARE | RARE_STEP));
	assert_false(r.flags[124] & RARE_UNUSED);
	assert_true(r.flags[125] & RARE_UNUSED);
	rare_summary_init(&sum, &r);
	assert_int_equal(sum.steps, 6);		/* a b c d ab abc */
	assert_int_equal(sum.special, 2);
	free(c.v);
	rare_clear(&r);
	vocab_free(v);
}

/* SentencePiece files may list a merge before those of its parts. */
static void
steps_in_any_order(void **state)
{
	struct vocab *v = small_vocab();
	struct rare_counts c = {.n = v->n, .bos = v->bos, .eos = v->eos};
	uint32_t keep[3];
	struct rare r;

	(void)state;
	c.v = xcalloc(v->n, sizeof(*c.v));
	c.v[258].count = 50;
	memcpy(keep, v->merge[1], sizeof(keep));	/* ab + c */
	memcpy(v->merge[1], v->merge[2], sizeof(keep));	/* abc + d */
	memcpy(v->merge[2], keep, sizeof(keep));
	memset(&r, 0, sizeof(r));
	r.vocab = v;
	r.n = v->n;
	r.category = xcalloc(v->n, 1);
	r.flags = xcalloc(v->n, sizeof(*r.flags));
	rare_counts_join(&c, &r, 10);
	assert_int_equal(r.swallowed_by[256], 257);
	assert_true(r.flags[256] & RARE_STEP);
	assert_true(r.flags[257] & RARE_STEP);
	free(c.v);
	rare_clear(&r);
	vocab_free(v);
}

/* The hole of each prompt is where the token is expected, and last. */
static void
prompts_have_the_token(void **state)
{
	struct rare_prompts p;
	struct vocab *v = small_vocab();
	struct buf b = {0};
	struct rare r;
	struct err e = {0};
	size_t i, n;

	(void)state;
	assert_int_equal(0, rare_init(&r, v, v->n, &e));
	assert_int_equal(0, rare_prompts_make(&p, &r, v->bos, &e));
	/* "abcd" fits between quotes; fifty of it are one pre-token, and merge
	 * into fifty tokens */
	assert_true(p.made[0] && p.made[1]);
	assert_int_equal(p.hole[0], 258);
	assert_int_equal(p.ids[0].v[0], (uint32_t)v->bos);
	for (n = 0, i = 0; i < p.ids[0].n; i++)
		n += p.ids[0].v[i] == 258;
	assert_int_equal(n, 41);
	rare_prompts_put(&p, 124, &b);
	assert_non_null(memmem(b.p, b.n, "\"continuation\":[124]", 20));
	assert_null(memmem(b.p, b.n, "258", 3));
	buf_clear(&b);
	rare_prompts_clear(&p);
	rare_clear(&r);
	vocab_free(v);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_as_a_plain_loop),
		cmocka_unit_test(windows_count_once),
		cmocka_unit_test(categories),
		cmocka_unit_test(lists_of_unused),
		cmocka_unit_test(steps_are_harmless),
		cmocka_unit_test(steps_in_any_order),
		cmocka_unit_test(prompts_have_the_token),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
