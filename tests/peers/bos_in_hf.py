#!/usr/bin/env python3
"""Do the checkpoints of lm-train make transformers put the BOS of the run?

usage: bos_in_hf.py BIN

Trains one step on shards with and without BOS, from tokenizers whose
post-processor adds nothing, BOS, or BOS and EOS, with add_bos_token
absent or wrong. What AutoTokenizer puts around a text must be
the BOS of the run, and no EOS unless the tokenizer and the run have one;
everything but the post-processor must be as it was. Status 1: a difference.
"""
import itertools
import json
import os
import subprocess
import sys
import tempfile

from transformers import AutoTokenizer

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "..", "data", "tok")
TEXTS = ["It was a dark and stormy night.", " x", "", "a\u00e9\n\n b"]
# file, its BOS, its EOS, a class that its publishers name
FILES = [("gpt2", "<|endoftext|>", "<|endoftext|>", "GPT2Tokenizer"),
         ("mistral7b", "<s>", "</s>", "LlamaTokenizer"),
         ("qwen3", "<|im_start|>", "<|im_end|>", "Qwen2Tokenizer"),
         ("gptneox", "<|endoftext|>", "<|endoftext|>", "GPTNeoXTokenizer"),
         ("gptneox", "<|endoftext|>", "<|endoftext|>",
          "PreTrainedTokenizerFast")]


def item(name):
    return {"SpecialToken": {"id": name, "type_id": 0}}


def template(tok, front, back):
    """The file with a template around a text, after what it had."""
    if not front and not back:
        return
    a = {"Sequence": {"id": "A", "type_id": 0}}
    seq = [item(t) for t in front] + [a] + [item(t) for t in back]
    ids = {t["content"]: t["id"] for t in tok["added_tokens"]}
    new = {"type": "TemplateProcessing", "single": seq, "pair": seq,
           "special_tokens": {t: {"id": t, "ids": [ids[t]], "tokens": [t]}
                              for t in front + back}}
    old = tok["post_processor"]
    if old and old["type"] == "ByteLevel":
        new = {"type": "Sequence", "processors": [old, new]}
    tok["post_processor"] = new


def run(*cmd):
    subprocess.run(cmd, check=True, stdout=subprocess.DEVNULL)


def train(bin_, folder, docs, bos, eos):
    run(bin_ + "/pack", "-q", "--tokenizer", folder + "/tokenizer.json",
        "--seq-len", "8", "-o", folder + "/d/", docs,
        *([] if bos else ["--no-bos"]), *([] if eos else ["--no-eos"]))
    run(bin_ + "/lm-train", "-q", "--hidden-size", "8", "--layers", "1",
        "--heads", "2", "--intermediate-size", "8", "--batch-size", "1",
        "--steps", "1", "--peak-tflops", "1",
        "--tokenizer", folder + "/tokenizer.json", "--data", folder + "/d/",
        "--seq-len", "8", "-o", folder + "/r")
    return folder + "/r/latest"


def check(bin_, text, case, docs, tmp):
    name, bos, eos, cls = case[0]
    front, back = ([], [bos], [bos])[case[1]], ([], [], [eos])[case[1]]
    with_bos, with_eos = case[2:4]
    add = not with_bos if case[4] else None
    tok = json.loads(text)
    template(tok, front, back)
    folder = tempfile.mkdtemp(dir=tmp)
    with open(folder + "/tokenizer.json", "w", encoding="utf-8") as f:
        json.dump(tok, f, ensure_ascii=False)
    with open(folder + "/tokenizer_config.json", "w") as f:
        json.dump({"bos_token": bos, "eos_token": eos, "tokenizer_class": cls,
                   **({} if add is None else {"add_bos_token": add})}, f)
    out = train(bin_, folder, docs, with_bos, with_eos)
    with open(out + "/tokenizer.json", encoding="utf-8") as f:
        saved = json.load(f)
    if {**saved, "post_processor": 0} != {**tok, "post_processor": 0}:
        return "changes more than the post_processor"
    got = AutoTokenizer.from_pretrained(out)
    # this class never adds what a post_processor of its file does
    back = back if with_bos or cls != "GPTNeoXTokenizer" else []
    want = ([got.convert_tokens_to_ids(bos)] if with_bos else [],
            [got.convert_tokens_to_ids(eos)] if back and with_eos else [])
    for t in TEXTS:
        plain = got.encode(t, add_special_tokens=False)
        ids = got.encode(t)
        if ids != want[0] + plain + want[1]:
            return f"{t!r}: {ids}, not {want[0]} {plain} {want[1]}"
        enc = got(t, return_offsets_mapping=True)["offset_mapping"]
        old = got(t, return_offsets_mapping=True,
                  add_special_tokens=False)["offset_mapping"]
        end = len(enc) - len(want[1])
        if enc[len(want[0]):end] != old:
            return f"{t!r}: offsets {enc}, not {old}"
    return None


def main(bin_):
    bad = n = 0
    with tempfile.TemporaryDirectory() as tmp:
        docs = tmp + "/docs.jsonl"
        with open(docs, "w") as f:
            for i in range(9):
                print(json.dumps({"text": f"{i} bottles on the wall"}),
                      file=f)
        for case in itertools.product(FILES, range(3), (0, 1), (0, 1),
                                      (0, 1)):
            path = f"{DATA}/{case[0][0]}_tokenizer.json.zst"
            text = subprocess.run(["zstd", "-dcq", path], check=True,
                                  stdout=subprocess.PIPE).stdout
            why = check(bin_, text, case, docs, tmp)
            n += 1
            if why:
                bad += 1
                print(case, why)
    print(f"{n} checkpoints, {bad} differ")
    return 1 if bad else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__.split("\n\n")[1])
    sys.exit(main(sys.argv[1]))
