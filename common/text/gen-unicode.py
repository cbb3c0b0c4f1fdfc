#!/usr/bin/env python3
"""Make unicode_tab.c: general categories and canonical composition.

usage: gen-unicode.py GeneralCategory-16.0.txt UnicodeData.txt > unicode_tab.c

The first file has lines "first..last ; category" for every assigned code
point (Unicode 16.0); the second is the Unicode Character Database's file of
that name (15.0), from which come the canonical decompositions and combining
classes, without those of code points that came after 9.0: the normalizer of
`tokenizers` has the tables of that version, and ids must be equal to its.  Composition exclusions are singletons, decompositions that begin
with a non-starter, and the script-specific ones, which Python's unicodedata
tells apart: a pair that NFC leaves apart is excluded.
"""
import sys
import unicodedata

CATS = ("Cn Cc Cf Co Cs Ll Lm Lo Lt Lu Mc Me Mn Nd Nl No Pc Pd Pe Pf Pi Po "
        "Ps Sc Sk Sm So Zl Zp Zs").split()
SPACE_CC = len(CATS)            # the controls that \s matches
SHIFT = 7

# Code points of 10.0 to 15.0 with a combining class or a decomposition.
LATE = [
    (0x7fd, 0x7fd), (0x898, 0x89f), (0x8ca, 0x8d3), (0x9fe, 0x9fe),
    (0xc3c, 0xc3c), (0xd3b, 0xd3c), (0xeba, 0xeba), (0x1715, 0x1715),
    (0x1abf, 0x1ace), (0x1df6, 0x1dfa), (0xa82c, 0xa82c), (0x10d24, 0x10d27),
    (0x10eab, 0x10eac), (0x10efd, 0x10eff), (0x10f46, 0x10f50),
    (0x10f82, 0x10f85), (0x11070, 0x11070), (0x1133b, 0x1133b),
    (0x1145e, 0x1145e), (0x11839, 0x1183a), (0x11938, 0x11938),
    (0x1193d, 0x1193e), (0x11943, 0x11943), (0x119e0, 0x119e0),
    (0x11a34, 0x11a34), (0x11a47, 0x11a47), (0x11a99, 0x11a99),
    (0x11d42, 0x11d42), (0x11d44, 0x11d45), (0x11d97, 0x11d97),
    (0x11f41, 0x11f42), (0x16ff0, 0x16ff1), (0x1e08f, 0x1e08f),
    (0x1e130, 0x1e136), (0x1e2ae, 0x1e2ae), (0x1e2ec, 0x1e2ef),
    (0x1e4ec, 0x1e4ef),
]


def categories(path):
    cat = [0] * 0x110000
    for line in open(path):
        line = line.split("#")[0].strip()
        if not line:
            continue
        rng, name = (x.strip() for x in line.split(";"))
        first, last = (int(x, 16) for x in rng.split(".."))
        for c in range(first, last + 1):
            cat[c] = CATS.index(name)
    for c in (9, 10, 11, 12, 13, 0x85):
        cat[c] = SPACE_CC
    return cat


def decompositions(path):
    dec, ccc = {}, {}
    for line in open(path):
        f = line.rstrip("\n").split(";")
        c = int(f[0], 16)
        if any(a <= c <= b for a, b in LATE):
            continue
        if f[3] != "0":
            ccc[c] = int(f[3])
        if f[5] and f[5][0] != "<":
            dec[c] = [int(x, 16) for x in f[5].split()]
    return dec, ccc


def put(name, ctype, values, fmt="%d"):
    print("const %s %s[%d] = {" % (ctype, name, len(values)))
    line = "\t"
    for v in values:
        s = fmt % v + ","
        if len(line) + len(s) + 7 > 80:
            print(line)
            line = "\t"
        line += s
    print(line)
    print("};\n")


def two_stage(values):
    blocks, index = {}, []
    size = 1 << SHIFT
    for i in range(0, len(values), size):
        b = tuple(values[i:i + size])
        index.append(blocks.setdefault(b, len(blocks)))
    return index, [v for b in blocks for v in b]


def main():
    cat = categories(sys.argv[1])
    dec, ccc = decompositions(sys.argv[2])

    def full(c):
        return [y for x in dec[c] for y in full(x)] if c in dec else [c]

    pairs = []
    for c, d in dec.items():
        if len(d) != 2 or ccc.get(c) or ccc.get(d[0]):
            continue
        if unicodedata.normalize("NFC", "".join(map(chr, d))) == chr(c):
            pairs.append((d[0], d[1], c))
    pairs.sort()

    print("/* Made by gen-unicode.py: categories of Unicode 16.0, canonical\n"
          " * decompositions, combining classes and compositions of 9.0."
          "  Do not edit. */")
    print('#include "text/unicode.h"\n')
    index, data = two_stage(cat)
    assert max(index) < 65536
    put("uc_cat_index", "uint16_t", index)
    put("uc_cat_data", "uint8_t", data)

    # What NFC has to look at: combining class, and whether a character may
    # change (it decomposes, or it can be the second of a composition).
    second = {b for _, b, _ in pairs}
    second.update(range(0x1161, 0x1176))
    second.update(range(0x11a8, 0x11c3))
    props = [0] * 0x110000
    for c, v in ccc.items():
        props[c] = v
    index, data = two_stage(props)
    put("uc_ccc_index", "uint16_t", index)
    put("uc_ccc_data", "uint8_t", data)
    composed = {c for _, _, c in pairs}
    maybe = [0] * 0x110000
    for c in second:
        maybe[c] = 1
    for c in dec:
        if c not in composed:
            maybe[c] = 1        # NFC never keeps it
    for c in ccc:
        maybe[c] = 1
    index, data = two_stage(maybe)
    put("uc_maybe_index", "uint16_t", index)
    put("uc_maybe_data", "uint8_t", data)

    keys, start, seq = [], [], []
    for c in sorted(dec):
        keys.append(c)
        start.append(len(seq))
        seq += full(c)
    start.append(len(seq))
    put("uc_dec_key", "uint32_t", keys, "0x%x")
    put("uc_dec_start", "uint16_t", start)
    put("uc_dec_seq", "uint32_t", seq, "0x%x")
    print("const size_t uc_ndec = %d, uc_ncomp = %d;\n"
          % (len(keys), len(pairs)))
    print("const uint32_t uc_comp[%d][3] = {" % len(pairs))
    for p in pairs:
        print("\t{0x%x, 0x%x, 0x%x}," % p)
    print("};")


main()
