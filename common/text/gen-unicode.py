#!/usr/bin/env python3
"""Make unicode_tab.c, the tables of unicode.c.

usage: gen-unicode.py FOLDER > unicode_tab.c

FOLDER holds the files named in INPUTS, packed with zstd or not; their SHA-256
is checked.  `make unicode` runs this on tests/data/unicode.

Two versions of Unicode are in use, because `tokenizers` has two and ids must
equal its ids:

- 16.0 for general categories, properties, lower case and East Asian Width.  Lower case
  comes from the 15.0 file and the letters that 16.0 added (LOWER_16).
- 9.0 for canonical decomposition, combining classes and composition.  They
  come from the 15.0 file without the code points added since (SINCE_9).

Composition exclusions are what Python's unicodedata does not compose.  They
cannot change any more for code points of 9.0 (Unicode's stability policy), so
any version of Python gives the same tables.
"""
import hashlib
import os
import subprocess
import sys
import unicodedata

INPUTS = {
    # Unicode 16.0, "first..last ; category", from unicodedata2 16.0.0
    "GeneralCategory-16.0.txt":
    "d95551e57167ea79a2a96ea580048d07a7345ba3314bb0991a15023ca323d13e",
    # Unicode 16.0, "first..last ; width" where that is W or F, likewise
    "EastAsianWidth-16.0.txt":
    "c03a6dcce7cc7b8e52c9994e26adbafb89705fd421bd27766d22d78693c47aa8",
    # Unicode 16.0, "names; ranges" of each property, from tokenizers 0.23
    # (tests/peers/make_properties.py)
    "Properties-16.0.txt":
    "b077c3ce317e29eafb7e189a584098b9ff0977292c40aa3d4f806a6af04659d9",
    # Unicode 15.0, unchanged
    "UnicodeData.txt":
    "806e9aed65037197f1ec85e12be6e8cd870fc5608b4de0fffd990f689f376a73",
}

CATS = ("Cn Cc Cf Co Cs Ll Lm Lo Lt Lu Mc Me Mn Nd Nl No Pc Pd Pe Pf Pi Po "
        "Ps Sc Sk Sm So Zl Zp Zs").split()
SPACE_CC = len(CATS)            # the controls that \s matches
SHIFT = 7

LOWER_16 = [(c, c + 0x20) for c in range(0x10d50, 0x10d66)] + [
    (0x1c89, 0x1c8a), (0xa7cb, 0x264), (0xa7cc, 0xa7cd), (0xa7da, 0xa7db),
    (0xa7dc, 0x19b)]

# Code points of 10.0 to 15.0 with a combining class or a decomposition.
SINCE_9 = [
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


def lines(folder, name):
    """The lines of an input, without comments."""
    path = os.path.join(folder, name)
    if os.path.exists(path):
        data = open(path, "rb").read()
    elif not os.path.exists(path + ".zst"):
        sys.exit("gen-unicode.py: %s: not found, nor .zst of it" % path)
    else:
        data = subprocess.run(["zstd", "-dcq", path + ".zst"], check=True,
                              stdout=subprocess.PIPE).stdout
    if hashlib.sha256(data).hexdigest() != INPUTS[name]:
        sys.exit("gen-unicode.py: %s: not the file that the tables are made "
                 "from (see INPUTS)" % path)
    rows = [x.split("#")[0].strip() for x in data.decode().split("\n")]
    return [x for x in rows if x]


def ranges(folder, name):
    for line in lines(folder, name):
        rng, value = (x.strip() for x in line.split(";"))
        first, last = (int(x, 16) for x in rng.split(".."))
        yield first, last, value


def categories(folder):
    cat = [0] * 0x110000
    for first, last, name in ranges(folder, "GeneralCategory-16.0.txt"):
        for c in range(first, last + 1):
            cat[c] = CATS.index(name)
    for c in (9, 10, 11, 12, 13, 0x85):
        cat[c] = SPACE_CC
    return cat


def wide(folder, cat):
    """Ranges of wide characters; unassigned code points bridge gaps."""
    out = []
    for first, last, _ in ranges(folder, "EastAsianWidth-16.0.txt"):
        if out and not any(cat[out[-1][1] + 1:first]):
            out[-1][1] = last
        else:
            out.append([first, last])
    return out


def properties(folder, cat):
    """Each property as a union of categories and the ranges that differ."""
    runs, start = [], 0
    for c in range(1, 0x110001):
        if c == 0x110000 or cat[c] != cat[start]:
            runs.append((start, c - 1, cat[start]))
            start = c
    size = [0] * (len(CATS) + 1)
    for first, last, k in runs:
        size[k] += last - first + 1
    for line in lines(folder, "Properties-16.0.txt"):
        names, text = line.split(";")
        have = bytearray(0x110000)
        for r in text.split():
            first, last = (int(x, 16) for x in (r + "-" + r).split("-")[:2])
            have[first:last + 1] = b"\1" * (last + 1 - first)
        inside = [0] * (len(CATS) + 1)
        for first, last, k in runs:
            inside[k] += sum(have[first:last + 1])
        mask = sum(1 << k for k in range(len(size)) if 2 * inside[k] > size[k])
        diff = []
        for first, last, k in runs:
            if k == CATS.index("Cs"):   # in no text
                continue
            want = 1 - (mask >> k & 1)
            c = have.find(want, first, last + 1)
            while c >= 0:
                end = have.find(1 - want, c, last + 1)
                end = last + 1 if end < 0 else end
                if diff and diff[-1][1] == c - 1:
                    diff[-1][1] = end - 1
                else:
                    diff.append([c, end - 1])
                c = have.find(want, end, last + 1)
        yield names, mask, diff


def put_properties(rows):
    """Tables of property.h."""
    diff = []
    print("const struct uc_property uc_property[] = {")
    for names, mask, d in rows:
        print('\t{"%s",\n\t 0x%x, %d, %d},' % (names, mask, len(diff), len(d)))
        diff += d
    print("};\n")
    print("const size_t uc_nproperty = sizeof(uc_property) /\n"
          "\tsizeof(uc_property[0]);")
    put("uc_property_diff", "uint32_t", [tuple(d) for d in diff],
        "{0x%x,0x%x}", "[2]")


def put(name, ctype, values, fmt="%d", dim=""):
    print("const %s %s[%d]%s = {" % (ctype, name, len(values), dim))
    line = "\t"
    for v in values:
        s = fmt % v + ","
        if len(line) + len(s) + 7 > 80:
            print(line)
            line = "\t"
        line += s
    print(line)
    print("};\n")


def put_rows(name, rows):
    """Rows of two or three code points."""
    n = len(rows[0])
    print("const size_t uc_n%s = %d;" % (name, len(rows)))
    put("uc_" + name, "uint32_t", [tuple(r) for r in rows],
        "{" + ",".join(["0x%x"] * n) + "}", "[%d]" % n)


def put_two_stage(name, ctype, values):
    blocks, index = {}, []
    size = 1 << SHIFT
    for i in range(0, len(values), size):
        b = tuple(values[i:i + size])
        index.append(blocks.setdefault(b, len(blocks)))
    put("uc_%s_index" % name, "uint16_t", index)
    put("uc_%s_data" % name, ctype, [v for b in blocks for v in b])


def main():
    folder = sys.argv[1]
    cat = categories(folder)
    dec, ccc, low = {}, {}, dict(LOWER_16)
    for line in lines(folder, "UnicodeData.txt"):
        f = line.split(";")
        c = int(f[0], 16)
        # only letters, marks and numbers are words (words.c)
        if f[13] and f[2][0] in "LMN" and c >= 0x80:
            low[c] = int(f[13], 16)
        if any(a <= c <= b for a, b in SINCE_9):
            continue
        if f[3] != "0":
            ccc[c] = int(f[3])
        if f[5] and f[5][0] != "<":
            dec[c] = [int(x, 16) for x in f[5].split()]

    def full(c):
        return [y for x in dec[c] for y in full(x)] if c in dec else [c]

    pairs = []
    for c, d in dec.items():
        if len(d) != 2 or ccc.get(c) or ccc.get(d[0]):
            continue
        if unicodedata.normalize("NFC", "".join(map(chr, d))) == chr(c):
            pairs.append((d[0], d[1], c))
    pairs.sort()

    print("/* Made by gen-unicode.py; do not edit.  Unicode 16.0: categories,"
          "\n * properties, lower case, wide characters.  Unicode 9.0: decomposition,"
          " combining\n * classes, composition. */")
    print('#include "text/property.h"\n#include "text/unicode.h"\n')
    put_two_stage("cat", "uint8_t", cat)
    put_rows("lower", sorted(low.items()))
    put_rows("wide", wide(folder, cat))

    # What NFC has to look at: combining class, and whether a character may
    # change (it decomposes, or it can be the second of a composition).
    put_two_stage("ccc", "uint8_t", [ccc.get(c, 0) for c in range(0x110000)])
    second = {b for _, b, _ in pairs}
    second.update(range(0x1161, 0x1176), range(0x11a8, 0x11c3))
    composed = {c for _, _, c in pairs}
    maybe = second | (set(dec) - composed) | set(ccc)
    put_two_stage("maybe", "uint8_t",
                  [int(c in maybe) for c in range(0x110000)])

    keys, start, seq = [], [], []
    for c in sorted(dec):
        keys.append(c)
        start.append(len(seq))
        seq += full(c)
    start.append(len(seq))
    print("const size_t uc_ndec = %d;" % len(keys))
    put("uc_dec_key", "uint32_t", keys, "0x%x")
    put("uc_dec_start", "uint16_t", start)
    put("uc_dec_seq", "uint32_t", seq, "0x%x")
    put_rows("comp", pairs)
    put_properties(properties(folder, cat))


main()
