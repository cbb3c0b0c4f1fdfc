#!/usr/bin/env bats
# Streams of documents, as all programs read and write them.

bats_require_minimum_version 1.5.0

setup() {
	ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	PATH=${BIN:-$ROOT/bin}:$PATH
	cd "$BATS_TEST_TMPDIR"
}

# ID WORDS: a document
doc() {
	printf '{"id":"%s","text":"%s"}\n' "$1" "$2"
}

@test "a file that grows during the last pass is status 2" {
	zstd -dcq "$ROOT"/tests/data/text/{digitalgov,sqlite_doc}.jsonl.zst \
		> docs.jsonl
	doc b "one benchmark sentence that is nowhere in these documents" \
		> bench.jsonl
	for c in "dedup" "dedup --spans --span-bytes 100" \
		"contam13 --against bench.jsonl --max-df 3"; do
		cp docs.jsonl in.jsonl
		run --separate-stderr bash -c "set -o pipefail
			$c in.jsonl | { sleep 0.7
				echo '{\"text\":\"one more\"}' >> in.jsonl
				cat > out; }"
		[ "$status" -eq 2 ] || { echo "$c: $status"; false; }
		[[ $stderr == *"in.jsonl: changed while it was read"* ]]
		# the same without the change
		cp docs.jsonl in.jsonl
		bash -c "set -o pipefail
			$c in.jsonl | { sleep 0.7; cat > out; }"
	done
}

@test "numbers of JSON or Python in other fields are passed on as they are" {
	local big=1234567890123456789012345678901
	cat > in.jsonl <<-END
		{"id":1,"text":"one","n":1e400,"m":-1E+400}
		{"n":$big,"text":"two","m":-$big}
		{"id":3,"text":"three","a":[NaN,{"b":Infinity},-Infinity ] }
		{"id":NaN,"text":"four NaN, Infinity"}
		{"id":5,"text":"five","x":NaN,"y":"\\ud800"}
	END
	doc b "a benchmark sentence of eight words or more" > bench.jsonl
	for c in "dedup --exact" "contam13 --against bench.jsonl"; do
		$c --stats stats in.jsonl | cmp - in.jsonl
		grep -q '"docs_bad":0' stats
	done
	tok-train --vocab-size 270 --stats stats -o tok.json in.jsonl
	grep -q '"docs_in":5,"docs_kept":5' stats
	pack --tokenizer tok.json --shard-format jsonl --no-bos --no-eos \
		in.jsonl | sed 's/,.*//' > ids
	printf '{"id":"%s"\n' 1 in.jsonl:2 3 in.jsonl:4 5 | cmp - ids
}

@test "a field that is read must be what is needed" {
	for v in NaN Infinity 1e400; do
		echo "{\"id\":1,\"text\":$v}" > in.jsonl
		run -2 dedup in.jsonl
		[[ $output == *"in.jsonl:1: byte 16: \"text\" is "*"not a string" ]]
	done
	for v in nan -NaN 1NaN NaNs +Infinity Inf 01 1. .5; do
		echo "{\"text\":\"a\",\"n\":$v}" > in.jsonl
		run -2 dedup in.jsonl
		[[ $output == *"in.jsonl:1: byte "[12]* ]]
	done
	echo '{"text":"a","w":NaN}' > in.jsonl
	run -2 tok-train --vocab-size 260 --weights w in.jsonl
	[[ $output == *"in.jsonl:1: "*NaN* ]]
}

# FILE WANT: dedup refuses FILE by name, with WANT in the one message
refused() {
	run --separate-stderr dedup "$1"
	[ "$status" -eq 2 ]
	[ -z "$output" ]
	[ "${#stderr_lines[@]}" -eq 1 ]
	[[ $stderr == "dedup: $1:"*"$2"* ]] || { echo "$stderr"; false; }
}

@test "files of other kinds are named, with what converts them" {
	cp "$ROOT"/tests/data/other/* .
	refused docs.parquet 'a Parquet file is not supported (duckdb -c "copy'
	refused docs.parquet "pyarrow.parquet as p; [print(json.dumps(r)) for b in p.ParquetFile('FILE').iter_batches() for r in b.to_pylist()]"
	refused file.arrow "an Arrow file is not supported (python3 -c"
	refused stream.arrow "a.ipc.open_stream('FILE')"
	refused sp.model 'a SentencePiece model'
	doc a one > a.jsonl
	tar -cf a.tar a.jsonl
	gzip -k a.tar
	refused a.tar 'tar archives are not supported (tar -xOf FILE | ...)'
	refused a.tar.gz 'tar archives are not supported (tar -xOf FILE | ...)'
	printf 'PK\003\004rest' > a.zip
	refused a.zip 'zip archives are not supported (unzip -p FILE | ...)'
	tok-train --vocab-size 258 -q -o tokenizer.json a.jsonl
	pack --tokenizer tokenizer.json a.jsonl > a.tok
	refused a.tok 'a shard of token ids'
	tr -d '\n' < tokenizer.json > one.json
	refused one.json 'this is a tokenizer.json'
	zstd -dcq "$ROOT/tests/data/tok/gpt2_vocab.json.zst" > vocab.json
	refused vocab.json 'this is a vocabulary (vocab.json)'
	printf '[{"text":"a"},\n{"text":"b"}]\n' > array.json
	refused array.json "a JSON array (jq -c '.[]' FILE | ...)"
	printf '{\n  "text": "a"\n}\n' > pretty.json
	refused pretty.json 'JSON over several lines (jq -c . FILE | ...)'
	printf '{"version":"2","data":[{"title":"a"}]}\n' > squad.json
	refused squad.json "(jq -c '.data[]' FILE | ...)"
	printf '"a"\n"b"\n' > strings.jsonl
	refused strings.jsonl "a JSON string (jq -c '{text: .}' FILE | ...)"
	printf 'Once upon a time\n' > plain.txt
	refused plain.txt "plain text is converted by jq: -Rc '{text: .}' FILE"
	printf 'id,text\n1,a\n' > a.csv
	refused a.csv 'a CSV file (duckdb -c'
	printf 'id\ttext\n1\ta\n' > a.tsv
	refused a.tsv 'a TSV file (duckdb -c'
	printf '<!DOCTYPE html>\n<html>\n' > a.html
	refused a.html 'HTML or XML'
	echo 'version https://git-lfs.github.com/spec/v1' > lfs.jsonl
	refused lfs.jsonl 'a pointer of Git LFS'
	# only the first line tells what the file is
	{ doc a one; echo 'Once upon a time'; } > a.jsonl
	refused a.jsonl 'a document is one line, {"text":"..."}'
	[[ $stderr != *jq* ]]
}

@test "the commands that messages give make documents" {
	command -v jq > /dev/null || skip "jq is not there"
	printf '[{"text":"a"},\n{"text":"b"}]\n' > array.json
	printf '{"text":"a"}\n{"text":"b"}\n' > want
	jq -c '.[]' array.json | dedup | cmp - want
	printf '{\n  "text": "a"\n}\n{"text":\n"b"}' > pretty.json
	jq -c . pretty.json | dedup | cmp - want
	printf '"a"\n"b"\n' > strings
	jq -c '{text: .}' strings | dedup | cmp - want
	printf 'a\nb\n' > plain
	jq -Rc '{text: .}' plain | dedup | cmp - want
	printf '{"text":"a\\nb\\n"}\n' > want
	jq -Rsc '{text: .}' plain | dedup | cmp - want
}

@test "a missing text key lists the keys that are there" {
	echo '{"id":1,"content":"a","meta":{"text":"b"}}' > a.jsonl
	refused a.jsonl 'byte 1: no key "text", found "id", "content", "meta"'
	[[ $stderr == *"(--text-key names another)" ]]
	echo '{}' > a.jsonl
	refused a.jsonl 'no key "text", found nothing'
	echo '{"k1":"","k2":"","k3":"","k4":"","k5":"","k6":"","k7":"","k8":"",
		"k9":""}' | tr -d '\n' > a.jsonl
	refused a.jsonl '"k7", "k8", ... ('
}

@test "a message is one line, whatever is in the name of a file" {
	name=$'a\nb\tc\e[31m\x7f'
	echo x > "$name"
	run --separate-stderr dedup "$name"
	[ "$status" -eq 2 ]
	[ "${#stderr_lines[@]}" -eq 1 ]
	[[ $stderr == 'dedup: a\nb\tc\x1b[31m\x7f:1: byte 1: '* ]]
	run --separate-stderr dedup --on-bad skip "$name"
	[[ $stderr == *'first: a\nb\tc\x1b[31m\x7f:1: '* ]]
	[ "${#stderr_lines[@]}" -eq 1 ]
	run --separate-stderr dedup "--no
such"
	[ "${#stderr_lines[@]}" -eq 2 ]
	[[ ${stderr_lines[0]} == 'dedup: unknown option --no\nsuch'* ]]
}

# A folder of dumps in three forms, and of what lies beside them
dumps() {
	mkdir -p dumps/sub
	doc a 'the first' > 'dumps/a b.jsonl'
	{ doc b 'the second'; doc c 'the third'; } | zstd -q > dumps/b.jsonl.zst
	doc d 'the first' | gzip > dumps/c.jsonl.gz
	: > dumps/empty.jsonl
	cat dumps/a* > all.jsonl
	zstd -dcq dumps/b* >> all.jsonl
	gzip -dc dumps/c* >> all.jsonl
}

@test "a folder is its files, sorted by name; what is no documents is skipped" {
	dumps
	dedup --exact dumps/* 2> err > want || :
	[ ! -s want ]
	grep -q 'no documents in this folder' err	# sub
	rmdir dumps/sub
	dedup --exact all.jsonl > want
	dedup --exact dumps | cmp - want
	dedup --exact dumps/ | cmp - want
	mkdir dumps/sub
	doc g 'the first' > dumps/by-content
	echo '# Dumps' > dumps/README.md
	printf '{\n "text": "a"\n}\n' > dumps/info.json
	echo '{' > dumps/.hidden.jsonl
	cp "$ROOT/tests/data/other/docs.parquet" dumps
	mkfifo dumps/fifo
	dedup --exact dumps 2> err | cmp - want
	[ "$(grep -c 'dedup: warning: dumps/.*: skipped, ' err)" = 5 ]
	for s in 'README.md: skipped, plain text' 'info.json: skipped, this is' \
		'docs.parquet: skipped, a Parquet file' 'sub: skipped, a folder' \
		'fifo: skipped, not a regular file'; do
		grep -qF "dumps/$s" err
	done
	# what cannot be read is not skipped
	zstd -dcq dumps/b.jsonl.zst | head -c 20 > dumps/e.jsonl
	run -2 dedup dumps
	[[ $output == *"dumps/e.jsonl:1: "* ]]
	: > dumps/e.jsonl.zst
	rm dumps/e.jsonl
	run -2 dedup dumps
	[[ $output == *"dumps/e.jsonl.zst: 0 bytes"* ]]
	echo 'not JSON' > dumps/e.jsonl.zst
	run -2 dedup dumps
	[[ $output == *"dumps/e.jsonl.zst:1: byte 1: not a JSON object"* ]]
	mkdir none
	run -2 dedup none
	[[ $output == "dedup: none: no documents in this folder" ]]
	rm dumps/e.jsonl.zst
	dedup --exact --against dumps -q all.jsonl > none.jsonl
	[ ! -s none.jsonl ]
	rm dumps/by-content
	tok-train --vocab-size 260 -q --stats stats -o tok.json dumps
	grep -q '"docs_in":4' stats
	pack --tokenizer tok.json -q --stats stats -o train dumps
	grep -q '"docs_in":4' stats
	doc x 'none of these words occur in any dump' > bench.jsonl
	contam13 --against bench.jsonl -q dumps | cmp - all.jsonl
}

@test "--files-from: a name a line, or names that end in NUL" {
	dumps
	rmdir dumps/sub
	name=$'dumps/new\nline.jsonl'
	doc e 'the fourth' > "$name"
	doc f 'the fifth' > f.jsonl
	cat f.jsonl all.jsonl "$name" > with.jsonl
	printf '%s\n' 'dumps/a b.jsonl' '' dumps/b.jsonl.zst > list
	dedup --exact --files-from list dumps/c.jsonl.gz > got
	{ gzip -dc dumps/c.jsonl.gz; zstd -dcq dumps/b.jsonl.zst; } | cmp - got
	dedup --files-from list > got
	dedup 'dumps/a b.jsonl' dumps/b.jsonl.zst | cmp - got
	dedup --files-from - < list | cmp - got
	sed 's/$/\r/' list | dedup --files-from - | cmp - got
	find dumps -type f -print0 | sort -z > list0
	pack() {
		command pack --tokenizer tok.json --shard-format jsonl "$@"
	}
	tok-train --vocab-size 260 -q -o tok.json f.jsonl
	pack f.jsonl > want
	pack dumps >> want
	pack --files-from list0 f.jsonl | cmp - want
	echo dumps > list	# a folder in a list
	pack --files-from list f.jsonl | cmp - want
	echo nowhere > list
	run -2 dedup --files-from list
	[[ $output == *"nowhere: No such file"* ]]
	: > list
	run -2 dedup --files-from list
	[[ $output == *"list: no file names"* ]]
	run -2 dedup --files-from - - < list0
	[[ $output == *stdin* ]]
	for p in dedup pack; do
		run -2 $p --files-from no-list
		[[ $output == *"no-list: No such file"* ]]
	done
}

@test "-o DIR/ writes one output for each input file, with its name" {
	dumps
	rmdir dumps/sub
	doc x 'none of these words occur in any dump' > bench.jsonl
	for c in "dedup --exact" "contam13 --against bench.jsonl -q"; do
		for j in 1 3; do
			rm -rf out
			$c -j $j -o out/new/ --report report dumps
			(cd dumps; ls) > want
			(cd out/new; ls) | cmp - want
			$c dumps > want
			{
				cat out/new/a*
				zstd -dcq out/new/b.jsonl.zst
				gzip -dc out/new/c.jsonl.gz
				cat out/new/empty.jsonl
			} | cmp - want
		done
	done
	dedup --exact -o out/ dumps
	[ -z "$(gzip -dc out/c.jsonl.gz)" ]	# its only document was dropped
	# bad lines go to the output of their file
	echo '{' >> 'dumps/a b.jsonl'
	dedup -q --exact --on-bad pass -o out/ dumps
	cmp 'out/a b.jsonl' 'dumps/a b.jsonl'
	zstd -dcq out/b.jsonl.zst | cmp - <(zstd -dcq dumps/b.jsonl.zst)
}

@test "-o DIR/ never writes over inputs, and all outputs appear or none" {
	dumps
	rmdir dumps/sub
	cp -a dumps before
	run -2 dedup -o dumps/ dumps
	[[ $output == *"dumps/a b.jsonl: is an input"* ]]
	ln -s dumps link
	run -2 dedup -o link/ dumps/b.jsonl.zst
	[[ $output == *"link/b.jsonl.zst: is an input"* ]]
	mkdir refs
	doc r reference > refs/c.jsonl.gz
	run -2 dedup --against refs/c.jsonl.gz -o refs/ dumps
	[[ $output == *"refs/c.jsonl.gz: is an input"* ]]
	run -2 dedup -o out/ dumps before/b.jsonl.zst
	[[ $output == *"dumps/b.jsonl.zst and before/b.jsonl.zst would both be"* ]]
	run -2 dedup -o out/ < all.jsonl
	[[ $output == *"<stdin> has no name"* ]]
	[ ! -e out ]
	diff -r before dumps
	dedup -o out/ dumps
	cp -a out old
	doc z 'one more' >> 'dumps/a b.jsonl'
	echo '{' >> dumps/empty.jsonl
	run -2 dedup -o out/ dumps
	diff -r old out		# no temporary files either
	run -2 dedup -o out2/ dumps
	[ ! -e out2 ]
	run -2 tok-train -o out/ dumps/a*
	[[ $output == *"out/: Is a directory"* ]]
	# other files of the folder stay; report and counts may be in it
	echo mine > out/notes
	dedup --exact -o out/ --report out/report --stats out/stats before
	[ "$(ls out | tr '\n' ' ')" = \
		"a b.jsonl b.jsonl.zst c.jsonl.gz empty.jsonl notes report stats " ]
	[ "$(cat out/notes)" = mine ]
	grep -q '"docs_in":4' out/stats
	[ "$(find . -name '.*' ! -name . | wc -l)" -eq 0 ]
}

@test "-o DIR/ of more files than a process may have open" {
	mkdir many
	for i in $(seq 100 399); do doc "$i" "text $i" > many/$i.jsonl; done
	(ulimit -n 100; dedup -j 2 --exact -o out/ many)
	diff -r many out
}
