#!/usr/bin/env bats
# The scripts of examples/, in a short form: few documents, few steps.
# What they print at full length is for people; here it must be right.

setup() {
	root=$BATS_TEST_DIRNAME/../..
	export BIN=${BIN:-$root/bin}
	out=$BATS_TEST_TMPDIR/out
	demo=$BATS_FILE_TMPDIR/demo
}

@test "first-pipe prints two windows and finds no fault" {
	run env DOCS=60 "$root/examples/first-pipe/run.sh" "$out"
	[ "$status" -eq 0 ]
	[[ "$output" == *"<|bos|>"* ]]
	[[ "$output" == *"novels/"* ]]
	[[ "$output" == *"no fault found"* ]]
	[ -s "$out/tokenizer.json" ]
}

@test "first-pipe ends with a status when a program fails" {
	mkdir "$BATS_TEST_TMPDIR/bin"
	for p in tok-train pack decode-batch; do
		printf '#!/bin/sh\nexit 2\n' > "$BATS_TEST_TMPDIR/bin/$p"
		chmod +x "$BATS_TEST_TMPDIR/bin/$p"
	done
	run env BIN="$BATS_TEST_TMPDIR/bin" "$root/examples/first-pipe/run.sh" \
		"$out"
	[ "$status" -eq 2 ]
}

@test "clean-and-pack: every stage reads what the one before kept" {
	run env DOCS=120 "$root/examples/clean-and-pack/run.sh" "$out"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ "$output" == *"12 exact"* ]]
	[[ "$output" == *"1 repeat"* ]]
	# a stage that loses a document is found
	mkdir "$BATS_TEST_TMPDIR/bin"
	for p in dedup tok-train pack decode-batch; do
		ln -s "$(cd "$BIN" && pwd)/$p" "$BATS_TEST_TMPDIR/bin/$p"
	done
	printf '#!/bin/sh\n"%s" "$@" | sed 5d\n' \
		"$(cd "$BIN" && pwd)/contam13" > "$BATS_TEST_TMPDIR/bin/contam13"
	chmod +x "$BATS_TEST_TMPDIR/bin/contam13"
	run env DOCS=120 BIN="$BATS_TEST_TMPDIR/bin" \
		"$root/examples/clean-and-pack/run.sh" "$out"
	[ "$status" -eq 1 ]
	[[ "$output" == *"stage 2 kept"* ]]
}

@test "near-in-stages gives what one process gives" {
	run env DOCS=150 "$root/examples/near-in-stages/run.sh" "$out"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ "$output" == *"180 documents"*" 150 kept"* ]]
}

@test "train goes from text to samples" {
	run env STEPS=20 "$root/examples/train/run.sh" "$demo"
	echo "$output"
	[ "$status" -eq 0 ]
	[ -s "$demo/run/latest/model.safetensors" ]
	[ -s "$demo/samples.txt" ]
	# The first loss is that of a uniform guess: ln 8192 = 9.011.
	first=$(sed -n '/"type":"step"/{s/.*"loss":\([0-9.]*\).*/\1/p;q}' \
		"$demo/run/train.jsonl")
	awk -v l="$first" 'BEGIN { exit !(l > 8.9 && l < 9.15) }'
	# It learns: the last one is well below.
	last=$(sed -n '/"type":"step"/s/.*"loss":\([0-9.]*\).*/\1/p' \
		"$demo/run/train.jsonl" | tail -n 1)
	awk -v a="$first" -v b="$last" 'BEGIN { exit !(b < a - 1) }'
	[ "$(grep -c '"type":"step"' "$demo/run/train.jsonl")" -eq 20 ]
}

@test "evaluate scores the model of the last test" {
	[ -d "$demo/run/latest" ] || skip "no model was trained"
	run env LINES=20 "$root/examples/evaluate/run.sh" "$demo/run/latest"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ "$output" == *lambada* ]]
	[[ "$output" == *arc_easy* ]]
}

@test "evaluate says where a model comes from" {
	run "$root/examples/evaluate/run.sh" "$BATS_TEST_TMPDIR/none"
	[ "$status" -eq 2 ]
	[[ "$output" == *"no model found"*"make demo"* ]]
}

@test "the loss table refuses a log without steps" {
	printf '{"type":"resume","step":3}\n' > "$BATS_TEST_TMPDIR/log"
	run awk -f "$root/examples/train/losses.awk" "$BATS_TEST_TMPDIR/log"
	[ "$status" -ne 0 ]
}

@test "words.awk counts the words that occur in the corpus" {
	cd "$BATS_TEST_TMPDIR"
	printf '%s\n' '{"text":"the cat\nsat. The cat sat, the cat sat"}' > c
	printf 'The cat xqzt sat.\n' > s
	run awk -f "$root/examples/train/words.awk" c s
	[ "$status" -eq 0 ]
	[ "${lines[0]}" = "75.0 % of 4 words occur in the corpus" ]
	[ "${lines[1]}" = "others: xqzt" ]
}

# A folder as the lines of README and assay(7) expect it.
prepare() {
	cd "$BATS_TEST_TMPDIR"
	ln -s "$(cd "$BIN" && pwd)" bin
	ln -s "$(cd "$root" && pwd)/examples" examples
	zstd -dcq examples/corpus/books.jsonl.zst | head -n 60 > corpus.jsonl
	zstd -q corpus.jsonl
}

@test "the examples of assay(7) run as they stand" {
	prepare
	"$BATS_TEST_DIRNAME/examples-of" "$root/man/assay.7" > all
	[ "$(grep -c '^#end' all)" -eq 2 ]
	run env PATH="$(cd "$BIN" && pwd):$PATH" bash -euo pipefail all
	echo "$output"
	[ "$status" -eq 0 ]
	[[ "$output" == *"<|bos|>"* ]]
}

@test "the pipeline of the README runs as it stands" {
	prepare
	awk '/^## One pipeline/ { on = 1; next } /^## / { on = 0 }
		on && /^    / { print substr($0, 5) }' "$root/README.md" |
		sed "s|/tmp/|$BATS_TEST_TMPDIR/|g" > lines
	[ "$(grep -c 'bin/' lines)" -eq 3 ]
	run bash lines
	echo "$output"
	[ "$status" -eq 0 ]
	[[ "$output" == *"window 1"* ]]
}

@test "each line of the README's checklist runs" {
	prepare
	bin/tok-train --vocab-size 1024 -o tokenizer.json corpus.jsonl.zst
	bin/pack -q --tokenizer tokenizer.json -o train/ corpus.jsonl.zst
	bin/lm-train -q --preset 1M --data train/ --tokenizer tokenizer.json \
		--seq-len 64 --batch-size 2 --steps 400 --stop-after 2 -o run/
	awk '/^## What to check/ { on = 1; next } /^## / { on = 0 }
		on && /^\|.*`/ { sub(/^[^`]*`/, ""); sub(/`[^`]*$/, "")
			print }' "$root/README.md" > all
	# every row is taken, and all of them but one are whole commands
	rows=$(sed -n '/^## What to check/,/^## Tour/p' "$root/README.md" |
		grep -c '^| [A-Z]')
	[ "$rows" -gt 10 ]
	[ "$(wc -l < all)" -eq "$rows" ]
	id=$(head -n 1 corpus.jsonl | sed 's/.*"id":"\([^"]*\)".*/\1/')
	n=0
	while IFS= read -r line; do
		[[ "$line" == *" ... "* ]] && continue
		line=${line/--doc ID/--doc "'$id'"}
		line=${line/--step 300/--step 1}	# the run has two
		echo "$line"
		bash -euo pipefail -c "$line" > out
		n=$((n + 1))
	done < all
	[ "$n" -eq $((rows - 1)) ]
}
