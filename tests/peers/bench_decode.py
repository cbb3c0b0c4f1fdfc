#!/usr/bin/env python3
"""Greedy decoding of one sequence by transformers, one JSON line.

usage: bench_decode.py HF-FOLDER|PRESET TOKENS

bf16, CPU, KV cache.  PRESET (124M, 500M, ...): random weights with a
vocabulary of 50,304.  The first 8 tokens are not counted.
"""
import json
import os
import resource
import sys
import time

import torch
from transformers import AutoModelForCausalLM

from bench_train import PRESETS, model_of


def main(where, n):
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    if where in PRESETS:
        model = model_of(where, 50304, 2048)
    else:
        model = AutoModelForCausalLM.from_pretrained(where)
    model = model.bfloat16().eval()
    model.config.use_cache = True
    x = torch.tensor([[1, 2, 3, 4]])

    def go(k):
        with torch.no_grad():
            model.generate(x, do_sample=False, max_new_tokens=k,
                           min_new_tokens=k, use_cache=True,
                           eos_token_id=None, pad_token_id=0)

    go(8)
    wall, cpu = time.monotonic(), time.process_time()
    go(n)
    cpu, wall = time.process_time() - cpu, time.monotonic() - wall
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({
        "cpu_s": round(cpu / n, 5), "wall_s": round(wall / n, 5),
        "peak_mb": round(peak, 1), "tokens_per_s": round(n / wall, 2),
        "weight_bytes": sum(p.numel() for p in model.parameters()) * 2}))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__.split("\n\n")[1])
    main(sys.argv[1], int(sys.argv[2]))
