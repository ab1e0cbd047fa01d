"""Runtimes by hand, from the table to the run's record, and what is wrong with a table."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.contracts import GenerateRequest, Response, ScoreRequest
from harness.costs.costs import costs
from harness.costs.runtimes import Runtime, Runtimes, load_runtimes
from harness.costs.usage import Usage
from harness.errors import SpecError

LINE = Runtime(prompt={1: 0.016, 16: 0.018, 32: 0.020}, per_output_token=0.08, overhead=0.5)

TABLE = """
models:
  "hf:./small-*":
    denoised: {prompt: {1: 0.016, 16: 0.018, 32: 0.020}, per_output_token: 0.08, overhead: 0.5}
    idealized: {prompt: {64: 0.064}, per_output_token: 0.01}
  "hf:./big":
    idealized: {prompt: {64: 0.64}, per_output_token: 0.1}
"""

GENERATE, SCORE = GenerateRequest("a", 5), ScoreRequest("a", " b")


@pytest.mark.parametrize(
    ("prompt", "output", "seconds"),
    [
        pytest.param(1, 1, 0.016 + 0.5, id="shortest prompt of the table, one token"),
        pytest.param(8, 1, 0.018 * 8 / 16 + 0.5, id="between: the rate of the next longer one"),
        pytest.param(16, 11, 0.018 + 0.8 + 0.5, id="the first token comes with the reading"),
        pytest.param(64, 2, 0.020 * 2 + 0.08 + 0.5, id="longer than all: the rate of the longest"),
        pytest.param(32, 0, 0.020 + 0.5, id="nothing generated"),
        pytest.param(0, 3, 0.16 + 0.5, id="no prompt"),
    ],
)
def test_a_request_by_hand(prompt: int, output: int, seconds: float) -> None:
    assert LINE.seconds(prompt, output) == pytest.approx(seconds)


def _table(tmp_path: Path, text: str = TABLE) -> Path:
    file = tmp_path / "runtimes.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def test_a_table_is_read(tmp_path: Path) -> None:
    table = load_runtimes(_table(tmp_path))
    assert table.runtimes("hf:./small-one") == Runtimes(
        denoised=LINE, idealized=Runtime(prompt={64: 0.064}, per_output_token=0.01)
    )
    assert table.runtimes("hf:./big").denoised is None
    assert table.runtimes("hf:./other") == load_runtimes(None).runtimes("hf:./big") == Runtimes()


def _used(*answers: tuple[GenerateRequest | ScoreRequest, Response]) -> Usage:
    usage = Usage()
    for request, response in answers:
        usage.add(request, response)
    return usage


def test_a_run_says_what_its_answers_would_take(tmp_path: Path) -> None:
    usage = _used(
        (GENERATE, Response(prompt_tokens=16, completion_tokens=11)),
        (GENERATE, Response(prompt_tokens=16, completion_tokens=11, cached=True)),
        (SCORE, Response(prompt_tokens=30, completion_tokens=2)),  # all 32 tokens are read, none is generated
        (SCORE, Response(error="no answer")),
    )
    runtimes = load_runtimes(_table(tmp_path)).runtimes("hf:./small-one")
    known = costs(usage, {}, None, runtimes)
    assert known["denoised_seconds"] == pytest.approx(2 * (0.018 + 0.8 + 0.5) + 0.020 + 0.5)
    assert known["idealized_seconds"] == pytest.approx(2 * (0.016 + 0.1) + 0.032)


def test_without_all_tokens_or_a_table_nothing_is_said() -> None:
    usage = _used((GENERATE, Response(prompt_tokens=16)), (GENERATE, Response(prompt_tokens=1, completion_tokens=1)))
    assert "denoised_seconds" not in costs(usage, {}, None, Runtimes(denoised=LINE))
    assert "denoised_seconds" not in costs(_used(), {}, None, Runtimes())


def test_mistakes_are_reported_with_their_lines(tmp_path: Path) -> None:
    text = "models:\n  a:\n    denoised: {prompt: {}, per_output_token: -1}\n  b:\n    idealised: {}\n"
    with pytest.raises(SpecError) as caught:
        load_runtimes(_table(tmp_path, text))
    assert [(mistake.line, mistake.path) for mistake in caught.value.diagnostics] == [
        (3, "models.a.denoised.prompt"),
        (3, "models.a.denoised.per_output_token"),
        (5, "models.b.idealised"),
    ]
