#!/usr/bin/env python3
"""contam13 beside a naive program: the same hits, document by document.

usage: contam_naive.py BIN N BENCH... -- DOCS...
	(plain or .zst, .jsonl; field text, of examples and of documents)
usage: contam_naive.py BIN counts BENCH DOCS N MAX_DF SHORT DIRTY
	(field question on both sides)

The naive program splits a text into words as make_words.py does, keeps every run of N words of every example in a dictionary, and looks up each
run of each document. It needs Python alone. Status 1 when a hit differs.
"""
import json
import subprocess
import sys

import make_words


def words(text):
    # ASCII, which most texts are, goes a shorter way with the same result
    if not text.isascii():
        return make_words.words(text)
    return text.lower().translate(SPACES).split()


SPACES = {i: " " for i in range(128) if not chr(i).isalnum()}


def lines(path):
    if path.endswith(".zst"):
        data = subprocess.run(["zstd", "-dcq", path], check=True,
                              stdout=subprocess.PIPE).stdout
    else:
        data = open(path, "rb").read()
    for line in data.decode().split("\n"):
        if line.strip():
            yield json.loads(line)


def grams(text, n):
    w = words(text)
    for i in range(len(w) - n + 1):
        yield " ".join(w[i:i + n])


def name(path):
    return path.split("/")[-1].replace(".zst", "").replace(".jsonl", "")


def whole(bin, n, benches, docs):
    index = {}
    for path in benches:
        for x in lines(path):
            for g in grams(x["text"], n):
                index.setdefault(g, set()).add((name(path), x["id"]))
    want = set()
    for path in docs:
        for d in lines(path):
            for g in grams(d["text"], n):
                for x in index.get(g, ()):
                    want.add((d["id"],) + x)
    against = [a for p in benches for a in ("--against", p)]
    out = subprocess.run([bin + "/contam13", "-q", "--ngram", str(n), "--list",
                          "-o", "/dev/null", "--report", "/dev/stdout"] +
                         against + docs, check=True, stdout=subprocess.PIPE)
    got = set()
    for line in out.stdout.decode().split("\n"):
        if line:
            x = json.loads(line)
            got.add((x["id"], x["benchmark"], x["example"]))
    for x in sorted(want ^ got):
        print("missed" if x in want else "made up", *x)
    print(len(got), "pairs of", len({x[0] for x in got}), "documents")
    return want != got


def counts(bin, bench, docs, n, max_df, short, dirty):
    out = subprocess.run([bin + "/contam13", "-q", "--against", bench,
                          "--bench-fields", "question", "--text-key",
                          "question", "--ngram", n, "--max-df", max_df,
                          "--list", "-o", "/dev/null", "--json", "--table",
                          "/dev/stdout", docs],
                         check=True, stdout=subprocess.PIPE)
    t = json.loads(out.stdout)
    print(t["examples"], "examples", t["short"], "short", t["dirty"], "dirty")
    return (t["short"], t["dirty"]) != (int(short), int(dirty))


def main():
    bin, what, *rest = sys.argv[1:]
    if what == "counts":
        return counts(bin, *rest)
    i = rest.index("--")
    return whole(bin, int(what), rest[:i], rest[i + 1:])


if __name__ == "__main__":
    sys.exit(main())
