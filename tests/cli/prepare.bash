# prepare.bash - the folder in which a program's sample command lines run
#
# Sourced by tests/cli/all.bats and tests/faults/run.  start_sample NAME reads
# tests/cli/samples/NAME (see its README) and fills the current folder.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
BIN=${BIN:-$ROOT/bin}
NASTY=$ROOT/tests/data/nasty
PATH=$BIN:$PATH

# 90 documents, 350 kB, under the two names that samples and manual pages use,
# and a small tokenizer learned from them.
common_files() {
	zstd -dcq "$ROOT"/tests/data/text/{digitalgov,sqlite_doc}.jsonl.zst \
		> docs.jsonl
	cp docs.jsonl corpus.jsonl
	tok-train --vocab-size 1000 -q -o tokenizer.json docs.jsonl
}

start_sample() {
	prepare() { common_files; }
	same() { diff -r "$1" "$2"; }
	TO_STDOUT='' TO_FILE='' FROM_STDIN='' ON_DOCS='' INTERRUPT=''
	DAMAGE='' FAULTS='' NO_OLD='' KILLED=''
	if [ ! -e "$ROOT/tests/cli/samples/$1" ]; then
		echo "write tests/cli/samples/$1 (see the README there)" >&2
		return 1
	fi
	# shellcheck disable=SC1090
	. "$ROOT/tests/cli/samples/$1"
	prepare
}
