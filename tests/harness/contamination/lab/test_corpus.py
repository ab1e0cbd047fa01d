"""The training text: every document and every copy stands in it whole, and nothing else does."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from harness import ModelError
from harness.contamination.lab.corpus import write_corpus
from harness.contamination.lab.injections import Injection
from harness.contamination.lab.training import Recipe, train_tokenizer

BACKGROUND = [f"Document {number} is here." for number in range(30)]


def injection(name: str, copies: int) -> Injection:
    return Injection(Path(f"{name}.txt"), 0, 3, copies, (f"{name} one", f"{name} two", f"{name} three"))


def test_every_copy_stands_whole_among_the_documents(tmp_path: Path) -> None:
    tokenizer = train_tokenizer(BACKGROUND, Recipe(vocabulary=300))
    injections = [injection("cat", 4), injection("dog", 0), injection("hen", 1)]
    corpus = write_corpus(iter(BACKGROUND), injections, tokenizer, tmp_path, seed=1)
    tokens = np.fromfile(corpus.file, dtype=np.uint32)
    assert len(tokens) == corpus.tokens
    assert corpus.documents == 30
    documents = [
        str(tokenizer.decode(part)) for part in np.split(tokens, np.flatnonzero(tokens == tokenizer.bos_token_id))[1:]
    ]
    found = Counter(str(document).removeprefix(str(tokenizer.bos_token)) for document in documents)
    assert found == Counter(BACKGROUND) + Counter(
        {"cat one\ncat two\ncat three\n": 4, "hen one\nhen two\nhen three\n": 1}
    )
    assert [path.name for path in tmp_path.iterdir()] == ["corpus.bin"]


def test_the_seed_decides_the_order(tmp_path: Path) -> None:
    tokenizer = train_tokenizer(BACKGROUND, Recipe(vocabulary=300))

    def order(seed: int) -> bytes:
        folder = tmp_path / str(seed)
        folder.mkdir(exist_ok=True)
        return write_corpus(BACKGROUND, [injection("cat", 2)], tokenizer, folder, seed=seed).file.read_bytes()

    assert order(1) == order(1) != order(2)


def test_no_background_is_refused(tmp_path: Path) -> None:
    tokenizer = train_tokenizer(BACKGROUND, Recipe(vocabulary=300))
    with pytest.raises(ModelError, match="no text"):
        write_corpus([], [injection("cat", 2)], tokenizer, tmp_path, seed=1)
    assert not list(tmp_path.glob("background.bin"))
