/*
 * dataset.h - tokenizer and shards of a run, checked against each other
 */
#ifndef ASSAY_DATASET_H
#define ASSAY_DATASET_H

#include "order/mixture.h"
#include "record/shard.h"
#include "record/vocab.h"
#include "train/options.h"
#include "train/state.h"

struct dataset {
	struct vocab *vocab;	/* NULL: no tokenizer */
	struct token_files files;	/* copied into every checkpoint */
	struct shards **train;	/* [ntrain] one, or the sources of mix */
	size_t ntrain;
	struct mixture *mix;	/* NULL: --data has no weights */
	double weights;		/* their sum, as given */
	char **paths;		/* of --data, without the weights */
	struct shards *val;	/* NULL: none */
	struct data_id id;
};

/*
 * Open the tokenizer (a path, or NULL: none) and the shards that o names.
 * Sets o->seq_len where it is 0.  folder: the model that --init-from or a
 * checkpoint gives, or NULL; ids of the shards must be below its vocabulary.
 * -1: error; dataset_close() is still due.
 */
int dataset_open(struct dataset *d, struct options *o, const char *tokenizer,
		 const char *folder, struct err *e);
void dataset_close(struct dataset *d);		/* all zero is fine */

/* Number of ids that a model needs for the tokenizer and the shards. */
int64_t dataset_vocab(const struct dataset *d);

/*
 * Set BOS and EOS of the model to what pack put into the training data, even if
 * the tokenizer or the model that c came from names other tokens or none, so
 * that prompts get a BOS exactly when the training data has one.
 */
int dataset_special_ids(struct dataset *d, struct model_config *c,
			struct err *e);

/*
 * Set d->files.  tokenizer.json: as it was read, or with another post_processor
 * if that puts other tokens around a text than the training data has.
 * tokenizer_config.json: that next to the tokenizer, else a new one, with the
 * BOS and EOS of c, and add_bos_token.
 */
int dataset_token_files(struct dataset *d, const char *tokenizer,
			const struct model_config *c, int64_t seq_len,
			struct err *e);

/*
 * For a resume: are these the shards and the tokenizer of the checkpoint?  With
 * o->allow_changed_data, differences are appended to `changed` as lines
 * "key old new".  seq_len: the checkpoint's.
 */
int dataset_check(const struct dataset *d, const struct options *o,
		  const struct data_id *was, int64_t seq_len,
		  struct buf *changed, struct err *e);

#endif
