/*
 * cpu.h - the fast CPU table, private parts
 *
 * Matmuls go through oneDNN, everything else through the vector loops of
 * vec.h.  Work is cut into tiles by shape alone; an OpenMP team takes tiles
 * in any order, one thread computes a tile with a sequential oneDNN
 * primitive, and sums over tiles run in tile order.  So the bits do not depend
 * on the number of threads.
 *
 *	table.c   open, peak           pool.c   the team, scratch
 *	weight.c  weights as tiles     move.c   copies and zeros
 *	need.c    scratch of a run
 *	gemm.c    matmuls of tiles     plans.c  plans by shape
 *	dnnl.c    its primitives (the only file that includes oneDNN)
 *	matmul.c head.c attn.c attn_bwd.c rows.c optim.c stats.c  the entries
 *	attn_cache.c  the KV cache, and attention over it
 *	attn_nan.c  attention again, where a number is not finite
 *	vec_*     vector loops, once for each instruction set
 */
#ifndef ASSAY_CPU_H
#define ASSAY_CPU_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/cpu/vec.h"
#include "kernels/kernels.h"

/* Instruction sets, in rising order. */
enum cpu_isa { ISA_SCALAR, ISA_AVX2, ISA_AVX512, ISA_AVX512_BF16, ISA_AMX };

struct gemm;
struct gemms;
struct prims;

/* Memory that grows; its contents are lost when it does. */
struct cpu_scratch {
	char *p;
	size_t n;
};

/* The largest sizes that any entry asked for. */
struct cpu_sizes {
	size_t shared, spare, own, tile, work;
};

struct cpu {
	enum cpu_isa isa;
	int threads;
	int packed;		/* keep packed copies of bf16 weights */
	int plan_only;		/* make plans, note sizes, compute nothing */
	const struct vec *vec;
	struct gemms *gemms;
	struct prims *prims;
	struct cpu_scratch shared;	/* one for an entry's whole work */
	struct cpu_scratch spare;	/* copies without bad numbers */
	struct cpu_scratch *own;	/* threads: an entry's tile */
	struct cpu_scratch *tile;	/* threads: gemm.c's copies of tiles */
	struct cpu_scratch *work;	/* threads: oneDNN's own */
	struct cpu_sizes want;
	size_t grown;		/* times that memory grew or a plan was made */
	double peak[K_TYPES];	/* measured rate by kdtype; 0: not yet */
};

static inline struct cpu *
cpu_of(struct kernels *k)
{
	return k->priv;
}

/* isa NULL: the best that the processor has. */
struct kernels *cpu_open(const char *isa, int threads, struct err *e);

#define X(op) void cpu_##op(struct kernels *k, const struct k_##op *a);
KERNEL_OPS(X)
#undef X

/* --- pool.c --- */

/* fn(arg, i, thread) for every i in 0..n-1, in any order, by the team. */
void cpu_each(struct cpu *c, int64_t n,
	      void (*fn)(void *arg, int64_t i, int thread), void *arg);

/*
 * Scratch of an entry, asked for before its team starts: at least n bytes in
 * one block, the same in another for inputs that are not finite, and n bytes
 * for each thread, which a task finds by cpu_own().  While only planning the
 * first two return an address that must not be used.  cpu_room() makes room
 * for what the plans need.  cpu_take() takes all that was asked for; -1: no
 * memory.
 */
void *cpu_shared(struct cpu *c, size_t n);
void *cpu_spare(struct cpu *c, size_t n);
void cpu_private(struct cpu *c, size_t n);
void cpu_room(struct cpu *c);
int cpu_take(struct cpu *c);

static inline void *
cpu_own(const struct cpu *c, int thread)
{
	return c->own[thread].p;
}

/* The next n bytes of a block, 64-byte aligned. */
static inline void *
cpu_carve(char **p, size_t n)
{
	void *at = *p;

	*p += (n + 63) & ~(size_t)63;
	return at;
}

static inline void
cpu_want(size_t *want, size_t n)
{
	n = (n + 63) & ~(size_t)63;
	*want = *want < n ? n : *want;
}

/*
 * Cut n into parts of at most `most`, each a multiple of `unit` except the
 * last.  Returns the length of a part; the number of parts is 1 or even, so
 * that 2, 4... threads get equal shares.
 */
int64_t cpu_part(int64_t n, int64_t most, int64_t unit);

static inline int64_t
cpu_min(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Address of element i of an array of type dt. */
static inline void *
cpu_at(const void *p, enum kdtype dt, int64_t i)
{
	return (char *)(uintptr_t)p + (size_t)i * kdtype_size(dt);
}

static inline int
cpu_finite(const void *p, enum kdtype dt, int64_t n)
{
	const uint16_t *h = p;
	const float *f = p;
	int bad = 0;
	uint16_t top = dt == K_BF16 ? 0x7f80 : 0x7c00;	/* the exponent */

	if (dt != K_F32)
		for (int64_t i = 0; i < n; i++)
			bad |= (h[i] & top) == top;
	else
		for (int64_t i = 0; i < n; i++)
			bad |= !__builtin_isfinite(f[i]);
	return !bad;
}

/* --- optim.c --- */

/* Scratch of sumsq and adamw on n numbers in nseg segments, at most. */
size_t cpu_update_scratch(int64_t n, int64_t nseg);

/* --- need.c --- */

size_t cpu_need(struct kernels *k, const struct k_need *s);
int cpu_reserve(struct kernels *k, size_t bytes, struct err *e);

/* --- gemm.c --- */

/*
 * The matmul of one tile: C (m, n) = A (m, k) B (k, n), added to C if
 * accumulate is set.  A and B are of type dt, C of type cdt; ld is the
 * distance of rows in memory, where a transposed operand's rows in memory are
 * its columns here.  packed: a packed copy of B exists; ldb is that of the
 * plain one.
 */
struct gemm_shape {
	int64_t m, n, k;
	int64_t lda, ldb, ldc;
	int ta, tb;		/* operand is transposed in memory */
	enum kdtype dt, cdt;
	int accumulate;
	int packed;
};

/*
 * The number of rows may be anything: oneDNN sees m (or k, where A is
 * transposed and C is K_F32) as these units times powers of two, and a padded
 * copy of the remainder.  So a tile of at most 256 rows has at most 6
 * primitives, however many batch sizes occur.
 */
enum { GEMM_ROWS = 16, GEMM_SUMS = 64 };

int gemm_open(struct cpu *c, struct err *e);
void gemm_close(struct cpu *c);

/* The plan of a shape, made at the first call.  Not from inside a team. */
const struct gemm *gemm_plan(struct cpu *c, const struct gemm_shape *s);

/* Compute; any thread of the team, each with its own number. */
void gemm_run(struct cpu *c, const struct gemm *g, int thread, const void *a,
	      const void *b, void *y);

/*
 * A plan with packed set takes the plain tile where no fast code accepts the
 * packed one.
 */
int gemm_takes_packed(const struct gemm *g);

#endif
