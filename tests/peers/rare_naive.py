#!/usr/bin/env python3
"""Counts of tok-scan-rare against a plain count of the same ids.

usage: rare_naive.py BIN TOKENIZER FILE...

Every FILE of documents is packed with the tokenizer twice: as datatrove's
shards, which are bare numbers and document ends that numpy reads, and as
shards of our own, one folder a file.  Of all files together tok-scan-rare
must say of each id how often it stands there, in how many documents, the
share of the one with most of it and which that is, from both.
Needs numpy.
"""
import glob
import json
import os
import subprocess
import sys
import tempfile

import numpy as np


def documents(folder, width):
    """The ids of each document of datatrove's shards."""
    for path in sorted(glob.glob(folder + "/*.ds")):
        ids = np.fromfile(path, "<u%d" % width)
        start = 0
        for end in np.fromfile(path + ".index", "<u8"):
            yield ids[start:int(end)]
            start = int(end)
        assert start == len(ids), path


def naive(folders, width, n):
    count, docs = np.zeros(n, np.int64), np.zeros(n, np.int64)
    top, top_doc = np.zeros(n, np.int64), np.zeros(n, np.int64)
    total = 0
    for folder in folders:
        for ids in documents(folder, width):
            have, times = np.unique(ids, return_counts=True)
            count[have] += times
            docs[have] += 1
            more = times > top[have]
            top[have[more]] = times[more]
            top_doc[have[more]] = total
            total += 1
    return count, docs, top, top_doc, total


def scan(bin_dir, tokenizer, folders, extra):
    out = subprocess.run([bin_dir + "/tok-scan-rare", "--tokenizer", tokenizer,
                          "--json", *extra, *folders], check=True,
                         stdout=subprocess.PIPE).stdout
    return [json.loads(line) for line in out.splitlines()]


def compare(got, want, names, kind):
    count, docs, top, top_doc, total = want
    bad = 0
    for i, line in enumerate(got):
        assert line["token"] == i
        ok = line["count"] == count[i] and line["docs"] == docs[i]
        if count[i]:
            ok = ok and abs(line["top_share"] - top[i] / count[i]) < 1e-12
            if names:
                ok = ok and line["top_doc"] == names[top_doc[i]]
        if not ok:
            bad += 1
            if bad < 5:
                print("FAIL", kind, line, count[i], docs[i], top[i])
    print(f"{kind}: {len(got)} ids, {total} documents, {count.sum()} tokens, "
          f"{bad} differ")
    return bad


def main():
    bin_dir, tokenizer, files = sys.argv[1], sys.argv[2], sys.argv[3:]
    work = tempfile.TemporaryDirectory()
    own, theirs, names = [], [], []
    common = ["-q", "--tokenizer", tokenizer, "--no-bos", "--no-eos"]
    for k, path in enumerate(files):
        for kind, list_ in (("assay", own), ("datatrove", theirs)):
            out = f"{work.name}/{kind}{k:03d}"
            pack = [bin_dir + "/pack", *common,
                    "--shard-format", kind, "-o", out, path]
            subprocess.run(pack, check=True)
            list_.append(out)
        lines = subprocess.run([bin_dir + "/pack", *common,
                                "--shard-format", "jsonl", path],
                               check=True, stdout=subprocess.PIPE).stdout
        names += [json.loads(x)["id"] for x in lines.splitlines()]
    first = scan(bin_dir, tokenizer, own, [])
    width = 2 if len(first) <= 65536 else 4
    want = naive(theirs, width, len(first))
    bad = compare(first, want, names if len(names) == want[4] else None,
                  "own shards")
    bad += compare(scan(bin_dir, tokenizer, theirs,
                        ["--shard-format", "datatrove"]), want, None,
                   "datatrove's")
    work.cleanup()
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
