#!/usr/bin/env python3
"""Train on tests/data/text with Hugging Face's BpeTrainer, write its merges.

usage: make_train_golden.py [TESTS_DATA]

Writes train/gpt2.merges and train/cl100k.merges: line k holds the two ids
that merge k joins (bytes are 0..255 in GPT-2 order, merge k makes id
256 + k).  All *.jsonl.zst of text/ together; their order does not matter.
"""
import glob
import os
import sys

from same_merges import merges_of, peer, texts_of

VOCAB = 4096


def main(data):
    os.makedirs(f"{data}/train", exist_ok=True)
    texts = list(texts_of(sorted(glob.glob(f"{data}/text/*.jsonl.zst"))))
    for split in ("gpt2", "cl100k"):
        model = peer(split, VOCAB, texts)
        ids = model["model"]["vocab"]
        with open(f"{data}/train/{split}.merges", "w") as out:
            for k, (a, b) in enumerate(merges_of(model)):
                assert ids[a + b] == 256 + k
                out.write(f"{ids[a]} {ids[b]}\n")
        print(out.name, k + 1)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "tests/data")
