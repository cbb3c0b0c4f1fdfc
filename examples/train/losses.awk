# losses.awk: print about twelve steps and every evaluation of a training log
# as a table.  usage: awk -f losses.awk run/train.jsonl
# The log has one JSON object per line (trainlog.5), so match() finds keys.

function num(key,    s) {
	if (!match($0, "\"" key "\":[-+0-9.eE]+"))
		return "-"
	s = substr($0, RSTART, RLENGTH)
	sub(/^[^:]*:/, "", s)
	return s
}

/"type":"step"/ {
	n++
	line[n] = sprintf("%6d  %8.4f  %9.2e  %10d  %8d", num("step"),
		num("loss"), num("lr"), num("tokens"), num("tokens_per_s"))
}

/"type":"eval"/ {
	eval = eval sprintf("%6d  %8.4f  %.4f bits per byte\n", num("step"),
		num("loss"), num("bits_per_byte"))
}

END {
	if (n == 0) {
		print "no steps in this log" > "/dev/stderr"
		exit 1
	}
	printf "%6s  %8s  %9s  %10s  %8s\n", "step", "loss", "lr",
		"tokens", "tokens/s"
	for (i = 1; i <= n; i++)
		if (i == 1 || i == n || (i - 1) % int(n / 12 + 1) == 0)
			print line[i]
	if (eval != "")
		printf "held-out text:\n%s", eval
}
