#!/usr/bin/env python3
"""What the peers need for tokenizer training and encoding, one JSON line.

usage: bench_tok.py train gigatoken|tokenizers FILE.jsonl VOCAB
       bench_tok.py encode gigatoken|tiktoken|tokenizers FILE.jsonl TOK.json

Prints {"cpu_s","wall_s","peak_mb",...} of the call alone (user + system
seconds; for the peak memory the process).  One thread.
"""
import json
import os
import resource
import sys
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"

GPT2 = (r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+"
        r"|\s+(?!\S)|\s+")


class Meter:
    """CPU and wall seconds of a with block, on any thread."""

    def __enter__(self):
        self.wall, self.cpu = time.monotonic(), time.process_time()
        return self

    def __exit__(self, *a):
        self.cpu = time.process_time() - self.cpu
        self.wall = time.monotonic() - self.wall


def report(m, **more):
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"cpu_s": round(m.cpu, 3), "wall_s": round(m.wall, 3),
                      "peak_mb": round(peak, 1), **more}))


def texts_of(path):
    with open(path, encoding="utf-8", newline="\n") as f:
        return [json.loads(line)["text"] for line in f]


def train(peer, path, vocab):
    if peer == "gigatoken":
        import gigatoken
        source = gigatoken.JsonlFileSource([path])
        with Meter() as m:
            got, merges = gigatoken.train_bpe(source, vocab, [])
        report(m, tokens=len(got), merges=len(merges))
        return
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    tok = Tokenizer(models.BPE())
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=vocab, min_frequency=0, show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    with Meter() as m:
        with open(path, encoding="utf-8", newline="\n") as f:
            tok.train_from_iterator(
                (json.loads(line)["text"] for line in f), trainer)
    if len(sys.argv) > 5:
        tok.save(sys.argv[5])
    report(m, tokens=tok.get_vocab_size())


def tiktoken_of(path):
    """A tokenizer.json of the byte-level kind as a tiktoken Encoding."""
    import tiktoken
    d = json.load(open(path, encoding="utf-8"))
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    other = [b for b in range(256) if b not in set(printable)]
    byte = {chr(b): b for b in printable}
    byte.update({chr(256 + i): b for i, b in enumerate(other)})
    special = {a["content"]: a["id"] for a in d["added_tokens"]}
    ranks = {bytes(byte[c] for c in t): i
             for t, i in d["model"]["vocab"].items() if t not in special}
    pre = d["pre_tokenizer"]
    pattern = GPT2
    for p in pre.get("pretokenizers", [pre]):
        if p["type"] == "Split":
            pattern = p["pattern"]["Regex"]
    return tiktoken.Encoding("peer", pat_str=pattern, mergeable_ranks=ranks,
                             special_tokens=special)


def plain_gpt2(path):
    """The file with GPT-2's split in the one form that gigatoken knows."""
    d = json.load(open(path, encoding="utf-8"))
    pre = d["pre_tokenizer"].get("pretokenizers", [{}])[0]
    if r" ?\p{L}+| ?\p{N}+|" in pre.get("pattern", {}).get("Regex", ""):
        d["pre_tokenizer"] = {"type": "ByteLevel", "add_prefix_space": False,
                              "trim_offsets": True, "use_regex": True}
    return json.dumps(d, ensure_ascii=False)


def encode(peer, path, tok_path):
    if peer == "gigatoken":
        import gigatoken
        tok = gigatoken.gigatoken_rs.load_hf_json(plain_gpt2(tok_path))
        source = gigatoken.JsonlFileSource([path])
        with Meter() as m:
            ids = tok.encode_files(source, parallel=False)
        with Meter() as again:
            tok.encode_files(source, parallel=False)
        import awkward as ak
        report(m, tokens=int(ak.sum(ak.num(ids))), second_cpu_s=round(
            again.cpu, 3))
        return
    texts = texts_of(path)
    n = 0
    if peer == "tiktoken":
        enc = tiktoken_of(tok_path)
        with Meter() as m:
            for t in texts:
                n += len(enc.encode_ordinary(t))
    else:
        from tokenizers import Tokenizer
        tok = Tokenizer.from_file(tok_path)
        with Meter() as m:
            for i in range(0, len(texts), 512):
                for e in tok.encode_batch(texts[i:i + 512],
                                          add_special_tokens=False):
                    n += len(e.ids)
    report(m, tokens=n)


if __name__ == "__main__":
    if len(sys.argv) < 5:
        sys.exit(__doc__.split("\n\n")[1])
    if sys.argv[1] == "train":
        train(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        encode(*sys.argv[2:5])
