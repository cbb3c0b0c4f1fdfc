/*
 * kernels.h - arithmetic on device memory: the contract
 *
 * A table (struct kernels) is a set of functions that work on the memory of
 * one device.  `ref` is the definition: plain loops, double accumulators.
 * `cpu` is fast.  Every table must agree with ref within the tolerance below
 * on any shape, and with itself bit for bit: from run to run, and with any
 * number of threads (reductions have a fixed order).
 *
 * Memory.  A pointer called "device" below comes from alloc() or
 * weight->data, or points into such a block (add byte offsets freely, keep
 * the alignment of the element).  The host must not dereference it.  Fresh
 * memory is uninitialized.  An entry with "accumulate" reads its output, all
 * others overwrite it.
 *
 * Time.  Everything in KERNEL_OPS, the entries that take an argument struct,
 * may be queued; they take effect in the order of the calls.  They are done
 * when sync() returns.  The struct is copied by the call.  HOST MEMORY IS NOT:
 * the source of an upload must stay valid and unchanged, and the destination
 * of a fetch must stay valid and be left alone, until the next sync() returns.
 * The other functions take effect at once and do not wait, except sync(),
 * peak() and close().
 *
 * Use.  Arguments are passed as a struct, so that calls name them:
 *
 *	k->rmsnorm_fwd(k, &(struct k_rmsnorm_fwd){
 *		.n = N, .c = C, .dt = K_BF16, .x = x, .w = w,
 *		.eps = 1e-6f, .y = h, .rstd = rstd });
 *
 * Only one thread at a time may use a table.  Every table supports every
 * shape: sizes are any number >= 1 (head dimension even, at most 256).
 *
 * Letters, the same everywhere:
 *	B sequences, T tokens per sequence, N = B*T rows (tokens), n in code
 *	C hidden size, H query heads, G key/value heads (H a multiple of G),
 *	D head dimension, Q = (H + 2G) * D, F intermediate size of the MLP,
 *	V vocabulary, Vp padded vocabulary (rows of the weight)
 * Arrays are dense and row-major: element (n, c) of (N, C) is at n*C + c.
 *
 * Types.  dt is the compute type, K_F32, K_BF16 or K_F16: the type of weights
 * and activations.  The residual stream (N, C) and its gradient are f32 in all
 * modes, as are all weight gradients, master weights, moments, losses and
 * statistics.  Sums are accumulated in f32 or better and rounded once, to
 * nearest even, where the result is stored; in fp16, 65520 and more becomes
 * infinity.  bf16 matmuls may flush subnormals to zero.  Gradients in fp16
 * lose bits below 6e-5 and vanish below 3e-8: callers scale the loss.
 *
 * Tolerance against ref, for each row of an output (its last dimension; in
 * attention and RoPE a head of it): the root mean square of y - ref is at most
 *	tol * rms(row of ref) + 3e-6 * rms(all of ref)
 * and no number is off by more than 16 times that.  tol is 1e-5 in fp32, 1e-2
 * in bf16 (storing a value costs up to 4e-3; attention and loss also round
 * intermediate probabilities) and 2e-3 in fp16 (5e-4, its subnormals 3e-8).
 * The second term is for sums that cancel.  loss, logz, lse, rstd, max_logit
 * and max_score are statistics: in all types, |y - ref| <= 1e-5 * (1 + |ref|),
 * for the loss 1e-5 * (1 + |logz|).  Master weights and moments have the tol of
 * fp32 in all.  Ids are equal.
 *
 * NaN reaches every number that depends on it, in attention also the rest of
 * a head's row, and of the gradients of the rows that it sees.  Infinity goes
 * where the formulas take it: exp(-inf) and 1/inf are 0.  They reach nothing
 * else.  Rows do not depend on each other, except in attention (on the rows in
 * their range) and in sums over rows (dw of a matmul or norm, dw of the
 * embedding for rows of one token).  Nothing depends on what is masked, which
 * may hold anything: keys and values outside a row's range, their gradients
 * from rows that do not see them, the cache after a row's position and of other
 * slots, dx and h of rows without target, and the padding rows of a head's
 * weight.
 *
 * HF names.  Weights with the same input are one weight object, so that they
 * are one matmul.  Each tensor of a Llama or Qwen3 checkpoint is a range of
 * whole rows of it, contiguous in data, gradient, master and moments:
 *	qkv  (Q, C)	rows [0, H*D) q_proj, [H*D, (H+G)*D) k_proj, then v_proj
 *	o    (C, H*D)	o_proj
 *	gu   (2F, C)	rows [0, F) gate_proj, [F, 2F) up_proj
 *	down (C, F)	down_proj
 *	head (Vp, C)	lm_head, or embed_tokens if tied; rows [V, Vp) padding
 */
#ifndef ASSAY_KERNELS_H
#define ASSAY_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "kernels/dtype.h"
#include "kernels/k_stats.h"

/* What a weight is used for; decides which packed copies a table keeps. */
enum kweight_use {
	K_USE_PLAIN = 0,	/* as K_USE_FWD, but without any copy */
	K_USE_FWD = 1,		/* matmul_fwd, ce_head */
	K_USE_BWD = 2,		/* matmul_dx, ce_head with dh */
	K_USE_TRAIN = K_USE_FWD | K_USE_BWD
};

struct kernels;
struct buf;

/*
 * A matrix (out, in) that multiplies activations.  data is the device copy,
 * row-major, type dt.  A table may also keep packed copies: after any write
 * to data, adamw() included, call weight_update before the next matmul.
 * The struct is host memory, read-only for callers.
 */
struct kweight {
	enum kdtype dt;
	int64_t out, in;
	void *data;
	int use;
	void *priv;
};

/* What weight_new() makes; see kweight. */
struct k_weight_new {
	enum kdtype dt;
	int64_t out, in;
	int use;		/* enum kweight_use */
	void *data;		/* device, (out, in): memory of the caller */
};

/* --- memory --- */

/* n bytes from the host to dst. */
struct k_upload {
	void *dst;
	const void *src;	/* host, see "Time" */
	size_t n;
};

/* n bytes to the host; they are there when the next sync() returns. */
struct k_fetch {
	void *dst;		/* host, see "Time" */
	const void *src;
	size_t n;
};

/* n bytes from src to dst, which do not overlap. */
struct k_copy {
	void *dst;
	const void *src;
	size_t n;
};

struct k_zero {
	void *dst;
	size_t n;
};

/* Free a block from alloc(), after the calls queued so far have used it. */
struct k_release {
	void *p;
};

/* Bring the packed copies of w up to date. */
struct k_weight_update {
	struct kweight *w;
};

/* Free w, its data and its copies, like release. */
struct k_weight_free {
	struct kweight *w;
};

/* --- embedding --- */

/* y[n] = w[tok[n]].  The caller has checked 0 <= tok < rows of w. */
struct k_embed_fwd {
	int64_t n, c;
	enum kdtype dt;		/* of w */
	const void *w;		/* (Vp, C) */
	const int32_t *tok;	/* (N) */
	float *y;		/* (N, C) residual stream */
};

/*
 * dw[tok[n]] += dx[n], rows in the order of n.  accumulate 0: all of dw is
 * zeroed first.  With order, whole tokens can be computed in parallel; a table
 * gives the same bits with and without.
 */
struct k_embed_bwd {
	int64_t n, c, v;	/* v: rows of dw */
	const int32_t *tok;	/* (N) */
	const int32_t *order;	/* (N) rows sorted by token, stable; or NULL */
	const float *dx;	/* (N, C) */
	float *dw;		/* (v, C) */
	int accumulate;
};

/* --- RMSNorm --- */

/* rstd[n] = 1 / sqrt(mean_c x^2 + eps); y = x * rstd * w. */
struct k_rmsnorm_fwd {
	int64_t n, c;
	enum kdtype dt;		/* of w and y */
	const float *x;		/* (N, C) residual stream */
	const void *w;		/* (C) */
	float eps;
	void *y;		/* (N, C) */
	float *rstd;		/* (N), or NULL */
};

/*
 * With g = dy * w, s[n] = mean_c(g * x) * rstd^2:
 *	dx (+)= rstd * (g - x * s)
 *	dw (+)= sum over n, in fixed order, of dy * x * rstd
 * dxc, if not NULL, gets the resulting dx in type dt, the operand of the next
 * matmul_dx (in fp32 pass NULL and use dx itself).
 */
struct k_rmsnorm_bwd {
	int64_t n, c;
	enum kdtype dt;		/* of w, dy, dxc */
	const void *dy;		/* (N, C) */
	const float *x;		/* (N, C) what rmsnorm_fwd read */
	const void *w;		/* (C) */
	const float *rstd;	/* (N) */
	float *dx;		/* (N, C) gradient of the residual stream */
	int dx_accumulate;
	void *dxc;		/* (N, C) or NULL */
	float *dw;		/* (C) */
	int dw_accumulate;
};

/* --- matmul --- */

/*
 * y = x * w^T, plus add if add is not NULL (of y's shape and type; add may be
 * y: y += x * w^T).  ydt is dt or K_F32 (residual stream, logits).  With few
 * rows (decoding) the speed is that of reading the weight once.
 */
struct k_matmul_fwd {
	const struct kweight *w;	/* (out, in) */
	int64_t n;
	const void *x;		/* (N, in), type w->dt */
	void *y;		/* (N, out) */
	enum kdtype ydt;
	const void *add;	/* (N, out) or NULL */
};

/* dx = dy * w.  All of type w->dt. */
struct k_matmul_dx {
	const struct kweight *w;	/* (out, in), K_USE_BWD */
	int64_t n;
	const void *dy;		/* (N, out) */
	void *dx;		/* (N, in) */
};

/* dw (+)= dy^T * x. */
struct k_matmul_dw {
	int64_t n, out, in;
	enum kdtype dt;		/* of dy and x */
	const void *dy;		/* (N, out) */
	const void *x;		/* (N, in) */
	float *dw;		/* (out, in) */
	int accumulate;
};

/* --- RoPE, and the optional norms of query and key heads --- */

/*
 * For each of the H + G heads of q and k, x the D values of a head:
 *	with qw: x = x / sqrt(mean x^2 + eps) * qw (k: kw)
 *	y[i]       = x[i] * cos[p][i]       - x[i + D/2] * sin[p][i]
 *	y[i + D/2] = x[i + D/2] * cos[p][i] + x[i] * sin[p][i]     i < D/2
 * with p = pos[n].  v is copied.  out may be in, unless rope_bwd with norms
 * follows.  cos and sin are computed in double and rounded to f32.
 */
struct k_rope_fwd {
	int64_t n, h, g, d;
	enum kdtype dt;
	const void *in;		/* (N, Q) */
	void *out;		/* (N, Q) */
	const int32_t *pos;	/* (N) */
	const float *cos, *sin;	/* (positions, D/2) */
	const void *qw, *kw;	/* (D) type dt, or both NULL: no norms */
	float eps;
};

/* Backward, in place: dqkv is the gradient of out, and becomes that of in. */
struct k_rope_bwd {
	int64_t n, h, g, d;
	enum kdtype dt;
	void *dqkv;		/* (N, Q) */
	const int32_t *pos;	/* (N) */
	const float *cos, *sin;	/* (positions, D/2) */
	const void *qw, *kw;	/* (D) or NULL */
	const void *in;		/* (N, Q) as in rope_fwd; NULL without norms */
	float eps;
	float *dqw, *dkw;	/* (D), (+)=; NULL without norms */
	int accumulate;		/* of dqw, dkw */
};

/* --- attention --- */

/*
 * Row t of sequence b attends to rows j of the same sequence with
 * start[b,t] <= j <= t: start is the first row of t's document (it never
 * decreases within a sequence, and start <= t).  NULL: 0 everywhere.  With
 * window W > 0, only the last W of these rows: j > t - W.
 *	s[j] = scale * q . k[j]
 *	lse = log sum exp s;  o = sum exp(s - lse) v[j]
 * Grouped-query attention: query head h uses key/value head h / (H / G).
 * Memory is O(N), not O(T * T).
 */
struct k_attn_fwd {
	int64_t b, t, h, g, d;
	enum kdtype dt;
	const void *qkv;	/* (B, T, Q) after rope_fwd */
	const int32_t *start;	/* (B, T) or NULL */
	int64_t window;		/* 0: none */
	float scale;
	void *o;		/* (B, T, H*D) */
	float *lse;		/* (B, H, T) */
	float *max_score;	/* (H) largest s of a head, over the rows of all
				   sequences and what each sees; or NULL */
};

struct k_attn_bwd {
	int64_t b, t, h, g, d;
	enum kdtype dt;
	const void *qkv;	/* (B, T, Q) */
	const int32_t *start;
	int64_t window;
	float scale;
	const void *o;		/* (B, T, H*D) of attn_fwd */
	const float *lse;	/* (B, H, T) of attn_fwd */
	const void *dout;	/* (B, T, H*D) */
	void *dqkv;		/* (B, T, Q), overwritten */
};

/*
 * What the host knows about the rows of kv_put and attn_cache, whose slots and
 * positions are on the device.  A run is a range of rows of one slot whose
 * positions rise by 1.  Tables may ignore it, and compute a long run as tiles.
 * The bits of a row then depend on its run, but on no row outside it.
 */
struct k_runs {
	int64_t longest;	/* largest position + 1; 0: unknown */
	int64_t n;		/* runs; 0: unknown */
	const int32_t *first;	/* host (n): first row of each, from 0, rising;
				   kept by the caller until the next wait */
};

/*
 * The KV cache of a layer: kc and vc (slots, G, P, D), P positions per slot.
 * kv_put writes k and v of each row to its slot and position.
 */
struct k_kv_put {
	int64_t n, h, g, d, p;
	enum kdtype dt;
	const void *qkv;	/* (N, Q) after rope_fwd */
	const int32_t *slot;	/* (N) */
	const int32_t *pos;	/* (N) < P; no (slot, pos) twice in a call */
	struct k_runs runs;
	void *kc, *vc;
};

/*
 * Each row attends to positions 0..pos[n] of its slot, with a window to the
 * last W of them.  For decoding (one row per sequence) and prompts in chunks
 * (consecutive rows of one slot).
 */
struct k_attn_cache {
	int64_t n, h, g, d, p;
	enum kdtype dt;
	const void *qkv;	/* (N, Q): q is read */
	const int32_t *slot, *pos;	/* (N) */
	struct k_runs runs;
	const void *kc, *vc;	/* (slots, G, P, D) */
	int64_t window;		/* 0: none */
	float scale;
	void *o;		/* (N, H*D) */
	float *max_score;	/* (H) as in attn_fwd, over all rows; or NULL */
};

/* --- SwiGLU --- */

/* a = silu(gate) * up with gu = gate | up; silu(x) = x / (1 + exp(-x)). */
struct k_swiglu_fwd {
	int64_t n, f;
	enum kdtype dt;
	const void *gu;		/* (N, 2F) */
	void *a;		/* (N, F) */
};

/* dgu may be gu.  If a is not NULL, a is recomputed, so it need not be kept. */
struct k_swiglu_bwd {
	int64_t n, f;
	enum kdtype dt;
	const void *gu;		/* (N, 2F) */
	const void *da;		/* (N, F) */
	void *dgu;		/* (N, 2F) */
	void *a;		/* (N, F) or NULL */
};

/* --- head and loss --- */

/*
 * logits l = h * w^T over the first v rows of w; rows [v, Vp) count as -inf.
 *	logz[n] = log sum_j exp l[n,j]
 *	loss[n] = logz[n] - l[n, target[n]]
 * target -1: no target, loss 0 (logz is still computed).  With dh:
 *	dl[n,j] = scale * (p[n,j] * (1 + 2 * zcoef * logz[n]) - [j == target])
 *	dh = dl * w,  dw (+)= dl^T * h	(rows without target: dl = 0)
 * which is the gradient of scale * sum(loss + zcoef * logz^2).  Rows [v, Vp)
 * of dw get 0.  The logits are never in memory all at once.
 *
 * Logits are sums in f32 or better, and are not rounded to dt before exp: at
 * logits of 64 to 128 that would move a loss by up to 0.25 in bf16, and the
 * tolerance is 1e-3.
 */
struct k_ce_head {
	const struct kweight *w;	/* (Vp, C) */
	int64_t n, v;
	const void *h;		/* (N, C), type w->dt */
	const int32_t *target;	/* (N) */
	float scale, zcoef;
	float *loss, *logz;	/* (N) */
	int32_t *argmax;	/* (N) lowest id of the top logit, or NULL */
	float *max_logit;	/* (N) largest logit, or NULL */
	void *dh;		/* (N, C) type w->dt, or NULL: no gradients */
	float *dw;		/* (Vp, C); only with dh */
	int accumulate;		/* of dw */
};

/* --- losses, gradients, optimizer --- */

#include "kernels/k_optim.h"

/* --- conversion --- */

/* Convert n numbers between types. */
struct k_cast {
	int64_t n;
	const void *src;
	enum kdtype sdt;
	void *dst;		/* not overlapping src unless of equal type */
	enum kdtype ddt;
};

/* Everything that is queued, for wrappers and tests. */
#define KERNEL_OPS(X) \
	X(upload) X(fetch) X(copy) X(zero) X(release) \
	X(weight_update) X(weight_free) \
	X(embed_fwd) X(embed_bwd) X(rmsnorm_fwd) X(rmsnorm_bwd) \
	X(matmul_fwd) X(matmul_dx) X(matmul_dw) X(rope_fwd) X(rope_bwd) \
	X(attn_fwd) X(attn_bwd) X(kv_put) X(attn_cache) \
	X(swiglu_fwd) X(swiglu_bwd) X(ce_head) X(loss_sum) X(sumsq) X(clip) \
	X(adamw) X(stats) X(colmax) X(cast)

/* --- scratch --- */

/*
 * A run: the shapes of its calls, for need().  Zero is "no such calls".
 * Passes are calls with B sequences of T tokens: with gradients, if use has
 * K_USE_BWD, of b or last_b sequences, without of any number up to b.  Then,
 * with a cache, calls of 1 to `rows` rows.
 */
struct k_need_layer {
	int64_t h, g, d, f;
	enum kdtype dt;
};

struct k_need {
	int64_t c, v, vp;
	enum kdtype dt;		/* of the head */
	int use;		/* of the weights */
	int64_t nlayers;	/* equal layers may be named once */
	const struct k_need_layer *layer;
	int64_t b, last_b, t;
	int64_t rows, positions;	/* positions: P of the cache */
	int64_t flat, nseg;	/* numbers and segments of an update */
};

/* Counts changes of struct kernels and of the argument structs. */
enum { K_ABI = 2 };

struct kernels {
	int abi;		/* K_ABI of the table; checked when it opens */
	const char *name;	/* "ref", "cpu" */
	const char *isa;	/* instruction set: "avx512_bf16"... */
	int threads;

	/*
	 * Device memory, aligned to 256 bytes.  NULL: there is not that much;
	 * the message has the size, and how much is free.
	 */
	void *(*alloc)(struct kernels *k, size_t bytes, struct err *e);
	/*
	 * Bytes of device memory that are free, and in all.  On host tables
	 * those that this process may take before the machine swaps or one of
	 * its limits (cgroup, address space) is reached.  -1: unknown.
	 */
	int (*memory)(struct kernels *k, size_t *free, size_t *total);
	/*
	 * Host memory for uploads and fetches, aligned to 64 bytes.  Any host
	 * memory will do for them, but from this a device copies faster.
	 */
	void *(*host_alloc)(struct kernels *k, size_t bytes, struct err *e);
	void (*host_free)(struct kernels *k, void *p);	/* NULL is fine */

	/* A weight on the caller's memory.  NULL as for alloc(). */
	struct kweight *(*weight_new)(struct kernels *k,
				      const struct k_weight_new *a,
				      struct err *e);

	/* Bytes that weight_new() takes beside data. */
	size_t (*copies)(struct kernels *k, enum kdtype dt, int64_t out,
			 int64_t in, int use);

	/*
	 * Bytes of scratch for this run and all runs that were asked about
	 * before.  reserve() takes them; -1: there is not so much memory.
	 * After it, no entry of these runs allocates anything.  Before, or for
	 * other shapes, an entry may allocate (tests, small tools).
	 */
	size_t (*need)(struct kernels *k, const struct k_need *s);
	int (*reserve)(struct kernels *k, size_t bytes, struct err *e);

	/*
	 * Wait until everything that was queued is done.  -1: a call failed;
	 * the message names the last calls (recent.h).  What the device holds
	 * is lost: only release, weight_free and close() may follow.
	 */
	int (*sync)(struct kernels *k, struct err *e);

	/*
	 * void (*rmsnorm_fwd)(struct kernels *k,
	 *		       const struct k_rmsnorm_fwd *a), and so on.
	 */
#define X(op) void (*op)(struct kernels *k, const struct k_##op *a);
	KERNEL_OPS(X)
#undef X

	/*
	 * Operations per second in a large matmul of type dt; 0: unknown.
	 * peak is measured at the first call (under half a second), nominal is
	 * the maker's figure.
	 */
	double (*peak)(struct kernels *k, enum kdtype dt);
	double (*nominal)(struct kernels *k, enum kdtype dt);

	/* Append a JSON object on one line: device, versions, chosen code. */
	void (*record)(struct kernels *k, struct buf *json);

	/* Syncs and frees the table; its memory must have been released. */
	void (*close)(struct kernels *k);

	/*
	 * Where device memory comes from; set by kernels_open().  A wrapper
	 * may replace them before the first use.  get is aligned to 256
	 * bytes; NULL: no memory.
	 */
	void *(*mem_get)(void *ctx, size_t bytes);
	void (*mem_put)(void *ctx, void *p);
	void *mem_ctx;

	void *priv;		/* the table's own */
};

/*
 * Open a table by name: "cpu", "ref", or for tests "cpu:ISA", where ISA is
 * amx, avx512_bf16, avx512, avx2, scalar (the limit is set once per process),
 * or packed (no limit, and packed copies of weights as on processors with
 * AMX).  threads >= 1 (ref uses one).  NULL: unknown name, or an instruction
 * set that the processor lacks.
 */
struct kernels *kernels_open(const char *name, int threads, struct err *e);

/*
 * Short forms of calls.  NULL to release or weight_free: nothing.  download is
 * a fetch, then sync(): -1 if that fails.
 */
void kernels_upload(struct kernels *k, void *dst, const void *src, size_t n);
void kernels_fetch(struct kernels *k, void *dst, const void *src, size_t n);
int kernels_download(struct kernels *k, void *dst, const void *src, size_t n,
		     struct err *e);
void kernels_copy(struct kernels *k, void *dst, const void *src, size_t n);
void kernels_zero(struct kernels *k, void *dst, size_t n);
void kernels_release(struct kernels *k, void *p);
void kernels_weight_update(struct kernels *k, struct kweight *w);
void kernels_weight_free(struct kernels *k, struct kweight *w);

/* For alloc(): the message that there is too little memory; returns NULL. */
void *kernels_no_memory(struct kernels *k, size_t bytes, struct err *e);

/* For host tables: a weight as from weight_new(), and its end. */
struct kweight *host_weight_new(struct kernels *k,
				const struct k_weight_new *a, struct err *e);
void host_weight_free(struct kernels *k, struct kweight *w);
void host_record(struct kernels *k, struct buf *json);	/* without its end */

/* First row or position that row t sees, of a document from `start` on. */
static inline int64_t
k_attn_first(int64_t start, int64_t window, int64_t t)
{
	return window > 0 && t - window + 1 > start ? t - window + 1 : start;
}

#endif
