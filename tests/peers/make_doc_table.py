#!/usr/bin/env python3
"""What the files of tests/data/nasty hold, by Python's json module.

Prints the rows of the table in tests/unit/doc.c: file, good documents, bad
lines, lone surrogates replaced (text, id, source), bytes of the texts, sum of
their XXH3-64 mod 2^64. Needs python3, zstd and libxxhash.so.0.
"""
import ctypes
import gzip
import json
import os
import subprocess
import sys

xxh = ctypes.CDLL("libxxhash.so.0").XXH3_64bits
xxh.restype = ctypes.c_uint64
xxh.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
sys.setrecursionlimit(10**6)
if hasattr(sys, "set_int_max_str_digits"):
    sys.set_int_max_str_digits(0)


def unpack(path):
    raw = open(path, "rb").read()
    if raw[:2] == b"\x1f\x8b":
        return gzip.open(path).read()
    if raw[:4] == b"\x28\xb5\x2f\xfd" or raw[1:4] == b"\x2a\x4d\x18":
        return subprocess.run(["zstd", "-dcq", "--long=31", path], check=True,
                              stdout=subprocess.PIPE).stdout
    return raw


def depth(line):
    """Deepest nesting, strings left out."""
    d = most = 0
    inside = escaped = False
    for c in line:
        if inside:
            inside = escaped or c != '"'
            escaped = not escaped and c == "\\"
        elif c == '"':
            inside = True
        elif c in "[{":
            d += 1
            most = max(most, d)
        elif c in "]}":
            d -= 1
    return most


def refuse(name):
    raise ValueError(name)


def clean(s):
    out = "".join("\ufffd" if 0xD800 <= ord(c) < 0xE000 else c for c in s)
    return out, sum(a != b for a, b in zip(s, out))


def table(path):
    good = bad = lone = size = digest = 0
    data = unpack(path)
    if data[:3] == b"\xef\xbb\xbf":
        data = data[3:]
    for line in data.split(b"\n"):
        if not line.strip(b" \t\r"):
            continue
        try:
            s = line.decode()
            if depth(s) > 1024:
                refuse("too deep")
            o = json.loads(s, parse_constant=refuse)
            if not isinstance(o, dict) or not isinstance(o.get("text"), str):
                refuse("no text")
        except (ValueError, RecursionError):
            bad += 1
            continue
        good += 1
        for k in ("id", "source", "text"):
            if isinstance(o.get(k), str):
                text, n = clean(o[k])
                lone += n
        raw = text.encode()
        size += len(raw)
        digest = (digest + xxh(raw, len(raw))) % 2**64
    return good, bad, lone, size, digest


folder = sys.argv[1] if len(sys.argv) > 1 else "tests/data/nasty"
for name in sorted(os.listdir(folder)):
    if ".jsonl" not in name or name.endswith((".bz2", ".xz")):
        continue
    if name.startswith(("utf16", "truncated")):  # no table: an error at once
        continue
    try:
        row = table(os.path.join(folder, name))
    except (subprocess.CalledProcessError, OSError, EOFError):
        continue
    print('\t{"%s", %d, %d, %d, %d,\n\t UINT64_C(0x%016x)},' % (name, *row))
