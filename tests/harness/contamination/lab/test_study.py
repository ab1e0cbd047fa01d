"""Studies of the lab: slices and doses, the sweep that tests them, and reading what it found."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest
import yaml

from harness import DataError
from harness.contamination.lab.checkpoints import CheckpointPlan, read_record, train_checkpoint, trained_before
from harness.contamination.lab.power import power_curve
from harness.contamination.lab.study import (
    TABLE_1,
    dose_slices,
    slice_run,
    table_1_slices,
    trials,
    write_sweep,
)
from harness.contamination.lab.tables import power_sentences
from harness.contamination.lab.training import Recipe
from harness.plugins.registry import default_registry
from harness.runs.runner import Settings, run_sweep
from harness.sweeps.load import load_sweep

WORDS = ["amber", "basalt", "cedar", "delta", "ember", "falcon", "garnet", "harbor", "indigo", "juniper"]


@pytest.fixture
def published(tmp_path: Path) -> Path:
    file = tmp_path / "set.txt"
    rng = random.Random(0)
    lines = [" ".join(rng.choices(WORDS, k=4)) for _ in range(100)]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def test_every_dose_has_equally_many_neighbouring_slices(published: Path) -> None:
    slices = dose_slices(published, [0, 5, 20], examples=10, repeats=2, seed=0)
    assert Counter(one.copies for one in slices) == {0: 2, 5: 2, 20: 2}
    assert [(one.start, one.stop) for one in slices] == [(i * 10, i * 10 + 10) for i in range(6)]
    assert {one.copies for one in slices[:3]} | {one.copies for one in slices[3:]} == {0, 5, 20}
    assert [one.copies for one in slices] != [
        one.copies for one in dose_slices(published, [0, 5, 20], examples=10, repeats=2, seed=1)
    ]
    assert len(dose_slices(published, [0, 5, 20], examples=10, repeats=9, seed=0)) == 9  # as many as the file has


def test_a_file_too_short_for_one_slice_of_each(published: Path) -> None:
    with pytest.raises(DataError, match="need 150"):
        dose_slices(published, [0, 5, 20], examples=50, repeats=1, seed=0)


def test_the_paper_s_test_sets_with_controls(tmp_path: Path) -> None:
    for number, name in enumerate(TABLE_1):
        lines = 40 if number else 15
        (tmp_path / name).write_text("".join(f'{{"n": {i}}}\n' for i in range(lines)), encoding="utf-8")
    slices = table_1_slices(tmp_path, examples=20)
    assert [one.copies for one in slices if one.copies] == list(TABLE_1.values())
    assert sum(one.copies == 0 for one in slices) == 9  # the first file has no second slice
    assert all(one.copies for one in table_1_slices(tmp_path, examples=None))
    (tmp_path / "piqa.jsonl").unlink()
    with pytest.raises(DataError, match=r"no piqa\.jsonl"):
        table_1_slices(tmp_path, examples=20)


@pytest.mark.slow
def test_copies_are_found_and_controls_are_not(published: Path, tmp_path: Path) -> None:
    """From a file to a power curve: train, sweep, read."""
    slices = dose_slices(published, [0, 200], examples=20, repeats=2, seed=0)
    recipe = Recipe(vocabulary=400, window=64, width=48, layers=2, heads=2, batch=4)
    plan = CheckpointPlan(slices, recipe, characters=8_000)
    folder = tmp_path / "model"
    assert not trained_before(folder, plan)
    train_checkpoint(folder, plan, device="cpu")
    assert trained_before(folder, plan)
    assert not trained_before(folder, CheckpointPlan(slices, recipe, characters=8_000, seed=1))
    assert len(read_record(folder)["injected"]) == 4
    registry = default_registry()
    runs = [slice_run(folder, one, {"method": "exchangeability"}, registry) for one in slices]
    write_sweep(tmp_path / "study.yaml", "study", runs)
    roles = {run["adapter"].get("role") for run in yaml.safe_load((tmp_path / "study.yaml").read_text())["runs"]}
    assert roles == {None, "control"}
    sweep, registry = load_sweep(tmp_path / "study.yaml")
    records = list(run_sweep(sweep.runs, registry, Settings(tmp_path / "results")))
    assert [record.error for record in records] == [None] * 4
    found = trials(records, {folder: slices}, alpha=0.001)
    assert [trial.detected for trial in found] == [trial.copies > 0 for trial in found]
    curve = power_curve(found, 0.001)
    copies = {record.spec.adapter.arguments["rows"]: record.spec.adapter.arguments["copies"] for record in records}
    assert copies == {f"{one.start}:{one.stop}": one.copies for one in slices}
    assert curve.probability(200)[0] > curve.probability(0)[0]
    assert any("found with probability 0.5" in sentence for sentence in power_sentences(curve))
