"""Names of models: display names, else the shortest endings that tell them apart."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.leaderboard.model_names import model_names, model_of


def named(make_run: Any, *models: Any, **changes: Any) -> list[str]:
    runs = [make_run(model, "quiz", 0.5, **changes) for model in models]
    names = model_names(runs)
    return [model_of(run, names) for run in runs]


@pytest.mark.parametrize(
    ("models", "names"),
    [
        (["hf:/data/models/small-llama"], ["small-llama"]),
        (["hf:meta-llama/Llama-3.1-8B", "openai:gpt-4o"], ["Llama-3.1-8B", "gpt-4o"]),
        (["hf:/a/run-3/step-100", "hf:/a/run-4/step-100"], ["run-3/step-100", "run-4/step-100"]),
        (["hf:/a/run-3/step-100", "hf:/a/run-3/step-200"], ["step-100", "step-200"]),
        (["hf:org/model", "vllm:org/model"], ["hf:org/model", "vllm:org/model"]),
        (["fake:0", "fake:1"], ["fake:0", "fake:1"]),
        (["openai:o1"], ["openai:o1"]),
        (["hf:/models/7b"], ["models/7b"]),
        (["hf:/a/b/model/"], ["model"]),
        (["live:ab", "live:m-1", "live:3"], ["ab", "m-1", "3"]),
        (["live:ab", "hf:/models/ab"], ["ab", "models/ab"]),
        (["live:runs/1", "live:runs/tiny"], ["runs/1", "tiny"]),
        (["live:o1x", "live:fake:0", "fake:0"], ["o1x", "live:fake:0", "fake:0"]),
    ],
)
def test_the_shortest_ending_that_no_other_has(make_run: Any, models: list[str], names: list[str]) -> None:
    assert named(make_run, *models) == names


def test_settings_are_shown_where_models_differ_in_them_alone(make_run: Any) -> None:
    models = [
        {"name": "hf:org/model"},
        {"name": "hf:org/model", "temperature": 0.7},
        {"name": "hf:org/other", "top_p": 1},
    ]
    assert named(make_run, *models) == ["model", "model · temperature 0.7", "other"]


def test_a_display_name_is_taken_as_it_is(make_run: Any) -> None:
    run = make_run("hf:/a/b/c-model", "quiz", 0.5)
    run = dataclasses.replace(run, spec=run.spec.model_copy(update={"operational": {"display_name": "Mine"}}))
    other = make_run("hf:/a/Mine", "quiz", 0.5)
    assert list(model_names([run]).values()) == ["Mine"]
    assert sorted(model_names([run, other]).values()) == ["Mine (Mine)", "Mine (c-model)"]


PARTS = st.text(st.sampled_from("ab/:1"), max_size=8)


@given(st.lists(st.tuples(st.sampled_from(["hf", "fake", "live"]), PARTS, st.sampled_from([None, 1, "1"])), max_size=6))
def test_different_models_have_different_names(make_run: Any, models: list[tuple[str, str, Any]]) -> None:
    specs = [{"name": f"{backend}:{name}", **({} if x is None else {"x": x})} for backend, name, x in models]
    names = model_names([make_run(spec, "quiz", 0.5) for spec in specs])
    assert len(set(names.values())) == len(names)
    assert all(names.values())
