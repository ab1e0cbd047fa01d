"""The option-order test's requests: the published order first, letters in place, texts moved."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from adapters.option_order import OptionOrder
from harness import HarnessError, Instance, ModelError, Reference, Response, ScoreRequest, Split


def question(*options: str, **more: Any) -> Instance:
    references = tuple(Reference(option, index == 0) for index, option in enumerate(options))
    return Instance("q1", "Which?", references, Split.TEST, **more)


def texts(instance: Instance, tokenization: Any, **settings: Any) -> list[str]:
    method = OptionOrder(OptionOrder.Params(input_prefix="", input_suffix="\n", **settings))
    [adapted] = method.adapt([instance], [], tokenization, trial=0, seed=3)
    assert all(isinstance(request, ScoreRequest) and request.context == "" for request in adapted.requests)
    return [request.continuation for request in adapted.requests if isinstance(request, ScoreRequest)]


def test_all_orders_of_three_options_the_published_one_first(characters: Callable[..., Any]) -> None:
    found = texts(question("red", "green", "blue"), characters())
    assert found[0] == "Which?\nA. red\nB. green\nC. blue\n"
    assert len(found) == 6
    assert set(found) == {
        f"Which?\nA. {a}\nB. {b}\nC. {c}\n" for a, b, c in itertools.permutations(["red", "green", "blue"])
    }


def test_a_sample_of_orders_is_the_seed_s(characters: Callable[..., Any]) -> None:
    instance = question(*"abcde")
    found = texts(instance, characters(), orders=10)
    assert len(set(found)) == 10
    assert found == texts(instance, characters(), orders=10)


@pytest.mark.parametrize(
    ("instance", "says"),
    [(question("only"), "no options"), (question("a", "b", perturbation="typos"), "leave out the perturbations")],
)
def test_refused(characters: Callable[..., Any], instance: Instance, says: str) -> None:
    with pytest.raises(HarnessError, match=says):
        texts(instance, characters())


def test_log_probabilities_are_needed(characters: Callable[..., Any]) -> None:
    method = OptionOrder(OptionOrder.Params())
    [adapted] = method.adapt([question("a", "b")], [], characters(), trial=0, seed=0)
    with pytest.raises(ModelError, match="no log-probabilities"):
        method.predict(adapted, [Response(), Response()])
