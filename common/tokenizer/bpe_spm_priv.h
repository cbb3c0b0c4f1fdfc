/*
 * bpe_spm_priv.h - what SentencePiece-style BPE does before the merges
 */
#ifndef ASSAY_BPE_SPM_PRIV_H
#define ASSAY_BPE_SPM_PRIV_H

#include "record/vocab.h"

struct bpe_spm;

/* byte_id: the id of each byte's token; it and v are borrowed. */
struct bpe_spm *bpe_spm_new(const struct vocab *v, const uint32_t *byte_id,
			    struct err *e);
void bpe_spm_free(struct bpe_spm *s);	/* NULL is fine */

/*
 * A section of a text as the tokens spell it: a space for each U+2581, and
 * one in front where `how` asks for it.  first: the section begins the
 * document.  The result is text itself or in tmp.
 */
struct span bpe_spm_text(enum vocab_prepend how, struct span text, int first,
			 struct buf *tmp);

/* Does bpe_spm_text() put a space in front of text? */
int bpe_spm_puts(enum vocab_prepend how, struct span text, int first);

/* As split_next(): cut p[*pos..n) where no merge crosses. */
size_t bpe_spm_next(const struct bpe_spm *s, const char *p, size_t n,
		    size_t *pos, uint32_t *ends, size_t max);

/* The ids of the characters of p[0..n): at most n; returns their number. */
size_t bpe_spm_symbols(const struct bpe_spm *s, const char *p, size_t n,
		       uint32_t *id);

/*
 * The bytes of the characters of the next unknown token among the symbols of
 * p[0..n), 0: none.  *pos, 0 at first, is where to continue.
 */
size_t bpe_spm_unknown(const struct bpe_spm *s, const char *p, size_t n,
		       size_t *pos);

#endif
