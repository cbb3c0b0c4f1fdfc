#!/usr/bin/env python3
"""Make tests/data/tok/variants.jsonl.zst: small tokenizers of the shapes that
published files have, and the ids that `tokenizers` 0.23.3 gives.

usage: make_tokenizers.py OUT.jsonl.zst

One line each: {"name", "tokenizer": a tokenizer.json as a string, "cases":
[{"text", "ids", "at"}]}, special tokens as text (encode_special_tokens).  ids is
null where the text has a byte for which the vocabulary has neither a token nor
an unknown one: tokenizers drops it, which loses text.  at has [index, start, end], in bytes of the text, of the
added tokens, where only cutting makes them.
"""
import itertools
import json
import random
import subprocess
import sys

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

TEXTS = ["", " ", "a", " a", "The cat sat on the mat.", "the  cat\n\nsat ",
         "caf\u00e9 \u00e9t\u00e9", "\u00e9", "na\u00efve \u0111em",
         "\u4e2d\u6587\u3000x", "a\r\nb", "\U0001f600 ok", "e\u0301 x",
         "\u2581a \u2581", "1234 5", "tab\there", "\u00a0\u00a0x"]


def byte_chars():
    keep = [*range(0x21, 0x7f), *range(0xa1, 0xad), *range(0xae, 0x100)]
    rest = [b for b in range(256) if b not in keep]
    byte = {b: chr(b) for b in keep}
    byte.update({b: chr(256 + i) for i, b in enumerate(rest)})
    return byte


BYTE = byte_chars()


def byte_level():
    tok = Tokenizer(models.BPE())
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tok.train_from_iterator(TEXTS * 3, trainers.BpeTrainer(
        vocab_size=300, min_frequency=0, show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    return json.loads(tok.to_str())


def without(d, chars):
    """The same model without these characters and what is made of them."""
    m = d["model"]
    keep = [t for t in sorted(m["vocab"], key=m["vocab"].get)
            if not any(c in t for c in chars)]
    m["vocab"] = {t: i for i, t in enumerate(keep)}
    m["merges"] = [x for x in m["merges"]
                   if not any(c in "".join(x) for c in chars)]
    return d


def added(d, tokens):
    vocab = d["model"]["vocab"]
    n = len(vocab)
    d["added_tokens"] = []
    for t in tokens:
        i = vocab.get(t["content"])
        if i is None:
            i, n = n, n + 1
        d["added_tokens"].append(
            {"id": i, "single_word": False, "lstrip": False, "rstrip": False,
             "normalized": False, "special": False, **t})
    d["added_tokens"].sort(key=lambda t: t["id"])
    return d


def spm(fallback, unk, chars="abcdehmorstTn.,<>x ", **model):
    """Llama-2's shape: characters and U+2581."""
    chars = [c.replace(" ", "\u2581") for c in chars]
    merges = [("\u2581", "a"), ("a", "t"), ("\u2581", "t"), ("h", "e"),
              ("\u2581t", "he"), ("\u2581", "\u2581"), ("s", "at"),
              ("\u2581\u2581", "\u2581\u2581")]
    names = ["<unk>", "<s>", "</s>"] + fallback + chars
    names += [a + b for a, b in merges]
    return {"version": "1.0", "truncation": None, "padding": None,
            "added_tokens": [], "normalizer": None, "pre_tokenizer": None,
            "post_processor": None, "decoder": None,
            "model": {"type": "BPE", "dropout": None, "unk_token": unk,
                      "continuing_subword_prefix": None,
                      "end_of_word_suffix": None, "fuse_unk": True,
                      "byte_fallback": bool(fallback),
                      "vocab": {t: i for i, t in enumerate(names)},
                      "merges": [f"{a} {b}" for a, b in merges], **model}}


LLAMA = {"type": "Sequence", "normalizers": [
    {"type": "Prepend", "prepend": "\u2581"},
    {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}]}
FALLBACK = [f"<0x{b:02X}>" for b in range(256)]


def missing(d, text):
    """Does tokenizers drop a part of this text?  (No NFC, no unknown token.)"""
    m = d["model"]
    if m.get("unk_token"):
        return False
    for t in d["added_tokens"]:
        if not t["special"]:
            text = text.replace(t["content"], "")
    if m.get("byte_fallback"):
        have = {c for c in m["vocab"] if len(c) == 1}
        return any(c.replace(" ", "\u2581") not in have and
                   any(f"<0x{b:02X}>" not in m["vocab"]
                       for b in c.encode()) for c in text)
    if (d["pre_tokenizer"] or {}).get("type") != "ByteLevel":
        return any(c.replace(" ", "\u2581") not in m["vocab"] for c in text)
    return any(BYTE[b] not in m["vocab"] for b in text.encode())


def places(d, text, got):
    """[index, start, end] in bytes of the added tokens, where none overlap."""
    ends = [0] + [b for _, b in got.offsets]
    if any(a < e for (a, _), e in zip(got.offsets, ends)) or \
            (d["normalizer"] or {}).get("type") == "NFC" and "\u0301" in text:
        return []       # a mark after a token joins it in the whole text
    plain = {t["id"]: t["content"] for t in d["added_tokens"]
             if not t["special"]}
    if any(plain.get(i) in d["model"]["vocab"] for i in got.ids):
        return []       # cut out or merged?
    return [[i, len(text[:a].encode()), len(text[:b].encode())]
            for i, (a, b) in enumerate(got.offsets)
            if plain.get(got.ids[i], "\0") in text[a:b]]


def line(name, d, texts):
    tok = Tokenizer.from_str(json.dumps(d))
    tok.encode_special_tokens = True
    cases = []
    for t in texts:
        try:
            got = tok.encode(t, add_special_tokens=False)
        except BaseException:   # it panics where tokens strip each other
            continue
        cases.append({"text": t, "ids": None if missing(d, t) else got.ids,
                      "at": places(d, t, got)})
    return {"name": name, "tokenizer": json.dumps(d, ensure_ascii=False),
            "cases": cases}


def missing_bytes():
    """SmolLM2 and BLOOM lack bytes; Llama's files have <0x00> to <0xFF>."""
    drop = [BYTE[0x0d], BYTE[0xe9], BYTE[0xc3]]
    yield "a byte is missing", without(byte_level(), drop)
    for fuse in False, True:
        d = without(byte_level(), [*drop, BYTE[0xa9], "T"])
        d["model"]["vocab"]["<unk>"] = len(d["model"]["vocab"])
        d["model"].update(unk_token="<unk>", fuse_unk=fuse)
        yield f"a byte is unknown, fuse_unk {fuse}", d
    some = [b for b in FALLBACK if b not in ("<0xC3>", "<0x0A>", "<0xF0>")]
    for unk in None, "<unk>":
        d = spm(some, unk)
        d["normalizer"] = LLAMA
        yield f"a fallback byte is missing, unk_token {unk}", d
        d = spm([], unk)
        d["normalizer"] = LLAMA
        yield f"no fallback, unk_token {unk}", d


def names_of_bytes():
    """An added token whose name is that of a byte-level token."""
    d = byte_level()
    yield "added \u00e9 is the byte e9", added(d, [
        {"content": "\u00e9"}, {"content": "<|x|>", "special": True}])
    d = byte_level()
    yield "special \u00e9 is the byte e9", added(d, [
        {"content": "\u00e9", "special": True}, {"content": "\u0111em"}])


META = {"type": "Metaspace", "replacement": "\u2581", "split": False}
REPLACE = LLAMA["normalizers"][1]
SHAPES = {      # normalizer, pre_tokenizer
    "byte level": (None, {"type": "ByteLevel", "add_prefix_space": False,
                          "trim_offsets": True, "use_regex": True}),
    "byte level, NFC": ({"type": "NFC"}, {
        "type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True,
        "use_regex": True}),
    "byte level, prefix space": (None, {
        "type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True,
        "use_regex": True}),
    "Llama-2": (LLAMA, None),
    "Gemma": (REPLACE, {"type": "Split", "pattern": {"String": " "},
                        "behavior": "MergedWithPrevious", "invert": False}),
    "T5": (None, {**META, "prepend_scheme": "always"}),
    "Llama-2, not legacy": (None, {**META, "prepend_scheme": "first"}),
    "Metaspace never": (None, {**META, "prepend_scheme": "never"}),
}
CONTENTS = ["<x>", "<|end|>", "ab", "a", "cat", " ", "  ", "   ", "\n\n",
            "\u2581", "\u2581\u2581", "\u00e9", "e\u0301", "x y", "<x",
            "\u4e2d", " cat", "<extra_id_0>", "\u00a0"]
PIECES = CONTENTS + [" ", "  ", "\n", "\t", "the", "Cat", "_", "1", ".", "",
                     "\u3000", "\u24d0", "\u203f", "\u0301", "\u2160",
                     "\u00bd", "\u200d", "abc", "scat"]


def shape(name):
    if name.startswith("byte"):
        d = byte_level()
    else:
        d = spm(FALLBACK, "<unk>")
    d["normalizer"], d["pre_tokenizer"] = SHAPES[name]
    return d


def added_tokens():
    """As Phi, Gemma, Llama-2 and T5 have them, and at random."""
    for name in SHAPES:
        for k in range(24):
            tokens = [{"content": c, **{
                key: random.random() < 0.4
                for key in ("normalized", "lstrip", "rstrip", "single_word")},
                "special": random.random() < 0.2}
                for c in random.sample(CONTENTS, random.randint(1, 5))]
            pieces = PIECES + 4 * [t["content"] for t in tokens]
            texts = ["".join(random.choices(pieces, k=random.randint(1, 7)))
                     for _ in range(24)]
            yield f"{name} {k}", added(shape(name), tokens), texts


def main():
    lines = []
    for name, d in itertools.chain(missing_bytes(), names_of_bytes()):
        lines.append(line(name, d, TEXTS))
    lines += [line(*x) for x in added_tokens()]
    text = "".join(json.dumps(x, ensure_ascii=False) + "\n" for x in lines)
    subprocess.run(["zstd", "-q", "-19", "--long", "-f", "-o", sys.argv[1]],
                   input=text.encode(), check=True)


if __name__ == "__main__":
    random.seed(1)
    main()
