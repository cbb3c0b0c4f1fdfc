/*
 * spans_sa.c - the spans of dedup --spans, from a suffix array
 *
 * usage: spans_sa FILE WIDTH LEAST
 *
 * FILE is a row of elements of WIDTH bytes: 1, texts in UTF-8, or 3, numbers
 * of tokens; documents end with one that is all 0xff.  Suffixes that share
 * LEAST elements stand side by side in the array, so the first place of each
 * window is the least of its group; spans follow from these places by their
 * definition in dedup(1).  A line of the output is a span: document, start,
 * end, first document and start there, in elements.  The last line is "#",
 * the CPU seconds of divsufsort() alone, and the bytes that it needs.
 *
 * Nothing of our programs is in here.
 */
#include <divsufsort.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LONGEST = 4, NONE = -1 };

static unsigned char *text;
static int32_t n, width, least;

static void *
get(size_t count, size_t size)
{
	void *p = calloc(count + 1, size);

	if (!p) {
		perror("spans_sa");
		exit(2);
	}
	return p;
}

static void
load(const char *path)
{
	FILE *f = fopen(path, "rb");

	if (!f || fseek(f, 0, SEEK_END)) {
		perror(path);
		exit(2);
	}
	n = (int32_t)ftell(f);
	rewind(f);
	text = get((size_t)n, 1);
	if (fread(text, 1, (size_t)n, f) != (size_t)n) {
		perror(path);
		exit(2);
	}
	fclose(f);
}

/* Shared bytes of each suffix and the one before it in the array. */
static int32_t *
common(const int32_t *sa)
{
	int32_t *lcp = get((size_t)n, sizeof(*lcp)), i, len = 0, before = NONE;

	for (i = 0; i < n; i++, before = sa[i - 1])
		lcp[sa[i]] = before;
	for (i = 0; i < n; i++) {
		before = lcp[i];
		if (before == NONE)
			len = 0;
		else
			while (i + len < n && before + len < n &&
			       text[i + len] == text[before + len])
				len++;
		lcp[i] = len;
		len -= len > 0;
	}
	return lcp;
}

/* The first place of the window of `len` bytes at each place. */
static int32_t *
first_places(const int32_t *sa, const int32_t *lcp, int32_t len)
{
	int32_t *first = get((size_t)n, sizeof(*first)), i, k, end, min;

	for (i = 0; i < n; i = end) {
		min = INT32_MAX;
		for (end = i; end < n && (end == i || lcp[sa[end]] >= len);
		     end++)
			if (sa[end] % width == 0 && sa[end] < min)
				min = sa[end];
		for (k = i; k < end; k++)
			first[sa[k]] = min;
	}
	return first;
}

static int
is_end(int32_t at)
{
	int32_t k;

	for (k = 0; k < width; k++)
		if (text[at + k] != 0xff)
			return 0;
	return 1;
}

static int
is_bound(int32_t at)
{
	return width > 1 || (text[at] & 0xc0) != 0x80;
}

struct span {
	int32_t doc, start, end, first;
};

static struct span *span;
static size_t nspan, room;

/* text[x, x + len) stands at q: to both sides while the two agree. */
static struct span
follow(int32_t doc, int32_t begin, int32_t end, int32_t x, int32_t q,
       int32_t len)
{
	int32_t s = x, e = x + len, to = q + len, same = q >= begin, w = width;

	while (e < end && !is_end(to) && (!same || to < s) &&
	       !memcmp(text + e, text + to, (size_t)w)) {
		e += w;
		to += w;
	}
	while (e < end && !is_bound(e)) {
		e--;
		to--;
	}
	while (s > begin && q && !is_end(q - w) && (!same || to < s) &&
	       !memcmp(text + s - w, text + q - w, (size_t)w)) {
		s -= w;
		q -= w;
	}
	for (; !is_bound(s); s++)
		q++;
	return (struct span){doc, s, e, q};
}

static void
spans_of(int32_t doc, int32_t begin, int32_t end, int32_t *const *first)
{
	struct span last = {NONE, 0, 0, 0};
	int32_t x, len, c, q, found;

	for (x = begin; x < end; x += c * width) {
		for (c = 1; x + c * width < end && !is_bound(x + c); c++)
			;
		found = 0;
		for (len = least; len < least + LONGEST && x + len <= end;
		     len += width) {
			if (len > least && width > 1)
				break;
			if (found && len >= least + c)
				break;
			if (!is_bound(x + len))
				continue;
			found = 1;
			q = first[len - least][x];
			if (q + len > x)
				continue;
			if (last.doc == doc && x >= last.start &&
			    x + len <= last.end)
				continue;
			last = follow(doc, begin, end, x, q, len);
			while (nspan && span[nspan - 1].doc == doc &&
			       span[nspan - 1].start >= last.start)
				nspan--;
			if (nspan == room) {
				room = room ? 2 * room : 1024;
				span = realloc(span, room * sizeof(*span));
				if (!span)
					exit(2);
			}
			span[nspan++] = last;
		}
	}
}

int
main(int argc, char **argv)
{
	int32_t *sa, *lcp, *first[LONGEST], *start, i, k, ndocs = 0, begin;
	clock_t from;
	double cpu;

	if (argc != 4)
		return 2;
	load(argv[1]);
	width = atoi(argv[2]);
	least = atoi(argv[3]) * width;
	sa = get((size_t)n, sizeof(*sa));
	from = clock();
	if (divsufsort(text, sa, n))
		return 2;
	cpu = (double)(clock() - from) / CLOCKS_PER_SEC;
	lcp = common(sa);
	for (k = 0; k < (width > 1 ? 1 : LONGEST); k++)
		first[k] = first_places(sa, lcp, least + k);
	free(sa);
	free(lcp);
	start = get((size_t)n / (size_t)width + 1, sizeof(*start));
	for (i = begin = 0; i < n; i += width) {
		if (!is_end(i))
			continue;
		start[ndocs] = begin;
		spans_of(ndocs++, begin, i, first);
		begin = i + width;
	}
	for (i = 0; i < (int32_t)nspan; i++) {
		int32_t lo = 0, hi = ndocs, mid;

		while (hi - lo > 1) {
			mid = lo + (hi - lo) / 2;
			if (start[mid] <= span[i].first)
				lo = mid;
			else
				hi = mid;
		}
		printf("%d %d %d %d %d\n", span[i].doc,
		       (span[i].start - start[span[i].doc]) / width,
		       (span[i].end - start[span[i].doc]) / width, lo,
		       (span[i].first - start[lo]) / width);
	}
	printf("# %.2f %.0f\n", cpu, 5.0 * n);
	return fclose(stdout) ? 2 : 0;
}
