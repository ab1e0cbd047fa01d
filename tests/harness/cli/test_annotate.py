"""``harness annotate`` and ``harness ratings`` as commands: from runs to a page, to a table."""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from harness.annotation import read_results
from tests.harness.cli.conftest import Harness

FORM = """\
name: form
title: A form
questions:
- {id: quality, title: Quality, question: How good?, scale: {low: 1, high: 5}}
"""


def post(url: str, name: str, **content: object) -> object:
    request = Request(f"{url}api/{name}", json.dumps(content).encode(), {"Content-Type": "application/json"})  # noqa: S310 - our own
    with urlopen(request, timeout=60) as answer:  # noqa: S310
        return json.load(answer)


@pytest.mark.slow
def test_ratings_given_to_the_page_are_in_the_table(harness: Harness, folder: Path) -> None:
    (folder / "form.yaml").write_text(FORM)
    assert harness("run", "sweep.yaml").code == 0
    command = [sys.executable, "-m", "harness", "annotate", "form.yaml", "results/small", "--port", "0", "-n", "2"]
    for value in (2, 4):  # stopped and started again
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=folder) as process:
            assert process.stderr is not None
            found = re.search(r"Raters open (\S+)\. Stop", process.stderr.readline())
            assert found is not None
            begun = post(found[1], "begin", rater="ann")
            assert isinstance(begun, dict)
            if value == 4:
                assert len(begun["done"]) == len(begun["order"])
            for item in begun["order"]:
                post(found[1], "keep", rater="ann", item=item, values={"quality": value})
            process.send_signal(signal.SIGINT)
            assert "`harness ratings results/annotation/form` shows the ratings" in process.stderr.read()
    shown = harness("ratings", "results/annotation/form")
    assert shown.code == 0
    assert "4.000 (0.000)" in shown.out
    labelled = harness("ratings", "results/annotation/form", "--labels", "quality", "--model", "fake:0")
    assert {json.loads(line)["score"] for line in labelled.out.splitlines()} == {4}


@pytest.mark.slow
def test_several_raters_at_once_lose_nothing_confirmed_when_the_page_is_killed(harness: Harness, folder: Path) -> None:
    (folder / "form.yaml").write_text(FORM)
    assert harness("run", "sweep.yaml").code == 0
    command = [sys.executable, "-m", "harness", "annotate", "form.yaml", "results/small", "--port", "0"]
    confirmed: dict[str, dict[str, int]] = {}

    def rate(url: str, rater: str, enough: threading.Event) -> None:
        begun = post(url, "begin", rater=rater)
        assert isinstance(begun, dict)
        mine = confirmed.setdefault(rater, {})
        for turn in itertools.count():
            for item in begun["order"]:
                try:
                    post(url, "keep", rater=rater, item=item, values={"quality": 1 + turn % 5})
                except (OSError, HTTPException):  # the page is gone, maybe in the middle of an answer
                    return
                mine[item] = 1 + turn % 5
            enough.set()

    for _ in range(2):  # killed, and once more after a new start
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=folder) as process:
            assert process.stderr is not None
            found = re.search(r"Raters open (\S+)\. Stop", process.stderr.readline())
            assert found is not None
            started = [threading.Event() for _ in range(4)]
            with ThreadPoolExecutor(4) as pool:
                tasks = [pool.submit(rate, found[1], f"rater{i}", event) for i, event in enumerate(started)]
                assert all(event.wait(60) for event in started)
                os.kill(process.pid, signal.SIGKILL)
            assert [task.exception() for task in tasks] == [None] * 4
        kept = read_results(folder / "results" / "annotation" / "form")
        for rater, mine in confirmed.items():
            for item, value in mine.items():
                # The last request may have been written, but not confirmed, before the kill.
                assert kept.value(rater, item, "quality") in (value, 1 + value % 5)


def test_a_page_for_others_needs_a_token(harness: Harness, folder: Path) -> None:
    (folder / "form.yaml").write_text(FORM)
    assert harness("run", "sweep.yaml").code == 0
    everywhere = "0.0.0.0"  # noqa: S104
    said = harness("annotate", "form.yaml", "results/small", "--host", everywhere, "--token", "", "--port", "0")
    assert (said.code, "with an empty --token, anyone" in said.err) == (2, True)


def test_what_is_missing_is_said(harness: Harness, folder: Path) -> None:
    (folder / "empty").mkdir()
    said = harness("annotate", "pairwise", "empty")
    assert (said.code, said.err) == (
        2,
        "empty holds no finished run. Name a run's folder, results/<suite>/<run>, or a suite's.\n",
    )
    said = harness("ratings", "empty")
    assert (said.code, said.err) == (2, "empty/study.json: there is no study here. `harness annotate` makes one.\n")
    assert "--labels and --model go together" in harness("ratings", "empty", "--labels", "quality").err
