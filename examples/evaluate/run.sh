#!/bin/sh
# evaluate: score a checkpoint on slices of LAMBADA and ARC-Easy.
#
# usage: examples/evaluate/run.sh [MODEL]     (MODEL: build/demo/run/latest)
# MODEL is any Llama or Qwen3 folder. BIN is the folder of the programs
# (bin/), LINES the number of examples to take from each (300).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
bin=${BIN:-$root/bin}
model=${1:-$root/build/demo/run/latest}

if [ ! -d "$model" ]; then
	echo "$model: no model found: name one, or train one (make demo)" >&2
	exit 2
fi

for name in lambada arc_easy; do
	echo "== $name"
	head -n "${LINES:-300}" "$here/$name.jsonl" |
		"$bin/lm-sample" --model "$model" --score -
done
