/*
 * rare_report.h - what is known of each token, for people and programs
 *
 * All of it depends on struct rare alone.
 */
#ifndef ASSAY_RARE_REPORT_H
#define ASSAY_RARE_REPORT_H

#include "rare/rare.h"

struct rare_summary {
	uint64_t category[RARE_CAT_N];
	uint64_t special, reserved, no_token, no_utf8;
	uint64_t known_unused;
	uint64_t zero;		/* category OK, never in the shards */
	uint64_t rare, steps;
	uint64_t suspicious;
	uint64_t both;		/* rare and suspicious */
	uint64_t verified;	/* suspicious, max_prob < 0.01 */
	uint64_t wasted;	/* ids that no text gives, or none of these */
	double wasted_params;	/* their share of the model's parameters */
};

/* One JSON line for an id; one line of TSV, and its header. */
void rare_report_json(const struct rare *r, uint32_t id, struct buf *out);
void rare_report_tsv(const struct rare *r, uint32_t id, struct buf *out);
void rare_report_tsv_header(const struct rare *r, struct buf *out);

/*
 * For people: the lowest and the highest tokens, `rows` of each, by the
 * indicator or, without a model, by count.
 */
void rare_report_table(const struct rare *r, size_t rows, struct buf *out);

void rare_summary_init(struct rare_summary *s, const struct rare *r);

/* For people, and as one JSON object. */
void rare_summary_text(const struct rare_summary *s, const struct rare *r,
		       struct buf *out);
void rare_summary_json(const struct rare_summary *s, const struct rare *r,
		       struct buf *out);

#endif
