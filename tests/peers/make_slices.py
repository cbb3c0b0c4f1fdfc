#!/usr/bin/env python3
"""Cut small parts out of larger JSON Lines files for tests/data/text.

usage: make_slices.py SOURCE OUT

SOURCE is a folder with text/ multi/ code/ as described in
tests/data/README.md.  A part is the documents with the smallest SHA-1 of
"FILE ID", up to a number of bytes, in the order of the source file: the same
choice wherever and whenever it is made.
"""
import hashlib
import io
import json
import os
import subprocess
import sys

PARTS = [  # source file, bytes of JSON Lines, longest line
    ("text/novels", 400_000, 40_000),
    ("text/digitalgov", 200_000, 40_000),
    ("text/sqlite_doc", 150_000, 60_000),
    ("multi/udhr", 900_000, 60_000),
    ("multi/soseki_neko", 120_000, 60_000),
    ("multi/emoji_names", 150_000, 60_000),
    ("code/python", 250_000, 60_000),
    ("code/rust", 150_000, 40_000),
]


def main(source, out):
    os.makedirs(out, exist_ok=True)
    for name, limit, longest in PARTS:
        raw = subprocess.run(["zstd", "-dcq", f"{source}/{name}.jsonl.zst"],
                             check=True, stdout=subprocess.PIPE).stdout
        lines = raw.splitlines(keepends=True) if b"\r" not in raw else \
            io.BytesIO(raw).readlines()
        keyed = []
        for i, line in enumerate(lines):
            key = f"{name} {json.loads(line)['id']}".encode()
            keyed.append((hashlib.sha1(key).digest(), i, line))
        kept, total = [], 0
        for _, i, line in sorted(keyed):
            if len(line) <= longest and total + len(line) <= limit:
                kept.append((i, line))
                total += len(line)
        kept.sort()
        to = f"{out}/{os.path.basename(name)}.jsonl.zst"
        subprocess.run(["zstd", "-19", "-q", "-f", "-o", to], check=True,
                       input=b"".join(line for _, line in kept))
        print(to, len(kept), total, os.path.getsize(to), sep="\t")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__.split("\n\n")[1])
    main(*sys.argv[1:])
