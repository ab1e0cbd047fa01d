"""How long a kind of GPU would take for tokens, from what its data sheet says and what share of that is reached.

Reading prompts is bound by arithmetic, generating by reading the weights once for each token of many texts at a time::

    prompt       2 · parameters · tokens / (operations a second · share)
    generated    the same, and 2 bytes · parameters · tokens / (texts at once · bandwidth · share)
    loading      start, and 2 bytes · parameters / rate

Source of the operations: Kaplan et al. 2020, section 2.1. The shares are assumptions, not measurements.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from harness.errors import Diagnostic, SpecError, did_you_mean
from harness.yaml_lines import load, load_as

BUILT_IN = Path(__file__).with_name("gpus.yaml")
DEFAULT = "h100"
BYTES = 2
"""Bytes of a parameter, in 16 bits."""


class Gpu(BaseModel):
    """A kind of GPU, and how it is used."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    name: str
    """What it is called in the plan."""
    teraflops: float = Field(gt=0)
    """Dense 16-bit operations a second, in 10^12."""
    bandwidth: float = Field(gt=0)
    """Bytes a second of its memory, in 10^12."""
    memory: float = Field(gt=0)
    """Bytes of its memory, in 10^9."""
    compute_share: float = Field(0.45, gt=0, le=1)
    """Share of the operations that reading prompts reaches."""
    bandwidth_share: float = Field(0.55, gt=0, le=1)
    """Share of the bandwidth that generating reaches."""
    texts_at_once: float = Field(200, ge=1)
    """Texts that are generated side by side."""
    start_seconds: float = Field(35, ge=0)
    """Seconds to start a model's process, without its weights."""
    load_rate: float = Field(1.5, gt=0)
    """Bytes of weights loaded a second, in 10^9."""
    request_seconds: float = Field(0.0003, ge=0)
    """Seconds of the host for each request."""
    price: float | None = Field(None, ge=0)
    """Price of one GPU for an hour; None if not known."""
    currency: str = Field("USD", pattern="^[A-Z]{3}$")
    """Currency of the price, ISO 4217."""
    node: int = Field(8, ge=1)
    """GPUs of a machine."""

    def seconds(self, parameters: int, prompt: float, generated: float, requests: float, gpus: int = 1) -> float:
        """Return how long one replica takes for a number of tokens and requests.

        Args:
            parameters: The model's number of parameters.
            prompt: Tokens of all prompts.
            generated: Tokens of all completions.
            requests: Number of requests.
            gpus: GPUs of the replica, which are taken to share the work evenly.
        """
        arithmetic = 2 * parameters * (prompt + generated) / (self.teraflops * 1e12 * self.compute_share)
        reading = BYTES * parameters * generated / (self.texts_at_once * self.bandwidth * 1e12 * self.bandwidth_share)
        return (arithmetic + reading) / gpus + self.request_seconds * requests

    def loading(self, parameters: int) -> float:
        """Return the seconds until a replica gives its first answer."""
        return self.start_seconds + BYTES * parameters / (self.load_rate * 1e9)

    def needed(self, parameters: int) -> int:
        """Return how many GPUs hold the weights in nine tenths of their memory: a power of two."""
        gpus = 1
        while BYTES * parameters > 0.9 * self.memory * 1e9 * gpus:
            gpus *= 2
        return gpus

    def assumptions(self) -> list[str]:
        """Return what estimates assume, line by line."""
        return [
            f"{self.name}, {self.node} a machine, 16-bit weights",
            f"prompts at {self.compute_share:.0%} of {self.teraflops:g} TFLOP/s",
            f"generation at {self.bandwidth_share:.0%} of {self.bandwidth:g} TB/s, "
            f"{self.texts_at_once:g} texts at once",
            f"{self.start_seconds:g} s to start a model, and loading at {self.load_rate:g} GB/s",
            f"{1000 * self.request_seconds:g} ms of the host for each request",
        ]


def load_gpu(chosen: str) -> Gpu:
    """Return a kind of GPU by its name, or from a YAML file with the keys of :class:`Gpu`.

    Raises:
        SpecError: There is neither, or the file has errors.
    """
    if chosen.endswith((".yaml", ".yml")):
        return load_as(Path(chosen), Gpu)
    known = load(BUILT_IN).data
    if chosen.lower() not in known:
        hint = f"{did_you_mean(chosen, known)} Or write a YAML file with `name`, `teraflops`, `bandwidth` and `memory`."
        raise SpecError([Diagnostic((), "no such kind of GPU.", hint.strip(), f"--gpu {chosen}")])
    return Gpu.model_validate(known[chosen.lower()])
