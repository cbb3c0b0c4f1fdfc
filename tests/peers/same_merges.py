#!/usr/bin/env python3
"""Is tok-train's tokenizer the one that Hugging Face's BpeTrainer makes?

usage: same_merges.py BIN SPLIT VOCAB FILE.jsonl[.zst]...

SPLIT is gpt2, cl100k, o200k or qwen2.  Trains both on the same documents and
compares merges and vocabulary; then loads ours in tokenizers, transformers
and (its .tiktoken file) in tiktoken and compares ids on the documents.
Status 1: a difference, which is printed.
"""
import base64
import json
import os
import subprocess
import sys
import tempfile

from tokenizers import (Regex, Tokenizer, decoders, models, pre_tokenizers,
                        trainers)

SPLITS = {
    "gpt2": None,
    "cl100k": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+"
              r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
              r"|\s+(?!\S)|\s+",
    "qwen2": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+"
             r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
             r"|\s+(?!\S)|\s+",
}
SPLITS["o200k"] = "|".join([
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*"
    r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+"
    r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n/]*", r"\s*[\r\n]+",
    r"\s+(?!\S)", r"\s+"])
SPECIAL = ["<|bos|>", "<|eos|>"]


def texts_of(paths):
    for p in paths:
        raw = open(p, "rb").read()
        if raw[:4] == b"\x28\xb5\x2f\xfd":
            raw = subprocess.run(["zstd", "-dcq", "--long=31", p], check=True,
                                 stdout=subprocess.PIPE).stdout
        for line in raw.split(b"\n"):
            if line.strip():
                yield json.loads(line)["text"]


def pre_tokenizer(split):
    if SPLITS[split] is None:
        return pre_tokenizers.ByteLevel(add_prefix_space=False)
    return pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(SPLITS[split]), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def peer(split, vocab, texts):
    tok = Tokenizer(models.BPE())
    tok.pre_tokenizer = pre_tokenizer(split)
    tok.decoder = decoders.ByteLevel()
    tok.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=vocab - len(SPECIAL), min_frequency=0, show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    return json.loads(tok.to_str())


def merges_of(d):
    return [tuple(m if isinstance(m, list) else m.split(" "))
            for m in d["model"]["merges"]]


def fail(*what):
    print(*what)
    sys.exit(1)


def compare_merges(ours, theirs):
    a, b = merges_of(ours), merges_of(theirs)
    for i, (x, y) in enumerate(zip(a, b)):
        if x != y:
            fail(f"merge {i}: ours {x}, tokenizers' {y}")
    if len(a) != len(b):
        fail(f"{len(a)} merges, tokenizers has {len(b)}")
    if set(ours["model"]["vocab"]) - set(SPECIAL) != set(
            theirs["model"]["vocab"]):
        fail("the vocabularies differ")


def compare_ids(dir_, split, texts):
    import tiktoken
    from transformers import PreTrainedTokenizerFast
    path = dir_ + "/tokenizer.json"
    tok = Tokenizer.from_file(path)
    fast = PreTrainedTokenizerFast(tokenizer_file=path)
    ranks = {}
    for line in open(dir_ + "/ours.tiktoken", "rb"):
        t, r = line.split()
        ranks[base64.b64decode(t)] = int(r)
    pattern = SPLITS[split] or (r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+"
                                r"| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")
    enc = tiktoken.Encoding("ours", pat_str=pattern, mergeable_ranks=ranks,
                            special_tokens={})
    n = 0
    for t in texts[:2000]:
        if any(s in t for s in SPECIAL):
            continue
        ids = tok.encode(t, add_special_tokens=False).ids
        if fast(t, add_special_tokens=False)["input_ids"] != ids:
            fail("transformers differs from tokenizers on", repr(t[:80]))
        if enc.encode_ordinary(t) != ids:
            fail("tiktoken differs from tokenizers on", repr(t[:80]))
        n += 1
    return n


def main(bin_, split, vocab, paths):
    texts = list(texts_of(paths))
    with tempfile.TemporaryDirectory() as d:
        subprocess.run([bin_ + "/tok-train", "-q", "--vocab-size", str(vocab),
                        "--split", split, "--tiktoken", d + "/ours.tiktoken",
                        "-o", d + "/tokenizer.json", *paths], check=True)
        ours = json.load(open(d + "/tokenizer.json", encoding="utf-8"))
        compare_merges(ours, peer(split, vocab, texts))
        n = compare_ids(d, split, texts)
    print(f"{split} {vocab}: {len(ours['model']['merges'])} merges equal, "
          f"ids of {n} documents equal")


if __name__ == "__main__":
    if len(sys.argv) < 5:
        sys.exit(__doc__.split("\n\n")[1])
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:])
