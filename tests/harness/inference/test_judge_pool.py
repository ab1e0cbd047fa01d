"""Judges are found by name, built once, and given to the metrics that ask for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from harness import Estimate, Example, Instance, Judge, JudgeFinder, PluginError, RunMetric, judge, metric
from harness.contracts.plugins import Kind, Plugin
from harness.contracts.specs import Component
from harness.errors import SpecError
from harness.inference.judge_pool import Judges
from harness.plugins.decorators import ATTRIBUTE
from harness.plugins.registry import Registry, default_registry
from harness.runs.provenance import definitions
from harness.runs.scoring import Scorer
from harness.sweeps.load import load_sweep


@judge("length", source="This test, 2026.")
class Length(Judge):
    """Longer is worse."""

    def __init__(self, *, longest: int = 10) -> None:
        self.longest = longest

    def fingerprint(self) -> Mapping[str, Any]:
        return {"longest": self.longest}

    def probabilities(self, texts: Sequence[str]) -> list[float]:
        return [min(1.0, len(text) / self.longest) for text in texts]


@judge("broken", source="This test, 2026.")
class Broken:
    """No judge at all."""


@metric("judged", category="toxicity", judges=True)
class Judged(RunMetric):
    """The last judgement; higher is better."""

    def __init__(self, judges: JudgeFinder, *, judge: str | dict[str, Any] = "length") -> None:
        self.judge, self.last = judges(judge), 0.0

    def add(self, example: Example) -> None:
        (judged,) = self.judge.probabilities([example.prediction])
        assert isinstance(judged, float)
        self.last = judged

    def estimates(self) -> Mapping[str, Estimate]:
        return {"judged": Estimate(self.last, 1)}


def _plugin(target: type) -> Plugin:
    plugin = vars(target)[ATTRIBUTE]
    assert isinstance(plugin, Plugin)
    return plugin


@pytest.fixture
def judges() -> Judges:
    registry = Registry()
    registry.add(_plugin(Length))
    registry.add(_plugin(Broken))
    return Judges(registry)


def test_a_judge_is_built_once_for_each_set_of_parameters(judges: Judges) -> None:
    assert judges("length") is judges({"name": "length"}) is not judges({"name": "length", "longest": 5})
    assert judges({"name": "length", "longest": 5}).fingerprint() == {"longest": 5}


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("lenght", "there is no judge named 'lenght'. Did you mean 'length'?"),
        ({"name": "length", "long": 5}, "judge 'length': long: is not a parameter. Did you mean 'longest'?"),
        ({"longest": 5}, "a judge is a name, or a mapping with a name and its parameters"),
        ("broken", "judge 'broken' is not a subclass of harness.Judge."),
    ],
)
def test_mistakes(judges: Judges, written: str | dict[str, Any], message: str) -> None:
    with pytest.raises(PluginError) as caught:
        judges(written)
    assert message in str(caught.value)


@pytest.mark.parametrize(("arguments", "expected"), [({}, 0.4), ({"judge": {"name": "length", "longest": 5}}, 0.8)])
def test_a_metric_gets_the_judge_that_it_names(judges: Judges, arguments: dict[str, Any], expected: float) -> None:
    scorer = Scorer([(Component(name="judged", arguments=arguments), _plugin(Judged))], judges)
    scorer.add(Example(Instance("a", ""), prediction="four"))
    assert [stat.mean for stat in scorer.stats()] == [expected]


def test_a_metric_that_needs_judges_where_there_are_none() -> None:
    with pytest.raises(PluginError, match="needs a judge, but none can be used here"):
        Scorer([(Component(name="judged"), _plugin(Judged))])


def test_the_judges_that_come_with_the_harness_say_what_they_are() -> None:
    registry = default_registry()
    assert {"embedded", "hf", "llm", "moderation", "recorded"} <= set(registry.names(Kind.JUDGE))
    for name in registry.names(Kind.JUDGE):
        plugin = registry.get(Kind.JUDGE, name)
        assert plugin.doc
        assert any(character.isdigit() for character in plugin.source)


@pytest.mark.parametrize(
    ("judge", "message"),
    [
        ("embeded", "there is no judge named 'embeded'. Did you mean 'embedded'?"),
        (
            "{name: hf, model: some/model}",
            "judge 'hf': 'some/model' is not a folder, and as a name on the Hub it needs",
        ),
        ("{name: recorded}", "judge 'recorded': file: is required."),
    ],
)
def test_a_wrong_judge_is_a_mistake_of_the_sweep(tmp_path: Path, judge: str, message: str) -> None:
    path = tmp_path / "sweep.yaml"
    metric = f"{{name: toxicity, judge: {judge}}}"
    path.write_text(f"suite: s\nmodels: [fake:0]\nruns:\n  - {{scenario: bold, metrics: [{metric}, efficiency]}}\n")
    with pytest.raises(SpecError) as refused:
        load_sweep(path)
    (mistake,) = refused.value.diagnostics
    assert (mistake.line, mistake.path) == (4, "runs[0].metrics[0]")
    assert mistake.message.startswith(message)


def test_another_judge_is_another_definition_of_the_metric(tmp_path: Path) -> None:
    scores = tmp_path / "scores.jsonl"

    def digest(judge: str) -> str:
        path = tmp_path / "sweep.yaml"
        metric = f"{{name: toxicity, judge: {judge}}}"
        run = f"{{scenario: sample_generation, metrics: [{metric}, efficiency], main_metric: toxic_frac}}"
        path.write_text(f"suite: s\nmodels: [fake:0]\nruns:\n  - {run}\n")
        sweep, registry = load_sweep(path)
        return definitions(sweep.runs[0], registry)["metric toxicity"]

    recorded = f"{{name: recorded, file: {scores}}}"
    missing = digest(recorded)
    scores.write_text('{"text": "a", "toxicity": 0.1}')
    first = digest(recorded)
    scores.write_text('{"text": "a", "toxicity": 0.2}')
    assert len({missing, first, digest(recorded), digest("embedded")}) == 4
    assert digest("embedded") == digest("{name: embedded}")
