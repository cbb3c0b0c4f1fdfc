/*
 * optim.c - sums, clipping and AdamW against float64, on every table
 *
 * The right values are computed here, from the formulas of Loshchilov and
 * Hutter 2019, number by number.
 */
#include "tests/kernels/must.h"
#include "tests/kernels/tables.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"

enum { N = 40000, SEGMENTS = 5 };

static struct kernels *k;
static const char *table;

/* Gaps before, between and after; the third is longer than one block. */
static const struct k_segment segs[SEGMENTS] = {
	{ 3, 100, 1 }, { 103, 1, 0 }, { 128, 35000, 1 }, { 35200, 17, 0 },
	{ 35300, 4000, 1 },
};

/* Arrays of one state of the optimizer. */
struct state {
	float *p, *m, *v, *g;
	void *w;
	double *stats;
};

static float *
random_floats(uint64_t stream, double std)
{
	float *x = must_alloc(k, N * sizeof *x);

	for (uint64_t i = 0; i < N; i++)
		x[i] = (float)(std * rng_normal(7, RNG_TEST | stream << 32, i));
	return x;
}

static void
state_init(struct state *s, enum kdtype dt)
{
	s->p = random_floats(1, 0.1);
	s->m = random_floats(2, 0.1);
	s->v = random_floats(3, 1);
	s->g = random_floats(4, 2);
	s->w = must_alloc(k, N * kdtype_size(dt));
	s->stats = must_alloc(k, SEGMENTS * 3 * sizeof *s->stats);
	for (int i = 0; i < N; i++) {
		s->v[i] = i % 3 ? s->v[i] * s->v[i] : 0;
		s->m[i] = i % 4 ? s->m[i] : 0;
	}
	for (int i = 0; i < SEGMENTS * 3; i++)
		s->stats[i] = -1;
	k->cast(k, &(struct k_cast){ .n = N, .src = s->p, .sdt = K_F32,
		.dst = s->w, .ddt = dt });
}

static void
state_clear(struct state *s)
{
	kernels_release(k, s->p);
	kernels_release(k, s->m);
	kernels_release(k, s->v);
	kernels_release(k, s->g);
	kernels_release(k, s->w);
	kernels_release(k, s->stats);
}

static struct k_adamw
adamw_of(const struct state *s, enum kdtype dt)
{
	return (struct k_adamw){ .nseg = SEGMENTS, .seg = segs, .p = s->p,
		.m = s->m, .v = s->v, .g = s->g, .w = s->w, .wdt = dt,
		.beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .decay = 0.25,
		.lr = 1e-3, .gscale = 1, .t = 1 };
}

static const struct k_segment *
segment_of(int64_t i)
{
	for (int s = 0; s < SEGMENTS; s++)
		if (i >= segs[s].at && i < segs[s].at + segs[s].n)
			return &segs[s];
	return NULL;
}

static double
w_at(const void *w, enum kdtype dt, int64_t i)
{
	return kdtype_get(w, dt, i);
}

/* --- AdamW --- */

/*
 * The largest error of number i, in units of what rounding allows: m, v and
 * the update are computed in f32, p is rounded once.
 */
static double
error_of(const struct state *old, const struct state *new,
	 const struct k_adamw *a, const struct k_step *t, int64_t i)
{
	const struct k_segment *s = segment_of(i);
	double g = t->factor * old->g[i], p = old->p[i];
	double m = a->beta1 * old->m[i] + (1 - a->beta1) * g;
	double v = a->beta2 * old->v[i] + (1 - a->beta2) * g * g;
	double size = fabs(a->beta1 * old->m[i]) + fabs((1 - a->beta1) * g);
	double step, shrink, worst;
	float stored;

	if (!s)
		return old->p[i] == new->p[i] && old->m[i] == new->m[i] &&
			old->v[i] == new->v[i] &&
			w_at(old->w, a->wdt, i) == w_at(new->w, a->wdt, i) ?
			0 : 1e9;
	step = t->lr / t->corr1 / (sqrt(v / t->corr2) + a->eps);
	shrink = s->decay ? t->lr * a->decay * p : 0;
	p -= step * m + shrink;
	worst = fabs(new->m[i] - m) / (3e-7 * size);
	worst = fmax(worst, fabs(new->v[i] - v) / (4e-7 * v));
	worst = fmax(worst, fabs(new->p[i] - p) /
		     (6e-8 * fabs(old->p[i]) + 12e-8 * fabs(p) +
		      1e-6 * step * size + 1e-6 * fabs(shrink)));
	kdtype_set(&stored, a->wdt, 0, new->p[i]);
	if (w_at(new->w, a->wdt, i) != w_at(&stored, a->wdt, 0))
		return 1e9;
	return worst;
}

static void
test_adamw(enum kdtype dt, double beta1, double beta2, int64_t t, int device)
{
	struct state old, new;
	struct k_adamw a;
	struct k_step *d = must_alloc(k, sizeof *d);
	double worst = 0;

	state_init(&old, dt);
	state_init(&new, dt);
	a = adamw_of(&new, dt);
	a.beta1 = beta1;
	a.beta2 = beta2;
	a.t = t;
	a.lr = 3e-3;
	a.gscale = 0.37;
	*d = (struct k_step){ a.lr, 1 - pow(beta1, (double)t),
		1 - pow(beta2, (double)t), a.gscale, 0, 1, SEGMENTS };
	if (device) {
		a.step = d;
		a.lr = NAN;
		a.gscale = NAN;
		a.t = -1;
	}
	k->adamw(k, &a);
	for (int64_t i = 0; i < N; i++)
		worst = fmax(worst, error_of(&old, &new, &a, d, i));
	tap_ok(worst <= 1, "%s: adamw %s, beta %g %g, step %d%s: %.2f of the"
	       " rounding of float64", table, kdtype_name(dt),
	       beta1, beta2, (int)t, device ? " of the device" : "", worst);
	state_clear(&old);
	state_clear(&new);
	kernels_release(k, d);
}

/* With apply 0 nothing is written, whatever the numbers are. */
static void
test_not_applied(void)
{
	struct state old, new;
	struct k_step *d = must_alloc(k, sizeof *d);
	struct k_adamw a;
	size_t n = N * sizeof(float);
	int same;

	state_init(&old, K_F32);
	state_init(&new, K_F32);
	a = adamw_of(&new, K_F32);
	*d = (struct k_step){ 1, 1, 1, NAN, NAN, 0, 2 };
	a.step = d;
	a.stats = new.stats;
	new.g[segs[2].at] = NAN;
	k->adamw(k, &a);
	same = !memcmp(old.p, new.p, n) && !memcmp(old.m, new.m, n) &&
		!memcmp(old.v, new.v, n) && !memcmp(old.w, new.w, n) &&
		new.stats[0] == -1;
	d->apply = 1;
	k->adamw(k, &a);
	tap_ok(same && isnan(new.p[segs[2].at]), "%s: adamw with apply 0"
	       " writes nothing", table);
	state_clear(&old);
	state_clear(&new);
	kernels_release(k, d);
}

/*
 * Without decay and with g = m = v = 0 a number stays; with m = v = 0 the
 * first step is lr, of the sign of the gradient.  Every fifth number stays;
 * another fifth moves by less than half of a bf16 step.
 */
static void
test_stats(enum kdtype dt)
{
	struct state s;
	struct k_adamw a;
	double worst = 0;
	int ok = 1;

	state_init(&s, dt);
	for (int i = 0; i < N; i++) {
		s.m[i] = s.v[i] = 0;
		s.p[i] = i % 5 == 1 ? 1024 : 1;
		s.g[i] = i % 5 ? i % 2 ? 1 : -1 : 0;
	}
	k->cast(k, &(struct k_cast){ .n = N, .src = s.p, .sdt = K_F32,
		.dst = s.w, .ddt = dt });
	a = adamw_of(&s, dt);
	a.decay = 0;
	a.lr = 0.0625;
	a.stats = s.stats;
	k->adamw(k, &a);
	for (int j = 0; j < SEGMENTS; j++) {
		double want[3] = {0}, *got = s.stats + 3 * j;

		for (int64_t i = segs[j].at; i < segs[j].at + segs[j].n; i++) {
			want[0] += i % 5 ? 0.0625 * 0.0625 : 0;
			want[1] += (double)s.p[i] * s.p[i];
			want[2] += i % 5 == 0 || (i % 5 == 1 && dt != K_F32);
		}
		worst = fmax(worst, fabs(got[0] - want[0]) / (want[0] +
							      1e-30));
		worst = fmax(worst, fabs(got[1] - want[1]) / want[1]);
		ok = ok && got[2] == want[2];
	}
	tap_ok(ok && worst < 1e-4, "%s: adamw %s counts what did not move; sums"
	       " are off by %.1e", table, kdtype_name(dt),
	       worst);
	state_clear(&s);
}

/* --- sums --- */

static void
test_sumsq(void)
{
	float *g = random_floats(5, 1e19);
	double *out = must_alloc(k, SEGMENTS * sizeof *out), worst = 0;

	for (int i = 0; i < N; i++)
		if (!segment_of(i))
			g[i] = NAN;
	k->sumsq(k, &(struct k_sumsq){ .nseg = SEGMENTS, .seg = segs, .g = g,
		.out = out });
	for (int s = 0; s < SEGMENTS; s++) {
		double sum = 0;

		for (int64_t i = 0; i < segs[s].n; i++)
			sum += pow(g[segs[s].at + i], 2);
		worst = fmax(worst, fabs(out[s] - sum) / sum);
	}
	tap_ok(worst < 1e-13, "%s: sumsq of each segment is within %.1e of"
	       " float64, beyond the range of f32", table, worst);
	kernels_release(k, g);
	kernels_release(k, out);
}

/* Rows without target may hold anything; a second call adds to the first. */
static void
test_loss_sum(void)
{
	enum { ROWS = 3000 };
	float *loss = random_floats(6, 3), *logz = random_floats(7, 9);
	int32_t *target = must_alloc(k, ROWS * sizeof *target);
	double *sums = must_alloc(k, 3 * sizeof *sums), want[3] = {0};
	double worst = 0;

	for (int i = 0; i < 3; i++)
		sums[i] = NAN;
	for (int i = 0; i < ROWS; i++) {
		target[i] = i % 7 ? i : -1;
		if (i % 7 == 0) {
			loss[i] = NAN;
			logz[i] = INFINITY;
			continue;
		}
		want[0] += loss[i];
		want[1] += pow(logz[i], 2);
		want[2] += 1;
	}
	for (int at = 0; at < ROWS; at += 1000)
		k->loss_sum(k, &(struct k_loss_sum){ .n = 1000,
			.target = target + at, .loss = loss + at,
			.logz = logz + at, .sums = sums,
			.accumulate = at > 0 });
	for (int i = 0; i < 3; i++)
		worst = fmax(worst, fabs(sums[i] / want[i] - 1));
	tap_ok(worst < 1e-12 && sums[2] == want[2], "%s: loss_sum over three"
	       " parts is within %.1e of float64", table, worst);
	kernels_release(k, loss);
	kernels_release(k, logz);
	kernels_release(k, target);
	kernels_release(k, sums);
}

/* --- clip --- */

struct clip {
	const char *what;
	double sumsq[4], sums[3], max_norm;
	/* expected: */
	double norm, factor;
	int64_t apply, bad;
};

/* 8 rows; the square root of the sum of squares is 5 where it is finite. */
static void
test_clip(void)
{
	static const struct clip cases[] = {
		{ "all rows count", { 9, 0, 16, 0 }, { 30, 1, 8 }, 0,
			5, 1, 1, 4 },
		{ "half of them", { 9, 0, 16, 0 }, { 30, 1, 4 }, 0,
			10, 2, 1, 4 },
		{ "clipped", { 9, 0, 16, 0 }, { 30, 1, 4 }, 2.5,
			10, 0.5, 1, 4 },
		{ "at the limit", { 9, 0, 16, 0 }, { 30, 1, 4 }, 10,
			10, 2, 1, 4 },
		{ "no targets", { 0, 0, 0, 0 }, { 0, 0, 0 }, 1,
			0, 0, 0, 4 },
		{ "two bad segments", { 1, NAN, INFINITY, 1 }, { 30, 1, 8 },
			1, NAN, NAN, 0, 2 },
		{ "infinity in the first", { INFINITY, 1, 1, 1 },
			{ 30, 1, 8 }, 0, INFINITY, 1, 0, 0 },
		{ "NaN in the last", { 1, 1, 1, NAN }, { 30, 1, 8 }, 0,
			NAN, 1, 0, 3 },
		{ "loss is NaN", { 9, 0, 16, 0 }, { NAN, 1, 8 }, 0,
			5, 1, 0, 4 },
		{ "loss is infinite", { 9, 0, 16, 0 }, { INFINITY, 1, 8 }, 0,
			5, 1, 0, 4 },
		{ "z-loss is infinite", { 9, 0, 16, 0 }, { 1, INFINITY, 8 },
			0, 5, 1, 0, 4 },
	};
	double *sumsq = must_alloc(k, 4 * sizeof *sumsq);
	double *sums = must_alloc(k, 3 * sizeof *sums);
	struct k_step *t = must_alloc(k, sizeof *t);

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct clip *c = &cases[i];
		int ok;

		memcpy(sumsq, c->sumsq, sizeof c->sumsq);
		memcpy(sums, c->sums, sizeof c->sums);
		*t = (struct k_step){ .lr = 3, .corr1 = 4, .corr2 = 5,
			.apply = 77, .bad = 77 };
		k->clip(k, &(struct k_clip){ .nseg = 4, .sumsq = sumsq,
			.sums = sums, .rows = 8, .max_norm = c->max_norm,
			.step = t });
		ok = t->lr == 3 && t->corr1 == 4 && t->corr2 == 5 &&
			(t->norm == c->norm ||
			 (isnan(t->norm) && isnan(c->norm))) &&
			(!c->apply || fabs(t->factor - c->factor) < 1e-15) &&
			t->apply == c->apply && t->bad == c->bad;
		tap_ok(ok, "%s: clip: %s", table, c->what);
	}
	kernels_release(k, sumsq);
	kernels_release(k, sums);
	kernels_release(k, t);
}

static void
test_table(const char *name, struct kernels *opened)
{
	table = name;
	k = opened;
	for (int dt = 0; dt < K_TYPES; dt++) {
		test_adamw((enum kdtype)dt, 0.9, 0.95, 1, 0);
		test_adamw((enum kdtype)dt, 0.9, 0.999, 3, 1);
		test_adamw((enum kdtype)dt, 0.95, 0.9999, 1000, 0);
		test_adamw((enum kdtype)dt, 0.95, 0.9999, 7, 1);
		test_adamw((enum kdtype)dt, 0.999, 0.99999, 1, 0);
		test_stats((enum kdtype)dt);
	}
	test_not_applied();
	test_sumsq();
	test_loss_sum();
	test_clip();
}

int
main(void)
{
	tap_start();
	each_table(0, 2, test_table);
	return tap_end();
}
