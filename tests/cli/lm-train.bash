# lm-train.bash - a small run, for lm-train.bats and lm-train-resume.bats

bats_require_minimum_version 1.5.0

setup_file() {
	export BIN=${BIN:-bin}
	export W=$BATS_FILE_TMPDIR MODELS=$PWD/tests/data/models
	zstd -dcq tests/data/text/digitalgov.jsonl.zst | head -60 > "$W/d.jsonl"
	"$BIN/tok-train" --vocab-size 300 -q -o "$W/tokenizer.json" "$W/d.jsonl"
	"$BIN/pack" -q --tokenizer "$W/tokenizer.json" --seq-len 32 \
		--val-frac 0.2 --val-out "$W/val" -o "$W/train" "$W/d.jsonl"
	commands
	train -o "$W/base" --steps 8 --save-every 4
}

setup() {
	T=$BATS_TEST_TMPDIR
	commands
}

# A model of 20,000 parameters.  Arrays, because a background function cannot
# be sent a signal.
commands() {
	TRAIN=("$BIN/lm-train" --hidden-size 32 --layers 2 --heads 4
		--kv-heads 2 --intermediate-size 48 --data "$W/train"
		--batch-size 4 --tokenizer "$W/tokenizer.json" --peak-tflops 1
		--lr 1e-2 --warmup-steps 2 --seed 3)
	RESUME=("$BIN/lm-train" --peak-tflops 1 --resume)
}

train() {
	"${TRAIN[@]}" "$@"
}

resume() {
	"${RESUME[@]}" "$@"
}

# The log without times, and without events that only a resume has.
plain_log() {
	grep -vE '"type":"(resume|checkpoint|signal)"' "$1/train.jsonl" |
		sed -E 's/,"(tokens_per_s|mfu|step_s|data_wait_s|eval_s)":[^,}]*//g'
}

# Two runs with the same steps and the same final state.
same_run() {
	cmp "$1/latest/model.safetensors" "$2/latest/model.safetensors"
	cmp "$1/latest/optimizer.safetensors" "$2/latest/optimizer.safetensors"
	diff <(plain_log "$1") <(plain_log "$2")
}

refused() {
	run --separate-stderr "$@"
	[ "$status" -eq 2 ] || { echo "status $status"; false; }
	[[ $stderr == lm-train:* ]]
}

# KEY FILE: the first number or word with this key in a JSON file.
value() {
	grep -oE "\"$1\": ?(\"[^\"]*\"|[^,}]*)" "$2" | head -1 |
		sed -E 's/^[^:]*: ?//; s/"//g'
}

# RUN STEP: until the log has the line of that step.
wait_for_line() {
	for _ in $(seq 600); do
		grep -q "\"type\":\"step\",\"step\":$2," "$1/train.jsonl" 2> "$T/err" && return
		sleep 0.1
	done
	echo "no step $2"
	return 1
}
