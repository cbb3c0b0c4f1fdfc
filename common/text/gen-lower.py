#!/usr/bin/env python3
"""Make words_lower.c: simple lower case, for words.c.

usage: gen-lower.py UnicodeData.txt > words_lower.c

UnicodeData.txt is the Unicode Character Database's; the letters that came
with 16.0 are added here, so that the file of 15.0 will do.  Only letters,
marks and numbers are words, so other characters (circled letters) are left
out.
"""
import sys

NEW = [(c, c + 0x20) for c in range(0x10d50, 0x10d66)] + [
    (0xa7cb, 0x264), (0xa7cc, 0xa7cd), (0xa7da, 0xa7db), (0xa7dc, 0x19b)]

lower = dict(NEW)
for line in open(sys.argv[1]):
    f = line.rstrip("\n").split(";")
    if f[13] and f[2][0] in "LMN" and int(f[0], 16) >= 0x80:
        lower[int(f[0], 16)] = int(f[13], 16)

print("/* Made by gen-lower.py: do not edit. */")
print('#include "text/words_priv.h"\n')
print("const size_t words_nlower = %d;" % len(lower))
print("const uint32_t words_lower_tab[%d][2] = {" % len(lower))
for c in sorted(lower):
    print("\t{0x%x, 0x%x}," % (c, lower[c]))
print("};")
