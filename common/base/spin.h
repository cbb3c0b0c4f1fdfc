/*
 * spin.h - limit how long idle OpenMP threads spin
 *
 * With gcc's OpenMP runtime, idle threads spin for so long that on a busy
 * machine most processor time is spent waiting (measured: 3.5 times the CPU
 * seconds of a training run next to other work).  The limit can only be set in
 * the environment, which is read before main().
 */
#ifndef ASSAY_SPIN_H
#define ASSAY_SPIN_H

/*
 * To be called first in main() of a program that uses OpenMP.  If neither
 * GOMP_SPINCOUNT nor OMP_WAIT_POLICY is set, sets a limit of some tens of
 * microseconds and executes the program again.  Returns otherwise, and if that
 * fails.
 */
void spin_bound(char **argv);

#endif
