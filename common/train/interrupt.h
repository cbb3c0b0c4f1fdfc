/*
 * interrupt.h - signals of a training run
 *
 * INT, TERM and HUP ask the run to finish its step, save and exit.  A second
 * one ends the process at once; unfinished outputs and checkpoints are removed
 * first.  USR1 asks for a checkpoint now.
 */
#ifndef ASSAY_INTERRUPT_H
#define ASSAY_INTERRUPT_H

/* Call first in main(): ignores USR1 until interrupt_install(). */
void interrupt_early(void);
void interrupt_install(void);

/* The signal that asked the run to end, or 0. */
int interrupt_pending(void);

/* Was USR1 received since the last call? */
int interrupt_save_wanted(void);

#endif
