#!/usr/bin/env bats
# What holds for every program.  PROGRAM names it; `make manners T=NAME` and
# tests/run set it.  Its command lines are in tests/cli/samples/PROGRAM.

bats_require_minimum_version 1.5.0

setup_file() {
	[ -n "$PROGRAM" ] || { echo "set PROGRAM" >&2; return 1; }
	mkdir "$BATS_FILE_TMPDIR/inputs"
	cd "$BATS_FILE_TMPDIR/inputs"
	. "$BATS_TEST_DIRNAME/prepare.bash"
	start_sample "$PROGRAM"
}

setup() {
	cp -a "$BATS_FILE_TMPDIR/inputs/." "$BATS_TEST_TMPDIR"
	cd "$BATS_TEST_TMPDIR"
	. "$BATS_TEST_DIRNAME/prepare.bash"
	common_files() { :; }
	start_sample_again
	man=$ROOT/man/$PROGRAM.1
}

# The variables, without making the files again.
start_sample_again() {
	. "$ROOT/tests/cli/prepare.bash"
	common_files() { :; }
	tok-train() { :; }
	pack() { :; }
	start_sample "$PROGRAM" > /dev/null
	unset -f tok-train pack
}

# Run a command line; its status in $status, stderr in the file err.
sh_run() {
	status=0
	bash -c "$1" 2> err || status=$?
}

needs() {
	[ -n "$1" ] || skip "$PROGRAM $2"
}

# Status 2, and a message that begins with the program's name.
must_refuse() {
	[ "$status" -eq 2 ] || { echo "status $status"; cat err; return 1; }
	[ "$(head -c "${#PROGRAM}" err)" = "$PROGRAM" ] || { cat err; return 1; }
}

temporary_files() {
	find . -name '.*.tmp*' -o -name '.*.set'
}

no_temporary_files() {
	[ -z "$(temporary_files)" ] || { find .; return 1; }
}

@test "--help and -h: usage on stdout, status 0" {
	run --separate-stderr "$PROGRAM" --help
	[ "$status" -eq 0 ]
	[ "${lines[0]#usage: $PROGRAM}" != "${lines[0]}" ]
	[ -z "$stderr" ]
	help=$output
	run "$PROGRAM" -h
	[ "$output" = "$help" ]
	run grep -E '^.{81}' <<< "$help"
	echo "$output"
	[ "$status" -eq 1 ]
}

@test "--version: name, number, Unicode version" {
	run --separate-stderr "$PROGRAM" --version
	[ "$status" -eq 0 ]
	[[ $output =~ ^$PROGRAM\ [0-9]+\.[0-9]+\.[0-9]+\ .*Unicode\ 16\.0 ]]
	[ -z "$stderr" ]
}

@test "an unknown option: status 2, message and usage on stderr" {
	for o in --no-such-option -Z --thread; do
		sh_run "$PROGRAM $o < /dev/null > got"
		must_refuse
		grep -q "^usage: $PROGRAM" err
		[ ! -s got ]
	done
}

@test "a bad number of threads: status 2" {
	for n in 0 -1 1.5 x '' 99999999999999999999; do
		sh_run "$PROGRAM -j '$n' < /dev/null"
		must_refuse
	done
}

@test "a full device: status 2" {
	for o in --help --version; do
		sh_run "$PROGRAM $o > /dev/full"
		must_refuse
		grep -q 'No space left' err
	done
	[ -z "$TO_STDOUT" ] || {
		sh_run "$TO_STDOUT > /dev/full"
		must_refuse
		grep -q 'No space left' err
	}
}

@test "outputs are compressed by their names, other formats are refused" {
	needs "$TO_FILE" "does not write a file"
	rm -rf out report
	bash -c "$TO_FILE"
	[ -f out ] || skip "$PROGRAM writes a folder"
	[ ! -e report ] || mv report report.plain
	for z in zst gz; do
		c=${TO_FILE//-o out/-o out.$z}
		c=${c//--report report/--report report.$z}
		for j in 1 2 7; do
			bash -c "${c/$PROGRAM/$PROGRAM -j $j}"
			sha256sum out.$z > sum.$j
			cmp sum.1 sum.$j
		done
		case $z in
		zst) zstd -qt out.zst; zstd -dcq out.zst | cmp - out ;;
		gz) gzip -t out.gz; gzip -dc out.gz | cmp - out ;;
		esac
		[ ! -e report.plain ] || case $z in
		zst) zstd -dcq report.zst | cmp - report.plain ;;
		gz) gzip -dc report.gz | cmp - report.plain ;;
		esac
	done
	for z in bz2 xz lz4 zip parquet; do
		sh_run "${TO_FILE//-o out/-o out.$z}"
		must_refuse
		grep -q "out.$z: cannot write .$z" err
		[ ! -e out.$z ]
		[[ $TO_FILE = *--report* ]] || continue
		sh_run "${TO_FILE//--report report/--report r.$z}"
		must_refuse
		[ ! -e r.$z ]
	done
	no_temporary_files
}

@test "what a killed run left is removed by the next one" {
	needs "$ON_DOCS" "does not read documents"
	rm -rf out fifo
	mkfifo fifo
	exec 9<> fifo
	head -c 20000 docs.jsonl >&9
	for _ in 1 2; do	# the second removes what the first left
		bash -c "exec $FROM_STDIN" < fifo > got 2> err 9>&- 3>&- &
		sleep 0.5
		kill -KILL $!
		wait $! 2> err || :
		[ "$(temporary_files | wc -l)" = 1 ] || { find .; false; }
	done
	exec 9>&-
	bash -c "$FROM_STDIN" < docs.jsonl
	no_temporary_files
}

# The limit holds for the program alone: its messages go through a pipe.
under_limit() {
	run bash -c "set -o pipefail
		(ulimit -f 0; $1) 2>&1 > ${2:-/dev/null} | cat > err"
}

@test "a file size limit: status 2, the old output is intact" {
	if [ -n "$TO_STDOUT" ]; then
		under_limit "$TO_STDOUT" got
		must_refuse
		grep -q 'File too large' err
	fi
	if [ -n "$TO_FILE" ]; then
		rm -rf out old
		[ -n "$NO_OLD" ] || {
			bash -c "$TO_FILE"
			cp -a out old
		}
		under_limit "$TO_FILE"
		must_refuse
		grep -q 'File too large' err
		[ -n "$NO_OLD" ] || diff -r old out
		no_temporary_files
	fi
}

@test "stdout is closed: status 2" {
	needs "$TO_STDOUT" "does not write to stdout"
	sh_run "$TO_STDOUT >&-"
	must_refuse
}

@test "the reader is gone: status 141" {
	for c in "$PROGRAM --help" "$PROGRAM --version" "$TO_STDOUT"; do
		[ -n "$c" ] || continue
		sh_run "{ sleep 0.2; env --default-signal=PIPE bash -c '$c'
			echo \$? > got; } | true"
		[ "$(cat got)" = 141 ] || { echo "$c: $(cat got)"; false; }
	done
}

@test "no FILE and stdin is a terminal: status 2 and the usage line" {
	needs "$FROM_STDIN" "does not read stdin"
	has_terminal ||
		skip "no terminal is to be had, as in a chroot without /dev/pts"
	sh_run "timeout 20 script -qefc '${FROM_STDIN//\'/\'\\\'\'}' /dev/null \
		< /dev/null > got"
	[ "$status" -eq 2 ] || { echo "status $status"; cat got; false; }
	grep -q "usage: $PROGRAM" got
}

@test "success prints nothing on stderr if that is not a terminal" {
	for c in "$TO_STDOUT" "$TO_FILE"; do
		[ -n "$c" ] || continue
		sh_run "$c > /dev/null"
		[ "$status" -eq 0 ] || { cat err; false; }
		[ ! -s err ] || { cat err; false; }
		rm -rf out
	done
}

@test "a signal ends it as that signal; the old output is intact" {
	local n=0
	needs "$FROM_STDIN$INTERRUPT" "has no sample to interrupt"
	for sig in INT TERM HUP; do
		rm -rf out old fifo
		if [ -z "$INTERRUPT" ] && [ -n "$TO_FILE" ]; then
			bash -c "$TO_FILE"
			cp -a out old
		fi
		mkfifo fifo
		# The fifo stays open, so the program waits for more.
		exec 9<> fifo
		[ -n "$INTERRUPT" ] || head -c 20000 "${STREAM:-docs.jsonl}" >&9
		env --default-signal=$sig bash -c \
			"exec ${INTERRUPT:-$FROM_STDIN}" < fifo > got 2> err 9>&- 3>&- &
		sleep "${INTERRUPT_AFTER:-0.5}"
		kill -$sig $!
		status=0
		wait $! || status=$?
		exec 9>&-
		n=$(kill -l $sig)
		[ "$status" -eq $((128 + n)) ] || {
			echo "$sig: status $status"; cat err; false; }
		[ ! -e old ] || diff -r old out
		no_temporary_files
	done
}

@test "-j 1, 2 and 7 give the same bytes" {
	for j in 1 2 7; do
		if [ -n "$TO_STDOUT" ]; then
			bash -c "${TO_STDOUT/$PROGRAM/$PROGRAM -j $j}" > "got.$j"
			cmp got.1 "got.$j"
			[ -s "got.$j" ]
		fi
		if [ -n "$TO_FILE" ]; then
			rm -rf out
			bash -c "${TO_FILE/$PROGRAM/$PROGRAM -j $j}" > /dev/null
			mv out "out.$j"
			same out.1 "out.$j"
		fi
	done
}

@test "truncated input: status 2, the old output is intact" {
	if [ -n "$ON_DOCS" ]; then
		zstd -q --check docs.jsonl -o docs.zst
		gzip -k docs.jsonl
		echo old > was
		for f in docs.zst docs.jsonl.gz docs.jsonl; do
			head -c $(($(stat -c %s $f) * 2 / 3)) $f > cut
			for c in "$ON_DOCS cut" "$FROM_STDIN < cut"; do
				[ "$c" != " < cut" ] || continue
				[ -d out ] || echo old > out
				sh_run "$c > /dev/null"
				must_refuse
				[ -d out ] || cmp was out
				rm -rf out
			done
		done
	fi
	for f in $DAMAGE; do
		cp -a "$f" saved
		truncate -s $(($(stat -c %s "$f") * 2 / 3)) "$f"
		rm -rf out
		sh_run "${TO_STDOUT:-$TO_FILE} > /dev/null"
		must_refuse || { echo "with $f cut"; false; }
		[ ! -e out ] || { echo "with $f cut: left out"; false; }
		rm -rf "$f"
		mv saved "$f"
	done
	no_temporary_files
	needs "$ON_DOCS$DAMAGE" "has nothing to cut"
}

# tests/data/nasty.tsv: file, what it is, good documents, bad lines.
# what: ok, bad (lines: --on-bad decides), error (the stream itself).
@test "malformed and odd files: the documented outcome" {
	needs "$ON_DOCS" "does not read documents"
	while IFS=$'\t' read -r file what good bad; do
		[ "$file" != file ] || continue
		rm -rf out stats.json
		sh_run "$ON_DOCS -- '$NASTY/$file' > /dev/null"
		if [ "$what" = ok ]; then
			[ "$status" -eq 0 ] || {
				echo "$file: $status"; cat err; false; }
		else
			must_refuse || { echo "$file"; false; }
			grep -qF "$file" err || { echo "$file"; cat err; false; }
			[ "$(grep -c '' err)" -eq 1 ] || { cat err; false; }
		fi
		rm -rf out
		sh_run "$ON_DOCS --on-bad skip --stats stats.json -- \
			'$NASTY/$file' > /dev/null"
		if [ "$what" = error ]; then
			must_refuse || { echo "$file"; false; }
			continue
		fi
		[ "$status" -eq 0 ] || { echo "$file: $status"; cat err; false; }
		# in = kept + bad: nothing is lost uncounted
		grep -q "\"docs_bad\": *$bad[,}]" stats.json &&
			grep -q "\"docs_in\": *$((good + bad))[,}]" stats.json || {
			echo "$file: want $good good, $bad bad"
			cat stats.json
			false
		}
	done < "$ROOT/tests/cli/nasty.tsv"
}

@test "out of memory is never a bad line" {
	needs "$ON_DOCS" "does not read documents"
	if nm "$BIN/$PROGRAM" 2> err | grep -q "__[at]san_init"; then
		skip "a sanitizer's own memory is not bounded"
	fi
	{
		head -n 1 docs.jsonl
		printf '{"text":"'
		yes 'thirty megabytes of text ' | tr -d '\n' | head -c 30000000
		echo '"}'
	} > long.jsonl
	for what in skip pass; do
		for j in 1 2; do
			rm -rf out
			sh_run "ulimit -v 200000; $ON_DOCS -j $j --on-bad $what \
				long.jsonl > got"
			must_refuse
			grep -q 'out of memory' err
			[ ! -s got ]
			# a folder may have been made for shards
			[ ! -e out ] || [ -z "$(ls -A out)" ]
			no_temporary_files
		done
	done
}

@test "an input without documents: a warning, and an answer for --check" {
	needs "$ON_DOCS" "does not read documents"
	printf '\n \n' > none.jsonl
	for c in "$ON_DOCS none.jsonl" "$ON_DOCS none.jsonl none.jsonl" \
		"$ON_DOCS < none.jsonl"; do
		rm -rf out
		sh_run "$c > /dev/null"
		[ "$status" -eq 0 ] || { cat err; false; }
		[ "$(grep -c 'warning: .*no documents' err)" = 1 ]
		sh_run "${c/$PROGRAM/$PROGRAM -q} > /dev/null"
		run ! grep -q 'no documents' err
		"$PROGRAM" --options | grep -qxe --check || continue
		sh_run "${c/$PROGRAM/$PROGRAM --check} > /dev/null"
		[ "$status" -eq 1 ]
	done
}

# The options -x and --name of the list items' Fl macros in a page.
options_of_page() {
	grep '^\.It' "$1" | grep -oE 'Fl [^ ,;=]+' | sed -E 's/^Fl /-/' | sort -u
}

# Options common to several programs may be described in assay(7) alone.
@test "the option table and the manual pages agree" {
	[ -e "$man" ] || { echo "no man/$PROGRAM.1"; false; }
	"$PROGRAM" --options > table
	options_of_page "$man" > in_man
	options_of_page "$ROOT/man/assay.7" | sort -u - in_man > in_either
	tr ' ' '\n' < table | sort -u > in_table
	comm -23 in_man in_table > extra
	[ ! -s extra ] || { echo "only in the manual:"; cat extra; false; }
	while read -r names; do
		case $names in
		*--no-*)	# either form documents both
			for n in $names; do
				grep -qxe "$n" in_either && continue 2
			done
			echo "not in the manual: $names"
			false ;;
		esac
		for n in $names; do
			grep -qxe "$n" in_either || {
				echo "not in the manual: $n"; false; }
		done
	done < table
}

@test "a file or text is not given twice unobserved" {
	local n=0
	while read -r name _; do
		run -2 "$PROGRAM" "$name=a" "$name=b" < /dev/null
		case $output in
		*"$name is given twice, as 'a' and 'b'"*) n=$((n + 1)) ;;
		# of numbers, choices and switches the last one counts
		*"'a' is not an integer"* | *"'a' is not a number"*) ;;
		*"'a' is not one of "* | *"takes no value"*) ;;
		*)	# only options of which each value is used
			name=${name#-} perl -0ne 'exit !/Fl\ \Q$ENV{name}\E\ Ar
				(?:(?!\n\.It\ ).)*repeat/sx' "$man" ||
				{ echo "$name: $output"; false; } ;;
		esac
	done < <("$PROGRAM" --options)
	[ $n -gt 0 ]
}

# A chroot without /dev/pts has none, and script(1) may not be installed.
has_terminal() {
	script -qefc true /dev/null < /dev/null > /dev/null 2>&1
}

# Everything that a command line $1 does, in the file seen: digests of its
# output, messages, status and the files it leaves in got/ (without the times
# that `untimed` of the sample removes).
observe() {
	rm -rf got
	mkdir got
	status=0
	bash -c "$1" > got/stdout 2> got/stderr < /dev/null || status=$?
	echo "$status" > got/status
	untimed got
	(cd got && find . -type f -exec sha256sum {} + && find . ! -type f) |
		sort > seen
}

# tests/cli/effects/PROGRAM: each option, alone, after a suitable command line.
@test "every option has an effect" {
	export ROOT
	list=$ROOT/tests/cli/effects/$PROGRAM
	[ -e "$list" ] || { echo "write $list (see the README there)"; false; }
	declare -F untimed > /dev/null || untimed() { :; }
	: > had
	: > idle
	while IFS= read -r line; do
		[[ $line != tty:* ]] || ! has_terminal || line=${line#tty}
		case $line in
		tty:*) base= ;;
		'$ '*)
			bash -c "${line#* }" > made 2>&1 < /dev/null ||
				{ echo "$line"; cat made; false; }
			;;
		': '*)
			base=${line#* }
			observe "$base"
			mv seen before
			observe "$base"	# else anything would be a change
			diff before seen || { echo "$base"; false; }
			;;
		-* | '2 '*)
			[ -n "$base" ] || {
				echo "# no terminal: $PROGRAM $line" >&3
				echo "${line%%[ =]*}" >> had
				continue
			}
			want=[01]
			case $line in '2 '*) want=2; line=${line#2 } ;; esac
			observe "$base $line"
			# instead of the base's file or text
			if grep -q ' is given twice, as ' got/stderr; then
				observe "$(perl -pe "s/ \Q${line%%[ =]*}\E[ =]\
('[^']*'|\S+)//" <<< "$base") $line"
			fi
			[[ $status = $want ]] || {
				echo "$base $line: $status"
				cat got/stderr
				false
			}
			cmp -s before seen && echo "$base $line" >> idle
			echo "${line%%[ =]*}" >> had
			;;
		esac
	done < "$list"
	[ ! -s idle ] || { echo "without effect:"; cat idle; false; }
	# both forms of a switch, one of --name and -n
	"$PROGRAM" --options | grep -vE '^--(threads|help|version)' |
		while read -r names; do
		case $names in
		*--no-*) all=$names ;;
		*) all=${names%% *} ;;
		esac
		for n in $all; do
			grep -qxe "$n" had || echo "$n"
		done
	done > missing
	[ ! -s missing ] || { echo "not in $list:"; cat missing; false; }
}

# By the program's own table (base/args.h).
@test "options that exclude each other are refused" {
	"$PROGRAM" --conflicts > pairs
	[ -s pairs ] || skip "no options exclude each other"
	while read -r line; do
		for order in "$line" "$(sed -E 's/^(.*) (--.*)$/\2 \1/' <<< "$line")"; do
			sh_run "$PROGRAM $order < /dev/null > out"
			must_refuse || { echo "$order"; false; }
			head -n 1 err | grep -qE \
				"^$PROGRAM: --[a-z-]+ and --[a-z-]+ exclude each other$" ||
				{ echo "$order"; cat err; false; }
			[ ! -s out ]
		done
		# neither is refused for that reason by itself
		sh_run "$PROGRAM ${line% --*} < /dev/null > out"
		run ! grep -q 'exclude each other' err
	done < pairs
}

@test "the manual page is clean" {
	command -v mandoc > /dev/null || skip "mandoc is not there"
	mandoc -Tlint -Wstyle "$man" > lint || :
	# Other pages are not installed here, and no date is tracked.
	grep -vE 'referenced manual not found|Mdocdate|operating system' lint \
		> faults || :
	[ ! -s faults ] || { cat faults; false; }
	for s in NAME SYNOPSIS DESCRIPTION 'EXIT STATUS' EXAMPLES 'SEE ALSO'; do
		grep -q "^\.Sh $s" "$man" || { echo "no section $s"; false; }
	done
}

@test "the manual page's EXAMPLES run" {
	"$ROOT/tests/cli/examples-of" "$man" > all
	[ "$(grep -c '^#end' all)" -ge 2 ] || { echo "fewer than two"; false; }
	n=0
	while IFS= read -r line; do
		if [ "$line" != '#end' ]; then
			printf '%s\n' "$line" >> example
			continue
		fi
		n=$((n + 1))
		status=0
		bash -eu -o pipefail example > got 2> err < /dev/null ||
			status=$?
		# head may close the pipe; 1 is an answer
		case $status in
		0 | 141) ;;
		1) grep -qE -e '--check|diff' example || status=bad ;;
		*) status=bad ;;
		esac
		[ "$status" != bad ] || {
			echo "example $n:"; cat example got err; false; }
		rm example
	done < all
}

# What bash completes of the words $2..., the last one; one candidate a line.
completed() {
	bash -c '. ./comp
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
		_assay_${1//-/_}
		printf "%s\n" "${COMPREPLY[@]}"' bash "$PROGRAM" "$@"
}

@test "bash completion: options, values after = too, names with spaces" {
	"$PROGRAM" --completion bash > comp
	bash -n comp
	completed -- > all
	for n in $("$PROGRAM" --options); do
		case $n in --*) grep -qxe "$n" all ;; esac
	done
	[ "$(completed --vers)" = --version ]
	mkdir 'a folder'
	touch 'a folder/a file'
	[ "$(completed -q 'a f')" = 'a folder' ]
	[ "$(completed 'a folder/')" = 'a folder/a file' ]
	[ -z "$(completed --threads = '')" ]
}

@test "zsh and fish completion name every option" {
	"$PROGRAM" --completion zsh > comp.zsh
	"$PROGRAM" --completion fish > comp.fish
	[ "$(head -n 1 comp.zsh)" = "#compdef $PROGRAM" ]
	for n in $("$PROGRAM" --options); do
		case $n in
		--*)	grep -qe "$n[=[]" comp.zsh
			grep -qe "-l ${n#--} " comp.fish ;;
		*)	grep -qe "'$n[+[]" comp.zsh
			grep -qe "-s ${n#-} " comp.fish ;;
		esac
	done
	for shell in zsh fish; do
		if command -v $shell > /dev/null; then
			$shell -n comp.$shell
		fi
	done
	sh_run "$PROGRAM --completion tcsh"
	must_refuse
}
