"""The examples in the docstrings of what a plugin may be run as they are, and are accepted as plugins."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterator
from typing import Any

import pytest

import harness
from harness import Adapter, Data, Judge, Model, RunMetric
from harness.plugins.decorators import ATTRIBUTE
from harness.plugins.registry import Registry


def example(contract: type) -> dict[str, Any]:
    """Run the block that follows ``::`` in a docstring, with the public names, and return what it defines."""
    block = inspect.getdoc(contract).split("::\n", 1)[1]  # type: ignore[union-attr]
    code = textwrap.dedent("\n".join(line for line in block.splitlines() if not line or line.startswith("    ")))
    public = {name: getattr(harness, name) for name in dir(harness) if not name.startswith("_")}
    names: dict[str, Any] = {"Iterator": Iterator, **public}
    known = {*names, "__builtins__"}
    exec(compile(code, contract.__name__, "exec", dont_inherit=True), names)  # noqa: S102
    return {name: value for name, value in names.items() if name not in known}


@pytest.mark.parametrize("contract", [Adapter, Judge, Model, RunMetric])
def test_the_example_is_a_plugin(contract: type) -> None:
    made = [value for value in example(contract).values() if isinstance(value, type) and issubclass(value, contract)]
    assert len(made) == 1
    registry = Registry()
    registry.add(vars(made[0])[ATTRIBUTE])
    assert not registry.problems


def test_the_example_of_a_metric_measures() -> None:
    metric = example(RunMetric)["Longest"]()
    for text in ("one", "seventeen"):
        metric.add(harness.Example(harness.Instance(text, ""), prediction=text))
    assert metric.estimates()["longest"].value == 9


def test_the_example_of_a_model_answers() -> None:
    model = example(Model)["Echo"]("any")
    [(index, response)] = model.answer([harness.GenerateRequest("said", max_tokens=1)])
    assert (index, response.completions[0].text) == (0, "said")


def test_the_example_of_data_is_a_scenario_function() -> None:
    assert inspect.isgeneratorfunction(example(Data)["quiz"])
