/*
 * split: any pattern, of tokenizers or of tiktoken, on any text
 *
 * Up to the first line end it is the pattern, then the text, unless that is not
 * UTF-8.  A pattern is refused, or the pre-tokens of the text
 * have ends that ascend up to its end, unless splitting it takes too long.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "tests/fuzz/target.h"
#include "tokenizer/split.h"

static void
must(int ok)
{
	if (!ok)
		abort();
}

static void
cut(const char *pattern, int how, const char *text, size_t n)
{
	struct err e = {0};
	struct split *s = split_new(&pattern, &how, 1, &e);
	struct split_scratch *t;
	uint32_t ends[64], last = 0;
	size_t pos = 0, k;

	must((s == NULL) == e.set);
	if (!s)
		return;
	t = split_scratch_new(s);
	while ((k = split_next(s, t, text, n, &pos, ends, 64, &e)) > 0)
		for (size_t i = 0; i < k; last = ends[i++])
			must(ends[i] > last && ends[i] <= n);
	must(e.set || last == n);
	split_scratch_free(t);
	split_free(s);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *p = (const char *)data;
	const uint8_t *lf = memchr(data, '\n', size);
	size_t n = lf ? (size_t)(lf - data) : size;
	size_t text = lf ? size - n - 1 : 0;
	char *pattern, *other;
	struct err e = {0};

	if (n > 200 || memchr(p, 0, n) || !utf8_valid(p + size - text, text))
		return 0;
	pattern = xcalloc(n + 1, 1);
	memcpy(pattern, p, n);
	cut(pattern, (int)(size % 5), p + size - text, text);
	other = pattern_split(pattern, &e);
	must((other == NULL) == e.set);
	if (other)
		cut(other, SPLIT_SIMPLE_FOLD, p + size - text, text);
	free(other);
	free(pattern);
	return 0;
}
