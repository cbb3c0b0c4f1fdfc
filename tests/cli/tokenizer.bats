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

# variant NAME: that tokenizer.json of tests/data/tok/variants.jsonl.zst
variant() {
	zstd -dcq tests/data/tok/variants.jsonl.zst | perl -MJSON::PP -ne '
		my $d = decode_json($_);
		next unless $d->{name} eq "'"$1"'";
		utf8::encode($d->{tokenizer});
		print $d->{tokenizer};
		$seen = 1;
		END { exit !$seen }'
}

@test "a document that needs a byte without a token is a bad document" {
	variant 'a byte is missing' > "$T/tok.json"
	printf '{"id":"%s","text":"%s"}\n' 1 'the cat' 2 'caf\u00e9' 3 'a\rb' \
		4 'a cat' > "$T/d.jsonl"
	run -2 "$BIN/pack" --tokenizer "$T/tok.json" --no-bos --no-eos \
		-o "$T/out" "$T/d.jsonl"
	[[ "$output" == *"d.jsonl:2: the tokenizer has no token for the byte 0xc3"* ]]
	[ ! -e "$T/out/00000.tok" ]
	"$BIN/pack" --tokenizer "$T/tok.json" --no-bos --no-eos --on-bad skip \
		--shard-format jsonl --stats "$T/s" "$T/d.jsonl" \
		> "$T/ids" 2> "$T/err"
	grep -q '"docs_bad":2,' "$T/s"
	grep -q '"docs_kept":2,' "$T/s"
	[ "$(sed 's/"ids.*//' "$T/ids" | tr -d '\n')" = '{"id":"1",{"id":"4",' ]
	grep -q 'd.jsonl:2' "$T/err"
	# the same for any -j
	"$BIN/pack" --tokenizer "$T/tok.json" --no-bos --no-eos --on-bad skip \
		--shard-format jsonl -j 1 -q "$T/d.jsonl" | cmp "$T/ids"
}

@test "a byte without a token is a unit of its own where texts are compared" {
	variant 'a byte is missing' > "$T/tok.json"
	perl -e 'printf "{\"id\":\"%s\",\"text\":\"%s\"}\n", @$_ for
		["a", "caf\\u00e9\\r" x 40], ["b", "the cat sat\\r"]' \
		> "$T/d.jsonl"
	"$BIN/dedup" --repeats --phrase-count 0 --tokenizer "$T/tok.json" \
		--report "$T/r" "$T/d.jsonl" > "$T/kept"
	grep -q '"id":"a","action":"drop","reason":"repeat"' "$T/r"
	grep -q '"id":"b"' "$T/kept"
	perl -e 'print "{\"id\":\"x\",\"text\":\"", "caf\\u00e9\\r" x 9, "\"}\n"' \
		> "$T/bench.jsonl"
	"$BIN/contam13" --against "$T/bench.jsonl" --tokens --tokenizer \
		"$T/tok.json" --report "$T/r" "$T/d.jsonl" > "$T/kept" 2> /dev/null
	grep -q '"id":"a"' "$T/r"
	[ "$(grep -c '"id":"b"' "$T/kept")" -eq 1 ]
}

@test "GPT-2 with the added token é, which is also the byte e9" {
	zstd -dcq tests/data/tok/gpt2_tokenizer.json.zst | perl -0pe '
		s/("added_tokens":\s*\[)/$1\{"id":165,"content":"é",
		"single_word":false,"lstrip":false,"rstrip":false,
		"normalized":false,"special":false},/' > "$T/tok.json"
	# by tokenizers 0.23.3
	[ "$(echo '{"text":"café \u9999 é"}' | "$BIN/pack" --no-bos --no-eos \
		--tokenizer "$T/tok.json" --shard-format jsonl |
		sed 's/.*"ids"://')" = "[66,1878,165,16268,99,247,220,165]}" ]
}

# glm DIR: a folder with a template of two tokens in front, as GLM has it
glm() {
	mkdir "$1"
	echo '{"text":"the cat sat on the mat, the cat sat"}' |
		"$BIN/tok-train" -q --vocab-size 280 --special '[gMASK]' \
			--special '<sop>' --special '<|endoftext|>' 2> /dev/null |
		perl -pe 's/"post_processor": null/"post_processor": {
			"type": "Sequence", "processors": [{"type":
			"ByteLevel", "add_prefix_space": true, "trim_offsets":
			false, "use_regex": true}, {"type":
			"TemplateProcessing", "single": [
			{"SpecialToken": {"id": "[gMASK]", "type_id": 0}},
			{"SpecialToken": {"id": "<sop>", "type_id": 0}},
			{"Sequence": {"id": "A", "type_id": 0}}], "pair": [
			{"Sequence": {"id": "A", "type_id": 0}},
			{"Sequence": {"id": "B", "type_id": 1}}],
			"special_tokens": {"[gMASK]": {"id": "[gMASK]",
			"ids": [256], "tokens": ["[gMASK]"]}, "<sop>": {"id":
			"<sop>", "ids": [257], "tokens": ["<sop>"]}}}]}/;
' \
		> "$1/tokenizer.json"
	echo '{"eos_token": "<|endoftext|>", "padding_side": "left"}' \
		> "$1/tokenizer_config.json"
}

@test "a template with several tokens in front is written as it is" {
	local n sop eos
	glm "$T/glm"
	eos=$(grep -o '"id": [0-9]*, "content": "<|end' "$T/glm/tokenizer.json" |
		grep -o '[0-9][0-9]*')
	n=$((eos - 2)) sop=$((eos - 1))
	perl -pi -e "s/256\\]/$n]/; s/\\[257\\]/[$sop]/" "$T/glm/tokenizer.json"
	printf '{"text":"the cat"}\n{"text":""}\n' > "$T/d.jsonl"
	"$BIN/pack" --tokenizer "$T/glm/tokenizer.json" --shard-format jsonl \
		--no-bos --no-eos "$T/d.jsonl" |
		sed 's/.*"ids":\[\([0-9,]*\).*/\1/' > "$T/plain"
	"$BIN/pack" --tokenizer "$T/glm/tokenizer.json" --shard-format jsonl \
		"$T/d.jsonl" | sed 's/.*"ids":\[\([0-9,]*\).*/\1/' > "$T/ids"
	[ "$(sed -n 1p "$T/ids")" = "$n,$sop,$(sed -n 1p "$T/plain"),$eos" ]
	[ "$(sed -n 2p "$T/ids")" = "$n,$sop,$eos" ]
	"$BIN/pack" --tokenizer "$T/glm/tokenizer.json" --seq-len 4 \
		--stats "$T/s" -o "$T/out" "$T/d.jsonl"
	"$BIN/decode-batch" --tokenizer "$T/glm/tokenizer.json" --check "$T/out"
	# a BOS that is asked for stands alone
	[ "$("$BIN/pack" --tokenizer "$T/glm/tokenizer.json" --bos-token '<sop>' \
		--no-eos --shard-format jsonl "$T/d.jsonl" | tail -1 |
		sed 's/.*"ids"://')" = "[$sop]}" ]
}

@test "a missing BOS and a missing EOS are one message with the special tokens" {
	local tok=tests/data/tok/gptneox_tokenizer.json.zst
	echo '{"text":"a"}' > "$T/d.jsonl"
	run -2 "$BIN/pack" --tokenizer $tok -o "$T/o" "$T/d.jsonl"
	[ "${#lines[@]}" -eq 1 ]
	[[ "$output" == *"no BOS and no EOS: "*"--no-bos"*"--no-eos"*"<|endoftext|>"* ]]
	run -2 "$BIN/pack" --tokenizer $tok --no-bos -o "$T/o" "$T/d.jsonl"
	[[ "$output" == *"names no EOS: "*"--eos-token"*"<|padding|>"* ]]
	[ ! -e "$T/o" ]
}

@test "a file that is no tokenizer is named by what it is" {
	local m=tests/data/models/qwen3 f want
	printf '{"text":"a"}\n{"text":"b"}\n' > "$T/d.jsonl"
	# pieces, then trainer_spec with model_type BPE or unigram
	printf '\n\016\n\005<unk>\025\0\0\0\0\030\002\022\002\030\002' \
		> "$T/tokenizer.model"
	printf '\n\016\n\005<unk>\025\0\0\0\0\030\002\022\002\030\001' \
		> "$T/unigram.model"
	echo '{"bos_token": "<s>"}' > "$T/special_tokens_map.json"
	echo '{"config": {}, "vocab": []}' > "$T/tekken.json"
	printf '[PAD]\n[UNK]\n' > "$T/vocab.txt"
	while IFS='|' read -r f want; do
		run -2 "$BIN/pack" --tokenizer "${f/T:/$T/}" -o "$T/o" \
			"$T/d.jsonl"
		[ "${#lines[@]}" -eq 1 ]
		# shellcheck disable=SC2053
		[[ "$output" == "pack: ${f/T:/$T/}"*$want* ]] ||
			{ echo "$f: $output"; false; }
	done <<- END
		T:tokenizer.model|SentencePiece model*AutoTokenizer
		T:unigram.model|SentencePiece model*unigram*not supported
		tests/data/tok/gpt2_vocab.json.zst|without its merges (python3
		tests/data/tok/gpt2_merges.txt.zst|merges*ByteLevelBPETokenizer
		$m|is a folder: use $m/tokenizer.json
		T:|is a folder, and it has no tokenizer.json
		$m/tokenizer_config.json|tokenizer_config.json: use the tokenizer.json
		T:special_tokens_map.json|special_tokens_map.json: use the
		$m/config.json|config.json of a model: use the
		$m/model.safetensors|weights of a model
		T:tekken.json|tekken.json
		T:vocab.txt|WordPiece
		T:d.jsonl|this is JSON Lines
		README.md|neither a tokenizer.json nor a rank file
	END
	[ ! -e "$T/o" ]
}
