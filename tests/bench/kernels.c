/*
 * kernels.c - the kernels of one training step, one TSV line each
 *
 * usage: kernels [-j THREADS] [-k TABLE] [PRESET:BATCH:SEQ[:VOCAB]...]
 *
 * For every entry that a step of the preset calls, at the step's own shapes:
 * calls per step, milliseconds of CPU and wall time per call, and the rate in
 * GFLOP/s (matmuls) or GB/s (all others).  The first lines are the yardsticks:
 * the rate of oneDNN in one large matmul, and the bandwidth of reads and
 * copies.
 * The last line of a preset is the sum of a step, with its model FLOPs as a
 * fraction of the yardstick.
 */
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "kernels/kernels.h"
#include "tests/kernels/must.h"

struct preset {
	const char *name;
	int64_t c, l, h, g, f, v;
};

static const struct preset presets[] = {
	{ "1M", 128, 4, 4, 2, 384, 8192 },
	{ "10M", 384, 6, 6, 2, 1024, 8192 },
	{ "124M", 768, 12, 12, 12, 2048, 50304 },
	{ "500M", 1280, 24, 20, 4, 3584, 50304 },
	{ "1B", 2048, 16, 32, 8, 8192, 50304 },
};

/* Everything a step works on; made once for a shape. */
struct step {
	struct kernels *k;
	struct preset p;
	int64_t b, t, n, d, q;
	struct kweight *wqkv, *wo, *wgu, *wdown, *head;
	int32_t *tok, *pos;
	float *cos, *sin, *x, *dx, *rstd, *lse, *loss, *logz, *dw, *master,
	      *m, *v;
	double *sum;
	struct k_segment seg;	/* the head's gradient */
	void *w, *y, *y2, *y3, *big, *big2;
	void *inputs;		/* (N, F) between -1 and 1 */
	double cpu, wall;	/* of the step so far */
};

static double
now(clockid_t c)
{
	struct timespec t;

	clock_gettime(c, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The least of several runs of fn. */
static void
measure(struct step *s, const char *name, int64_t calls, double flop,
	double bytes, void (*fn)(struct step *))
{
	double cpu = 1e9, wall = 1e9, start = now(CLOCK_MONOTONIC);

	fn(s);
	for (int i = 0; i < 20; i++) {
		double c = now(CLOCK_PROCESS_CPUTIME_ID);
		double w = now(CLOCK_MONOTONIC), x;

		fn(s);
		x = now(CLOCK_PROCESS_CPUTIME_ID) - c;
		cpu = x < cpu ? x : cpu;
		x = now(CLOCK_MONOTONIC) - w;
		wall = x < wall ? x : wall;
		if (now(CLOCK_MONOTONIC) - start > 1 && i >= 2)
			break;
	}
	s->cpu += (double)calls * cpu;
	s->wall += (double)calls * wall;
	printf("%s B%lld T%lld\t%s\t%lld\t%.3f\t%.3f\t%.1f\t%s\n", s->p.name,
	       (long long)s->b, (long long)s->t, name, (long long)calls,
	       1e3 * cpu, 1e3 * wall, 1e-9 * (flop > 0 ? flop : bytes) / wall,
	       flop > 0 ? "GFLOP/s" : "GB/s");
	fflush(stdout);
}

static void
run_embed_fwd(struct step *s)
{
	s->k->embed_fwd(s->k, &(struct k_embed_fwd){ .n = s->n, .c = s->p.c,
		.dt = K_BF16, .w = s->head->data, .tok = s->tok,
		.y = s->x });
}

static void
run_embed_bwd(struct step *s)
{
	s->k->embed_bwd(s->k, &(struct k_embed_bwd){ .n = s->n, .c = s->p.c,
		.v = s->p.v, .tok = s->tok, .dx = s->dx,
		.dw = s->dw, .accumulate = 1 });
}

static void
run_norm_fwd(struct step *s)
{
	s->k->rmsnorm_fwd(s->k, &(struct k_rmsnorm_fwd){ .n = s->n,
		.c = s->p.c, .dt = K_BF16, .x = s->x, .w = s->w, .eps = 1e-5f,
		.y = s->y, .rstd = s->rstd });
}

static void
run_norm_bwd(struct step *s)
{
	s->k->rmsnorm_bwd(s->k, &(struct k_rmsnorm_bwd){ .n = s->n,
		.c = s->p.c, .dt = K_BF16, .dy = s->y, .x = s->x, .w = s->w,
		.rstd = s->rstd, .dx = s->dx, .dxc = s->y2, .dw = s->loss });
}

static void
fwd(struct step *s, struct kweight *w, enum kdtype ydt)
{
	s->k->matmul_fwd(s->k, &(struct k_matmul_fwd){ .w = w, .n = s->n,
		.x = s->y3, .y = ydt == K_F32 ? (void *)s->dx : s->big,
		.ydt = ydt, .add = ydt == K_F32 ? s->x : NULL });
}

static void
dx(struct step *s, struct kweight *w)
{
	s->k->matmul_dx(s->k, &(struct k_matmul_dx){ .w = w, .n = s->n,
		.dy = s->big, .dx = s->y3 });
}

static void
dw(struct step *s, struct kweight *w)
{
	s->k->matmul_dw(s->k, &(struct k_matmul_dw){ .n = s->n, .out = w->out,
		.in = w->in, .dt = K_BF16, .dy = s->big, .x = s->y3,
		.dw = s->dw });
}

/* One row: what decoding does. */
static void
run_decode(struct step *s)
{
	s->k->matmul_fwd(s->k, &(struct k_matmul_fwd){ .w = s->head, .n = 1,
		.x = s->y, .y = s->master, .ydt = K_F32 });
}

static void run_qkv(struct step *s) { fwd(s, s->wqkv, K_BF16); }
static void run_o(struct step *s) { fwd(s, s->wo, K_F32); }
static void run_gu(struct step *s) { fwd(s, s->wgu, K_BF16); }
static void run_down(struct step *s) { fwd(s, s->wdown, K_F32); }
static void run_qkv_dx(struct step *s) { dx(s, s->wqkv); }
static void run_o_dx(struct step *s) { dx(s, s->wo); }
static void run_gu_dx(struct step *s) { dx(s, s->wgu); }
static void run_down_dx(struct step *s) { dx(s, s->wdown); }
static void run_qkv_dw(struct step *s) { dw(s, s->wqkv); }
static void run_o_dw(struct step *s) { dw(s, s->wo); }
static void run_gu_dw(struct step *s) { dw(s, s->wgu); }
static void run_down_dw(struct step *s) { dw(s, s->wdown); }

static void
run_rope_fwd(struct step *s)
{
	s->k->rope_fwd(s->k, &(struct k_rope_fwd){ .n = s->n, .h = s->p.h,
		.g = s->p.g, .d = s->d, .dt = K_BF16, .in = s->big,
		.out = s->big, .pos = s->pos, .cos = s->cos, .sin = s->sin });
}

static void
run_rope_bwd(struct step *s)
{
	s->k->rope_bwd(s->k, &(struct k_rope_bwd){ .n = s->n, .h = s->p.h,
		.g = s->p.g, .d = s->d, .dt = K_BF16, .dqkv = s->big,
		.pos = s->pos, .cos = s->cos, .sin = s->sin });
}

static void
run_attn_fwd(struct step *s)
{
	s->k->attn_fwd(s->k, &(struct k_attn_fwd){ .b = s->b, .t = s->t,
		.h = s->p.h, .g = s->p.g, .d = s->d, .dt = K_BF16,
		.qkv = s->big, .scale = 0.125f, .o = s->y2, .lse = s->lse });
}

static void
run_attn_bwd(struct step *s)
{
	s->k->attn_bwd(s->k, &(struct k_attn_bwd){ .b = s->b, .t = s->t,
		.h = s->p.h, .g = s->p.g, .d = s->d, .dt = K_BF16,
		.qkv = s->big, .scale = 0.125f, .o = s->y2, .lse = s->lse,
		.dout = s->y, .dqkv = s->big2 });
}

static void
run_swiglu_fwd(struct step *s)
{
	s->k->swiglu_fwd(s->k, &(struct k_swiglu_fwd){ .n = s->n,
		.f = s->p.f, .dt = K_BF16, .gu = s->big, .a = s->y3 });
}

static void
run_swiglu_bwd(struct step *s)
{
	s->k->swiglu_bwd(s->k, &(struct k_swiglu_bwd){ .n = s->n,
		.f = s->p.f, .dt = K_BF16, .gu = s->big, .da = s->y3,
		.dgu = s->big2, .a = s->y3 });
}

static void
run_head(struct step *s)
{
	s->k->ce_head(s->k, &(struct k_ce_head){ .w = s->head, .n = s->n,
		.v = s->p.v, .h = s->y, .target = s->tok,
		.scale = 1.0f / (float)s->n, .loss = s->loss, .logz = s->logz,
		.dh = s->y2, .dw = s->dw });
}

static void
run_sumsq(struct step *s)
{
	s->seg = (struct k_segment){ .n = s->p.v * s->p.c };
	s->k->sumsq(s->k, &(struct k_sumsq){ .nseg = 1, .seg = &s->seg,
		.g = s->dw, .out = s->sum });
}

static void
run_adamw(struct step *s)
{
	s->seg = (struct k_segment){ .n = s->p.v * s->p.c };
	s->k->adamw(s->k, &(struct k_adamw){ .nseg = 1, .seg = &s->seg,
		.p = s->master, .m = s->m, .v = s->v, .g = s->dw, .lr = 1e-9,
		.beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .gscale = 1, .t = 1,
		.w = s->head->data, .wdt = s->head->dt });
	kernels_weight_update(s->k, s->head);
}

/* --- memory --- */

static void *
room(struct step *s, int64_t n, enum kdtype dt, float value)
{
	size_t bytes = (size_t)n * kdtype_size(dt);
	void *p = must_alloc(s->k, bytes);
	char *host = xmalloc(bytes);

	for (int64_t i = 0; i < n; i++) {
		float x = value * (float)((i * 7919 % 2001) - 1000) / 1000;

		if (dt == K_BF16)
			((uint16_t *)(void *)host)[i] = bf16_from_f32(x);
		else
			((float *)(void *)host)[i] = x;
	}
	kernels_upload(s->k, p, host, bytes);
	must_sync(s->k);
	free(host);
	return p;
}

static int32_t *
ids(struct step *s, int64_t mod, int64_t mul)
{
	int32_t *host = xmalloc((size_t)s->n * sizeof *host);
	int32_t *p = must_alloc(s->k, (size_t)s->n * sizeof *p);

	for (int64_t i = 0; i < s->n; i++)
		host[i] = (int32_t)(i * mul % mod);
	kernels_upload(s->k, p, host, (size_t)s->n * sizeof *p);
	must_sync(s->k);
	free(host);
	return p;
}

/*
 * The table of RoPE.  A true rotation: in place and repeated, any other would
 * shrink its input to subnormal numbers, which are slow.
 */
static float *
angles(struct step *s, double (*fn)(double))
{
	size_t n = (size_t)(s->t * s->d / 2);
	float *host = xmalloc(n * sizeof *host);
	float *p = must_alloc(s->k, n * sizeof *p);

	for (size_t i = 0; i < n; i++)
		host[i] = (float)fn((double)i);
	kernels_upload(s->k, p, host, n * sizeof *p);
	must_sync(s->k);
	free(host);
	return p;
}

static struct kweight *
weight(struct step *s, int64_t out, int64_t in)
{
	struct kweight *w = must_weight(s->k, K_BF16, out, in,
					     K_USE_TRAIN);
	void *x = room(s, out * in, K_BF16, 0.05f);

	kernels_copy(s->k, w->data, x, (size_t)(out * in) * 2);
	kernels_weight_update(s->k, w);
	kernels_release(s->k, x);
	return w;
}

static void
step_open(struct step *s)
{
	const struct preset *p = &s->p;
	int64_t wide = 2 * p->f > s->q ? 2 * p->f : s->q, vc = p->v * p->c;

	s->wqkv = weight(s, s->q, p->c);
	s->wo = weight(s, p->c, p->h * s->d);
	s->wgu = weight(s, 2 * p->f, p->c);
	s->wdown = weight(s, p->c, p->f);
	s->head = weight(s, p->v, p->c);
	s->tok = ids(s, p->v, 7919);
	s->pos = ids(s, s->t, 1);
	s->cos = angles(s, cos);
	s->sin = angles(s, sin);
	s->x = room(s, s->n * p->c, K_F32, 1);
	s->dx = room(s, s->n * p->c, K_F32, 1);
	s->rstd = room(s, s->n, K_F32, 1);
	s->lse = room(s, s->n * p->h, K_F32, 1);
	s->loss = room(s, s->n > p->c ? s->n : p->c, K_F32, 1);
	s->logz = room(s, s->n, K_F32, 1);
	s->dw = room(s, vc, K_F32, 1e-3f);
	s->master = room(s, vc, K_F32, 0.05f);
	s->m = room(s, vc, K_F32, 1e-3f);
	s->v = room(s, vc, K_F32, 0);
	s->sum = (double *)room(s, 2, K_F32, 0);
	s->w = room(s, p->c, K_BF16, 1);
	s->y = room(s, s->n * p->c, K_BF16, 1);
	s->y2 = room(s, s->n * p->c, K_BF16, 1);
	s->y3 = room(s, s->n * (p->f > p->c ? p->f : p->c), K_BF16, 1);
	s->big = room(s, s->n * wide, K_BF16, 1);
	s->big2 = room(s, s->n * wide, K_BF16, 1);
	s->inputs = room(s, s->n * p->f, K_BF16, 1);
}

static void
step_close(struct step *s)
{
	struct kweight *w[] = { s->wqkv, s->wo, s->wgu, s->wdown, s->head };
	void *p[] = { s->tok, s->pos, s->cos, s->sin, s->x, s->dx, s->rstd,
		s->lse, s->loss, s->logz, s->dw, s->master, s->m, s->v,
		s->sum, s->w, s->y, s->y2, s->y3, s->big, s->big2,
		s->inputs };

	for (size_t i = 0; i < sizeof w / sizeof *w; i++)
		must_weight_free(s->k, w[i]);
	for (size_t i = 0; i < sizeof p / sizeof *p; i++)
		kernels_release(s->k, p[i]);
}

static void
product(struct step *s, const char *name, struct kweight *w,
	void (*f)(struct step *), void (*d)(struct step *),
	void (*g)(struct step *))
{
	double flop = 2.0 * (double)s->n * (double)w->out * (double)w->in;
	char line[64];

	snprintf(line, sizeof line, "matmul_fwd %s", name);
	measure(s, line, s->p.l, flop, 0, f);
	snprintf(line, sizeof line, "matmul_dx %s", name);
	measure(s, line, s->p.l, flop, 0, d);
	snprintf(line, sizeof line, "matmul_dw %s", name);
	measure(s, line, s->p.l, flop, 0, g);
}

/*
 * What matmuls left in the inputs of attention and SwiGLU is so large that
 * their exponentials are subnormal, which is slow.
 */
static void
fresh_inputs(struct step *s)
{
	size_t bytes = (size_t)(s->n * s->p.f) * 2;

	kernels_copy(s->k, s->big, s->inputs, bytes);
	kernels_copy(s->k, (char *)s->big + bytes, s->inputs, bytes);
	kernels_copy(s->k, s->y3, s->inputs, bytes);
}

static void
step_run(struct step *s)
{
	const struct preset *p = &s->p;
	double n = (double)s->n, c = (double)p->c, l = (double)p->l;
	double vc = (double)p->v * c;
	double layer = (double)(s->q + p->h * s->d + 3 * p->f) * c;
	double params = l * layer + vc;
	double attn = 2 * (double)(s->b * p->h * s->d) * (double)s->t *
		      (double)s->t;		/* causal, forward */
	double peak = s->k->peak(s->k, K_BF16);
	double flop = 6 * n * params + 3 * l * attn;

	measure(s, "embed_fwd", 1, 0, n * c * 6, run_embed_fwd);
	measure(s, "embed_bwd", 1, 0, n * c * 12, run_embed_bwd);
	measure(s, "rmsnorm_fwd", 2 * p->l + 1, 0, n * c * 6, run_norm_fwd);
	measure(s, "rmsnorm_bwd", 2 * p->l + 1, 0, n * c * 16, run_norm_bwd);
	product(s, "qkv", s->wqkv, run_qkv, run_qkv_dx, run_qkv_dw);
	product(s, "o", s->wo, run_o, run_o_dx, run_o_dw);
	product(s, "gu", s->wgu, run_gu, run_gu_dx, run_gu_dw);
	product(s, "down", s->wdown, run_down, run_down_dx, run_down_dw);
	fresh_inputs(s);
	measure(s, "rope_fwd", p->l, 0, n * (double)s->q * 4, run_rope_fwd);
	measure(s, "rope_bwd", p->l, 0, n * (double)s->q * 4, run_rope_bwd);
	measure(s, "attn_fwd", p->l, attn, 0, run_attn_fwd);
	measure(s, "attn_bwd", p->l, 2 * attn, 0, run_attn_bwd);
	measure(s, "swiglu_fwd", p->l, 0, n * (double)p->f * 6,
		run_swiglu_fwd);
	measure(s, "swiglu_bwd", p->l, 0, n * (double)p->f * 12,
		run_swiglu_bwd);
	measure(s, "ce_head", 1, 6 * n * vc, 0, run_head);
	measure(s, "sumsq of the head", 1, 0, vc * 4, run_sumsq);
	measure(s, "adamw of the head", 1, 0, vc * 30, run_adamw);
	printf("%s B%lld T%lld\tstep, optimizer of the head only\t1\t%.1f\t"
	       "%.1f\t%.1f\tGFLOP/s = %.2f of the yardstick\n", p->name,
	       (long long)s->b, (long long)s->t, 1e3 * s->cpu, 1e3 * s->wall,
	       1e-9 * flop / s->wall, flop / s->wall / peak);
}

/* --- yardsticks --- */

static void
yardsticks(struct kernels *k)
{
	size_t n = 256u << 20;
	const struct k_segment all = { .n = (int64_t)(n / 4) };
	void *a = must_alloc(k, n), *b = must_alloc(k, n);
	double *sum = must_alloc(k, sizeof *sum), best = 1e9, copy = 1e9, t;

	kernels_zero(k, a, n);
	for (int i = 0; i < 5; i++) {
		t = now(CLOCK_MONOTONIC);
		k->sumsq(k, &(struct k_sumsq){ .nseg = 1, .seg = &all, .g = a,
			.out = sum });
		must_sync(k);
		t = now(CLOCK_MONOTONIC) - t;
		best = t < best ? t : best;
		t = now(CLOCK_MONOTONIC);
		kernels_copy(k, b, a, n);
		must_sync(k);
		t = now(CLOCK_MONOTONIC) - t;
		copy = t < copy ? t : copy;
	}
	printf("yardstick\t%s, %d threads: bf16\t1\t-\t-\t%.0f\tGFLOP/s\n",
	       k->isa, k->threads, 1e-9 * k->peak(k, K_BF16));
	printf("yardstick\tf32\t1\t-\t-\t%.0f\tGFLOP/s\n",
	       1e-9 * k->peak(k, K_F32));
	printf("yardstick\tread\t1\t-\t-\t%.1f\tGB/s\n", 1e-9 * (double)n /
	       best);
	printf("yardstick\tcopy\t1\t-\t-\t%.1f\tGB/s\n", 2e-9 * (double)n /
	       copy);
	kernels_release(k, a);
	kernels_release(k, b);
	kernels_release(k, sum);
}

static int
bench(struct kernels *k, const char *spec)
{
	char name[16];
	long long b, t, v = 0;
	struct step s = { .k = k };
	size_t i;

	if (sscanf(spec, "%15[^:]:%lld:%lld:%lld", name, &b, &t, &v) < 3)
		return -1;
	for (i = 0; i < sizeof presets / sizeof *presets; i++)
		if (strcmp(presets[i].name, name) == 0)
			break;
	if (i == sizeof presets / sizeof *presets || b < 1 || t < 1)
		return -1;
	s.p = presets[i];
	s.p.v = v > 0 ? (v + 63) / 64 * 64 : s.p.v;
	s.b = b;
	s.t = t;
	s.n = b * t;
	s.d = s.p.c / s.p.h;
	s.q = (s.p.h + 2 * s.p.g) * s.d;
	step_open(&s);
	step_run(&s);
	measure(&s, "decode: one row by the head", 1, 0,
		2.0 * (double)(s.p.v * s.p.c), run_decode);
	step_close(&s);
	return 0;
}

int
main(int argc, char **argv)
{
	static char *usual[] = { "10M:16:256", "10M:4:1024", "124M:4:64",
				 "124M:4:256", "124M:1:1024" };
	int threads = (int)sysconf(_SC_NPROCESSORS_ONLN), opt;
	const char *table = "cpu";
	struct err e = {0};
	struct kernels *k;

	while ((opt = getopt(argc, argv, "j:k:")) != -1)
		if (opt == 'j')
			threads = atoi(optarg);
		else if (opt == 'k')
			table = optarg;
		else
			return 2;
	k = kernels_open(table, threads, &e);
	if (!k)
		die_err(&e);
	printf("shape\tentry\tcalls\tcpu_ms\twall_ms\trate\tunit\n");
	yardsticks(k);
	if (optind == argc) {
		argv = usual;
		argc = sizeof usual / sizeof *usual;
		optind = 0;
	}
	for (; optind < argc; optind++)
		if (bench(k, argv[optind]) < 0)
			die("kernels: %s: not PRESET:BATCH:SEQ[:VOCAB]",
			    argv[optind]);
	k->close(k);
	return 0;
}
