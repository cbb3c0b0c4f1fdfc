/*
 * vocab_load.c - tokenizer.json in: vocabulary, added tokens, merges
 *
 * The file is a pipeline: normalizer, pre_tokenizer, model, post_processor,
 * decoder.  Each part is read by one function that accepts what
 * tokenizer/bpe.h supports and refuses everything else by name.  An unknown
 * key of the file is refused too, as by tokenizers; one inside a part is
 * ignored, as by tokenizers.  vocab_pipe.c reads everything but the model.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "record/vocab_priv.h"
#include "stream/input.h"
#include "stream/sniff.h"

/* --- model --- */

static int
check_model(struct vocab_load *l)
{
	static const char *const affix[] = {"continuing_subword_prefix",
		"end_of_word_suffix"};
	const struct json *m = l->model, *d;

	if (!m || m->type != JSON_OBJECT)
		return vocab_fail(l, "model: missing");
	if (json_get(m, "type") && !is_type(m, "BPE"))
		return vocab_unsupported(l, "model", m);
	d = json_get(m, "dropout");
	if (!is_null(d) && !(d->type == JSON_NUMBER && d->num == 0))
		return vocab_fail(l, "model: dropout is not supported "
				  "(set it to null)");
	for (int i = 0; i < 2; i++) {
		d = json_get(m, affix[i]);
		if (!is_null(d) && !(d->type == JSON_STRING && d->str.n == 0))
			return vocab_fail(l, "model: %s is not supported",
					  affix[i]);
	}
	l->v->fuse_unk = vocab_flag(l, m, "fuse_unk", 0);
	l->v->byte_fallback = vocab_flag(l, m, "byte_fallback", 0);
	l->v->ignore_merges = vocab_flag(l, m, "ignore_merges", 0);
	l->vocab = json_get(m, "vocab");
	if (!l->vocab || l->vocab->type != JSON_OBJECT || l->vocab->n == 0)
		return vocab_fail(l, "model: vocab is missing, empty or not an "
				  "object");
	if (l->vocab->n > 1 << 26)
		return vocab_fail(l, "model: vocab: too many tokens");
	return l->e->set ? -1 : 0;
}

/* Names by id; an id may have none. */
static int
read_names(struct vocab_load *l)
{
	const struct json *a = json_get(l->root, "added_tokens");
	size_t room = l->vocab->n + (a && a->type == JSON_ARRAY ? a->n : 0);
	int64_t max = -1;

	for (size_t i = 0; i < l->vocab->n; i++) {
		const struct json *t = &l->vocab->kids[i];

		if (t->type != JSON_NUMBER || !t->is_int || t->i < 0 ||
		    t->i > (int64_t)(4 * room + 65536))
			return vocab_fail(l, "model: vocab: token '%.*s': its "
					 "id is not a number from 0 to %zu",
					 (int)t->key.n, t->key.p,
					 4 * room + 65536);
		max = t->i > max ? t->i : max;
	}
	room += (size_t)max + 1;
	l->name = xcalloc(room, sizeof(*l->name));
	l->v->token = xcalloc(room, sizeof(*l->v->token));
	l->v->flags = xcalloc(room, 1);
	l->v->n = (uint32_t)max + 1;
	names_init(&l->names, l->name, room);
	for (size_t i = 0; i < l->vocab->n; i++) {
		const struct json *t = &l->vocab->kids[i];

		if (l->name[t->i].p)
			return vocab_fail(l, "model: vocab: '%.*s' and '%.*s' "
					 "have the same id %lld",
					 (int)l->name[t->i].n, l->name[t->i].p,
					 (int)t->key.n, t->key.p,
					 (long long)t->i);
		l->name[t->i] = vocab_keep(l->v, t->key.p, t->key.n);
		names_add(&l->names, (uint32_t)t->i);
	}
	return 0;
}

/*
 * Added tokens get the ids that tokenizers gives them: the one in the model's
 * vocabulary, else the next after the size of the vocabulary and the added
 * tokens so far.  If the file says otherwise, its readers disagree.
 */
static int
read_added_one(struct vocab_load *l, const struct json *t, int64_t *next)
{
	struct vocab *v = l->v;
	const struct json *c = json_get(t, "content"), *id = json_get(t, "id");
	struct vocab_special s = {.id = 0};
	int64_t have;

	if (!c || c->type != JSON_STRING || c->str.n == 0 || !id ||
	    id->type != JSON_NUMBER || !id->is_int)
		return vocab_fail(l, "added_tokens: a token without content or "
				 "id");
	have = names_find(&l->names, c->str);
	if (have < 0)
		have = *next;
	if (have != id->i)
		return vocab_fail(l, "added_tokens: '%.*s' has id %lld, "
				 "tokenizers gives it %lld: list added tokens "
				 "in ascending order after a vocabulary "
				 "without holes",
			    (int)c->str.n, c->str.p, (long long)id->i,
			    (long long)have);
	s.id = (uint32_t)have;
	s.special = vocab_flag(l, t, "special", 0);
	s.normalized = vocab_flag(l, t, "normalized", !s.special);
	s.lstrip = vocab_flag(l, t, "lstrip", 0);
	s.rstrip = vocab_flag(l, t, "rstrip", 0);
	s.single_word = vocab_flag(l, t, "single_word", 0);
	if (s.id < v->n && l->name[s.id].p &&
	    !span_eq(l->name[s.id], c->str))
		return vocab_fail(l, "added_tokens: '%.*s' and '%.*s' have the "
				 "same id %u", (int)c->str.n, c->str.p,
			    (int)l->name[s.id].n, l->name[s.id].p, s.id);
	if (s.id >= v->n)
		v->n = s.id + 1;
	if (!l->name[s.id].p) {
		l->name[s.id] = vocab_keep(v, c->str.p, c->str.n);
		names_add(&l->names, s.id);
		v->flags[s.id] |= VOCAB_ADDED;
	}
	s.text = l->name[s.id];
	v->flags[s.id] |= s.special ? VOCAB_SPECIAL : 0;
	v->special[v->nspecial++] = s;
	*next = have + 1 > *next ? have + 1 : *next;
	return l->e->set ? -1 : 0;
}

static int
cmp_special(const void *a, const void *b)
{
	const struct vocab_special *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static int
read_added(struct vocab_load *l)
{
	const struct json *a = json_get(l->root, "added_tokens");
	int64_t next = (int64_t)l->vocab->n;
	size_t k = 0;

	l->v->special = xcalloc((is_null(a) ? 0 : a->n) + 1,
				sizeof(*l->v->special));
	if (is_null(a))
		return 0;
	if (a->type != JSON_ARRAY)
		return vocab_fail(l, "added_tokens: not an array");
	for (size_t i = 0; i < a->n; i++)
		if (read_added_one(l, &a->kids[i], &next) < 0)
			return -1;
	qsort(l->v->special, l->v->nspecial, sizeof(*l->v->special),
	      cmp_special);
	for (size_t i = 0; i < l->v->nspecial; i++)	/* listed twice */
		if (k == 0 || l->v->special[k - 1].id != l->v->special[i].id)
			l->v->special[k++] = l->v->special[i];
	l->v->nspecial = k;
	return 0;
}

/* Names to bytes; a name with other characters is taken as it is. */
static struct span
byte_level_bytes(struct vocab *v, struct span name)
{
	struct span s = vocab_keep(v, name.p, name.n);
	char *to = (char *)s.p;		/* never longer than the name */
	size_t i = 0;

	s.n = 0;
	while (i < name.n) {
		unsigned char c = (unsigned char)name.p[i];
		uint32_t cp = c;
		int byte;

		if (c >= 0x80 && c < 0xe0 && i + 1 < name.n)
			cp = (c & 31u) << 6 | (name.p[++i] & 63u);
		else if (c >= 0x80)
			cp = 0xffff;
		byte = cp == 0xffff ? -1 : vocab_char_byte(cp);
		if (byte < 0)
			return name;
		to[s.n++] = (char)byte;
		i++;
	}
	to[s.n] = 0;
	return s;
}

static int
hex_byte(struct span s)
{
	unsigned x;

	if (s.n != 6 || memcmp(s.p, "<0x", 3) != 0 || s.p[5] != '>')
		return -1;
	x = 0;
	for (int i = 3; i < 5; i++) {
		char c = s.p[i];

		x = x << 4 | (unsigned)(c >= '0' && c <= '9' ? c - '0' :
			c >= 'A' && c <= 'F' ? c - 'A' + 10 : 16);
	}
	return x < 256 ? (int)x : -1;
}

/*
 * An added token that the model has too is one of its tokens, whose name is
 * bytes: "\u00e9" in GPT-2 is the byte e9 beside the text that is cut out.
 */
static void
set_tokens(struct vocab_load *l)
{
	struct vocab *v = l->v;

	for (uint32_t i = 0; i < v->n; i++) {
		int byte;

		v->token[i] = l->name[i];
		if (!l->name[i].p || (v->flags[i] & VOCAB_ADDED))
			continue;
		if (v->kind == VOCAB_BYTE_LEVEL) {
			v->token[i] = byte_level_bytes(v, l->name[i]);
			byte = v->token[i].n == 1 ?
				(uint8_t)v->token[i].p[0] : -1;
		} else if ((byte = hex_byte(l->name[i])) >= 0 &&
			   v->byte_fallback) {
			char c = (char)byte;

			v->token[i] = vocab_keep(v, &c, 1);
		} else {
			byte = -1;
		}
		if (byte >= 0)
			v->flags[i] |= VOCAB_BYTE;
	}
}

/* --- merges --- */

static int
merge_parts(const struct json *m, struct span part[2])
{
	const char *sp;

	if (m->type == JSON_ARRAY && m->n == 2 &&
	    m->kids[0].type == JSON_STRING && m->kids[1].type == JSON_STRING) {
		part[0] = m->kids[0].str;
		part[1] = m->kids[1].str;
		return part[0].n && part[1].n ? 0 : -1;
	}
	if (m->type != JSON_STRING || m->str.n == 0)
		return -1;
	sp = memchr(m->str.p, ' ', m->str.n);
	if (!sp)
		return -1;
	part[0] = (struct span){m->str.p, (size_t)(sp - m->str.p)};
	part[1] = (struct span){sp + 1, m->str.n - part[0].n - 1};
	return part[0].n == 0 || part[1].n == 0 ||
		memchr(part[1].p, ' ', part[1].n) ? -1 : 0;
}

static int
read_merges(struct vocab_load *l)
{
	const struct json *m = json_get(l->model, "merges");
	struct vocab *v = l->v;
	struct buf b = {0};

	if (!m || m->type != JSON_ARRAY)
		return vocab_fail(l, "model: merges is missing or not an "
				  "array");
	v->merge = xcalloc(m->n + 1, sizeof(*v->merge));
	v->nmerges = m->n;
	for (size_t i = 0; i < m->n; i++) {
		struct span part[2];
		int64_t id[3];

		if (merge_parts(&m->kids[i], part) < 0) {
			vocab_fail(l, "model: merge %zu: neither \"a b\" nor "
				  "[\"a\", \"b\"]", i);
			break;
		}
		buf_reset(&b);
		buf_put(&b, part[0].p, part[0].n);
		buf_put(&b, part[1].p, part[1].n);
		id[0] = names_find(&l->names, part[0]);
		id[1] = names_find(&l->names, part[1]);
		id[2] = names_find(&l->names, buf_span(&b));
		for (int k = 0; k < 3; k++) {
			if (id[k] < 0) {
				vocab_fail(l, "model: merge %zu: '%.*s' + "
					  "'%.*s': the %s is not in the "
					  "vocabulary", i,
				     (int)part[0].n, part[0].p, (int)part[1].n,
				     part[1].p, k == 0 ? "left part" : k == 1 ?
				     "right part" : "result");
				break;
			}
			v->merge[i][k] = (uint32_t)id[k];
		}
		if (l->e->set)
			break;
	}
	buf_clear(&b);
	return l->e->set ? -1 : 0;
}

static int
read_unk(struct vocab_load *l)
{
	const struct json *u = json_get(l->model, "unk_token");

	if (is_null(u) || (u->type == JSON_STRING && u->str.n == 0))
		return 0;
	if (u->type != JSON_STRING)
		return vocab_fail(l, "model: unk_token: not a string");
	l->v->unk = names_find(&l->names, u->str);
	if (l->v->unk < 0)
		return vocab_fail(l, "model: unk_token '%.*s' is not in the "
				 "vocabulary", (int)u->str.n, u->str.p);
	return 0;
}

/* The members of the file itself. */
static int
check_top(struct vocab_load *l)
{
	static const char *const keys[] = {"version", "truncation", "padding",
		"added_tokens", "normalizer", "pre_tokenizer",
		"post_processor", "decoder", "model", NULL};
	const struct json *r = l->root, *ver = json_get(r, "version");
	const char *what = sniff_tokenizer_json(r);

	if (what)
		return vocab_fail(l, "this is %s", what);
	for (size_t i = 0; i < r->n; i++) {
		struct span key = r->kids[i].key;
		size_t k = 0;

		while (keys[k] && !span_eq(key, span_str(keys[k])))
			k++;
		if (!keys[k])
			return vocab_fail(l, "'%.*s' is not a key of a "
					  "tokenizer.json", (int)key.n, key.p);
	}
	if (!is_null(ver) && !is_str(ver, "1.0"))
		return vocab_fail(l, "version is not \"1.0\"");
	for (int k = 1; k < 3; k++)
		if (!is_null(json_get(r, keys[k])))
			warn("%s: %s is ignored: a document is encoded whole",
			     l->path, keys[k]);
	return 0;
}

static int
load(struct vocab_load *l)
{
	const struct json *r = l->root;

	if (check_top(l) < 0)
		return -1;
	l->model = json_get(r, "model");
	if (check_model(l) < 0 ||
	    vocab_normalizer(l, json_get(r, "normalizer")) < 0 ||
	    vocab_pre_tokenizer(l, json_get(r, "pre_tokenizer")) < 0 ||
	    vocab_decoder(l, json_get(r, "decoder")) < 0 ||
	    vocab_set_kind(l) < 0 ||
	    read_names(l) < 0 || read_added(l) < 0 || read_unk(l) < 0 ||
	    read_merges(l) < 0)
		return -1;
	set_tokens(l);
	if (vocab_post_processor(l, json_get(r, "post_processor")) < 0 ||
	    (l->from_file && vocab_config(l) < 0))
		return -1;
	return l->e->set ? -1 : 0;
}

static struct vocab *
from_json(const char *p, size_t n, const char *path, int from_file,
	  struct err *e)
{
	struct vocab_load l = {.path = path, .e = e, .from_file = from_file};
	struct err why = {0};
	struct json *root = from_file ? json_parse_padded(p, n, path, &why) :
		json_parse(p, n, path, &why);
	int rc;

	if (!root) {
		err_set(e, "%s%s", why.msg, sniff_is_lines(p, n) ? " (this is "
			"JSON Lines, not a tokenizer.json)" : "");
		return NULL;
	}
	l.root = root;
	l.v = vocab_new(VOCAB_BYTE_LEVEL);
	rc = load(&l);
	names_clear(&l.names);
	free(l.name);
	json_free(root);
	if (rc < 0) {
		vocab_free(l.v);
		return NULL;
	}
	vocab_finish(l.v);
	return l.v;
}

static struct vocab *
parse(const char *p, size_t n, const char *where, const char *split,
      int from_file, int *json, struct err *e)
{
	const char *what;
	size_t i = 0;

	*json = 0;
	while (i < n && p[i] && strchr(" \t\r\n", p[i]))
		i++;
	if (i == n) {
		err_set(e, "%s: empty: not a tokenizer", where);
		return NULL;
	}
	what = p[i] == '{' ? NULL : sniff_tokenizer(p, n);
	if (what) {
		err_set(e, "%s: this is %s", where, what);
		return NULL;
	}
	if (p[i] != '{')
		return vocab_from_tiktoken(p, n, where, split, e);
	if (split) {
		err_set(e, "%s: a tokenizer.json names its own split: omit "
			"the split '%s'", where, split);
		return NULL;
	}
	*json = 1;
	return from_json(p, n, where, from_file, e);
}

struct vocab *
vocab_parse(const char *p, size_t n, const char *where, const char *split,
	    struct err *e)
{
	int json;
	struct vocab *v = parse(p, n, where, split, 0, &json, e);
	struct vocab_priv *a = v ? v->priv : NULL;

	if (a && json)
		buf_put(&a->source, p, n);
	return v;
}

/* Name the file of a folder that was given. */
static int
is_folder(const char *path, struct err *e)
{
	struct stat st;
	char *inside;
	size_t n = strlen(path);

	if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return 0;
	inside = xstrf("%s%stokenizer.json", path,
		       n && path[n - 1] == '/' ? "" : "/");
	if (stat(inside, &st) == 0)
		err_set(e, "%s: is a folder: use %s", path, inside);
	else
		err_set(e, "%s: is a folder, and it has no tokenizer.json",
			path);
	free(inside);
	return 1;
}

struct vocab *
vocab_load(const char *path, const char *split, struct err *e)
{
	struct vocab_priv *a;
	struct vocab *v;
	int json;
	size_t n;
	char *p;

	if (is_folder(path, e) || input_slurp(path, &p, &n, e) < 0)
		return NULL;
	v = parse(p, n, path, split, 1, &json, e);
	a = v ? v->priv : NULL;
	if (a && json)
		a->source = (struct buf){p, n, n};
	else
		free(p);
	return v;
}
