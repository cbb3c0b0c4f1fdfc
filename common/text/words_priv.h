/* words_priv.h - the table of words.c; made by gen-lower.py */
#ifndef ASSAY_WORDS_PRIV_H
#define ASSAY_WORDS_PRIV_H

#include <stddef.h>
#include <stdint.h>

/* {code point, its simple lower case}, sorted; without ASCII. */
extern const size_t words_nlower;
extern const uint32_t words_lower_tab[][2];

#endif
