#!/usr/bin/env python3
"""Train steps of PyTorch + transformers Llama on the CPU, one JSON line.

usage: bench_train.py PRESET VOCAB BATCH SEQ MODE [STEPS]

Forward, backward, clipping at 1.0 and AdamW on random ids; the loss is cross
entropy over all positions.  The first two steps (with compilation) are not
counted; wall_s is the median of the others.  MODE: autocast (fp32 weights, bf16 products), bf16 (weights and
moments too), fp32; compile-autocast and compile-bf16: model and loss through
torch.compile.
"""
import json
import os
import resource
import statistics
import sys
import time

import torch
import torch.nn.functional as F
from transformers import LlamaConfig, LlamaForCausalLM

PRESETS = {  # hidden, layers, heads, kv heads, intermediate
    "1M": (128, 4, 4, 2, 384), "10M": (384, 6, 6, 2, 1024),
    "124M": (768, 12, 12, 12, 2048), "500M": (1280, 24, 20, 4, 3584),
    "1B": (2048, 16, 32, 8, 8192),
}


def model_of(preset, vocab, seq):
    h, layers, heads, kv, inter = PRESETS[preset]
    torch.manual_seed(1)
    return LlamaForCausalLM(LlamaConfig(
        vocab_size=vocab, hidden_size=h, num_hidden_layers=layers,
        num_attention_heads=heads, num_key_value_heads=kv,
        intermediate_size=inter, tie_word_embeddings=True,
        max_position_embeddings=seq, use_cache=False,
        attn_implementation="sdpa"))


def main(preset, vocab, batch, seq, mode, steps):
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    model = model_of(preset, vocab, seq)
    if mode.endswith("bf16"):
        model = model.bfloat16()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.95),
                            weight_decay=0.1)

    def loss_of(ids):
        logits = model(ids[:, :-1]).logits
        return F.cross_entropy(logits.reshape(-1, vocab).float(),
                               ids[:, 1:].reshape(-1))

    run = torch.compile(loss_of) if mode.startswith("compile") else loss_of
    g = torch.Generator().manual_seed(2)

    def step():
        ids = torch.randint(0, vocab, (batch, seq + 1), generator=g)
        with torch.autocast("cpu", torch.bfloat16, mode.endswith("autocast")):
            loss = run(ids)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        opt.zero_grad()
        return loss.item()

    step(), step()
    cpu, each = time.process_time(), []
    for _ in range(steps):
        t = time.monotonic()
        step()
        each.append(time.monotonic() - t)
    cpu = (time.process_time() - cpu) / steps
    wall = statistics.median(each)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({
        "cpu_s": round(cpu, 4), "wall_s": round(wall, 4),
        "best_s": round(min(each), 4), "peak_mb": round(peak, 1),
        "tokens_per_cpu_s": round(batch * seq / cpu, 1),
        "tokens_per_s": round(batch * seq / wall, 1)}))


if __name__ == "__main__":
    if len(sys.argv) not in (6, 7):
        sys.exit(__doc__.split("\n\n")[1])
    a = sys.argv
    main(a[1], int(a[2]), int(a[3]), int(a[4]), a[5],
         int(a[6]) if len(a) == 7 else 5)
