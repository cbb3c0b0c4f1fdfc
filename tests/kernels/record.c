/*
 * record.c - what a table says about itself for the run folder
 *
 * One line of JSON with the processor's name as the system has it; the plans
 * of the cpu table are counted by implementation, and two tables that were
 * given the same shapes write the same.
 */
#include "kernels/cpu/prim.h"
#include "stream/json.h"
#include "tests/kernels/guard.h"
#include "tests/kernels/tables.h"

/* "model name" of /proc/cpuinfo; "" on processors without one. */
static const char *
model_name(void)
{
	static char line[400];
	FILE *f = fopen("/proc/cpuinfo", "r");
	int found = 0;
	char *p;

	while (f && !found && fgets(line, sizeof line, f))
		found = strncmp(line, "model name", 10) == 0;
	if (f)
		fclose(f);
	if (!found || !(p = strstr(line, ": ")))
		return "";
	p[strcspn(p, "\n")] = '\0';
	return p + 2;
}

static size_t
plans(const struct kernels *k)
{
	struct gemm_shape s;
	size_t n = 0;

	while (strcmp(k->name, "cpu") == 0 && prim_nth(k->priv, n, &s))
		n++;
	return n;
}

/* Have the table choose code for a run of this many columns. */
static void
choose(struct kernels *k, int64_t c)
{
	struct k_need_layer layer = { .h = 4, .g = 2, .d = 16, .f = 2 * c };

	k->need(k, &(struct k_need){ .c = c, .v = 300, .vp = 320,
		.use = K_USE_TRAIN, .nlayers = 1, .layer = &layer, .b = 2,
		.last_b = 1, .t = 64, .flat = 1000, .nseg = 2 });
}

static int
str_is(const struct json *j, const char *key, const char *want)
{
	struct span s = {0};
	struct err e = {0};

	return json_get_str(j, key, &s, &e) == 0 && s.n == strlen(want) &&
		memcmp(s.p, want, s.n) == 0;
}

static int
has_identity(const struct json *j, const struct kernels *k)
{
	const char *model = model_name();
	const struct json *threads = json_get(j, "threads");

	return str_is(j, "table", k->name) && str_is(j, "isa", k->isa) &&
		threads && threads->i == k->threads &&
		(*model ? str_is(j, "device", model) :
		 json_get(j, "device") != NULL);
}

/* Every plan is counted once, each name occurs once. */
static int
counts_plans(const struct json *j, const struct kernels *k)
{
	const struct json *m = json_get(j, "matmuls");
	size_t sum = 0;

	if (strcmp(k->name, "ref") == 0)
		return m == NULL && json_get(j, "onednn") == NULL;
	for (size_t i = 0; m && i < m->n; i++) {
		sum += (size_t)m->kids[i].i;
		for (size_t l = 0; l < i; l++)
			if (span_eq(m->kids[i].key, m->kids[l].key))
				return 0;
	}
	return m && sum == plans(k);
}

static int
has_version(const struct json *j)
{
	struct span s = {0};
	struct err e = {0};
	char text[32];
	int a, b, c, n = 0;

	if (json_get_str(j, "onednn", &s, &e) < 0 || s.n >= sizeof text)
		return 0;
	snprintf(text, sizeof text, "%.*s", (int)s.n, s.p);
	return sscanf(text, "%d.%d.%d%n", &a, &b, &c, &n) == 3 &&
		(size_t)n == s.n && a >= 2;
}

static void
check(struct kernels *k, const char *name, const char *what, struct buf *b)
{
	struct err e = {0};
	struct json *j;

	k->record(k, b);
	j = json_parse(b->p, b->n, name, &e);
	tap_ok(j && j->type == JSON_OBJECT && !memchr(b->p, '\n', b->n),
	       "%s %s: an object on one line %s", name, what, e.msg);
	tap_ok(has_identity(j, k), "%s %s: %.*s", name, what, (int)b->n, b->p);
	tap_ok(counts_plans(j, k), "%s %s: %zu plans are counted", name, what,
	       plans(k));
	if (strcmp(k->name, "cpu") == 0)
		tap_ok(has_version(j), "%s: version of oneDNN", name);
	json_free(j);
}

static void
table(const char *name, struct kernels *k)
{
	struct buf none = {0}, some = {0}, more = {0}, again = {0};
	struct err e = {0};
	struct kernels *other = guard_wrap(kernels_open(name, k->threads, &e));

	check(k, name, "no shapes", &none);
	choose(k, 64);
	check(k, name, "one run", &some);
	choose(k, 128);
	check(k, name, "two runs", &more);
	tap_ok((some.n > none.n && !span_eq(buf_span(&some), buf_span(&more)))
	       == (strcmp(name, "ref") != 0), "%s: shapes add to it", name);
	choose(other, 64);
	choose(other, 128);
	other->record(other, &again);
	tap_ok(span_eq(buf_span(&more), buf_span(&again)), "%s: another table"
	       " with these shapes writes the same", name);
	tap_ok(k->nominal(k, K_BF16) == 0 && other->nominal(other, K_F32) == 0,
	       "%s: no nominal rate", name);
	other->close(other);
	buf_clear(&none);
	buf_clear(&some);
	buf_clear(&more);
	buf_clear(&again);
}

int
main(void)
{
	tap_start();
	each_table(0, 2, table);
	return tap_end();
}
