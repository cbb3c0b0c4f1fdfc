#!/usr/bin/env bats
# Split patterns in every program that splits texts.  What they mean is tested
# in tests/unit/split_peers.c.

bats_require_minimum_version 1.5.0

setup_file() {
	ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	export ROOT
}

setup() {
	PATH=${BIN:-$ROOT/bin}:$PATH
	cd "$BATS_TEST_TMPDIR"
	# on a run of a's before another letter it tries every sum of 1 and 2
	SLOW='(?:a|aa)+\z|[^a]+'
	a=$(printf 'a%.0s' {1..60})
	printf '{"text":"%s"}\n' "good a" "$a!" "more good" > docs.jsonl
	# tiktoken's own, of cl100k_base
	CL100K="'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+|"
	CL100K+=" ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
}

# FILE...: the ids that pack gives
ids() {
	pack --no-bos --no-eos --shard-format jsonl "$@" |
		sed 's/.*"ids":\(\[[0-9,]*\]\).*/\1/'
}

# Every program that splits texts, with these options.
each() {
	tok-train -q --vocab-size 258 --split '(?:a|aa)+\z|[^a]+' -o tok.json \
		<<< '{"text":"good a"}'
	echo '{"text":"nothing of it"}' > bench.jsonl
	for c in "tok-train -q --vocab-size 258 --split '$SLOW'" \
		"tok-train -q --vocab-size 258 --max-docs 3 --split '$SLOW'" \
		"pack -q --tokenizer tok.json --shard-format jsonl" \
		"dedup -q --spans --span-tokens 9 --split '$SLOW'" \
		"dedup -q --spans --span-tokens 9 --tokenizer tok.json" \
		"dedup -q --repeats --tokenizer tok.json" \
		"contam13 -q --tokens --tokenizer tok.json --against bench.jsonl"
	do
		run -"$1" --separate-stderr bash -c "$c ${*:2} docs.jsonl"
		echo "$c: $stderr"
		"$check"
	done
}

place() {
	[[ $stderr == *"docs.jsonl:2: byte 0 of the text: a split pattern"* ]]
}

counted() {
	[[ $(< stats.json) == *'"docs_in":3,'*'"docs_kept":2,'* ]]
	[[ $(< stats.json) == *'"docs_bad":1,'* ]]
}

@test "a pattern that backtracks without end: status 2 with FILE:LINE" {
	check=place each 2
}

@test "a pattern that backtracks without end is a bad line for --on-bad" {
	check=counted each 0 --on-bad skip --stats stats.json
	check=counted each 0 --on-bad pass --stats stats.json
	dedup -q --repeats --tokenizer tok.json --on-bad pass \
		docs.jsonl > kept
	cmp kept docs.jsonl
	contam13 -q --tokens --tokenizer tok.json --against bench.jsonl \
		--on-bad skip docs.jsonl > kept
	cmp kept <(sed 2d docs.jsonl)
}

@test "text that a Split removes is a bad document" {
	tok-train -q --vocab-size 258 --split '\p{L}+' -o tok.json docs.jsonl
	sed 's/"Isolated", "invert": false/"Removed", "invert": true/' \
		tok.json > removed.json
	run -1 cmp -s tok.json removed.json
	run -2 pack -q --tokenizer removed.json --shard-format jsonl docs.jsonl
	[[ $output == *'docs.jsonl:1: byte 4 of the text: the split pattern'* ]]
	echo '{"text":"letters"}' > all.jsonl
	cmp <(ids --tokenizer tok.json all.jsonl) \
		<(ids --tokenizer removed.json all.jsonl)
}

@test "gpt2 is written as ByteLevel; files with a Split of it still load" {
	zstd -dcq "$ROOT/tests/data/text/digitalgov.jsonl.zst" > web.jsonl
	tok-train -q --vocab-size 400 --split gpt2 -o new.json web.jsonl
	grep -F '"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false' \
		new.json | grep -F '"use_regex": true'
	regex="'s|'t|'re|'ve|'m|'ll|'d| ?\\\\p{L}+| ?\\\\p{N}+|"
	regex+=" ?[^\\\\s\\\\p{L}\\\\p{N}]+|\\\\s+(?!\\\\S)|\\\\s+"
	REGEX=$regex perl -pe 'if (s/"pre_tokenizer": (\{.*?\}),$/X/) {
		($b = $1) =~ s/"use_regex": true/"use_regex": false/;
		s/X/"pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex": "$ENV{REGEX}"}, "behavior": "Isolated", "invert": false}, $b]},/
	}' new.json > old.json
	grep -q '"Regex"' old.json
	pack -q --tokenizer new.json web.jsonl > new.tok
	pack -q --tokenizer old.json web.jsonl > old.tok
	cmp new.tok old.tok	# the fingerprint in it, too
}

@test "tiktoken's own spelling of cl100k, with a .tiktoken file" {
	file=$ROOT/tests/data/tok/cl100k_base.tiktoken.zst
	printf '{"text":"%s"}\n' 'a\n ' 'def f():\n\treturn 1\n    \n  ' \
		"I'LL \\r\\n \\t" '1234567 x' > in.jsonl
	# answers of tiktoken 0.14
	cmp <(ids -q --tokenizer "$file" --split "$CL100K" in.jsonl) - <<- END
		[64,198,220]
		[755,282,4019,862,220,16,7361,256]
		[40,6,4178,2591,7163]
		[4513,10961,22,865]
	END
}

@test "tiktoken's own spelling of cl100k, to train" {
	printf '{"text":"%s"}\n' 'a\n \n ' 'b\n \n ' 12345 > in.jsonl
	tok-train -q --vocab-size 262 --split "$CL100K" -o tok.json in.jsonl
	# white space at the end is one pre-token, of which tokens are made
	grep -F '"ĊĠĊĠ"' tok.json
	# a possessive interval is an atomic group for Oniguruma
	grep -F '|(?>\\p{N}{1,3})|' tok.json
	[ "$(ids -q --tokenizer tok.json in.jsonl | head -1)" = '[64,257]' ]
}

@test "a pattern that Oniguruma refuses is an error that names it" {
	for p in '\X' '(' '[a' '\p{Klingon}' '(?U)a' '(?*a)' '[a--b]' 'a+*'; do
		run -2 tok-train -q --split "$p" --vocab-size 258 docs.jsonl
		[[ $output == *"tok-train: split pattern"* ]]
	done
}
