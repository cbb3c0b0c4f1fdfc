/*
 * keep.c - which copy of a cluster is kept, by a field
 *
 * A field counts if it is a number, or a string that holds a number or an ISO
 * 8601 date, which is the seconds since 1970 in UTC: 2024, 2024-05,
 * 2024-05-17, and with a time 2024-05-17T10:30, T10:30:59, T10:30:59.25, a
 * space for the T, then nothing, Z, +02:00 or +0200.  A string of digits alone
 * is a number: 2024 and 20240517 are compared as such.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dedup/dedup_priv.h"
#include "stream/json.h"

enum { LONGEST = 63 };		/* bytes of a value that counts */

/* n digits at *s, which moves; -1: there are not as many. */
static int
digits(const char **s, int n)
{
	int v = 0;

	for (; n; n--, ++*s) {
		if (**s < '0' || **s > '9')
			return -1;
		v = 10 * v + (**s - '0');
	}
	return v;
}

/* Days from 1970-01-01 in the Gregorian calendar; years are of March. */
static double
days(int y, int m, int d)
{
	int years = m > 2 ? y : y - 1, month = (m + 9) % 12;

	return 365.0 * years + floor(years / 4.0) - floor(years / 100.0) +
		floor(years / 400.0) + (153 * month + 2) / 5 + d - 719469;
}

static int
month_days(int y, int m)
{
	static const char n[12] = {
		31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31
	};

	return n[m - 1] + (m == 2 && y % 4 == 0 &&
			   (y % 100 != 0 || y % 400 == 0));
}

/* HH:MM[:SS[.frac]] and a zone, to the end; 0 or -1. */
static int
time_of_day(const char *s, double *seconds)
{
	int h = digits(&s, 2), min = *s++ == ':' ? digits(&s, 2) : -1, sec = 0;
	double frac = 0, scale = 1;
	int sign;

	if (min >= 0 && *s == ':') {
		s++;
		sec = digits(&s, 2);
		if (sec >= 0 && *s == '.' && s[1] >= '0' && s[1] <= '9')
			for (s++; *s >= '0' && *s <= '9'; s++)
				frac += (*s - '0') * (scale /= 10);
	}
	if (h < 0 || h > 24 || min < 0 || min > 59 || sec < 0 || sec > 60)
		return -1;
	*seconds = h * 3600 + min * 60 + sec + frac;
	if (*s == 'Z' || *s == 'z')
		return s[1] ? -1 : 0;
	if (*s != '+' && *s != '-')
		return *s ? -1 : 0;
	sign = *s++ == '-' ? 1 : -1;
	h = digits(&s, 2);
	if (*s == ':')
		s++;
	min = *s ? digits(&s, 2) : 0;
	if (h < 0 || h > 23 || min < 0 || min > 59 || *s)
		return -1;
	*seconds += sign * (h * 3600 + min * 60);
	return 0;
}

/* Seconds since 1970; NAN: not a date. */
static double
date(const char *s)
{
	int y = digits(&s, 4), m = 1, d = 1;
	double seconds = 0;

	if (y < 0 || *s != '-')
		return NAN;
	s++;
	m = digits(&s, 2);
	if (m < 1 || m > 12)
		return NAN;
	if (*s == '-') {
		s++;
		d = digits(&s, 2);
		if (d < 1 || d > month_days(y, m))
			return NAN;
		if ((*s == 'T' || *s == 't' || *s == ' ') &&
		    time_of_day(s + 1, &seconds))
			return NAN;
		if (*s == 'T' || *s == 't' || *s == ' ')
			s = "";
	}
	return *s ? NAN : 86400 * days(y, m, d) + seconds;
}

/* NAN: neither a number nor a date. */
static double
value(struct span v)
{
	char s[LONGEST + 1], *end;
	double x;

	if (!v.n || v.n > LONGEST || memchr(v.p, '\0', v.n))
		return NAN;
	memcpy(s, v.p, v.n);
	s[v.n] = '\0';
	if (s[0] != '-' && (s[0] < '0' || s[0] > '9'))
		return NAN;
	if (strchr(s, 'x') || strchr(s, 'X'))
		return NAN;
	x = strtod(s, &end);
	return end > s && !*end ? x : date(s);
}

double
dedup_keep_value(struct json_reader *r, struct span line, const char *key)
{
	struct json_pick pick = {.present = 0};
	uint64_t surrogates;
	struct err e = {0};

	if (json_read(r, line.p, line.n, &key, 1, &pick, &surrogates, &e) ||
	    !pick.present)
		return NAN;
	if (pick.type == JSON_STRING)
		return value(pick.str);
	return pick.type == JSON_NUMBER ? value(pick.raw) : NAN;
}

/* Does member i, a later one, come before the best so far? */
static int
is_better(const struct pairs *p, uint32_t i, uint32_t best)
{
	const struct member *x = &p->m[i], *y = &p->m[best];

	if (y->doc < p->corpus->nref)
		return 0;
	switch (p->o->keep) {
	case DEDUP_KEEP_LONGEST:
		return p->corpus->len[x->doc] > p->corpus->len[y->doc];
	case DEDUP_KEEP_LAST:
		return 1;
	case DEDUP_KEEP_KEY:
		return x->value > y->value ||
			(isnan(y->value) && !isnan(x->value));
	default:
		return 0;
	}
}

static void
choose(const struct pairs *p, uint32_t *kept, uint32_t first, uint32_t i)
{
	if (kept[first] == NOT || is_better(p, i, kept[first]))
		kept[first] = i;
}

void
dedup_keep_choose(const struct pairs *p, struct clusters *c)
{
	uint32_t i;

	if (p->o->keep == DEDUP_KEEP_FIRST)
		return;
	c->kept = dedup_no_members(p->n);
	c->kept_text = dedup_no_members(p->n);
	for (i = 0; i < p->n; i++) {
		choose(p, c->kept, p->near.parent[i], i);
		choose(p, c->kept_text, p->m[i].exact, i);
	}
}
