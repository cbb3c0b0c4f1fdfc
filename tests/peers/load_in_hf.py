#!/usr/bin/env python3
"""Does transformers load a checkpoint of ours and compute what we compute?

usage: load_in_hf.py BIN MODEL LINES.jsonl

MODEL is a checkpoint folder of lm-train; LINES are {"context",
"continuation"}. Compares the log-probabilities of `lm-sample --score` in
fp32 with those of transformers on the folder's weights in float32, BOS first
(absolute 1e-4), the ids with those of the folder's tokenizer, and greedy
continuations. Status 1: a difference.
"""
import json
import subprocess
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer


def ours(bin_, model, *args):
    out = subprocess.run([bin_ + "/lm-sample", "-q", "--model", model,
                          "--dtype", "fp32", "--json", *args], check=True,
                         stdout=subprocess.PIPE).stdout
    return [json.loads(line) for line in out.split(b"\n") if line]


def main(bin_, folder, lines):
    model, info = AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32, output_loading_info=True)
    missing = info["missing_keys"] or info["unexpected_keys"]
    if missing:
        sys.exit(f"keys missing or not expected: {info}")
    tok = AutoTokenizer.from_pretrained(folder)
    bad, n = 0, 0
    want = [json.loads(line) for line in open(lines, encoding="utf-8")]
    got = [g for g in ours(bin_, folder, "--score", lines) if "logprobs" in g]
    bos = [model.config.bos_token_id]
    for w, g in zip(want, got, strict=True):
        c = bos + tok.encode(w["context"], add_special_tokens=False)
        ids = torch.tensor([c + g["tokens"]])
        with torch.no_grad():
            lp = torch.log_softmax(model(ids).logits[0].double(), -1)
        for i, t in enumerate(g["tokens"]):
            d = abs(lp[len(c) - 1 + i, t].item() - g["logprobs"][i])
            n += 1
            if d > 1e-4:
                bad += 1
                print(f"{w['context'][-30:]!r} token {i}: off by {d:.2e}")
    prompt = want[0]["context"][:40]
    g = ours(bin_, folder, "--prompt", prompt, "--max-tokens", "16")[0]
    c = torch.tensor([bos + tok.encode(prompt, add_special_tokens=False)])
    out = model.generate(c, do_sample=False, max_new_tokens=16)
    theirs = out[0, c.shape[1]:].tolist()
    eos = model.config.eos_token_id
    if theirs[-1:] == [eos] and g["tokens"][-1:] != [eos]:
        theirs.pop()
    if g["tokens"] != theirs:
        bad += 1
        print("greedy: ours", g["tokens"], "transformers", theirs)
    print(f"{n} log-probabilities and a greedy text, {bad} differ")
    return 1 if bad else 0


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__.split("\n\n")[1])
    sys.exit(main(*sys.argv[1:]))
