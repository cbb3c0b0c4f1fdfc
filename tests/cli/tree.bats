#!/usr/bin/env bats
# What holds for the sources.  Includes follow the arrows: cmd -> corpus, model
# -> record -> base, and model -> kernels (README.md, common/README.md,
# kernels/README.md).

setup() {
	root=$BATS_TEST_DIRNAME/../..
}

# Every include of a file of ours below $1 that is against the arrows.
against() {
	(cd "$1" && grep -rn --include='*.[ch]' --include='*.cc' \
		'^ *# *include *"' cmd common kernels) | awk -F'[:"]' '
	function may(from, to) {
		if (from ~ /^common\/base\//)
			return to ~ /^base\//
		if (from ~ /^common\/record\//)
			return to ~ /^(base|record)\//
		if (from ~ /^common\/corpus\//)
			return to ~ /^(base|record|corpus)\//
		if (from ~ /^common\/model\//)	# bpe.h: text to tokens
			return to ~ /^(base|record|model)\// ||
				to == "kernels/kernels.h" || to == "corpus/bpe.h"
		if (from ~ /^kernels\//)
			return to ~ /^kernels\// || to == "base/err.h" ||
				to == "base/mem.h"
		if (from ~ /^cmd\/lm-/ && to == "kernels/kernels.h")
			return 1
		return to ~ /^(base|record|corpus|model)\//
	}
	!may($1, $4) { print $1 ":" $2 ": " $4 }'
}

@test "no include goes against the arrows" {
	run against "$root"
	echo "$output"
	[ -z "$output" ]
}

@test "an include against the arrows is found" {
	while read -r file line; do
		mkdir -p "$BATS_TEST_TMPDIR/t/${file%/*}"
		echo "#include \"$line\"" > "$BATS_TEST_TMPDIR/t/$file"
	done <<-END
	cmd/a.c	cmd/b.h
	cmd/pack.c	kernels/kernels.h
	cmd/ok.c	corpus/split.h
	common/base/a.c	record/doc.h
	common/base/b.cc	model/config.h
	common/base/ok.h	base/err.h
	common/record/a.h	corpus/split.h
	common/corpus/a.c	model/config.h
	common/corpus/b.c	kernels/kernels.h
	common/model/a.c	corpus/split.h
	common/model/b.c	kernels/cpu/cpu.h
	common/model/ok.c	kernels/kernels.h
	kernels/cpu/a.c	base/input.h
	kernels/ref/b.c	model/config.h
	END
	run against "$BATS_TEST_TMPDIR/t"
	echo "$output"
	[ "${#lines[@]}" -eq 11 ]
	[[ "$output" != *ok.* ]]
}

@test "only the programs named lm-* hold kernels" {
	for p in "${BIN:-$root/bin}"/*; do
		case ${p##*/} in
		lm-*)	ldd "$p" | grep -q libdnnl ;;
		*)	! ldd "$p" | grep -q libdnnl ;;
		esac || { echo "$p"; return 1; }
	done
}

@test "assay(7) names every program and every other page" {
	for m in "$root"/cmd/*.c "$root"/man/*.[15]; do
		m=${m##*/}
		grep -q "^\.It Xr ${m%.*} [15]\$" "$root/man/assay.7" ||
			{ echo "$m"; return 1; }
	done
}

@test "every manual page is clean and fits 80 columns" {
	command -v mandoc > /dev/null || skip "mandoc is not there"
	for m in "$root"/man/*.[157]; do
		mandoc -Tlint -Wwarning "$m"
		mandoc -Tascii -O width=80 "$m" | perl -ne 's/.\x08//g;
			chomp; length > 80 and print "$_\n" and $bad = 1;
			END { exit($bad // 0) }' || { echo "$m"; return 1; }
	done
}

# Under set -e a "! x" never ends a test, nor does an x that fails in "x && y".
cannot_fail() {
	grep -nE '^[[:space:]]*(! |\[\[? .* \]\]? && \[)' "$@"
}

@test "no line of a test is one that cannot fail" {
	printf '\t%s\n' '! cmp a b' '[ -s a ] && [ -s b ]' '[ -s a ]' \
		'[[ $x == y ]] && [[ $z ]]' 'if [ -s a ] && [ -s b ]; then' \
		> "$BATS_TEST_TMPDIR/some"
	[ "$(cannot_fail "$BATS_TEST_TMPDIR/some" | wc -l)" -eq 3 ]
	run cannot_fail "$root"/tests/cli/*.bats
	echo "$output"
	[ "$status" -eq 1 ]
}
