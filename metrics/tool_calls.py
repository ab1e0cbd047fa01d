"""Function calling: the tools that a model calls, compared with the calls of a reference."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from typing import Any

from harness import Example, MetricError, metric

_SOURCE = "Patil et al. 2025, The Berkeley Function Calling Leaderboard (ICML 2025); equality as JSON is ours"

_Calls = Counter[tuple[str, Hashable]]
"""Calls by name and arguments, in a form in which equal JSON values are equal."""


@metric(
    "tool_call_accuracy",
    title="Tool-call accuracy",
    short="Calls",
    category="accuracy",
    scale="proportion",
    source=_SOURCE,
    votes=lambda example: _vote(example, _called(example)),
)
def tool_call_accuracy(example: Example) -> float | None:
    """1 if the model calls exactly the tools of a correct reference, with equal arguments, in any order; else 0.

    A reference is the JSON text of a list of calls, ``[{"name": "weather", "arguments": {"city": "Bern"}}]``, or of one
    call; calls as in OpenAI's API are understood too. ``[]`` is right if the model calls nothing. Several correct
    references are alternatives. Arguments are compared as JSON values: the order of an object's keys does not matter,
    1 equals 1.0, and texts must be the same. A missing argument is not replaced by its default. Arguments that are not
    a JSON object are wrong. The calls are those of the model's last answer. The mean lies between 0 and 1, and higher
    is better. Undefined without a correct reference.
    """
    return _best(example, lambda expected, called: float(expected == called))


@metric(
    "tool_name_accuracy",
    title="Tool-name accuracy",
    short="Tools",
    category="accuracy",
    scale="proportion",
    source=_SOURCE,
    votes=lambda example: _vote(example, _names(_called(example))),
)
def tool_name_accuracy(example: Example) -> float | None:
    """1 if the model calls the tools of a correct reference, each as often as the reference, whatever the arguments.

    References are read as for tool_call_accuracy. The mean lies between 0 and 1, and higher is better.
    """
    return _best(example, lambda expected, called: float(_names(expected) == _names(called)))


@metric(
    "tool_call_f1",
    title="Tool-call F1",
    short="Calls F1",
    category="accuracy",
    scale="bounded",
    source=_SOURCE,
    votes=lambda example: _vote(example, _called(example)),
)
def tool_call_f1(example: Example) -> float | None:
    """F1 of the model's calls: 2 · calls that are also the reference's / (the model's calls + the reference's).

    Name and arguments must be equal, as for tool_call_accuracy; equal calls count as often as both have them. The
    largest over the correct references. Two empty lists agree (1). Between 0 and 1, and higher is better.
    """
    return _best(example, _f1)


def _best(example: Example, compare: Callable[[_Calls, _Calls], float]) -> float | None:
    called = _called(example)
    values = [compare(_reference(reference.text, example), called) for reference in example.correct]
    return max(values) if values else None


def _called(example: Example) -> _Calls:
    return _counted([(call.name, call.arguments) for call in example.tool_calls])


def _vote(example: Example, calls: Counter[Any]) -> Hashable | None:
    """Return what an example votes for among samples: its calls, of which there may be none; None if it declined."""
    return None if example.declined is not None else frozenset(calls.items())


def _f1(expected: _Calls, called: _Calls) -> float:
    size = expected.total() + called.total()
    return 2.0 * (expected & called).total() / size if size else 1.0


def _names(calls: _Calls) -> Counter[str]:
    names = Counter[str]()
    for (name, _), count in calls.items():
        names[name] += count
    return names


def _reference(text: str, example: Example) -> _Calls:
    """Return the calls of a reference.

    Raises:
        MetricError: It is not the JSON text of calls.
    """
    try:
        value = json.loads(text)
        calls = value if isinstance(value, list) else [value]
        functions = [call.get("function", call) for call in calls]
        return _counted([(_text(function["name"]), _object(function.get("arguments", {}))) for function in functions])
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise MetricError(
            f"instance {example.instance.id!r} has the reference {text[:100]!r}, which is not a list of calls in JSON: "
            '[{"name": …, "arguments": {…}}].'
        ) from None


def _counted(calls: list[tuple[str, Mapping[str, Any] | str]]) -> _Calls:
    return Counter((name, _comparable(arguments)) for name, arguments in calls)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value


def _object(value: Any) -> Mapping[str, Any]:
    read = json.loads(value) if isinstance(value, str) else value
    if not isinstance(read, Mapping):
        raise TypeError("not an object")
    return read


def _comparable(value: Any) -> Hashable:
    """Return a value that is equal for equal JSON values, and for no others: True is not 1."""
    if isinstance(value, Mapping):
        return ("object", frozenset((key, _comparable(item)) for key, item in value.items()))
    if isinstance(value, list | tuple):
        return ("list", tuple(map(_comparable, value)))
    kind = "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__
    return (kind, value)
