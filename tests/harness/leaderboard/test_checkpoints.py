"""Which models are checkpoints of one training."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError

from harness.contracts.model_settings import ModelFacts
from harness.leaderboard.checkpoint_table import signal_table
from harness.leaderboard.checkpoints import series_of, shared_steps
from harness.storage.results import RunRecord

Record = Callable[..., RunRecord]


def _series(make_run: Record, *models: Any) -> dict[str, list[tuple[int, str]]]:
    found = series_of([make_run(model, "boolq", 0.5) for model in models])
    return {series.name: [(one.step, one.model.label) for one in series.checkpoints] for series in found}


def test_paths_and_revisions_make_series(make_run: Record) -> None:
    pythia = [{"name": "hf:EleutherAI/pythia-70m", "revision": f"step{step}"} for step in (1000, 8, 64)]
    folders = [f"hf:/data/run-3/checkpoint-{step}" for step in (200, 100)]
    found = _series(make_run, *pythia, *folders, "hf:/data/run-4/checkpoint-100", "hf:gpt2", "hf:step-100")
    assert {name: [step for step, _ in steps] for name, steps in found.items()} == {
        "pythia-70m": [8, 64, 1000],
        "run-3": [100, 200],
    }


def test_series_with_one_name_are_told_apart(make_run: Record) -> None:
    models: list[str | dict[str, str]] = [f"hf:/{lab}/run/step-{step}" for lab in "ab" for step in (1, 2)]
    models += [{"name": f"hf:/a/run/step-{step}", "dtype": "bfloat16"} for step in (1, 2)]
    assert len(_series(make_run, *models)) == 3
    stages = [
        {"name": "hf:org/olmo", "revision": f"stage{stage}-step{n}-tokens{n}B"} for stage in (1, 2) for n in (1, 2)
    ]
    assert list(_series(make_run, *stages)) == ["olmo stage1", "olmo stage2"]


def test_a_sweep_can_say_it(make_run: Record) -> None:
    runs = []
    for name, step in (("fake:0", 1000), ("fake:1", 10), ("hf:/x/step-5", 500)):
        run = make_run(name, "boolq", 0.5)
        spec = run.spec.model_copy(update={"operational": {"about": {"series": "mine", "step": step}}})
        runs.append(dataclasses.replace(run, spec=spec))
    (series,) = series_of(runs)
    assert (series.name, series.key) == ("mine", "mine")
    assert [one.step for one in series.checkpoints] == [10, 500, 1000]


def test_models_that_are_the_same_step_are_named_in_one_note(make_run: Record) -> None:
    runs = []
    for name, step in (("fake:0", 10), ("fake:2", 20), ("fake:1", 20), ("fake:3", 30)):
        run = make_run(name, "boolq", 0.5)
        spec = run.spec.model_copy(update={"operational": {"about": {"series": "mine", "step": step}}})
        runs.append(dataclasses.replace(run, spec=spec))
    (series,) = series_of(runs)
    (note,) = shared_steps(series)
    assert note.startswith("mine: fake:1 and fake:2 are both step 20. Comparisons with neighbours use fake:2 if it has")
    assert [str(one.text) for one in signal_table(runs).notes].count(note) == 1
    (distinct,) = series_of(runs[1:2] + runs[3:])
    assert shared_steps(distinct) == []


def test_series_and_step_belong_together() -> None:
    for given_, lacking in (({"series": "mine"}, "step"), ({"step": 3}, "series")):
        with pytest.raises(ValidationError, match=f"set without {lacking}"):
            ModelFacts(**given_)
    with pytest.raises(ValidationError, match="greater than or equal to 0"):
        ModelFacts(series="mine", step=-1)


def test_models_whose_own_name_begins_with_step_are_not_checkpoints(make_run: Record) -> None:
    owner = ("hf:stepfun-ai/Step-2-mini", "hf:stepfun-ai/Step-3", "openai:step-1", "openai:step-2")
    assert _series(make_run, *owner) == {}
    paths = [
        f"hf:{folder}/{last}" for folder in ("./run-b", "runs/run-c", "/data/run-d") for last in ("step-1", "step-2")
    ]
    found = _series(make_run, "hf:run-a/checkpoint-2000", "hf:run-a/checkpoint-1000", *paths)
    assert sorted(found) == ["run-a", "run-b", "run-c", "run-d"]
