"""The text around what is injected."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from harness import DataError
from harness.contamination.lab.background import DOCUMENT_CHARACTERS, from_folder, generated


def test_generated_text_is_about_as_long_as_asked() -> None:
    text = list(generated(0, 50_000))
    assert 40_000 < sum(map(len, text)) < 60_000
    assert text == list(generated(0, 50_000)) != list(generated(1, 50_000))


def test_a_folder_s_texts_in_the_order_of_their_paths(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "notes.md").write_text("third", encoding="utf-8")
    (tmp_path / "a.jsonl").write_text('{"text": "first"}\n{"text": "second"}\n', encoding="utf-8")
    (tmp_path / "c.txt.gz").write_bytes(gzip.compress(b"fourth"))
    (tmp_path / "image.png").write_bytes(b"\x89PNG")
    assert list(from_folder(tmp_path, None)) == ["first", "second", "third", "fourth"]
    assert list(from_folder(tmp_path, 6)) == ["first", "second"]


def test_long_files_are_cut_at_blank_lines_and_lose_nothing(tmp_path: Path) -> None:
    paragraphs = [f"{number} " + "word " * 60 + "\n\n" for number in range(40)]
    (tmp_path / "book.txt").write_text("".join(paragraphs), encoding="utf-8")
    found = list(from_folder(tmp_path, None))
    assert "".join(found) == "".join(paragraphs)
    assert len(found) > 4
    assert all(len(document) < 2 * DOCUMENT_CHARACTERS for document in found)
    assert all(document.endswith("\n\n") for document in found)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.png", b"x", "no .txt"),
        ("a.jsonl", b'{"t": 1}\n', "field 'text'"),
        ("a.jsonl", b"{\n", "not valid JSON"),
        ("a.txt", b"\xff", "UTF-8"),
        ("a.txt.gz", b"no gzip", "cannot be read"),
    ],
)
def test_mistakes(tmp_path: Path, name: str, content: bytes, says: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=says):
        list(from_folder(tmp_path, None))


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="not a folder"):
        list(from_folder(tmp_path / "none", None))
