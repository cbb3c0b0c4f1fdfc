/*
 * attn.h - cpu: attention on finite numbers (attn.c), and on any (attn_nan.c)
 */
#ifndef ASSAY_CPU_ATTN_H
#define ASSAY_CPU_ATTN_H

#include "kernels/cpu/cpu.h"

/*
 * The entries on numbers that are finite where the mask hides them.  Return
 * whether a NaN was computed.
 */
int attn_fwd(struct kernels *k, const struct k_attn_fwd *a);
int attn_bwd(struct kernels *k, const struct k_attn_bwd *a);

/*
 * The same on any numbers; while only planning, the memory for it is noted.
 */
void attn_fwd_masked(struct kernels *k, const struct k_attn_fwd *a);
void attn_bwd_masked(struct kernels *k, const struct k_attn_bwd *a);

#endif
