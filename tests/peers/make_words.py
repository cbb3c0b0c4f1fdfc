#!/usr/bin/env python3
"""Make the words of texts in many scripts: tests/data/unicode/words.jsonl.zst.

usage: make_words.py UDHR.jsonl.zst | zstd -19 > words.jsonl.zst

A line is {"text","words"}: the first paragraphs of the Universal Declaration
of Human Rights in 68 languages, and texts that mix scripts, marks and
invisible characters at random.  The definition below is that of
contam-rules(7), on the tables of Python's unicodedata.
"""
import json
import random
import subprocess
import sys
import unicodedata

INVISIBLE = dict.fromkeys([0xad, 0x200b, 0x200c, 0x200d, 0x2060, 0xfeff])
UNSPACED = [range(a, b + 1) for a, b in (
    (0x0e00, 0x0eff), (0x1000, 0x109f), (0x1780, 0x17ff), (0x3005, 0x3007),
    (0x3021, 0x3029), (0x3031, 0x303c), (0x3040, 0x312f), (0x31a0, 0x31bf),
    (0x31f0, 0x31ff), (0x3400, 0x4dbf), (0x4e00, 0x9fff), (0xf900, 0xfaff),
    (0xff66, 0xff9d), (0x1b000, 0x1b16f), (0x20000, 0x3fffd))]

PIECES = """a Z 9 word _ é \u0301 \u0338 = \xad \u200b \u200c \u200d \u2060
\ufeff 中 文 豈 \uf900 \uf9d0 \U0002f800 \U00020000 々 〇 〡 〵 ー ｱ ｶ ﾞ か \u3099
\u309a 1 ２ ก ำ \u0e31 \u0e49 \u0e50 ລ \u0eb1 က \u1031 \u1039 \u102d ក \u17d2
\u17b6 ៣ 한 \u1112 \u1161 Ω \u0915 \u094d \u0937 \u06cc \u0645 — ，
。 😀 İ Σ Σ Α α ’ ' : ʰ""".split() + [" ", "  ", "\n"]


def words(text):
    out = []
    text = unicodedata.normalize("NFC", text.translate(INVISIBLE)).lower()
    run = own = False
    for c in text:
        kind = unicodedata.category(c)[0]
        if kind not in "LMN":
            run = own = False
            continue
        if kind != "M":
            single = any(ord(c) in r for r in UNSPACED)
            if single or own:
                run = False
            own = single
        if run:
            out[-1] += c
        else:
            out.append(c)
        run = True
    return out


def main():
    raw = subprocess.run(["zstd", "-dcq", sys.argv[1]], check=True,
                         stdout=subprocess.PIPE).stdout
    texts = [json.loads(x)["text"][:60] for x in raw.splitlines()]
    rng = random.Random(14)
    for _ in range(150):
        texts.append("".join(rng.choices(PIECES, k=rng.randint(1, 20))))
    for t in texts:
        json.dump({"text": t, "words": words(t)}, sys.stdout,
                  separators=(",", ":"), ensure_ascii=False)
        print()


if __name__ == "__main__":
    main()
