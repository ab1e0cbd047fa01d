"""The keys of lm-evaluation-harness's files that are read, as pydantic models that allow others."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

Count = Annotated[int, Field(strict=True, ge=0, le=2**53)]
"""A number of documents; no program counts further than its floats are whole."""


class TaskConfig(BaseModel):
    """A task's settings."""

    output_type: str | None = None
    metric_list: list[dict[str, Any]] | None = None
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
    written_by: dict[str, Any] | None = None


class SampleLine(BaseModel):
    """A line of ``samples_*.jsonl``."""

    doc_id: int | str
    doc: Any = None
    target: Any
    arguments: dict[str, dict[str, Any]] | list[list[Any]]
    resps: list[list[Any]]
    filter: str = "none"
    metrics: list[str] = []
