/*
 * interrupt.h - signals of a training run
 *
 * INT, TERM and HUP ask the run to finish its step, save and end; the second
 * one ends the process at once (what an open checkpoint and open outputs have
 * put on disk is removed first).  USR1 asks for a checkpoint now.
 */
#ifndef ASSAY_INTERRUPT_H
#define ASSAY_INTERRUPT_H

/* At the start of main(): until interrupt_install() USR1 does nothing. */
void interrupt_early(void);
void interrupt_install(void);

/* The signal that asked to end, or 0. */
int interrupt_pending(void);

/* 1 once for each USR1 (several between two calls count once). */
int interrupt_save_wanted(void);

#endif
