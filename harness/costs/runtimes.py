"""Per-model latencies on a quiet or an ideal machine, from a YAML table."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field
from pydantic.types import NonNegativeFloat, PositiveInt

from harness.yaml_lines import load_as


class Runtime(BaseModel):
    """The latency of a model's answers, interpolated between measured points."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    prompt: dict[PositiveInt, NonNegativeFloat] = Field(min_length=1)
    """Seconds to read a prompt, by its number of tokens."""
    per_output_token: NonNegativeFloat
    """Seconds for each token generated after the first."""
    overhead: NonNegativeFloat = 0.0
    """Seconds for each request, whatever its length."""

    def seconds(self, prompt_tokens: int, output_tokens: int) -> float:
        """Return the latency of one request, in seconds.

        The prompt is read at the rate per token of the table's shortest prompt that is at least as long, else of its
        longest. The first generated token comes with the reading.

        Source: Liang et al. 2022, section 4.9; HELM, efficiency_metrics.py.

        Args:
            prompt_tokens: Tokens of the prompt.
            output_tokens: Generated tokens of all completions together; 0 if a text is only scored.
        """
        known = min((length for length in self.prompt if length >= prompt_tokens), default=max(self.prompt))
        reading = self.prompt[known] * prompt_tokens / known
        return reading + self.per_output_token * max(0, output_tokens - 1) + self.overhead


class Runtimes(BaseModel):
    """A model's runtimes."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    denoised: Runtime | None = None
    """On the machine that serves it, with nothing else running; None if not known."""
    idealized: Runtime | None = None
    """On one kind of hardware and software for all models; None if not known."""


class RuntimeTable(BaseModel):
    """Runtimes by pattern of the model's name; the first that matches counts."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    models: dict[str, Runtimes]

    def runtimes(self, model: str) -> Runtimes:
        """Return the runtimes of a model, ``backend:identifier``; empty ones if the table has none."""
        return next((found for pattern, found in self.models.items() if fnmatchcase(model, pattern)), Runtimes())


def load_runtimes(file: Path | None) -> RuntimeTable:
    """Return the table in a file; an empty one without a file.

    Raises:
        SpecError: The file has errors; all of them are reported.
    """
    return RuntimeTable(models={}) if file is None else load_as(file, RuntimeTable)
