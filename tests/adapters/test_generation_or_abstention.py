from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from adapters.generation_or_abstention import GenerationOrAbstention
from harness import Completion, GenerateRequest, Instance, Response, ScoreRequest

Make = Callable[..., Instance]
Method = GenerationOrAbstention


def test_the_text_is_scored_after_the_prompt_that_is_continued(
    make: Make, helm_train: list[Instance], characters: Any
) -> None:
    method = Method(Method.Params(max_train_instances=1, sample_train=False, output_noun="Answer"))
    (adapted,) = method.adapt([make("e", "Who?", ["Ann"])], helm_train, characters(), trial=0, seed=0)
    generated, scored = adapted.requests
    assert isinstance(generated, GenerateRequest)
    assert isinstance(scored, ScoreRequest)
    assert scored.context == generated.prompt
    assert str(generated.prompt).endswith("Input: Who?\nAnswer:")
    assert scored.continuation == " unanswerable"
    assert scored.origin is not None
    assert (scored.origin.role, scored.origin.reference) == ("abstention", None)


def test_a_chat_models_turn_is_the_text(make: Make, characters: Any) -> None:
    method = Method(Method.Params(max_train_instances=0, abstention="I do not know."))
    (adapted,) = method.adapt([make("e", "Who?", ["Ann"])], [], characters(chat=True), trial=0, seed=0)
    assert isinstance(adapted.requests[1], ScoreRequest)
    assert adapted.requests[1].continuation == "I do not know."


@pytest.mark.parametrize("logprob", [-0.1, -50.0])
def test_the_prediction_is_what_is_generated(make: Make, characters: Any, logprob: float) -> None:
    method = Method(Method.Params(max_train_instances=0))
    (adapted,) = method.adapt([make("e", "Who?", ["Ann"])], [], characters(), trial=0, seed=0)
    written = Response(completions=(Completion("Ann", logprob=-1.0),))
    prediction = method.predict(adapted, [written, Response(logprobs=(logprob,))])
    assert prediction.text == "Ann"
    assert prediction.texts == ("Ann",)


def test_the_input_is_cut_as_by_generation(make: Make, characters: Any) -> None:
    method = Method(Method.Params(max_train_instances=0, input_prefix="", output_prefix=" A:", input_tokens=2))
    (adapted,) = method.adapt([make("e", "Who has asked?", ["Ann"])], [], characters(), trial=0, seed=0)
    generated, scored = adapted.requests
    assert isinstance(generated, GenerateRequest)
    assert isinstance(scored, ScoreRequest)
    assert str(generated.prompt).startswith("Who has ")  # eight characters are two tokens
    assert "asked" not in str(generated.prompt)
    assert scored.context == generated.prompt
