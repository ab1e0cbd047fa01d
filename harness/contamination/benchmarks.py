"""Benchmarks of several files, such as MMLU: the files are a family, and together one test of their model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness.contamination.order_tests import JudgedTest, combined, corrected
from harness.contamination.statistics.verdict import Verdict, verdict


@dataclass(frozen=True, slots=True)
class Benchmark:
    """The files of one benchmark under one model."""

    name: str
    """The benchmark's name: that of its scenario."""
    files: tuple[JudgedTest, ...]
    """The tests that count, one for each testable file."""
    log10_p: float
    """Log10 of Fisher's combination of the files."""
    log10_p_holm: float
    """It, corrected over the model's family."""
    not_testable: int = 0
    """Number of further files whose order cannot be tested."""
    log10_q_bh: float | None = None
    """Benjamini and Hochberg's correction over that family, made for a report."""
    log10_q_by: float | None = None
    """Benjamini and Yekutieli's."""

    @property
    def alpha(self) -> float:
        """The level: the smallest of its files'."""
        return min(test.alpha for test in self.files)

    @property
    def verdict(self) -> Verdict:
        """The verdict on all files together."""
        words = verdict(min(0.0, self.log10_p_holm), self.alpha)
        in_doubt = words is Verdict.DETECTED and any(test.doubted for test in self.files)
        return Verdict.IN_DOUBT if in_doubt else words

    @property
    def used(self) -> int:
        """Number of examples in the combined files."""
        return sum(int(test.found.get("n_used") or 0) for test in self.files)

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "name": self.name,
            "files": len(self.files) + self.not_testable,
            "files_combined": len(self.files),
            "n_used": self.used,
            "log10_p": self.log10_p,
            "log10_p_holm": self.log10_p_holm,
            "log10_q_bh": self.log10_q_bh,
            "log10_q_by": self.log10_q_by,
            "verdict": str(self.verdict),
        }


def benchmarks(judged: Sequence[JudgedTest]) -> list[Benchmark]:
    """Return the benchmarks of several files among the judged tests of one model, in the tests' order."""
    counting = [test for test in judged if test.counts]
    _, p_values = corrected(counting)
    found = []
    for name, log10_p_holm in p_values.items():
        files = tuple(test for test in counting if test.family == name)
        others = {test.scenario for test in judged if not (test.testable or test.control) and test.benchmark == name}
        left_out = len(others - {test.scenario for test in files})
        found.append(Benchmark(name, files, combined(files), log10_p_holm, left_out))
    return found
