/*
 * shard_check_report.c - findings as a table or as JSON Lines
 */
#include <stdio.h>

#include "inspect/shard_check_priv.h"
#include "stream/json.h"

const char *const check_names[CHECK_N] = {
	[CHECK_TOKENIZER] = "tokenizer", [CHECK_IDS] = "ids",
	[CHECK_REPLACED] = "replaced", [CHECK_MOJIBAKE] = "mojibake",
	[CHECK_BOUNDS] = "bounds", [CHECK_SEPARATORS] = "separators",
	[CHECK_REPEAT] = "repeat", [CHECK_BATCH] = "batch"
};

static void
put_json(const char *name, const struct shard_check_found *f, struct buf *b)
{
	buf_puts(b, "{\"check\":");
	json_put_str(b, span_str(name));
	buf_printf(b, ",\"count\":%llu,\"of\":%llu,\"unit\":\"%s\"",
		   (unsigned long long)f->count, (unsigned long long)f->of,
		   f->unit);
	if (f->where.n) {
		buf_puts(b, ",\"doc\":");
		json_put_str(b, buf_span(&f->where));
		buf_printf(b, ",\"token\":%llu",
			   (unsigned long long)f->token);
	}
	buf_puts(b, ",\"what\":");
	json_put_str(b, buf_span(&f->what));
	buf_puts(b, "}\n");
}

/* what: its width in columns, or 0 for tabs. */
static void
put_row(const char *name, const struct shard_check_found *f, size_t what,
	struct buf *b)
{
	char of[64];
	size_t i;

	snprintf(of, sizeof of, "%llu %s", (unsigned long long)f->of, f->unit);
	buf_printf(b, what ? "%-10s  %10llu  %-20s  " : "%s\t%llu\t%s\t",
		   name, (unsigned long long)f->count, of);
	buf_put(b, f->what.p, f->what.n);
	for (i = f->what.n; i < what + 2 && what; i++)
		buf_putc(b, ' ');
	if (!what)
		buf_putc(b, '\t');
	for (i = 0; i < f->where.n; i++)	/* keep it on one line */
		buf_putc(b, (unsigned char)f->where.p[i] < 0x20 ? '?' :
			 f->where.p[i]);
	if (f->where.n)
		buf_printf(b, " token %llu", (unsigned long long)f->token);
	buf_putc(b, '\n');
}

static void
put_head(size_t what, struct buf *b)
{
	if (what)
		buf_printf(b, "%-10s  %10s  %-20s  %-*s  first\n", "check",
			   "count", "of", (int)what, "what");
	else
		buf_puts(b, "check\tcount\tof\twhat\tfirst\n");
}

int
shard_check_report_put(const struct shard_check_report *r, int json, int wide,
		 struct buf *out)
{
	size_t what = wide ? strlen("what") : 0;
	int i, n = 0;

	for (i = 0; i < CHECK_N && wide; i++)
		if (r->v[i].count && r->v[i].what.n > what)
			what = r->v[i].what.n;
	for (i = 0; i < CHECK_N; i++) {
		if (r->v[i].count == 0)
			continue;
		if (n++ == 0 && !json)
			put_head(what, out);
		if (json)
			put_json(check_names[i], &r->v[i], out);
		else
			put_row(check_names[i], &r->v[i], what, out);
	}
	return n;
}
