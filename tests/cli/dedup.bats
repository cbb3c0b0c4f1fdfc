#!/usr/bin/env bats
# dedup: the first of each cluster is kept, and nothing else is lost.

bats_require_minimum_version 1.5.0

setup_file() {
	export BIN=${BIN:-bin}
	export DATA=$BATS_FILE_TMPDIR
	zstd -dcq tests/data/text/digitalgov.jsonl.zst \
		tests/data/text/sqlite_doc.jsonl.zst > "$DATA/web.jsonl"
}

setup() {
	T=$BATS_TEST_TMPDIR
	WEB=$DATA/web.jsonl
	# five-word shingles: A~B and B~C are similar (0.8), A~C is not
	words A 1 40 > "$T/A"
	{ words w 1 4; words A 5 40; } > "$T/B"
	{ words w 1 4; words A 5 36; words v 37 40; } > "$T/C"
	{ words u 1 1; words w 2 4; words A 5 36; words v 37 40; } > "$T/D"
}

dedup() {
	"$BIN/dedup" "$@"
}

# PREFIX FROM TO: that many different words
words() {
	seq -f "$1%.0f" -s ' ' "$2" "$3" | tr '\n' ' '
}

# ID TEXT: one line, the text as it is
line() {
	printf '{"id":"%s","text":"%s"}\n' "$1" "$2"
}

# texts of stdin to documents 1, 2, ...
docs() {
	local n=0 text
	while IFS= read -r text; do
		line "$((n += 1))" "$text"
	done
}

ids() {
	sed -n 's/^{"id":"\([^"]*\)".*/\1/p' | tr '\n' ' '
}

# KEY FILE: a number of a --stats file, at its top level
stat_of() {
	sed "s/.*\"$1\":\"\{0,1\}\([^,}\"]*\).*/\1/" "$2"
}

chain() {
	local x
	for x in "$@"; do
		line "$x" "$(cat "$T/$x")"
	done
}

# --- exact -----------------------------------------------------------------

@test "exact: the first of each is kept, lines byte for byte" {
	printf '%s\n' '{"text":"a","id":1}' ' {"id":2, "text" : "b"} ' \
		'{"id":3,"text":"\u0061"}' '{"id":4,"text":"A"}' > "$T/in"
	dedup --exact --report "$T/r" "$T/in" > "$T/out"
	sed 3d "$T/in" | cmp - "$T/out"
	[ "$(cat "$T/r")" = '{"id":"3","action":"drop","reason":"exact","duplicate_of":"1","duplicate_at":"'"$T/in"':1"}' ]
}

@test "exact: NUL, lone surrogates and empty texts are texts" {
	printf '%s\n' '{"id":"1","text":""}' '{"id":"2","text":"a\u0000b"}' \
		'{"id":"3","text":"a\u0000c"}' '{"id":"4","text":"\ud800"}' \
		'{"id":"5","text":"\ufffd"}' '{"id":"6","text":""}' \
		'{"id":"7","text":"a\u0000b"}' > "$T/in"
	dedup --exact --stats "$T/s" "$T/in" > "$T/out"
	[ "$(ids < "$T/out")" = "1 2 3 4 " ]
	[ "$(stat_of replaced_characters "$T/s")" = 1 ]
}

@test "exact: --normalize folds case, white space, NFC and NFD" {
	printf '%s\n' "caf$(printf '\303\251') Noir" \
		"  CAFE$(printf '\314\201')\\n\\tnoir " 'cafe noir' \
		'caf, noir' > "$T/t"
	docs < "$T/t" > "$T/in"
	[ "$(dedup --exact --normalize "$T/in" | ids)" = "1 3 4 " ]
	[ "$(dedup --exact "$T/in" | ids)" = "1 2 3 4 " ]
}

@test "--check without -o: findings on stdout, no documents; with -o both" {
	local o
	{ docs < <(printf '%s\n' 'one two three' 'four five' 'one two three' \
		"$(yes loop | head -n 40 | tr '\n' ' ')"); } > "$T/in"
	for o in '--exact' '--near' '--exact --repeats' \
		'--spans --span-bytes 9' '--repeats --mark'; do
		dedup $o --report "$T/want" -o "$T/kept" "$T/in"
		run -1 --separate-stderr dedup --check $o "$T/in"
		[ "$output" = "$(cat "$T/want")" ]
		[ -z "$stderr" ]
		run -1 dedup --check $o --report "$T/r" -o "$T/out" "$T/in"
		[ -z "$output" ]
		cmp "$T/want" "$T/r"
		cmp "$T/kept" "$T/out"
	done
	head -n 2 "$T/in" > "$T/clean"
	run -0 dedup --check "$T/clean"
	[ -z "$output" ]
	# a bad line that is skipped is one, but not a duplicate
	echo '{' >> "$T/clean"
	run -0 --separate-stderr dedup --check --on-bad skip "$T/clean"
	[[ "$output" == '{"id":"'"$T/clean"':3","action":"skip",'* ]]
}

@test "--source-key: counts by source, for what is dropped, cut and marked" {
	line() { printf '{"s":"%s","text":"%s"}\n' "$1" "$2"; }
	{ line a "$(words c 1 30)"; line b "$(words c 1 30)"; line b x
		line a "$(yes loop | head -n 40 | tr '\n' ' ')"; } > "$T/in"
	count() {
		dedup "$@" --source-key s --stats "$T/s" "$T/in" > "$T/out"
		sed 's/.*"sources":\[{\(.*\)}\]}/\1/; s/},{/ /g; s/"[a-z_]*"://g' \
			"$T/s"
	}
	n=$(words c 1 30 | tr -d '\n' | wc -c)
	[ "$(count --exact --repeats)" = \
		"\"a\",2,1,1,0,0,1,$((n + 200)),$n \"b\",2,1,1,0,0,1,$((n + 1)),1" ]
	[ "$(count --repeats --mark)" = \
		"\"a\",2,2,0,0,0,1,$((n + 200)),$((n + 200)) \"b\",2,2,0,0,0,0,$((n + 1)),$((n + 1))" ]
	[[ "$(count --spans --span-bytes 50 --min-left 0)" == \
		*"\"b\",2,2,0,0,1,1,$((n + 1)),1" ]]
}

@test "counters: in = kept + dropped + bad, digests of what is kept" {
	{ cat "$WEB"; echo broken; head -20 "$WEB"; } > "$T/in"
	dedup --exact --on-bad pass --stats "$T/s" -o "$T/out" "$T/in" \
		2> "$T/err"
	grep -q '1 bad line passed on' "$T/err"
	cmp <(sort -u "$T/in") <(sort "$T/out")
	[ "$(stat_of docs_in "$T/s")" -eq $(($(stat_of docs_kept "$T/s") +
		$(stat_of docs_dropped "$T/s") + 1)) ]
	grep -vx broken "$T/out" | dedup --exact --stats "$T/s2" > /dev/null
	[ "$(stat_of digest_kept "$T/s")" = "$(stat_of digest_in "$T/s2")" ]
	[ "$(stat_of bytes_kept "$T/s")" = "$(stat_of bytes_in "$T/s2")" ]
}

# --- near ------------------------------------------------------------------

@test "near: short texts are one shingle, not one cluster" {
	printf '%s\n' cat dog cat 'hello world' 'Hello, world!' \
		> "$T/t"
	docs < "$T/t" > "$T/in"
	[ "$(dedup --near "$T/in" | ids)" = "1 2 4 " ]
}

@test "near: without a word nothing is a near duplicate" {
	printf '%s\n' '' '...' '' '!?' '...' > "$T/t"
	docs < "$T/t" > "$T/in"
	[ "$(dedup --near "$T/in" | ids)" = "1 2 3 4 5 " ]
	[ "$(dedup "$T/in" | ids)" = "1 2 4 " ]
}

@test "near: A~B, B~C, A not C: one cluster, the similarity to its first" {
	chain A B C > "$T/in"
	dedup --near --report "$T/r" "$T/in" > "$T/out"
	[ "$(ids < "$T/out")" = "A " ]
	[ "$(sed -n 's/.*"similarity":\([0-9.]\{1,6\}\).*/\1/p' "$T/r" |
		tr '\n' ' ')" = "0.8 0.6363 " ]
	[ "$(grep -c '"duplicate_of":"A"' "$T/r")" = 2 ]
	[ "$(dedup --near --direct "$T/in" | ids)" = "A C " ]
	[ "$(dedup --near --drop-all "$T/in" | ids)" = "" ]
}

@test "near: the threshold is inclusive" {
	chain A B > "$T/in"
	[ "$(dedup --near --threshold 0.8 "$T/in" | ids)" = "A " ]
	[ "$(dedup --near --threshold 0.801 "$T/in" | ids)" = "A B " ]
}

@test "near: any order, any threads: the same cluster, its first kept" {
	for o in "A B C" "A C B" "B A C" "B C A" "C A B" "C B A"; do
		# shellcheck disable=SC2086
		chain $o > "$T/in"
		for j in 1 2 7; do
			[ "$(dedup -j $j --near "$T/in" | ids)" = "${o%% *} " ]
		done
	done
}

@test "near: templates that differ in names are not duplicates" {
	for i in 1506 1507 1508; do
		echo "Farm to Market Road $i (FM $i) is located in Lamar County."
	done > "$T/t"
	docs < "$T/t" > "$T/in"
	[ "$(dedup --near "$T/in" | ids)" = "1 2 3 " ]
	run dedup --explain 1 2 "$T/in"
	[[ $output == *"jaccard	0.0666"* ]]
	[[ $output == *"near_duplicates	0"* ]]
	[ "$(dedup --near --ngram 1 --threshold 0.6 "$T/in" | ids)" = "1 " ]
}

@test "near: --edit-sim requires the same order" {
	words a 1 60 > "$T/x"
	{ words a 31 60; words a 1 30; } > "$T/y"
	{ line x "$(cat "$T/x")"; line y "$(cat "$T/y")"; } > "$T/in"
	[ "$(dedup --near "$T/in" | ids)" = "x " ]
	[ "$(dedup --near --edit-sim 0.8 "$T/in" | ids)" = "x y " ]
	[ "$(dedup --near --edit-sim 0.8 <(chain A B) | ids)" = "A " ]
}

@test "near: --edit-sim is inclusive, and applies to equal sets" {
	# distance 4 of 5 words: 1 - 4 / 5 is not 0.2 in floating point
	{ line x "a b c d e"; line y "e d c b a"; } > "$T/in"
	[ "$(dedup --near --ngram 1 --edit-sim 0.2 "$T/in" | ids)" = "x " ]
	# the same shingles, three times as long
	{ line x "$(times 3 a b c d e f)"; line y "$(times 9 a b c d e f)"; } \
		> "$T/in"
	[ "$(dedup --near "$T/in" | ids)" = "x " ]
	[ "$(dedup --near --edit-sim 0.8 "$T/in" | ids)" = "x y " ]
	dedup --near --emit bands "$T/in" | LC_ALL=C sort -u |
		dedup --emit pairs > "$T/pairs"
	[ "$(dedup --near --edit-sim 0.8 --apply "$T/pairs" "$T/in" | ids)" \
		= "x y " ]
	[ "$(dedup --near --edit-sim 0.3 --apply "$T/pairs" "$T/in" | ids)" \
		= "x " ]
}

@test "near: --direct requires both similarities" {
	words a 1 60 > "$T/x"
	# like x in its words, and by way of z in their order
	{ words a 11 60; words a 1 10; } > "$T/z"
	{ words a 21 60; words a 1 20; } > "$T/y"
	{ line x "$(cat "$T/x")"; line y "$(cat "$T/y")"; 
		line z "$(cat "$T/z")"; } > "$T/in"
	[ "$(dedup --near --edit-sim 0.66 "$T/in" | ids)" = "x " ]
	[ "$(dedup --near --edit-sim 0.66 --direct "$T/in" | ids)" = "x y " ]
}

@test "near: --direct --against: each reference is kept" {
	# A is the first of the cluster; C resembles the second reference
	chain A D > "$T/ref"
	chain B C > "$T/in"
	dedup --near --direct --against "$T/ref" --report "$T/r" "$T/in" \
		> "$T/out"
	[ ! -s "$T/out" ]
	[ "$(sed 's/.*"id":"\(.\)".*"duplicate_of":"\(.\)".*/\1\2/' "$T/r" |
		tr '\n' ' ')" = "BA CD " ]
	chain A > "$T/ref"
	[ "$(dedup --near --direct --against "$T/ref" "$T/in" | ids)" = "C " ]
}

@test "near: Chinese, Japanese, Thai: a letter with its marks is a word" {
	local zh ja th i t=() LC_ALL=C
	# thirty letters of three bytes (Thai: nine), none of which comes again;
	# 25 of 27 shingles are common
	zh=天地玄黃宇宙洪荒日月盈昃辰宿列張寒來暑往秋收冬藏閏餘成律呂
	ja=いろはにほへとちりぬるをわかよたれそつねならむうゐのおくや
	for i in $(seq 129 157); do	# U+0E01.., with a vowel and a tone
		th+=$(printf "\\xe0\\xb8\\x$(printf %x "$i")")ี่
	done
	for i in "$zh 歲 雲" "$ja ま け" "$th พ ฟ"; do
		read -ra t <<< "$i"
		line a "${t[0]}${t[1]}" > "$T/in"
		line b "${t[0]:0:27}，\\n${t[0]:27}${t[2]}。" >> "$T/in"
		line c "${t[0]:0:27}" >> "$T/in"
		[ "$(dedup --near --report "$T/r" "$T/in" | ids)" = "a c " ]
		grep -q '"id":"b",.*"duplicate_of":"a",.*:0.9259259259259259}' \
			"$T/r"
	done
}

@test "near: invisible characters in words are no difference" {
	line a "$(words c 1 30)" > "$T/in"
	line b "$(words c 1 30 | sed 's/c/c\xc2\xad/g; s/ /\xe2\x80\x8b /g')" \
		>> "$T/in"
	dedup --near --report "$T/r" "$T/in" > "$T/out"
	[ "$(ids < "$T/out")" = "a " ]
	grep -q '"similarity":1}' "$T/r"
}

@test "near: --unit char ignores what separates" {
	printf '%s\n' '吾輩は猫である。名前はまだ無い。どこで生れたか' \
		'吾輩は猫である、名前はまだ無い、どこで生れたか' > "$T/t"
	docs < "$T/t" > "$T/in"
	[ "$(dedup --near --unit char "$T/in" | ids)" = "1 " ]
	printf '%s\n' 'one word after another' 'onewordafteranother' > "$T/t"
	docs < "$T/t" > "$T/in"
	[ "$(dedup --near "$T/in" | ids)" = "1 2 " ]
	[ "$(dedup --near --unit char "$T/in" | ids)" = "1 " ]
}

@test "near: --against: the reference wins, is not printed, and is named" {
	chain A C > "$T/ref"
	{ chain B; line new "nothing like the others at all, really"; } \
		> "$T/in"
	dedup --near --against "$T/ref" --report "$T/r" --stats "$T/s" \
		"$T/in" > "$T/out"
	[ "$(ids < "$T/out")" = "new " ]
	grep -q '"id":"B".*"duplicate_of":"A","duplicate_at":"'"$T/ref"':1"' \
		"$T/r"
	[ "$(stat_of docs_in "$T/s")" = 2 ]
}

@test "--version: what band records depend on" {
	[[ "$(dedup --version)" == *"words 2, minhash 1, seed 1"* ]]
	line 1 'the first of a cluster is kept' | dedup --emit bands |
		head -n 2 > "$T/bands"
	printf '%s\n' > "$T/want" \
		'5f39a21a 0000 f1659700b019d1ed d9ca823f1f1a795ddda7a2e71cc9495b' \
		'5f39a21a 0001 6f2abbba02a57d1f d9ca823f1f1a795ddda7a2e71cc9495b'
	cmp "$T/want" "$T/bands"
}

@test "near: bands and rows in the wrong order: a warning" {
	run dedup --near --bands 20 --rows 450 "$WEB"
	[ "$status" -eq 0 ]
	[[ $output == *"probability"* ]]
	run -0 --separate-stderr dedup --near "$WEB"
	[ -z "$stderr" ]
	for x in 0 1.5 -1 nan; do
		run -2 dedup --near --threshold=$x "$WEB"
	done
}

@test "near: the S-curve" {
	run dedup --curve --bands 14 --rows 8
	[[ $output == *"0.80	0.923548"* ]]
	[[ $output == *"0.50	0.053320"* ]]
	run dedup --curve --bands 20 --rows 450 --json
	[[ $output == *'{"jaccard":0.80,"probability":0.000000}'* ]]
}

@test "a million copies of one line" {
	yes '{"text":"one line that comes again and again and again"}' |
		head -n 1000000 | dedup --near --stats "$T/s" > "$T/out"
	[ "$(wc -l < "$T/out")" -eq 1 ]
	[ "$(stat_of largest_cluster "$T/s")" = 1000000 ]
}

@test "100,000 documents from a template in a bucket: the similar are found" {
	# of eight shingles seven are the same: Jaccard 7/9; then 8/9
	local form="the same eleven words are at the start of every one"
	{
		seq -f "{\"text\":\"$form %.0f\"}" 100000
		seq -f "{\"text\":\"$form %.0f and\"}" 1000 1000 50000
	} > "$T/in"
	dedup --near --bands 40 --rows 2 --stats "$T/s" "$T/in" > "$T/out"
	head -n 100000 "$T/in" | cmp - "$T/out"
	[ "$(stat_of pairs_compared "$T/s")" -lt 1000 ]
	[ "$(stat_of pairs_similar "$T/s")" = 50 ]
}

@test "a bucket larger than --mem, with clusters in it" {
	local i
	for i in $(seq 300); do
		line "$i" "$(words c 1 30) $(words "g$((i % 7))x" 1 12) z$i"
	done > "$T/in"
	for mem in 1Mi 1Gi; do
		dedup --near --bands 60 --rows 1 --threshold 0.7 --mem $mem \
			--stats "$T/s" "$T/in" | ids > "$T/out"
		[ "$(cat "$T/out")" = "1 2 3 4 5 6 7 " ]
		[ "$(stat_of clusters "$T/s")" = 7 ]
	done
}

@test "200,000 tiny documents, one of 5 MB" {
	{
		seq -f '{"text":"tiny document number %.0f"}' 200000
		printf '{"text":"'
		seq -s ' ' 800000 | tr -d '\n'
		echo '"}'
	} > "$T/in"
	dedup --stats "$T/s" "$T/in" > "$T/out"
	cmp "$T/in" "$T/out"
}

# --- repeats ---------------------------------------------------------------

# N UNIT...: the unit N times
times() {
	local n=$1
	shift
	yes "$*" | head -n "$n" | tr '\n' ' '
}

# rule TEXT: run, phrase or nothing
rule() {
	line x "$1" | dedup --repeats --report "$T/r" "${@:2}" > /dev/null
	sed -n 's/.*"rule":"\([a-z]*\)".*/\1/p' "$T/r"
}

@test "repeats: OLMo's rule, its test vectors" {
	local c=--phrase-count=0 p13="a b c d e f g h i j k l m"
	[ "$(rule "$(times 31 a)" $c)" = "" ]
	[ "$(rule "$(times 32 a)" $c)" = run ]
	[ "$(rule "$(times 31 a b) a" $c)" = "" ]
	[ "$(rule "$(times 32 a b)" $c)" = run ]
	[ "$(rule "pre $(times 32 a b c) post" $c)" = run ]
	[ "$(rule "$(times 32 "$p13")" $c)" = run ]
	[ "$(rule "$(times 31 "$p13") a b c d e f g h i j k l" $c)" = "" ]
	[ "$(rule "$(times 32 "$p13 n")" $c)" = "" ]
	[ "$(rule "$(times 16 a) z $(times 16 a)" $c)" = "" ]
	[ "$(rule "" $c)" = "" ]
	[ "$(rule "$(for i in $(seq 40); do echo "a b x$i"; done |
		tr '\n' ' ')" $c)" = "" ]
}

@test "repeats: the place of the run" {
	line x "pre $(times 32 a b c) post" > "$T/in"
	dedup --repeats --report "$T/r" "$T/in" > "$T/out"
	[ ! -s "$T/out" ]
	grep -qF '"rule":"run","times":32,"spans":[{"start":4,"end":195}]' \
		"$T/r"
}

@test "repeats: a phrase whose copies are apart" {
	local t
	t=$(for i in $(seq 40); do echo "a b x$i"; done | tr '\n' ' ')
	[ "$(rule "$t")" = phrase ]
	[ "$(rule "$t" --phrase-count 41)" = "" ]
	[ "$(rule "$t" --phrase-frac 0.67)" = "" ]
	[ "$(rule "$t" --phrase-frac 0.66)" = phrase ]
}

@test "repeats: --mark adds a field, --check exits with 1" {
	line x "$(times 32 a)" > "$T/in"
	dedup --repeats --mark "$T/in" > "$T/out"
	sed 's/}$/,"repeats":"run"}/' "$T/in" | cmp - "$T/out"
	run -1 dedup --repeats --mark --check "$T/in"
	run -1 dedup --repeats --check "$T/in"
	line x "all is well" > "$T/in"
	run -0 dedup --repeats --check "$T/in"
}

@test "repeats: tokens of a tokenizer" {
	"$BIN/tok-train" --vocab-size 300 -q -o "$T/tokenizer.json" "$WEB"
	line x "$(printf 'zq%.0s' $(seq 40))" > "$T/in"
	[ "$(dedup --repeats --phrase-count 0 "$T/in" | ids)" = "x " ]
	[ "$(dedup --repeats --phrase-count 0 --tokenizer "$T/tokenizer.json" \
		"$T/in" | ids)" = "" ]
}

# share TEXT [OPTION...]: the share of Gopher above its limit, and its value
share() {
	line x "$1" | dedup --repeats --report "$T/r" "${@:2}" > /dev/null
	sed -n 's/.*"rule":"gopher","share":\(.*\)}$/\1/p' "$T/r"
}

@test "repeats: Gopher's shares, off by default" {
	local t='a\nb\na\na'
	[ "$(share "$t")" = "" ]
	[ "$(share "$t" --gopher)" = '"dup_lines","value":0.5' ]
	[ "$(share "$t" --gopher --gopher-limits dup_lines=0.5)" = \
		'"dup_line_chars","value":0.2857142857142857' ]
	[ "$(share "$t" --gopher-limits dup_lines=0.49)" = '"dup_lines","value":0.5' ]
	[ "$(share "$t" --gopher-limits dup_lines=0.5)" = "" ]
	[ "$(share "" --gopher)" = "" ]
	[ "$(share "hello world" --gopher)" = "" ]
	[ "$(share 'p\nq\n\nr\n\np\nq' --gopher-limits dup_paragraphs=0.3)" = \
		'"dup_paragraphs","value":0.3333333333333333' ]
	[ "$(share "to, be or to - be; that is the way" --gopher)" = \
		'"top_2gram","value":0.38235294117647056' ]
	[ "$(share "1 2 3 4 5 6 x 1 2 3 4 5 6" --gopher-limits dup_6gram=0.4)" = \
		'"dup_6gram","value":0.44' ]
	[ "$(share "1 2 3 4 5 6 x 1 2 3 4 5 6" --gopher-limits dup_7gram=0)" = "" ]
}

@test "repeats: every share of Gopher has its limit" {
	local t='1 2 3 4 5 6 7 8 9 10 11\n\n1 2 3 4 5 6 7 8 9 10 11' k n=0
	for k in dup_{lines,paragraphs,line_chars,paragraph_chars} \
		top_{2,3,4}gram dup_{5,6,7,8,9,10}gram; do
		[[ "$(share "$t" --gopher-limits "$k=0.1")" = "\"$k\","* ]] || {
			echo "$k: $(cat "$T/r")"
			return 1
		}
		[ "$(share "$t" --gopher-limits "$k=1")" = "" ]
		n=$((n + 1))
	done
	[ "$n" = 13 ]
	line x "$t" > "$T/in"
	run -2 dedup --repeats --gopher-limits dup_line=0.1 "$T/in"
	[[ $output == *"--gopher-limits: 'dup_line=0.1'"* ]]
}

@test "repeats: --gopher with --mark, --stats, --spans, --tokenizer, -j" {
	line x 'a\nb\na\na' > "$T/in"
	dedup --repeats --gopher --mark --stats "$T/s" "$T/in" > "$T/out"
	sed 's/}$/,"repeats":"gopher"}/' "$T/in" | cmp - "$T/out"
	grep -qF '"repeat_gopher":{"docs":1,"bytes":7}' "$T/s"
	run -2 dedup --near --gopher "$T/in"
	# what is left of a text repeats itself
	line y 'passage one two three\na\na\na\nqrstuvwxyzqrstuvwxyz' > "$T/in"
	line ref 'passage one two three' > "$T/ref"
	dedup --spans --repeats --gopher --span-bytes 20 --min-left 1 \
		--against "$T/ref" --report "$T/r" "$T/in" > "$T/out"
	[ ! -s "$T/out" ]
	[ "$(sed 's/.*"action":"\([a-z]*\)".*/\1/' "$T/r" | tr '\n' ' ')" = \
		"cut drop " ]
	dedup --spans --repeats --gopher --span-bytes 20 --min-left 1 \
		--against "$T/ref" --mark --report "$T/r" "$T/in" > "$T/out"
	[ "$(cat "$T/out")" = '{"id":"y","text":"\na\na\na\nqrstuvwxyzqrstuvwxyz","repeats":"gopher"}' ]
	[ "$(sed 's/.*"action":"\([a-z]*\)".*/\1/' "$T/r" | tr '\n' ' ')" = \
		"cut mark " ]
	# words, whatever the tokens are
	"$BIN/tok-train" --vocab-size 300 -q -o "$T/tokenizer.json" "$WEB"
	dedup --repeats --gopher --report "$T/r1" -j 1 "$WEB" > "$T/o1"
	dedup --repeats --gopher --report "$T/r2" -j 3 "$WEB" > "$T/o2"
	cmp "$T/o1" "$T/o2"
	cmp "$T/r1" "$T/r2"
	grep -q '"rule":"gopher"' "$T/r1"
	dedup --repeats --gopher --phrase-count 0 --run-count 100000 \
		--report "$T/r1" "$WEB" > "$T/o1"
	dedup --repeats --gopher --phrase-count 0 --run-count 100000 \
		--tokenizer "$T/tokenizer.json" --report "$T/r2" "$WEB" > "$T/o2"
	cmp "$T/r1" "$T/r2"
}

@test "repeats: blocks of few documents and of many, -j 4, five times" {
	local i
	for i in 1 2 3; do
		yes "{\"text\":\"$(words x 1 2000)\"}" | head -n 100
		seq -f '{"text":"a\na\na\n%.0f"}' $((30000 * i)) \
			$((30000 * i + 29999))
	done > "$T/in"
	dedup -j 1 --exact --repeats --gopher --mark --report "$T/r1" \
		"$T/in" > "$T/o1"
	for i in 1 2 3 4 5; do
		dedup -j 4 --exact --repeats --gopher --mark \
			--report "$T/r2" "$T/in" > "$T/o2"
		cmp "$T/r1" "$T/r2"
		cmp "$T/o1" "$T/o2"
	done
}

@test "exact: copies take no memory of their own, the report names the first" {
	if nm "$BIN/dedup" 2> "$T/nm" | grep -q "__[at]san_init"; then
		skip "a sanitizer's own memory is not bounded"
	fi
	yes '{"text":""}' | head -n 1500000 > "$T/in"
	(
		ulimit -v 120000
		MALLOC_ARENA_MAX=1 dedup -j1 --exact --mem 8Mi \
			--stats "$T/s" -o "$T/out" "$T/in"
	)
	[ "$(cat "$T/out")" = '{"text":""}' ]
	[ "$(stat_of docs_dropped "$T/s")" = 1499999 ]
	[ "$(stat_of clusters "$T/s")" = 1 ]
	[ "$(stat_of largest_cluster "$T/s")" = 1500000 ]
	# the same from a method that needs every copy
	printf '%s\n' a '' b a '' a > "$T/t"
	docs < "$T/t" > "$T/in"
	for more in '' '--near' '--near --threshold 0.9' '--keep longest'; do
		# shellcheck disable=SC2086
		dedup --exact $more --report "$T/r" --stats "$T/s" "$T/in" \
			> "$T/out"
		[ "$(ids < "$T/out")" = '1 2 3 ' ]
		[ "$(sed 's/.*"id":"\(.\)".*"duplicate_of":"\(.\)".*/\1 \2/' \
			"$T/r" | tr '\n' '|')" = '4 1|5 2|6 1|' ]
		[ "$(stat_of largest_cluster "$T/s")" = 3 ]
		[ "$(stat_of clusters "$T/s")" = 2 ]
	done
	[ "$(dedup --exact --drop-all "$T/in" | ids)" = '3 ' ]
	head -2 "$T/in" > "$T/ref"
	[ "$(dedup --exact --against "$T/ref" "$T/in" | ids)" = '3 ' ]
}

# --- which copy stays ------------------------------------------------------

# 1, 3 and 5 have one text; 2, 4 and 6 are near it, 4 the longest
versions() {
	local t="one two three four five six seven eight nine ten"
	t+=" eleven twelve thirteen fourteen fifteen sixteen seventeen"
	printf '%s\n' "{\"id\":\"1\",\"n\":5,\"at\":\"2024-05-17T10:30:00+02:00\",\"text\":\"$t\"}" \
		"{\"id\":\"2\",\"n\":7.5,\"at\":\"2024-05-17 08:29:59.5Z\",\"text\":\"$t x\"}" \
		"{\"id\":\"3\",\"n\":\"12\",\"at\":\"2024-05-17T08:31\",\"text\":\"$t\"}" \
		"{\"id\":\"4\",\"n\":12,\"at\":\"2024-02-30\",\"text\":\"$t longer\"}" \
		"{\"id\":\"5\",\"n\":null,\"at\":\"2024-05\",\"text\":\"$t\"}" \
		"{\"id\":\"6\",\"at\":\"2023-12-31T23:59:59Z\",\"text\":\"$t y\"}" \
		"{\"id\":\"7\",\"n\":1,\"text\":\"nothing like the others\"}"
}

@test "keep: first, longest, last, the largest number, the latest date" {
	versions > "$T/in"
	[ "$(dedup --exact --near "$T/in" | ids)" = '1 7 ' ]
	[ "$(dedup --exact --near --keep first "$T/in" | ids)" = '1 7 ' ]
	[ "$(dedup --exact --near --keep longest "$T/in" | ids)" = '4 7 ' ]
	[ "$(dedup --exact --near --keep last "$T/in" | ids)" = '6 7 ' ]
	# 3 and 4 have 12: the first of them
	[ "$(dedup --exact --near --keep n "$T/in" | ids)" = '3 7 ' ]
	[ "$(dedup --exact --near --keep at "$T/in" | ids)" = '3 7 ' ]
	[ "$(dedup --near --keep at "$T/in" | ids)" = '3 7 ' ]
	# equal texts only: 2, 4, 6 stay, of 1, 3, 5 one
	[ "$(dedup --exact --keep last "$T/in" | ids)" = '2 4 5 6 7 ' ]
	[ "$(dedup --exact --keep n "$T/in" | ids)" = '2 3 4 6 7 ' ]
	[ "$(dedup --exact --keep longest "$T/in" | ids)" = '1 2 4 6 7 ' ]
	[ "$(dedup -j 3 --keep last "$T/in" | ids)" = '6 7 ' ]
}

@test "keep: the report names the copy that was kept" {
	versions > "$T/in"
	dedup --exact --near --keep n --report "$T/r" "$T/in" > "$T/out"
	[ "$(sed -n 's/.*"id":"\(.\)".*"reason":"\([a-z]*\)","duplicate_of":"\(.\)".*/\1 \2 \3/p' \
		"$T/r" | tr '\n' '|')" = \
		'1 exact 3|2 near 3|4 near 3|5 exact 3|6 near 3|' ]
	# 13 shingles and one more: 13 / 14
	grep -q '"id":"2".*"similarity":0.9285714285714286' "$T/r"
	# the best of the equal texts is near the best of all
	dedup --exact --near --keep longest --report "$T/r" "$T/in" > "$T/out"
	[ "$(sed -n 's/.*"id":"\(.\)".*"reason":"\([a-z]*\)","duplicate_of":"\(.\)".*/\1 \2 \3/p' \
		"$T/r" | tr '\n' '|')" = \
		'1 near 4|2 near 4|3 exact 1|5 exact 1|6 near 4|' ]
	grep -q '"id":"2".*"similarity":0.8666666666666667' "$T/r"
}

@test "keep: documents of --against win, a key that is nowhere is a warning" {
	versions > "$T/in"
	sed -n 5p "$T/in" | sed 's/"id":"5"/"id":"old"/' > "$T/ref"
	for keep in last longest n at; do
		dedup --exact --near --keep $keep --against "$T/ref" \
			--report "$T/r" "$T/in" > "$T/out"
		[ "$(ids < "$T/out")" = '7 ' ]
		[ "$(grep -c '"duplicate_of":"old"' "$T/r")" = 6 ]
	done
	run --separate-stderr -0 dedup --exact --near --keep score "$T/in"
	[ "$stderr" = 'dedup: warning: "score" is a number or a date in none of 6 documents that may be duplicates: the first ones are kept' ]
	[ "$(ids <<< "$output")" = '1 7 ' ]
	run -2 dedup --exact --keep last --drop-all "$T/in"
	run -2 dedup --spans --keep last "$T/in"
}

@test "keep: dates with and without a zone, in a nested field" {
	local a b
	while read -r a b; do
		printf '%s\n' "{\"id\":\"a\",\"m\":{\"d\":\"${a/_/ }\"},\"text\":\"t\"}" \
			"{\"id\":\"b\",\"m\":{\"d\":\"${b/_/ }\"},\"text\":\"t\"}" \
			> "$T/in"
		# the earlier of the two is not kept, in either order
		[ "$(dedup --exact --keep m.d "$T/in" | ids)" = 'b ' ] || {
			echo "$a $b"
			false
		}
		[ "$(tac "$T/in" | dedup --exact --keep m.d | ids)" = 'b ' ]
	done <<-'END'
	1969-12-31 1970-01-01
	1999-12-31T23:59:60Z 2000-01-01T00:00:01Z
	2000-02-28T23:00 2000-02-29
	2024-03-01T00:30+01:00 2024-02-29T23:31Z
	2024-02-29T23:59:59.25 2024-02-29_23:59:59.3
	2024-01-01T00:00:00-0100 2024-01-01T01:00:01Z
	1900-02-29 1800-01-01
	2024-13-01 -5
	2024-05-17x 1970-01-01
	abc 0001-01-01
	0x10 1
	20231231 20240101
	-1e3 1.5
	END
}

# --- spans -----------------------------------------------------------------

# the texts that are left
left() {
	sed 's/.*"text":"\(.*\)"}$/\1/' | tr '\n' '|'
}

@test "spans: the later copy is cut, the first kept, --all cuts both" {
	printf '%s\n' 'one two three four' 'zwei two three four drei' > "$T/t"
	docs < "$T/t" > "$T/in"
	[ "$(dedup --spans --span-bytes 8 --min-left 1 "$T/in" | left)" = \
		'one two three four|zwei drei|' ]
	[ "$(dedup --spans --span-bytes 8 --min-left 1 --all "$T/in" | left)" \
		= 'one|zwei drei|' ]
	dedup --spans --span-bytes 8 --report "$T/r" "$T/in" > "$T/out"
	[ "$(left < "$T/out")" = 'one two three four|' ]
	[ "$(cat "$T/r")" = '{"id":"2","action":"drop","reason":"span","spans":[{"start":4,"end":19,"first_id":"1","first_at":"'"$T/in"':1","first_start":3}],"cuts":[{"start":4,"end":19}]}' ]
}

@test "spans: --min-left counts letters and digits of any script" {
	local cut='a passage that every one of these texts repeats'
	printf '%s\n' "$cut" "$cut . . . . . . . . . . . . . . . . . . . . . . ." \
		"$cut\\n\\n\\n\\n\\n\\n\\n\\n\\n\\n\\n\\n\\n\\n\\n\\n\\n\\n\\n" \
		"$cut abc def ghi jkl mno pqr 1" \
		"$cut stu vwx yza bcd efg hij 12" \
		"$cut 二十の文字が残っていれば捨てられない筈です" \
		"$cut éléphants: Ⅳ ½ ٣ कि" > "$T/t"
	docs < "$T/t" > "$T/in"
	[ "$(dedup --spans --span-bytes 40 "$T/in" | ids)" = '1 5 6 ' ]
	[ "$(dedup --spans --span-bytes 40 --min-left 13 "$T/in" | ids)" = \
		'1 4 5 6 7 ' ]
	# the vowel sign is a mark
	[ "$(dedup --spans --span-bytes 40 --min-left 14 "$T/in" | ids)" = \
		'1 4 5 6 ' ]
	[ "$(dedup --spans --span-bytes 40 --min-left 0 "$T/in" | ids)" = \
		'1 2 3 4 5 6 7 ' ]
}

@test "spans: --all cuts every window that occurs anywhere else" {
	printf '%s\n' aaab aab > "$T/t"
	docs < "$T/t" > "$T/in"
	[ "$(dedup --spans --span-bytes 2 --min-left 0 "$T/in" | left)" = \
		'aaab||' ]
	[ "$(dedup --spans --span-bytes 2 --min-left 0 --all "$T/in" |
		left)" = '||' ]
	# a copy of a copy, and one that overlaps itself alone
	printf '%s\n' '1 abcdefgh' '2 abcdefgh 3' 'xyxyxy' > "$T/t"
	docs < "$T/t" > "$T/in"
	[ "$(dedup --spans --span-bytes 4 --min-left 0 --all --report "$T/r" \
		"$T/in" | left)" = '1|2 3|xyxyxy|' ]
	grep -qF '{"id":"1","action":"cut","reason":"span","spans":[{"start":1,"end":10,"first_id":"1"' "$T/r"
}

@test "spans: a union that occurs nowhere, in the report raw and merged" {
	printf '%s\n' 'one two three' 'three four five' \
		'one two three four five' > "$T/t"
	docs < "$T/t" > "$T/in"
	[ "$(dedup --spans --span-bytes 8 --min-left 0 --report "$T/r" \
		"$T/in" | left)" = 'one two three|three four five||' ]
	grep -qF '"spans":[{"start":0,"end":13,"first_id":"1",' "$T/r"
	grep -qF '},{"start":8,"end":23,"first_id":"2",' "$T/r"
	grep -qF '"cuts":[{"start":0,"end":23}]' "$T/r"
}

@test "spans: five million letters a, and a folder that is not there" {
	{
		{ head -c 5000000 /dev/zero | tr '\0' a; echo; } | docs
		line 2 "$(printf 'ab%.0s' {1..2000})"
	} > "$T/in"
	dedup --spans --span-bytes 100 --report "$T/r1" -o "$T/o1" "$T/in"
	[ "$(head -1 "$T/o1" | left)" = "$(printf 'a%.0s' {1..100})|" ]
	[ "$(wc -c < "$T/r1")" -lt 20000 ]
	dedup --spans --span-bytes 100 --mem 2Mi --report "$T/r2" \
		-o "$T/o2" "$T/in"
	cmp "$T/r1" "$T/r2"
	cmp "$T/o1" "$T/o2"
	run -2 env TMPDIR="$T/none" "$BIN/dedup" --spans --span-bytes 100 \
		--mem 2Mi -o "$T/o3" "$T/in"
	[[ $output == *"$T/none: cannot create a temporary file"* ]]
	[ ! -e "$T/o3" ]
}

@test "spans: a temporary folder that is too small is noticed at the start" {
	[[ $BIN != */san-* ]] || skip "a sanitizer must be loaded first"
	cat > "$T/full.c" <<-'END'
	#include <string.h>
	#include <sys/statvfs.h>
	int statvfs(const char *p, struct statvfs *v)
	{
		(void)p;
		memset(v, 0, sizeof *v);
		v->f_bavail = 1;
		v->f_frsize = 3000000;
		return 0;
	}
	END
	gcc -shared -fPIC -o "$T/full.so" "$T/full.c"
	copies 1000 > "$T/in"
	run -2 env LD_PRELOAD="$T/full.so" TMPDIR="$T" "$BIN/dedup" --spans \
		--span-bytes 100 --mem 1Mi -o "$T/out" "$T/in"
	[[ $output == "dedup: $T: the search for spans may need "*" bytes, 3000000 are free (TMPDIR selects another folder)" ]]
	[ ! -e "$T/out" ]
	# the size of a stream is not known before it was read
	run -2 env LD_PRELOAD="$T/full.so" TMPDIR="$T" "$BIN/dedup" --spans \
		--span-bytes 100 --mem 1Mi -o "$T/out" < "$T/in"
	[[ $output == *" may need "* ]]
	[ ! -e "$T/out" ]
	# in memory
	LD_PRELOAD="$T/full.so" dedup --spans --span-bytes 100 -o "$T/out" \
		"$T/in"
}

@test "spans: less than three times the text is written to TMPDIR" {
	[[ $BIN != */san-* ]] || skip "a sanitizer must be loaded first"
	cat > "$T/count.c" <<-'END'
	#define _GNU_SOURCE
	#include <dlfcn.h>
	#include <stdio.h>
	#include <stdlib.h>
	#include <sys/stat.h>
	#include <unistd.h>
	static unsigned long long sum;
	ssize_t write(int fd, const void *p, size_t n)
	{
		ssize_t (*real)(int, const void *, size_t) =
			(ssize_t (*)(int, const void *, size_t))
			dlsym(RTLD_NEXT, "write");
		struct stat st;
		ssize_t r = real(fd, p, n);
		if (r > 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) &&
		    !st.st_nlink)
			sum += (unsigned long long)r;
		return r;
	}
	__attribute__((destructor)) static void end(void)
	{
		FILE *f = fopen(getenv("COUNT"), "w");
		fprintf(f, "%llu\n", sum);
		fclose(f);
	}
	END
	gcc -shared -fPIC -o "$T/count.so" "$T/count.c" -ldl
	copies 5000 > "$T/in"
	# tokens as long as those of real text
	zstd -dcq tests/data/text/*.zst > "$T/text"
	cat "$T/text" "$T/text" > "$T/twice"
	for how in "--span-bytes 100 $T/in" "--span-bytes 100 $T/twice" \
		"--span-tokens 50 $T/text" "--span-tokens 50 $T/twice"; do
		# shellcheck disable=SC2086
		COUNT="$T/n" LD_PRELOAD="$T/count.so" "$BIN/dedup" -j1 --spans \
			--mem 1Mi --stats "$T/s" -o /dev/null $how
		n=$(stat_of bytes_in "$T/s")
		echo "$how: $(cat "$T/n") bytes for $n"
		[ "$(cat "$T/n")" -gt "$n" ]
		[ "$(cat "$T/n")" -lt $((3 * n)) ]
	done
}

@test "spans: test cases of other tools" {
	printf '%s\n' aaaaaaaaaaaabbbccccc aaaaaaaaaaaaccccc > "$T/t"
	docs < "$T/t" > "$T/in"
	for j in 1 2 8 16; do
		[ "$(dedup -j $j --spans --span-bytes 3 --min-left 0 \
			"$T/in" | left)" = "aaabbbccccc||" ]
	done
	printf '%s\n' 'мама мыла раму да' 'мама мыла раму но' > "$T/t"
	docs < "$T/t" > "$T/in"
	[ "$(dedup --spans --span-bytes 8 --min-left 0 "$T/in" | left)" = \
		'мама мыла раму да|но|' ]
	printf '%s\n' '日本語テストA' '日本語テスビB' > "$T/t"
	docs < "$T/t" > "$T/in"
	[ "$(dedup --spans --span-bytes 8 --min-left 0 "$T/in" | left)" = \
		'日本語テストA|ビB|' ]
	for t in '' a ab 'hello world'; do
		line 1 "$t" > "$T/in"
		dedup --spans --span-bytes 5 "$T/in" | cmp - "$T/in"
	done
	{ line 1 'hello world'; line 2 'hello world'; } > "$T/in"
	dedup --spans --span-bytes 5 --report "$T/r" "$T/in" | cmp - \
		<(head -1 "$T/in")
	grep -q '"start":0,"end":11' "$T/r"
}

@test "spans: other fields, escapes and repeated keys are unchanged" {
	{
		line 1 'this passage is long enough to be found'
		printf '%s\r\n' '{"text":"no","a":[1, 2],"text" : "\u00e9 this passage is long enough to be found\n","b":"\ud800"}'
	} > "$T/in"
	dedup --spans --span-bytes 20 --min-left 1 "$T/in" | tail -1 > "$T/out"
	printf '%s\r\n' '{"text":"no","a":[1, 2],"text" : "é \n","b":"\ud800"}' |
		cmp - "$T/out"
}

@test "spans: --against, --check, counters" {
	line r 'the reference has this passage in it' > "$T/ref"
	line 1 'so: has this passage in it, and more text' > "$T/in"
	dedup --spans --span-bytes 10 --min-left 1 --against "$T/ref" \
		--stats "$T/s" --report "$T/r" "$T/in" > "$T/out"
	[ "$(left < "$T/out")" = 'so:, and more text|' ]
	grep -q '"first_id":"r","first_at":"'"$T/ref"':1","first_start":13' \
		"$T/r"
	[ "$(stat_of bytes_in "$T/s")" = 41 ]
	[ "$(stat_of bytes_kept "$T/s")" = 18 ]
	[ "$(stat_of docs_cut "$T/s")" = 1 ]
	dedup --exact --stats "$T/s2" "$T/out" > /dev/null
	[ "$(stat_of digest_kept "$T/s")" = "$(stat_of digest_in "$T/s2")" ]
	run -1 dedup --spans --span-bytes 10 --against "$T/ref" --check "$T/in"
	run -0 dedup --spans --span-bytes 30 --against "$T/ref" --check "$T/in"
}

@test "spans: 50 pre-tokens by default, starts and ends in bytes" {
	words é 1 16 > "$T/a"
	line 1 "x $(cat "$T/a")" > "$T/in"
	line 2 "yy $(cat "$T/a")" >> "$T/in"
	# " é" and a number, sixteen times, and the last space: 33
	run -0 dedup --spans --check "$T/in"
	run -0 dedup --spans --span-tokens 34 --check "$T/in"
	dedup --spans --span-tokens 33 --report "$T/r" "$T/in" > "$T/out"
	[ "$(ids < "$T/out")" = "1 " ]
	grep -qF '"spans":[{"start":2,"end":74,"first_id":"1","first_at":"'"$T/in"':1","first_start":1}]' "$T/r"
	# 51 pieces go, 49 stay
	for n in 25 24; do
		line 1 "x $(words é 1 $n)" > "$T/in"
		line 2 "yy $(words é 1 $n)" >> "$T/in"
		echo "$n $(dedup --spans "$T/in" | ids)"
	done > "$T/got"
	printf '%s\n' '25 1 ' '24 1 2 ' | cmp - "$T/got"
}

@test "spans: part of a pre-token is not a copy, --split, -j" {
	line 1 'one two three four five' > "$T/in"
	line 2 'ne two three four fi' >> "$T/in"
	[ "$(dedup --spans --span-tokens 3 --min-left 0 "$T/in" | left)" = \
		'one two three four five|ne fi|' ]
	[ "$(dedup --spans --span-bytes 3 --min-left 0 "$T/in" | left)" = \
		'one two three four five||' ]
	run -0 dedup --spans --span-tokens 4 --check "$T/in"
	[ "$(dedup --spans --span-tokens 9 --split '.' --min-left 0 "$T/in" |
		left)" = 'one two three four five||' ]
	for j in 1 2 5; do
		dedup -j $j --spans --span-tokens 20 --report "$T/r$j" \
			-o "$T/o$j" "$WEB"
		cmp "$T/o1" "$T/o$j"
		cmp "$T/r1" "$T/r$j"
	done
	run -1 cmp -s "$T/o1" "$WEB"
}

@test "spans: tokens that are bytes give what bytes give" {
	zstd -dcq tests/data/text/udhr.jsonl.zst \
		tests/data/text/emoji_names.jsonl.zst > "$T/in"
	"$BIN/tok-train" --vocab-size 258 -q -o "$T/tokenizer.json" "$T/in"
	for n in 20 50; do
		dedup --spans --span-bytes $n --report "$T/r1" -o "$T/o1" \
			"$T/in"
		dedup --spans --span-tokens $n --report "$T/r2" -o "$T/o2" \
			--tokenizer "$T/tokenizer.json" "$T/in"
		cmp "$T/r1" "$T/r2"
		cmp "$T/o1" "$T/o2"
		grep -q '"span"' "$T/r1"
	done
}

@test "spans: tokens of published tokenizers, cut at character boundaries" {
	line 1 'The 日本語テスト é😀😀 is here, and some more words' > "$T/in"
	# "The" is not " The"; the accent is apart, and not NFC
	line 2 "So: The 日本語テスト é😀😀 is here, e$(printf '\xcc\x81')" \
		>> "$T/in"
	for t in mistral7b_tokenizer.json qwen3_tokenizer.json \
		gptneox_tokenizer.json cl100k_base.tiktoken; do
		dedup --spans --span-tokens 8 --min-left 1 --tokenizer \
			"tests/data/tok/$t.zst" "$T/in" | left > "$T/got"
		printf '%s|' \
			'The 日本語テスト é😀😀 is here, and some more words' \
			"So: The e$(printf '\xcc\x81')" > "$T/want"
		diff "$T/want" "$T/got"
	done
}

# numbered words; every fifth document has 300 of them from an earlier one
copies() {	# copies DOCS
	awk -v docs="$1" 'BEGIN {
		for (d = 0; d < docs; d++) {
			printf "{\"id\":\"%d\",\"text\":\"", d
			for (i = 0; i < 400; i++) {
				x = d * 400 + i
				if (d % 5 == 4 && i >= 50 && i < 350)
					x = int(d / 15) * 2000 + 400 + i
				printf "%sw%x", i ? " " : "", x * 40503 % 4194301
			}
			print "\"}"
		}
	}'
}

@test "spans: memory stays within --mem, the result does not depend on it" {
	if nm "$BIN/dedup" 2> "$T/nm" | grep -q "__[at]san_init"; then
		skip "a sanitizer's own memory is not bounded"
	fi
	copies 5000 > "$T/in"
	# 14 MB of text, 8 MB of tokens; 45 MB are libraries and blocks
	for how in '--span-bytes 100' '--span-tokens 50'; do
		# shellcheck disable=SC2086
		dedup --spans $how --report "$T/r1" -o "$T/o1" \
			--stats "$T/s" "$T/in"
		[ "$(stat_of spans_on_disk "$T/s")" = false ]
		for run in '-j1 --mem 4Mi' '-j3 --mem 8Mi'; do (
			ulimit -v 120000
			export TMPDIR="$T/tmp"
			mkdir -p "$TMPDIR"
			# shellcheck disable=SC2086
			MALLOC_ARENA_MAX=1 dedup $run --spans $how \
				--report "$T/r2" -o "$T/o2" --stats "$T/s" \
				"$T/in"
		) done
		cmp "$T/r1" "$T/r2"
		cmp "$T/o1" "$T/o2"
		[ "$(stat_of spans_on_disk "$T/s")" = true ]
		[ -z "$(ls -A "$T/tmp")" ]
	done
	[ "$(wc -l < "$T/r1")" -eq 1000 ]
}

@test "spans: memory stays within --mem if one window occurs everywhere" {
	if nm "$BIN/dedup" 2> "$T/nm" | grep -q "__[at]san_init"; then
		skip "a sanitizer's own memory is not bounded"
	fi
	awk 'BEGIN {
		for (i = 0; i < 32000; i++)
			t = t "a"
		for (i = 0; i < 250; i++)
			print "{\"text\":\"" t "\"}"
	}' > "$T/in"
	dedup --spans --span-bytes 100 -o "$T/o1" --report "$T/r1" "$T/in"
	for j in 1 3; do (
		ulimit -v 120000
		MALLOC_ARENA_MAX=1 dedup -j $j --mem 4Mi --spans \
			--span-bytes 100 -o "$T/o2" --report "$T/r2" \
			--stats "$T/s" "$T/in"
	) done
	cmp "$T/o1" "$T/o2"
	cmp "$T/r1" "$T/r2"
	[ "$(stat_of spans_on_disk "$T/s")" = true ]
}

@test "spans: tokens that cross characters" {
	local i
	{
		for i in $(seq 0 255); do
			# shellcheck disable=SC2059 # the format is the byte
			echo "$(printf "\\x$(printf %x "$i")" | base64) $i"
		done
		echo "$(printf '\xa5\xe6' | base64) 256"
	} > "$T/t.tiktoken"
	# nine tokens, no bound but at the ends
	printf '%s\n' 日日日日 日日日日a > "$T/t"
	docs < "$T/t" > "$T/in"
	for i in 1Mi 1Gi; do
		[ "$(dedup --spans --span-tokens 2 --min-left 0 --mem $i \
			--tokenizer "$T/t.tiktoken" --split none "$T/in" |
			left)" = '日日日日|a|' ]
	done
}

@test "spans: tokens, usage" {
	line 1 text > "$T/in"
	run -2 dedup --spans --span-bytes 9 --span-tokens 9 "$T/in"
	run -2 dedup --spans --span-tokens 0 "$T/in"
	run -2 dedup --spans --span-bytes 9 --split gpt2 "$T/in"
	run -2 dedup --spans --split '(' "$T/in"
}

# --- together --------------------------------------------------------------

@test "an option whose method does not run is refused, and so in the modes" {
	local o
	line a text > "$T/in"
	while read -r o; do
		# shellcheck disable=SC2086 # options are words
		run -2 dedup $o "$T/in"
		[[ $output =~ " needs --"(exact|near|spans|repeats) ]] || {
			echo "$o: $output"
			return 1
		}
	done <<- 'END'
		--exact --mark
		--exact --min-left 3
		--near --all
		--exact --ngram 3
		--near --normalize
		--near --gopher
		--exact --gopher-limits dup_lines=0.3
		--exact --apply x
		--near --tokenizer x
		--repeats --direct
	END
	for o in "--emit bands --stats x" "--emit bands --against $T/in" \
		"--emit bands --exact" "--emit pairs --check" \
		"--emit bands --curve" "--explain a --report x" --json; do
		# shellcheck disable=SC2086
		run -2 dedup $o "$T/in"
		[[ $output == *usage:* ]]
	done
}

@test "stdin is read once: by FILE, --against or --apply" {
	local o
	line a text > "$T/in"
	for o in "--against -" "--apply - --near" "--against - -" "- -"; do
		# shellcheck disable=SC2086 # options are words
		run -2 dedup $o < "$T/in"
		[[ $output == *"stdin can be read once"* ]]
	done
	dedup --against - "$T/in" < "$T/in" | cmp - /dev/null
}

@test "the largest clusters, in words of their first, a reference too" {
	line 1 'words of the reference' > "$T/ref"
	{ line 2 'words of the reference'; line 3 one; line 4 one; } > "$T/in"
	dedup -v --exact --against "$T/ref" "$T/in" 2> "$T/err" > "$T/out"
	grep -qx '       2  1  words of the reference' "$T/err"
	grep -qx '       2  3  one' "$T/err"
}

# NAME: the numbers of a line of the summary
said() {
	sed -n "s/^$1  *\([0-9]*\)  *\([0-9]*\)$/\1 \2/p" "$T/err"
}

@test "the summary adds up: cut, dropped with too little left, marked" {
	local opts="-v --exact --spans --repeats --span-bytes 20 --min-left 5
		--run-count 4"
	{
		line ref 'one two three four five'
		line cut 'and one two three four five, once more'
		line rest 'one two three four five.'
		line loop 'ab ab ab ab: one two three four five'
		line same 'one two three four five'
	} > "$T/in"
	# shellcheck disable=SC2086 # options are words
	dedup $opts --stats "$T/s" "$T/in" > "$T/out" 2> "$T/err"
	[ "$(said read)" = "5 144" ]
	[ "$(said exact)" = "1 23" ]
	[ "$(said 'span, cut')" = "2 47" ]
	[ "$(said 'span, dropped')" = "1 24" ]
	[ "$(said repeat_run)" = "1 12" ]
	[ "$(said kept)" = "2 38" ]
	grep -qF '"span":{"docs":3,"bytes":71}' "$T/s"
	grep -qF '"span_dropped":{"docs":1,"bytes":24}' "$T/s"
	# shellcheck disable=SC2086
	dedup $opts --mark "$T/in" > "$T/out" 2> "$T/err"
	[ "$(said 'repeat_run, marked')" = "1 12" ]
	[ "$(said kept)" = "3 50" ]
}

@test "--explain: what dedup decides, with --no-verify too" {
	versions > "$T/in"
	local opts="--near --bands 50 --rows 2 --threshold 0.95"
	# 1 and 2 have 13 of 14 shingles in common
	# shellcheck disable=SC2086
	[ "$(dedup $opts "$T/in" | ids)" = '1 2 4 6 7 ' ]
	# shellcheck disable=SC2086
	dedup $opts --explain 1 2 "$T/in" | grep -qx 'near_duplicates	0'
	# shellcheck disable=SC2086
	[ "$(dedup $opts --no-verify -q "$T/in" | ids)" = '1 7 ' ]
	# shellcheck disable=SC2086
	dedup $opts --no-verify --explain 1 2 "$T/in" |
		grep -qx 'near_duplicates	1'
}

@test "--explain: a reference, and texts that are far apart, at once" {
	line r 'one two three four five six' > "$T/ref"
	line d 'one two three four five seven' > "$T/in"
	run -0 dedup --explain r d --against "$T/ref" "$T/in"
	[[ $output == *"common	1"* ]]
	[[ $output == *"edit_similarity	0.833333"* ]]
	{ line a "$(words a 1 100000)"; line b "$(words b 1 100000)"; } \
		> "$T/in"
	run -0 dedup --explain a b --json "$T/in"
	[[ $output == *'"edit_similarity_below":0.9,'* ]]
}

@test "--drop-all: 200,000 pairs of copies" {
	for i in 1 2; do
		seq -f '{"text":"%.0f"}' 200000
	done > "$T/in"
	echo '{"text":"x"}' >> "$T/in"
	[ "$(dedup --exact --drop-all "$T/in")" = '{"text":"x"}' ]
}

@test "methods in order, each document dropped once" {
	{
		chain A A B
		line loop "$(times 32 again)"
		line loop2 "$(times 32 again)"
	} > "$T/in"
	dedup --report "$T/r" --stats "$T/s" "$T/in" > "$T/out"
	[ "$(ids < "$T/out")" = "A " ]
	[ "$(sed 's/.*"reason":"\([a-z]*\)".*/\1/' "$T/r" | tr '\n' ' ')" = \
		"exact near repeat exact " ]
}

@test "a pipe, a file, --mem 1Mi: the same bytes, TMPDIR left empty" {
	local tmp=$T/tmp
	mkdir "$tmp"
	for i in 1 2 3 4 5 6; do
		sed "s/\"text\":\"/&$i$i /" "$WEB"
	done > "$T/in"
	dedup --report "$T/r1" -o "$T/o1" "$T/in"
	TMPDIR=$tmp dedup --mem 1Mi --report "$T/r2" --stats "$T/s" \
		-o "$T/o2" - < <(cat "$T/in")
	cmp "$T/o1" "$T/o2"
	cmp <(sed 's/"duplicate_at":"[^"]*:/:/' "$T/r1") \
		<(sed 's/"duplicate_at":"[^"]*:/:/' "$T/r2")
	[ -s "$T/r1" ]
	[ -z "$(ls -A "$tmp")" ]
	gzip -c "$T/in" > "$T/in.gz"
	dedup "$T/in.gz" | cmp - "$T/o1"
}

# KB ARG...: with that much address space
within() {
	(
		ulimit -v "$1"
		dedup -j 1 "${@:2}"
	)
}

@test "memory is within the formula of the manual" {
	if nm "$BIN/dedup" 2> "$T/nm" | grep -q "__[at]san_init"; then
		skip "a sanitizer's own memory is not bounded"
	fi
	seq -f '{"text":"tiny document number %.0f of many"}' 300000 > "$T/in"
	# 40 MB for the program and its libraries beside what the manual
	# says; 56 MB of keys go to disk
	within $((40000 + 300000 * 14 / 1000 + 12600 + 16800 + 2100)) \
		--exact --near --mem 16Mi --stats "$T/s" -o "$T/out" "$T/in"
	cmp "$T/in" "$T/out"
	[ "$(stat_of sorted_runs "$T/s")" -gt 2 ]
	# each of them resembles another, and each second text comes again
	words w 1 10 > "$T/w"
	sed "s/many/& $(cat "$T/w")/; p; s/w10/v/; p" "$T/in" > "$T/all"
	within $((40000 + 900 * (14 + 72 + 32) + 300 * 40 + 12600 + 4200 +
		2100)) --exact --near --mem 4Mi -o "$T/out" "$T/all"
	[ "$(wc -l < "$T/out")" -lt 330000 ]
	# one text of 2 MB, words of one letter, twice
	line x "$(yes a b c d e f g | head -n 143000 | tr '\n' ' ')" > "$T/in"
	cat "$T/in" "$T/in" > "$T/all"
	for m in exact:60 near:60 repeats:80; do
		within $((40000 + 12600 + 2100 + 2002 * ${m#*:})) \
			"--${m%:*}" -o "$T/out" "$T/all"
	done
	within $((40000 + 2100 + 2002 * 80 + 1000 * 56)) --repeats --gopher \
		-o "$T/out" "$T/all"
}

@test "a bad line: nothing is written, FILE:LINE says where" {
	{ head -3 "$WEB"; echo '{"text":5}'; } > "$T/in"
	run -2 --separate-stderr dedup "$T/in"
	[ -z "$output" ]
	[[ $stderr == *"$T/in:4: byte "* ]]
	dedup --on-bad skip --report "$T/r" "$T/in" > "$T/out" 2> "$T/err"
	head -3 "$T/in" | cmp - "$T/out"
	grep -q '"action":"skip","reason":"bad"' "$T/r"
}

# --- stages ----------------------------------------------------------------

@test "bands, sort, pairs, apply: what one process does" {
	local n
	{ cat "$WEB"; chain A B C; sed 's/the/a/g' "$WEB"; chain C A; } \
		> "$T/all"
	n=$(($(wc -l < "$T/all") / 2))
	head -n $n "$T/all" > "$T/a"
	tail -n +$((n + 1)) "$T/all" > "$T/b"
	for x in a b; do
		dedup --near --emit bands "$T/$x" > "$T/$x.bands"
	done
	LC_ALL=C sort -u "$T"/*.bands > "$T/bands"
	dedup --emit pairs "$T/bands" | LC_ALL=C sort -u > "$T/pairs"
	[ -s "$T/pairs" ]
	dedup --near --apply "$T/pairs" --report "$T/r2" "$T/a" "$T/b" \
		> "$T/out2"
	dedup --near --report "$T/r1" "$T/a" "$T/b" > "$T/out1"
	cmp "$T/out1" "$T/out2"
	cmp "$T/r1" "$T/r2"
	[ "$(wc -l < "$T/r1")" -gt 5 ]
}

@test "stages: a large bucket is not written as pairs" {
	local form="the same eleven words are at the start of every one"
	local near="--near --bands 12 --rows 1"
	{
		seq -f "{\"text\":\"$form %.0f\"}" 3000
		seq -f "{\"text\":\"$form %.0f and\"}" 100 100 3000
	} > "$T/in"
	# shellcheck disable=SC2086 # options are words
	{
		dedup $near --emit bands "$T/in" | LC_ALL=C sort -u > "$T/bands"
		dedup --emit pairs "$T/bands" | LC_ALL=C sort -u > "$T/pairs"
		[ "$(wc -c < "$T/pairs")" -lt $((20 * $(wc -c < "$T/bands"))) ]
		grep -q '^[^ ]* .\{32\} ' "$T/pairs"
		grep -q '^[^ ]* .\{4\} ' "$T/pairs"
		dedup $near --apply "$T/pairs" --report "$T/r2" "$T/in" \
			> "$T/out2"
		dedup $near --report "$T/r1" "$T/in" > "$T/out1"
	}
	cmp "$T/out1" "$T/out2"
	cmp "$T/r1" "$T/r2"
	[ "$(wc -l < "$T/r1")" -gt 20 ]
}

@test "stages: records of other options, unsorted ones, foreign files" {
	dedup --near --emit bands "$WEB" > "$T/bands"
	run -2 dedup --emit pairs "$T/bands"
	[[ $output == *"not sorted"* ]]
	run -2 dedup --emit pairs "$WEB"
	[[ $output == *":1: byte 1: not a band record (bands(5))"* ]]
	{
		LC_ALL=C sort -u "$T/bands" | tail -1
		dedup --near --ngram 4 --emit bands "$WEB"
	} > "$T/mixed"
	run -2 dedup --emit pairs "$T/mixed"
	[[ $output == *"made with another n-gram length"* ]]
	chain A B > "$T/ab"
	dedup --near --emit bands "$T/ab" | LC_ALL=C sort -u |
		dedup --emit pairs > "$T/pairs"
	[ -s "$T/pairs" ]
	run -2 dedup --near --ngram 4 --apply "$T/pairs" "$T/ab"
	[[ $output == *"pairs made with another n-gram length"* ]]
	: > "$T/none"
	dedup --near --apply "$T/none" "$T/ab" | cmp - "$T/ab"
}

@test "a limit of --gopher-limits is a plain number" {
	for x in 0x0.8 ' 0.5' nan '' 1.5; do
		run "$BIN/dedup" --gopher-limits "dup_lines=$x" < /dev/null
		[ "$status" -eq 2 ]
		[[ "$output" == *"is not a number of 0 to 1"* ]]
	done
}
