#!/usr/bin/env python3
"""dedup --spans beside a suffix array (libdivsufsort).

usage: spans_sa.py BIN SPANS_SA MEGABYTES bytes|tokens N FILE.jsonl.zst...

The first MEGABYTES of text, documents whole.  More options of dedup are taken
from DEDUP_ARGS.  SPANS_SA is the program made of
spans_sa.c.  All spans of the report must be the ones that follow from the
array.  Tokens are cl100k's pieces, by the published pattern; that needs
Python's regex.
"""
import json
import os
import subprocess
import sys
import tempfile

PIECES = (r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}|"
          r" ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+")


def texts(files, limit):
    total = 0
    for path in files:
        cat = ["zstd", "-dcq", path] if path.endswith(".zst") else ["cat", path]
        with subprocess.Popen(cat, stdout=subprocess.PIPE) as p:
            for line in p.stdout:
                text = json.loads(line)["text"]
                total += len(text.encode())
                if total > limit:
                    p.kill()
                    return
                yield text


def run(*cmd):
    """Its CPU seconds and peak bytes (at least those of this process)."""
    p = subprocess.Popen(cmd)
    _, status, use = os.wait4(p.pid, 0)
    p.returncode = status
    assert status == 0, cmd
    return use.ru_utime + use.ru_stime, use.ru_maxrss * 1024


def elements(docs, unit, out):
    """Write them; returns where they begin in the text, for tokens."""
    if unit == "bytes":
        for text in docs:
            out.write(text.encode() + b"\xff")
        return None
    import regex
    find = regex.compile(PIECES).findall
    number, starts = {}, []
    for text in docs:
        at, row, all_ids = 0, [0], []
        for piece in find(text):
            at += len(piece.encode())
            row.append(at)
            all_ids.append(number.setdefault(piece, len(number)))
        out.write(b"".join(i.to_bytes(3, "big") for i in all_ids)
                  + b"\xff\xff\xff")
        starts.append(row)
    return starts


binary, spans_sa, limit, unit, least = sys.argv[1:6]
with tempfile.TemporaryDirectory() as work:
    docs = 0
    with open(work + "/in", "w", encoding="utf-8") as f:
        for text in texts(sys.argv[6:], int(float(limit) * 1e6)):
            f.write(json.dumps({"id": str(docs), "text": text},
                               ensure_ascii=False) + "\n")
            docs += 1
    more = os.environ.get("DEDUP_ARGS", "").split()
    cpu, peak = run(binary + "/dedup", "-q", "-j", "1", "--spans",
                    "--span-" + unit, least, "--report", work + "/report",
                    "-o", "/dev/null", *more, work + "/in")
    with open(work + "/in", encoding="utf-8", newline="\n") as f, \
            open(work + "/elements", "wb") as out:
        starts = elements((json.loads(line)["text"] for line in f), unit, out)
    with open(work + "/spans", "wb") as f:
        subprocess.run([spans_sa, work + "/elements",
                        "1" if unit == "bytes" else "3", least], check=True,
                       stdout=f)
    got = []
    with open(work + "/report", encoding="utf-8") as f:
        for line in f:
            x = json.loads(line)
            got += [(int(x["id"]), s["start"], s["end"], int(s["first_id"]),
                     s["first_start"]) for s in x["spans"]]
    want = []
    with open(work + "/spans", encoding="utf-8") as f:
        for line in f:
            if line[0] == "#":
                sa_cpu, sa_peak = map(float, line[1:].split())
                continue
            d, s, e, fd, fs = map(int, line.split())
            if starts:
                s, e, fs = starts[d][s], starts[d][e], starts[fd][fs]
            want.append((d, s, e, fd, fs))
    for a, b in zip(got, want):
        assert a == b, ("dedup, suffix array", a, b)
    assert len(got) == len(want), (len(got), len(want))
    print("%d spans in %d documents; dedup %.2f CPU s, %.0f MB; "
          "divsufsort %.2f s, %.0f MB: %.2f of its time" %
          (len(got), docs, cpu, peak / 1e6, sa_cpu, sa_peak / 1e6,
           cpu / sa_cpu))
