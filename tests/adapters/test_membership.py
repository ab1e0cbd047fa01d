"""Membership scores' requests: each example by itself, as published."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError

from adapters.membership import Membership
from harness import HarnessError, Instance, ModelError, Response, ScoreRequest

INSTANCES = [Instance(f"{i}", f"input {i}", published=f'{{"n": {i}}}') for i in range(6)]


def asked(characters: Callable[..., Any], **settings: Any) -> list[Any]:
    method = Membership(Membership.Params(**settings))
    return list(method.adapt(INSTANCES, [], characters(), trial=0, seed=0))


def test_every_example_by_itself_as_published(characters: Callable[..., Any]) -> None:
    found = asked(characters, rows="1:4", role="control")
    assert [one.requests for one in found] == [
        (ScoreRequest("", f'{{"n": {i}}}', vocabulary_moments=True),) for i in (1, 2, 3)
    ]
    assert {one.instance.meta["role"] for one in found} == {"control"}
    assert [one.instance.id for one in found] == ["1", "2", "3"]


def test_fewer_examples_and_no_moments(characters: Callable[..., Any]) -> None:
    found = asked(characters, max_examples=2, moments=False)
    assert [one.requests[0].vocabulary_moments for one in found] == [False, False]
    assert [one.instance.id for one in asked(characters, rows="3:6", max_examples=2)] == ["3", "4"]


def test_refused(characters: Callable[..., Any]) -> None:
    method = Membership(Membership.Params())
    with pytest.raises(HarnessError, match="perturbations"):
        list(method.adapt([INSTANCES[0].replace(perturbation="typos")], [], characters(), trial=0, seed=0))
    with pytest.raises(ModelError, match="no log-probabilities"):
        method.predict(asked(characters)[0], [Response()])
    with pytest.raises(ValidationError, match="not a range"):
        Membership.Params(rows="4:1")
