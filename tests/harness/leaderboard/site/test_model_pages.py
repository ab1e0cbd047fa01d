"""The data of the models' pages: totals of costs, facts with their sources, suites and tests of contamination."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.contracts.specs import Component
from harness.leaderboard.site.addresses import address_of, model_address
from harness.leaderboard.site.builder import build_site
from harness.leaderboard.site.files import SiteFolder
from harness.leaderboard.site.model_facts import facts_of, tags_of
from harness.leaderboard.site.model_pages import totals
from harness.storage.results import RunRecord
from tests.harness.leaderboard.site.conftest import save


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


def known(run: RunRecord, model: dict[str, Any], about: dict[str, Any] | None, finished: str) -> RunRecord:
    """Return a run whose backend, and whose sweep, know facts about its model."""
    spec = run.spec.model_copy(update={"operational": {"about": about} if about else {}})
    return dataclasses.replace(run, spec=spec, provenance={**run.provenance, "model": model}, finished=finished)


def test_a_sweep_knows_better_than_the_card_and_the_card_better_than_the_backend(
    make_run: Callable[..., RunRecord],
) -> None:
    run = make_run("hf:org/alpha", "boolq", 0.8)
    of_backend = {"creator": "org", "access": "open weights", "parameters": 7, "architecture": "A", "window": 0}
    card = {"licence": "mit", "base_model": "org/base", "unheard_of": "x", "creator": ["not", "text"]}
    runs = [
        known(run, {"parameters": 8}, {"licence": "Apache-2.0", "tags": ["chat"]}, "2026-01-01"),
        known(run, {**of_backend, "card": card}, None, "2026-01-02"),
    ]
    assert facts_of(runs) == {
        "creator": ["org", "backend"],
        "access": ["open weights", "backend"],
        "parameters": [7, "counted"],
        "licence": ["Apache-2.0", "sweep"],
        "base_model": ["org/base", "card"],
        "architecture": ["A", "files"],
    }
    assert tags_of(runs) == ["chat"]


def page(site: Path, model: str) -> Any:
    return SiteFolder(site).read(f"models/{model_address(Component(name=model))}")


def test_a_model_is_shown_in_the_suite_that_the_leaderboard_shows_first(site: Path) -> None:
    found = page(site, "hf:org/alpha")
    names = [name for _, name, *_ in found["suites"]]
    assert names[0] == "second"
    assert sorted(names) == ["first", "order", "second"]
    costs = {name: each for _, name, each, _ in found["suites"]}
    assert costs["first"]["queries"] == 3 * 40
    assert sum(each["queries"] for each in costs.values()) == found["about"]["queries"]


def test_contamination_is_a_verdict_with_a_corrected_p_value(site: Path) -> None:
    (alpha,), (beta,) = (page(site, f"hf:org/{name}")["contamination"] for name in ("alpha", "beta"))
    assert (alpha["shown"], alpha["log10_p"]) == (True, -12.5)
    assert (beta["shown"], beta["verdict"]) == (False, "no dependence found")
    assert page(site, "hf:org/gamma")["contamination"] == []


def test_ratings_that_a_run_counts_are_on_the_models_page(tmp_path: Path, make_run: Callable[..., RunRecord]) -> None:
    number = {"value": 3.5, "sd": 1.0, "ci95": [3.0, 4.0], "ratings": 20, "items": 10, "instances": 10, "raters": 2}
    rated = {"questionnaire": "helpfulness", "questions": {"helpful": {**number, "alpha": None}}}
    run = save(tmp_path / "results", make_run("hf:a", "boolq", 0.5), details={"rated": {"test": {"original": rated}}})
    save(tmp_path / "results", make_run("hf:b", "boolq", 0.5))
    built = build_site(tmp_path / "results", tmp_path / "site").parent
    expected = {"run": address_of(run), "scenario": "boolq", "study": "helpfulness", "questions": rated["questions"]}
    assert page(built, "hf:a")["ratings"] == [expected]
    assert page(built, "hf:b")["ratings"] == []
