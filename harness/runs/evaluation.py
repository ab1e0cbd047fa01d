"""A run before its first request: its data read, its instances chosen, its parts built."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness.contracts import Adapted, Adapter, Instance, Split, Tokenization
from harness.contracts.data import Data
from harness.contracts.plugins import Kind, ScenarioDetails
from harness.contracts.specs import RunSpec
from harness.data.source import open_data
from harness.errors import DataError, PluginError, did_you_mean
from harness.inference.model_settings import ConfiguredTokenization, check_settings, with_settings
from harness.plugins.parameters import build
from harness.plugins.registry import Registry
from harness.runs.sampling import conversations, sampled
from harness.seeds import derive_rng, derive_seed

Perturb = Callable[..., Instance | None]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A run whose data are read and whose parts are built, before its first request."""

    spec: RunSpec
    """The run's spec."""
    adapter: Adapter
    """The adapter, built."""
    data: Data
    """The scenario's data, for their provenance."""
    train: Sequence[Instance]
    """All train instances; none if prompts show no examples."""
    _instances: Callable[[], Iterator[Instance]]
    _perturbations: Sequence[tuple[str, Perturb]] = ()
    _chosen: Sequence[Instance] | None = None
    count: int = 0

    @property
    def converses(self) -> bool:
        """True if the adapter follows up on answers; each sample is then asked for by itself."""
        return type(self.adapter).follow_up is not Adapter.follow_up

    @property
    def samples(self) -> int:
        """Number of samples that each request asks for."""
        return 1 if self.converses else self.spec.samples

    @property
    def examples(self) -> int:
        """Maximum number of examples: originals, perturbed copies, all trials, samples that are asked for apart."""
        apart = self.spec.samples if self.converses else 1
        return self.count * (1 + len(self._perturbations)) * self.adapter.train_trials * apart

    def instances(self) -> Iterator[Instance]:
        """Yield the evaluation instances, each followed by its perturbed copies.

        Raises:
            DataError: A perturbation changes none of them.
        """
        idle = {name for name, _ in self._perturbations}
        yield from self._with_copies(idle)
        if idle:
            raise DataError(
                f"perturbation {min(idle)!r} changes none of the {self.count} instances of "
                f"{self.spec.scenario.label!r}, so nothing would be measured. Leave it out, or see `harness show "
                f"perturbation {min(idle)}` for what it needs."
            )

    def originals(self) -> Iterator[Instance]:
        """Yield the evaluation instances without perturbed copies."""
        return self._evaluated() if self._chosen is None else iter(self._chosen)

    def only(self, instances: Sequence[Instance]) -> Evaluation:
        """Return the run with only these evaluation instances, whose perturbed copies are made once for all trials.

        Raises:
            DataError: These are all instances, and a perturbation changes none of them.
        """
        few = replace(self, _chosen=instances)
        copies = list(few.instances() if len(instances) == self.count else few._with_copies(set()))
        return replace(few, _chosen=copies, _perturbations=(), count=len(copies))

    def adapted(self, tokenization: Tokenization) -> Iterator[Adapted]:
        """Yield the requests of every instance and trial, with the model's own settings.

        Raises:
            HarnessError: The settings do not fit the data or the model.
            PluginError: The adapter shows an instance as an example in its own prompt.
        """
        in_train, settings = self.spec.eval_split == Split.TRAIN, self.spec.settings
        check_settings(settings, tokenization)
        known = ConfiguredTokenization(tokenization, settings)
        for trial in range(self.adapter.train_trials):
            asked = self.adapter.adapt(self.instances(), self.train, known, trial=trial, seed=self.spec.seed)
            for adapted in asked:
                if in_train and adapted.instance.id in adapted.train_instances:
                    raise PluginError(
                        f"adapter {self.spec.adapter.name!r} uses instance {adapted.instance.id!r} of the train split, "
                        "with its answer, as a few-shot example in the instance's own prompt."
                    )
                adapted = with_settings(adapted, settings)
                if self.converses:
                    yield from conversations(adapted, self.spec)
                else:
                    yield sampled(adapted, self.spec)

    def _with_copies(self, idle: set[str]) -> Iterator[Instance]:
        """Yield the evaluation instances with their copies; remove the perturbations that change one from ``idle``."""
        for instance in self.originals():
            yield instance
            for name, perturb in self._perturbations:
                rng = derive_rng(self.spec.instance_seed, f"perturbation/{name}/{instance.id}")
                copy = perturb(instance, rng)
                if copy is not None:
                    idle.discard(name)
                    yield copy.replace(id=instance.id, perturbation=name)

    def _evaluated(self) -> Iterator[Instance]:
        return (instance for instance in self._instances() if instance.split == self.spec.eval_split)


def prepare(spec: RunSpec, registry: Registry, data_dir: Path | None) -> Evaluation:
    """Read a run's data and build its parts.

    Raises:
        HarnessError: A plugin or its parameters, or the data, are not as they should be.
    """
    opened = OpenedRun(spec, registry, open_scenario_data(spec, registry, data_dir))
    survey = Survey(opened)
    for instance in opened.instances():
        survey.add(instance)
    return survey.evaluation()


def open_scenario_data(spec: RunSpec, registry: Registry, data_dir: Path | None) -> Data:
    """Return the data of a run's scenario, before anything is read.

    Raises:
        DataError: There are none.
    """
    scenario = registry.get(Kind.SCENARIO, spec.scenario.name)
    if not isinstance(scenario.details, ScenarioDetails):
        raise PluginError(f"scenario {scenario.name!r} has no details ({scenario.origin}).")
    return open_data(scenario.details, spec.scenario.arguments, name=scenario.name, data_dir=data_dir)


class OpenedRun:
    """A run whose parts are built, and whose data are found and not read yet.

    Attributes:
        spec: The run's spec.
        data: The scenario's data.
        adapter: The adapter, built.
        perturbations: The perturbations, built, with their names.
        groups: Keys by which the scenario groups its instances.

    Raises:
        HarnessError: A plugin or its parameters are not as they should be.
    """

    def __init__(self, spec: RunSpec, registry: Registry, data: Data) -> None:
        self._scenario = registry.get(Kind.SCENARIO, spec.scenario.name)
        self.spec, self.data = spec, data
        self.adapter: Adapter = build(registry.get(Kind.ADAPTER, spec.adapter.name), arguments=spec.adapter.arguments)
        self.perturbations: list[tuple[str, Perturb]] = [
            (part.name, build(registry.get(Kind.PERTURBATION, part.name), arguments=part.arguments))
            for part in spec.perturbations
        ]
        details = self._scenario.details
        self.groups = details.groups if isinstance(details, ScenarioDetails) else ()
        self.instances = self.instances_from(data)

    def instances_from(self, data: Data) -> Callable[[], Iterator[Instance]]:
        """Return what reads the scenario's instances from the data, or from others in their place."""
        read: Callable[[], Iterator[Instance]] = build(self._scenario, data, arguments=self.spec.scenario.arguments)
        return read


class Survey:
    """Takes the instances of a run one by one, and keeps the train instances and those chosen for evaluation.

    Of more than ``max_eval_instances`` those with the smallest hash of instance seed and id are chosen: the same ones
    whatever the order of the file, and mostly the same ones when the data grow; if the adapter takes them in order, the
    first are.

    Args:
        opened: The run.
        kept: The train instances that other runs keep, by id; those that this run keeps are added. Runs that read the
            same data keep each instance once.
    """

    def __init__(self, opened: OpenedRun, kept: dict[str, Instance] | None = None) -> None:
        spec, adapter = opened.spec, opened.adapter
        self._opened, self._kept = opened, kept
        self._split, self._limit, self._seed = spec.eval_split, spec.max_eval_instances, spec.instance_seed
        self._in_order = adapter.keeps_order or adapter.takes_first
        self._keeps_train = spec.adapter.arguments.get("max_train_instances") != 0
        self._train: list[Instance] = []
        self._heap: list[tuple[int, int, Instance]] = []
        self._labels: set[str] = set()
        self._ids: set[str] = set()

    def add(self, instance: Instance) -> None:
        """Take the next instance.

        Raises:
            DataError: An evaluation instance before it had the same id.
        """
        if self._keeps_train and instance.split == Split.TRAIN:
            self._train.append(self._shared(instance))
        if instance.split != self._split:
            return
        self._labels.update(instance.meta)
        known = len(self._ids)
        self._ids.add(instance.id)
        if len(self._ids) == known:
            raise DataError(
                f"scenario {self._opened.spec.scenario.label!r} gives two instances of split {self._split} the id "
                f"{instance.id!r}; ids must be unique."
            )
        if self._limit is not None:
            number = known + 1
            rank = number if self._in_order else derive_seed(self._seed, f"eval-instances/{instance.id}")
            entry = (-rank, -number, instance)
            if len(self._heap) < self._limit:
                heapq.heappush(self._heap, entry)
            else:
                heapq.heappushpop(self._heap, entry)

    def evaluation(self) -> Evaluation:
        """Return the run with the instances that were taken.

        Raises:
            DataError: They lack what the run needs.
        """
        opened, chosen, count = self._opened, None, len(self._ids)
        if self._limit is not None:
            chosen = [instance for _, _, instance in sorted(self._heap, key=lambda entry: -entry[1])]
            count = len(chosen)
        self._check(count)
        return Evaluation(
            opened.spec, opened.adapter, opened.data, self._train, opened.instances, opened.perturbations, chosen, count
        )

    def _shared(self, instance: Instance) -> Instance:
        """Return the instance as it is kept: nobody asks how an example of a prompt was published."""
        one = instance
        if one.published:
            one = Instance(one.id, one.input, one.references, one.split, one.perturbation, meta=one.meta)
        if self._kept is None:
            return one
        other = self._kept.setdefault(one.id, one)
        return other if other == one else one

    def _check(self, count: int) -> None:
        spec, data = self._opened.spec, self._opened.data
        if count == 0:
            message = f"scenario {spec.scenario.label!r} has no instances in split {spec.eval_split}."
            raise DataError(data.lacking(spec.eval_split) or message)
        examples = spec.adapter.arguments.get("max_train_instances")
        if examples and not self._train and (lacking := data.lacking(Split.TRAIN)):
            raise DataError(without_examples(lacking))
        unknown = [group for group in spec.groups if group not in self._labels and group not in self._opened.groups]
        if unknown:
            hint = did_you_mean(unknown[0], self._labels) or "No instance has any meta keys."
            raise DataError(
                f"no instance of {spec.scenario.label!r} has the key {unknown[0]!r} in its meta to group by. {hint}"
            )
        if spec.cluster and spec.cluster not in self._labels:
            hint = did_you_mean(spec.cluster, self._labels) or "No instance has any meta keys."
            raise DataError(
                f"no instance of {spec.scenario.label!r} has the key {spec.cluster!r} in its meta, so there are no "
                f"clusters. {hint}"
            )


def without_examples(lacking: str) -> str:
    """Return the message about missing train data, with a setting that does not need them."""
    return f"{lacking} Or use no few-shot examples: max_train_instances: 0."
