# words.awk: which share of the words of a text are words of a corpus?
# usage: zstd -dc corpus.jsonl.zst | awk -f words.awk - samples.txt
# Words are runs of letters in lower case; a word of the corpus counts when
# it stands there three times.  Prints the share in percent and what is not.

FNR == 1 {
	part++
}

{
	s = tolower($0)
	if (part == 1)
		gsub(/\\[nrt]/, " ", s)
	gsub(/[^a-z]+/, " ", s)
	n = split(s, w, " ")
	for (i = 1; i <= n; i++)
		if (part == 1)
			count[w[i]]++
		else {
			words++
			if (count[w[i]] >= 3)
				known++
			else
				odd = odd " " w[i]
		}
}

END {
	if (words == 0) {
		print "no word in the samples" > "/dev/stderr"
		exit 1
	}
	printf "%.1f %% of %d words are words of the corpus\n", \
		100 * known / words, words
	if (odd != "")
		printf "not:%s\n", odd
}
