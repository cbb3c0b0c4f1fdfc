/*
 * args: numbers of the command line
 *
 * What is accepted, printed as a plain decimal, is accepted again as the same.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/args.h"
#include "tests/fuzz/target.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char s[256], again[32];
	const char *what = NULL;
	int64_t v, w;

	if (size >= sizeof s)
		return 0;
	memcpy(s, data, size);
	s[size] = 0;
	if (args_int(s, &v, &what) < 0) {
		if (!what)
			abort();
		return 0;
	}
	snprintf(again, sizeof again, "%lld", (long long)v);
	if (args_int(again, &w, &what) < 0 || v != w)
		abort();
	return 0;
}
