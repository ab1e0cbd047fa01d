"""``harness serve`` as a process: it says where it is, shows what comes, and ends when it is told to."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from click.testing import CliRunner

from harness.cli import group

DATA = Path(__file__).parents[1] / "imports" / "data" / "lm_eval"


@pytest.mark.slow
def test_the_site_is_served_and_follows_the_results(tmp_path: Path) -> None:
    results = tmp_path / "results"
    (results / "empty").mkdir(parents=True)
    command = [sys.executable, "-m", "harness", "serve", str(results), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            said = process.stderr.readline()
            found = re.match(r"(http://127\.0\.0\.1:\d+/) shows ", said)
            assert found is not None, said
            url = found[1]
            assert b"assets/core.js" in _get(url)
            assert b'"build\\":1' in _get(f"{url}live/state.js")
            ran = CliRunner().invoke(group, ["import", "lm-eval", str(DATA), "--results-dir", str(results)])
            assert ran.exit_code == 0
            for _ in range(600):
                if b'"build\\":1' not in _get(f"{url}live/state.js"):
                    break
                time.sleep(0.2)
            assert b"checkpoints/small-gpt2" in _get(f"{url}data/models.js")
            with pytest.raises(HTTPError, match="404"):
                _get(f"{url}../lm-eval/run.json")
        finally:
            process.send_signal(signal.SIGINT)
        assert process.wait(timeout=120) == 0
        assert "Stopped." in process.stderr.read()


def _get(url: str) -> bytes:
    with urlopen(url, timeout=60) as answer:  # noqa: S310 - the server that was just started
        return bytes(answer.read())


def test_a_folder_without_results_is_one_message(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "mine.txt").write_text("not a site")
    ran = CliRunner().invoke(group, ["serve", str(tmp_path), "--port", "0"])
    assert ran.exit_code == 1
    assert "not a site" in str(ran.exception)
    ran = CliRunner().invoke(group, ["serve", str(tmp_path / "nothing")])
    assert ran.exit_code == 2
    assert "does not exist" in ran.output
