/*
 * prim.h - matmul primitives of oneDNN, for gemm.c
 *
 * A primitive has one shape and operands as gemm_shape says.  Its plan is made
 * at the first call, not from inside a team.
 */
#ifndef ASSAY_CPU_PRIM_H
#define ASSAY_CPU_PRIM_H

#include "kernels/cpu/cpu.h"

struct prim;

int prim_open(struct cpu *c, struct err *e);
void prim_close(struct cpu *c);

const struct prim *prim_plan(struct cpu *c, const struct gemm_shape *s);
void prim_run(struct cpu *c, const struct prim *g, int thread, const void *a,
	      const void *b, void *y);

/*
 * The plan that packs B for shapes like s (any m), the bytes of a packed
 * tile, 0 if a plain one is better, and the packing.
 */
const struct prim *prim_pack_plan(struct cpu *c, const struct gemm_shape *s);
size_t prim_packed_size(const struct prim *g);
void prim_pack(struct cpu *c, const struct prim *g, int thread,
	       const void *b, void *packed);
int prim_takes_packed(const struct prim *g);

/* Does B stay packed only if the rows of C have no gaps between them? */
int prim_wants_dense(const struct cpu *c, const struct gemm_shape *s);

/* record.c */
void cpu_record(struct kernels *k, struct buf *json);

/* oneDNN's name of the implementation: "brg:avx512_core", "ref"... */
const char *prim_impl(const struct prim *g);

/* The i-th primitive made, or NULL. */
const struct prim *prim_nth(const struct cpu *c, size_t i,
			    struct gemm_shape *s);

#endif
