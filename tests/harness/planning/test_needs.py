"""What the questions of a sweep need: from earlier runs, else from a bound, with clusters, parts and samples."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from harness.contracts.scales import PROPORTION
from harness.contracts.specs import ChangedPrompt, RunSpec
from harness.errors import HarnessError, PluginError
from harness.planning.earlier import earlier_variances
from harness.planning.needs import Need, Target, effective, needs
from harness.planning.needs_tables import needs_table
from harness.planning.questions import questions
from harness.planning.sweep_needs import plan_sweep
from harness.plugins.registry import Registry, default_registry
from harness.plugins.titles import Titles
from harness.runs.plan import Plan, Size
from harness.statistics import detectable_difference, instances_needed, paired_variance
from harness.storage.instance_scores import InstanceScores
from harness.storage.results import RunRecord

Record = Callable[..., RunRecord]


@pytest.fixture(scope="module")
def registry() -> Registry:
    return default_registry()


@pytest.fixture
def record(make_run: Record) -> Record:
    """Makes a run with the scores of its instances."""

    def make(
        model: str, scores: Sequence[float], scenario: Any = "boolq", clusters: Sequence[int] | None = None, **more: Any
    ) -> RunRecord:
        run = make_run(model, scenario, 0.5, **more)
        keys = [number.to_bytes(6, "big") for number in range(len(scores))]
        packed = InstanceScores.of(zip(keys, scores, strict=True), clusters)
        return dataclasses.replace(run, instance_scores=packed)

    return make


def plan(instances: int, cluster_size: float = 1.0) -> Plan:
    return Plan(Size(instances, instances, 10 * instances, instances), instances, instances, cluster_size)


def needed(
    runs: Sequence[RunSpec],
    sizes: Mapping[int, Plan | str],
    registry: Registry,
    earlier: Sequence[RunRecord] = (),
    metric: str | None = None,
    **target: Any,
) -> list[Need]:
    return needs(runs, sizes, earlier, Target(**{"detect": 0.02, **target}), registry, metric)


def answers(seed: int, count: int = 400, right: float = 0.6) -> list[float]:
    rng = random.Random(seed)
    return [float(rng.random() < right) for _ in range(count)]


def test_without_earlier_runs_it_is_the_bound_of_independent_models(make_run: Record, registry: Registry) -> None:
    spec = make_run("hf:a", "boolq", 0.5, limit=200).spec
    (found,) = needed([spec], {0: plan(20_000)}, registry)
    assert (found.source, found.variance, found.pairs) == ("bound", 0.5, 0)
    assert found.needed is not None
    assert found.needed.instances == found.needed.limit == instances_needed(0.5, 0.02, step=1.0)
    assert (found.planned, found.available, found.enough) == (200, 20_000, False)
    assert found.shows == detectable_difference(0.5, 200, step=1.0)
    assert found.shows_at_most == detectable_difference(0.5, 20_000, step=1.0)
    (closer,) = needed([spec], {0: plan(20_000)}, registry, agreement=0.9)
    assert closer.variance == pytest.approx(0.1)
    assert closer.needed is not None
    assert closer.needed.instances < found.needed.instances / 4


def test_of_too_few_instances_the_smallest_difference_is_given(make_run: Record, registry: Registry) -> None:
    (found,) = needed([make_run("hf:a", "boolq", 0.5).spec], {0: plan(30)}, registry)
    assert found.needed is not None
    assert found.needed.limit is None
    assert not found.enough
    assert found.shows_at_most == pytest.approx(0.44, abs=0.02)


def test_the_variance_is_the_median_over_pairs_of_earlier_models(record: Record, registry: Registry) -> None:
    scores = {"hf:a": answers(1), "hf:b": answers(2), "hf:c": [*answers(1)[:380], *answers(9, 20)]}
    earlier = [record(model, found) for model, found in scores.items()]
    (found,) = needed([earlier[0].spec], {0: plan(9_000)}, registry, earlier)
    pairs = [("hf:a", "hf:b"), ("hf:a", "hf:c"), ("hf:b", "hf:c")]
    variances = sorted(paired_variance(scores[one], scores[other], PROPORTION) for one, other in pairs)
    assert (found.source, found.pairs, found.models) == ("earlier runs", 3, 3)
    assert found.variance == pytest.approx(variances[1])
    assert found.needed is not None
    assert found.needed.instances == instances_needed(variances[1], 0.02, step=1.0)
    assert (found.least, found.most) == tuple(instances_needed(variances[place], 0.02, step=1.0) for place in (0, 2))


def test_runs_of_other_questions_and_failed_ones_say_nothing(record: Record, registry: Registry) -> None:
    spec = record("hf:a", answers(1)).spec
    others = [
        record("hf:a", answers(1), "imdb"),
        record("hf:b", answers(2), method="multiple_choice_joint"),
        record("hf:c", answers(3), error="it failed"),
        record("hf:d", answers(4)),
    ]
    (found,) = needed([spec], {0: plan(9_000)}, registry, others)
    assert (found.source, found.pairs) == ("bound", 0)


def test_runs_asked_in_other_ways_are_not_paired(record: Record, registry: Registry) -> None:
    one = record("hf:a", answers(1), settings={"max_train_instances": 0})
    other = record("hf:b", answers(2), settings={"max_train_instances": 5})
    again = record("hf:c", answers(3), settings={"max_train_instances": 5})
    (found,) = needed([one.spec], {0: plan(9_000)}, registry, [one, other, again])
    assert (found.pairs, found.models) == (1, 2)


def variant(run: RunRecord, instructions: str) -> RunRecord:
    changed = ChangedPrompt(original={"instructions": ""}, description=f"instructions {instructions}")
    adapter = run.spec.adapter.model_copy(update={"arguments": {"instructions": instructions}})
    return dataclasses.replace(
        run, spec=run.spec.model_copy(update={"adapter": adapter, "prompt_variant": changed}), name=instructions
    )


@pytest.mark.parametrize("order", [(1, 2, 3), (3, 2, 1), (2, 3, 1)])
def test_variants_of_a_prompt_are_paired_with_the_same_variant(
    record: Record, registry: Registry, order: Sequence[int]
) -> None:
    """Two models that answer alike differ in nothing, whichever of their runs ended last."""
    runs = [
        variant(record(model, answers(prompt), finished=f"2025-01-01T00:00:0{time}+00:00"), f"prompt {prompt}")
        for model, times in (("hf:a", (1, 2, 3)), ("hf:b", order))
        for prompt, time in enumerate(times)
    ]
    plans = dict.fromkeys(range(6), plan(9_000))
    (found,) = needed([run.spec for run in runs], plans, registry, runs)
    same = paired_variance(answers(0), answers(0), PROPORTION)
    assert (found.pairs, found.models, found.question.prompts) == (3, 2, 3)
    assert found.variance == pytest.approx(same)
    sweep = plan_sweep([run.spec for run in runs], plans, runs, Target(0.02), registry)
    notes = [note.text for note in needs_table(sweep, Titles(registry)).notes]
    assert [note for note in notes if "asked with 3 prompts; the numbers hold for these" in note]


def test_a_run_without_examples_and_scores_is_named(record: Record, make_run: Record, registry: Registry) -> None:
    bare = make_run("hf:b", "boolq", 0.5)
    (found,) = needed([bare.spec], {0: plan(9_000)}, registry, [record("hf:a", answers(1)), bare])
    assert found.source == "bound"
    assert len(found.unusable) == 1
    assert f"{bare.suite}/{bare.name} has no examples" in found.unusable[0]


def test_clusters_count_as_wholes(record: Record, registry: Registry) -> None:
    clusters = [number // 10 for number in range(400)]
    shared = [[score for score in answers(seed, 40) for _ in range(10)] for seed in (1, 2)]
    runs = [record(model, scores, clusters=clusters) for model, scores in zip(("hf:a", "hf:b"), shared, strict=True)]
    runs = [dataclasses.replace(run, spec=run.spec.model_copy(update={"cluster": "passage"})) for run in runs]
    (question,) = questions([runs[0].spec], registry)
    (pair,) = earlier_variances(question, runs).pairs
    assert pair.of(1) == pytest.approx(paired_variance(shared[0], shared[1], PROPORTION, clusters))
    assert pair.of(1) > 8 * paired_variance(shared[0], shared[1], PROPORTION)
    (bound,) = needed([runs[0].spec], {0: plan(9_000, cluster_size=3.0)}, registry)
    assert bound.variance == pytest.approx(1.5)


def test_parts_are_planned_together_with_one_limit(make_run: Record, registry: Registry) -> None:
    specs = [
        make_run("hf:a", {"name": "mmlu", "subject": subject}, 0.5, method="multiple_choice_joint").spec
        for subject in ("anatomy", "virology", "astronomy")
    ]
    (found,) = needed(specs, {0: plan(1_000), 1: plan(4_000), 2: plan(8_000)}, registry, detect=0.03)
    count = instances_needed(0.5, 0.03, step=1.0)
    assert found.needed is not None
    assert found.needed.limit is not None
    sizes = {"a": 1_000, "b": 4_000, "c": 8_000}
    assert effective(sizes, found.needed.limit) >= count > effective(sizes, found.needed.limit - 1)
    assert found.needed.instances == 1_000 + 2 * found.needed.limit
    assert found.question.title == "MMLU"
    assert effective({"a": 50, "b": 50}) == pytest.approx(100)


def test_holm_corrects_for_the_scenarios_of_the_sweep(make_run: Record, registry: Registry) -> None:
    specs = [make_run("hf:a", name, 0.5).spec for name in ("boolq", "imdb")]
    specs += [make_run("hf:b", "boolq", 0.5).spec]
    found = needed(specs, {place: plan(50_000) for place in range(3)}, registry)
    assert [need.question.spec.scenario.name for need in found] == ["boolq", "imdb"]
    assert found[0].holm is not None
    assert found[0].holm.instances == instances_needed(0.5, 0.02, step=1.0, level=0.025)


def test_a_statistic_of_whole_runs_and_a_failing_run_are_not_planned(make_run: Record, registry: Registry) -> None:
    whole = make_run("hf:a", "boolq", 0.5, metric="ece_10_bin").spec
    broken = make_run("hf:a", "imdb", 0.5).spec
    found = needed([whole, broken], {0: plan(9_000), 1: "the file is missing."}, registry)
    assert "statistic of a whole run" in found[0].problem
    assert found[1].problem == "the file is missing."
    assert all(need.needed is None and not need.enough for need in found)


def test_an_impossible_difference_is_said(make_run: Record, registry: Registry) -> None:
    spec = make_run("hf:a", "boolq", 0.5).spec
    (found,) = needed([spec], {0: plan(9_000)}, registry, detect=0.3, agreement=0.8)
    assert "cannot differ by 0.3 in its scores, only by less than 0.2" in found.problem
    (found,) = needed([spec], {0: plan(9_000)}, registry, detect=1.0)
    assert "only by less than 1" in found.problem


def test_a_percentage_is_refused_with_earlier_runs_too(record: Record, registry: Registry) -> None:
    runs = [record("hf:a", answers(1)), record("hf:b", answers(2))]
    (found,) = needed([runs[0].spec], {0: plan(9_000)}, registry, earlier=runs, detect=2.0)
    assert "cannot differ by 2 in its scores" in found.problem


def test_an_unknown_metric_gets_a_suggestion(make_run: Record, registry: Registry) -> None:
    spec = make_run("hf:a", "boolq", 0.5).spec
    with pytest.raises(PluginError, match=r"no metric gives the score 'exact_mach'\. Did you mean 'exact_match'"):
        needed([spec], {0: plan(9_000)}, registry, metric="exact_mach")
    (found,) = needed([spec], {0: plan(9_000)}, registry, metric="f1_score")
    assert found.problem == "its runs do not compute f1_score."


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"detect": 0.0}, "more than 0, not 0"),
        ({"detect": -0.1}, "more than 0"),
        ({"detect": float("nan")}, "more than 0"),
        ({"detect": 0.02, "power": 1.2}, "between the level 0.05 and 1, not 1.2"),
        ({"detect": 0.02, "power": 0.05}, "between the level 0.05 and 1"),
        ({"detect": 0.02, "agreement": 1.0}, "at least 0 and less than 1, not 1"),
    ],
)
def test_targets_out_of_range_are_refused(wrong: dict[str, float], words: str) -> None:
    with pytest.raises(HarnessError, match=words):
        Target(**wrong)


def test_repeats_separate_what_lies_within_instances(record: Record, registry: Registry) -> None:
    """Each instance's probability of a right answer is the same for both models, so all variance lies within."""
    rng = np.random.default_rng(5)
    chances = rng.random(3_000)
    runs = [
        record(model, (rng.random(3_000) < chances).astype(float).tolist(), seed=seed)
        for model in ("hf:a", "hf:b")
        for seed in range(4)
    ]
    (question,) = questions([runs[0].spec], registry)
    (pair,) = earlier_variances(question, runs).pairs
    within = 2 * float((chances * (1 - chances)).mean())
    assert pair.within == pytest.approx(within, rel=0.05)
    assert pair.between < 0.03
    assert pair.of(1) == pytest.approx(within, rel=0.1)
    (found,) = needed([runs[0].spec], {0: plan(2_000)}, registry, runs)
    assert found.by_samples is not None
    counts = list(found.by_samples.values())
    assert counts == sorted(counts, reverse=True)
    assert found.needed is not None
    assert found.needed.instances > 2_000
    assert found.samples is not None
    assert 2 <= found.samples <= 16
