# lm-train: bits_per_byte of evaluations
#
# A model whose logits are all 0 has the loss ln V at every token, so that
# bits_per_byte must be log2 V times the text tokens over the bytes.

bats_require_minimum_version 1.5.0

setup_file() {
	cd "$BATS_TEST_DIRNAME/../.." || return 1
	W=$BATS_FILE_TMPDIR
	export W
	cp -r tests/data/models/llama-gqa "$W/zero"
	chmod -R u+w "$W/zero"
	perl -MJSON::PP -e '
		open my $f, "+<:raw", $ARGV[0] or die; read $f, my $n, 8;
		read $f, my $h, unpack "Q<", $n;
		my $o = decode_json($h)->{"lm_head.weight"}{data_offsets};
		seek $f, 8 + length($h) + $o->[0], 0;
		print $f "\0" x ($o->[1] - $o->[0])' "$W/zero/model.safetensors"
}

setup() {
	cd "$BATS_TEST_DIRNAME/../.." || return 1
	BIN=${BIN:-$PWD/bin}
	case $BIN in /*) ;; *) BIN=$PWD/$BIN ;; esac
	S=tests/data/score
	T=$BATS_TEST_TMPDIR
}

# bits TOKENIZER PACK_OPTION...: set $bits to that of the documents in $T/docs
# as one window, and $tokens to the number of their text tokens.  With $MASK,
# targets cross documents.
bits() {
	local tok=$1 m=$T/m n
	shift
	rm -rf "$m" "$T/d" "$T/run"
	mkdir "$m"
	cp "$W"/zero/*config.json "$W/zero/model.safetensors" "$m"
	cp "$tok" "$m/tokenizer.json"
	"$BIN/pack" -q --tokenizer "$m/tokenizer.json" --bos-token '<|bos|>' \
		--eos-token '<|eos|>' --shard-format jsonl "$@" "$T/docs" |
		sed 's/.*"ids":\[\(.*\)\]}/\1/' | tr , '\n' > "$T/ids"
	n=$(grep -c . "$T/ids")
	tokens=$(grep -vcE '^31[89]$' "$T/ids")
	"$BIN/pack" -q --tokenizer "$m/tokenizer.json" --bos-token '<|bos|>' \
		--eos-token '<|eos|>' --seq-len $((n - 1)) "$@" \
		-o "$T/d" "$T/docs"
	"$BIN/lm-train" -q --init-from "$m" --data "$T/d" --val-data "$T/d" \
		--steps 1 --lr 1e-12 --batch-size 1 --dtype fp32 $MASK \
		--peak-tflops 1 -o "$T/run" 2> "$T/err"
	bits=$(sed -n 's/.*"bits_per_byte":\([0-9.]*\),.*/\1/p' \
		"$T/run/train.jsonl" | tail -1)
}

# near A B: equal to 5 digits
near() {
	awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > 0 && a / b < 1.00001 &&
		a / b > 0.99999) }'
}

# want TOKENS BYTES
want() {
	awk -v t="$1" -v b="$2" 'BEGIN { print log(331) / log(2) * t / b }'
}

@test "documents of one letter: the dummy space is not a byte, EOS is in neither sum" {
	local k
	for k in a b c d; do
		echo "{\"text\":\"$k\"}"
	done > "$T/docs"
	for k in prepend metaspace-first metaspace-always byte-level \
		byte-level-prefix; do
		bits $S/$k.json
		near "$bits" "$(want "$tokens" 4)"
	done
}

@test "words, spaces and other scripts: the bytes of the documents" {
	local k
	cat > "$T/docs" <<-'END'
	{"text":"日本 is a name"}
	{"text":"two\n\nlines and two  spaces"}
	{"text":"the end. "}
	END
	for k in prepend metaspace-first metaspace-always byte-level \
		byte-level-prefix; do
		bits $S/$k.json
		near "$bits" "$(want "$tokens" 51)"
	done
}

@test "targets that begin a document without BOS have no dummy space either" {
	local k first
	# the first token of the first document is never a target
	cat > "$T/docs" <<-'END'
	{"text":"日"}
	{"text":"a"}
	{"text":"the b"}
	END
	MASK=--no-doc-mask
	for k in prepend:0 metaspace-first:0 metaspace-always:0 byte-level:1 \
		byte-level-prefix:0; do
		first=${k#*:}
		bits $S/${k%:*}.json --no-bos --no-eos
		near "$bits" "$(want $((tokens - 1)) $((9 - first)))"
		bits $S/${k%:*}.json --no-bos
		near "$bits" "$(want $((tokens - 1)) $((9 - first)))"
	done
}

@test "without a tokenizer there are no bytes" {
	echo '{"text":"some text of a few tokens"}' > "$T/docs"
	bits $S/byte-level.json
	rm "$T/m/tokenizer.json"
	rm -rf "$T/run"
	"$BIN/lm-train" -q --init-from "$T/m" --data "$T/d" --val-data "$T/d" \
		--steps 1 --batch-size 1 --peak-tflops 1 -o "$T/run"
	grep -q '"bits_per_byte":null' "$T/run/train.jsonl"
}
