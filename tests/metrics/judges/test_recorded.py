"""Recorded scores: looked up, or one clear message."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from harness import DataError, HarnessError
from metrics.judges.recorded import Recorded

LINES = '{"text": "one ", "toxicity": 0.9}\n\n{"text": "two", "toxicity": 0}\n{"text": "one", "toxicity": 0.9}\n'


def test_scores_are_looked_up(tmp_path: Path) -> None:
    (tmp_path / "scores.jsonl").write_text(LINES)
    (tmp_path / "scores.jsonl.gz").write_bytes(gzip.compress(LINES.encode()))
    for name in ("scores.jsonl", "scores.jsonl.gz"):
        assert Recorded(file=str(tmp_path / name)).probabilities(["two", " one", "two"]) == [0.0, 0.9, 0.0]


def test_columns_have_names_and_scores_an_author(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text('{"comment": "a", "TOXICITY@6": 0.25}')
    judge = Recorded(file=str(tmp_path / "s.jsonl"), text="comment", score="TOXICITY@6", scorer="Perspective, 2018")
    assert judge.probabilities(["a"]) == [0.25]
    fingerprint = judge.fingerprint()
    assert fingerprint["scorer"] == "Perspective, 2018"
    assert fingerprint["file"] == "s.jsonl"
    assert len(fingerprint["sha256"]) == 64


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (LINES, "has no score for the text 'three'"),
        ("{", "row 1: is not valid JSON"),
        ("[]", "row 1: has no text under 'text'"),
        ('{"text": "a"}', "row 1: 'toxicity' must be a probability, not None"),
        ('{"text": "a", "toxicity": 1.5}', "not 1.5"),
        ('{"text": "a", "toxicity": true}', "not True"),
        ('{"text": "a", "toxicity": 0.1}\n{"text": "a", "toxicity": 0.2}', "row 2: the text 'a' has two scores"),
        (None, "recorded scores cannot be read"),
    ],
)
def test_mistakes(tmp_path: Path, content: str | None, message: str) -> None:
    path = tmp_path / "scores.jsonl"
    if content is not None:
        path.write_text(content)
    with pytest.raises(HarnessError, match=message):
        Recorded(file=str(path)).probabilities(["three"])


def test_a_damaged_archive(tmp_path: Path) -> None:
    path = tmp_path / "scores.jsonl.gz"
    path.write_bytes(gzip.compress(LINES.encode())[:-12])
    with pytest.raises(DataError, match="cannot be read"):
        Recorded(file=str(path)).probabilities(["one"])
