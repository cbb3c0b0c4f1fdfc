/*
 * record.c - what the cpu table records: oneDNN and its implementations
 */
#include "kernels/cpu/prim.h"

#include <dnnl.h>
#include <string.h>

#include "base/buf.h"

/* Does an earlier plan than i have this implementation? */
static int
is_counted(const struct cpu *c, size_t i, const char *impl)
{
	struct gemm_shape s;

	while (i-- > 0)
		if (strcmp(prim_impl(prim_nth(c, i, &s)), impl) == 0)
			return 1;
	return 0;
}

/* oneDNN's implementations, and how many shapes each computes. */
static void
record_matmuls(const struct cpu *c, struct buf *json)
{
	const struct prim *g, *h;
	const char *sep = "";
	struct gemm_shape s;

	for (size_t i = 0; (g = prim_nth(c, i, &s)); i++) {
		const char *impl = prim_impl(g);
		size_t n = 0;

		if (is_counted(c, i, impl))
			continue;
		for (size_t j = i; (h = prim_nth(c, j, &s)); j++)
			n += strcmp(prim_impl(h), impl) == 0;
		buf_printf(json, "%s\"%s\": %zu", sep, impl, n);
		sep = ", ";
	}
}

void
cpu_record(struct kernels *k, struct buf *json)
{
	const dnnl_version_t *v = dnnl_version();
	const struct cpu *c = cpu_of(k);

	host_record(k, json);
	buf_printf(json, ", \"onednn\": \"%d.%d.%d\", \"packed\": %s,"
		   " \"matmuls\": {", v->major, v->minor, v->patch,
		   c->packed ? "true" : "false");
	record_matmuls(c, json);
	buf_puts(json, "}}");
}
