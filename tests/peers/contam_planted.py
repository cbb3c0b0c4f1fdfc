#!/usr/bin/env python3
"""Copies of benchmark examples, changed and hidden in documents: all found?

usage: contam_planted.py BIN N DOCS BENCH...    (plain or .zst, .jsonl; text)

Examples of 13 words or more, N of them drawn from all benchmarks, are wrapped
at other places, written in other case and other punctuation, and put at the
start, in the middle and at the end of documents that share nothing with any
benchmark. Each must be found in its document, with every other example that
has 13 of its words in a row, and nothing else. Needs Python alone; status 1
when a copy is missed or something else found.
"""
import json
import os
import random
import subprocess
import sys
import tempfile

from contam_naive import grams, lines, name, words


def change(text, how, rng):
    parts = text.split()
    if how == 0:                                    # wrapped
        return "".join(w + rng.choice(" \n") for w in parts).strip()
    if how == 1:                                    # case
        text = rng.choice([text.upper(), text.lower(), text.title()])
        return text
    if how == 2:                                    # punctuation
        gaps = [" ", ", ", " -- ", "; ", ' "', "' ", " * ", "_", "\u2026 "]
        return "".join(rng.choice(gaps) + w for w in parts) + "!"
    return change(change(change(text, 1, rng), 0, rng), 2, rng)


def main():
    bin, count, docs, *benches = sys.argv[1:]
    rng = random.Random(5)
    examples, index = [], {}
    for path in benches:
        for x in lines(path):
            key = (name(path), str(x["id"]))
            examples.append((key, x["text"]))
            for g in grams(x["text"], 13):
                index.setdefault(g, set()).add(key)
    long = [x for x in examples if len(words(x[1])) >= 13]
    picked = rng.sample(long, int(count))
    hosts = [d["text"] for d in lines(docs)
             if not any(g in index for g in grams(d["text"], 13))]
    want, made = set(), []
    for i, (key, text) in enumerate(picked):
        copy = change(text, i % 4, rng)
        if words(copy) != words(text):              # as with German sharp s
            copy = text
        host = hosts[i % len(hosts)].split()
        at = [0, len(host) // 2, len(host)][i // 4 % 3]
        whole = " ".join(host[:at] + ["|"] + [copy] + ["|"] + host[at:])
        made.append({"id": str(i), "text": whole})
        want.add((str(i),) + key)
        want |= {(str(i),) + k for g in grams(text, 13) for k in index[g]}
        # what stands across a seam is no fault of ours
        want |= {(str(i),) + k for g in grams(whole, 13)
                 for k in index.get(g, ())}
    made += [{"id": "host%d" % i, "text": t} for i, t in enumerate(hosts)]
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "docs.jsonl")
        with open(path, "w", encoding="utf-8") as f:
            f.writelines(json.dumps(d) + "\n" for d in made)
        against = [a for p in benches for a in ("--against", p)]
        out = subprocess.run([bin + "/contam13", "-q", "--list", "-o",
                              "/dev/null", "--report", "-"] + against +
                             [path], check=True, stdout=subprocess.PIPE)
    got = set()
    for line in out.stdout.decode().split("\n"):
        if line:
            x = json.loads(line)
            got.add((x["id"], x["benchmark"], x["example"]))
    for x in sorted(want ^ got):
        print("missed" if x in want else "made up", *x)
    print(len(picked), "copies of", len({k[0] for k, _ in picked}),
          "benchmarks in", len(hosts), "documents:", len(got), "pairs")
    return want != got


if __name__ == "__main__":
    sys.exit(main())
