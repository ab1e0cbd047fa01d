"""A model's own settings: how it is sampled and prompted, whichever task it is given.

They are keys of the model's entry in a sweep, next to the arguments of its backend. Precedence:

- Sampling (``temperature``, ``top_p``, ``top_k``, ``min_p``, ``repetition_penalty``): the model's entry, then the run's
  adapter, then the scenario's adapter.
- ``max_tokens``: the adapter's number, raised to ``at_least`` and lowered to ``at_most`` of the model's entry.
- ``reasoning`` is the model's alone: a task's ``max_tokens`` and stop sequences hold for the answer after it.
- ``system_prompt``: the model's comes first; the adapter's follows after an empty line.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from harness.contracts.requests import Effort

_Number = Annotated[float, Field(strict=True)]
_Whole = Annotated[int, Field(strict=True)]
_Text = Annotated[str, Field(strict=True)]

CUTOFFS = ("top_p", "top_k", "min_p")
"""Settings that leave out unlikely tokens; greedy decoding ignores them."""


GENERATION = ("temperature", *CUTOFFS, "repetition_penalty", "max_tokens", "prefill")
"""Settings that change nothing where a text is only scored."""


class TokenBounds(BaseModel):
    """Bounds of the number of tokens that a model may generate for one completion."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    at_least: _Whole | None = Field(None, ge=1, examples=[2048])
    """Smallest ``max_tokens``: a task's smaller number is raised to it."""

    at_most: _Whole | None = Field(None, ge=1, examples=[8192])
    """Largest ``max_tokens``: a task's larger number is lowered to it."""

    @model_validator(mode="before")
    @classmethod
    def _is_a_mapping(cls, value: Any) -> Any:
        if isinstance(value, int) and not isinstance(value, bool):
            raise ValueError(f"must be a mapping, such as {{at_most: {value}}} or {{at_least: {value}}}")
        return value

    @model_validator(mode="after")
    def _in_order(self) -> TokenBounds:
        if self.at_least is not None and self.at_most is not None and self.at_least > self.at_most:
            raise ValueError(f"at_least is {self.at_least}, which is more than at_most, {self.at_most}")
        return self

    def applied(self, max_tokens: int) -> int:
        """Return a task's number of tokens, raised or lowered to the bounds."""
        raised = max(max_tokens, self.at_least or 1)
        return raised if self.at_most is None else min(raised, self.at_most)


class ReasoningSettings(BaseModel):
    """How a model reasons before it answers; ``reasoning: {}`` says that it does."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    open: _Text | None = Field(None, examples=["<think>"])
    """Mark that begins the reasoning in the model's text; empty if the prompt ends with it. Default: the chat
    template's, else the marks of well-known models."""

    close: _Text | None = Field(None, min_length=1, examples=["</think>"])
    """Mark that ends the reasoning; named together with ``open``."""

    budget_tokens: _Whole | None = Field(None, ge=1, examples=[8192])
    """Maximum tokens of reasoning, in addition to a task's ``max_tokens``. Default: 16384, if the window allows."""

    effort: Effort | None = Field(None, examples=["low"])
    """How much to reason: ``reasoning_effort`` for OpenAI-compatible servers and chat templates that take it, a budget
    of thinking for Anthropic."""

    keep: bool = Field(False, strict=True)
    """True to leave the reasoning in the text that is scored."""

    @model_validator(mode="after")
    def _paired(self) -> ReasoningSettings:
        if (self.open is None) != (self.close is None):
            given, lacking = ("open", "close") if self.close is None else ("close", "open")
            raise ValueError(f"{given} is set without {lacking}; set both marks, or neither for the well-known ones")
        return self


PRESENTATION = frozenset({"display_name", "about"})
"""Settings that change only how a model is shown; changing them does not repeat any run."""


HARDWARE = frozenset({"resources"})
"""Settings that say what a model runs on."""

OPERATIONAL = PRESENTATION | HARDWARE
"""Settings that change no answer; any model's entry may have them."""


class Resources(BaseModel):
    """What a model needs of the machines that run it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    gpus: _Whole | None = Field(None, ge=0, le=1024, examples=[4])
    """GPUs of one replica (default: 1 where there are any; 0 for a model that a server has)."""

    replicas: Annotated[int, Field(strict=True, ge=1, le=4096)] | Literal["auto"] | None = Field(
        None, examples=[2, "auto"]
    )
    """Number of replicas, each with the model's weights, that share its requests (default: 1). ``auto``: as many as
    there is room for, as long as the work left is worth loading another."""


class ModelFacts(BaseModel):
    """Facts about a model for the site, which take precedence over those of its files or server."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    creator: _Text | None = Field(None, min_length=1, examples=["Example Lab"])
    """Who made it."""

    access: _Text | None = Field(None, min_length=1, examples=["open weights"])
    """How it can be used: open weights, limited, API."""

    parameters: _Whole | None = Field(None, ge=1, examples=[7000000000])
    """Number of its parameters."""

    licence: _Text | None = Field(None, min_length=1, examples=["Apache-2.0"])
    """Its licence."""

    released: _Text | None = Field(None, pattern=r"^\d{4}(-\d\d(-\d\d)?)?$", examples=["2026-03"])
    """When it was released: a year, a month or a day, in quotes."""

    tags: tuple[_Text, ...] = Field((), examples=[["chat", "reasoning"]])
    """Words by which models are chosen on the site."""

    series: _Text | None = Field(None, min_length=1, max_length=100, examples=["pythia-70m"])
    """Name of the training of which it is a checkpoint, the same for all of its checkpoints; named with ``step``."""

    step: _Whole | None = Field(None, ge=0, examples=[1000])
    """The training step at which it was saved; named with ``series``."""

    @model_validator(mode="after")
    def _placed(self) -> ModelFacts:
        if (self.series is None) != (self.step is None):
            given, lacking = ("series", "step") if self.step is None else ("step", "series")
            raise ValueError(f"{given} is set without {lacking}; a checkpoint needs both")
        return self


class ModelSettings(BaseModel):
    """Keys that any model's entry may have; the task decides those that are left out."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    temperature: _Number | None = Field(None, ge=0, examples=[0.6])
    """Sampling temperature, instead of the task's; 0 is greedy decoding."""

    top_p: _Number | None = Field(None, gt=0, le=1, examples=[0.95])
    """Sample from the likeliest tokens whose probabilities add up to this (nucleus sampling)."""

    top_k: _Whole | None = Field(None, ge=1, examples=[20])
    """Sample from this many of the likeliest tokens."""

    min_p: _Number | None = Field(None, ge=0, le=1, examples=[0.05])
    """Sample from tokens at least this share as likely as the likeliest."""

    repetition_penalty: _Number | None = Field(None, gt=0, examples=[1.05])
    """Divide the positive logits of tokens that the prompt or the answer contains by this, and multiply the negative
    ones by it; above 1 discourages repetition. It changes greedy decoding too."""

    max_tokens: TokenBounds | None = Field(None, examples=[{"at_least": 2048, "at_most": 8192}])
    """Bounds of the ``max_tokens`` that tasks ask for."""

    reasoning: ReasoningSettings | None = Field(None, examples=[{"budget_tokens": 8192}])
    """How the model reasons before it answers: marks, budget, effort."""

    system_prompt: _Text | None = Field(None, min_length=1, examples=["You are a careful assistant."])
    """System message of every conversation, before the task's own; an error for a model without a chat template."""

    prefill: _Text | None = Field(None, min_length=1, examples=["The answer is"])
    """How every generated answer begins. The model continues it; it is not part of the answer that is scored."""

    display_name: _Text | None = Field(None, min_length=1, max_length=100, examples=["Qwen3 0.6B, thinking"])
    """Name of the model in tables, on leaderboards and on the site; changing it runs nothing again."""

    about: ModelFacts | None = Field(None, examples=[{"creator": "Example Lab", "licence": "Apache-2.0"}])
    """Facts about the model for the site: creator, access, parameters, licence, release, tags."""

    resources: Resources | None = Field(None, examples=[{"gpus": 4, "replicas": "auto"}])
    """GPUs and replicas of the model; changing them changes no answer and runs nothing again."""

    def given(self) -> frozenset[str]:
        """Return the names of the settings that are given, ``reasoning.effort`` by itself."""
        effort = self.reasoning is not None and self.reasoning.effort is not None
        return frozenset({*self.model_fields_set, *(["reasoning.effort"] if effort else [])})

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> ModelSettings:
        """Return the settings among a model's arguments; the others are its backend's.

        Raises:
            pydantic.ValidationError: One of them has a wrong value.
        """
        return cls.model_validate({key: value for key, value in arguments.items() if key in cls.model_fields})
