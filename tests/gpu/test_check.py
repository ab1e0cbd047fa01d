"""The check of graphics cards runs on a CPU too, where its lines about right answers must pass."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("torch")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_check_passes_on_a_cpu(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tests.gpu.check import main

    out = tmp_path / "check.json"
    arguments = ["--device", "cpu", "--shapes", "tiny", "--questions", "10", "--skip-tests", "--out", str(out)]
    assert main(arguments) == 0, capsys.readouterr().out
    lines = {line["check"]: line for line in json.loads(out.read_text())}
    assert lines["equal, mistral bfloat16"]["passed"]
    assert lines["memory"]["passed"]
    assert "times as fast as one by one" in lines["scoring, tiny"]["found"]
