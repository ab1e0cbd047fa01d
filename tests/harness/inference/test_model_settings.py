"""A model's own settings in requests: what takes precedence, what is counted, and what greedy decoding ignores."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import GenerateRequest, HarnessError, Message, Request, ScoreRequest, SequenceRequest
from harness.contracts.model_settings import ModelSettings, TokenBounds
from harness.inference.cache_entries import request_key
from harness.inference.model_settings import ConfiguredTokenization, check_settings, configured
from harness.models.offline.fake import FakeModel

TURNS = (Message("user", "what is the house?"),)
WITH_SYSTEM = (Message("system", "Answer with a letter."), *TURNS)
ASKED = GenerateRequest("the people of", 20, stop=("\n",))
SCORED: tuple[Request, ...] = (
    ScoreRequest("the people", " of"),
    ScoreRequest(TURNS, " of"),
    SequenceRequest(("the ", "people "), (1, 0)),
)


def settings(**given: Any) -> ModelSettings:
    return ModelSettings.of(given)


@pytest.mark.parametrize("request_", [ASKED, replace(ASKED, temperature=0.7, seed=3, completions=4), *SCORED])
def test_without_settings_requests_are_the_same(request_: Request) -> None:
    assert configured(request_, settings()) is request_
    assert configured(request_, settings(display_name="A model")) is request_


def test_the_models_temperature_prevails_over_the_tasks() -> None:
    assert configured(ASKED, settings(temperature=0.6)) == replace(ASKED, temperature=0.6)
    sampled = replace(ASKED, temperature=0.9, seed=3)
    assert configured(sampled, settings(temperature=0.6)) == replace(sampled, temperature=0.6)
    assert configured(sampled, settings(temperature=0)) == ASKED  # a seed, too, has no effect


def test_what_chooses_tokens_is_left_out_of_greedy_requests() -> None:
    cutoffs: dict[str, Any] = {"top_p": 0.9, "top_k": 20, "min_p": 0.1}
    assert configured(ASKED, settings(**cutoffs)) == ASKED
    assert configured(ASKED, settings(**cutoffs, temperature=1)) == replace(ASKED, temperature=1.0, **cutoffs)
    assert configured(ASKED, settings(repetition_penalty=1.2)) == replace(ASKED, repetition_penalty=1.2)


@pytest.mark.parametrize("request_", [SCORED[0], SCORED[2]])
def test_scored_texts_have_no_settings(request_: Request) -> None:
    everything = settings(
        temperature=0.6, top_p=0.9, max_tokens={"at_least": 9}, prefill="So", system_prompt="Be brief."
    )
    assert configured(request_, everything) == request_


@pytest.mark.parametrize(
    ("bounds", "asked", "sent"),
    [
        ({"at_least": 64}, 5, 64), ({"at_least": 64}, 100, 100), ({"at_most": 64}, 100, 64), ({"at_most": 64}, 5, 5),
        ({"at_least": 8, "at_most": 64}, 1, 8), ({"at_least": 8, "at_most": 64}, 99, 64), ({"at_most": 1}, 1, 1),
    ],
)  # fmt: skip
def test_a_tasks_tokens_are_raised_and_lowered(bounds: dict[str, int], asked: int, sent: int) -> None:
    bounded = settings(max_tokens=bounds)
    assert configured(replace(ASKED, max_tokens=asked), bounded) == replace(ASKED, max_tokens=sent)
    assert ConfiguredTokenization(FakeModel("0"), bounded).most_generated(asked) == sent


@given(st.integers(1, 99), st.integers(1, 99), st.integers(1, 99))
def test_bounds_hold(one: int, other: int, asked: int) -> None:
    low, high = sorted((one, other))
    found = TokenBounds(at_least=low, at_most=high).applied(asked)
    assert low <= found <= high
    assert found == asked or not low <= asked <= high


def test_the_models_system_prompt_comes_before_the_tasks() -> None:
    own = settings(system_prompt="Think first.")
    alone, both = (configured(GenerateRequest(prompt, 5), own) for prompt in (TURNS, WITH_SYSTEM))
    assert alone == GenerateRequest((Message("system", "Think first."), *TURNS), 5)
    assert both == GenerateRequest((Message("system", "Think first.\n\nAnswer with a letter."), *TURNS), 5)
    assert configured(ScoreRequest(TURNS, " A"), own) == ScoreRequest((Message("system", "Think first."), *TURNS), " A")


@pytest.mark.parametrize("prompt", ["the people of", TURNS, WITH_SYSTEM], ids=["text", "turns", "system"])
@pytest.mark.parametrize("temperature", [0.0, 0.6])
def test_settings_are_applied_once_to_a_turn_that_goes_on_from_another(prompt: Any, temperature: float) -> None:
    own = settings(temperature=temperature, top_p=0.9, max_tokens={"at_least": 9}, system_prompt="Think.", prefill="So")
    once = configured(GenerateRequest(prompt, 5, seed=3), own)
    assert isinstance(once, GenerateRequest)
    assert configured(once, own) == once
    assert ConfiguredTokenization(FakeModel("0", chat=True), own).count_tokens(once.prompt) == FakeModel(
        "0", chat=True
    ).count_tokens(once.whole_prompt)


def test_a_system_prompt_is_refused_for_a_model_that_takes_no_conversations() -> None:
    check_settings(settings(system_prompt="Think first."), FakeModel("0", chat=True))
    with pytest.raises(HarnessError, match="system_prompt, but the model has no chat template and would ignore it"):
        check_settings(settings(system_prompt="Think first."), FakeModel("0"))


@pytest.mark.parametrize("prompt", ["the people of", TURNS, WITH_SYSTEM], ids=["text", "turns", "system"])
def test_what_settings_add_to_a_prompt_is_counted(prompt: Any) -> None:
    model = FakeModel("0", chat=True)
    own = settings(system_prompt="Think first.", prefill="the answer is")
    ((_, response),) = model.answer([configured(GenerateRequest(prompt, 3), own)])
    assert ConfiguredTokenization(model, own).count_tokens(prompt) == response.prompt_tokens
    assert ConfiguredTokenization(model, settings()).count_tokens(prompt) == model.count_tokens(prompt)


def test_the_key_of_a_request_without_settings_is_the_one_that_it_always_had() -> None:
    assert request_key(b"model", ASKED).hex() == request_key(b"model", configured(ASKED, settings())).hex()
    keys = {
        request_key(b"model", configured(replace(ASKED, temperature=1.0), settings(**one)))
        for one in ({}, {"top_p": 0.5}, {"top_k": 5}, {"min_p": 0.5}, {"repetition_penalty": 1.5}, {"prefill": "So"})
    }
    assert len(keys) == 6


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"temperature": -0.1}, "greater than or equal to 0"),
        ({"temperature": "hot"}, "valid number"),
        ({"temperature": float("inf")}, "finite"),
        ({"top_p": 0}, "greater than 0"),
        ({"top_p": 1.1}, "less than or equal to 1"),
        ({"top_k": 0}, "greater than or equal to 1"),
        ({"top_k": 1.5}, "valid integer"),
        ({"min_p": -1}, "greater than or equal to 0"),
        ({"repetition_penalty": 0}, "greater than 0"),
        ({"max_tokens": {"at_least": 9, "at_most": 8}}, "at_least is 9, which is more than at_most, 8"),
        ({"max_tokens": 5}, "at_least"),
        ({"prefill": ""}, "at least 1 character"),
        ({"system_prompt": 5}, "valid string"),
    ],
    ids=str,
)
def test_impossible_values_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        settings(**given)
