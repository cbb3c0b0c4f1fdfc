/*
 * config: any bytes as a config.json
 *
 * What is accepted has sizes that fit each other; written again it is read
 * as the same shape.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/config.h"
#include "tests/fuzz/target.h"

static char dir[] = "/tmp/assay-fuzz-XXXXXX";
static char path[sizeof dir + 16];

static void
must(int ok)
{
	if (!ok)
		abort();
}

static void
leave(void)
{
	unlink(path);
	rmdir(dir);
}

static void
put(const void *p, size_t n)
{
	FILE *f = fopen(path, "w");

	must(f && fwrite(p, 1, n, f) == n && fclose(f) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct model_config a = {0}, b = {0};
	struct err e = {0};
	struct buf out = {0};

	if (!path[0]) {
		must(mkdtemp(dir) != NULL);
		snprintf(path, sizeof path, "%s/config.json", dir);
		atexit(leave);
	}
	put(data, size);
	if (config_load(&a, dir, &e) < 0) {
		must(e.set && strstr(e.msg, dir));
		return 0;
	}
	must(config_check(&a, &e) == 0);
	must(config_vocab_padded(&a) % 64 == 0);
	config_json(&a, &out);
	put(out.p, out.n);
	must(config_load(&b, dir, &e) == 0);
	must(a.vocab == b.vocab && a.hidden == b.hidden &&
	     a.layers == b.layers && a.heads == b.heads &&
	     a.kv_heads == b.kv_heads && a.head_dim == b.head_dim &&
	     a.inter == b.inter && a.max_pos == b.max_pos &&
	     a.rope_theta == b.rope_theta && a.norm_eps == b.norm_eps &&
	     a.tie == b.tie && a.qk_norm == b.qk_norm);
	buf_clear(&out);
	return 0;
}
