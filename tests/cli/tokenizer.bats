# Tokenizers and folders that other programs wrote, in every program that reads
# them: what we do not need does not matter, what is missing is named.

bats_require_minimum_version 1.5.0

setup() {
	cd "$BATS_TEST_DIRNAME/../.." || return 1
	BIN=${BIN:-$PWD/bin}
	case $BIN in /*) ;; *) BIN=$PWD/$BIN ;; esac
	T=$BATS_TEST_TMPDIR
}

# odd FILE: members that no program of ours reads, as others write them
odd() {
	perl -0pi -e 's/\{/{"model_max_length": '"$big"', "x_nan": NaN,
		"x_list": [1e400, {"a": -Infinity, "b": 1e-400}],
		"x_null": null, "x_text": "\\ud800", /' "$1"
}

@test "members that are not read may hold any number that JSON or Python writes" {
	local big=1000000000000000019884624838656 f
	cp -r tests/data/models/llama-bf16-sharded "$T/m"
	chmod -R u+w "$T/m"
	echo '{}' > "$T/m/special_tokens_map.json"
	for f in config generation_config tokenizer_config special_tokens_map \
		model.safetensors.index; do
		odd "$T/m/$f.json"
	done
	perl -0pi -e 's/("model"\s*:\s*\{)/$1"magic": '$big', /' \
		"$T/m/tokenizer.json"
	grep -q magic "$T/m/tokenizer.json"
	printf '{"text":"It was a day %d"}\n' 1 2 3 4 5 6 7 8 9 > "$T/d.jsonl"
	"$BIN/pack" --tokenizer "$T/m/tokenizer.json" --seq-len 8 -o "$T/tm" \
		"$T/d.jsonl"
	"$BIN/decode-batch" --tokenizer "$T/m/tokenizer.json" --window 0:9 \
		"$T/tm" | grep -q 'day'
	"$BIN/lm-sample" --model "$T/m" --prompt 'It was' --max-tokens 8 \
		> "$T/out"
	"$BIN/lm-sample" --model tests/data/models/llama-bf16-sharded \
		--prompt 'It was' --max-tokens 8 | cmp "$T/out"
	"$BIN/tok-scan-rare" --model "$T/m" > "$T/rows"
	"$BIN/tok-scan-rare" --model tests/data/models/llama-bf16-sharded |
		cmp "$T/rows"
	"$BIN/lm-train" -q --init-from "$T/m" --data "$T/tm" --steps 1 \
		--seq-len 8 --batch-size 1 --lr 1e-4 -o "$T/run"
	[ -e "$T/run/latest/model.safetensors" ]
}
