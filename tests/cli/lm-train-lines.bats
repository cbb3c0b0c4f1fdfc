#!/usr/bin/env bats
# lm-train: the lines that a person reads while a model trains, and those that
# jq makes of the log.

load lm-train

# Steps 0 to 3, evaluations and samples at 2 and 4.
shown() {
	train -o "$T/r" --steps 4 --val-data "$W/val" --eval-every 2 \
		--eval-windows 6 --prompt 'It is' --sample-every 2 \
		--sample-tokens 5 "$@"
}

@test "-v off a terminal: a line per step, evaluation and sample, as logged" {
	shown -v 2> "$T/err"
	# the start (2 lines), steps 0 and 1, ...
	sed -n '3,$s/^step \([0-9]*\)\( of 4, \|: [a-z]*\).*/\1\2/p' "$T/err" |
		tr '\n' ';' > "$T/order"
	[ "$(cat "$T/order")" = "0 of 4, ;1 of 4, ;2: evaluation;2: prompt;\
2 of 4, ;3 of 4, ;4: evaluation;4: prompt;" ]
	for n in 0 1 2 3; do
		line=$(grep "^{\"type\":\"step\",\"step\":$n," "$T/r/train.jsonl")
		printf '%s\n' "$line" > "$T/line"
		want=$(printf 'step %d of 4, TIME left, loss %.4f, grad norm %.3g, lr %.3g, %.0f tokens/s, MFU %.1f %%' \
			$n "$(value loss "$T/line")" "$(value grad_norm "$T/line")" \
			"$(value lr "$T/line")" "$(value tokens_per_s "$T/line")" \
			"$(awk "BEGIN { print 100 * $(value mfu "$T/line") }")")
		grep "^step $n of" "$T/err" |
			sed 's/[0-9]*:[0-9][0-9]:[0-9][0-9] left/TIME left/' > "$T/got"
		[ "$(cat "$T/got")" = "$want" ] ||
			{ cat "$T/got"; echo "$want"; false; }
	done
	grep '"type":"eval","step":2' "$T/r/train.jsonl" > "$T/line"
	grep -q "^step 2: evaluation loss $(printf '%.4f, %.4f' \
		"$(value loss "$T/line")" "$(value bits_per_byte "$T/line")") \
bits per byte (6 windows, [0-9.]* s)$" "$T/err"
	grep '"type":"sample","step":4' "$T/r/train.jsonl" |
		sed 's/.*"text":\("[^"]*"\).*/\1/' > "$T/text"
	grep -qF "step 4: prompt \"It is\", sample $(cat "$T/text")" "$T/err"
}

@test "off a terminal without -v, and with -q: no such line" {
	shown 2> "$T/err"
	[ ! -s "$T/err" ]
	shown --overwrite -q -v 2> "$T/err"
	[ ! -s "$T/err" ]
}

@test "a sample cannot control the terminal, nor end its line" {
	shown -v --prompt $'a\tb\nc\x1b[2J' 2> "$T/err"
	grep -q '^step 4: prompt "a\\tb\\nc<0x1B>\[2J", sample ' "$T/err"
	run ! grep -q $'\x1b' "$T/err"
}

@test "at a terminal: one line that each step replaces, events stay" {
	script -qefc true /dev/null < /dev/null > /dev/null 2>&1 ||
		skip "no terminal is to be had, as in a chroot without /dev/pts"
	cat > "$T/run" <<-E
	stty cols \$1
	exec ${TRAIN[*]} -o $T/r\$1 --steps 100000 --eval-windows 6 \\
		--val-data $W/val --eval-every 20
	E
	# 2.5 s are enough for its lines at 1, 1.5 and 2 s
	for columns in 150 60; do
		timeout -s INT 20 script -qefc \
			"timeout --foreground -s INT 2.5 bash $T/run $columns" \
			/dev/null < /dev/null > "$T/screen" || true
		tr '\r' '\n' < "$T/screen" > "$T/lines"
		grep -q '^step 20: evaluation loss ' "$T/lines"
		grep -o '^.\[Kstep [0-9]* of 100000, .*' "$T/lines" |
			cut -c 4- > "$T/steps"
		[ -s "$T/steps" ]
		if [ $columns = 150 ]; then
			grep -q ' left, loss .*, grad norm .*, lr .* tokens/s, MFU .* %$' \
				"$T/steps"
		else
			awk 'length != 59 { exit 1 }' "$T/steps"
		fi
	done
}

@test "trainlog.5: its jq lines print losses and evaluations" {
	command -v jq > "$T/jq" || skip "jq is not there"
	train -o "$T/run" --steps 4 --val-data "$W/val" --eval-every 2 \
		--eval-windows 6
	sed -n '/^jq /,/train.jsonl$/{s/\\e$/\\/;p}' man/trainlog.5 > "$T/cmd"
	[ "$(grep -c '^jq ' "$T/cmd")" = 2 ]
	(cd "$T" && bash -e cmd) > "$T/got"
	{
		sed -n 's/^{"type":"step","step":\([0-9]*\),.*"loss":\([0-9.]*\),.*/\1\t\2/p' \
			"$T/run/train.jsonl"
		sed -n 's/^{"type":"eval","step":\([0-9]*\),"loss":\([0-9.]*\),.*"bits_per_byte":\([0-9.]*\),.*/\1\t\2\t\3/p' \
			"$T/run/train.jsonl"
	} > "$T/want"
	[ "$(wc -l < "$T/want")" = 6 ]
	# jq may print a number with fewer digits
	awk 'NR == FNR { w[NR] = $0; next }
	     { n = split(w[FNR], a, "\t"); if (n != NF) exit 1
	       for (i = 1; i <= n; i++) { d = $i - a[i]
	       if (d > 1e-9 || d < -1e-9) exit 1 } rows++ }
	     END { exit rows != 6 }' "$T/want" "$T/got"
}
