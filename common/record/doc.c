/*
 * doc.c - documents as JSON Lines (doc.5)
 *
 * doc_read() cuts the input into blocks of whole lines.  doc_parse() splits a
 * block at LF and gives each line to the object reader of stream/json.h, which
 * validates all of it.  The reader's strings live until its next line, so the
 * picked ones are copied into one arena per block.  A string is never longer
 * than its spelling in the line, so one allocation of the block's size is
 * enough, unless two options pick the same value; then a second one is
 * chained.  The copies stay in the processor's cache and cost little compared
 * with parsing.  Texts that are used at once (doc_parse_each) are not copied.
 *
 * Blocks come from a free list of the reader, so that in the steady state
 * reading allocates nothing.
 */
#include "record/doc.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/arena.h"
#include "base/mem.h"
#include "stream/json.h"
#include "stream/sniff.h"

enum { KEY_TEXT, KEY_ID, KEY_EXTRA, KEYS };
enum { BLOCK = 512 * 1024, MORE = 64 * 1024 };

struct memory {
	struct doc_reader *reader;
	struct doc_batch *next;		/* in the free list */
	struct arena arena;
	size_t cap;			/* of v */
};

struct doc_reader {
	struct input *in;
	pthread_mutex_t lock;
	struct doc_batch *free;
};

struct doc_parser {
	struct json_reader *json;
	const char *key[KEYS];
	size_t keys;
	int on_bad;
};

const char *const doc_on_bad_names[] = {"fail", "skip", "pass", NULL};

void
doc_opts_init(struct doc_opts *o)
{
	memset(o, 0, sizeof(*o));
	o->text_key = "text";
	o->id_key = "id";
	o->on_bad = DOC_FAIL;
}

static struct doc_batch *
batch_new(struct doc_reader *r)
{
	struct doc_batch *b;
	struct memory *m;

	pthread_mutex_lock(&r->lock);
	b = r->free;
	if (b)
		r->free = ((struct memory *)b->priv)->next;
	pthread_mutex_unlock(&r->lock);
	if (!b) {
		b = xcalloc(1, sizeof(*b));
		m = xcalloc(1, sizeof(*m));
		m->reader = r;
		m->arena.pad = DOC_PADDING;
		b->priv = m;
	}
	b->n = 0;
	b->user = NULL;
	return b;
}

static void
batch_destroy(struct doc_batch *b)
{
	struct memory *m = b->priv;

	chunk_clear(&b->chunk);
	arena_clear(&m->arena);
	free(b->v);
	free(m);
	free(b);
}

void
doc_batch_free(struct doc_batch *b)
{
	struct memory *m;
	struct doc_reader *r;

	if (!b)
		return;
	m = b->priv;
	r = m->reader;
	pthread_mutex_lock(&r->lock);
	m->next = r->free;
	r->free = b;
	pthread_mutex_unlock(&r->lock);
}

/* --- reading --- */

struct doc_reader *
doc_reader_open(const char *const *paths, size_t n, const struct doc_opts *o)
{
	struct doc_reader *r = xcalloc(1, sizeof(*r));

	(void)o;
	r->in = input_open(paths, n);
	pthread_mutex_init(&r->lock, NULL);
	return r;
}

void
doc_reader_close(struct doc_reader *r)
{
	struct doc_batch *b, *next;

	if (!r)
		return;
	for (b = r->free; b; b = next) {
		next = ((struct memory *)b->priv)->next;
		batch_destroy(b);
	}
	pthread_mutex_destroy(&r->lock);
	input_close(r->in);
	free(r);
}

struct input *
doc_reader_input(struct doc_reader *r)
{
	return r->in;
}

struct doc_batch *
doc_read(struct doc_reader *r, size_t want, struct err *e)
{
	struct doc_batch *b = batch_new(r);

	if (input_chunk(r->in, &b->chunk, want ? want : BLOCK, e) > 0)
		return b;
	doc_batch_free(b);
	return NULL;
}

/* --- parsing --- */

struct doc_parser *
doc_parser_new(const struct doc_opts *o)
{
	struct doc_parser *p = xcalloc(1, sizeof(*p));

	p->json = json_reader_new();
	p->key[KEY_TEXT] = o->text_key;
	p->key[KEY_ID] = o->id_key;
	p->key[KEY_EXTRA] = o->extra_key;
	p->keys = o->extra_key ? KEYS : KEY_EXTRA;
	p->on_bad = o->on_bad;
	return p;
}

void
doc_parser_free(struct doc_parser *p)
{
	if (!p)
		return;
	json_reader_free(p->json);
	free(p);
}

/* The same bytes with the life of the block: in it already, or copied. */
static struct span
keep(struct doc_batch *b, struct span s)
{
	struct memory *m = b->priv;
	char *p;

	if (s.p >= b->chunk.p && s.p < b->chunk.p + b->chunk.n)
		return s;
	p = arena_take(&m->arena, s.n, MORE);
	if (s.n)
		memcpy(p, s.p, s.n);
	return (struct span){p, s.n};
}

static struct span
trim(struct span s)
{
	while (s.n && strchr(" \t\r\n", s.p[s.n - 1]))
		s.n--;
	return s;
}

static const char *
type_name(enum json_type t)
{
	switch (t) {
	case JSON_FALSE:	return "false";
	case JSON_TRUE:		return "true";
	case JSON_NUMBER:	return "a number";
	case JSON_STRING:	return "a string";
	case JSON_ARRAY:	return "an array";
	default:		return "an object";
	}
}

void
doc_set_bad(struct doc_batch *b, struct doc *d, const char *why)
{
	struct memory *m = b->priv;
	size_t n = strlen(why) + 1;

	d->bad = 1;
	d->why = memcpy(arena_take(&m->arena, n, MORE), why, n);
	d->text = (struct span){"", 0};
	d->id = d->extra = (struct span){NULL, 0};
	d->surrogates = 0;
	d->digest = 0;
}

static void
no_text(const struct doc_parser *p, struct doc_batch *b, struct doc *d,
	const struct json_pick *t)
{
	struct span what = t->type == JSON_NULL ? trim(t->raw) :
		span_str(type_name(t->type));	/* null, or Python's NaN */
	const char *kind = d->lineno == 1 ? sniff_object(d->line) : NULL;
	struct buf why = {0};
	size_t at = 1;

	if (!t->present) {
		buf_printf(&why, "byte 1: no key \"%.200s\", found ",
			   p->key[KEY_TEXT]);
		sniff_keys(d->line, &why);
		buf_puts(&why, " (--text-key names another)");
	} else {
		if (t->raw.p >= d->line.p && t->raw.p < d->line.p + d->line.n)
			at = t->raw.p - d->line.p + 1;
		buf_printf(&why, "byte %zu: \"%.200s\" is %.*s, not a string",
			   at, p->key[KEY_TEXT], (int)what.n, what.p);
	}
	if (kind)
		buf_printf(&why, "; %s", kind);
	buf_putc(&why, '\0');
	doc_set_bad(b, d, why.p);
	buf_clear(&why);
}

/*
 * Plain text, an array of documents or a pretty-printed object is another
 * kind of file, which its first line shows.  Otherwise report the fault in the
 * JSON.
 */
static void
no_object(const struct doc_parser *p, struct doc_batch *b, struct doc *d,
	  const char *fault)
{
	const char *kind = d->lineno == 1 ?
		sniff_line(d->line, p->key[KEY_TEXT]) : NULL;
	struct span s = trim(d->line);
	char why[600];
	size_t i = 0;

	while (i < s.n && (s.p[i] == ' ' || s.p[i] == '\t'))
		i++;
	if (i < s.n && s.p[i] == '{' && i + 1 < s.n && !kind) {
		doc_set_bad(b, d, fault);
		return;
	}
	snprintf(why, sizeof(why), "byte %zu: not a JSON object; a document "
		 "is one line, {\"%.200s\":\"...\"}%s%s", i + 1,
		 p->key[KEY_TEXT], kind ? "; " : "", kind ? kind : "");
	doc_set_bad(b, d, why);
}

/* The text stays in the parser's memory. */
static void
parse_line(struct doc_parser *p, struct doc_batch *b, struct doc *d, size_t n)
{
	struct json_pick v[KEYS];
	uint64_t surrogates = 0;
	struct err e = {0};

	if (json_read(p->json, d->line.p, n, p->key, p->keys, v, &surrogates,
		      &e)) {
		no_object(p, b, d, e.msg);
		return;
	}
	if (!v[KEY_TEXT].present || v[KEY_TEXT].type != JSON_STRING) {
		no_text(p, b, d, &v[KEY_TEXT]);
		return;
	}
	d->text = v[KEY_TEXT].str;
	d->digest = doc_digest(d->text);
	d->surrogates = surrogates;
	if (v[KEY_ID].present && v[KEY_ID].type == JSON_STRING &&
	    v[KEY_ID].str.n)
		d->id = keep(b, v[KEY_ID].str);
	else if (v[KEY_ID].present && v[KEY_ID].type == JSON_NUMBER)
		d->id = keep(b, trim(v[KEY_ID].raw));
	if (p->keys == KEYS && v[KEY_EXTRA].present)
		d->extra = keep(b, v[KEY_EXTRA].type == JSON_STRING ?
				v[KEY_EXTRA].str : trim(v[KEY_EXTRA].raw));
}

/* Add the LF that the last line of a file lacks. */
static void
end_line(struct doc_batch *b, struct doc *d)
{
	struct memory *m = b->priv;
	char *p = arena_take(&m->arena, d->line.n + 1, MORE);

	memcpy(p, d->line.p, d->line.n);
	p[d->line.n] = '\n';
	d->line = (struct span){p, d->line.n + 1};
}

static struct doc *
batch_next(struct doc_batch *b)
{
	struct memory *m = b->priv;

	GROW(b->v, m->cap, b->n + 1);
	return memset(&b->v[b->n], 0, sizeof(*b->v));
}

static void
keep_text(void *ctx, const struct doc *d)
{
	struct doc_batch *b = ctx;

	b->v[b->n].text = keep(b, d->text);
}

/* The next document at or after *at, or NULL; *n: its bytes without LF. */
static struct doc *
cut_line(struct doc_batch *b, const char **at, uint64_t *line, size_t *n)
{
	const char *end = b->chunk.p + b->chunk.n, *p = *at, *lf;
	struct doc *d;

	for (; p < end; p = lf + 1, ++*line) {
		lf = memchr(p, '\n', end - p);
		if (!lf)
			lf = end;
		if (span_is_blank((struct span){p, lf - p}))
			continue;
		d = batch_next(b);
		d->file = b->chunk.name;
		d->lineno = (*line)++;
		*n = lf - p;
		d->line = (struct span){p, *n + (lf < end)};
		*at = lf + 1;
		return d;
	}
	return NULL;
}

static int
parse(struct doc_parser *p, struct doc_batch *b,
      void (*each)(void *, const struct doc *), void *ctx, struct err *e)
{
	const char *at = b->chunk.p;
	uint64_t line = b->chunk.line;
	struct doc *d;
	size_t n;

	for (b->n = 0; (d = cut_line(b, &at, &line, &n)); b->n++) {
		parse_line(p, b, d, n);
		if (d->bad && p->on_bad == DOC_FAIL)
			return err_set(e, "%s:%llu: %s", d->file,
				       (unsigned long long)d->lineno, d->why);
		each(ctx, d);
		if (d->line.n == n)
			end_line(b, d);
	}
	return 0;
}

void
doc_lines(struct doc_batch *b)
{
	struct memory *m = b->priv;
	const char *at = b->chunk.p;
	uint64_t line = b->chunk.line;
	struct doc *d;
	size_t n;

	arena_reset(&m->arena, 4096);
	for (b->n = 0; (d = cut_line(b, &at, &line, &n)); b->n++)
		if (d->line.n == n)
			end_line(b, d);
}

void
doc_parse_at(struct doc_parser *p, struct doc_batch *b, size_t i)
{
	struct doc *d = &b->v[i];
	struct span line = d->line;
	char *copy = NULL;

	/* A line that was given an LF has no padding after it. */
	if (line.p < b->chunk.p || line.p >= b->chunk.p + b->chunk.n) {
		copy = memcpy(xcalloc(1, line.n + DOC_PADDING), line.p,
			      line.n);
		d->line.p = copy;
	}
	parse_line(p, b, d, line.n - 1);
	d->text = keep(b, d->text);
	d->line = line;
	free(copy);
}

int
doc_parse(struct doc_parser *p, struct doc_batch *b, struct err *e)
{
	struct memory *m = b->priv;

	arena_reset(&m->arena, b->chunk.n + 4096);
	return parse(p, b, keep_text, b, e);
}

int
doc_parse_each(struct doc_parser *p, struct doc_batch *b,
	       void (*each)(void *ctx, const struct doc *d), void *ctx,
	       struct err *e)
{
	struct memory *m = b->priv;
	size_t i;
	int r;

	arena_reset(&m->arena, 4096);
	r = parse(p, b, each, ctx, e);
	for (i = 0; i < b->n; i++)
		b->v[i].text.p = NULL;
	return r;
}

struct span
doc_id(const struct doc *d, struct buf *tmp)
{
	if (d->id.p)
		return d->id;
	buf_reset(tmp);
	buf_printf(tmp, "%s:%llu", d->file, (unsigned long long)d->lineno);
	return buf_span(tmp);
}

/* --- counters --- */

uint64_t
doc_digest(struct span text)
{
	return XXH3_64bits(text.p, text.n);
}

void
doc_stats_in(struct doc_stats *s, const struct doc *d)
{
	s->docs_in++;
	if (d->bad) {
		if (!s->docs_bad++)
			snprintf(s->first_bad, sizeof(s->first_bad),
				 "%s:%llu: %s", d->file,
				 (unsigned long long)d->lineno, d->why);
		return;
	}
	s->bytes_in += d->text.n;
	s->digest_in += d->digest;
	s->surrogates += d->surrogates;
	s->empty += d->text.n == 0;
}

void
doc_stats_kept(struct doc_stats *s, const struct doc *d)
{
	s->docs_kept++;
	s->bytes_kept += d->text.n;
	s->digest_kept += d->digest;
}

void
doc_stats_dropped(struct doc_stats *s, const struct doc *d)
{
	(void)d;
	s->docs_dropped++;
}

void
doc_stats_warn(const struct doc_stats *s, int passed_on)
{
	if (s->docs_bad)
		warn("%llu bad line%s %s, the first: %s",
		     (unsigned long long)s->docs_bad,
		     s->docs_bad == 1 ? "" : "s",
		     passed_on ? "passed on" : "skipped", s->first_bad);
}

void
doc_stats_json(const struct doc_stats *s, struct buf *b)
{
	buf_printf(b, "\"docs_in\":%llu,\"docs_kept\":%llu,"
		   "\"docs_dropped\":%llu,\"docs_bad\":%llu,",
		   (unsigned long long)s->docs_in,
		   (unsigned long long)s->docs_kept,
		   (unsigned long long)s->docs_dropped,
		   (unsigned long long)s->docs_bad);
	buf_printf(b, "\"bytes_in\":%llu,\"bytes_kept\":%llu,"
		   "\"digest_in\":\"%016llx\",\"digest_kept\":\"%016llx\",",
		   (unsigned long long)s->bytes_in,
		   (unsigned long long)s->bytes_kept,
		   (unsigned long long)s->digest_in,
		   (unsigned long long)s->digest_kept);
	buf_printf(b, "\"docs_empty\":%llu,\"replaced_characters\":%llu",
		   (unsigned long long)s->empty,
		   (unsigned long long)s->surrogates);
}
