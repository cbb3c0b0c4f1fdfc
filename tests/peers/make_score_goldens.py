#!/usr/bin/env python3
"""Make the tokenizers and goldens in tests/data/score.

usage: make_score_goldens.py MODELS OUT [TEXT.jsonl.zst]

MODELS is tests/data/models: all scores are those of its llama-gqa in float64
(transformers, with RMSNorm patched to stay in float64).  Needs torch,
transformers and tokenizers.  For each kind of tokenizer two files in OUT,
NAME.json (a tokenizer.json) and NAME.golden.json, a list of lines with

  context, continuation   "alone": a token of the joint text crosses the seam
  tokens, logprobs        of the continuation; logprob is their sum
or
  context, choices, answer, and logprobs: the sum of each choice

BOS comes first.  The continuation's tokens are the end of the joint text's
where those begin with the context's, otherwise those of the continuation
encoded by the same tokenizer without a space in front.

A third file, NAME.special.json, has lines with special tokens in their texts,
which are parsed as such.

The ids of BOS and EOS are those of the model, 318 and 319.
"""
import copy
import json
import os
import subprocess
import sys

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import LlamaForCausalLM
from transformers.models.llama import modeling_llama

from make_goldens import norm64

BOS, EOS = 318, 319
SPACE = "\u2581"
LINES = [
    ("The capital of France is", " Paris"),
    ("The capital of France is ", "Paris"),
    ("he said", " that he was"),
    ("he said ", " that he was"),
    ("he said\n", "and then"),
    ("he said", "\n\nand then"),
    ("th", "e other"),
    ("the o", "ther one"),
    ("", "he said"),
    ("", " he said"),
    ("a", "\u65e5\u672c"),
    ("\u65e5", "\u672c and the rest"),
    ("the price, 12", "34 or less"),
    ("x  ", " y"),
    ("it was <|bos|>", " and <|eos|>"),
]
SPECIAL = [
    ("he said<|eos|>", "he"),
    ("he said", "<|eos|> and <|bos|>he<|eos|><|eos|>"),
    ("<|eos|> the end", " of <|eos|> it <unk>"),
    ("it is <|eo", "s|> or not"),
]
CHOICES = [
    ("The other man was", [" there", " here and there", "ther"], 1),
    ("", ["the end", " a", "\u00e9"], 0),
]


def read(path):
    raw = subprocess.run(["zstd", "-dcq", path], check=True,
                         stdout=subprocess.PIPE).stdout.decode()
    return [json.loads(s)["text"] for s in raw.split("\n") if s]


def added():
    return [{"id": i, "content": c, "single_word": False, "lstrip": False,
             "rstrip": False, "normalized": False, "special": True}
            for i, c in ((0, "<unk>"), (BOS, "<|bos|>"), (EOS, "<|eos|>"))]


def post():
    one = {"SpecialToken": {"id": "<|bos|>", "type_id": 0}}
    a = {"Sequence": {"id": "A", "type_id": 0}}
    b = {"Sequence": {"id": "B", "type_id": 1}}
    return {"type": "TemplateProcessing", "single": [one, a],
            "pair": [one, a, b], "special_tokens": {"<|bos|>": {
                "id": "<|bos|>", "ids": [BOS], "tokens": ["<|bos|>"]}}}


def sentencepiece(texts):
    """<unk>, 256 bytes, then characters and merges: 318 in all."""
    tok = Tokenizer(models.BPE(unk_token="<unk>"))
    tok.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    tok.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=BOS - 256, limit_alphabet=26, show_progress=False,
        special_tokens=["<unk>"]))
    d = json.loads(tok.to_str())
    pieces = sorted(d["model"]["vocab"], key=d["model"]["vocab"].get)
    names = pieces[:1] + ["<0x%02X>" % i for i in range(256)] + pieces[1:]
    assert len(names) == BOS
    d["model"].update(vocab={t: i for i, t in enumerate(names)},
                      byte_fallback=True, fuse_unk=True)
    d.update(added_tokens=added(), post_processor=post(), decoder={
        "type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": SPACE}, "content": " "},
            {"type": "ByteFallback"}, {"type": "Fuse"},
            {"type": "Strip", "content": " ", "start": 1, "stop": 0}]})
    return d


def kinds(texts, models_dir):
    """Name, tokenizer, and the same without a space in front."""
    sp = sentencepiece(texts)
    llama = copy.deepcopy(sp)
    replace = {"type": "Replace", "pattern": {"String": " "},
               "content": SPACE}
    llama.update(pre_tokenizer=None, normalizer={
        "type": "Sequence", "normalizers": [
            {"type": "Prepend", "prepend": SPACE}, replace]})
    bare = copy.deepcopy(llama)
    bare["normalizer"] = replace
    yield "prepend", llama, bare
    for scheme in "first", "always":
        d = copy.deepcopy(sp)
        d["pre_tokenizer"] = {"type": "Metaspace", "replacement": SPACE,
                              "prepend_scheme": scheme, "split": False}
        bare = copy.deepcopy(d)
        bare["pre_tokenizer"]["prepend_scheme"] = "never"
        yield "metaspace-" + scheme, d, bare
    d = json.load(open(models_dir + "/llama-gqa/tokenizer.json"))
    d["post_processor"] = post()
    yield "byte-level", d, d
    d = copy.deepcopy(d)
    bare = copy.deepcopy(d)
    d["pre_tokenizer"]["add_prefix_space"] = True
    yield "byte-level-prefix", d, bare


def document(d, special=False):
    """Special tokens in a text are text, unless special is set."""
    d = copy.deepcopy(d)
    if not special:
        d["added_tokens"] = []
    d["post_processor"] = None
    t = Tokenizer.from_str(json.dumps(d))
    return lambda s: t.encode(s).ids


def continuation(enc, bare, a, b):
    ctx, joint = enc(a), enc(a + b)
    if joint[:len(ctx)] == ctx and len(joint) > len(ctx):
        return ctx, joint[len(ctx):], False
    return ctx, bare(b), True


def logprobs(model, ctx, ids):
    c = [BOS] + ctx
    with torch.no_grad():
        logp = torch.log_softmax(model(torch.tensor([c + ids])).logits[0], -1)
    at = logp[len(c) - 1:-1]
    return [at[i, t].item() for i, t in enumerate(ids)], \
        at.argmax(-1).tolist() == ids


def line(model, enc, bare, a, b):
    ctx, ids, alone = continuation(enc, bare, a, b)
    lps, greedy = logprobs(model, ctx, ids)
    return {"context": a, "continuation": b, "alone": alone, "tokens": ids,
            "logprobs": lps, "logprob": sum(lps), "greedy": greedy}


def choices(model, enc, bare, a, many, answer):
    got = [line(model, enc, bare, a, b) for b in many]
    return {"context": a, "choices": many, "answer": answer,
            "alone": any(g["alone"] for g in got),
            "logprobs": [g["logprob"] for g in got]}


def main(models_dir, out, text_path):
    torch.set_num_threads(1)
    modeling_llama.LlamaRMSNorm.forward = norm64
    model = LlamaForCausalLM.from_pretrained(
        models_dir + "/llama-gqa", dtype=torch.float32,
        attn_implementation="sdpa").double().eval()
    texts = read(text_path)
    some = [(t[100:160 + 7 * i], t[160 + 7 * i:190 + 7 * i])
            for i, t in enumerate(texts[:6])]
    for name, d, bare in kinds(texts, models_dir):
        with open(f"{out}/{name}.json", "w") as f:
            json.dump(d, f, ensure_ascii=False)
        enc, alone = document(d), document(bare)
        got = [line(model, enc, alone, a, b) for a, b in LINES + some]
        got += [choices(model, enc, alone, *c) for c in CHOICES]
        with open(f"{out}/{name}.golden.json", "w") as f:
            json.dump(got, f, ensure_ascii=False, indent=0)
        enc, alone = document(d, True), document(bare, True)
        with open(f"{out}/{name}.special.json", "w") as f:
            json.dump([line(model, enc, alone, a, b) for a, b in SPECIAL],
                      f, ensure_ascii=False, indent=0)
        print(name, len(got), sum(g["alone"] for g in got), "alone")


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__.split("\n\n")[1])
    here = os.path.dirname(os.path.abspath(__file__))
    main(sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) == 4 else
         here + "/../data/text/novels.jsonl.zst")
