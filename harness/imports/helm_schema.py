"""The keys of HELM's run folders that are read, as pydantic models that allow others."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, Field, RootModel

Count = Annotated[int, Field(strict=True, ge=0, le=2**53)]


class ScenarioSpec(BaseModel):
    """The scenario of a run."""

    class_name: str | None = None
    args: dict[str, Any] | None = None


class AdapterSpec(BaseModel):
    """The method of a run."""

    method: str
    model: str | None = None
    model_deployment: str | None = None
    max_eval_instances: Annotated[int, Field(strict=True, ge=1)] | None = None
    substitutions: list[dict[str, str]] | None = None


class RunSpecFile(BaseModel):
    """``run_spec.json``."""

    name: str
    adapter_spec: AdapterSpec
    scenario_spec: ScenarioSpec
    metric_specs: list[dict[str, Any]] | None = None


class Perturbation(BaseModel):
    """The description of a perturbation."""

    name: str
    computed_on: str | None = None
    robustness: bool | None = None
    fairness: bool | None = None


class StatName(BaseModel):
    """What a stat is about."""

    name: str
    split: str | None = None
    sub_split: str | None = None
    perturbation: Perturbation | None = None


class StatItem(BaseModel):
    """A stat; its mean is missing if it has no values."""

    name: StatName
    count: Count | None = None
    mean: Any = None


class StatsFile(RootModel[list[StatItem]]):
    """``stats.json``."""


class InstanceStats(BaseModel):
    """The stats of an instance in one train trial."""

    instance_id: str
    train_trial_index: Count
    perturbation: Perturbation | None = None
    stats: list[StatItem]


class InstancesFile(RootModel[list[InstanceStats]]):
    """``per_instance_stats.json``."""


class Instance(BaseModel):
    """The instance of a request state."""

    id: str
    split: str
    input: Any
    perturbation: Perturbation | None = None
    references: list[dict[str, Any]] | None = None


class Request(BaseModel):
    """What a model was asked."""

    prompt: str | None = None
    messages: list[dict[str, Any]] | None = None
    max_tokens: int
    temperature: float = 1.0
    num_completions: int = 1
    stop_sequences: list[str] | None = None


class Result(BaseModel):
    """The answer to a request."""

    completions: list[dict[str, Any]] | None = None


class RequestState(BaseModel):
    """A request and its answer."""

    instance: Instance
    train_trial_index: Count
    request: Request
    result: Result | None = None
    reference_index: Count | None = None
    output_mapping: dict[str, str] | None = None
    annotations: dict[str, Any] | None = None


class StateFile(BaseModel):
    """``scenario_state.json``."""

    adapter_spec: dict[str, Any] | None = None
    request_states: list[RequestState]
