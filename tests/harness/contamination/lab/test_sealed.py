"""Sealed slices with known numbers of copies."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness import DataError
from harness.contamination.lab.sealed import sealed_power, sealed_slices
from harness.contamination.sealing.key import SealedChoice, read_key
from harness.contamination.sealing.seal import SealSettings


@pytest.fixture
def exam(tmp_path: Path) -> Path:
    file = tmp_path / "exam.jsonl"
    file.write_text("".join(json.dumps({"q": f"question {n}"}) + "\n" for n in range(80)), encoding="utf-8")
    return file


def test_each_slice_has_rows_and_twins_of_its_own(exam: Path, tmp_path: Path) -> None:
    found = sealed_slices(
        exam, None, [0, 4], SealSettings(canaries=3), rows=10, repeats=2, seed=0, folder=tmp_path / "s"
    )
    assert [one.injection.copies for one in found] == [0, 0, 4, 4]
    forms: set[str] = set()
    for one in found:
        assert one.published.read_text(encoding="utf-8").splitlines() == list(one.injection.examples)
        assert read_key(one.key_file) == one.key
        twins = [item for item in one.key.items if isinstance(item, SealedChoice) and item.kind == "twin"]
        assert len(twins) == 10
        texts = {text.partition('"')[0] for item in twins for text in item.texts}
        assert not texts & forms
        forms |= texts


def test_the_same_command_draws_the_same(exam: Path, tmp_path: Path) -> None:
    first, again, other = (
        sealed_slices(exam, None, [1], SealSettings(), rows=10, repeats=1, seed=seed, folder=tmp_path / str(number))
        for number, seed in enumerate((0, 0, 1))
    )
    assert first[0].key == again[0].key
    assert first[0].key != other[0].key


def test_twins_of_a_file_take_half_the_rows(exam: Path, tmp_path: Path) -> None:
    twins = tmp_path / "twins.jsonl"
    twins.write_text("".join(json.dumps({"q": f"reworded {n}"}) + "\n" for n in range(80)), encoding="utf-8")
    found = sealed_slices(exam, twins, [1], SealSettings(), rows=80, repeats=1, seed=0, folder=tmp_path / "s")
    assert len(found[0].injection.examples) == 80
    with pytest.raises(DataError, match=r"80 rows, and as many for their twins \(without --twins\), need 160"):
        sealed_slices(exam, None, [1], SealSettings(), rows=80, repeats=1, seed=0, folder=tmp_path / "t")


def test_the_table_has_medians_and_counts(exam: Path, tmp_path: Path) -> None:
    none, few, many = sealed_slices(
        exam, None, [0, 1, 4], SealSettings(), rows=10, repeats=1, seed=0, folder=tmp_path / "s"
    )
    found = [
        (none, "twin", -0.1),
        (few, "twin", -3.0),
        (few, "twin", -1.0),
        (many, "twin", -9.0),
        (many, "order", -1.0),
    ]
    table = sealed_power(found, 0.01, "")
    assert [[(cell.text, cell.detail) for cell in row] for row in table.rows] == [
        [("0", ""), ("0.794", ""), ("", "")],
        [("1", ""), ("0.010", "1 of 2"), ("", "")],
        [("4", ""), ("1.0e-09", ""), ("0.100", "")],
    ]
