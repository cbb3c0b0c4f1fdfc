# lm-sample: BOS goes in front exactly where training did

bats_require_minimum_version 1.5.0

setup() {
	cd "$BATS_TEST_DIRNAME/../.." || return 1
	BIN=${BIN:-$PWD/bin}
	case $BIN in /*) ;; *) BIN=$PWD/$BIN ;; esac
	M=tests/data/models/llama-gqa
	T=$BATS_TEST_TMPDIR
	BOS=318
}

# ids of TEXT without BOS, comma-separated
ids() {
	printf '{"text":"%s"}\n' "$1" | "$BIN/pack" -q --tokenizer \
		$M/tokenizer.json --shard-format jsonl --no-bos --no-eos |
		sed 's/.*"ids":\[\(.*\)\]}/\1/'
}

# score CONTEXT [OPTION...]: the continuation " that" after it, by $T/m
score() {
	local context=$1
	shift
	echo "{\"context\":$context,\"continuation\":\" that\"}" |
		"$BIN/lm-sample" --model "$T/m" --score - --json "$@" \
		2> "$T/err" | sed 's/.*"logprob":\([^,]*\),.*/\1/'
}

# is IDS_BEFORE [OPTION...]: text is scored as with these ids before it
is() {
	local before=$1 a b
	shift
	a=$(score '"he said"' "$@")
	cp "$T/err" "$T/warnings"
	b=$(score "[$before$(ids 'he said')]")
	[ -n "$a" ]
	[ "$a" = "$b" ]
}

# folder TOKENIZER_CONFIG [SED]: a model with that, and an edited tokenizer
folder() {
	rm -rf "$T/m"
	mkdir "$T/m"
	cp $M/*config.json $M/*.safetensors "$T/m"
	rm -f "$T/m/golden.safetensors" "$T/m/tokenizer_config.json"
	[ -z "$1" ] || echo "$1" > "$T/m/tokenizer_config.json"
	sed "${2:-}" $M/tokenizer.json > "$T/m/tokenizer.json"
}

POST='s/"post_processor": null/"post_processor": {"type":"TemplateProcessing",'
POST+='"single":[{"SpecialToken":{"id":"<|bos|>","type_id":0}},'
POST+='{"Sequence":{"id":"A","type_id":0}}],"pair":[],'
POST+='"special_tokens":{"<|bos|>":{"id":"<|bos|>","ids":[318],'
POST+='"tokens":["<|bos|>"]}}}/'

@test "a Hugging Face folder gets BOS where its tokenizer adds it, not where config.json has one" {
	grep -q '"bos_token_id": 318' $M/config.json
	folder '{"bos_token":"<|bos|>","add_bos_token":true}'
	is $BOS,
	# as Qwen: a BOS in config.json that the tokenizer does not add
	folder '{"bos_token":null,"add_bos_token":false}'
	is ''
	folder '{"bos_token":"<|bos|>"}'
	is ''
	folder ''
	is ''
	# as Llama 3: by the post-processor alone, which the config overrides
	folder '{"bos_token":"<|bos|>"}' "$POST"
	grep -q TemplateProcessing "$T/m/tokenizer.json"
	is $BOS,
	folder '{"bos_token":"<|bos|>","add_bos_token":false}' "$POST"
	is ''
}

@test "--no-bos and --bos warn only where they differ from training" {
	folder '{"bos_token":null,"add_bos_token":false}'
	is '' --no-bos
	[ "$(grep -c warning "$T/warnings")" -eq 0 ]
	is $BOS, --bos
	grep -q "with BOS, although the model's tokenizer does not add it" \
		"$T/warnings"
	folder '{"bos_token":"<|bos|>","add_bos_token":true}'
	is '' --no-bos
	grep -q "without BOS, although the model's tokenizer adds it" \
		"$T/warnings"
	is $BOS, --bos
	[ "$(grep -c warning "$T/warnings")" -eq 0 ]
	folder ''
	sed -i 's/"bos_token_id": 318/"bos_token_id": null/' "$T"/m/*.json
	sed -i 's/<|bos|>/<|xxx|>/' "$T/m/tokenizer.json"
	run "$BIN/lm-sample" --model "$T/m" --bos --prompt a
	[ "$status" -eq 2 ]
	[[ $output == *"$T/m: no BOS token is named"* ]]
}

@test "with another --tokenizer the folder's own one decides" {
	folder '{"bos_token":"<|bos|>","add_bos_token":true}'
	sed 's/"bos_token_id"/"x"/' $M/config.json > "$T/c"
	cp $M/tokenizer.json "$T/other.json"
	is $BOS, --tokenizer "$T/other.json"
	folder ''
	cp "$T/other.json" "$T/tokenizer.json"
	echo '{"add_bos_token":true,"bos_token":"<|bos|>"}' \
		> "$T/tokenizer_config.json"
	is '' --tokenizer "$T/tokenizer.json"
}

# train PACK_OPTION: $T/m is llama-gqa trained one step on such shards
train() {
	rm -rf "$T/d" "$T/run"
	printf '{"text":"one text of the training data"}\n%.0s' 1 2 3 |
		"$BIN/pack" -q --tokenizer "$T/m/tokenizer.json" --seq-len 8 \
		--bos-token '<|bos|>' "$@" -o "$T/d"
	"$BIN/lm-train" -q --init-from "$T/m" --data "$T/d" --steps 1 --lr 1e-6 \
		--batch-size 1 --peak-tflops 1 -o "$T/run"
	rm -rf "$T/m"
	cp -rL "$T/run/latest" "$T/m"
}

@test "a checkpoint of lm-train gets all tokens of a template, as its shards have" {
	local two='{"SpecialToken":{"id":"<|bos|>","type_id":0}},'
	two+='{"SpecialToken":{"id":"<|eos|>","type_id":0}},'
	folder '{"bos_token":"<|bos|>","eos_token":"<|eos|>"}' "$(
		sed "s/{\"SpecialToken\":{\"id\":\"<|bos|>\",\"type_id\":0}},/$two/;
		s/\"special_tokens\":{/&\"<|eos|>\":{\"id\":\"<|eos|>\",\"ids\":[319],\"tokens\":[\"<|eos|>\"]},/
		" <<< "$POST")"
	cp -r "$T/m" "$T/parent"
	is $BOS,319,
	printf '{"text":"one text of the training data"}\n%.0s' 1 2 3 > "$T/docs"
	"$BIN/pack" -q --tokenizer "$T/m/tokenizer.json" --seq-len 8 \
		--no-eos -o "$T/d" "$T/docs"
	"$BIN/lm-train" -q --init-from "$T/m" --data "$T/d" --steps 1 --lr 1e-6 \
		--batch-size 1 --peak-tflops 1 -o "$T/run"
	rm -r "$T/m"
	cp -rL "$T/run/latest" "$T/m"
	grep -q '"front_token_ids": \[318, 319\]' "$T/m/train_state.json"
	is $BOS,319,
	# the same BOS, by itself
	rm -r "$T/m" "$T/d" "$T/run"
	cp -r "$T/parent" "$T/m"
	train --no-eos
	run -1 grep -q front_token_ids "$T/m/train_state.json"
	is $BOS,
}

@test "a checkpoint of lm-train gets BOS exactly if its shards have one" {
	# the parent puts none, the shards have one
	folder '{"bos_token":null,"add_bos_token":false}'
	sed -i 's/"bos_token_id": 318/"bos_token_id": null/' "$T"/m/*config.json
	train
	grep -q '"bos_token_id": 318' "$T/m/train_state.json"
	is $BOS,
	is '' --no-bos
	grep -q "although every training document began with one" \
		"$T/warnings"
	# the parent puts one, the shards have none
	folder '{"bos_token":"<|bos|>","add_bos_token":true}' "$POST"
	train --no-bos
	grep -q '"bos_token_id": null' "$T/m/train_state.json"
	is ''
	is '' --no-bos
	[ "$(grep -c warning "$T/warnings")" -eq 0 ]
	is $BOS, --bos
	grep -q "although no training document began with one" "$T/warnings"
}
