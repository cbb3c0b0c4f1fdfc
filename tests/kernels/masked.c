/*
 * masked.c - NaN and infinity in each input of each entry, and what they reach
 *
 * See masked.h.  Each probe below says which outputs depend on a number of an
 * input; rows, heads, documents, slots and padding that do not must not change.
 */
#include "tests/kernels/masked_attn.h"
#include "tests/kernels/tables.h"

static enum reach
yes_if(int x)
{
	return x ? YES : NO;
}

/* --- embedding --- */

enum { E_C = 5, E_V = 7 };

static void
embed_run(struct probe *p, struct kernels *k)
{
	k->embed_fwd(k, &(struct k_embed_fwd){ .n = p->n, .c = E_C,
		.dt = p->dt, .w = p->in[0].p, .tok = p->id,
		.y = p->out[0].p });
	k->embed_bwd(k, &(struct k_embed_bwd){ .n = p->n, .c = E_C, .v = E_V,
		.tok = p->id, .dx = p->in[1].p,
		.dw = p->out[1].p });
}

static enum reach
embed_reach(const struct probe *p, int in, int64_t i, int out, int64_t j)
{
	if (in != out || i % E_C != j % E_C)
		return NO;
	if (in == 0)
		return yes_if(p->id[j / E_C] == i / E_C);
	return yes_if(p->id[i / E_C] == j / E_C);
}

static void
embed_probe(struct probe *p)
{
	probe_in(p, E_V * E_C, p->dt, 0);
	probe_in(p, p->n * E_C, K_F32, 0);
	probe_out(p, p->n * E_C, K_F32);
	probe_out(p, E_V * E_C, K_F32);
	p->id = kt_ids(p->kt, p->n, 0, E_V - 1, 0);
	p->run = embed_run;
	p->reach = embed_reach;
}

/* --- RMSNorm --- */

enum { N_C = 21 };

static void
norm_fwd_run(struct probe *p, struct kernels *k)
{
	k->rmsnorm_fwd(k, &(struct k_rmsnorm_fwd){ .n = p->n, .c = N_C,
		.dt = p->dt, .x = p->in[0].p, .w = p->in[1].p, .eps = 1e-5f,
		.y = p->out[0].p, .rstd = p->out[1].p });
}

static enum reach
norm_fwd_reach(const struct probe *p, int in, int64_t i, int out, int64_t j)
{
	(void)p;
	if (in == 0)
		return yes_if(i / N_C == (out ? j : j / N_C));
	return yes_if(out == 0 && j % N_C == i);
}

static void
norm_fwd_probe(struct probe *p)
{
	probe_in(p, p->n * N_C, K_F32, 0);
	probe_in(p, N_C, p->dt, 1);
	probe_out(p, p->n * N_C, p->dt);
	probe_out(p, p->n, K_F32);
	p->run = norm_fwd_run;
	p->reach = norm_fwd_reach;
}

/* Inputs dy, x, w, rstd and the old dx; outputs dx, dxc, dw. */
static void
norm_bwd_run(struct probe *p, struct kernels *k)
{
	memcpy(p->out[0].p, p->in[4].p, (size_t)(p->n * N_C) * sizeof(float));
	k->rmsnorm_bwd(k, &(struct k_rmsnorm_bwd){ .n = p->n, .c = N_C,
		.dt = p->dt, .dy = p->in[0].p, .x = p->in[1].p,
		.w = p->in[2].p, .rstd = p->in[3].p, .dx = p->out[0].p,
		.dx_accumulate = 1, .dxc = p->out[1].p, .dw = p->out[2].p });
}

static enum reach
norm_bwd_reach(const struct probe *p, int in, int64_t i, int out, int64_t j)
{
	(void)p;
	if (in == 4)
		return yes_if(out < 2 && i == j);
	if (in == 2)
		return yes_if(out < 2);
	if (in == 3)
		return yes_if(out == 2 || j / N_C == i);
	return yes_if(out == 2 ? i % N_C == j : i / N_C == j / N_C);
}

static void
norm_bwd_probe(struct probe *p)
{
	probe_in(p, p->n * N_C, p->dt, 0);
	probe_in(p, p->n * N_C, K_F32, 0);
	probe_in(p, N_C, p->dt, 1);
	probe_in(p, p->n, K_F32, 1);
	probe_in(p, p->n * N_C, K_F32, 0);
	probe_out(p, p->n * N_C, K_F32);
	probe_out(p, p->n * N_C, p->dt);
	probe_out(p, N_C, K_F32);
	p->run = norm_bwd_run;
	p->reach = norm_bwd_reach;
}

/* --- matmul --- */

enum { M_IN = 35, M_OUT = 50 };

/* Inputs w, x, add, dy and the old dw; outputs y, dx, dw. */
static void
matmul_run(struct probe *p, struct kernels *k)
{
	memcpy(p->out[2].p, p->in[4].p, M_IN * M_OUT * sizeof(float));
	k->matmul_fwd(k, &(struct k_matmul_fwd){ .w = p->w, .n = p->n,
		.x = p->in[1].p, .y = p->out[0].p, .ydt = p->dt,
		.add = p->in[2].p });
	k->matmul_dx(k, &(struct k_matmul_dx){ .w = p->w, .n = p->n,
		.dy = p->in[3].p, .dx = p->out[1].p });
	k->matmul_dw(k, &(struct k_matmul_dw){ .n = p->n, .out = M_OUT,
		.in = M_IN, .dt = p->dt, .dy = p->in[3].p, .x = p->in[1].p,
		.dw = p->out[2].p, .accumulate = 1 });
}

static enum reach
matmul_reach(const struct probe *p, int in, int64_t i, int out, int64_t j)
{
	(void)p;
	switch (in * 3 + out) {
	case 0:				/* w to y */
		return yes_if(i / M_IN == j % M_OUT);
	case 1:				/* w to dx */
		return yes_if(i % M_IN == j % M_IN);
	case 3:				/* x to y */
		return yes_if(i / M_IN == j / M_OUT);
	case 5:				/* x to dw */
		return yes_if(i % M_IN == j % M_IN);
	case 6:				/* add to y */
	case 14:			/* the old dw to dw */
		return yes_if(i == j);
	case 10:			/* dy to dx */
		return yes_if(i / M_OUT == j / M_IN);
	case 11:			/* dy to dw */
		return yes_if(i % M_OUT == j / M_IN);
	}
	return NO;
}

static void
matmul_probe(struct probe *p)
{
	probe_weight(p, M_OUT, M_IN);
	probe_in(p, p->n * M_IN, p->dt, 0);
	probe_in(p, p->n * M_OUT, p->dt, 0);
	probe_in(p, p->n * M_OUT, p->dt, 0);
	probe_in(p, M_OUT * M_IN, K_F32, 0);
	probe_out(p, p->n * M_OUT, p->dt);
	probe_out(p, p->n * M_IN, p->dt);
	probe_out(p, M_OUT * M_IN, K_F32);
	p->run = matmul_run;
	p->reach = matmul_reach;
}

/* --- RoPE with norms --- */

enum { R_H = 4, R_G = 2, R_D = 10, R_HEADS = R_H + 2 * R_G };

/*
 * Inputs: in, qw, kw, cos, sin, and the gradient; outputs out, dqkv, dqw, dkw.
 * p->ctx is not NULL without norms.
 */
static void
rope_run(struct probe *p, struct kernels *k)
{
	const void *qw = p->ctx ? NULL : p->in[1].p;
	const void *kw = p->ctx ? NULL : p->in[2].p;

	memcpy(p->out[1].p, p->in[5].p, (size_t)(p->n * R_HEADS * R_D) *
	       kdtype_size(p->dt));
	k->rope_fwd(k, &(struct k_rope_fwd){ .n = p->n, .h = R_H, .g = R_G,
		.d = R_D, .dt = p->dt, .in = p->in[0].p, .out = p->out[0].p,
		.pos = p->id, .cos = p->in[3].p, .sin = p->in[4].p, .qw = qw,
		.kw = kw, .eps = 1e-6f });
	k->rope_bwd(k, &(struct k_rope_bwd){ .n = p->n, .h = R_H, .g = R_G,
		.d = R_D, .dt = p->dt, .dqkv = p->out[1].p, .pos = p->id,
		.cos = p->in[3].p, .sin = p->in[4].p, .qw = qw, .kw = kw,
		.in = p->in[0].p, .eps = 1e-6f, .dqw = p->out[2].p,
		.dkw = p->out[3].p });
	if (p->ctx)		/* not outputs without norms */
		for (int i = 0; i < 2 * R_D; i++)
			((float *)p->out[2 + i / R_D].p)[i % R_D] = 0;
}

/* Whether a and b are the two numbers of one pair. */
static int
rope_pair(int64_t a, int64_t b)
{
	return a % (R_D / 2) == b % (R_D / 2);
}

static enum reach
rope_angle(const struct probe *p, int64_t i, int out, int64_t j)
{
	int64_t n = j / R_D / R_HEADS, c = j / R_D % R_HEADS;

	if (out >= 2)
		return p->ctx ? NO : MAY;
	if (c >= R_H + R_G || p->id[n] != i / (R_D / 2))
		return NO;
	return out == 1 && !p->ctx ? YES : yes_if(rope_pair(i, j % R_D) &&
		i % (R_D / 2) == j % R_D % (R_D / 2));
}

static enum reach
rope_reach(const struct probe *p, int in, int64_t i, int out, int64_t j)
{
	int64_t row = i / R_D, c = row % R_HEADS, cj = j / R_D % R_HEADS;
	int norms = !p->ctx, key = out == 3;

	if (in == 3 || in == 4)
		return rope_angle(p, i, out, j);
	if (in == 1 || in == 2) {	/* a norm weight */
		if (!norms || out >= 2 || (in == 1 ? cj >= R_H :
		    cj < R_H || cj >= R_H + R_G))
			return NO;
		return out == 1 ? YES : yes_if(rope_pair(i, j % R_D));
	}
	if (out >= 2) {			/* the gradient of a norm weight */
		if (!norms || (key ? c < R_H || c >= R_H + R_G : c >= R_H))
			return NO;
		return in == 0 ? YES : yes_if(rope_pair(i % R_D, j));
	}
	if (j / R_D != row || (in == 0 && out == 1 && !norms) ||
	    (in == 0 && out == 1 && c >= R_H + R_G) || (in == 5 && out == 0))
		return NO;
	if (c >= R_H + R_G)		/* a value, copied */
		return yes_if(i == j);
	return norms ? YES : yes_if(rope_pair(i % R_D, j % R_D));
}

static void
rope_probe(struct probe *p)
{
	int64_t q = p->n * R_HEADS * R_D;

	probe_in(p, q, p->dt, 0);
	probe_in(p, R_D, p->dt, 1);
	probe_in(p, R_D, p->dt, 1);
	probe_in(p, 9 * R_D / 2, K_F32, 1);
	probe_in(p, 9 * R_D / 2, K_F32, 1);
	probe_in(p, q, p->dt, 0);
	probe_out(p, q, p->dt);
	probe_out(p, q, p->dt);
	probe_out(p, R_D, K_F32);
	probe_out(p, R_D, K_F32);
	p->id = kt_ids(p->kt, p->n, 0, 8, 0);
	p->run = rope_run;
	p->reach = rope_reach;
}

static void
rope_plain_probe(struct probe *p)
{
	rope_probe(p);
	p->ctx = "no norms";
}

/* --- SwiGLU --- */

enum { S_F = 19 };

/* Inputs gu, da; outputs a, dgu, a again. */
static void
swiglu_run(struct probe *p, struct kernels *k)
{
	k->swiglu_fwd(k, &(struct k_swiglu_fwd){ .n = p->n, .f = S_F,
		.dt = p->dt, .gu = p->in[0].p, .a = p->out[0].p });
	k->swiglu_bwd(k, &(struct k_swiglu_bwd){ .n = p->n, .f = S_F,
		.dt = p->dt, .gu = p->in[0].p, .da = p->in[1].p,
		.dgu = p->out[1].p, .a = p->out[2].p });
}

static enum reach
swiglu_reach(const struct probe *p, int in, int64_t i, int out, int64_t j)
{
	int64_t ni = i / (in ? S_F : 2 * S_F), nj = j / (out == 1 ? 2 * S_F :
							  S_F);
	int up = in == 0 && i % (2 * S_F) >= S_F;

	(void)p;
	if (ni != nj || i % (in ? S_F : 2 * S_F) % S_F !=
	    j % (out == 1 ? 2 * S_F : S_F) % S_F)
		return NO;
	if (in == 1)
		return yes_if(out == 1);
	/* d of up has no up in it */
	return yes_if(!(out == 1 && up && j % (2 * S_F) >= S_F));
}

static void
swiglu_probe(struct probe *p)
{
	probe_in(p, p->n * 2 * S_F, p->dt, 0);
	probe_in(p, p->n * S_F, p->dt, 0);
	probe_out(p, p->n * S_F, p->dt);
	probe_out(p, p->n * 2 * S_F, p->dt);
	probe_out(p, p->n * S_F, p->dt);
	p->run = swiglu_run;
	p->reach = swiglu_reach;
}

/* --- the head --- */

enum { H_C = 9, H_V = 50, H_VP = 77 };

/* Inputs w, h; outputs loss, logz, dh, dw. */
static void
head_run(struct probe *p, struct kernels *k)
{
	k->ce_head(k, &(struct k_ce_head){ .w = p->w, .n = p->n, .v = H_V,
		.h = p->in[1].p, .target = p->id, .scale = 0.1f,
		.zcoef = 0.01f, .loss = p->out[0].p, .logz = p->out[1].p,
		.dh = p->out[2].p, .dw = p->out[3].p });
}

static enum reach
head_reach(const struct probe *p, int in, int64_t i, int out, int64_t j)
{
	int64_t row = out == 2 ? j / H_C : j;
	int pad = (out == 3 && j / H_C >= H_V) ||
		  (in == 0 && i / H_C >= H_V);

	if (pad || (out != 1 && out != 3 && p->id[row] < 0))
		return NO;
	if (in == 1 && out == 3)
		return yes_if(p->id[i / H_C] >= 0);
	return in == 0 ? YES : yes_if(i / H_C == row);
}

static void
head_probe(struct probe *p)
{
	probe_weight(p, H_VP, H_C);
	probe_in(p, p->n * H_C, p->dt, 0);
	p->in[0].at[0] = H_V * H_C - 1;	/* the last token; padding */
	p->in[0].at[1] = H_V * H_C;
	p->in[1].at[0] = H_C;		/* without target, with one */
	p->in[1].at[1] = 2 * H_C;
	probe_out(p, p->n, K_F32);
	probe_out(p, p->n, K_F32);
	probe_out(p, p->n * H_C, p->dt);
	probe_out(p, H_VP * H_C, K_F32);
	p->id = kt_ids(p->kt, p->n, 0, H_V - 1, 4);
	p->id[1] = -1;
	p->id[2] = 3;
	p->run = head_run;
	p->reach = head_reach;
}

/* --- optimizer, sums and casts --- */

/* Inputs p, m, v, g; outputs p, m, v, w. */
static void
adamw_run(struct probe *p, struct kernels *k)
{
	struct k_segment seg = { 0, p->n, 1 };

	for (int i = 0; i < 3; i++)
		memcpy(p->out[i].p, p->in[i].p, (size_t)p->n * sizeof(float));
	k->adamw(k, &(struct k_adamw){ .nseg = 1, .seg = &seg,
		.p = p->out[0].p,
		.m = p->out[1].p, .v = p->out[2].p, .g = p->in[3].p,
		.lr = 1e-2, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8,
		.decay = 0.1, .gscale = 1, .t = 3, .w = p->out[3].p,
		.wdt = p->dt });
}

static enum reach
adamw_reach(const struct probe *p, int in, int64_t i, int out, int64_t j)
{
	(void)p;
	return yes_if(i == j && (out == 0 || out == 3 || in == 3 ||
				 in == out));
}

static void
adamw_probe(struct probe *p)
{
	for (int i = 0; i < 4; i++)
		probe_in(p, p->n, K_F32, i == 2 ? 1 : 0);
	for (int i = 0; i < 4; i++)
		probe_out(p, p->n, i == 3 ? p->dt : K_F32);
	p->run = adamw_run;
	p->reach = adamw_reach;
}

/* Inputs x, g; outputs x in the other type, the sum of g^2. */
static void
flat_run(struct probe *p, struct kernels *k)
{
	struct k_segment seg = { 0, p->n, 0 };
	double sum;

	k->cast(k, &(struct k_cast){ .n = p->n, .src = p->in[0].p,
		.sdt = p->dt, .dst = p->out[0].p, .ddt = p->out[0].dt });
	k->sumsq(k, &(struct k_sumsq){ .nseg = 1, .seg = &seg,
		.g = p->in[1].p, .out = &sum });
	((float *)p->out[1].p)[0] = (float)sum;
}

static enum reach
flat_reach(const struct probe *p, int in, int64_t i, int out, int64_t j)
{
	(void)p;
	return yes_if(in == out && (in == 1 || i == j));
}

static void
flat_probe(struct probe *p)
{
	probe_in(p, p->n, p->dt, 0);
	probe_in(p, p->n, K_F32, 0);
	probe_out(p, p->n, p->dt == K_F32 ? K_BF16 : K_F32);
	probe_out(p, 1, K_F32);
	p->run = flat_run;
	p->reach = flat_reach;
}

/* --- all of them --- */

static const struct {
	const char *name;
	void (*open)(struct probe *p);
	int64_t n[2];
	int places;
} probes[] = {
	{ "embed_fwd and embed_bwd", embed_probe, { 6, 70 }, 5 },
	{ "rmsnorm_fwd", norm_fwd_probe, { 6, 70 }, 5 },
	{ "rmsnorm_bwd", norm_bwd_probe, { 6, 70 }, 5 },
	{ "matmul_fwd, _dx and _dw", matmul_probe, { 6, 70 }, 5 },
	{ "rope_fwd and rope_bwd with norms", rope_probe, { 6, 70 }, 6 },
	{ "rope_fwd and rope_bwd", rope_plain_probe, { 6, 70 }, 6 },
	{ "attn_fwd", attn_fwd_probe, { 70, 150 }, 6 },
	{ "attn_bwd", attn_bwd_probe, { 70, 150 }, 6 },
	{ "kv_put and attn_cache", cache_probe, { 3, 5 }, 12 },
	{ "swiglu_fwd and swiglu_bwd", swiglu_probe, { 6, 70 }, 5 },
	{ "ce_head", head_probe, { 6, 300 }, 5 },
	{ "adamw", adamw_probe, { 6, 70 }, 3 },
	{ "cast and sumsq", flat_probe, { 6, 70 }, 3 },
};

static void
table(const char *name, struct kernels *k)
{
	struct err e = {0};
	struct kernels *ref = kernels_open("ref", 1, &e);

	for (size_t i = 0; i < sizeof probes / sizeof *probes; i++)
		for (int j = 0; j < 2 * K_TYPES; j++) {
			enum kdtype dt = (enum kdtype)(j / 2);
			struct kt t = { .k = k, .dt = dt, .seed = i };
			struct probe p = { .k = k, .dt = dt, .kt = &t,
					   .n = probes[i].n[j % 2] };

			probes[i].open(&p);
			tap_ok(probe_all(&p, ref, probes[i].places) == 0,
			       "%s %s %s, %lld rows: NaN and infinity reach "
			       "what depends on them", name, probes[i].name,
			       kdtype_name(dt),
			       (long long)p.n);
			kt_clear(&t);
		}
	ref->close(ref);
}

int
main(void)
{
	tap_start();
	each_table(0, 2, table);
	return tap_end();
}
