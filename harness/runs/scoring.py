"""Turns examples into scores of instances, and scores into the stats of a run, without asking a model anything."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial
from typing import Any, Literal, TypedDict

from harness.answers.reasoning_count import UNFINISHED
from harness.contracts import (
    BatchMetric,
    Estimate,
    Example,
    ExampleMetric,
    JudgeFinder,
    Judgement,
    ModelFinder,
    RunMetric,
    Scale,
    Split,
    Stat,
    stat_of_reading,
)
from harness.contracts.plugins import Plugin
from harness.contracts.specs import Component
from harness.errors import MetricError, PluginError
from harness.runs.robustness_stats import Clusters, Compared, drop, group_gap, group_means, mean_of, worst
from harness.runs.sample_scores import SampleScore, SampleScores
from harness.runs.scored_metrics import (
    OWN_METRICS,
    GroupScores,
    ScoredMetric,
    beyond_scale,
    by_name,
    failure,
    failures,
    group_text,
    number_of,
    on_scale,
    plain_numbers,
    reads_predictions,
)
from harness.runs.unfinished import (
    lacks_answer,
    reasons,
)
from harness.runs.unread import UNREAD
from harness.statistics import mean_estimate
from harness.storage.instance_scores import InstanceScores, cluster_number, instance_key

_EFFICIENCY, _ROBUSTNESS, _FAIRNESS = "efficiency", "robustness", "fairness"

_BLOCK = 512
"""Examples that wait for a metric which scores many at once: enough to keep a judge's server busy."""

_ByGroup = Mapping[tuple[Split, str | None], Mapping[str, float]]
"""The scores of instances under one name, by split and perturbation."""


class _Comparing(TypedDict):
    higher_is_better: bool
    scale: Scale | None
    clusters: Clusters


class Scorer:
    """Scores the examples of one run one after the other, and keeps only numbers.

    Each stat is about a group: the examples of one split and one perturbation. An instance that occurs several times in
    a group, once for each train trial and sample, counts once, with the mean of its scores; scores of samples are also
    reduced (:class:`harness.runs.sample_scores.SampleScores`). A score that is None, NaN, infinite or
    beyond ±1e150 is undefined: it is left out of the mean and counted in the stat's ``missing``. A name without a
    defined score in a group has no stat there.

    Where answers are read in several ways, metrics of accuracy also score the others than the first; their stats have
    the reading's name in parentheses: ``exact_match (flexible)``. The stat ``unread`` is the share of examples from
    which nothing could be read, in runs that read answers.

    An example without an answer, since reasoning did not end, has the worst score of metrics of accuracy, whatever they
    say of the empty text; where a scale has no end, or a metric is of something else, it is missing. Run metrics of
    accuracy get it with the empty text, and metrics of efficiency as it is. The stat ``unfinished_reasoning`` is the
    share of examples in which reasoning did not end, in runs in which models reason.

    If higher or lower scores are better, further stats compare perturbed copies with their originals: the worst score
    of an instance and its copies, by perturbation and by category of perturbations, and the drop from the originals to
    the copies. If the scenario labels its instances, there are also stats of the originals' mean for each label and of
    the gap between labels. Stats on copies have the category of their perturbation, stats on labels are about fairness;
    efficiency stays efficiency.

    Args:
        metrics: The metrics of the run spec and their plugins, with sets already resolved.
        judges: Finds the judges that metrics name; required if any metric uses one.
        models: Finds the models that metrics ask themselves; required if any metric does.
        perturbations: The category of each perturbation (default: robustness).
        labels: The keys of the instances' meta data whose values are compared.
        samples: Reduces the scores of several samples; needed if there is more than one.
        cluster: Key of the instances' meta data by which they form clusters; empty if instances are independent.

    Raises:
        PluginError: A metric cannot be built from its arguments, or is not a metric.
    """

    def __init__(
        self,
        metrics: Sequence[tuple[Component, Plugin]],
        judges: JudgeFinder | None = None,
        models: ModelFinder | None = None,
        *,
        perturbations: Mapping[str, str] | None = None,
        labels: Sequence[str] = (),
        samples: SampleScores | None = None,
        cluster: str = "",
    ) -> None:
        self.models = models
        everything = [*metrics, *((Component(name=own.name), own) for own in OWN_METRICS)]
        self._metrics = [ScoredMetric(position, *metric, judges, models) for position, metric in enumerate(everything)]
        self._reads = self._reasons = False
        self._others: dict[str, Scorer] = {}
        read_again = [metric for metric in metrics if reads_predictions(metric[1])]
        self._samples = samples or SampleScores()
        self._other = partial(Scorer, read_again, judges, models, perturbations=perturbations, labels=labels)
        self._cluster, self._clusters = cluster, dict[str, int]()
        self._groups: dict[tuple[Split, str | None], GroupScores] = {}
        self.judgements: list[list[tuple[str, Judgement]]] = []
        """What judges said about each example of the last block, each with its metric; not of further readings."""
        self.unjudged = 0
        """Number of examples about which a judge said something from which no verdict could be read."""
        self._owners: dict[str, ScoredMetric] = {}
        self._categories = dict(perturbations or {})
        self._labels = tuple(labels)

    @property
    def labels(self) -> tuple[str, ...]:
        """The keys of the instances' meta data whose values are compared."""
        return self._labels

    @property
    def block(self) -> int:
        """How many examples it wants at once: several if a metric scores many together, else 1."""
        return _BLOCK if any(metric.batch for metric in self._metrics) else 1

    def add(self, example: Example) -> dict[str, float]:
        """Score one example, as :meth:`add_all` does."""
        return self.add_all([example])[0]

    def add_all(self, examples: Sequence[Example]) -> list[dict[str, float]]:
        """Score examples and return the defined scores of each by stat name; the last sample also has the reduced ones.

        Raises:
            HarnessError: A metric refuses the example; a MetricError names the metric and the instance.
            PluginError: A metric failed, did not return a number, or used a stat name of another metric.
        """
        self.judgements = [[] for _ in examples]
        batches = {metric.position: self._batch(metric, examples) for metric in self._metrics if metric.batch}
        self.unjudged += sum(any(judgement.problem for _, judgement in said) for said in self.judgements)
        scores = [self._add(example, index, batches) for index, example in enumerate(examples)]
        for example, found in zip(examples, scores, strict=True):
            self._reads = self._reads or example.unread or bool(example.readings)
            self._reasons = self._reasons or reasons(example)
            for own in OWN_METRICS:
                del found[own.name]  # the example itself says so
            for name in tuple(example.readings)[1:]:
                other = self._others.get(name) or self._others.setdefault(
                    name, self._other(samples=self._samples.empty(), cluster=self._cluster)
                )
                also = other.add(example.as_read(name))
                found.update({stat_of_reading(stat, name): score for stat, score in also.items()})
        return scores

    def _add(self, example: Example, index: int, batches: Mapping[int, Sequence[Any]]) -> dict[str, float]:
        key = (example.instance.split, example.instance.perturbation)
        group = self._group(key)
        row = group.table.row(example.instance.id)
        if self._cluster and example.instance.id not in self._clusters:
            self._clusters[example.instance.id] = cluster_number(
                example.instance.id, example.instance.meta, self._cluster
            )
        if key[1] is None and row == len(group.keys):
            group.keys.append(instance_key(example.instance))
        if self._labels and key[1] is None:
            group.label(row, example.instance, self._labels)
        scores: dict[str, float] = {}
        drawn: list[SampleScore] = []
        several, unanswered = self._samples.samples > 1, lacks_answer(example)
        group.examples += 1
        for metric in self._metrics:
            if unanswered and not metric.takes_any:
                group.withheld[metric.position] += 1
                continue
            if metric.batch:
                result = batches[metric.position][index]
            elif metric.score is None:
                self._call(metric, example, group.run_metric(metric).add)
                continue
            else:
                result = self._call(metric, example, metric.score)
            if result is None:
                group.undefined[metric.position] += 1
                continue
            for name, value in by_name(metric.plugin.name, result).items():
                number = number_of(metric, name, value, example.instance.id)
                if unanswered and number is not None:
                    number = metric.without_answer(name, number)
                if self._owners.get(name) is not metric:
                    self._claim(name, metric)
                if several and metric.plugin not in OWN_METRICS:
                    drawn.append(SampleScore(metric.details, name, number))
                if number is None:
                    group.missing[name] += 1
                    continue
                group.table.add(row, name, number)
                scores[name] = number
        if several:
            scores |= self._reduce(example, drawn, row, group)
        return scores

    def _reduce(
        self, example: Example, drawn: Sequence[SampleScore], row: int, group: GroupScores
    ) -> Mapping[str, float]:
        """Take a sample's scores; with an instance's last sample, count and return the scores over all of them."""
        scores: dict[str, float] = {}
        found = self._samples.add(example, drawn)
        if found is None:
            return scores
        scoring = {self._owners[name].position for name in found.names}
        for metric in self._metrics:
            group.unreduced[metric.position] += metric.position not in scoring
        for reduced in found.scores:
            owner = self._owners[reduced.of]
            self._own(reduced.name, owner)
            owner.scales[reduced.name] = reduced.scale
            if reduced.value is None:
                group.missing[reduced.name] += 1
            else:
                group.table.add(row, reduced.name, reduced.value)
                scores[reduced.name] = reduced.value
        return scores

    def stats(self) -> list[Stat]:
        """Return the stats of all examples so far, by metric, name, split and perturbation, the originals first.

        Stats that compare groups or labels come last, in the same order.

        Raises:
            PluginError: A run metric failed, did not give a finite number, or used a stat name of another metric.
        """
        groups = self._sorted_groups()
        stats: list[Stat] = []
        silent = {UNREAD: not self._reads, UNFINISHED: not self._reasons}
        metrics = [
            metric for metric in self._metrics if metric.plugin not in OWN_METRICS or not silent[metric.plugin.name]
        ]
        for metric in metrics:
            found = []
            for key, group in groups:
                if metric.by_example:
                    found += [(name, key, one) for name, one in self._means(metric, group)]
                if metric.score is None:
                    found += [(name, key, one) for name, one in self._estimates(metric, key, group)]
            found.sort(key=lambda entry: entry[0])
            stats += [metric.stat(name, key, estimate, estimate.missing) for name, key, estimate in found]
        stats = [
            replace(stat, category=self._category(stat), computed_on="perturbed") if stat.perturbation else stat
            for stat in stats
        ]
        for metric in metrics:
            scores = {key: self._instance_scores(metric, key, group) for key, group in groups}
            for name in sorted({name for found in scores.values() for name in found}):
                by_group = {key: found.get(name, {}) for key, found in scores.items()}
                stats += self._across_copies(metric, name, by_group)
                stats += self._across_labels(metric, name, by_group)
        for reading, other in self._others.items():
            about = [stat for stat in other.stats() if stat.metric != UNFINISHED]
            stats += [replace(stat, metric=stat_of_reading(stat.metric, reading)) for stat in about]
        return stats

    def details(self) -> dict[str, Any]:
        """Return the metrics' details by metric, split and perturbation (``original`` for none).

        Raises:
            PluginError: A metric failed, or its details cannot be written as JSON.
        """
        found: dict[str, Any] = {}
        for metric in self._metrics:
            for key, group in self._sorted_groups():
                if group.saw_none(metric):
                    continue
                source = group.built.get(metric.position, metric.score)
                if not isinstance(source, RunMetric | ExampleMetric | BatchMetric):
                    break
                with failures(f"{metric} failed to give details of {group_text(key)}"):
                    details = json.loads(json.dumps(source.details(), allow_nan=False))
                if details:
                    by_split = found.setdefault(metric.plugin.name, {}).setdefault(str(key[0]), {})
                    by_split[key[1] or "original"] = details
        for reading, other in self._others.items():
            found.update({stat_of_reading(metric, reading): given for metric, given in other.details().items()})
        return found

    def instance_scores(self, name: str, split: Split) -> Mapping[str, float]:
        """Return the score of each unperturbed instance by its id; empty if instances have no score of that name."""
        key = (split, None)
        for metric in self._metrics if key in self._groups else ():
            scores = self._instance_scores(metric, key, self._groups[key])
            if name in scores:
                return scores[name]
        for reading, other in self._others.items():
            stat = name.removesuffix(stat_of_reading("", reading))
            if stat != name:
                return other.instance_scores(stat, split)
        return {}

    def keyed_scores(self, name: str, split: Split) -> InstanceScores | None:
        """Return the score of each unperturbed instance with its key; None if instances have no score of that name."""
        scores = self.instance_scores(name, split)
        if not scores:
            return None
        group = self._groups[split, None]
        keys = zip(group.table.instances(), group.keys, strict=True)
        found = [(instance, key) for instance, key in keys if instance in scores]
        clusters = [self._clusters[instance] for instance, _ in found] if self._cluster else None
        return InstanceScores.of([(key, scores[instance]) for instance, key in found], clusters)

    def _group(self, key: tuple[Split, str | None]) -> GroupScores:
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = GroupScores(self._metrics)
        return group

    def _batch(self, metric: ScoredMetric, examples: Sequence[Example]) -> list[Any]:
        """Return what a metric that scores many examples at once gives for each."""
        members: dict[tuple[Split, str | None], list[int]] = {}
        for index, example in enumerate(examples):
            if not metric.takes_any and lacks_answer(example):
                continue
            members.setdefault((example.instance.split, example.instance.perturbation), []).append(index)
        results: list[Any] = [None] * len(examples)
        for key, indices in members.items():
            built = self._group(key).batch_metric(metric)
            with failures(f"{metric} failed to score {group_text(key)}"):
                found = list(built.scores([examples[index] for index in indices]))
                said = list(built.judgements())
            if len(found) != len(indices):
                raise PluginError(f"{metric} gave {len(found)} scores for {len(indices)} examples.")
            for index, result in zip(indices, found, strict=True):
                results[index] = result
            for index, judgements in zip(indices, said, strict=False):
                self.judgements[index] += [(metric.plugin.name, judgement) for judgement in judgements]
        return results

    def _sorted_groups(self) -> list[tuple[tuple[Split, str | None], GroupScores]]:
        """Return the groups by split and perturbation, the originals first."""
        return sorted(self._groups.items(), key=lambda entry: (list(Split).index(entry[0][0]), entry[0][1] or ""))

    def _category(self, stat: Stat) -> str:
        if stat.category == _EFFICIENCY:
            return stat.category
        return self._categories.get(stat.perturbation or "", _ROBUSTNESS)

    def _means(self, metric: ScoredMetric, group: GroupScores) -> Iterator[tuple[str, Estimate]]:
        undefined, unreduced = group.undefined[metric.position], group.unreduced[metric.position]
        undefined += group.withheld[metric.position]
        for name, owner in self._owners.items():
            if owner is metric and name in group.table:
                if self._cluster:
                    estimate = mean_of(group.table.by_instance(name), metric.scale_of(name), self._clusters)
                else:
                    estimate = mean_estimate(group.table.means(name), metric.scale_of(name))
                # A reduced score is of all samples together: of those without any score once.
                missing = group.missing[name] + (unreduced if name in metric.scales else undefined)
                yield name, replace(estimate, missing=missing)

    def _instance_scores(
        self, metric: ScoredMetric, key: tuple[Split, str | None], group: GroupScores
    ) -> Mapping[str, Mapping[str, float]]:
        """Return the scores of a group's instances by name; a run metric gives its own."""
        if metric.by_example:
            names = [name for name, owner in self._owners.items() if owner is metric and name in group.table]
            return {name: group.table.by_instance(name) for name in names}
        if group.saw_none(metric):
            return {}
        with failures(f"{metric} failed to give scores of {group_text(key)}"):
            found = group.run_metric(metric).instance_scores()
        for name, scores in found.items():
            scale = metric.scale_of(name)
            wrong = [item for item in scores.items() if scale is not None and scale.clipped(item[1]) is None]
            for instance, score in wrong[:1]:
                raise PluginError(
                    f"{metric} gives {score:g} as {name!r} of instance {instance!r}, {beyond_scale(scale)}"
                )
        return found

    def _across_copies(self, metric: ScoredMetric, name: str, scores: _ByGroup) -> Iterator[Stat]:
        higher, scale = metric.details.higher_is_better, metric.scale_of(name)
        if higher is None or metric.details.category == _EFFICIENCY:
            return
        groups = self._sorted_groups()
        for (split, perturbation), _ in groups:
            original = scores[split, perturbation]
            if perturbation is not None or not original:
                continue
            copies = {
                other: (scores[part, other], set(each.table.instances()))
                for (part, other), each in groups
                if part == split and other is not None
            }
            families: dict[str, list[str]] = {}
            for copy in copies:
                families.setdefault(self._categories.get(copy, _ROBUSTNESS), []).append(copy)
            how: _Comparing = {"higher_is_better": higher, "scale": scale, "clusters": self._clusters}
            compared: list[tuple[Literal["worst", "drop"], str, Compared | None]] = [
                ("drop", copy, drop(original, *copies[copy], **how)) for copy in copies
            ]
            for label, members in [*((copy, [copy]) for copy in copies), *sorted(families.items())]:
                compared.append(("worst", label, worst(original, [copies[member] for member in members], **how)))
            for what, label, result in compared:
                if result is not None:
                    stat = metric.stat(name, (split, label), result.estimate, result.missing)
                    category = label if label in families else self._categories.get(label, _ROBUSTNESS)
                    direction = False if what == "drop" else higher
                    yield replace(stat, category=category, computed_on=what, higher_is_better=direction)

    def _across_labels(self, metric: ScoredMetric, name: str, by_group: _ByGroup) -> Iterator[Stat]:
        if metric.details.category == _EFFICIENCY:
            return
        scale = metric.scale_of(name)
        for key, group in self._sorted_groups():
            scores = by_group[key]
            if not group.members or not scores:
                continue
            for label, members in sorted(group.members.items()):
                for value, estimate in group_means(scores, members, scale, self._clusters):
                    stat = metric.stat(name, key, estimate, len(members[value]) - estimate.count)
                    yield replace(stat, category=_FAIRNESS, group=f"{label}={value}")
                gap = group_gap(scores, members, scale, self._clusters)
                if gap is not None:
                    missing = len(set().union(*members.values()) - scores.keys())
                    stat = metric.stat(name, key, gap, missing)
                    yield replace(stat, category=_FAIRNESS, group=f"{label}: gap", higher_is_better=False)

    def _estimates(
        self, metric: ScoredMetric, key: tuple[Split, str | None], group: GroupScores
    ) -> Iterator[tuple[str, Estimate]]:
        if group.saw_none(metric):
            return
        with failures(f"{metric} failed to summarise {group_text(key)}"):
            estimates = dict(group.built[metric.position].estimates())
        for name, estimate in estimates.items():
            self._claim(name, metric)
            if not math.isfinite(estimate.value):
                raise PluginError(
                    f"{metric} gives {estimate.value} as {name!r} of {group_text(key)}, not a finite number."
                )
            estimate = replace(estimate, missing=estimate.missing + group.withheld[metric.position])
            yield name, on_scale(metric, name, key, plain_numbers(estimate))

    def _claim(self, name: str, metric: ScoredMetric) -> None:
        gives = metric.details.gives
        if gives and not any(fnmatchcase(name, pattern) for pattern in gives):
            declared = ", ".join(gives)
            raise PluginError(f"{metric} gives a stat named {name!r}, but it declares only {declared}.")
        self._own(name, metric)

    def _own(self, name: str, metric: ScoredMetric) -> None:
        owner = self._owners.setdefault(name, metric)
        if owner is not metric:
            raise PluginError(f"{owner} and {metric} both give a stat named {name!r}. Remove one of them.")

    @staticmethod
    def _call(metric: ScoredMetric, example: Example, function: Callable[[Example], Any]) -> Any:
        try:
            return function(example)
        except MetricError as error:
            raise MetricError(f"metric {metric.plugin.name!r}, instance {example.instance.id!r}: {error}") from error
        except BaseException as error:
            raise failure(error, f"{metric} failed on instance {example.instance.id!r}") from error
