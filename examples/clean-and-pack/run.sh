#!/bin/sh
# clean-and-pack: documents -> dedup -> contam13 -> tokenizer -> shards, with a
# proof that no document was lost or changed between two stages.
#
# usage: examples/clean-and-pack/run.sh [OUT]     (OUT: build/clean-and-pack)
# BIN is the folder of the programs (bin/), DOCS the number of documents (all).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
bin=${BIN:-$root/bin}
out=${1:-$root/build/clean-and-pack}
corpus=$root/examples/corpus/books.jsonl.zst
bench=$root/examples/evaluate
mkdir -p "$out"
cd "$out"
rm -rf train

# Raw data: the books, a tenth of them again, and a document that loops.
zstd -dcq "$corpus" | head -n "${DOCS:-100000}" > books.jsonl
{
	cat books.jsonl
	awk 'NR % 10 == 0' books.jsonl | sed 's/"id":"/&again-/'
	printf '{"id":"loop","text":"%s"}\n' "$(yes 'buy now' | head -n 200 |
		tr '\n' ' ')"
} > raw.jsonl

# 1. Drop duplicates and loops. The report lists which documents and why.
"$bin/dedup" --stats 1.json --report dropped.jsonl raw.jsonl > 1.jsonl

# 2. Drop documents that contain a benchmark example.
"$bin/contam13" --against "$bench/lambada.jsonl" \
	--against "$bench/arc_easy.jsonl" --stats 2.json --report hits.jsonl \
	1.jsonl > 2.jsonl

# 3. Train a tokenizer and write shards.
"$bin/tok-train" -q --vocab-size 4096 -o tokenizer.json 2.jsonl
"$bin/pack" -q --tokenizer tokenizer.json --stats 3.json -o train/ 2.jsonl

# 4. Check that each stage read what the stage before it kept. The digest is a
#    sum over the texts, so a text that was lost, repeated or changed shows.
number() {
	sed "s/.*\"$1\":\"\{0,1\}\([^,}\"]*\).*/\1/" "$2"
}

for i in 1 2; do
	kept=$(number digest_kept $i.json)
	read=$(number digest_in $((i + 1)).json)
	if [ "$kept" != "$read" ]; then
		echo "stage $i kept $kept, stage $((i + 1)) read $read" >&2
		exit 1
	fi
done
for i in 1 2 3; do
	echo "stage $i: $(number docs_in $i.json) documents read," \
		"$(number docs_kept $i.json) kept, digest" \
		"$(number digest_kept $i.json)"
done
echo "dropped, by reason:"
sed 's/.*"reason":"\([a-z]*\)".*/\1/' dropped.jsonl | sort | uniq -c

# 5. Check the shards: what the model will see.
"$bin/contam13" --tokens --tokenizer tokenizer.json --check \
	--against "$bench/lambada.jsonl" train/*.tok > /dev/null ||
	echo "the shards share 13 tokens with LAMBADA"
"$bin/decode-batch" --tokenizer tokenizer.json --check train/
echo "shards: $out/train"
