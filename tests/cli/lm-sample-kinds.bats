# lm-sample: other files are named, with the command that converts them

bats_require_minimum_version 1.5.0

setup() {
	cd "$BATS_TEST_DIRNAME/../.." || return 1
	BIN=${BIN:-$PWD/bin}
	case $BIN in /*) ;; *) BIN=$PWD/$BIN ;; esac
	M=tests/data/models/llama-gqa
	T=$BATS_TEST_TMPDIR
}

# refused LINES OPTION: sets $stderr; the file is $T/in
refused() {
	printf '%s\n' "$1" > "$T/in"
	run --separate-stderr "$BIN/lm-sample" --model $M "$2" "$T/in"
	[ "$status" -eq 2 ]
	[ -z "$output" ]
	[[ $stderr == "lm-sample: $T/in:1: "* ]]
}

# convert: run the jq command of the last message, to $T/out
convert() {
	local options program
	[[ $stderr =~ \(jq\ (-[A-Za-z]+)\ (\'.*\'|\.)\ FILE\ \|\ \.\.\. ]]
	options=${BASH_REMATCH[1]}
	program=${BASH_REMATCH[2]#\'}
	program=${program%\'}
	jq "$options" "$program" "$T/in" > "$T/out"
}

@test "benchmarks as published: the name, the keys, and a conversion that scores" {
	command -v jq || skip "jq is not installed"
	local line name want n=0
	while IFS='	' read -r line name want; do
		refused "$line" --score
		[[ $stderr == *" is missing, found \""*": this is $name"* ]] ||
			{ echo "$stderr"; false; }
		convert
		# without the keys that stay as they were
		[ "$(jq -Sc 'del(.id)' "$T/out")" = "$want" ] ||
			{ cat "$T/out"; false; }
		# SQuAD's own file has several ids
		[[ $line = *paragraphs* ]] || [ "$(jq -c .id "$T/out")" = \
			"$(jq -c '.id // .ind // .qID // .idx' "$T/in")" ]
		"$BIN/lm-sample" --model $M --score "$T/out" --json -q \
			> "$T/scores"
		[ "$(grep -c logprob "$T/scores")" -eq 1 ]
		n=$((n + 1))
	done <<-'END'
	{"id":"x","question":"Q?","choices":{"text":["a","b"],"label":["A","B"]},"answerKey":"B"}	ARC or	{"answer":1,"choices":[" a"," b"],"context":"Question: Q?\nAnswer:"}
	{"id":"x","question":{"stem":"Q?","choices":[{"text":"a","label":"1"},{"text":"b","label":"2"}]},"answerKey":"1"}	ARC as	{"answer":0,"choices":[" a"," b"],"context":"Question: Q?\nAnswer:"}
	{"id":"x","question_stem":"Q","choices":{"text":["a","b"],"label":["A","B"]},"answerKey":"A"}	OpenBookQA	{"answer":0,"choices":[" a"," b"],"context":"Q"}
	{"version":"v2.0","data":[{"title":"t","paragraphs":[{"context":"c.","qas":[{"id":"q0","question":"n?","answers":[],"is_impossible":true},{"id":"q1","question":"Q?","answers":[{"text":"a","answer_start":1}]}]}]}]}	SQuAD as	{"context":"c.\nQuestion: Q?\nAnswer:","continuation":" a"}
	{"id":"x","title":"t","context":"c.","question":"Q?","answers":{"text":["a","b"],"answer_start":[1,2]}}	SQuAD;	{"context":"c.\nQuestion: Q?\nAnswer:","continuation":" a"}
	{"id":3,"question":"Q?","subject":"s","choices":["a","b","c"],"answer":2}	MMLU	{"answer":2,"choices":[" a"," b"," c"],"context":"Q?\nAnswer:"}
	{"ind":1,"ctx_a":"c","ctx_b":"","ctx":"c","endings":["a","b"],"label":"1"}	HellaSwag	{"answer":1,"choices":[" a"," b"],"context":"c"}
	{"id":"p","goal":"g","sol1":"a","sol2":"b","label":1}	PIQA	{"answer":1,"choices":[" a"," b"],"context":"Question: g\nAnswer:"}
	{"qID":"w-1","sentence":"He saw _ there.","option1":"it","option2":"us","answer":"2"}	WinoGrande	{"answer":1,"choices":[" it there."," us there."],"context":"He saw"}
	{"idx":0,"question":"is it","answer":true,"passage":"p."}	BoolQ	{"answer":1,"choices":[" no"," yes"],"context":"p.\nQuestion: is it?\nAnswer:"}
	{"id":"g","question":"Q","answer":"so 5"}	a benchmark like GSM8K	{"context":"Question: Q\nAnswer:","continuation":" so 5"}
	{"id":9,"query":"q","choices":["a","b"],"gold":0}	a benchmark as	{"answer":0,"choices":[" a"," b"],"context":"q"}
	{"id":"c","prompt":"p","completion":" c"}	a set of prompts	{"context":"p","continuation":" c"}
	{"id":1,"text":"one two\nthree"}	a file of documents	{"context":"one","continuation":" two\nthree"}
	END
	[ $n -eq 14 ]
	# one that is not known, and one that is for --prompts
	refused '{"foo":1,"bar":2}' --score
	[[ $stderr == *': context is missing, found "foo", "bar"' ]]
	# an object with an array that is not SQuAD
	refused '{"version":"1","data":[{"story":"s"}]}' --score
	[[ $stderr == *"this is one object with an array"* ]]
	refused '{"prompt":"p"}' --score
	[[ $stderr == *"this is a file of prompts to continue"* ]]
}

@test "plain text and other JSON given as prompts: what it is, and a conversion" {
	command -v jq || skip "jq is not installed"
	local text what want
	while IFS='	' read -r text what want; do
		refused "$(printf '%b' "$text")" --prompts
		[[ $stderr == *"this is $what"* ]] ||
			{ echo "$stderr"; false; }
		convert
		[ "$(jq -c 'del(.id)' "$T/out")" = "$(printf '%b' "$want")" ]
		"$BIN/lm-sample" --model $M --prompts "$T/out" --max-tokens 2 \
			--json -q > "$T/answers"
		[ "$(grep -c '"prompt"' "$T/answers")" -eq \
			"$(grep -c . "$T/out")" ]
	done <<-'END'
	It was a\nhe said	plain text	{"prompt":"It was a"}\n{"prompt":"he said"}
	"It was"\n"he"	a JSON string	{"prompt":"It was"}\n{"prompt":"he"}
	[{"prompt":"a"},{"prompt":"b"}]	a JSON array	{"prompt":"a"}\n{"prompt":"b"}
	{\n"prompt":"a"\n}	JSON over several lines	{"prompt":"a"}
	{"text":"some"}	a file of documents	{"prompt":"some"}
	{"context":"some","continuation":" a"}	a file of lines to score	{"prompt":"some"}
	END
	refused '{"messages":[{"role":"user","content":"a"}]}' --prompts
	[[ $stderr == *"this is a chat: apply its template"* ]]
	run --separate-stderr "$BIN/lm-sample" --model $M <<< "plain text"
	[ "$status" -eq 2 ]
	[[ $stderr == "lm-sample: <stdin>:1: this is plain text (jq -Rc "* ]]
}

@test "plain text to score: the last word of each line" {
	command -v jq || skip "jq is not installed"
	refused 'the end of it' --score
	[[ $stderr == *"this is plain text"* ]]
	convert
	[ "$(cat "$T/out")" = \
		'{"context":"the end of","continuation":" it"}' ]
}

@test "binary files are named" {
	printf 'PAR1\0\0\0\0' > "$T/x"
	run --separate-stderr "$BIN/lm-sample" --model $M --score "$T/x"
	[ "$status" -eq 2 ]
	[[ $stderr == *"$T/x: "*"a Parquet file"* ]]
}

@test "a folder that is not a model, and one that is not a file of lines" {
	mkdir "$T/d"
	run --separate-stderr "$BIN/lm-sample" --model "$T/d" --prompt a
	[ "$status" -eq 2 ]
	[ "$stderr" = "lm-sample: $T/d: not a model folder: it has no config.json" ]
	run --separate-stderr "$BIN/lm-sample" --model "$M/config.json" --prompt a
	[ "$status" -eq 2 ]
	[[ $stderr == *"config.json: not a model folder: "* ]]
	run --separate-stderr "$BIN/lm-sample" --model $M --score "$T/d"
	[ "$status" -eq 2 ]
	[ "$stderr" = "lm-sample: $T/d: is a folder, not a file of lines" ]
}

@test "with --batch-size 1 a prompt in a pipe is answered before the next one" {
	local i
	mkfifo "$T/in" "$T/out"
	timeout 60 "$BIN/lm-sample" --model $M --prompts "$T/in" --json \
		--max-tokens 2 --batch-size 1 -q > "$T/out" 7>&- 8>&- &
	exec 8< "$T/out"
	exec 7> "$T/in"
	for i in 1 2 3; do
		printf '{"id":%d,"prompt":"It was"}\n' $i >&7
		read -r -t 30 line <&8
		[[ $line == *'"prompt":"It was"'* ]]
	done
	exec 7>&-
	wait $!
	exec 8<&-
}
