"""The published-choice test asks for every text after the beginning that all share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from adapters.sealed_choice import SealedChoice
from harness import HarnessError, Instance, ModelError, Reference, Response, ScoreRequest


def test_one_request_a_text(characters: Callable[..., Any]) -> None:
    item = Instance("twin-1", '{"q": "', (Reference('Who?"}'), Reference('Which?"}', True)))
    [adapted] = SealedChoice(SealedChoice.Params()).adapt([item], [], characters(), trial=0, seed=0)
    asked = [(one.context, one.continuation) for one in adapted.requests if isinstance(one, ScoreRequest)]
    assert asked == [('{"q": "', 'Who?"}'), ('{"q": "', 'Which?"}')]


def test_what_cannot_be_asked(characters: Callable[..., Any]) -> None:
    method = SealedChoice(SealedChoice.Params())
    for item, message in (
        (Instance("1", "", (Reference("a", True),)), "several texts"),
        (Instance("1", "", (Reference("a"), Reference("b"))), "one of them published"),
        (Instance("1", "", (Reference("a"), Reference("b", True)), perturbation="typos"), "unchanged texts"),
    ):
        with pytest.raises(HarnessError, match=message):
            list(method.adapt([item], [], characters(), trial=0, seed=0))
    item = Instance("1", "", (Reference("a"), Reference("b", True)))
    [adapted] = method.adapt([item], [], characters(), trial=0, seed=0)
    with pytest.raises(ModelError, match="no log-probabilities"):
        method.predict(adapted, [Response(), Response()])
