"""The battery flags orders that were planted and lets random ones pass."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from harness.contamination.statistics.diagnostics import OrderDiagnostics, diagnose

MakeTexts = Callable[..., list[str]]

FILES = (
    "boolq.jsonl.gz",
    "hellaswag.jsonl.gz",
    "mmlu_high_school_psychology.jsonl",
    "mmlu_professional_law.jsonl.gz",
    "mmlu_professional_psychology.jsonl",
    "mnli.jsonl.gz",
    "naturalquestions.jsonl",
    "openbookqa.jsonl",
    "piqa.jsonl",
    "truthfulqa.jsonl",
)


def _ids(texts: list[str]) -> list[str]:
    return [f"{place}. {text}" for place, text in enumerate(texts, start=1)]


def _paraphrases(texts: list[str]) -> list[str]:
    half = texts[: len(texts) // 2]
    return [copy for text in half for copy in (text, re.sub("(?i)(answer|question)", r"the \1", text))]


def _topics(texts: list[str]) -> list[str]:
    return [text + (" in law" if place < len(texts) // 2 else " in song") for place, text in enumerate(texts)]


PLANTED: dict[str, tuple[Callable[[list[str]], list[str]], str]] = {
    "ids": (_ids, "leading numbers"),
    "descending ids": (lambda texts: _ids(texts)[::-1], "leading numbers"),
    "sorted by length": (lambda texts: sorted(texts, key=len), "length trend"),
    "sorted alphabetically": (sorted, "alphabetical order"),
    "neighbouring paraphrases": (_paraphrases, "neighbours alike"),
    "neighbouring copies": (
        lambda texts: [copy for text in texts[:100] for copy in (text, text)],
        "neighbouring duplicates",
    ),
    "two topics": (_topics, "topic drift"),
}


def _p(found: OrderDiagnostics, name: str) -> float:
    return next(test.p for test in found.tests if test.name == name)


@pytest.mark.parametrize("fault", PLANTED)
def test_planted_orders(made_up: MakeTexts, fault: str) -> None:
    plant, name = PLANTED[fault]
    found = diagnose(plant(made_up(200)))
    assert _p(found, name) <= 0.005
    assert name in found.faults
    assert not found.exchangeable


def test_neighbours_of_like_length(made_up: MakeTexts) -> None:
    texts = sorted(made_up(200), key=len)
    pyramid = texts[::2] + texts[1::2][::-1]  # up and down again: no trend
    found = diagnose(pyramid)
    assert _p(found, "length trend") > 0.05
    assert _p(found, "neighbouring lengths") <= 0.005


def test_label_runs(made_up: MakeTexts) -> None:
    texts, rng = made_up(200), Random(1)
    labels = [label for _ in range(40) for label in [rng.choice("ABCD")] * 5]
    assert diagnose(texts, labels).faults == ("label runs",)
    assert diagnose(texts, rng.sample(labels, 200)).exchangeable
    for constant in (["A"] * 200, [str(place) for place in range(200)]):  # cannot run
        assert all(test.name != "label runs" for test in diagnose(texts, constant).tests)


def test_random_orders_pass(made_up: MakeTexts) -> None:
    """Of 40 random orders at most a few are flagged; a single test's p is at most 0.05 no more often than that."""
    texts = made_up(80)
    flagged, small, tests = 0, 0, 0
    for seed in range(40):
        found = diagnose(Random(seed).sample(texts, 80), list("AB" * 40), permutations=199, seed=seed, alpha=0.05)
        flagged += not found.exchangeable
        small += sum(test.p <= 0.05 for test in found.tests)
        tests += len(found.tests)
    assert flagged <= 6
    assert 0.005 <= small / tests <= 0.09


def test_it_is_reproducible(made_up: MakeTexts) -> None:
    texts = made_up(50)
    assert diagnose(texts, seed=3) == diagnose(texts, seed=3)
    assert diagnose(texts, seed=3) != diagnose(texts, seed=4)


def test_texts_that_say_nothing() -> None:
    found = diagnose(["same"] * 30)
    assert found.exchangeable
    assert {test.p for test in found.tests} == {1.0}
    assert {test.z for test in found.tests} == {0.0}
    assert diagnose(["", " ", "", ""]).exchangeable
    assert diagnose(["one", "two"]).tests == ()


def test_only_the_first_of_very_many(made_up: MakeTexts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.contamination.statistics.diagnostics.MOST_EXAMPLES", 60)
    texts = made_up(60) + sorted(made_up(60, seed=1), key=len)
    found = diagnose(texts, ["A", "B", "C"] * 40)
    assert found.examples == 60
    assert found == diagnose(texts[:60], ["A", "B", "C"] * 20)


def test_what_cannot_be_tested(made_up: MakeTexts) -> None:
    with pytest.raises(ValueError, match="3 labels for 10 texts"):
        diagnose(made_up(10), ["A", "B", "C"])
    with pytest.raises(ValueError, match="99 permutations are too few"):
        diagnose(made_up(10), permutations=99)


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_published_test_sets(data_dir: Path, name: str) -> None:
    """Sets that were shuffled before they were published pass; faults planted in them do not."""
    file = data_dir / "test_set_contamination" / name
    if not file.is_file():
        pytest.skip(f"no {name}")
    raw = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    texts = raw.decode("utf-8").splitlines()
    assert diagnose(texts).faults == ()
    for fault in ("ids", "sorted by length", "neighbouring paraphrases"):
        plant, flagged_by = PLANTED[fault]
        assert _p(diagnose(plant(texts[:200])), flagged_by) <= 0.005
