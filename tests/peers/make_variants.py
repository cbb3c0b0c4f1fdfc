#!/usr/bin/env python3
"""Make tests/data/variants: RoPE scaling and sliding windows.

usage: make_variants.py OUT

Needs torch, transformers and safetensors (tests/peers/setup makes an
environment).  Everything follows from fixed seeds.  There is one file of
weights for each type of model, TYPE.safetensors; NAME/config.json is a
configuration for one of them, in the spelling that NAME is about, and
NAME/golden.safetensors comes from transformers' own model in float64 (RMSNorm
patched to stay in float64; RoPE angles are float32, as transformers has them):

ids (1,T) targets (1,T) i32, logits (1,T,V) f32, loss (1) f64, grad.NAME f32 of
  the queries and keys of both layers
packed.ids packed.seg packed.targets packed.logits packed.loss
  three documents in one window, positions not reset
score.N (N-1) f64: log-probabilities of ids[1:N], the text of N tokens alone
generated (P+G) i32, logprobs (G) f64: greedy, after the first P ids

T is beyond original_max_position_embeddings and the window.  Each text goes
through a model just loaded: dynamic frequencies of a longer text would stay.
"""
import json
import os
import sys

import torch
from safetensors.torch import save_file
from transformers import (LlamaConfig, LlamaForCausalLM, MistralConfig,
                          MistralForCausalLM, Qwen3Config, Qwen3ForCausalLM)
from transformers.models.llama import modeling_llama
from transformers.models.mistral import modeling_mistral
from transformers.models.qwen3 import modeling_qwen3

T, V, P, G = 48, 64, 14, 12
LENGTHS = (9, 20, 33, 48)
TYPES = {"llama": (LlamaConfig, LlamaForCausalLM),
         "mistral": (MistralConfig, MistralForCausalLM),
         "qwen3": (Qwen3Config, Qwen3ForCausalLM)}
SHAPE = dict(vocab_size=V, hidden_size=32, num_hidden_layers=2,
             intermediate_size=48, rms_norm_eps=1e-5, head_dim=16,
             bos_token_id=None, eos_token_id=None, pad_token_id=None)
HEADS = dict(num_attention_heads=2, num_key_value_heads=1,
             tie_word_embeddings=True)


def norm64(self, x):
    return self.weight * (x * torch.rsqrt(
        x.pow(2).mean(-1, keepdim=True) + self.variance_epsilon))


def variants():
    """Name, type, keys of config.json that differ."""
    yield "linear-old", "llama", dict(
        rope_theta=1e4, rope_scaling={"type": "linear", "factor": 2.5})
    yield "linear", "llama", dict(rope_parameters={
        "rope_type": "linear", "rope_theta": 1e4, "factor": 4})
    yield "dynamic", "llama", dict(
        rope_theta=1e4, max_position_embeddings=16,
        rope_scaling={"type": "dynamic", "factor": 2.0})
    yield "yarn", "llama", dict(rope_parameters={
        "rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0,
        "original_max_position_embeddings": 16})
    yield "yarn-ramp", "llama", dict(
        rope_theta=100.0, max_position_embeddings=64, rope_scaling={
            "rope_type": "yarn", "factor": 3.0, "beta_fast": 2.0,
            "beta_slow": 0.25, "truncate": False, "mscale": 1.5,
            "mscale_all_dim": 0.5, "original_max_position_embeddings": 16})
    yield "yarn-factor", "llama", dict(
        max_position_embeddings=64, rope_parameters={
            "rope_type": "yarn", "rope_theta": 50.0, "factor": 4.0,
            "attention_factor": 0.8, "beta_fast": 3, "beta_slow": 0.5,
            "original_max_position_embeddings": 16})
    yield "llama3", "llama", dict(rope_theta=5e5, rope_scaling={
        "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
        "high_freq_factor": 4.0, "original_max_position_embeddings": 32})
    yield "llama3-new", "llama", dict(rope_parameters={
        "rope_type": "llama3", "rope_theta": 1e3, "factor": 32.0,
        "low_freq_factor": 1.0, "high_freq_factor": 8.0,
        "original_max_position_embeddings": 16})
    yield "mistral", "mistral", dict(
        rope_theta=1e4, sliding_window=None)
    yield "mistral-window", "mistral", dict(
        rope_theta=1e6, sliding_window=7)
    yield "qwen3-window", "qwen3", dict(
        rope_theta=1e6, use_sliding_window=True, sliding_window=10,
        max_window_layers=1)
    yield "qwen3-types", "qwen3", dict(
        rope_parameters={"rope_type": "default", "rope_theta": 1e6},
        use_sliding_window=True, sliding_window=5,
        layer_types=["sliding_attention"] * 2)


def heads_of(kind):
    return dict(HEADS, num_attention_heads=4, num_key_value_heads=2,
                tie_word_embeddings=False) if kind == "mistral" else HEADS


def weights(kind, seed):
    cfg, cls = TYPES[kind]
    model = cls(cfg(**SHAPE, **heads_of(kind)))
    g = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in sorted(model.named_parameters()):
            n = torch.randn(p.shape, generator=g)
            p.copy_(1 + 0.3 * n if p.dim() == 1 else 0.15 * n)
    return {n: p.detach().clone() for n, p in model.named_parameters()}


def load(kind, folder, state):
    """A model as transformers reads it from this config.json."""
    cfg, cls = TYPES[kind]
    c = cfg.from_pretrained(folder)
    c._attn_implementation = "eager"
    model = cls(c)
    model.load_state_dict(state, strict=not c.tie_word_embeddings)
    model.tie_weights()
    return model.double().eval()    # angles stay float32: forward() casts


def loss_of(logits, targets):
    keep = targets != -100
    return torch.nn.functional.cross_entropy(logits[keep], targets[keep])


def window_of(model, layer):
    c = model.config
    types = getattr(c, "layer_types", None)
    if types and types[layer] != "sliding_attention":
        return None
    return getattr(c, "sliding_window", None)


def packed(fresh, g):
    """Documents in one window, each alone at its positions, then joined."""
    p = torch.randint(0, V, (1, T + 1), generator=g)
    seg = torch.zeros(T + 1, dtype=torch.long)
    seg[11:] += 1
    seg[12:] += 1       # a document of one token
    x, y = p[:, :-1].contiguous(), p[:, 1:].clone()
    y[0, seg[1:] != seg[:-1]] = -100
    s = seg[:T]
    model = fresh()
    rows = torch.arange(T)
    allowed = (s[:, None] == s[None]) & (rows[None] <= rows[:, None])
    masks = []
    for i in range(model.config.num_hidden_layers):
        w = window_of(model, i)
        a = allowed & (rows[None] > rows[:, None] - w) if w else allowed
        masks.append(a[None, None])

    for i, layer in enumerate(model.model.layers):
        layer.self_attn.register_forward_pre_hook(
            with_mask(masks[i]), with_kwargs=True)
    logits = model(x, attention_mask=masks[0]).logits.detach()
    return {"packed.ids": x.int(), "packed.seg": s[None].int().contiguous(),
            "packed.targets": y.int().contiguous(),
            "packed.logits": logits.float(),
            "packed.loss": loss_of(logits, y)[None]}


def with_mask(mask):
    def hook(module, args, kwargs):
        kwargs["attention_mask"] = torch.zeros(mask.shape).double() \
            .masked_fill(~mask, float("-inf"))
        return args, kwargs
    return hook


def goldens(fresh, seed):
    g = torch.Generator().manual_seed(seed)
    ids = torch.randint(0, V, (1, T + 1), generator=g)
    x, y = ids[:, :-1].contiguous(), ids[:, 1:].clone()
    y[0, 5] = -100
    out = {"ids": x.int(), "targets": y.int().contiguous()}
    model = fresh()
    logits = model(x).logits
    loss = loss_of(logits, y)
    loss.backward()
    out["logits"], out["loss"] = logits.detach().float(), loss.detach()[None]
    out.update({"grad." + n: p.grad.float() for n, p in
                model.named_parameters() if "q_proj" in n or "k_proj" in n})
    out.update(packed(fresh, g))
    for n in LENGTHS:
        lp = torch.log_softmax(fresh()(x[:, :n]).logits[0].detach(), -1)
        out[f"score.{n}"] = lp[:-1].gather(1, x[0, 1:n, None])[:, 0]
    # one token after another, with the cache of the model itself
    model, cache, got, lps = fresh(), None, x[0, :P].tolist(), []
    step = x[:, :P]
    for _ in range(G):
        r = model(step, past_key_values=cache, use_cache=True)
        cache = r.past_key_values
        lp = torch.log_softmax(r.logits[0, -1].detach(), -1)
        step = lp.argmax()[None, None]
        got.append(step.item())
        lps.append(lp[step.item()].item())
    out["generated"] = torch.tensor(got).int()
    out["logprobs"] = torch.tensor(lps, dtype=torch.float64)
    return {k: v.contiguous() for k, v in out.items()}


def main(out):
    torch.set_num_threads(1)
    modeling_llama.LlamaRMSNorm.forward = norm64
    modeling_mistral.MistralRMSNorm.forward = norm64
    modeling_qwen3.Qwen3RMSNorm.forward = norm64
    os.makedirs(out, exist_ok=True)
    states = {}
    for seed, kind in enumerate(TYPES):
        states[kind] = weights(kind, 300 + seed)
        save_file(states[kind], f"{out}/{kind}.safetensors")
    for seed, (name, kind, keys) in enumerate(variants()):
        folder = f"{out}/{name}"
        os.makedirs(folder, exist_ok=True)
        c = dict(model_type=kind, hidden_act="silu", attention_bias=False,
                 torch_dtype="float32", max_position_embeddings=256)
        c.update(SHAPE, **heads_of(kind))
        c.update(keys)
        json.dump(c, open(folder + "/config.json", "w"), indent=1)
        save_file(goldens(lambda: load(kind, folder, states[kind]),
                          400 + seed), folder + "/golden.safetensors")
    for top, _, files in os.walk(out):
        for f in files:
            os.chmod(f"{top}/{f}", 0o644)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__.split("\n\n")[1])
    main(sys.argv[1])
