"""The cost of evaluating an instance: requests, tokens and time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from harness import Estimate, Example, RunMetric, metric
from harness.statistics import COUNT, InstanceTable, mean_estimate, median_estimate

_NAMES = ("queries", "prompt_tokens", "completion_tokens", "seconds")


@metric(
    "efficiency",
    title={
        "seconds": "Seconds per instance",
        "seconds_median": "Seconds per instance (median)",
        "queries": "Queries per instance",
        "prompt_tokens": "Prompt tokens per instance",
        "completion_tokens": "Completion tokens per instance",
    },
    short={
        "seconds": "Seconds",
        "seconds_median": "Seconds (median)",
        "queries": "Queries",
        "prompt_tokens": "Prompt tokens",
        "completion_tokens": "Output tokens",
    },
    category="efficiency",
    scale="count",
    higher_is_better=False,
    gives=(*_NAMES, "seconds_median"),
    represents="seconds",
    source="Liang et al. 2022, section 4.9 and appendix C.6",
)
class Efficiency(RunMetric):
    """Means over instances of ``queries``, ``prompt_tokens``, ``completion_tokens``, ``seconds``; ``seconds_median``.

    Queries are the requests about an instance. Tokens are counted by the model's own tokenizer; completion tokens are
    those generated, or scored. Seconds are the requests' share of the model's wall time; an answer from the cache
    counts with the time it took when it was computed. Since a few slow instances can dominate the mean of seconds, the
    median is given too. All are at least 0, and lower is better. If a model does not report tokens or time, the
    instance is left out of that mean, not counted as 0.
    """

    def __init__(self) -> None:
        self._table = InstanceTable()

    def add(self, example: Example) -> None:
        responses = example.responses
        seconds = sum(response.seconds for response in responses)
        measured = {
            "queries": float(len(example.requests)),
            "prompt_tokens": _total(response.prompt_tokens for response in responses),
            "completion_tokens": _total(response.completion_tokens for response in responses),
            "seconds": seconds if seconds > 0.0 else None,
        }
        row = self._table.row(example.instance.id)
        for name, value in measured.items():
            if value is not None:
                self._table.add(row, name, value)

    def estimates(self) -> Mapping[str, Estimate]:
        found = {name: mean_estimate(self._table.means(name), COUNT) for name in _NAMES if name in self._table}
        if "seconds" in found:
            found["seconds_median"] = median_estimate(self._table.means("seconds"))
        return found


def _total(counts: Iterable[int | None]) -> float | None:
    total = 0
    for count in counts:
        if count is None:
            return None
        total += count
    return float(total)
