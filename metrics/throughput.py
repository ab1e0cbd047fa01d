"""How fast a model answers: tokens per second, and seconds per request."""

from __future__ import annotations

from array import array
from collections.abc import Mapping

from harness import Estimate, Example, RunMetric, metric
from harness.statistics import InstanceTable, percentile_estimate, ratio_estimate

_SOURCE = "Liang et al. 2022, section 4.9 and appendix C.6"
_PERCENTILES = (50, 95, 99)


@metric(
    "tokens_per_second",
    title="Tokens per second",
    short="Tokens/s",
    category="efficiency",
    scale="count",
    higher_is_better=True,
    gives=("tokens_per_second",),
    source=_SOURCE,
)
class TokensPerSecond(RunMetric):
    """Σ completion tokens / Σ seconds: the tokens that a model generates, or scores, per second of its wall time.

    The sums run over the requests whose tokens and time are known. At least 0, and higher is better. The time of a
    request in a batch is its share of the batch's time, so that this is the throughput of the model as it was run.
    Answers from the cache count with the time they took when they were computed. The interval is that of a ratio of
    sums over instances, corrected for skewness and for long items.
    """

    def __init__(self) -> None:
        self._table = InstanceTable()

    def add(self, example: Example) -> None:
        for response in example.responses:
            if response.seconds > 0.0 and response.completion_tokens is not None:
                row = self._table.row(example.instance.id)
                self._table.add(row, "tokens", response.completion_tokens)
                self._table.add(row, "seconds", response.seconds)

    def estimates(self) -> Mapping[str, Estimate]:
        seconds = self._table.sums("seconds")
        return {"tokens_per_second": ratio_estimate(self._table.sums("tokens"), seconds, low=0.0)} if seconds else {}


@metric(
    "latency",
    title={"latency": "Latency", "latency_p*": "Latency (*th percentile)"},
    short={"latency_p*": "Latency p*"},
    category="efficiency",
    scale="count",
    higher_is_better=False,
    gives=("latency_p*",),
    source=f"{_SOURCE}; Hyndman and Fan 1996, type 7; Conover 1999, section 3.2",
)
class Latency(RunMetric):
    """Percentiles of the seconds per request: ``latency_p50``, ``latency_p95`` and ``latency_p99``.

    At least 0 seconds, and lower is better. A percentile between two requests is interpolated. The interval makes no
    assumption about the distribution of the times: its ends are the order statistics between which the percentile lies
    with a probability of at least 95 %. It needs 6 requests for the median, 72 for the 95th and 368 for the 99th
    percentile. There is no standard error. ``count`` is the number of requests whose time is known. The time of a
    request in a batch is its share of the batch's time, so that this is what a request costs, not how long a user
    waits. Answers from the cache count with the time they took when they were computed.
    """

    def __init__(self) -> None:
        self._seconds = array("d")

    def add(self, example: Example) -> None:
        self._seconds.extend(response.seconds for response in example.responses if response.seconds > 0.0)

    def estimates(self) -> Mapping[str, Estimate]:
        seconds = self._seconds
        return {f"latency_p{share}": percentile_estimate(seconds, share / 100) for share in _PERCENTILES if seconds}
