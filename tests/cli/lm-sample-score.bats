# lm-sample --score: log-likelihoods and verdicts against float64 results

bats_require_minimum_version 1.5.0

setup() {
	cd "$BATS_TEST_DIRNAME/../.." || return 1
	BIN=${BIN:-$PWD/bin}
	case $BIN in /*) ;; *) BIN=$PWD/$BIN ;; esac
	M=tests/data/models
	S=tests/data/score
	T=$BATS_TEST_TMPDIR
}

# folder TOKENIZER: llama-gqa with that tokenizer in $T/m
folder() {
	rm -rf "$T/m"
	mkdir "$T/m"
	cp $M/llama-gqa/*config.json $M/llama-gqa/model.safetensors "$T/m"
	cp "$1" "$T/m/tokenizer.json"
}

# equals GOLDEN OURS: tokens, log-probabilities within 1e-4, sums, greedy, picks
equals() {
	perl -MJSON::PP -e '
		local $/;
		sub slurp { open my $f, "<", $_[0] or die; <$f> }
		sub first_largest {
			my $best = 0;
			$_[$_] > $_[$best] and $best = $_ for 1 .. $#_;
			$best;
		}
		# what the golden log-probabilities pick, as they are and by byte
		sub pick {
			my ($w, $h, $i) = @_;
			my @p = @{$w->{logprobs}};
			my @b = map { my $x = $_; $x =~ s/^ (?=.)//s;
				utf8::encode($x); length $x } @{$w->{choices}};
			die "line $i: picks $h->{pick}, $h->{pick_norm}"
				unless $h->{pick} == first_largest(@p) &&
				$h->{pick_norm} == first_largest(
					map { $p[$_] / $b[$_] } 0 .. $#p) &&
				$h->{answer} == $w->{answer};
		}
		my @want = @{decode_json(slurp($ARGV[0]))};
		my @got = map { decode_json($_) } split /\n/, slurp($ARGV[1]);
		die "@{[scalar @got]} lines, not @{[scalar @want]}"
			unless @got == @want && @want > 0;
		for my $i (0 .. $#want) {
			my ($w, $h) = ($want[$i], $got[$i]);
			my $n = @{$w->{logprobs}};
			die "line $i: @{$h->{tokens}}, not @{$w->{tokens}}"
				if $w->{tokens} &&
				"@{$h->{tokens}}" ne "@{$w->{tokens}}";
			die "line $i: length" if @{$h->{logprobs}} != $n;
			for my $j (0 .. $n - 1) {
				my $d = $h->{logprobs}[$j] - $w->{logprobs}[$j];
				die "line $i, $j: off by $d"
					if abs($d) > 1e-4 * (1 + $n);
			}
			pick($w, $h, $i) if $w->{choices};
			next unless $w->{tokens};
			die "line $i: sum" if
				abs($h->{logprob} - $w->{logprob}) > 1e-3;
			die "line $i: greedy" if
				!$h->{greedy} != !$w->{greedy};
		}' "$1" "$2"
}

# lines GOLDEN: its input as JSON Lines
lines() {
	perl -MJSON::PP -0ne '
		for (@{decode_json($_)}) {
			delete @$_{qw(tokens logprobs logprob greedy alone)};
			print JSON::PP->new->utf8->canonical->encode($_), "\n";
		}' "$1"
}

@test "a continuation is scored as the end of the joint text, for each kind of tokenizer" {
	local k n=0 alone
	for k in prepend metaspace-first metaspace-always byte-level \
		byte-level-prefix; do
		folder $S/$k.json
		lines $S/$k.golden.json > "$T/lines"
		"$BIN/lm-sample" --model "$T/m" --score "$T/lines" --json \
			> "$T/out" 2> "$T/err"
		equals $S/$k.golden.json "$T/out"
		alone=$(grep -o '"alone": true' $S/$k.golden.json | grep -c .)
		[ "$alone" -gt 0 ]
		grep -q "warning: in $alone of $(grep -c . "$T/lines") lines a\
 token crosses" "$T/err"
		n=$((n + 1))
	done
	[ $n -eq 5 ]
}

@test "a comparison of scores that must fail does" {
	folder $S/prepend.json
	lines $S/prepend.golden.json | sed 's/"continuation":" /&x/' \
		> "$T/lines"
	"$BIN/lm-sample" --model "$T/m" --score "$T/lines" --json -q \
		> "$T/out"
	run equals $S/prepend.golden.json "$T/out"
	[ "$status" -ne 0 ]
}

@test "accuracy counts the picks that golden scores make" {
	folder $S/prepend.json
	# picks are 0 and 1, by byte 1 and 0: right, wrong; wrong, right
	lines $S/prepend.golden.json | grep '"choices"' > "$T/lines"
	[ "$(grep -c . "$T/lines")" -eq 2 ]
	sed -i '1s/"answer":[0-9]*/"answer":0/; 2s/"answer":[0-9]*/"answer":0/' \
		"$T/lines"
	"$BIN/lm-sample" --model "$T/m" --score "$T/lines" > "$T/out"
	[ "$(grep -c '^accuracy.* 0.5000 ' "$T/out")" -eq 2 ]
	sed -i '2s/"answer":[0-9]*/"answer":1/' "$T/lines"
	"$BIN/lm-sample" --model "$T/m" --score "$T/lines" > "$T/out"
	grep -q '^accuracy  .* 1.0000 ' "$T/out"
	grep -q '^accuracy, normalized .* 0.0000 ' "$T/out"
}

@test "a continuation after a context of token ids gets no space" {
	folder $S/metaspace-first.json
	"$BIN/lm-sample" --model "$T/m" --score - --json -q > "$T/out" <<-'END'
	{"context":"he said","continuation":" a"}
	{"context":[318,5],"continuation":" a"}
	{"context":[318,5],"continuation":"a"}
	END
	sed 's/.*"tokens":\(\[[0-9,]*\]\).*/\1/' "$T/out" > "$T/ids"
	[ "$(sed -n 1p "$T/ids")" = "$(sed -n 2p "$T/ids")" ]
	[ "$(sed -n 2p "$T/ids")" != "$(sed -n 3p "$T/ids")" ]
}

@test "a model with constant logits is guessing, wherever the answer is" {
	folder $M/llama-gqa/tokenizer.json
	# lm_head of 0: find its bytes from the header
	perl -MJSON::PP -e '
		open my $f, "+<:raw", $ARGV[0] or die; read $f, my $n, 8;
		read $f, my $h, unpack "Q<", $n;
		my $o = decode_json($h)->{"lm_head.weight"}{data_offsets};
		seek $f, 8 + length($h) + $o->[0], 0;
		print $f "\0" x ($o->[1] - $o->[0])' "$T/m/model.safetensors"
	for i in 0 0 0 1 2 0 0 0; do
		echo '{"context":"he said","choices":["a","b","c","d"],"answer":'$i'}'
	done > "$T/lines"
	"$BIN/lm-sample" --model "$T/m" --score "$T/lines" > "$T/out"
	[ "$(grep -c '^accuracy.* 0.2500 +- 0.0000 *guessing 0.2500 *z +0.00 *ties 8 ' \
		"$T/out")" -eq 2 ]
	# the true model on the same lines has no ties
	"$BIN/lm-sample" --model $M/llama-gqa --score "$T/lines" > "$T/out"
	[ "$(grep -c '^accuracy.* ties 0 ' "$T/out")" -eq 2 ]
}

@test "--parse-special: special tokens in texts, for each kind of tokenizer" {
	local k n=0
	for k in prepend metaspace-first metaspace-always byte-level \
		byte-level-prefix; do
		folder $S/$k.json
		lines $S/$k.special.json > "$T/lines"
		"$BIN/lm-sample" --model "$T/m" --score "$T/lines" --json \
			--parse-special > "$T/out" 2> "$T/err"
		equals $S/$k.special.json "$T/out"
		run ! grep -q "special token" "$T/err"
		"$BIN/lm-sample" --model "$T/m" --score "$T/lines" --json \
			> "$T/out" 2> "$T/err"
		run ! equals $S/$k.special.json "$T/out"
		grep -q "warning: 4 texts contain a special token's text, such\
 as '<|[be]os|>': it is tokenized as text (use --parse-special" "$T/err"
		n=$((n + 1))
	done
	[ $n -eq 5 ]
}

@test "--parse-special in prompts" {
	"$BIN/lm-sample" --model $M/llama-gqa --prompt 'he<|eos|>' --json \
		--max-tokens 3 --parse-special > "$T/a" 2> "$T/err"
	run ! grep -q warning "$T/err"
	h=$(printf '{"text":"he"}' | "$BIN/pack" -q --shard-format jsonl \
		--tokenizer $M/llama-gqa/tokenizer.json --no-eos \
		--bos-token '<|bos|>' | sed 's/.*\[\(.*\)\].*/\1/')
	echo "{\"prompt\":[$h,319]}" | "$BIN/lm-sample" --model $M/llama-gqa \
		--json --max-tokens 3 > "$T/b"
	[ "$(sed 's/.*"text"//' "$T/a")" = "$(sed 's/.*"text"//' "$T/b")" ]
	"$BIN/lm-sample" --model $M/llama-gqa --prompt 'he<|eos|>' --json \
		--max-tokens 3 2> "$T/err" > "$T/b"
	run ! cmp -s "$T/a" "$T/b"
	grep -q "warning: 1 texts contain a special token's text, such as\
 '<|eos|>'" "$T/err"
}

# many KIND: lines that keep the program busy for a while
many() {
	local i
	for ((i = 0; i < 3000; i++)); do
		case $1 in
		score) echo '{"context":"he said","continuation":" that"}' ;;
		*) echo '{"prompt":"he said"}' ;;
		esac
	done
}

@test "SIGUSR1 prints the lines done, their rate and the time left" {
	local kind pid what caught
	for kind in score prompts; do
		many $kind > "$T/many"
		what=scoring
		[ $kind = score ] || what=generating
		"$BIN/lm-sample" --model $M/llama-gqa --$kind "$T/many" \
			--max-tokens 8 --json > "$T/out" 2> "$T/err" 3>&- &
		pid=$!
		for _ in $(seq 100); do
			sleep 0.1
			caught=$(sed -n 's/^SigCgt:\t*//p' /proc/$pid/status)
			((0x$caught & 0x200)) || continue
			kill -USR1 $pid
			grep -q ' [1-9][0-9]* lines/s' "$T/err" && break
		done
		kill $pid
		grep -qE "^$what: [0-9]+ lines \([0-9]+ %\), [0-9]+ lines/s, \
[0-9]+:[0-9]{2}:[0-9]{2} left$" "$T/err"
	done
}

@test "progress on a terminal: lines done, rate, time left" {
	script -qefc true /dev/null < /dev/null > /dev/null 2>&1 ||
		skip "script (of util-linux) makes no terminal here"
	many score > "$T/many"
	timeout 4 script -qefc "exec '$BIN/lm-sample' --model $M/llama-gqa \
		--score $T/many --json > $T/out" "$T/seen" < /dev/null \
		> /dev/null || true
	tr '\r' '\n' < "$T/seen" | grep -qE \
		"scoring: [0-9]+ lines \([0-9]+ %\), [0-9]+ lines/s, .* left"
}

# lm-evaluation-harness (api/task.py, 0.4.13): acc_bytes divides by the bytes
# of the choice, without the delimiter, a space, before it.
@test "normalized by the bytes of a choice without the space before it" {
	cat > "$T/in" <<-'END'
	{"context":"It","choices":[" was"," a","  x"," café","at"," "],"answer":0}
	{"context":"It was","choices":[" a"," the cat"," of the"],"answer":1}
	END
	"$BIN/lm-sample" -q --model $M/llama-gqa --score "$T/in" --json \
		> "$T/out"
	perl -MJSON::PP -e '
		my @want = ([3, 1, 2, 5, 2, 1], [1, 7, 6]);
		while (<STDIN>) {
			my $h = decode_json($_);
			my @n = @{shift @want};
			die "@{$h->{bytes}}" if "@{$h->{bytes}}" ne "@n";
			my ($best) = sort { $h->{logprobs}[$b] / $n[$b] <=>
				$h->{logprobs}[$a] / $n[$a] } 0 .. $#n;
			die $best if $h->{pick_norm} != $best;
		}
		die if @want' < "$T/out"
}
