/*
 * progress.h - one line on a terminal, with rate and time left
 *
 * Shown only while stderr is a terminal and the process is in its foreground:
 * first after one second, then twice a second.  The line is erased before any
 * message and at the end; what does not fit on the terminal's line is left
 * out.  SIGUSR1 prints it on any stderr, unless
 * progress_usr1(0) left the signal to the program.  One at a time; any thread
 * may call progress_add().
 */
#ifndef ASSAY_PROGRESS_H
#define ASSAY_PROGRESS_H

#include <stdint.h>

#include "base/buf.h"

/* what: "packing"; unit: "B" prints kB, MB...; total 0: unknown. */
void progress_start(const char *what, const char *unit, uint64_t total);
void progress_set(uint64_t done);
void progress_add(uint64_t n);
/* Show this in place of amount, rate and time left, until progress_stop(). */
void progress_text(struct span s);
void progress_stop(void);
void progress_usr1(int on);
void progress_erase(void);	/* before something else prints to stderr */

#endif
