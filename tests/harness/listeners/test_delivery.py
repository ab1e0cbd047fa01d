"""Each run reaches each listener once, and a listener that fails costs nothing but what it did not get."""

from __future__ import annotations

import itertools
import json
import shlex
import threading
import time
from functools import partial
from pathlib import Path

import pytest

import harness
from harness.errors import HarnessError
from tests.harness.cli.conftest import Harness, folder
from tests.harness.cli.conftest import harness as command

__all__ = ["command", "folder"]

LISTENERS = '''\
"""A listener that writes what it gets to a file, and one that fails."""

import json
from pathlib import Path

from harness import FinishedRun, HarnessError, Listener, listener


@listener("notes", source="Made up.")
class Notes(Listener):
    """Writes a line for each run."""

    def __init__(self, *, file: str = "notes.jsonl", fail_after: int = -1, forbidden: bool = False) -> None:
        if forbidden:
            raise HarnessError("the listener notes may not be used here.")
        self.file, self.left = Path(file), fail_after

    def run_ended(self, run: FinishedRun) -> None:
        if self.left == 0:
            raise ConnectionError("no route to the server\\nmore lines")
        self.left -= 1
        about = {"title": run.title, "model": run.model, "error": run.error, "samples": len(list(run.samples()))}
        with self.file.open("a") as file:
            file.write(json.dumps({**about, "metrics": run.metrics()}) + "\\n")

    def close(self) -> None:
        with self.file.open("a") as file:
            file.write('{"closed": true}\\n')
'''


@pytest.fixture
def plugin(folder: Path) -> str:
    (folder / "listeners.py").write_text(LISTENERS)
    return "listeners.py"


def _notes(folder: Path, name: str = "notes.jsonl") -> list[dict[str, object]]:
    file = folder / name
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def _runs(folder: Path, name: str = "notes.jsonl") -> list[dict[str, object]]:
    return [note for note in _notes(folder, name) if "title" in note]


def test_each_run_comes_once_with_its_numbers(command: Harness, folder: Path, plugin: str) -> None:
    ran = command("run", "sweep.yaml", "--plugin", plugin, "--listener", "notes")
    assert ran.code == 0, ran.err
    notes = _runs(folder)
    records = [json.loads(file.read_text()) for file in folder.glob("results/small/*/run.json")]
    assert len(notes) == len(records) == 4
    for note in notes:
        metrics = note["metrics"]
        assert isinstance(metrics, dict)
        title = note["title"]
        assert any(
            metrics[f"{title}/exact_match"] == stat["mean"] and metrics[f"{title}/exact_match_stderr"] == stat["stderr"]
            for record in records
            if record["spec"]["model"]["name"] == note["model"]
            for stat in record["stats"]
            if stat["metric"] == "exact_match" and stat["perturbation"] is None
        )
    assert _notes(folder)[-1] == {"closed": True}


def test_runs_that_ask_a_scenario_in_several_ways_have_titles_of_their_own(
    command: Harness, folder: Path, plugin: str
) -> None:
    command("run", "sweep.yaml", "--plugin", plugin, "--listener", "notes")
    titles = {(note["title"], note["model"]) for note in _runs(folder)}
    assert len(titles) == 4
    assert {title for title, _ in titles} == {"quiz (perturbations=[])", 'quiz (perturbations=["lowercase"])'}
    keys = {key for note in _runs(folder) if isinstance(note["metrics"], dict) for key in note["metrics"]}
    assert 'quiz (perturbations=["lowercase"])/exact_match/lowercase/perturbed' in keys


def test_what_was_sent_is_not_sent_again_unless_asked_for(command: Harness, folder: Path, plugin: str) -> None:
    command("run", "sweep.yaml", "--plugin", plugin, "--listener", "notes")
    command("run", "sweep.yaml", "--plugin", plugin, "--listener", "notes")
    assert len(_runs(folder)) == 4
    assert command("track", "--plugin", plugin, "--listener", "notes").out == "notes: 0 of 4 runs sent.\n"
    assert command("track", "--plugin", plugin, "--listener", "notes", "--again").out == "notes: 4 of 4 runs sent.\n"
    assert len(_runs(folder)) == 8
    elsewhere = command("track", "small", "--plugin", plugin, "--listener", "notes:file=other.jsonl")
    assert elsewhere.out == "notes: 4 of 4 runs sent.\n"


def test_a_sweep_names_its_listeners_and_the_command_line_replaces_one(
    command: Harness, folder: Path, plugin: str
) -> None:
    text = (folder / "sweep.yaml").read_text().replace("plugins: [./quiz.yaml]", "plugins: [./quiz.yaml, listeners.py]")
    (folder / "sweep.yaml").write_text(text + "listeners: [{name: notes, file: own.jsonl}]\n")
    command("run", "sweep.yaml")
    assert len(_runs(folder, "own.jsonl")) == 4
    command("run", "sweep.yaml", "--listener", "notes:file=given.jsonl")
    assert (len(_runs(folder, "own.jsonl")), len(_runs(folder, "given.jsonl"))) == (4, 4)


def test_a_listener_that_fails_costs_no_run_and_gets_the_rest_later(
    command: Harness, folder: Path, plugin: str
) -> None:
    ran = command("run", "sweep.yaml", "--plugin", plugin, "--listener", "notes:fail_after=2")
    assert ran.code == 0
    assert len(list(folder.glob("results/small/*/run.json"))) == 4
    (warning,) = [line for line in ran.err.splitlines() if line.startswith("Warning: notes")]
    line = LISTENERS.splitlines().index('            raise ConnectionError("no route to the server\\nmore lines")') + 1
    place = f"{folder.resolve() / plugin}:{line}"
    assert f"ConnectionError: no route to the server ({place}). The results of finished runs are complete." in warning
    assert "more lines" not in warning
    again = warning.partition("To send the rest: ")[2]
    assert again == "harness track small --plugin listeners.py --listener notes:fail_after=2"
    tracked = command("track", "--plugin", plugin, "--listener", "notes:fail_after=2")
    assert (tracked.code, tracked.out) == (1, "notes: 0 of 4 runs sent.\n")
    assert command("track", "--plugin", plugin, "--listener", "notes").out == "notes: 4 of 4 runs sent.\n"


def test_the_command_that_sends_the_rest_works_when_pasted(command: Harness, folder: Path) -> None:
    (folder / "my plugins").mkdir()
    text = LISTENERS.replace("forbidden: bool = False", "online: bool = True, forbidden: bool = False")
    file = folder / "my plugins" / "listeners.py"
    file.write_text(text.replace("if self.left == 0:", "if self.remaining == 0:"))
    given = ("--plugin", "my plugins", "--listener", "notes:file=other.jsonl,online=false")
    ran = command("run", "sweep.yaml", *given, "--results-dir", "my results", "--suite", "own")
    again = ran.err.partition("To send the rest: ")[2].splitlines()[0]
    assert again == (
        "harness track own --plugin 'my plugins' --listener notes:file=other.jsonl,online=False "
        "--results-dir 'my results'"
    )
    file.write_text(text)
    assert command(*shlex.split(again)[1:]).out == "notes: 4 of 4 runs sent.\n"
    assert len(_runs(folder, "other.jsonl")) == 4
    # Settings are those of the sweep, so that nothing is sent twice.
    assert command(*shlex.split(again)[1:]).out == "notes: 0 of 4 runs sent.\n"


def test_a_mistake_in_a_listener_is_shown_with_its_line(command: Harness, folder: Path, plugin: str) -> None:
    (folder / plugin).write_text(LISTENERS.replace("Path(file), fail_after", "Path(fil), fail_after"))
    ran = command("run", "sweep.yaml", "--plugin", plugin, "--listener", "notes")
    assert ran.code == 2
    line = next(number for number, text in enumerate(LISTENERS.splitlines(), 1) if "Path(file), fail_after" in text)
    place = f"{folder.resolve() / plugin}:{line}"
    assert f"cannot be used: NameError: name 'fil' is not defined ({place})." in ran.err


def test_a_run_that_failed_is_told_with_its_error(command: Harness, folder: Path, plugin: str) -> None:
    text = "suite: failing\nmodels: [fake:0]\nruns: [{scenario: quiz, metrics: [exact_match, raises]}]\n"
    (folder / "failing.yaml").write_text(text + "plugins: [quiz.yaml, measures.py, listeners.py]\n")
    ran = command("run", "failing.yaml", "--listener", "notes")
    assert ran.code == 1
    (note,) = _runs(folder)
    assert "no such thing" in str(note["error"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["notse"], "there is no listener named 'notse'. Did you mean 'notes'?"),
        (["notes:fil=x"], "[fil]: is not a parameter. Did you mean 'file'?"),
        (["notes", "notes"], "listener 'notes' is listed twice."),
        (["notes:forbidden=true"], "the listener notes may not be used here."),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_asked(
    command: Harness, folder: Path, plugin: str, arguments: list[str], message: str
) -> None:
    given = [part for one in arguments for part in ("--listener", one)]
    ran = command("run", "sweep.yaml", "--plugin", plugin, *given)
    assert ran.code == 2
    assert message in ran.err
    assert not (folder / "asked").exists()


def test_a_listener_whose_package_is_missing_says_how_to_get_it(command: Harness, folder: Path) -> None:
    source = LISTENERS.replace(
        'source="Made up."', 'source="Made up.", needs="no_such_module", install="pip install it"'
    )
    (folder / "lacking.py").write_text(source)
    ran = command("run", "sweep.yaml", "--plugin", "lacking.py", "--listener", "notes")
    assert (ran.code, ran.err.strip()) == (2, "the listener notes needs no_such_module: pip install it.")


def test_programs_give_listeners_too(folder: Path, plugin: str) -> None:
    run = partial(harness.run, runs=["quiz"], models=["fake:0"], plugins=[plugin, "quiz.yaml"], progress=False)
    run(listeners=["notes"])
    assert len(_runs(folder)) == 1
    with pytest.warns(UserWarning, match="notes: not all runs were sent: ConnectionError"):
        run(listeners=[{"name": "notes", "fail_after": 0}])
    with pytest.raises(HarnessError, match="listeners must be a list"):
        run(listeners="notes")


def test_listeners_are_called_beside_the_sweep(command: Harness, folder: Path) -> None:
    source = LISTENERS.replace(
        "self.left -= 1", "import threading; Path('thread').write_text(threading.current_thread().name)"
    )
    (folder / "beside.py").write_text(source)
    command("run", "sweep.yaml", "--plugin", "beside.py", "--listener", "notes")
    assert (folder / "thread").read_text() != threading.current_thread().name


def test_a_damaged_run_does_not_keep_the_others_from_being_sent(command: Harness, folder: Path, plugin: str) -> None:
    command("run", "sweep.yaml")
    damaged, unreadable, *_ = sorted((folder / "results" / "small").iterdir())
    (damaged / "examples.jsonl.gz").unlink()
    tracked = command("track", "--plugin", plugin, "--listener", "notes")
    assert (tracked.code, tracked.out) == (1, "notes: 3 of 4 runs sent.\n")
    assert "Warning: notes: 1 run was not sent:" in tracked.err
    assert f"{damaged.relative_to(folder)}/examples.jsonl.gz" in tracked.err
    assert len(_runs(folder)) == 3
    (unreadable / "examples.jsonl.gz").write_bytes(b"damaged")
    tracked = command("track", "--plugin", plugin, "--listener", "notes", "--again")
    assert tracked.out == "notes: 2 of 4 runs sent.\n"
    assert "Warning: notes: 2 runs were not sent; the first:" in tracked.err
    assert command("track", "--plugin", plugin, "--listener", "notes").out == "notes: 0 of 4 runs sent.\n"


SLOW = '''\
"""A listener that takes its time."""

import time
from pathlib import Path

from harness import FinishedRun, Listener, listener


@listener("slow", source="Made up.")
class Slow(Listener):
    """Waits for a file."""

    def run_ended(self, run: FinishedRun) -> None:
        self.write(f"begin {run.model}")
        end = time.monotonic() + 120
        while not Path("go").exists() and time.monotonic() < end:
            time.sleep(0.02)
        self.write(f"end {run.model}")

    def close(self) -> None:
        self.write("close")

    def write(self, text: str) -> None:
        with Path("log").open("a") as file:
            file.write(text + "\\n")
'''


class Answers:
    """A model in memory that takes a second for each answer, by a clock of its own."""

    batch_size = 1

    def __init__(self) -> None:
        self.clock = 0.0

    def generate(self, requests: list[object]) -> list[str]:
        self.clock += 1.0
        return ["Yes"] * len(requests)


QUICK = {"scenario": "quiz", "max_train_instances": 0, "max_eval_instances": 2}


@pytest.fixture
def slow(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    (folder / "slow.py").write_text(SLOW)
    monkeypatch.setattr("harness.listeners.delivery.INTERRUPT_SECONDS", 0.2)
    return ["slow.py", "quiz.yaml"]


def test_a_time_budget_bounds_listeners_and_the_next_evaluation_waits_its_turn(
    folder: Path, slow: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    left = itertools.chain([1.0], itertools.repeat(0.0))  # after the last run, and after the wait for the listener
    evaluated = partial(harness.evaluate, plugins=slow, progress=False, listeners=["slow"])
    runs = [QUICK, {**QUICK, "max_eval_instances": 3}]
    started = time.monotonic()
    with monkeypatch.context() as patch:
        patch.setattr("harness.python.time_budget.Deadline.left", lambda _: next(left))
        with pytest.warns(UserWarning, match="slow: not all runs were sent: the time budget is used up") as caught:
            found = evaluated(Answers(), runs=runs, name="a", time_budget=600)
    assert time.monotonic() - started < 60  # the listener waits for longer
    assert not found.unfinished
    assert "interrupted" not in " ".join(str(one.message) for one in caught)
    # The listener is still inside its first run; it gets no second one, and none of the next evaluation meanwhile.
    threading.Timer(1.0, (folder / "go").touch).start()
    evaluated(Answers(), runs=[QUICK], name="b")
    log = (folder / "log").read_text().splitlines()
    assert log == ["begin live:a", "end live:a", "close", "begin live:b", "end live:b", "close"]


def test_a_sweep_that_runs_out_of_time_says_so_of_its_listeners(
    folder: Path, slow: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = Answers()
    monkeypatch.setattr("harness.python.time_budget.monotonic", lambda: model.clock)
    runs = [QUICK, {"scenario": "quiz", "max_train_instances": 0}]
    with pytest.warns(UserWarning, match="slow:") as caught:
        found = harness.evaluate(
            model, runs=runs, plugins=slow, progress=False, listeners=["slow"], name="c", time_budget=5
        )
    (folder / "go").touch()
    end = time.monotonic() + 60
    while (folder / "log").read_text().splitlines()[-1] != "close":  # its thread works in this folder
        assert time.monotonic() < end
        time.sleep(0.05)
    assert len(found.unfinished) == 1
    (note,) = [str(one.message) for one in caught if str(one.message).startswith("slow:")]
    assert "not all runs were sent: the time budget is used up. The results of finished runs are complete." in note


def test_samples_of_private_data_are_not_sent(command: Harness, folder: Path, plugin: str) -> None:
    (folder / "rows.txt").write_text("".join(f"row {number}\n" for number in range(9)))
    command("seal", "rows.txt", "--canaries", "3", "--no-shuffle")
    command("contamination", "unseal", "rows.key.jsonl", "fake:0")
    sent = command("track", "unsealed", "--plugin", plugin, "--listener", "notes")
    assert sent.code == 0, sent.err
    (run,) = _runs(folder)
    assert (run["error"], run["samples"]) == (None, 0)
    assert run["metrics"] != {}
