"""Training with Hugging Face tokenizers, as tok-train is compared with it."""
import io
import json
import subprocess

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from tokenizers import trainers

SPECIAL = ["<|bos|>", "<|eos|>"]
PATTERN = {
    "gpt2": r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+"""
            r"""| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+""",
    "cl100k": r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+"""
              r"""|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"""
              r"""|\s+(?!\S)|\s+""",
    "o200k": "|".join([
        r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*"""
        r"""[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
        r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+"""
        r"""[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
        r"""\p{N}{1,3}""", r""" ?[^\s\p{L}\p{N}]+[\r\n/]*""",
        r"""\s*[\r\n]+""", r"""\s+(?!\S)""", r"""\s+"""]),
    "qwen2": r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+"""
             r"""|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"""
             r"""|\s+(?!\S)|\s+""",
}


def documents(path):
    """The texts of a .jsonl or .jsonl.zst file, lone surrogates replaced."""
    if path.endswith(".zst"):
        raw = subprocess.run(["zstd", "-dcq", path], check=True,
                             stdout=subprocess.PIPE).stdout
    else:
        raw = open(path, "rb").read()
    for line in io.BytesIO(raw):
        if line.strip():
            text = json.loads(line)["text"]
            yield text.encode("utf-16", "surrogatepass").decode(
                "utf-16", "replace")


def train(texts, split, vocab_size, **more):
    """A tokenizer trained by BpeTrainer on whole documents."""
    tok = Tokenizer(models.BPE())
    tok.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(PATTERN[split]), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tok.decoder = decoders.ByteLevel()
    tok.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=vocab_size, min_frequency=0, show_progress=False,
        special_tokens=SPECIAL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), **more))
    return tok


def merges_and_vocab(model, special=SPECIAL):
    """Merges as pairs, tokens in id order without the special ones.

    model is the "model" object of a tokenizer.json.
    """
    merges = [tuple(m.split(" ")) if isinstance(m, str) else tuple(m)
              for m in model["merges"]]
    tokens = sorted(model["vocab"], key=model["vocab"].get)
    return merges, [t for t in tokens if t not in special]
