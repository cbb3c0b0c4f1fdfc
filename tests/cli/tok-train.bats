#!/usr/bin/env bats
# tok-train: the vocabulary that the rule gives, whatever the text.

bats_require_minimum_version 1.5.0

setup() {
	BIN=${BIN:-bin}
	T=$BATS_TEST_TMPDIR
	DATA=tests/data
	TEXT=$DATA/text
}

train() {
	"$BIN/tok-train" "$@"
}

# The arguments as documents, one per line; they are the JSON string as is.
docs() {
	local d
	for d in "$@"; do
		printf '{"text":"%s"}\n' "$d"
	done
}

# The tokens after the 256 bytes, in base64.
learned() {
	train -q --tiktoken "$T/ranks" -o "$T/tok.json" "$@" || return
	sed '1,256d; s/ .*//' "$T/ranks"
}

# $output of the last run is one line "tok-train: ..." with every argument.
one_message() {
	local what
	[ "$(printf '%s\n' "$output" | wc -l)" -eq 1 ]
	[[ $output == tok-train:* ]]
	for what in "$@"; do
		[[ $output == *"$what"* ]]
	done
}

b64() {
	printf "$1" | base64
}

# --- the rule --------------------------------------------------------------

@test "ranks of tests/data/text are those of the peer's merges" {
	# token k of the golden list is its left part's bytes + its right part's
	for split in gpt2 cl100k; do
		train --vocab-size 4096 --split $split -o "$T/a.json" \
			--tiktoken "$T/a.ranks" $TEXT/*.jsonl.zst
		perl -MMIME::Base64 -e '
			my @t = map { chr } 0x21 .. 0x7e, 0xa1 .. 0xac,
				0xae .. 0xff, 0 .. 0x20, 0x7f .. 0xa0, 0xad;
			open my $f, "<", shift or die;
			while (<$f>) {
				my ($a, $b) = split;
				push @t, $t[$a] . $t[$b];
			}
			print encode_base64($t[$_], ""), " $_\n" for 0 .. $#t;
		' "$DATA/train/$split.merges" > "$T/want"
		cmp "$T/want" "$T/a.ranks"
	done
}

@test "a count past 32 bits (a weight of 3,000,000,000)" {
	printf '%s\n' '{"text":"aa","n":3000000000}' '{"text":"bb","n":5}' \
		> "$T/in"
	run learned --weights n "$T/in"
	[ "$output" = "$(b64 aa; b64 bb)" ]
}

@test "a weight by a path, and texts by another key" {
	echo '{"m":{"n":7},"content":"xy"}' > "$T/in"
	run learned --weights m.n --text-key content "$T/in"
	[ "$output" = "$(b64 xy)" ]
	train -q --weights m.n --text-key content --stats "$T/s" \
		-o "$T/tok.json" "$T/in"
	grep -q '"pieces":7,' "$T/s"
}

@test "an invalid weight is a bad line, reported with file and line" {
	for w in -1 1.5 '"x"' null 1e30; do
		printf '%s\n' '{"text":"a","n":1}' \
			"{\"text\":\"b\",\"n\":$w}" > "$T/in"
		run -2 train --weights n -o "$T/no.json" "$T/in"
		one_message "$T/in:2: the weight" '"n"'
		[ ! -e "$T/no.json" ]
	done
}

@test "a pair seen less than --min-count is not merged" {
	docs ab ab ab cd cd > "$T/in"
	run learned --min-count 3 "$T/in"
	[ "$output" = "$(b64 ab)" ]
}

@test "--max-token-bytes: never longer, but exactly as long" {
	docs 'hello world' > "$T/in"
	run learned --max-token-bytes 1 "$T/in"
	[ "$output" = "" ]
	learned --max-token-bytes 5 "$T/in" > "$T/out"
	grep -qx "$(b64 hello)" "$T/out"
	run -1 grep -qx "$(b64 ' world')" "$T/out"
	# bytes, not characters
	docs 'ééé' > "$T/in"
	run learned --max-token-bytes 3 "$T/in"
	[ "$output" = "$(b64 'é')" ]
}

@test "a smaller vocabulary is a prefix of a larger one" {
	train --vocab-size 600 -o /dev/null --tiktoken "$T/a" \
		$TEXT/rust.jsonl.zst
	train --vocab-size 2000 -o /dev/null --tiktoken "$T/b" \
		$TEXT/rust.jsonl.zst
	[ "$(wc -l < "$T/a")" -eq 598 ]
	head -n 598 "$T/b" | cmp - "$T/a"
}

# --- what does not matter --------------------------------------------------

@test "threads, order of documents and of files do not matter" {
	zstd -dcq $TEXT/digitalgov.jsonl.zst $TEXT/udhr.jsonl.zst > "$T/a"
	LC_ALL=C sort "$T/a" > "$T/b"
	train -j 1 --vocab-size 3000 --stats "$T/s1" -o "$T/1" "$T/a"
	train -j 7 --vocab-size 3000 --stats "$T/s2" -o "$T/2" "$T/b"
	train -j 3 --vocab-size 3000 --stats "$T/s3" -o "$T/3" \
		$TEXT/udhr.jsonl.zst - < <(zstd -dcq $TEXT/digitalgov.jsonl.zst)
	cmp "$T/1" "$T/2"
	cmp "$T/1" "$T/3"
	cmp "$T/s1" "$T/s2"
	cmp "$T/s1" "$T/s3"
	head -n 60 "$T/a" | train -q --vocab-size 3000 -o "$T/4"
	run -1 cmp -s "$T/1" "$T/4"
}

@test "the choice of documents does not depend on their order" {
	zstd -dcq $TEXT/digitalgov.jsonl.zst $TEXT/udhr.jsonl.zst > "$T/a"
	LC_ALL=C sort -r "$T/a" > "$T/b"
	for how in "--sample-frac 0.5" "--max-docs 20" \
		"--sample-frac 0.5 --max-docs 20"; do
		train -j 1 --vocab-size 1000 $how --stats "$T/s1" -o "$T/1" "$T/a"
		train -j 3 --vocab-size 1000 $how --stats "$T/s2" -o "$T/2" "$T/b"
		cmp "$T/1" "$T/2"
		cmp "$T/s1" "$T/s2"
		run -1 grep -q '"docs_dropped":0,' "$T/s1"
	done
	grep -q '"docs_kept":20,' "$T/s1"
}

# --- texts -----------------------------------------------------------------

@test "whole documents: a line end pairs with the next" {
	docs 'a\n\nb\n\nc\n\nd' > "$T/in"
	run learned --vocab-size 259 "$T/in"
	[ "$output" = "$(b64 '\n\n')" ]
	train -q --stats "$T/s" -o "$T/tok.json" "$T/in"
	grep -q '"merges":1,"last_merge_count":3' "$T/s"
	# gpt2's pattern attaches the last line end to what follows it
	run learned --split gpt2 --vocab-size 259 "$T/in"
	[ "$output" = "" ]
}

@test "NUL is a byte" {
	docs 'a\u0000\u0000b' 'a\u0000\u0000b' > "$T/in"
	run learned --vocab-size 259 "$T/in"
	[ "$output" = "AAA=" ]
}

@test "CR is a byte and stays before LF" {
	docs 'x\r\n' 'y\r\n' > "$T/in"
	run learned --vocab-size 259 "$T/in"
	[ "$output" = "$(b64 '\r\n')" ]
}

@test "surrogate pairs are one character, a lone one is U+FFFD and counted" {
	docs '\ud83d\udc4d' '\ud83d\udc4d' > "$T/in"
	learned "$T/in" | grep -qx "$(b64 '\xf0\x9f\x91\x8d')"
	docs '\ud800' '\ud800' > "$T/in"
	learned --stats "$T/s" "$T/in" | grep -qx "$(b64 '\xef\xbf\xbd')"
	grep -q '"replaced_characters":2' "$T/s"
}

@test "U+2581 and special-token strings are text like any other" {
	docs '▁▂▃' '▁▂▃' > "$T/in"
	learned "$T/in" | grep -qx "$(b64 '▁▂▃')"
	docs '<|eos|>' '<|eos|>' > "$T/in"
	run learned "$T/in"
	[ "${#lines[@]}" -gt 2 ]
}

@test "combining marks: cl100k splits at them, o200k does not" {
	docs 'हिन्दी' > "$T/in"
	learned --split cl100k "$T/in" > "$T/out"
	[ -s "$T/out" ]
	run -1 grep -qx "$(b64 'हिन्दी')" "$T/out"
	learned --split o200k "$T/in" | grep -qx "$(b64 'हिन्दी')"
}

@test "a document longer than any buffer is used whole" {
	printf '{"text":"%s"}\n' "$(head -c 3000000 /dev/zero | tr '\0' a)" \
		> "$T/in"
	train -q --stats "$T/s" -o "$T/tok.json" "$T/in"
	grep -q '"bytes_kept":3000000,' "$T/s"
	grep -q '"pieces_distinct_bytes":3000000,' "$T/s"
}

@test "any pattern, and none" {
	docs 'ab,ab,ab' > "$T/in"
	learned --split '[^,]+|,' "$T/in" > "$T/out"
	[ "$(cat "$T/out")" = "$(b64 ab)" ]
	grep -qF '"Regex": "[^,]+|,"' "$T/tok.json"
	learned --split none "$T/in" | grep -qx "$(b64 'ab,ab,ab')"
	run -2 train --split '(' -o "$T/no.json" "$T/in"
	[[ $output == tok-train:* ]]
	[ ! -e "$T/no.json" ]
}

@test "a pre-token of millions of bytes" {
	for f in long_line_a long_line_cjk periodic whitespace_runs; do
		train -q -o "$T/tok.json" $DATA/nasty/$f.jsonl.zst
	done
	train -q --split none -o "$T/tok.json" \
		$DATA/nasty/long_line_base64.jsonl.zst
}

# --- the size --------------------------------------------------------------

@test "too little text: fewer tokens, a warning, status 0" {
	docs ab > "$T/in"
	run --separate-stderr train --vocab-size 1000 -o "$T/tok.json" "$T/in"
	[ "$status" -eq 0 ]
	[[ $stderr == *"warning: the text yields 259 tokens"*1000* ]]
	[ -e "$T/tok.json" ]
}

@test "--exact: too little text is an error and leaves nothing" {
	docs ab > "$T/in"
	run -2 train --exact --vocab-size 1000 -o "$T/tok.json" \
		--tiktoken "$T/ranks" "$T/in"
	one_message 259 1000
	[ ! -e "$T/tok.json" ]
	[ ! -e "$T/ranks" ]
	train --exact --vocab-size 259 -o "$T/tok.json" "$T/in"
}

@test "no text at all: the bytes and the special tokens" {
	for f in /dev/null $DATA/nasty/only_newlines.jsonl; do
		run --separate-stderr train -o "$T/tok.json" "$f"
		[ "$status" -eq 0 ]
		[[ $stderr == *"258 tokens"* ]]
	done
}

@test "a vocabulary too small for bytes and special tokens" {
	run -2 train --vocab-size 257 /dev/null
	[[ $output == *"at least 258"* ]]
	run -0 train -q --vocab-size 258 /dev/null
}

@test "--mem: too many pre-tokens are an error that names the limit" {
	run -2 train --mem 1M -o "$T/tok.json" $TEXT/*.jsonl.zst
	one_message "limit of 1000000:"
	[ ! -e "$T/tok.json" ]
	run -2 train --max-docs 1000 --mem 1M -o "$T/tok.json" \
		$TEXT/*.jsonl.zst
	one_message "limit of 1000000:"
}

# --- special tokens --------------------------------------------------------

@test "special tokens come last, in the order given" {
	docs 'ab ab' > "$T/in"
	train -q --special '<a>' --special '<b>' --special 'é x' \
		-o "$T/tok.json" "$T/in"
	grep -q '"id": 258, "content": "<a>"' "$T/tok.json"
	grep -q '"id": 259, "content": "<b>"' "$T/tok.json"
	grep -q '"id": 260, "content": "é x"' "$T/tok.json"
}

@test "a special token spelled like an ordinary one is refused" {
	docs 'ab ab' > "$T/in"
	for s in a ab ' ab' 'Ġab' 'Ġ' ; do
		run -2 train --special "$s" -o "$T/tok.json" "$T/in"
		one_message "\"$s\""
		[ ! -e "$T/tok.json" ]
	done
}

@test "a special token that tokenizers would decode to other text is refused" {
	docs 'ab ab' > "$T/in"
	# decoded by tokenizers 0.23.3: "\x11em", "na\xefve", " a", "<|\xe9|>"
	for s in đem naïve 'Ġa' '<|é|>'; do
		run -2 train --special "$s" -o "$T/tok.json" "$T/in"
		one_message "\"$s\"" ASCII
		[ ! -e "$T/tok.json" ]
	done
	# equal: a character that stands for no byte keeps the rest as it is
	for s in '中文' 'é x' 'ěš' '<|bos|>'; do
		train -q --special "$s" -o "$T/tok.json" "$T/in"
		grep -q "\"content\": \"$s\"" "$T/tok.json"
	done
}

@test "an empty, a repeated and a broken special token are refused" {
	run -2 train --special '' /dev/null
	one_message empty
	run -2 train --special '<x>' --special '<x>' /dev/null
	one_message '<x>' twice
	run -2 train --special $'\xff' /dev/null
	one_message UTF-8
}

# --- bad lines -------------------------------------------------------------

@test "a bad line is status 2 with its place; skip and pass drop it" {
	printf '%s\n' '{"text":"ab"}' '{"text":"c' '{"text":5}' > "$T/in"
	run -2 train -o "$T/tok.json" "$T/in"
	one_message "$T/in:2: byte"
	[ ! -e "$T/tok.json" ]
	for how in skip pass; do
		run --separate-stderr train --on-bad $how --stats "$T/s" \
			-o "$T/tok.json" "$T/in"
		[ "$status" -eq 0 ]
		[[ $stderr == *"2 bad lines skipped, the first: $T/in:2: "* ]]
		grep -q '"docs_in":3,"docs_kept":1,"docs_dropped":0,"docs_bad":2' \
			"$T/s"
	done
}

@test "an error leaves old outputs unchanged" {
	echo old > "$T/tok.json"
	echo old > "$T/ranks"
	run -2 train -o "$T/tok.json" --tiktoken "$T/ranks" \
		$DATA/nasty/truncated.jsonl.zst
	run -2 train -o "$T/tok.json" --tiktoken "$T/no/ranks" \
		$TEXT/rust.jsonl.zst
	one_message "$T/no/ranks"
	[ "$(cat "$T/tok.json" "$T/ranks")" = $'old\nold' ]
	[ "$(ls "$T" | wc -l)" -eq 2 ]
}

# --- outputs ---------------------------------------------------------------

@test "without -o the tokenizer goes to stdout" {
	zstd -dcq $TEXT/rust.jsonl.zst > "$T/in"
	train --vocab-size 1000 -o "$T/a" "$T/in"
	train --vocab-size 1000 < "$T/in" > "$T/b"
	cmp "$T/a" "$T/b"
}

@test "a closed pipe leaves no file behind" {
	echo old > "$T/t.json"
	{ sleep 0.2; env --default-signal=PIPE "$BIN/tok-train" \
		--vocab-size 300 -o "$T/t.json" --tiktoken - <<< \
		'{"text":"a"}' || echo $? > "$T/status"; } | true
	[ "$(cat "$T/status")" = 141 ]
	[ "$(cat "$T/t.json")" = old ]
	[ -z "$(find "$T" -name '.*.tmp')" ]
}

@test "two outputs cannot share a file" {
	echo old > "$T/x"
	run -2 train -o "$T/x" --tiktoken "$T/x" --stats "$T/s" <<< '{}'
	one_message "$T/x" 'two outputs to one file'
	[ "$(cat "$T/x")" = old ]
	[ "$(ls -A "$T")" = x ]
	docs a | train -q -o /dev/null --tiktoken /dev/null --vocab-size 258
}

@test "an empty pattern is a usage error" {
	run -2 train --split '' -o "$T/x" <<< '{}'
	[[ $output == *'--split: an empty pattern'* ]]
	[ ! -e "$T/x" ]
}

@test "a misspelt split name is not taken for a pattern" {
	line='{"text":"cl100k_base foo"}'
	for s in cl100k_base GPT-2 foo; do
		run -2 train --split $s -o "$T/x" <<< "$line"
		[[ $output == *"split '$s': no such name (gpt2, cl100k"* ]]
		[ ! -e "$T/x" ]
	done
	train --split '(foo)' -o "$T/x" <<< "$line"
	train --vocab-size 258 --tiktoken "$T/ranks" -o "$T/x" <<< "$line"
	run -2 "$BIN/pack" --tokenizer "$T/ranks" --split cl100k_base \
		<<< "$line"
	[[ $output == *"split 'cl100k_base': no such name"* ]]
	run -2 "$BIN/dedup" --spans --split cl100k_base <<< "$line"
	[[ $output == *"split 'cl100k_base': no such name"* ]]
}

@test "two outputs cannot share stdout" {
	run -2 train --tiktoken - /dev/null
	[[ $output == *"only one output can go to stdout"* ]]
	run -2 train -o /dev/null --tiktoken - --stats - /dev/null
	[ "$(train -q -o /dev/null --tiktoken - /dev/null | wc -l)" -eq 256 ]
}

@test "--stats: the counters and what was learned" {
	train --vocab-size 1000 --stats "$T/s" -o "$T/a" $TEXT/rust.jsonl.zst
	for key in docs_in docs_kept docs_dropped docs_bad bytes_in bytes_kept \
		digest_in digest_kept docs_empty replaced_characters pieces \
		pieces_distinct pieces_distinct_bytes vocab_size merges \
		last_merge_count; do
		grep -q "[{,]\"$key\":" "$T/s"
	done
	grep -q '"docs_in":77,"docs_kept":77,' "$T/s"
	grep -q '"vocab_size":1000,"merges":742,' "$T/s"
}

@test "the summary is for a terminal or -v, and never with -q" {
	docs ab > "$T/in"
	run --separate-stderr train --vocab-size 259 -o "$T/a" "$T/in"
	[ "$stderr" = "" ]
	run --separate-stderr train --vocab-size 259 -v -o "$T/a" "$T/in"
	[[ $stderr == *"1 documents, 2 bytes"* ]]
	run --separate-stderr train --vocab-size 999 -q -o "$T/a" "$T/in"
	[ "$stderr" = "" ]
}

# --- in stages -------------------------------------------------------------

@test "emitted pieces, in any order and number of files, give the same tokenizer" {
	zstd -dcq tests/data/text/digitalgov.jsonl.zst > "$T/all"
	split -n l/3 "$T/all" "$T/part."
	for f in "$T"/part.a?; do
		train -q --emit pieces -o "$f.pieces" "$f"
		LC_ALL=C sort -c "$f.pieces"
	done
	train -q --vocab-size 2000 -o "$T/want.json" "$T/all"
	train -q --vocab-size 2000 --pieces "$T/part.aa.pieces" --pieces \
		"$T/part.ab.pieces" --pieces "$T/part.ac.pieces" -o "$T/a.json"
	cmp "$T/want.json" "$T/a.json"
	LC_ALL=C sort -m "$T"/part.*.pieces > "$T/merged"
	LC_ALL=C sort -r "$T/merged" | train -q --vocab-size 2000 --pieces - |
		cmp "$T/want.json"
	# summed by others, compressed
	LC_ALL=C awk -F '\t' '{ n[$1] += $2 } END { for (p in n)
		print p "\t" n[p] }' "$T/merged" | zstd -q > "$T/sums.zst"
	train -q --vocab-size 2000 --pieces "$T/sums.zst" --stats "$T/s" |
		cmp "$T/want.json"
	grep -q '^{"pieces":[0-9]*,.*"vocab_size":2000,' "$T/s"
	# as one run writes them, for any number of threads
	for j in 1 2 7; do
		train -q -j $j --emit pieces "$T/all" > "$T/one.$j"
	done
	cmp "$T/one.1" "$T/one.2"
	cmp "$T/one.1" "$T/one.7"
	zstd -dcq "$T/sums.zst" | LC_ALL=C sort | cmp "$T/one.1"
}

@test "a piece is one line, with its white space escaped" {
	printf '%s\n' '{"text":"a\tb","n":3}' '{"text":"\\t\n\r\u0000é","n":2}' \
		'{"text":"a\tb","n":4}' > "$T/in"
	train -q --emit pieces --split none --weights n --stats "$T/s" \
		"$T/in" > "$T/out"
	printf '%s\t%d\n' '\\t\n\r\0é' 2 'a\tb' 7 | cmp "$T/out"
	grep -q '"docs_in":3,.*"pieces":9,"pieces_distinct":2,' "$T/s"
	train -q --split none --vocab-size 260 --pieces "$T/out" 2> /dev/null \
		> "$T/a.json"
	train -q --split none --vocab-size 260 --weights n "$T/in" \
		2> /dev/null | cmp "$T/a.json"
}

@test "a line that is not a piece is status 2 with its place" {
	echo old > "$T/tok.json"
	while IFS='|' read -r line want; do
		printf "ok\t1\n$line" > "$T/in"
		run -2 train --pieces "$T/in" -o "$T/tok.json"
		one_message "$T/in:2: " "$want"
		[ "$(cat "$T/tok.json")" = old ]
	done <<- 'END'
		a\n|a tab and its count
		a\t\n|a tab and its count
		a\t0\n|a tab and its count
		a\t-1\n|a tab and its count
		a\t1.5\n|a tab and its count
		a\t9223372036854775808\n|a tab and its count
		a\t1\t2\n|a tab and its count
		\t5\n|no pre-token
		a\\x\t5\n|backslash
		\xff\t5\n|UTF-8
		a\t9223372036854775807\n|
		a\t5|truncated
	END
	printf 'ab\t4000000\nb\t1\n' > "$T/in"
	run -2 train --mem 100 --pieces "$T/in" -o "$T/tok.json"
	one_message "limit of 100 bytes"
	[ "$(cat "$T/tok.json")" = old ]
}

@test "options of the other stage are refused" {
	run -2 train --emit pieces --vocab-size 300 /dev/null
	run -2 train --emit pieces --tiktoken "$T/r" /dev/null
	run -2 train --pieces /dev/null --text-key x
	run -2 train --pieces /dev/null --weights x
	run -2 train --pieces /dev/null /dev/null
	[[ "$output" == *"no documents are read with --pieces"* ]]
}
