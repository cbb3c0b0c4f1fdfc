#!/usr/bin/env bats
# lm-train: too little memory is one message before the first step

load lm-train

# About 1.5 GB, most of it activations, which nothing touches before a step.
large() {
	train --hidden-size 256 --layers 8 --intermediate-size 1024 \
		--seq-len 2048 --batch-size 8 --micro-batch 8 --steps 9 "$@"
}

limited() {
	local max=$1
	shift
	(ulimit -v "$max" && "$@")
}

@test "a run that cannot fit says what it needs and which options help" {
	if nm "$BIN/lm-train" 2> "$T/nm" | grep -q "__[at]san_init"; then
		skip "a sanitizer's own memory is not bounded"
	fi
	refused limited 1000000 large -o "$T/run"
	[[ $stderr =~ ^"lm-train: the run needs about "[0-9]+" MB of memory, and there are 1024 MB: a smaller --micro-batch or --seq-len, or --dtype bf16, needs less"$ ]]
	[ ! -e "$T/run" ]
}

@test "an allocation that fails says its size and what is free" {
	if nm "$BIN/lm-train" 2> "$T/nm" | grep -q "__[at]san_init"; then
		skip "a sanitizer's own memory is not bounded"
	fi
	local need want
	refused limited 1000000 large -o "$T/run"
	need=${stderr#*needs about }
	# as much as the formula says, but the program itself takes some of it
	refused limited $((${need%% *} * 1000000 / 1024 + 10000)) large -o "$T/run"
	want="^lm-train: cpu: cannot allocate [0-9]+ bytes of device memory"
	want+=" \([0-9]+ of [0-9]+ bytes are free\); the run needs about"
	want+=" ${need%% *} MB: a smaller --micro-batch or --seq-len, or"
	want+=" --dtype bf16, needs less\$"
	[[ $stderr =~ $want ]]
	[ ! -e "$T/run" ]
}
