#!/usr/bin/env python3
"""dedup --spans beside a dictionary of all windows.

usage: spans_naive.py BIN LEAST FILE.jsonl.zst...

Every window of LEAST bytes or a little more, at character bounds, is looked up
in the windows before it; the texts that are left must be dedup's.
"""
import json
import subprocess
import sys
import tempfile


def cut(texts, least):
    """Texts without copies; windows by Python's own hash of their bytes."""
    seen = {}
    for k, text in enumerate(texts):
        t = text.encode()
        bounds = [i for i in range(len(t)) if t[i] & 0xc0 != 0x80] + [len(t)]
        mark = set(bounds)
        gone = bytearray(len(t))
        for j, s in enumerate(bounds[:-1]):
            found = False
            for e in range(s + least, min(s + least + 4, len(t) + 1)):
                if e not in mark:
                    continue
                if found and e - s >= least + bounds[j + 1] - s:
                    break
                found = True
                key = hash(t[s:e])
                doc, at = seen.setdefault(key, (k, s))
                if doc < k or at + e - s <= s:
                    gone[s:e] = b"\1" * (e - s)
        yield bytes(c for c, g in zip(t, gone) if not g).decode()


binary, least = sys.argv[1], int(sys.argv[2])
for path in sys.argv[3:]:
    raw = subprocess.run(["zstd", "-dcq", path], check=True,
                         stdout=subprocess.PIPE).stdout
    texts = [json.loads(x)["text"] for x in raw.splitlines()]
    out = subprocess.run([binary + "/dedup", "--spans", "--span-bytes",
                          str(least), "--min-left", "0", path], check=True,
                         stdout=subprocess.PIPE).stdout
    got = [json.loads(x)["text"] for x in out.splitlines()]
    assert len(got) == len(texts)
    left = 0
    for i, want in enumerate(cut(texts, least)):
        assert got[i] == want, (path, i)
        left += len(want)
    print("%s: %d of %d characters left" % (
        path.rsplit("/", 1)[-1], left, sum(map(len, texts))))
