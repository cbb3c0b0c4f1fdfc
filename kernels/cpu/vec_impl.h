/*
 * vec_impl.h - the body of every vec_*.c: define VEC to the table's name
 */
#include "kernels/cpu/simd.h"
#include "kernels/cpu/vec.h"

#include "kernels/cpu/vec_rows.h"
#include "kernels/cpu/vec_opt.h"
#include "kernels/cpu/vec_attn.h"
#include "kernels/cpu/vec_stats.h"
#include "kernels/cpu/vec_decode.h"
#include "kernels/cpu/vec_cache.h"

const struct vec VEC = {
	.row_add = row_add,
	.rmsnorm_fwd = rmsnorm_fwd,
	.rmsnorm_bwd = rmsnorm_bwd,
	.swiglu_fwd = swiglu_fwd,
	.swiglu_bwd = swiglu_bwd,
	.rope_fwd = rope_fwd,
	.rope_bwd = rope_bwd,
	.adamw = adamw,
	.sumsq = sumsq,
	.stats = stats,
	.colmax = colmax,
	.cast = cast,
	.dot = dot_any,
	.row_scale = row_scale,
	.softmax = softmax,
	.softmax_bwd = softmax_bwd,
	.ce_stats = ce_stats,
	.ce_scale = ce_scale,
	.matvec = matvec,
	.attn_part = attn_part,
};
