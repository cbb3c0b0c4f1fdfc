#!/usr/bin/env python3
"""Make the tiny models and their goldens in tests/data/models.

usage: make_goldens.py OUT [TEXT.jsonl.zst]

Needs torch, transformers, tokenizers, safetensors (tests/peers/setup makes an
environment).  Everything follows from a fixed seed.  For each model a
Hugging Face folder, and beside its files:

golden.safetensors   of transformers' own forward and backward in float64
                     (RMSNorm patched to stay in float64; RoPE angles are
                     float32, as transformers has them), stored as float32:
  ids (B,T) targets (B,T) i32; a target of -100 does not count
  logits (B,T,V), loss and loss_z (1) f64 (loss_z: z-loss 1e-3 added),
  grad.NAME: gradient of loss for each parameter, by its Hugging Face name
  packed.ids (1,T) packed.seg (1,T) packed.targets: documents behind one
  another in one window, block-diagonal causal attention, positions NOT reset,
  the target across a bound -100; packed.logits packed.loss packed.grad.NAME
golden.json          greedy: [{"prompt","prompt_ids","tokens","logprobs"}]
                     score: [{"context","continuation","tokens","logprobs",
                     "logprob","greedy"}]; BOS first, float64

The weights are drawn wider than a real initialization, and norms away from
one, so that a missing norm, a wrong head, or a wrong angle changes much.
"""
import json
import os
import shutil
import subprocess
import sys

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (LlamaConfig, LlamaForCausalLM, Qwen3Config,
                          Qwen3ForCausalLM)
from transformers.models.llama import modeling_llama
from transformers.models.qwen3 import modeling_qwen3

BOS, EOS = "<|bos|>", "<|eos|>"
VOCAB = 320     # of the tokenizer; a model's may be larger
B, T = 2, 24


def norm64(self, x):
    """RMSNorm in the dtype of x: the original goes through float32."""
    return self.weight * (x * torch.rsqrt(
        x.pow(2).mean(-1, keepdim=True) + self.variance_epsilon))


def make_tokenizer(text_path, out):
    raw = subprocess.run(["zstd", "-dcq", text_path], check=True,
                         stdout=subprocess.PIPE).stdout.decode()
    texts = [json.loads(s)["text"] for s in raw.split("\n") if s]
    tok = Tokenizer(models.BPE())
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tok.decoder = decoders.ByteLevel()
    tok.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=VOCAB - 2, min_frequency=0, show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    tok.add_special_tokens([BOS, EOS])
    os.makedirs(out, exist_ok=True)
    tok.save(out + "/tokenizer.json")
    # Byte ids in GPT-2 order, as every file of this toolkit has them.
    d = json.load(open(out + "/tokenizer.json"))
    alphabet = gpt2_alphabet()
    ids = {t: i for t, i in d["model"]["vocab"].items()}
    order = alphabet + [t for t in ids if t not in set(alphabet)]
    d["model"]["vocab"] = {t: i for i, t in enumerate(order)}
    json.dump(d, open(out + "/tokenizer.json", "w"), ensure_ascii=False)
    json.dump({"bos_token": BOS, "eos_token": EOS, "add_bos_token": True,
               "tokenizer_class": "PreTrainedTokenizerFast"},
              open(out + "/tokenizer_config.json", "w"))
    return Tokenizer.from_file(out + "/tokenizer.json"), texts


def gpt2_alphabet():
    """The 256 byte characters in the order of GPT-2's ids."""
    printable = (list(range(33, 127)) + list(range(161, 173))
                 + list(range(174, 256)))
    rest = 256 + torch.arange(256 - len(printable))
    return [chr(c) for c in printable] + [chr(int(c)) for c in rest]


def randomize(model, seed):
    g = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in sorted(model.named_parameters()):
            n = torch.randn(p.shape, generator=g)
            p.copy_(1 + 0.3 * n if p.dim() == 1 else 0.08 * n)


def loss_of(logits, targets, z=0.0):
    keep = targets != -100
    rows, want = logits[keep], targets[keep]
    lse = torch.logsumexp(rows, -1)
    nll = lse - rows.gather(1, want[:, None])[:, 0]
    return (nll + z * lse * lse).mean()


def gradients(model):
    got = {n: p.grad.float().clone() for n, p in model.named_parameters()}
    model.zero_grad()
    return got


def goldens(model, cfg, seed, with_packed_grads):
    g = torch.Generator().manual_seed(seed)
    ids = torch.randint(0, cfg.vocab_size, (B, T + 1), generator=g)
    x, y = ids[:, :-1].contiguous(), ids[:, 1:].clone()
    y[1, 5] = y[1, 6] = -100
    out = {"ids": x.int(), "targets": y.int().contiguous()}
    logits = model(x).logits
    loss = loss_of(logits, y)
    loss.backward()
    out["logits"] = logits.detach().float()
    out["loss"] = loss.detach()[None]
    out["loss_z"] = loss_of(logits.detach(), y, 1e-3)[None]
    out.update({"grad." + n: t for n, t in gradients(model).items()})

    p = torch.randint(0, cfg.vocab_size, (1, T + 1), generator=g)
    seg = torch.zeros(T + 1, dtype=torch.long)
    seg[7:] += 1
    seg[8:] += 1        # a document of one token
    seg[17:] += 1
    px, py = p[:, :-1].contiguous(), p[:, 1:].clone()
    py[0, seg[1:] != seg[:-1]] = -100
    s = seg[:T]
    allowed = (s[:, None] == s[None, :]) & torch.ones(T, T).tril().bool()
    logits = model(px, attention_mask=allowed[None, None]).logits
    loss = loss_of(logits, py)
    loss.backward()
    out.update({"packed.ids": px.int(), "packed.seg": s[None].int(),
                "packed.targets": py.int().contiguous(),
                "packed.logits": logits.detach().float(),
                "packed.loss": loss.detach()[None]})
    got = gradients(model)
    if with_packed_grads:
        out.update({"packed.grad." + n: t for n, t in got.items()})
    check_packing(model, px, s, logits.detach())
    return {k: v.contiguous() for k, v in out.items()}


def check_packing(model, px, seg, logits):
    """Each document alone, at the same positions, gives the same logits."""
    for d in seg.unique():
        at = (seg == d).nonzero()[:, 0]
        alone = model(px[:, at], position_ids=at[None]).logits.detach()
        assert (alone - logits[:, at]).abs().max() < 1e-10


def greedy(model, tok, prompt, n):
    ids = [tok.token_to_id(BOS)] + tok.encode(prompt).ids
    got = model.generate(torch.tensor([ids]), do_sample=False,
                         max_new_tokens=n)[0].tolist()
    logp = torch.log_softmax(model(torch.tensor([got])).logits[0], -1)
    new = got[len(ids):]
    lps = [logp[len(ids) - 1 + i, t].item() for i, t in enumerate(new)]
    two = logp[len(ids) - 1:-1].topk(2)[0]
    return ((two[:, 0] - two[:, 1]).min().item(),
            {"prompt": prompt, "prompt_ids": ids, "tokens": new,
             "logprobs": lps})


def greedies(model, tok, texts, bf16):
    """Prompts on which no choice is so close that rounding decides it."""
    n, least = (8, 0.04) if bf16 else (24, 1e-3)
    kept = []
    for p in ["It was a", "", "Él y la niña"] + [t[:30] for t in texts]:
        gap, line = greedy(model, tok, p, n)
        if gap > least:
            kept.append(line)
    return kept[:4]


def score(model, tok, context, continuation):
    c = [tok.token_to_id(BOS)] + tok.encode(context).ids
    w = tok.encode(continuation).ids
    assert c[1:] + w == tok.encode(context + continuation).ids
    logp = torch.log_softmax(model(torch.tensor([c + w])).logits[0], -1)
    at = logp[len(c) - 1:-1]
    lps = [at[i, t].item() for i, t in enumerate(w)]
    return {"context": context, "continuation": continuation, "tokens": w,
            "logprobs": lps, "logprob": sum(lps),
            "greedy": at.argmax(-1).tolist() == w}


def one_token(model, tok, texts, n):
    """Continuations of one token that the model itself would choose."""
    got = []
    for t in texts:
        ids = [tok.token_to_id(BOS)] + tok.encode(t[:60]).ids
        top = model(torch.tensor([ids])).logits[0, -1].argmax().item()
        word = tok.decode([top]) if top < VOCAB - 2 else ""
        if word and tok.encode(t[:60] + word).ids == ids[1:] + [top]:
            got.append(score(model, tok, t[:60], word))
    return got[:n]


def models_to_make(tok):
    common = dict(bos_token_id=tok.token_to_id(BOS), rms_norm_eps=1e-5,
                  eos_token_id=tok.token_to_id(EOS), pad_token_id=None,
                  max_position_embeddings=256, attn_implementation="sdpa")
    theta = lambda t: {"rope_type": "default", "rope_theta": t}
    yield ("llama-tied", LlamaForCausalLM, torch.float32, LlamaConfig(
        vocab_size=320, hidden_size=64, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=4, intermediate_size=96,
        tie_word_embeddings=True, rope_parameters=theta(1e4), **common))
    yield ("llama-gqa", LlamaForCausalLM, torch.float32, LlamaConfig(
        vocab_size=331, hidden_size=48, num_hidden_layers=3, head_dim=16,
        num_attention_heads=6, num_key_value_heads=2, intermediate_size=80,
        tie_word_embeddings=False, rope_parameters=theta(5e5), **common))
    yield ("qwen3", Qwen3ForCausalLM, torch.float32, Qwen3Config(
        vocab_size=320, hidden_size=48, num_hidden_layers=2, head_dim=32,
        num_attention_heads=4, num_key_value_heads=1, intermediate_size=96,
        tie_word_embeddings=True, rope_parameters=theta(1e6),
        use_sliding_window=False, **{**common, "rms_norm_eps": 1e-6}))
    yield ("llama-bf16-sharded", LlamaForCausalLM, torch.bfloat16, LlamaConfig(
        vocab_size=320, hidden_size=64, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, intermediate_size=96,
        tie_word_embeddings=False, rope_parameters=theta(1e4), **common))


def old_style(folder):
    """config.json as transformers 4 wrote it: rope_theta, torch_dtype."""
    path = folder + "/config.json"
    c = json.load(open(path))
    c["rope_theta"] = c.pop("rope_parameters")["rope_theta"]
    c["torch_dtype"] = c.pop("dtype")
    json.dump(c, open(path, "w"), indent=2)


def main(out, text_path):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    modeling_llama.LlamaRMSNorm.forward = norm64
    modeling_qwen3.Qwen3RMSNorm.forward = norm64
    tokdir = out + "/tokenizer"
    tok, texts = make_tokenizer(text_path, tokdir)
    for seed, (name, cls, dtype, cfg) in enumerate(models_to_make(tok)):
        folder = f"{out}/{name}"
        shutil.rmtree(folder, ignore_errors=True)
        model = cls(cfg)
        randomize(model, 100 + seed)
        model.to(dtype)
        sharded = name.endswith("sharded")
        model.save_pretrained(folder, max_shard_size="120KB" if sharded
                              else "1GB")
        if name == "llama-tied":
            old_style(folder)
        for f in ("tokenizer.json", "tokenizer_config.json"):
            shutil.copy(f"{tokdir}/{f}", folder)
        # Loaded again: .to(bfloat16) has rounded the constants of RoPE too,
        # which nobody who loads the folder does.
        model = cls.from_pretrained(folder, dtype=torch.float32,
                                    attn_implementation="sdpa")
        model.double().eval()
        save_file(goldens(model, cfg, 200 + seed, name == "llama-gqa"),
                  folder + "/golden.safetensors")
        with torch.no_grad():
            g = greedies(model, tok, texts, dtype == torch.bfloat16)
            s = [score(model, tok, texts[i][200:200 + 80 * (i + 1)],
                       texts[i][200 + 80 * (i + 1):240 + 90 * (i + 1)])
                 for i in pick(tok, texts, 4)]
            s += one_token(model, tok, texts, 2)
        for f in os.listdir(folder):
            os.chmod(f"{folder}/{f}", 0o644)
        json.dump({"greedy": g, "score": s},
                  open(folder + "/golden.json", "w"), ensure_ascii=False,
                  indent=1)
    shutil.rmtree(tokdir)


def pick(tok, texts, n):
    """Texts whose two halves tokenize alone as they do together."""
    got = []
    for i, t in enumerate(texts):
        a, b = t[200:200 + 80 * (i + 1)], t[200 + 80 * (i + 1):240 + 90 * (i + 1)]
        if a and b and (tok.encode(a).ids + tok.encode(b).ids
                        == tok.encode(a + b).ids) and len(a) + len(b) < 600 \
                and len(tok.encode(a + b).ids) < 250:
            got.append(i)
    return got[:n]


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__.split("\n\n")[1])
    here = os.path.dirname(os.path.abspath(__file__))
    main(sys.argv[1], sys.argv[2] if len(sys.argv) == 3 else
         here + "/../data/text/novels.jsonl.zst")
