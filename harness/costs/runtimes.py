"""Per-model latencies on a quiet or an ideal machine, from a YAML table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from harness.yaml_lines import load_as


@dataclass(frozen=True, slots=True)
class Runtime:
    """The latency of a model's answers, interpolated between measured points."""

    prompt: Mapping[int, float]
    """Seconds to read a prompt, by its number of tokens."""
    per_output_token: float
    """Seconds for each token generated after the first."""
    overhead: float = 0.0
    """Seconds for each request, whatever its length."""

    def seconds(self, prompt_tokens: int, output_tokens: int) -> float:
        """Return what one request takes, in seconds.

        A prompt is read as fast, token for token, as the shortest prompt of the table that is no shorter; one longer
        than all, as fast as the longest. The first token generated comes with the reading.

        Source: Liang et al. 2022, section 4.9; HELM, efficiency_metrics.py.

        Args:
            prompt_tokens: Tokens of the prompt.
            output_tokens: Tokens generated, of all completions together; 0 where a text is only scored.
        """
        known = min((length for length in self.prompt if length >= prompt_tokens), default=max(self.prompt))
        reading = self.prompt[known] * prompt_tokens / known
        return reading + self.per_output_token * max(0, output_tokens - 1) + self.overhead


@dataclass(frozen=True, slots=True)
class Runtimes:
    """A model's runtimes."""

    denoised: Runtime | None = None
    """On the machine that serves it, with nothing else running; None if not known."""
    idealized: Runtime | None = None
    """On one kind of hardware and software for all models; None if not known."""


@dataclass(frozen=True, slots=True)
class RuntimeTable:
    """Runtimes by pattern of the model's name; the first that fits counts."""

    models: tuple[tuple[str, Runtimes], ...] = field(default=())

    def runtimes(self, model: str) -> Runtimes:
        """Return the runtimes of a model, ``backend:identifier``; empty ones where the table has none."""
        return next((found for pattern, found in self.models if fnmatchcase(model, pattern)), Runtimes())


def load_runtimes(file: Path | None) -> RuntimeTable:
    """Return the table in a file; an empty one without a file.

    Raises:
        SpecError: The file has errors; all of them are reported.
    """
    if file is None:
        return RuntimeTable()
    from pydantic import BaseModel, ConfigDict, Field
    from pydantic.types import NonNegativeFloat, PositiveInt

    class Line(BaseModel):
        model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
        prompt: dict[PositiveInt, NonNegativeFloat] = Field(min_length=1)
        per_output_token: NonNegativeFloat
        overhead: NonNegativeFloat = 0.0

    class Entry(BaseModel):
        model_config = ConfigDict(extra="forbid")
        denoised: Line | None = None
        idealized: Line | None = None

        def runtimes(self) -> Runtimes:
            lines = [
                None if line is None else Runtime(line.prompt, line.per_output_token, line.overhead)
                for line in (self.denoised, self.idealized)
            ]
            return Runtimes(*lines)

    class Table(BaseModel):
        model_config = ConfigDict(extra="forbid")
        models: dict[str, Entry]

    table = load_as(file, Table)
    return RuntimeTable(tuple((name, entry.runtimes()) for name, entry in table.models.items()))
