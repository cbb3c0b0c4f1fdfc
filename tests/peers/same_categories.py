#!/usr/bin/env python3
"""Categories of tok-scan-rare against Hugging Face tokenizers.

usage: same_categories.py BIN TOKENIZER.json[.zst]

The rule of Land and Bartolo's code, written down from its description, with
tokenizers as encoder and decoder.  Needs a shard only because the program
counts: an empty document is packed for it.
"""
import json
import os
import subprocess
import sys
import tempfile

from tokenizers import Tokenizer


def category(tok, i, special, prefix):
    s = tok.decode([i], skip_special_tokens=False)
    if prefix:
        mark = "\u00ab"
        head = tok.encode(mark, add_special_tokens=False).ids
        if i in special:
            return "OK_SPECIAL"
        s = tok.decode(head + [i], skip_special_tokens=False)
        s = s[s.index(mark) + 1:]
        r = tok.encode(mark + s, add_special_tokens=False).ids[len(head):]
    else:
        r = tok.encode(s, add_special_tokens=False).ids
    if r == [i]:
        return "OK_SPECIAL" if i in special else "OK"
    if (len(s) >= 3 and s[0] in "[<" and s[-1] in "]>"
            and any(c.isalpha() for c in s)):
        return "UNREACHABLE_SPECIAL"
    if "\ufffd" in s:
        return "UNDECODEABLE"
    return ("UNREACHABLE_SINGLE_TOKEN" if len(r) == 1
            else "UNREACHABLE_MULTI_TOKEN")


def main():
    bin_dir, path = sys.argv[1:]
    with tempfile.TemporaryDirectory() as work:
        plain = os.path.join(work, "tokenizer.json")
        if path.endswith(".zst"):
            subprocess.run(["zstd", "-dcq", path], check=True,
                           stdout=open(plain, "wb"))
        else:
            plain = path
        raw = json.load(open(plain, encoding="utf-8"))
        shard = os.path.join(work, "empty.tok")
        subprocess.run([f"{bin_dir}/pack", "-q", "--tokenizer", plain,
                        "--no-bos", "--no-eos"], check=True,
                       input=b'{"text":"a"}\n', stdout=open(shard, "wb"))
        out = subprocess.run([f"{bin_dir}/tok-scan-rare", "--json",
                              "--tokenizer", plain, shard], check=True,
                             stdout=subprocess.PIPE).stdout
        tok = Tokenizer.from_file(plain)
        special = {t["id"] for t in raw["added_tokens"] if t["special"]}
        text = json.dumps([raw.get("normalizer"), raw.get("pre_tokenizer")],
                          ensure_ascii=False)
        prefix = "\u2581" in text or '"add_prefix_space": true' in text
        bad = n = 0
        for line in out.splitlines():
            o = json.loads(line)
            n += 1
            if o["text"] is None:
                continue
            want = category(tok, o["token"], special, prefix)
            if want != o["category"]:
                bad += 1
                if bad < 20:
                    print(o["token"], repr(o["text"]), o["category"],
                          "expected", want)
        print(f"{n} ids, {bad} differ")
        sys.exit(bad != 0)


main()
