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
