#!/usr/bin/env bats
# decode-batch: windows, documents and batches of every shard format, and
# the faults that --check names.

bats_require_minimum_version 1.5.0

setup_file() {
	ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	PATH=${BIN:-$ROOT/bin}:$PATH
	cd "$BATS_FILE_TMPDIR"
	zstd -dcq "$ROOT"/tests/data/text/{novels,digitalgov}.jsonl.zst \
		> docs.jsonl
	tok-train -q --vocab-size 1000 -o tokenizer.json docs.jsonl
	pack -q --tokenizer tokenizer.json --seq-len 64 -o train docs.jsonl
	pack -q --tokenizer tokenizer.json --shard-format jsonl docs.jsonl \
		> docs.ids
}

setup() {
	ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	PATH=${BIN:-$ROOT/bin}:$PATH
	cp -a "$BATS_FILE_TMPDIR/." "$BATS_TEST_TMPDIR"
	cd "$BATS_TEST_TMPDIR"
}

# ids of all documents, as one line each -> all windows of N, from pack's
# jsonl alone
windows_of() {
	sed 's/.*"ids":\[//; s/\].*//' docs.ids | tr ',' '\n' | grep . |
		awk -v T="$1" -v F="$2" -v C="$3" '
		{ v[NR - 1] = $0 }
		END { for (k = F; k < F + C && (k + 1) * T < NR; k++) {
			s = v[k * T]
			for (i = 1; i < T; i++) s = s " " v[k * T + i]
			print s } }'
}

# JSON lines of documents from "id<TAB>text"
docs() {
	while IFS=$'\t' read -r id text; do
		printf '{"id":"%s","text":"%s"}\n' "$id" "$text"
	done
}

many() {	# N sentences of a short document
	for i in $(seq "$1"); do
		printf 'd%d\tThe cat number %d sat on the mat.\n' "$i" "$i"
	done | docs
}

found() {	# --check of t/ finds this, and says status 1
	local status=0
	decode-batch --tokenizer tokenizer.json --seq-len 32 --check "${@:2}" \
		t > got || status=$?
	[ "$status" -eq 1 ] || { echo "status $status"; cat got; false; }
	grep -q "^$1	" got || { cat got; false; }
}

packed() {
	pack -q --tokenizer tokenizer.json --seq-len 32 -o t "$@"
}

@test "--ids: windows are those of the stream, from a folder, file and pipe" {
	windows_of 64 3 5 > want
	[ -s want ]
	decode-batch --window 3:5 --ids train > got
	cmp want got
	decode-batch --window 3:5 --ids train/00000.tok > got
	cmp want got
	cat train/00000.tok | decode-batch --window 3:5 --ids > got
	cmp want got
	decode-batch --window 3:5 --ids - < train/00000.tok > got
	cmp want got
	windows_of 100 0 2 > want
	decode-batch --seq-len 100 --window 0:2 --ids train > got
	cmp want got
}

@test "every format gives the same windows, without a tokenizer" {
	windows_of 128 2 4 > want
	for f in assay llmc nanogpt megatron datatrove npy; do
		pack -q --tokenizer tokenizer.json --shard-format $f \
			--shard-tokens 20000 -o $f docs.jsonl
		decode-batch --shard-format $f --seq-len 128 --window 2:4 \
			--ids $f/ > got
		cmp want got
		decode-batch --shard-format $f --tokenizer tokenizer.json \
			--seq-len 128 --check $f/
		# as a list of files, what only belongs to a shard among them
		decode-batch --shard-format $f --seq-len 128 --window 2:4 \
			--ids $f/* > got
		cmp want got
	done
	# a magic number tells the format
	for f in llmc megatron; do
		decode-batch --seq-len 128 --window 2:4 --ids $f > got
		cmp want got
	done
	for f in nanogpt datatrove npy; do
		run decode-batch --seq-len 128 --window 2:4 --ids $f
		[ "$status" -eq 2 ]
		[[ "$output" == *"name its format (nanogpt, datatrove or npy)"* ]]
	done
}

@test "ids of 4 bytes are not read as twice as many of 2" {
	seq 1 40 | while read -r i; do printf "\\x$(printf %02x "$i")\\0\\0\\0"
		done > four.bin
	for c in 'decode-batch --seq-len 4 --window 0' \
	    'tok-scan-rare --tokenizer tokenizer.json' \
	    'contam13 --tokens --tokenizer tokenizer.json --against docs.jsonl' \
	    'lm-train --preset 1M --steps 1 -o run --data'; do
		run -2 $c four.bin --shard-format nanogpt
		[[ "$output" == *"four.bin: every second id of 2 bytes is 0, as if ids had 4: state the bytes per id (4 or 2)"* ]]
	done
	run -0 decode-batch --shard-format nanogpt --id-bytes 4 --seq-len 4 \
		--window 1 --ids four.bin
	[ "$output" = "5 6 7 8" ]
	run -0 decode-batch --shard-format nanogpt --id-bytes 2 --seq-len 4 \
		--window 1 --ids four.bin
	[[ "$output" == "3 0 4 0"* ]]
	# zeros alone, and an odd number of ids, are no sign
	head -c 160 /dev/zero > zeros.bin
	(cat four.bin; printf '\1\0') > odd.bin
	for f in zeros odd; do
		decode-batch --shard-format nanogpt --seq-len 4 --window 0 \
			--ids $f.bin > /dev/null
	done
}

@test "a folder's shards are in the order of their numbers" {
	mkdir shards
	for i in 1 2 9 10 11; do
		printf "\\x$(printf %02x "$i")\\0" > shards/part_$i.bin
	done
	run -0 --separate-stderr decode-batch --shard-format nanogpt \
		--seq-len 4 --window 0 --json shards
	[[ "$output" == *'"ids":[1,2,9,10],"targets":[2,9,10,11]'* ]]
	[[ "$stderr" == *"shards: its shards are read in the order of their numbers, part_9.bin before part_10.bin, not in that of their bytes"* ]]
	rm shards/part_1?.bin
	run -0 --separate-stderr decode-batch --shard-format nanogpt \
		--seq-len 2 --window 0 --json shards
	[ -z "$stderr" ]
}

@test "a COUNT past the end stops at the last window" {
	n=$(decode-batch --window 0:100000 --ids train | wc -l)
	total=$(sed 's/.*"ids":\[//; s/\].*//' docs.ids | tr ',' '\n' |
		grep -c .)
	[ "$n" -eq $(((total - 1) / 64)) ]
	run decode-batch --window "$n" --ids train
	[ "$status" -eq 2 ]
	[[ "$output" == *"no window $n: there are $n"* ]]
}

@test "a stream too short for a window and its targets" {
	echo '{"text":"a"}' | pack --tokenizer tokenizer.json > short.tok
	run decode-batch --seq-len 3 short.tok
	[ "$status" -eq 2 ]
	[[ "$output" == *"need at least 4 tokens for a window of 3"*"have 3"* ]]
	[ "$(decode-batch --seq-len 2 --ids short.tok | wc -w)" -eq 2 ]
}

@test "--json: ids, targets shifted by one, mask, documents" {
	many 40 > in
	packed in
	decode-batch --window 0:3 --json t > got
	[ "$(wc -l < got)" -eq 3 ]
	python3 - < /dev/null 2> /dev/null || skip "python3 is not there"
	python3 - <<-'P'
	import json
	ids, docs = [], []
	stream, bounds = [], []
	for k, line in enumerate(open("got")):
	    w = json.loads(line)
	    assert list(w) == ["window", "ids", "targets", "mask", "docs"]
	    assert w["window"] == k and len(w["ids"]) == 32
	    assert w["ids"][1:] == w["targets"][:-1]
	    stream += w["ids"]
	    covered = 0
	    for d in w["docs"]:
	        assert list(d) == ["id", "start", "end"]
	        assert d["start"] == covered and d["end"] <= 32
	        covered = d["end"]
	        if d["end"] < 32:
	            assert w["mask"][d["end"] - 1] == 0
	    assert covered == 32
	    inner = [d["end"] - 1 for d in w["docs"] if d["end"] < 32]
	    for i in range(31):
	        assert w["mask"][i] == (i not in inner)
	    bounds += [d["id"] for d in w["docs"]]
	assert bounds[0] == "d1" and "d2" in bounds
	P
	decode-batch --window 0 --no-doc-mask --json t | grep -vq '"mask":.*0.*"docs'
}

@test "text: special tokens visible, bounds with the document's id" {
	many 3 > in
	packed in
	decode-batch --tokenizer tokenizer.json --window 0 t > got
	grep -q '^==== window 0: tokens 0 to 31, .* documents ====$' got
	grep -q '^==> d1 <== 0 to ' got
	grep -q '^<|bos|>The cat number 1 sat on the mat.<|eos|>$' got
	grep -q '^==> d2 <== ' got
}

@test "text: a special-token string in a document differs from the token" {
	docs <<< $'x\ta<|eos|>b' > in
	packed in
	decode-batch --tokenizer tokenizer.json --doc x t > got
	grep -qxF '<|bos|>a\<|eos|>b<|eos|>' got
}

@test "text: characters across tokens, cut ones as bytes, no control ones" {
	docs <<< $'x\t单发单发单发 \\u001b[31m ok' > in
	packed in
	decode-batch --tokenizer tokenizer.json --doc x t > got
	grep -qF '单发单发单发 <0x1B>[31m ok' got
	# windows of 5 tokens cut the three-byte characters
	decode-batch --tokenizer tokenizer.json --seq-len 5 --window 0 t > got
	grep -qF '<0xE5>' got
	decode-batch --tokenizer tokenizer.json --seq-len 9 --window 0 \
		--targets t > got
	grep -qF '<0xE5>' got
	iconv -f utf-8 -t utf-8 got > /dev/null
}

@test "text without a tokenizer shows ids" {
	many 3 > in
	packed in
	decode-batch --window 0 t > got
	grep -q '^==> d1 <== 0 to ' got
	grep -qE '^[0-9]+( [0-9]+)+$' got
}

@test "--targets: input and target side by side" {
	many 3 > in
	packed in
	decode-batch --tokenizer tokenizer.json --window 0 --targets t > got
	[ "$(head -n 1 got)" = \
	  $'window\tpos\tid\ttoken\ttarget\ttarget_token\tmask\tdoc' ]
	[ "$(wc -l < got)" -eq 33 ]
	# each target is the next line's input
	tail -n +2 got | awk -F'\t' '
		NR > 1 && ($3 != t || $4 != w) { exit 1 }
		{ t = $5; w = $6 }'
	# the last token of d1 must not predict the first of d2
	awk -F'\t' '$4 == "<|eos|>" && $6 == "<|bos|>" && $7 != 0 { exit 1 }' got
	grep -q '	<|eos|>	.*	<|bos|>	0	d1$' got
}

@test "--doc: whole, with the ids pack gave it; an unknown one is an error" {
	id=$(sed -n '5s/{"id":"\([^"]*\)".*/\1/p' docs.ids)
	decode-batch --doc "$id" --ids train > got
	sed -n '5s/.*"ids":\[\(.*\)\].*/\1/p' docs.ids | tr , ' ' > want
	cmp want got
	decode-batch --doc "$id" --json train | grep -q '"windows":\['
	run decode-batch --doc nobody --ids train
	[ "$status" -eq 2 ]
	[[ "$output" == *nobody* ]]
	# an id with a quote, a newline
	printf '{"id":"a\\"b\\nc","text":"hello"}\n' > in
	packed in
	decode-batch --doc $'a"b\nc' --ids t | grep -q .
	decode-batch --window 0 --seq-len 2 --json t |
		grep -qF '"id":"a\"b\nc"'
}

@test "--random: different windows, a function of the seed" {
	decode-batch --random 20 --seed 5 --json train > a
	decode-batch --random 20 --seed 5 --json train > b
	cmp a b
	decode-batch --random 20 --seed 6 --json train > c
	run -1 cmp -s a c
	[ "$(cut -d, -f1 a | sort -u | wc -l)" -eq 20 ]
}

@test "--run --step: the batch of that step, its ranks, its shards" {
	lm-train -q --preset 1M --data train --tokenizer tokenizer.json \
		--seq-len 32 --batch-size 4 --steps 1 --lr 1e-3 --seed 7 \
		--dtype fp32 -o run
	# a step that was not trained is shown on demand only
	run decode-batch --run run --step 5 --json
	[ "$status" -eq 2 ]
	[ "$output" = "decode-batch: run/train.jsonl: step 5 was not trained,\
 the last one is 0 (--ahead shows what a later step would see)" ]
	run decode-batch --run run --step 3G
	[ "$status" -eq 2 ]
	decode-batch --run run --step 0 --json > zero
	decode-batch --run run --step 0 --ahead --json | cmp zero -
	step() { decode-batch --run run --ahead --step "$@"; }
	step 5 --json > got
	[ "$(wc -l < got)" -eq 4 ]
	cut -d, -f1 got | cut -d: -f2 > order
	# the same windows by number
	while read -r k; do
		decode-batch --seq-len 32 --window "$k" --json train
	done < order > want
	cmp want got
	# two epochs: every window once in each
	n=$(decode-batch --seq-len 32 --window 0:100000 --ids train | wc -l)
	for s in $(seq 0 $((n / 4 - 1))); do
		step "$s" --json
	done | cut -d, -f1 | sort | uniq -d > twice
	[ ! -s twice ]
	step 5 | grep -q '^==> '
	step 5 --rank 0 --json > rank
	cmp rank got
	# elsewhere than at a step an option says more than the run
	[ "$(decode-batch --run run --seq-len 16 --ids | wc -w)" -eq 16 ]
	decode-batch --run run --random 3 --seed 1 --ids > one
	decode-batch --run run --random 3 --seed 2 --ids > two
	run cmp -s one two
	[ "$status" -eq 1 ]
	decode-batch --run run --no-doc-mask --json --window 0:9 |
		grep -o '"mask":[^]]*' > mask
	run grep -q 0 mask
	[ "$status" -eq 1 ]
	for o in '--seq-len 16' '--seed 3' '--batch-size 2' '--order random' \
	    --no-doc-mask; do
		run step 5 $o
		[ "$status" -eq 2 ]
		[[ "$output" == *"--step and ${o%% *} exclude each other"* ]]
	done
	sed -i 's/"world_size": *1/"world_size": 2/' run/config.json
	step 5 --rank 0 --json > r0
	step 5 --rank 1 --json > r1
	cat r0 r1 | cmp - got
	run step 5 --rank 2 --json
	[ "$status" -eq 2 ]
	# the shards were made again from other documents
	head -n 20 docs.jsonl > in
	pack -q --tokenizer tokenizer.json --seq-len 64 -o train in
	run step 5 --json
	[ "$status" -eq 2 ]
	[[ "$output" == *"not the shards that step 5 of run run was trained on"* ]]
}

@test "options of --check and of batches do nothing elsewhere: refused" {
	for o in '--max-rate 1' '--max-repeat 5' '--max-doc-frac 0.5' \
	    '--order sequential' '--batch-size 3' '--seed 4'; do
		run decode-batch --ids $o train
		[ "$status" -eq 2 ]
		[[ "$output" == *"${o% *} needs --"* ]]
	done
}

@test "stored windows: padding, pieces, their own length only" {
	many 30 > in
	for p in best-fit pad; do
		packed --policy $p in
		decode-batch --tokenizer tokenizer.json --window 0:100 t > got
		grep -q '^==> padding <== ' got
		decode-batch --tokenizer tokenizer.json --check t
		run decode-batch --seq-len 16 --window 0 --ids t
		[ "$status" -eq 2 ]
		[[ "$output" == *"its windows have 32 tokens, not 16" ]]
	done
	pack -q --tokenizer tokenizer.json --seq-len 64 --policy best-fit \
		-o t docs.jsonl
	decode-batch --tokenizer tokenizer.json --check t
}

@test "--check: nothing found is silence and status 0" {
	run decode-batch --tokenizer tokenizer.json --check train
	[ "$status" -eq 0 ]
	[ -z "$output" ]
	cat train/00000.tok |
		decode-batch --tokenizer tokenizer.json --check
}

@test "--check: a flipped bit is status 2, not a finding" {
	size=$(stat -c %s train/00000.tok)
	for at in 20 150 180 $((size / 2)) $((size - 200)) $((size - 40)); do
		mkdir -p t
		cp train/00000.tok t/00000.tok
		perl -e 'open F, "+<", $ARGV[0]; seek F, $ARGV[1], 0; read F, $c, 1;
			seek F, $ARGV[1], 0; print F chr(ord($c) ^ 4)' \
			t/00000.tok $at
		run decode-batch --tokenizer tokenizer.json --check t
		[ "$status" -eq 2 ]
		[[ "$output" == *"offset "*damaged* ]]
	done
}

@test "--check: the same report for every -j" {
	pack -q --tokenizer tokenizer.json --no-bos --no-eos --seq-len 64 \
		-o t docs.jsonl
	for j in 1 2 7; do
		decode-batch -j $j --tokenizer tokenizer.json --check \
			--max-repeat 1 t > got.$j || [ $? -eq 1 ]
		cmp got.1 got.$j
	done
	grep -q '^repeat' got.1
}

@test "--check finds: U+FFFD, mojibake" {
	{ many 30; docs <<< $'bad\tr\xef\xbf\xbdsum\xef\xbf\xbd'; } > in
	packed in
	found replaced
	grep -q 'bad token ' got
	decode-batch --tokenizer tokenizer.json --check --max-rate 0.5 t
	{ many 30; docs <<< $'bad\tCafÃ© dâ€™artiste'; } > in
	packed in
	found mojibake
	grep -q '	2	' got
	# what looks a little like it is none
	docs > in <<-'D'
	a	Il dit « café » à l’ami d’Éric, Ärger über “Übung”—ok
	b	NÃO, É “MANHÃ” Â Ê Î
	D
	many 30 >> in
	packed in
	decode-batch --tokenizer tokenizer.json --check t
}

@test "--check finds: ids out of range, another tokenizer" {
	many 100 > in
	tok-train -q --vocab-size 400 -o other.json docs.jsonl
	packed in
	run decode-batch --tokenizer other.json --check t
	[ "$status" -eq 1 ]
	[[ "$output" == *"tokenizer	"* ]]
	decode-batch --tokenizer other.json t > got 2> err
	grep -q 'warning: other.json: .* packed with another tokenizer' err
	decode-batch --tokenizer tokenizer.json t > got 2> err
	[ -s got ]
	[ ! -s err ]
	printf '\001\000\002\000\377\377\001\000' > raw.bin
	run decode-batch --tokenizer tokenizer.json --shard-format nanogpt \
		--seq-len 2 --check raw.bin
	[ "$status" -eq 1 ]
	[[ "$output" == *"ids	1	"*"id 65535"* ]]
	decode-batch --tokenizer tokenizer.json --shard-format nanogpt \
		--seq-len 3 --window 0 raw.bin | grep -qF '<id 65535>'
}

@test "--check finds: no bounds, joined documents, BOS and EOS missing" {
	printf '\001\000\002\000\003\000\001\000' > raw.bin
	run decode-batch --shard-format nanogpt --seq-len 2 --check raw.bin
	[ "$status" -eq 1 ]
	[[ "$output" == *"bounds	"* ]]
	# 60 short documents, and one that is many joined
	many 60 > in
	many 60 | sed 's/.*"text":"//; s/"}$//' | tr '\n' ' ' |
		sed 's/^/{"id":"joined","text":"/; s/$/"}\n/' >> in
	packed in
	found bounds
	grep -q 'joined token' got
	# long and short documents of every length are not a sign of it
	many 128 | sed 's/.*"text":"//; s/"}$//' | tr '\n' ' ' > long
	for i in $(seq 100); do
		head -c $((i % 50 ? 30 << (i % 5) : 4000)) long |
			sed "s/.*/{\"id\":\"d$i\",\"text\":\"&\"}\n/"
	done > in
	pack -q --tokenizer tokenizer.json --seq-len 256 -o t in
	decode-batch --tokenizer tokenizer.json --seq-len 256 --check t
	# no document at all has nothing wrong
	pack -q --tokenizer tokenizer.json -o t /dev/null
	decode-batch --tokenizer tokenizer.json --check t
	packed --no-bos --no-eos docs.jsonl
	found separators
	packed --no-bos docs.jsonl
	decode-batch --tokenizer tokenizer.json --seq-len 32 --check t
	# another trainer's files, the index the truth: EOS lost in one document
	pack -q --tokenizer tokenizer.json --shard-format nanogpt -o n docs.jsonl
	end=$(od -An -tu8 -j 16 -N 8 n/00000.bin.index)
	printf '\005\000' | dd of=n/00000.bin bs=2 seek=$((end - 1)) \
		conv=notrunc status=none
	run decode-batch --tokenizer tokenizer.json --shard-format nanogpt \
		--seq-len 32 --check n
	[ "$status" -eq 1 ]
	[[ "$output" == *"separators	1	"*"EOS"*"#2 token"* ]]
}

@test "--check finds: a repeated token, one document that fills a batch" {
	{ many 30; printf '{"id":"rep","text":"%s"}\n' \
		"$(printf ' the%.0s' $(seq 300))"; } > in
	packed in
	found repeat
	grep -q 'rep token' got
	decode-batch --tokenizer tokenizer.json --check --max-repeat 300 t
	{ many 5; sed 's/.*"text":"//; s/"}*$//' docs.jsonl | head -n 20 |
		tr -d '\n"\\' |
		sed 's/^/{"id":"giant","text":"/; s/$/"}\n/'; } > in
	packed in
	found batch
	grep -q 'giant' got
	found batch --order sequential
	decode-batch --tokenizer tokenizer.json --seq-len 32 --check \
		--batch-size 1000000 t
}

@test "damage is status 2, not a finding" {
	size=$(stat -c %s train/00000.tok)
	for at in 0 200 $((size / 2)) $((size - 1)); do
		cp train/00000.tok bad.tok
		b=$(od -An -tu1 -j $at -N 1 bad.tok)
		printf "\\x$(printf %02x $((b ^ 4)))" |
			dd of=bad.tok bs=1 seek=$at conv=notrunc status=none
		for c in "--tokenizer tokenizer.json --check" "--ids --window 0:9999"; do
			run decode-batch $c bad.tok
			[ "$status" -eq 2 ] || { echo "$at $c: $output"; false; }
			[[ "${lines[-1]}" == *bad.tok*offset* ]]
		done
	done
	for n in 0 1 127 128 1000 $((size - 1)); do
		head -c $n train/00000.tok > cut.tok
		run decode-batch --ids --window 0 cut.tok
		[ "$status" -eq 2 ]
		run bash -c 'decode-batch --ids --window 0 < cut.tok'
		[ "$status" -eq 2 ]
	done
	run bash -c 'decode-batch --ids --window 0 < /dev/null'
	[ "$status" -eq 2 ]
}

@test "usage: one question at a time" {
	for o in '--window 0 --doc x' '--random 3 --check' '--step 3' \
	    '--run x --rank 1' '--window x' '--window 1:0' '--window -1' \
	    '--ids --targets' '--id-bytes 3' '--shard-format nope'; do
		run decode-batch $o train
		[ "$status" -eq 2 ] || { echo "$o"; false; }
	done
	for what in train train/00000.tok; do
		run decode-batch --shard-format jsonl --ids $what
		[ "$status" -eq 2 ]
		[[ "$output" == *"'jsonl' is not one of auto, assay"* ]]
	done
	run decode-batch --run nowhere --step 1
	[ "$status" -eq 2 ]
	[[ "$output" == *config.json* ]]
}

@test "shard.5: its bytes are a shard, its Python reads ours" {
	sed -n '/^000  61/,/^160  /s/^[0-9a-f]* *//p' \
		"$ROOT/man/shard.5" | cut -c 1-48 | tr -d ' \n' > hex
	[ "$(wc -c < hex)" -eq 736 ]
	perl -e 'local $/; print pack("H*", <>)' hex > tiny.tok
	decode-batch --window 0 --json tiny.tok > got
	echo '{"window":0,"ids":[7,299,8,9],"targets":[299,8,9,299],"mask":[1,0,1,1],"docs":[{"id":"a","start":0,"end":2},{"id":"b2","start":2,"end":4}]}' |
		cmp - got
	decode-batch --check tiny.tok
	python3 - < /dev/null 2> /dev/null || skip "python3 is not there"
	sed -n '/^import struct/,/^.Ed/p' "$ROOT/man/shard.5" |
		grep -v '^.Ed' > reader.py
	[ "$(grep -c . reader.py)" -lt 30 ]
	sed 's/{"id":"//; s/","ids":\[/ /; s/\]}//; s/,/ /g' docs.ids > want
	cat train/*.tok | python3 reader.py > got
	cmp want got
	cat train/*.tok train/*.tok | python3 reader.py > got
	cat want want | cmp - got
	head -c 10000 train/00000.tok > cut
	run -1 python3 reader.py < cut
}

@test "a terminal gets columns, a pipe tabs" {
	script -qefc true /dev/null < /dev/null > /dev/null 2>&1 ||
		skip "no terminal is to be had, as in a chroot without /dev/pts"
	tok-train -q --vocab-size 300 -o other.json docs.jsonl
	run decode-batch --tokenizer other.json --check train/
	[ "$status" -eq 1 ]
	[[ ${lines[0]} == check$'\t'count$'\t'of$'\t'what$'\t'first ]]
	run script -qec 'decode-batch --tokenizer other.json --check train/' \
		/dev/null < /dev/null
	[ "$status" -eq 1 ]
	[[ ${lines[0]} == 'check            count  of '*' first'* ]]
	[[ $output != *$'\t'* ]]
}

@test "--ids goes with --json, --targets with neither" {
	T=$BATS_TEST_TMPDIR
	zstd -dcq "$BATS_TEST_DIRNAME/../data/text/udhr.jsonl.zst" > "$T/d"
	"$BIN/tok-train" -q --vocab-size 300 -o "$T/t.json" "$T/d"
	"$BIN/pack" -q --tokenizer "$T/t.json" --seq-len 32 "$T/d" > "$T/s.tok"
	decode() { "$BIN/decode-batch" --window 0 "$@" "$T/s.tok"; }
	decode --ids --json > "$T/both"
	decode --json > "$T/json"
	cmp "$T/both" "$T/json"
	for with in --ids --json; do
		run decode --targets $with
		[ "$status" -eq 2 ]
		[[ "$output" == *"exclude each other"* ]]
	done
}
