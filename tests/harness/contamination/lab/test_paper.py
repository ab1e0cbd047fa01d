"""The exhibits of the paper: which models they need, and which runs test these."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness import DataError
from harness.contamination.lab.checkpoints import CheckpointPlan
from harness.contamination.lab.paper import DOSES, EXHIBITS, FOLDER, MANY, SUITES, Paper, training_seconds
from harness.contamination.lab.presets import preset_named
from harness.contamination.lab.study import TABLE_1
from harness.plugins.registry import default_registry


@pytest.fixture
def paper(tmp_path: Path) -> Paper:
    folder = tmp_path / "data" / FOLDER
    folder.mkdir(parents=True)
    for name in TABLE_1:
        (folder / name).write_text("".join(f'{{"{name}": {n}}}\n' for n in range(400)), encoding="utf-8")
    return Paper(tmp_path / "data", tmp_path / "out", examples=20, presets=("tiny", "small"))


@pytest.mark.parametrize(
    ("exhibits", "models"),
    [
        (["table1"], ["table1-tiny-0"]),
        (["min-k", "false-alarms"], ["table1-tiny-0"]),
        (["duplication", "shards"], ["copies-tiny-0"]),
        (["model-sizes"], ["copies-tiny-0", "copies-small-0"]),
        (EXHIBITS, ["table1-tiny-0", "copies-tiny-0", "copies-small-0"]),
    ],
)
def test_exhibits_share_models(paper: Paper, exhibits: list[str], models: list[str]) -> None:
    assert [folder.name for folder in paper.checkpoints(exhibits)] == models


def test_all_sizes_read_the_same_slices(paper: Paper) -> None:
    (_, tiny), (_, small) = paper.dosed("tiny"), paper.dosed("small")
    assert tiny.injections == small.injections
    assert tiny.recipe != small.recipe
    assert sorted({one.copies for one in tiny.injections}) == sorted(DOSES)


def test_each_suite_tests_what_its_exhibit_shows(paper: Paper) -> None:
    suites = paper.suites(EXHIBITS, default_registry())
    assert {name: len(runs) for name, runs in suites.items()} == {
        "table1": 20, "min-k": 20, "copies": 2 * 14, "shards": 6 * 5, "shuffles": 6 * 5,
    }  # fmt: skip
    assert all(run["adapter"]["simple"] == {"most": 99} for run in suites["table1"])
    assert {run["adapter"].get("role") for run in suites["copies"]} == {None, "control"}
    assert {run["adapter"]["shards"] for run in suites["shards"]} == {2, 4, 5, 8, 10}  # 20 shards need 40 examples
    for name in ("shards", "shuffles"):
        assert all(run["adapter"]["neighbours"] is run["adapter"]["first_look"] is None for run in suites[name])
        assert min(run["adapter"]["copies"] for run in suites[name]) == MANY
    assert list(paper.suites(["table2"], default_registry())) == []
    for name in EXHIBITS:  # each can be made before the models and tests of the next
        tested = {run["model"] for runs in paper.suites([name], default_registry()).values() for run in runs}
        assert tested == {f"hf:{folder.resolve()}" for folder in paper.checkpoints([name]) if name != "table2"}
        assert set(paper.suites([name], default_registry())) <= set(SUITES[name])


def test_the_files_are_asked_for(paper: Paper) -> None:
    (paper.data / FOLDER / "piqa.jsonl").unlink()
    with pytest.raises(DataError, match=r"has no piqa\.jsonl.*test_set_contamination"):
        paper.checkpoints(["duplication"])


def test_more_copies_and_larger_models_take_longer(paper: Paper) -> None:
    _, plan = paper.dosed("tiny")
    _, larger = paper.dosed("small")
    alone = CheckpointPlan((), preset_named("tiny"), characters=plan.characters)
    assert training_seconds(alone) < training_seconds(plan) < training_seconds(larger)
