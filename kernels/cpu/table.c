/*
 * table.c - the cpu table: what the processor has, and its rate
 */
#include "kernels/cpu/prim.h"
#include "kernels/cpu/weight.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"

static const char *const isa_names[] = {
	[ISA_SCALAR] = "scalar", [ISA_AVX2] = "avx2", [ISA_AVX512] = "avx512",
	[ISA_AVX512_BF16] = "avx512_bf16", [ISA_AMX] = "amx",
};

#ifdef __x86_64__
/* AMX tiles; not every compiler has a __builtin_cpu_supports name for them. */
static int
has_amx(void)
{
	unsigned a = 7, b, c = 0, d;

	__asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
	return (d >> 22 & 1) && (d >> 24 & 1);	/* AMX-BF16, AMX-TILE */
}

static enum cpu_isa
best_isa(void)
{
	__builtin_cpu_init();
	if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
		return ISA_SCALAR;
	if (!__builtin_cpu_supports("avx512f") ||
	    !__builtin_cpu_supports("avx512bw") ||
	    !__builtin_cpu_supports("avx512dq") ||
	    !__builtin_cpu_supports("avx512vl"))
		return ISA_AVX2;
	if (!__builtin_cpu_supports("avx512bf16"))
		return ISA_AVX512;
	return has_amx() ? ISA_AMX : ISA_AVX512_BF16;
}

static const struct vec *const vecs[] = {
	[ISA_SCALAR] = &vec_scalar, [ISA_AVX2] = &vec_avx2,
	[ISA_AVX512] = &vec_avx512, [ISA_AVX512_BF16] = &vec_avx512bf16,
	[ISA_AMX] = &vec_avx512bf16,
};
#else
static enum cpu_isa
best_isa(void)
{
	return ISA_SCALAR;
}

static const struct vec *const vecs[] = { [ISA_SCALAR] = &vec_scalar };
#endif

static int
choose_isa(struct cpu *c, const char *want, struct err *e)
{
	enum cpu_isa best = best_isa(), i;

	c->isa = best;
	c->packed = best == ISA_AMX;
	if (want && strcmp(want, "packed") == 0)
		c->packed = best >= ISA_AVX512_BF16;
	else if (want) {
		for (i = ISA_SCALAR; i <= ISA_AMX; i++)
			if (strcmp(want, isa_names[i]) == 0)
				break;
		if (i > ISA_AMX)
			return err_set(e, "kernels: no instruction set '%s'",
				       want);
		if (i > best)
			return err_set(e, "kernels: this processor has %s, "
				       "not %s", isa_names[best], want);
		c->isa = i;
		c->packed = i == ISA_AMX;
	}
	c->vec = vecs[c->isa];
	return 0;
}

/* Every call is done when it returns. */
static int
cpu_sync(struct kernels *k, struct err *e)
{
	(void)k;
	(void)e;
	return 0;
}

/* --- peak rate --- */

enum { PEAK_ROWS = 256, PEAK_K = 1024, PEAK_COLS = 512, PEAK_TILES = 64 };

struct peak {
	struct cpu *c;
	const struct prim *g;
	char *a, *b, *y;
	size_t ystep;
};

static void
peak_task(void *arg, int64_t i, int thread)
{
	struct peak *p = arg;

	(void)i;
	prim_run(p->c, p->g, thread, p->a, p->b,
		 p->y + (size_t)thread * p->ystep);
}

static double
seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double
measure_peak(struct cpu *c, enum kdtype dt)
{
	struct gemm_shape s = {
		.m = PEAK_ROWS, .n = PEAK_COLS, .k = PEAK_K, .lda = PEAK_K,
		.ldb = PEAK_COLS, .ldc = PEAK_COLS, .dt = dt, .cdt = dt,
	};
	struct peak p = { .c = c };
	double best = 1e9, work = 2.0 * PEAK_ROWS * PEAK_K * PEAK_COLS;
	size_t n = 4 * (size_t)PEAK_K * PEAK_COLS;

	p.a = xcalloc(3 + (size_t)c->threads, n);
	p.b = p.a + n;
	p.y = p.b + n;
	p.ystep = n;
	s.packed = c->packed && dt == K_BF16;
	p.g = prim_plan(c, &s);
	cpu_room(c);
	if (prim_takes_packed(p.g))
		p.b = xcalloc(1, prim_packed_size(p.g));
	for (int i = 0; i < 4; i++) {
		double t = seconds();

		cpu_each(c, PEAK_TILES, peak_task, &p);
		t = seconds() - t;
		best = t < best ? t : best;
	}
	if (prim_takes_packed(p.g))
		free(p.b);
	free(p.a);
	return work * PEAK_TILES / best;
}

static double
cpu_peak(struct kernels *k, enum kdtype dt)
{
	struct cpu *c = cpu_of(k);

	if (c->peak[dt] == 0)
		c->peak[dt] = measure_peak(c, dt);
	return c->peak[dt];
}

static void
cpu_close(struct kernels *k)
{
	struct cpu *c = cpu_of(k);

	gemm_close(c);
	for (int i = 0; i < c->threads; i++) {
		free(c->own[i].p);
		free(c->tile[i].p);
		free(c->work[i].p);
	}
	free(c->shared.p);
	free(c->spare.p);
	free(c->own);
	free(c->tile);
	free(c->work);
	free(c);
	free(k);
}

static void
set_entries(struct kernels *k)
{
	k->sync = cpu_sync;
	k->weight_new = cpu_weight_new;
	k->copies = cpu_copies;
	k->need = cpu_need;
	k->reserve = cpu_reserve;
	k->peak = cpu_peak;
	k->record = cpu_record;
	k->close = cpu_close;
#define X(op) k->op = cpu_##op;
	KERNEL_OPS(X)
#undef X
}

struct kernels *
cpu_open(const char *isa, int threads, struct err *e)
{
	struct cpu *c = xcalloc(1, sizeof *c);
	struct kernels *k;

	c->threads = threads;
	if (choose_isa(c, isa, e) < 0 || gemm_open(c, e) < 0) {
		free(c);
		return NULL;
	}
	c->own = xcalloc((size_t)threads, sizeof *c->own);
	c->tile = xcalloc((size_t)threads, sizeof *c->tile);
	c->work = xcalloc((size_t)threads, sizeof *c->work);
	k = xcalloc(1, sizeof *k);
	k->abi = K_ABI;
	k->name = "cpu";
	k->isa = isa_names[c->isa];
	k->threads = threads;
	k->priv = c;
	set_entries(k);
	return k;
}
