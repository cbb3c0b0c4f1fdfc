/*
 * benchmark_fields.c - which strings of an example are its text
 */
#include "contam/benchmark_fields.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/mem.h"
#include "base/search.h"

enum { SURVEY_MAX = 1000, PROSE_WORDS = 3, SHORT_WORDS = 8, OFTEN = 4 };

/* Fields of published benchmarks that are used even if they are short. */
static const char *const always[] = {
	"question.stem", "question.choices[].text",	/* ARC, OpenBookQA */
	"question", "question_stem", "choices.text", "choices[].text",
	"choices", "options", "A", "B", "C", "D",	/* MMLU */
	"ctx", "endings",				/* HellaSwag */
	"passage", "context",				/* BoolQ, SQuAD */
	"goal", "sol1", "sol2",				/* PIQA */
	"sentence",					/* WinoGrande */
};

enum { ALWAYS = sizeof(always) / sizeof(always[0]) };

/* --- named fields --- */

int
fields_init(struct fields *f, const char *list, struct err *e)
{
	char *p, *comma;

	*f = (struct fields){.list = list ? xstrdup(list) : NULL};
	for (p = f->list; p; p = comma) {
		comma = strchr(p, ',');
		if (comma)
			*comma++ = 0;
		if (!*p)
			return err_set(e, "an empty name in the fields %s",
				       list);
		if (f->nnamed == FIELDS_NAMED_MAX)
			return err_set(e, "more than %d fields",
				       FIELDS_NAMED_MAX);
		f->named[f->nnamed++] = p;
	}
	f->plain = list && !strpbrk(list, ".[");
	return 0;
}

void
fields_clear(struct fields *f)
{
	size_t i;

	for (i = 0; i < f->n; i++) {
		free(f->v[i].path);
		free(f->v[i].hash);
	}
	free(f->v);
	words_clear(&f->words);
	buf_clear(&f->path);
	buf_clear(&f->array);
	free(f->list);
	memset(f, 0, sizeof(*f));
}

static void
put(struct fields *f, struct span s)
{
	if (f->strings++)
		buf_putc(f->out, '\n');
	if (s.n)
		buf_put(f->out, s.p, s.n);
}

/* A string, or the strings of an array and of arrays in it. */
static void
put_strings(struct fields *f, const struct json *j)
{
	size_t i;

	if (j->type == JSON_STRING)
		put(f, j->str);
	else if (j->type == JSON_ARRAY)
		for (i = 0; i < j->n; i++)
			put_strings(f, &j->kids[i]);
}

/* The strings at a path of n bytes. */
static void
put_path(struct fields *f, const struct json *j, const char *path, size_t n)
{
	const struct json *whole = NULL, *head = NULL;
	size_t k, i;

	if (!n) {
		put_strings(f, j);
		return;
	}
	if (j->type == JSON_ARRAY && n >= 2 && !memcmp(path, "[]", 2)) {
		k = n > 2 && path[2] == '.' ? 3 : 2;
		for (i = 0; i < j->n; i++)
			if (j->kids[i].type == JSON_ARRAY)
				put_path(f, &j->kids[i], path, n);
			else
				put_path(f, &j->kids[i], path + k, n - k);
		return;
	}
	if (j->type != JSON_OBJECT)
		return;
	for (k = 0; k < n && path[k] != '.' && path[k] != '['; k++)
		;
	for (i = 0; i < j->n; i++) {
		struct span key = j->kids[i].key;

		if (key.n == n && !memcmp(key.p, path, n))
			whole = &j->kids[i];
		else if (key.n == k && !memcmp(key.p, path, k))
			head = &j->kids[i];
	}
	if (whole)
		put_strings(f, whole);
	else if (head && k < n)
		put_path(f, head, path + k + (path[k] == '.'),
			 n - k - (path[k] == '.'));
}

static const char *
after(const char *path, struct span start)
{
	return start.n && !strncmp(path, start.p, start.n) ? path + start.n
							    : path;
}

/* A path from the top of the file as one from the example. */
static const char *
from_example(const struct fields *f, const char *path)
{
	const char *p = after(path, buf_span(&f->array));

	if (p == path || !f->squad)
		return p;
	return after(after(p, span_str("paragraphs[].")), span_str("qas[]."));
}

/* --- all fields of an example --- */

/* Call each() for every string, with its path in f->path. */
static void
walk(struct fields *f, const struct json *j,
     void (*each)(struct fields *f, struct span s))
{
	size_t i, n = f->path.n;

	if (j->type == JSON_STRING)
		each(f, j->str);
	if (j->type != JSON_OBJECT && j->type != JSON_ARRAY)
		return;
	for (i = 0; i < j->n; i++) {
		const struct json *kid = &j->kids[i];

		if (j->type == JSON_OBJECT) {
			if (n)
				buf_putc(&f->path, '.');
			if (kid->key.n)
				buf_put(&f->path, kid->key.p, kid->key.n);
		} else if (kid->type == JSON_OBJECT) {
			buf_puts(&f->path, "[]");
		}
		walk(f, kid, each);
		f->path.n = n;
	}
}

static struct field *
find(const struct fields *f, struct span path)
{
	size_t i;

	for (i = 0; i < f->n; i++)
		if (strlen(f->v[i].path) == path.n &&
		    !memcmp(f->v[i].path, path.p, path.n))
			return &f->v[i];
	return NULL;
}

/* Its words; one if it is a URL, or if nothing separates them for people. */
static size_t
count_words(struct fields *f, struct span s)
{
	int plain = 1;
	size_t i;

	if ((s.n > 7 && !memcmp(s.p, "http://", 7)) ||
	    (s.n > 8 && !memcmp(s.p, "https://", 8)))
		return 1;
	for (i = 0; i < s.n && plain; i++)
		plain = (unsigned char)s.p[i] < 0x80 && s.p[i] != ' ' &&
			s.p[i] != '\t' && s.p[i] != '\n' && s.p[i] != '\r';
	if (plain || s.n > UINT32_MAX)
		return 1;
	words_split(&f->words, s);
	return f->words.n;
}

/* The field of a string; NULL: there are too many. */
static struct field *
seen(struct fields *f)
{
	struct field *x = find(f, buf_span(&f->path));

	if (!x && f->n == SURVEY_MAX) {
		f->too_many = 1;
		return NULL;
	}
	if (!x) {
		GROW(f->v, f->cap, f->n + 1);
		x = &f->v[f->n++];
		buf_putc(&f->path, 0);
		*x = (struct field){.path = xstrdup(f->path.p)};
		f->path.n--;
	}
	return x;
}

static void
see_name(struct fields *f, struct span s)
{
	(void)s;
	seen(f);
}

static void
see(struct fields *f, struct span s)
{
	struct field *x = seen(f);

	if (!x)
		return;
	GROW(x->hash, x->cap, x->n + 1);
	x->hash[x->n++] = XXH3_64bits(s.p, s.n);
	x->words += count_words(f, s);
}

void
fields_survey(struct fields *f, const struct json *example)
{
	f->path.n = 0;
	walk(f, example, see);
}

/* --- which of them are prose --- */

/* The last word of a name: "label" of activity_label, "id" of QuestionId. */
static struct span
last_word(const char *path)
{
	const char *end = path + strlen(path), *p;

	while (end > path && strchr("[]", end[-1]))
		end--;
	for (p = end; p > path && !strchr("._-[] ", p[-1]); p--)
		if (p < end && *p >= 'A' && *p <= 'Z' &&
		    !(p[-1] >= 'A' && p[-1] <= 'Z'))
			break;
	return (struct span){p, (size_t)(end - p)};
}

static int
is_no_prose(const char *path)
{
	static const char *const name[] = {
		"id", "ids", "uid", "uuid", "guid", "qid", "ind", "idx",
		"index", "key", "hash", "md5", "url", "urls", "uri", "link",
		"href", "path", "file", "filename", "label", "labels",
		"subject", "subjects", "category", "categories", "topic",
		"type", "split", "lang", "language", "level", "difficulty",
		"grade", "version", "license", "title", "canary",
	};
	struct span w = last_word(path);
	size_t i;

	for (i = 0; i < sizeof(name) / sizeof(name[0]); i++)
		if (strlen(name[i]) == w.n && !strncasecmp(name[i], w.p, w.n))
			return 1;
	return 0;
}

/* Few different strings, each again and again? */
static int
repeats(struct field *x)
{
	size_t i, different = 0;

	qsort(x->hash, x->n, sizeof(*x->hash), cmp_u64);
	for (i = 0; i < x->n; i++)
		different += !i || x->hash[i] != x->hash[i - 1];
	return x->n >= OFTEN && different * OFTEN <= x->n;
}

static int
is_seen(const struct fields *f, const char *path)
{
	return find(f, span_str(path)) != NULL;
}

static int
is_among(const char *const *v, size_t n, const char *path)
{
	size_t i;

	for (i = 0; i < n && strcmp(v[i], path); i++)
		;
	return i < n;
}

static int
is_prose(const struct fields *f, struct field *x)
{
	static const char *const ctx[] = {"ctx_a", "ctx_b"};
	static const char *const part[] = {
		"answers.text", "answers[].text", "plausible_answers[].text",
	};

	if (is_among(ctx, 2, x->path) && is_seen(f, "ctx"))
		return 0;	/* HellaSwag: ctx is both */
	if (is_among(part, 3, x->path) && is_seen(f, "context"))
		return 0;	/* SQuAD: they are in the context */
	if (is_among(always, ALWAYS, x->path))
		return 1;
	return !is_no_prose(x->path) && x->words >= PROSE_WORDS * x->n &&
	       !(x->words < SHORT_WORDS * x->n && repeats(x));
}

void
fields_choose(struct fields *f)
{
	const char *only = NULL;
	size_t i, used = 0;

	/* TriviaQA: the others are answers, and what was found on the Web */
	if (is_seen(f, "Question") && is_seen(f, "QuestionId"))
		only = "Question";
	else if (is_seen(f, "question") &&
		 is_seen(f, "answer.normalized_value"))
		only = "question";

	for (i = 0; i < f->n; i++) {
		struct field *x = &f->v[i];

		x->used = only ? !strcmp(x->path, only) : is_prose(f, x);
		used += (size_t)x->used;
	}
	/* a list of words is better than nothing */
	for (i = 0; i < f->n && !used; i++)
		f->v[i].used = !is_no_prose(f->v[i].path) &&
			       !repeats(&f->v[i]);
}

static void
put_if_used(struct fields *f, struct span s)
{
	const struct field *x = find(f, buf_span(&f->path));

	if (x && x->used)
		put(f, s);
}

size_t
fields_text(struct fields *f, const struct json *example, struct buf *out)
{
	size_t i, before;

	buf_reset(out);
	f->out = out;
	f->strings = 0;
	f->path.n = 0;
	walk(f, example, f->nnamed ? see_name : put_if_used);
	for (i = 0; i < f->nnamed; i++) {
		const char *path = from_example(f, f->named[i]);

		before = f->strings;
		put_path(f, example, path, strlen(path));
		f->found |= (uint64_t)(f->strings > before) << i;
	}
	return f->strings;
}

size_t
fields_picked(struct fields *f, const struct json_pick *v, struct buf *out)
{
	size_t i;

	for (i = 0; i < f->nnamed; i++)
		if (!v[i].present || v[i].type != JSON_STRING)
			return 0;
	buf_reset(out);
	f->out = out;
	f->strings = 0;
	for (i = 0; i < f->nnamed; i++) {
		put(f, v[i].str);
		f->found |= UINT64_C(1) << i;
	}
	return f->strings;
}

void
fields_put_used(const struct fields *f, struct buf *out)
{
	size_t i;

	if (f->text)
		buf_puts(out, "text\n");
	for (i = 0; i < f->nnamed; i++)
		if (f->found >> i & 1)
			buf_printf(out, "%s\n", f->named[i]);
	for (i = 0; i < f->n && !f->nnamed; i++)
		if (f->v[i].used)
			buf_printf(out, "%s\n", f->v[i].path);
}

void
fields_put_seen(const struct fields *f, struct buf *out)
{
	size_t i;

	for (i = 0; i < f->n; i++)
		buf_printf(out, "%s\n", f->v[i].path);
}
