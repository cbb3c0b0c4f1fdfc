#!/bin/sh
# near-in-stages: near duplicates in a corpus that is too large for one machine,
# with an external sort. Here the parts are a few files and the sort is GNU's.
#
# usage: examples/near-in-stages/run.sh [OUT]     (OUT: build/near-in-stages)
# BIN is the folder of the programs (bin/), DOCS the number of documents (400).
# GNU parallel runs the parts if it is installed. If pyspark is installed, Spark
# does the sorting and piping as well (spark.py).
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

# A corpus in parts: books, and every fifth one again with a word inserted.
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

# 2. One sort of all records: equal keys become adjacent, copies are dropped.
sort -u part.*.bands > bands

# 3. Candidate pairs: documents that share a key.
"$bin/dedup" --emit pairs bands | sort -u > pairs

# 4. Verify each pair on the documents and keep the first of each cluster.
"$bin/dedup" -q $near --threshold 0.8 --apply pairs part.?? > kept.jsonl

# One process over everything gives the same.
"$bin/dedup" -q $near --threshold 0.8 part.?? > once.jsonl
cmp kept.jsonl once.jsonl
if python3 -c 'import pyspark' 2> /dev/null; then
	python3 "$here/spark.py" "$bin/dedup" part.?? > spark.pairs
	cmp pairs spark.pairs
	echo "Spark: the same pairs"
fi
echo "$(cat part.?? | wc -l) documents, $(wc -l < bands) band records," \
	"$(wc -l < pairs) pairs, $(wc -l < kept.jsonl) kept"
