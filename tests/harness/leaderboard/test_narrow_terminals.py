"""``harness compare`` and ``leaderboard --diff`` on narrow terminals: no line too wide, every number whole."""

from __future__ import annotations

import dataclasses
import json
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.cli import group
from harness.contracts.scales import PROPORTION
from harness.storage.results import RunRecord
from tests.harness.leaderboard.site.conftest import example, save

MODELS = ("hf:a-model-with-a-name-of-exactly-forty-chars", "hf:other-ünïcode-模型-name-of-about-forty-chars")
SCENARIOS = ("boolq", "imdb", "a_scenario_with_a_name_of_forty_characters")
COMMANDS = {
    "compare": ("compare", *MODELS, "--suite", "before"),
    "diff": ("leaderboard", "--diff", "before", "after"),
}


@pytest.fixture
def results(tmp_path: Path, make_run: Callable[..., RunRecord]) -> Path:
    """Two suites of two models on three scenarios, with intervals."""
    rng = random.Random(1)
    for suite in ("before", "after"):
        for model, share in zip(MODELS, (0.3, 0.7), strict=True):
            for scenario in SCENARIOS:
                run = make_run(model, scenario, share, suite=suite)
                run = dataclasses.replace(run, stats=[dataclasses.replace(one, scale=PROPORTION) for one in run.stats])
                save(tmp_path, run, [example(n, right=rng.random() < share) for n in range(60)])
    return tmp_path


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("command", COMMANDS)
def test_no_line_is_too_wide_and_no_number_is_cut(
    command: str, width: int, results: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from rich.cells import cell_len

    monkeypatch.setenv("COLUMNS", str(width))
    arguments = [*COMMANDS[command], "--results-dir", str(results)]
    capsys.readouterr()
    group(arguments, standalone_mode=False)
    said = capsys.readouterr().out
    assert max(map(cell_len, said.splitlines())) <= width
    group([*arguments, "--format", "json"], standalone_mode=False)
    found = json.loads(capsys.readouterr().out)
    rows = found["comparisons" if command == "compare" else "changes"]
    assert len(rows) == (3 if command == "compare" else 6)
    table = said.partition("95 % interval;")[0]
    for row in rows:
        assert f"[{row['low']:+.3f}, {row['high']:+.3f}]" in table
        means = ("first", "second") if command == "compare" else ("before", "after")
        for value in (*(f"{row[name]:.3f}" for name in means), f"{row['difference']:+.3f}", str(row["count"])):
            assert re.search(rf"(?<!\S){re.escape(value)}(?!\S)", table), value
