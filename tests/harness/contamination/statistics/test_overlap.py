"""Runs of words that a data set shares with a corpus."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import DataError
from harness.contamination.statistics.overlap import Overlap, overlap

TEXT = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen"


def test_a_copy_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(f"before\n{TEXT.upper()}\nafter", encoding="utf-8")
    found = overlap([TEXT, TEXT.replace("seven", "7"), "too short"], tmp_path)
    assert found == Overlap(13, (2, 0, None), files=1, words=16)
    assert found.examined == 2
    assert found.share == 0.5


def test_shorter_runs(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "a.md").write_text("the quick brown fox jumps", encoding="utf-8")
    (tmp_path / "b.txt").write_text("over the lazy dog", encoding="utf-8")
    found = overlap(["quick brown fox", "jumps over the", "the lazy dog the lazy dog"], tmp_path, n=3)
    assert found.counts == (1, 0, 1)  # no run goes from one file to the next; a run that repeats counts once
    assert overlap(["The LAZY"], tmp_path, n=1).counts == (2,)


def test_runs_across_lines_and_chunks(tmp_path: Path) -> None:
    filler = "x" * 9 + " "
    (tmp_path / "a.txt").write_text(filler * 6552 + "one two\nthree   four " + filler * 20000, encoding="utf-8")
    assert overlap(["one two three four"], tmp_path, n=4).counts == (1,)
    assert overlap(["one two three four"], tmp_path, n=4).words == 6552 + 4 + 20000


def test_compressed_files_and_records(tmp_path: Path) -> None:
    record = json.dumps({"text": f"Say “hi”:\n{TEXT}", "more": ["fifteen", {"deep": "one two three"}]})
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(f"{record}\nno record\n".encode()))
    (tmp_path / "b.txt.xz").write_bytes(lzma.compress(b"alpha beta gamma"))
    (tmp_path / "c.bz2").write_bytes(bz2.compress(b"delta epsilon zeta"))
    texts = [record, TEXT, "alpha beta gamma", "delta epsilon zeta", "thirteen fourteen fifteen"]
    assert overlap(texts, tmp_path, n=3).counts == (14, 12, 1, 1, 0)


RECORD = json.dumps({"text": "alpha\n“beta” gamma"})


@pytest.mark.parametrize(
    ("content", "hits"),
    [
        (f"{RECORD}\n{RECORD}\n", 1),
        (f"\n{RECORD}", 1),  # a line by itself
        (f"{RECORD}\nalpha “beta”\ngamma\n", 1),  # text, which a run may cross lines of
        ('{"text": "alpha\\n“beta” gamma"\n', 0),  # broken off: no record
        ('{\n"text": "alpha“beta” gamma"}\n', 0),
    ],
)
@pytest.mark.parametrize("name", ["part-0.txt", "part-0", "part-0.txt.gz"])
def test_lines_of_json_are_known_by_what_they_hold(tmp_path: Path, name: str, content: str, hits: int) -> None:
    data = content.encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    assert overlap(["alpha “beta” gamma"], tmp_path, n=3).counts == (hits,)


def test_a_number_that_python_would_not_read_is_passed_over(tmp_path: Path) -> None:
    line = f'{{"id": {"1" * 5000}, "text": "alpha beta", "more": "gamma"}}\n'
    (tmp_path / "a.jsonl").write_text(line)
    (tmp_path / "b.txt").write_text(line)
    assert overlap(["alpha beta", "beta gamma"], tmp_path, n=2).counts == (1, 0)


def test_what_is_nested_too_deep_for_a_record_is_text(tmp_path: Path) -> None:
    deep = '{"a":' * 100_000
    (tmp_path / "a.jsonl").write_text(f"{deep} alpha beta\n")
    (tmp_path / "b.txt").write_text(f"{deep} gamma delta\n")
    assert overlap(["alpha beta", "gamma delta"], tmp_path, n=2).counts == (1, 1)


def test_without_a_corpus(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no files"):
        overlap([TEXT], tmp_path)
    with pytest.raises(DataError, match="not a folder"):
        overlap([TEXT], tmp_path / "nowhere")
    (tmp_path / "a.gz").write_bytes(b"not compressed")
    with pytest.raises(DataError, match=r"a\.gz: cannot be read"):
        overlap([TEXT], tmp_path)
    with pytest.raises(ValueError, match="at least 1 word"):
        overlap([TEXT], tmp_path, n=0)


def test_nothing_long_enough(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(TEXT, encoding="utf-8")
    assert overlap(["short", ""], tmp_path).share is None


@given(st.lists(st.sampled_from("abc"), max_size=30), st.lists(st.sampled_from("abc"), max_size=30), st.integers(1, 4))
def test_counts_are_of_distinct_shared_runs(
    tmp_path_factory: pytest.TempPathFactory, one: list[str], other: list[str], n: int
) -> None:
    folder = tmp_path_factory.mktemp("corpus")
    (folder / "a.txt").write_text(" ".join(other), encoding="utf-8")
    of_one = {tuple(one[place : place + n]) for place in range(len(one) - n + 1)}
    of_other = {tuple(other[place : place + n]) for place in range(len(other) - n + 1)}
    expected = len(of_one & of_other) if of_one else None
    assert overlap([" ".join(one)], folder, n=n).counts == (expected,)
