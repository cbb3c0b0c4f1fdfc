#!/bin/sh
# first-pipe: documents -> tokenizer -> windows -> what a model would see.
# Nothing is written but the tokenizer; the shard goes through the pipe.
#
# usage: examples/first-pipe/run.sh [OUT]     (OUT: build/first-pipe)
# BIN is the folder of the programs (bin/), DOCS how many documents (200).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
bin=${BIN:-$root/bin}
out=${1:-$root/build/first-pipe}
corpus=$root/examples/corpus/books.jsonl.zst
mkdir -p "$out"

# A corpus is JSON Lines, one document a line. head closes the pipe when it
# has enough, which ends zstd by SIGPIPE: that is how it should end.
few() {
	zstd -dcq "$corpus" | head -n "${DOCS:-200}"
}

# 1. Learn a vocabulary. Without -o the tokenizer goes to stdout.
few | "$bin/tok-train" --vocab-size 2048 > "$out/tokenizer.json"

# 2. Cut the documents into windows of 64 tokens and look at the first two
#    as text. Special tokens and the bounds of documents are marked.
few | "$bin/pack" --tokenizer "$out/tokenizer.json" --seq-len 64 |
	"$bin/decode-batch" --tokenizer "$out/tokenizer.json" --window 0:2

# 3. The same stream, checked: nothing is printed and the status is 0 when
#    all is well; status 1 and reasons when it is not.
few | "$bin/pack" --tokenizer "$out/tokenizer.json" --seq-len 64 |
	"$bin/decode-batch" --tokenizer "$out/tokenizer.json" --check
echo "checked: no fault found; the tokenizer is $out/tokenizer.json"
