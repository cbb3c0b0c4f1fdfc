/*
 * doc: any bytes as documents
 *
 * The documents do not depend on the size of the blocks, nor on whether their
 * texts are kept; every line is a document, bad or blank; a good text is valid
 * UTF-8.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/utf8.h"
#include "record/doc.h"
#include "tests/fuzz/target.h"

static void
must(int ok)
{
	if (!ok)
		abort();
}

static int
valid(struct span s)
{
	size_t i = 0;
	int k;

	while (i < s.n) {
		k = utf8_step(s.p + i, s.n - i);
		if (k < 0)
			return 0;
		i += (size_t)k;
	}
	return 1;
}

static void
show(void *to, const struct doc *d)
{
	struct buf *b = to;

	must(valid(d->text) && d->bad == (d->why != NULL));
	must(!d->bad || (d->text.n == 0 && !d->id.p));
	must(d->line.n > 0 && d->line.p != NULL);
	must(d->bad || d->digest == doc_digest(d->text));
	buf_printf(b, "%llu %d %u\n", (unsigned long long)d->lineno, d->bad,
		   d->surrogates);
	buf_put(b, d->text.p, d->text.n);
	buf_put(b, d->id.p, d->id.n);
	buf_puts(b, d->bad ? d->why : "");
}

/* All documents; each: they are shown while they are parsed. */
static int
documents(const char *path, size_t want, int each, struct doc_stats *st,
	  struct buf *all)
{
	struct doc_opts o;
	struct doc_reader *r;
	struct doc_parser *p;
	struct doc_batch *b;
	struct err e = {0};
	size_t i;

	doc_opts_init(&o);
	o.on_bad = DOC_PASS;
	o.extra_key = "id";
	r = doc_reader_open(&path, 1, &o);
	p = doc_parser_new(&o);
	while ((b = doc_read(r, want, &e))) {
		must((each ? doc_parse_each(p, b, show, all, &e) :
		      doc_parse(p, b, &e)) == 0);
		for (i = 0; i < b->n; i++) {
			const struct doc *d = &b->v[i];

			if (!each)
				show(all, d);
			must(d->line.p[d->line.n - 1] == '\n');
			doc_stats_in(st, d);
			if (!d->bad)
				doc_stats_kept(st, d);
		}
		doc_batch_free(b);
	}
	doc_parser_free(p);
	doc_reader_close(r);
	must(st->docs_in == st->docs_kept + st->docs_bad);
	return e.set;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const size_t wants[] = {0, 1, 64};
	struct doc_stats st[4] = {{0}};
	struct buf all[4] = {{0}};
	int fd = memfd_create("fuzz", 0), bad[4], i;
	char path[64];

	must(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	sprintf(path, "/proc/self/fd/%d", fd);
	for (i = 0; i < 4; i++)
		bad[i] = documents(path, wants[i % 3], i == 3, &st[i],
				   &all[i]);
	for (i = 1; i < 4 && !bad[0]; i++) {
		must(!bad[i] && !memcmp(&st[i], &st[0], sizeof(st[0])));
		must(span_eq(buf_span(&all[i]), buf_span(&all[0])));
	}
	for (i = 0; i < 4; i++)
		buf_clear(&all[i]);
	close(fd);
	return 0;
}
