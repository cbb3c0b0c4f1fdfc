#!/usr/bin/env python3
"""Make GPT-2's tokenizer.json from its vocabulary and merges.

usage: make_gpt2_json.py VOCAB.json MERGES.txt > tokenizer.json

The published form is two files.  This writes the one file that Hugging Face
tokenizers loads, laid out as that library saves it: ByteLevel without a
prefix space, <|endoftext|> as the one special token.  Needs no package.
"""
import json
import sys


def build(vocab, merges):
    eot = vocab["<|endoftext|>"]
    level = {"type": "ByteLevel", "add_prefix_space": False,
             "trim_offsets": True, "use_regex": True}
    return {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [{"id": eot, "content": "<|endoftext|>",
                          "single_word": False, "lstrip": False,
                          "rstrip": False, "normalized": False,
                          "special": True}],
        "normalizer": None,
        "pre_tokenizer": level,
        "post_processor": dict(level),
        "decoder": dict(level),
        "model": {"type": "BPE", "dropout": None, "unk_token": None,
                  "continuing_subword_prefix": None,
                  "end_of_word_suffix": None, "fuse_unk": False,
                  "byte_fallback": False, "ignore_merges": False,
                  "vocab": vocab, "merges": merges},
    }


def main(vocab_path, merges_path):
    with open(vocab_path, encoding="utf-8") as f:
        vocab = json.load(f)
    with open(merges_path, encoding="utf-8") as f:
        lines = f.read().split("\n")
    merges = [s.split(" ") for s in lines if s and not s.startswith("#version")]
    json.dump(build(vocab, merges), sys.stdout, ensure_ascii=False)
    print()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__.split("\n\n")[1])
    main(*sys.argv[1:])
