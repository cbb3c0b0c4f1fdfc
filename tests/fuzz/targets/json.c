/*
 * json: both readers agree with the checker, and their output reads back
 *
 * The tree, the object reader and the checker are three opinions about the same
 * bytes.  After json_scan_tame_numbers() nothing is left that only they take.
 */
#include <stdlib.h>
#include <string.h>

#include "stream/input.h"
#include "stream/json.h"
#include "stream/json_scan.h"
#include "tests/fuzz/target.h"

static void
must(int ok)
{
	if (!ok)
		abort();
}

static void
tree_agrees(const char *p, size_t n)
{
	struct err e = {0};
	const char *what;
	struct json *j = json_parse(p, n, "fuzz", &e);
	char *fixed = malloc(n + 1);

	must(fixed != NULL);
	memcpy(fixed, p, n);
	fixed[n] = 0;
	must(!j == (json_scan_tame_numbers(fixed, n, &what) != SIZE_MAX));
	must(!j == (json_scan_error(fixed, n, &what) != SIZE_MAX));
	free(fixed);
	json_free(j);
}

static void
members_read_back(struct json_reader *r)
{
	struct span key[8];
	struct json_pick val[8];
	struct buf b = {0};
	struct err e = {0};
	size_t n = json_members(r, key, val, 8);
	struct json *j;

	buf_putc(&b, '{');
	for (size_t i = 0; i < n; i++) {
		if (i)
			buf_putc(&b, ',');
		json_put_str(&b, key[i]);
		buf_putc(&b, ':');
		if (val[i].type == JSON_STRING)
			json_put_str(&b, val[i].str);
		else
			buf_puts(&b, "0");
	}
	buf_putc(&b, '}');
	j = json_parse(b.p, b.n, "ours", &e);
	must(j && j->type == JSON_OBJECT && j->n == n);
	for (size_t i = 0; i < n; i++)
		must(span_eq(j->kids[i].key, key[i]) &&
		     (val[i].type != JSON_STRING ||
		      span_eq(j->kids[i].str, val[i].str)));
	json_free(j);
	buf_clear(&b);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const keys[] = { "text", "id", "meta.url" };
	struct json_reader *r = json_reader_new();
	struct json_pick out[3];
	uint64_t surrogates;
	struct err e = {0};
	char *p = calloc(1, size + INPUT_PADDING);

	must(p != NULL);
	memcpy(p, data, size);
	tree_agrees(p, size);
	if (json_read(r, p, size, keys, 3, out, &surrogates, &e) == 0) {
		for (int i = 0; i < 3; i++)
			must(!out[i].present || out[i].type == JSON_STRING ||
			     (out[i].raw.p && out[i].raw.n));
		members_read_back(r);
	} else {
		must(e.set);
	}
	json_reader_free(r);
	free(p);
	return 0;
}
