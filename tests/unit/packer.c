/*
 * packer: every token of every document is in its window once, whatever the
 * policy, and the counts say so.  The windows are collected as the sink gets
 * them and held against the documents, against a brute-force count and
 * against a slow best-fit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "pack/best_fit.h"
#include "pack/packer.h"

enum { DOCS = 300, MAXLEN = 400, MAXWIN = 40000, BIG_MEM = 64 << 20 };

struct seen_part {
	char id[24];
	uint64_t at;
	uint32_t n;
	int last;
};

struct seen {
	uint32_t *ids;
	size_t real, nparts;
	struct seen_part *part;
};

struct world {
	uint32_t *doc[DOCS];
	size_t len[DOCS];
	struct seen win[MAXWIN];
	size_t nwin;
	uint32_t stream[DOCS * MAXLEN];
	size_t nstream, ndocs;
	int fail_at;		/* the sink fails at this window; -1: never */
};

static struct world w;

static int
sink_doc(void *ctx, struct span id, const uint32_t *ids, size_t n,
	 struct err *e)
{
	char name[24];

	(void)ctx, (void)e;
	sprintf(name, "d%zu", w.ndocs);
	assert_int_equal(id.n, strlen(name));
	assert_memory_equal(id.p, name, id.n);
	memcpy(w.stream + w.nstream, ids, n * sizeof(*ids));
	w.nstream += n;
	w.ndocs++;
	return 0;
}

static int
sink_window(void *ctx, const uint32_t *ids, size_t real,
	    const struct shard_part *parts, size_t nparts, struct err *e)
{
	struct seen *s = &w.win[w.nwin];
	size_t i;

	(void)ctx;
	if ((int)w.nwin == w.fail_at)
		return err_set(e, "the sink fails");
	assert_true(w.nwin < MAXWIN);
	w.nwin++;
	s->real = real;
	s->nparts = nparts;
	s->ids = xmalloc(real * sizeof(*ids) + 1);
	memcpy(s->ids, ids, real * sizeof(*ids));
	s->part = xcalloc(nparts + 1, sizeof(*s->part));
	for (i = 0; i < nparts; i++) {
		memcpy(s->part[i].id, parts[i].id.p, parts[i].id.n);
		s->part[i].at = parts[i].at;
		s->part[i].n = parts[i].n;
		s->part[i].last = parts[i].last;
	}
	return 0;
}

static void
forget(void)
{
	size_t i;

	for (i = 0; i < w.nwin; i++) {
		free(w.win[i].ids);
		free(w.win[i].part);
	}
	w.nwin = w.nstream = w.ndocs = 0;
	w.fail_at = -1;
}

/* Documents of 0..max tokens, each token a number of its own. */
static void
make_docs(uint64_t seed, size_t max)
{
	uint32_t next = 1000;
	size_t d, i;

	for (d = 0; d < DOCS; d++) {
		free(w.doc[d]);
		w.len[d] = rng_below(seed, RNG_TEST, d, max + 1);
		if (d % 7 == 0)
			w.len[d] /= 10;
		w.doc[d] = xmalloc(w.len[d] * sizeof(uint32_t) + 1);
		for (i = 0; i < w.len[d]; i++)
			w.doc[d][i] = next++;
	}
}

static struct packer_stats
run(int policy, uint32_t T, int shuffle, uint64_t seed, size_t mem)
{
	const struct packer_opts o = {policy, T, shuffle, seed, mem, 4};
	const struct packer_sink sink = {NULL, sink_doc, sink_window};
	struct packer *p = packer_new(&o, &sink);
	struct packer_stats st;
	struct err e = {0};
	char name[24];
	size_t d;

	forget();
	for (d = 0; d < DOCS; d++) {
		sprintf(name, "d%zu", d);
		assert_int_equal(packer_add(p, span_str(name), w.doc[d],
					    w.len[d], &e), 0);
	}
	assert_int_equal(packer_finish(p, &e), 0);
	st = packer_stats(p);
	packer_free(p);
	return st;
}

static uint64_t
all_tokens(void)
{
	uint64_t n = 0;
	size_t d;

	for (d = 0; d < DOCS; d++)
		n += w.len[d];
	return n;
}

/* Of each four windows in a row, the greatest share of one document. */
static double
slow_largest(void)
{
	size_t i, j, k, d, tokens, sum[DOCS];
	double largest = 0;

	for (i = 0; i < w.nwin && (i == 0 || i + 4 <= w.nwin); i += 4) {
		memset(sum, 0, sizeof(sum));
		for (k = i, tokens = 0; k < i + 4 && k < w.nwin; k++)
			for (j = 0; j < w.win[k].nparts; j++) {
				d = strtoul(w.win[k].part[j].id + 1, NULL, 10);
				sum[d] += w.win[k].part[j].n;
				tokens += w.win[k].part[j].n;
			}
		for (d = 0; d < DOCS; d++)
			if ((double)sum[d] / tokens > largest)
				largest = (double)sum[d] / tokens;
	}
	return largest;
}

/*
 * Each part holds its document's tokens at its place; a document's tokens are
 * all there, once fresh; `last` stands where it ends.
 */
static void
check_windows(const struct packer_stats *st, uint32_t T)
{
	static uint8_t cover[DOCS][MAXLEN + 1];
	uint64_t repeated = 0, padding = 0, spanning = 0;
	size_t i, j, k, d;

	memset(cover, 0, sizeof(cover));
	for (i = 0; i < w.nwin; i++) {
		const struct seen *s = &w.win[i];
		const uint32_t *ids = s->ids;
		size_t sum = 0;

		assert_true(s->real >= 1 && s->real <= T + 1);
		for (j = 0; j < s->nparts; j++) {
			const struct seen_part *p = &s->part[j];

			d = strtoul(p->id + 1, NULL, 10);
			assert_true(d < DOCS && p->n > 0);
			assert_true(p->at + p->n <= w.len[d]);
			assert_memory_equal(ids, w.doc[d] + p->at,
					    p->n * sizeof(*ids));
			assert_int_equal(p->last, p->at + p->n == w.len[d]);
			for (k = 0; k < p->n; k++)
				cover[d][p->at + k]++;
			ids += p->n;
			sum += p->n;
		}
		assert_int_equal(sum, s->real);
		padding += T + 1 - s->real;
		spanning += s->nparts > 1;
	}
	for (d = 0; d < DOCS; d++)
		for (k = 0; k < w.len[d]; k++) {
			assert_true(cover[d][k] == 1 || cover[d][k] == 2 ||
				    (T == 1 && cover[d][k] <= 3));
			repeated += cover[d][k] - 1;
		}
	assert_int_equal(st->docs, DOCS);
	assert_int_equal(st->tokens, all_tokens());
	assert_int_equal(st->windows, w.nwin);
	assert_int_equal(st->padding, padding);
	assert_int_equal(st->spanning, spanning);
	assert_int_equal(st->repeated, repeated);
	assert_true(st->largest == slow_largest());
	assert_int_equal(st->windows * (T + 1),
			 st->tokens + st->repeated + st->padding);
}

static int
same_window(const struct seen *a, const struct seen *b)
{
	size_t i;

	if (a->real != b->real || a->nparts != b->nparts ||
	    memcmp(a->ids, b->ids, a->real * sizeof(*a->ids)))
		return 0;
	for (i = 0; i < a->nparts; i++)
		if (memcmp(&a->part[i], &b->part[i], sizeof(*a->part)))
			return 0;
	return 1;
}

static struct seen *
steal(size_t *n)
{
	struct seen *s = xmalloc(w.nwin * sizeof(*s) + 1);

	memcpy(s, w.win, w.nwin * sizeof(*s));
	*n = w.nwin;
	w.nwin = 0;
	return s;
}

static void
give_up(struct seen *s, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		free(s[i].ids);
		free(s[i].part);
	}
	free(s);
}

static void
every_token_once(void **state)
{
	static const uint32_t lens[] = {1, 2, 7, 64, 100, 399, 1000};
	size_t i;
	int policy, shuffle;

	(void)state;
	for (i = 0; i < sizeof(lens) / sizeof(lens[0]); i++)
		for (policy = POLICY_CONCAT; policy <= POLICY_PAD; policy++)
			for (shuffle = 0; shuffle < 2; shuffle++) {
				struct packer_stats st;

				if (!shuffle && policy == POLICY_CONCAT)
					continue;
				make_docs(i, lens[i] == 1 ? 20 : MAXLEN);
				st = run(policy, lens[i], shuffle, 5, BIG_MEM);
				check_windows(&st, lens[i]);
			}
	forget();
}

/* Plain concat: the stream is the documents, and the counts are a reader's. */
static void
concat_stream(void **state)
{
	static const uint32_t lens[] = {1, 3, 64, 500};
	size_t i, d, at, bound, k, spanning, batch;
	double largest, share;
	struct packer_stats st;
	uint32_t T;

	(void)state;
	for (i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		T = lens[i];
		make_docs(20 + i, MAXLEN);
		st = run(POLICY_CONCAT, T, 0, 0, BIG_MEM);
		assert_int_equal(w.nwin, 0);
		assert_int_equal(w.ndocs, DOCS);
		assert_int_equal(st.tokens, w.nstream);
		for (d = at = 0; d < DOCS; at += w.len[d++])
			assert_memory_equal(w.stream + at, w.doc[d],
					    w.len[d] * sizeof(uint32_t));
		assert_int_equal(st.windows, (at - 1) / T);
		assert_int_equal(st.padding + st.repeated, 0);
		for (k = spanning = 0; k < st.windows; k++) {
			int found = 0;

			for (d = bound = 0; d < DOCS; bound += w.len[d++])
				found |= w.len[d] && bound > k * T &&
				    bound <= k * T + T;
			spanning += found;
		}
		assert_int_equal(st.spanning, spanning);
		batch = (size_t)T * 4;
		for (k = 0, largest = 0; (k + 1) * batch <= at; k++)
			for (d = bound = 0; d < DOCS; bound += w.len[d++]) {
				size_t a = bound, b = bound + w.len[d];

				a = a > k * batch ? a : k * batch;
				b = b < (k + 1) * batch ? b : (k + 1) * batch;
				share = b > a ? (double)(b - a) / batch : 0;
				largest = share > largest ? share : largest;
			}
		assert_true(st.largest > 0 && st.largest == largest);
	}
	forget();
}

/* With --shuffle concat has the windows it has without, in another order. */
static void
concat_shuffled_is_concat(void **state)
{
	const uint32_t T = 50;
	size_t k, i, found = 0, windows, in_place = 0;
	uint32_t *stream;

	(void)state;
	make_docs(3, MAXLEN);
	run(POLICY_CONCAT, T, 0, 0, BIG_MEM);
	stream = xmalloc(w.nstream * sizeof(*stream));
	memcpy(stream, w.stream, w.nstream * sizeof(*stream));
	windows = (w.nstream - 1) / T;
	run(POLICY_CONCAT, T, 1, 9, BIG_MEM);
	assert_true(w.nwin == windows || w.nwin == windows + 1);
	for (k = 0; k < windows; k++)
		for (i = 0; i < w.nwin; i++)
			if (w.win[i].real == T + 1 &&
			    !memcmp(w.win[i].ids, stream + k * T,
				    (T + 1) * sizeof(*stream))) {
				found++;
				in_place += i == k;
			}
	assert_int_equal(found, windows);
	assert_true(in_place < windows / 10);
	free(stream);
	forget();
}

static void
shuffle_is_a_permutation(void **state)
{
	struct seen *plain, *shuffled, *again, *other;
	size_t n, m, i, k, differ = 0;
	int policy;

	(void)state;
	make_docs(4, MAXLEN);
	for (policy = POLICY_BEST_FIT; policy <= POLICY_PAD; policy++) {
		/* best-fit gives half of mem to the spool */
		run(policy, 64, 0, 0, BIG_MEM);
		plain = steal(&n);
		run(policy, 64, 1, 1, BIG_MEM);
		shuffled = steal(&m);
		assert_int_equal(n, m);
		for (i = 0; i < n; i++) {
			k = rng_permute(1, RNG_SHUFFLE, i, n);
			assert_true(same_window(&shuffled[i], &plain[k]));
		}
		run(policy, 64, 1, 1, BIG_MEM);
		again = steal(&m);
		for (i = 0; i < n; i++)
			assert_true(same_window(&shuffled[i], &again[i]));
		run(policy, 64, 1, 2, BIG_MEM);
		other = steal(&m);
		for (i = 0; i < n; i++)
			differ += !same_window(&shuffled[i], &other[i]);
		assert_true(differ > n / 2);
		give_up(plain, n);
		give_up(shuffled, n);
		give_up(again, n);
		give_up(other, n);
	}
}

/* A spool on disk gives what one in memory gives. */
static void
spool_on_disk(void **state)
{
	struct seen *big;
	size_t n, i;

	(void)state;
	make_docs(5, MAXLEN);
	run(POLICY_PAD, 100, 1, 3, BIG_MEM);
	big = steal(&n);
	run(POLICY_PAD, 100, 1, 3, 4096);
	assert_int_equal(n, w.nwin);
	for (i = 0; i < n; i++)
		assert_true(same_window(&big[i], &w.win[i]));
	give_up(big, n);
	forget();
}

/* A document that fits is whole; the waste is small; little memory is legal. */
static void
best_fit_splits_nothing_that_fits(void **state)
{
	const uint32_t T = 255;
	struct packer_stats st, pad;
	size_t i, j, d;
	int tiny;

	(void)state;
	make_docs(6, MAXLEN);
	pad = run(POLICY_PAD, T, 0, 0, BIG_MEM);
	for (tiny = 0; tiny < 2; tiny++) {
		st = run(POLICY_BEST_FIT, T, 0, 0, tiny ? 40000 : BIG_MEM);
		check_windows(&st, T);
		for (i = 0; i < w.nwin; i++)
			for (j = 0; j < w.win[i].nparts; j++) {
				d = strtoul(w.win[i].part[j].id + 1, NULL, 10);
				if (w.len[d] <= T + 1)
					assert_int_equal(w.win[i].part[j].n,
							 w.len[d]);
			}
		assert_true(st.windows < pad.windows);
		if (!tiny)
			assert_true(st.padding < st.tokens / 20);
	}
	forget();
}

/* Best-fit decreasing by looking at every bin; ties to the bin used last. */
static size_t
slow_bestfit(const uint32_t *len, size_t n, uint32_t room, uint32_t *bin)
{
	uint32_t *left = xcalloc(n + 1, sizeof(*left));
	uint64_t *used = xcalloc(n + 1, sizeof(*used)), now = 0;
	size_t bins = 0, b, best, i, l;

	for (l = room + 1; l-- > 0;)
		for (i = 0; i < n; i++) {
			if (len[i] != l)
				continue;
			for (b = 0, best = SIZE_MAX; b < bins; b++)
				if (left[b] >= l &&
				    (best == SIZE_MAX || left[b] < left[best] ||
				     (left[b] == left[best] &&
				      used[b] > used[best])))
					best = b;
			if (best == SIZE_MAX) {
				best = bins++;
				left[best] = room;
			}
			left[best] -= l;
			used[best] = ++now;
			bin[i] = best;
		}
	free(left);
	free(used);
	return bins;
}

static void
bestfit_is_best_fit(void **state)
{
	static const uint32_t rooms[] = {2, 3, 10, 63, 64, 65, 300, 5000,
		300000};
	uint32_t len[200], bin[200], slow[200];
	size_t i, k, n;

	(void)state;
	for (k = 0; k < 90; k++) {
		uint32_t room = rooms[k % 9];

		n = rng_below(k, RNG_TEST, 1000, 200) + 1;
		for (i = 0; i < n; i++)
			len[i] = 1 + rng_below(k, RNG_TEST, i,
					       k % 2 ? room : (room + 1) / 2);
		assert_int_equal(best_fit(len, n, room, bin),
				 slow_bestfit(len, n, room, slow));
		for (i = 0; i < n; i++)
			assert_int_equal(bin[i], slow[i]);
	}
	assert_int_equal(best_fit(len, 0, 10, bin), 0);
}

static void
nothing_and_little(void **state)
{
	const struct packer_sink sink = {NULL, sink_doc, sink_window};
	const uint32_t one[1] = {7};
	int policy, shuffle;

	(void)state;
	for (policy = POLICY_CONCAT; policy <= POLICY_PAD; policy++)
		for (shuffle = 0; shuffle < 2; shuffle++) {
			const struct packer_opts o = {policy, 8, shuffle, 1,
						      BIG_MEM, 4};
			struct packer *p = packer_new(&o, &sink);
			struct err e = {0};
			struct packer_stats st;

			forget();
			assert_int_equal(packer_finish(p, &e), 0);
			st = packer_stats(p);
			assert_int_equal(st.windows + st.tokens + st.docs, 0);
			packer_free(p);

			p = packer_new(&o, &sink);
			assert_int_equal(packer_add(p, span_str("d0"), one, 0,
						    &e), 0);
			assert_int_equal(packer_add(p, span_str("d1"), one, 1,
						    &e), 0);
			assert_int_equal(packer_finish(p, &e), 0);
			st = packer_stats(p);
			assert_int_equal(st.docs, 2);
			assert_int_equal(st.tokens, 1);
			assert_int_equal(w.nwin, packer_windowed(&o));
			packer_free(p);
		}
	forget();
}

/* An error of the sink comes back, from every road. */
static void
sink_errors(void **state)
{
	int policy, shuffle;

	(void)state;
	make_docs(8, MAXLEN);
	for (policy = POLICY_CONCAT; policy <= POLICY_PAD; policy++)
		for (shuffle = 0; shuffle < 2; shuffle++) {
			const struct packer_opts o = {policy, 32, shuffle, 1,
						      BIG_MEM, 4};
			const struct packer_sink sink = {NULL, sink_doc,
							 sink_window};
			struct packer *p = packer_new(&o, &sink);
			struct err e = {0};
			int r = 0;
			size_t d;
			char name[24];

			if (!packer_windowed(&o)) {
				packer_free(p);
				continue;
			}
			forget();
			w.fail_at = 3;
			for (d = 0; d < DOCS && !r; d++) {
				sprintf(name, "d%zu", d);
				r = packer_add(p, span_str(name), w.doc[d],
					       w.len[d], &e);
			}
			if (!r)
				r = packer_finish(p, &e);
			assert_int_equal(r, -1);
			assert_string_equal(e.msg, "the sink fails");
			packer_free(p);
		}
	forget();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_token_once),
		cmocka_unit_test(concat_stream),
		cmocka_unit_test(concat_shuffled_is_concat),
		cmocka_unit_test(shuffle_is_a_permutation),
		cmocka_unit_test(spool_on_disk),
		cmocka_unit_test(best_fit_splits_nothing_that_fits),
		cmocka_unit_test(bestfit_is_best_fit),
		cmocka_unit_test(nothing_and_little),
		cmocka_unit_test(sink_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
