#!/usr/bin/env bats
# The Unicode tables are what their generator makes.

bats_require_minimum_version 1.5.0

setup() {
	root=$BATS_TEST_DIRNAME/../..
	gen=$root/common/text/gen-unicode.py
	ucd=$root/tests/data/unicode
	command -v python3 > /dev/null || skip "python3 is not installed"
	command -v zstd > /dev/null || skip "zstd is not installed"
}

@test "unicode_tab.c is what gen-unicode.py makes" {
	python3 "$gen" "$ucd" | cmp - "$root/common/text/unicode_tab.c"
}

@test "gen-unicode.py refuses an input of another version" {
	cp "$ucd"/*.zst "$BATS_TEST_TMPDIR"
	zstd -dcq "$ucd/UnicodeData.txt.zst" | sed 1d \
		> "$BATS_TEST_TMPDIR/UnicodeData.txt"
	run -1 python3 "$gen" "$BATS_TEST_TMPDIR"
	[[ $output == *"UnicodeData.txt: not the file that the tables"* ]]
}
