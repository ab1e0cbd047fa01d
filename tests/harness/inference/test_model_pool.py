"""Models that judges ask: opened by name when they are needed, through the response cache, never asked twice."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from harness import GenerateRequest, HarnessError, Message
from harness.cli.run import run_command
from harness.errors import SpecError
from harness.inference.cache import ResponseCache
from harness.inference.cache_file import FILE_NAME
from harness.inference.model_pool import Models
from harness.plugins.registry import Registry, default_registry
from harness.runs.rescoring import rescored
from harness.runs.runner import Settings, run_sweep
from harness.storage.results import RunRecord
from harness.sweeps.load import load_sweep


@pytest.fixture(scope="module")
def registry() -> Registry:
    return default_registry()


def test_a_model_is_opened_once_and_only_when_it_is_needed(registry: Registry, tmp_path: Path) -> None:
    models = Models(registry, tmp_path / FILE_NAME)
    model = models("fake:0")
    assert model is models({"name": "fake:0"}) is not models({"name": "fake:0", "chat": True})
    assert model.answers == {"generate", "score"}
    assert not (tmp_path / FILE_NAME).exists()
    assert model.fingerprint()["name"] == "fake:0"
    assert (model.window, model.chat, models({"name": "fake:0", "chat": True}).chat) == (None, False, True)
    models.close()


def test_nothing_is_asked_twice(registry: Registry, tmp_path: Path) -> None:
    log = tmp_path / "asked.txt"
    request = GenerateRequest("Hello", 5)
    for cached in (False, True):
        models = Models(registry, tmp_path / FILE_NAME)
        (response,) = models({"name": "fake:0", "log": str(log)}).ask([request])
        assert response.cached is cached
        models.close()
    assert len(log.read_text().splitlines()) == 1


def test_a_judges_model_may_have_settings_of_its_own(registry: Registry, tmp_path: Path) -> None:
    models = Models(registry, tmp_path / FILE_NAME)
    plain = models({"name": "fake:0", "chat": True})
    own = models({"name": "fake:0", "chat": True, "max_tokens": {"at_least": 9}, "system_prompt": "Be strict."})
    turns = (Message("user", "Is it good?"),)
    (response,) = own.ask([GenerateRequest(turns, 2)])
    (expected,) = plain.ask([GenerateRequest((Message("system", "Be strict."), *turns), 9)])
    assert response.completions == expected.completions
    assert own.count_tokens(turns) == response.prompt_tokens
    assert own.most_generated(2) == 9
    assert own.fingerprint() != plain.fingerprint()
    with pytest.raises(HarnessError, match="the model has no chat template"):
        models({"name": "fake:0", "system_prompt": "Be strict."}).ask([GenerateRequest("a", 2)])
    models.close()


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ({"name": "fake:0", "top_k": 5}, "model 'fake:0': top_k cannot be applied by backend 'fake'."),
        ({"name": "fake:0", "temperature": -1}, "model 'fake:0': temperature: must be at least 0"),
        ("gpt2", "model 'gpt2' has no backend. Name it as backend:identifier"),
        ("fke:0", "there is no backend named 'fke'. Did you mean 'fake'?"),
        ({"name": "fake:0", "windw": 5}, "model 'fake:0': windw: is not a parameter. Did you mean 'window'?"),
        ({"window": 5}, "a model is backend:identifier, or a mapping with that name"),
    ],
)
def test_mistakes(registry: Registry, written: str | dict[str, object], message: str) -> None:
    with pytest.raises(HarnessError) as caught:
        Models(registry)(written)
    assert message in str(caught.value)


def _sweep(folder: Path, judge: str) -> Path:
    path = folder / "sweep.yaml"
    path.write_text(
        "suite: judged\nmodels: [fake:0]\nruns:\n"
        f"  - {{scenario: sample_generation, metrics: [quasi_exact_match, {{name: toxicity, judge: {judge}}}]}}\n"
    )
    return path


def _run(folder: Path, judge: str, registry: Registry) -> RunRecord:
    sweep, _ = load_sweep(_sweep(folder, judge), registry=registry)
    (record,) = run_sweep(sweep.runs, registry, Settings(folder / "results"))
    return record


def test_a_run_is_judged_by_a_model_and_scored_again_without_asking(registry: Registry, tmp_path: Path) -> None:
    log = tmp_path / "asked.txt"
    record = _run(tmp_path, f"{{name: llm, model: {{name: 'fake:7', log: '{log}'}}}}", registry)
    assert record.status == "ok", record.error
    (details,) = record.details["toxicity"]["test"].values()
    assert details["judge"]["model"]["name"] == "fake:7"
    assert details["judged"] > 0
    asked = log.read_text()
    again = rescored(record, registry)
    assert [stat for stat in again.stats if stat.category == "toxicity"]
    assert list(again.stats) == list(record.stats)
    assert again.provenance["definitions"] == record.provenance["definitions"]
    assert log.read_text() == asked


def test_a_run_whose_judge_cannot_answer_is_refused_before_its_model_is_asked(
    registry: Registry, tmp_path: Path
) -> None:
    record = _run(tmp_path, "{name: llm, model: {name: 'fake:7', fail_every: 1}}", registry)
    assert record.status == "failed"
    assert record.error is not None
    assert record.error.startswith("judge 'llm': fake:7 cannot answer: fake:7 fails")
    cache = ResponseCache(tmp_path / "results" / FILE_NAME)
    assert len(cache) == 0
    cache.close()


def test_a_rehearsal_says_that_the_judge_is_not_there(tmp_path: Path) -> None:
    path = _sweep(tmp_path, f"{{name: llm, model: 'hf:{tmp_path}/none'}}")
    result = CliRunner().invoke(run_command, [str(path), "--dry-run", "--results-dir", str(tmp_path)])
    assert result.exit_code == 2
    assert f"judge 'llm': hf:{tmp_path}/none" in " ".join(result.output.split())


@pytest.mark.parametrize(
    ("judge", "message"),
    [
        ("{name: llm}", "model: is required."),
        ("{name: llm, model: 'fke:1'}", "there is no backend named 'fke'"),
        ("{name: llm, model: 'fake:1', ask: shout}", "'shout' is not one of the choices."),
    ],
)
def test_a_sweep_with_a_wrong_judge_is_refused(registry: Registry, tmp_path: Path, judge: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        load_sweep(_sweep(tmp_path, judge), registry=registry)
