#!/usr/bin/env python3
"""Make tests/data/other: files that are not JSON Lines, by those who write them.

usage: make_other_files.py DIR   (needs pyarrow and sentencepiece)
"""

import pathlib
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import sentencepiece as spm

to = pathlib.Path(sys.argv[1])
to.mkdir(parents=True, exist_ok=True)
table = pa.table({"text": ["a", "b"], "id": [1, 2]})
pq.write_table(table, to / "docs.parquet")
for name, new in ("file", pa.ipc.new_file), ("stream", pa.ipc.new_stream):
    with pa.OSFile(str(to / f"{name}.arrow"), "wb") as f:
        with new(f, table.schema) as w:
            w.write(table)
(to / "text").write_text("hello world\nhow are you\n" * 50)
spm.SentencePieceTrainer.train(
    input=str(to / "text"), model_prefix=str(to / "sp"), vocab_size=25,
    model_type="bpe", normalization_rule_name="identity")
(to / "text").unlink()
(to / "sp.vocab").unlink()
