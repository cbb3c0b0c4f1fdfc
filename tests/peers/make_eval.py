#!/usr/bin/env python3
"""Cut the evaluation files of examples/evaluate from LAMBADA and ARC-Easy.

usage: make_eval.py LAMBADA_OPENAI_TEST.jsonl.zst ARC_EASY_TEST.jsonl.zst OUT

300 examples each, those with the smallest SHA-1 of the id, in the form that
`lm-sample --score` reads.
"""
import hashlib
import json
import subprocess
import sys

N = 300


def choose(path):
    raw = subprocess.run(["zstd", "-dcq", path], check=True,
                         stdout=subprocess.PIPE).stdout.decode()
    docs = [json.loads(line) for line in raw.split("\n") if line]
    key = lambda d: hashlib.sha1(d["id"].encode()).digest()
    few = {d["id"] for d in sorted(docs, key=key)[:N]}
    return [d for d in docs if d["id"] in few]


def write(path, objects):
    with open(path, "w", encoding="utf-8") as f:
        for o in objects:
            f.write(json.dumps(o, ensure_ascii=False) + "\n")


def main(lambada, arc, out):
    write(out + "/lambada.jsonl", (
        {"id": d["id"], "context": d["context"],
         "continuation": " " + d["answer"]} for d in choose(lambada)))
    write(out + "/arc_easy.jsonl", (
        {"id": d["id"], "context": f"Question: {d['question']}\nAnswer:",
         "choices": [" " + c for c in d["choices"]], "answer": d["answer"]}
        for d in choose(arc)))


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__.split("\n\n")[1])
    main(*sys.argv[1:])
