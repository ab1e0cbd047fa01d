"""Plugins that take on a job of the harness's commands are found by it, and exactly one may."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from harness import Data, Instance, PluginError, Source, scenario
from harness.contamination import EXAMPLES_FILE, OPTION_TEST, ORDER_TEST, SEALED_DYE, SEALED_TEXTS
from harness.contracts.plugins import Kind
from harness.plugins.decorators import ATTRIBUTE
from harness.plugins.registry import default_registry


def test_each_job_of_the_contamination_test_has_its_plugin() -> None:
    registry = default_registry()
    assert registry.with_role(Kind.ADAPTER, ORDER_TEST).name == "exchangeability"
    assert registry.with_role(Kind.ADAPTER, OPTION_TEST).name == "option_order"
    assert registry.with_role(Kind.SCENARIO, EXAMPLES_FILE).name == "published_file"
    assert registry.with_role(Kind.SCENARIO, SEALED_TEXTS).name == "sealed_texts"
    assert registry.with_role(Kind.SCENARIO, SEALED_DYE).name == "sealed_dye"


def test_a_job_that_no_plugin_or_a_second_one_takes() -> None:
    @scenario(
        "second_file",
        title="Another file",
        source="None",
        data=Source(),
        adapter={"method": "exchangeability"},
        metrics=("contamination",),
        main_metric="contamination",
        taxonomy={"task": "test", "what": "a file", "who": "anybody", "when": "any time", "language": "any"},
        role=EXAMPLES_FILE,
    )
    def second_file(data: Data) -> Iterator[Instance]:
        """Another file of examples."""
        yield Instance("1", "one")

    registry = default_registry()
    with pytest.raises(PluginError, match="found: none"):
        registry.with_role(Kind.METRIC, EXAMPLES_FILE)
    registry.add(getattr(second_file, ATTRIBUTE))
    with pytest.raises(PluginError, match="found: published_file, second_file"):
        registry.with_role(Kind.SCENARIO, EXAMPLES_FILE)
