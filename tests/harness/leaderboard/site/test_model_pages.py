"""What the runs of a model took together."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest

from harness.leaderboard.site.model_pages import totals
from harness.storage.results import RunRecord


def test_seconds_of_a_model_on_several_devices_count_for_each(make_run: Callable[..., RunRecord]) -> None:
    base = make_run("hf:org/alpha", "boolq", 0.8)
    runs = []
    for devices in (None, 1, 4, "many"):
        model = {"name": "hf:org/alpha"} if devices is None else {"name": "hf:org/alpha", "devices_at_once": devices}
        runs.append(
            dataclasses.replace(
                base, efficiency={"model_seconds": 10.0}, provenance={**base.provenance, "model": model}
            )
        )
    found = totals(runs)
    assert found["model_seconds"] == pytest.approx(40.0)
    assert found["device_seconds"] == pytest.approx(10 + 10 + 40 + 10)


def test_what_no_run_says_is_left_out(make_run: Callable[..., RunRecord]) -> None:
    assert totals([dataclasses.replace(make_run("hf:org/alpha", "boolq", 0.8), efficiency={})]) == {}
