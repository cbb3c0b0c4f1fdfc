# words.awk: what percentage of the words in a text occur in a corpus?
# usage: zstd -dc corpus.jsonl.zst | awk -f words.awk - samples.txt
# Words are runs of letters in lower case; a word must occur three times in the
# corpus.  Prints the percentage and the other words.

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
		print "no words in the samples" > "/dev/stderr"
		exit 1
	}
	printf "%.1f %% of %d words occur in the corpus\n", \
		100 * known / words, words
	if (odd != "")
		printf "others:%s\n", odd
}
