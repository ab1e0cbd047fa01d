"""Options with an order of their own are found by their text; options in random order are not."""

from __future__ import annotations

from random import Random

import pytest

from harness.contamination.statistics.option_diagnostics import diagnose_options

WORDS = ("amber", "birch", "comet", "delta", "ember", "fjord", "grove", "heath")


def questions(number: int, seed: int = 0) -> list[list[str]]:
    rng = Random(seed)
    return [
        [" ".join(rng.sample(WORDS, rng.randint(1, 4))) + f" {rng.random()}"[:4] for _ in range(4)]
        for _ in range(number)
    ]


def test_random_orders_pass() -> None:
    assert sum(not diagnose_options(questions(60, seed), seed=seed).exchangeable for seed in range(40)) <= 2


@pytest.mark.parametrize(
    ("fault", "sort"),
    [
        ("numbers", lambda options: [str(n) for n in sorted(Random(str(options)).sample(range(100), 4))]),
        ("alphabetical order", sorted),
        ("lengths", lambda options: sorted(options, key=len)),
        ("options that refer to others", lambda options: [*options[:3], "All of the above"]),
    ],
)
def test_planted_orders_are_found(fault: str, sort: object) -> None:
    assert callable(sort)
    planted = [sort(options) if number % 2 else options for number, options in enumerate(questions(60))]
    assert fault in diagnose_options(planted).faults


def test_the_place_of_the_answer() -> None:
    rng = Random(1)
    texts = questions(60)
    assert diagnose_options(texts, [0] * 60).faults == ("places of the answers",)
    assert diagnose_options(texts, [1 if number % 2 else rng.randrange(4) for number in range(60)]).faults
    uneven = sum(bool(diagnose_options(texts, [rng.randrange(4) for _ in texts], seed=n).faults) for n in range(40))
    assert uneven <= 2
    names = {test.name for test in diagnose_options(texts, [None] * 60).tests}
    assert "places of the answers" not in names


def test_numbers_with_separators_and_single_options() -> None:
    found = diagnose_options([["1,000", "20", "3.5", "1.2.3"], ["only one"], ["same", "same"]])
    assert {test.name for test in found.tests} == {"numbers", "alphabetical order", "lengths"}
    assert diagnose_options([]).exchangeable
