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

@test "the loss table refuses a log without steps" {
	printf '{"type":"resume","step":3}\n' > "$BATS_TEST_TMPDIR/log"
	run awk -f "$root/examples/train/losses.awk" "$BATS_TEST_TMPDIR/log"
	[ "$status" -ne 0 ]
}

@test "the word share counts what is no word of the corpus" {
	cd "$BATS_TEST_TMPDIR"
	printf '%s\n' '{"text":"the cat\nsat. The cat sat, the cat sat"}' > c
	printf 'The cat xqzt sat.\n' > s
	run awk -f "$root/examples/train/words.awk" c s
	[ "$status" -eq 0 ]
	[ "${lines[0]}" = "75.0 % of 4 words are words of the corpus" ]
	[ "${lines[1]}" = "not: xqzt" ]
}
