"""Every scenario can be previewed and run: with a small real checkpoint, to its main metric."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness import GenerateRequest, MetricError, ScoreRequest, SequenceRequest
from harness.contracts.plugins import Kind, ScenarioDetails
from harness.inference.model_pool import load_model
from harness.plugins.registry import Registry, default_registry
from harness.runs.evaluation import prepare
from harness.runs.preview import first_prompts
from harness.sweeps.load import sweep_from_mapping
from metrics._code_sandbox import choose
from tests.metrics.judge_server import JudgeServer
from tests.scenarios.entries import EXCERPTS, Case, cases, entry

CASES = list(cases(default_registry()))
INSTANCES = 20
TEMPLATE = "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}assistant:"


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=case.name, marks=[pytest.mark.slow] if case.slow else []) for case in CASES]
)
def test_it_previews_with_a_prompt(
    case: Case, registry: Registry, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    run = entry(case, registry, judge={"name": "fake:judge"}, answers=tmp_path)
    model = {"name": "fake:0", "chat": _converses(case, registry)}
    sweep, _ = sweep_from_mapping({"suite": "s", "models": [model], "runs": [run]}, registry=registry)
    (spec,) = sweep.runs
    folder = request.getfixturevalue("data_dir") if case.real else EXCERPTS
    (first,) = first_prompts(prepare(spec, registry, folder), load_model(spec.configured_model, registry), 1)
    assert first.requests
    for asked in first.requests:
        if isinstance(asked, GenerateRequest):
            assert "".join(map(str, asked.prompt)).strip()
        elif isinstance(asked, ScoreRequest):
            assert asked.continuation.strip()
        else:
            assert isinstance(asked, SequenceRequest)


def _converses(case: Case, registry: Registry) -> bool:
    """Return True if a scenario's method needs a model with a chat template."""
    details = registry.get(Kind.SCENARIO, case.name).details
    assert isinstance(details, ScenarioDetails)
    return not callable(details.adapter) and details.adapter["method"] in {"conversation", "multi_turn"}


def verdict(prompt: str) -> str:
    """Answer as a rubric asks: with the last of the verdicts that it names, or a grade that every scale has."""
    if '"score":' in prompt:
        return '{"strengths": "Short.", "weaknesses": "Wrong.", "score": 5}'
    named = re.findall(r"<(score|verdict|grade|better)>([^<]*)</\1>", prompt)
    if not named:  # the question whether the judge is there
        return "Yes."
    tag, value = named[-1]
    return f"So be it: <{tag}>{1 if tag == 'score' else value}</{tag}>"


@pytest.fixture(scope="module")
def judge() -> Iterator[dict[str, Any]]:
    pytest.importorskip("openai")
    with JudgeServer(verdict).serving() as server:
        yield {"name": "openai:judge", "base_url": server.url, "api": "chat"}


@pytest.fixture(scope="module")
def checkpoint(models_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real checkpoint with a chat template."""
    folder = tmp_path_factory.mktemp("checkpoint") / "small-gpt2"
    shutil.copytree(models_dir / "small-gpt2", folder)
    (folder / "chat_template.jinja").write_text(TEMPLATE, encoding="utf-8")
    return folder


def _isolated() -> bool:
    try:
        choose()
    except MetricError:
        return False
    return True


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("real", [True, False], ids=["real data", "excerpts"])
def test_it_runs_with_a_checkpoint(
    real: bool,
    registry: Registry,
    judge: dict[str, Any],
    checkpoint: Path,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    """All scenarios in one sweep, twenty instances each; the one that fails is named with its reason."""
    pytest.importorskip("torch")
    settings = {"max_tokens": {"at_most": 8}, "chat": False}
    plain = {"name": f"hf:{checkpoint}", **settings}
    runs = []
    for case in CASES:
        run = entry(case, registry, judge=judge, answers=tmp_path)
        if case.real != real or (not _isolated() and any("allow_code_execution" in each for each in run["metrics"])):
            continue
        if _converses(case, registry):
            run["models"] = [{**plain, "chat": True}]
        runs.append(run)
    sweep = {"suite": "all", "models": [plain], "defaults": {"max_eval_instances": INSTANCES}, "runs": runs}
    file = tmp_path / "sweep.yaml"
    file.write_text(yaml.safe_dump(sweep, allow_unicode=True), encoding="utf-8")
    folder = request.getfixturevalue("data_dir") if real else EXCERPTS
    command = [sys.executable, "-m", "harness", "run", str(file), "--data-dir", str(folder)]
    done = subprocess.run([*command, "--results-dir", str(tmp_path)], capture_output=True, text=True, check=False)
    records = [json.loads(file.read_text("utf-8")) for file in tmp_path.glob("all/*/run.json")]
    problems = {record["spec"]["scenario"]["name"]: _problem(record) for record in records}
    assert {name: problem for name, problem in problems.items() if problem} == {}, done.stderr
    assert problems.keys() == {run["scenario"]["name"] for run in runs}, done.stderr
    assert done.returncode == 0, done.stderr


def _problem(record: dict[str, Any]) -> str:
    """Return what is wrong with a run; '' if it is ok and has a value of its main metric."""
    if record["status"] != "ok":
        return f"{record['status']}: {record['error']}"
    main = record["spec"]["main_metric"]
    values = [stat["mean"] for stat in record["stats"] if stat["metric"] == main and stat["perturbation"] is None]
    return "" if any(value is not None for value in values) else f"no value of {main}"
