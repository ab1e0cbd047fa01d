"""Checks that the files of a HELM run belong together, and that its means are those of its instances' scores."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.errors import DataError, shown
from harness.imports.helm_examples import Key, instance_key
from harness.imports.mean_checks import Limits, check_mean, checked_number

MEANS = frozenset(
    {
        *("exact_match", "quasi_exact_match", "prefix_exact_match", "quasi_prefix_exact_match"),
        *("exact_match_indicator", "final_number_exact_match", "math_equiv", "math_equiv_chain_of_thought"),
        *("f1_score", "f1_set_match", "rouge_1", "rouge_2", "rouge_l", "bleu_1", "bleu_4"),
    }
)
"""HELM's metrics that are means of their instances' scores."""


def check_state(state: Mapping[str, Any], adapter: Mapping[str, Any], file: Path, *, own: bool) -> None:
    """Check that request states are of the run's method and model, and that none is listed twice.

    Raises:
        DataError: They are not, or an answer has no usable log-probability.
    """
    for key, value in (state.get("adapter_spec") or {}).items():
        if key in adapter and value != adapter[key]:
            message = f"adapter_spec.{key} is {shown(value, 40)}, but {shown(adapter[key], 40)} in run_spec.json"
            raise DataError(f"{message}: the states are of another run.", file=file)
    seen: set[tuple[Any, ...]] = set()
    for number, one in enumerate(state["request_states"]):
        reference = one.get("reference_index")
        place = (*instance_key(one), reference, one.get("request_mode"))
        if place in seen and not (own and reference is None):  # our methods may ask about an instance in several turns
            raise DataError(f"request_states[{number}] is listed twice (instance {place[0]!r}).", file=file)
        seen.add(place)
        for index, completion in enumerate((one.get("result") or {}).get("completions") or ()):
            logprob = completion.get("logprob")
            if logprob is not None:
                key = f"request_states[{number}].result.completions[{index}].logprob"
                checked_number(logprob if logprob != -math.inf else 0.0, key, file)


def check_same_instances(state: Mapping[str, Any], scored: Container[Key], file: Path, instances: str) -> None:
    """Check that every request state is of an instance with stats.

    Raises:
        DataError: One is not.
    """
    for number, one in enumerate(state["request_states"]):
        key = instance_key(one)
        if key not in scored:
            copy = "" if key[1] is None else f" ({key[1]})"
            message = f"request_states[{number}] is of instance {key[0]!r}{copy}, which {instances} does not have"
            raise DataError(f"{message}: the files are of different runs.", file=file)


def stat_mean(item: Mapping[str, Any], place: int, file: Path, limits: Limits) -> float | None:
    """Return the mean of a stat; None if it has no values.

    Raises:
        DataError: It is not a number, or impossible.
    """
    name = str(item["name"]["name"])
    key = f"[{place}].mean ({name})"
    if item.get("mean") is None and not item.get("count"):
        return None
    low, high = limits(name)
    return checked_number(item.get("mean"), key, file, low=low, high=high)


def check_stat_mean(mean: float, place: int, name: str, scores: Sequence[float], file: Path, instances: Path) -> None:
    """Check that a mean is that of its instances.

    Args:
        mean: The mean.
        place: The stat's number in the file.
        name: The metric.
        scores: One for each instance.
        file: The file of stats.
        instances: The file of instances.

    Raises:
        DataError: It is not.
    """
    key = f"[{place}].mean ({name})"
    if not scores:
        raise DataError(f"has no scores for {key} of {file.name}, which is {mean:g}.", file=instances)
    check_mean(mean, key, file, scores, f"instances in {instances.name}")
