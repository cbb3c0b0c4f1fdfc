#!/bin/sh
# near-in-stages: near duplicates of more than one machine holds, with a sort
# from outside; here the parts are two files and the sort is GNU's.
#
# usage: examples/near-in-stages/run.sh [OUT]     (OUT: build/near-in-stages)
# BIN is the folder of the programs (bin/), DOCS how many documents (400).
# Where GNU parallel is there it runs the parts; where pyspark is, Spark sorts
# and pipes as well (spark.py).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
bin=${BIN:-$root/bin}
bin=$(cd "$bin" && pwd)
out=${1:-$root/build/near-in-stages}
near="--near --ngram 5 --bands 14 --rows 8"
export LC_ALL=C
mkdir -p "$out"
cd "$out"
rm -f part.*

# A corpus in parts: books, and each fifth once more with a word put in.
zstd -dcq "$root/examples/corpus/books.jsonl.zst" |
	head -n "${DOCS:-400}" > books.jsonl
awk 'NR % 5 == 0' books.jsonl |
	sed 's/"id":"/&edited-/; s/"text":"/&Foreword. /' > edited.jsonl
cat books.jsonl edited.jsonl | split -l 100 - part.

# 1. Band records of each part, on any machine.
#    shellcheck disable=SC2086 # options are words
if command -v parallel > /dev/null; then
	parallel "$bin/dedup -q $near --emit bands {} > {}.bands" ::: part.??
else
	for p in part.??; do
		"$bin/dedup" -q $near --emit bands "$p" > "$p.bands"
	done
fi

# 2. One sort of all: equal keys come together, equal records once.
sort -u part.*.bands > bands

# 3. Pairs of documents that share a key.
"$bin/dedup" --emit pairs bands | sort -u > pairs

# 4. Each pair is verified on the documents; the first of a cluster is kept.
"$bin/dedup" -q $near --threshold 0.8 --apply pairs part.?? > kept.jsonl

# The same as one process over everything.
"$bin/dedup" -q $near --threshold 0.8 part.?? > once.jsonl
cmp kept.jsonl once.jsonl
if python3 -c 'import pyspark' 2> /dev/null; then
	python3 "$here/spark.py" "$bin/dedup" part.?? > spark.pairs
	cmp pairs spark.pairs
	echo "Spark: the same pairs"
fi
echo "$(cat part.?? | wc -l) documents, $(wc -l < bands) band records," \
	"$(wc -l < pairs) pairs, $(wc -l < kept.jsonl) kept"
