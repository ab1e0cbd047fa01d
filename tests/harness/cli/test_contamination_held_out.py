"""``harness contamination held-out``, from two files to the verdict."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from harness.contamination.order_tests import details_of

WORDS = ("amber", "birch", "comet", "delta", "ember", "fjord", "grove", "heath", "island", "juniper", "kelp", "larch")
COMMAND = ("contamination", "held-out", "fake:0", "--published", "published.jsonl", "--held-out", "private.jsonl")


@pytest.fixture
def files(folder: Path) -> Path:
    """Sixty rows, of which a coin published half."""
    rng = Random(0)
    lines = [json.dumps({"q": " ".join(rng.choices(WORDS, k=8)), "a": rng.randrange(10**9)}) for _ in range(60)]
    (folder / "published.jsonl").write_text("\n".join(lines[:30]) + "\n")
    (folder / "private.jsonl").write_text("\n".join(lines[30:]) + "\n")
    return folder


@pytest.mark.usefixtures("files")
def test_a_model_is_tested_and_reported(harness: Any) -> None:
    said = harness(*COMMAND)
    assert said.code == 0
    assert "Report: harness" not in said.err  # it follows at once
    assert "30 published rows, 30 held-out rows" in said.out
    assert "no dependence found" in said.out
    (found,) = json.loads(harness(*COMMAND, "--json").out)
    assert (found["n_published"], found["n_held_out"], found["exact"]) == (30, 30, False)
    assert 0.01 < found["p"] <= 1
    (other,) = json.loads(harness(*COMMAND, "--json", "--score", "min_k").out)
    assert other["difference"] != found["difference"]


@pytest.mark.usefixtures("files")
def test_a_model_that_declined_a_row_is_named(harness: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def scored(record: Any) -> Any:
        for split, found in details_of(record):
            scores = {name: dict(list(values.items())[1:]) for name, values in found.get("scores", {}).items()}
            yield split, {**found, "scores": scores}

    monkeypatch.setattr("harness.contamination.held_out.details_of", scored)
    said = harness(*COMMAND)
    assert said.code == 1
    assert "is not tested: it did not score every row" in said.err


def test_too_few_rows_are_not_testable(harness: Any, files: Path) -> None:
    for name in ("published.jsonl", "private.jsonl"):
        (files / name).write_text("\n".join((files / name).read_text().splitlines()[:3]) + "\n")
    said = harness(*COMMAND)
    assert said.code == 1
    assert "not testable: these rows can be split in 20 ways" in said.out
    assert "5 different rows in each file are enough" in said.out
    assert not Path("results").exists()
    said = harness(*COMMAND, "--alpha", "0.00002")
    assert said.code == 1
    assert "9 different rows in each file are enough, with 49999 draws" in said.out


def test_files_that_the_texts_tell_apart_are_not_testable(harness: Any, files: Path) -> None:
    private = files / "private.jsonl"
    private.write_text(
        "".join(line.replace("}", ', "more": "zebra quince"}') + "\n" for line in private.read_text().splitlines())
    )
    said = harness(*COMMAND)
    assert said.code == 1
    assert (
        "not testable: the texts alone tell the files apart, so the split was not random (lengths p = 0.00" in said.out
    )
    assert not Path("results").exists()  # no model is asked
    (found,) = json.loads(harness(*COMMAND, "--json").out)
    assert found["verdict"] == "not testable"
    assert "the texts alone" in found["reason"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--held-out", "published.jsonl"), "are the same"),
        (("--column", "text"), "there is no column 'text'"),
        (("--held-out", "nothing.jsonl"), "does not exist"),
    ],
)
@pytest.mark.usefixtures("files")
def test_mistakes(harness: Any, arguments: tuple[str, ...], message: str) -> None:
    said = harness(*COMMAND, *arguments)
    assert said.code == 2
    assert message in said.err
    assert "Traceback" not in said.err


def test_rows_in_both_files_are_refused(harness: Any, files: Path) -> None:
    with (files / "private.jsonl").open("a") as private:
        private.write((files / "published.jsonl").read_text().splitlines()[4] + "\n")
    said = harness(*COMMAND)
    assert said.code == 2
    assert "1 of 31 held-out rows are published too, the first is row 31, which is row 5" in said.err


@pytest.mark.usefixtures("files")
def test_a_model_that_cannot_score_is_refused_by_the_files_name(harness: Any) -> None:
    said = harness(*("anthropic:x" if part == "fake:0" else part for part in COMMAND))
    assert said.code == 2
    assert "published.jsonl" in said.err
    assert "'path'" not in said.err
