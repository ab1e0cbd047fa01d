"""Fully resolved, immutable run specs, and the name under which each run is stored."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from typing import Any

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from harness.contracts import Split
from harness.contracts.model_settings import ModelSettings
from harness.contracts.scores import CompositeScore
from harness.contracts.training_steps import TrainingStep, training_step

_FOLDERS = re.compile(r"(?<=[=:])/(?:[^/,=]+/)+(?=[^/,=]+/[^/,=]+)")
"""The part of an absolute path before its last two components."""


_UNSAFE = re.compile(r"[^A-Za-z0-9.=+_-]+")

LONGEST_NAME, LONGEST_PART = 150, 60
"""Most characters of a run's name without its digest, and of one part of it, such as the scenario."""

_NOT_IDENTITY = {"suite", "parts", "max_declined", "operational", "judges_operational", "scores"}

_OPTIONAL = frozenset(
    {"sampling_seed", "samples", "reductions", "cluster", "judges_operational", "scores", "prompt_variant"}
)
"""Fields of a run spec that are written only where they differ from their defaults."""


class Component(BaseModel):
    """A plugin by name, with its arguments.

    Written ``{"name": "mmlu", "subject": "anatomy"}``: the arguments are next to the name.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    """Name of the plugin; of a model, ``backend:identifier``; of an adapter, the method."""

    arguments: dict[str, Any] = Field(default_factory=dict)
    """Every argument, including defaults."""

    @model_validator(mode="before")
    @classmethod
    def _from_flat(cls, value: Any) -> Any:
        if isinstance(value, str):
            return {"name": value}
        if isinstance(value, dict) and "arguments" not in value:
            return {"name": value.get("name"), "arguments": {k: v for k, v in value.items() if k != "name"}}
        return value

    @model_serializer
    def _flat(self) -> dict[str, Any]:
        return {"name": self.name, **self.arguments}

    @property
    def label(self) -> str:
        """HELM's shorthand, ``name:key=value,…``, for people; arguments that are None or False are left out."""
        shown = {key: value for key, value in self.flat.items() if value is not None and value is not False}
        arguments = ",".join(f"{key}={value}" for key, value in shown.items())
        return f"{self.name}:{arguments}" if arguments else self.name

    @property
    def flat(self) -> dict[str, Any]:
        """The arguments, those in mappings by dotted keys: ``max_tokens.at_least``."""
        return dict(_flat("", self.arguments))

    @property
    def short_label(self) -> str:
        """The label for a line of progress: of an absolute path only the last two parts, ``hf:…/run-3/step-100``."""
        return _FOLDERS.sub("…/", self.label)


def _flat(prefix: str, arguments: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in arguments.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(f"{prefix}{key}.", value)
        else:
            yield f"{prefix}{key}", value


class ChangedPrompt(BaseModel):
    """How a run's prompt differs from the one of which it is a variant."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    description: str
    """The changes in words, such as ``options reversed; letters 1, 2, 3``."""

    original: dict[str, Any]
    """The adapter's settings that were changed, with the values that they had."""


UNCHANGED = "unchanged"
"""What the prompt that is not changed is called among its variants."""


class RunSpec(BaseModel):
    """One run: a scenario, an adapter, perturbations, metrics and a model, with every default written out."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    suite: str
    """The folder of results that the run belongs to; no part of the run's identity."""

    scenario: Component
    """The scenario."""

    parts: tuple[str, ...] = ()
    """Parameters of the scenario that choose one of several disjoint parts of its data, whose runs the leaderboard
    pools; not part of the run's identity."""

    adapter: Component
    """The adaptation method and all of its settings."""

    prompt_variant: ChangedPrompt | None = None
    """What was changed in the prompt, in a run over several variants of one; None for a prompt as it was declared."""

    perturbations: tuple[Component, ...] = ()
    """Perturbations whose copies of each instance are evaluated as well; their names are unique within a run."""

    metrics: tuple[Component, ...]
    """The metrics; sets are resolved to their members."""

    main_metric: str
    """The metric that represents the scenario on a leaderboard."""

    groups: tuple[str, ...] = ()
    """Keys of instances' ``meta`` whose values define groups to compare."""

    model: Component
    """The model, ``backend:identifier``, with everything given that can change its answers: arguments of its
    backend, and its own settings, such as a temperature."""

    operational: dict[str, Any] = Field(default_factory=dict)
    """What else was given for the model: pace, cost, hardware, keys, display name; not part of the run's identity."""

    judges_operational: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """Operational settings of the models that metrics ask, such as a judge's budget, by metric and nested as in its
    arguments; not part of the run's identity."""

    eval_split: Split
    """The split that is evaluated."""

    max_eval_instances: int | None = Field(default=None, ge=1)
    """Maximum number of evaluation instances, chosen by instance seed and id; None for all. Perturbed copies are
    extra.
    """

    instance_seed: int = 0
    """Seeds the choice of instances and their perturbed copies, so that these are the same for every ``seed``."""

    seed: int = 0
    """Seeds everything else that is random: few-shot examples, and sampling from the model."""

    sampling_seed: int | None = None
    """Seeds sampling from the model instead of ``seed``; None for ``seed``."""

    samples: int = Field(default=1, ge=1)
    """Number of answers that are sampled for each prompt."""

    reductions: tuple[str, ...] | None = None
    """How the scores of an instance's samples become further statistics, such as ``maj@8``; None for the default."""

    cluster: str = ""
    """Key of instances' ``meta``: instances with equal values depend on each other, so errors are over these clusters.
    Empty if instances are independent.
    """

    max_declined: float = Field(default=0.1, ge=0, le=1)
    """Largest share of examples that may be declined before the run fails; not part of the run's identity."""

    scores: tuple[CompositeScore, ...] = ()
    """The sweep's composite scores to which the run contributes; not part of the run's identity."""

    @model_validator(mode="after")
    def _settings_are_valid(self) -> RunSpec:
        ModelSettings.of(self.model.arguments)
        return self

    @model_serializer(mode="wrap")
    def _only_what_is_set(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave optional settings out where they have their defaults, so that they change no other run's identity."""
        written: dict[str, Any] = serialize(self)
        unset = {key for key, default in _defaults().items() if getattr(self, key) == default}
        return {key: value for key, value in written.items() if key not in unset}

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> RunSpec:
        """Return a copy with other values of some fields, as pydantic does, which would keep the name of the first."""
        copied = super().model_copy(update=update, deep=deep)
        for derived in ("digest", "name"):
            copied.__dict__.pop(derived, None)
        return copied

    @cached_property
    def digest(self) -> str:
        """Eight hexadecimal digits of a hash of the identity."""
        canonical = json.dumps(self.identity, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()[:8]

    @property
    def identity(self) -> dict[str, Any]:
        """Everything that decides what is asked and measured, as JSON values."""
        return self.model_dump(mode="json", exclude=_NOT_IDENTITY)

    @property
    def settings(self) -> ModelSettings:
        """The model's own settings, which are applied to requests."""
        return ModelSettings.of({**self.model.arguments, **self.operational})

    @property
    def model_label(self) -> str:
        """The model's display name, else its label."""
        return self.settings.display_name or self.model.label

    @property
    def training_step(self) -> TrainingStep | None:
        """The model's place in a training, declared or read in its name; None if it is not known to be a checkpoint."""
        return training_step(self.model.name, self.model.arguments, self.settings.about)

    @property
    def configured_model(self) -> Component:
        """The model with the arguments of its backend, as it is loaded."""
        given = {**self.model.arguments, **self.operational}
        arguments = {key: value for key, value in given.items() if key not in ModelSettings.model_fields}
        return Component(name=self.model.name, arguments=arguments)

    @property
    def configured_metrics(self) -> tuple[Component, ...]:
        """The metrics with every setting that was given for the models that they ask, as they are built."""
        return tuple(
            Component(name=metric.name, arguments=_merged(metric.arguments, self.judges_operational[metric.name]))
            if metric.name in self.judges_operational
            else metric
            for metric in self.metrics
        )

    @property
    def unchanged_adapter(self) -> Component:
        """The adapter with the prompt that this run's is a variant of."""
        if self.prompt_variant is None:
            return self.adapter
        return Component(name=self.adapter.name, arguments={**self.adapter.arguments, **self.prompt_variant.original})

    @property
    def with_unchanged_prompt(self) -> RunSpec:
        """The spec with the prompt that this run's is a variant of; the spec itself if it is none."""
        if self.prompt_variant is None:
            return self
        return self.model_copy(update={"adapter": self.unchanged_adapter, "prompt_variant": None})

    @property
    def prompt_description(self) -> str:
        """What tells the run's prompt from other variants of it."""
        return self.prompt_variant.description if self.prompt_variant else UNCHANGED

    @property
    def question(self) -> str:
        """The identity without the model, as JSON: equal for runs that ask different models the same things."""
        rest = {key: value for key, value in self.identity.items() if key != "model"}
        return json.dumps(rest, sort_keys=True, separators=(",", ":"))

    @property
    def question_digest(self) -> str:
        """Sixteen hexadecimal digits of a hash of the identity without the model."""
        return hashlib.sha256(self.question.encode()).hexdigest()[:16]

    @cached_property
    def name(self) -> str:
        """A readable name that ends in the digest; equal specs share it and different specs never do."""
        backend, _, identifier = self.model.name.partition(":")
        model = f"{backend}-{identifier.rstrip('/').rpartition('/')[2]}"
        parts = [self.scenario.label, self.adapter.name, model, *(p.name for p in self.perturbations)]
        readable = ",".join(_UNSAFE.sub("-", part).strip("-.")[:LONGEST_PART] for part in parts)
        return f"{readable[:LONGEST_NAME]}-{self.digest}"


@cache
def _defaults() -> dict[str, Any]:
    return {key: RunSpec.model_fields[key].get_default(call_default_factory=True) for key in _OPTIONAL}


def _merged(value: Any, settings: dict[str, Any]) -> Any:
    """Return arguments with settings that are nested like them, where the keys of a list are its positions."""
    if isinstance(value, list):
        return [_merged(item, settings.get(str(index), {})) for index, item in enumerate(value)]
    if isinstance(value, str) and settings:
        return {"name": value, **settings}
    if not isinstance(value, dict):
        return value
    return {**value, **{key: _merged(value[key], item) if key in value else item for key, item in settings.items()}}
