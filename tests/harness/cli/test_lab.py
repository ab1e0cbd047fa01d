"""``harness lab``: mistakes are one message, before anything is trained."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.cli.lab_runs import failures


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("train", "model", "--inject", "missing.txt@3"), "missing.txt: does not exist."),
        (("train", "model", "--inject", "few.txt:0-4"), "is not an injection"),
        (("train", "model", "--inject", "few.txt:0-90@4"), "has 10 examples, not 0 to 90"),
        (("train", "model", "--inject", "few.txt@4", "--preset", "smal"), "Did you mean 'small'?"),
        (("power", "few.txt", "--copies", "0,10"), "has 10 examples; 2 numbers of copies"),
        (("power", "few.txt", "--copies", "0"), "two different numbers"),
        (("vary", ".", "--shards", "4"), "not a checkpoint"),
        (("vary", ".", "--shards", "none"), "--shards must be a list of whole numbers"),
        (("vary", "."), "say what to vary"),
        (("paper", "shard"), "Did you mean 'shards'?"),
        (("paper", "table1", "--data-dir", "."), "has no boolq.jsonl"),
        (("seal", "few.txt", "--copies", "x"), "--copies must be a list of whole numbers"),
        (("seal", "few.jsonl"), "has 10 rows; 10 slices of 400 rows need 4000"),
        (("seal", "few.jsonl", "--dye", "2", "--dye-columns", "a,b"), "not three names"),
    ],
)
def test_mistakes(harness: Any, folder: Path, arguments: tuple[str, ...], message: str) -> None:
    (folder / "few.txt").write_text("".join(f"example {number}\n" for number in range(10)))
    (folder / "few.jsonl").write_text("".join(f'{{"n": {number}}}\n' for number in range(10)))
    said = harness("lab", *arguments)
    assert said.code == 2
    assert message in said.err
    assert "Traceback" not in said.err
    assert not (folder / "model").exists()


def test_why_tests_failed_is_said_once() -> None:
    records: list[Any] = [SimpleNamespace(status="ok", error=None)]
    records += [SimpleNamespace(status="failed", error="Traceback\nHarnessError: too few") for _ in range(3)]
    assert failures(records) == ["3 of 4 tests failed: HarnessError: too few"]
