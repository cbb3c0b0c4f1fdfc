/*
 * weight.h - how a weight is cut into tiles, and its packed copies
 *
 * Forward, the weight (out, in) is the transposed right operand: a tile is a
 * range of outputs.  Backward it is the right operand as it is: a tile is a
 * range of inputs, and the sum over outputs runs in chunks of at most K_CHUNK,
 * because a head has too many for one matmul.  On processors with AMX each
 * tile is also kept packed, if that is faster.
 */
#ifndef ASSAY_WEIGHT_H
#define ASSAY_WEIGHT_H

#include "kernels/cpu/cpu.h"

enum { ROW_TILE = 256, COL_TILE = 512, K_CHUNK = 8192 };

struct tiles {
	int64_t part, n;	/* of outputs (forward) or inputs (backward) */
	int64_t kpart, kn;	/* of what is summed over */
	char *packed;		/* n * kn tiles, stride bytes apart; or NULL */
	size_t stride;
};

struct weight {
	struct tiles fwd, bwd;
	const struct prim **pack;	/* of each packed tile, forward then
					   backward; NULL: it stays plain */
};

/* The tiles of w, and their end: w itself and its data are the caller's. */
int weight_open(struct kernels *k, struct kweight *w, struct err *e);
void weight_close(struct kernels *k, struct kweight *w);

size_t cpu_copies(struct kernels *k, enum kdtype dt, int64_t out, int64_t in,
		  int use);
struct kweight *cpu_weight_new(struct kernels *k,
			       const struct k_weight_new *a, struct err *e);

/* A plan that multiplies m rows (row length lda) with tile j of w. */
const struct gemm *weight_plan_fwd(struct cpu *c, const struct kweight *w,
				   int64_t m, int64_t j, int64_t ldc,
				   enum kdtype cdt, int accumulate);
/* The same backward, for chunk kj of the sum. */
const struct gemm *weight_plan_bwd(struct cpu *c, const struct kweight *w,
				   int64_t m, int64_t lda, int64_t j,
				   int64_t kj, int64_t ldc, enum kdtype cdt,
				   int accumulate);

/* For a chunk of which only the first k outputs are read, never packed. */
const struct gemm *weight_plan_bwd_first(struct cpu *c,
					 const struct kweight *w, int64_t m,
					 int64_t lda, int64_t j, int64_t k,
					 int64_t ldc, enum kdtype cdt);

/* The right operand for such a plan: packed or plain, as the plan needs it. */
const void *weight_tile_fwd(const struct kweight *w, const struct gemm *g,
			    int64_t j);
const void *weight_tile_bwd(const struct kweight *w, const struct gemm *g,
			    int64_t j, int64_t kj);

/* Length of part j of total. */
static inline int64_t
part_len(int64_t total, int64_t part, int64_t j)
{
	return cpu_min(part, total - j * part);
}

#endif
