/*
 * head.c - cpu: loss and gradients without storing the logits
 *
 * Rows are processed in chunks whose exponentials fit a bounded buffer.  A
 * chunk takes four passes, each cut into tiles by shape alone:
 *
 *  1. Logits of a tile (256 rows, 512 ids) in f32 scratch; for each row the
 *     largest logit m and the sum of exp(l - m).  The buffer keeps exp(l - m)
 *     in the compute type: it is in [0, 1], so rounding costs 2^-9 relative,
 *     while a rounded logit would be off by 2^-9 of the logit.
 *  2. Rows: statistics of the tiles are combined, in tile order, to logZ and
 *     loss.
 *  3. A tile of ids: exponentials become dl = e * exp(m - logZ) * scale...,
 *     in place, and dw of these ids is one matmul with all rows.
 *  4. dh = dl * w in f32 for each chunk of ids, then summed in chunk order.
 */
#include "kernels/cpu/weight.h"

#include <math.h>
#include <string.h>

enum { BUFFER = 64 << 20 };	/* bytes of exponentials, about */
enum { CHUNK_ROWS = 1024 };

struct stat {
	float max, sum;
	int64_t arg;
};

struct head {
	struct cpu *c;
	const struct k_ce_head *a;
	const struct weight *w;
	int64_t r0, rows;	/* the chunk */
	int64_t row_n;		/* row tiles in it */
	int64_t vp;		/* row length of e */
	int64_t kn;		/* chunks of ids that have a token */
	int bad_padding;	/* padding in the last of them is not finite */
	char *e;		/* (rows, vp) exponentials, then dl */
	struct stat *stat;	/* (rows, ids tiles) */
	float *zscale;		/* (rows): scale * (1 + 2 zcoef logZ), or 0 */
	float *part;		/* (rows tiles, id chunks, 256, C) */
	const void *hdw;	/* (N, C): h, zero in rows without target where
				   it is not finite */
	const struct gemm *plan[2][2];		/* pass 1 */
	const struct gemm *dw[2][2];		/* pass 3: [last ids][last C] */
	const struct gemm *dh[2][2][2];		/* pass 4: + [last C] */
};

static int64_t
ids_in(const struct head *h, int64_t j)		/* real ids of tile j */
{
	int64_t left = h->a->v - j * h->w->fwd.part;

	return left < 0 ? 0 : cpu_min(left, h->w->fwd.part);
}

static int64_t
rows_in(const struct head *h, int64_t r)
{
	return part_len(h->rows, ROW_TILE, r);
}

static void
logits_row(struct head *h, const float *l, int64_t n, int64_t j)
{
	const struct k_ce_head *a = h->a;
	enum kdtype dt = a->w->dt;
	int64_t at = j * h->w->fwd.part, ids = ids_in(h, j);
	int64_t width = part_len(a->w->out, h->w->fwd.part, j);
	int64_t t = a->target[h->r0 + n];
	struct stat *s = &h->stat[n * h->w->fwd.n + j];
	void *e = a->dh ? cpu_at(h->e, dt, n * h->vp + at) : NULL;

	*s = (struct stat){ -INFINITY, 0, 0 };
	if (ids > 0)
		s->sum = h->c->vec->ce_stats(l, e, dt, ids, &s->max,
					     a->argmax ? &s->arg : NULL);
	s->arg += at;
	if (e && ids < width)
		memset(cpu_at(e, dt, ids), 0,
		       (size_t)(width - ids) * kdtype_size(dt));
	if (t >= at && t < at + ids)
		a->loss[h->r0 + n] = l[t - at];
}

static void
logits_task(void *arg, int64_t i, int thread)
{
	struct head *h = arg;
	const struct k_ce_head *a = h->a;
	int64_t j = i / h->row_n, r = i % h->row_n, part = h->w->fwd.part;
	float *l = cpu_own(h->c, thread);
	const struct gemm *g =
		h->plan[r == h->row_n - 1][j == h->w->fwd.n - 1];

	gemm_run(h->c, g, thread,
		 cpu_at(a->h, a->w->dt, (h->r0 + r * ROW_TILE) * a->w->in),
		 weight_tile_fwd(a->w, g, j), l);
	for (int64_t n = 0; n < rows_in(h, r); n++)
		logits_row(h, l + n * part, r * ROW_TILE + n, j);
}

/* Pass 2, one row; loss holds the target's logit until then. */
static void
join_row(struct head *h, int64_t n)
{
	const struct k_ce_head *a = h->a;
	const struct stat *s = h->stat + n * h->w->fwd.n;
	int64_t row = h->r0 + n, best = 0;
	double max = s[0].max, sum = 0, z;

	for (int64_t j = 1; j < h->w->fwd.n; j++)
		if (s[j].max > max || s[j].max != s[j].max)
			max = s[j].max, best = j;
	for (int64_t j = 0; j < h->w->fwd.n; j++)
		if (s[j].sum != 0)
			sum += s[j].sum * exp(s[j].max - max);
	z = max + log(sum);
	a->logz[row] = (float)z;
	a->loss[row] = a->target[row] < 0 ? 0 : (float)(z - a->loss[row]);
	if (a->argmax)
		a->argmax[row] = (int32_t)s[best].arg;
	if (a->max_logit)
		a->max_logit[row] = isnan(z) ? NAN : (float)max;
	h->zscale[n] = a->target[row] < 0 ? 0 :
		(float)(a->scale * (1 + 2 * a->zcoef * z));
}

static void
join_task(void *arg, int64_t i, int thread)
{
	struct head *h = arg;
	int64_t end = cpu_min((i + 1) * 32, h->rows);

	(void)thread;
	for (int64_t n = i * 32; n < end; n++)
		join_row(h, n);
}

/* Pass 3 for tile j of ids. */
static void
dlogits(struct head *h, int64_t j)
{
	const struct k_ce_head *a = h->a;
	enum kdtype dt = a->w->dt;
	int64_t at = j * h->w->fwd.part, ids = ids_in(h, j);

	for (int64_t n = 0; ids > 0 && n < h->rows; n++) {
		int64_t row = h->r0 + n, t = a->target[row];
		const struct stat *s = &h->stat[n * h->w->fwd.n + j];
		void *e = cpu_at(h->e, dt, n * h->vp + at);
		float f = h->zscale[n] == 0 ? 0 :
			h->zscale[n] * expf(s->max - a->logz[row]) /
			vec_exp_unit(dt);

		if (f == 0)
			memset(e, 0, (size_t)ids * kdtype_size(dt));
		else
			h->c->vec->ce_scale(e, dt, f, ids);
		if (t < at || t >= at + ids)
			continue;
		if (dt == K_F32)
			((float *)e)[t - at] -= a->scale;
		else	/* p - 1 in f32: exact where p is nearly 1 */
			kdtype_set(e, dt, t - at, h->zscale[n] *
				   expf(-a->loss[row]) - a->scale);
	}
}

/* Rows of dw without token in tile j; a bad row of h made them NaN. */
static void
zero_padding(struct head *h, int64_t j)
{
	const struct k_ce_head *a = h->a;
	int64_t at = j * h->w->fwd.part + ids_in(h, j);
	int64_t end = cpu_min(a->w->out, (j + 1) * h->w->fwd.part);

	if (at < end)
		memset(a->dw + at * a->w->in, 0,
		       (size_t)((end - at) * a->w->in) * sizeof *a->dw);
}

static void
dw_task(void *arg, int64_t j, int thread)
{
	struct head *h = arg;
	const struct k_ce_head *a = h->a;
	const struct weight *w = h->w;
	int64_t c = a->w->in;

	dlogits(h, j);
	for (int64_t i = 0; i < w->bwd.n; i++)
		gemm_run(h->c, h->dw[j == w->fwd.n - 1][i == w->bwd.n - 1],
			 thread, cpu_at(h->e, a->w->dt, j * w->fwd.part),
			 cpu_at(h->hdw, a->w->dt, h->r0 * c + i * w->bwd.part),
			 a->dw + j * w->fwd.part * c + i * w->bwd.part);
	zero_padding(h, j);
}

/* Pass 4: task = (row tile, chunk of ids). */
static void
dh_task(void *arg, int64_t i, int thread)
{
	struct head *h = arg;
	const struct k_ce_head *a = h->a;
	const struct weight *w = h->w;
	int64_t r = i / h->kn, kj = i % h->kn;
	float *part = h->part + i * ROW_TILE * a->w->in;

	for (int64_t j = 0; j < w->bwd.n; j++) {
		const struct gemm *g = h->dh[r == h->row_n - 1]
			[kj == h->kn - 1][j == w->bwd.n - 1];

		gemm_run(h->c, g, thread,
			 cpu_at(h->e, a->w->dt, r * ROW_TILE * h->vp +
				kj * w->bwd.kpart),
			 weight_tile_bwd(a->w, g, j, kj),
			 part + j * w->bwd.part);
	}
}

static void
dh_join_task(void *arg, int64_t r, int thread)
{
	struct head *h = arg;
	const struct k_ce_head *a = h->a;
	int64_t c = a->w->in, n = rows_in(h, r) * c;
	int64_t r0 = h->r0 + r * ROW_TILE;
	float *part = h->part + r * h->kn * ROW_TILE * c;

	(void)thread;
	for (int64_t kj = 1; kj < h->kn; kj++)
		h->c->vec->row_add(part, part + kj * ROW_TILE * c, 1, n);
	h->c->vec->cast(part, K_F32, cpu_at(a->dh, a->w->dt, r0 * c),
			a->w->dt, n);
	for (int64_t i = r0; i < r0 + n / c; i++)	/* even if w is NaN */
		if (a->target[i] < 0)
			memset(cpu_at(a->dh, a->w->dt, i * c), 0,
			       (size_t)c * kdtype_size(a->w->dt));
}

static const struct gemm *
plan_dw(struct head *h, int last_ids, int last_c, int accumulate)
{
	const struct kweight *w = h->a->w;
	struct gemm_shape s = {
		.m = part_len(w->out, h->w->fwd.part,
			      last_ids ? h->w->fwd.n - 1 : 0),
		.n = part_len(w->in, h->w->bwd.part,
			      last_c ? h->w->bwd.n - 1 : 0),
		.k = h->rows, .lda = h->vp, .ta = 1, .ldb = w->in,
		.ldc = w->in, .dt = w->dt, .cdt = K_F32,
		.accumulate = accumulate,
	};

	return gemm_plan(h->c, &s);
}

/* For m rows, tile j of columns and chunk kj of ids. */
static const struct gemm *
plan_dh(struct head *h, int64_t m, int64_t kj, int64_t j)
{
	const struct kweight *w = h->a->w;
	const struct gemm *g = weight_plan_bwd(h->c, w, m, h->vp, j, kj,
					       w->in, K_F32, 0);

	if (h->bad_padding && kj == h->kn - 1)
		g = weight_plan_bwd_first(h->c, w, m, h->vp, j,
			h->a->v - kj * h->w->bwd.kpart, w->in, K_F32);
	return g;
}

/* Plans of this chunk: its last row tile may be short. */
static void
head_plans(struct head *h)
{
	const struct k_ce_head *a = h->a;
	const struct weight *w = h->w;

	for (int i = 0; i < 8; i++) {
		int r = i >> 2, x = i >> 1 & 1, y = i & 1;
		int64_t m = rows_in(h, r ? h->row_n - 1 : 0);

		h->plan[r][x] = weight_plan_fwd(h->c, a->w, m,
			x ? w->fwd.n - 1 : 0, w->fwd.part, K_F32, 0);
		if (!a->dh)
			continue;
		h->dw[r][x] = plan_dw(h, r, x, a->accumulate || h->r0 > 0);
		h->dh[r][x][y] = plan_dh(h, m, x ? h->kn - 1 : 0,
					 y ? w->bwd.n - 1 : 0);
	}
}

static void
head_chunk(struct head *h)
{
	const struct weight *w = h->w;

	h->row_n = (h->rows + ROW_TILE - 1) / ROW_TILE;
	head_plans(h);
	cpu_each(h->c, h->row_n * w->fwd.n, logits_task, h);
	cpu_each(h->c, (h->rows + 31) / 32, join_task, h);
	if (!h->a->dh)
		return;
	cpu_each(h->c, w->fwd.n, dw_task, h);
	cpu_each(h->c, h->row_n * h->kn, dh_task, h);
	cpu_each(h->c, h->row_n, dh_join_task, h);
}

/*
 * dw multiplies rows without target by zero, which is not enough where they
 * are not finite.  Returns h, or a copy without such rows.
 */
static const void *
masked_rows(struct cpu *c, const struct k_ce_head *a)
{
	enum kdtype dt = a->w->dt;
	int64_t width = a->w->in;
	size_t row = (size_t)width * kdtype_size(dt), all = (size_t)a->n * row;
	void *copy = NULL;

	if (c->plan_only)
		return cpu_spare(c, all);
	for (int64_t n = 0; n < a->n; n++) {
		if (a->target[n] >= 0 ||
		    cpu_finite(cpu_at(a->h, dt, n * width), dt, width))
			continue;
		if (!copy)
			copy = memcpy(cpu_spare(c, all), a->h, all);
		memset(cpu_at(copy, dt, n * width), 0, row);
	}
	return copy ? copy : a->h;
}

/*
 * dh needs the chunks of ids up to the last token.  Padding in the last one is
 * multiplied by zero, or left out where it is not finite.
 */
static void
padding(struct head *h)
{
	const struct k_ce_head *a = h->a;
	int64_t part = h->w->bwd.kpart, c = a->w->in, end;

	h->kn = (a->v + part - 1) / part;
	end = cpu_min(a->w->out, h->kn * part);
	h->bad_padding = a->dh && end > a->v && (h->c->plan_only ||
		!cpu_finite(cpu_at(a->w->data, a->w->dt, a->v * c), a->w->dt,
			    (end - a->v) * c));
}

/* Rows a chunk: whole row tiles, within the buffer. */
static int64_t
chunk_rows(const struct k_ce_head *a)
{
	int64_t r = BUFFER / a->w->out / (int64_t)kdtype_size(a->w->dt);

	r = cpu_min(r / ROW_TILE * ROW_TILE, CHUNK_ROWS);
	return cpu_min(r < ROW_TILE ? ROW_TILE : r, a->n);
}

void
cpu_ce_head(struct kernels *k, const struct k_ce_head *a)
{
	struct head h = { .c = cpu_of(k), .a = a, .w = a->w->priv };
	int64_t step = chunk_rows(a), tiles = (step + ROW_TILE - 1) / ROW_TILE;
	size_t e, stat, z, part;
	char *p;

	h.hdw = a->dh ? masked_rows(h.c, a) : a->h;
	padding(&h);
	h.vp = (a->w->out + 31) / 32 * 32;
	if (h.vp % 64 == 0)	/* rows a power of two apart share cache sets */
		h.vp += 32;
	e = a->dh ? (size_t)(step * h.vp) * kdtype_size(a->w->dt) : 0;
	stat = (size_t)(step * h.w->fwd.n) * sizeof *h.stat;
	z = (size_t)step * sizeof *h.zscale;
	part = a->dh ? (size_t)(tiles * h.w->bwd.kn * ROW_TILE * a->w->in) *
		sizeof *h.part : 0;
	p = cpu_shared(h.c, e + stat + z + part + 256);
	h.e = cpu_carve(&p, e);
	h.stat = cpu_carve(&p, stat);
	h.zscale = cpu_carve(&p, z);
	h.part = cpu_carve(&p, part);
	cpu_private(h.c, (size_t)(ROW_TILE * h.w->fwd.part) * sizeof(float));
	for (h.r0 = 0; h.r0 < a->n; h.r0 += step) {
		h.rows = cpu_min(step, a->n - h.r0);
		head_chunk(&h);
	}
}
