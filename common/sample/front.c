/*
 * front.c - see front.h
 */
#include "sample/front.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/path.h"
#include "stream/json.h"

static void
add(const struct json *id, const struct model_config *c, struct ids *out)
{
	if (id->type == JSON_NUMBER && id->is_int && id->i >= 0 &&
	    id->i < c->vocab)
		ids_add(out, (uint32_t)id->i);
}

/* From train_state.json; older checkpoints have it in config.json. */
static int
from_run(const char *path, const struct model_config *c, struct ids *out,
	 struct err *e)
{
	struct json *j = json_load(path, e);
	const struct json *bos = json_get(j, "bos_token_id");
	const struct json *all = json_get(j, "front_token_ids");
	size_t i;

	if (!j)
		return -1;
	for (i = 0; all && i < all->n; i++)
		add(&all->kids[i], c, out);
	if (!all && bos)
		add(bos, c, out);
	else if (!all && c->bos >= 0)
		ids_add(out, (uint32_t)c->bos);
	json_free(j);
	return 0;
}

int
front_load(const char *dir, const struct model_config *c,
	   const struct vocab *v, struct ids *out, enum front_source *source,
	   struct err *e)
{
	char *path = path_join(dir, "train_state.json");
	int rc = 0;

	if (access(path, F_OK) == 0) {
		*source = FRONT_RUN;
		rc = from_run(path, c, out, e);
	} else {
		*source = FRONT_TOKENIZER;
		for (size_t i = 0; v && vocab_adds_bos(v) && i < v->front.n;
		     i++)
			ids_add(out, v->front.id[i]);
	}
	free(path);
	return rc;
}
