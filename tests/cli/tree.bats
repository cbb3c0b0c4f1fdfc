#!/usr/bin/env bats
# Rules for the sources.  Includes follow the arrows (common/README.md,
# kernels/README.md): cmd -> dedup, contam, rare, pack, inspect, train, sample ->
# tokenizer, spans, text, model, order -> record -> stream -> base, and model ->
# kernels.

setup() {
	root=$BATS_TEST_DIRNAME/../..
}

# Every include of a file of ours below $1 that is against the arrows.
against() {
	(cd "$1" && grep -rn --include='*.[ch]' --include='*.cc' \
		'^ *# *include *"' cmd common kernels) | awk -F'[:"]' '
	function set(folder, uses) {
		rule[folder] = "^(" folder uses ")/"
	}
	BEGIN {
		set("base", "")
		set("stream", "|base")
		low = "|record|stream|base"
		set("record", "|stream|base")
		set("text", low)
		set("tokenizer", "|text" low)
		set("spans", "|text" low)
		set("model", low)
		set("dedup", "|spans|tokenizer|text" low)
		set("contam", "|tokenizer|text" low)
		set("rare", "|tokenizer|text" low)
		set("pack", "|tokenizer|text" low)
		set("order", low)
		set("inspect", "|order|tokenizer|text" low)
		set("train", "|order|model|tokenizer|text" low)
		set("sample", "|model|tokenizer|text" low)
	}
	function may(from, to, part) {
		split(from, part, "/")
		if (part[1] == "kernels")
			return to ~ /^kernels\// || to == "base/err.h" ||
				to == "base/mem.h" || to == "base/buf.h"
		if (to == "kernels/dtype.h")
			return part[2] == "model"
		if (to == "kernels/kernels.h")
			return part[2] ~ /^(model|train|sample|lm-.*)$/
		if (part[1] == "cmd")
			return to !~ /^(cmd|kernels)\//
		return part[2] in rule && to ~ rule[part[2]]
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
	cmd/ok.c	tokenizer/split.h
	cmd/lm-ok.c	kernels/kernels.h
	common/base/a.c	record/doc.h
	common/base/b.cc	model/config.h
	common/base/c.c	stream/input.h
	common/base/ok.h	base/err.h
	common/stream/a.c	record/doc.h
	common/stream/ok.c	base/err.h
	common/record/a.h	tokenizer/split.h
	common/text/a.c	tokenizer/split.h
	common/text/ok.c	record/vocab.h
	common/tokenizer/a.c	dedup/dedup.h
	common/tokenizer/b.c	spans/spans.h
	common/spans/a.c	tokenizer/bpe.h
	common/dedup/a.c	contam/contam.h
	common/dedup/ok.c	spans/spans.h
	common/contam/a.c	dedup/minhash.h
	common/rare/a.c	contam/ngram.h
	common/pack/a.c	inspect/window_view.h
	common/inspect/a.c	pack/packer.h
	common/inspect/ok.c	order/plan.h
	common/order/a.c	tokenizer/bpe.h
	common/model/a.c	tokenizer/bpe.h
	common/model/b.c	kernels/cpu/cpu.h
	common/model/c.c	train/job.h
	common/model/ok.c	kernels/kernels.h
	common/train/a.c	sample/score.h
	common/train/ok.c	tokenizer/bpe.h
	common/sample/a.c	train/job.h
	common/sample/ok.c	model/decode.h
	common/train/b.c	kernels/dtype.h
	common/model/ok.h	kernels/dtype.h
	common/stray/a.c	base/err.h
	kernels/cpu/a.c	stream/input.h
	kernels/ref/b.c	model/config.h
	END
	run against "$BATS_TEST_TMPDIR/t"
	echo "$output"
	[ "${#lines[@]}" -eq 26 ]
	[[ "$output" != *ok.* ]]
}

@test "files, functions, lines and folders keep their limits" {
	run perl "$root/tests/cli/tree.pl" sizes "$root"
	echo "$output"
	[ -z "$output" ]
}

@test "what exceeds a limit is found" {
	T=$BATS_TEST_TMPDIR
	mkdir -p "$T/common/base" "$T/common/ok" "$T/kernels/ref"
	touch "$T/common/ok/README.md" "$T/kernels/ref/README.md"
	touch "$T"/common/base/{0..4}{0..9}.x
	printf '%81s\n' x > "$T/common/ok/wide.c"
	printf '\t%72s\n' x > "$T/common/ok/ok.c"
	yes '' | head -n 601 > "$T/common/ok/long.h"
	{
		echo '{'
		yes '' | head -n 101
		echo '}'
	} > "$T/common/ok/function.c"
	run perl "$root/tests/cli/tree.pl" sizes "$T"
	echo "$output"
	[ "${#lines[@]}" -eq 5 ]
	[[ "$output" == *"function.c:1: a function of 101 lines"* ]]
	[[ "$output" == *"long.h: 601 lines"*"wide.c:1: 81 columns"* ]]
	[[ "$output" == *"base: 50 files"*"base: no README.md"* ]]
}

# The object files of the sources, where the tests were built.
objects() {
	(cd "$root" && find common kernels -name '*.c' -o -name '*.cc') |
		sed 's/\.[a-z]*$/.o/'
}

@test "no more than three files of a folder call each other in a circle" {
	case ${TEST_BUILD:-build} in
	*/san-*) skip "sanitizers add symbols of their own" ;;
	esac
	cd "$root/${TEST_BUILD:-build}" 2> /dev/null || cd "$TEST_BUILD"
	mapfile -t files < <(objects)
	run perl "$root/tests/cli/tree.pl" cycles "${files[@]}"
	echo "$output"
	[ "$status" -eq 0 ]
	[ -z "$output" ]
}

@test "a circle of four files, or of two folders, is found" {
	cd "$BATS_TEST_TMPDIR"
	mkdir a b
	for i in 1 2 3 4; do
		echo "void f$((i % 4 + 1))(void); void f$i(void) { f$((i % 4 + 1))(); }" \
			> a/f$i.c
	done
	echo 'void y(void); void x(void) { y(); }' > a/x.c
	echo 'void x(void); void y(void) { x(); }' > b/y.c
	echo 'void y(void); void z(void) { y(); }' > b/z.c
	for f in */*.c; do
		${CC:-cc} -c -o "${f%.c}.o" "$f"
	done
	run perl "$root/tests/cli/tree.pl" cycles */*.o
	echo "$output"
	[ "${#lines[@]}" -eq 2 ]
	[[ "$output" == *"a/f1.o a/f2.o a/f3.o a/f4.o"* ]]
	[[ "$output" == *"a/x.o b/y.o"* ]]
	run perl "$root/tests/cli/tree.pl" cycles a/f[123].o b/z.o
	[ -z "$output" ]
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
