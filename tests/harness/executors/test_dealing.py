"""Which model an idle worker serves next: a table of cases, and properties of whole deals."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from harness.executors.dealing import (
    Load,
    first_models,
    longest_first,
    lower_bound,
    must_split,
    next_model,
    replicas_for,
    split,
    worth_another,
)


def load(model: str, left: float, *, pieces: int = 100, loading: float = 90, replicas: int = 0, gpus: int = 1) -> Load:
    return Load(model, left, pieces, loading, replicas, gpus)


@pytest.mark.parametrize(
    ("left", "pieces", "replicas", "most", "worth"),
    [
        (1, 1, 0, None, True),  # the first replica always is
        (0, 0, 0, None, False),  # unless there is nothing to do
        (200, 9, 1, None, True),  # 100 s each, and loading takes 90
        (180, 9, 1, None, False),  # 90 s each: not more than loading
        (400, 9, 3, None, True),
        (400, 9, 4, None, False),
        (4000, 9, 4, 4, False),  # the sweep allows four
        (4000, 0, 1, None, False),  # everything is begun
    ],
)
def test_another_replica_is_worth_it_if_it_saves_more_than_its_loading(
    left: float, pieces: int, replicas: int, most: int | None, worth: bool
) -> None:
    assert worth_another(Load("a", left, pieces, 90, replicas, most=most)) is worth


def test_an_idle_worker_keeps_its_model_while_anything_is_left_for_it() -> None:
    loads = [load("small", 1, pieces=1, replicas=1), load("large", 1e6, replicas=1)]
    assert next_model(loads, loaded="small") == "small"
    assert next_model([load("small", 0, pieces=0), loads[1]], loaded="small") == "large"


def test_an_idle_worker_goes_to_the_model_that_would_end_last_with_its_help() -> None:
    loads = [load("a", 1200, replicas=3), load("b", 900, replicas=1), load("c", 400)]
    assert next_model(loads) == "b"  # 300, 450 and 400 s, and loading
    assert next_model([replace(one, left=one.left / 20, replicas=1) for one in loads]) is None


def test_a_model_that_does_not_fit_beside_the_others_is_left_to_another_node() -> None:
    loads = [load("wide", 9000, gpus=4), load("narrow", 9000)]
    assert next_model(loads, free_gpus=4) == "wide"  # its first replica comes first: four are rarely free together
    assert next_model(loads, free_gpus=3) == "narrow"
    assert next_model([loads[0]], free_gpus=3) is None


def test_replicas_are_shared_out_by_what_is_left() -> None:
    loads = [load("a", 8000), load("b", 4000), load("c", 100)]
    assert replicas_for(loads, 3) == {"a": 2, "b": 1, "c": 0}
    assert replicas_for(loads, 12) == {"a": 8, "b": 4, "c": 0}  # c's turn is when others are done
    assert replicas_for([load("a", 500), load("wide", 2000, gpus=4)], 9) == {"a": 1, "wide": 2}
    assert replicas_for([load("a", 500, loading=90)], 64) == {"a": 5}  # 500 / 6 < 90


def test_workers_that_cannot_talk_begin_with_the_same_list() -> None:
    loads = [load("a", 8000), load("b", 4000), load("c", 100)]
    assert first_models(loads, 5) == ["a", "a", "b", "a", "a"]
    assert first_models([load("c", 100)], 3) == ["c", None, None]


def test_the_longest_comes_first_and_equals_keep_their_order() -> None:
    assert longest_first(["bb", "a", "ccc", "dd"], len) == ["ccc", "bb", "dd", "a"]


def test_a_run_longer_than_its_share_of_the_bound_is_split_into_equal_pieces() -> None:
    assert must_split(13, bound=100)
    assert not must_split(12, bound=100)
    assert split(100, 30) == [25] * 4
    assert split(100, 1, most=5) == [20] * 5  # no finer than its parts
    assert split(100, 0) == [100]
    assert split(5, 100) == [5]


@pytest.mark.parametrize(
    ("loads", "gpus", "bound"),
    [
        ([load("a", 910)], 1, 1000),
        ([load("a", 910)], 10, 181),  # loads once everywhere, then a tenth of the work
        ([load("a", 910), load("b", 730)], 2, 910),  # everything evenly: (1000 + 820) / 2
        ([load("a", 1000, gpus=4)], 4, 1090),
        ([load("a", 1000, gpus=4)], 8, 590),
        ([Load("a", 910, 5, 90, most=1)], 10, 1000),
        ([load("a", 0, pieces=0)], 4, 0),
    ],
)
def test_no_schedule_ends_before_the_bound(loads: list[Load], gpus: int, bound: float) -> None:
    assert lower_bound(loads, gpus) == pytest.approx(bound)


def test_dealing_does_not_depend_on_the_order_of_models() -> None:
    generator = random.Random(1)
    loads = [load(f"m{n}", generator.uniform(10, 9000), gpus=generator.choice([1, 1, 2, 4])) for n in range(20)]
    shuffled = generator.sample(loads, len(loads))
    assert replicas_for(loads, 32) == replicas_for(shuffled, 32)
