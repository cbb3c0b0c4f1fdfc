#!/bin/sh
# first-pipe: documents -> tokenizer -> windows -> what a model would see.
# Only the tokenizer is written; the shard goes through the pipe.
#
# usage: examples/first-pipe/run.sh [OUT]     (OUT: build/first-pipe)
# BIN is the folder of the programs (bin/), DOCS the number of documents (200).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
bin=${BIN:-$root/bin}
out=${1:-$root/build/first-pipe}
corpus=$root/examples/corpus/books.jsonl.zst
mkdir -p "$out"

# A corpus is JSON Lines, one document per line. head closes the pipe when it
# has enough, and zstd then ends with SIGPIPE, as it should.
few() {
	zstd -dcq "$corpus" | head -n "${DOCS:-200}"
}

# 1. Train a tokenizer. Without -o the tokenizer goes to stdout.
few | "$bin/tok-train" --vocab-size 2048 > "$out/tokenizer.json"

# 2. Pack the documents into windows of 64 tokens and print the first two as
#    text. Special tokens and document boundaries are marked.
few | "$bin/pack" --tokenizer "$out/tokenizer.json" --seq-len 64 |
	"$bin/decode-batch" --tokenizer "$out/tokenizer.json" --window 0:2

# 3. Check the same stream. Without a finding nothing is printed and the status
#    is 0; with one the findings are printed and the status is 1.
few | "$bin/pack" --tokenizer "$out/tokenizer.json" --seq-len 64 |
	"$bin/decode-batch" --tokenizer "$out/tokenizer.json" --check
echo "checked: no fault found; the tokenizer is $out/tokenizer.json"
