#!/usr/bin/env python3
"""What rensa needs for the candidates of dedup --near.

usage: bench_dedup.py DOCS.jsonl

R-MinHash of 112 hashes over word 5-grams, 14 bands, words by a regular
expression, as its README shows; pairs are taken as they come, not verified.
Prints {"cpu_s","wall_s","peak_mb","kept"} of the whole process.
"""
import json
import re
import resource
import sys
import time

import rensa

start = time.monotonic()
find = re.compile(r"[^\W_]+").findall
lsh = rensa.RMinHashLSH(threshold=0.8, num_perm=112, num_bands=14)
kept = 0
with open(sys.argv[1], encoding="utf-8", newline="\n") as f:
    for i, line in enumerate(f):
        w = find(json.loads(line)["text"].lower())
        m = rensa.RMinHash(num_perm=112, seed=1)
        m.update([" ".join(w[k:k + 5]) for k in range(max(1, len(w) - 4))])
        kept += not lsh.query(m)
        lsh.insert(i, m)
use = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({"cpu_s": use.ru_utime + use.ru_stime,
                  "wall_s": time.monotonic() - start,
                  "peak_mb": use.ru_maxrss / 1024, "kept": kept}))
