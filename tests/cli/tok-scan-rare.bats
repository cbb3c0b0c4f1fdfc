#!/usr/bin/env bats
# tok-scan-rare: which tokens a model never learns, from shards and embeddings.

bats_require_minimum_version 1.5.0

setup_file() {
	export BIN=${BIN:-bin}
	export DATA=$BATS_FILE_TMPDIR
	zstd -dcq tests/data/text/{digitalgov,sqlite_doc}.jsonl.zst \
		> "$DATA/docs.jsonl"
	"$BIN/tok-train" -q --vocab-size 1000 -o "$DATA/tok.json" \
		"$DATA/docs.jsonl"
	"$BIN/pack" -q --tokenizer "$DATA/tok.json" -o "$DATA/train" \
		"$DATA/docs.jsonl"
	make_vector "$DATA/vector"
}

setup() {
	T=$BATS_TEST_TMPDIR
	TOK=$DATA/tok.json
	TRAIN=$DATA/train
	MODELS=tests/data/models
}

tok-scan-rare() {
	"$BIN/tok-scan-rare" "$@"
}

# FOLDER: the 7 x 3 matrix of the unit test, tied.  No tokenizer.
make_vector() {
	mkdir "$1"
	echo '{"tie_word_embeddings":true,"vocab_size":7}' > "$1/config.json"
	matrix model.embed_tokens.weight "$1/model.safetensors"
}

# NAME FILE [NAME2]: the matrix as one tensor, or the same twice.
matrix() {
	perl -e 'my ($n, $f, $n2) = @ARGV;
		my @e = (1,0,.5, 0,1,.2, 1,1,-.3, 2,1,.4, .1,.1,.9, -1,.5,.3,
			.2,0,1.1);
		my $t = q({"dtype":"F64","shape":[7,3],"data_offsets":[%d,%d]});
		my $h = sprintf qq({"%s":$t), $n, 0, 168;
		$h .= sprintf qq(,"%s":$t), $n2, 168, 336 if $n2;
		$h .= "}"; $h .= " " while length($h) % 8;
		open F, ">", $f; binmode F;
		print F pack("Q<", length $h), $h, pack("d<*", @e);
		print F pack("d<*", @e) if $n2; close F' "$@"
}

# KEY: the numbers of that key in stdin, to six decimals.
six() {
	grep -o "\"$1\":[-0-9.e]*" | cut -d : -f 2 |
		while read -r x; do printf '%.6f ' "$x"; done
}

@test "the published numbers, every indicator to six decimals" {
	tok-scan-rare -q --model "$DATA/vector" --unused 4,6 --json > "$T/out"
	[ "$(six cos < "$T/out")" = '0.425756 0.757863 1.068323 0.673882 0.002560 0.850678 0.001699 ' ]
	[ "$(six centred < "$T/out")" = '0.828361 1.366868 1.987567 1.581967 0.008445 0.658933 0.005679 ' ]
	[ "$(six no_pc1 < "$T/out")" = '0.059307 0.754954 1.140012 0.189824 0.002273 0.753669 0.001509 ' ]
	[ "$(six l2 < "$T/out")" = '0.987421 1.251000 1.820714 2.164486 0.122474 1.419507 0.122474 ' ]
	[ "$(six in_norm < "$T/out")" = '1.118034 1.019804 1.445683 2.271563 0.911043 1.157584 1.118034 ' ]
	# tied: the cosine decides; rows known to be unused are below, not suspicious
	[ "$(six indicator < "$T/out")" = "$(six cos < "$T/out")" ]
	[ "$(grep -c '"suspicious":true' "$T/out")" -eq 0 ]
	grep '"token":6,' "$T/out" | grep -q '"known_unused":true'
}

@test "untied: the input norm decides, and needs no unused row" {
	cp -r "$DATA/vector" "$T/m"
	echo '{"tie_word_embeddings":false}' > "$T/m/config.json"
	matrix model.embed_tokens.weight "$T/m/model.safetensors" \
		lm_head.weight
	tok-scan-rare -q --model "$T/m" --json --stats "$T/stats" > "$T/out"
	[ "$(six indicator < "$T/out")" = '1.118034 1.019804 1.445683 2.271563 0.911043 1.157584 1.118034 ' ]
	grep -q '"indicator":"in_norm","threshold":0.924094' "$T/stats"
	run ! grep -q '"cos"' "$T/out"
	grep '"token":4,' "$T/out" | grep -q '"suspicious":true'
	[ "$(grep -c '"suspicious":true' "$T/out")" -eq 1 ]
	tok-scan-rare -q --model "$T/m" --unused 4 --json > "$T/out"
	[ "$(grep -c '"suspicious":true' "$T/out")" -eq 0 ]
	# tied, and no id known to be unused: the message names the way out
	run tok-scan-rare --model "$DATA/vector" --json
	[ "$status" -eq 2 ]
	[[ $output =~ "--unused" ]]
}

@test "counts are those of the ids that pack writes" {
	"$BIN/pack" -q --tokenizer "$TOK" --shard-format jsonl --no-bos \
		--no-eos "$DATA/docs.jsonl" | grep -o '"ids":\[[0-9,]*' |
		cut -d '[' -f 2 | tr ',' '\n' | sort -n | uniq -c |
		awk '{ print $2, $1 }' > "$T/want"
	tok-scan-rare --tokenizer "$TOK" "$TRAIN" |
		awk -F '\t' 'NR > 1 && $5 > 0 && $2 !~ /^<\|/ { print $1, $5 }' \
		> "$T/got"
	diff "$T/want" "$T/got"
	# and for windows, which split long documents
	"$BIN/pack" -q --tokenizer "$TOK" --policy best-fit --seq-len 64 \
		-o "$T/win" "$DATA/docs.jsonl"
	tok-scan-rare --tokenizer "$TOK" "$T/win" |
		awk -F '\t' 'NR > 1 && $5 > 0 && $2 !~ /^<\|/ { print $1, $5 }' \
		> "$T/got"
	diff "$T/want" "$T/got"
	# a shard from a pipe
	"$BIN/pack" -q --tokenizer "$TOK" "$DATA/docs.jsonl" |
		tok-scan-rare --tokenizer "$TOK" --json > "$T/a"
	tok-scan-rare --tokenizer "$TOK" --json "$TRAIN" | cmp - "$T/a"
}

@test "one line per id; thirteen bytes are known to be unused" {
	tok-scan-rare --tokenizer "$TOK" --json "$TRAIN" > "$T/out"
	[ "$(grep -c . "$T/out")" -eq 1000 ]
	[ "$(grep -c '"known_unused":true' "$T/out")" -eq 13 ]
	grep '"known_unused":true' "$T/out" | head -n 2 |
		grep -q '"token":125,.*"bytes":"c1","category":"UNDECODEABLE"'
	grep -q '"special":false,"reserved":false,"known_unused":' "$T/out"
	grep -q '"text":"<|bos|>","category":"OK_SPECIAL".*"count":90,.*"boundary":true' \
		"$T/out"
}

@test "a model with more rows than the tokenizer has tokens, or fewer" {
	tok-scan-rare --model $MODELS/llama-tied --json > "$T/out"
	[ "$(grep -c . "$T/out")" -eq 320 ]
	for m in llama-gqa llama-bf16-sharded qwen3; do
		tok-scan-rare --model $MODELS/$m --json > "$T/out"
		grep -q '"indicator":[0-9]' "$T/out"
		run ! grep -q 'nan\|null,"ind' "$T/out"
	done
	"$BIN/tok-train" -q --vocab-size 300 -o "$T/t300" "$DATA/docs.jsonl"
	tok-scan-rare --model $MODELS/llama-tied --tokenizer "$T/t300" --json \
		> "$T/out"
	[ "$(grep -c '"text":null,"category":null.*"known_unused":true' "$T/out")" -eq 20 ]
	# with more tokens than rows there are no prompts
	run --separate-stderr tok-scan-rare --model "$DATA/vector" \
		--tokenizer "$TOK" --unused 4,6 --json
	[ "$status" -eq 0 ]
	[ "${#lines[@]}" -eq 7 ]
	[[ $stderr =~ "7 rows, the tokenizer 1000 tokens" ]]
	run tok-scan-rare --model "$DATA/vector" --tokenizer "$TOK" \
		--unused 4,6 --verify-prompts
	[ "$status" -eq 2 ]
}

@test "--eot: the id between documents is counted apart" {
	zstd -dcq tests/data/tok/qwen3_tokenizer.json.zst > "$T/tokenizer.json"
	eot=151643	# <|endoftext|>, which the file does not call EOS
	for s in llmc nanogpt megatron datatrove npy; do
		"$BIN/pack" -q --tokenizer "$T/tokenizer.json" --no-bos \
			--eos-token '<|endoftext|>' --shard-format $s \
			-o "$T/$s" "$DATA/docs.jsonl"
		tok-scan-rare -q --tokenizer "$T/tokenizer.json" --json \
			--shard-format $s --eot $eot --stats "$T/stats" \
			-o "$T/$s.out" "$T/$s"
		n=$(sed 's/.*"boundary":\([0-9]*\),"docs":\([0-9]*\).*/\1 \2/' \
			"$T/stats")
		[ "$n" = "$(wc -l < "$DATA/docs.jsonl" | sed 's/.*/& &/')" ]
		cmp <(sed 's/,"top_doc":"[^"]*"//' "$T/llmc.out") \
			<(sed 's/,"top_doc":"[^"]*"//' "$T/$s.out")
	done
	grep "^{\"token\":$eot," "$T/npy.out" | grep -q '"boundary":true'
	# without an index it ends a document
	mkdir "$T/bare"
	cp "$T/nanogpt/00000.bin" "$T/bare"
	tok-scan-rare -q --tokenizer "$T/tokenizer.json" --json --shard-format \
		nanogpt --eot $eot --stats "$T/stats" "$T/bare" > "$T/out"
	grep -q "\"docs\":${n#* }," "$T/stats"
	cmp <(sed 's/,"top_doc":"[^"]*"//' "$T/nanogpt.out") \
		<(sed 's/,"top_doc":"[^"]*"//' "$T/out")
	run tok-scan-rare --tokenizer "$TOK" --shard-format nanogpt \
		--eot 1002 "$T/bare"
	[ "$status" -eq 2 ]
	[[ "$output" == *"end of text: id 1002, but the tokenizer has ids 0 to "* ]]
	run tok-scan-rare --model "$DATA/vector" --unused 4,6 --eot 3
	[ "$status" -eq 2 ]
	[[ "$output" == *"eot"*"shards"* ]]
}

@test "a table on a terminal has aligned columns" {
	script -qefc true /dev/null < /dev/null > /dev/null 2>&1 ||
		skip "script (of util-linux) cannot open a terminal here"
	zstd -dcq tests/data/tok/qwen3_tokenizer.json.zst > "$T/tokenizer.json"
	echo '{"text":"日本 a"}' > "$T/docs"
	"$BIN/pack" -q --tokenizer "$T/tokenizer.json" --no-bos --no-eos \
		-o "$T/s" "$T/docs"
	script -qefc "$BIN/tok-scan-rare --table-rows 200000 --rare-below 1 \
		--tokenizer $T/tokenizer.json $T/s" "$T/out" < /dev/null \
		> /dev/null
	# 24 columns of text, whatever the bytes, then 12 of the count
	column() {
		grep "^ *$1  " "$T/out" | head -n 1 |
			grep -qF "$(printf '%8d  %s%*s %12d ' "$1" "$2" \
			$((24 - $3)) '' "$4")"
	}
	column 279 ' the' 4 0
	column 1773 。 2 0
	column 101059 日本 4 1
	column 1689 '***********************…' 24 0
	column 53839 $'\xcc\x81' 0 0
	grep -q 'Exception  .*  rare, in " Exceptions" 0' "$T/out"
	grep -q '^ids  *151669' "$T/out"
}

@test "--check and --max-rare" {
	run tok-scan-rare --tokenizer "$TOK" --check -o "$T/out" "$TRAIN"
	[ "$status" -eq 1 ]
	[ -s "$T/out" ]
	run tok-scan-rare --tokenizer "$TOK" --check --max-rare 1000 \
		-o "$T/out" "$TRAIN"
	[ "$status" -eq 0 ]
	run tok-scan-rare --tokenizer "$TOK" --check --rare-below 0 \
		-o "$T/out" "$TRAIN"
	[ "$status" -eq 0 ]
}

@test "--verify-prompts, and scores that do not match them" {
	local m=$MODELS/llama-tied
	tok-scan-rare --model $m --verify-prompts > "$T/ask"
	n=$(grep -c . "$T/ask")
	[ "$n" -gt 0 ]
	# a probability of 0.95 for the first, of 1e-5 for all others
	sed 's/.*"id":\("[^"]*"\).*/{"id":\1,"logprob":-11.5}/' "$T/ask" \
		> "$T/scores"
	sed -i '1s/-11.5/-0.0513/' "$T/scores"
	tok-scan-rare --model $m --verify-scores "$T/scores" --json > "$T/out"
	[ "$(grep -c '"verification":"strong_rejected"' "$T/out")" -eq 1 ]
	[ "$(grep -c '"verification":"strong_verified"' "$T/out")" -ge 1 ]
	for bad in '$d' '1s/,.*/}/' '2s/"[0-9]*\//"318\//' '1p' '1s/{/[/' \
		'1s/-0.0513/5/' '1s/"logprob":-0.0513/"logprob":"x"/'; do
		sed "$bad" "$T/scores" > "$T/broken"
		run --separate-stderr tok-scan-rare --model $m --verify-scores \
			"$T/broken"
		[ "$status" -eq 2 ] || { echo "$bad: $status"; false; }
		[ -z "$output" ]
		[[ $stderr =~ ^tok-scan-rare:\ .*broken ]]
	done
	# the greatest of three places counts, where the answers have them
	sed 's/}$/,"ahead":[-11.5,-2,-9.25]}/' "$T/scores" > "$T/three"
	tok-scan-rare --model $m --verify-scores "$T/three" --json > "$T/out"
	[ "$(grep -c '"max_prob":0.1353.*"verification":"weak_rejected"' \
		"$T/out")" -eq $((n / 3)) ]
	sed -i 's/-2,/null,/' "$T/three"
	tok-scan-rare --model $m --verify-scores "$T/three" --json > "$T/out"
	[ "$(grep -c '"max_prob":9.61.*e-05,"verification":"strong_verified"' \
		"$T/out")" -eq $((n / 3)) ]
	for bad in '"x"' '-2,' '' '-1,-2,[3]' '-1 -2' '-2],"z":[' nan 5; do
		sed "1s/\"ahead\":.*/\"ahead\":[$bad]}/" "$T/three" \
			> "$T/broken"
		run --separate-stderr tok-scan-rare --model $m --verify-scores \
			"$T/broken"
		[ "$status" -eq 2 ] || [[ $bad == *z* ]] ||
			{ echo "$bad: $status"; false; }
	done
	# lm-sample reads them all, and answers with three probabilities
	[ "$(grep -c '"ahead":3}$' "$T/ask")" -eq "$n" ]
	"$BIN/lm-sample" -q --model $m --score "$T/ask" --json > "$T/scores"
	[ "$(grep -c '"ahead":\[[-0-9.e]*,[-0-9.e]*,[-0-9.e]*\]' \
		"$T/scores")" -eq "$n" ]
	tok-scan-rare --model $m --verify-scores - --json < "$T/scores" \
		> "$T/out"
	perl -ne 'BEGIN { open F, shift; while (<F>) {
			m{"id":"(\d+)/.*"ahead":\[(.*)\]} or die;
			for (split /,/, $2) {
				$m{$1} = exp if exp > ($m{$1} // 0) } } }
		next unless /"token":(\d+),.*"max_prob":([^,]*)/;
		$n++; die "$1: $2, not $m{$1}"
			unless abs($2 - $m{$1}) < 1e-12 * $2;
		END { exit !($n == keys %m && $n > 0) }' "$T/scores" "$T/out"
}

@test "a bias of the output is an indicator" {
	cp -r "$DATA/vector" "$T/m"
	perl -e 'my $h = q({"transformer.wte.weight":{"dtype":"F64","shape":)
		. q([7,3],"data_offsets":[0,168]},"lm_head.bias":{"dtype":)
		. q("F32","shape":[7],"data_offsets":[168,196]}});
		print pack("Q<", length $h), $h;
		print pack "d<*", 1,0,.5, 0,1,.2, 1,1,-.3, 2,1,.4, .1,.1,.9,
			-1,.5,.3, .2,0,1.1;
		print pack "f<*", .5, 0, -.25, 0, 0, 0, 1' \
		> "$T/m/model.safetensors"
	tok-scan-rare -q --model "$T/m" --unused 4,6 --json > "$T/out"
	[ "$(six bias < "$T/out")" = \
		'0.500000 0.000000 -0.250000 0.000000 0.000000 0.000000 1.000000 ' ]
	[ "$(six cos < "$T/out" | cut -d ' ' -f 1)" = 0.425756 ]
	tok-scan-rare -q --model "$T/m" --indicator bias --json > "$T/out"
	grep '"token":2,' "$T/out" | grep -q '"suspicious":true'
	[ "$(grep -c '"suspicious":true' "$T/out")" -eq 1 ]
	# without a bias
	run tok-scan-rare -q --model "$DATA/vector" --unused 4 --indicator bias
	[ "$status" -eq 2 ]
	[[ $output =~ "has no bias" ]]
}

@test "broken folders and shards are refused" {
	refused() {
		run --separate-stderr tok-scan-rare "$@"
		[ "$status" -eq 2 ] || { echo "$*: $status"; return 1; }
		[ -z "$output" ] || { echo "$*: wrote"; return 1; }
		[[ $stderr == "tok-scan-rare: "* ]]
	}
	local v=$DATA/vector
	refused --model "$T/none"
	refused
	refused --model "$v" --unused 4,7
	refused --model "$v" --unused 4-
	refused --model "$v" --unused 4 --embed no.such
	refused --model "$v" --unused 4 --verify-prompts --verify-scores x
	refused --tokenizer "$TOK" --max-rare 3 "$TRAIN"
	refused --tokenizer $MODELS/llama-tied/tokenizer.json "$TRAIN"
	[[ $stderr =~ "another tokenizer" ]]
	cp -r "$v" "$T/m"
	truncate -s -1 "$T/m/model.safetensors"
	refused -q --model "$T/m" --unused 4
	matrix model.embed_tokens.weight "$T/m/model.safetensors"
	printf '\0\0\370\177' | dd of="$T/m/model.safetensors" bs=1 conv=notrunc \
		seek=$(($(stat -c %s "$T/m/model.safetensors") - 4)) status=none
	refused -q --model "$T/m" --unused 4
	[[ $stderr =~ "row 6 is not finite" ]]
	matrix other.weight "$T/m/model.safetensors"
	refused -q --model "$T/m" --unused 4
	tok-scan-rare -q --model "$T/m" --unused 4 --embed other.weight > /dev/null
	matrix model.embed_tokens.weight "$T/m/model.safetensors"
	echo '{"vocab_size":8}' > "$T/m/config.json"
	refused -q --model "$T/m" --unused 4
	echo '{"tie_word_embeddings":"yes"}' > "$T/m/config.json"
	refused -q --model "$T/m" --unused 4
	echo '{"tie_word_embeddings":false}' > "$T/m/config.json"
	refused -q --model "$T/m" --unused 4
	# an id past the vocabulary in bare numbers
	printf '\377\377' > "$T/x.bin"
	refused --tokenizer "$TOK" --shard-format nanogpt "$T/x.bin"
}

@test "without a tokenizer rows have no text, and a warning is printed" {
	cp -r "$DATA/vector" "$T/m"
	run --separate-stderr tok-scan-rare --model "$T/m" --unused 4,6 --json
	[ "$status" -eq 0 ]
	[[ ${lines[0]} =~ '"text":null,"category":"OK"' ]]
	[[ $stderr =~ "no tokenizer.json" ]]
	# an unsupported kind counts as none; a broken file is refused
	echo '{"model":{"type":"Unigram"}}' > "$T/m/tokenizer.json"
	tok-scan-rare -q --model "$T/m" --unused 4,6 --json > "$T/out"
	[ "$(six cos < "$T/out" | cut -d ' ' -f 1)" = 0.425756 ]
	echo '{"model":' > "$T/m/tokenizer.json"
	run tok-scan-rare --model "$T/m" --unused 4,6
	[ "$status" -eq 2 ]
	rm "$T/m/tokenizer.json"
	run tok-scan-rare --model "$T/m" --unused 4,6 --verify-prompts
	[ "$status" -eq 2 ]
}

@test "shards and model in one report" {
	zstd -dcq tests/data/text/digitalgov.jsonl.zst |
		"$BIN/pack" -q --tokenizer $MODELS/llama-tied/tokenizer.json \
		-o "$T/s" 
	tok-scan-rare --model $MODELS/llama-tied --json --stats "$T/stats" \
		"$T/s" > "$T/out"
	[ "$(grep -c '"count":.*"indicator":' "$T/out")" -eq 320 ]
	grep -q '"rare_and_suspicious":' "$T/stats"
	grep -q '"wasted_params_share":0\.' "$T/stats"
}

# Once the time grew with its square: an hour for these.
@test "half a million added tokens are no reason to wait" {
	"$BIN/tok-train" -q --vocab-size 300 -o "$T/t.json" "$DATA/docs.jsonl"
	awk '/"id": 299,/ {
		print $0 ","
		for (i = 300; i < 500300; i++)
			printf "{\"id\":%d,\"content\":\"<t%d>\",\"normalized\":false,\"special\":%s}%s\n",
				i, i, i % 2 ? "true" : "false", i < 500299 ? "," : ""
		next }
		{ print }' "$T/t.json" > "$T/big.json"
	printf '{"text":"<t300> a <t301> b"}\n' > "$T/d.jsonl"
	timeout 60 "$BIN/pack" -q --tokenizer "$T/big.json" --no-bos --no-eos \
		"$T/d.jsonl" > "$T/big.tok"
	timeout 60 "$BIN/tok-scan-rare" -q --tokenizer "$T/big.json" --json \
		"$T/big.tok" > "$T/out"
	grep -q '^{"token":300,.*"category":"OK",.*"count":1,' "$T/out"
	grep -q '^{"token":301,.*"category":"OK_SPECIAL",.*"count":0,' "$T/out"
	timeout 60 "$BIN/decode-batch" --tokenizer "$T/big.json" --seq-len 9 \
		--window 0 "$T/big.tok" > "$T/text"
	grep -qF '\<t301>' "$T/text"
}
