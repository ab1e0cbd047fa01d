"""How likely it is that one of k programs passes a problem's tests."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import Field

from harness import Example, ExampleMetric, MetricError, metric
from metrics._code_sandbox import IMAGE, Isolation, Kind, Limits, Program, choose, describe, passes
from metrics._text.code_blocks import last_code_block

_LOG = logging.getLogger(__name__)

Counts = Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(min_length=1)]


@metric(
    "pass_at_k",
    title={"pass_at_k": "pass@k", "pass@*": "pass@*"},
    category="accuracy",
    scale="bounded",
    gives=("pass@*",),
    attempts="pass@*",
    source="Chen et al. 2021 (Codex), section 2.1, equation 1",
)
class PassAtK(ExampleMetric):
    """Unbiased estimate of the probability that one of k completions passes the tests: ``pass@1`` … ``pass@k``.

    With n completions of which c pass, pass@k = 1 − C(n−c, k) / C(n, k). The completions are those of one answer
    (``num_outputs``), or the run's ``samples``. The mean over problems lies between 0 and 1, and higher is better. A
    program consists of the instance's ``meta["prefix"]`` and the completion as written; it passes if ``meta["tests"]``
    run to the end in time and without an exception. The tests run in a process of their own and call the program's
    functions in another process. ``meta["entry_point"]`` names the function under test, which is needed only if it has
    the name of a Python built-in. An empty completion is a program like any other.

    The model's code is executed in the strongest isolation that works on this machine: a container (Podman or Docker),
    bubblewrap, or Linux namespaces; docs/code_execution.md describes them. The isolation used is logged and recorded in
    the details of run.json.

    Args:
        allow_code_execution: Must be true: your confirmation that this machine may execute the model's code. A sweep
            without it is refused before anything runs.
        code_block: Run the last fenced block of the answer, or all of it if it has none, as chat models answer.
        k: Values of k (default: 1 and the number of completions). With ``samples``, write ``reductions: [pass@10]``.
        timeout: Time limit of a program, in seconds.
        memory: Address space of each of its processes, in MiB.
        isolation: The weakest isolation that you accept; the strongest that works is used. ``weak`` isolates hardly at
            all.
        image: The image for containers; it must be present, since none is downloaded.

    Raises:
        MetricError: No isolation that is strong enough works here, an instance has no tests, or it has fewer
            completions than some k.
    """

    def __init__(
        self,
        *,
        allow_code_execution: Annotated[
            Literal[True], Field(description="your confirmation that this machine may execute the model's code")
        ],
        code_block: bool = False,
        k: Counts | None = None,
        timeout: Annotated[float, Field(gt=0.0)] = 3.0,
        memory: Annotated[int, Field(ge=64)] = 1024,
        isolation: Kind = "namespaces",
        image: str = IMAGE,
    ) -> None:
        self._isolation = choose(isolation, image)
        self._k, self._limits = k, Limits(seconds=timeout, memory=memory)
        self._code_block = code_block
        announce(self._isolation)

    def __call__(self, example: Example) -> dict[str, float | None]:
        meta = example.instance.meta
        if not isinstance(meta.get("tests"), str):
            raise MetricError("the instance has no 'tests' in its meta data.")
        programs = example.predictions or (example.prediction,)
        numbers = dict.fromkeys(self._k or (1, len(programs)))
        if max(numbers) > len(programs):
            raise MetricError(shown_count(max(numbers), len(programs)))
        prefix, entry_point = str(meta.get("prefix", "")), str(meta.get("entry_point", ""))
        code = {text: last_code_block(text) if self._code_block else text for text in programs}
        known = {
            text: passes(Program(code[text], meta["tests"], prefix, entry_point), self._isolation, self._limits)
            for text in dict.fromkeys(programs)
        }
        return {f"pass@{number}": pass_at_k_estimate([known[text] for text in programs], number) for number in numbers}

    def details(self) -> Mapping[str, Any]:
        return describe(self._isolation)


@cache
def announce(isolation: Isolation) -> None:
    """Log once which isolation is used, for whoever allowed the code to be executed."""
    _LOG.warning("Programs are executed in %s isolation: %s.", isolation.kind, isolation.what)


def shown_count(k: int, completions: int) -> str:
    """Return what to say where there are too few completions."""
    return (
        f"pass@{k} needs {k} completions, but there are {completions}. For the run's samples, leave k out and write "
        f"reductions: [pass@{k}]."
    )


def pass_at_k_estimate(passed: Sequence[bool], k: int) -> float:
    """Return 1 − C(n−c, k) / C(n, k) for n flags of which c are true (Chen et al. 2021, equation 1).

    Raises:
        ValueError: k is below 1 or above n.
    """
    count, right = len(passed), sum(passed)
    if not 1 <= k <= count:
        raise ValueError(f"pass@{k} cannot be estimated from {count} completions")
    return 1.0 - math.comb(count - right, k) / math.comb(count, k)
