"""Keys: written for their owner alone, and read back whole or refused with the line."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from harness.contamination.sealing.key import DyeQuestion, SealedChoice, SealHeader, SealKey, read_key, write_key
from harness.errors import DataError

KEY = SealKey(
    header=SealHeader(
        source="a.jsonl", source_sha256="00", published="b.jsonl", published_sha256="11", rows=3, shuffled=True
    ),
    items=(
        SealedChoice(kind="twin", row=1, prefix='{"q": "', texts=('Wer?"}', 'Qui est-ce ?"}'), published=1),
        SealedChoice(kind="canary", row=2, prefix="", texts=("a\u2028b", "c\x85", "d\x0c"), published=0),
        DyeQuestion(row=3, question="Amber?", options=("x", "y"), target=1),
    ),
)


def test_a_key_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "a.key.jsonl"
    write_key(path, KEY)
    assert read_key(path) == KEY
    assert KEY.kinds() == ["twin", "canary", "dye"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert all(json.loads(line)["kind"] for line in path.read_text().removesuffix("\n").split("\n"))


@pytest.mark.parametrize(
    ("line", "text", "message"),
    [
        (1, "[]", "first line is not a seal"),
        (1, '{"kind": "seal", "format": 2}', "damaged first line"),
        (2, "{", "is not valid JSON"),
        (2, '{"kind": "twin", "row": 1, "prefix": "", "texts": ["a", "b"], "published": 2}', "published is 2"),
        (3, '{"kind": "canary", "row": 1, "prefix": "", "texts": ["a"], "published": 0}', "texts"),
        (4, '{"kind": "dye", "row": 1, "question": "q", "options": ["a", "b"], "target": 7}', "target is 7"),
        (4, '{"kind": "other"}', "is not an item of a key"),
    ],
)
def test_damage_is_found_with_its_line(tmp_path: Path, line: int, text: str, message: str) -> None:
    path = tmp_path / "a.key.jsonl"
    write_key(path, KEY)
    lines = path.read_text().removesuffix("\n").split("\n")
    lines[line - 1] = text
    path.write_text("\n".join(lines))
    with pytest.raises(DataError, match=message) as caught:
        read_key(path)
    assert "a.key.jsonl" in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        read_key(tmp_path / "none.key.jsonl")
