/*
 * doc: lines to documents as doc.5 says, whatever the size of the blocks.
 *
 * The table is what Python's json module finds in the same files, made by
 * tests/peers/make_doc_table.py; the rest is written out by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "record/doc.h"

static const struct row {
	const char *file;
	uint64_t good, bad, surrogates, bytes, digest;
} nasty[] = {
	{"-dash.jsonl", 5, 0, 0, 30,
	 UINT64_C(0x8f54e9562422910f)},
	{"bad_escapes.jsonl", 1, 6, 0, 8,
	 UINT64_C(0xa1d3d097d52c0dc9)},
	{"blank_between.jsonl", 5, 0, 0, 30,
	 UINT64_C(0x8f54e9562422910f)},
	{"bom.jsonl", 5, 0, 0, 30,
	 UINT64_C(0x8f54e9562422910f)},
	{"bom_only.jsonl", 0, 0, 0, 0,
	 UINT64_C(0x0000000000000000)},
	{"boundaries.jsonl.zst", 13, 0, 0, 3763893,
	 UINT64_C(0x6b2f01adc2a66faa)},
	{"control_chars.jsonl", 1, 3, 0, 21,
	 UINT64_C(0x39bdaeb94fdff167)},
	{"cr_only.jsonl", 0, 1, 0, 0,
	 UINT64_C(0x0000000000000000)},
	{"crlf.jsonl", 5, 0, 0, 30,
	 UINT64_C(0x8f54e9562422910f)},
	{"cut_last_line.jsonl", 4, 1, 0, 24,
	 UINT64_C(0x6756ed22da83bf9a)},
	{"deep_nesting.jsonl", 3, 3, 0, 6,
	 UINT64_C(0x447debde853cd89b)},
	{"digits.jsonl.zst", 3, 0, 0, 2100000,
	 UINT64_C(0x93236e520c8695c8)},
	{"dup_keys.jsonl", 5, 1, 0, 42,
	 UINT64_C(0xca7f4a2f9299d75b)},
	{"empty.jsonl", 0, 0, 0, 0,
	 UINT64_C(0x0000000000000000)},
	{"empty.jsonl.gz", 0, 0, 0, 0,
	 UINT64_C(0x0000000000000000)},
	{"empty_frame.jsonl.zst", 0, 0, 0, 0,
	 UINT64_C(0x0000000000000000)},
	{"good.jsonl.gz", 400, 0, 0, 116662,
	 UINT64_C(0x59cb360d0b9c0cac)},
	{"good.jsonl.zst", 400, 0, 0, 116662,
	 UINT64_C(0x59cb360d0b9c0cac)},
	{"id_types.jsonl", 14, 0, 0, 89,
	 UINT64_C(0x924beefad04970a8)},
	{"invalid_utf8.jsonl", 1, 14, 0, 5,
	 UINT64_C(0x4c83dbd5f29d367f)},
	{"latin1.jsonl", 1, 1, 0, 5,
	 UINT64_C(0x6b9653d41b66c850)},
	{"line_separators.jsonl", 3, 0, 0, 78,
	 UINT64_C(0x5831ab41c3c591cc)},
	{"lone_surrogates.jsonl", 11, 0, 9, 182,
	 UINT64_C(0xcb1917d2307703c9)},
	{"long_line_a.jsonl.zst", 1, 0, 0, 5000000,
	 UINT64_C(0x806b2d7877676e3a)},
	{"long_line_base64.jsonl.zst", 1, 0, 0, 5000000,
	 UINT64_C(0xb1b14594f96ab1b1)},
	{"long_line_cjk.jsonl.zst", 1, 0, 0, 5100000,
	 UINT64_C(0xd78164fd4d105eea)},
	{"long_window.jsonl.zst", 400, 0, 0, 116662,
	 UINT64_C(0x59cb360d0b9c0cac)},
	{"malformed.jsonl", 4, 16, 0, 25,
	 UINT64_C(0xc574525c7efab504)},
	{"many_keys.jsonl", 2, 0, 0, 26,
	 UINT64_C(0xe46ef1b4d8a5db72)},
	{"mixed_eol.jsonl", 5, 0, 0, 30,
	 UINT64_C(0x8f54e9562422910f)},
	{"multiframe.jsonl.zst", 400, 0, 0, 116662,
	 UINT64_C(0x59cb360d0b9c0cac)},
	{"multiframe_skippable.jsonl.zst", 400, 0, 0, 116662,
	 UINT64_C(0x59cb360d0b9c0cac)},
	{"multimember.jsonl.gz", 400, 0, 0, 116662,
	 UINT64_C(0x59cb360d0b9c0cac)},
	{"name with space.jsonl", 5, 0, 0, 30,
	 UINT64_C(0x8f54e9562422910f)},
	{"no_final_newline.jsonl", 5, 0, 0, 30,
	 UINT64_C(0x8f54e9562422910f)},
	{"not_objects.jsonl", 1, 7, 0, 9,
	 UINT64_C(0x45fb9ae5675da267)},
	{"nul.jsonl", 6, 0, 0, 41,
	 UINT64_C(0xc7e093619b7ece66)},
	{"numbers.jsonl", 6, 6, 0, 6,
	 UINT64_C(0x81a28a5b0430ce66)},
	{"only_newlines.jsonl", 0, 0, 0, 0,
	 UINT64_C(0x0000000000000000)},
	{"only_spaces.jsonl", 0, 0, 0, 0,
	 UINT64_C(0x0000000000000000)},
	{"periodic.jsonl.zst", 3, 0, 0, 4800000,
	 UINT64_C(0x7f6848c15cd846f2)},
	{"plain_named_zst.jsonl.zst", 6, 0, 0, 1753,
	 UINT64_C(0xbbcff54bb6f7f5d5)},
	{"raw_nul.jsonl", 2, 2, 0, 12,
	 UINT64_C(0xc305fa716823a063)},
	{"special_tokens.jsonl", 9, 0, 0, 258,
	 UINT64_C(0xe52e5ddba1c2a332)},
	{"streamed.jsonl.zst", 400, 0, 0, 116662,
	 UINT64_C(0x59cb360d0b9c0cac)},
	{"text_types.jsonl", 7, 9, 0, 32,
	 UINT64_C(0x09321558fe8a8a32)},
	{"tiny_docs.jsonl.zst", 200000, 0, 0, 66667,
	 UINT64_C(0x77eb8bfc19795caa)},
	{"unicode_edge.jsonl", 18, 0, 0, 4049,
	 UINT64_C(0x94c2650c65fb934d)},
	{"whitespace_runs.jsonl.zst", 4, 0, 0, 3900002,
	 UINT64_C(0xaef0f3f2fd3f8854)},
	{"zeros_after.jsonl.gz", 400, 0, 0, 116662,
	 UINT64_C(0x59cb360d0b9c0cac)},
	{"zst_named_plain.jsonl", 400, 0, 0, 116662,
	 UINT64_C(0x59cb360d0b9c0cac)},
	{"名前-é.jsonl", 5, 0, 0, 30,
	 UINT64_C(0x8f54e9562422910f)},
};

static const size_t wants[] = {1, 100, 4096, 0};
enum { WANTS = sizeof(wants) / sizeof(wants[0]) };

/* All documents of a file, put into one text to compare. */
static int
read_all(const char *path, const struct doc_opts *o, size_t want,
	 struct doc_stats *st, struct buf *show, struct err *e)
{
	struct doc_reader *r = doc_reader_open(&path, 1, o);
	struct doc_parser *p = doc_parser_new(o);
	struct doc_batch *b;
	struct buf tmp = {0};
	struct span id;
	size_t i;

	memset(st, 0, sizeof(*st));
	while ((b = doc_read(r, want, e))) {
		if (doc_parse(p, b, e)) {
			doc_batch_free(b);
			break;
		}
		for (i = 0; i < b->n; i++) {
			const struct doc *d = &b->v[i];

			doc_stats_in(st, d);
			if (!d->bad)
				doc_stats_kept(st, d);
			if (!show)
				continue;
			id = doc_id(d, &tmp);
			buf_printf(show, "%llu|",
				   (unsigned long long)d->lineno);
			buf_put(show, id.p, id.n);
			buf_putc(show, '|');
			buf_put(show, d->text.p, d->text.n);
			buf_putc(show, '|');
			buf_put(show, d->line.p, d->line.n);
		}
		doc_batch_free(b);
	}
	buf_clear(&tmp);
	doc_parser_free(p);
	doc_reader_close(r);
	return e->set ? -1 : 0;
}

static const char *
temp_file(const char *p, size_t n)
{
	static char path[64];
	FILE *f;

	sprintf(path, "/tmp/assay-doc-%ld.jsonl", (long)getpid());
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(p, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
	return path;
}

/* The documents of a text as read_all() shows them, FILE as "F". */
static void
expect(const char *in, size_t n, const struct doc_opts *o, const char *out,
       size_t nout)
{
	const char *path = temp_file(in, n);
	struct doc_stats st;
	struct err e = {0};
	struct buf show = {0}, plain = {0};
	size_t i, k;

	for (k = 0; k < WANTS; k++) {
		buf_reset(&show);
		buf_reset(&plain);
		assert_int_equal(read_all(path, o, wants[k], &st, &show, &e),
				 0);
		for (i = 0; i < show.n;) {
			if (!strncmp(show.p + i, path, strlen(path))) {
				buf_putc(&plain, 'F');
				i += strlen(path);
			} else {
				buf_putc(&plain, show.p[i++]);
			}
		}
		assert_int_equal(plain.n, nout);
		assert_memory_equal(plain.p, out, nout);
	}
	unlink(path);
	buf_clear(&show);
	buf_clear(&plain);
}

#define EXPECT(in, o, out) expect(in, sizeof(in) - 1, o, out, sizeof(out) - 1)

/* Status 2 with FILE:LINE and these words, for any size of block. */
static void
expect_bad(const char *in, const struct doc_opts *o, unsigned line,
	   const char *what)
{
	const char *path = temp_file(in, strlen(in));
	char begin[100];
	struct doc_stats st;
	size_t k;

	sprintf(begin, "%s:%u: ", path, line);
	for (k = 0; k < WANTS; k++) {
		struct err e = {0};

		assert_int_equal(read_all(path, o, wants[k], &st, NULL, &e),
				 -1);
		if (strncmp(e.msg, begin, strlen(begin)) ||
		    !strstr(e.msg, what))
			fail_msg("got: %s; want: %s... %s", e.msg, begin, what);
	}
	unlink(path);
}

static void
nasty_files(void **state)
{
	struct doc_opts o;
	struct doc_stats st;
	char path[200];
	size_t i, k;

	(void)state;
	doc_opts_init(&o);
	o.on_bad = DOC_SKIP;
	for (i = 0; i < sizeof(nasty) / sizeof(nasty[0]); i++) {
		const struct row *t = &nasty[i];

		sprintf(path, "tests/data/nasty/%s", t->file);
		for (k = 0; k < WANTS; k++) {
			struct err e = {0};

			/* tiny blocks of a large file say nothing new */
			if (t->bytes > 200000 && wants[k] == 1)
				continue;
			if (read_all(path, &o, wants[k], &st, NULL, &e))
				fail_msg("%s", e.msg);
			if (st.docs_in != t->good + t->bad ||
			    st.docs_bad != t->bad || st.docs_kept != t->good ||
			    st.surrogates != t->surrogates ||
			    st.bytes_in != t->bytes ||
			    st.digest_in != t->digest ||
			    st.digest_kept != t->digest)
				fail_msg("%s: %llu good %llu bad %llu lone "
					 "%llu bytes %016llx", t->file,
					 (unsigned long long)st.docs_kept,
					 (unsigned long long)st.docs_bad,
					 (unsigned long long)st.surrogates,
					 (unsigned long long)st.bytes_in,
					 (unsigned long long)st.digest_in);
		}
	}
}

static void
lines_and_ids(void **state)
{
	struct doc_opts o;

	(void)state;
	doc_opts_init(&o);
	EXPECT("", &o, "");
	EXPECT("\n \t\r\n\r\n", &o, "");
	EXPECT("{\"text\":\"a\"}", &o, "1|F:1|a|{\"text\":\"a\"}\n");
	EXPECT("\n{\"text\":\"a\"}\r\n\n{\"id\":\"x\",\"text\":\"\"}\n", &o,
	       "2|F:2|a|{\"text\":\"a\"}\r\n"
	       "4|x||{\"id\":\"x\",\"text\":\"\"}\n");
	EXPECT("\xef\xbb\xbf{\"text\":\"a\"}\n", &o,
	       "1|F:1|a|{\"text\":\"a\"}\n");
	/* a last line of a CR alone is blank */
	EXPECT("{\"text\":\"a\"}\n\r", &o, "1|F:1|a|{\"text\":\"a\"}\n");
	/* numbers keep their spelling; what is no name is no id */
	EXPECT("{\"id\":1e400,\"text\":\"\"}\n"
	       "{\"id\":1.0 ,\"text\":\"\"}\n", &o,
	       "1|1e400||{\"id\":1e400,\"text\":\"\"}\n"
	       "2|1.0||{\"id\":1.0 ,\"text\":\"\"}\n");
	/* Python's words for a float are no number, in any place */
	EXPECT("{\"a\":[NaN,-Infinity],\"id\":NaN,\"text\":\"NaN,\",\"b\":"
	       "Infinity }\n{\"id\":7,\"n\":1234567890123456789012345678901,"
	       "\"text\":\"\\ud800\",\"b\":NaN}\n", &o,
	       "1|F:1|NaN,|{\"a\":[NaN,-Infinity],\"id\":NaN,\"text\":\"NaN,\","
	       "\"b\":Infinity }\n"
	       "2|7|\xef\xbf\xbd|{\"id\":7,\"n\":12345678901234567890123456789"
	       "01,\"text\":\"\\ud800\",\"b\":NaN}\n");
	EXPECT("{\"id\":null,\"text\":\"\"}\n{\"id\":[1],\"text\":\"\"}\n"
	       "{\"id\":true,\"text\":\"\"}\n{\"id\":\"\",\"text\":\"\"}\n", &o,
	       "1|F:1||{\"id\":null,\"text\":\"\"}\n"
	       "2|F:2||{\"id\":[1],\"text\":\"\"}\n"
	       "3|F:3||{\"id\":true,\"text\":\"\"}\n"
	       "4|F:4||{\"id\":\"\",\"text\":\"\"}\n");
}

static void
strings(void **state)
{
	struct doc_opts o;

	(void)state;
	doc_opts_init(&o);
	/* NUL, a pair, a lone surrogate, the last of equal keys */
	EXPECT("{\"text\":\"a\\u0000b\"}\n", &o,
	       "1|F:1|a\0b|{\"text\":\"a\\u0000b\"}\n");
	EXPECT("{\"text\":\"\\ud83d\\udc4d\"}\n", &o,
	       "1|F:1|\xf0\x9f\x91\x8d|{\"text\":\"\\ud83d\\udc4d\"}\n");
	EXPECT("{\"text\":\"ok\\ud800bad\"}\n", &o,
	       "1|F:1|ok\xef\xbf\xbd" "bad|{\"text\":\"ok\\ud800bad\"}\n");
	EXPECT("{\"text\":\"a\",\"id\":\"1\",\"text\":\"b\",\"id\":\"2\"}\n",
	       &o, "1|2|b|{\"text\":\"a\",\"id\":\"1\",\"text\":\"b\","
	       "\"id\":\"2\"}\n");
}

static void
keys(void **state)
{
	const char in[] = "{\"content\":\"c\",\"meta\":{\"url\":\"u\"}}\n";
	struct doc_opts o;

	(void)state;
	doc_opts_init(&o);
	o.text_key = "content";
	o.id_key = "meta.url";
	EXPECT("{\"content\":\"c\",\"meta\":{\"url\":\"u\"}}\n", &o,
	       "1|u|c|{\"content\":\"c\",\"meta\":{\"url\":\"u\"}}\n");
	/* one value for every key: the arena is chained */
	o.text_key = o.id_key = o.extra_key = "meta.url";
	EXPECT("{\"content\":\"c\",\"meta\":{\"url\":\"u\"}}\n", &o,
	       "1|u|u|{\"content\":\"c\",\"meta\":{\"url\":\"u\"}}\n");
	o.text_key = "meta";
	expect_bad(in, &o, 1, "\"meta\" is an object, not a string");
	o.text_key = "none";
	expect_bad(in, &o, 1, "no key \"none\", found "
		   "\"content\", \"meta\" (--text-key names another)");
}

static void
bad_lines(void **state)
{
	const char *good = "{\"text\":\"a\"}\n\n";
	static const char *const bad[][2] = {
		{"{\"text\":5}\n", "\"text\" is a number, not a string"},
		{"{\"text\":null}\n", "byte 9: \"text\" is null, not a string"},
		{"{\"id\":1}\n", "no key \"text\""},
		{"[]\n", "byte 1: not a JSON object; a document is one line, "
		 "{\"text\":\"...\"}"},
		{"{\n", "byte 1: not a JSON object; a document is one line"},
		{" Once upon\n", "byte 2: not a JSON object; a document is"},
		{"{\"text\":\"b\"", "byte 12: unexpected end of JSON"},
		{"{\"text\":\"\xff\"}", ""},
		{"{\"text\":\"b\"} x\n", ""}, {"nul\n", ""},
		{"{\"text\":\"a\"}{\"text\":\"b\"}\n", ""},
		/* validated whole, also what nobody asked for */
		{"{\"text\":\"a\",\"x\":[1,]}\n", ""},
		{"{\"text\":\"a\",\"x\":\"\xc3(\"}\n", ""},
		{"{\"text\":\"a\",\"x\":\"\\x\"}\n", ""},
		{"{\"text\":\"a\",\"x\":01}\n", ""},
	};
	struct doc_opts o;
	struct doc_stats st;
	struct buf b = {0};
	size_t i;

	(void)state;
	doc_opts_init(&o);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		buf_reset(&b);
		buf_puts(&b, good);
		buf_puts(&b, bad[i][0]);
		buf_putc(&b, '\0');
		o.on_bad = DOC_FAIL;
		expect_bad(b.p, &o, 3, bad[i][1]);
		for (o.on_bad = DOC_SKIP; o.on_bad <= DOC_PASS; o.on_bad++) {
			struct err e = {0};
			struct buf show = {0};

			assert_int_equal(read_all(temp_file(b.p, b.n - 1), &o,
						  0, &st, &show, &e), 0);
			assert_int_equal(st.docs_in, 2);
			assert_int_equal(st.docs_bad, 1);
			assert_int_equal(st.docs_kept, 1);
			buf_clear(&show);
		}
	}
	unlink(temp_file("", 0));
	buf_clear(&b);
}

/* Texts stay where they are while other blocks are read. */
static void
batches_live(void **state)
{
	enum { LINES = 500 };
	struct doc_batch *all[LINES];
	struct doc_opts o;
	struct doc_reader *r;
	struct doc_parser *p;
	struct buf in = {0};
	struct err e = {0};
	const char *path;
	char want[40];
	size_t n = 0, i, k, doc = 0;

	(void)state;
	doc_opts_init(&o);
	for (i = 0; i < LINES; i++)
		buf_printf(&in, "{\"id\":%zu,\"text\":\"line\\n%zu\"}\n", i, i);
	path = temp_file(in.p, in.n);
	r = doc_reader_open(&path, 1, &o);
	p = doc_parser_new(&o);
	while ((all[n] = doc_read(r, 200, &e)))
		assert_int_equal(doc_parse(p, all[n++], &e), 0);
	assert_true(n > 20);
	for (i = 0; i < n; i++)
		for (k = 0; k < all[i]->n; k++, doc++) {
			const struct doc *d = &all[i]->v[k];

			sprintf(want, "line\n%zu", doc);
			assert_int_equal(d->text.n, strlen(want));
			assert_memory_equal(d->text.p, want, d->text.n);
			assert_int_equal(d->lineno, doc + 1);
		}
	assert_int_equal(doc, LINES);
	for (i = 0; i < n; i++)
		doc_batch_free(all[i]);
	doc_parser_free(p);
	doc_reader_close(r);
	unlink(path);
	buf_clear(&in);
}

static void
same_text(void *ctx, const struct doc *d)
{
	struct buf *b = ctx;

	buf_printf(b, "%llu|", (unsigned long long)d->lineno);
	buf_put(b, d->text.p, d->text.n);
	buf_puts(b, d->bad ? d->why : "");
	buf_putc(b, '\n');
}

/* One at a time or all at once: the same documents. */
static void
each_is_parse(void **state)
{
	const char *path = "tests/data/nasty/text_types.jsonl";
	struct doc_opts o;
	struct doc_reader *r;
	struct doc_parser *p;
	struct doc_batch *b;
	struct buf one = {0}, all = {0};
	struct err e = {0};
	uint64_t digest = 0;
	size_t i, k;

	(void)state;
	doc_opts_init(&o);
	o.on_bad = DOC_PASS;
	p = doc_parser_new(&o);
	for (k = 0; k < 2; k++) {
		r = doc_reader_open(&path, 1, &o);
		while ((b = doc_read(r, 200, &e))) {
			if (k)
				assert_int_equal(doc_parse_each(p, b,
					same_text, &one, &e), 0);
			else
				assert_int_equal(doc_parse(p, b, &e), 0);
			for (i = 0; i < b->n; i++) {
				assert_true(!k || !b->v[i].text.p);
				digest += k ? -b->v[i].digest :
				    b->v[i].digest;
				if (!k)
					same_text(&all, &b->v[i]);
			}
			doc_batch_free(b);
		}
		doc_reader_close(r);
	}
	assert_true(digest == 0 && all.n > 200);
	assert_int_equal(one.n, all.n);
	assert_memory_equal(one.p, all.p, all.n);
	doc_parser_free(p);
	buf_clear(&one);
	buf_clear(&all);
}

static void
books(void **state)
{
	const struct doc d[3] = {
		{.text = {"abc", 3}, .digest = 5, .surrogates = 2},
		{.text = {"", 0}, .digest = UINT64_MAX},
		{.text = {"", 0}, .bad = 1, .why = "byte 1: x"},
	};
	struct doc_stats s = {0};
	struct buf b = {0};
	int i;

	(void)state;
	for (i = 0; i < 6; i++)
		doc_stats_in(&s, &d[i % 3]);
	for (i = 0; i < 2; i++) {
		doc_stats_kept(&s, &d[0]);
		doc_stats_dropped(&s, &d[1]);
	}
	doc_stats_json(&s, &b);
	buf_putc(&b, '\0');
	assert_string_equal(b.p, "\"docs_in\":6,\"docs_kept\":2,"
		"\"docs_dropped\":2,\"docs_bad\":2,\"bytes_in\":6,"
		"\"bytes_kept\":6,\"digest_in\":\"0000000000000008\","
		"\"digest_kept\":\"000000000000000a\",\"docs_empty\":2,"
		"\"replaced_characters\":4");
	/* XXH3-64 of nothing, from its specification */
	assert_true(doc_digest((struct span){"", 0}) ==
		    UINT64_C(0x2d06800538d394c2));
	buf_clear(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nasty_files),
		cmocka_unit_test(lines_and_ids),
		cmocka_unit_test(strings),
		cmocka_unit_test(keys),
		cmocka_unit_test(bad_lines),
		cmocka_unit_test(batches_live),
		cmocka_unit_test(each_is_parse),
		cmocka_unit_test(books),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
