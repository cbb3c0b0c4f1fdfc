#!/usr/bin/env bats
# arm64: no file assumes x86-64.  Needs a cross compiler and, to run what it
# makes, qemu-user (Debian: gcc-aarch64-linux-gnu libc6-dev-arm64-cross
# qemu-user).  The tests chosen need no library of another project.

setup() {
	case ${TEST_BUILD:-} in
	*/san-*) skip "the same sources as in the plain build" ;;
	esac
	cd "$BATS_TEST_DIRNAME/../.." || return
	command -v aarch64-linux-gnu-gcc > /dev/null ||
		skip "aarch64-linux-gnu-gcc is not installed"
	unset MAKEFLAGS MFLAGS SANITIZE
}

@test "every C file compiles for arm64 without a warning" {
	run make -s -j2 DEPS=no arm64
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output != *warning:* ]]
}

@test "unit tests pass on arm64" {
	command -v qemu-aarch64 > /dev/null || skip "qemu-user is not installed"
	make -s -j2 DEPS=no arm64
	for t in base rng order display matrix indicators ngram cut repeats \
		gopher mojibake sampler; do
		aarch64-linux-gnu-gcc -static -pthread -D_GNU_SOURCE -std=gnu11 -O1 \
			-ffp-contract=off -Itests/arm64 -Icommon -I. \
			-idirafter /usr/include -o "$BATS_TEST_TMPDIR/$t" \
			"tests/unit/$t.c" build/arm64/libarm64.a -lm \
			-Wl,--unresolved-symbols=ignore-all
		qemu-aarch64 "$BATS_TEST_TMPDIR/$t" || { echo "$t"; return 1; }
	done
}
