/*
 * config_priv.h - what config.c and config_rope.c share
 */
#ifndef ASSAY_CONFIG_PRIV_H
#define ASSAY_CONFIG_PRIV_H

#include "model/config.h"
#include "stream/json.h"

struct config_reader {
	const struct json *j;
	const char *path;
	struct err *e;
};

/* Keys may be paths, as those of json_get().  In these files null is absent. */
const struct json *config_value(const struct config_reader *r,
				const char *key);

/* -1, and a message; what: "is ..." or "has ...". */
int config_refuse(struct config_reader *r, const char *key, const char *what);

int config_int(struct config_reader *r, const char *key, int64_t *to,
	       int needed);
int config_real(struct config_reader *r, const char *key, double *to);

/* rope_theta, rope_scaling and rope_parameters; reads c->max_pos. */
int config_rope(struct config_reader *r, struct model_config *c);

/* Append the members rope_theta, rope_scaling and rope_parameters. */
void config_rope_json(const struct model_config *c, struct buf *b);

#endif
