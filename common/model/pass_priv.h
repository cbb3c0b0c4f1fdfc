/*
 * pass_priv.h - the activations of a pass, for pass.c and pass_check.c
 */
#ifndef ASSAY_PASS_PRIV_H
#define ASSAY_PASS_PRIV_H

#include "model/pass.h"

struct acts {
	float *x;		/* (N, C) input of the layer */
	float *xm;		/* (N, C) after attention */
	float *rstd1, *rstd2;	/* (N) */
	void *h1, *h2;		/* (N, C) */
	void *qkv;		/* (N, Q) after RoPE */
	void *qkv0;		/* (N, Q) before RoPE; only with QK-norm */
	void *o;		/* (N, H D) */
	float *lse;		/* (B, H, T) */
	void *gu;		/* (N, 2F) */
};

struct pass {
	struct llama *m;
	struct kernels *k;
	int64_t max_b, t;
	struct acts *a;		/* (L) */
	float *x;		/* (N, C) output of the last layer */
	float *rstd;		/* (N) */
	void *h;		/* (N, C) after the last norm */
	void *act;		/* (N, F) swiglu(gu) */
	void *dact;		/* (N, max(F, H D)) */
	void *dqkv;		/* (N, Q) */
	void *dh;		/* (N, C) */
	float *dx;		/* (N, C) */
	void *dxc;		/* (N, C) dx in 16 bits; fp32: dx itself */
	int32_t *pos;		/* (N) */
	void *block;		/* all of it: one allocation */
};

#endif
