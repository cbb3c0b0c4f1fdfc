#!/usr/bin/env bats
# lm-train: a run is a folder that others can use, and that survives anything.

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

# A model of 20,000 parameters.  Arrays, as functions that call them cannot be
# sent a signal.
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

# The log without what a clock says; events that only a resume has are out.
plain_log() {
	grep -vE '"type":"(resume|checkpoint|signal)"' "$1/train.jsonl" |
		sed -E 's/,"(tokens_per_s|mfu|step_s|data_wait_s)":[^,}]*//g'
}

# Two runs end in the same state by the same way.
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

# KEY FILE: a number or word of a JSON file, one key a line or not.
value() {
	grep -oE "\"$1\": ?(\"[^\"]*\"|[^,}]*)" "$2" | head -1 |
		sed -E 's/^[^:]*: ?//; s/"//g'
}

# --- the folder and the log -------------------------------------------------

@test "a run folder has what COMMANDS names" {
	cd "$W/base"
	[ "$(ls | tr '\n' ' ')" = \
		"config.json latest step-00000004 step-00000008 train.jsonl " ]
	[ "$(readlink latest)" = step-00000008 ]
	for f in config.json generation_config.json manifest.json \
		model.safetensors optimizer.safetensors tokenizer.json \
		tokenizer_config.json train_state.json; do
		[ -s "latest/$f" ]
	done
	cmp latest/tokenizer.json "$W/tokenizer.json"
	[ "$(value step latest/train_state.json)" = 8 ]
	[ "$(value rope_theta latest/config.json)" = 10000 ]
	grep -q '"rope_parameters": {"rope_type": "default", "rope_theta": 10000}' \
		latest/config.json
	[ "$(value bos_token_id latest/config.json)" = 298 ]
}

@test "a step line has these keys in this order, the first loss is near ln V" {
	[ "$(grep -c '"type":"step"' "$W/base/train.jsonl")" = 8 ]
	head -1 "$W/base/train.jsonl" | grep -oE '"[a-z_]+":' | tr -d '":\n' > "$T/keys"
	[ "$(cat "$T/keys")" = \
		typesteptokenslossgrad_normlrtokens_per_smfustep_sdata_wait_sln_vocab ]
	head -1 "$W/base/train.jsonl" | awk -F'[:,]' '{
		for (i = 1; i < NF; i++) {
			if ($i == "\"loss\"") loss = $(i + 1)
			if ($i == "\"ln_vocab\"") want = $(i + 1) + 0
			if ($i == "\"step\"") step = $(i + 1)
			if ($i == "\"tokens\"") tokens = $(i + 1)
		}
		exit !(step == 0 && tokens == 128 && loss - want < 0.1 && want - loss < 0.1)
	}'
}

@test "weights: only real rows of the vocabulary, tied has no lm_head" {
	head -c 3000 "$W/base/latest/model.safetensors" > "$T/h"
	grep -aq '"model.embed_tokens.weight":{"dtype":"BF16","shape":\[300,32\]' "$T/h"
	run ! grep -aq lm_head "$T/h"
	train -o "$T/u" --steps 1 --no-tie-embeddings --qk-norm --dtype fp32
	head -c 4000 "$T/u/latest/model.safetensors" > "$T/h"
	grep -aq '"lm_head.weight":{"dtype":"F32","shape":\[300,32\]' "$T/h"
	grep -aq 'model.layers.1.self_attn.q_norm.weight' "$T/h"
	grep -q Qwen3ForCausalLM "$T/u/latest/config.json"
}

@test "evaluation: the same windows each time, bits per byte" {
	train -o "$T/r" --steps 4 --val-data "$W/val" --eval-every 2 \
		--eval-windows 6
	grep '"type":"eval"' "$T/r/train.jsonl" > "$T/e"
	[ "$(wc -l < "$T/e")" = 2 ]
	grep -q '^{"type":"eval","step":2,"loss":[0-9.]*,"windows":6,"tokens":[0-9]*,"bits_per_byte":[0-9.]*}$' "$T/e"
	[ "$(sed 's/.*"tokens":\([0-9]*\).*/\1/' "$T/e" | sort -u | wc -l)" = 1 ]
}

@test "eval loss does not depend on the micro-batch" {
	for m in 1 3 4; do
		train -o "$T/r$m" --steps 1 --dtype fp32 --device ref \
			--val-data "$W/val" --eval-windows 5 --micro-batch $m --lr 1e-12
		grep '"type":"eval"' "$T/r$m/train.jsonl" |
			sed 's/.*"loss":\([0-9.]*\).*/\1/' | cut -c1-7 >> "$T/losses"
	done
	[ "$(sort -u "$T/losses" | wc -l)" = 1 ]
}

@test "samples on schedule, from options and from a file" {
	echo '{"prompt":"It is"}' > "$T/p.jsonl"
	train -o "$T/r" --steps 2 --sample-every 1 --prompt 'The "A"' \
		--prompts "$T/p.jsonl" --sample-tokens 5
	[ "$(grep -c '"type":"sample"' "$T/r/train.jsonl")" = 4 ]
	grep -q '"type":"sample","step":1,"prompt":"The \\"A\\"","text":".*"tokens":\[[0-9,]*\]}' \
		"$T/r/train.jsonl"
	echo '{"prompt":3}' > "$T/p.jsonl"
	refused train -o "$T/x" --steps 2 --prompts "$T/p.jsonl"
	[[ $stderr == *p.jsonl:1:* ]]
}

@test "BOS and EOS that pack was told of are those of the model" {
	zstd -dcq tests/data/tok/mistral7b_tokenizer.json.zst > "$T/m.json"
	"$BIN/pack" -q --tokenizer "$T/m.json" --bos-token '<s>' \
		--eos-token '</s>' --seq-len 16 -o "$T/d" "$W/d.jsonl"
	tiny=("$BIN/lm-train" --hidden-size 8 --layers 1 --heads 2
		--intermediate-size 8 --batch-size 2 --steps 1 --peak-tflops 1)
	"${tiny[@]}" --data "$T/d" --tokenizer "$T/m.json" -o "$T/r"
	[ "$(value bos_token_id "$T/r/latest/config.json")" = 1 ]
	[ "$(value eos_token_id "$T/r/latest/config.json")" = 2 ]
	[ "$(value bos_token "$T/r/latest/tokenizer_config.json")" = "<s>" ]
	# and the other way round: none in the data, none later
	"$BIN/pack" -q --tokenizer "$W/tokenizer.json" --no-bos --seq-len 16 \
		-o "$T/n" "$W/d.jsonl"
	"${tiny[@]}" --data "$T/n" --tokenizer "$W/tokenizer.json" -o "$T/q"
	[ "$(value bos_token_id "$T/q/latest/config.json")" = null ]
	[ "$(value eos_token_id "$T/q/latest/config.json")" = 299 ]
}

@test "presets have their shapes, options change them" {
	"$BIN/lm-train" --preset 1M --data "$W/train" --tokenizer \
		"$W/tokenizer.json" --steps 1 --seq-len 8 --batch-size 1 \
		--layers 1 --peak-tflops 1 -o "$T/r"
	c=$T/r/latest/config.json
	[ "$(value hidden_size "$c")" = 128 ]
	[ "$(value num_hidden_layers "$c")" = 1 ]
	[ "$(value num_attention_heads "$c")" = 4 ]
	[ "$(value num_key_value_heads "$c")" = 2 ]
	[ "$(value intermediate_size "$c")" = 384 ]
	[ "$(value tie_word_embeddings "$c")" = true ]
	[ "$(value preset "$T/r/config.json")" = 1M ]
}

@test "--config: a run's own config.json repeats it, the command line wins" {
	"$BIN/lm-train" --config "$W/base/config.json" -o "$T/again"
	same_run "$W/base" "$T/again"
	"$BIN/lm-train" --config "$W/base/config.json" --seed 4 --steps 1 -o "$T/b"
	[ "$(value seed "$T/b/config.json")" = 4 ]
	run ! cmp -s <(plain_log "$T/b") <(plain_log "$W/base" | head -1)
	# a preset there is not undone by the dimensions in the file
	"$BIN/lm-train" --config "$W/base/config.json" --preset 1M --layers 1 \
		--steps 0 -o "$T/p"
	for k in hidden_size:128 layers:1 kv_heads:2 head_dim:32 \
		intermediate_size:384; do
		[ "$(value "${k%:*}" "$T/p/config.json")" = "${k#*:}" ]
	done
	echo '{"learning-rate": 1}' > "$T/c.json"
	refused "$BIN/lm-train" --config "$T/c.json" -o "$T/x"
	[[ $stderr == *learning-rate* ]]
}

@test "--config: what nobody chose follows what is chosen now" {
	again() {
		rm -rf "$T/c"
		"$BIN/lm-train" --config "$W/base/config.json" --steps 0 -q \
			-o "$T/c" "$@" 2> "$T/err"
	}
	has() {	# KEY:VALUE...
		for k; do
			[ "$(value "${k%:*}" "$T/c/config.json")" = "${k#*:}" ] ||
				{ echo "$k"; grep "${k%:*}" "$T/c/config.json"; return 1; }
		done
	}
	[ "$(value min_lr "$W/base/config.json")" = 0.001 ]
	grep -q '"derived": \["head_dim", "vocab_size", .*"min_lr", "decay_steps"\]' \
		"$W/base/config.json"
	again --lr 1e-4
	has lr:1e-04 min_lr:1e-05 warmup_steps:2
	again --steps 50 --schedule wsd --stop-after 1
	has decay_steps:10 min_lr:0.001
	again --heads 2
	has heads:2 kv_heads:2 head_dim:16 hidden_size:32
	again --vocab-size 400
	has vocab_size:400
	again --seq-len 8 --batch-size 1000
	has seq_len:8 micro_batch:512
	"$BIN/pack" -q --tokenizer "$MODELS/llama-gqa/tokenizer.json" \
		--seq-len 24 -o "$T/d" "$W/d.jsonl"
	again --data "$T/d" --tokenizer "$MODELS/llama-gqa/tokenizer.json"
	has seq_len:24 vocab_size:320
	# what was chosen stays, and is named where it does not fit
	sed 's/"min_lr", //' "$W/base/config.json" > "$T/chosen.json"
	refused "$BIN/lm-train" --config "$T/chosen.json" --lr 1e-4 -o "$T/x"
	[[ $stderr == *"--min-lr is 0.001"*"--lr is 0.0001"* ]]
	"$BIN/lm-train" --config "$T/chosen.json" --lr 1e-1 --steps 0 -o "$T/y"
	[ "$(value min_lr "$T/y/config.json")" = 0.001 ]
	# a file with what a folder does not have is no silent loser
	echo '{"tie_embeddings": true}' > "$T/t.json"
	refused "$BIN/lm-train" --config "$T/t.json" --init-from "$MODELS/llama-gqa" \
		--data "$T/d" -o "$T/x"
	[[ $stderr == *"--tie-embeddings"* ]]
}

@test "--resume --steps: a derived decay is that of the longer run" {
	train -o "$T/long" --schedule wsd --steps 20
	train -o "$T/r" --schedule wsd --steps 10 --stop-after 6
	resume "$T/r" --steps 20
	same_run "$T/long" "$T/r"
	grep -q '"changed":"steps 10 20\\ndecay-steps 2 4\\n"' "$T/r/train.jsonl"
	train -o "$T/q" --schedule wsd --steps 10 --decay-steps 3 --stop-after 6
	resume "$T/q" --steps 20
	[ "$(value decay_steps "$T/q/config.json")" = 3 ]
}

@test "-j 1, 2, 7: the same bits; another seed: others" {
	for j in 1 2 7; do
		train -o "$T/j$j" --steps 3 -j $j
	done
	same_run "$T/j1" "$T/j2"
	same_run "$T/j1" "$T/j7"
	train -o "$T/s" --steps 3 --seed 4
	run ! same_run "$T/j1" "$T/s"
}

# --- resume -----------------------------------------------------------------

@test "20 steps are 10 and 10" {
	train -o "$T/whole" --steps 20 --val-data "$W/val" --eval-every 5 --z-loss 1e-4
	train -o "$T/half" --steps 20 --val-data "$W/val" --eval-every 5 --z-loss 1e-4 \
		--stop-after 10
	[ "$(readlink "$T/half/latest")" = step-00000010 ]
	resume "$T/half"
	same_run "$T/whole" "$T/half"
	[ "$(grep -c '"type":"resume"' "$T/half/train.jsonl")" = 1 ]
}

@test "a finished run has nothing to do; --steps goes on" {
	cp -r "$W/base" "$T/r"
	resume "$T/r" 2> "$T/err"
	grep -q "8 of 8 steps are done: nothing to train" "$T/err"
	[ "$(grep -c '"type":"step"' "$T/r/train.jsonl")" = 8 ]
	resume "$T/r" --steps 10
	[ "$(grep -c '"type":"step"' "$T/r/train.jsonl")" = 10 ]
	[ "$(readlink "$T/r/latest")" = step-00000010 ]
	grep -q '"changed":"steps 8 10' "$T/r/train.jsonl"
}

@test "the log is cut back: each step has one line" {
	cp -r "$W/base" "$T/r"
	rm -r "$T/r/step-00000008"
	printf '{"type":"st' >> "$T/r/train.jsonl"
	resume "$T/r"
	same_run "$W/base" "$T/r"
	[ "$(grep -c '"step":5,' "$T/r/train.jsonl")" = 1 ]
}

@test "the newest valid checkpoint is taken, the broken one named" {
	cp -r "$W/base" "$T/r"
	printf x | dd of="$T/r/step-00000008/optimizer.safetensors" bs=1 \
		seek=9000 conv=notrunc 2> "$T/dd"
	run --separate-stderr resume "$T/r"
	[ "$status" -eq 0 ]
	[[ $stderr == *step-00000008/optimizer.safetensors*passing\ over* ]]
	same_run "$W/base" "$T/r"
	for d in "$T"/r/step-*; do
		: > "$d/model.safetensors"
	done
	refused resume "$T/r"
	[[ $stderr == *"no valid checkpoint"* ]]
}

@test "behind a broken newer checkpoint --keep keeps what is written" {
	cp -r "$W/base" "$T/r"
	: > "$T/r/step-00000008/model.safetensors"
	resume "$T/r" --keep 1 --stop-after 2
	[ "$(readlink "$T/r/latest")" = step-00000006 ]
	[ -s "$T/r/latest/manifest.json" ]
	[ ! -e "$T/r/step-00000004" ]
	resume "$T/r" --keep 0
	same_run "$W/base" "$T/r"
}

@test "a resume sets latest right" {
	cp -r "$W/base" "$T/r"
	ln -sfn step-00000004 "$T/r/latest"
	ln -s step-00000008 "$T/r/.latest.77.tmp"
	resume "$T/r"
	[ "$(readlink "$T/r/latest")" = step-00000008 ]
	[ -z "$(find "$T/r" -name '*.tmp')" ]
}

@test "a checkpoint with exchanged weights is refused" {
	cp -r "$W/base" "$T/r"
	cp "$T/r/step-00000004/model.safetensors" "$T/r/step-00000008/"
	# a manifest that fits the exchanged file
	m4=$(grep '"model.safetensors"' "$T/r/step-00000004/manifest.json")
	sed -i "s|.*\"model.safetensors\".*|$m4|" "$T/r/step-00000008/manifest.json"
	refused resume "$T/r"
	[[ $stderr == *"is not the rounded master"* ]]
}

@test "other options or data are refused by name, unless told to" {
	cp -r "$W/base" "$T/r"
	refused resume "$T/r" --lr 0.5
	[[ $stderr == *"--lr is 0.5, the run has 0.01"* ]]
	refused resume "$T/r" --seq-len 16
	[[ $stderr == *--seq-len* ]]
	refused resume "$T/r" --data "$W/val"
	[[ $stderr == *"not those of the run"* ]]
	resume "$T/r" --lr 0.5 --allow-changed-config --steps 9
	grep -q '"type":"lr_restart","step":8,"lr_before":0.0' "$T/r/train.jsonl"
	run -1 grep -q lr_restart "$W/base/train.jsonl"
	resume "$T/r" --data "$W/val" --allow-changed-data --steps 10
	grep -q '"step":9,.*"lr":' "$T/r/train.jsonl"
}

@test "a checkpoint in place of its run is named as such" {
	refused resume "$W/base/latest"
	[[ $stderr == *"/latest: a checkpoint, "*"folder of its run"* ]]
}

@test "each option that decides what is computed is refused by name" {
	set -- preset:10M hidden-size:64 layers:3 heads:2 kv-heads:1 head-dim:16 \
		intermediate-size:64 vocab-size:400 rope-theta:5000 \
		norm-eps:1e-6 no-tie-embeddings qk-norm init-std:0.1 \
		embed-scale:2 init-from:"$MODELS/qwen3" shard-format:nanogpt \
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
	# these are all that there are
	grep -oE '^  "[a-z_0-9]+"' "$W/base/config.json" | tr -d ' "' | tr _ - |
		grep -vxE 'data|val-data|tokenizer|steps|save-every|keep|after-save|eval-(every|windows)|sample-(every|tokens)|prompts?|peak-tflops|derived|world-size|data-hash|val-hash|version' \
		> "$T/all"
	diff "$T/all" "$T/tried"
	# what the weights decide stays refused, whatever is allowed
	for o in "--hidden-size 64" "--layers 3" --no-tie-embeddings --qk-norm; do
		# shellcheck disable=SC2086
		refused resume "$W/base" $o --allow-changed-config
		[[ $stderr == *"${o%% *}"*"folder"* ]]
	done
	# the same value, and the same folder by another path, is no change
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

@test "the data position counts batches, however they are cut" {
	train -o "$T/whole" --steps 8 --accum 4
	train -o "$T/r" --steps 8 --accum 4 --stop-after 5
	[ "$(value next_sample "$T/r/latest/train_state.json")" = 20 ]
	resume "$T/r"
	same_run "$T/whole" "$T/r"
	[ "$(value tokens "$T/r/latest/train_state.json")" = $((8 * 4 * 32)) ]
	# tokens and the rate are those of steps, not of their parts
	for d in whole r; do
		perl -ne 'next unless /"step":(\d+),"tokens":(\d+)/;
			die $_ if $2 != 128 * ($1 + 1)' "$T/$d/train.jsonl"
	done
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

@test "rates after a resume are those of this start; mfu has its yardstick" {
	cp -r "$W/base" "$T/r"
	resume "$T/r" --steps 10
	perl -ne '
		next unless /"step":(\d+),.*"tokens_per_s":([\d.e+]+),"mfu":([\d.e+-]+),"step_s":([\d.e-]+)/;
		my ($step, $rate, $mfu, $s) = ($1, $2, $3, $4);
		# 6 a weight that multiplies, 6 L H D T for attention; peak 10^12
		my $want = (6 * (300 * 32 + 2 * (32 * 96 + 3 * 32 * 48)) +
			6 * 2 * 4 * 8 * 32) * $rate / 1e12;
		die "mfu $mfu, not $want" if abs($mfu / $want - 1) > 1e-6;
		$n++;
		next unless $step == 0 || $step == 8;
		die "step $step: $rate" if abs($rate * $s / 128 - 1) > 1e-3;
		END { die "$n lines" if $n != 10 }' "$T/r/train.jsonl"
	"$BIN/lm-train" --config "$W/base/config.json" --steps 1 --device ref \
		--peak-tflops 0 -o "$T/u"
	grep -q '"mfu":null' "$T/u/train.jsonl"
}

@test "updates too small for bf16 are not lost" {
	train -o "$T/r" --steps 3 --lr 1e-7 --warmup-steps 0 \
		--weight-decay 0 --min-lr 1e-7
	train -o "$T/z" --steps 0
	# Adam moves each weight by about lr a step: of the 32-bit masters, which
	# come first in their file, few stay; of the rounded weights most do
	stay() {	# FILE WIDTH PARTS: share that is equal in both
		perl -e '
			my ($file, $w, $parts, @dir) = @ARGV;
			my @f = map { local $/; open my $h, "<:raw", "$_/$file" or die;
				my $b = <$h>; substr $b, 8 + unpack "Q<", $b } @dir;
			my ($same, $n) = (0, length($f[0]) / $parts);
			for (my $i = 0; $i < $n; $i += $w) {
				$same++ if substr($f[0], $i, $w) eq substr($f[1], $i, $w);
			}
			printf "%d\n", 100 * $same * $w / $n' "$@" \
			"$T/z/latest" "$T/r/latest"
	}
	[ "$(stay model.safetensors 2 1)" -gt 90 ]
	[ "$(stay optimizer.safetensors 4 3)" -lt 10 ]
}

@test "a lost optimizer: the file is named, the weights alone are offered" {
	cp -r "$W/base" "$T/r"
	rm "$T"/r/step-*/optimizer.safetensors
	refused resume "$T/r"
	[[ $stderr == *"step-00000008/optimizer.safetensors: cannot open"* ]]
	[[ $stderr == *"no valid checkpoint among 2 (--init-from a checkpoint starts anew from its weights alone)"* ]]
	# a manifest that does not ask for it does not help
	for m in "$T"/r/step-*/manifest.json; do
		perl -0pi -e 's/,\s*"optimizer.safetensors":\{[^}]*\}//' "$m"
	done
	refused resume "$T/r"
	[[ $stderr == *"step-00000008/optimizer.safetensors"*"(--init-from $T/r/step-00000008 starts"* ]]
	"$BIN/lm-train" --init-from "$T/r/latest" --data "$W/train" --steps 1 \
		--batch-size 4 --peak-tflops 1 -o "$T/new"
}

@test "the padding of the vocabulary has no probability" {
	head -c 80 /dev/zero > "$T/zero.bin"
	"$BIN/lm-train" --preset 1M --layers 1 --data "$T/zero.bin" --vocab-size 2 \
		--shard-format nanogpt --seq-len 16 --batch-size 2 --steps 2 \
		--dtype fp32 --peak-tflops 1 -o "$T/r"
	for i in 0 1; do
		echo '{"context":[1],"continuation":['$i']}'
	done | "$BIN/lm-sample" --model "$T/r/latest" --score - --json -q |
		perl -ne '/"logprob":([-\d.e]+)/; $p += exp $1;
			END { die $p if abs($p - 1) > 1e-5 }'
	echo '{"prompt":[1]}' | "$BIN/lm-sample" --model "$T/r/latest" --json \
		--temperature 100 --max-tokens 300 > "$T/out"
	grep -qE '"tokens":\[[01](,[01])*\]' "$T/out"
}

@test "16-bit ids and a larger vocabulary are refused" {
	"$BIN/pack" -q --tokenizer "$W/tokenizer.json" --shard-format llmc \
		-o "$T/d" "$W/d.jsonl"
	refused "$BIN/lm-train" --preset 1M --layers 1 --data "$T/d" \
		--vocab-size 70000 --seq-len 16 --batch-size 1 \
		--steps 1 --peak-tflops 1 -o "$T/r"
	[[ $stderr == *"$T/d/00000.bin: ids of 2 bytes cannot hold a vocabulary of 70000"* ]]
}

@test "a resume on another number of threads gives the same bits" {
	train -o "$T/r" --steps 8 --save-every 4 --stop-after 3 -j 1
	resume "$T/r" -j 7 --stop-after 2
	resume "$T/r" -j 2
	same_run "$W/base" "$T/r"
}

@test "--stop-after 0 goes on to --steps; fewer steps than the warm-up" {
	cp -r "$W/base" "$T/r"
	resume "$T/r" --stop-after 0 --steps 10
	[ "$(readlink "$T/r/latest")" = step-00000010 ]
	run --separate-stderr train -o "$T/w" --steps 2 --warmup-steps 4
	[ "$status" -eq 0 ]
	[[ $stderr == *"warning: --warmup-steps 4 of 2 steps: the peak is never reached"* ]]
	[ "$(sed -n 's/.*"lr":\([^,]*\),.*/\1/p' "$T/w/train.jsonl" | tr '\n' ' ')" = \
		"0.0025 0.005 " ]
	# no step at all: the initial weights, saved
	train -o "$T/z" --steps 0
	[ "$(readlink "$T/z/latest")" = step-00000000 ]
}

@test "shards that moved are no change" {
	cp -r "$W/base" "$T/r"
	cp -r "$W/train" "$T/elsewhere"
	resume "$T/r" --data "$T/elsewhere" --steps 9
}

@test "a run is not written over, and not by two at once" {
	refused train -o "$W/base" --steps 1
	[[ $stderr == *"--resume"* ]]
	cp -r "$W/base" "$T/r"
	"${RESUME[@]}" "$T/r" --steps 1M & pid=$!
	wait_for_line "$T/r" 9
	refused resume "$T/r"
	[[ $stderr == *"another lm-train"* ]]
	# a new run in that folder neither, nor beside one that has just begun
	refused train -o "$T/r" --steps 1
	[[ $stderr == *"another lm-train"* ]]
	kill -TERM $pid
	wait $pid || :
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

# --- signals, kills, full disks ---------------------------------------------

@test "TERM and INT: the step is finished, saved, the process ends by it" {
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
	# it goes on as if nothing had been: one line for each step
	n=$((n + 2))
	resume "$d" --steps $n
	[ "$(grep -c '"type":"step"' "$d/train.jsonl")" = $n ]
}

@test "USR1: a checkpoint now, and on it goes" {
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

@test "a storm of USR1: checkpoints, whole ones, and each step once" {
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

@test "killed at any moment, a restart ends where the whole run ends" {
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

@test "killed before the first checkpoint, it begins again" {
	cp -r "$W/base" "$T/r"
	rm -r "$T"/r/step-* "$T/r/latest"
	resume "$T/r"
	same_run "$W/base" "$T/r"
}

@test "no room: status 2, the old checkpoint is as it was" {
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
	[[ $stderr == *"--after-save: command ended with status 7"* ]]
}

@test "--keep: with a reader, with a folder inside, and where it cannot" {
	train -o "$T/r" --steps 3 --stop-after 1
	mkdir "$T/r/step-00000001/eval"
	echo 1 > "$T/r/step-00000001/eval/scores"
	cp "$T/r/step-00000001/model.safetensors" "$T/m"
	exec 8< "$T/r/step-00000001/model.safetensors"
	# what is already there under the name for removal is in the way
	run --separate-stderr resume "$T/r" --save-every 1 --keep 1 \
		--after-save "mkdir -p '$T/r/.step-00000002.prune.tmp/x'"
	[ "$status" -eq 0 ]
	cmp "$T/m" - <&8
	exec 8<&-
	[ ! -e "$T/r/step-00000001" ]
	[[ $stderr == *"lm-train: warning: $T/r/step-00000002: cannot remove"* ]]
	[ "$(readlink "$T/r/latest")" = step-00000003 ]
	# the next start clears up
	resume "$T/r" --after-save true
	[ "$(ls -A "$T/r" | tr '\n' ' ')" = \
		"config.json latest step-00000003 train.jsonl " ]
}

@test "a log that a full disk cut inside a line goes on" {
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

@test "INT while --after-save runs ends the run, saved, and by INT" {
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

# --- other people's models --------------------------------------------------

@test "--init-from: each kind of folder; what is saved is the same model" {
	"$BIN/pack" -q --tokenizer "$MODELS/llama-tied/tokenizer.json" \
		--seq-len 32 -o "$T/d" "$W/d.jsonl"
	for m in llama-tied llama-gqa qwen3 llama-bf16-sharded; do
		"$BIN/lm-train" --init-from "$MODELS/$m" --data "$T/d" --steps 2 \
			--lr 1e-4 --batch-size 2 --peak-tflops 1 -o "$T/$m"
		for k in vocab_size hidden_size num_key_value_heads head_dim \
			tie_word_embeddings model_type bos_token_id; do
			[ "$(value $k "$T/$m/latest/config.json")" = \
				"$(value $k "$MODELS/$m/config.json")" ]
		done
		# a trained model starts below ln V or not; it starts somewhere
		grep -q '"step":1,.*"loss":[0-9]' "$T/$m/train.jsonl"
		resume "$T/$m" --steps 3
	done
}

@test "--init-from: what it cannot do is refused by name" {
	cp -r "$MODELS/llama-tied" "$T/m"
	chmod -R u+w "$T/m"
	sed -i 's/"hidden_act"/"rope_scaling": {"rope_type": "llama3", "factor": 8}, "hidden_act"/' \
		"$T/m/config.json"
	refused train --init-from "$T/m" --steps 1 -o "$T/r"
	[[ $stderr == *rope_scaling* ]]
	cp "$MODELS/llama-tied/config.json" "$T/m/config.json"
	sed -i 's/"tie_word_embeddings": true/"tie_word_embeddings": false/' "$T/m/config.json"
	refused "$BIN/lm-train" --init-from "$T/m" --vocab-size 320 --data "$W/train" \
		--steps 1 --peak-tflops 1 -o "$T/r" --tokenizer "$W/tokenizer.json"
	[[ $stderr == *"lm_head.weight is missing"* ]]
	[ ! -e "$T/r" ]
	head -c 5000 "$MODELS/llama-tied/model.safetensors" > "$T/m/model.safetensors"
	cp "$MODELS/llama-tied/config.json" "$T/m/config.json"
	refused "$BIN/lm-train" --init-from "$T/m" --data "$W/train" --steps 1 \
		--tokenizer "$W/tokenizer.json" -o "$T/r"
	[[ $stderr == *model.safetensors*truncated* ]]
}

# --- data that does not fit -------------------------------------------------

@test "too short, another tokenizer, an id out of range" {
	refused train --seq-len 9000000 --steps 1 -o "$T/r"
	[[ $stderr == *"need >= T+1 = 9000001 tokens, have "* ]]
	refused train --tokenizer "$MODELS/llama-tied/tokenizer.json" --steps 1 -o "$T/r"
	[[ $stderr == *"another tokenizer"* ]]
	refused train --val-data "$T/nowhere" --steps 1 -o "$T/r"
	[[ $stderr == *"$T/nowhere"*"No such file"* ]]
	echo '{"text":"a"}' | "$BIN/pack" -q --tokenizer "$W/tokenizer.json" -o "$T/one"
	refused train --val-data "$T/one" --steps 1 -o "$T/r"
	[[ $stderr == *"$T/one: need >= T+1 = 33 tokens, have 3"* ]]
	# ids 0 alone: a vocabulary of one has nothing to learn
	head -c 80 /dev/zero > "$T/zero.bin"
	zero=("$BIN/lm-train" --preset 1M --layers 1 --data "$T/zero.bin"
		--shard-format nanogpt --seq-len 16 --batch-size 2 --steps 2
		--peak-tflops 1)
	refused "${zero[@]}" --vocab-size 1 -o "$T/r"
	[[ $stderr == *"vocabulary is 1, expected 2 to"* ]]
	refused "${zero[@]}" -o "$T/r"
	[[ $stderr == *"no vocabulary: give --tokenizer or --vocab-size"* ]]
	"${zero[@]}" --vocab-size 2 -o "$T/two"
	[ "$(value vocab_size "$T/two/latest/config.json")" = 2 ]
	for i in $(seq 40); do printf '\001\000'; done > "$T/x.bin"
	printf '\377\001' >> "$T/x.bin"
	for i in $(seq 60); do printf '\002\000'; done >> "$T/x.bin"
	refused "$BIN/lm-train" --preset 1M --layers 1 --vocab-size 300 --data "$T/x.bin" \
		--shard-format nanogpt --seq-len 16 --batch-size 6 --steps 1 \
		--peak-tflops 1 -o "$T/r"
	[[ $stderr == *511*300* ]]
	# without a tokenizer the folder says how many there are
	cp -r "$MODELS/llama-gqa" "$T/m"
	chmod u+w "$T/m"
	rm -f "$T/m/tokenizer.json"
	printf '\377\377' | dd of="$T/x.bin" bs=1 seek=80 conv=notrunc 2> "$T/dd"
	refused "$BIN/lm-train" --init-from "$T/m" --data "$T/x.bin" --shard-format \
		nanogpt --seq-len 16 --batch-size 6 --steps 1 --peak-tflops 1 -o "$T/s"
	[[ $stderr == *"x.bin: offset 80: "*65535* ]]
}

@test "bad options: status 2 before anything is written" {
	refused train --kv-heads 3 --steps 1 -o "$T/r"
	refused train --head-dim 7 --steps 1 -o "$T/r"
	refused train --dtype fp16 --steps 1 -o "$T/r"
	refused train --steps 4 --warmup-steps -1 -o "$T/r"
	refused train --eval-every 2 --steps 4 -o "$T/r"
	refused train --steps 4 --device tpu -o "$T/r"
	refused train --steps 4 stray -o "$T/r"
	refused train --steps 4
	refused resume "$T/nowhere"
	[ ! -e "$T/r" ]
}
