"""``harness contamination options``, from a scenario to the verdict."""

from __future__ import annotations

import json
from typing import Any

import pytest

COMMAND = ("contamination", "options", "fake:0", "--data", "sample_multiple_choice", "--max-eval-instances", "12")


@pytest.mark.usefixtures("folder")
def test_a_model_is_tested_and_reported(harness: Any) -> None:
    said = harness(*COMMAND)
    assert said.code == 0
    assert "sample_multiple_choice" in said.out
    assert "no dependence found" in said.out
    [found] = json.loads(harness(*COMMAND, "--json").out)
    assert (found["n_questions"], found["scenario"]) == (12, "sample_multiple_choice")
    assert -3 < found["log10_p"] <= found["log10_p_holm"] <= 0
    assert found["first_rate_by_chance"] == pytest.approx(1 / 24)


@pytest.mark.usefixtures("folder")
def test_options_that_are_always_in_one_order_are_inconclusive(harness: Any) -> None:
    said = harness("contamination", "options", "fake:0", "--data", "sample_reading")
    assert said.code == 0
    assert "inconclusive: alphabetical order" in " ".join(said.out.split())


@pytest.mark.usefixtures("folder")
def test_questions_without_options(harness: Any) -> None:
    said = harness("contamination", "options", "fake:0", "--data", "sample_generation")
    assert said.code in (1, 2)
    assert "options" in said.err
    assert "Traceback" not in said.err
