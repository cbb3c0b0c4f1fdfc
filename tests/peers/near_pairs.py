#!/usr/bin/env python3
"""dedup --near beside all pairs of a corpus.

usage: near_pairs.py BIN FILE.jsonl.zst...

Jaccard similarity of every pair, exactly, from word tuples (no hash): what is
dropped must be connected to what it duplicates by pairs of 0.8 or more, with
the similarity that is true, and what is missed must be as rare as the S-curve
says (five standard deviations).  Texts with ids that come twice are left out.
"""
import collections
import json
import math
import subprocess
import sys
import tempfile

from make_words import words

N, BANDS, ROWS, LEAST = 5, 14, 8, 0.8


def shingles(w):
    if not w:
        return frozenset()
    return frozenset(tuple(w[i:i + N]) for i in range(max(1, len(w) - N + 1)))


def first(parent, i):
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


def all_pairs(sets):
    parent = list(range(len(sets)))
    once, where, pairs = {}, collections.defaultdict(list), []

    def join(a, b):
        a, b = sorted((first(parent, a), first(parent, b)))
        parent[b] = a
    for i, s in enumerate(sets):
        if s and s in once:
            join(once[s], i)
        if not s or s in once:
            continue
        once[s] = i
        common = collections.Counter(j for x in s for j in where[x])
        for x in s:
            where[x].append(i)
        for j, n in common.items():
            sim = n / (len(s) + len(sets[j]) - n)
            if sim >= LEAST:
                pairs.append(sim)
                join(j, i)
    return parent, pairs


def check(path, binary):
    raw = subprocess.run(["zstd", "-dcq", path], check=True,
                         stdout=subprocess.PIPE).stdout
    docs = [json.loads(x) for x in raw.splitlines()]
    place = {str(d["id"]): i for i, d in enumerate(docs)}
    assert len(place) == len(docs), "ids come twice"
    sets = [shingles(words(d["text"])) for d in docs]
    parent, pairs = all_pairs(sets)
    with tempfile.NamedTemporaryFile() as report:
        subprocess.run([binary + "/dedup", "--near", "--report", report.name,
                        "-o", "/dev/null", path], check=True)
        got = [json.loads(x) for x in open(report.name)]
    for r in got:
        a, b = place[r["duplicate_of"]], place[r["id"]]
        assert first(parent, a) == first(parent, b), ("false", r)
        sim = len(sets[a] & sets[b]) / len(sets[a] | sets[b])
        assert sim == r["similarity"], ("similarity", sim, r)
    want = sum(first(parent, i) != i for i in range(len(docs)))
    miss = [(1 - s ** ROWS) ** BANDS for s in pairs]
    bound = sum(miss) + 5 * math.sqrt(sum(m * (1 - m) for m in miss)) + 1
    assert 0 <= want - len(got) <= bound, (want, len(got), bound)
    return "%s: %d of %d dropped, %d pairs, %d missed (%.1f expected)" % (
        path.rsplit("/", 1)[-1], len(got), len(docs), len(pairs),
        want - len(got), sum(miss))


for name in sys.argv[2:]:
    print(check(name, sys.argv[1]))
