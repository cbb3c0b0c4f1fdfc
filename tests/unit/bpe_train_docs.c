/*
 * bpe_train_docs.c - from documents to merges: against the merges of Hugging
 * Face's BpeTrainer (tests/data/train, tests/peers/make_train_golden.py), the
 * choice of documents, weights, and the merges replayed on the texts
 */
#include "tests/unit/test.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/utf8.h"
#include "tokenizer/bpe.h"
#include "tokenizer/bpe_train.h"
#include "tokenizer/bpe_train_docs.h"
#include "record/vocab.h"

#define TEXT "tests/data/text/"

static const char *const corpus[] = {
	TEXT "digitalgov.jsonl.zst", TEXT "emoji_names.jsonl.zst",
	TEXT "novels.jsonl.zst", TEXT "python.jsonl.zst",
	TEXT "rust.jsonl.zst", TEXT "soseki_neko.jsonl.zst",
	TEXT "sqlite_doc.jsonl.zst", TEXT "udhr.jsonl.zst",
};
enum { NCORPUS = sizeof corpus / sizeof *corpus };

struct run {
	struct bpe_train_docs o;
	struct doc_opts doc;
	const char *split;
	struct doc_stats stats;
	struct bpe_train t;
	struct err e;
};

static void
run_init(struct run *r, const char *const *paths, size_t n)
{
	memset(r, 0, sizeof *r);
	doc_opts_init(&r->doc);
	r->split = "gpt2";
	r->o = (struct bpe_train_docs){
		.paths = paths, .npaths = n, .doc = &r->doc, .frac = 1,
		.threads = 1
	};
}

static struct pretokens *
run_count(struct run *r)
{
	struct split *s;
	struct pretokens *p;

	r->e.set = 0;
	s = split_new(&r->split, NULL, 1, &r->e);
	assert_non_null(s);
	r->o.split = s;
	p = bpe_train_docs_count(&r->o, &r->stats, &r->e);
	split_free(s);
	return p;
}

static void
run_learn(struct run *r, uint32_t merges)
{
	const struct bpe_train_opts o = {.merges = merges, .min_count = 1};
	struct pretokens *p = run_count(r);

	assert_non_null(p);
	assert_int_equal(bpe_train_run(p, &o, &r->t, &r->e), 0);
	pretokens_free(p);
}

static void
assert_merges(const struct bpe_train *a, const struct bpe_train *b)
{
	assert_int_equal(a->n, b->n);
	assert_memory_equal(a->pair, b->pair, a->n * sizeof *a->pair);
	assert_memory_equal(a->count, b->count, a->n * sizeof *a->count);
}

/* ---- against the peer ---- */

static size_t
golden_load(const char *split, uint32_t (**pair)[2])
{
	char name[100];
	FILE *f;
	size_t n = 0;

	snprintf(name, sizeof name, "tests/data/train/%s.merges", split);
	f = fopen(name, "r");
	assert_non_null(f);
	*pair = xreallocarray(NULL, 5000, sizeof **pair);
	while (n < 5000 && fscanf(f, "%u %u", &(*pair)[n][0],
				  &(*pair)[n][1]) == 2)
		n++;
	fclose(f);
	return n;
}

static void
test_merges_of_the_peer(void **state)
{
	static const char *const split[] = {"gpt2", "cl100k"};
	uint32_t (*want)[2];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		size_t n = golden_load(split[i], &want);

		assert_int_equal(n, 4096 - 256 - 2);
		for (int threads = 1; threads <= 3; threads += 2) {
			struct run r;

			run_init(&r, corpus, NCORPUS);
			r.split = split[i];
			r.o.threads = threads;
			run_learn(&r, n);
			assert_int_equal(r.t.n, n);
			for (size_t k = 0; k < n; k++) {
				assert_int_equal(r.t.pair[k][0], want[k][0]);
				assert_int_equal(r.t.pair[k][1], want[k][1]);
			}
			bpe_train_clear(&r.t);
		}
		free(want);
	}
}

static void
test_any_order_of_files(void **state)
{
	const char *turned[NCORPUS];
	struct run a, b;

	(void)state;
	for (size_t i = 0; i < NCORPUS; i++)
		turned[i] = corpus[(i * 3 + 5) % NCORPUS];
	run_init(&a, corpus, NCORPUS);
	run_init(&b, turned, NCORPUS);
	run_learn(&a, 3000);
	run_learn(&b, 3000);
	assert_merges(&a.t, &b.t);
	assert_true(a.stats.digest_in == b.stats.digest_in);
	bpe_train_clear(&a.t);
	bpe_train_clear(&b.t);
}

/* ---- replay ---- */

/*
 * Count merge k on the whole text at its turn: the count reported, never above
 * that of the merge before, never zero.
 */
static void
test_replay_on_the_text(void **state)
{
	struct run r;
	struct pretokens *p;
	struct pretoken piece;
	size_t it = 0, n = 0, it2;
	uint32_t **id;
	size_t *len;
	uint64_t *count;

	(void)state;
	run_init(&r, corpus + 5, 1);
	run_learn(&r, 300);
	p = run_count(&r);
	while (pretokens_next(p, &it, &piece))
		n++;
	id = xcalloc(n, sizeof *id);
	len = xcalloc(n, sizeof *len);
	count = xcalloc(n, sizeof *count);
	for (it2 = it = 0; pretokens_next(p, &it, &piece); it2++) {
		len[it2] = piece.bytes.n;
		count[it2] = piece.count;
		id[it2] = xcalloc(piece.bytes.n, sizeof **id);
		for (size_t i = 0; i < piece.bytes.n; i++)
			id[it2][i] = vocab_byte_id[
				(unsigned char)piece.bytes.p[i]];
	}
	for (size_t k = 0; k < r.t.n; k++) {
		uint32_t a = r.t.pair[k][0], b = r.t.pair[k][1];
		uint64_t seen = 0;

		for (size_t w = 0; w < n; w++) {
			size_t to = 0, from = 0;

			for (size_t i = 0; i + 1 < len[w]; i++)
				if (id[w][i] == a && id[w][i + 1] == b)
					seen += count[w];
			while (from < len[w]) {
				int hit = from + 1 < len[w] &&
					id[w][from] == a &&
					id[w][from + 1] == b;

				id[w][to++] = hit ? 256 + k : id[w][from];
				from += hit ? 2 : 1;
			}
			len[w] = to;
		}
		assert_true(seen == r.t.count[k] && seen > 0);
		assert_true(k == 0 || seen <= r.t.count[k - 1]);
	}
	for (size_t w = 0; w < n; w++)
		free(id[w]);
	free(id);
	free(len);
	free(count);
	pretokens_free(p);
	bpe_train_clear(&r.t);
}

/* ---- the file that is written ---- */

static struct vocab *
vocab_of(const struct run *r, const char *pattern)
{
	static const char *const special[] = {"<|bos|>", "<|eos|>"};
	struct err e = {0};
	struct vocab *v = vocab_build((const uint32_t (*)[2])r->t.pair,
				      r->t.n, special, 2,
				      pattern, &e);

	assert_non_null(v);
	return v;
}

static struct vocab *
reloaded(const char *dir, const char *name, const struct buf *b,
	 const char *split)
{
	const char *path = test_path(dir, name);
	struct err e = {0};
	struct vocab *v;

	test_write(path, b->p, b->n);
	v = vocab_load(path, split, &e);
	if (!v)
		fail_msg("%s", e.msg);
	return v;
}

static int
is_utf8(struct span s)
{
	for (size_t i = 0; i < s.n; ) {
		int len = utf8_step(s.p + i, s.n - i);

		if (len < 0)
			return 0;
		i += len;
	}
	return 1;
}

/*
 * bytes(t) encodes to t alone, for every token that is text.  As one pre-token:
 * a pattern may split a token by itself ("'l", learned within "'ll").
 */
static void
assert_tokens_encode(const struct run *r)
{
	struct vocab *v = vocab_of(r, NULL);
	struct err e = {0};
	struct bpe *b = bpe_new(v, &e);
	struct bpe_enc *enc = bpe_enc_new(b, 0);
	struct ids ids = {0};
	size_t texts = 0;

	for (uint32_t t = 0; t < v->n; t++) {
		if (v->flags[t] & VOCAB_SPECIAL || !is_utf8(v->token[t]))
			continue;
		texts++;
		ids.n = 0;
		bpe_units(enc, v->token[t], &ids, &(struct err){0});
		if (ids.n != 1 || ids.v[0] != t)
			fail_msg("token %u: %zu ids, the first %u", t, ids.n,
				 ids.v[0]);
	}
	assert_true(texts > v->n * 8 / 10);
	free(ids.v);
	bpe_enc_free(enc);
	bpe_free(b);
	vocab_free(v);
}

/* A text of random characters of every length, some of them twice. */
static struct span
random_text(char *room, size_t chars)
{
	size_t n = 0;

	while (chars--) {
		static const uint32_t below[] = {
			128, 128, 0x800, 0x3000, 0xd800, 0x110000
		};
		uint32_t c = rng_below(3, RNG_TEST, 2 * chars + 1, below[
			rng_below(3, RNG_TEST, 2 * chars, 6)]);

		if (c >= 0xd800 && c < 0xe000)
			c = '\n';
		n += utf8_put(room + n, c);
		if (c % 3 == 0)
			n += utf8_put(room + n, c);
	}
	return (struct span){room, n};
}

static void
assert_same_ids(const struct vocab *v, struct bpe_enc *a, struct bpe_enc *b,
		struct span text)
{
	struct ids x = {0}, y = {0};
	struct buf back = {0};
	struct err e = {0};

	bpe_units(a, text, &x, &(struct err){0});
	bpe_units(b, text, &y, &(struct err){0});
	assert_int_equal(x.n, y.n);
	assert_memory_equal(x.v, y.v, x.n * sizeof *x.v);
	assert_int_equal(vocab_decode(v, x.v, x.n, 0, &back, &e), 0);
	assert_true(span_eq(buf_span(&back), text));
	buf_clear(&back);
	free(x.v);
	free(y.v);
}

/*
 * tokenizer.json and rank file, read back, encode alike; decoding restores the
 * text.
 */
static void
test_files_read_again(void **state)
{
	static const char *const split[] = {"gpt2", "cl100k", "o200k"};
	char *dir = test_folder(), *room = xmalloc(64 * 1024);

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct run r;
		struct vocab *v, *json, *ranks;
		struct bpe *a, *b;
		struct bpe_enc *x, *y;
		struct buf buf = {0};

		run_init(&r, corpus, NCORPUS);
		r.split = split[i];
		run_learn(&r, 6000);
		v = vocab_of(&r, pattern_regex(split[i]));
		vocab_json(v, &buf);
		json = reloaded(dir, "tokenizer.json", &buf, NULL);
		buf_reset(&buf);
		vocab_tiktoken(v, &buf);
		ranks = reloaded(dir, "ranks.tiktoken", &buf, split[i]);
		assert_true(json->ours && json->n == 6258);
		assert_true(json->fingerprint == v->fingerprint);
		assert_int_equal(ranks->n, 6256);
		a = bpe_new(json, &r.e);
		b = bpe_new(ranks, &r.e);
		assert_true(a && b);
		x = bpe_enc_new(a, 0);
		y = bpe_enc_new(b, 0);
		assert_tokens_encode(&r);
		for (size_t n = 1; n < 4000; n += n / 3 + 1)
			assert_same_ids(json, x, y, random_text(room, n));
		bpe_enc_free(x);
		bpe_enc_free(y);
		bpe_free(a);
		bpe_free(b);
		vocab_free(v);
		vocab_free(json);
		vocab_free(ranks);
		buf_clear(&buf);
		bpe_train_clear(&r.t);
	}
	free(room);
	test_remove(dir);
}

/* ---- weights ---- */

static const char *
file_make(const char *dir, const char *lines)
{
	const char *name = test_path(dir, "in.jsonl");

	test_write(name, lines, strlen(lines));
	return name;
}

static void
test_weights(void **state)
{
	char *dir = test_folder();
	const char *name = file_make(dir,
		"{\"text\":\"aa\",\"n\":3000000000}\n"
		"{\"text\":\"bb\",\"n\":5}\n{\"text\":\"cc\",\"n\":0}\n");
	const char *paths[] = {name};
	struct run r;

	(void)state;
	run_init(&r, paths, 1);
	r.doc.extra_key = "n";
	run_learn(&r, 10);
	assert_int_equal(r.t.n, 2);
	assert_int_equal(r.t.pair[0][0], vocab_byte_id['a']);
	assert_true(r.t.count[0] == 3000000000u && r.t.count[1] == 5);
	bpe_train_clear(&r.t);
	test_remove(dir);
}

static void
test_bad_weights(void **state)
{
	static const char *const bad[] = {
		"", ",\"n\":-1", ",\"n\":1.5", ",\"n\":\"x\"", ",\"n\":null",
		",\"n\":9223372036854775808", ",\"n\":\"\"", ",\"n\":[1]",
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		char line[200], *dir = test_folder();
		const char *paths[1];
		struct run r;
		struct pretokens *p;

		snprintf(line, sizeof line, "{\"text\":\"a\",\"n\":1}\n"
			 "{\"text\":\"bb\"%s}\nnot json\n", bad[i]);
		paths[0] = file_make(dir, line);
		run_init(&r, paths, 1);
		r.doc.extra_key = "n";
		assert_null(run_count(&r));
		assert_non_null(strstr(r.e.msg, ":2: the weight"));
		r.doc.on_bad = DOC_SKIP;
		p = run_count(&r);
		assert_non_null(p);
		assert_int_equal(r.stats.docs_bad, 2);
		assert_int_equal(r.stats.docs_kept, 1);
		pretokens_free(p);
		test_remove(dir);
	}
}

/* ---- the choice of documents ---- */

static void
test_sample(void **state)
{
	const char *turned[] = {corpus[7], corpus[2], corpus[0]};
	const char *straight[] = {corpus[0], corpus[2], corpus[7]};
	struct run a, b;

	(void)state;
	run_init(&a, straight, 3);
	run_init(&b, turned, 3);
	a.o.frac = b.o.frac = 0.4;
	b.o.threads = 3;
	run_learn(&a, 1000);
	run_learn(&b, 1000);
	assert_merges(&a.t, &b.t);
	assert_true(a.stats.digest_kept == b.stats.digest_kept);
	assert_in_range(a.stats.docs_kept, a.stats.docs_in / 4,
			a.stats.docs_in * 6 / 10);
	assert_int_equal(a.stats.docs_kept + a.stats.docs_dropped,
			 a.stats.docs_in);
	bpe_train_clear(&a.t);
	bpe_train_clear(&b.t);
}

static void
test_max_docs(void **state)
{
	const char *turned[] = {corpus[7], corpus[2], corpus[0]};
	const char *straight[] = {corpus[0], corpus[2], corpus[7]};
	struct run a, b;

	(void)state;
	run_init(&a, straight, 3);
	run_init(&b, turned, 3);
	a.o.max_docs = b.o.max_docs = 37;
	b.o.threads = 3;
	run_learn(&a, 1000);
	run_learn(&b, 1000);
	assert_merges(&a.t, &b.t);
	assert_int_equal(a.stats.docs_kept, 37);
	assert_int_equal(a.stats.docs_dropped, a.stats.docs_in - 37);
	assert_true(a.stats.digest_kept == b.stats.digest_kept);
	bpe_train_clear(&a.t);
	bpe_train_clear(&b.t);
	/* more than there are */
	run_init(&a, straight, 3);
	run_init(&b, straight, 3);
	a.o.max_docs = 100000;
	run_learn(&a, 1000);
	run_learn(&b, 1000);
	assert_merges(&a.t, &b.t);
	assert_true(a.stats.digest_kept == a.stats.digest_in);
	bpe_train_clear(&a.t);
	bpe_train_clear(&b.t);
}

/* The smallest ranks of a sample are the smallest of all. */
static void
test_max_docs_of_a_sample(void **state)
{
	struct run a, b;
	struct pretokens *p, *q;

	(void)state;
	run_init(&a, corpus, NCORPUS);
	run_init(&b, corpus, NCORPUS);
	a.o.max_docs = b.o.max_docs = 5;
	b.o.frac = 0.5;
	p = run_count(&a);
	q = run_count(&b);
	assert_true(a.stats.digest_kept == b.stats.digest_kept);
	pretokens_free(p);
	pretokens_free(q);
}

/* ---- limits ---- */

static void
test_memory_limit(void **state)
{
	struct run r;

	(void)state;
	run_init(&r, corpus, NCORPUS);
	r.o.mem = 100000;
	assert_null(run_count(&r));
	assert_non_null(strstr(r.e.msg, "limit of 100000:"));
}

static void
test_weights_overflow(void **state)
{
	char *dir = test_folder();
	const char *name = file_make(dir,
		"{\"text\":\"a b\",\"n\":1}\n"
		"{\"text\":\"a b\",\"n\":9223372036854775807}\n");
	const char *paths[] = {name};
	struct run r;

	(void)state;
	run_init(&r, paths, 1);
	r.doc.extra_key = "n";
	assert_null(run_count(&r));
	assert_non_null(strstr(r.e.msg, ":2: "));
	assert_non_null(strstr(r.e.msg, "2^63"));
	test_remove(dir);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_merges_of_the_peer),
		cmocka_unit_test(test_any_order_of_files),
		cmocka_unit_test(test_replay_on_the_text),
		cmocka_unit_test(test_files_read_again),
		cmocka_unit_test(test_weights),
		cmocka_unit_test(test_bad_weights),
		cmocka_unit_test(test_sample),
		cmocka_unit_test(test_max_docs),
		cmocka_unit_test(test_max_docs_of_a_sample),
		cmocka_unit_test(test_memory_limit),
		cmocka_unit_test(test_weights_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
