/*
 * plans.h - a growing set of plans, found by shape
 *
 * A plan is any struct that begins with its struct gemm_shape.
 */
#ifndef ASSAY_CPU_PLANS_H
#define ASSAY_CPU_PLANS_H

#include "kernels/cpu/cpu.h"

struct plans {
	void **v;		/* in the order in which they were made */
	size_t n, cap;
	void **hash;		/* 2 * cap slots */
};

void *plans_find(const struct plans *p, const struct gemm_shape *s);
void plans_add(struct plans *p, void *plan);
void plans_clear(struct plans *p);	/* the plans themselves stay */

int shape_eq(const struct gemm_shape *a, const struct gemm_shape *b);

#endif
