/*
 * matmul.c - cpu: matmuls with weights
 *
 * The output is cut into tiles of at most 256 rows by 512 columns (weight
 * gradients: 256 by 768, summed over chunks of rows that fit in cache); a task
 * computes one tile with sequential oneDNN matmuls.  Tasks that share a tile
 * of the weight follow each other.  A few rows do not go through oneDNN: they
 * stream the weight (vec->matvec).
 */
#include "kernels/cpu/weight.h"

#include <string.h>

enum { FEW_ROWS = 12, MATVEC_BYTES = 128 << 10, MATVEC_TASKS = 32 };
enum { DW_ROWS = 256, DW_COLS = 768,
       DW_CHUNK = 1024 };

/* A matmul in row and column tiles; plans by [last row][last column]. */
struct mm {
	struct cpu *c;
	const void *a;
	int64_t rows, row_part, row_n;
	int64_t cols, col_part, col_n;
	const struct gemm *plan[2][2];
	const struct gemm *kplan[2][2][3];	/* a sum in chunks: the plan of
						   the first, middle, last */
	int64_t kpart, kn;	/* length and number of chunks */
	int64_t o_step;
};

/* Which of three plans chunk k of n takes. */
static int
chunk_kind(int64_t k, int64_t n)
{
	return k == 0 ? 0 : k == n - 1 ? 2 : 1;
}

static void
mm_cut(struct mm *m, int64_t rows, int64_t row_max, int64_t row_unit,
       int64_t cols, int64_t col_part)
{
	m->rows = rows;
	m->row_part = cpu_part(rows, row_max, row_unit);
	m->row_n = (rows + m->row_part - 1) / m->row_part;
	m->cols = cols;
	m->col_part = col_part;
	m->col_n = (cols + col_part - 1) / col_part;
}

/* The last tile, or one that represents all others. */
static int64_t
mm_row(const struct mm *m, int last)
{
	return last ? m->row_n - 1 : 0;
}

static int64_t
mm_col(const struct mm *m, int last)
{
	return last ? m->col_n - 1 : 0;
}

static int64_t
mm_rows(const struct mm *m, int64_t i)
{
	return part_len(m->rows, m->row_part, i);
}

/* --- forward --- */

static void
matvec_task(void *arg, int64_t i, int thread)
{
	struct mm *m = arg;
	const struct k_matmul_fwd *a = m->a;

	(void)thread;
	m->c->vec->matvec(a, i * m->o_step,
			  cpu_min((i + 1) * m->o_step, a->w->out));
}

/* Outputs per task: about 128 KiB of weights, but enough tasks to share. */
static int64_t
matvec_step(const struct kweight *w)
{
	int64_t s = MATVEC_BYTES / (int64_t)kdtype_size(w->dt) / w->in;

	s = cpu_min(s, w->out / MATVEC_TASKS) / 4 * 4;
	return s < 4 ? 4 : s;
}

/* y = add for one tile, before the product is added to it. */
static void
copy_tile(const struct k_matmul_fwd *a, int64_t at, int64_t rows, int64_t cols)
{
	size_t n = (size_t)cols * kdtype_size(a->ydt);

	for (int64_t i = 0; a->add && a->add != a->y && i < rows; i++)
		memcpy(cpu_at(a->y, a->ydt, at + i * a->w->out),
		       cpu_at(a->add, a->ydt, at + i * a->w->out), n);
}

static void
fwd_task(void *arg, int64_t i, int thread)
{
	struct mm *m = arg;
	const struct k_matmul_fwd *a = m->a;
	int64_t j = i / m->row_n, r = i % m->row_n;
	int64_t at = r * m->row_part * a->w->out + j * m->col_part;
	const struct gemm *g = m->plan[r == m->row_n - 1][j == m->col_n - 1];

	copy_tile(a, at, mm_rows(m, r), part_len(m->cols, m->col_part, j));
	gemm_run(m->c, g, thread,
		 cpu_at(a->x, a->w->dt, r * m->row_part * a->w->in),
		 weight_tile_fwd(a->w, g, j), cpu_at(a->y, a->ydt, at));
}

void
cpu_matmul_fwd(struct kernels *k, const struct k_matmul_fwd *a)
{
	struct mm m = { .c = cpu_of(k), .a = a };
	const struct weight *w = a->w->priv;

	if (a->n <= FEW_ROWS) {
		m.o_step = matvec_step(a->w);
		cpu_each(m.c, (a->w->out + m.o_step - 1) / m.o_step,
			 matvec_task, &m);
		return;
	}
	mm_cut(&m, a->n, ROW_TILE, 16, a->w->out, w->fwd.part);
	for (int i = 0; i < 4; i++)
		m.plan[i >> 1][i & 1] = weight_plan_fwd(m.c, a->w,
			mm_rows(&m, mm_row(&m, i >> 1)), mm_col(&m, i & 1),
			a->w->out, a->ydt, a->add != NULL);
	cpu_each(m.c, m.row_n * m.col_n, fwd_task, &m);
}

/* --- gradient of the input --- */

/* Many outputs: chunks are summed in f32 in scratch, then rounded. */
static void
dx_chunks(struct mm *m, int64_t r, int64_t j, int thread)
{
	const struct k_matmul_dx *a = m->a;
	const struct weight *w = a->w->priv;
	int64_t rows = mm_rows(m, r), cols = part_len(m->cols, m->col_part, j);
	int lr = r == m->row_n - 1, lc = j == m->col_n - 1;
	float *sum = cpu_own(m->c, thread);

	for (int64_t kj = 0; kj < w->bwd.kn; kj++) {
		const struct gemm *g =
			m->kplan[lr][lc][chunk_kind(kj, w->bwd.kn)];

		gemm_run(m->c, g, thread,
			 cpu_at(a->dy, a->w->dt, r * m->row_part * a->w->out +
				kj * w->bwd.kpart),
			 weight_tile_bwd(a->w, g, j, kj), sum);
	}
	for (int64_t i = 0; i < rows; i++)
		m->c->vec->cast(sum + i * m->col_part, K_F32,
			cpu_at(a->dx, a->w->dt, (r * m->row_part + i) *
			       a->w->in + j * m->col_part), a->w->dt, cols);
}

static void
dx_task(void *arg, int64_t i, int thread)
{
	struct mm *m = arg;
	const struct k_matmul_dx *a = m->a;
	const struct weight *w = a->w->priv;
	int64_t j = i / m->row_n, r = i % m->row_n;
	const struct gemm *g = m->plan[r == m->row_n - 1][j == m->col_n - 1];

	if (w->bwd.kn > 1) {
		dx_chunks(m, r, j, thread);
		return;
	}
	gemm_run(m->c, g, thread,
		 cpu_at(a->dy, a->w->dt, r * m->row_part * a->w->out),
		 weight_tile_bwd(a->w, g, j, 0),
		 cpu_at(a->dx, a->w->dt,
			r * m->row_part * a->w->in + j * m->col_part));
}

void
cpu_matmul_dx(struct kernels *k, const struct k_matmul_dx *a)
{
	struct mm m = { .c = cpu_of(k), .a = a };
	const struct weight *w = a->w->priv;
	int64_t kn = w->bwd.kn;

	mm_cut(&m, a->n, ROW_TILE, 16, a->w->in, w->bwd.part);
	if (kn > 1)
		cpu_private(m.c, (size_t)(m.row_part * m.col_part) *
			    sizeof(float));
	for (int i = 0; i < 4; i++) {
		int64_t rows = mm_rows(&m, mm_row(&m, i >> 1));
		int64_t j = mm_col(&m, i & 1);

		if (kn == 1)
			m.plan[i >> 1][i & 1] = weight_plan_bwd(m.c, a->w,
				rows, a->w->out, j, 0, a->w->in, a->w->dt, 0);
		for (int p = 0; kn > 1 && p < 3; p++)
			m.kplan[i >> 1][i & 1][p] = weight_plan_bwd(m.c, a->w,
				rows, a->w->out, j, p == 2 ? kn - 1 : 0,
				m.col_part, K_F32, p > 0);
	}
	cpu_each(m.c, m.row_n * m.col_n, dx_task, &m);
}

/* --- gradient of the weight --- */

static void
dw_task(void *arg, int64_t i, int thread)
{
	struct mm *m = arg;
	const struct k_matmul_dw *a = m->a;
	int64_t r = i / m->col_n, j = i % m->col_n;
	int lr = r == m->row_n - 1, lc = j == m->col_n - 1;
	float *dw = a->dw + r * m->row_part * a->in + j * m->col_part;

	for (int64_t k = 0; k < m->kn; k++)
		gemm_run(m->c, m->kplan[lr][lc][chunk_kind(k, m->kn)], thread,
			 cpu_at(a->dy, a->dt, k * m->kpart * a->out +
				r * m->row_part),
			 cpu_at(a->x, a->dt, k * m->kpart * a->in +
				j * m->col_part), dw);
}

void
cpu_matmul_dw(struct kernels *k, const struct k_matmul_dw *a)
{
	struct mm m = { .c = cpu_of(k), .a = a };

	mm_cut(&m, a->out, DW_ROWS, 16, a->in, cpu_part(a->in, DW_COLS, 64));
	m.kpart = cpu_part(a->n, DW_CHUNK, 64);
	m.kn = (a->n + m.kpart - 1) / m.kpart;
	for (int i = 0; i < 12; i++) {
		int p = i >> 2;
		struct gemm_shape s = {
			.m = mm_rows(&m, mm_row(&m, i >> 1 & 1)),
			.n = part_len(m.cols, m.col_part, mm_col(&m, i & 1)),
			.k = part_len(a->n, m.kpart, p == 2 ? m.kn - 1 : 0),
			.lda = a->out, .ta = 1, .ldb = a->in, .ldc = a->in,
			.dt = a->dt, .cdt = K_F32,
			.accumulate = p > 0 || a->accumulate,
		};

		if (p == 0 || m.kn > 1)
			m.kplan[i >> 1 & 1][i & 1][p] = gemm_plan(m.c, &s);
	}
	cpu_each(m.c, m.row_n * m.col_n, dw_task, &m);
}
