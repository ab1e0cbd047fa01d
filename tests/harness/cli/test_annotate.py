"""``harness annotate`` and ``harness ratings`` as commands: from runs to a page, to a table."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from tests.harness.cli.conftest import Harness

FORM = """\
name: form
title: A form
questions:
- {id: quality, title: Quality, question: How good?, scale: {low: 1, high: 5}}
"""


def post(url: str, name: str, **content: object) -> object:
    request = Request(f"{url}api/{name}", json.dumps(content).encode(), {"Content-Type": "application/json"})  # noqa: S310 - our own
    with urlopen(request, timeout=10) as answer:  # noqa: S310
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
            assert "`harness ratings annotation/form` shows the ratings" in process.stderr.read()
    shown = harness("ratings", "annotation/form")
    assert shown.code == 0
    assert "4.000 (0.000)" in shown.out
    labelled = harness("ratings", "annotation/form", "--labels", "quality", "--model", "fake:0")
    assert {json.loads(line)["score"] for line in labelled.out.splitlines()} == {4}


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
