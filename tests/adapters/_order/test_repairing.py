"""Orders that are not exchangeable get the repair that their text calls for, and keep none that does not help."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from adapters._order.diagnostics import diagnosed, faults
from adapters._order.repairing import repaired
from harness import Instance

SYLLABLES = ("ba", "de", "fi", "go", "lu", "mar", "nex", "pon", "qui", "ros", "tem", "vul")


def texts(number: int, seed: int = 0) -> list[str]:
    rng = Random(seed)
    words = ["".join(rng.choices(SYLLABLES, k=rng.randint(1, 3))) for _ in range(800)]
    return [" ".join(rng.choices(words, k=rng.randint(6, 24))) for _ in range(number)]


def drifting(plain: list[str]) -> list[str]:
    half = len(plain) // 2
    return [text + (" in law and order" if place < half else " in song and dance") for place, text in enumerate(plain)]


def by_length(plain: list[str]) -> list[str]:
    """Coarsely ordered by length: long ones come late, in random order among their like."""
    rng = Random(1)
    return sorted(plain, key=lambda text: (len(text.split()) // 5, rng.random()))


def repair(published: list[str], labels: list[str] | None = None) -> tuple[list[str], list[str], tuple[int, ...]]:
    """Return the repairs, the faults that are left, and the sizes of the groups."""
    instances = [Instance(str(place), text) for place, text in enumerate(published)]
    before = diagnosed(published, labels, None, 0)
    state, done, after = repaired(published, instances, labels, "auto", before, 0)
    return done, faults(after), tuple(len(group) for group in state.groups)


def test_a_random_order_is_left_alone() -> None:
    assert repair(texts(120)) == ([], [], (120,))


@pytest.mark.parametrize(
    ("plant", "words"),
    [
        (lambda plain: [f"{place}. {text}" for place, text in enumerate(plain, 1)], "held the ids of 200"),
        (lambda plain: [copy for text in plain[:100] for copy in (text, text)], "left out 100 near duplicates"),
        (drifting, "neighbours"),
        (by_length, "permuted within"),
    ],
)
def test_an_order_is_repaired_by_what_its_text_shows(plant: Callable[[list[str]], list[str]], words: str) -> None:
    done, left, groups = repair(plant(texts(200)))
    assert left == []
    assert words in "; ".join(done)
    assert sum(groups) in (100, 200)


def test_labels_in_runs_are_permuted_within_the_labels() -> None:
    labels = [label for label in "ABCD" for _ in range(50)]
    done, left, groups = repair(texts(200), labels)
    assert done == ["permuted within 4 blocks of examples with one label"]
    assert (left, groups) == ([], (50, 50, 50, 50))


def test_a_repair_that_changes_nothing_is_not_named() -> None:
    """Two topics one after the other: neighbours are alike, but none are near duplicates."""
    rng = Random(0)
    topics = [["".join(rng.choices(SYLLABLES, k=3)) for _ in range(10)] for _ in range(2)]
    published = [f"{' '.join(rng.choices(words, k=8))} {rng.randrange(10_000)}" for words in topics for _ in range(60)]
    done, left, groups = repair(published)
    assert left == []
    assert done == [f"permuted within {len(groups)} runs of {groups[0]} neighbours"]


def test_what_no_repair_helps_is_left_as_it_is() -> None:
    done, left, groups = repair(sorted(texts(200)))
    assert done == []
    assert "alphabetical order" in left
    assert groups == (200,)


def test_honest_orders_within_drifting_halves_pass() -> None:
    """Of 30 data sets whose halves differ and are shuffled within, nearly all can be tested."""
    failing = 0
    for seed in range(30):
        plain = texts(100, seed)
        failing += bool(repair(drifting(Random(seed).sample(plain, 100)))[1])
    assert failing <= 3
