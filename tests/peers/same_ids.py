#!/usr/bin/env python3
"""Are pack's ids those of tokenizers or tiktoken, for every document?

usage: same_ids.py BIN TOKENIZER FILE.jsonl[.zst]...

TOKENIZER: a tokenizer.json (held against tokenizers) or cl100k_base,
o200k_base, r50k_base .tiktoken (held against tiktoken), maybe .zst.  A
special-token string in a document is text for pack, and for tokenizers with
encode_special_tokens; added tokens that are not special are tokens for both.  Status 1: a difference, which is printed.
"""
import base64
import json
import os
import subprocess
import sys
import tempfile

from same_merges import SPLITS, texts_of


def plain(path, tmp):
    """The file, unpacked into tmp when it is compressed."""
    if not path.endswith(".zst"):
        return path
    to = tmp + "/" + os.path.basename(path)[:-4]
    subprocess.run(["zstd", "-dqf", path, "-o", to], check=True)
    return to


def tiktoken_encoder(path):
    import tiktoken
    ranks = {}
    for line in open(path, "rb"):
        if line.strip():
            t, r = line.split()
            ranks[base64.b64decode(t)] = int(r)
    name = os.path.basename(path).split("_")[0]
    pattern = SPLITS.get(name) or (
        r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+"
        r"|\s+(?!\S)|\s+")
    enc = tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks,
                            special_tokens={})
    return enc.encode_ordinary


def tokenizers_encoder(path):
    from tokenizers import Tokenizer
    tok = Tokenizer.from_file(path)
    tok.encode_special_tokens = True
    return lambda t: tok.encode(t, add_special_tokens=False).ids


def main(bin_, tok, paths):
    with tempfile.TemporaryDirectory() as tmp:
        path = plain(tok, tmp)
        encode = (tokenizers_encoder if path.endswith(".json")
                  else tiktoken_encoder)(path)
        p = subprocess.Popen(
            [bin_ + "/pack", "-q", "--tokenizer", path, "--shard-format",
             "jsonl", "--no-bos", "--no-eos", *paths], stdout=subprocess.PIPE)
        docs = tokens = 0
        for text, line in zip(texts_of(paths), p.stdout):
            ours, theirs = json.loads(line)["ids"], encode(text)
            if ours != theirs:
                at = next((i for i, (a, b) in enumerate(zip(ours, theirs))
                           if a != b), min(len(ours), len(theirs)))
                print(f"document {docs}: token {at}: ours "
                      f"{ours[at:at + 4]}, peer's {theirs[at:at + 4]}")
                p.kill()
                sys.exit(1)
            docs += 1
            tokens += len(ours)
        if p.stdout.read(1) or p.wait():
            sys.exit("pack wrote more lines than there are documents, or "
                     f"failed with status {p.returncode}")
    print(f"{os.path.basename(tok)}: {docs} documents, {tokens} ids equal")


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__.split("\n\n")[1])
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
