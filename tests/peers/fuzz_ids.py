#!/usr/bin/env python3
"""Ids of odd texts under every kind of tokenizer.json, against tokenizers.

usage: fuzz_ids.py BIN GPT2_TOKENIZER.json [SEED]

Takes GPT-2's vocabulary with other pre_tokenizers, normalizers and added
tokens, and a small SentencePiece-style one with other normalizers and
Metaspaces, and encodes random strings of characters that matter.  Special
tokens are text (encode_special_tokens).  Status 1: a difference.
"""
import json
import os
import random
import subprocess
import sys
import tempfile

from tokenizers import Tokenizer

CL100K = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
          r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
THIRD = (r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+"""
         r"|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*"
         r"|\s*[\r\n]+|\s+(?!\S)|\s+")
PARTS = [" ", " ", " ", "\n", "\r\n", "\t", "a", "b", "the", " the", "The",
         "AB", " of", "1", "23", "'s", "'S", "\u00e9", "e\u0301", "\u6f22",
         "\u5b57", "\u0928\u092e\u0947", "<x>", "<y>", "<", "  ", "!!", "_",
         "\U0001f600", "\u00a0", "\u3000", "ing", "xx", "\u017f", "\u2028",
         "\u0085", "\u00bd", "\0", "\u01c5", "\u0663", "e", "c", "ca",
         "<|endoftext|>", "</s>", "\u2581"]


def byte_level(prefix, regex):
    return {"type": "ByteLevel", "add_prefix_space": prefix,
            "trim_offsets": True, "use_regex": regex}


def split(pattern, behavior="Isolated", invert=False, kind="Regex"):
    return {"type": "Split", "pattern": {kind: pattern},
            "behavior": behavior, "invert": invert}


def then_bytes(*parts, regex=False):
    return {"type": "Sequence",
            "pretokenizers": [*parts, byte_level(False, regex)]}


def digits(single):
    return {"type": "Digits", "individual_digits": single}


BYTE_LEVEL = [
    byte_level(True, True), byte_level(False, True), byte_level(False, False),
    byte_level(True, False), then_bytes(split(CL100K)),
    then_bytes(split(CL100K.replace("{1,3}", ""))),
    then_bytes(split(r"\p{N}{1,3}"), split("[\u4e00-\u9fa5\u3040-\u30ff]+"),
               split(THIRD)),
    then_bytes(digits(True), regex=True), then_bytes(digits(False), regex=True),
    then_bytes(split(" ", "MergedWithPrevious", kind="String")),
    then_bytes(split(" ", "MergedWithNext", kind="String")),
    then_bytes(split(r"\s", "Contiguous")),
    then_bytes(split(r"\s+|a", "MergedWithNext", True)),
    then_bytes(split("[^a-z]", "MergedWithPrevious", True), regex=True),
    then_bytes(split(r"(?i:ab|the)|\d+|[^\s\d]+?(?=e)|\S")),
    then_bytes(split("the", kind="String"), split(CL100K)),
    then_bytes(split("^.*$")), then_bytes(split(r"\s+$")),
    then_bytes(split("x*")),
    then_bytes(split(r"[\p{Lu}\p{Lt}]+|\P{L}|\p{^N}")),
    then_bytes(split(r"[^\S\n]+|\n")),
]


def added(pairs):
    return [{"id": i, "content": c, "special": s, "normalized": n,
             "single_word": False, "lstrip": False, "rstrip": False}
            for i, c, s, n in pairs]


MORE = added([(50257, "<x>", False, True), (50258, "  ", False, True),
              (50259, "e\u0301<", False, True),
              (50260, "<x><y>", False, False), (50261, "<y>", True, False),
              (400, "th", False, False)])


def byte_level_files(gpt2):
    for pre in BYTE_LEVEL:
        for norm in None, {"type": "NFC"}:
            for more in [], MORE:
                t = dict(gpt2, pre_tokenizer=pre, normalizer=norm,
                         added_tokens=gpt2["added_tokens"] + more)
                yield t
    # a token that no merge makes, found by ignore_merges
    t = json.loads(json.dumps(gpt2))
    t["model"]["vocab"]["\u0120thea"] = 50257
    t["model"]["ignore_merges"] = True
    yield t


PREPEND = {"type": "Prepend", "prepend": "\u2581"}
REPLACE = {"type": "Replace", "pattern": {"String": " "},
           "content": "\u2581"}
BOTH = {"type": "Sequence", "normalizers": [PREPEND, REPLACE]}
GEMMA = split(" ", "MergedWithPrevious", kind="String")


def metaspace(scheme, cut):
    return {"type": "Metaspace", "replacement": "\u2581",
            "prepend_scheme": scheme, "split": cut}


def sentencepiece(norm, pre, fallback, fuse, crossing):
    tokens = ["<unk>", "<s>", "</s>"]
    if fallback:
        tokens += ["<0x%02X>" % i for i in range(256)]
    tokens += "\u2581 a b c \u2581a ab \u2581\u2581 \u2581ab ca bc".split()
    merges = ["\u2581 a", "a b", "\u2581 \u2581", "\u2581a b", "\u2581 ab",
              "c a", "b c"]
    if crossing:
        tokens += "a\u2581 b\u2581a \u2581c \u00e9".split()
        merges[2:2] = ["a \u2581", "b \u2581a", "\u2581 c"]
    special = [(i, t, True, False) for i, t in enumerate(tokens[:3])]
    return {"version": "1.0", "normalizer": norm, "pre_tokenizer": pre,
            "post_processor": None, "decoder": None,
            "added_tokens": added([*special,
                                   (len(tokens), "<x>", False, False)]),
            "model": {"type": "BPE", "unk_token": "<unk>", "fuse_unk": fuse,
                      "byte_fallback": fallback, "merges": merges,
                      "vocab": {t: i for i, t in enumerate(tokens)}}}


def sentencepiece_files():
    ways = [(BOTH, None), (REPLACE, None), (REPLACE, GEMMA)]
    ways += [(None, metaspace(s, c)) for s in ("first", "always", "never")
             for c in (False, True)]
    for norm, pre in ways:
        for fallback, fuse in (True, True), (False, True), (False, False):
            for crossing in False, True:
                yield sentencepiece(norm, pre, fallback, fuse, crossing)


def compare(pack, file, texts, docs, tmp):
    path = os.path.join(tmp, "tokenizer.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump(file, f)
    tok = Tokenizer.from_file(path)
    tok.encode_special_tokens = True
    out = subprocess.run([pack, "-q", "--tokenizer", path, "--shard-format",
                          "jsonl", "--no-bos", "--no-eos", docs],
                         stdout=subprocess.PIPE, check=True).stdout
    for text, line in zip(texts, out.splitlines(), strict=True):
        ours = json.loads(line)["ids"]
        theirs = tok.encode(text, add_special_tokens=False).ids
        if ours != theirs:
            del file["model"]
            sys.exit(f"{json.dumps(file)}\n{text!r}: ours {ours}, "
                     f"theirs {theirs}")


def main(bin_, gpt2, seed="1"):
    rnd = random.Random(int(seed))
    texts = ["".join(rnd.choices(PARTS, k=rnd.randint(0, 40)))
             for _ in range(1000)]
    gpt2 = json.load(open(gpt2, encoding="utf-8"))
    count = 0
    with tempfile.TemporaryDirectory() as tmp:
        docs = tmp + "/docs.jsonl"
        with open(docs, "w", encoding="utf-8") as f:
            f.writelines(json.dumps({"text": t}) + "\n" for t in texts)
        for file in [*byte_level_files(gpt2), *sentencepiece_files()]:
            compare(bin_ + "/pack", file, texts, docs, tmp)
            count += 1
    print(f"{count} tokenizers, {len(texts)} texts each: ids equal")


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__.split("\n\n")[1])
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    main(*sys.argv[1:])
