#!/usr/bin/env python3
"""Train on tests/data/text with Hugging Face tokenizers, write its merges.

usage: make_train_golden.py [TESTS_DATA]

Writes train/gpt2.merges and train/cl100k.merges: line k holds the two ids
that merge k joins (bytes are 0..255 in GPT-2 order, merge k makes id
256 + k).  All *.jsonl.zst of text/ in name order; the order does not matter.
"""
import glob
import json
import os
import sys

from trainlib import documents, merges_and_vocab, train

VOCAB = 4096


def main(data):
    os.makedirs(f"{data}/train", exist_ok=True)
    texts = [t for f in sorted(glob.glob(f"{data}/text/*.jsonl.zst"))
             for t in documents(f)]
    for split in ("gpt2", "cl100k"):
        model = json.loads(train(texts, split, VOCAB).to_str())["model"]
        merges, tokens = merges_and_vocab(model)
        ids = {t: i for i, t in enumerate(tokens)}
        for k, (a, b) in enumerate(merges):
            assert ids[a + b] == 256 + k
        with open(f"{data}/train/{split}.merges", "w") as out:
            for a, b in merges:
                out.write(f"{ids[a]} {ids[b]}\n")
        print(out.name, len(merges))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "tests/data")
