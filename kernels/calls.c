/*
 * calls.c - short forms of calls, and parts of calls, of any table
 */
#include "kernels/kernels.h"
#include "kernels/recent.h"

#include <string.h>

void
kernels_upload(struct kernels *k, void *dst, const void *src, size_t n)
{
	k->upload(k, &(struct k_upload){ .dst = dst, .src = src, .n = n });
}

void
kernels_fetch(struct kernels *k, void *dst, const void *src, size_t n)
{
	k->fetch(k, &(struct k_fetch){ .dst = dst, .src = src, .n = n });
}

int
kernels_download(struct kernels *k, void *dst, const void *src, size_t n,
		 struct err *e)
{
	kernels_fetch(k, dst, src, n);
	return k->sync(k, e);
}

void
kernels_copy(struct kernels *k, void *dst, const void *src, size_t n)
{
	k->copy(k, &(struct k_copy){ .dst = dst, .src = src, .n = n });
}

void
kernels_zero(struct kernels *k, void *dst, size_t n)
{
	k->zero(k, &(struct k_zero){ .dst = dst, .n = n });
}

void
kernels_release(struct kernels *k, void *p)
{
	if (p)
		k->release(k, &(struct k_release){ .p = p });
}

void
kernels_weight_update(struct kernels *k, struct kweight *w)
{
	k->weight_update(k, &(struct k_weight_update){ .w = w });
}

void
kernels_weight_free(struct kernels *k, struct kweight *w)
{
	if (w)
		k->weight_free(k, &(struct k_weight_free){ .w = w });
}

void *
kernels_no_memory(struct kernels *k, size_t bytes, struct err *e)
{
	size_t unused, total;

	if (k->memory(k, &unused, &total) < 0)
		err_set(e, "%s: cannot allocate %zu bytes of device memory",
			k->name, bytes);
	else
		err_set(e, "%s: cannot allocate %zu bytes of device memory (%zu"
			" of %zu bytes are free)", k->name, bytes, unused,
			total);
	return NULL;
}

int
k_recent_error(const struct k_recent *r, const char *table, const char *what,
	       struct err *e)
{
	size_t i = r->n > K_RECENT ? r->n - K_RECENT : 0, at = 0;
	char list[K_RECENT * 32] = "none";

	for (; i < r->n; i++) {
		const char *name = r->name[i % K_RECENT];
		size_t n = strlen(name);

		if (at + n + 3 > sizeof list)
			break;
		memcpy(list + at, ", ", 2);
		memcpy(list + at + 2, name, n + 1);
		at += n + 2;
	}
	return err_set(e, "%s: %s; the last calls were %s", table, what,
		       list + (at ? 2 : 0));
}
