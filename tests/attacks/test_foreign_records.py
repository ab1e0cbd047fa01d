"""Records and results that other programs wrote: each is refused by name with the reason, and hides no other."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.errors import DataError
from harness.leaderboard.site.live import LiveSite
from harness.storage.results import find_runs, read_run, write_run
from harness.storage.run_schema import parse_run
from tests.harness.cli.conftest import Harness, folder, harness

__all__ = ["folder", "harness"]  # fixtures

Change = Callable[[dict[str, Any]], str]


def stat(**changes: Any) -> Change:
    """Change the first statistic."""

    def change(value: dict[str, Any]) -> str:
        first, *rest = value["stats"]
        return json.dumps({**value, "stats": [{**first, **changes}, *rest]})

    return change


def key(**changes: Any) -> Change:
    return lambda value: json.dumps({**value, **changes})


def declined(**changes: Any) -> Change:
    group = {"split": "test", "perturbation": None, "of": 3, "kinds": {"refusal": 1}, **changes}
    return key(declined={"groups": [group]})


HOSTILE: dict[str, tuple[Change, str]] = {
    "a text as mean": (stat(mean="0.9"), "stats[0].mean: must be a number, not '0.9'"),
    "true as mean": (stat(mean=True), "stats[0].mean: must be a number, not True"),
    "no mean": (stat(mean=None), "stats[0].mean: must be a number, not null"),
    "NaN": (stat(mean=math.nan), "stats[0]: exact_match: mean must be a finite number, not nan"),
    "infinity": (stat(stderr=math.inf), "stats[0]: exact_match: stderr must be a finite number, not inf"),
    "1e999": (
        lambda value: re.sub(r'"stderr": [0-9.]+', '"stderr": 1e999', json.dumps(value), count=1),
        "stderr must be a finite number, not inf",
    ),
    "a short interval": (stat(ci95=[1]), "stats[0].ci95"),
    "a long interval": (stat(ci95=[0.1, 0.2, 0.3]), "stats[0].ci95"),
    "an interval of text": (stat(ci95=["a", "b"]), "stats[0].ci95[0]: must be a number, not 'a'"),
    "an interval the wrong way round": (stat(ci95=[0.9, 0.1]), "exact_match: ci95 must be in ascending order"),
    "an interval of NaN": (stat(ci95=[0.1, math.nan]), "exact_match: ci95[1] must be a finite number, not nan"),
    "percent": (stat(mean=17.5), "exact_match: mean must be from 0 to 1, not 17.5; it looks like a percentage"),
    "more than all": (stat(mean=1.7, scale={"kind": "bounded", "low": 0, "high": 1}), "from 0 to 1, not 1.7"),
    "less than none": (stat(mean=-0.1), "exact_match: mean must be from 0 to 1, not -0.1"),
    "a scale of its own": (stat(scale={"kind": "odd"}), "stats[0].scale"),
    "a scale that is a text": (stat(scale="x"), "stats[0].scale"),
    "a range of nothing": (stat(scale={"kind": "bounded", "low": 1, "high": 1}), "stats[0].scale"),
    "a negative count": (stat(count=-1), "exact_match: count must be at least 0, not -1"),
    "a text as count": (stat(count="x"), "stats[0].count: must be a whole number, not 'x'"),
    "half an instance": (stat(count=1.5), "stats[0].count"),
    "a negative standard error": (stat(stderr=-0.1), "exact_match: stderr must be at least 0, not -0.1"),
    "a split that is a list": (stat(split=[]), "stats[0].split: must be text, not []"),
    "an unknown comparison": (stat(computed_on="guess"), "stats[0].computed_on"),
    "a 400-digit mean": (stat(mean=10**400), "stats[0]"),
    "statistics that are a text": (key(stats="none"), "stats: must be a list, not 'none'"),
    "no statistics": (key(stats=None), "stats: must be a list, not null"),
    "a model that is a text": (key(provenance={"model": "x"}), "provenance: model must be an object, not 'x'"),
    "data that are a list": (key(provenance={"data": []}), "provenance: data must be an object, not []"),
    "NaN in the details": (key(details={"a": [math.nan]}), "details: a[0] must be a finite number, not nan"),
    "NaN in the efficiency": (key(efficiency={"queries": math.nan}), "efficiency: queries must be a finite number"),
    "an unknown kind of decline": (declined(kinds={"sulking": 1}), "declined.groups[0].kinds.sulking"),
    "fewer than no declines": (declined(kinds={"refusal": -1}), "declined: {'refusal': -1} cannot be counts"),
    "more declines than examples": (declined(kinds={"refusal": 4}), "declined: {'refusal': 4} cannot be counts of 3"),
    "half a decline": (declined(kinds={"refusal": 0.5}), "declined.groups[0].kinds.refusal"),
    "a text as number of examples": (declined(of="3"), "declined.groups[0].of: must be a whole number"),
    "declines of split 7": (declined(split=7), "declined.groups[0].split: must be text"),
    "more copies changed than made": (
        key(instances={"evaluated": 1, "perturbed": {"typos": {"copies": 1, "changed": 2}}, "unlabelled": {}}),
        "instances: 2 of 1 instances",
    ),
    "instances by text": (key(instances={"evaluated": "x"}), "instances.evaluated: must be a whole number"),
    "scores that are a list": (key(instance_scores=[]), "instance_scores"),
    "examples of no file": (key(examples={"count": 3, "sha256": "x"}), "examples.sha256"),
    "fewer than no examples": (key(examples={"count": -3, "sha256": "0" * 64}), "examples.count"),
    "a status of its own": (key(status="fine"), "status"),
    "a key of its own": (key(more=1), "more: is not a key of run.json"),
    "a spec without a model": (key(spec={"suite": "x"}), "spec.scenario: is required"),
    "an older version": (key(schema_version=1), "schema version 1 is not the one that this version reads (2)"),
    "no version": (lambda value: "{}", "schema_version: is required"),
    "an empty file": (lambda value: "", "it is not JSON"),
    "half a file": (lambda value: json.dumps(value)[: len(json.dumps(value)) // 2], "it is not JSON"),
    "a list": (lambda value: "[]", "not a run's record"),
    "a deep list": (lambda value: "[" * 100_000, "it is not JSON"),
    "deep details": (
        lambda value: json.dumps(value).replace('"details"', '"details": ' + '{"a":' * 5000, 1),
        "not JSON",
    ),
    "no text": (lambda value: "\udcff", "not"),
}


@pytest.fixture
def runs(harness: Harness, folder: Path) -> list[Path]:
    """Folders of four finished runs."""
    assert harness("run", "sweep.yaml").code == 0
    return sorted((folder / "results" / "small").iterdir())


def plant(run: Path, change: Change) -> None:
    file = run / "run.json"
    file.write_bytes(change(json.loads(file.read_text())).encode("utf-8", "surrogateescape"))


def test_every_hostile_record_is_refused_with_its_reason(harness: Harness, runs: list[Path]) -> None:
    before = (runs[0] / "run.json").read_bytes()
    for name, (change, reason) in HOSTILE.items():
        (runs[0] / "run.json").write_bytes(before)
        plant(runs[0], change)
        with pytest.raises(DataError) as caught:
            read_run(runs[0])
        message = str(caught.value)
        assert f"{runs[0].name}/run.json: " in message, name
        assert reason in message, f"{name}: {message}"
        assert len(message) < 1000, name
        assert "\n" not in message, name
        problems: list[DataError] = []
        left = find_runs(runs[0].parent.parent, set_aside=problems.append)
        assert [record.directory for record in left] == runs[1:], name
        assert [str(problem) for problem in problems] == [message], name


@pytest.mark.parametrize("name", ["a text as mean", "a short interval", "NaN", "an empty file"])
def test_one_hostile_record_hides_no_other(
    harness: Harness, folder: Path, runs: list[Path], caplog: pytest.LogCaptureFixture, name: str
) -> None:
    hidden = next(run for run in runs if "lowercase" in run.name and "fake-1" in run.name)
    plant(hidden, HOSTILE[name][0])
    named = f"{hidden.name}/run.json: "
    for arguments in (("leaderboard",), ("leaderboard", "--format", "csv"), ("leaderboard", "--site")):
        caplog.clear()
        said = harness(*arguments)
        assert said.code == 0, said.err
        (warned,) = caplog.messages
        assert warned.startswith("Left out: ")
        assert named in warned
        assert "site" in arguments[-1] or "fake:0" in said.out
    site = folder / "results" / "site" / "data" / "runs"
    assert len(list(site.rglob("run.js"))) == 3
    said = harness("stats", *map(str, runs))
    assert said.code == 2
    assert named in said.err
    assert said.out.count("Exact match") >= 3
    caplog.clear()
    assert harness("compare", "fake:0", "fake:1", "--suite", "small").code == 0
    assert named in caplog.text
    said = harness("compare", str(hidden), str(runs[0]))
    assert said.code == 2
    assert named in said.err
    said = harness("cache", "prune", "--orphaned", "--yes")
    assert said.code == 2  # whose answers would go is not known
    assert named in said.err


FOUND = {"headline_log10_p": -3.0, "verdict": "proven", "alpha": 0.01}


@pytest.mark.parametrize(
    "found",
    [
        {**FOUND, "headline_log10_p": "-3"},
        {**FOUND, "headline_log10_p": 5.0},
        {**FOUND, "headline_log10_p": None},
        {**FOUND, "alpha": "x"},
        {**FOUND, "alpha": 0},
        {**FOUND, "shard_scores": [{"canonical": 1.0}]},
        {**FOUND, "shard_scores": "none"},
        {**FOUND, "shard_scores": [{"canonical": 1.0, "shuffled": []}]},
        {**FOUND, "shard_scores": [{"canonical": 1.0, "shuffled": [0.5] * n} for n in (2, 3)]},
        {**FOUND, "neighbours": "none"},
        {**FOUND, "next_example": "none"},
        {**FOUND, "cost": {"requests": "many"}},
        {**FOUND, "diagnostics": {"words": {}}},
        {**FOUND, "diagnostics": []},
    ],
)
def test_hostile_findings_hide_no_others(
    harness: Harness, folder: Path, runs: list[Path], caplog: pytest.LogCaptureFixture, found: dict[str, Any]
) -> None:
    for run, what in ((runs[0], found), (runs[1], FOUND)):
        plant(run, key(details={"contamination": {"valid": {"original": what}}}))
    said = harness("contamination", "report", "--json")
    assert said.code == 0
    assert [family["tests"][0]["run"] for family in json.loads(said.out)["models"]] == [runs[1].name]
    assert f"{runs[0].name}/run.json: not a test of the published order: " in caplog.text
    assert "depends" in harness("contamination", "report").out  # with no more than a p-value
    assert harness("leaderboard").code == 0


def test_the_live_site_is_built_without_a_hostile_record(folder: Path, harness: Harness, runs: list[Path]) -> None:
    from harness.leaderboard.site.builder import build_site

    plant(runs[0], HOSTILE["a text as mean"][0])
    site = LiveSite(folder / "results", folder / "live", build_site, poll=0.01)
    site.start()
    try:
        assert site.state().problem == ""
        assert site.state().build == 1
    finally:
        site.stop()


def test_a_record_with_half_a_surrogate_pair_is_read(harness: Harness, runs: list[Path]) -> None:
    import dataclasses

    record = dataclasses.replace(read_run(runs[0]), status="failed", error="a half \ud800 of a pair and a whole 😀")
    write_run(record)
    assert read_run(runs[0]).error == "a half \ufffd of a pair and a whole 😀"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_change_of_a_record_is_read_or_refused(harness: Harness, runs: list[Path], data: st.DataObject) -> None:
    value = json.loads((runs[0] / "run.json").read_text())
    place: Any = value
    for _ in range(data.draw(st.integers(0, 3))):
        inner = [
            item
            for item in (place.values() if isinstance(place, dict) else place)
            if item and not isinstance(item, str | int | float)
        ]
        if not inner:
            break
        place = data.draw(st.sampled_from(inner))
    changed = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
    place[changed] = data.draw(json_values)
    try:
        parse_run(json.dumps(value).encode(), runs[0] / "run.json")
    except DataError as error:
        assert str(error).startswith(str(runs[0] / "run.json"))  # noqa: PT017 - either is right


# ---------------------------------------------------------------------------------------------------------------
# Imports


IMPORTS = Path(__file__).parents[1] / "harness" / "imports" / "data"


def lm_eval(source: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Copy a results file of lm-evaluation-harness, changed."""
    source.mkdir()
    for file in (IMPORTS / "lm_eval").glob("results_*.json"):
        value = json.loads(file.read_text())
        change(value)
        (source / file.name).write_text(json.dumps(value))


def accuracy(value: Any) -> Callable[[dict[str, Any]], None]:
    def change(written: dict[str, Any]) -> None:
        for results in written["results"].values():
            if "acc,none" in results:
                results["acc,none"] = value

    return change


def minus_one(written: dict[str, Any]) -> None:
    for counts in written["n-samples"].values():
        counts["effective"] = -1


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            accuracy(17.5),
            "results.tiny_quiz.acc,none must be from 0 to 1, not 17.5; it looks like a percentage: divide it by 100",
        ),
        (accuracy(1750), "results.tiny_quiz.acc,none must be from 0 to 1, not 1750."),
        (accuracy(math.nan), "results.tiny_quiz.acc,none must be a finite number, not nan"),
        (accuracy(-math.inf), "results.tiny_quiz.acc,none must be a finite number, not -inf"),
        (minus_one, "n-samples.tiny_quiz.effective: must be at least 0, not -1"),
    ],
)
def test_impossible_results_of_lm_eval_are_not_imported(
    harness: Harness, folder: Path, change: Callable[[dict[str, Any]], None], reason: str
) -> None:
    lm_eval(folder / "theirs", change)
    said = harness("import", "lm-eval", "theirs")
    assert said.code == 2
    assert reason in said.err
    assert said.err.startswith("theirs/results_")
    assert "Traceback" not in said.err
    assert not list(folder.glob("results/lm-eval/*/run.json"))


@pytest.mark.parametrize(
    ("mean", "reason"),
    [
        (math.nan, "[0].mean (exact_match) must be a finite number, not nan"),
        (math.inf, "[0].mean (exact_match) must be a finite number, not inf"),
        (
            17.5,
            "[0].mean (exact_match) must be from 0 to 1, not 17.5; it looks like a percentage",
        ),
        (-1, "[0].mean (exact_match) must be from 0 to 1, not -1"),
    ],
)
def test_impossible_results_of_helm_are_not_imported(harness: Harness, folder: Path, mean: float, reason: str) -> None:
    run = folder / "theirs" / "openbookqa"
    run.mkdir(parents=True)
    for file in (IMPORTS / "helm" / "openbookqa").iterdir():
        (run / file.name).write_bytes(file.read_bytes())
    stats = json.loads((run / "stats.json").read_text())
    for one in stats:
        if one["name"]["name"] == "exact_match":
            one["mean"] = mean
    (run / "stats.json").write_text(json.dumps(stats))
    said = harness("import", "helm", "theirs")
    assert said.code == 2
    assert reason in said.err
    assert said.err.startswith("theirs/openbookqa/stats.json: ")
    assert "Traceback" not in said.err
    assert not list(folder.glob("results/helm/*"))


def test_scores_of_single_instances_that_are_no_numbers_are_not_imported(harness: Harness, folder: Path) -> None:
    run = folder / "theirs" / "boolq"
    run.mkdir(parents=True)
    for file in (IMPORTS / "helm" / "boolq").iterdir():
        (run / file.name).write_bytes(file.read_bytes())
    rows = json.loads((run / "per_instance_stats.json").read_text())
    for row in rows[:1]:
        for one in row["stats"]:
            one["mean"] = math.nan
    (run / "per_instance_stats.json").write_text(json.dumps(rows))
    said = harness("import", "helm", "theirs")
    assert said.code == 2
    assert "must be a finite number, not nan" in said.err
    assert not list(folder.glob("results/helm/*"))
