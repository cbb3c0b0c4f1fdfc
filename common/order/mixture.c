/*
 * mixture.c - see mixture.h
 *
 * Tijdeman's rule: sample k of a period goes to one of the sources that are at
 * least 1 / (2n - 2) of a window behind, to that which would first be more than
 * 1 - 1 / (2n - 2) behind.  All is computed in whole numbers, so it is the same
 * on every machine.  A list of each source's samples makes counting a binary
 * search.
 */
#include "order/mixture.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/mem.h"
#include "base/search.h"

/* ---- weights ---- */

enum { DIGITS = 18 };

struct decimal {
	uint64_t digits;
	int places;		/* after the point */
};

static int
is_decimal(struct span s)
{
	size_t i, digits = 0, points = 0;

	for (i = 0; i < s.n; i++) {
		digits += isdigit((unsigned char)s.p[i]) != 0;
		points += s.p[i] == '.';
	}
	return digits && points < 2 && digits + points == s.n;
}

/* -1: more than DIGITS digits. */
static int
decimal(struct span s, struct decimal *d)
{
	size_t i, n = 0;
	int point = 0;

	*d = (struct decimal){0};
	for (i = 0; i < s.n; i++) {
		if (s.p[i] == '.') {
			point = 1;
			continue;
		}
		d->digits = d->digits * 10 + (uint64_t)(s.p[i] - '0');
		d->places += point;
		n += d->digits > 0;
		if (n > DIGITS || d->places > DIGITS)
			return -1;
	}
	for (; d->places && d->digits % 10 == 0; d->places--)
		d->digits /= 10;
	return 0;
}

int
mixture_split(const char *spec, struct span *path, struct span *weight,
	      struct err *e)
{
	const char *colon = strrchr(spec, ':');
	struct decimal d;
	char *head;
	int there;

	*path = span_str(spec);
	if (!colon || colon == spec || access(spec, F_OK) == 0)
		return 0;
	*weight = span_str(colon + 1);
	if (is_decimal(*weight)) {
		path->n = (size_t)(colon - spec);
		if (decimal(*weight, &d) == 0 && d.digits)
			return 1;
		return err_set(e, "%s: the weight must be above 0 and have at"
			       " most %d digits", spec, DIGITS);
	}
	head = xmemdup0(spec, (size_t)(colon - spec));
	there = access(head, F_OK) == 0;
	free(head);
	return !there ? 0 : err_set(e, "%s: the weight %s is not a decimal"
				    " number", spec, colon + 1);
}

double
mixture_sum(const struct span *weight, size_t n)
{
	double sum = 0;
	struct decimal d;
	size_t i;

	for (i = 0; i < n; i++) {
		decimal(weight[i], &d);
		sum += (double)d.digits * pow(10, -d.places);
	}
	return sum;
}

typedef unsigned __int128 wide;

static wide
gcd(wide a, wide b)
{
	while (b) {
		wide r = a % b;

		a = b;
		b = r;
	}
	return a;
}

/* Round weights to a sum of MIXTURE_PERIOD, by largest remainders. */
static void
round_weights(struct mixture *m, wide *w, wide sum)
{
	uint64_t left = MIXTURE_PERIOD;
	wide *over = xcalloc(m->n, sizeof *over);
	size_t i, best;

	/* so that products fit */
	while (sum >> 60)
		for (sum = 0, i = 0; i < m->n; i++)
			sum += w[i] >>= 1;
	for (i = 0; i < m->n; i++) {
		m->v[i].weight = (uint64_t)(w[i] * MIXTURE_PERIOD / sum);
		over[i] = w[i] * MIXTURE_PERIOD % sum;
		left -= m->v[i].weight;
	}
	for (; left; left--) {
		for (best = 0, i = 1; i < m->n; i++)
			if (over[i] > over[best])
				best = i;
		over[best] = 0;
		m->v[best].weight++;
	}
	free(over);
}

/* Whole numbers in proportion to the weights. */
static int
set_weights(struct mixture *m, const struct span *weight,
	    const char *const *path, struct err *e)
{
	wide *w = xcalloc(m->n, sizeof *w), sum = 0, common = 0;
	struct decimal d;
	int k, rc = 0;
	size_t i;

	for (i = 0; i < m->n; i++) {
		decimal(weight[i], &d);
		w[i] = d.digits;	/* below 10^18 */
		for (k = d.places; k < DIGITS; k++)
			w[i] *= 10;
		common = gcd(w[i], common);
		sum += w[i];
	}
	if (sum / common <= MIXTURE_PERIOD)
		for (i = 0; i < m->n; i++)
			m->v[i].weight = (uint64_t)(w[i] / common);
	else
		round_weights(m, w, sum);
	for (i = 0; i < m->n && rc == 0; i++)
		if (!m->v[i].weight)
			rc = err_set(e, "%s: its share is below one in %"
				     PRIu64 " windows", path[i],
				     MIXTURE_PERIOD);
	free(w);
	return rc;
}

/* ---- the pattern ---- */

static int64_t
floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

/* The source of sample k - 1 of a period; count: samples that each has. */
static size_t
next_source(const struct mixture *m, int64_t k, const int64_t *count)
{
	int64_t f = 2 * (int64_t)m->n - 2, D = (int64_t)m->period, first = 0;
	size_t best = m->n, s;

	for (s = 0; s < m->n; s++) {
		int64_t w = (int64_t)m->v[s].weight;
		int64_t behind = f * (w * k - count[s] * D), due;

		if (behind < D)
			continue;
		due = floor_div((f - 1) * D - behind, f * w);
		if (best == m->n || due < first) {
			best = s;
			first = due;
		}
	}
	return best;
}

static void
make_pattern(struct mixture *m)
{
	int64_t *count = xcalloc(m->n, sizeof *count);
	uint64_t k;
	size_t s;

	for (m->period = 0, s = 0; s < m->n; s++)
		m->period += m->v[s].weight;
	m->pattern = xcalloc(m->period, 1);
	m->at = xcalloc(m->period, sizeof *m->at);
	m->first = xcalloc(m->n, sizeof *m->first);
	for (s = 1; s < m->n; s++)
		m->first[s] = m->first[s - 1] + (uint32_t)m->v[s - 1].weight;
	for (k = 0; k < m->period; k++) {
		s = m->n == 1 ? 0 : next_source(m, (int64_t)k + 1, count);
		m->pattern[k] = (uint8_t)s;
		m->at[m->first[s] + (uint64_t)count[s]++] = (uint32_t)k;
	}
	free(count);
}

static struct mixture *
alloc(size_t n)
{
	struct mixture *m = xcalloc(1, sizeof *m);

	m->v = xcalloc(n, sizeof *m->v);
	m->n = n;
	return m;
}

struct mixture *
mixture_new(const struct span *weight, const char *const *path, size_t n,
	    struct err *e)
{
	struct mixture *m;

	if (n > MIXTURE_MAX) {
		err_set(e, "%zu sources, but at most %d can be mixed", n,
			MIXTURE_MAX);
		return NULL;
	}
	m = alloc(n);
	if (set_weights(m, weight, path, e) < 0) {
		mixture_free(m);
		return NULL;
	}
	make_pattern(m);
	return m;
}

struct mixture *
mixture_copy(const struct mixture *m)
{
	struct mixture *to;

	if (!m)
		return NULL;
	to = alloc(m->n);
	memcpy(to->v, m->v, m->n * sizeof *m->v);
	to->from = m->from;
	to->period = m->period;
	to->pattern = xmalloc(m->period);
	memcpy(to->pattern, m->pattern, m->period);
	to->at = xreallocarray(NULL, m->period, sizeof *to->at);
	memcpy(to->at, m->at, m->period * sizeof *to->at);
	to->first = xreallocarray(NULL, m->n, sizeof *to->first);
	memcpy(to->first, m->first, m->n * sizeof *to->first);
	return to;
}

void
mixture_free(struct mixture *m)
{
	if (!m)
		return;
	free(m->v);
	free(m->pattern);
	free(m->at);
	free(m->first);
	free(m);
}

/* ---- sources and windows ---- */

double
mixture_share(const struct mixture *m, size_t s)
{
	return (double)m->v[s].weight / (double)m->period;
}

uint64_t
mixture_windows(const struct mixture *m)
{
	uint64_t sum = 0;
	size_t s;

	for (s = 0; s < m->n; s++)
		sum += m->v[s].windows;
	return sum;
}

uint64_t
mixture_hash(const struct mixture *m)
{
	struct buf b = {0};
	uint64_t hash;
	size_t s;

	for (s = 0; s < m->n; s++)
		buf_printf(&b, "%" PRIu64 " %016" PRIx64 "\n", m->v[s].weight,
			   m->v[s].hash);
	hash = XXH3_64bits(b.p, b.n);
	buf_clear(&b);
	return hash;
}

uint64_t
mixture_taken(const struct mixture *m, size_t s, uint64_t sample)
{
	uint64_t i = sample - m->from, in = i % m->period;
	uint32_t from = m->first[s], k;

	FIND_FIRST(k, from, from + (uint32_t)m->v[s].weight, m->at[k] >= in);
	return m->v[s].start + i / m->period * m->v[s].weight + (k - from);
}

uint64_t
mixture_window(const struct mixture *m, enum order_kind kind, uint64_t seed,
	       uint64_t sample, size_t *source)
{
	size_t s = m->pattern[(sample - m->from) % m->period];
	const struct mix_source *v = &m->v[s];

	*source = s;
	return order_window(kind, seed ^ v->hash, v->windows,
			    mixture_taken(m, s, sample));
}

/* ---- JSON ---- */

void
mixture_json(const struct mixture *m, struct buf *out)
{
	size_t s;

	buf_printf(out, "{\"from\": %" PRIu64 ", \"sources\": [", m->from);
	for (s = 0; s < m->n; s++)
		buf_printf(out, "%s{\"weight\": %" PRIu64 ", \"windows\": %"
			   PRIu64 ", \"data_hash\": \"%016" PRIx64
			   "\", \"start\": %" PRIu64 "}", s ? ", " : "",
			   m->v[s].weight, m->v[s].windows, m->v[s].hash,
			   m->v[s].start);
	buf_puts(out, "]}");
}

static int
read_source(struct mix_source *v, const struct json *j, struct err *e)
{
	int64_t weight = 0, windows = 0, start = -1;
	struct span s = {NULL, 0};
	char hex[17] = "", *end = hex;

	if (json_get_int(j, "weight", &weight, e) < 0 ||
	    json_get_int(j, "windows", &windows, e) < 0 ||
	    json_get_int(j, "start", &start, e) < 0 ||
	    json_get_str(j, "data_hash", &s, e) < 0)
		return -1;
	if (s.n == 16)
		memcpy(hex, s.p, 16);
	*v = (struct mix_source){(uint64_t)weight, (uint64_t)windows,
		strtoull(hex, &end, 16), (uint64_t)start};
	return weight > 0 && windows > 0 && start >= 0 && end == hex + 16 ?
		0 : -1;
}

struct mixture *
mixture_read(const struct json *object, const char *where, struct err *e)
{
	const struct json *list = json_get(object, "sources");
	struct err why = {0};
	int64_t from = -1;
	uint64_t sum = 0;
	struct mixture *m;
	size_t s, n = list && list->type == JSON_ARRAY ? list->n : 0;
	int rc = json_get_int(object, "from", &from, &why);

	if (rc < 0 || from < 0 || !n || n > MIXTURE_MAX) {
		err_set(e, "%s: \"mixture\" lacks \"from\" or \"sources\", or"
			" they are out of range", where);
		return NULL;
	}
	m = alloc(n);
	m->from = (uint64_t)from;
	for (s = 0; s < n && rc == 0; s++) {
		rc = read_source(&m->v[s], &list->kids[s], &why);
		if (rc == 0 && (sum += m->v[s].weight) > MIXTURE_PERIOD)
			rc = -1;
	}
	if (rc < 0) {
		err_set(e, "%s: \"mixture\": source %zu lacks a key, or it is"
			" out of range", where, s);
		mixture_free(m);
		return NULL;
	}
	make_pattern(m);
	return m;
}
