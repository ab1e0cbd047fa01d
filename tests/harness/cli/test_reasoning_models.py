"""``harness run`` of models behind a server that think: in its field, in marks, endlessly, not at all."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.storage.example_files import read_examples
from harness.storage.results import read_run
from tests.harness.cli.conftest import Harness, Said
from tests.harness.models.api_server import MODEL, FakeServer, Ways, serving
from tests.harness.models.thinking_server import THOUGHTS, Thinker

pytest.importorskip("openai")
pytest.importorskip("anthropic")

QUESTIONS = 20
SWEEP = 'suite: small\nplugins: [./quiz.yaml]\nmodels: [{{name: "{name}", base_url: "{url}"{more}}}]\nruns: [quiz]\n'


def right(prompt: str) -> str:
    """Answer the quiz, with more to say in the next line."""
    number = int(re.findall(r"Is (\d+) even", prompt)[-1])
    return ("No" if number % 2 else "Yes") + "\nThat is a property of whole numbers."


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with serving(Ways(logprobs=False)) as found:
        yield found


def run(
    harness: Harness, folder: Path, server: FakeServer, thinker: Thinker, more: str = "", api: str = "openai"
) -> tuple[Said, dict[str, Any]]:
    server.ways.says = thinker.says
    url = server.url if api == "openai" else server.url.removesuffix("/v1")
    if api == "openai":
        more += ", api: chat"
    (folder / "sweep.yaml").write_text(SWEEP.format(name=f"{api}:{MODEL}", url=url, more=more))
    shutil.rmtree(folder / "results", ignore_errors=True)
    said = harness("run", "sweep.yaml")
    (file,) = (folder / "results").glob("*/*/run.json")
    return said, json.loads(file.read_text())


def score(record: dict[str, Any]) -> float:
    (stat,) = [stat for stat in record["stats"] if stat["metric"] == "exact_match"]
    return float(stat["mean"])


@pytest.mark.parametrize("mode", ["field", "other field", "marks", "hidden", "none"])
@pytest.mark.parametrize("more", ["", ", reasoning: {}"])
def test_the_answer_is_scored_not_the_thoughts(
    harness: Harness, folder: Path, server: FakeServer, mode: str, more: str
) -> None:
    said, record = run(harness, folder, server, Thinker(mode, right), more)
    assert (said.code, record["status"], score(record)) == (0, "ok", 1.0)
    used = record["efficiency"]
    assert "unfinished_reasoning" not in used
    assert used.get("unannounced_reasoning") == (QUESTIONS if mode == "marks" and not more else None)
    assert ("reasoning" in json.dumps(record["spec"]["model"])) == bool(more)
    file = next((folder / "results").glob("*/*/run.json"))
    for example, scores, _ in read_examples(read_run(file.parent)):
        (completion,) = example.responses[0].completions
        assert completion.reasoning == ("" if mode in ("none", "hidden") else THOUGHTS)
        assert example.prediction == completion.text == right(example.instance.input).partition("\n")[0]
        assert scores["exact_match"] == 1.0


@pytest.mark.parametrize("api", ["openai", "anthropic"])
def test_thinking_that_does_not_end_is_wrong_and_counted(
    harness: Harness, folder: Path, server: FakeServer, api: str
) -> None:
    thinker = Thinker("endless", right)
    said, record = run(harness, folder, server, thinker, ", reasoning: {budget_tokens: 1100}", api)
    assert (said.code, record["status"], score(record)) == (0, "ok", 0.0)
    assert record["declined"]["examples"] == 0
    assert record["efficiency"]["unfinished_reasoning"] == QUESTIONS
    told = "20 of 20 answers end in unfinished reasoning; they are scored as wrong"
    assert told in said.err
    assert "20 unfinished reasoning" in said.err
    (folder_of_run,) = [str(file.parent) for file in (folder / "results").glob("*/*/run.json")]
    assert told in harness("stats", folder_of_run).out
    board = harness("leaderboard").out
    assert "∞" in board
    assert "answers end in unfinished reasoning: Quiz: 20 of 20" in board
    assert harness("score", folder_of_run).code == 0
    assert told in harness("stats", folder_of_run).out


def test_what_nobody_announced_is_said(
    harness: Harness, folder: Path, server: FakeServer, caplog: pytest.LogCaptureFixture
) -> None:
    _, record = run(harness, folder, server, Thinker("marks", right))
    assert (record["efficiency"]["unannounced_reasoning"], record["efficiency"]["reasoning_mark"]) == (20, "<think>")
    assert "20 of 20 answers (100%) have reasoning marked by <think>" in caplog.text
    assert "Add `reasoning: {}` to its entry" in caplog.text
    caplog.clear()
    board = harness("leaderboard").out
    assert "※" in board
    assert "answers have unannounced reasoning: Quiz: 20 of 20" in board
    run(harness, folder, server, Thinker("marks", right), ", reasoning: {budget_tokens: 500}")
    assert "<think>" not in caplog.text


@pytest.mark.parametrize("api", ["openai", "anthropic"])
def test_tokens_of_reasoning_are_counted_and_priced(
    harness: Harness, folder: Path, server: FakeServer, api: str
) -> None:
    prices = f'currency: USD\nmodels: {{"{api}:*": {{prompt: 1, completion: 2, reasoning: 10}}}}\n'
    (folder / f"{api}.yaml").write_text(prices)
    server.ways.says = Thinker("hidden", right).says
    url = server.url if api == "openai" else server.url.removesuffix("/v1")
    sweep = SWEEP.format(name=f"{api}:{MODEL}", url=url, more=", reasoning: {budget_tokens: 2000}")
    (folder / "sweep.yaml").write_text(sweep if api == "anthropic" else sweep.replace("}]", ", api: chat}]"))
    assert harness("run", "sweep.yaml", "--prices", f"{api}.yaml").code == 0
    used = json.loads(next((folder / "results").glob("*/*/run.json")).read_text())["efficiency"]
    thought, written = used["reasoning_tokens"], used["completion_tokens"]
    assert 0 < thought < written
    expected = (used["prompt_tokens"] + 2 * (written - thought) + 10 * thought) / 1e6
    assert used["money"] == pytest.approx(expected, abs=1e-6)
    assert used["reasoning_money"] == pytest.approx(10 * thought / 1e6, abs=1e-6)


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("{budget: 5}", "budget"),
        ("{budget_tokens: 0}", "budget_tokens"),
        ("{open: <think>}", "open is set without close; set both marks, or neither for the well-known ones"),
        ("{effort: enormous}", "effort"),
        ("yes", "reasoning"),
    ],
)
def test_mistakes_in_an_entry_are_named(
    harness: Harness, folder: Path, server: FakeServer, written: str, problem: str
) -> None:
    more = f", reasoning: {written}"
    (folder / "sweep.yaml").write_text(SWEEP.format(name=f"openai:{MODEL}", url=server.url, more=more))
    said = harness("run", "sweep.yaml")
    assert said.code == 2
    assert "sweep.yaml:3" in said.err
    assert problem in said.err
    assert "Traceback" not in said.err
