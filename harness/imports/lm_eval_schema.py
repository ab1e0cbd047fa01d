"""The keys of lm-evaluation-harness's files that are read, as pydantic models that allow others."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

Count = Annotated[int, Field(strict=True, ge=0, le=2**53)]
"""A number of documents, at most 2**53, up to which a float holds every integer."""


class TaskMetric(BaseModel):
    """A metric of a task."""

    metric: str
    aggregation: Any = None


class TaskConfig(BaseModel):
    """A task's settings."""

    output_type: str | None = None
    metric_list: list[TaskMetric] | None = None
    num_fewshot: Count | None = None


class SampleCounts(BaseModel):
    """A task's numbers of documents."""

    effective: Count | None = None


class ResultsFile(BaseModel):
    """``results_*.json``."""

    model_config = ConfigDict(populate_by_name=True)

    results: dict[str, dict[str, Any]]
    configs: dict[str, TaskConfig]
    group_subtasks: dict[str, list[str]] | None = None
    higher_is_better: dict[str, dict[str, bool | None] | None] | None = None
    n_samples: dict[str, SampleCounts] | None = Field(None, alias="n-samples")
    task_hashes: dict[str, str] | None = None
    config: dict[str, Any] | None = None
    date: Annotated[float, Field(ge=0, lt=253402300800)] | str | None = None  # before the year 10000
    written_by: dict[str, Any] | None = None


class SampleLine(BaseModel):
    """A line of ``samples_*.jsonl``."""

    doc_id: int | str
    doc: Any = None
    target: Any
    arguments: dict[str, dict[str, Any]] | list[list[Any]]
    resps: list[list[Any]]
    filtered_resps: list[Any] | None = None
    filter: str = "none"
    metrics: list[str] = []


class OwnSetup(BaseModel):
    """What ``harness export`` adds to a results file."""

    task: str
    main_metric: str
    metrics: list[dict[str, Any]]
    perturbations: list[dict[str, Any]]
    parts: list[str]
    cluster: str | None = None


class OwnMetadata(BaseModel):
    """What ``harness export`` says about a task."""

    method: str
    adapter: dict[str, Any]
    perturbation: str | None = None
    trial: Count | None = None


class OwnConfig(BaseModel):
    """A task's settings as ``harness export`` writes them."""

    dataset_path: str
    dataset_kwargs: dict[str, Any]
    metadata: OwnMetadata


class OwnDocument(BaseModel):
    """The document of a line as ``harness export`` writes it."""

    id: str
    input: str
    references: list[str]
    answer: dict[str, Any]
    meta: dict[str, Any] | None = None


class OwnResultsFile(BaseModel):
    """``results_*.json`` as ``harness export`` writes it."""

    configs: dict[str, OwnConfig]
    model_name: str
    written_by: OwnSetup
