"""``harness run``: exit codes, what is said, what is left on disk, and how it stops."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.harness.cli.conftest import Harness


def records(folder: Path, results: str = "results") -> list[dict[str, Any]]:
    return [json.loads(file.read_text()) for file in sorted((folder / results).glob("*/*/run.json"))]


def asked(folder: Path) -> int:
    return len((folder / "asked").read_text().split())


def test_a_sweep_writes_one_record_a_run_and_exits_0(harness: Harness, folder: Path) -> None:
    said = harness("run", "sweep.yaml")
    assert (said.code, said.out) == (0, "")
    assert "4 of 4 runs ok, in results." in said.err
    assert "Compare: harness leaderboard small" in said.err
    assert [record["status"] for record in records(folder)] == ["ok"] * 4
    assert {path.parent.parent.name for path in (folder / "results").glob("*/*/examples.jsonl.gz")} == {"small"}


def test_the_hint_to_compare_finds_results_elsewhere(harness: Harness, folder: Path) -> None:
    said = harness("run", "sweep.yaml", "--results-dir", "my results")
    (hint,) = [line for line in said.err.splitlines() if line.startswith("Compare: ")]
    assert harness(*shlex.split(hint)[2:]).code == 0


def test_an_address_is_for_ray(harness: Harness, folder: Path) -> None:
    said = harness("run", "sweep.yaml", "--executor", "local", "--address", "127.0.0.1:1")
    assert said.code == 2
    assert "--address is for the executor ray, not for local." in said.err


def test_the_same_command_again_skips_everything_and_changes_nothing(harness: Harness, folder: Path) -> None:
    harness("run", "sweep.yaml")
    before, questions = records(folder), asked(folder)
    said = harness("run", "sweep.yaml")
    assert said.code == 0
    assert said.err.count("finished before") == 4
    assert records(folder) == before
    assert asked(folder) == questions


def test_force_runs_again_from_the_cache(harness: Harness, folder: Path) -> None:
    harness("run", "sweep.yaml")
    questions = asked(folder)
    said = harness("run", "sweep.yaml", "--force")
    assert "finished before" not in said.err
    assert asked(folder) == questions
    assert all(record["efficiency"]["cached_queries"] for record in records(folder))


def test_a_failing_run_is_named_recorded_and_the_rest_goes_on(harness: Harness, folder: Path) -> None:
    (folder / "sweep.yaml").write_text(
        "suite: small\nplugins: [./quiz.yaml, ./measures.py]\nmodels: ['fake:0']\n"
        "runs: [{scenario: quiz, metrics: [exact_match, raises]}, quiz]\n"
    )
    said = harness("run", "sweep.yaml")
    assert said.code == 1
    assert "1 of 2 runs ok" in said.err
    assert "FAILED" in said.err
    assert "no such thing" in said.err
    assert "Traceback" not in said.err
    (failed,) = [record for record in records(folder) if record["status"] == "failed"]
    assert "metric 'raises'" in failed["error"]
    assert "valid-0" in failed["error"]
    assert failed["efficiency"]["queries"] == 1
    assert failed["provenance"]["data"]["files"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("run",), "name a sweep file, or runs with -r"),
        (("run", "sweep.yaml", "-r", "quiz"), "name a sweep file, or runs with -r"),
        (("run", "swep.yaml"), "swep.yaml"),
        (("run", "-r", "quizz", "-m", "fake:0", "--plugin", "quiz.yaml"), "Did you mean 'quiz'?"),
        (("run", "-r", "quiz", "-m", "fakes:0", "--plugin", "quiz.yaml"), "Did you mean 'fake:0'?"),
        (("run", "-r", "quiz", "--plugin", "quiz.yaml"), "model"),
        (("run", "sweep.yaml", "--suite", "../up"), "suite"),
        (("run", "sweep.yaml", "--plugin", "nowhere.py"), "nowhere.py does not exist"),
        (("run", "sweep.yaml", "--data-dir", "nowhere"), "nowhere"),
        (("run", "sweep.yaml", "--results-dir", "sweep.yaml"), "sweep.yaml"),
        (("run", "sweep.yaml", "--results-dir", "sweep.yaml/below"), "cannot be opened"),
        (("run", "sweep.yaml", "--max-eval-instances", "0"), "0"),
    ],
)
def test_a_mistake_is_one_message_and_exit_code_2(
    harness: Harness, folder: Path, arguments: tuple[str, ...], expected: str
) -> None:
    said = harness(*arguments)
    assert said.code == 2
    assert expected in said.err
    assert said.out == ""
    assert records(folder) == []


def test_runs_may_be_named_on_the_command_line(harness: Harness, folder: Path) -> None:
    said = harness("run", "-r", "./quiz.yaml", "-m", "fake:0", "-m", "fake:1", "--max-eval-instances", "3")
    assert said.code == 0
    assert [(record["suite"], record["efficiency"]["examples"]) for record in records(folder)] == [
        ("command-line", 3),
        ("command-line", 3),
    ]


def test_where_results_go_may_be_said_by_the_environment(
    harness: Harness, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HARNESS_RESULTS_DIR", "elsewhere")
    harness("run", "-r", "./quiz.yaml", "-m", "fake:0")
    assert len(records(folder, "elsewhere")) == 1


def test_a_broken_plugin_is_named_and_does_not_break_the_rest(harness: Harness, folder: Path) -> None:
    (folder / "broken.py").write_text("raise RuntimeError('it is broken')\n")
    said = harness("run", "-r", "./quiz.yaml", "-m", "fake:0", "--plugin", "broken.py")
    assert "broken.py: RuntimeError: it is broken" in said.err
    assert "Traceback" not in said.err


def test_what_cannot_be_written_stops_the_sweep_with_one_message(harness: Harness, folder: Path) -> None:
    harness("run", "sweep.yaml")
    before = records(folder)
    path = next((folder / "results" / "small").iterdir())
    elsewhere = folder / "other" / "small"
    elsewhere.mkdir(parents=True)
    (elsewhere / path.name).write_text("a file where a folder belongs")
    said = harness("run", "sweep.yaml", "--results-dir", "other")
    assert said.code == 2
    assert "cannot be written" in said.err
    assert "harness run sweep.yaml --results-dir other" in said.err
    assert "Every answer" not in said.err
    (elsewhere / path.name).unlink()
    assert harness("run", "sweep.yaml", "--results-dir", "other").code == 0
    assert [record["stats"] for record in records(folder, "other")] == [record["stats"] for record in before]


# ---------------------------------------------------------------------------------------------------------------
# Before anything is asked


def cells(line: str) -> list[str]:
    return re.split(r" {2,}", line.strip())


def test_a_dry_run_tells_what_the_run_will_ask(harness: Harness, folder: Path) -> None:
    said = harness("run", "sweep.yaml", "--dry-run")
    assert said.code == 0
    assert not (folder / "results").exists()
    assert not (folder / "asked").exists()
    (total,) = [cells(line) for line in said.out.splitlines() if "4 runs" in line]
    harness("run", "sweep.yaml")
    found = [record["efficiency"] for record in records(folder)]
    assert total[1:] == [
        str(sum(each["examples"] for each in found)),
        str(sum(each["queries"] for each in found)),
        f"{sum(each['prompt_tokens'] for each in found):,}",
        f"{2 * sum(each['queries'] for each in found)}",
        "0",
    ]


def test_a_dry_run_prices_each_model_without_its_key(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    said = harness("run", "sweep.yaml", "--dry-run", "-m", "openai:gpt-4o", "-m", "fake:0")
    assert said.code == 0, said.out
    rows = [cells(line) for line in said.out.splitlines()]
    (priced,) = [row for row in rows if row[:2] == ["openai:gpt-4o", "2"]]
    (free,) = [row for row in rows if row[:2] == ["fake:0", "2"]]
    prompt, generated = (int(number.replace(",", "")) for number in priced[5:7])
    assert prompt > 0
    assert priced[2] == f"{(prompt * 2.5 + generated * 10) / 1e6:,.2f} USD"
    assert free[2] == "no price"
    assert free[3:5] == priced[3:5]
    assert "tokenizer of openai:gpt-4o is not known" in said.out


def test_a_dry_run_leaves_out_what_is_finished(harness: Harness, folder: Path) -> None:
    harness("run", "sweep.yaml", "-m", "fake:0")
    said = harness("run", "sweep.yaml", "--dry-run")
    assert "2 of 4 runs are finished and would be skipped." in said.out
    assert "2 runs" in said.out
    assert "4 runs" in harness("run", "sweep.yaml", "--dry-run", "--force").out


def test_a_dry_run_names_what_would_fail(harness: Harness, folder: Path) -> None:
    (folder / "quiz" / "valid.jsonl").unlink()
    said = harness("run", "sweep.yaml", "--dry-run")
    assert said.code == 2
    assert said.out.count("Would fail") == 1
    assert "valid.jsonl" in said.out


# ---------------------------------------------------------------------------------------------------------------
# Stopping


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sent", "code", "word"), [(signal.SIGINT, 130, "Interrupted."), (signal.SIGTERM, 143, "Terminated.")]
)
def test_a_signal_stops_within_seconds_says_how_to_go_on_and_loses_nothing(
    harness: Harness, folder: Path, sent: signal.Signals, code: int, word: str
) -> None:
    (folder / "slow.yaml").write_text(
        "suite: small\nplugins: [./quiz.yaml]\nmodels: [{name: 'fake:1', log: asked, delay: 0.1}]\nruns: [quiz]\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "harness", "run", "slow.yaml"], stderr=subprocess.PIPE, text=True, cwd=folder
    )
    while not (folder / "asked").exists() or asked(folder) < 5:
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(sent)
    _, said = process.communicate(timeout=120)
    assert process.returncode == code
    assert word in said
    assert "Stopping" in said.partition("0 of 1")[0]
    assert "0 of 1 runs are finished, 1 left" in said
    assert "harness run slow.yaml" in said
    assert "Traceback" not in said
    left = [path for path in (folder / "results").rglob("*") if path.is_file() and path.parent.name != ".progress"]
    assert [path.name for path in left if not path.name.startswith("responses.sqlite")] == []
    assert harness("run", "slow.yaml").code == 0
    # The one that was in flight is asked again, since its answer had not come.
    assert 20 <= asked(folder) <= 21


@pytest.mark.slow
def test_bars_on_a_terminal_leave_a_clean_screen(folder: Path) -> None:
    pty = pytest.importorskip("pty")
    process, terminal = pty.fork()
    if process == 0:
        os.execv(sys.executable, [sys.executable, "-m", "harness", "run", "sweep.yaml"])  # noqa: S606
    said = b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:
            break
        if not part:
            break
        said += part
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0
    text = said.decode()
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h") == 1
    assert text.count("✓") == 4
    last = text.rpartition("\x1b[2K")[2]
    assert "4 of 4 runs ok" in last
    assert "sweep " not in last


def test_the_plan_and_the_progress_tell_runs_apart(harness: Harness, folder: Path) -> None:
    shots = [f"  - {{scenario: quiz, adapter: {{max_train_instances: {number}}}}}" for number in (0, 2)]
    (folder / "sweep.yaml").write_text(
        "\n".join(["suite: s", "plugins: [./quiz.yaml]", "models: ['fake:0']", "runs:", *shots])
    )
    planned, ran = harness("run", "sweep.yaml", "--dry-run"), harness("run", "sweep.yaml")
    for number in (0, 2):
        assert f"quiz by generation [max_train_instances={number}]" in planned.out
        assert f"quiz by generation with fake:0 [max_train_instances={number}]: exact_match" in ran.err
