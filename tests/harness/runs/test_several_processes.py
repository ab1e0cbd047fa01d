"""Several processes with the same sweep and results folder ask each question about once, and end with equal results."""

from __future__ import annotations

import gzip
import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.harness.models.api_server import MODEL, FakeServer, Ways, serving

SCENARIO = """\
name: quiz
title: Quiz
description: Made-up yes/no questions.
citation: Made up for these tests.
taxonomy: {task: question answering, what: numbers, who: nobody, when: now, language: English}
source: {files: {train: ./quiz/train.jsonl, valid: ./quiz/valid.jsonl}}
id: "{{ id }}"
input: "IS {{ number }} EVEN?"
references: ["Yes", "No"]
correct: "{{ 'Yes' if number % 2 == 0 else 'No' }}"
adapter: {method: generation, max_tokens: 2}
metrics: [exact_match]
main_metric: exact_match
eval_split: valid
"""

INSTANCES = 19
SHOTS = 6
QUESTIONS = 2 * SHOTS * INSTANCES  # of the runs without and with perturbed copies, which share the originals

SWEEP = """\
suite: shared
plugins: [./quiz.yaml]
models: [{{name: "openai:{model}", base_url: "{url}", max_concurrency: 2}}]
runs:
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[FakeServer]:
    with serving(Ways(chats=False, tokenizes=True, delay=0.03)) as running:
        (tmp_path / "quiz.yaml").write_text(SCENARIO)
        (tmp_path / "quiz").mkdir()
        for split, count in (("train", 8), ("valid", INSTANCES)):
            rows = [json.dumps({"id": f"{split}-{number}", "number": number}) for number in range(count)]
            (tmp_path / "quiz" / f"{split}.jsonl").write_text("\n".join(rows) + "\n")
        entries = [
            f"  - {{scenario: quiz, adapter: {{max_train_instances: {shots}}}, perturbations: {perturbations}}}\n"
            for shots in range(SHOTS)
            for perturbations in ("[]", "[lowercase]")
        ]
        head = SWEEP.format(model=MODEL, url=running.url)
        (tmp_path / "sweep.yaml").write_text(head + "".join(entries))
        yield running


def start(folder: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "harness", "run", "sweep.yaml"]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def asked(server: FakeServer) -> Counter[str]:
    """Count the questions that were put, by their text."""
    return Counter(json.dumps(body.get("prompt")) for path, body in server.bodies if _is_question(path, body))


def _is_question(path: str, body: dict[str, Any]) -> bool:
    return path == "/v1/completions" and body.get("max_tokens") == 2


def results(folder: Path) -> dict[str, Any]:
    found = {}
    for file in sorted(folder.glob("results/shared/*/run.json")):
        record = json.loads(file.read_text())
        stats = [stat for stat in record["stats"] if "second" not in stat["metric"]]
        lines = gzip.decompress((file.parent / "examples.jsonl.gz").read_bytes()).splitlines()
        found[file.parent.name] = record["status"], stats, [json.loads(line)["prediction"] for line in lines]
    return found


@pytest.mark.slow
@pytest.mark.timeout(600)  # several interpreters start
@pytest.mark.parametrize("processes", [2, 4])
def test_each_question_is_asked_once(server: FakeServer, tmp_path: Path, processes: int) -> None:
    running = [start(tmp_path) for _ in range(processes)]
    said = [process.communicate(timeout=240)[0] for process in running]
    assert [process.returncode for process in running] == [0] * processes, said
    assert all("12 of 12 runs ok" in text for text in said)
    found = asked(server)
    assert len(found) == QUESTIONS
    assert sum(found.values()) <= QUESTIONS * 1.02
    shared = results(tmp_path)
    assert len(shared) == 2 * SHOTS
    assert list((tmp_path / "results" / ".claims").iterdir()) == []
    (tmp_path / "results").rename(tmp_path / "before")
    alone = start(tmp_path)
    alone.communicate(timeout=240)
    assert results(tmp_path) == shared


@pytest.mark.slow
@pytest.mark.timeout(600)  # several interpreters start
@pytest.mark.skipif(os.name != "posix", reason="SIGKILL is POSIX's")
def test_what_a_killed_process_had_claimed_is_done_by_the_other(server: FakeServer, tmp_path: Path) -> None:
    first = start(tmp_path)
    while not asked(server):
        time.sleep(0.02)
    second = start(tmp_path)
    while sum(asked(server).values()) < QUESTIONS // 4:
        time.sleep(0.02)
    first.send_signal(signal.SIGKILL)
    first.communicate()
    text, _ = second.communicate(timeout=240)
    assert second.returncode == 0, text
    assert "12 of 12 runs ok" in text
    found = asked(server)
    assert len(found) == QUESTIONS
    assert sum(found.values()) <= QUESTIONS + 4  # the first one's requests under way


@pytest.mark.slow
@pytest.mark.timeout(600)  # several interpreters start
def test_a_process_that_has_nothing_left_to_do_says_for_whom_it_waits(server: FakeServer, tmp_path: Path) -> None:
    questions, go_on = itertools.count(), threading.Event()

    def hold_the_first(path: str, body: dict[str, Any]) -> None:
        """Keep the first process waiting, which asks no more than two questions at once."""
        if _is_question(path, body) and next(questions) < 2:
            go_on.wait(200)

    server.ways = replace(server.ways, says=hold_the_first)
    first = start(tmp_path)
    while sum(asked(server).values()) < 2:
        assert first.poll() is None
        time.sleep(0.02)
    second = start(tmp_path)
    assert second.stdout is not None
    text = ""
    while "in progress elsewhere" not in text and (line := second.stdout.readline()):
        text += line
    go_on.set()
    text += second.communicate(timeout=240)[0]
    first.communicate(timeout=240)
    assert f"in progress elsewhere: process {first.pid} on " in text
    assert "finished before" in text
