"""How likely one of k programs passes a problem's tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from harness import Example, MetricError, metric
from metrics.code_sandbox import Limits, passes

Counts = Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(min_length=1)]


@metric("pass_at_k", category="accuracy", gives=("pass@*",), source="Chen et al. 2021 (Codex), section 2.1, equation 1")
def pass_at_k(
    example: Example,
    *,
    allow_code_execution: Annotated[
        Literal[True], Field(description="your word that this machine may execute the model's code")
    ],
    k: Counts | None = None,
    timeout: Annotated[float, Field(gt=0.0)] = 3.0,
    memory: Annotated[int, Field(ge=64)] = 1024,
) -> dict[str, float]:
    """Unbiased estimate of the probability that one of k completions passes the tests: ``pass@1`` … ``pass@k``.

    With n completions of which c pass, pass@k = 1 − C(n−c, k) / C(n, k). The mean over problems lies between 0 and 1,
    and higher is better. A program is the instance's ``meta["prefix"]``, the completion as it was written, and
    ``meta["tests"]``; it passes if it comes to its end without an exception and in time. An empty completion is a
    program like any other.

    It executes what the model wrote, each program in a process of its own with limits (see ``metrics.code_sandbox``),
    which is no wall against code that means harm: evaluate in a container or a virtual machine.

    Args:
        example: Its instance has ``tests`` in ``meta``.
        allow_code_execution: Has to be there, and true: your word that this machine may execute the model's code. A
            sweep without it is refused before anything is run.
        k: The numbers of completions; by default 1 and the number there are.
        timeout: Seconds that a program may take.
        memory: MiB of address space that a program may use.

    Raises:
        MetricError: There are no tests, or fewer completions than some k.
    """
    meta = example.instance.meta
    if not isinstance(meta.get("tests"), str):
        raise MetricError("the instance has no 'tests' in its meta to execute.")
    programs = example.predictions or (example.prediction,)
    numbers = dict.fromkeys(k or (1, len(programs)))
    if max(numbers) > len(programs):
        raise MetricError(f"pass@{max(numbers)} needs as many completions, and there are {len(programs)}.")
    limits = Limits(seconds=timeout, memory=memory)
    known: dict[str, bool] = {}
    for text in programs:
        if text not in known:
            known[text] = passes(f"{meta.get('prefix', '')}{text}\n{meta['tests']}\n", limits)
    return {f"pass@{number}": pass_at_k_estimate([known[text] for text in programs], number) for number in numbers}


def pass_at_k_estimate(passed: Sequence[bool], k: int) -> float:
    """Return 1 − C(n−c, k) / C(n, k) for n flags of which c are true (Chen et al. 2021, equation 1).

    Raises:
        ValueError: k is below 1 or above n.
    """
    count, right = len(passed), sum(passed)
    if not 1 <= k <= count:
        raise ValueError(f"pass@{k} cannot be estimated from {count} completions")
    return 1.0 - math.comb(count - right, k) / math.comb(count, k)
