/*
 * spin.h - threads that wait let others work
 *
 * The OpenMP runtime of gcc lets a waiting thread spin for so long that on a
 * busy machine most processor time is spent waiting (measured: 3.5 times the
 * processor seconds of a training run beside other work).  The bound can
 * only be given in the environment and is read before main().
 */
#ifndef ASSAY_SPIN_H
#define ASSAY_SPIN_H

/*
 * First thing in main() of a program whose threads are OpenMP's: where
 * neither GOMP_SPINCOUNT nor OMP_WAIT_POLICY is set, set a bound of some
 * tens of microseconds and start the program again.  Returns otherwise, and
 * where that cannot be done.
 */
void spin_bound(char **argv);

#endif
