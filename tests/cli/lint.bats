#!/usr/bin/env bats
# lint: what tools find in the sources, each test skipped where its tool is
# not installed (make lint).  Each tool must also find a planted fault.

bats_require_minimum_version 1.5.0

setup() {
	case ${TEST_BUILD:-} in
	*/san-*) skip "the same sources as in the plain build" ;;
	esac
	cd "$BATS_TEST_DIRNAME/../.." || return
	T=$BATS_TEST_TMPDIR
}

needs() {
	command -v "$1" > /dev/null || skip "$1 is not installed"
}

# Every script of sh, bash or bats.
scripts() {
	find examples tests -type f -not -path 'tests/data/*' \
		-not -path 'tests/fuzz/corpus/*' -not -name '*.jsonl*' \
		-exec awk '
		FNR == 1 && /^#!.*(sh|bats)$/ { print FILENAME }
		{ nextfile }' {} + | sort
}

# Not: variables that `run` sets; globs on the right of ==; cd in a function
# that `set -e` ends; a regex "$x[" ; files named as commands.
check_shell() {
	shellcheck -S warning -f gcc \
		-e SC1087,SC2010,SC2046,SC2053,SC2076,SC2125,SC2154,SC2164,SC2238 \
		"$@"
}

@test "shellcheck finds nothing in the shell scripts" {
	needs shellcheck
	printf '#!/bin/sh\nrm -rf "$1"/* $UNSET_x; x=$(ls); [ $x = 1 -a 2 ]\n' \
		> "$T/bad"
	printf 'f() { return "no"; }\n' >> "$T/bad"
	run ! check_shell "$T/bad"
	mapfile -t files < <(scripts)
	[ "${#files[@]}" -gt 20 ]
	check_shell "${files[@]}"
}

@test "mandoc finds nothing in the manual pages" {
	needs mandoc
	printf '.Dd November 30, 2026\n.Dt X 1\n.Os assay\n.Sh NAME\n.Fl\n' \
		> "$T/bad.1"
	run ! mandoc -Tlint -Wwarning "$T/bad.1"
	# Other pages may be missing or not indexed, and no date is tracked.
	mandoc -Tlint -Wstyle man/* > "$T/out" || :
	run ! grep -vE 'referenced manual not found|outdated mandoc.db|Mdocdate' \
		 "$T/out"
	echo "$output"
	[ "$status" -eq 1 ]
}

# Not: what it takes for a fault and is none (a narrowing in place, a comparison
# used as a number, an index checked after a lookup that the caller bounds).
check_c() {
	cppcheck -q -j2 --language=c --std=c11 --max-configs=1 \
		--enable=warning,portability --inline-suppr --error-exitcode=1 \
		--suppress=compareBoolExpressionWithInt --suppress=uninitvar \
		--suppress=invalidPointerCast --suppress=invalidFunctionArg \
		--suppress=arrayIndexThenCheck -D_GNU_SOURCE -D__x86_64__ \
		-DASSAY_VERSION='""' -Icommon -I. "$@"
}

@test "cppcheck finds nothing in common/ and cmd/" {
	needs cppcheck
	printf 'int main(void) { int a[2]; a[2] = 1; return a[0]; }\n' \
		> "$T/bad.c"
	run ! check_c "$T/bad.c"
	check_c common/*/*.c cmd/*.c
}

# Share of lines, in percent, that clang-format would change.
differing() {
	for f; do
		clang-format "$f" | diff - "$f" | grep -c '^>' || :
	done | awk -v n="$(cat "$@" | wc -l)" '{ s += $1 }
		END { print int(100 * s / n) }'
}

@test ".clang-format agrees with nine lines in ten" {
	needs clang-format
	printf 'int main(void) {\n  int a = 0;\n  if (a) { return 1; }\n}\n' \
		> "$T/bad.c"
	cp .clang-format "$T"
	[ "$(differing "$T/bad.c")" -gt 50 ]
	[ "$(differing common/base/*.c common/record/*.c cmd/*.c)" -lt 10 ]
}
