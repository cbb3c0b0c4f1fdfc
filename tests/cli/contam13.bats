#!/usr/bin/env bats
# contam13: which benchmark examples occur in documents, and what is removed.

bats_require_minimum_version 1.5.0

setup_file() {
	export BIN=${BIN:-bin}
	export DATA=$BATS_FILE_TMPDIR
	for s in test train; do
		zstd -dcq tests/data/bench/gsm8k_$s.jsonl.zst \
			> "$DATA/gsm8k_$s.jsonl"
	done
	zstd -dcq tests/data/text/digitalgov.jsonl.zst > "$DATA/web.jsonl"
}

setup() {
	T=$BATS_TEST_TMPDIR
	TEST=$DATA/gsm8k_test.jsonl
	TRAIN=$DATA/gsm8k_train.jsonl
}

contam13() {
	"$BIN/contam13" "$@"
}

# Twenty words that occur nowhere else.
TWENTY='one fish two fish red fish blue fish black fish blue fish old fish'
TWENTY="$TWENTY new fish this one has a"

# ID TEXT: a document.
doc() {
	printf '{"id":"%s","text":"%s"}\n' "$1" "$2"
}

# KEY: its values in the report on stdin.
values() {
	sed "s/.*\"$1\":\"\{0,1\}\([^,}\"]*\).*/\1/"
}

# NAME KEY: a count of a benchmark in the file stats.
count() {
	grep -o "{\"name\":\"$1\"[^}]*}" "$T/stats" | values "$2"
}

# --- published figures -----------------------------------------------------

@test "GSM8K test against train: 3 share 13 words, 80 share 8" {
	for c in '13 3' '8 80'; do
		set -- $c
		contam13 --against "$TEST" --bench-fields question -n "$1" \
			--list --report "$T/hits" --stats "$T/stats" \
			--text-key question "$TRAIN" > "$T/out"
		cmp "$TRAIN" "$T/out"
		[ "$(count gsm8k_test examples)" -eq 1319 ]
		[ "$(count gsm8k_test short)" -eq 0 ]
		[ "$(count gsm8k_test dirty)" -eq "$2" ]
		[ "$(count gsm8k_test clean)" -eq $((1319 - $2)) ]
		[ "$(values example < "$T/hits" | sort -u | wc -l)" -eq "$2" ]
		grep -q '"docs_in":7473,"docs_kept":7473' "$T/stats"
	done
}

@test "-n auto is the paper's rule, and 13 is the default" {
	head -300 "$TRAIN" > "$T/docs"
	for o in '-n auto' '-n 13' '--ngram 13' ''; do
		contam13 --against "$TEST" $o --list --table "$T/table" \
			--text-key question -o "$T/out" "$T/docs"
		[ "$(sed -n 2p "$T/table" | cut -f 2)" -eq 13 ]
	done
	# nine words each, but three in one of fifty
	for i in $(seq 100); do
		[ $((i % 50)) -ne 0 ] && doc $i "a b c d e f g h w$i" ||
			doc $i "a b c"
	done > "$T/nine.jsonl"
	contam13 --against "$T/nine.jsonl" --against "$TEST" -n auto --list \
		--text-key question --table "$T/table" --stats "$T/stats" \
		-o "$T/out" "$T/docs"
	[ "$(count nine n)" -eq 9 ]
	[ "$(count nine short)" -eq 2 ]
	[ "$(count gsm8k_test n)" -eq 13 ]
	sed 's/"text":"[^"]*"/"text":"a b c"/' "$T/nine.jsonl" > "$T/three.jsonl"
	contam13 --against "$T/three.jsonl" -n auto --stats "$T/stats" \
		--text-key question -o "$T/out" "$T/docs"
	[ "$(count three n)" -eq 8 ]
	[ "$(count three short)" -eq 100 ]
	[ "$(count three clean)" -eq 0 ]
}

# --- planted copies --------------------------------------------------------

# Documents with a question, changed, at the start, in the middle or at the
# end of other text; with `plain` it is unchanged.
plant() {
	LC_ALL=C awk -v plain="$1" '
	function fill(n) { return substr(web[n % nweb + 1], 1, 300) }
	FNR == NR {
		sub(/.*"text": *"/, ""); sub(/"[^"]*$/, "")
		gsub(/\\./, " "); web[++nweb] = $0; next
	}
	FNR % 2 || ++n > 500 { next }
	{
		id = $0; sub(/.*"id":"/, "", id); sub(/".*/, "", id)
		sub(/.*"question":"/, ""); sub(/"}$/, "")
		gsub(/\\./, " ")
		if (!plain) {
			if (n % 4 == 1) $0 = toupper($0)
			if (n % 4 == 2) gsub(/ /, "\\n")
			if (n % 4 == 3) gsub(/ /, " -- \\\"")
			if (n % 4 == 0) gsub(/[.,?]/, "; ")
		}
		a = n % 3 ? fill(n) ". " : ""
		b = n % 3 == 1 ? "" : " | " fill(n + 7)
		printf "{\"id\":\"%s\",\"text\":\"%s%s%s\"}\n", id, a, $0, b
	}' "$DATA/web.jsonl" "$TEST"
}

@test "500 planted copies, changed: all are found, and nothing else" {
	plant 1 > "$T/plain"
	plant 0 > "$T/planted"
	[ "$(wc -l < "$T/planted")" -eq 500 ]
	for f in plain planted; do
		cat "$DATA/web.jsonl" "$T/$f" |
			contam13 --against "$TEST" --report "$T/$f.hits" \
				> "$T/$f.out"
		sed 's/,"start".*//' "$T/$f.hits" | sort > "$T/$f.pairs"
		cmp "$DATA/web.jsonl" "$T/$f.out"
	done
	cmp "$T/plain.pairs" "$T/planted.pairs"
	# each document has its own example, most have no other
	sed 's/{"id":\("[^"]*"\).*"example":\("[^"]*"\)/\1 \2/' \
		"$T/planted.pairs" | awk '$1 == $2' | wc -l | grep -qx 500
	[ "$(wc -l < "$T/planted.pairs")" -lt 520 ]
	# one letter in every seventh word, and nothing is found
	sed 's/\(\([^ ]* \)\{6\}\)\([a-z]\)/\1q\3/g' "$T/plain" |
		contam13 --against "$TEST" --check > /dev/null
}

@test "start and end are the bytes of the n-grams, text is what is there" {
	doc a "$TWENTY" > "$T/b.jsonl"
	doc d "« é » $TWENTY ü" > "$T/docs"
	contam13 --against "$T/b.jsonl" --report "$T/hits" "$T/docs" > "$T/out"
	[ ! -s "$T/out" ]
	[ "$(cat "$T/hits")" = '{"id":"d","benchmark":"b","example":"a","start":9,"end":'$((9 + ${#TWENTY}))',"grams":8,"text":"'"$TWENTY"'"}' ]
}

@test "words: NFC and NFD, case beyond ASCII, underscore and apostrophe" {
	doc a "Élan vital ça va déjà l'été où naïveté ΣΊΣΥΦΟΣ co-operation snake_case I'm 36°30" > "$T/b.jsonl"
	printf '{"text":"%s"}\n' "e\\u0301lan VITAL c\\u0327a va de\\u0301ja\\u0300 L ÉTÉ OÙ nai\\u0308vete\\u0301 σίσυφος CO OPERATION SNAKE case i m 36 30" > "$T/docs"
	contam13 --against "$T/b.jsonl" --report "$T/hits" "$T/docs" > "$T/out"
	[ ! -s "$T/out" ]
	[ "$(values grams < "$T/hits")" -eq 6 ]
	# punctuation separates, it is not removed
	doc d "élan vital ça va déjà lété où naïveté σίσυφος cooperation im 3630 and so on" |
		contam13 --against "$T/b.jsonl" --check > /dev/null
}

@test "words: in Chinese, Japanese and Thai each letter with its marks" {
	local long w LC_ALL=C
	# each longer than 13 letters, of three bytes and more
	long=(小明有三个苹果他又从妈妈那里得到了五个苹果后来给了弟弟两个请问他现在还剩几个苹果呢
		太郎は林檎を三つ持っていて母からもう五つもらいました今全部でいくつ持っていますか
		แดงมีส้มสามผลแม่ให้อีกห้าผลแดงมีส้มทั้งหมดกี่ผล)
	for w in "${long[@]}"; do
		doc a "$w" > "$T/b.jsonl"
		doc d "前後${w}กか" > "$T/docs"
		doc e "${w:0:9}，${w:9:9}\\u200b${w:18}？" >> "$T/docs"
		doc f "${w:0:36}" >> "$T/docs"
		contam13 --against "$T/b.jsonl" --report "$T/hits" \
			--stats "$T/stats" "$T/docs" > "$T/out"
		cmp "$T/out" <(tail -1 "$T/docs")
		[ "$(count b dirty)" -eq 1 ]
		[ "$(sed -n '1s/.*"text":"\(.*\)"}/\1/p' "$T/hits")" = "$w" ]
		[ "$(head -1 "$T/hits" | values start)" -eq 6 ]
	done
	doc a "${long[0]:0:36}" > "$T/b.jsonl"
	contam13 --against "$T/b.jsonl" --stats "$T/stats" "$T/docs" > "$T/out"
	[ "$(count b short)" -eq 1 ]
}

@test "words: invisible characters are dropped, before NFC" {
	doc a "$TWENTY été" > "$T/b.jsonl"
	doc d "${TWENTY//fish/fi\\u00ads\\u200dh\\ufeff} e\u2060\u0301t\u200ce\u0301" \
		> "$T/docs"
	contam13 --against "$T/b.jsonl" --report "$T/hits" "$T/docs" > "$T/out"
	[ ! -s "$T/out" ]
	[ "$(values grams < "$T/hits")" -eq 9 ]
	# they are in the range that is found, except at its ends
	grep -q '"start":0,' "$T/hits"
}

# --- benchmarks ------------------------------------------------------------

@test "benchmarks: lines, arrays, objects, text, compressed, folders" {
	mkdir "$T/bench"
	doc a "$TWENTY" > "$T/bench/lines.jsonl"
	printf '\357\273\277\n \n{"question":"x",\r\n "answer":"%s"}\n' \
		"$TWENTY" | tr -d '\n' > "$T/bench/bom.jsonl"
	printf '[\n{\n"x":"none"},\n\n"%s"\n]\n' "$TWENTY" |
		gzip > "$T/bench/array.json.gz"
	printf '{"canary":"c","examples":[{"input":"%s","target":"t"}]}' \
		"$TWENTY" | zstd -q > "$T/bench/bbh.json.zst"
	printf 'no\n\n%s' "$TWENTY" > "$T/bench/text.txt"
	{ doc a "x"; doc b "y"; } > "$T/bench/json_lines.json"
	echo '{' > "$T/bench/.hidden.json"
	doc d "$TWENTY" > "$T/docs"
	contam13 --against "$T/bench" --against "$T/bench/text.txt" \
		--report "$T/hits" --stats "$T/stats" "$T/docs" > "$T/out" \
		2> "$T/err"
	run -1 grep skipped "$T/err"
	[ "$(values benchmark < "$T/hits" | tr '\n' ' ')" = \
	  "array bbh bom lines text " ]
	[ "$(values example < "$T/hits" | tr '\n' ' ')" = \
	  "array:2 bbh:1 bom:1 a text:3 " ]
	[ "$(count json_lines examples)" -eq 2 ]
	[ "$(count json_lines short)" -eq 2 ]
	# by first bytes, under any name
	for f in lines.jsonl array.json.gz bbh.json.zst text.txt; do
		cp "$T/bench/$f" "$T/some"
		run -1 contam13 --check --against "$T/some" "$T/docs"
	done
}

@test "a folder is its files, each once; subfolders must be named" {
	mkdir -p "$T/bench/b" "$T/bench/.git"
	doc x "$TWENTY" > "$T/bench/b/two.jsonl"
	echo "$TWENTY, a third time" > "$T/bench/one.txt"
	echo '{' > "$T/bench/.git/broken.json"
	ln -s one.txt "$T/bench/same.txt"
	doc d "$TWENTY" > "$T/docs"
	contam13 --against "$T/bench" --report "$T/hits" --subsets "$T/parts" \
		-o "$T/out" "$T/docs" 2> "$T/err"
	[ "$(values benchmark < "$T/hits")" = one ]
	[ "$(wc -l < "$T/err")" -eq 1 ]
	grep -q "warning: $T/bench/b: skipped, a folder (name it" "$T/err"
	cmp "$T/parts/one.dirty.txt" "$T/bench/one.txt"
	contam13 --against "$T/bench" --against "$T/bench/b" \
		--against "$T/bench" --report "$T/hits" -o "$T/out" "$T/docs"
	[ "$(values benchmark < "$T/hits" | tr '\n' ' ')" = "one two " ]
	# a broken one in a folder is an error, with its path
	echo '{' > "$T/bench/broken.jsonl"
	run -2 contam13 --against "$T/bench" "$T/docs"
	[[ "$output" == *"$T/bench/broken.jsonl:1: byte"* ]]
}

@test "other files in a folder are reported, with what to do" {
	mkdir "$T/bench"
	doc a "$TWENTY" > "$T/bench/a.jsonl"
	for f in set.parquet a.txt.bz2 a.tar.zst t.tsv README; do
		echo x > "$T/bench/$f"
	done
	doc d "$TWENTY" > "$T/docs"
	contam13 --against "$T/bench" -o "$T/out" "$T/docs" 2> "$T/err"
	[ "$(wc -l < "$T/err")" -eq 5 ]
	grep -q 'warning: .*set.parquet: skipped, .*to JSON Lines' "$T/err"
	grep -q 'a.txt.bz2: skipped, bzip2 is not supported (decompress' "$T/err"
	grep -q 'a.tar.zst: skipped, a tar archive (unpack' "$T/err"
	grep -q 't.tsv: skipped, .*to JSON Lines' "$T/err"
	grep -q 'README: skipped, its name does not end in' "$T/err"
	touch "$T/bench/more" "$T/bench/yet_more"
	contam13 --against "$T/bench" -o "$T/out" "$T/docs" 2> "$T/err"
	grep -q 'warning: 2 more files like these' "$T/err"
	contam13 -q --against "$T/bench" -o "$T/out" "$T/docs" 2> "$T/err"
	[ ! -s "$T/err" ]
	# fields that some benchmarks of a folder have, or none
	printf '{"q":"%s"}\n' "$TWENTY" > "$T/bench/q.jsonl"
	contam13 --against "$T/bench" --bench-fields q --stats "$T/stats" \
		-o "$T/out" "$T/docs" 2> "$T/err"
	grep -q 'a.jsonl: no example has a string in the fields q: ' \
		"$T/err"
	[ "$(count a short)" -eq 1 ]
	[ "$(count q dirty)" -eq 1 ]
	run -2 contam13 --against "$T/bench" --bench-fields r "$T/docs"
	[[ "$output" == *"no example of this folder has a string in the fields r"* ]]
}

@test "a pipe is a benchmark" {
	doc d "$TWENTY" > "$T/docs"
	run -1 contam13 --check --against <(cat "$T/docs") "$T/docs"
	run -1 contam13 --check --against - "$T/docs" < "$T/docs"
}

@test "standard input can be read once: then it would be empty, and clean" {
	doc d "$TWENTY" > "$T/d"
	for o in '--against -' '--against - -' "--against - $T/d -" \
		"--against - --against - $T/d" "--against $T/d --scores -" \
		"--against - --scores - $T/d"; do
		run -2 contam13 $o < "$T/d"
		[[ "$output" == *"two inputs are standard input"* ]]
	done
}

@test "--bench-fields: several, arrays, paths; grams cross the line end" {
	printf '{"q":"%s","c":["%s",["%s"]],"m":{"t":"%s"},"n":5}\n' \
		"a b c d" "e f g" "h i j" "k l m" > "$T/b.jsonl"
	doc d "a b c d e f g h i j k l m" > "$T/docs"
	run -1 contam13 --check --against "$T/b.jsonl" --bench-fields q,c,m.t \
		"$T/docs"
	run -0 contam13 --check --against "$T/b.jsonl" --bench-fields c,q,m.t \
		"$T/docs"
	# without the option: text, else what is prose
	run -1 contam13 --check --against "$T/b.jsonl" "$T/docs"
	printf '{"a":"a b c d e f","n":1,"b":"g h i j k l m"}\n' > "$T/b.jsonl"
	run -1 contam13 --check --against "$T/b.jsonl" "$T/docs"
	printf '{"a":"a b c d e f","text":"x","b":"g h i j k l m"}\n' \
		> "$T/b.jsonl"
	run -0 contam13 --check --against "$T/b.jsonl" "$T/docs"
}

@test "a benchmark that cannot be read is status 2, never clean" {
	doc d "$TWENTY" > "$T/docs"
	bad() {
		run -2 --separate-stderr contam13 -o "$T/out" --against \
			"$T/$1" ${3:-} "$T/docs"
		[[ "$stderr" == *"$2"* ]] || { echo "$stderr"; false; }
		[ ! -e "$T/out" ]
	}
	{ doc a x; echo '{"text":'; } > "$T/b.jsonl"
	bad b.jsonl "b.jsonl:2: byte"
	printf '{"text":"\377"}\n' > "$T/b.jsonl"
	bad b.jsonl "b.jsonl:1: byte"
	printf 'good\n\377\n' > "$T/b.txt"
	bad b.txt "b.txt:2: "
	for s in '[{"a":"b"}' '[{"a":"b"} {"a":"c"}]' '[{"a":"b"},]' '[1]' \
		'[{"a":"b"}]x' '{"a":[{}],"b":[{}]}' '"x"' \
		'[{"a":"b]'; do
		printf '%s' "$s" > "$T/b.json"
		bad b.json "b.json:1: "
	done
	: > "$T/empty.jsonl"
	bad empty.jsonl "no examples"
	doc a x > "$T/b.jsonl"
	bad b.jsonl "no example has a string in the fields question" \
		"--bench-fields question"
	echo '{"a":1}' > "$T/b.jsonl"
	bad b.jsonl "no example has a string"
	bad missing.jsonl "No such file"
	mkdir "$T/folder"
	bad folder "no benchmark in this folder"
	tar cf "$T/folder/b.json" -C "$T" docs
	bad folder "tar archives are not supported"
	cp tests/data/nasty/truncated.jsonl.zst "$T/b.jsonl"
	bad b.jsonl "b.jsonl"
	echo 'BZh91AY' > "$T/b.txt"
	bad b.txt "b.txt: bzip2 is not supported"
	printf 'PAR1...' > "$T/b.jsonl"
	bad b.jsonl "b.jsonl: a Parquet file is not supported (duckdb "
}

@test "several gzip members and zstd frames, as documents and as benchmark" {
	doc a "$TWENTY" > "$T/a"
	doc b "${TWENTY//fish/cat}" > "$T/b"
	for z in 'gzip -c' 'zstd -qc'; do
		{ $z "$T/a"; $z "$T/b"; } > "$T/both"
		cat "$T/a" "$T/b" > "$T/plain"
		contam13 --against "$T/both" --report "$T/hits" "$T/both" \
			> "$T/out"
		[ "$(values example < "$T/hits" | tr '\n' ' ')" = "a b " ]
		contam13 --list --against "$T/a" "$T/both" | cmp - "$T/plain"
	done
}

@test "an example is credited to every benchmark that has it" {
	doc a "$TWENTY" > "$T/x.jsonl"
	{ doc n "no"; doc b "before $TWENTY after"; doc c "$TWENTY"; } \
		> "$T/y.jsonl"
	doc d "$TWENTY" | contam13 --against "$T/x.jsonl" --against \
		"$T/y.jsonl" --report "$T/hits" --stats "$T/stats" > "$T/out"
	[ "$(sed 's/.*"benchmark":"\(.\)","example":"\(.\)".*/\1\2/' "$T/hits" |
		tr '\n' ' ')" = "xa yb yc " ]
	[ "$(count x dirty)" -eq 1 ]
	[ "$(count y dirty)" -eq 2 ]
	[ "$(count y short)" -eq 1 ]
}

# --- documents -------------------------------------------------------------

@test "kept lines are the same bytes: odd keys, surrogates, CR, no final LF" {
	doc a "$TWENTY" > "$T/b.jsonl"
	printf '\357\273\277{"text":"%s","text":"x"}\r\n\n{"text":"\\ud800"}\n{ "x": 1e400, "text" : "\\u0061" }' \
		"$TWENTY" > "$T/docs"
	{ tail -c +4 "$T/docs" | sed 2d; echo; } > "$T/want"
	contam13 --against "$T/b.jsonl" "$T/docs" | cmp - "$T/want"
	contam13 --against "$T/b.jsonl" --max-df 1 "$T/docs" | cmp - "$T/want"
	contam13 --against "$T/b.jsonl" --max-df 1 < "$T/docs" | cmp - "$T/want"
	# of two keys the last counts
	printf '{"text":"x","text":"%s"}\n' "$TWENTY" > "$T/docs"
	run -1 contam13 --check --against "$T/b.jsonl" "$T/docs"
	[ "$(wc -l <<< "$output")" -eq 1 ]
}

@test "a bad line: refused, skipped, passed on; in one pass and in two" {
	doc a "$TWENTY" > "$T/b.jsonl"
	{ doc a "$TWENTY"; echo '{"text":null}'; doc c z; } > "$T/docs"
	for m in 0 5; do
		run -2 --separate-stderr contam13 --against "$T/b.jsonl" \
			--max-df $m -o "$T/out" "$T/docs"
		[[ "$stderr" == *"docs:2: byte "*"is null"* ]]
		[ ! -e "$T/out" ]
		run -2 --separate-stderr contam13 --against "$T/b.jsonl" \
			--max-df $m -o "$T/out" < "$T/docs"
		[[ "$stderr" == *"<stdin>:2: byte "* ]]
		contam13 --against "$T/b.jsonl" --max-df $m --on-bad skip -q \
			--stats "$T/stats" "$T/docs" > "$T/out" 2> /dev/null
		[ "$(cat "$T/out")" = "$(sed -n 3p "$T/docs")" ]
		grep -q '"docs_in":3,"docs_kept":1,"docs_dropped":1,"docs_bad":1' \
			"$T/stats"
		contam13 --against "$T/b.jsonl" --max-df $m --on-bad pass -q \
			"$T/docs" 2> /dev/null | cmp - <(sed 1d "$T/docs")
		rm "$T/out"
	done
}

@test "ids of documents, and FILE:LINE without one" {
	doc a "$TWENTY" > "$T/b.jsonl"
	printf '{"text":"%s"}\n' "$TWENTY" > "$T/docs"
	for m in 0 9; do
		contam13 --against "$T/b.jsonl" --max-df $m --report "$T/hits" \
			"$T/docs" <&- > /dev/null
		[ "$(values id < "$T/hits")" = "$T/docs:1" ]
		cat "$T/docs" | contam13 --against "$T/b.jsonl" --max-df $m \
			--report "$T/hits" > /dev/null
		[ "$(values id < "$T/hits")" = "<stdin>:1" ]
	done
	sed 's/{/{"n":7,/' "$T/docs" | contam13 --against "$T/b.jsonl" \
		--id-key n --report "$T/hits" > /dev/null
	[ "$(values id < "$T/hits")" = 7 ]
}

@test "--check without -o: findings on stdout, no documents; with -o both" {
	doc a "$TWENTY" > "$T/b.jsonl"
	{ doc x no; doc y "$TWENTY"; doc z no; } > "$T/docs"
	contam13 --against "$T/b.jsonl" --report "$T/want" "$T/docs" \
		> "$T/kept"
	for o in '' --list '--cut 9' '--max-df 5'; do
		run -1 --separate-stderr contam13 --check $o \
			--against "$T/b.jsonl" --stats "$T/stats" "$T/docs"
		[ "$output" = "$(cat "$T/want")" ]
		[ -z "$stderr" ]
		grep -q '"docs_in":3,' "$T/stats"
		run -1 contam13 --check $o --against "$T/b.jsonl" --report \
			"$T/hits" "$T/docs"
		[ "$output" = "$(cat "$T/want")" ]
		cmp "$T/want" "$T/hits"
		run -1 contam13 --check $o --against "$T/b.jsonl" --report - \
			"$T/docs"
		[ "$output" = "$(cat "$T/want")" ]
	done
	run -1 contam13 --check --against "$T/b.jsonl" -o "$T/out" "$T/docs"
	[ -z "$output" ]
	cmp "$T/kept" "$T/out"
	run -1 contam13 --check --against "$T/b.jsonl" -o - "$T/docs"
	[ "$output" = "$(cat "$T/kept")" ]
	run -0 contam13 --check --against "$T/b.jsonl" "$T/kept"
	[ -z "$output" ]
	run -2 contam13 --check --against "$T/b.jsonl" --stats - "$T/docs"
	[[ "$output" == *"stats and findings cannot both go to stdout"* ]]
	run -2 contam13 --check --against "$T/b.jsonl" --table - "$T/docs"
	[[ "$output" == *"stdout has the findings"* ]]
	# shards: findings, not the table
	"$BIN/tok-train" -q --vocab-size 300 -o "$T/t.json" "$DATA/web.jsonl"
	"$BIN/pack" -q --tokenizer "$T/t.json" -o "$T/s" "$T/docs"
	tokens=(contam13 --against "$T/b.jsonl" --tokens --tokenizer
		"$T/t.json" --check)
	run -1 "${tokens[@]}" --report "$T/hits" "$T/s"
	[ "$output" = "$(cat "$T/hits")" ]
	[ "$(values id < "$T/hits")" = y ]
	run -1 "${tokens[@]}" -o "$T/table" "$T/s"
	[ -z "$output" ]
	[ "$(sed -n 2p "$T/table" | cut -f 5)" -eq 1 ]
	run -2 "${tokens[@]}" --json "$T/s"
}

@test "--source-key: counts by source, which add up" {
	doc a "$TWENTY" > "$T/b.jsonl"
	cat > "$T/docs" <<-END
	{"text":"$TWENTY","meta":{"source":"w\u0065b"}}
	{"text":"four","meta":{"source":"web"}}
	{"text":"seven x","meta":{"source":7}}
	{"text":"a $TWENTY","meta":{"source":["web"]}}
	{"text":"none"}
	{
	{"text":"empty","meta":{"source":""}}
	END
	run_source() {
		contam13 -q --against "$T/b.jsonl" --on-bad skip --source-key \
			meta.source --stats "$T/stats" "$@" "$T/docs" > "$T/out"
		sed 's/.*"sources":\[{\(.*\)}\]}/\1/; s/},{/\n/g; s/"[a-z_]*"://g' \
			"$T/stats"
	}
	n=${#TWENTY}
	# in kept dropped bad cut found bytes_in bytes_kept
	[ "$(run_source)" = "$(printf '%s\n' \
		"\"web\",2,1,1,0,0,1,$((n + 4)),4" '"7",1,1,0,0,0,0,7,7' \
		"null,3,1,1,1,0,1,$((n + 6)),4" '"",1,1,0,0,0,0,5,5')" ]
	run_source > "$T/one"
	run_source --max-df 5 | cmp - "$T/one"
	[ "$(run_source --list | head -1)" = \
		"\"web\",2,2,0,0,0,1,$((n + 4)),$((n + 4))" ]
	sed -i "1s/$TWENTY/$TWENTY and more text/" "$T/docs"
	[ "$(run_source --cut 3 | head -1)" = \
		"\"web\",2,2,0,0,1,1,$((n + 18)),$((4 + 11))" ]
	run -2 contam13 --against "$T/b.jsonl" --source-key x "$T/docs"
	[[ "$output" == *"--source-key"*"--stats"* ]]
	printf '{"id":1,"text":"a","x":"%04096d"}\n' 7 > "$T/docs"
	contam13 -q --against "$T/b.jsonl" --source-key x --stats "$T/s" \
		"$T/docs" | cmp - "$T/docs"
	printf '{"id":1,"text":"a","x":"%04097d"}\n' 7 >> "$T/docs"
	run -2 contam13 --against "$T/b.jsonl" --source-key x --stats "$T/s" \
		"$T/docs"
	[[ "$output" == *"docs:2: the value of the key x has 4097 bytes, more than 4096"* ]]
	seq -f '{"text":"a","n":%.0f}' 100001 > "$T/docs"
	run -2 contam13 --against "$T/b.jsonl" --source-key n --stats \
		"$T/stats" -o "$T/out" "$T/docs"
	[[ "$output" == *"more than 100000 different values of the key n" ]]
}

@test "--check: 1 on a hit, with each action; 0 without" {
	doc a "$TWENTY" > "$T/b.jsonl"
	for o in '' --list '--cut 10'; do
		run -1 contam13 --check $o --against "$T/b.jsonl" "$T/b.jsonl"
		run -0 contam13 $o --against "$T/b.jsonl" "$T/b.jsonl"
		run -0 contam13 --check $o --against "$T/b.jsonl" \
			"$DATA/web.jsonl"
	done
}

@test "options that exclude each other are refused" {
	doc a "$TWENTY" > "$T/b.jsonl"
	for o in '--cut 5 --list' '-n 0' \
		'-n x' '-n 101' '-n 8.5' '--tokens' '--tokenizer x' \
		'--shard-format llmc' '--table -' '--max-df -1' '--cut -1' \
		'--split gpt2' '--json' '--report x --table x' \
		'--table out -o out'; do
		run -2 contam13 --against "$T/b.jsonl" $o "$T/b.jsonl"
		[[ "$output" == *"usage: contam13"* ]]
	done
	run -2 contam13 "$T/b.jsonl"
}

# --- cutting ---------------------------------------------------------------

@test "--cut: the n-gram and 200 characters on both sides are removed" {
	doc a "$TWENTY" > "$T/b.jsonl"
	p=$(printf 'é%.0s' $(seq 450))	# 450 characters of two bytes
	q=${p//é/ü}
	printf '{"id":1, "text" : "%s. %s. %s", "more":["%s"]}\n' \
		"$p" "$TWENTY" "$q" "x" > "$T/docs"
	contam13 --against "$T/b.jsonl" --cut 200 --stats "$T/stats" \
		--report "$T/hits" "$T/docs" > "$T/out"
	printf '{"id":1, "text" : "%s\\n\\n%s", "more":["%s"]}\n' \
		"$(printf 'é%.0s' $(seq 252))" "$(printf 'ü%.0s' $(seq 252))" \
		"x" | cmp - "$T/out"
	grep -q '"docs_kept":1,"docs_dropped":0,' "$T/stats"
	grep -q '"docs_cut":1[,}]' "$T/stats"
	grep -q '"bytes_kept":1010[,}]' "$T/stats"
	[ "$(values start < "$T/hits")" -eq 902 ]
	# a piece of 199 characters is removed, one of 200 is not
	for n in 199 200; do
		doc d "$(head -c $((n + 199)) /dev/zero | tr '\0' x) $TWENTY" |
			contam13 --against "$T/b.jsonl" --cut 200 > "$T/out"
		[ "$(wc -l < "$T/out")" -eq $((n - 199)) ]
	done
}

@test "--cut: a document with more than ten pieces is dropped" {
	doc a "$TWENTY" > "$T/b.jsonl"
	for n in 9 10; do
		text=start
		for i in $(seq $n); do
			text="$text piece number $i. $TWENTY. and piece number $i"
		done
		doc d "$text" | contam13 --against "$T/b.jsonl" --cut 3 \
			--stats "$T/stats" > "$T/out"
		# n windows leave n + 1 pieces
		[ "$(wc -l < "$T/out")" -eq $((10 - n)) ]
		grep -q "\"docs_dropped\":$((n - 9))," "$T/stats"
	done
}

# --- n-grams of many documents -----------------------------------------------

@test "--max-df: an n-gram in more documents is ignored, and listed" {
	{ doc a "$TWENTY"; doc b "alpha beta $TWENTY"; } > "$T/b.jsonl"
	for i in $(seq 10); do
		doc $i "$TWENTY and $TWENTY"
	done > "$T/docs"
	doc 11 "alpha beta $TWENTY" >> "$T/docs"
	contam13 --against "$T/b.jsonl" --max-df 11 --stats "$T/stats" \
		"$T/docs" > "$T/out"
	[ ! -s "$T/out" ]
	grep -q '"ignored_grams":0,"ignored":\[\]' "$T/stats"
	# eleven documents have the twenty words, one with two before them
	contam13 --against "$T/b.jsonl" --max-df 10 --stats "$T/stats" \
		--report "$T/hits" "$T/docs" > "$T/out"
	cmp "$T/out" <(head -10 "$T/docs")
	[ "$(count b dirty)" -eq 1 ]
	grep -q '"ignored_grams":8,"ignored":\[{"text":"one fish two fish red fish blue fish black fish blue fish old","docs":11}' "$T/stats"
	[ "$(sed 's/,"start".*//' "$T/hits")" = \
		'{"id":"11","benchmark":"b","example":"b"' ]
	# from a pipe, from two files, and for any number of threads
	for j in 1 3; do
		cat "$T/docs" | contam13 -j $j --against "$T/b.jsonl" \
			--max-df 10 --report "$T/again" | cmp - "$T/out"
		cmp "$T/hits" "$T/again"
		contam13 -j $j --against "$T/b.jsonl" --max-df 10 \
			<(head -4 "$T/docs") <(tail -n +5 "$T/docs") |
			cmp - "$T/out"
	done
}

@test "--max-df with the GSM8K questions: one pass and two agree" {
	contam13 --against "$TEST" -n 8 --text-key question --report "$T/a" \
		"$TRAIN" > "$T/out.a"
	contam13 --against "$TEST" -n 8 --text-key question --report "$T/b" \
		--max-df 1000000 "$TRAIN" > "$T/out.b"
	[ "$(wc -l < "$T/a")" -gt 80 ]
	cmp "$T/a" "$T/b"
	cmp "$T/out.a" "$T/out.b"
}

# --- tables, scores, subsets -----------------------------------------------

@test "--scores: all, clean, dirty, difference with its standard error" {
	for i in 1 2 3 4 5 6; do
		doc $i "${TWENTY//fish/w$i}"
	done > "$T/b.jsonl"
	doc 7 short >> "$T/b.jsonl"
	head -2 "$T/b.jsonl" > "$T/docs"
	# clean: 1 0 0 1, dirty: 1 1, short: 0; all: 4 of 7
	for s in 1:1 2:true 3:1 4:0 5:false 6:1.0 7:0; do
		printf '{"benchmark":"b","example":"%s","score":%s}\n' \
			${s%:*} ${s#*:}
	done > "$T/scores"
	contam13 --against "$T/b.jsonl" --scores "$T/scores" --table "$T/t" \
		--stats "$T/stats" "$T/docs" > "$T/out"
	[ ! -s "$T/out" ]
	[ "$(sed -n 2p "$T/t" | cut -f 1-12)" = \
		"$(printf 'b\t13\t7\t1\t2\t4\t6\t66.6667\t7\t0.714286\t1\t0.5' |
			sed 's/0.714286/0.571429/')" ]
	# 3/7 sqrt((1/3) / 4 + (1/3) / 3), -0.0714286 / 0.571429
	[ "$(sed -n 2p "$T/t" | cut -f 13-16)" = \
		"$(printf '0\t-0.0714286\t0.188982\t-12.5')" ]
	grep -q '"difference":-0.0714285' "$T/stats"
	contam13 --against "$T/b.jsonl" --scores "$T/scores" --json --table - \
		-o "$T/out" "$T/docs" > "$T/json"
	[ "$(wc -l < "$T/json")" -eq 1 ]
	grep -q '^{"name":"b","n":13,"examples":7,"short":1,"dirty":2,' "$T/json"
	# a message names the wrong line
	bad() {
		echo "$1" > "$T/bad"
		run -2 --separate-stderr contam13 --against "$T/b.jsonl" \
			--scores "$T/bad" -o "$T/x" "$T/docs"
		[[ "$stderr" == *"bad:1: "* ]]
		[ ! -e "$T/x" ]
	}
	bad '{"example":"8","score":1}'
	bad '{"example":"1","score":"1"}'
	bad '{"benchmark":"c","example":"1","score":1}'
	bad '{"score":1}'
	bad '{'
	# one score per example; those without are counted
	{ cat "$T/scores"; sed -n 3p "$T/scores"; } > "$T/twice"
	run -2 --separate-stderr contam13 --against "$T/b.jsonl" --scores \
		"$T/twice" -o "$T/x" "$T/docs"
	[[ "$stderr" == *"twice:8: benchmark b already has a score for"* ]]
	sed -n '3,5p' "$T/scores" > "$T/some"
	contam13 --against "$T/b.jsonl" --scores "$T/some" --table "$T/t" \
		"$T/docs"
	[ "$(sed -n 2p "$T/t" | cut -f 3-6,9-)" = \
		"$(printf '7\t1\t2\t4\t3\t0.333333\t-\t0.333333\t-\t0\t0\t0')" ]
}

@test "the clean share is of examples that can be tested" {
	{ for i in 1 2 3 4 5 6; do doc $i "only five words of $i"; done
		doc 7 "$TWENTY"; doc 8 "${TWENTY//fish/cat}"; } > "$T/b.jsonl"
	head -6 "$T/b.jsonl" > "$T/five.jsonl"
	for i in 1 2 3; do doc $i "nine words are enough for auto here $i w"
	done > "$T/nine.jsonl"
	doc 4 "x y" >> "$T/nine.jsonl"
	{ doc d "$TWENTY"; doc e "$TWENTY"; doc f no; } > "$T/docs"
	against=(--against "$T/b.jsonl" --against "$T/five.jsonl" --against
		"$T/nine.jsonl")
	contam13 "${against[@]}" --table "$T/t" -o "$T/out" "$T/docs" \
		2> "$T/err"
	[ "$(cut -f 1,4- "$T/t" | tr '\t' ' ')" = "$(cat <<-END
		name short dirty clean tested clean_percent
		b 6 1 1 2 50
		five 6 0 0 0 -
		nine 4 0 0 0 -
		END
	)" ]
	[ "$(cat "$T/err")" = "$(cat <<-END
		contam13: warning: b: 6 of 8 examples have fewer than 13 words and cannot be tested (-n auto takes fewer)
		contam13: warning: five: 6 of 6 examples have fewer than 13 words and cannot be tested (-n auto takes fewer)
		contam13: warning: nine: 4 of 4 examples have fewer than 13 words and cannot be tested (-n auto takes fewer)
		END
	)" ]
	contam13 "${against[@]}" -n auto --stats "$T/stats" -o "$T/out" \
		"$T/docs" 2> "$T/err"
	[ "$(wc -l < "$T/err")" -eq 2 ]
	grep -q 'b: 6 of 8 examples have fewer than 8 words and cannot be tested$' \
		"$T/err"
	[ "$(count nine short)" -eq 1 ]
	grep -q '"name":"five",.*"tested":0,"clean_percent":null,' "$T/stats"
	# exactly half is none, and documents are counted in the summary
	doc 9 "${TWENTY//fish/dog}" >> "$T/b.jsonl"
	sed -i 1,3d "$T/b.jsonl"
	contam13 -v --against "$T/b.jsonl" -o "$T/out" "$T/docs" 2> "$T/err"
	run -1 grep warning "$T/err"
	grep -q '^documents read  *3$' "$T/err"
	grep -q '^documents kept  *1$' "$T/err"
	grep -q '^documents with a hit  *2$' "$T/err"
	grep -q '^name  *n  *examples  *short  *dirty  *clean  *tested  *clean %$' \
		"$T/err"
}

@test "--subsets: each example in one file, unchanged" {
	{ doc 1 "$TWENTY"; doc 2 x; doc 3 "${TWENTY//fish/cat}"; } > "$T/b.jsonl"
	printf '[{"t":"a\\nb",\n "u":1},\n"%s"]' "$TWENTY" > "$T/c.json"
	printf 'x\r\n\n%s\n' "$TWENTY" > "$T/d.txt"
	doc d "$TWENTY" > "$T/docs"
	contam13 --against "$T/b.jsonl" --against "$T/c.json" --against \
		"$T/d.txt" --subsets "$T/parts" "$T/docs" > "$T/out"
	cmp "$T/parts/b.dirty.jsonl" <(sed -n 1p "$T/b.jsonl")
	cmp "$T/parts/b.short.jsonl" <(sed -n 2p "$T/b.jsonl")
	cmp "$T/parts/b.clean.jsonl" <(sed -n 3p "$T/b.jsonl")
	[ "$(cat "$T/parts/c.short.jsonl")" = '{"t":"a\nb",  "u":1}' ]
	[ "$(cat "$T/parts/c.dirty.jsonl")" = '{"text":"'"$TWENTY"'"}' ]
	cmp "$T/parts/d.short.txt" <(printf 'x\r\n')
	cmp "$T/parts/d.dirty.txt" <(echo "$TWENTY")
	[ ! -s "$T/parts/d.clean.txt" ]
	# what was written is itself a benchmark
	run -1 contam13 --check --against "$T/parts/c.dirty.jsonl" "$T/docs"
	run -0 contam13 --check --against "$T/parts/b.clean.jsonl" "$T/docs"
	mkdir "$T/other"
	cp "$T/b.jsonl" "$T/other"
	run -2 contam13 --against "$T/b.jsonl" --against "$T/other" \
		--subsets "$T/parts" "$T/docs"
	[[ "$output" == *"two benchmarks are called b"* ]]
}

# --- tokens ----------------------------------------------------------------

@test "memory: an n-gram takes less than 100 bytes" {
	if nm "$BIN/contam13" 2> "$T/nm" | grep -Eq '__(a|t)san_init'; then
		skip "a sanitizer's own memory is not bounded"
	fi
	awk 'BEGIN { srand(7)
		for (e = 0; e < 1000; e++) {
			printf "{\"text\":\""
			for (w = 0; w < 1000; w++)
				printf "w%d ", int(rand() * 50000)
			print "\"}"
		} }' > "$T/b.jsonl"
	doc d "$TWENTY" > "$T/docs"
	# 988,000 n-grams, the program and its libraries, the file
	(
		ulimit -v 100000
		contam13 -v -j 1 --against "$T/b.jsonl" --max-df 9 --stats \
			"$T/stats" -o "$T/out" "$T/docs" 2> "$T/err"
	)
	grep -Eq '"grams":9[0-9]{5},' "$T/stats"
	grep -Eq '^9[0-9]{5} n-grams, 2[0-9]\.[0-9] bytes per n-gram' "$T/err"
}

@test "--tokens: documents and shards, one document after another" {
	TOK=$T/tokenizer.json
	"$BIN/tok-train" -q --vocab-size 600 -o "$TOK" "$DATA/web.jsonl"
	doc a "$TWENTY" > "$T/b.jsonl"
	{ head -5 "$DATA/web.jsonl"; doc hit "über: $TWENTY"
		tail -5 "$DATA/web.jsonl"; } > "$T/docs"
	contam13 --against "$T/b.jsonl" --tokens --tokenizer "$TOK" \
		--report "$T/hits" "$T/docs" > "$T/out"
	cmp "$T/out" <(grep -v '"id":"hit"' "$T/docs")
	[ "$(values id < "$T/hits")" = hit ]
	grep -qF "fish black fish" "$T/hits"
	n=$(($(values end < "$T/hits") - $(values start < "$T/hits")))
	[ "$(sed 's/.*"text":"\(.*\)"}/\1/' "$T/hits" | tr -d '\n' | wc -c)" \
		-eq "$n" ]
	for s in assay llmc nanogpt megatron datatrove npy; do
		"$BIN/pack" -q --tokenizer "$TOK" --shard-format $s \
			-o "$T/$s" "$T/docs"
		for j in 1 2; do
			contam13 -j $j --against "$T/b.jsonl" --tokens \
				--tokenizer "$TOK" --shard-format $s \
				--report "$T/shard" --stats "$T/stats" \
				"$T/$s/" > "$T/table"
			[ "$(cut -f 5 "$T/table" | tr '\n' ' ')" = "dirty 1 " ]
			[ "$(count b dirty)" -eq 1 ]
			grep -q '"docs_in":11,' "$T/stats"
			grep -qF "fish black fish" "$T/shard"
		done
	done
	# a folder, a pipe, windows
	run -1 contam13 --check --against "$T/b.jsonl" --tokens --tokenizer \
		"$TOK" "$T/assay/"
	run -1 contam13 --check --against "$T/b.jsonl" --tokens --tokenizer \
		"$TOK" --shard-format assay < "$T/assay/00000.tok"
	[ "$(contam13 --against "$T/b.jsonl" --tokens --tokenizer "$TOK" \
		--report /dev/stderr "$T/assay/00000.tok" 2>&1 > /dev/null |
		values id)" = hit ]
	"$BIN/pack" -q --tokenizer "$TOK" --policy best-fit --seq-len 4000 \
		-o "$T/fit" "$T/docs"
	run -1 contam13 --check --against "$T/b.jsonl" --tokens --tokenizer \
		"$TOK" "$T/fit"
	# nothing is found if nothing is there
	head -5 "$DATA/web.jsonl" | "$BIN/pack" -q --tokenizer "$TOK" \
		-o "$T/none" -
	run -0 contam13 --check --against "$T/b.jsonl" --tokens --tokenizer \
		"$TOK" "$T/none"
	run -2 contam13 --against "$T/b.jsonl" --tokens --tokenizer "$TOK" \
		--cut 9 "$T/none"
	run -2 contam13 --against "$T/b.jsonl" --tokens --tokenizer "$TOK" \
		--table "$T/table" -o "$T/out" "$T/none"
	for m in 1 2; do
		contam13 --against "$T/b.jsonl" --tokens --tokenizer "$TOK" \
			--max-df $m "$T/assay/"* "$T/assay/"* > "$T/table"
		[ "$(sed -n 2p "$T/table" | cut -f 5)" -eq $((m - 1)) ]
	done
}

@test "--tokens: a person at a terminal sees the table of shards once" {
	script -qefc true /dev/null < /dev/null > /dev/null 2>&1 ||
		skip "script (of util-linux) makes no terminal here"
	"$BIN/tok-train" -q --vocab-size 300 -o "$T/t.json" "$DATA/web.jsonl"
	doc a "$TWENTY" > "$T/b.jsonl"
	"$BIN/pack" -q --tokenizer "$T/t.json" -o "$T/s" "$T/b.jsonl"
	cmd="$BIN/contam13 --against $T/b.jsonl --tokens --tokenizer"
	script -qefc "$cmd $T/t.json $T/s" "$T/out" < /dev/null > /dev/null
	[ "$(grep -c '^name .*clean' "$T/out")" -eq 1 ]
	grep -q '^documents with a hit  1' "$T/out"
	script -qefc "$cmd $T/t.json -v $T/s 2> $T/err" "$T/out" < /dev/null \
		> /dev/null
	grep -q '^name .*clean' "$T/err"
}

@test "--tokens: --eot ends documents; options of lines are refused" {
	zstd -dcq tests/data/tok/qwen3_tokenizer.json.zst > "$T/qwen.json"
	doc a "$TWENTY" > "$T/b.jsonl"
	{ doc a "$TWENTY"; doc b "$TWENTY. No."; doc c no; } > "$T/docs"
	"$BIN/pack" -q --tokenizer "$T/qwen.json" --no-bos --eos-token \
		'<|endoftext|>' --shard-format nanogpt -o "$T/s" "$T/docs"
	mkdir "$T/bare"
	cp "$T/s/00000.bin" "$T/bare"
	cmd=(contam13 --against "$T/b.jsonl" --tokens --tokenizer "$T/qwen.json"
		--shard-format nanogpt --stats "$T/stats" -o "$T/table")
	"${cmd[@]}" "$T/bare"
	grep -q '"docs_in":0,.*"docs_hit":1,' "$T/stats"
	"${cmd[@]}" --eot 151643 "$T/bare"
	grep -q '"docs_in":3,.*"docs_hit":2,' "$T/stats"
	"${cmd[@]}" --eot 151643 --max-df 1 "$T/bare"
	grep -q '"docs_hit":0,.*"docs":2}' "$T/stats"
	run -2 "${cmd[@]}" --eot 999999 "$T/bare"
	run -2 contam13 --against "$T/b.jsonl" --eot 3 "$T/docs"
	for o in '--text-key text' '--id-key id' '--on-bad skip'; do
		run -2 "${cmd[@]}" $o "$T/bare"
		[[ "$output" == *"do not apply to shards"* ]]
	done
}

@test "--tokens: shards of another tokenizer are refused" {
	doc a "$TWENTY" > "$T/docs"
	for n in 300 400; do
		"$BIN/tok-train" -q --vocab-size $n -o "$T/$n.json" \
			"$DATA/web.jsonl"
		"$BIN/pack" -q --tokenizer "$T/$n.json" -o "$T/$n" "$T/docs"
		run -1 contam13 --against "$T/docs" --tokens --tokenizer \
			"$T/$n.json" --check "$T/$n"
	done
	run -2 --separate-stderr contam13 --against "$T/docs" --tokens \
		--tokenizer "$T/300.json" --check "$T/400"
	[[ "$stderr" == *"300.json: the shards were made with another tokenizer"* ]]
	[ -z "$output" ]
	# formats without a fingerprint: an id outside the vocabulary
	for s in llmc nanogpt megatron datatrove npy; do
		"$BIN/pack" -q --tokenizer "$T/400.json" --shard-format $s \
			-o "$T/$s" "$T/docs"
		run -2 --separate-stderr contam13 --against "$T/docs" \
			--tokens --tokenizer "$T/300.json" --shard-format $s \
			--report "$T/hits" "$T/$s"
		[[ "$stderr" == *"$T/$s/00000."*" the vocabulary has 300" ]]
		[ -z "$output" ]
		[ ! -e "$T/hits" ]
	done
}

@test "--tokens: a document in many windows is one document" {
	"$BIN/tok-train" -q --vocab-size 600 -o "$T/t.json" "$DATA/web.jsonl"
	doc a "$TWENTY" > "$T/b.jsonl"
	x=
	for i in $(seq 30); do
		x="$x $TWENTY, and then $i times something else, say $i. "
	done
	{ doc long "$x"; doc s1 "nothing"; doc s2 "$TWENTY"; } > "$T/docs"
	for p in best-fit pad concat '--policy best-fit --shuffle 7'; do
		"$BIN/pack" -q --tokenizer "$T/t.json" --seq-len 150 \
			--policy ${p#--policy } -o "$T/s" "$T/docs"
		for m in 0 1 2; do
			contam13 --against "$T/b.jsonl" --tokens --tokenizer \
				"$T/t.json" --max-df $m --stats "$T/stats" \
				"$T/s" > "$T/table"
			grep -q '"docs_in":3,' "$T/stats"
			if [ $m -eq 1 ]; then
				grep -q '"docs":2}' "$T/stats"
			else
				grep -q '"docs_hit":2,' "$T/stats"
				run -1 grep '"docs":' "$T/stats"
			fi
			run -1 grep '"docs":[3-9]' "$T/stats"
		done
	done
}

@test "--tokens: a stream without boundaries, longer than a group" {
	# a byte is a token: 1.2 million of them; at each a 13-gram begins, at
	# every third the only 10-gram
	"$BIN/tok-train" -q --vocab-size 257 --special '<|x|>' \
		-o "$T/t.json" "$DATA/web.jsonl"
	awk 'BEGIN { printf "{\"text\":\""
		for (i = 0; i < 400000; i++)
			printf "ab "
		print "\"}" }' > "$T/docs"
	doc a "ab ab ab a" > "$T/ten.jsonl"
	doc b "ab ab ab ab ab ab ab ab" > "$T/more.jsonl"
	"$BIN/pack" -q --tokenizer "$T/t.json" --shard-format nanogpt \
		--no-bos --no-eos -o "$T/s" "$T/docs"
	mkdir "$T/raw"
	cp "$T/s/00000.bin" "$T/raw"
	for j in 1 3; do
		for m in 0 1; do
			contam13 -j $j --against "$T/ten.jsonl" --against \
				"$T/more.jsonl" -n auto --tokens --tokenizer \
				"$T/t.json" --max-df $m --report "$T/hits" \
				--stats "$T/stats" --shard-format nanogpt \
				"$T/raw" > "$T/table"
			grep -q '"tokens_in":1200000,"docs_hit":1,' "$T/stats"
			[ "$(grep '"ten"' "$T/hits" | values grams |
				awk '{ n += $1 } END { print n }')" \
				-eq 399997 ]
			[ "$(grep '"more"' "$T/hits" | values grams |
				awk '{ n += $1 } END { print n }')" \
				-eq $((1200000 - 12)) ]
		done
	done
}

@test "--tokens --cut: the tokens and the characters around them are removed" {
	zstd -dcq tests/data/tok/gptneox_tokenizer.json.zst > "$T/neox.json"
	"$BIN/tok-train" -q --vocab-size 600 -o "$T/ours.json" \
		"$DATA/web.jsonl"
	doc a "$TWENTY" > "$T/b.jsonl"
	p=$(printf 'e\xcc\x81%.0s' $(seq 300))	# not in form C, for gptneox
	q=$(printf 'ü%.0s' $(seq 600))
	printf '{"id":"d", "text":"%s. %s. %s"}\n' "$p" "$TWENTY" "$q" \
		> "$T/docs"
	head -3 "$DATA/web.jsonl" >> "$T/docs"
	for t in ours neox; do
		contam13 --against "$T/b.jsonl" --tokens --tokenizer \
			"$T/$t.json" --cut 200 --report "$T/hits" --stats \
			"$T/stats" "$T/docs" > "$T/out"
		cmp <(sed 1d "$T/docs") <(sed 1d "$T/out")
		grep -q '"docs_cut":1[,}]' "$T/stats"
		# what the report says, and 200 characters on both sides
		s=$(values start < "$T/hits") e=$(values end < "$T/hits")
		head -1 "$T/docs" | sed 's/.*"text":"//; s/"}$//' |
			tr -d '\n' > "$T/text"
		words=$(head -c "$e" "$T/text" | tail -c +$((s + 1)))
		[[ "$TWENTY" == *"${words# }" ]]
		[ "${#words}" -gt 60 ]
		# k characters of p, alternately e and its accent, the others of q
		k=$((200 - (s - 900)))
		a=$((900 - k / 2 * 3 - k % 2 * 2))
		b=$((994 + 2 * (200 - (994 - e))))
		{ printf '{"id":"d", "text":"'
			head -c "$a" "$T/text"
			printf '\\n\\n'
			tail -c +$((b + 1)) "$T/text"
			echo '"}'; } > "$T/want"
		cmp "$T/want" <(head -1 "$T/out")
		run -0 contam13 --against "$T/b.jsonl" --tokens --tokenizer \
			"$T/$t.json" --check --list -o "$T/again" "$T/out"
	done
	# a document in more than ten pieces is dropped
	x=
	for i in $(seq 11); do
		x="$x piece number $i. $TWENTY. And"
	done
	doc d "$x" | contam13 --against "$T/b.jsonl" --tokens --tokenizer \
		"$T/ours.json" --cut 3 > "$T/out"
	[ ! -s "$T/out" ]
}
