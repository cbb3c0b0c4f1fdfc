# lm-sample: the weights are in memory once

bats_require_minimum_version 1.5.0

setup() {
	cd "$BATS_TEST_DIRNAME/../.." || return 1
	BIN=${BIN:-$PWD/bin}
	case $BIN in /*) ;; *) BIN=$PWD/$BIN ;; esac
	T=$BATS_TEST_TMPDIR
}

# A bf16 model of 555 MB, all zeros, in a file without blocks on the disk.
big_model() {
	mkdir "$T/m"
	perl -e '
		my ($h, $f, $l, $kv, $v) = (2048, 8192, 4, 512, 16384);
		my (@t, $at);
		sub t { my ($name, @s) = @_; my $n = 2;
			$n *= $_ for @s;
			push @t, sprintf "\"%s.weight\":{\"dtype\":\"BF16\"," .
				"\"shape\":[%s],\"data_offsets\":[%d,%d]}",
				$name, join(",", @s), $at, $at + $n;
			$at += $n }
		$at = 0;
		t("model.embed_tokens", $v, $h);
		t("model.norm", $h);
		for my $i (map { "model.layers.$_" } 0 .. $l - 1) {
			t("$i.input_layernorm", $h);
			t("$i.post_attention_layernorm", $h);
			t("$i.self_attn.$_", $h, $h) for qw(q_proj o_proj);
			t("$i.self_attn.$_", $kv, $h) for qw(k_proj v_proj);
			t("$i.mlp.$_", $f, $h) for qw(gate_proj up_proj);
			t("$i.mlp.down_proj", $h, $f);
		}
		my $j = "{" . join(",", @t) . "}";
		open my $o, ">:raw", "$ARGV[0]/model.safetensors" or die;
		print $o pack("Q<", length $j), $j;
		truncate $o, 8 + length($j) + $at or die;
		open $o, ">", "$ARGV[0]/config.json" or die;
		print $o "{\"model_type\":\"llama\",\"vocab_size\":$v," .
			"\"hidden_size\":$h,\"intermediate_size\":$f," .
			"\"num_hidden_layers\":$l,\"num_attention_heads\":32," .
			"\"num_key_value_heads\":8,\"head_dim\":64," .
			"\"max_position_embeddings\":256,\"rms_norm_eps\":" .
			"1e-5,\"rope_theta\":1e4,\"hidden_act\":\"silu\"," .
			"\"tie_word_embeddings\":true}\n"' "$T/m"
}

@test "a large bf16 folder takes its weights and the cache, stated before it is read" {
	if nm "$BIN/lm-sample" 2> "$T/nm" | grep -q "__[at]san_init"; then
		skip "a sanitizer's own memory is not bounded"
	fi
	big_model
	echo '{"prompt":[1,2,3]}' > "$T/in"
	"$BIN/lm-sample" -v --model "$T/m" --prompts "$T/in" --json \
		--max-tokens 3 > "$T/out" 2> "$T/err" 3>&- &
	pid=$!
	while now=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' \
		/proc/$pid/status) && [ -n "$now" ]; do
		peak=$now
		sleep 0.02
	done
	wait $pid
	grep -q '"tokens":\[0,0,0\]' "$T/out"
	[ "$(head -1 "$T/err")" = "$T/m: 0.554 GB of weights, and 8.192 MB of\
 cache for 1,000 tokens" ]
	# 541,000 KiB of weights; with the file or a copy it would be twice that
	[ "$peak" -gt 541000 ]
	[ "$peak" -lt 800000 ]
}

@test "with too little memory the status is 2, even if OpenMP gives up" {
	local v n=0 status
	if nm "$BIN/lm-sample" 2> "$T/nm" | grep -q "__[at]san_init"; then
		skip "a sanitizer's own memory is not bounded"
	fi
	for v in $(seq 60000 4000 160000); do
		status=0
		(ulimit -v "$v" && exec "$BIN/lm-sample" -j 4 --prompt a \
			--model tests/data/models/llama-gqa --max-tokens 2 \
			> "$T/out" 2> "$T/err") || status=$?
		case $status in
		0 | 127) ;;	# 127: not even the libraries could be loaded
		2) grep -q '^lm-sample: .*memory' "$T/err"; n=$((n + 1)) ;;
		*) echo "$v: status $status"; cat "$T/err"; false ;;
		esac
	done
	[ $n -gt 0 ] || skip "this build needs another range of limits"
}
