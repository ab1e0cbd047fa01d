"""The parts of inspect_ai's logs that are read (UKGovernmentBEIS/inspect_ai, ``inspect_ai.log.EvalLog``, version 2)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, JsonValue, StrictBool, StrictFloat, StrictInt, StrictStr

Number = Annotated[float, Field(strict=True)]
Scalar = StrictBool | StrictInt | StrictFloat | StrictStr
Value = Scalar | dict[str, Scalar | None] | list[Scalar]


class Metric(BaseModel):
    """One aggregate of a score."""

    name: StrictStr
    value: Number
    params: dict[str, Any] = Field(default_factory=dict)
    metadata: dict[str, Any] | None = None


class ResultScore(BaseModel):
    """The aggregates of a score under one reducer."""

    name: StrictStr
    scorer: StrictStr
    reducer: StrictStr | None = None
    scored_samples: StrictInt | None = None
    unscored_samples: StrictInt | None = None
    params: dict[str, Any] = Field(default_factory=dict)
    metrics: dict[str, Metric] = Field(default_factory=dict)


class Headline(BaseModel):
    """The metric that represents the evaluation."""

    score: StrictStr | None = None
    metric: StrictStr | None = None
    reducer: StrictStr | None = None


class Results(BaseModel):
    """Every aggregate."""

    total_samples: StrictInt = 0
    completed_samples: StrictInt = 0
    scores: list[ResultScore] = Field(default_factory=list)
    headline: Headline | None = None


class Dataset(BaseModel):
    """The data set."""

    name: str | None = None
    location: str | None = None
    samples: int | None = None


class Config(BaseModel):
    """Settings of the evaluation."""

    limit: int | list[int] | None = None
    epochs: int | None = None


class Scorer(BaseModel):
    """A scorer and its metrics, as they were declared."""

    name: StrictStr
    metrics: JsonValue = None


class Spec(BaseModel):
    """What was evaluated."""

    task: StrictStr
    task_version: int | str = 0
    task_args: dict[str, Any] = Field(default_factory=dict)
    run_id: str = ""
    created: StrictStr
    dataset: Dataset = Field(default_factory=Dataset)
    model: StrictStr
    model_generate_config: dict[str, Any] = Field(default_factory=dict)
    config: Config = Field(default_factory=Config)
    packages: dict[str, str] = Field(default_factory=dict)
    scorers: list[Scorer] | None = None
    metadata: dict[str, Any] | None = None


class Step(BaseModel):
    """A solver."""

    solver: StrictStr
    params: dict[str, Any] = Field(default_factory=dict)


class Plan(BaseModel):
    """The solvers and the settings of generation."""

    steps: list[Step] = Field(default_factory=list)
    config: dict[str, Any] = Field(default_factory=dict)


class Usage(BaseModel):
    """Tokens."""

    input_tokens: StrictInt = 0
    output_tokens: StrictInt = 0
    input_tokens_cache_write: StrictInt | None = None
    input_tokens_cache_read: StrictInt | None = None
    reasoning_tokens: StrictInt | None = None


class Stats(BaseModel):
    """Times."""

    started_at: str = ""
    completed_at: str = ""


class Failure(BaseModel):
    """Why an evaluation or a sample failed."""

    message: StrictStr


class Header(BaseModel):
    """A log without its samples."""

    version: Literal[2]
    status: Literal["started", "success", "cancelled", "error"]
    eval: Spec
    plan: Plan = Field(default_factory=Plan)
    results: Results | None = None
    stats: Stats = Field(default_factory=Stats)
    error: Failure | None = None


class ToolFunction(BaseModel):
    """A call of a tool."""

    id: str = ""
    function: StrictStr
    arguments: JsonValue = None
    parse_error: str | None = None


class ChatMessage(BaseModel):
    """A turn of a conversation."""

    id: str | None = None
    role: Literal["system", "user", "assistant", "tool"]
    content: StrictStr | list[dict[str, Any]]
    source: str | None = None
    tool_calls: list[ToolFunction] | None = None
    tool_call_id: str | None = None
    metadata: dict[str, Any] | None = None


class TopLogprob(BaseModel):
    """A likely token."""

    token: StrictStr
    logprob: Number


class TokenLogprob(TopLogprob):
    """A generated token."""

    top_logprobs: list[TopLogprob] | None = None


class Logprobs(BaseModel):
    """The generated tokens."""

    content: list[TokenLogprob]


class StopDetails(BaseModel):
    """Why the model stopped, in words."""

    type: str | None = None
    explanation: str | None = None


class Choice(BaseModel):
    """One completion."""

    message: ChatMessage
    stop_reason: str = "unknown"
    stop_details: StopDetails | None = None
    logprobs: Logprobs | None = None


class Output(BaseModel):
    """A model's answer."""

    choices: list[Choice] = Field(default_factory=list)
    usage: Usage | None = None
    time: Number | None = None
    error: str | None = None


class SampleScore(BaseModel):
    """A score of one sample; NaN if it could not be scored."""

    value: Value
    answer: str | None = None
    explanation: str | None = None
    metadata: dict[str, Any] | None = None


class Sample(BaseModel):
    """One sample in one epoch."""

    id: StrictInt | StrictStr
    epoch: StrictInt = Field(ge=1)
    input: StrictStr | list[ChatMessage]
    choices: list[StrictStr] | None = None
    target: StrictStr | list[StrictStr]
    messages: list[ChatMessage] = Field(default_factory=list)
    output: Output = Field(default_factory=Output)
    scores: dict[str, SampleScore] | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)
    events: list[dict[str, Any]] = Field(default_factory=list)
    attachments: dict[str, str] = Field(default_factory=dict)
    error: Failure | None = None
