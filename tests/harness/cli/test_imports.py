"""``harness import``: what is imported stands on the leaderboard; what cannot be is one message."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.cli import group
from harness.errors import HarnessError

DATA = Path(__file__).parents[1] / "imports" / "data" / "lm_eval"


def test_lm_eval_stands_on_the_leaderboard(tmp_path: Path) -> None:
    runner = CliRunner()
    ran = runner.invoke(group, ["import", "lm-eval", str(DATA), "--results-dir", str(tmp_path)])
    assert ran.exit_code == 0, ran.output
    assert ran.output.count("10 examples.") == 3
    board = runner.invoke(group, ["leaderboard", "lm-eval", "--results-dir", str(tmp_path), "--format", "csv"])
    assert ",small-gpt2 (lm-eval),lm-eval:checkpoints/small-gpt2," in board.output
    assert "tiny_quiz" in board.output


def test_what_is_imported_is_marked_and_never_scored_again(tmp_path: Path) -> None:
    runner = CliRunner()
    runner.invoke(group, ["import", "lm-eval", str(DATA), "--results-dir", str(tmp_path)])
    board = runner.invoke(group, ["leaderboard", "--results-dir", str(tmp_path), "--format", "md"])
    assert "]¶ |" in board.output.replace("\\", "")
    assert "¶ imported" in board.output.replace("\\", "")
    run = next(iter((tmp_path / "lm-eval").iterdir()))
    before = (run / "run.json").read_text()
    scored = runner.invoke(group, ["score", str(run)])
    assert scored.exit_code == 2
    assert "its statistics were computed by lm-evaluation-harness" in scored.output
    assert (run / "run.json").read_text() == before


def test_what_cannot_be_read_is_said_and_the_rest_is_there(tmp_path: Path) -> None:
    source = tmp_path / "theirs"
    source.mkdir()
    for file in DATA.iterdir():
        (source / file.name).write_bytes(file.read_bytes())
    (source / "results_0.json").write_text("{}")
    with pytest.raises(HarnessError, match=r"results_0\.json: is not a results file"):
        CliRunner().invoke(
            group, ["import", "lm-eval", str(source), "--results-dir", str(tmp_path / "results")],
            standalone_mode=False, catch_exceptions=False,
        )  # fmt: skip
    assert len(list((tmp_path / "results" / "lm-eval").iterdir())) == 3


def test_of_two_results_of_the_same_run_the_newest_is_kept_and_the_other_named(tmp_path: Path) -> None:
    (log,) = (DATA.parent / "inspect").glob("*quiz.eval")
    logs = tmp_path / "logs"
    logs.mkdir()
    newest = logs / "2026-12-01T00-00-00_tiny-quiz.eval"
    for name in (log.name, newest.name):
        (logs / name).write_bytes(log.read_bytes())
    message = rf"{log.name}: the same run as .*{newest.name}, which is imported; to keep both, import it alone"
    with pytest.raises(HarnessError, match=message):
        CliRunner().invoke(
            group, ["import", "inspect", str(logs), "--results-dir", str(tmp_path / "results")],
            standalone_mode=False, catch_exceptions=False,
        )  # fmt: skip
    assert len(list((tmp_path / "results" / "inspect").iterdir())) == 1


def test_every_format_goes_out_and_comes_back(tmp_path: Path) -> None:
    runner = CliRunner()
    runner.invoke(group, ["import", "lm-eval", str(DATA), "--results-dir", str(tmp_path / "results")])
    for program in ("inspect", "lm-eval", "helm", "lighteval"):
        to = ["--to", program, "--output", str(tmp_path / program)]
        out = runner.invoke(group, ["export", str(tmp_path / "results"), *to])
        assert out.exit_code == 0, out.output
        back = runner.invoke(
            group, ["import", program, str(tmp_path / program), "--results-dir", str(tmp_path / "back")]
        )
        assert back.exit_code == 0, back.output
        assert back.output.count("10 examples.") == 3
