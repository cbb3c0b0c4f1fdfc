#!/usr/bin/env python3
"""Hold a run of lm-train against PyTorch's AdamW, step by step, in fp32.

usage: train_compare.py BIN HF-FOLDER RUN

RUN was made by  lm-train --init-from HF-FOLDER --dtype fp32 --steps 50 ...
Loads HF-FOLDER in transformers, takes the batch of each step from
`decode-batch --run RUN --step N --json`, computes the loss over the targets
whose mask is 1 with block-diagonal attention over the documents of a window
(unless the run says doc_mask false), clips, and updates with torch.optim.AdamW
under the learning rate of the schedule as config.json describes it.

Status 1 unless every loss agrees to 1e-4 relative, every learning rate to
1e-9, and every final tensor to 2e-3 of its norm, of the distance it moved at
least half as well (a tensor that never moved would pass otherwise).
"""
import json
import math
import os
import subprocess
import sys

import torch
import torch.nn.functional as F
from safetensors import safe_open
from transformers import AutoModelForCausalLM


def option(c, *names, default=None):
    """An option of the run, whatever section it stands in."""
    for n in names:
        if n in c and not isinstance(c[n], dict):
            return c[n]
    for v in c.values():
        if isinstance(v, dict):
            got = option(v, *names)
            if got is not None:
                return got
    return default


def schedule(c):
    peak = option(c, "lr")
    low = option(c, "min_lr", default=-1)
    low = peak / 10 if low < 0 else low
    warm = option(c, "warmup_steps", default=0)
    kind = option(c, "schedule", default="cosine")
    steps = option(c, "steps")
    decay = option(c, "decay_steps", default=-1)
    decay = steps // 5 if decay < 0 else decay

    def lr(s):
        if s < warm:
            return peak * (s + 1) / warm
        start = warm if kind == "cosine" else steps - decay
        if s < start or kind == "constant":
            return peak
        r = (s - start) / (steps - start)
        if kind == "cosine":
            return max(low + (peak - low) * (1 + math.cos(math.pi * r)) / 2,
                       peak * 1e-6)
        return max(peak + (low - peak) * r, peak * 1e-6)
    return lr


def batch_of(bin_, run, step):
    out = subprocess.run([bin_ + "/decode-batch", "--run", run, "--step",
                          str(step), "--json"], check=True,
                         stdout=subprocess.PIPE).stdout
    w = [json.loads(line) for line in out.split(b"\n") if line]
    ids = torch.tensor([x["ids"] for x in w])
    targets = torch.tensor([x["targets"] for x in w])
    mask = torch.tensor([x["mask"] for x in w])
    seg = torch.full_like(ids, -1)
    for i, x in enumerate(w):
        for n, d in enumerate(x["docs"]):
            seg[i, d["start"]:d["end"]] = n
    return ids, targets.masked_fill(mask == 0, -100), seg


def allowed(seg, doc_mask):
    t = seg.shape[1]
    ok = torch.ones(t, t, dtype=torch.bool).tril()[None]
    if doc_mask:
        ok = ok & (seg[:, :, None] == seg[:, None, :])
    return ok[:, None]


def groups(model, wd, decay_embeddings):
    tied = model.config.tie_word_embeddings
    yes, no = [], []
    for n, p in model.named_parameters():
        is_embedding = "embed_tokens" in n
        decays = p.dim() >= 2 and (decay_embeddings or not is_embedding)
        (yes if decays else no).append(p)
    assert not (tied and any("lm_head" in n
                             for n, _ in model.named_parameters()))
    return [{"params": yes, "weight_decay": wd},
            {"params": no, "weight_decay": 0.0}]


def log_of(run):
    with open(run + "/train.jsonl") as f:
        return [o for o in map(json.loads, f) if o["type"] == "step"]


def main(bin_, hf, run):
    c = json.load(open(run + "/config.json"))
    model = AutoModelForCausalLM.from_pretrained(hf, dtype=torch.float32)
    first = {n: p.detach().clone() for n, p in model.named_parameters()}
    opt = torch.optim.AdamW(
        groups(model, option(c, "weight_decay", default=0.1),
               option(c, "decay_embeddings", default=False)),
        lr=1.0, betas=(option(c, "beta1", default=0.9),
                       option(c, "beta2", default=0.95)),
        eps=option(c, "eps", default=1e-8))
    clip = option(c, "clip", default=1.0)
    doc_mask = option(c, "doc_mask", default=True)
    lr, bad, worst = schedule(c), 0, 0.0
    log = log_of(run)
    for line in log:
        s = line["step"]
        ids, targets, seg = batch_of(bin_, run, s)
        logits = model(ids, attention_mask=allowed(seg, doc_mask)).logits
        loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        for g in opt.param_groups:
            g["lr"] = lr(s)
        opt.step()
        opt.zero_grad()
        rel = abs(loss.item() - line["loss"]) / loss.item()
        worst = max(worst, rel)
        if rel > 1e-4 or abs(lr(s) - line["lr"]) > 1e-9 * lr(s) or abs(
                norm.item() - line["grad_norm"]) > 1e-3 * norm.item():
            bad += 1
            print(f"step {s}: loss ours {line['loss']} torch {loss.item()}, "
                  f"norm {line['grad_norm']} {norm.item()}, "
                  f"lr {line['lr']} {lr(s)}")
    bad += compare_weights(model, first, f"{run}/step-{len(log):08d}")
    print(f"{len(log)} steps, worst relative difference of loss {worst:.2e}, "
          f"{bad} faults")
    return 1 if bad or not log else 0


def weights_of(folder):
    """The fp32 master weights where they are kept apart, else the model's."""
    got = {}
    for name in ("model.safetensors", "optimizer.safetensors"):
        if not os.path.exists(f"{folder}/{name}"):
            continue
        with safe_open(f"{folder}/{name}", "pt") as f:
            for k in f.keys():
                for prefix in ("", "master."):
                    if k.startswith(prefix + "model.") or k.startswith(
                            prefix + "lm_head."):
                        got[k[len(prefix):]] = f.get_tensor(k).float()
    return got


def compare_weights(model, first, folder):
    ours, bad, most = weights_of(folder), 0, 0.0
    for n, p in model.named_parameters():
        p = p.detach()
        diff = (ours[n] - p).norm().item()
        moved = (p - first[n]).norm().item()
        most = max(most, diff / p.norm().item())
        if diff > 2e-3 * p.norm().item() or diff > 0.5 * moved:
            bad += 1
            print(f"{n}: differs by {diff:.3g}, norm {p.norm():.3g}, "
                  f"moved {moved:.3g}")
    print(f"worst tensor: {most:.2e} of its norm")
    return bad


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__.split("\n\n")[1])
    torch.manual_seed(0)
    sys.exit(main(*sys.argv[1:]))
