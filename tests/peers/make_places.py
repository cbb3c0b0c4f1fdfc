#!/usr/bin/env python3
"""Make tests/data/tok/places.jsonl.zst: where in a text its tokens are, by the
offsets of `tokenizers`, for tokenizers with odd added tokens.

usage: make_places.py OUT.jsonl.zst TOKENIZERS TEXTS SEED

One line each: {"tokenizer": a tokenizer.json as a string, "cases": [{"text",
"ids", "at"}]}.  at has [start, end, low, high] in bytes for each id: the token
is at [start, end); in a text that normalization changes it may extend to [low,
high), since tokenizers gives a composed character the place of its first one.
A space put in front has no place, where tokenizers gives it that of the
character after it.  build/tests/unit/places FILE reads a larger file.
"""
import json
import random
import subprocess
import sys
import unicodedata

import make_tokenizers as mt
from tokenizers import Tokenizer

NAMES = ["ab", "th", "a", " a", "\u2581a", "\u2581", "<x>", "<y>", "  ",
         "\u4e2d", "he", "\n", "x ", " x", "-", "the", "at", "\u00e9",
         "e\u0301", "The", "<x><y>", "\u0120the", "\u00c3\u00a9", "\u00c3",
         "\u0301", " ", "c a", "\u2581\u2581", "sat", "\u1100", "\u0144"]
PARTS = [" ", " ", " ", "  ", "\n", "a", "b", "ab", "the", " the", "The", "at",
         "sat", "th", "e\u0301", "\u00e9", "e", "\u0301", "n\u0301", "<x>",
         "<y>", "x", "_", "-", "\u4e2d", "\u6587", "\U0001f600", "\u2581",
         "\u1100\u1161", "\u00c3\u00a9", "\u0120", "1", ".", "c a", "\u212b",
         "e\u0323\u0301", "e\u0301\u0323", "\u00a0", "\u3000"]


def byte_kind(rng):
    d = mt.byte_level()
    pre = {"type": "ByteLevel", "add_prefix_space": rng.random() < .4,
           "trim_offsets": True, "use_regex": rng.random() < .8}
    d["pre_tokenizer"] = pre
    d["post_processor"] = None
    d["normalizer"] = {"type": "NFC"} if rng.random() < .5 else None
    if rng.random() < .3:       # bytes without a token
        d = mt.without(d, rng.sample("\u00c3\u00a9\u0143\u00cc\u00e4-x", 3))
        d["model"]["vocab"]["<unk>"] = len(d["model"]["vocab"])
        d["model"]["unk_token"] = "<unk>"
        d["model"]["fuse_unk"] = rng.random() < .5
    return d


def spm_kind(rng):
    full = ["<0x%02X>" % i for i in range(256)]
    some = [t for t in full if t not in ("<0xB8>", "<0xCC>", "<0x0A>")]
    d = mt.spm(rng.choice([[], full, some]), "<unk>",
               fuse_unk=rng.random() < .5)
    replace = {"type": "Replace", "pattern": {"String": " "},
               "content": "\u2581"}
    both = {"type": "Sequence", "normalizers": [
        {"type": "Prepend", "prepend": "\u2581"}, replace]}
    meta = {"type": "Metaspace", "replacement": "\u2581",
            "prepend_scheme": rng.choice(["first", "always", "never"]),
            "split": rng.random() < .5}
    d["normalizer"], d["pre_tokenizer"] = rng.choice(
        [(both, None), (both, None), (replace, None), (None, meta),
         (None, meta)])
    return d


def add(d, rng):
    flag = (lambda p: rng.random() < p)
    # of two that normalization makes equal, tokenizers takes either
    names = {unicodedata.normalize("NFC", c).replace(" ", "\u2581"): c
             for c in rng.sample(NAMES, rng.randint(1, 7))}
    return mt.added(d, [
        {"content": c, "normalized": flag(.5), "lstrip": flag(.3),
         "rstrip": flag(.3), "single_word": flag(.3), "special": flag(.15)}
        for c in names.values()])


def segments(text):
    """For each character the range that is normalized with it, if changed."""
    norm = (lambda s: unicodedata.normalize("NFC", s))
    cuts = [0]
    for i in range(1, len(text)):
        seg = text[cuts[-1]:i]
        if not unicodedata.combining(text[i]) and \
           norm(seg + text[i]) == norm(seg) + norm(text[i]):
            cuts.append(i)
    out = []
    for a, b in zip(cuts, [*cuts[1:], len(text)]):
        same = norm(text[a:b]) == text[a:b]
        out += [(i, i + 1) if same else (a, b) for i in range(a, b)]
    return out


def put_space(e, k, text):
    """Is token k one space that the text does not have?"""
    a = e.offsets[k][0]
    return e.tokens[k] in ("\u2581", "\u0120") and (
        text[a:a + 1] not in (" ", "\u2581") or
        (e.offsets + [(len(text), 0)])[k + 1][0] == a)


def case(tok, d, text):
    """None where tokenizers panics: overlapping strips of added tokens."""
    try:
        e = tok.encode(text, add_special_tokens=False)
    except BaseException as x:
        if type(x).__name__ != "PanicException":
            raise
        return None
    seg = segments(text) if d["normalizer"] == {"type": "NFC"} else \
        [(i, i + 1) for i in range(len(text))]
    size = [0]
    for c in text:
        size.append(size[-1] + len(c.encode()))
    at = []
    for k, (a, b) in enumerate(e.offsets):
        if put_space(e, k, text):
            b = a
        low = seg[a][0] if a < b else a
        high = seg[b - 1][1] if a < b else b
        at.append([size[i] for i in (a, b, low, high)])
    return {"text": text, "ids": e.ids, "at": at}


def main(out, ntok, ntext, seed):
    rng = random.Random(seed)
    lines = []
    while len(lines) < ntok:
        d = add(rng.choice([byte_kind, spm_kind])(rng), rng)
        tok = Tokenizer.from_str(json.dumps(d))
        tok.encode_special_tokens = True
        names = PARTS + 3 * [t["content"] for t in d["added_tokens"]]
        cases = [case(tok, d, "".join(rng.choices(names,
                                                  k=rng.randint(1, 9))))
                 for _ in range(ntext)]
        lines.append(json.dumps({"tokenizer": json.dumps(d),
                                 "cases": [c for c in cases if c]}))
    data = "".join(line + "\n" for line in lines).encode()
    subprocess.run(["zstd", "-19", "-qf", "-o", out], input=data, check=True)
    print(f"{len(lines)} tokenizers, {len(lines) * ntext} texts")


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__.split("\n\n")[1])
    main(sys.argv[1], *map(int, sys.argv[2:]))
