#!/usr/bin/env bats
# decode-batch --check: where each finding is.

bats_require_minimum_version 1.5.0

setup_file() {
	ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	PATH=${BIN:-$ROOT/bin}:$PATH
	cd "$BATS_FILE_TMPDIR"
	zstd -dcq "$ROOT"/tests/data/text/{novels,digitalgov}.jsonl.zst \
		> docs.jsonl
	tok-train -q --vocab-size 1000 -o tokenizer.json docs.jsonl
	zstd -dcq "$ROOT/tests/data/tok/mistral7b_tokenizer.json.zst" > sp.json
	{
		for i in $(seq 30); do
			printf 'd%d\tThe cat number %d sat on the mat.\n' $i $i
		done
		printf 'bad\tÄ\\tr\xef\xbf\xbdsum\xef\xbf\xbd\n'
		printf 'moj\tCafÃ© in a long line dâ€™artiste, ÐœÐ¾.\n'
		printf 'rep\tStart%s end\n' "$(printf ' the%.0s' $(seq 300))"
	} > in.tsv
	sed 's/\(.*\)\t\(.*\)/{"id":"\1","text":"\2"}/' in.tsv > in.jsonl
}

setup() {
	ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	PATH=${BIN:-$ROOT/bin}:$PATH
	cp -a "$BATS_FILE_TMPDIR/." "$BATS_TEST_TMPDIR"
	cd "$BATS_TEST_TMPDIR"
}

# FILE OPTION...: its findings as JSON, in the file got
findings() {
	local status=0
	decode-batch --seq-len 32 --check --json "${@:2}" "$1" > all || status=$?
	[ "$status" -eq 1 ] || { echo "status $status"; false; }
	grep '"text":' all > got
}

# The JSON lines of got, as the columns: check doc byte text
places() {
	perl -ne 'my %o = /"(\w+)":(\d+|"(?:[^"\\]|\\.)*")/g;
		print join("\t", map { s/^"|"$//gr } @o{qw(check doc byte text)}),
			"\n"' got
}

@test "each has its document, byte and ten characters on either side" {
	cat > want <<-'E'
	replaced	bad	4	<|bos|>Ä\tr�sum�<|eos|
	replaced	bad	10	s|>Ä\tr�sum�<|eos|>
	mojibake	moj	3	<|bos|>CafÃ© in a lon
	mojibake	moj	24	ong line dâ€™artiste,
	mojibake	moj	41	™artiste, ÐœÐ¾.<|eos|
	mojibake	moj	45	rtiste, ÐœÐ¾.<|eos|>
	repeat	rep	5	bos|>Start the the the t
	E
	pack -q --tokenizer tokenizer.json --seq-len 32 -o t in.jsonl
	findings t --tokenizer tokenizer.json
	places > have
	diff want have
	# the same bytes with SentencePiece, whose first space is not one of them
	pack -q --tokenizer sp.json --bos-token '<s>' --eos-token '</s>' \
		--seq-len 32 -o s in.jsonl
	findings s --tokenizer sp.json
	places | cut -f 1-3 | diff <(cut -f 1-3 want) -
	# and in stored windows
	pack -q --tokenizer tokenizer.json --seq-len 64 --policy pad -o p \
		in.jsonl
	findings p --tokenizer tokenizer.json --seq-len 64
	places | grep -v ^repeat | diff <(grep -v ^repeat want) -
}

@test "its window and token are those that --window and --doc show" {
	for policy in concat best-fit; do
		pack -q --tokenizer tokenizer.json --seq-len 32 \
			--policy $policy -o t in.jsonl
		findings t --tokenizer tokenizer.json --max-repeat 20
		[ "$(grep -c '"window"' got)" = "$(wc -l < got)" ]
		grep -c . got > "$policy"
		while read -r line; do
			[[ $line =~ \"doc\":\"([a-z]*)\",\"window\":([0-9]*),\"token\":([0-9]*) ]]
			doc=${BASH_REMATCH[1]} window=${BASH_REMATCH[2]}
			token=${BASH_REMATCH[3]}
			decode-batch --window "$window" --json t > w
			grep -q "\"id\":\"$doc\"" w
			[ $policy = concat ] || continue
			id=$(decode-batch --doc "$doc" --ids t | cut -d ' ' -f \
				$((token + 1)))
			grep -qE "\"ids\":\[([0-9,]*,)?$id[],]" w
		done < got
	done
	[ "$(cat concat)" -gt 5 ]
}

@test "--max-findings: ten of each check, with --json all; the count is whole" {
	for i in $(seq 15); do
		printf '{"id":"r%d","text":"a \xef\xbf\xbd b Ã© c"}\n' $i
	done > in
	pack -q --tokenizer tokenizer.json --seq-len 32 -o t in
	rows() {	# KIND OPTION...
		decode-batch --tokenizer tokenizer.json --check "${@:2}" t > out ||
			[ $? -eq 1 ]
		grep -c "^$1	[0-9-]*	[0-9]*	[0-9]*	" out || true
	}
	[ "$(rows replaced)" = 10 ]
	[ "$(rows mojibake)" = 10 ]
	grep -q '^replaced	15	' out
	grep -q '^check	window	token	byte	text	doc$' out
	[ "$(rows replaced --max-findings 1)" = 1 ]
	[ "$(rows replaced --max-findings 1000)" = 15 ]
	[ "$(rows replaced --max-findings 0)" = 0 ]
	run ! grep -q '^check	window' out
	[ "$(wc -l < out)" = 3 ]
	findings t --tokenizer tokenizer.json
	[ "$(wc -l < got)" = 30 ]
	findings t --tokenizer tokenizer.json --max-findings 2
	[ "$(cut -d, -f 1,2 got | tr -d '{}"' | tr '\n' ';')" = "check:replaced,\
doc:r1;check:mojibake,doc:r1;check:replaced,doc:r2;check:mojibake,doc:r2;" ]
	run decode-batch --max-findings 1 t
	[ "$status" -eq 2 ]
}

@test "ids, BOS, EOS, joined documents and batches have places, too" {
	printf '\001\000\002\000\377\377\001\000\376\377' > raw.bin
	findings raw.bin --tokenizer tokenizer.json --shard-format nanogpt \
		--eot 999999 --seq-len 2
	[ "$(grep -c '"check":"ids"' got)" = 2 ]
	grep -q '"check":"ids".*"window":1,"token":2.*<id 65535>' got
	# EOS lost, and "&" in its place, in the third document
	pack -q --tokenizer tokenizer.json --shard-format nanogpt -o n in.jsonl
	end=$(od -An -tu8 -j 16 -N 8 n/00000.bin.index)
	printf '\005\000' | dd of=n/00000.bin bs=2 seek=$((end - 1)) \
		conv=notrunc status=none
	findings n --tokenizer tokenizer.json --shard-format nanogpt
	grep '"check":"separators"' got > one
	[ "$(wc -l < one)" = 1 ]
	grep -qF ':#2","window":1,"token":17,"byte":33,"text":" the mat.&"' one
	pack -q --tokenizer tokenizer.json --seq-len 32 -o t in.jsonl
	findings t --max-repeat 50
	grep -qE '"check":"repeat","doc":"rep","window":[0-9]+,"token":[0-9]+,"text":"[0-9]+( [0-9]+){8}"}$' got
	findings t --order sequential --batch-size 3
	# the windows of a step, and the document that fills them
	grep -oE '"check":"batch","doc":"rep","step":[0-9]+,"window":[0-9]+' got |
		sed 's/[^0-9]*\([0-9]*\)[^0-9]*/\1 /' > steps
	[ -s steps ]
	awk '$2 != 3 * $1 { exit 1 }' steps
	{
		for i in $(seq 60); do
			printf '{"id":"d%d","text":"The cat sat on it."}\n' $i
		done
		printf '{"id":"joined","text":"%s"}\n' \
			"$(printf 'A cat sat on a mat. %.0s' $(seq 60))"
	} > in
	pack -q --tokenizer tokenizer.json --seq-len 32 -o j in
	findings j --tokenizer tokenizer.json
	sed -n 's/.*"bounds","doc":"joined","window":\([0-9]*\),.*/\1/p' got \
		> windows
	[ "$(wc -l < windows)" = "$(grep -o '"bounds","count":[0-9]*' all |
		grep -o '[0-9]*$')" ]
	while read -r k; do
		decode-batch --window "$k" --json j | grep -o '"docs":.*' > docs
		[ "$(grep -o '"id"' docs | wc -l)" = 1 ]
		grep -q '"id":"joined"' docs
	done < windows
}

@test "the same bytes for every -j, over several units of a pass" {
	for i in $(seq 12); do
		sed "s/\"id\":\"/&$i-/" docs.jsonl
		sed "s/\"id\":\"/&$i-/" in.jsonl
	done > many
	pack -q --tokenizer tokenizer.json --seq-len 64 -o t many
	for j in 1 2 7; do
		decode-batch -j $j --tokenizer tokenizer.json --check --json \
			--max-rate 0 t > got.$j || [ $? -eq 1 ]
		decode-batch -j $j --tokenizer tokenizer.json --check \
			--max-rate 0 t > table.$j || [ $? -eq 1 ]
		cmp got.1 got.$j
		cmp table.1 table.$j
	done
	for check in replaced mojibake repeat; do
		n=$(sed -n "s/^{\"check\":\"$check\",\"count\":\([0-9]*\),.*/\1/p" got.1)
		[ "$n" -ge 12 ]
		[ "$(grep -c "\"check\":\"$check\",.*\"text\":" got.1)" = "$n" ]
	done
}

@test "on a terminal the places are in columns" {
	script -qefc true /dev/null < /dev/null > /dev/null 2>&1 ||
		skip "no terminal is to be had, as in a chroot without /dev/pts"
	pack -q --tokenizer tokenizer.json --seq-len 32 -o t in.jsonl
	run script -qec 'decode-batch --tokenizer tokenizer.json --check t' \
		/dev/null < /dev/null
	[ "$status" -eq 1 ]
	[[ $output == *$'\r\ncheck           window       token        byte  text'*' doc'* ]]
	[[ $output != *$'\t'* ]]
	[[ $output == *' s|>Ä\tr�sum�<|eos|>  '*'  bad'* ]]
}

@test "few documents with findings, and more than are remembered" {
	for n in 1 3 16 17 18 40; do
		# every third one, then those between
		ids=$( (seq 2 3 60; seq 3 3 60; seq 1 3 60) | head -n $n)
		rm -rf many
		: > many.jsonl
		: > want
		for i in $(seq 60); do
			text="fine $i"
			if grep -qx "$i" <<< "$ids"; then
				text=$(printf '%0*d\xef\xbf\xbd' "$i" 0)
				printf '%d\t%d\n' "$i" "$i" >> want
			fi
			echo "{\"id\":\"$i\",\"text\":\"$text\"}" >> many.jsonl
		done
		pack -q --tokenizer tokenizer.json --seq-len 32 -o many \
			many.jsonl
		for j in 1 3; do
			findings many --tokenizer tokenizer.json -j $j \
				--max-findings 100 --max-repeat 1000
			places | grep ^replaced | cut -f 2,3 > have
			diff want have
		done
		findings many --tokenizer tokenizer.json --max-findings 2 \
			--max-repeat 1000
		places | grep ^replaced | cut -f 2,3 > have
		head -n 2 want | diff - have
	done
}
