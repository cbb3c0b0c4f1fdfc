/*
 * target.h - what a fuzz target defines
 *
 * tests/fuzz/targets/NAME.c has one function, which reads data[0..size) with
 * the reader NAME and calls abort() where a property does not hold; its
 * return value is 0.  `make fuzz` links it with clang's fuzzer, `make check`
 * with replay.c, which runs it over tests/fuzz/corpus/NAME.
 */
#ifndef ASSAY_FUZZ_TARGET_H
#define ASSAY_FUZZ_TARGET_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
