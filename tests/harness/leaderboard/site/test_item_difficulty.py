"""Items of a scenario by their mean score over models: counts, the extremes with ids and texts, and what is kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.leaderboard.site import item_difficulty
from harness.leaderboard.site.addresses import scenario_address
from harness.leaderboard.site.builder import build_site
from harness.leaderboard.site.files import SiteFolder
from tests.harness.leaderboard.site.conftest import Record, example, save


def items(site: Path, scenario: str = "boolq") -> Any:
    (found,) = SiteFolder(site).read(f"scenarios/{scenario_address(scenario)}/items")
    return found


def results(root: Path, make_run: Record, rights: dict[str, int], *, count: int = 20, copies: bool = False) -> Path:
    """Write models, each of which answers the first few questions correctly."""
    for model, right in rights.items():
        examples = [example(n, right=n < right, text="word " * 50 + f"End {n}?") for n in range(count)]
        copied = [example(n, right=False, perturbation="typos") for n in range(count)] if copies else []
        record = make_run(model, "boolq", right / count, count=count, metric="quasi_exact_match")
        save(root, record, [*examples, *copied])
    return root


def test_items_are_counted_by_the_share_of_models_that_are_right(tmp_path: Path, make_run: Record) -> None:
    root = results(tmp_path / "results", make_run, {"hf:a": 5, "hf:b": 10, "hf:c": 15, "hf:d": 15}, copies=True)
    found = items(build_site(root, tmp_path / "site").parent)
    assert (found["models"], found["items"]) == (4, 20)
    # Right by 4, 3, 2, 2 and no models: 5 items each; copies do not count.
    assert found["bins"] == [5, 0, 0, 0, 0, 5, 0, 5, 0, 5]
    assert (found["none"], found["all"]) == (5, 5)
    assert [item[:2] for item in found["hardest"]] == [[0.0, 4]] * 5 + [[0.5, 4]] * 3
    assert [item[3] for item in found["hardest"]][:5] == [f"test-{n}" for n in range(15, 20)]
    assert [item[3] for item in found["easiest"]][:5] == [f"test-{n}" for n in range(5)]
    assert found["hardest"][0][4].endswith("word End 15?"), "the end of a long text, where the question is"
    assert len(found["hardest"][0][4]) <= item_difficulty.LONGEST + 1


def test_scores_between_0_and_1_do_not_count_models_that_are_right(tmp_path: Path, make_run: Record) -> None:
    root = results(tmp_path / "right", make_run, {"hf:a": 5, "hf:b": 10})
    assert items(build_site(root, tmp_path / "site-of-right").parent)["binary"] is True
    for model in ("hf:a", "hf:b"):
        record = make_run(model, "boolq", 0.5, count=4, metric="quasi_exact_match")
        save(tmp_path / "half", record, [example(n, right=True) for n in range(4)], score=lambda _: 0.5)
    found = items(build_site(tmp_path / "half", tmp_path / "site-of-halves").parent)
    assert (found["hardest"][0][:2], found["binary"]) == ([0.5, 2], False)


def test_one_model_and_unbounded_scores_are_not_compared(tmp_path: Path, make_run: Record) -> None:
    root = results(tmp_path / "one", make_run, {"hf:a": 5})
    assert items(build_site(root, tmp_path / "site-of-one").parent) is None
    for model in ("hf:a", "hf:b"):
        record = make_run(model, "boolq", 2.0, metric="bits_per_byte", higher=False)
        save(tmp_path / "bits", record, [example(n, right=True) for n in range(4)], score=lambda _: 2.0)
    assert items(build_site(tmp_path / "bits", tmp_path / "site-of-bits").parent) is None


def test_what_was_found_is_kept_until_a_run_changes(
    tmp_path: Path, make_run: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = results(tmp_path / "results", make_run, {"hf:a": 5, "hf:b": 10})
    site = build_site(root, tmp_path / "site").parent
    before, read = items(site), item_difficulty._items
    asked: list[Any] = []

    def noted(*given: Any) -> Any:
        asked.append(given)
        return read(*given)

    monkeypatch.setattr(item_difficulty, "_items", noted)
    build_site(root, site)
    assert asked == []
    results(root, make_run, {"hf:b": 20})
    build_site(root, site)
    assert len(asked) == 1
    assert items(site)["none"] == 0 != before["none"]
