"""What it takes to evaluate an instance: questions, tokens and time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from harness import COUNT, Estimate, Example, InstanceTable, RunMetric, median_estimate, metric

_NAMES = ("queries", "prompt_tokens", "completion_tokens", "seconds")


@metric(
    "efficiency",
    category="efficiency",
    scale="count",
    higher_is_better=False,
    gives=(*_NAMES, "seconds_median"),
    represents="seconds",
    source="Liang et al. 2022, section 4.9 and appendix C.6",
)
class Efficiency(RunMetric):
    """Means over instances of ``queries``, ``prompt_tokens``, ``completion_tokens``, ``seconds``; ``seconds_median``.

    Queries are the requests that an instance becomes. Tokens are counted by the model's own tokenizer; completion
    tokens are those generated, or scored. Seconds are the requests' share of the model's wall time when they were
    answered: an answer from the cache keeps the time of when it was computed. A mean of seconds may rest on a few slow
    instances, so that their median is given, too. At least 0, and lower is better. What a
    model does not say of an instance's requests (unknown tokens, no time) is left out of the mean, never counted as 0.
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
        found = {name: self._table.mean_estimate(name, COUNT) for name in _NAMES if name in self._table}
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
