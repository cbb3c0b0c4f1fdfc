#!/usr/bin/env bats
# lm-train: the run folder is usable by other programs; bad input is refused.

load lm-train

# --- the folder and the log -------------------------------------------------

@test "a run folder has the files that the manual lists" {
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

@test "a step line has these keys in this order; the first loss is near ln V" {
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

@test "weights: no padding of the vocabulary, no lm_head if tied" {
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
	grep -q '^{"type":"eval","step":2,"loss":[0-9.]*,"windows":6,"tokens":[0-9]*,"bits_per_byte":[0-9.]*,"eval_s":[0-9.e-]*}$' "$T/e"
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

@test "BOS and EOS given to pack are those of the model" {
	zstd -dcq tests/data/tok/mistral7b_tokenizer.json.zst > "$T/m.json"
	"$BIN/pack" -q --tokenizer "$T/m.json" --bos-token '<s>' \
		--eos-token '</s>' --seq-len 16 -o "$T/d" "$W/d.jsonl"
	tiny=("$BIN/lm-train" --hidden-size 8 --layers 1 --heads 2
		--intermediate-size 8 --batch-size 2 --steps 1 --peak-tflops 1)
	"${tiny[@]}" --data "$T/d" --tokenizer "$T/m.json" -o "$T/r"
	[ "$(value bos_token_id "$T/r/latest/config.json")" = 1 ]
	[ "$(value eos_token_id "$T/r/latest/config.json")" = 2 ]
	[ "$(value bos_token "$T/r/latest/tokenizer_config.json")" = "<s>" ]
	# without BOS in the data, the model has none
	"$BIN/pack" -q --tokenizer "$W/tokenizer.json" --no-bos --seq-len 16 \
		-o "$T/n" "$W/d.jsonl"
	"${tiny[@]}" --data "$T/n" --tokenizer "$W/tokenizer.json" -o "$T/q"
	[ "$(value bos_token_id "$T/q/latest/config.json")" = null ]
	[ "$(value eos_token_id "$T/q/latest/config.json")" = 299 ]
}

@test "presets have their shapes, options override them" {
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

@test "--config: a run's config.json repeats it; the command line takes precedence" {
	"$BIN/lm-train" --config "$W/base/config.json" -o "$T/again"
	same_run "$W/base" "$T/again"
	"$BIN/lm-train" --config "$W/base/config.json" --seed 4 --steps 1 -o "$T/b"
	[ "$(value seed "$T/b/config.json")" = 4 ]
	run ! cmp -s <(plain_log "$T/b") <(plain_log "$W/base" | head -1)
	# --preset overrides the dimensions in the file
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

@test "--config: options that nobody set are derived again" {
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
	# options that were set stay, and are named if they do not fit
	sed 's/"min_lr", //' "$W/base/config.json" > "$T/chosen.json"
	refused "$BIN/lm-train" --config "$T/chosen.json" --lr 1e-4 -o "$T/x"
	[[ $stderr == *"the final learning rate is 0.001, expected 0 to the peak, 0.0001"* ]]
	"$BIN/lm-train" --config "$T/chosen.json" --lr 1e-1 --steps 0 -o "$T/y"
	[ "$(value min_lr "$T/y/config.json")" = 0.001 ]
	# a setting in the file that the folder contradicts is an error
	echo '{"tie_embeddings": true}' > "$T/t.json"
	refused "$BIN/lm-train" --config "$T/t.json" --init-from "$MODELS/llama-gqa" \
		--data "$T/d" -o "$T/x"
	[[ $stderr == *"--tie-embeddings"* ]]
}

@test "-j 1, 2, 7 give the same bits; another seed does not" {
	for j in 1 2 7; do
		train -o "$T/j$j" --steps 3 -j $j
	done
	same_run "$T/j1" "$T/j2"
	same_run "$T/j1" "$T/j7"
	train -o "$T/s" --steps 3 --seed 4
	run ! same_run "$T/j1" "$T/s"
}

@test "updates too small for bf16 are not lost" {
	train -o "$T/r" --steps 3 --lr 1e-7 --warmup-steps 0 \
		--weight-decay 0 --min-lr 1e-7
	train -o "$T/z" --steps 0
	# Adam moves each weight by about lr per step: few of the 32-bit master
	# weights, first in their file, stay equal; most rounded weights do
	stay() {	# FILE WIDTH PARTS: percentage that is equal in both
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

# --- models of others --------------------------------------------------

@test "--init-from: each kind of folder; the saved model is of the same kind" {
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
		# any finite loss will do
		grep -q '"step":1,.*"loss":[0-9]' "$T/$m/train.jsonl"
		resume "$T/$m" --steps 3
	done
}

# KEY VALUE: in each file of $T/r/latest that names BOS and EOS.
ids_are() {
	for f in config.json generation_config.json train_state.json; do
		[ "$(value bos_token_id "$T/r/latest/$f")" = "$1" ] ||
			{ echo "$f"; cat "$T/r/latest/$f"; return 1; }
		[ "$(value eos_token_id "$T/r/latest/$f")" = "$2" ]
	done
	[ "$(value add_bos_token "$T/r/latest/tokenizer_config.json")" = "$3" ]
}

@test "--init-from: a checkpoint says which BOS and EOS the run used, not its parent" {
	cp -r "$MODELS/llama-gqa" "$T/m"
	chmod -R u+w "$T/m"
	sed -i 's/"\([be]os_token_id\)": [0-9]*/"\1": null/' "$T/m/config.json" \
		"$T/m/generation_config.json"
	cat > "$T/m/tokenizer_config.json" <<-'END'
	{"add_bos_token": false, "bos_token": null, "x": {"a": [1.50, "é"]},
	 "eos_token": {"content": "<|eos|>", "special": true},
	 "model_max_length": 1000000000000000019884624838656}
	END
	on() {	# PACK_OPTION...: one step on such shards
		rm -rf "$T/d" "$T/r"
		"$BIN/pack" -q --tokenizer "$MODELS/llama-gqa/tokenizer.json" \
			--seq-len 16 "$@" -o "$T/d" "$W/d.jsonl"
		"$BIN/lm-train" -q --init-from "$T/m" --data "$T/d" --steps 1 \
			--lr 1e-9 --dtype fp32 --batch-size 1 --peak-tflops 1 \
			-o "$T/r"
	}
	on
	ids_are 318 319 true
	c=$T/r/latest/tokenizer_config.json
	[ "$(value bos_token "$c")" = '<|bos|>' ]
	# other keys, and a token that is the same, keep their bytes
	grep -qF '"x": {"a": [1.50, "é"]}' "$c"
	grep -qF '"eos_token": {"content": "<|eos|>", "special": true}' "$c"
	grep -qF '"model_max_length": 1000000000000000019884624838656' "$c"
	run ! grep -q _from_model_config "$T"/r/latest/*.json
	# text is scored with that BOS
	echo '{"context":"It was","continuation":" a"}' |
		"$BIN/lm-sample" -q --model "$T/r/latest" --score - --json > "$T/a"
	"$BIN/lm-sample" -q --model "$T/r/latest" --score - --json --no-bos \
		> "$T/b" <<< '{"context":"It was","continuation":" a"}'
	run ! cmp -s "$T/a" "$T/b"
	"$BIN/lm-sample" -q --model "$T/r/latest" --score - --json --bos \
		<<< '{"context":"It was","continuation":" a"}' | cmp "$T/a" -
	# a resume keeps it
	"$BIN/lm-train" -q --resume "$T/r" --steps 2 --peak-tflops 1
	[ "$(readlink "$T/r/latest")" = step-00000002 ]
	ids_are 318 319 true
	# transformers goes by the post-processor alone
	grep -q '"post_processor": {"type": "TemplateProcessing"' \
		"$T/r/latest/tokenizer.json"
	# neither
	on --no-bos --no-eos
	ids_are null null false
	cmp "$MODELS/llama-gqa/tokenizer.json" "$T/r/latest/tokenizer.json"
	# the parent has both and more ways to end, the shards only EOS
	sed -i 's/"eos_token_id": null/"eos_token_id": [7, 319, 9]/; s/"bos_token_id": null/"bos_token_id": 318/' \
		"$T/m/generation_config.json" "$T/m/config.json"
	echo '{"add_bos_token": true, "bos_token": "<|bos|>"}' > \
		"$T/m/tokenizer_config.json"
	on --no-bos
	[ "$(value bos_token_id "$T/r/latest/config.json")" = null ]
	grep -q '"eos_token_id": \[319, 7, 9\]' "$T/r/latest/config.json"
	grep -q '"eos_token_id": \[319, 7, 9\]' "$T/r/latest/generation_config.json"
	[ "$(value add_bos_token "$T/r/latest/tokenizer_config.json")" = false ]
	[ "$(value eos_token "$T/r/latest/tokenizer_config.json")" = '<|eos|>' ]
}

@test "a tokenizer that adds no BOS adds it in a checkpoint trained with one" {
	sed 's/"post_processor": {.*/"post_processor": null,/
		/^    "single": \[/,/^    "special_tokens"/d' \
		"$W/tokenizer.json" > "$T/tokenizer.json"
	grep -q '"post_processor": null' "$T/tokenizer.json"
	echo '{"bos_token":"<|bos|>","eos_token":"<|eos|>",
		"tokenizer_class":"GPTNeoXTokenizer"}' \
		> "$T/tokenizer_config.json"
	for o in "" --no-bos; do
		rm -rf "$T/d" "$T/r"
		"$BIN/pack" -q --tokenizer "$T/tokenizer.json" $o --seq-len 16 \
			-o "$T/d" "$W/d.jsonl"
		"$BIN/lm-train" -q --hidden-size 8 --layers 1 --heads 2 \
			--intermediate-size 8 --batch-size 2 --steps 1 \
			--peak-tflops 1 --data "$T/d" --seq-len 16 -o "$T/r" \
			--tokenizer "$T/tokenizer.json"
		class=PreTrainedTokenizerFast
		if [ "$o" ]; then
			cmp "$T/tokenizer.json" "$T/r/latest/tokenizer.json"
			class=GPTNeoXTokenizer
		else	# as tok-train writes it for that BOS
			cmp "$W/tokenizer.json" "$T/r/latest/tokenizer.json"
		fi
		[ "$(value tokenizer_class \
			"$T/r/latest/tokenizer_config.json")" = $class ]
	done
}

@test "shards of other trainers: BOS where the stream begins with it" {
	for o in "298" "null --no-bos"; do
		# shellcheck disable=SC2086
		set -- $o
		rm -rf "$T/d" "$T/r"
		"$BIN/pack" -q --tokenizer "$W/tokenizer.json" "${@:2}" \
			--shard-format nanogpt -o "$T/d" "$W/d.jsonl"
		"$BIN/lm-train" -q --hidden-size 8 --layers 1 --heads 2 \
			--intermediate-size 8 --batch-size 2 --steps 1 \
			--peak-tflops 1 --data "$T/d" --shard-format nanogpt \
			--tokenizer "$W/tokenizer.json" --seq-len 16 -o "$T/r"
		ids_are "$1" 299 "$([ "$1" = null ] && echo false || echo true)"
	done
}

@test "--init-from: unsupported settings are refused by name" {
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

@test "too few tokens, another tokenizer, an id out of range" {
	refused train --seq-len 9000000 --steps 1 -o "$T/r"
	[[ $stderr == *"need >= T+1 = 9000001 tokens, have "* ]]
	refused "${TRAIN[@]/"$W/tokenizer.json"/"$MODELS/llama-tied/tokenizer.json"}" \
		--steps 1 -o "$T/r"
	[[ $stderr == *"another tokenizer"* ]]
	refused train --val-data "$T/nowhere" --steps 1 -o "$T/r"
	[[ $stderr == *"$T/nowhere"*"No such file"* ]]
	echo '{"text":"a"}' | "$BIN/pack" -q --tokenizer "$W/tokenizer.json" -o "$T/one"
	refused train --val-data "$T/one" --steps 1 -o "$T/r"
	[[ $stderr == *"$T/one: need >= T+1 = 33 tokens, have 3"* ]]
	# only id 0: a vocabulary of one has nothing to learn
	head -c 80 /dev/zero > "$T/zero.bin"
	zero=("$BIN/lm-train" --preset 1M --layers 1 --data "$T/zero.bin"
		--shard-format nanogpt --seq-len 16 --batch-size 2 --steps 2
		--peak-tflops 1)
	refused "${zero[@]}" --vocab-size 1 -o "$T/r"
	[[ $stderr == *"vocabulary is 1, expected 2 to"* ]]
	refused "${zero[@]}" -o "$T/r"
	[[ $stderr == *"no vocabulary: use --tokenizer or --vocab-size"* ]]
	"${zero[@]}" --vocab-size 2 -o "$T/two"
	[ "$(value vocab_size "$T/two/latest/config.json")" = 2 ]
	for i in $(seq 40); do printf '\001\000'; done > "$T/x.bin"
	printf '\377\001' >> "$T/x.bin"
	for i in $(seq 60); do printf '\002\000'; done >> "$T/x.bin"
	refused "$BIN/lm-train" --preset 1M --layers 1 --vocab-size 300 --data "$T/x.bin" \
		--shard-format nanogpt --seq-len 16 --batch-size 6 --steps 1 \
		--peak-tflops 1 -o "$T/r"
	[[ $stderr == *511*300* ]]
	# without a tokenizer the vocabulary is that of the folder
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

@test "options that would be ignored are refused" {
	new=("$BIN/lm-train" --data "$W/train" --tokenizer "$W/tokenizer.json"
		--steps 1 --batch-size 2 --peak-tflops 1 -o "$T/r")
	for o in "--preset 10M" "--init-std 0.1" "--embed-scale 2"; do
		# shellcheck disable=SC2086
		refused "${new[@]}" --init-from "$W/base/latest" $o
		[[ $stderr == *"--init-from and ${o% *} exclude each other"* ]]
		# also if one of them is in a file
		echo "{\"init_from\": \"$W/base/latest\"}" > "$T/c.json"
		# shellcheck disable=SC2086
		refused "${new[@]}" --config "$T/c.json" $o
		[[ $stderr == *"--init-from and ${o% *} exclude each other"* ]]
	done
	echo "{\"preset\": \"1M\", \"init_from\": \"$W/base/latest\"}" > "$T/c.json"
	refused "${new[@]}" --config "$T/c.json"
	[[ $stderr == *"--init-from and --preset exclude each other"* ]]
	# but a folder on the command line replaces the preset of a file
	echo '{"preset": "1M", "embed_scale": 3}' > "$T/c.json"
	"${new[@]}" --config "$T/c.json" --init-from "$W/base/latest"
	[ "$(value preset "$T/r/config.json")" = none ]
	[ "$(value embed_scale "$T/r/config.json")" = 1 ]
	[ "$(value hidden_size "$T/r/config.json")" = 32 ]
	for o in "--decay-steps 3:needs --schedule wsd" \
		"--schedule constant --min-lr 1e-5:no effect with --schedule constant" \
		"--eval-windows 3:needs --val-data" \
		"--sample-tokens 3:needs --prompts or --prompt" \
		"--allow-changed-data:needs --resume" \
		"--allow-changed-config:needs --resume" \
		"--split gpt2:names its own split"; do
		# shellcheck disable=SC2086
		refused train --steps 1 -o "$T/x" ${o%:*}
		[[ $stderr == *"${o##*:}"* ]] || { echo "$o: $stderr"; false; }
	done
	[ ! -e "$T/x" ]
}

@test "evaluation shards that are trained on: a warning" {
	seen() {	# PATH...: as --val-data
		rm -rf "$T/r"
		run --separate-stderr "${TRAIN[@]}" --steps 0 --warmup-steps 0 -o "$T/r" \
			"${@/#/--val-data=}"
		[ "$status" -eq 0 ]
	}
	seen "$W/val"
	[ -z "$stderr" ]
	seen "$W/train"
	[[ $stderr == *"warning: $W/train/00000.tok: is also in the training data"* ]]
	# a copy, beside others
	mkdir "$T/v"
	cp "$W/train/00000.tok" "$T/v/00007.tok"
	seen "$W/val" "$T/v"
	[[ $stderr == *"warning: $T/v/00007.tok: is also in the training data"* ]]
	"$BIN/pack" -q --tokenizer "$W/tokenizer.json" --seq-len 32 \
		--shard-tokens 1000 -o "$T/many" "$W/d.jsonl"
	run --separate-stderr "${TRAIN[@]}" --steps 0 --warmup-steps 0 -o "$T/m" \
		--data "$T/many" --val-data "$T/many"
	[[ $stderr == *"$T/many/00000.tok and "*" other evaluation shards are also in the training data"* ]]
	# files of others too
	"$BIN/pack" -q --tokenizer "$W/tokenizer.json" --shard-format nanogpt \
		-o "$T/raw" "$W/d.jsonl"
	run --separate-stderr "$BIN/lm-train" --hidden-size 8 --layers 1 \
		--heads 2 --intermediate-size 8 --steps 0 --peak-tflops 1 \
		--data "$T/raw" --val-data "$T/raw" --shard-format nanogpt \
		--tokenizer "$W/tokenizer.json" --seq-len 16 -o "$T/f"
	[[ $stderr == *"$T/raw/00000.bin: is also in the training data"* ]]
}

@test "--epochs: this many passes over the windows" {
	n=$("$BIN/decode-batch" --run "$W/base" --window 0:99999 --ids | wc -l)
	ep() {	# WANT OPTION...
		rm -rf "$T/e"
		train -q --warmup-steps 0 -o "$T/e" --stop-after 1 "${@:2}"
		[ "$(value steps "$T/e/config.json")" = "$1" ] ||
			{ echo "$@"; grep steps "$T/e/config.json"; false; }
	}
	ep $((n / 4)) --epochs 1
	ep $((2 * n / 4)) --epochs 2
	ep $((2 * n / 3)) --epochs 2 --batch-size 3
	ep $((n / 8)) --epochs 0.5
	ep $((n * 29 / 400)) --epochs 0.29
	[ "$(value epochs "$T/e/config.json")" = 0.29 ]
	ep $((n / 4)) --epochs 1 --schedule wsd
	[ "$(value decay_steps "$T/e/config.json")" = $((n / 4 / 5)) ]
	refused train --epochs 0.001 -o "$T/x"
	[[ $stderr == *"--epochs 0.001: less than one step of 4 windows (there are $n)"* ]]
	refused train --epochs 1 --steps 3 -o "$T/x"
	[[ $stderr == *"exclude each other"* ]]
	# a resume: another number of passes, another batch size, or steps
	ep $((n / 4)) --epochs 1
	resume "$T/e" -q --epochs 2 --stop-after 2
	[ "$(value steps "$T/e/config.json")" = $((2 * n / 4)) ]
	resume "$T/e" -q --batch-size 8 --allow-changed-config --stop-after 1
	[ "$(value steps "$T/e/config.json")" = $((3 + (2 * n - 12) / 8)) ]
	grep '"type":"resume"' "$T/e/train.jsonl" | tail -n 1 |
		grep -qF "steps $((2 * n / 4)) $((3 + (2 * n - 12) / 8))\n"
	resume "$T/e" -q --steps 9
	[ "$(value epochs "$T/e/config.json")" = 0 ]
	# all windows twice, then the end
	ep $((2 * n / 4)) --epochs 2
	resume "$T/e" -q --epochs 2
	[ "$(grep -c '"type":"step"' "$T/e/train.jsonl")" = $((2 * n / 4)) ]
	refused resume "$T/e" --epochs 1
	[[ $stderr == *"--epochs is 1, but $((2 * n / 4 * 4)) samples are done"* ]]
}

@test "--overwrite replaces a run once every check has passed" {
	cp -r "$W/base" "$T/r"
	mkdir "$T/r/mine"
	sum() { (cd "$1" && find . -type f -exec cksum {} + | sort); }
	sum "$T/r" > "$T/before"
	refused train -o "$T/r" --steps 2
	[[ $stderr == *"$T/r: already holds a run (use --resume to continue it, --overwrite to replace it)"* ]]
	# a start that fails leaves the old run as it is
	refused train -o "$T/r" --overwrite --steps 2 --val-data "$T/nowhere"
	refused train -o "$T/r" --overwrite --steps 2 --min-lr 1
	echo '{"prompt":3}' > "$T/p.jsonl"
	refused train -o "$T/r" --overwrite --steps 2 --prompts "$T/p.jsonl"
	refused "$BIN/lm-train" --init-from "$T/r/latest" --data "$W/train" \
		--steps 1 -o "$T/r" --overwrite
	[[ $stderr == *"is in this folder, so that --overwrite would remove it"* ]]
	refused resume "$T/r" --overwrite
	sum "$T/r" | diff "$T/before" -
	# one that cannot write its files puts the old ones back
	run --separate-stderr bash -c "trap '' XFSZ; ulimit -f 0
		exec '$BIN/lm-train' --config '$W/base/config.json' --steps 2 \
		-o '$T/r' --overwrite"
	[ "$status" -eq 2 ]
	sum "$T/r" | diff "$T/before" -
	[ "$(readlink "$T/r/latest")" = step-00000008 ]
	# one that is in use
	"${RESUME[@]}" "$T/r" --steps 1M & pid=$!
	wait_for_line "$T/r" 9
	refused train -o "$T/r" --overwrite --steps 2
	[[ $stderr == *"another lm-train"* ]]
	kill -KILL $pid
	wait $pid || :
	train -q -o "$T/r" --overwrite --steps 2
	train -q -o "$T/fresh" --steps 2
	same_run "$T/fresh" "$T/r"
	[ "$(ls -A "$T/r" | tr '\n' ' ')" = \
		"config.json latest mine step-00000002 train.jsonl " ]
	# nothing to replace
	train -q -o "$T/new" --overwrite --steps 1
}

# A resume that has nothing to train names the run that is there.
@test "--overwrite: a kill at any rename or write keeps a whole run" {
	local n kind old=0 lib=${TEST_BUILD:-build}/tests/faults/faults.so
	case ${TEST_BUILD:-} in
	*/san-*) skip "a sanitizer has its own malloc" ;;
	esac
	for kind in rename write unlink; do
		for n in 1 2 3 4 5 6 8 10 12 16; do
			rm -rf "$T/r" "$T/mark"
			cp -a "$W/base" "$T/r"
			FAULT_CALL=$kind FAULT_N=$n FAULT_MARK=$T/mark \
				FAULT_KILL=1 LD_PRELOAD=$lib GOMP_SPINCOUNT=1000 \
				train -q -j 1 \
				-o "$T/r" --overwrite --steps 2 || :
			[ -e "$T/mark" ] || break
			run --separate-stderr resume "$T/r"
			if [ -e "$T/r/step-00000008" ]; then
				old=$((old + 1))
				[ "$status" -eq 0 ]
				same_run "$W/base" "$T/r"
			else
				[ "$status" -eq 0 ]
				[ -e "$T/r/step-00000002" ]
			fi
			[ -z "$(find "$T/r" -name '.step-old*')" ]
		done
	done
	[ "$old" -gt 3 ]
}

@test "16-bit ids and a larger vocabulary are refused" {
	"$BIN/pack" -q --tokenizer "$W/tokenizer.json" --shard-format llmc \
		-o "$T/d" "$W/d.jsonl"
	refused "$BIN/lm-train" --preset 1M --layers 1 --data "$T/d" \
		--vocab-size 70000 --seq-len 16 --batch-size 1 \
		--steps 1 --peak-tflops 1 -o "$T/r"
	[[ $stderr == *"$T/d/00000.bin: ids of 2 bytes cannot hold a vocabulary of 70000"* ]]
}

@test "a full disk is reported before the first step" {
	[[ $BIN != */san-* ]] || skip "a sanitizer must be loaded first"
	cat > "$T/full.c" <<-'END'
	#include <string.h>
	#include <sys/statvfs.h>
	int statvfs(const char *p, struct statvfs *v)
	{ (void)p; memset(v, 0, sizeof *v); return 0; }
	END
	gcc -shared -fPIC -o "$T/full.so" "$T/full.c"
	refused env LD_PRELOAD="$T/full.so" "${TRAIN[@]}" --steps 2 -o "$T/run"
	[[ $stderr == *"a checkpoint needs "*", 0 are free" ]]
	[ ! -e "$T/run" ]
	train --steps 4 --stop-after 2 -o "$T/run"
	cp "$T/run/train.jsonl" "$T/log"
	refused env LD_PRELOAD="$T/full.so" "${RESUME[@]}" "$T/run"
	cmp "$T/log" "$T/run/train.jsonl"
}

@test "-v reports the start and the end of a run" {
	run --separate-stderr train -v --steps 3 -o "$T/run"
	[ "$status" -eq 0 ]
	[[ $stderr == *"step 0 of 3"*"step 3 of 3 saved in $T/run/latest, last loss "* ]]
	run --separate-stderr train --steps 3 -o "$T/again"
	[ -z "$stderr" ]
}
