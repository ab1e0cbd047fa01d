"""``harness.run``: a sweep from Python, with the same results as from the command line."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import harness
from harness import Example, metric
from harness.errors import HarnessError, PluginError, SpecError
from tests.harness.cli.conftest import Harness, folder
from tests.harness.cli.conftest import harness as command

__all__ = ["command", "folder"]

SWEEP = {
    "suite": "small",
    "plugins": ["./quiz.yaml"],
    "models": ["fake:0", {"name": "fake:1", "log": "asked"}],
    "runs": ["quiz", {"scenario": "quiz", "perturbations": ["lowercase"]}],
}


def records(results: Path) -> dict[str, Any]:
    """Return the statistics and the spec of each run."""
    found = {file.parent.name: json.loads(file.read_text()) for file in results.glob("*/*/run.json")}
    return {name: (record["stats"], record["spec"], record["examples"]) for name, record in found.items()}


def test_a_file_and_a_mapping_give_the_results_of_the_command(command: Harness, folder: Path) -> None:
    assert command("run", "sweep.yaml", "--results-dir", "theirs").code == 0
    ours = harness.run("sweep.yaml", results_dir="ours", progress=False)
    harness.run(SWEEP, results_dir=folder / "mapped", progress=False)
    assert records(folder / "ours") == records(folder / "mapped") == records(folder / "theirs")
    assert ours.runs()["status"].tolist() == ["ok"] * 4


def test_the_results_are_those_of_the_sweep_alone(folder: Path) -> None:
    harness.run(SWEEP, progress=False)
    results = harness.run(
        runs=["quiz"], models=[{"name": "fake:0"}], suite="small", plugins=["quiz.yaml"], progress=False
    )
    assert len(results.runs()) == 1
    assert len(harness.Results("results", "small").runs()) == 4


def test_options_are_those_of_the_command(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_RESULTS_DIR", "elsewhere")
    results = harness.run(SWEEP, models=["fake:2"], suite="other", max_eval_instances=3, progress=False)
    assert results.path == Path("elsewhere")
    assert results.runs()["count"].tolist() == [3, 3]
    assert set(results.runs()["model_id"]) == {"fake:2"}


def test_progress_is_shown_unless_it_is_switched_off(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    harness.run(SWEEP)
    assert "[4/4] ok quiz" in capsys.readouterr().err
    harness.run(SWEEP)
    assert capsys.readouterr().err.count("finished before") == 4
    harness.run(SWEEP, progress=False, force=True)
    assert capsys.readouterr().err == ""


def test_it_works_in_a_running_event_loop_and_in_a_thread(folder: Path) -> None:
    async def inside() -> int:
        return len(harness.run(SWEEP, progress=False).runs())

    async def beside() -> int:
        results = await asyncio.to_thread(harness.run, SWEEP, results_dir="beside", progress=False)
        return len(results.runs())

    with ThreadPoolExecutor(1) as pool:  # a browser of other tests leaves a running loop in the main thread
        assert [pool.submit(asyncio.run, work()).result() for work in (inside, beside)] == [4, 4]


@metric("interrupted", category="accuracy", source="Made up.")
def interrupted(example: Example) -> float:
    """Interrupts the program as Ctrl-C does, at the sixth example."""
    interrupted.calls += 1  # type: ignore[attr-defined]
    if interrupted.calls == 6:  # type: ignore[attr-defined]
        raise KeyboardInterrupt
    return 1.0


def test_an_interrupted_run_goes_on_where_it_stopped(folder: Path) -> None:
    interrupted.calls = 0  # type: ignore[attr-defined]
    sweep = {**SWEEP, "models": [{"name": "fake:1", "log": "asked"}]}
    sweep["runs"] = [{"scenario": "quiz", "metrics": ["exact_match", "interrupted"]}]
    with pytest.raises(KeyboardInterrupt):
        harness.run(sweep, plugins=[interrupted], progress=False)
    asked = (folder / "asked").read_text().split()
    assert asked
    assert harness.Results("results").runs().empty
    results = harness.run(sweep, plugins=[interrupted], progress=False)
    assert results.stats().query("metric == 'interrupted'")["count"].tolist() == [20]
    asked = (folder / "asked").read_text().split()
    assert len(asked) == len(set(asked)) == 20


def test_runs_that_fail_are_a_warning_and_in_the_results(folder: Path) -> None:
    (folder / "quiz" / "valid.jsonl").unlink()
    with pytest.warns(UserWarning, match=r"4 of 4 runs failed; .*valid\.jsonl") as caught:
        results = harness.run(SWEEP, progress=False)
    assert {Path(warning.filename).name for warning in caught} == {"test_run.py"}
    assert results.runs()["error"].str.contains("valid.jsonl").all()
    assert results.samples().empty


def test_what_is_to_be_known_of_answers_is_a_warning(folder: Path) -> None:
    with pytest.warns(UserWarning, match="declined"):
        harness.run(runs=["quiz"], models=["fake:0,decline_every=7"], plugins=["quiz.yaml"], max_declined=1)


class Unreadable:
    """Chooses no option."""

    def generate(self, requests: Sequence[Any]) -> list[str]:
        return ["?" for _ in requests]


def test_a_models_warnings_that_differ_in_their_run_are_one(folder: Path) -> None:
    run = {"scenario": "sample_multiple_choice", "adapter": "multiple_choice_joint"}
    runs = [{**run, "max_eval_instances": limit} for limit in (3, 4, 5)]
    with pytest.warns(UserWarning, match="nothing could be read from .* Likewise in 2 other runs") as caught:
        harness.evaluate(Unreadable(), runs=runs, name="unreadable", progress=False)
    assert len(caught) == 1


def test_nothing_is_warned_of_otherwise(folder: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        harness.run(SWEEP, progress=False)


MISTAKES: list[tuple[Callable[[], object], type[Exception], list[str]]] = [
    (lambda: harness.run({**SWEEP, "defauls": {}}), SpecError, ["defauls: is not a key. Did you mean 'defaults'?"]),
    (
        lambda: harness.run({**SWEEP, "runs": [{"scenario": "quiz", "max_eval_instance": 3}, "quizz"]}),
        SpecError,
        ["runs[0].max_eval_instance: is not a key", "runs[1]: there is no scenario named 'quizz'"],
    ),
    (
        lambda: harness.run(SWEEP, models=["fak:0", {"name": "fake:0", "windw": 3}], max_eval_instances=0),
        SpecError,
        ["models[0]: there is no backend", "models[1].windw: is not a parameter", "max_eval_instances: must be"],
    ),
    (lambda: harness.run(SWEEP, executor="locl"), SpecError, ["executor: there is no executor named 'locl'"]),
    (lambda: harness.run(SWEEP, plugins=["nope.py"]), SpecError, ["plugins[0]: plugin", "nope.py does not exist"]),
    (lambda: harness.run("sweep.yml"), SpecError, ["sweep.yml: no such file"]),
    (lambda: harness.run(SWEEP, runs=["quiz"]), HarnessError, ["give a sweep"]),
    (lambda: harness.run(), HarnessError, ["give a sweep"]),
    (lambda: harness.run(runs=["quiz"]), HarnessError, ["runs need models"]),
    (lambda: harness.run(runs="quiz", models=["fake:0"]), HarnessError, ["runs must be a list, not 'quiz'"]),
    (lambda: harness.run(3), HarnessError, ["not 3"]),  # type: ignore[arg-type]
    (lambda: harness.run({**SWEEP, "runs": [object()]}), HarnessError, ["only what YAML can hold", "<object object"]),
    (
        lambda: harness.run(runs=["quiz"], models=[object()]),  # type: ignore[list-item]
        HarnessError,
        ["models: only what YAML can hold", "To evaluate a model in memory, use harness.evaluate"],
    ),
    (lambda: harness.run(SWEEP, data_dir="nope"), HarnessError, ["data_dir is 'nope', which is not a folder"]),
    (
        lambda: harness.run(SWEEP, results_dir="quiz.yaml"),
        HarnessError,
        ["results_dir is 'quiz.yaml', which is a file"],
    ),
    (lambda: harness.run(SWEEP, cache_dir="quiz.yaml/a"), HarnessError, ["cache_dir is 'quiz.yaml/a', which is in"]),
    (lambda: harness.run(SWEEP, plugins=[len]), HarnessError, ["<built-in function len> is not a plugin"]),
    (lambda: harness.run(SWEEP, plugins="x.py"), HarnessError, ["plugins must be a list, not 'x.py'"]),
    (lambda: harness.Results(plugins="x.py"), HarnessError, ["plugins must be a list, not 'x.py'"]),
    (lambda: harness.run(SWEEP, allow="code"), HarnessError, ["allow must be a list, not 'code'"]),
    (
        lambda: harness.run(SWEEP, max_eval_instances="ten"),  # type: ignore[arg-type]
        HarnessError,
        ["max_eval_instances must be a whole number, not 'ten'"],
    ),
    (lambda: harness.run(SWEEP, max_declined=True), HarnessError, ["max_declined must be a number from 0 to 1"]),
    (lambda: harness.run(SWEEP, data_dir=3), HarnessError, ["data_dir must be a folder, not 3"]),  # type: ignore[arg-type]
    (lambda: harness.run(SWEEP, force="no"), HarnessError, ["force must be True or False, not 'no'"]),  # type: ignore[arg-type]
    (lambda: harness.run(SWEEP, model=[]), TypeError, ["no argument 'model'. Did you mean 'models'?"]),  # type: ignore[call-arg]
]


@pytest.mark.parametrize(("call", "error", "words"), MISTAKES, ids=[words[0][:40] for _, _, words in MISTAKES])
def test_a_mistake_is_one_clear_error(
    call: Callable[[], object], error: type[Exception], words: list[str], folder: Path
) -> None:
    with pytest.raises(error) as raised:
        call()
    assert all(word in str(raised.value) for word in words), str(raised.value)
    assert "command line" not in str(raised.value)
    assert not (folder / "results").exists()


@metric("two_arguments", category="accuracy", source="Made up.")
def two_arguments(example: Example, other: Example) -> float:
    """Takes one argument too many."""
    return 1.0


def test_a_plugin_of_the_wrong_form_is_named(folder: Path) -> None:
    with pytest.raises(HarnessError, match=r"metric 'two_arguments' \(.*test_run\.py:\d+\)\): a metric is called with"):
        harness.run(SWEEP, plugins=[two_arguments])


def test_a_broken_plugin_of_the_program_is_a_warning(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType(two_arguments.__module__)
    module.two_arguments = two_arguments  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "__main__", module)
    with pytest.warns(UserWarning, match="Not usable: metric 'two_arguments'"):
        results = harness.run(SWEEP, progress=False)
    assert set(results.runs()["status"]) == {"ok"}


@metric("exact_match", category="accuracy", source="Made up.")
def another_exact_match(example: Example) -> float:
    """Has the name of a metric that comes with the harness."""
    return 1.0


@pytest.mark.parametrize("metrics", [["exact_match"], ["quasi_exact_match"]])
def test_a_name_that_is_taken_is_an_error_that_names_both_places(
    folder: Path, monkeypatch: pytest.MonkeyPatch, metrics: list[str]
) -> None:
    module = ModuleType(another_exact_match.__module__)
    module.another_exact_match = another_exact_match  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "__main__", module)
    with pytest.raises(PluginError, match=r"metric 'exact_match': is registered twice.*Rename yours") as caught:
        harness.run(runs=[{"scenario": "quiz", "metrics": metrics}], models=["fake:0"], plugins=["quiz.yaml"])
    assert "exact_match.py" in str(caught.value)
    assert "test_run.py" in str(caught.value)
    assert not (folder / "results").exists()


NOTEBOOK = """\
import harness, json, threading, warnings
import numpy as np

held = np.array([1.0])
lock = threading.Lock()

@harness.metric("held_value", category="efficiency", source="Made up.")
def held_value(example: harness.Example) -> float:
    "A value of the notebook."
    with lock:
        return float(held[0])

def mean():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        runs = [{"scenario": "quiz", "metrics": ["exact_match", "held_value"]}]
        results = harness.run(runs=runs, models=["fake:0"], plugins=["quiz.yaml"], progress=False)
    messages = [str(warning.message) for warning in caught]
    return results.stats().query("metric == 'held_value'")["mean"].tolist(), messages

before = mean()
held[0] = 9.0
print(json.dumps([before, mean()]))
"""


def test_a_value_of_a_notebook_that_has_changed_repeats_its_runs_or_is_named(folder: Path) -> None:
    said = subprocess.run([sys.executable, "-"], input=NOTEBOOK, capture_output=True, text=True, check=True)
    (before, warned), (after, _) = json.loads(said.stdout)
    assert (before, after) == ([1.0], [9.0])
    (warning,) = warned
    assert warning.startswith("metric 'held_value' uses lock. Changes of such values are not noticed")


CELL = """\
import harness, json, sys
from pathlib import Path
FACTOR = {factor}

def doubled(text):
    return FACTOR * len(text)

@harness.metric("spelled", category="accuracy", source="Made up.")
def spelled(example: harness.Example) -> float:
    "Length of the prediction, times a factor."
    return float(doubled(example.prediction))

runs = [{{"scenario": "quiz", "metrics": ["exact_match", "spelled"]}}]
results = harness.run(runs=runs, models=["fake:0"], plugins=["quiz.yaml"], executor={executor!r}, progress=False)
(record,) = results.records()
mean = next(stat.mean for stat in record.stats if stat.metric == "spelled")
print(json.dumps([mean, record.provenance["definitions"]["metric spelled"]]))
"""


def in_a_cell(factor: int, executor: str = "local") -> subprocess.CompletedProcess[str]:
    """Run a program that has no file, as a notebook has none."""
    code = CELL.format(factor=factor, executor=executor)
    return subprocess.run([sys.executable, "-"], input=code, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_a_plugin_of_a_cell_is_known_and_repeated_when_its_source_changes(folder: Path) -> None:
    first, again, changed = (json.loads(in_a_cell(factor).stdout) for factor in (1, 1, 2))
    assert first == again
    assert changed[0] == pytest.approx(2 * first[0])
    assert changed[1] != first[1]


def test_a_plugin_of_a_cell_cannot_go_to_other_processes(folder: Path) -> None:
    said = in_a_cell(1, "local:heads=2")
    assert said.returncode == 0  # a single run needs one process
    code = CELL.format(factor=1, executor="local:heads=2").replace('["fake:0"]', '["fake:0", "fake:1"]')
    said = subprocess.run([sys.executable, "-"], input=code, capture_output=True, text=True, check=False)
    assert "PluginError: metric 'spelled' is defined in a notebook or in the running program" in said.stderr
