/*
 * parallel.h - one function on several threads
 *
 * For ordered input and output use pipeline.h.
 */
#ifndef ASSAY_PARALLEL_H
#define ASSAY_PARALLEL_H

/*
 * Call fn(ctx, i) once for each i in 0..threads-1 and return when all calls
 * have returned.  Call 0 runs on the caller's thread, the others on threads of
 * their own.  If a thread cannot be started, its call runs on the caller's
 * thread after call 0, so calls must not wait for each other.  Calls that
 * share work take the next piece from an atomic counter in ctx; calls that
 * split it take every threads-th piece from i on.
 */
void parallel_run(int threads, void (*fn)(void *ctx, int thread), void *ctx);

#endif
