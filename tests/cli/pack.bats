#!/usr/bin/env bats
# pack: documents in, token ids out, nothing lost and nothing made up.

bats_require_minimum_version 1.5.0

setup_file() {
	export BIN=${BIN:-bin}
	export DATA=$BATS_FILE_TMPDIR
	zstd -dcq tests/data/text/digitalgov.jsonl.zst > "$DATA/web.jsonl"
	zstd -dcq tests/data/tok/gpt2_tokenizer.json.zst > "$DATA/gpt2.json"
	zstd -dcq tests/data/tok/expected_ids.jsonl.zst > "$DATA/expected.jsonl"
	mkdir "$DATA/tok"
	"$BIN/tok-train" --vocab-size 1000 -q -o "$DATA/tok/tokenizer.json" \
		"$DATA/web.jsonl"
}

setup() {
	TOK=$DATA/tok/tokenizer.json
	T=$BATS_TEST_TMPDIR
	WEB=$DATA/web.jsonl
}

pack() {
	"$BIN/pack" --tokenizer "$TOK" "$@"
}

# The ids of the documents of stdin, one line each.
ids() {
	pack --shard-format jsonl "$@" | sed 's/.*"ids":\(\[[0-9,]*\]\).*/\1/'
}

plain_ids() {
	ids --no-bos --no-eos "$@"
}

# KEY FILE: a number of a --stats file, at its top level.
stat_of() {
	sed "s/,\"train\":.*//; s/.*\"$1\":\"\{0,1\}\([^,}\"]*\).*/\1/" "$2"
}

u16() {
	od -An -v -tu2 -w2 "$@" | tr -d ' '
}

# --- ids -------------------------------------------------------------------

# KEY TOKENIZER [option...]: each text that has KEY gives the ids stored there.
expected() {
	local key=$1 TOK=$2
	shift 2
	grep "\"$key\":\[" "$DATA/expected.jsonl" > "$T/in.jsonl"
	sed "s/.*\"$key\":\(\[[0-9,]*\]\).*/\1/" "$T/in.jsonl" > "$T/want"
	plain_ids "$@" "$T/in.jsonl" > "$T/got"
	[ "$(wc -l < "$T/want")" -ge 290 ]
	diff "$T/want" "$T/got"
}

@test "ids of the stored texts: gpt2" {
	expected gpt2 "$DATA/gpt2.json"
	expected gpt2 tests/data/tok/r50k_base.tiktoken.zst
}

@test "ids of the stored texts: cl100k and o200k rank files" {
	expected cl100k_base tests/data/tok/cl100k_base.tiktoken.zst
	expected o200k_base tests/data/tok/o200k_base.tiktoken.zst
	expected cl100k_base tests/data/tok/cl100k_base.tiktoken.zst \
		--split cl100k
}

@test "ids of the stored texts: qwen3, gptneox" {
	expected qwen3 tests/data/tok/qwen3_tokenizer.json.zst
	expected gptneox tests/data/tok/gptneox_tokenizer.json.zst
}

@test "ids of the stored texts: mistral7b" {
	expected mistral7b tests/data/tok/mistral7b_tokenizer.json.zst
}

@test "a test that compares ids can fail" {
	sed 's/"gpt2":\[\([0-9]*\)/"gpt2":[9\1/' "$DATA/expected.jsonl" \
		> "$T/wrong.jsonl"
	run -1 diff <(sed 's/.*"gpt2":\(\[[0-9,]*\]\).*/\1/' "$T/wrong.jsonl") \
		<(TOK=$DATA/gpt2.json plain_ids "$DATA/expected.jsonl")
}

@test "special-token strings are text: as many EOS as documents" {
	local s='{"text":"a<|endoftext|>b"}' eos=50256
	TOK=tests/data/tok/cl100k_base.tiktoken.zst
	[ "$(echo "$s" | plain_ids)" = "[64,27,91,8862,728,428,91,29,65]" ]
	TOK=$DATA/gpt2.json
	pack --bos-token '<|endoftext|>' --eos-token '<|endoftext|>' --no-bos \
		--shard-format nanogpt -o "$T/out" \
		tests/data/nasty/special_tokens.jsonl "$WEB"
	[ "$(u16 "$T/out/00000.bin" | grep -cx $eos)" -eq \
	  "$(cat tests/data/nasty/special_tokens.jsonl "$WEB" | wc -l)" ]
	# and with our own special tokens spelled out
	TOK=$DATA/tok/tokenizer.json
	run -0 ids <<< '{"text":"<|bos|><|eos|>"}'
	[ "$(grep -o '[0-9]*' <<< "$output" | grep -cx '99[89]')" -eq 2 ]
}

@test "NUL is a byte like any other" {
	TOK=$DATA/gpt2.json
	[ "$(echo '{"text":"a\u0000b"}' | plain_ids)" = "[64,188,65]" ]
}

@test "a surrogate pair is one character, a lone surrogate is U+FFFD, counted" {
	printf '%s\n' '{"text":"\ud83d\udc4d"}' '{"text":"ok\ud800bad"}' \
		> "$T/esc.jsonl"
	printf '{"text":"\360\237\221\215"}\n{"text":"ok\357\277\275bad"}\n' \
		> "$T/raw.jsonl"
	plain_ids --stats "$T/s" "$T/esc.jsonl" > "$T/a"
	plain_ids --stats "$T/s2" "$T/raw.jsonl" > "$T/b"
	cmp "$T/a" "$T/b"
	[ "$(stat_of replaced_characters "$T/s")" -eq 1 ]
	[ "$(stat_of replaced_characters "$T/s2")" -eq 0 ]
	[ "$(stat_of digest_in "$T/s")" = "$(stat_of digest_in "$T/s2")" ]
}

@test "the end of a document is the end of the text" {
	TOK=$DATA/gpt2.json
	printf '%s\n' '{"text":"foo  "}' '{"text":"  bar"}' > "$T/two"
	head -1 "$T/two" | plain_ids > "$T/one-by-one"
	tail -1 "$T/two" | plain_ids >> "$T/one-by-one"
	plain_ids "$T/two" | diff "$T/one-by-one" -
	# "foo  " is foo and one piece of two spaces
	[ "$(head -1 "$T/one-by-one")" = "[21943,220,220]" ]
}

@test "a normalizer that the tokenizer asks for is applied: NFC" {
	TOK=tests/data/tok/qwen3_tokenizer.json.zst
	[ "$(echo '{"text":"e\u0301"}' | plain_ids)" = \
	  "$(echo '{"text":"\u00e9"}' | plain_ids)" ]
	TOK=$DATA/gpt2.json
	[ "$(echo '{"text":"e\u0301"}' | plain_ids)" != \
	  "$(echo '{"text":"\u00e9"}' | plain_ids)" ]
}

# N TEXT: the text N times as one document.
times() {
	printf '{"text":"'
	head -c $(($1 * ${#2})) < <(yes "$2" | tr -d '\n')
	printf '"}\n'
}

@test "one piece of a million characters is neither deep nor slow" {
	local tok text
	for tok in "$DATA/gpt2.json" tests/data/tok/o200k_base.tiktoken.zst \
	    tests/data/tok/mistral7b_tokenizer.json.zst; do
		TOK=$tok
		for text in '^' a _ 0 ab ' '; do
			times 1000000 "$text"
		done > "$T/long"
		pack -q --no-bos --no-eos --shard-format jsonl --stats "$T/s" \
			"$T/long" > "$T/out"
		[ "$(wc -l < "$T/out")" -eq 6 ]
		[ "$(stat_of bytes_in "$T/s")" -eq 7000000 ]
	done
}

@test "every extreme text comes through whole" {
	local n
	for f in digits long_line_cjk periodic whitespace_runs; do
		n=$(zstd -dcq tests/data/nasty/$f.jsonl.zst | wc -l)
		pack -q --shard-format jsonl --stats "$T/s" \
			tests/data/nasty/$f.jsonl.zst > /dev/null
		[ "$(stat_of docs_kept "$T/s")" -eq "$n" ]
		[ "$(stat_of digest_in "$T/s")" = "$(stat_of digest_kept "$T/s")" ]
	done
	pack -q --stats "$T/s" -o "$T/d" tests/data/nasty/tiny_docs.jsonl.zst
	[ "$(stat_of docs_kept "$T/s")" -eq 200000 ]
	[ "$(stat_of tokens "$T/s")" -ge 400000 ]
}

# --- documents ---------------------------------------------------------------

@test "a bad line is status 2 with FILE:LINE, and no shard" {
	printf '{"text":"a"}\n\n{"text":5}\n' > "$T/bad.jsonl"
	run -2 --separate-stderr pack --shard-format jsonl "$T/bad.jsonl"
	[[ "$stderr" == "pack: $T/bad.jsonl:3: byte "*'"text" is a number'* ]]
	run -2 pack -o "$T/out" "$T/bad.jsonl"
	[ ! -e "$T/out/00000.tok" ]
	pack -o "$T/out" "$WEB"
	cp -r "$T/out" "$T/old"
	run -2 pack -o "$T/out" "$WEB" "$T/bad.jsonl"
	diff -r "$T/old" "$T/out"
}

@test "--on-bad skip and pass count bad lines and name the first" {
	printf '{"text":"a"}\nnonsense\n{"id":1}\n{"text":"b"}\n' > "$T/x"
	for how in skip pass; do
		run -0 --separate-stderr pack --on-bad $how --shard-format jsonl \
			--stats "$T/s" "$T/x"
		[ "${#lines[@]}" -eq 2 ]
		[[ "$stderr" == "pack: warning: 2 bad lines skipped, the first: $T/x:2: byte 1"* ]]
		[ "$(stat_of docs_in "$T/s")" -eq 4 ]
		[ "$(stat_of docs_kept "$T/s")" -eq 2 ]
		[ "$(stat_of docs_dropped "$T/s")" -eq 0 ]
		[ "$(stat_of docs_bad "$T/s")" -eq 2 ]
	done
}

@test "blank lines, CR, BOM, no last line end, other keys, numbers as ids" {
	printf '\357\273\277{"id":7,"t":{"x":"one"}}\r\n \t\r\n{"t":{"x":"two"}}' \
		> "$T/x"
	run -0 pack --shard-format jsonl --no-bos --no-eos --text-key t.x "$T/x"
	[ "${#lines[@]}" -eq 2 ]
	[[ "${lines[0]}" == '{"id":"7","ids":['* ]]
	[[ "${lines[1]}" == "{\"id\":\"$T/x:3\",\"ids\":["* ]]
	run -2 pack --shard-format jsonl "$T/x"
}

@test "empty documents are documents of BOS and EOS, counted" {
	printf '{"text":""}\n{"text":"a"}\n{"text":""}\n' > "$T/x"
	run -0 ids --stats "$T/s" "$T/x"
	[ "${lines[0]}" = "[998,999]" ]
	[ "${lines[2]}" = "[998,999]" ]
	[ "$(stat_of docs_empty "$T/s")" -eq 2 ]
	[ "$(stat_of tokens "$T/s")" -eq 7 ]
	run -0 plain_ids "$T/x"
	[ "${lines[0]}" = "[]" ]
	# nothing but empty texts, and nothing at all
	echo '{"text":""}' | pack --no-bos --no-eos -o "$T/e"
	pack -o "$T/n" /dev/null
	[ -s "$T/e/00000.tok" ]
	[ -s "$T/n/00000.tok" ]
}

@test "plain, zstd, gzip, stdin and several files are one stream" {
	head -20 "$WEB" > "$T/a"
	tail -n +21 "$WEB" > "$T/b"
	pack --shard-format jsonl "$WEB" > "$T/want"
	pack --shard-format jsonl "$T/a" "$T/b" | cmp "$T/want"
	zstd -q < "$T/a" > "$T/az"
	gzip < "$T/b" > "$T/bz"
	pack --shard-format jsonl "$T/az" "$T/bz" | cmp "$T/want"
	pack --shard-format jsonl < "$WEB" | cmp "$T/want"
	pack --shard-format jsonl "$T/a" - < "$T/b" | cmp "$T/want"
}

@test "an input that ends too early is status 2 and no shard" {
	for f in truncated.jsonl.zst truncated.jsonl.gz bad_crc.jsonl.gz; do
		run -2 pack -o "$T/out" tests/data/nasty/$f
		[[ "$output" == *"$f"* ]]
		[ ! -e "$T/out/00000.tok" ]
	done
}

@test "one line of five million letters" {
	pack --shard-format jsonl --stats "$T/s" \
		tests/data/nasty/long_line_a.jsonl.zst > /dev/null
	[ "$(stat_of bytes_in "$T/s")" -eq 5000000 ]
	[ "$(stat_of docs_kept "$T/s")" -eq 1 ]
}

# --- BOS and EOS -------------------------------------------------------------

@test "one long line takes no more than the manual says" {
	case ${TEST_BUILD:-} in
	*/san-*) skip "a sanitizer has memory of its own" ;;
	esac
	# 20 MB of words: 36 MiB + 12 times the line
	{
		printf '{"text":"'
		head -c 20000000 <(yes 'the quick brown fox jumps over it' | tr '\n' ' ')
		printf '"}\n'
	} > "$T/long.jsonl"
	${CC:-cc} -O2 -D_GNU_SOURCE -o "$T/measure" tests/bench/measure.c
	"$T/measure" "$T/cost" "$BIN/pack" --tokenizer "$TOK" -q -j 1 \
		-o "$T/d" "$T/long.jsonl"
	read -r _ _ peak < "$T/cost"	# in MB
	[ "${peak%.*}" -lt 290 ]
}

@test "each document has BOS and EOS by default" {
	echo '{"text":"a"}' > "$T/x"
	local a
	a=$(plain_ids "$T/x" | tr -d '[]')
	[ "$(ids "$T/x")" = "[998,$a,999]" ]
	[ "$(ids --no-bos "$T/x")" = "[$a,999]" ]
	[ "$(ids --no-eos "$T/x")" = "[998,$a]" ]
	[ "$(ids --bos-token '<|eos|>' "$T/x")" = "[999,$a,999]" ]
}

@test "a tokenizer without BOS needs --bos-token or --no-bos" {
	TOK=$DATA/gpt2.json
	run -2 pack --shard-format jsonl "$WEB"
	[[ "$output" == *"--bos-token"*"--no-bos"* ]]
	TOK=tests/data/tok/qwen3_tokenizer.json.zst
	run -2 pack --no-bos --shard-format jsonl "$WEB"
	[[ "$output" == *"--eos-token"*"--no-eos"* ]]
	TOK=$DATA/gpt2.json
	run -2 pack --no-bos --eos-token '<|nope|>' --shard-format jsonl "$WEB"
	[[ "$output" == *"<|nope|>: no such token"* ]]
	[ "$(echo '{"text":"a"}' | ids --bos-token '<|endoftext|>' \
		--eos-token '<|endoftext|>')" = "[50256,64,50256]" ]
}

@test "tokenizer_config.json beside a public tokenizer names BOS and EOS" {
	mkdir "$T/m"
	cp "$DATA/gpt2.json" "$T/m/tokenizer.json"
	echo '{"bos_token":"<|endoftext|>","eos_token":{"content":"<|endoftext|>"}}' \
		> "$T/m/tokenizer_config.json"
	TOK=$T/m/tokenizer.json
	[ "$(echo '{"text":"a"}' | ids)" = "[50256,64,50256]" ]
}

# --- shards --------------------------------------------------------------------

@test "every format holds the same tokens, counted once" {
	local f n
	ids --stats "$T/s" "$WEB" | grep -o '[0-9]*' > "$T/want"
	n=$(wc -l < "$T/want")
	[ "$(stat_of tokens "$T/s")" -eq "$n" ]
	for f in llmc nanogpt megatron datatrove npy; do
		pack --shard-format $f -o "$T/$f" --shard-tokens 5000 \
			--stats "$T/s" "$WEB"
		[ "$(stat_of tokens "$T/s")" -eq "$n" ]
		ls "$T/$f"/00001.* > /dev/null
	done
	for f in "$T"/llmc/*.bin; do
		tail -c +1025 "$f"
	done | u16 | cmp "$T/want"
	cat "$T"/nanogpt/*.bin | u16 | cmp "$T/want"
	cat "$T"/megatron/*.bin | u16 | cmp "$T/want"
	cat "$T"/datatrove/*.ds | u16 | cmp "$T/want"
	cat "$T"/npy/*.npy | u16 | cmp "$T/want"
}

@test "no shard is written that our own reader refuses as empty" {
	echo > "$T/none"
	for f in llmc nanogpt; do
		run -2 pack --shard-format $f -o "$T/$f" "$T/none"
		[[ "$output" == *"$f has no empty shards"* ]]
		[ ! -e "$T/$f" ]
	done
	for f in assay megatron datatrove npy; do
		pack --shard-format $f -o "$T/$f" "$T/none"
		"$BIN/decode-batch" --tokenizer "$TOK" --shard-format $f \
			--check "$T/$f"
	done
}

@test "65,536 tokens are u16, more are u32, never wrapped" {
	TOK=tests/data/tok/cl100k_base.tiktoken.zst
	pack --no-bos --no-eos --shard-format llmc -o "$T/l" "$WEB"
	[ "$(od -An -td4 -N12 "$T/l/00000.bin" | tr -s ' ')" = \
	  " 20240801 7 $(plain_ids "$WEB" | grep -o '[0-9]*' | wc -l)" ]
	tail -c +1025 "$T/l/00000.bin" | od -An -v -tu4 -w4 | tr -d ' ' |
		cmp - <(plain_ids "$WEB" | grep -o '[0-9]*')
	TOK=$DATA/gpt2.json
	pack --no-bos --no-eos --shard-format llmc -o "$T/s" "$WEB"
	[ "$(od -An -td4 -N8 "$T/s/00000.bin" | tr -s ' ')" = " 20240520 1" ]
}

@test "the native shard goes through a pipe and to a folder" {
	pack --seq-len 32 "$WEB" > "$T/stream.tok"
	pack --seq-len 32 -o "$T/d" "$WEB"
	[ -s "$T/d/00000.tok" ]
	"$BIN/decode-batch" --window 0:100000 --seq-len 32 --ids \
		< "$T/stream.tok" > "$T/a"
	"$BIN/decode-batch" --window 0:100000 --seq-len 32 --ids "$T/d" > "$T/b"
	cmp "$T/a" "$T/b"
	[ -s "$T/a" ]
}

@test "--shard-tokens makes several files, the last one short" {
	pack --shard-tokens 3000 -o "$T/d" --stats "$T/s" "$WEB"
	[ -e "$T/d/00002.tok" ]
	[ ! -e "$T/d/$(printf %05d $(( $(stat_of tokens "$T/s") / 3000 + 1 ))).tok" ]
	"$BIN/decode-batch" --window 0:1000000 --seq-len 16 --ids "$T/d" > "$T/a"
	pack "$WEB" | "$BIN/decode-batch" --window 0:1000000 --seq-len 16 --ids \
		> "$T/b"
	cmp "$T/a" "$T/b"
	# an old set with more files leaves nothing behind
	pack -o "$T/d" "$WEB"
	[ "$(ls "$T/d" | grep -c tok$)" -eq 1 ]
}

# --- windows ---------------------------------------------------------------------

@test "best-fit, pad and shuffle keep every token and report padding" {
	local policy w
	for policy in concat best-fit pad; do
		pack --seq-len 100 --policy $policy --shuffle 3 -o "$T/$policy" \
			--stats "$T/s.$policy" "$WEB"
		w=$(stat_of windows "$T/s.$policy")
		[ $((w * 101)) -eq $(( $(stat_of tokens "$T/s.$policy") +
			$(stat_of repeated_tokens "$T/s.$policy") +
			$(stat_of padding_tokens "$T/s.$policy") )) ]
		"$BIN/decode-batch" --seq-len 100 --window 0:1000000 --ids \
			"$T/$policy" > "$T/out"
		[ -s "$T/out" ]
	done
	[ "$(stat_of windows "$T/s.pad")" -gt "$(stat_of windows "$T/s.best-fit")" ]
	[ "$(stat_of windows "$T/s.best-fit")" -ge "$(stat_of windows "$T/s.concat")" ]
	[ "$(stat_of windows_spanning "$T/s.pad")" -eq 0 ]
	[ "$(stat_of windows_spanning "$T/s.concat")" -gt 0 ]
}

@test "a shuffle moves windows and changes none" {
	"$BIN/pack" --tokenizer "$TOK" --seq-len 50 --policy pad "$WEB" |
		"$BIN/decode-batch" --seq-len 50 --window 0:1000000 --json \
		> "$T/plain"
	for seed in 1 2; do
		pack --seq-len 50 --policy pad --shuffle $seed "$WEB" |
			"$BIN/decode-batch" --seq-len 50 --window 0:1000000 \
			--json > "$T/shuffled$seed"
	done
	for f in plain shuffled1 shuffled2; do
		sed 's/"window":[0-9]*,//' "$T/$f" > "$T/$f.w"
		sort "$T/$f.w" > "$T/$f.s"
	done
	cmp "$T/plain.s" "$T/shuffled1.s"
	cmp "$T/plain.s" "$T/shuffled2.s"
	run -1 cmp -s "$T/plain.w" "$T/shuffled1.w"
	run -1 cmp -s "$T/shuffled2.w" "$T/shuffled1.w"
}

@test "the same bytes for any -j" {
	local j opts
	for opts in "--shard-format jsonl" "--seq-len 64" \
	    "--seq-len 64 --shuffle 9" "--seq-len 64 --policy best-fit" \
	    "--seq-len 64 --policy pad --shuffle 1 --mem 1Mi"; do
		pack -j 1 $opts "$WEB" "$WEB" "$WEB" > "$T/want"
		for j in 2 7; do
			pack -j $j $opts "$WEB" "$WEB" "$WEB" | cmp "$T/want"
		done
	done
}

# --- validation -------------------------------------------------------------------

@test "--val-frac: by the id alone, each document in one of the two" {
	pack --shard-format datatrove --val-frac 0.3 --val-out "$T/v" -o "$T/t" \
		--stats "$T/s" "$WEB"
	[[ "$(cat "$T/s")" == *'"train":{"docs":'*'"val":{"docs":'* ]]
	local nt nv
	nt=$(($(stat -c %s "$T/t/00000.ds.index") / 8))
	nv=$(($(stat -c %s "$T/v/00000.ds.index") / 8))
	[ $((nt + nv)) -eq "$(wc -l < "$WEB")" ]
	[ "$nv" -gt 5 ]
	[ "$nt" -gt 20 ]
	# a document stays where it is when others come and go
	pack --val-frac 0.3 --val-out "$T/v2" -o "$T/t2" --shard-format datatrove \
		<(sed -n '1~2p' "$WEB") <(sed -n '2~2p' "$WEB")
	sum() { od -An -v -tu2 -w2 "$1/00000.ds" | sort | cksum; }
	[ "$(sum "$T/v")" = "$(sum "$T/v2")" ]
	[ "$(sum "$T/t")" = "$(sum "$T/t2")" ]
	# 0 and 1 are all in one
	pack --val-frac 0 --val-out "$T/v" -o "$T/t" --stats "$T/s" "$WEB"
	[[ "$(cat "$T/s")" == *'"val":{"docs":0,'* ]]
	pack --val-frac 1 --val-out "$T/v" -o "$T/t" --stats "$T/s" "$WEB"
	[[ "$(cat "$T/s")" == *'"train":{"docs":0,'* ]]
}

# --- the summary -----------------------------------------------------------------

@test "the summary and --stats" {
	run -0 --separate-stderr pack -v --shard-format jsonl --stats "$T/s" "$WEB"
	[[ "$stderr" == *documents*53*tokens*windows*padding* ]]
	[ "${#lines[@]}" -eq 53 ]
	for key in docs_in docs_kept docs_dropped docs_bad bytes_in bytes_kept \
	    digest_in digest_kept docs_empty replaced_characters tokens \
	    bytes_per_token windows spanning_share largest_doc_share \
	    padding_share; do
		grep -q "\"$key\":" "$T/s"
	done
	[ "$(stat_of digest_in "$T/s")" = "$(stat_of digest_kept "$T/s")" ]
	run -0 --separate-stderr pack --shard-format jsonl "$WEB"
	[ -z "$stderr" ]
}

@test "one document that fills every batch shows" {
	head -1 "$WEB" > "$T/x"
	pack --seq-len 8 --batch-size 4 -o "$T/d" --stats "$T/s" "$T/x"
	[ "$(stat_of largest_doc_share "$T/s")" = 1 ]
	pack --seq-len 8 --batch-size 4 --policy pad --shuffle 1 -o "$T/d" \
		--stats "$T/s" "$T/x"
	[ "$(stat_of largest_doc_share "$T/s")" = 1 ]
}

# --- usage -------------------------------------------------------------------------

@test "training and validation shards cannot share a folder" {
	mkdir "$T/both"
	ln -s both "$T/link"
	run -2 pack --val-frac 0.5 --val-out "$T/link" -o "$T/both/" "$WEB"
	[[ "$output" == *"two sets of files to one folder"* ]]
	run -2 pack --val-frac 0.5 --val-out "$T/new" -o "$T/new" "$WEB"
	[ -z "$(ls -A "$T/both")" ]
	[ ! -e "$T/new" ]
	run -2 pack --val-frac 0.5 --val-out - "$WEB"
	[[ "$output" == *"--val-out - is not possible: give a folder"* ]]
}

@test "shards, validation shards and counts appear together or not at all" {
	local d
	pack -q --val-frac 0.3 --val-out "$T/v" -o "$T/t" --stats "$T/t/s" \
		<(head -n 20 "$WEB")
	for d in t v; do cp -a "$T/$d" "$T/$d.old"; done
	run -2 pack --val-frac 0.3 --val-out "$T/v" -o "$T/t" \
		--stats /dev/full "$WEB"
	[[ "$output" == *"/dev/full: No space left"* ]]
	for d in t v; do diff -r "$T/$d" "$T/$d.old"; done
	run -2 pack --val-frac 0.3 --val-out "$T/v" -o "$T/new" \
		--stats "$T/none/s" "$WEB"
	diff -r "$T/v" "$T/v.old"
	[ ! -e "$T/new" ]
	# the counts may be in a folder that pack creates
	pack -q -o "$T/new" --stats "$T/new/s" "$WEB"
	[ -s "$T/new/s" ]
	[ -s "$T/new/00000.tok" ]
}

# Permissions hold for root, too.
plainly() {
	if [ "$(id -u)" -eq 0 ]; then
		setpriv --inh-caps=-all --bounding-set=-all "$@"
	else
		"$@"
	fi
}

# DIR: digests of its shards, by name.
shards_of() {
	(cd "$1" && md5sum -- *.tok)
}

@test "a set is replaced as a whole, other files of the folder stay" {
	pack -q --shard-tokens 5000 -o "$T/d" "$WEB"
	[ "$(ls "$T/d" | wc -l)" -gt 5 ]
	echo mine > "$T/d/mine"
	touch "$T/d/00000.bin" "$T/d/7.tok"
	chmod 2750 "$T/d"
	pack -q -o "$T/d" "$WEB"
	[ "$(ls -A "$T/d" | tr '\n' ' ')" = "00000.bin 00000.tok 7.tok mine " ]
	[ "$(cat "$T/d/mine")" = mine ]
	[ "$(stat -c %a "$T/d")" = 2750 ]
	[ "$(ls -A "$T" | tr '\n' ' ')" = "d " ]
}

@test "a folder that cannot be exchanged gets its files one by one" {
	local pack
	pack=$(realpath "$BIN/pack")
	mkdir -p "$T/d/sub"
	pack -q --shard-tokens 5000 -o "$T/d" "$WEB"
	(cd "$T/d" && "$pack" -q --tokenizer "$TOK" -o . "$WEB")
	[ "$(ls -A "$T/d" | tr '\n' ' ')" = "00000.tok sub " ]
	pack -q -o "$T/whole" "$WEB"
	[ "$(shards_of "$T/d")" = "$(shards_of "$T/whole")" ]
	# the parent takes no folder
	mkdir -p "$T/p/d"
	chmod 555 "$T/p"
	plainly "$BIN/pack" -q --tokenizer "$TOK" -o "$T/p/d" "$WEB"
	chmod 755 "$T/p"
	[ "$(shards_of "$T/p/d")" = "$(shards_of "$T/whole")" ]
}

@test "a half replaced set is refused" {
	pack -q -o "$T/d" "$WEB"
	touch "$T/d/.unfinished-set"
	run -2 "$BIN/decode-batch" --tokenizer "$TOK" --window 0 "$T/d"
	[[ "$output" == *"$T/d: a program was killed while it replaced these files: run it again"* ]]
	pack -q -o "$T/d" "$WEB"
	[ "$(ls -A "$T/d")" = 00000.tok ]
	"$BIN/decode-batch" --tokenizer "$TOK" --window 0 "$T/d" > /dev/null
}

@test "the mark of a half replaced set stays when the next run fails" {
	pack -q --val-frac 0.3 --val-out "$T/v" -o "$T/t" "$WEB"
	touch "$T/v/.unfinished-set"
	mkdir "$T/t/sub" "$T/v/sub" "$T/t/00001.tok"
	run -2 pack --shard-tokens 5000 --val-frac 0.3 --val-out "$T/v" \
		-o "$T/t" "$WEB"
	[[ "$output" == *"$T/t/00001.tok"* ]]
	[ -e "$T/v/.unfinished-set" ]
}

@test "a folder with the name of a shard is not moved away" {
	mkdir -p "$T/d/00000.tok/mine"
	run -2 pack -o "$T/d" "$WEB"
	[[ "$output" == *"$T/d/00000.tok: is a folder, and a file of a set belongs there: remove it" ]]
	[ "$(ls -A "$T")" = d ]
	[ "$(ls -A "$T/d")" = 00000.tok ]
	[ -d "$T/d/00000.tok/mine" ]
	# nor one numbered past the new set, before which files would move
	rmdir "$T/d/00000.tok/mine" "$T/d/00000.tok"
	echo '{"text":"old"}' | pack -q -o "$T/d" -
	cp "$T/d/00000.tok" "$T/old"
	mkdir "$T/d/00005.tok"
	run -2 pack -o "$T/d" "$WEB"
	[[ "$output" == *"$T/d/00005.tok: is a folder, and "* ]]
	[ "$(ls -A "$T/d" | tr '\n' ' ')" = "00000.tok 00005.tok " ]
	cmp "$T/old" "$T/d/00000.tok"
}

@test "two at once: the second one fails, and the first one's set is whole" {
	local first
	mkfifo "$T/in"
	for o in "-o $T/t --val-frac 0.3 --val-out $T/v" \
		"-o $T/v --val-frac 0.3 --val-out $T/t" "-o $T/t" "-o $T/v"; do
		# shellcheck disable=SC2086
		pack -q --val-frac 0.3 --val-out "$T/v" -o "$T/t" "$T/in" &
		first=$!
		exec 7> "$T/in"
		echo '{"text":"a"}' >&7
		sleep 0.3
		# shellcheck disable=SC2086
		run -2 pack $o "$WEB"
		[[ "$output" == *": another process is writing a set of files to this folder" ]]
		cat "$WEB" >&7
		exec 7>&-
		wait $first
	done
	rm "$T/in"
	(echo '{"text":"a"}'; cat "$WEB") > "$T/in"
	pack -q --val-frac 0.3 --val-out "$T/v2" -o "$T/t2" "$T/in"
	diff -r "$T/t" "$T/t2"
	diff -r "$T/v" "$T/v2"
}

@test "a folder that is mounted from the same file system gets its set" {
	local both
	mkdir "$T/from" "$T/d"
	both="mount --bind '$T/from' '$T/d'"
	unshare -rm sh -c "$both" 2> /dev/null || skip "no mount namespace"
	pack -q -o "$T/whole" "$WEB"
	unshare -rm sh -c "$both && '$BIN/pack' -q --tokenizer '$TOK' \
		--shard-tokens 5000 -o '$T/d' '$WEB' && '$BIN/pack' -q \
		--tokenizer '$TOK' -o '$T/d' '$WEB'"
	[ "$(ls -A "$T/from")" = 00000.tok ]
	[ "$(shards_of "$T/from")" = "$(shards_of "$T/whole")" ]
	[ -z "$(ls -A "$T/d")" ]
}

@test "a set in a folder without write permission stays" {
	pack -q --shard-tokens 5000 -o "$T/d" "$WEB"
	shards_of "$T/d" > "$T/before"
	chmod 555 "$T/d"
	run -2 plainly "$BIN/pack" --tokenizer "$TOK" -o "$T/d" "$WEB"
	[[ "$output" == *"$T/d: cannot write to this folder: Permission denied"* ]]
	shards_of "$T/d" | cmp - "$T/before"
	[ "$(ls -A "$T" | tr '\n' ' ')" = "before d " ]
	chmod 755 "$T/d"
}

@test "validation shards may be in the parent of the training shards" {
	for _ in 1 2; do
		pack -q --val-frac 0.3 --val-out "$T/d" -o "$T/d/train" "$WEB"
		[ "$(ls -A "$T/d" | tr '\n' ' ')" = "00000.tok train " ]
		[ "$(ls -A "$T/d/train")" = 00000.tok ]
	done
}

@test "of runs that write to one folder at a time some end well, none mixes" {
	local p n=0 status
	pack -q -o "$T/whole" "$WEB"
	pack -q -o "$T/d" "$WEB"
	for _ in 1 2 3 4 5 6 7 8; do
		p=()
		for _ in 1 2 3 4; do
			pack -q -o "$T/d" "$WEB" 2>> "$T/busy" &
			p+=($!)
		done
		for p in "${p[@]}"; do
			status=0
			wait "$p" || status=$?
			[ $status -eq 0 ] || [ $status -eq 2 ]
			[ $status -ne 0 ] || n=$((n + 1))
		done
		[ "$(shards_of "$T/d")" = "$(shards_of "$T/whole")" ]
	done
	cat "$T/busy"
	[ $n -gt 0 ]
	run ! grep -v "another process is writing a set of files" "$T/busy"
}

@test "leftovers of killed processes go, those of living ones stay" {
	dead=$T/.d.0123456789abcdef.set
	alive=$T/.d.fedcba9876543210.set
	mkdir "$T/d" "$dead" "$alive" "$T/d/.0123456789abcdef.set" \
		"$T/.d.1.set" "$T/.dd.0123456789abcdef.set"
	echo x | tee "$dead/00000.tok" > "$alive/00000.tok"
	exec 9< "$alive"
	flock 9
	pack -q -o "$T/d" "$WEB"
	exec 9<&-
	[ ! -e "$dead" ]
	[ -e "$alive/00000.tok" ]
	[ -d "$T/.d.1.set" ]
	[ -d "$T/.dd.0123456789abcdef.set" ]
	[ "$(ls -A "$T/d")" = 00000.tok ]
}

@test "training and validation shards of two runs do not go together" {
	local a=(--preset 1M --tokenizer "$TOK" --seq-len 64 --batch-size 2
		--steps 1 --eval-every 1 --lr 1e-3)
	head -n 40 "$WEB" > "$T/half"
	pack -q --val-frac 0.3 --val-out "$T/v1" -o "$T/t1" --stats "$T/s1" "$WEB"
	pack -q --val-frac 0.3 --val-out "$T/v2" -o "$T/t2" --stats "$T/s2" \
		"$T/half"
	[[ "$(stat_of pair "$T/s1")" =~ ^[0-9a-f]{16}$ ]]
	[ "$(stat_of pair "$T/s1")" != "$(stat_of pair "$T/s2")" ]
	run -2 "$BIN/lm-train" "${a[@]}" --data "$T/t1" --val-data "$T/v2" -o "$T/r"
	[[ "$output" == *"$T/v2: these validation shards were not written together with the training shards $T/t1"* ]]
	[ ! -e "$T/r" ]
	"$BIN/lm-train" -q "${a[@]}" --data "$T/t1" --val-data "$T/v1" -o "$T/r"
	"$BIN/lm-train" -q "${a[@]}" --data "$T/t1" --val-data "$T/v2" \
		--allow-other-val -o "$T/r2"
	# a set of its own goes with any
	pack -q -o "$T/own" "$T/half"
	"$BIN/lm-train" -q "${a[@]}" --data "$T/t1" --val-data "$T/own" -o "$T/r3"
}

@test "options that exclude each other are a usage error" {
	run -2 "$BIN/pack" "$WEB"
	[[ "$output" == *"--tokenizer FILE is required"*usage:* ]]
	run -2 pack --val-frac 0.1 "$WEB"
	run -2 pack --val-out "$T/v" "$WEB"
	run -2 pack --shard-format llmc "$WEB"
	[[ "$output" == *"--shard-format llmc needs -o DIR"* ]]
	for opt in "--shuffle 1" "--policy pad" "--policy best-fit"; do
		run -2 pack --shard-format llmc -o "$T/d" $opt "$WEB"
		[[ "$output" == *"needs --shard-format assay"* ]]
	done
	run -2 pack --stats - "$WEB"
	run -2 pack --seq-len 0 "$WEB"
	run -2 pack --seq-len 1.5 "$WEB"
	run -2 pack --policy none "$WEB"
	run -2 pack --mem 1K "$WEB"
	[ ! -e "$T/d" ]
	[ ! -e "$T/v" ]
}

@test "a broken rank file is refused by line" {
	TOK=$T/ranks.tiktoken
	for line in 'IQ==' 'I! 1' 'IQ== x' 'IQ== 0' 'Ig== 5'; do
		{ echo 'IQ== 0'; echo "$line"; } > "$TOK"
		run -2 pack --split gpt2 --shard-format jsonl "$WEB"
		[[ "$output" == *"ranks.tiktoken:"* ]]
	done
}

@test "a malformed tokenizer, or one with unsupported parts, is refused" {
	TOK=$WEB
	run -2 pack --shard-format jsonl "$WEB"
	TOK=$T/none.json
	run -2 pack --shard-format jsonl "$WEB"
	[[ "$output" == *"none.json"* ]]
	sed 's/"normalizer": *null/"normalizer":{"type":"Lowercase"}/' \
		"$DATA/tok/tokenizer.json" > "$T/lower.json"
	run -1 cmp -s "$T/lower.json" "$DATA/tok/tokenizer.json"
	TOK=$T/lower.json
	run -2 pack --shard-format jsonl "$WEB"
	[[ "$output" == *Lowercase* ]]
}
