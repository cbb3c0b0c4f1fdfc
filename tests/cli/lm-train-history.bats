#!/usr/bin/env bats
# lm-train and decode-batch: which windows each step of a resumed run had

load lm-train

# RUN STEPS: the number of each window, step by step.
windows() {
	for s in $(seq 0 $(($2 - 1))); do
		"$BIN/decode-batch" --run "$1" --step "$s" --json
	done | grep -oE '^\{"window":[0-9]+'
}

# STEPS BATCH [OPTION...]: continue $T/r to that step with that batch size.
to() {
	resume "$T/r" -q --steps "$1" --batch-size "$2" \
		--allow-changed-config "${@:3}"
}

@test "another batch size continues at the next untrained window" {
	n=$("$BIN/decode-batch" --run "$W/base" --window 0:99999 --ids | wc -l)
	[ "$n" -gt 60 ]
	train -q -o "$T/whole" --steps 40
	windows "$T/whole" 40 > "$T/want"
	# 4 to 8 to 2: the same windows in the same order
	train -q -o "$T/r" --steps 40 --stop-after 10
	[ "$(value next_sample "$T/r/latest/train_state.json")" = 40 ]
	to 20 8
	[ "$(value next_sample "$T/r/latest/train_state.json")" = 120 ]
	to 40 2
	[ "$(value next_sample "$T/r/latest/train_state.json")" = 160 ]
	windows "$T/r" 40 > "$T/got"
	cmp "$T/want" "$T/got"
	# each step has the number of windows that it was trained with
	for s in 0:4 9:4 10:8 19:8 20:2 39:2; do
		[ "$("$BIN/decode-batch" --run "$T/r" --step "${s%:*}" --ids |
			wc -l)" = "${s#*:}" ]
	done
	[ "$(value tokens "$T/r/latest/train_state.json")" = $((160 * 32)) ]
	# the whole history is in the last resume line and in the checkpoint
	want='"step": 0, "sample": 0, "batch_size": 4, .*"step": 10, "sample": 40, "batch_size": 8, .*"step": 20, "sample": 120, "batch_size": 2, '
	grep '"type":"resume","step":20,' "$T/r/train.jsonl" |
		grep -q "\"batches\":\[{$want"
	grep -q "\"batches\": \[{$want" "$T/r/latest/train_state.json"
	# each start has a record of its device, with code for its shapes
	perl -MJSON::PP -0777 -ne '
		$h = decode_json($_)->{history};
		die scalar @$h if @$h != 3;
		for (@$h) {
			$d = $_->{device};
			die "table" if "$d->{table} $d->{isa}" ne $_->{kernels};
			die "device" if $d->{device} !~ /\w/;
			die "onednn" if $d->{onednn} !~ /^\d+\.\d+\.\d+$/;
			die "matmuls" if !%{$d->{matmuls}};
			die "peak" if $_->{measured_tflops} > 0 ||
				$_->{peak_tflops} != 1;
		}' "$T/r/latest/train_state.json"
	# a plain resume keeps all of it
	resume "$T/r" -q --steps 41
	windows "$T/r" 40 | cmp "$T/want" -
}

@test "the windows that decode-batch shows are those that were trained" {
	train -q -o "$T/r" --steps 4 --no-doc-mask --dtype fp32
	to 6 3 --save-every 1
	# the loss of the windows shown, by the weights from before the step
	loss() {
		"$BIN/decode-batch" --run "$T/r" --step "$1" --json | perl -MJSON::PP -ne '
			$j = decode_json $_;
			print encode_json({context => [$j->{ids}[0]],
				continuation => $j->{targets}}), "\n"' |
			"$BIN/lm-sample" -q --model "$T/r/step-0000000$2" --score - --json |
			perl -ne '/"logprob":(-[\d.e]+)/ or die; $s -= $1;
				END { printf "%.4f\n", $s / $. / 32 }'
	}
	logged() {
		perl -ne '/"type":"step","step":(\d+),.*"loss":([\d.]+)/ && $1 == '"$1"' &&
			printf "%.4f\n", $2' "$T/r/train.jsonl"
	}
	for s in 4 5; do
		[ "$(logged $s)" = "$(loss $s $s)" ]
		[ "$(logged $s)" != "$(loss $((9 - s)) $s)" ]
	done
}

@test "a kill between the resume and its first checkpoint loses no history" {
	train -q -o "$T/r" --steps 8 --save-every 4
	cp -r "$T/r" "$T/same"
	"${RESUME[@]}" "$T/r" --steps 1M --batch-size 2 --save-every 0 \
		--allow-changed-config & pid=$!
	wait_for_line "$T/r" 9
	kill -KILL $pid
	wait $pid || :
	windows "$T/r" 10 > "$T/a"
	[ "$(wc -l < "$T/a")" = $((8 * 4 + 2 * 2)) ]
	# again from step 8, with the options that were stored
	resume "$T/r" -q --steps 10
	windows "$T/r" 10 | cmp "$T/a" -
	[ "$(value next_sample "$T/r/latest/train_state.json")" = 36 ]
	# and the same bits as without the kill
	resume "$T/same" -q --steps 10 --batch-size 2 --allow-changed-config
	cmp "$T/same/latest/optimizer.safetensors" \
		"$T/r/latest/optimizer.safetensors"
}

@test "changed data: both fingerprints; steps keep the windows of their shards" {
	cp -r "$W/base" "$T/r"
	cp -r "$W/train" "$T/old"
	cp -r "$W/val" "$T/new"
	resume "$T/r" -q --data "$T/old" --steps 9
	windows "$T/r" 9 > "$T/before"
	"$BIN/decode-batch" --run "$T/r" --step 8 --json > "$T/step8"
	was=$(value data_hash "$T/r/config.json")
	refused resume "$T/r" --data "$T/new" --steps 12
	resume "$T/r" -q --data "$T/new" --allow-changed-data --steps 12
	is=$(value data_hash "$T/r/config.json")
	[ "$was" != "$is" ]
	for f in "$T/r/train.jsonl" "$T/r/latest/train_state.json"; do
		grep '"changed"' "$f" | grep -qF "\ndata_hash $was $is\n"
	done
	# steps of either time, from their own shards
	windows "$T/r" 9 | cmp "$T/before" -
	"$BIN/decode-batch" --run "$T/r" --step 8 --json | cmp "$T/step8" -
	"$BIN/decode-batch" --run "$T/r" --step 9 --json > "$T/step9"
	k=$(grep -oE '^\{"window":[0-9]+' "$T/step9" | cut -d: -f2 | head -n 1)
	"$BIN/decode-batch" --tokenizer "$W/tokenizer.json" --seq-len 32 \
		--window "$k" --json "$T/new" | cmp - <(head -n 1 "$T/step9")
	# a pass over the new shards begins: each window once
	n=$("$BIN/decode-batch" --seq-len 32 --window 0:99999 --ids "$T/new" | wc -l)
	resume "$T/r" -q --steps $((9 + n / 4))
	windows "$T/r" $((9 + n / 4)) | tail -n $((n / 4 * 4)) | sort | uniq -d \
		> "$T/twice"
	[ ! -s "$T/twice" ]
	# the old shards are gone
	rm -r "$T/old"
	run --separate-stderr "$BIN/decode-batch" --run "$T/r" --step 8
	[ "$status" -eq 2 ]
	[ -z "$output" ]
	[[ $stderr == *"$T/old"*"(step 8 of run $T/r was trained on these shards)" ]]
	"$BIN/decode-batch" --run "$T/r" --step 9 --json | cmp "$T/step9" -
	# they may be given, others may not
	"$BIN/decode-batch" --run "$T/r" --step 8 --json "$W/train" |
		cmp "$T/step8" -
	run --separate-stderr "$BIN/decode-batch" --run "$T/r" --step 8 "$T/new"
	[ "$status" -eq 2 ]
	[[ $stderr == *"not the shards that step 8 of run $T/r was trained on: content hash $is, expected $was"* ]]
	# made again under the same name
	cp -r "$T/new" "$T/old"
	run --separate-stderr "$BIN/decode-batch" --run "$T/r" --step 8
	[ "$status" -eq 2 ]
}

@test "the same folder with other contents is noted as well" {
	cp -r "$W/train" "$T/d"
	train -q -o "$T/r" --data "$T/d" --steps 2
	rm -r "$T/d"
	cp -r "$W/val" "$T/d"
	resume "$T/r" -q --steps 3 --allow-changed-data
	grep '"type":"resume"' "$T/r/train.jsonl" |
		grep -qE '"changed":"steps 2 3\\ndata_hash [0-9a-f]{16} [0-9a-f]{16}\\n"'
	"$BIN/decode-batch" --run "$T/r" --step 2 --ids > "$T/ids"
	run --separate-stderr "$BIN/decode-batch" --run "$T/r" --step 1
	[ "$status" -eq 2 ]
	[[ $stderr == *"not the shards that step 1 of run"* ]]
}

@test "another window length or order begins a new pass" {
	train -q -o "$T/r" --steps 3
	n=$("$BIN/decode-batch" --seq-len 16 --window 0:99999 --ids "$W/train" | wc -l)
	to 5 4 --seq-len 16
	"$BIN/decode-batch" --run "$T/r" --step 2 --ids | awk 'NF != 32 { exit 1 }'
	"$BIN/decode-batch" --run "$T/r" --step 3 --ids | awk 'NF != 16 { exit 1 }'
	[ "$(value next_sample "$T/r/latest/train_state.json")" = $((n + 8)) ]
	to 6 4 --order sequential
	"$BIN/decode-batch" --run "$T/r" --step 5 --json | head -n 1 |
		grep -q '^{"window":0,'
	# the mask of a step is the one it was trained with
	to 7 4 --no-doc-mask
	[ "$(value next_sample "$T/r/latest/train_state.json")" = $((2 * n + 8)) ]
	"$BIN/decode-batch" --run "$T/r" --step 6 --json | grep -q '"window":4,'
	run ! grep -q '"mask":[^]]*0' <("$BIN/decode-batch" --run "$T/r" \
		--step 6 --json)
}

@test "shards with ids of 4 bytes: decode-batch reads them as the run did" {
	perl -e 'print pack "V*", map { $_ % 250 } 1 .. 400' > "$T/four.bin"
	"$BIN/lm-train" -q --hidden-size 8 --layers 1 --heads 2 \
		--intermediate-size 8 --vocab-size 300 --data "$T/four.bin" \
		--shard-format nanogpt --id-bytes 4 --seq-len 8 --batch-size 2 \
		--order sequential --steps 2 --peak-tflops 1 -o "$T/r"
	"$BIN/decode-batch" --run "$T/r" --step 1 --ids > "$T/got"
	printf '%s\n' '17 18 19 20 21 22 23 24' '25 26 27 28 29 30 31 32' |
		diff - "$T/got"
	resume "$T/r" -q --steps 3
	"$BIN/decode-batch" --run "$T/r" --step 1 --ids | cmp "$T/got" -
}

@test "a run of the first version: checkpoints without a history" {
	cp -r "$W/base" "$T/r"
	rm -r "$T/r/step-00000004"
	d=$T/r/step-00000008
	sed -i '/^  "batches": /d' "$d/train_state.json"
	b=$(stat -c %s "$d/train_state.json")
	sed -i -E 's/("train_state.json":\{"bytes":)[0-9]+/\1'"$b/" \
		"$d/manifest.json"
	# the new hash, from the message that says so
	refused resume "$T/r"
	x=$(grep -oE "$d/train_state.json: XXH3 [0-9a-f]{16}" <<< "$stderr")
	sed -i -E 's/("train_state.json":.*"xxh3":")[0-9a-f]+/\1'"${x##* }/" \
		"$d/manifest.json"
	windows "$T/r" 8 > "$T/want"
	to 10 8
	windows "$T/r" 8 | cmp "$T/want" -
	[ "$(value next_sample "$T/r/latest/train_state.json")" = 48 ]
}
