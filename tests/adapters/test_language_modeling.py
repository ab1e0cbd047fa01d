from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError

from adapters.language_modeling import LanguageModeling
from harness import HarnessError, Instance, ModelError, Origin, Response, ScoreRequest

Make = Callable[..., Instance]


def test_the_input_is_scored_as_it_is_however_long(make: Make, characters: Any) -> None:
    adapter = LanguageModeling(LanguageModeling.Params())
    texts = ["short", "long " * 1000, " \ufffd kept\n"]
    instances = [make(f"e{index}", text, (), perturbation="typos") for index, text in enumerate(texts)]
    adapted = list(adapter.adapt(instances, [], characters(window=100), trial=0, seed=0))
    assert [one.requests for one in adapted] == [(ScoreRequest("", text),) for text in texts]
    assert adapted[1].requests[0].origin == Origin("e1", "typos")
    assert adapter.train_trials == 1


def test_it_predicts_nothing_but_needs_log_probabilities(make: Make, characters: Any) -> None:
    adapter = LanguageModeling(LanguageModeling.Params())
    (adapted,) = adapter.adapt([make("e", "text", ())], [], characters(), trial=0, seed=0)
    prediction = adapter.predict(adapted, [Response(logprobs=(-1.0, -2.0))])
    assert (prediction.text, prediction.choice, prediction.probability) == ("", None, None)
    with pytest.raises(ModelError, match="no log-probabilities"):
        adapter.predict(adapted, [Response()])


def test_an_empty_input_is_refused(make: Make, characters: Any) -> None:
    adapter = LanguageModeling(LanguageModeling.Params())
    with pytest.raises(HarnessError, match="'e' has an empty input"):
        list(adapter.adapt([make("e", "")], [], characters(), trial=0, seed=0))


def test_few_shot_settings_are_unknown() -> None:
    with pytest.raises(ValidationError):
        LanguageModeling.Params.model_validate({"max_train_instances": 5})
