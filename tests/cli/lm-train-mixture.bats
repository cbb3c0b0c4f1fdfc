#!/usr/bin/env bats
# lm-train --data PATH:WEIGHT: which windows of which source each step has

load lm-train

# Sources a and b: about 800 and 25 windows.
sources() {
	head -n 8 "$W/d.jsonl" | "$BIN/pack" -q --seq-len 32 \
		--tokenizer "$W/tokenizer.json" -o "$T/a"
	sed -n 9p "$W/d.jsonl" | cut -c1-1200 | sed 's/$/"}/' |
		"$BIN/pack" -q --seq-len 32 \
		--tokenizer "$W/tokenizer.json" -o "$T/b"
	nb=$("$BIN/decode-batch" --window 0:999999 --ids "$T/b" | wc -l)
	[ "$nb" -gt 18 ]	# in "b again", below
	[ "$nb" -lt 30 ]	# in "shares", below
	# shellcheck disable=SC2034  # train() uses it
	TRAIN=("$BIN/lm-train" --hidden-size 32 --layers 2 --heads 4
		--kv-heads 2 --intermediate-size 48 --batch-size 4
		--tokenizer "$W/tokenizer.json" --peak-tflops 1 --lr 1e-2
		--warmup-steps 2 --seed 3)
}

# RUN STEPS [FIRST]: "SOURCE WINDOW" of each sample, step by step.
samples() {
	for s in $(seq "${3:-0}" $(($2 - 1))); do
		"$BIN/decode-batch" --run "$1" --step "$s" --json
	done | sed -E 's/^\{"window":([0-9]+),"source":"([^"]*)".*/\2 \1/'
}

@test "shares and passes in the log are those of the windows shown" {
	sources
	train -q -o "$T/r" --data "$T/a:0.7" --data "$T/b:0.3" --steps 50
	samples "$T/r" 50 > "$T/got"
	[ "$(wc -l < "$T/got")" -eq 200 ]
	[ "$(grep -c "^$T/b " "$T/got")" -eq 60 ]
	# what each step line must say, and each line of a complete pass
	awk -v a="$T/a" -v b="$T/b" -v nb="$nb" '
		$1 == a { A++ }
		$1 == b && ++B % nb == 0 { pass = B / nb }
		NR % 4 == 0 {
			printf "step %d %.6f %.6f %.6f\n", NR / 4 - 1,
				A / NR, B / NR, B / nb
			if (pass)
				printf "epoch %d %s %d\n", NR / 4 - 1, b, pass
			pass = 0
		}' "$T/got" > "$T/want"
	grep -q '^epoch .* 2$' "$T/want"
	perl -MJSON::PP -ne '$j = decode_json $_;
		printf "step %d %.6f %.6f %.6f\n", $j->{step}, @{$j->{shares}},
			$j->{epochs}[1] if $j->{type} eq "step";
		print "epoch $j->{step} $j->{source} $j->{epoch}\n"
			if $j->{type} eq "epoch"' "$T/r/train.jsonl" |
		diff "$T/want" -
	# no prefix is a window off
	awk -v b="$T/b" '$1 == b { B++ }
		{ d = B - 0.3 * NR; if (d < -0.51 || d > 0.51) exit 1 }' \
		"$T/got"
	# each window of b once per pass, and passes differ
	grep "^$T/b " "$T/got" | head -n "$nb" | sort -u > "$T/one"
	[ "$(wc -l < "$T/one")" -eq "$nb" ]
	run ! diff <(grep "^$T/b " "$T/got" | head -n "$nb") \
		<(grep "^$T/b " "$T/got" | sed -n "$((nb + 1)),$((2 * nb))p")
	# the windows are those of the source
	read -r path k < <(tail -n 1 "$T/got")
	"$BIN/decode-batch" --tokenizer "$W/tokenizer.json" --window "$k" \
		--ids "$path" |
		cmp - <("$BIN/decode-batch" --run "$T/r" --step 49 --ids |
			tail -n 1)
}

@test "10 steps, a resume and 10 steps are 20 steps, bit for bit" {
	sources
	set -- --data "$T/a:1" --data "$T/b:9" --steps 20
	train -q -o "$T/whole" "$@"
	train -q -o "$T/r" "$@" --stop-after 10 -j 1
	resume "$T/r" -q -j 2
	same_run "$T/whole" "$T/r"
	# killed before the first checkpoint: it starts over
	train -q -o "$T/k" "$@"
	rm -r "$T/k/latest" "$T"/k/step-*
	sed -i '/"checkpoint"/d; 8,$d' "$T/k/train.jsonl"
	resume "$T/k" -q
	same_run "$T/whole" "$T/k"
	# the lines of a pass that a resume repeats are there once
	train -q -o "$T/s" "$@" --save-every 3
	n=$(grep -c '"type":"epoch"' "$T/whole/train.jsonl")
	[ "$n" -ge 2 ]
	rm -r "$T/s/step-00000020"
	ln -sfn step-00000018 "$T/s/latest"
	resume "$T/s" -q
	same_run "$T/whole" "$T/s"
	[ "$(grep -c '"type":"epoch"' "$T/s/train.jsonl")" -eq "$n" ]
}

@test "another batch size takes the same windows in the same order" {
	sources
	train -q -o "$T/whole" --data "$T/a:0.7" --data "$T/b:0.3" --steps 40
	samples "$T/whole" 40 > "$T/want"
	train -q -o "$T/r" --data "$T/a:0.7" --data "$T/b:0.3" --steps 40 \
		--stop-after 9
	resume "$T/r" -q --steps 20 --batch-size 8 --allow-changed-config
	resume "$T/r" -q --steps 38 --batch-size 2 --allow-changed-config
	samples "$T/r" 38 > "$T/got"
	[ "$(wc -l < "$T/got")" -eq 160 ]
	cmp "$T/want" "$T/got"
	# and what a later step would see
	[ "$("$BIN/decode-batch" --run "$T/r" --step 50 --ahead --json |
		grep -c '"source":"'"$T"'/[ab]",')" -eq 2 ]
}

# RUN: its losses, in order
losses() {
	sed -n 's/.*"type":"step".*"loss":\([0-9.]*\).*/\1/p' "$1/train.jsonl"
}

@test "accumulation: micro-batches have the windows of one large batch" {
	sources
	local mix=(--data "$T/a:0.7" --data "$T/b:0.3" --dtype fp32 -q)
	train "${mix[@]}" -o "$T/one" --batch-size 12 --steps 12
	samples "$T/one" 12 > "$T/want"
	[ "$(wc -l < "$T/want")" -eq 144 ]
	losses "$T/one" > "$T/loss"
	[ "$(wc -l < "$T/loss")" -eq 12 ]
	for o in '--batch-size 12 --micro-batch 1' \
		'--batch-size 12 --micro-batch 5' '--batch-size 12 --accum 6' \
		'--batch-size 12 --micro-batch 4 --accum 3'; do
		rm -rf "$T/r"
		# shellcheck disable=SC2086
		train "${mix[@]}" -o "$T/r" $o --steps 12 --stop-after 5
		resume "$T/r" -q
		samples "$T/r" 12 | cmp "$T/want" -
		losses "$T/r" | paste - "$T/loss" | awk '
			{ d = $1 / $2 - 1; if (d < -2e-5 || d > 2e-5) bad = 1 }
			END { exit bad || NR != 12 }'
		grep -o '"shares":[^]]*]' "$T/r/train.jsonl" |
			cmp - <(grep -o '"shares":[^]]*]' "$T/one/train.jsonl")
	done
	# a seed of another order is seen
	train "${mix[@]}" -o "$T/other" --batch-size 12 --steps 12 --seed 4
	run ! cmp -s <(losses "$T/other") "$T/loss"
}

@test "the windows that decode-batch shows are those that were trained" {
	sources
	train -q -o "$T/r" --steps 4 --no-doc-mask --dtype fp32 \
		--data "$T/a:1" --data "$T/b:1" --save-every 1
	for s in 2 3; do
		loss=$("$BIN/decode-batch" --run "$T/r" --step "$s" --json |
			perl -MJSON::PP -ne '
			$j = decode_json $_;
			print encode_json({context => [$j->{ids}[0]],
				continuation => $j->{targets}}), "\n"' |
			"$BIN/lm-sample" -q --model "$T/r/step-0000000$s" \
				--score - --json |
			perl -ne '/"logprob":(-[\d.e]+)/ or die; $s -= $1;
				END { printf "%.4f\n", $s / $. / 32 }')
		[ "$loss" = "$(perl -ne '/"type":"step","step":'"$s"',.*"loss":([\d.]+)/ &&
			printf "%.4f\n", $1' "$T/r/train.jsonl")" ]
	done
}

@test "other weights, and another source: each continues at its next window" {
	sources
	train -q -o "$T/r" --data "$T/a:0.9" --data "$T/b:0.1" --steps 10
	samples "$T/r" 10 > "$T/before"
	refused resume "$T/r" --data "$T/a:0.5" --data "$T/b:0.5" --steps 14
	[[ $stderr == *"the shards, or the weights of the sources, have changed"* ]]
	resume "$T/r" -q --data "$T/a:0.5" --data "$T/b:0.5" --steps 14 \
		--allow-changed-data
	# b has taken 4 + 8 windows, each once
	samples "$T/r" 14 > "$T/got"
	head -n 40 "$T/got" | cmp "$T/before" -
	[ "$(grep -c "^$T/b " "$T/got")" -eq 12 ]
	[ "$(sort "$T/got" | uniq -d)" = "" ]
	grep '"type":"step","step":13,' "$T/r/train.jsonl" |
		grep -q '"shares":\[0.5,0.5\],'
	# without weights: one set, whose passes are its own
	resume "$T/r" -q --data "$T/a" --steps 15 --allow-changed-data
	"$BIN/decode-batch" --run "$T/r" --step 14 --json > "$T/single"
	run ! grep -q '"source"' "$T/single"
	run ! grep -q '"shares"' <(grep '"step":14,' "$T/r/train.jsonl")
	# b again, where it was
	resume "$T/r" -q --data "$T/b:3" --data "$W/val:1" --steps 17 \
		--allow-changed-data
	samples "$T/r" 17 15 >> "$T/got"
	[ "$(grep -c "^$T/b " "$T/got")" -eq 18 ]
	[ "$(sort "$T/got" | uniq -d)" = "" ]
	samples "$T/r" 10 | cmp "$T/before" -
}

@test "the source of each window: text, table, and shards that were moved" {
	sources
	(cd "$T" && train -q -o r --data a/:1 --data b:1 --steps 2)
	"$BIN/decode-batch" --run "$T/r" --step 1 | grep '^====' > "$T/heads"
	[ "$(grep -cE "^==== window [0-9]+ of $T/[ab]: tokens " "$T/heads")" = 4 ]
	"$BIN/decode-batch" --run "$T/r" --step 1 --targets > "$T/table"
	head -n 1 "$T/table" | grep -q $'doc\tsource$'
	[ "$(awk -F'\t' 'NR > 1 { print $NF }' "$T/table" | sort | uniq -c |
		awk '{ print $1 }' | xargs)" = "64 64" ]
	"$BIN/decode-batch" --run "$T/r" --step 1 --json > "$T/json"
	run ! "$BIN/decode-batch" --run "$T/r"
	[[ $output == *"mixes 2 sources: name one as FILE, such as $T/a" ]]
	"$BIN/decode-batch" --run "$T/r" --window 3 --ids "$T/b" |
		cmp - <("$BIN/decode-batch" --seq-len 32 --window 3 --ids "$T/b")
	run ! "$BIN/decode-batch" --run "$T/r" --window 3 "$W/val"
	[[ $output == *"$W/val: not a source of run $T/r"* ]]
	mkdir "$T/new"
	mv "$T/a" "$T/b" "$T/new"
	run ! "$BIN/decode-batch" --run "$T/r" --step 1
	[[ $output == *"$T/a: cannot open"*"(step 1 of run $T/r"* ]]
	"$BIN/decode-batch" --run "$T/r" --step 1 --json "$T/new/a" "$T/new/b" |
		cmp "$T/json" -
	run ! "$BIN/decode-batch" --run "$T/r" --step 1 "$T/new/b" "$T/new/a"
	[[ $output == *"$T/new/b: not the shards that step 1 of"* ]]
	run ! "$BIN/decode-batch" --run "$T/r" --step 1 "$T/new/a"
	[[ $output == *"mixes 2 sources, but there are 1 FILEs"* ]]
	# and the run continues with them
	resume "$T/r" -q --data "$T/new/a:1" --data "$T/new/b:1" --steps 3
	"$BIN/decode-batch" --run "$T/r" --step 1 --json | sed "s,$T/new,$T," |
		cmp "$T/json" -
}

@test "bad sources and weights are refused, and nothing is written" {
	sources
	while IFS='|' read -r args message; do
		# shellcheck disable=SC2086
		refused train -o "$T/r" --steps 2 $args
		[[ $stderr == *"$message"* ]] || { echo "$stderr"; false; }
		[ ! -e "$T/r" ]
	done <<-END
	--data $T/a:0.7 --data $T/b|$T/b: has no weight, but other sources have one
	--data $T/a --data $T/b:1|$T/a: has no weight
	--data $T/a:1 --data $T/a/:1|also in source $T/a: the shards of each source
	--data $T/a:1 --data $T/a/00000.tok:1|also in source
	--data $T/a:0 --data $T/b:1|$T/a:0: the weight must be above 0
	--data $T/a:-1 --data $T/b:1|$T/a:-1: the weight -1 is not a decimal number
	--data $T/a:x --data $T/b:1|$T/a:x: the weight x is not a decimal number
	--data $T/a:1 --data $T/b:0.0000001|$T/b: its share is below one in 1000000
	--data $T/a:1 --data $T/c:1|$T/c: cannot open
	--data $T/a --val-data $T/b:1|$T/b:1: cannot open
	END
	"$BIN/pack" -q --no-bos --seq-len 32 --tokenizer "$W/tokenizer.json" \
		-o "$T/c" < "$W/d.jsonl"
	refused train -o "$T/r" --steps 2 --data "$T/a:1" --data "$T/c:1"
	[[ $stderr == *"$T/c: documents have BOS -1 and EOS 299, those of $T/a have 298 and 299 (-1: none)"* ]]
	"$BIN/tok-train" --vocab-size 310 -q -o "$T/other.json" "$W/d.jsonl"
	"$BIN/pack" -q --tokenizer "$T/other.json" --seq-len 32 -o "$T/d" \
		< "$W/d.jsonl"
	refused "$BIN/lm-train" --preset 1M --steps 2 -o "$T/r" \
		--data "$T/a:1" --data "$T/d:1"
	[[ $stderr == *"$T/d: packed with another tokenizer than $T/a"* ]]
}

@test "a path with a colon; weights that do not sum to 1; --epochs" {
	sources
	mv "$T/a" "$T/a:0.5"
	train -q -o "$T/one" --data "$T/a:0.5" --steps 1
	run ! grep -q '"shares"' "$T/one/train.jsonl"
	run --separate-stderr train -o "$T/r" --data "$T/a:0.5:2" \
		--data "$T/b:6" --epochs 0.1
	[ "$status" -eq 0 ]
	[[ $stderr == *"the weights of the sources sum to 8; their shares are 0.25, 0.75"* ]]
	samples "$T/r" 4 | grep -c "^$T/a:0.5 " | grep -qx 4
	samples "$T/r" 4 | grep -c "^$T/b " | grep -qx 12
	n=$("$BIN/decode-batch" --window 0:999999 --ids "$T/a:0.5" | wc -l)
	[ "$(value step "$T/r/latest/train_state.json")" = \
		$(((n + nb) / 10 / 4)) ]
	[ "$(value data_windows "$T/r/latest/train_state.json")" = $((n + nb)) ]
	# options of a run make the same run
	train -q -o "$T/c" --config "$T/r/config.json"
	cmp "$T/r/latest/model.safetensors" "$T/c/latest/model.safetensors"
	# one source with a weight
	train -q -o "$T/s" --data "$T/b:1" --steps 2
	grep '"step":1,' "$T/s/train.jsonl" | grep -q '"shares":\[1\],'
}
