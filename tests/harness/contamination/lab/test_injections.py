"""What is injected: how it is written, and what is taken of a file."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import DataError
from harness.contamination.lab.injections import read_examples, read_injection


@pytest.fixture
def published(tmp_path: Path) -> Path:
    file = tmp_path / "set.jsonl"
    file.write_text("".join(f'{{"n": {i}}}\n' for i in range(10)), encoding="utf-8")
    return file


def test_a_slice_of_a_file_with_copies(published: Path) -> None:
    one = read_injection(f"{published}:2-5@40")
    assert (one.start, one.stop, one.copies) == (2, 5, 40)
    assert one.examples == ('{"n": 2}', '{"n": 3}', '{"n": 4}')
    assert one.document == '{"n": 2}\n{"n": 3}\n{"n": 4}\n'
    assert one.label == "set[2:5]"
    assert one.record()["rows"] == "2:5"


def test_a_whole_file_and_a_control(published: Path) -> None:
    one = read_injection(f"{published}@0")
    assert len(one.examples) == 10
    assert one.copies == 0


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("{file}", "FILE@COPIES"),
        ("{file}:3@2", "FILE@COPIES"),
        ("{file}@-1", "FILE@COPIES"),
        ("{file}:0-11@1", "10 examples"),
        ("{file}:5-5@1", "10 examples"),
        ("{file}:5-6@1", "one example"),
        ("{file}x@1", "does not exist"),
    ],
)
def test_mistakes(published: Path, written: str, says: str) -> None:
    # ``set.jsonl:3@2`` is read as a file of that name, which is not there.
    written = written.format(file=published)
    with pytest.raises(DataError, match=says if ":3@" not in written else "does not exist"):
        read_injection(written)


@given(st.lists(st.text(st.characters(blacklist_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1), min_size=1))
def test_lines_survive(lines: list[str]) -> None:
    kept = [line for line in lines if line.strip()]
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "set.txt.gz"
        file.write_bytes(gzip.compress("".join(f"{line}\r\n" for line in lines).encode()))
        assert read_examples(file) == [line.removeprefix("\ufeff") if i == 0 else line for i, line in enumerate(kept)]


def test_what_is_not_utf8_is_said(tmp_path: Path) -> None:
    file = tmp_path / "set.txt"
    file.write_bytes(b"one\n\xff\n")
    with pytest.raises(DataError, match="UTF-8"):
        read_injection(f"{file}@1")
