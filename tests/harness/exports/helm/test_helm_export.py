"""Run folders of HELM: what they can hold comes back, what they cannot is said."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path

import pytest

from harness import Example, Instance, Message, Response, ScoreRequest, SequenceRequest
from harness.exports.export import export_runs
from harness.exports.exporter import CannotHoldError
from harness.exports.helm.exporter import model_name
from harness.exports.helm.states import states_of
from harness.exports.stored_run import StoredExample, StoredRun, stored_runs
from harness.imports.helm import helm_runs, read_helm
from harness.imports.imported_run import Imported
from harness.plugins.registry import Registry, default_registry
from tests.harness.exports.round_trips import text_of


@pytest.fixture(scope="session")
def registry() -> Registry:
    return default_registry()


@pytest.fixture
def whole(richer: Path, tmp_path: Path) -> Path:
    """The runs of ``richer`` without those imported from HELM, whose files were cut down to a few examples."""
    copied = Path(shutil.copytree(richer, tmp_path / "whole"))
    shutil.rmtree(copied / "helm")
    return copied


def _back(results: Path, folder: Path, registry: Registry) -> list[tuple[StoredRun, Imported]]:
    report, _ = export_runs(results, "helm", folder)
    assert not report.refused
    runs = stored_runs(results)
    places = {(run.record.suite, run.record.name): run for run in runs}
    found = []
    for one in helm_runs(folder):
        run = places[one.parent.name, one.name]
        found.append((run, read_helm(one, "back", registry, run.record.spec.main_metric)))
    assert len(found) == len(runs)
    return found


def test_numbers_come_back(whole: Path, tmp_path: Path, registry: Registry) -> None:
    compared = 0
    for run, imported in _back(whole, tmp_path / "out", registry):
        after = {(s.metric.removeprefix("helm."), s.split, s.perturbation, s.computed_on): s for s in imported.stats}
        for stat in run.record.stats:
            if stat.group is not None or stat.computed_on == "drop":
                continue
            metric = stat.metric.removeprefix("helm.")
            found = after[metric, stat.split, stat.perturbation, stat.computed_on]
            assert found.mean == stat.mean
            compared += 1
            if run.record.provenance.get("origin") is None and metric == "exact_match":  # worst cases as well
                assert found.count == stat.count
                assert found.stderr == pytest.approx(stat.stderr)
    assert compared > 40


def test_prompts_answers_and_scores_come_back(whole: Path, tmp_path: Path, registry: Registry) -> None:
    compared = 0
    for run, imported in _back(whole, tmp_path / "out", registry):
        before: dict[tuple[str, str | None, int], list[StoredExample]] = {}
        for one in run.examples():
            instance = one.example.instance
            before.setdefault((instance.id, instance.perturbation, one.example.trial), []).append(one)
        assert len(imported.examples) == len(before)
        for again in imported.examples:
            found = again.example
            samples = before[found.instance.id, found.instance.perturbation, found.trial]
            first = samples[0].example
            assert found.instance == first.instance.replace(
                references=tuple(one.__class__(one.text, one.correct) for one in first.instance.references)
            )
            for place, (request, response) in enumerate(zip(found.requests, found.responses, strict=True)):
                asked, answers = first.requests[place], [one.example.responses[place] for one in samples]
                if isinstance(asked, ScoreRequest):
                    assert isinstance(request, ScoreRequest)
                    assert (
                        request.continuation == f"{text_of(asked.context).removeprefix('user: ')}{asked.continuation}"
                    )
                    assert response.logprobs == answers[0].logprobs
                    continue
                assert text_of(request.whole_prompt) == text_of(asked.whole_prompt)  # type: ignore[union-attr]
                wanted = [completion for one in answers for completion in one.completions]
                assert [(c.text, c.reasoning, c.logprob, c.finish_reason) for c in response.completions] == [
                    (c.text, c.reasoning, c.logprob, c.finish_reason) for c in wanted
                ]
                if len(first.requests) == 1 and len(samples) == 1 and response.error is None:
                    assert response.prompt_tokens == answers[0].prompt_tokens
                    assert response.completion_tokens == answers[0].completion_tokens
                assert response.error == answers[0].error
            for name, score in again.scores.items():
                known = [one.scores[name] for one in samples if name in one.scores]
                if known:
                    assert score == pytest.approx(math.fsum(known) / len(known))
                    compared += 1
    assert compared > 200


def test_metrics_keep_their_names_and_are_there_once(
    whole: Path, finished: Path, tmp_path: Path, registry: Registry
) -> None:
    for number, results in enumerate((whole, finished)):
        for run, imported in _back(results, tmp_path / str(number), registry):
            places = [(s.metric, s.split, s.perturbation, s.computed_on, s.group) for s in imported.stats]
            assert len(set(places)) == len(places)
            assert imported.spec.main_metric == run.record.spec.main_metric
            assert imported.spec.perturbations == run.record.spec.perturbations
            assert imported.spec.metrics == run.record.spec.metrics
            assert {stat.metric for stat in imported.stats} <= {stat.metric for stat in run.record.stats}
            assert {name for one in imported.examples for name in one.scores} <= {s.metric for s in run.record.stats}


def test_predictions_keep_their_spaces(whole: Path, tmp_path: Path, registry: Registry) -> None:
    spaces = 0
    for run, imported in _back(whole, tmp_path / "out", registry):
        before: dict[tuple[str, str | None, int], str | None] = {}
        for one in run.examples():
            example = one.example
            before.setdefault((example.instance.id, example.instance.perturbation, example.trial), example.prediction)
        for again in (one.example for one in imported.examples):
            assert again.prediction == before[again.instance.id, again.instance.perturbation, again.trial]
            spaces += again.prediction != again.prediction.strip()
    assert spaces


def test_what_has_no_place_is_said(richer: Path, finished: Path, tmp_path: Path) -> None:
    report, _ = export_runs(richer, "helm", tmp_path / "one")
    assert report.left_out["scores of single samples"] > 0
    assert report.left_out["likeliest tokens at each position"] > 0
    report, _ = export_runs(finished, "helm", tmp_path / "other")
    assert report.left_out["drops under perturbations"] == 2


def test_files_are_as_helm_writes_them(finished: Path, tmp_path: Path) -> None:
    export_runs(finished, "helm", tmp_path)
    for folder in helm_runs(tmp_path):
        spec = json.loads((folder / "run_spec.json").read_text())
        assert spec["name"].startswith("quiz:method=generation,model=fake_")
        assert spec["adapter_spec"]["max_train_instances"] == 2
        state = json.loads((folder / "scenario_state.json").read_text())
        assert state["adapter_spec"] == spec["adapter_spec"]
        assert len(state["request_states"]) in (20, 40)


def test_a_model_has_a_creator_and_no_folders() -> None:
    assert model_name("hf:openai-community/gpt2") == "openai-community/gpt2"
    assert model_name("openai:gpt-5") == "openai/gpt-5"
    assert model_name("hf:/home/me/checkpoints/step-100") == "hf/step-100"


def test_what_helm_cannot_ask() -> None:
    for request, message in (
        (SequenceRequest(("a", "b"), (1, 0)), "in several orders"),
        (ScoreRequest((Message("user", "Hi"),), "Ho"), "end of a conversation"),
    ):
        example = Example(instance=Instance("a", "in"), requests=(request,), responses=(Response(),))
        with pytest.raises(CannotHoldError, match=message):
            list(states_of([StoredExample(example, {}, (), None)], "a/b", {}))
