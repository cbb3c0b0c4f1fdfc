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
