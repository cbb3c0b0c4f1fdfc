#!/usr/bin/env bats
# lm-train: a run that was stopped or killed ends in the same state

load lm-train

# --- resume -----------------------------------------------------------------

@test "20 steps equal 10 and 10" {
	train -o "$T/whole" --steps 20 --val-data "$W/val" --eval-every 5 --z-loss 1e-4
	train -o "$T/half" --steps 20 --val-data "$W/val" --eval-every 5 --z-loss 1e-4 \
		--stop-after 10
	[ "$(readlink "$T/half/latest")" = step-00000010 ]
	resume "$T/half"
	same_run "$T/whole" "$T/half"
	[ "$(grep -c '"type":"resume"' "$T/half/train.jsonl")" = 1 ]
}

@test "a finished run has nothing to do; --steps continues it" {
	cp -r "$W/base" "$T/r"
	resume "$T/r" 2> "$T/err"
	grep -q "8 of 8 steps are done: nothing to train" "$T/err"
	[ "$(grep -c '"type":"step"' "$T/r/train.jsonl")" = 8 ]
	resume "$T/r" --steps 10
	[ "$(grep -c '"type":"step"' "$T/r/train.jsonl")" = 10 ]
	[ "$(readlink "$T/r/latest")" = step-00000010 ]
	grep -q '"changed":"steps 8 10' "$T/r/train.jsonl"
}

@test "the log is truncated: each step has one line" {
	cp -r "$W/base" "$T/r"
	rm -r "$T/r/step-00000008"
	printf '{"type":"st' >> "$T/r/train.jsonl"
	run --separate-stderr resume "$T/r"
	[ "$status" -eq 0 ]
	[[ $stderr == *"warning: $T/r/step-00000008: is gone; continuing from step 4"* ]]
	same_run "$W/base" "$T/r"
	[ "$(grep -c '"step":5,' "$T/r/train.jsonl")" = 1 ]
}

@test "the newest valid checkpoint is used, the broken one is named" {
	cp -r "$W/base" "$T/r"
	printf x | dd of="$T/r/step-00000008/optimizer.safetensors" bs=1 \
		seek=9000 conv=notrunc 2> "$T/dd"
	run --separate-stderr resume "$T/r"
	[ "$status" -eq 0 ]
	[[ $stderr == *step-00000008/optimizer.safetensors*"skipping this checkpoint"* ]]
	same_run "$W/base" "$T/r"
	for d in "$T"/r/step-*; do
		: > "$d/model.safetensors"
	done
	refused resume "$T/r"
	[[ $stderr == *"no valid checkpoint"* ]]
}

@test "with a broken newer checkpoint, --keep keeps the new ones" {
	cp -r "$W/base" "$T/r"
	: > "$T/r/step-00000008/model.safetensors"
	resume "$T/r" --keep 1 --stop-after 2
	[ "$(readlink "$T/r/latest")" = step-00000006 ]
	[ -s "$T/r/latest/manifest.json" ]
	[ ! -e "$T/r/step-00000004" ]
	resume "$T/r" --keep 0
	same_run "$W/base" "$T/r"
}

@test "a resume repairs latest" {
	cp -r "$W/base" "$T/r"
	ln -sfn step-00000004 "$T/r/latest"
	ln -s step-00000008 "$T/r/.latest.77.tmp"
	resume "$T/r"
	[ "$(readlink "$T/r/latest")" = step-00000008 ]
	[ -z "$(find "$T/r" -name '*.tmp')" ]
}

@test "a checkpoint with replaced weights is refused" {
	cp -r "$W/base" "$T/r"
	cp "$T/r/step-00000004/model.safetensors" "$T/r/step-00000008/"
	# a manifest that matches the replaced file
	m4=$(grep '"model.safetensors"' "$T/r/step-00000004/manifest.json")
	sed -i "s|.*\"model.safetensors\".*|$m4|" "$T/r/step-00000008/manifest.json"
	refused resume "$T/r"
	[[ $stderr == *"is not the rounded master"* ]]
}

@test "changed options or data are refused by name, unless allowed" {
	cp -r "$W/base" "$T/r"
	refused resume "$T/r" --lr 0.5
	[[ $stderr == *"--lr is 0.5, the run has 0.01"* ]]
	refused resume "$T/r" --seq-len 16
	[[ $stderr == *--seq-len* ]]
	refused resume "$T/r" --data "$W/val"
	[[ $stderr == *"the shards have changed"* ]]
	resume "$T/r" --lr 0.5 --allow-changed-config --steps 9
	grep -q '"type":"lr_restart","step":8,"lr_before":0.0' "$T/r/train.jsonl"
	run -1 grep -q lr_restart "$W/base/train.jsonl"
	resume "$T/r" --data "$W/val" --allow-changed-data --steps 10
	grep -q '"step":9,.*"lr":' "$T/r/train.jsonl"
}

@test "a checkpoint given as a run is reported" {
	refused resume "$W/base/latest"
	[[ $stderr == *"/latest: is a checkpoint"*"folder of its run"* ]]
}

@test "each option that affects the result is refused by name" {
	set -- preset:10M hidden-size:64 layers:3 heads:2 kv-heads:1 head-dim:16 \
		intermediate-size:64 vocab-size:400 rope-theta:5000 \
		norm-eps:1e-6 no-tie-embeddings qk-norm init-std:0.1 \
		embed-scale:2 init-from:"$MODELS/qwen3" shard-format:nanogpt \
		id-bytes:4 \
		split:gpt2 seq-len:16 batch-size:2 micro-batch:1 accum:2 \
		order:sequential no-doc-mask lr:1 min-lr:1e-9 warmup-steps:3 \
		schedule:wsd decay-steps:7 beta1:0.5 beta2:0.5 eps:1e-5 \
		weight-decay:0 decay-embeddings clip:0 z-loss:0.1 seed:8 \
		dtype:fp32
	for o; do
		k=${o%%:*}
		if [ "$k" = "$o" ]; then
			refused resume "$W/base" "--$o"
		else
			refused resume "$W/base" "--$k" "${o#*:}"
		fi
		k=${k#no-}
		[[ $stderr == *"--$k is "*", the run has "*--allow-changed-config* ]] ||
			{ echo "$o: $stderr"; false; }
		echo "$k"
	done > "$T/tried"
	# these are all of them
	grep -oE '^  "[a-z_0-9]+"' "$W/base/config.json" | tr -d ' "' | tr _ - |
		grep -vxE 'data|val-data|allow-other-val|tokenizer|steps|epochs|save-every|keep|after-save|eval-(every|windows)|sample-(every|tokens)|prompts?|peak-tflops|derived|world-size|data-hash|val-hash|version' \
		> "$T/all"
	diff "$T/all" "$T/tried"
	# the shape of the weights cannot change
	for o in "--hidden-size 64" "--layers 3" --no-tie-embeddings --qk-norm; do
		# shellcheck disable=SC2086
		refused resume "$W/base" $o --allow-changed-config
		[[ $stderr == *"${o%% *}"*"folder"* ]]
	done
	# the same value, or the same folder by another path, is not a change
	cp -r "$W/base" "$T/r"
	resume "$T/r" --lr 0.01 --hidden-size 32 --steps 9
	grep -q '"changed":"steps 8 9\\n"' "$T/r/train.jsonl"
	"$BIN/pack" -q --tokenizer "$MODELS/qwen3/tokenizer.json" --seq-len 16 \
		-o "$T/d" "$W/d.jsonl"
	b=$(realpath "$BIN/lm-train")
	cd "$MODELS"
	"$b" --init-from qwen3 --data "$T/d" --steps 1 --batch-size 1 \
		--peak-tflops 1 -o "$T/q"
	"$b" --resume "$T/q" --init-from ./qwen3 --steps 2 --peak-tflops 1
}

@test "after a resume each epoch still visits every window once" {
	n=$("$BIN/decode-batch" --run "$W/base" --window 0:99999 --json | wc -l)
	steps=$((2 * n / 4))
	train -o "$T/r" --steps $steps --stop-after $((n * 9 / 40))
	resume "$T/r" -q
	for s in $(seq 0 $((steps - 1))); do
		"$BIN/decode-batch" --run "$T/r" --step "$s" --json
	done | grep -oE '^\{"window":[0-9]+' > "$T/seen"
	[ $n -gt 50 ]
	[ "$(head -n $n "$T/seen" | sort -u | wc -l)" = $n ]
	[ "$(tail -n +$((n + 1)) "$T/seen" | sort -u | wc -l)" = $((steps * 4 - n)) ]
}

@test "a lost optimizer: the file is named, and --init-from suggested" {
	cp -r "$W/base" "$T/r"
	rm "$T"/r/step-*/optimizer.safetensors
	refused resume "$T/r"
	[[ $stderr == *"step-00000008/optimizer.safetensors: cannot open"* ]]
	[[ $stderr == *"no valid checkpoint among 2 (use --init-from to start a new run from the weights of a checkpoint)"* ]]
	# also if the manifest does not list it
	for m in "$T"/r/step-*/manifest.json; do
		perl -0pi -e 's/,\s*"optimizer.safetensors":\{[^}]*\}//' "$m"
	done
	refused resume "$T/r"
	[[ $stderr == *"step-00000008/optimizer.safetensors"*"(use --init-from $T/r/step-00000008 to start a new run"* ]]
	"$BIN/lm-train" --init-from "$T/r/latest" --data "$W/train" --steps 1 \
		--batch-size 4 --peak-tflops 1 -o "$T/new"
}

@test "a resume on another number of threads gives the same bits" {
	train -o "$T/r" --steps 8 --save-every 4 --stop-after 3 -j 1
	resume "$T/r" -j 7 --stop-after 2
	resume "$T/r" -j 2
	same_run "$W/base" "$T/r"
}

@test "--stop-after 0 continues to --steps; fewer steps than the warmup" {
	cp -r "$W/base" "$T/r"
	resume "$T/r" --stop-after 0 --steps 10
	[ "$(readlink "$T/r/latest")" = step-00000010 ]
	run --separate-stderr train -o "$T/w" --steps 2 --warmup-steps 4
	[ "$status" -eq 0 ]
	[[ $stderr == *"warning: warmup takes 4 of 2 steps: the peak is never reached"* ]]
	[ "$(sed -n 's/.*"lr":\([^,]*\),.*/\1/p' "$T/w/train.jsonl" | tr '\n' ' ')" = \
		"0.0025 0.005 " ]
	# no steps: the initial weights are saved
	train -o "$T/z" --steps 0
	[ "$(readlink "$T/z/latest")" = step-00000000 ]
}

@test "moved shards are not a change" {
	cp -r "$W/base" "$T/r"
	cp -r "$W/train" "$T/elsewhere"
	resume "$T/r" --data "$T/elsewhere" --steps 9
}

@test "a run is not overwritten, and not used by two at once" {
	refused train -o "$W/base" --steps 1
	[[ $stderr == *"--resume"* ]]
	cp -r "$W/base" "$T/r"
	"${RESUME[@]}" "$T/r" --steps 1M & pid=$!
	wait_for_line "$T/r" 9
	refused resume "$T/r"
	[[ $stderr == *"another lm-train"* ]]
	# nor can a new run start in that folder
	refused train -o "$T/r" --steps 1
	[[ $stderr == *"another lm-train"* ]]
	kill -TERM $pid
	wait $pid || :
}

@test "--resume --steps: a derived decay follows the longer run" {
	train -o "$T/long" --schedule wsd --steps 20
	train -o "$T/r" --schedule wsd --steps 10 --stop-after 6
	resume "$T/r" --steps 20
	same_run "$T/long" "$T/r"
	grep -q '"changed":"steps 10 20\\ndecay_steps 2 4\\n"' "$T/r/train.jsonl"
	train -o "$T/q" --schedule wsd --steps 10 --decay-steps 3 --stop-after 6
	resume "$T/q" --steps 20
	[ "$(value decay_steps "$T/q/config.json")" = 3 ]
}

@test "the data position does not depend on micro-batches" {
	train -o "$T/whole" --steps 8 --accum 4
	train -o "$T/r" --steps 8 --accum 4 --stop-after 5
	[ "$(value next_sample "$T/r/latest/train_state.json")" = 20 ]
	resume "$T/r"
	same_run "$T/whole" "$T/r"
	[ "$(value tokens "$T/r/latest/train_state.json")" = $((8 * 4 * 32)) ]
	# tokens are counted per step, not per micro-batch
	for d in whole r; do
		perl -ne 'next unless /"step":(\d+),"tokens":(\d+)/;
			die $_ if $2 != 128 * ($1 + 1)' "$T/$d/train.jsonl"
	done
}

# RUN STEPS [one]: of each step, the pairs of a token and one that it sees: of
# its document, or "one": of its window.
pairs() {
	for s in $(seq 0 $(($2 - 1))); do
		"$BIN/decode-batch" --run "$1" --step "$s" --json |
			perl -MJSON::PP -ne '
				for (@{decode_json($_)->{docs}}) {
					$d = $_->{end} - $_->{start};
					$n += $d;
					$sum += $d * ($d + 1) / 2;
				}
				END {
					die "$n tokens" if $n != 32 * $.;
					print "'"${3-}"'" ? $. * 16 * 33 : $sum, "\n"
				}'
	done
}

# RUN: mfu of each step against the pairs on stdin; prints the number of steps.
check_mfu() {
	perl -e '
		open $f, "<", shift or die;
		while (<$f>) {
			next unless /"step":(\d+),.*"tokens_per_s":([\d.e+]+),"mfu":([\d.e+-]+),"step_s":([\d.e-]+)/;
			my ($step, $rate, $mfu, $s) = ($1, $2, $3, $4);
			my $pairs = <STDIN>;
			$n++;
			# the run was started at steps 0 and 8
			$sum = $tokens = 0 if $step == 0 || $step == 8;
			$tokens += 128;
			$sum += $pairs;
			# 6 a weight that multiplies; 12 L H D a pair; peak 10^12
			my $want = (6 * (300 * 32 + 2 * (32 * 96 + 3 * 32 * 48)) +
				12 * 2 * 4 * 8 * $sum / $tokens) * $rate / 1e12;
			die "mfu $mfu, not $want" if abs($mfu / $want - 1) > 1e-6;
			die "step $step: $rate" if $tokens == 128 &&
				abs($rate * $s / 128 - 1) > 1e-3;
		}
		print "$n\n"' "$1/train.jsonl"
}

@test "rates after a resume are those of this start; mfu is relative to the peak" {
	cp -r "$W/base" "$T/r"
	resume "$T/r" --steps 10
	[ "$(pairs "$T/r" 10 | check_mfu "$T/r")" = 10 ]
	"$BIN/lm-train" --config "$W/base/config.json" --steps 1 --device ref \
		--peak-tflops 0 -o "$T/u"
	grep -q '"mfu":null' "$T/u/train.jsonl"
}

@test "mfu counts attention as the document mask leaves it" {
	perl -e 'printf "{\"id\":%d,\"text\":\"%s\"}\n", $_, "ab " x ($_ * 7 % 12)
		for 1 .. 200' > "$T/short.jsonl"
	"$BIN/pack" -q --tokenizer "$W/tokenizer.json" --seq-len 32 \
		-o "$T/short" "$T/short.jsonl"
	"$BIN/lm-train" -q --config "$W/base/config.json" --steps 6 \
		--data "$T/short" -o "$T/mask"
	"$BIN/lm-train" -q --config "$W/base/config.json" --steps 6 \
		--data "$T/short" --no-doc-mask -o "$T/none"
	[ "$(pairs "$T/mask" 6 | check_mfu "$T/mask")" = 6 ]
	[ "$(pairs "$T/none" 6 one | check_mfu "$T/none")" = 6 ]
	# less than half of the pairs are left
	perl -e '$x += $_ for split " ", shift; exit !($x > 0 && $x < 6 * 4 * 16 * 33 / 2)' \
		"$(pairs "$T/mask" 6)"
}

# --- signals, kills, full disks ---------------------------------------------

@test "TERM and INT: finish the step, save, end by the signal" {
	for s in TERM:143 INT:130; do
		d=$T/${s%:*}
		env --default-signal=INT "$BIN/lm-train" --config "$W/base/config.json" \
			--steps 1000000 --save-every 0 -o "$d" & pid=$!
		wait_for_line "$d" 3
		kill -"${s%:*}" $pid
		status=0
		wait $pid || status=$?
		[ $status -eq "${s#*:}" ]
		n=$(grep -c '"type":"step"' "$d/train.jsonl")
		[ "$(readlink "$d/latest")" = "$(printf 'step-%08d' "$n")" ]
		tail -2 "$d/train.jsonl" | grep -q "\"type\":\"signal\",\"step\":$n,"
		[ -z "$(find "$d" -name '*.tmp')" ]
	done
	# after a resume there is one line per step
	n=$((n + 2))
	resume "$d" --steps $n
	[ "$(grep -c '"type":"step"' "$d/train.jsonl")" = $n ]
}

@test "USR1: save a checkpoint and continue" {
	"${TRAIN[@]}" -o "$T/r" --steps 1M & pid=$!
	wait_for_line "$T/r" 2
	kill -USR1 $pid
	for _ in $(seq 300); do
		[ -L "$T/r/latest" ] && break
		sleep 0.1
	done
	n=$(readlink "$T/r/latest")
	kill -0 $pid
	kill -TERM $pid
	wait $pid || :
	[ "$(readlink "$T/r/latest")" != "$n" ]
	[ -s "$T/r/$n/manifest.json" ]
}

@test "many USR1: complete checkpoints, each step once" {
	"${TRAIN[@]}" -o "$T/r" --steps 1M & pid=$!
	wait_for_line "$T/r" 1
	for _ in $(seq 300); do
		kill -USR1 $pid
	done
	n=$(wc -l < "$T/r/train.jsonl")
	wait_for_line "$T/r" $((n + 2))
	kill -TERM $pid
	wait $pid || :
	[ "$(ls -d "$T"/r/step-* | wc -l)" -ge 2 ]
	for d in "$T"/r/step-*; do
		[ -s "$d/manifest.json" ]
	done
	run ! bash -c "grep -o '\"type\":\"[sc][th][e][pc][^,]*,\"step\":[0-9]*' \
		'$T/r/train.jsonl' | sort | uniq -d | grep ."
	[ -z "$(find "$T/r" -name '*.tmp')" ]
}

@test "killed at any moment, a resumed run ends in the same state" {
	train -o "$T/whole" --steps 30 --save-every 2
	"${TRAIN[@]}" -o "$T/r" --steps 30 --save-every 2 & pid=$!
	for i in 1 2 3 4; do
		sleep 0.$((i * 2))$i
		kill -KILL $pid 2> "$T/err" || :
		wait $pid || :
		[ -e "$T/r/config.json" ] || train -o "$T/r" --steps 30 \
			--save-every 2 --stop-after 1
		"${RESUME[@]}" "$T/r" & pid=$!
	done
	wait $pid
	same_run "$T/whole" "$T/r"
	[ -z "$(find "$T/r" -name '*.tmp')" ]
}

@test "killed before the first checkpoint, it starts over" {
	cp -r "$W/base" "$T/r"
	rm -r "$T"/r/step-* "$T/r/latest"
	sed -i '/"type":"checkpoint"/d; /"type":"step","step":4,/,$d' \
		"$T/r/train.jsonl"
	[ "$(wc -l < "$T/r/train.jsonl")" = 4 ]
	resume "$T/r"
	same_run "$W/base" "$T/r"
	# not even the log is there yet
	rm -r "$T"/r/step-* "$T/r/latest" "$T/r/train.jsonl"
	resume "$T/r"
	same_run "$W/base" "$T/r"
}

# A listing with times and sums, to see that nothing was touched.
whole() {
	(cd "$1" && find . -printf '%p %l %T@\n' | sort &&
		find . -type f -exec cksum {} + | sort)
}

@test "lost checkpoints are an error, nothing is touched" {
	cp -r "$W/base" "$T/r"
	rm -r "$T"/r/step-* "$T/r/latest"
	mkdir "$T/r/.step-00000009.1.tmp"
	whole "$T/r" > "$T/before"
	refused resume "$T/r"
	[[ $stderr == *"$T/r: no checkpoint is left, but the log has one of step 8 "* ]]
	refused resume "$T/r" --steps 20 --lr 9 --allow-changed-config
	whole "$T/r" | diff "$T/before" -
	# the link alone says that there was one
	sed -i '/"type":"checkpoint"/d' "$T/r/train.jsonl"
	ln -s step-00000008 "$T/r/latest"
	whole "$T/r" > "$T/before"
	refused resume "$T/r"
	[[ $stderr == *"$T/r: no checkpoint is left, but latest is a link to one "* ]]
	whole "$T/r" | diff "$T/before" -
}

@test "a mistaken resume changes nothing" {
	cp -r "$W/base" "$T/r"
	whole "$T/r" > "$T/before"
	# fewer steps than are done
	refused resume "$T/r" --steps 5
	[[ $stderr == *"$T/r: 8 steps are done, more than the 5 of the run"* ]]
	# prompts that cannot be read, a log that is not one
	echo '{"prompt":3}' > "$T/p.jsonl"
	refused resume "$T/r" --steps 9 --prompts "$T/p.jsonl"
	refused resume "$T/r" --steps 9 --warmup-steps 9 --min-lr 5 --allow-changed-config
	refused resume "$T/r" --steps 9 --val-data "$T/nowhere"
	refused resume "$T/r" --steps 9 --device tpu
	whole "$T/r" | diff "$T/before" -
	# nothing is left to train, so nothing is stored
	cp "$T/r/config.json" "$T/c"
	cp "$T/r/train.jsonl" "$T/l"
	run --separate-stderr resume "$T/r" --lr 9 --allow-changed-config
	[ "$status" -eq 0 ]
	[[ $stderr == *"nothing to train"*"changed options are not stored"* ]]
	cmp "$T/c" "$T/r/config.json"
	cmp "$T/l" "$T/r/train.jsonl"
	# but what the run lacks at its end is done and logged
	resume "$T/r" --val-data "$W/val"
	tail -n 1 "$T/r/train.jsonl" | grep -q '"type":"eval","step":8,'
	# a damaged log: the config is not replaced
	echo 'not a line' > "$T/r/train.jsonl"
	cp "$T/r/config.json" "$T/c"
	refused resume "$T/r" --steps 9
	[[ $stderr == *"train.jsonl:1: not an object with type and step"* ]]
	cmp "$T/c" "$T/r/config.json"
}

@test "full disk: status 2, the old checkpoint is unchanged" {
	cp -r "$W/base" "$T/r"
	sum=$(cd "$T/r" && cat step-*/* | cksum)
	run --separate-stderr bash -c "trap '' XFSZ; ulimit -f 100
		exec '$BIN/lm-train' --resume '$T/r' --steps 12 --peak-tflops 1"
	[ "$status" -eq 2 ]
	[[ $stderr == *"step-00000012"*"cannot write"*"too large"* ]]
	[ -z "$(find "$T/r" -name '*.tmp')" ]
	[ "$(cd "$T/r" && cat step-*/* | cksum)" = "$sum" ]
	resume "$T/r"
	[ "$(readlink "$T/r/latest")" = step-00000012 ]
}

@test "--keep and --after-save" {
	train -o "$T/r" --steps 6 --save-every 1 --keep 2 \
		--after-save 'echo "$ASSAY_STEP $ASSAY_CHECKPOINT" >> '"$T/saved"
	[ "$(ls -d "$T"/r/step-* | wc -l)" = 2 ]
	[ "$(sed -n 6p "$T/saved")" = "6 $T/r/step-00000006" ]
	[ "$(wc -l < "$T/saved")" = 6 ]
	run --separate-stderr train -o "$T/q" --steps 1 --after-save 'exit 7'
	[ "$status" -eq 0 ]
	[[ $stderr == *"the command after a save exited with status 7"* ]]
}

@test "--keep: with a reader, with a folder inside, and if removal fails" {
	train -o "$T/r" --steps 3 --stop-after 1
	mkdir "$T/r/step-00000001/eval"
	echo 1 > "$T/r/step-00000001/eval/scores"
	cp "$T/r/step-00000001/model.safetensors" "$T/m"
	exec 8< "$T/r/step-00000001/model.safetensors"
	# a folder with the name used for removal is in the way
	run --separate-stderr resume "$T/r" --save-every 1 --keep 1 \
		--after-save "mkdir -p '$T/r/.step-00000002.prune.tmp/x'"
	[ "$status" -eq 0 ]
	cmp "$T/m" - <&8
	exec 8<&-
	[ ! -e "$T/r/step-00000001" ]
	[[ $stderr == *"lm-train: warning: $T/r/step-00000002: cannot remove"* ]]
	[ "$(readlink "$T/r/latest")" = step-00000003 ]
	# the next start removes it
	resume "$T/r" --after-save true
	[ "$(ls -A "$T/r" | tr '\n' ' ')" = \
		"config.json latest step-00000003 train.jsonl " ]
}

@test "a log that a full disk truncated within a line is continued" {
	cp -r "$W/base" "$T/r"
	at=$(($(stat -c %s "$T/r/train.jsonl") / 1024 + 1))
	run --separate-stderr bash -c "trap '' XFSZ; ulimit -f $at
		exec '$BIN/lm-train' --resume '$T/r' --steps 90 --peak-tflops 1"
	[ "$status" -eq 2 ]
	[[ $stderr == *"train.jsonl: cannot write"* ]]
	[ "$(stat -c %s "$T/r/train.jsonl")" = $((at * 1024)) ]
	[ "$(tail -c 1 "$T/r/train.jsonl")" != "" ]
	resume "$T/r" --steps 12
	for n in $(seq 0 11); do
		[ "$(grep -c "^{\"type\":\"step\",\"step\":$n,.*}$" \
			"$T/r/train.jsonl")" = 1 ]
	done
	run ! grep -qv '^{.*}$' "$T/r/train.jsonl"
}

@test "INT during --after-save saves and ends the run by INT" {
	env --default-signal=INT "${TRAIN[@]}" -o "$T/r" --steps 1M --save-every 2 \
		--after-save "echo > '$T/in'; while [ ! -e '$T/go' ]; do sleep 0.1; done" & pid=$!
	for _ in $(seq 300); do
		[ -e "$T/in" ] && break
		sleep 0.1
	done
	kill -INT $pid
	: > "$T/go"
	status=0
	wait $pid || status=$?
	[ $status -eq 130 ]
	[ "$(readlink "$T/r/latest")" = step-00000002 ]
}
