#!/usr/bin/env python3
"""What a plain Python set of word grams needs for contam13's work.

usage: bench_contam.py N KEY DOCS.jsonl BENCH...    (.jsonl or .jsonl.zst)

The program that most people write: lower case, words by a regular expression,
every run of N words of the benchmarks (field KEY) in one set, every run of
each document (field text) looked up.  It says only which documents have a
hit, not of which example.  Prints {"cpu_s","wall_s","peak_mb","hits"} of the
whole process; needs Python alone.
"""
import json
import re
import resource
import subprocess
import sys
import time


def texts(path, key):
    if path.endswith(".zst"):
        data = subprocess.run(["zstd", "-dcq", path], check=True,
                              stdout=subprocess.PIPE).stdout
        for line in data.split(b"\n"):
            if line:
                yield json.loads(line)[key]
        return
    with open(path, encoding="utf-8", newline="\n") as f:
        for line in f:
            yield json.loads(line)[key]


def main():
    n, key, docs, benches = (int(sys.argv[1]), sys.argv[2], sys.argv[3],
                             sys.argv[4:])
    start = time.monotonic()
    find = re.compile(r"[^\W_]+").findall
    index = set()
    for path in benches:
        for t in texts(path, key):
            w = find(t.lower())
            index.update(" ".join(w[i:i + n]) for i in range(len(w) - n + 1))
    hits = 0
    for t in texts(docs, "text"):
        w = find(t.lower())
        hits += any(" ".join(w[i:i + n]) in index
                    for i in range(len(w) - n + 1))
    u = resource.getrusage(resource.RUSAGE_SELF)
    print(json.dumps({"cpu_s": round(u.ru_utime + u.ru_stime, 3),
                      "wall_s": round(time.monotonic() - start, 3),
                      "peak_mb": round(u.ru_maxrss / 1024, 1),
                      "grams": len(index), "hits": hits}))


main()
