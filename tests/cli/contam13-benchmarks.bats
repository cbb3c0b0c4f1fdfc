#!/usr/bin/env bats
# contam13: benchmarks in the forms in which their makers publish them.  The
# examples are made up.

bats_require_minimum_version 1.5.0

setup_file() {
	export BIN=${BIN:-bin}
}

setup() {
	T=$BATS_TEST_TMPDIR
	Q='the grey otter carried nine smooth pebbles over the old stone'
	Q="$Q bridge before noon and"
	C='a quiet lighthouse keeper painted every second step of the long'
	C="$C winding stair bright yellow"
	no='Why is this not asked of the other one here?'
}

contam13() {
	"$BIN/contam13" "$@"
}

# ID TEXT: a document.
doc() {
	printf '{"id":"%s","text":"%s"}\n' "$1" "$2"
}

# NAME FIELDS: the file $T/NAME is read with these fields by default; their
# list is printed.  The document with $Q is a hit of its first example alone.
recognized() {
	doc q "so $Q so" > "$T/docs"
	contam13 --against "$T/$1" --list --report "$T/hits" \
		--stats "$T/stats" -o "$T/out" "$T/docs" 2> "$T/err"
	grep -qF "\"fields\":[\"${2//, /\",\"}\"]" "$T/stats" ||
		{ cat "$T/stats"; return 1; }
	[ "$(cat "$T/err")" = "contam13: ${1%.*}: the text is $2" ]
	[ "$(wc -l < "$T/hits")" -eq 1 ]
	[ "$(sed 's/.*"example":"\([^"]*\)".*/\1/' "$T/hits")" = "$3" ]
	contam13 -q --against "$T/$1" -o "$T/out" "$T/docs" 2> "$T/err"
	[ ! -s "$T/err" ]
}

# NAME WHAT FIELDS: 1 or 0, is the text WHAT found with these fields?
named() {
	doc d "$2" > "$T/docs"
	run contam13 -q --check -o "$T/out" --against "$T/$1" \
		--bench-fields "$3" "$T/docs"
	echo "$output"
	[ "$status" -eq "$4" ]
}

@test "ARC, OpenBookQA: question.stem and question.choices[].text" {
	cat > "$T/arc.jsonl" <<-END
	{"id":"Mercury_1","question":{"stem":"$Q what?","choices":[{"text":"dry palms","label":"A"},{"text":"$C","label":"B"},{"text":"iron","label":"C"}]},"answerKey":"B"}
	{"id":"Mercury_2","question":{"stem":"$no","choices":[{"text":"x","label":"A"},{"text":"y","label":"B"}]},"answerKey":"A"}
	END
	recognized arc.jsonl 'question.stem, question.choices[].text' Mercury_1
	named arc.jsonl "$Q" question.stem 1
	named arc.jsonl "$Q" 'question.choices[].text' 0
	named arc.jsonl "$C" 'question.choices[].text' 1
	named arc.jsonl "$C" question.stem,answerKey 0
	# grams cross the line end between stem and choices
	named arc.jsonl "nine ${Q##* nine } what dry palms" \
		'question.stem,question.choices[].text' 1
}

@test "SQuAD: an example is a question, with its paragraph's context" {
	cat > "$T/squad.json" <<-END
	{"version": "v2.0", "data": [{"title": "Otter", "paragraphs": [
	 {"qas": [{"question": "$no", "id": "5a1",
	   "answers": [{"text": "nine smooth round pebbles", "answer_start": 3}],
	   "is_impossible": false},
	  {"question": "$Q what?", "id": "5a2", "answers": []}],
	  "context": "$C."},
	 {"context": "Nothing of that kind.", "qas": []}]},
	 {"title": "None", "paragraphs": [{"context": "A much shorter one.",
	  "qas": [{"question": "$no", "id": "5a3"}]}]}]}
	END
	recognized squad.json 'context, question' 5a2
	contam13 -q --against "$T/squad.json" --stats "$T/stats" -n 8 \
		--subsets "$T/parts" <(doc c "$C") > "$T/out"
	grep -q '"examples":3,"short":0,"dirty":2,' "$T/stats"
	[ "$(sed 's/.*"id": "\([^"]*\)".*/\1/' \
		"$T/parts/squad.dirty.jsonl" | tr '\n' ' ')" = "5a1 5a2 " ]
	# the parts are a benchmark again
	contam13 -q --check --against "$T/parts/squad.clean.jsonl" \
		<(doc c "$C") > "$T/out"
	for f in question 'data[].paragraphs[].qas[].question'; do
		named squad.json "$Q" "$f" 1
		named squad.json "$C" "$f" 0
	done
	named squad.json "$C" 'data[].paragraphs[].context' 1
	named squad.json "$C" 'title,context,answers[].text' 1
	printf '{"data":[{"paragraphs":[{"qas":[1]}]}]}' > "$T/squad.json"
	named squad.json "$C" question 2
}

@test "HellaSwag: ctx and endings, without ctx_a and ctx_b" {
	cat > "$T/h.jsonl" <<-END
	{"ind": 24, "activity_label": "Roof shingle removal here", "ctx_a": "${Q% and}.", "ctx_b": "and", "ctx": "${Q% and}. and", "split": "val", "split_type": "indomain", "label": 1, "endings": ["is one.", "is two."], "source_id": "activitynet~v_1"}
	{"ind": 25, "activity_label": "Roof shingle removal here", "ctx_a": "$no", "ctx_b": "he", "ctx": "$no he", "split": "val", "split_type": "indomain", "label": 3, "endings": ["$C", "b"], "source_id": "activitynet~v_2"}
	END
	recognized h.jsonl 'ctx, endings' h:1
	named h.jsonl "$C" endings 1
	named h.jsonl "${Q% and}" ctx_a 1
}

@test "BoolQ, PIQA, WinoGrande, GSM8K" {
	cat > "$T/boolq.jsonl" <<-END
	{"question": "$no", "title": "A Title Of Four Words", "answer": true, "passage": "$C"}
	{"question": "$Q", "title": "Other", "answer": false, "passage": "Short."}
	END
	recognized boolq.jsonl 'question, passage' boolq:2
	named boolq.jsonl "$C" passage 1
	cat > "$T/piqa.jsonl" <<-END
	{"goal": "$no", "sol1": "yes", "sol2": "$Q"}
	{"goal": "Ice", "sol1": "$C", "sol2": "no"}
	END
	recognized piqa.jsonl 'goal, sol1, sol2' piqa:1
	named piqa.jsonl "$C" sol1 1
	named piqa.jsonl "$C" goal,sol2 0
	cat > "$T/wino.jsonl" <<-END
	{"qID": "3QHITW7OYO7Q6B6ISU2UMJB84ZLAQE-2", "sentence": "$no", "option1": "Jason", "option2": "the dog", "answer": "2"}
	{"qID": "3QHITW7OYO7Q6B6ISU2UMJB84ZLAQE-1", "sentence": "$Q _ was.", "option1": "Ann", "option2": "Sam", "answer": "1"}
	END
	recognized wino.jsonl sentence wino:2
	cat > "$T/gsm8k.jsonl" <<-END
	{"question": "$no", "answer": "$C <<1+1=2>>\n#### 2"}
	{"question": "$Q how many?", "answer": "Take 3 of 4.\n#### 12"}
	END
	recognized gsm8k.jsonl 'question, answer' gsm8k:2
}

@test "TriviaQA: Question, not its answers and search results" {
	cat > "$T/trivia.json" <<-END
	{"Data": [
	 {"Answer": {"Aliases": ["Otter, the", "The Grey Otter Of Them"], "Type": "WikipediaEntity", "Value": "Otter"},
	  "EntityPages": [{"DocSource": "TagMe", "Filename": "Otter.txt", "Title": "Otter"}],
	  "Question": "$no", "QuestionId": "tc_1", "QuestionSource": "http://www.example.com/",
	  "SearchResults": [{"Description": "$Q and so it goes on and on", "Rank": 0, "Title": "x", "Url": "http://x.org"}]},
	 {"Answer": {"Aliases": [], "Value": "Two"}, "EntityPages": [],
	  "Question": "$Q who?", "QuestionId": "tc_2", "QuestionSource": "http://www.example.com/", "SearchResults": []}],
	 "Domain": "unfiltered-web", "Split": "dev", "VerifiedEval": false, "Version": 1.0}
	END
	recognized trivia.json Question trivia:2
	cat > "$T/hf.jsonl" <<-END
	{"question":"$no","question_id":"tc_1","question_source":"http://x.org/","entity_pages":{"doc_source":["TagMe"],"wiki_context":["$Q and so on"]},"search_results":{"search_context":["$Q"]},"answer":{"aliases":["A B C D"],"normalized_value":"a","type":"WikipediaEntity","value":"A"}}
	{"question":"$Q","question_id":"tc_2","answer":{"value":"B"}}
	END
	recognized hf.jsonl question hf:2
	named trivia.json "$Q" Question 1
	named trivia.json "$Q" 'Data[].Question' 1
	named trivia.json "$C" 'SearchResults[].Description' 0
	named trivia.json "$Q" 'Data[].SearchResults[].Description' 1
	named trivia.json "$Q" 'Answer.Aliases' 0
}

@test "MMLU: its own csv files, without a header, and JSON Lines" {
	printf '%s\r\n' "\"$no, \"\"really\"\"?\",0,4,2,6,B" \
		"$Q,\"$C\",one,two,\"three,
	lines\",D" > "$T/math_test.csv"
	recognized math_test.csv 'question, A, B, C, D' math_test:2
	named math_test.csv "$C" A 1
	named math_test.csv "$C" question,B 0
	cat > "$T/mmlu.jsonl" <<-END
	{"question":"$no","subject":"high school otter science","choices":["0","4","2","6"],"answer":1}
	{"question":"$Q","subject":"high school otter science","choices":["$C","b","c","d"],"answer":"A"}
	END
	recognized mmlu.jsonl 'question, choices' mmlu:2
	named mmlu.jsonl "$C" choices 1
	# equal lists of fields in one line
	mkdir "$T/all"
	cp "$T/math_test.csv" "$T/all"
	cp "$T/math_test.csv" "$T/all/other_test.csv"
	contam13 --against "$T/all" "$T/docs" 2> "$T/err" > "$T/out"
	[ "$(cat "$T/err")" = "contam13: math_test and 1 more: the text is question, A, B, C, D" ]
}

@test "csv with a header; what is not csv is refused" {
	printf '\357\273\277Type,Category,Question,Source\n%s\n%s\n' \
		"Adversarial,Birds and Otters,$Q,https://x.org/a b" \
		"Adversarial,Birds and Otters,\"$no\",https://x.org/c" \
		> "$T/truth.csv"
	recognized truth.csv Question truth:1
	# a CR belongs to a line end, or to its field
	printf 'a,b,c\r\n1,2\r,""\r\n"3\r",,x\r' > "$T/cr.csv"
	contam13 -q --against "$T/cr.csv" --subsets "$T/parts" -o "$T/out" \
		"$T/docs"
	[ "$(cat "$T/parts/cr.short.jsonl")" = "$(cat <<-'END'
		{"a":"1","b":"2\r","c":""}
		{"a":"3\r","b":"","c":"x"}
		END
	)" ]
	for s in 'a,b\n1\n' 'a,b\n"1,2\n' 'a\n"b"c\n' 'a\n\377\n'; do
		printf "$s" > "$T/bad.csv"
		run -2 contam13 --against "$T/bad.csv" "$T/docs"
		[[ "$output" == "contam13: $T/bad.csv:"* ]]
	done
	printf 'a,b\n' > "$T/bad.csv"
	run -2 contam13 --against "$T/bad.csv" "$T/docs"
	[[ "$output" == *"no examples"* ]]
}

@test "other files: ids, URLs, labels and repeated strings are not text" {
	for i in 1 2 3 4 5 6 7 8; do
		printf '{"uid":"a b c d %s","premise":"%s %s","homepage_url":"http://x.org/%s","label":"a b c","gold":"entailment","verdict":"the answer is yes"}\n' \
			$i "$Q" $i $i
	done > "$T/nli.jsonl"
	contam13 --against "$T/nli.jsonl" --stats "$T/stats" -o "$T/out" \
		<(doc a "a b c d 1") 2> "$T/err"
	[ "$(cat "$T/err")" = "contam13: nli: the text is premise" ]
	grep -q '"fields":\["premise"\]' "$T/stats"
	# examples of ids and labels are short, not clean
	printf '{"id":"a b c d e f g h i j k l m n","question":"%s","answerKey":"A","url":"http://x.org/a/b/c/d/e/f/g"}\n' \
		"Where is the otter?" > "$T/q.jsonl"
	contam13 -q --against "$T/q.jsonl" --stats "$T/stats" -o "$T/out" \
		<(doc a "x")
	grep -q '"examples":1,"short":1,"dirty":0,"clean":0,' "$T/stats"
	# Chinese is prose without spaces
	printf '{"question":"小明有三个苹果他又得到五个","label":"对"}\n' > "$T/zh.jsonl"
	contam13 --against "$T/zh.jsonl" --stats "$T/stats" -o "$T/out" \
		<(doc a "x")
	grep -q '"fields":\["question"\]' "$T/stats"
	grep -q '"short":0,"dirty":0,"clean":1,' "$T/stats"
}

@test "a named field without a string in any example is status 2" {
	cat > "$T/q.jsonl" <<-END
	{"question":"$no","n":5,"m":[{"t":"$Q"},[{"t":"$C"}]]}
	{"question":"$Q","e":""}
	END
	doc c "$C" > "$T/docs"
	for f in queston question,n question,m.t m question.x m[]; do
		run -2 contam13 --against "$T/q.jsonl" --bench-fields "$f" \
			-o "$T/out" "$T/docs"
		[[ "$output" == "contam13: $T/q.jsonl: no example has a string in the field"*"${f##*,} (strings are in question, m[].t, e)" ]]
		[ ! -e "$T/out" ]
	done
	run -1 contam13 --check --against "$T/q.jsonl" --bench-fields \
		'm[].t,e' "$T/docs"
	# of several benchmarks one must have it
	printf '{"ctx":"%s"}\n' "$C" > "$T/c.jsonl"
	run -1 contam13 --check --against "$T/q.jsonl" --against "$T/c.jsonl" \
		--bench-fields question,ctx "$T/docs"
	run -2 contam13 --against "$T/q.jsonl" --against "$T/c.jsonl" \
		--bench-fields question,ctx,goal "$T/docs"
	[[ "$output" == *"no example of 2 benchmarks has a string in the field goal"* ]]
}
