/*
 * rare_report.h - what is known of each token, for people and programs
 *
 * The lines stand in the order of the ids and depend on nothing but the
 * struct rare.
 */
#ifndef ASSAY_RARE_REPORT_H
#define ASSAY_RARE_REPORT_H

#include "rare/rare.h"

/* Numbers of the summary. */
struct rare_sum {
	uint64_t category[RARE_CAT_N];
	uint64_t special, reserved, no_token, no_utf8;
	uint64_t known_unused;
	uint64_t zero;		/* category OK, never in the shards */
	uint64_t rare, steps;
	uint64_t suspicious;
	uint64_t both;		/* rare and suspicious */
	uint64_t verified;	/* suspicious, max_prob < 0.01 */
	uint64_t wasted;	/* ids that no text gives, or never did */
	double wasted_params;	/* share of the model's, without one 0 */
};

void rare_sum(const struct rare *r, struct rare_sum *s);

/* One line of JSON for an id; of TSV, and its head. */
void rare_json(const struct rare *r, uint32_t id, struct buf *out);
void rare_tsv(const struct rare *r, uint32_t id, struct buf *out);
void rare_tsv_head(const struct rare *r, struct buf *out);

/*
 * For people: the lowest and the highest, `rows` of each, by the indicator
 * or, without a model, by count.
 */
void rare_table(const struct rare *r, size_t rows, struct buf *out);
void rare_summary(const struct rare *r, const struct rare_sum *s,
		  struct buf *out);

/* The summary as one JSON object. */
void rare_stats(const struct rare *r, const struct rare_sum *s,
		struct buf *out);

#endif
