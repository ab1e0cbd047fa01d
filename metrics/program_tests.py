"""Programs run on test cases: inputs with their outputs, arguments with their values, or assertions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from harness import Example, ExampleMetric, MetricError, metric
from metrics._code_sandbox import IMAGE, Kind, Limits, Program, choose, describe, verdicts
from metrics._text.code_blocks import last_code_block
from metrics.pass_at_k import Counts, announce, pass_at_k_estimate, shown_count

_KINDS: tuple[frozenset[str], ...] = (
    frozenset({"stdin", "stdout"}),
    frozenset({"arguments", "returns"}),
    frozenset({"assert"}),
)


@metric(
    "program_tests",
    title={
        "program_tests": "Program tests",
        "test_avg": "Test cases passed",
        "strict_acc": "All test cases passed",
        "pass@*": "pass@*",
    },
    short={"test_avg": "Tests", "strict_acc": "All tests"},
    category="accuracy",
    scale="bounded",
    gives=("test_avg", "strict_acc", "pass@*"),
    attempts="pass@*",
    source="Hendrycks et al. 2021 (APPS), section 4; Jain et al. 2024 (LiveCodeBench); Chen et al. 2021 for pass@k",
)
class ProgramTests(ExampleMetric):
    """Share of a problem's test cases that a program passes (``test_avg``), and 1 if it passes all (``strict_acc``).

    The instance's ``meta["cases"]`` is a list of cases, all of one kind:

    - ``{stdin: text, stdout: text}`` for a whole program: what it prints is compared;
    - ``{arguments: [...], returns: value}`` for a function: what it returns is compared as JSON, so that a tuple equals
      a list. ``meta["entry_point"]`` is its name; it may be a method of a class ``Solution``;
    - ``{assert: code}``: passes if it raises nothing.

    A program is ``meta["prefix"]`` and the completion. It runs from the start for each case, in a process of its own
    with the limit ``timeout``; all cases of a program share one sandbox with the limit ``total_timeout``, and those
    that do not end in time are not passed. Assertions share one process, and one that takes too long ends those after
    it. Leaving with ``sys.exit`` is not a failure.

    With ``comparison: lines`` (LiveCodeBench), an output is right if it has the expected lines in order, without
    whitespace around them; lines of numbers are compared by value. ``apps`` also accepts what APPS' own script does:
    blank lines are dropped, lines of one number each may differ by 1e-5 of their value, and lines and the words in
    them may come in any order, repetitions aside, with numbers rounded to three decimals; and a function may return the
    first element of the expected list.

    With several completions, ``test_avg`` and ``strict_acc`` are those of the best one, and ``pass@k`` is
    estimated for passing all cases, as by pass_at_k. All means lie between 0 and 1, and higher is better.

    Args:
        allow_code_execution: Must be true: your confirmation that this machine may execute the model's code. A sweep
            without it is refused before anything runs.
        code_block: Run the last fenced block of the answer, or all of it if it has none, as chat models answer.
        comparison: How outputs are compared: ``lines`` or ``apps``.
        k: Values of k (default: 1 and the number of completions). With ``samples``, write ``reductions: [pass@10]``.
        timeout: Time limit of a case, in seconds.
        total_timeout: Time limit of all cases of a program, in seconds.
        memory: Address space of each of its processes, in MiB.
        isolation: The weakest isolation that you accept; the strongest that works is used.
        image: The image for containers; it must be present, since none is downloaded.

    Raises:
        MetricError: No isolation that is strong enough works here, an instance has no cases, or it has fewer
            completions than some k.
    """

    def __init__(
        self,
        *,
        allow_code_execution: Annotated[
            Literal[True], Field(description="your confirmation that this machine may execute the model's code")
        ],
        code_block: bool = False,
        comparison: Literal["lines", "apps"] = "lines",
        k: Counts | None = None,
        timeout: Annotated[float, Field(gt=0.0)] = 6.0,
        total_timeout: Annotated[float, Field(gt=0.0)] = 60.0,
        memory: Annotated[int, Field(ge=64)] = 1024,
        isolation: Kind = "namespaces",
        image: str = IMAGE,
    ) -> None:
        self._isolation = choose(isolation, image)
        self._code_block, self._comparison, self._k, self._timeout = code_block, comparison, k, timeout
        self._limits = Limits(seconds=total_timeout, memory=memory)
        announce(self._isolation)

    def __call__(self, example: Example) -> dict[str, float | None]:
        cases = _cases(example)
        programs = example.predictions or (example.prediction,)
        numbers = dict.fromkeys(self._k or (1, len(programs)))
        if max(numbers) > len(programs):
            raise MetricError(shown_count(max(numbers), len(programs)))
        passed = {text: self._run(text, cases, example) for text in dict.fromkeys(programs)}
        every = [all(passed[text]) for text in programs]
        return {
            "test_avg": max(sum(one) / len(one) for one in passed.values()),
            "strict_acc": float(any(every)),
            **{f"pass@{number}": pass_at_k_estimate(every, number) for number in numbers},
        }

    def details(self) -> Mapping[str, Any]:
        return describe(self._isolation)

    def _run(self, text: str, cases: Sequence[Mapping[str, Any]], example: Example) -> list[bool]:
        meta = example.instance.meta
        code = last_code_block(text) if self._code_block else text
        program = Program(code, "", str(meta.get("prefix", "")), str(meta.get("entry_point", "")))
        return verdicts(
            program,
            cases,
            self._isolation,
            self._limits,
            case_seconds=self._timeout,
            comparison=self._comparison,
        )


def _cases(example: Example) -> Sequence[Mapping[str, Any]]:
    """Return an instance's cases.

    Raises:
        MetricError: It has none, or they are not of one of the kinds.
    """
    cases, name = example.instance.meta.get("cases"), f"instance {example.instance.id!r}"
    if not isinstance(cases, Sequence) or isinstance(cases, str) or not cases:
        raise MetricError(f"{name} has no list of 'cases' in its meta data.")
    kinds = {frozenset(case) if isinstance(case, Mapping) else frozenset() for case in cases}
    kind = next(iter(kinds)) if len(kinds) == 1 else frozenset()
    if kind not in _KINDS:
        raise MetricError(
            f"the cases of {name} must all be {{stdin, stdout}}, all {{arguments, returns}}, or all {{assert}}."
        )
    texts = kind - {"arguments", "returns"}
    if not all(isinstance(case[key], str) for case in cases for key in texts):
        raise MetricError(f"{' and '.join(sorted(texts))} of the cases of {name} must be texts.")
    if "arguments" in kind:
        if not all(isinstance(case["arguments"], Sequence) for case in cases):
            raise MetricError(f"arguments of the cases of {name} must be lists.")
        if not example.instance.meta.get("entry_point"):
            raise MetricError(f"{name} has cases with arguments, but its meta data have no 'entry_point'.")
    return cases
