#!/bin/sh
# train: from 44 books to a model that writes English, on the CPU.
# This is what `make demo` runs. It takes 3 to 8 minutes on two cores.
#
# usage: examples/train/run.sh [OUT]          (OUT: build/demo)
# BIN is the folder of the programs (bin/); STEPS the number of steps
# (2400; with fewer the text gets worse, 20 are enough to see it work).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
bin=${BIN:-$root/bin}
out=${1:-$root/build/demo}
steps=${STEPS:-2400}
corpus=$root/examples/corpus/books.jsonl.zst

say() {
	printf '\n== %s\n' "$*"
}

rm -rf "$out"
mkdir -p "$out"

say "1. the corpus: documents, bytes, the first line"
zstd -dcq "$corpus" | wc -lc
zstd -dcq "$corpus" | head -n 1 | cut -c 1-300

say "2. tok-train: a vocabulary of 8192 tokens"
"$bin/tok-train" --vocab-size 8192 --split gpt2 -o "$out/tokenizer.json" \
	"$corpus"

say "3. pack: tokens in shards, with one document in fifty for validation"
"$bin/pack" -v --tokenizer "$out/tokenizer.json" --seq-len 256 \
	--val-frac 0.02 --val-out "$out/val" -o "$out/train" "$corpus"

say "4. decode-batch: check the shards, then print a window"
"$bin/decode-batch" --tokenizer "$out/tokenizer.json" --check "$out/train"
"$bin/decode-batch" --tokenizer "$out/tokenizer.json" --window 3 "$out/train"

say "5. lm-train: $steps steps"
"$bin/lm-train" --hidden-size 192 --layers 4 --heads 6 --kv-heads 2 \
	--intermediate-size 512 --tie-embeddings \
	--data "$out/train" --val-data "$out/val" \
	--tokenizer "$out/tokenizer.json" --seq-len 256 --batch-size 8 \
	--steps "$steps" --lr 4e-3 --warmup-steps $((steps / 20 + 1)) \
	--seed 1 --dtype bf16 --eval-every $((steps / 4 + 1)) -o "$out/run"

say "6. the loss, from the training log"
awk -f "$here/losses.awk" "$out/run/train.jsonl"

say "7. lm-sample: text from the model"
seed=0
for prompt in 'It was a' 'The old man looked at' '"I do not know,"' \
	'She opened the door and'; do
	seed=$((seed + 1))
	"$bin/lm-sample" --model "$out/run/latest" --prompt "$prompt" \
		--max-tokens 60 --temperature 0.7 --top-k 40 --seed $seed
	printf '\n\n'
done > "$out/samples.txt"
cat "$out/samples.txt"
zstd -dcq "$corpus" | awk -f "$here/words.awk" - "$out/samples.txt"

say "the files"
cat <<EOF
$out/tokenizer.json   the vocabulary
$out/train, val       shards; bin/decode-batch shows them
$out/run/train.jsonl  the training log, one JSON object per step
$out/run/latest       the model: a Hugging Face folder
$out/samples.txt      the samples above
EOF
