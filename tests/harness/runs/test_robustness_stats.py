"""Worst cases, drops and gaps: from tables by hand, through the scorer, and through a file."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import Estimate, Example, Instance, PluginError, RunMetric, Split, metric
from harness.contracts import BOUNDED, PROPORTION, Stat
from harness.contracts.specs import Component, RunSpec
from harness.plugins.decorators import ATTRIBUTE
from harness.runs.robustness_stats import drop, group_gap, worst
from harness.runs.scoring import Scorer
from harness.statistics import mean_estimate
from harness.storage.instance_counts import group_values
from harness.storage.results import RunRecord, read_run, write_run

CATEGORIES = {"typos": "robustness", "spaces": "robustness", "dialect": "fairness"}


@metric("right", category="accuracy", scale="proportion")
def right(example: Example) -> float | None:
    """The prediction as a score."""
    return float(example.prediction) if example.prediction else None


@metric("errors", category="accuracy", higher_is_better=False, scale="count")
def errors(example: Example) -> float:
    """The prediction as a number of errors."""
    return float(example.prediction)


@metric("length", category="accuracy", higher_is_better=None)
def length(example: Example) -> float:
    """How long the prediction is, which is neither good nor bad."""
    return float(len(example.prediction))


@metric("seconds", category="efficiency", higher_is_better=False)
def seconds(example: Example) -> float:
    """The prediction as a time."""
    return float(example.prediction)


@metric("diagram", category="calibration")
class Diagram(RunMetric):
    """Counts, and gives its count as details."""

    def __init__(self, *, bad: bool = False) -> None:
        self.count, self.bad = 0, bad

    def add(self, example: Example) -> None:
        self.count += 1

    def estimates(self) -> Mapping[str, Estimate]:
        return {"diagram": Estimate(1.0, self.count)}

    def details(self) -> Mapping[str, Any]:
        return {"bins": [{"count": float("nan") if self.bad else self.count}]}


def _scorer(*targets: Callable[..., Any], labels: tuple[str, ...] = (), **arguments: Any) -> Scorer:
    plugins = [vars(target)[ATTRIBUTE] for target in targets]
    metrics = [(Component(name=plugin.name, arguments=arguments), plugin) for plugin in plugins]
    return Scorer(metrics, perturbations=CATEGORIES, labels=labels)


def _add(scorer: Scorer, id: str, prediction: str, perturbation: str | None = None, **meta: Any) -> None:
    instance = Instance(id, "", split=Split.TEST, perturbation=perturbation, meta=meta)
    scorer.add(Example(instance, prediction=prediction))


def _filled(*targets: Callable[..., Any]) -> dict[tuple[str, str | None], Stat]:
    """Three instances, two robustness copies of each and a fairness copy of the first, the last copy without answer."""
    scorer = _scorer(*targets)
    scores = {None: "1 1 0", "typos": "1 0 1", "spaces": "0 1 0", "dialect": "0"}
    for perturbation, row in scores.items():
        for id, prediction in zip("abc", row.split(), strict=False):
            _add(scorer, id, prediction, perturbation)
    return {(stat.computed_on, stat.perturbation): stat for stat in scorer.stats()}


def test_worst_and_drop_by_hand() -> None:
    stats = _filled(right)
    assert {key: (stat.mean, stat.count, stat.missing, stat.category) for key, stat in stats.items()} == {
        ("original", None): (2 / 3, 3, 0, "accuracy"),
        ("perturbed", "typos"): (2 / 3, 3, 0, "robustness"),
        ("perturbed", "spaces"): (1 / 3, 3, 0, "robustness"),
        ("perturbed", "dialect"): (0.0, 1, 0, "fairness"),
        ("worst", "typos"): (1 / 3, 3, 0, "robustness"),
        ("worst", "spaces"): (1 / 3, 3, 0, "robustness"),
        ("worst", "dialect"): (0.0, 1, 0, "fairness"),
        ("worst", "robustness"): (0.0, 3, 0, "robustness"),
        ("worst", "fairness"): (0.0, 1, 0, "fairness"),
        ("drop", "typos"): (0.0, 3, 0, "robustness"),
        ("drop", "spaces"): (pytest.approx(1 / 3), 3, 0, "robustness"),
        ("drop", "dialect"): (1.0, 1, 0, "fairness"),
    }
    assert all(stat.higher_is_better is (key[0] != "drop") for key, stat in stats.items())
    interval = stats["drop", "typos"].ci95
    assert interval is not None
    assert interval[0] < 0.0 < interval[1]


def test_where_lower_is_better_the_worst_is_the_largest() -> None:
    stats = _filled(errors)
    assert stats["worst", "robustness"].mean == 1.0
    assert stats["drop", "spaces"].mean == pytest.approx(-1 / 3)
    assert stats["worst", "typos"].higher_is_better is False


def test_what_has_no_direction_or_is_no_quality_has_neither_worst_nor_drop() -> None:
    assert {key[0] for key in _filled(length)} == {"original", "perturbed"}
    stats = _filled(seconds)
    assert {key[0] for key in stats} == {"original", "perturbed"}
    assert {stat.category for stat in stats.values()} == {"efficiency"}


def test_trials_are_averaged_before_the_worst_is_taken() -> None:
    scorer = _scorer(right)
    for prediction in ("1", "0"):
        _add(scorer, "a", prediction)
        _add(scorer, "a", "1" if prediction == "0" else "0", "typos")
    stats = {stat.computed_on: stat.mean for stat in scorer.stats() if stat.perturbation != "robustness"}
    assert stats == {"original": 0.5, "perturbed": 0.5, "worst": 0.5, "drop": 0.0}


def test_only_originals_are_overall() -> None:
    scorer = _scorer(right, labels=("who",))
    for index in range(40):
        for perturbation in (None, "typos"):
            _add(scorer, f"i{index}", str(index % 2), perturbation, who="xy"[index % 3 == 0])
    assert [stat.computed_on for stat in scorer.stats() if stat.overall] == ["original"]
    assert len([stat for stat in scorer.stats() if stat.perturbation is None]) == 1 + 2 + 1


def test_groups_with_means_gap_and_instances_in_several() -> None:
    scorer = _scorer(right, labels=("identities", "absent"))
    for index in range(60):
        names = [name for name, every in (("black", 2), ("female", 3), ("rare", 30)) if index % every == 0]
        for _ in range(2):  # trials
            _add(scorer, f"i{index}", str(float(index % 4 == 0)), identities=names)
    stats = {stat.group: stat for stat in scorer.stats()}
    assert {group: (stat.mean, stat.count) for group, stat in stats.items()} == {
        None: (0.25, 60),
        "identities=black": (0.5, 30),
        "identities=female": (0.25, 20),
        "identities=rare": (0.5, 2),
        "identities: gap": (0.25, 40),
    }
    gap = stats["identities: gap"]
    assert (gap.category, gap.higher_is_better, gap.min, gap.max) == ("fairness", False, 0.25, 0.5)
    assert gap.ci95 is not None
    assert gap.ci95[0] <= 0.25 <= gap.ci95[1]


def test_undefined_scores_of_a_group_are_counted() -> None:
    scorer = _scorer(right, labels=("who",))
    for index, prediction in enumerate(["1", "", "0"]):
        _add(scorer, f"i{index}", prediction, who="x")
    stats = {stat.group: stat for stat in scorer.stats()}
    assert (stats["who=x"].count, stats["who=x"].missing) == (2, 1)


@pytest.mark.parametrize(
    ("value", "groups"),
    [
        ("female", ("female",)),
        (["a", "b", "a"], ("a", "b")),
        ([], ()),
        (None, ()),
        ("", ()),
        (True, ("True",)),
        (3, ("3",)),
    ],
)
def test_the_groups_of_a_value(value: Any, groups: tuple[str, ...]) -> None:
    assert group_values({"key": value}, "key") == groups
    assert group_values({}, "key") == ()


def test_small_groups_enter_no_gap() -> None:
    scores = {f"i{index}": float(index % 2) for index in range(30)}
    ids = list(scores)
    assert group_gap(scores, {"a": ids[:10], "b": ids[10:19]}, PROPORTION) is None
    assert group_gap(scores, {"a": ids[:10], "b": ids[10:20]}, PROPORTION) is not None


_TABLES = st.dictionaries(st.sampled_from("abcdefgh"), st.floats(0, 1), min_size=1)


@given(_TABLES, st.lists(_TABLES, min_size=1, max_size=3), st.booleans())
def test_the_worst_is_no_better_than_any_and_a_drop_turns_its_sign(
    original: dict[str, float], copies: list[dict[str, float]], higher: bool
) -> None:
    everyone = set("abcdefgh")
    found = worst(original, [(copy, everyone) for copy in copies], higher_is_better=higher, scale=BOUNDED)
    common = set(original).intersection(*copies)
    assert (found is None) == (not common)
    if found is not None:
        for table in (original, *copies):
            mean = mean_estimate([table[id] for id in common], BOUNDED).value
            assert found.estimate.value <= mean + 1e-12 if higher else found.estimate.value >= mean - 1e-12
        assert found.estimate.count + found.missing == len(everyone)
    up, down = (drop(original, copies[0], everyone, higher_is_better=way, scale=BOUNDED) for way in (True, False))
    assert up is None or (down is not None and up.estimate.value == -down.estimate.value)


def test_the_worst_is_of_the_copies_that_there_are() -> None:
    original = {"a": 1.0, "b": 1.0, "c": 1.0, "d": 1.0}
    typos, contrast = {"a": 1.0, "b": 0.0, "c": 1.0}, {"c": 0.0}
    found = worst(original, [(typos, set("abcd")), (contrast, {"c", "e"})], higher_is_better=True, scale=PROPORTION)
    assert found is not None
    assert (found.estimate.value, found.estimate.count, found.missing) == (1 / 3, 3, 2)
    alone = worst(original, [(contrast, {"c"})], higher_is_better=True, scale=PROPORTION)
    assert alone is not None
    assert (alone.estimate.value, alone.estimate.count, alone.missing) == (0.0, 1, 0)
    difference = drop(original, contrast, {"c"}, higher_is_better=True, scale=PROPORTION)
    assert difference is not None
    assert (difference.estimate.value, difference.estimate.count, difference.missing) == (1.0, 1, 0)


@metric("surprise", category="calibration", higher_is_better=False, source="none")
class Surprise(RunMetric):
    """A run metric whose number is a mean of instance scores, and says so."""

    def __init__(self) -> None:
        self.scores: dict[str, float] = {}

    def add(self, example: Example) -> None:
        self.scores[example.instance.id] = float(example.prediction)

    def estimates(self) -> Mapping[str, Estimate]:
        return {"surprise": mean_estimate(list(self.scores.values()), BOUNDED)}

    def instance_scores(self) -> Mapping[str, Mapping[str, float]]:
        return {"surprise": self.scores}


def test_a_run_metric_with_instance_scores_has_worst_drop_and_groups() -> None:
    scorer = _scorer(Surprise, labels=("who",))
    for index in range(40):
        _add(scorer, f"i{index}", "0.25", who="xy"[index % 2])
        _add(scorer, f"i{index}", "0.75" if index < 10 else "0", "typos", who="xy"[index % 2])
    stats = {(stat.computed_on, stat.perturbation, stat.group): stat for stat in scorer.stats()}
    assert stats["worst", "typos", None].mean == 0.375
    assert stats["worst", "robustness", None].mean == 0.375
    assert stats["drop", "typos", None].mean == -0.0625
    assert stats["original", None, "who: gap"].mean == 0.0
    assert stats["original", None, "who=x"].count == 20


def test_details_of_run_metrics() -> None:
    scorer = _scorer(Diagram, right)
    _add(scorer, "a", "1")
    _add(scorer, "a", "1", "typos")
    bins = {"bins": [{"count": 1}]}
    assert scorer.details() == {"diagram": {"test": {"original": bins, "typos": bins}}}
    bad = _scorer(Diagram, bad=True)
    _add(bad, "a", "1")
    with pytest.raises(PluginError, match=r"'diagram.* failed to give details of split test: ValueError"):
        bad.details()


def test_stats_and_details_survive_the_file(tmp_path: Path) -> None:
    stats = list(_filled(right).values())
    stats.append(Stat("m", "fairness", "test", None, 2, 0.5, None, None, None, None, False, 0, "original", "who: gap"))
    spec = RunSpec(
        suite="s",
        scenario=Component(name="quiz"),
        adapter=Component(name="generation"),
        metrics=(Component(name="right"),),
        main_metric="right",
        model=Component(name="fake:x"),
        eval_split=Split.TEST,
    )
    details = {"diagram": {"test": {"original": {"bins": [1, None]}}}}
    kept: dict[str, Any] = {"efficiency": {}, "provenance": {}, "examples": None, "started": "", "finished": ""}
    kept |= {"name": "run", "suite": "s", "status": "ok", "error": None}
    record = RunRecord(directory=tmp_path / "run", spec=spec, stats=stats, details=details, **kept)
    write_run(record)
    assert read_run(record.directory) == record
    value = json.loads((record.directory / "run.json").read_text())
    del value["details"]
    for stat in value["stats"]:
        del stat["computed_on"], stat["group"]
    (record.directory / "run.json").write_text(json.dumps(value))
    assert read_run(record.directory).details == {}
