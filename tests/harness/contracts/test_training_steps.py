"""The place of a model in a training."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.contracts.model_settings import ModelFacts
from harness.contracts.training_steps import step_in, training_step


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("step1000", ("", 1000)),
        ("step-100", ("", 100)),
        ("checkpoint-2000", ("", 2000)),
        ("global_step143000", ("", 143000)),
        ("iter_0000500", ("", 500)),
        ("stage1-step1000-tokens4B", ("stage1", 1000)),
        ("pythia-70m-step512", ("pythia-70m", 512)),
        ("run.ckpt-7.merged", ("run", 7)),
        ("llama-3-8b", None),
        ("footstep3", None),
        ("step", None),
        ("main", None),
        ("v1.5", None),
    ],
)
def test_a_step_is_read_in_a_name(name: str, expected: tuple[str, int] | None) -> None:
    assert step_in(name) == expected


@given(st.text(max_size=60))
def test_any_text_is_read(text: str) -> None:
    found = step_in(text)
    assert found is None or (text.startswith(found[0]) and found[1] >= 0)


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("hf:/data/run-3/checkpoint-200", {}, ("hf:/data/run-3", 200)),
        ("hf:/data/run-3/checkpoint-200", {"dtype": "bfloat16"}, ("hf:/data/run-3 dtype=bfloat16", 200)),
        ("hf:org/olmo", {"revision": "stage1-step8", "chat": False}, ("hf:org/olmo stage1 chat=False", 8)),
        ("hf:org/olmo", {"revision": "main"}, None),
        ("hf:stepfun-ai/Step-3", {}, None),
    ],
)
def test_the_step_is_read_in_the_model(name: str, arguments: dict[str, object], expected: object) -> None:
    found = training_step(name, arguments)
    assert (found and (found.series, found.step)) == expected


def test_what_is_declared_takes_precedence() -> None:
    found = training_step("hf:/x/step-5", {}, ModelFacts(series="mine", step=500))
    assert found is not None
    assert (found.series, found.step, found.path) == ("mine", 500, "")
    found = training_step("hf:/x/run/step-5", {}, ModelFacts(creator="Example Lab"))
    assert found is not None
    assert (found.series, found.step) == ("hf:/x/run", 5)
