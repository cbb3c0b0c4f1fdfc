# lm-sample: generated text and scores against results of transformers

bats_require_minimum_version 1.5.0

setup() {
	cd "$BATS_TEST_DIRNAME/../.." || return 1
	BIN=${BIN:-$PWD/bin}
	case $BIN in /*) ;; *) BIN=$PWD/$BIN ;; esac
	M=tests/data/models
	T=$BATS_TEST_TMPDIR
}

# golden KEY MODEL: the inputs of that part of golden.json as JSON Lines
golden() {
	perl -MJSON::PP -0ne '
		my $key = "'"$1"'";
		for (@{decode_json($_)->{$key}}) {
			delete @$_{qw(tokens logprobs logprob greedy
				prompt_ids)};
			print JSON::PP->new->utf8->canonical->encode($_), "\n";
		}' "$M/$2/golden.json"
}

# agrees KEY MODEL OURS: the tokens of the golden file (ours may be longer),
# log-probabilities within 1e-4
agrees() {
	perl -MJSON::PP -e '
		my ($key, $golden, $ours) = @ARGV;
		local $/; open my $g, "<", $golden or die; open my $o, "<",
			$ours or die;
		my @want = @{decode_json(<$g>)->{$key}};
		my @got = map { decode_json($_) } split /\n/, <$o>;
		die "@{[scalar @got]} lines, not @{[scalar @want]}"
			unless @got == @want && @want > 0;
		for my $i (0 .. $#want) {
			my ($w, $h) = ($want[$i], $got[$i]);
			my $n = @{$w->{tokens}};
			$#{$h->{tokens}} = $n - 1 if @{$h->{tokens}} > $n;
			die "line $i: tokens @{$h->{tokens}}, not " .
				"@{$w->{tokens}}"
				unless "@{$h->{tokens}}" eq "@{$w->{tokens}}";
			for my $j (0 .. $n - 1) {
				my $d = $h->{logprobs}[$j] - $w->{logprobs}[$j];
				die "line $i token $j: off by $d"
					if abs($d) > 1e-4;
			}
			next unless defined $w->{logprob};
			die "line $i: sum" if
				abs($h->{logprob} - $w->{logprob}) > 1e-3;
			die "line $i: greedy" if
				!$h->{greedy} != !$w->{greedy};
		}' "$1" "$M/$2/golden.json" "$3"
}

@test "greedy text equals transformers' generate" {
	for m in llama-tied llama-gqa qwen3 llama-bf16-sharded; do
		golden greedy $m > "$T/prompts"
		"$BIN/lm-sample" --model $M/$m --dtype fp32 --max-tokens 24 \
			--prompts "$T/prompts" --json > "$T/out"
		agrees greedy $m "$T/out"
	done
}

@test "a comparison that must fail does" {
	golden greedy llama-gqa | sed 's/"prompt":"/&z/' > "$T/prompts"
	"$BIN/lm-sample" --model $M/llama-gqa --no-bos -q --dtype fp32 \
		--max-tokens 24 --prompts - --json < "$T/prompts" \
		> "$T/out"
	run agrees greedy llama-gqa "$T/out"
	[ "$status" -ne 0 ]
}

@test "scores equal a float64 computation" {
	for m in llama-tied llama-gqa qwen3 llama-bf16-sharded; do
		golden score $m > "$T/lines"
		"$BIN/lm-sample" --model $M/$m --dtype fp32 \
			--score "$T/lines" --json -q > "$T/out"
		agrees score $m "$T/out"
	done
}

@test "batches, one prompt at a time and threads give the same bytes" {
	golden greedy qwen3 > "$T/prompts"
	"$BIN/lm-sample" --model $M/qwen3 --prompts "$T/prompts" --json \
		--temperature 1 --seed 3 --dtype fp32 > "$T/a"
	for j in 1 2 7; do
		"$BIN/lm-sample" --model $M/qwen3 --prompts "$T/prompts" \
			--json --temperature 1 --seed 3 --dtype fp32 -j $j \
			> "$T/b"
		cmp "$T/a" "$T/b"
	done
	"$BIN/lm-sample" --model $M/qwen3 --prompts "$T/prompts" --json \
		--temperature 1 --seed 4 --dtype fp32 > "$T/b"
	if cmp -s "$T/a" "$T/b"; then false; fi
}

@test "--prompt prints the prompt and its continuation" {
	out=$("$BIN/lm-sample" --model $M/llama-gqa --prompt 'he said' \
		--max-tokens 5)
	[ "${out#he said}" != "$out" ]
	[ "$(printf '%s' "$out" | iconv -f utf-8 -t utf-8 | wc -c)" -gt 7 ]
}

@test "--prompt is repeatable: the answers are those of --prompts, in order" {
	local opts=(--model $M/llama-gqa --max-tokens 9 --temperature 1)
	printf '{"prompt":"%s"}\n' 'he said' 'It was' 'he said' > "$T/p"
	set -- --prompt 'he said' --prompt 'It was' --prompt='he said'
	"$BIN/lm-sample" "${opts[@]}" --prompts "$T/p" > "$T/a"
	"$BIN/lm-sample" "${opts[@]}" "$@" > "$T/b"
	cmp "$T/a" "$T/b"
	"$BIN/lm-sample" "${opts[@]}" --prompts "$T/p" --json > "$T/a"
	"$BIN/lm-sample" "${opts[@]}" "$@" --json > "$T/b"
	cmp "$T/a" "$T/b"
	# each prompt has draws of its own
	[ "$(sed -n 's/.*"text"//p' "$T/b" | sort -u | grep -c .)" -eq 3 ]
}

@test "--stop ends generation before its text" {
	"$BIN/lm-sample" --model $M/llama-gqa --prompt 'he said' \
		--max-tokens 12 --json > "$T/all"
	word=$(perl -MJSON::PP -ne 'print substr(decode_json($_)->{text},
		2, 2)' "$T/all" | iconv -f latin1 -t utf-8)
	[ -n "$word" ]
	"$BIN/lm-sample" --model $M/llama-gqa --prompt 'he said' \
		--max-tokens 12 --json --stop "$word" > "$T/cut"
	grep -q '"end":"stop"' "$T/cut"
	perl -MJSON::PP -e '
		open my $a, "<", $ARGV[0]; open my $b, "<", $ARGV[1];
		my ($x, $y) = (decode_json(<$a>), decode_json(<$b>));
		my $at = index($x->{text}, $ARGV[2]);
		exit !(length($y->{text}) <= 2 &&
			index($x->{text}, $y->{text}) == 0 &&
			@{$y->{tokens}} < @{$x->{tokens}})' \
		"$T/all" "$T/cut" "$word"
}

@test "--no-bos is warned about" {
	run "$BIN/lm-sample" --model $M/llama-gqa --no-bos --prompt 'he' \
		--max-tokens 1
	[ "$status" -eq 0 ]
	[[ $output == *"without BOS"* ]]
}

@test "a context that ends with a space, and a seam inside a token, are warned about" {
	echo '{"context":"he said ","continuation":"that"}' |
		"$BIN/lm-sample" --model $M/llama-gqa --score - --json \
		> "$T/out" 2> "$T/err"
	grep -q "1 of 1 texts end with a space" "$T/err"
	echo '{"context":"th","continuation":"e"}' |
		"$BIN/lm-sample" --model $M/llama-gqa --score - --json \
		> "$T/out" 2> "$T/err"
	grep -q "in 1 of 1 lines a token crosses from context to" "$T/err"
}

@test "choices: accuracy raw and normalized, and whether it is guessing" {
	for i in 1 2 3 4; do
		echo '{"id":'$i',"context":"he said","choices":[" that"," xyz"],"answer":0}'
	done > "$T/lines"
	"$BIN/lm-sample" --model $M/llama-gqa --score "$T/lines" > "$T/out"
	grep -q '^lines with choices *4$' "$T/out"
	# one likely token against four: lm-sample-score.bats has float64 scores
	grep -q '^accuracy  .* 1.0000 ' "$T/out"
	grep -q '^accuracy, normalized .* 1.0000 ' "$T/out"
	"$BIN/lm-sample" --model $M/llama-gqa --score "$T/lines" --json -q \
		> "$T/out"
	[ "$(grep -c '"pick":0,"pick_norm":0,"answer":0' "$T/out")" -eq 4 ]
	grep -q '"id":3' "$T/out"
}

@test "token ids are read instead of texts" {
	echo '{"context":[318,75],"continuation":[64,65]}' |
		"$BIN/lm-sample" --model $M/llama-gqa --score - --json -q \
		> "$T/out"
	grep -q '"tokens":\[64,65\]' "$T/out"
	echo '{"context":[318,7500],"continuation":[64]}' > "$T/lines"
	run "$BIN/lm-sample" --model $M/llama-gqa --score "$T/lines"
	[ "$status" -eq 2 ]
	[[ $output == *"$T/lines:1:"*7500* ]]
}

@test "no prompts and no lines to score are a warning" {
	echo > "$T/none"
	for o in --prompts --score; do
		run --separate-stderr "$BIN/lm-sample" --model $M/llama-gqa \
			--json $o "$T/none"
		[ "$status" -eq 0 ]
		[ -z "$output" ]
		[[ $stderr == *"warning: $T/none: no lines to read"* ]]
	done
}

@test "without a tokenizer token ids work, and text is refused" {
	cp -r $M/llama-gqa "$T/m"
	rm -f "$T/m/tokenizer.json"
	echo '{"context":[318,75],"continuation":[64,65]}' > "$T/s"
	"$BIN/lm-sample" --model "$T/m" --score "$T/s" --json -q > "$T/a"
	"$BIN/lm-sample" --model $M/llama-gqa --score "$T/s" --json -q > "$T/b"
	cmp "$T/a" "$T/b"
	echo '{"prompt":[318,75]}' > "$T/p"
	"$BIN/lm-sample" --model "$T/m" --prompts "$T/p" --json > "$T/a"
	"$BIN/lm-sample" --model $M/llama-gqa --prompts "$T/p" --json |
		sed 's/"text":".*","tokens"/"text":null,"tokens"/' > "$T/b"
	cmp "$T/a" "$T/b"
	no() {
		run "$BIN/lm-sample" --model "$T/m" "$@"
		[ "$status" -eq 2 ]
	}
	no --prompts "$T/p"
	[[ $output == *"no tokenizer.json, and text needs a tokenizer"* ]]
	no --prompts "$T/p" --json --stop a
	[[ $output == *"stop strings need a tokenizer"* ]]
	no --prompt 'he said'
	[[ $output == *"this is text, but the model folder has no tokenizer.json"* ]]
	echo '{"context":[318],"continuation":"a"}' > "$T/s"
	no --score "$T/s"
	[[ $output == *"$T/s:1: this is text"* ]]
	echo '{"context":[318],"choices":[[64],[65]],"answer":0}' > "$T/s"
	no --score "$T/s"
	[[ $output == *"$T/s:1: choices need a tokenizer"* ]]
	no --tokenizer "$T/nowhere.json" --score "$T/s"
	[[ $output == *nowhere.json* ]]
}

@test "--dtype auto follows the weights, not config.json" {
	golden greedy llama-bf16-sharded > "$T/p"
	for m in llama-bf16-sharded:bf16:fp32:float32 \
		llama-gqa:fp32:bf16:bfloat16 llama-gqa:fp32:bf16:float16; do
		IFS=: read -r name is other called <<< "$m"
		rm -rf "$T/m"
		cp -r "$M/$name" "$T/m"
		chmod -R u+w "$T/m"
		sed -i -E 's/"(torch_)?dtype": "[a-z0-9]*"/"dtype": "'$called'"/' \
			"$T/m/config.json"
		grep -q "\"dtype\": \"$called\"" "$T/m/config.json"
		for d in auto bf16 fp32; do
			"$BIN/lm-sample" --model "$T/m" --prompts "$T/p" \
				--json --dtype $d -q > "$T/$d"
		done
		cmp "$T/auto" "$T/$is"
		run ! cmp -s "$T/auto" "$T/$other"
	done
}

@test "ahead scores a token at each position of greedy text" {
	local m=tests/data/models/llama-gqa c=1,5,9,33 g k
	echo "{\"prompt\":[$c]}" | "$BIN/lm-sample" -q --model $m \
		--prompts - --max-tokens 3 --json > "$T/out"
	g=$(sed 's/.*"tokens":\[\([0-9,]*\)\].*/\1/' "$T/out")
	echo "{\"context\":[$c],\"continuation\":[40],\"ahead\":4}" |
		"$BIN/lm-sample" -q --model $m --score - --json |
		sed 's/.*"ahead":\[\(.*\)\]}/\1/' | tr , '\n' > "$T/got"
	[ "$(grep -c . "$T/got")" -eq 4 ]
	# the same contexts in full: equal within rounding only
	for k in 0 1 2 3; do
		[ $k -eq 0 ] || c=$c,$(echo "$g" | cut -d , -f $k)
		echo "{\"context\":[$c],\"continuation\":[40]}"
	done | "$BIN/lm-sample" -q --model $m --score - --json |
		sed 's/.*"logprob":\([^,]*\).*/\1/' > "$T/want"
	paste "$T/got" "$T/want" |
		awk '{ d = $1 - $2; exit !(d * d < 1e-9 && $1 < 0) }'
	[ "$(sort -u "$T/got" | grep -c .)" -eq 4 ]
	for bad in '"continuation":[1,2],"ahead":3' \
		'"continuation":[1],"ahead":0' '"continuation":[1],"ahead":65' \
		'"continuation":[1],"ahead":"3"' \
		'"choices":["a","b"],"answer":0,"ahead":3'; do
		run --separate-stderr "$BIN/lm-sample" -q --model $m --score - \
			--json <<< "{\"context\":\"a\",$bad}"
		[ "$status" -eq 2 ]
		[[ $stderr =~ "<stdin>:1: ahead" ]]
	done
}

@test "lines that are not prompts are reported with their number" {
	while IFS='	' read -r line what; do
		printf '\n%s\n' "$line" > "$T/p"
		run "$BIN/lm-sample" --model $M/llama-gqa --prompts "$T/p"
		[ "$status" -eq 2 ]
		[[ $output == *"$T/p:2: "*"$what"* ]]
	done <<-'END'
	{"text":"a"}	prompt is missing
	{"prompt":5}	neither a string nor token ids
	["a"]	not an object
	{"prompt":	byte
	{"prompt":[1.5]}	not a token id
	{"prompt":[5,99999]}	id 99999
	END
	while IFS='	' read -r line what; do
		printf '\n%s\n' "$line" > "$T/p"
		run "$BIN/lm-sample" --model $M/llama-gqa --score "$T/p"
		[ "$status" -eq 2 ]
		[[ $output == *"$T/p:2: "*"$what"* ]]
	done <<-'END'
	{"context":"a"}	continuation is missing
	{"context":"a","continuation":""}	continuation is empty
	{"context":"a","choices":["b"],"answer":0}	two or more
	{"context":"a","choices":["b","c"],"answer":2}	index of a choice
	{"context":"a","choices":["b","c"],"continuation":"b"}	one of them
	END
}

@test "NaN weights are reported by tensor name, by lm-train too" {
	cp -r $M/llama-gqa "$T/m"
	chmod -R u+w "$T/m"
	w=$T/m/model.safetensors
	printf '\377\377\377\377' | dd of="$w" bs=1 conv=notrunc \
		seek=$(($(stat -c %s "$w") - 64)) 2> "$T/dd"
	run "$BIN/lm-sample" --model "$T/m" --prompt a
	[ "$status" -eq 2 ]
	[[ $output == *"$w: tensor "*" is NaN"* ]]
	"$BIN/pack" -q --tokenizer "$T/m/tokenizer.json" --seq-len 8 -o "$T/d" \
		<<< '{"text":"a text of more than eight tokens, and then some"}'
	run "$BIN/lm-train" --init-from "$T/m" --data "$T/d" --steps 1 \
		--batch-size 1 --peak-tflops 1 -o "$T/run"
	[ "$status" -eq 2 ]
	[[ $output == *"$w: tensor "*" is NaN"* ]]
	[ ! -e "$T/run" ]
}

@test "a tokenizer that does not belong to the model is warned about" {
	echo '{"text":"a"}' | "$BIN/tok-train" -q --vocab-size 258 -o "$T/t"
	run "$BIN/lm-sample" --model $M/qwen3 --tokenizer "$T/t" --prompt a
	[ "$status" -eq 0 ]
	[[ $output == *"$T/t: not the tokenizer of $M/qwen3"* ]]
	cp $M/qwen3/tokenizer*.json "$T"
	run "$BIN/lm-sample" --model $M/qwen3 --tokenizer \
		"$T/tokenizer.json" --prompt a
	[ "$status" -eq 0 ]
	[[ $output != *warning* ]]
}

@test "a run folder is read as its latest checkpoint" {
	mkdir -p "$T/run/step-00000002"
	echo '{}' > "$T/run/config.json"
	cp $M/qwen3/*.json "$T/run/step-00000002"
	cp $M/qwen3/model.safetensors "$T/run/step-00000002"
	for link in step-00000002 "$T/run/step-00000002"; do
		ln -sfn "$link" "$T/run/latest"
		for d in run run/latest; do
			"$BIN/lm-sample" --model "$T/$d" --prompt a --json \
				--max-tokens 9 > "$T/out.${d#run/}"
			"$BIN/tok-scan-rare" -q --model "$T/$d" --json \
				> "$T/rare.${d#run/}"
		done
		cmp "$T/out.run" "$T/out.latest"
		cmp "$T/rare.run" "$T/rare.latest"
	done
	# no checkpoint yet
	rm "$T/run/latest"
	run "$BIN/lm-sample" --model "$T/run" --prompt a
	[ "$status" -eq 2 ]
	[[ $output == *"$T/run/config.json: "* ]]
}

@test "lm-train --init-from a run folder starts from its latest checkpoint" {
	printf '{"text":"one text of the training data"}\n%.0s' 1 2 3 |
		"$BIN/pack" -q --tokenizer $M/llama-gqa/tokenizer.json \
		--seq-len 8 -o "$T/d"
	train() {
		"$BIN/lm-train" -q --data "$T/d" --batch-size 1 --lr 1e-3 \
			--dtype fp32 --peak-tflops 1 "$@"
	}
	train --init-from $M/llama-gqa --steps 2 --save-every 1 -o "$T/run"
	train --init-from "$T/run" --steps 1 -o "$T/a"
	train --init-from "$T/run/step-00000002" --steps 1 -o "$T/b"
	cmp "$T/a/latest/model.safetensors" "$T/b/latest/model.safetensors"
	grep -q '"init_from": *"[^"]*/run/step-00000002"' "$T/a/config.json"
	train --init-from "$T/run/step-00000001" --steps 1 -o "$T/c"
	run ! cmp -s "$T/a/latest/model.safetensors" \
		"$T/c/latest/model.safetensors"
}

@test "folders without a model, and exclusive options, are refused" {
	run "$BIN/lm-sample" --model "$T" --prompt a
	[ "$status" -eq 2 ]
	[[ $output == *config.json* ]]
	run "$BIN/lm-sample" --prompt a
	[ "$status" -eq 2 ]
	run "$BIN/lm-sample" --model $M/qwen3 --prompt a --score b
	[ "$status" -eq 2 ]
}

@test "the process name survives the restart that sets OMP variables" {
	env -u GOMP_SPINCOUNT -u OMP_WAIT_POLICY "$BIN/lm-sample" \
		--model $M/qwen3 --prompt a --max-tokens 1000000 \
		> "$T/out" 2> "$T/err" &
	pid=$!
	for _ in $(seq 100); do
		grep -qz GOMP_SPINCOUNT= "/proc/$pid/environ" && break
		sleep 0.05
	done
	grep -qz GOMP_SPINCOUNT= "/proc/$pid/environ"
	[ "$(cat "/proc/$pid/comm")" = lm-sample ]
	kill "$pid"
}

@test "--top-p 0 is greedy, whatever the temperature" {
	for seed in 1 2 3; do
		"$BIN/lm-sample" --model $M/llama-gqa --prompt 'he said' \
			--json --max-tokens 20 > "$T/greedy"
		"$BIN/lm-sample" --model $M/llama-gqa --prompt 'he said' \
			--json --max-tokens 20 --top-p 0 --temperature 5 \
			--seed $seed > "$T/out"
		cmp "$T/greedy" "$T/out"
	done
	"$BIN/lm-sample" --model $M/llama-gqa --prompt 'he said' \
		--json --max-tokens 20 --temperature 5 > "$T/out"
	run ! cmp -s "$T/greedy" "$T/out"
}

@test "the range of every number is in the manual" {
	local o r n=0
	tr '\n' ' ' < man/lm-sample.1 > "$T/man"
	while read -r o; do
		r=$("$BIN/lm-sample" --model x "--$o=-999999" 2>&1 |
			sed -n 's/.*out of range (\(.*\)).*/\1/p')
		[ -n "$r" ]
		r=$(perl -e 'for (split / to /, $ARGV[0]) {
			my $x = $_ > 999 ? sprintf("%.0f", $_) : $_;
			1 while $x =~ s/(\d)(\d{3})(?!\d)/$1,$2/;
			push @r, $x } print join " to ", @r' "$r")
		grep -qE "Fl -$o Ar [NX]([^F]|F[^l])*$r" "$T/man" ||
			{ echo "$o: $r"; false; }
		n=$((n + 1))
	done < <("$BIN/lm-sample" --help |
		sed -n 's/^  --\([a-z-]*\) [NX] .*/\1/p')
	[ $n -ge 7 ]
}
