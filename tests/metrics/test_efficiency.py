"""What an instance takes; what a model does not say is no zero."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from harness import Estimate, Example, GenerateRequest, Instance, Response
from metrics.efficiency import Efficiency

Estimated = Callable[..., Mapping[str, Estimate]]


def _asked(*responses: Response, id: str = "a", trial: int = 0) -> Example:
    return Example(Instance(id, ""), (GenerateRequest("x", 1),) * len(responses), responses, trial=trial)


def test_requests_of_an_instance_add_up_and_instances_are_averaged(estimated: Estimated) -> None:
    one = Response(prompt_tokens=10, completion_tokens=2, seconds=0.5)
    cached = Response(prompt_tokens=20, completion_tokens=4, seconds=1.5, cached=True)
    values = estimated(Efficiency(), _asked(one, cached), _asked(one, id="b"))
    assert {name: value.value for name, value in values.items()} == {
        "queries": 1.5,
        "prompt_tokens": 20.0,
        "completion_tokens": 4.0,
        "seconds_median": 1.25,
        "seconds": 1.25,
    }
    assert (values["queries"].min, values["queries"].max, values["queries"].count) == (1.0, 2.0, 2)


def test_trials_are_averaged_within_the_instance(estimated: Estimated) -> None:
    examples = [_asked(Response(prompt_tokens=tokens), trial=trial) for trial, tokens in enumerate((10, 30))]
    assert estimated(Efficiency(), *examples)["prompt_tokens"] == Estimate(
        20.0, 1, min=20.0, max=20.0, note="n too small for an interval"
    )


def test_unknown_numbers_are_left_out(estimated: Estimated) -> None:
    known, unknown = Response(prompt_tokens=10), Response()
    values = estimated(Efficiency(), _asked(known), _asked(known, unknown, id="b"))
    assert set(values) == {"queries", "prompt_tokens"}
    assert (values["prompt_tokens"].value, values["prompt_tokens"].count) == (10.0, 1)


def test_counts_of_one_are_no_proportion(estimated: Estimated) -> None:
    values = estimated(Efficiency(), *(_asked(Response(completion_tokens=1), id=str(number)) for number in range(12)))
    for name in ("queries", "completion_tokens"):
        assert (values[name].value, values[name].low, values[name].high) == (1.0, None, None)
        assert values[name].note == "all 12 values are 1"


def test_the_median_time_comes_with_the_mean(estimated: Estimated) -> None:
    times = [1.0] * 30 + [100.0]
    values = estimated(Efficiency(), *(_asked(Response(seconds=time), id=str(i)) for i, time in enumerate(times)))
    assert values["seconds"].value == pytest.approx(130 / 31)
    assert values["seconds"].note == "the mean may rest on rare long items"
    assert values["seconds"].low is not None
    assert values["seconds"].low >= 0.0
    median = values["seconds_median"]
    assert (median.value, median.low, median.high, median.stderr) == (1.0, 1.0, 1.0, None)
