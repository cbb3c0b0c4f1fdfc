/*
 * front.c - see front.h
 */
#include "sample/front.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/path.h"
#include "stream/json.h"

/* What the checkpoint says; older ones say it in config.json. */
static int
from_run(const char *path, const struct model_config *c, struct ids *out,
	 struct err *e)
{
	struct json *j = json_load(path, e);
	const struct json *bos = json_get(j, "bos_token_id");
	int64_t id = c->bos;

	if (!j)
		return -1;
	if (bos)
		id = bos->type == JSON_NUMBER && bos->is_int ? bos->i : -1;
	if (id >= 0 && id < c->vocab)
		ids_add(out, (uint32_t)id);
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
