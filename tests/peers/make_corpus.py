#!/usr/bin/env python3
"""Make examples/corpus/books.jsonl.zst from two collections of books.

usage: make_corpus.py NOVELS.jsonl.zst CLASSIC_BOOKS.jsonl.zst OUT.jsonl.zst

NOVELS: GitHub computationalstylistics/100_english_novels, cut at chapters;
CLASSIC_BOOKS: GitHub mlschmitt/classic-books-markdown, one book a document.
Whole books of the second are cut at their headings, and lines that were
wrapped for a printed page are joined, runs of spaces become one.  Nothing
else is changed.
"""
import json
import re
import subprocess
import sys

NOVELS = """Barclay_Ladies_1917 Barclay_Postern_1911 Bennet_Babylon_1902
Bennet_Helen_1910 Burnett_Garden_1911 Burnett_Princess_1905
Chesterton_Innocence_1911 Chesterton_Napoleon_1904 Corelli_Innocent_1914
Doyle_Hound_1902 Doyle_Micah_1889 Galsworthy_Saints_1919 Gissing_Women_1893
Haggard_She_1887 Haggard_Sheallan_1921 Kipling_Captains_1896
Lawrence_Peacock_1911 Schreiner_Farm_1883 Stevenson_Catriona_1893
Trollope_Warden_1855 Ward_Harvest_1920 Ward_Milly_1881 Woolf_Night_1919""".split()

BOOKS = """Aesop's Fables|Black Beauty|Agnes Grey|A Scandal in Bohemia
The Boscombe Valley Mystery|Silas Marner|Martin Eden|Emma
Pride and Prejudice|A Kidnapped Santa Claus
The Life and Adventures of Santa Claus|Through the Looking-Glass
Hospital Sketches|Jo's Boys|The Happy Prince & Other Tales|Kidnapped
The Strange Case of Dr. Jekyll and Mr. Hyde|Rip Van Winkle
The Rose and the Ring|Jane Eyre"""
BOOKS = set(re.split(r"[|\n]", BOOKS))


def documents(path):
    raw = subprocess.run(["zstd", "-dcq", path], check=True,
                         stdout=subprocess.PIPE).stdout.decode()
    return [json.loads(line) for line in raw.split("\n") if line]


def unwrap(text):
    """Join lines inside a paragraph of prose; leave verse and lists."""
    out = []
    for para in re.split(r"\n\s*\n", text.strip()):
        lines = [s.strip() for s in para.split("\n")]
        prose = len(lines) > 1 and sum(map(len, lines[:-1])) > 50 * (
            len(lines) - 1)
        joined = (" " if prose else "\n").join(lines)
        out.append(re.sub(" {2,}", " ", joined))
    return "\n\n".join(out)


def chapters(text):
    """A book cut before each of its headings; the title page left out."""
    parts = re.split(r"(?m)^##+ +", text.split("-------", 1)[-1])
    return [p for p in parts if len(p) > 400]


def main(novels, books, out):
    docs = []
    for d in documents(novels):
        if d["id"].split("/")[1] in NOVELS:
            docs.append((d["id"], unwrap(d["text"])))
    for d in documents(books):
        if d["id"].split("/")[2] in BOOKS:
            docs += [(f"{d['id']}/{i:04d}", unwrap(p))
                     for i, p in enumerate(chapters(d["text"]), 1)]
    lines = "".join(json.dumps({"id": i, "text": t}, ensure_ascii=False,
                               separators=(",", ":")) + "\n" for i, t in docs)
    data = lines.encode()
    subprocess.run(["zstd", "--ultra", "-22", f"--stream-size={len(data)}",
                    "-q", "-f", "-o", out], input=data, check=True)
    print(len(docs), "documents,", len(data), "bytes")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__.split("\n\n")[1])
    main(*sys.argv[1:])
