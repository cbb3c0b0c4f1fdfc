#!/usr/bin/env python3
r"""Make tests/data/unicode/Properties-16.0.txt: the sets of \p{..}.

usage: make_properties.py NAMES > Properties-16.0.txt

NAMES is a file of property names, one per line.  Those that the regular
expressions of tokenizers accept are written, one line for each set: its names
without spaces, - and _, by spaces; a semicolon; its ranges.  Surrogates, which
no text has, are in no range.  Blocks (in...) are left out: they never change.
In a class \p{Word} does not match the superscripts and fractions of Latin-1,
which it matches outside one; the sets are those in classes.
"""
import sys

from tokenizers import Regex, pre_tokenizers

# Stretches of code points that have all properties in common: each one by
# itself, but planes 3 to 16 from U+32400 on by ranges between noncharacters.
STARTS = sorted({*range(0xd800), *range(0xe000, 0x32400),
                 *range(0xe0000, 0xe0200),
                 *(p << 16 | x for p in range(3, 17)
                   for x in (0, 0xfffe, 0xffff)), 0x32400, 0xe0200})
STARTS = [c for c in STARTS if not 0x32400 < c < 0x3fffe]
ENDS = [c - 1 for c in STARTS[1:]] + [0x10ffff]
ALL = "".join(map(chr, STARTS))


def ranges(cls):
    split = pre_tokenizers.Split(Regex(f"(?:{cls})+"), "removed", invert=True)
    for _, (a, b) in split.pre_tokenize_str(ALL):
        first, last = STARTS[a], ENDS[b - 1]
        if first < 0xd800 and last >= 0xd800:
            yield first, 0xd7ff
            first = 0xe000
        if first <= last:
            yield first, last


def main():
    sets = {}
    for name in open(sys.argv[1]).read().split():
        try:
            found = tuple(ranges("[\\p{%s}]" % name))
        except Exception:
            continue
        sets.setdefault(found, []).append(name)
    for found, names in sets.items():
        text = " ".join("%x" % a if a == b else "%x-%x" % (a, b)
                        for a, b in found)
        print(" ".join(names) + "; " + text)


main()
