/*
 * names.c - how the report names documents
 *
 * A name is stored with its length before it.
 */
#include "dedup/dedup_priv.h"
#include "stream/json.h"

int
dedup_names_put(struct names *names, const struct doc *doc, const char *id_key,
		const char *at_key, uint64_t *at, struct err *e)
{
	struct buf *b = &names->line, place = {0};
	uint32_t n;

	buf_printf(&place, "%s:%llu", doc->file,
		   (unsigned long long)doc->lineno);
	buf_reset(b);
	buf_printf(b, "\"%s\":", id_key);
	json_put_str(b, doc->id.p ? doc->id : buf_span(&place));
	if (doc->id.p) {
		buf_printf(b, ",\"%s\":", at_key);
		json_put_str(b, buf_span(&place));
	}
	buf_clear(&place);
	*at = spool_size(names->spool);
	n = (uint32_t)b->n;
	if (spool_append(names->spool, &n, sizeof(n), e))
		return -1;
	return spool_append(names->spool, b->p, b->n, e);
}

int
dedup_names_get(const struct names *names, uint64_t at, struct buf *b,
		struct err *e)
{
	uint32_t n;

	if (spool_read(names->spool, at, &n, sizeof(n), e) ||
	    spool_read(names->spool, at + sizeof(n), buf_reserve(b, n), n, e))
		return -1;
	b->n += n;
	return 0;
}
