/*
 * planted.c - the comparison of agree.c finds faults that are planted
 *
 * Each fault is a copy of the cpu table with one entry replaced by one that
 * makes a mistake which real code makes.  Cases of agree.c are run on it, in
 * fp32 and bf16: the comparison must report the fault in both.  A copy without
 * fault must pass.
 */
#include "tests/kernels/compare.h"
#include "tests/kernels/real.h"
#include "tests/kernels/tap.h"

static struct kernels *good;

/* A copy of n bytes, to be freed. */
static void *
saved(const void *p, size_t n)
{
	return memcpy(xmalloc(n), p, n);
}

/* --- the last row of a tile is not written --- */

enum { TILE_ROWS = 256 };

/* The last row of the first tile of rows. */
static int64_t
last_row(int64_t n)
{
	return (n < TILE_ROWS ? n : TILE_ROWS) - 1;
}

static void
matmul_fwd_row_lost(struct kernels *k, const struct k_matmul_fwd *a)
{
	size_t row = (size_t)a->w->out * kdtype_size(a->ydt);
	char *y = (char *)a->y + (size_t)last_row(a->n) * row;
	void *old = saved(y, row);

	good->matmul_fwd(k, a);
	memcpy(y, old, row);
	free(old);
}

static void
matmul_dx_row_lost(struct kernels *k, const struct k_matmul_dx *a)
{
	size_t row = (size_t)a->w->in * kdtype_size(a->w->dt);
	char *dx = (char *)a->dx + (size_t)last_row(a->n) * row;

	good->matmul_dx(k, a);
	memset(dx, 0, row);
}

/* The sum of a weight gradient without its last row. */
static void
matmul_dw_row_lost(struct kernels *k, const struct k_matmul_dw *a)
{
	struct k_matmul_dw b = *a;

	b.n -= a->n > 1;
	good->matmul_dw(k, &b);
}

/* --- the mask is off by one at a document boundary --- */

/* start moved by `by` for the first row of each document (-1), or all (1). */
static int32_t *
moved(const int32_t *start, int64_t b, int64_t t, int by)
{
	int32_t *s = xreallocarray(NULL, (size_t)(b * t), sizeof *s);

	for (int64_t i = 0; i < b * t; i++) {
		int64_t r = i % t;
		int first = start[i] == r;

		s[i] = start[i];
		if (by < 0 && first && r > 0)
			s[i]--;
		if (by > 0 && !first && start[i] > 0)
			s[i]++;
	}
	return s;
}

static void
attn_fwd_moved(struct kernels *k, const struct k_attn_fwd *a, int by)
{
	struct k_attn_fwd b = *a;
	int32_t *s = a->start ? moved(a->start, a->b, a->t, by) : NULL;

	b.start = s;
	good->attn_fwd(k, &b);
	free(s);
}

static void
attn_bwd_moved(struct kernels *k, const struct k_attn_bwd *a, int by)
{
	struct k_attn_bwd b = *a;
	int32_t *s = a->start ? moved(a->start, a->b, a->t, by) : NULL;

	b.start = s;
	good->attn_bwd(k, &b);
	free(s);
}

static void
attn_fwd_early(struct kernels *k, const struct k_attn_fwd *a)
{
	attn_fwd_moved(k, a, -1);
}

static void
attn_fwd_late(struct kernels *k, const struct k_attn_fwd *a)
{
	attn_fwd_moved(k, a, 1);
}

static void
attn_bwd_early(struct kernels *k, const struct k_attn_bwd *a)
{
	attn_bwd_moved(k, a, -1);
}

static void
attn_bwd_late(struct kernels *k, const struct k_attn_bwd *a)
{
	attn_bwd_moved(k, a, 1);
}

/* --- the gradient of one query head does not reach its key head --- */

static void
attn_bwd_head_lost(struct kernels *k, const struct k_attn_bwd *a)
{
	int64_t n = a->b * a->t, d = a->d, q = (a->h + 2 * a->g) * d;
	size_t e = kdtype_size(a->dt), head = (size_t)d * e;
	int64_t lost = a->h / a->g - 1;	/* the last of the first group */
	char *dq, *dout = saved(a->dout, (size_t)(n * a->h * d) * e);
	struct k_attn_bwd b = *a;

	good->attn_bwd(k, a);
	dq = saved(a->dqkv, (size_t)(n * q) * e);
	for (int64_t i = 0; i < n; i++)
		memset(dout + (size_t)((i * a->h + lost) * d) * e, 0, head);
	b.dout = dout;
	good->attn_bwd(k, &b);
	for (int64_t i = 0; i < n; i++) {
		size_t at = (size_t)(i * q + lost * d) * e;

		memcpy((char *)a->dqkv + at, dq + at, head);
	}
	free(dq);
	free(dout);
}

/* --- a chunk of the vocabulary is counted twice --- */

enum { CHUNK_IDS = 512 };

static double
logit(const struct k_ce_head *a, int64_t n, int64_t j)
{
	int64_t c = a->w->in;
	double l = 0;

	for (int64_t i = 0; i < c; i++)
		l += kt_at(a->h, a->w->dt, n * c + i) *
		     kt_at(a->w->data, a->w->dt, j * c + i);
	return l;
}

static int64_t
last_chunk(const struct k_ce_head *a)
{
	return (a->v - 1) / CHUNK_IDS * CHUNK_IDS;
}

/* In the sum of exponentials. */
static void
ce_head_sum_twice(struct kernels *k, const struct k_ce_head *a)
{
	good->ce_head(k, a);
	for (int64_t n = 0; n < a->n; n++) {
		double more = 0, z = a->logz[n];

		for (int64_t j = last_chunk(a); j < a->v; j++)
			more += exp(logit(a, n, j) - z);
		a->logz[n] = (float)(z + log1p(more));
		if (a->target[n] >= 0)
			a->loss[n] += (float)log1p(more);
	}
}

/* In dh. */
static void
ce_head_dh_twice(struct kernels *k, const struct k_ce_head *a)
{
	int64_t c = a->w->in;

	good->ce_head(k, a);
	for (int64_t n = 0; a->dh && n < a->n; n++)
		for (int64_t j = last_chunk(a); j < a->v; j++) {
			double z = a->logz[n], dl = a->scale *
				(exp(logit(a, n, j) - z) *
				 (1 + 2 * a->zcoef * z) - (j == a->target[n]));

			for (int64_t i = 0; a->target[n] >= 0 && i < c; i++)
				kt_set(a->dh, a->w->dt, n * c + i,
				       kt_at(a->dh, a->w->dt, n * c + i) +
				       dl * kt_at(a->w->data, a->w->dt,
						  j * c + i));
		}
}

/* In dw: a chunk of rows. */
static void
ce_head_dw_twice(struct kernels *k, const struct k_ce_head *a)
{
	int64_t c = a->w->in, n = a->n < 256 ? a->n : 256;
	struct k_ce_head b = *a;

	good->ce_head(k, a);
	if (!a->dh)
		return;
	b.n = n;
	b.accumulate = 1;
	b.dh = xmalloc((size_t)(n * c) * kdtype_size(a->w->dt));
	good->ce_head(k, &b);
	free(b.dh);
}

/* --- AdamW --- */

static void
adamw_step_before(struct kernels *k, const struct k_adamw *a)
{
	struct k_adamw b = *a;

	b.t -= a->t > 1;
	good->adamw(k, &b);
}

/* The last segment's weights are not written. */
static void
adamw_segment_lost(struct kernels *k, const struct k_adamw *a)
{
	const struct k_segment *s = &a->seg[a->nseg - 1];
	size_t e = kdtype_size(a->wdt), bytes = (size_t)s->n * e;
	char *w = (char *)a->w + (size_t)s->at * e;
	void *old = saved(w, bytes);

	good->adamw(k, a);
	memcpy(w, old, bytes);
	free(old);
}

/* The last segment is not updated at all. */
static void
adamw_segment_skipped(struct kernels *k, const struct k_adamw *a)
{
	struct k_adamw b = *a;

	b.nseg -= a->nseg > 1;
	good->adamw(k, &b);
}

/* --- what is between rows counts --- */

static void
stats_gaps(struct kernels *k, const struct k_stats *a)
{
	struct k_stats b = *a;

	b.cols = a->ld;
	good->stats(k, &b);
}

/* --- the list --- */

struct fault {
	const char *name, *cases;	/* those whose name begins so */
	void (*plant)(struct kernels *k);
};

#define FAULT(entry, how) \
static void plant_##entry##_##how(struct kernels *k) \
{ \
	k->entry = entry##_##how; \
}
FAULT(matmul_fwd, row_lost)
FAULT(matmul_dx, row_lost)
FAULT(matmul_dw, row_lost)
FAULT(attn_fwd, early)
FAULT(attn_fwd, late)
FAULT(attn_bwd, early)
FAULT(attn_bwd, late)
FAULT(attn_bwd, head_lost)
FAULT(ce_head, sum_twice)
FAULT(ce_head, dh_twice)
FAULT(ce_head, dw_twice)
FAULT(adamw, step_before)
FAULT(adamw, segment_lost)
FAULT(adamw, segment_skipped)
FAULT(stats, gaps)
#undef FAULT

static const struct fault faults[] = {
	{ "matmul_fwd drops the last row of a tile", "matmul",
	  plant_matmul_fwd_row_lost },
	{ "matmul_dx drops the last row of a tile", "matmul",
	  plant_matmul_dx_row_lost },
	{ "matmul_dw drops the last row", "matmul",
	  plant_matmul_dw_row_lost },
	{ "attn_fwd: a document's first row sees the row before it", "attn",
	  plant_attn_fwd_early },
	{ "attn_fwd: a document's first row is masked", "attn",
	  plant_attn_fwd_late },
	{ "attn_bwd: a document's first row sees the row before it", "attn",
	  plant_attn_bwd_early },
	{ "attn_bwd: a document's first row is masked", "attn",
	  plant_attn_bwd_late },
	{ "attn_bwd loses the gradient of one of several query heads", "attn",
	  plant_attn_bwd_head_lost },
	{ "ce_head counts a chunk of ids twice in logz", "ce_head",
	  plant_ce_head_sum_twice },
	{ "ce_head counts a chunk of ids twice in dh", "ce_head",
	  plant_ce_head_dh_twice },
	{ "ce_head counts a chunk of rows twice in dw", "ce_head",
	  plant_ce_head_dw_twice },
	{ "adamw corrects the bias of step t - 1", "adamw",
	  plant_adamw_step_before },
	{ "adamw does not write the weights of one segment", "adamw",
	  plant_adamw_segment_lost },
	{ "adamw skips a segment", "adamw", plant_adamw_segment_skipped },
	{ "stats reads what is between rows", "stats", plant_stats_gaps },
};

enum { FAULTS = sizeof faults / sizeof *faults };

/* The largest error of each fault by type, and of the table without. */
static double found[FAULTS][2], clean;

static double
error_of(struct kernels *k, const struct kt_case *c, enum kdtype dt, int seed,
	 const struct kt *ref)
{
	struct kt x;
	double e;

	kt_run(&x, k, c, dt, c->small == 0, seed, ref);
	e = kt_compare(&x, ref, NULL);
	kt_clear(&x);
	return e;
}

/* One run of a case on ref, and on every table whose fault it may find. */
static void
try_case(struct kernels *ref, const struct kt_case *c, enum kdtype dt,
	 int seed)
{
	struct kt y;

	kt_run(&y, ref, c, dt, c->small == 0, seed, NULL);
	clean = fmax(clean, error_of(good, c, dt, seed, &y));
	for (int i = 0; i < FAULTS; i++) {
		struct kernels bad = *good;

		if (strncmp(c->name, faults[i].cases, strlen(faults[i].cases)))
			continue;
		faults[i].plant(&bad);
		found[i][dt] = fmax(found[i][dt],
				    error_of(&bad, c, dt, seed, &y));
	}
	kt_clear(&y);
}

int
main(void)
{
	struct err e = {0};
	struct kernels *ref = kernels_open("ref", 1, &e);

	tap_start();
	good = kernels_open("cpu", 2, &e);
	for (int i = 0; i < KT_CASES + KT_REAL; i++)
		for (int dt = K_F32; dt <= K_BF16; dt++)
			for (int s = 0; s < 2; s++)
				try_case(ref, i < KT_CASES ? &kt_cases[i] :
					 &kt_real[i - KT_CASES],
					 (enum kdtype)dt, s);
	tap_ok(clean <= 1, "no fault: %.2g of the tolerance", clean);
	for (int i = 0; i < FAULTS; i++)
		tap_ok(found[i][K_F32] > 1 && found[i][K_BF16] > 1,
		       "%s: %.3g and %.3g times the tolerance",
		       faults[i].name, found[i][K_F32], found[i][K_BF16]);
	good->close(good);
	ref->close(ref);
	return tap_end();
}
