#!/usr/bin/env bats
# Model folders of others: scaled RoPE, sliding windows, what is extra in them.

bats_require_minimum_version 1.5.0

setup() {
	cd "$BATS_TEST_DIRNAME/../.." || return 1
	BIN=${BIN:-$PWD/bin}
	case $BIN in /*) ;; *) BIN=$PWD/$BIN ;; esac
	V=tests/data/variants
	T=$BATS_TEST_TMPDIR
}

# folder NAME WEIGHTS: a Hugging Face folder in $T/NAME
folder() {
	mkdir -p "$T/$1"
	cp "$V/$1/config.json" "$T/$1"
	cp "$V/$2.safetensors" "$T/$1/model.safetensors"
	chmod -R u+w "$T/$1"
}

# golden NAME TENSOR TEMPLATE: its numbers on one line; TEMPLATE as of unpack
golden() {
	perl -MJSON::PP -e '
		my ($file, $name, $as) = @ARGV;
		local $/; open my $f, "<", $file or die; my $s = <$f>;
		my $n = unpack "Q<", $s;
		my $t = decode_json(substr $s, 8, $n)->{$name} or die;
		my ($from, $to) = @{$t->{data_offsets}};
		print join(",", unpack "$as*",
			substr $s, 8 + $n + $from, $to - $from), "\n"
	' "$V/$1/golden.safetensors" "$2" "$3"
}

# near FILE LIST: "logprobs" in FILE are within 1e-5 of LIST
near() {
	perl -e '
		my ($file, $want) = @ARGV;
		local $/; open my $f, "<", $file or die;
		my @got = split /,/, (<$f> =~ /"logprobs":\[([^]]*)/)[0];
		my @want = split /,/, $want;
		die "@{[scalar @got]} numbers, not @{[scalar @want]}"
			unless @got == @want && @got > 5;
		for (0 .. $#got) {
			my $d = abs($got[$_] - $want[$_]);
			die "number $_ is off by $d" if $d > 1e-5 * (1 + abs $want[$_]);
		}' "$1" "$2"
}

# score NAME: the text of the golden file, of which 3 ids are the context
score() {
	golden "$1" ids l | perl -pe 's/^((\d+,){2}\d+),(.*)/{"context":[$1],"continuation":[$3]}/' |
		"$BIN/lm-sample" --model "$T/$1" --score - --json
}

@test "scaled RoPE and sliding windows: scores and text equal transformers'" {
	for m in linear-old:llama dynamic:llama yarn:llama yarn-ramp:llama \
		llama3:llama llama3-new:llama mistral-window:mistral \
		qwen3-window:qwen3; do
		m=${m%:*} w=${m#*:}
		case $m in mistral*) w=mistral ;; qwen3*) w=qwen3 ;; *) w=llama ;; esac
		folder $m $w
		score $m > "$T/score"
		near "$T/score" "$(golden $m score.48 'd<' | cut -d, -f3-)"
		golden $m generated l | cut -d, -f1-14 | sed 's/.*/{"prompt":[&]}/' |
			"$BIN/lm-sample" -q --model "$T/$m" --prompts - --json \
				--max-tokens 12 > "$T/text"
		near "$T/text" "$(golden $m logprobs 'd<')"
		grep -q "\"tokens\":\[$(golden $m generated l | cut -d, -f15-)\]" \
			"$T/text"
	done
}

@test "without its scaling or its window a model gives other numbers" {
	for m in yarn:llama mistral-window:mistral; do
		folder "${m%:*}" "${m#*:}"
		m=${m%:*}
		sed -i 's/"rope_type": "yarn"/"rope_type": "default"/
			s/"sliding_window": 7/"sliding_window": null/' \
			"$T/$m/config.json"
		score $m > "$T/score"
		run ! near "$T/score" "$(golden $m score.48 'd<' | cut -d, -f3-)"
	done
}

@test "training from such folders: the checkpoint is of the same kind" {
	perl -e 'srand 1; print pack "v*", map { int rand 64 } 1 .. 4000' \
		> "$T/x.bin"
	for m in mistral-window:mistral llama3:llama dynamic:llama \
		yarn-ramp:llama qwen3-window:qwen3; do
		folder "${m%:*}" "${m#*:}"
		m=${m%:*}
		train=("$BIN/lm-train" -q --peak-tflops 1)
		"${train[@]}" --init-from "$T/$m" --data "$T/x.bin" \
			--shard-format nanogpt --seq-len 40 --batch-size 4 \
			--dtype fp32 --lr 1e-9 --steps 2 -o "$T/r-$m"
		"${train[@]}" --resume "$T/r-$m" --steps 3
		cp "$T/r-$m/latest/config.json" "$T/r-$m/latest/model.safetensors" \
			"$T/$m"
		score $m > "$T/score"
		near "$T/score" "$(golden $m score.48 'd<' | cut -d, -f3-)" ||
			{ cat "$T/$m/config.json"; return 1; }
	done
	grep -q '"model_type": "mistral"' "$T/mistral-window/config.json"
	grep -q '"sliding_window": 7,' "$T/mistral-window/config.json"
	grep -q MistralForCausalLM "$T/mistral-window/config.json"
	grep -q '"max_window_layers": 1,' "$T/qwen3-window/config.json"
	grep -q '"rope_scaling": {"rope_type": "llama3", "factor": 8,' \
		"$T/llama3/config.json"
}

@test "attention_dropout is ignored by lm-sample and refused by lm-train" {
	folder mistral mistral
	sed -i 's/^{/{"attention_dropout": 0.1,/' "$T/mistral/config.json"
	score mistral > "$T/score"
	near "$T/score" "$(golden mistral score.48 'd<' | cut -d, -f3-)"
	head -c 400 /dev/zero > "$T/x.bin"
	run --separate-stderr "$BIN/lm-train" --init-from "$T/mistral" \
		--data "$T/x.bin" --shard-format nanogpt --seq-len 16 \
		--batch-size 1 --steps 1 -o "$T/r"
	[ "$status" -eq 2 ]
	[[ $stderr == *"config.json: attention_dropout is 0.1, "* ]]
	[ ! -e "$T/r" ]
}

# extra FOLDER NAME...: add tensors of one F32 number to model.safetensors
extra() {
	perl -MJSON::PP -e '
		my ($file, @names) = @ARGV;
		local $/; open my $f, "<", $file or die; my $s = <$f>;
		my $n = unpack "Q<", $s;
		my $h = decode_json(substr $s, 8, $n);
		my $data = substr $s, 8 + $n;
		for (@names) {
			my $at = length $data;
			$h->{$_} = {dtype => "F32", shape => [1],
				data_offsets => [$at, $at + 4]};
			$data .= pack "f<", 1;
		}
		$h = encode_json $h;
		open my $o, ">", $file or die;
		print $o pack("Q<", length $h), $h, $data;
	' "$T/$1/model.safetensors" "${@:2}"
}

@test "extra buffers are a warning with their names, extra weights an error" {
	folder mistral mistral
	extra mistral model.layers.0.self_attn.rotary_emb.inv_freq \
		model.layers.0.attn.masked_bias
	score mistral > "$T/score" 2> "$T/err"
	near "$T/score" "$(golden mistral score.48 'd<' | cut -d, -f3-)"
	[ "$(head -1 "$T/err")" = "lm-sample: warning: $T/mistral/model.safetensors: not part of the model and ignored: model.layers.0.attn.masked_bias, model.layers.0.self_attn.rotary_emb.inv_freq" ]
	extra mistral a.inv_freq b.inv_freq
	score mistral > "$T/score" 2> "$T/err"
	grep -q ': 4 tensors are not part of the model and ignored: a.inv_freq, b.inv_freq, model.layers.0.attn.masked_bias, ...$' "$T/err"
	extra mistral model.layers.0.self_attn.q_proj.bias
	run --separate-stderr score mistral
	[ "$status" -eq 2 ]
	[[ $stderr == *"q_proj.bias is not part of this model" ]]
}

@test "one token more than rows, such as a pad token, is a warning" {
	cp -r tests/data/models/llama-tied "$T/m"
	chmod -R u+w "$T/m"
	"$BIN/pack" -q --tokenizer "$T/m/tokenizer.json" --seq-len 32 \
		-o "$T/d" tests/data/text/digitalgov.jsonl.zst
	perl -0pi -e 's/("added_tokens": *\[.*?)\]/$1,{"id":320,"content":"<pad>",
		"single_word":false,"lstrip":false,"rstrip":false,
		"normalized":false,"special":true}]/s' "$T/m/tokenizer.json"
	"$BIN/pack" -q --tokenizer "$T/m/tokenizer.json" --seq-len 32 \
		-o "$T/e" tests/data/text/digitalgov.jsonl.zst
	run --separate-stderr "$BIN/lm-train" --init-from "$T/m" --data "$T/e" \
		--steps 1 --batch-size 2 --peak-tflops 1 -o "$T/r"
	[ "$status" -eq 0 ]
	[[ $stderr == *"the tokenizer has one token more than the model, id 320"* ]]
	run --separate-stderr "$BIN/lm-sample" --model "$T/m" --max-tokens 3 \
		--prompt 'It was'
	[ "$status" -eq 0 ]
	[[ $stderr == *"one token more than the model has rows: <pad>, id 320,"* ]]
	run --separate-stderr "$BIN/lm-sample" --model "$T/m" --score - \
		<<< '{"context":[1,320],"continuation":[2]}'
	[ "$status" -eq 2 ]
	[[ $stderr == *"token 1 has id 320, but"* ]]
}
