"""The leaderboard's page in a real browser: numbers, order, choices, tooltips, keys, cards, paper and exports."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
import time
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.contracts.scores import CompositeScore, ScoredRun, ScoreMember
from harness.contracts.specs import Component
from harness.leaderboard.aggregate import build_board
from harness.leaderboard.pairwise import Contest, ContestResult, column_ranks
from harness.leaderboard.site.addresses import address_of, model_address, scenario_address
from harness.leaderboard.site.boards import pair_scores
from harness.leaderboard.site.builder import build_site
from harness.leaderboard.win_rate import mean_win_rates
from harness.output import latex
from harness.storage.results import find_runs
from tests.harness.leaderboard.site.conftest import Record, Visit, save, stat

pytestmark = pytest.mark.slow

ALPHA, BETA, GAMMA = (model_address(Component(name=f"hf:org/{name}")) for name in ("alpha", "beta", "gamma"))
ALL = "board?suites=all"
ROWS = ".ag-row[row-id]"


def cell(page: Any, model: str, column: str) -> Any:
    """Return a cell of the grid."""
    return page.locator(f'.ag-row[row-id="{model}"] .ag-cell[col-id="{column}"]')


def heading(page: Any, column: str) -> Any:
    """Return the heading of a column."""
    return page.locator(f'.ag-header-cell[col-id="{column}"]')


def order(page: Any) -> list[str]:
    """Return the models' addresses from top to bottom."""
    rows = page.eval_on_selector_all(
        ROWS, "rows => rows.map(r => [Number(r.getAttribute('row-index')), r.getAttribute('row-id')])"
    )
    return [name for _, name in sorted(rows)]


def columns(page: Any) -> list[str]:
    """Return the names of the columns that follow the pinned ones."""
    found: list[str] = page.eval_on_selector_all(
        ".ag-header-cell[col-id]", "cells => cells.map(c => c.getAttribute('col-id'))"
    )
    return [name for name in found if name not in {"rank", "model", "rate", "covered"}]


def tip(visit: Visit, target: Any) -> str:
    """Return the tooltip of an element."""
    visit.page.mouse.move(0, 0)
    visit.until("document.getElementById('tip') === null || document.getElementById('tip').hidden")
    target.hover()
    visit.until("document.getElementById('tip') !== null && !document.getElementById('tip').hidden")
    text: str = visit.page.inner_text("#tip")
    return text


def test_the_numbers_are_those_of_the_leaderboard(visit: Visit, results: Path) -> None:
    board = build_board(find_runs(results))
    page = visit.go(ALL)
    assert order(page) == [model_address(Component(name=row.identifier)) for row in board.rows]
    for row in board.rows:
        assert row.win_rate is not None
        address = model_address(Component(name=row.identifier))
        assert (
            f"{row.win_rate.value:.3f}".replace("0.", ".", 1).replace("1.000", "1.00")
            in cell(page, address, "rate").inner_text()
        )
        first, last = row.win_rate.first, row.win_rate.last
        assert cell(page, address, "rank").inner_text() == (f"{first}" if first == last else f"{first}–{last}")
        assert f"{row.win_rate.value:.3f}" in tip(visit, cell(page, address, "rate"))
    assert cell(page, ALPHA, "boolq").inner_text().startswith(".800")
    assert cell(page, GAMMA, "imdb").locator(".failed").get_attribute("aria-label") == "failed"
    assert "the model fell over" in tip(visit, cell(page, GAMMA, "imdb"))
    assert cell(page, GAMMA, "covered").inner_text() == "2/3"
    assert "sample_reading" not in columns(page)


def test_the_newest_suite_is_shown_first(browser: Any, tmp_path: Path, make_run: Record) -> None:
    for suite, scenario, day in (("zeta", "boolq", 1), ("alpha", "imdb", 3), ("mid", "gsm8k", 2)):
        for model in ("hf:a", "hf:b"):
            save(
                tmp_path / "results",
                make_run(model, scenario, 0.5, suite=suite, finished=f"2025-01-0{day}T00:00:00+00:00"),
            )
    opened = Visit(browser, build_site(tmp_path / "results", tmp_path / "site").parent.as_uri())
    page = opened.go("")
    assert page.locator("#suite option:checked").inner_text() == "alpha · newest"
    assert columns(page) == ["imdb"]
    opened.after(lambda: page.select_option("#suite", label="zeta"))
    assert columns(page) == ["boolq"]
    opened.until("location.href.endsWith('suite=zeta')")
    opened.after(lambda: page.select_option("#suite", label="all suites"))
    assert sorted(columns(page)) == ["boolq", "gsm8k", "imdb"]
    opened.context.close()
    assert opened.wrong == []


def test_a_scenario_has_one_column_with_most_instances(browser: Any, tmp_path: Path, make_run: Record) -> None:
    for model, mean in (("hf:a", 0.3), ("hf:b", 0.6)):
        for limit, count in ((10, 10), (100, 100)):
            save(tmp_path / "results", make_run(model, "boolq", mean, limit=limit, count=count))
    opened = Visit(browser, build_site(tmp_path / "results", tmp_path / "site").parent.as_uri())
    page = opened.go("")
    (only,) = columns(page)
    assert "n = 100" in tip(opened, heading(page, only))
    page.click("#columns")
    assert page.locator("#columns-panel li:not(.group) input").count() == 2
    page.locator("#columns-panel .acts button", has_text="All").click()
    opened.until("document.querySelectorAll('.ag-header-cell').length === 6")
    opened.context.close()
    assert opened.wrong == []


def test_declined_answers_are_marked_on_every_page_that_shows_the_score(
    browser: Any, tmp_path: Path, make_run: Record
) -> None:
    served = [{"model": "another", "system_fingerprint": None, "answers": 100}]
    declining = make_run("openai:a", "boolq", 0.25, declined={"refusal": 20}, served=served)
    save(tmp_path / "results", declining)
    save(tmp_path / "results", make_run("openai:b", "boolq", 0.5))
    opened = Visit(browser, build_site(tmp_path / "results", tmp_path / "site").parent.as_uri())
    opened.page.goto("about:blank")
    told = "20 of 100 answers were declined (20 refusals)"
    page = opened.go("")
    address = model_address(Component(name="openai:a"))
    assert page.locator(".v.remark").count() == 1
    assert told in str(cell(page, address, "boolq").locator("a").get_attribute("aria-label"))
    assert told in tip(opened, cell(page, address, "boolq"))
    page = opened.go(f"scenario/{scenario_address('boolq')}")
    assert page.locator("main table").first.inner_text().count("⊘") == 1
    page = opened.go(f"model/{address}")
    assert "⊘" in page.locator("main").text_content()
    page = opened.go(f"run/{address_of(declining)}")
    assert "120 of 200 answers were declined" in page.locator("main").inner_text()
    assert "the server answered with 'another' (100 answers)" in page.locator("main").inner_text()
    opened.context.close()
    assert opened.wrong == []


def test_win_rates_of_what_is_shown_are_those_of_a_leaderboard_of_it(visit: Visit, results: Path) -> None:
    """The page's arithmetic against the builder's, on the runs that remain."""
    runs = [run for run in find_runs(results) if run.spec.model.name != "hf:org/gamma"]
    expected = {row.identifier: row.win_rate for row in build_board(runs).rows}
    page = visit.go(f"{ALL}&models={ALPHA},{BETA}")
    assert set(order(page)) == {ALPHA, BETA}
    for name, rate in expected.items():
        shown = tip(visit, cell(page, model_address(Component(name=name)), "rate"))
        assert rate is not None
        assert rate.low is not None
        assert f"Win rate {rate.value:.3f} [{rate.low:.2f}, {rate.high:.2f}]" in shown
    page = visit.go(f"{ALL}&without-models={GAMMA}")
    assert set(order(page)) == {ALPHA, BETA}


def test_a_scenario_asked_in_two_ways_counts_once_wherever_it_is_chosen(
    browser: Any, tmp_path: Path, make_run: Record
) -> None:
    """Columns chosen by hand against the builder's board of the same runs."""
    means = {
        ("boolq", "", 100): (0.9, 0.5, 0.1), ("boolq", "other", 100): (0.2, 0.6, 0.8),
        ("boolq", "", 20): (0.3, 0.2, 0.7), ("imdb", "", 100): (0.4, 0.8, 0.6), ("imdb", "other", 50): (0.5, 0.1, 0.9),
    }  # fmt: skip
    runs = {}
    for (scenario, prompt, count), values in means.items():
        about = {"name": scenario, **({"prompt": prompt} if prompt else {})}
        runs[scenario, prompt, count] = [
            save(tmp_path / "results", make_run(model, about, mean, count=count, limit=count, stderr=0.05))
            for model, mean in zip(("hf:a", "hf:b", "hf:c"), values, strict=True)
        ]
    site = build_site(tmp_path / "results", tmp_path / "site").parent
    opened = Visit(browser, site.as_uri())
    page = opened.go("board?columns=none")
    keys = page.evaluate(
        """async () => (await harness.get(`boards/${(await harness.get('site')).newest}`)).columns
            .map((c) => [c.key, c.scenario, c.prompted, c.count])"""
    )
    names = {(scenario, "other" if prompted else "", count): key for key, scenario, prompted, count in keys}
    for chosen in (
        [("boolq", "", 100), ("boolq", "other", 100)],
        [("boolq", "", 20), ("boolq", "other", 100), ("imdb", "", 100)],
        [("boolq", "other", 100), ("imdb", "other", 50), ("boolq", "", 20)],
        list(means),
    ):
        page = opened.go(f"board?columns={','.join(names[one] for one in chosen)}&tab=accuracy")
        page = opened.go(f"board?columns={','.join(names[one] for one in chosen)}")
        assert len(columns(page)) == len(chosen)
        for row in build_board([run for one in chosen for run in runs[one]]).rows:
            assert row.win_rate is not None
            shown = tip(opened, cell(page, model_address(Component(name=row.identifier)), "rate"))
            assert f"Win rate {row.win_rate.value:.3f}" in shown
            assert f"over {row.win_rate.columns} of {row.win_rate.of} columns" in shown
    opened.context.close()
    assert opened.wrong == []


def test_a_composite_score_says_what_it_is_the_mean_of(browser: Any, tmp_path: Path, make_run: Record) -> None:
    runs = [
        make_run(model, scenario, mean)
        for model, means in (("hf:a", (0.6, 0.8)), ("hf:b", (0.5, 0.9)))
        for scenario, mean in zip(("boolq", "imdb"), means, strict=True)
    ]
    members = tuple(
        ScoreMember(
            name=run.spec.scenario.name, runs=(ScoredRun(label="x", question=run.spec.question_digest, chance=0.5),)
        )
        for run in runs[:2]
    )
    score = CompositeScore(name="mean", title="Our mean", members=members)
    for run in runs:
        save(tmp_path / "results", replace(run, spec=run.spec.model_copy(update={"scores": (score,)})))
    opened = Visit(browser, build_site(tmp_path / "results", tmp_path / "site").parent.as_uri())
    page = opened.go("")
    shown = tip(opened, heading(page, "mean"))
    for words in (
        "Our mean", "Macro-average, rescaled from chance ↑", "Mean of 2 members", "each member counts the same",
        "0 is what guessing gets", "Higher is better", "Members: boolq, imdb", "Not in the win rate",
    ):  # fmt: skip
        assert words in shown
    opened.context.close()
    assert opened.wrong == []


def test_a_corner_marks_only_what_may_change_how_a_number_is_read(
    browser: Any, tmp_path: Path, make_run: Record
) -> None:
    for model, declined in (("hf:few", 2), ("hf:many", 30)):
        save(tmp_path / "results", make_run(model, "boolq", 0.5, declined={"refusal": declined}))
    opened = Visit(browser, build_site(tmp_path / "results", tmp_path / "site").parent.as_uri())
    page = opened.go("")
    few, many = (cell(page, model_address(Component(name=f"hf:{name}")), "boolq") for name in ("few", "many"))
    assert few.locator(".remark").count() == 0
    assert "2 of 100" in tip(opened, few)
    assert many.locator(".remark").count() == 1
    page.locator(".key .corner.warn").hover()
    opened.until("(document.getElementById('tip')?.innerText || '').includes('A brown corner')")
    opened.context.close()
    assert opened.wrong == []


def tables_of_chance() -> Iterator[tuple[list[str], list[int], list[Contest], list[dict[str, Any]]]]:
    """Yield names, the models that are kept, and contests with the same as the page reads it.

    Some models are without a result, some results without an error, some models left out.
    """
    rng = np.random.default_rng(1)
    for _ in range(20):
        size, count = int(rng.integers(2, 12)), int(rng.choice([20, 200, 2000]))
        names = [f"m{place:02d}" for place in range(size)]
        kept = [place for place in range(size) if rng.uniform() < 0.8]
        contests, measures = [], []
        for column in range(int(rng.integers(1, 30))):
            means = rng.uniform(0, 1, size)
            there = [place for place in range(size) if rng.uniform() < 0.85]
            entries = {
                names[place]: ContestResult(
                    float(means[place]),
                    float(np.sqrt(means[place] * (1 - means[place]) / count)) if rng.uniform() < 0.95 else None,
                    count,
                )
                for place in there
            }
            contests.append(Contest(f"{column:03d}", bool(rng.integers(2)), entries))
            cells = [[float(mean), 0, 0, count, 1] if at in there else None for at, mean in enumerate(means)]
            measures.append({"column": column, "higher": contests[-1].higher_is_better, "cells": cells})
        yield names, kept, contests, measures


def test_win_rates_and_ranks_in_the_page_equal_the_builder_s(visit: Visit) -> None:
    page = visit.go("")
    for names, kept, contests, measures in tables_of_chance():
        pairs = [pair_scores(contest, names) for contest in contests]
        rates, ranks = page.evaluate(
            """([measures, pairs, models, size]) => [[...harness.winRates(measures, pairs, models,
                new Set(measures.map((m) => m.column)), size, () => false, () => false)],
                measures.map((m, at) => [...harness.columnRanks(m, pairs[at], models, size, () => false)])]""",
            [measures, pairs, kept, len(names)],
        )
        shown = {names[place] for place in kept}
        left = [
            replace(one, results={name: entry for name, entry in one.results.items() if name in shown})
            for one in contests
        ]
        assert {names[place]: pytest.approx(rate) for place, rate in rates} == {
            name: [rate.value, rate.low, rate.high, rate.columns, rate.of, rate.first, rate.last]
            for name, rate in mean_win_rates(left).items()
        }
        for contest, found in zip(left, ranks, strict=True):
            assert {names[place]: tuple(range_) for place, range_ in found} == column_ranks(contest)


def test_headings_sort_and_the_address_keeps_the_order(visit: Visit) -> None:
    page = visit.go(f"{ALL}&tab=categories")
    heading(page, "calibration").click()
    assert order(page) == [ALPHA, BETA, GAMMA]
    heading(page, "calibration").click()
    assert order(page) == [GAMMA, BETA, ALPHA]
    assert heading(page, "calibration").get_attribute("aria-sort") == "ascending"
    visit.until("location.href.includes('sort=calibration')")
    page.reload()
    visit.drawn()
    assert order(page) == [GAMMA, BETA, ALPHA]


def test_a_lower_is_better_column_sorts_upwards_and_is_tinted_so(visit: Visit) -> None:
    page = visit.go(f"{ALL}&tab=calibration")
    heading(page, "boolq").click()
    assert order(page) == [ALPHA, BETA, GAMMA]
    assert cell(page, ALPHA, "boolq").locator(".h8").count() == 1
    assert cell(page, GAMMA, "boolq").locator(".h0").count() == 1
    assert "↓" in tip(visit, heading(page, "boolq"))


def test_the_keyboard_moves_sorts_and_opens(visit: Visit) -> None:
    page = visit.go(ALL)
    cell(page, ALPHA, "boolq").evaluate("cell => cell.focus()")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.closest('.ag-row').getAttribute('row-id')") == BETA
    page.keyboard.press("End")
    last = page.evaluate("document.activeElement.getAttribute('col-id')")
    assert last == columns(page)[-1]
    page.keyboard.press("Home")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    assert page.evaluate("document.activeElement.getAttribute('role')") == "columnheader"
    page.keyboard.press("Enter")
    assert order(page)[0] == GAMMA
    cell(page, BETA, "boolq").evaluate("cell => cell.focus()")
    visit.after(lambda: page.keyboard.press("Enter"))
    visit.until("location.href.includes('#/run/')")


def test_a_tooltip_follows_the_focus_and_escape_closes_it(visit: Visit) -> None:
    page = visit.go(ALL)
    cell(page, ALPHA, "boolq").evaluate("cell => cell.focus()")
    page.keyboard.press("ArrowDown")
    visit.until("!document.getElementById('tip').hidden")
    assert "0.600 ±0.040, n = 100" in page.inner_text("#tip")
    page.keyboard.press("Escape")
    assert page.locator("#tip").is_visible() is False


def test_models_are_chosen_by_typing_and_by_size(visit: Visit) -> None:
    page = visit.go(ALL)
    page.keyboard.press("m")
    assert page.evaluate("document.activeElement.id") == "models-panel-field"
    page.keyboard.type("beta")
    assert page.locator("#models-panel li").count() == 1
    page.locator("#models-panel .acts button", has_text="Only listed").click()
    visit.until("document.querySelectorAll('.ag-row').length === 1")
    assert order(page) == [BETA]
    assert page.locator("#models-panel").is_visible()
    page.locator("#models-panel .acts button", has_text="None").click()
    visit.until("document.querySelectorAll('.ag-row').length === 0")
    visit.until("location.href.includes('models=none')")
    page.locator("#models-panel .acts button", has_text="All").click()
    visit.until("document.querySelectorAll('.ag-row').length === 3")
    page.fill("#models-panel-field", "nobody")
    assert "Nothing matches “nobody”." in page.inner_text("#models-panel")
    page.fill("#models-panel-field", "")
    page.locator("#models-panel .chips button", has_text="complete").click()
    assert GAMMA not in [
        name.split("-panel-")[1]
        for name in page.eval_on_selector_all("#models-panel li input", "all => all.map(e => e.id)")
    ]
    page.keyboard.press("Escape")
    assert page.locator("#models-panel").is_visible() is False
    assert page.evaluate("document.activeElement.id") == "models"


@pytest.mark.parametrize("opener", ["models", "columns", "export"])
def test_the_focus_moves_in_the_task_that_opens_or_closes_a_panel(visit: Visit, opener: str) -> None:
    """Keys that follow at once must not go to what had the focus before."""
    page = visit.go(ALL)
    within, after = page.evaluate(
        """opener => {
            const button = document.getElementById(opener), panel = document.getElementById(`${opener}-panel`);
            document.activeElement.blur();
            button.click();
            const within = panel.contains(document.activeElement);
            panel.hidePopover();
            return [within, document.activeElement.id];
        }""",
        opener,
    )
    assert within
    assert after == opener


def test_the_chips_of_the_models_are_in_the_address(visit: Visit) -> None:
    page = visit.go(ALL)
    page.click("#models")
    visit.after(lambda: page.locator("#models-panel .chips button", has_text="complete").click())
    visit.until("location.href.includes('listed=complete')")
    assert page.locator(ROWS).count() == 3
    page.keyboard.press("Escape")
    page = visit.go(f"{ALL}&listed=complete on these columns,nonsense")
    assert "Unknown kind of models nonsense." in page.inner_text(".notice")
    page.click("#models")
    assert page.locator("#models-panel li").count() == 2
    assert page.locator("#models-panel .chips button[aria-pressed=true]").inner_text() == "complete on these columns"


def test_models_are_chosen_by_their_tags(browser: Any, tmp_path: Path, make_run: Record) -> None:
    for name, tags in (("a", ["chat"]), ("b", ["base"]), ("c", ["chat"])):
        save(tmp_path / "results", make_run({"name": f"hf:{name}", "about": {"tags": tags}}, "boolq", 0.5))
    opened = Visit(browser, build_site(tmp_path / "results", tmp_path / "site").parent.as_uri())
    page = opened.go("")
    page.click("#models")
    page.locator("#models-panel .chips button", has_text="chat").click()
    assert page.locator("#models-panel li").count() == 2
    opened.context.close()
    assert opened.wrong == []


def test_the_legend_shows_the_states_in_use(visit: Visit) -> None:
    assert "✕failed" in visit.go(ALL).inner_text(".key").replace("\n", "")
    assert "–not run" not in visit.page.inner_text(".key").replace("\n", "")
    assert "failed" not in visit.go(f"{ALL}&models={ALPHA},{BETA}").inner_text(".key")


def test_columns_are_chosen_by_name_and_by_group(visit: Visit) -> None:
    page = visit.go(ALL)
    before = columns(page)
    page.keyboard.press("c")
    page.locator("#columns-panel li", has_text="IMDB").locator(".only").click()
    visit.until("document.querySelectorAll('.ag-header-cell').length === 5")
    assert columns(page) == ["imdb"]
    visit.until("location.href.includes('columns=imdb')")
    page.go_back()
    page.goto(f"{visit.address}/index.html#/{ALL}&without-columns=imdb")
    visit.until("document.querySelectorAll('.ag-header-cell').length === 6")
    assert set(columns(page)) == set(before) - {"imdb"}


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory, make_run: Record) -> Path:
    """42 columns, some with long names, and 30 models, some with long names."""
    root = tmp_path_factory.mktemp("wide")
    scenarios: list[Any] = [{"name": "mmlu", "subject": f"a_subject_with_a_long_name_{n}"} for n in range(12)]
    scenarios += [f"scenario_with_a_rather_long_name_{n}" for n in range(29)] + ["boolq"]
    for m in range(30):
        model = f"hf:organisation/a-model-with-a-name-of-sixty-characters-number-{m:02d}"
        for n, scenario in enumerate(scenarios):
            mean = round(0.9 - 0.02 * m - 0.001 * n, 3)
            save(
                root / "results",
                make_run(model, scenario, mean, stderr=0.01, parts=()),
                stats=[stat("ece_10_bin", "calibration", 1 - mean, higher=False)],
            )
    return build_site(root / "results", root / "site").parent


def test_a_group_is_shown_alone_and_again_with_all(browser: Any, wide: Path) -> None:
    opened = Visit(browser, wide.as_uri(), viewport={"width": 1440, "height": 900})
    page = opened.go("")
    assert len(columns(page)) == 42
    page.locator(".ag-header-group-cell", has_text="MMLU").click()
    opened.until("document.querySelectorAll('.ag-header-cell').length === 16")
    assert all(name.startswith("mmlu") for name in columns(page))
    page.locator(".ag-header-group-cell", has_text="MMLU").click()
    opened.until("document.querySelectorAll('.ag-header-cell').length === 46")
    opened.context.close()
    assert opened.wrong == []


@pytest.mark.parametrize("width", [1440, 1024, 390])
def test_score_and_pattern_are_seen_without_scrolling(browser: Any, wide: Path, width: int) -> None:
    height = 844 if width == 390 else 900
    opened = Visit(browser, wide.as_uri(), viewport={"width": width, "height": height})
    page = opened.go("")
    scores = page.locator(".score")
    box = scores.first.bounding_box()
    assert box["x"] + box["width"] <= min(width, 430)
    assert box["y"] + box["height"] <= 320
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    if width == 1440:
        assert len(columns(page)) == 42
        ends = page.evaluate(
            "[...document.querySelectorAll('.ag-header-cell')].map(e => e.getBoundingClientRect().right)"
        )
        assert max(ends) <= 1440
        seen = page.evaluate(
            "[...document.querySelectorAll('.ag-row')].filter(e => e.getBoundingClientRect().bottom <= 900).length"
        )
        assert seen >= 24
        heights = set(
            page.evaluate("[...document.querySelectorAll('.ag-row')].map(e => e.getBoundingClientRect().height)")
        )
        assert heights == {24}
    opened.context.close()
    assert opened.wrong == []


@pytest.mark.parametrize("width", [1440, 1024])
def test_no_heading_is_wider_than_its_box(browser: Any, wide: Path, width: int) -> None:
    opened = Visit(browser, wide.as_uri(), viewport={"width": width, "height": 900})
    for query in ("", "board?width=full", "board?tab=categories", "board?tab=calibration"):
        outside = opened.go(query).evaluate(
            """() => {
              const inner = ".ag-header-cell-text, .ag-header-group-text, .ag-cell a, .ag-cell bdi";
              const outer = ".ag-header-cell, .ag-header-group-cell, .ag-cell";
              return [...document.querySelectorAll(inner)].filter((element) => {
                const [one, box] = [element, element.closest(outer)].map((each) => each.getBoundingClientRect());
                return one.width && (one.left < box.left - 1 || one.right > box.right + 1
                  || one.top < box.top - 1 || one.bottom > box.bottom + 1);
              }).map((element) => element.textContent);
            }"""
        )
        assert outside == [], query
    opened.context.close()


@pytest.mark.parametrize("width", [1440, 1024])
def test_the_titles_of_narrow_groups_are_whole(browser: Any, tmp_path: Path, make_run: Record, width: int) -> None:
    many = [{"name": "mmlu", "subject": f"subject_{n}"} for n in range(40)]
    few = ["bold", "real_toxicity_prompts", "disinformation_wedging"]  # open-ended generation
    for model in ("hf:a", "hf:b"):
        for scenario in (*many, *few):
            save(tmp_path / "results", make_run(model, scenario, 0.5, parts=()))
    site = build_site(tmp_path / "results", tmp_path / "site").parent
    opened = Visit(browser, site.as_uri(), viewport={"width": width, "height": 900})
    page = opened.go("")
    page.evaluate("() => { document.querySelector('.ag-grid-viewport').scrollLeft = 9999; }")
    titles = "[...document.querySelectorAll('.ag-header-group-text')].map((element) => element.textContent)"
    opened.until(f"{titles}.includes('Open-ended generation')")
    cut = page.evaluate(
        """() => [...document.querySelectorAll(".ag-header-group-text")].filter((element) => {
          const [text, range] = [element.firstChild, document.createRange()];
          const broken = [...element.textContent.matchAll(/[^\\s-]+/g)].some((word) => {
            range.setStart(text, word.index);
            range.setEnd(text, word.index + word[0].length);
            return range.getClientRects().length > 1;
          });
          return broken || element.scrollHeight > element.clientHeight || element.scrollWidth > element.clientWidth;
        }).map((element) => element.textContent)"""
    )
    assert cut == []
    opened.context.close()


def test_a_phone_has_cards_and_no_grid(browser: Any, site: Path) -> None:
    opened = Visit(browser, site.as_uri(), viewport={"width": 390, "height": 844})
    page = opened.go(ALL)
    assert page.locator(".ag-row, .board-grid").count() == 0
    assert page.locator(".cards > li").count() == 3
    first = page.locator(".cards > li").first
    assert ".667" in first.inner_text()
    first.locator("summary").click()
    first.get_by_text("BoolQ").first.wait_for()
    assert "depends on the published order (p = 3.2 × 10⁻¹³)" in first.inner_text()
    first.locator(".tints i").nth(1).click()
    assert "MMLU .800 ±0.042" in first.locator(".named").inner_text()
    assert "Tap a strip to name a column" in page.inner_text(".key")
    page.click("#models")
    small = page.evaluate(
        """[...document.querySelectorAll('main :is(button, select, summary, .tabs a, .tints, .cards a, .board-foot a),'
             + '.popover :is(button, label)')]
            .filter((e) => e.getClientRects().length && !e.closest('.named') && e.getBoundingClientRect().height < 36)
            .map((e) => `${e.className} ${e.textContent}`)"""
    )
    assert small == []
    page.keyboard.press("Escape")
    page.set_viewport_size({"width": 1300, "height": 900})
    opened.until("document.querySelectorAll('.ag-row').length === 3")
    assert page.locator(".cards > li").count() == 0
    opened.context.close()
    assert opened.wrong == []


def pdf_text(pdf: bytes) -> tuple[int, str]:
    """Return the number of pages and the text of a PDF that Chromium has written, without spaces."""
    objects = {int(n): body for n, body in re.findall(rb"(?s)(\d+) 0 obj\s(.*?)\bendobj", pdf)}

    def stream(body: bytes) -> bytes:
        found = re.search(rb"(?s)stream\r?\n(.*?)\r?\nendstream", body)
        return b"" if found is None else zlib.decompress(found[1]) if b"FlateDecode" in body else found[1]

    fonts: dict[int, dict[str, str]] = {}
    for number, body in objects.items():
        to = re.search(rb"/ToUnicode (\d+) 0 R", body)
        if to is None:
            continue
        cmap = stream(objects[int(to[1])]).decode("latin-1")
        codes: dict[str, str] = {}
        for block in re.findall(r"(?s)beginbfchar(.*?)endbfchar", cmap):
            codes |= {
                a.upper(): bytes.fromhex(b).decode("utf-16-be") for a, b in re.findall(r"<(\w+)>\s*<(\w+)>", block)
            }
        for block in re.findall(r"(?s)beginbfrange(.*?)endbfrange", cmap):
            for a, b, c in re.findall(r"<(\w+)>\s*<(\w+)>\s*<(\w+)>", block):
                for step in range(int(b, 16) - int(a, 16) + 1):
                    codes[f"{int(a, 16) + step:04X}"] = chr(int(c, 16) + step)
        fonts[number] = codes
    names: dict[str, dict[str, str]] = {}
    for body in objects.values():
        for group in re.findall(rb"(?s)/Font\s*<<(.*?)>>", body):
            names |= {
                name.decode(): fonts.get(int(number), {}) for name, number in re.findall(rb"/(F\d+) (\d+) 0 R", group)
            }
    pages = sum(1 for body in objects.values() if re.search(rb"/Type\s*/Page\b", body))
    text = []
    for body in objects.values():
        if b"/Font" in body and b"/ToUnicode" in body:
            continue
        content = (
            stream(body).decode("latin-1")
            if b"stream" in body and b"/Length1" not in body and b"/Subtype" not in body
            else ""
        )
        font: dict[str, str] = {}
        for name, hexes in re.findall(r"/(F\d+) [\d.]+ Tf|<([0-9A-Fa-f]+)>", content):
            if name:
                font = names.get(name, {})
            else:
                text += [font.get(hexes[at : at + 4].upper(), "") for at in range(0, len(hexes), 4)]
    return pages, re.sub(r"\s+", "", "".join(text))


def test_print_holds_every_column_and_model(browser: Any, wide: Path) -> None:
    opened = Visit(browser, wide.as_uri(), viewport={"width": 1440, "height": 900}, color_scheme="dark")
    page = opened.go("")
    pages, text = pdf_text(page.pdf(prefer_css_page_size=True))
    assert pages == 3
    for position in range(12):
        assert f"alongname{position}" in text
    for position in range(29):
        assert f"scenario_with_a_rather_long_name_{position}" in text
    for position in range(30):
        assert text.count(f"number-{position:02d}") == 3
    assert page.locator(".paper").count() == 0  # gone after printing
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.querySelector('h1')).color") == "rgb(21, 24, 29)"
    assert page.locator("#theme").is_visible() is False
    opened.context.close()
    assert opened.wrong == []


def test_what_depends_on_the_published_order_is_marked_and_can_be_left_out(visit: Visit) -> None:
    page = visit.go(f"{ALL}&columns=boolq")
    marked = page.locator(".v.dependent")
    assert marked.count() == 1
    assert "depends on the published order (p = 3.2 × 10⁻¹³)" in tip(visit, cell(page, ALPHA, "boolq"))
    assert "depends on the published order" in str(cell(page, ALPHA, "boolq").locator("a").get_attribute("aria-label"))
    assert cell(page, ALPHA, "rate").inner_text() == "1.00"
    visit.after(lambda: page.click("#clean"))
    assert cell(page, ALPHA, "rate").inner_text() == "–"
    assert cell(page, ALPHA, "covered").inner_text() == "0/1"
    assert cell(page, ALPHA, "boolq").locator(".left").count() == 1
    assert not re.search(r"\bseen\b", page.inner_text("main"))


def test_a_cell_leads_to_the_prompt(visit: Visit) -> None:
    page = visit.go(ALL)
    visit.after(lambda: cell(page, BETA, "boolq").locator("a").click())
    visit.until("document.querySelector('.sample-side')?.innerText.includes('moon')")
    assert "Question number 0 about the moon?\nAnswer:" in page.inner_text(".sample-side")


def test_what_is_seen_is_exported(visit: Visit) -> None:
    page = visit.go(f"{ALL}&without-models={GAMMA}&sort=-boolq&columns=boolq,imdb")

    def saved(kind: str) -> str:
        page.click("#export")
        with page.expect_download() as download:
            page.locator("#export-panel button", has_text=kind).first.click()
        assert download.value.suggested_filename.startswith("leaderboard-")
        return Path(download.value.path()).read_text(encoding="utf-8")

    rows = list(csv.reader(io.StringIO(saved("CSV"))))
    assert [row[1] for row in rows] == ["Model", "alpha", "beta"]
    assert [name.partition(" (")[0] for name in rows[0][6:]] == ["BoolQ", "IMDB"]
    assert rows[1][rows[0].index(next(name for name in rows[0] if name.startswith("BoolQ")))] == "0.8"
    told = json.loads(saved("JSON"))
    assert [row["boolq"] for row in told] == [0.8, 0.6]
    assert saved("Markdown").splitlines()[1].startswith("| --- | --- | --:")
    assert "alpha &" in saved("LaTeX")


def test_latex_is_escaped_as_the_command_line_escapes_it(visit: Visit) -> None:
    page = visit.go(ALL)
    text = "".join(latex._ESCAPES) + "ab é 中"
    table = {"columns": [{"name": "x", "title": text}], "rows": []}
    exported = page.evaluate("table => harness.exported(table, 'LaTeX')", table)
    assert f"\n{latex.escaped(text)} \\\\\n" in exported


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
def test_the_exported_latex_can_be_set(browser: Any, tmp_path: Path, make_run: Record) -> None:
    for number, name in enumerate(
        (r"\input{/etc/passwd} & 50% $x$ #1 _a_ ^b ~c {d}", r"[e] *f --g <h> |i| \\ \end{tabular}")
    ):
        for scenario in ("boolq", "[odd] 50%"):
            about = {"display_name": name}
            run = make_run({"name": f"hf:{number}"}, scenario, 0.5 + number / 10)
            save(tmp_path / "results", replace(run, spec=run.spec.model_copy(update={"operational": about})))
    opened = Visit(browser, build_site(tmp_path / "results", tmp_path / "site").parent.as_uri())
    page = opened.go("")
    page.click("#export")
    with page.expect_download() as download:
        page.locator("#export-panel button", has_text="LaTeX").first.click()
    table = Path(download.value.path()).read_text(encoding="utf-8")
    assert "uparrow" in table
    assert "50\\%" in table
    document = f"\\documentclass{{article}}\\usepackage{{booktabs}}\\begin{{document}}\n{table}\\end{{document}}\n"
    (tmp_path / "t.tex").write_text(document)
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-draftmode", "t.tex"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stdout[-2000:]
    assert "/etc/passwd" not in ran.stdout
    opened.context.close()
    assert opened.wrong == []


def test_a_single_result_has_no_rank_and_no_tint(browser: Any, tmp_path: Path, make_run: Record) -> None:
    save(tmp_path / "results", make_run("hf:only", "boolq", 0.5))
    opened = Visit(browser, build_site(tmp_path / "results", tmp_path / "site").parent.as_uri())
    page = opened.go("")
    address = model_address(Component(name="hf:only"))
    assert [cell(page, address, name).inner_text() for name in ("rank", "rate", "covered")] == ["–", "–", "1/1"]
    assert cell(page, address, "boolq").inner_text() == ".500"
    assert "no other model to compare with" in tip(opened, cell(page, address, "rate"))
    assert page.locator(".v.tied, .v.h0, .v.h8, .key .ramp").count() == 0
    assert page.inner_text(".board-foot").startswith("1 model × 1 column")
    opened.context.close()
    assert opened.wrong == []


def test_a_board_of_failed_runs_says_why(browser: Any, tmp_path: Path, make_run: Record) -> None:
    for model in ("hf:a", "hf:b"):
        for scenario in ("boolq", "imdb"):
            save(tmp_path / "results", make_run(model, scenario, None, error="the model fell over"))
    opened = Visit(browser, build_site(tmp_path / "results", tmp_path / "site").parent.as_uri())
    page = opened.go("")
    assert page.locator(".v.failed").all_inner_texts() == ["✕"] * 4
    address = model_address(Component(name="hf:a"))
    assert [cell(page, address, name).inner_text() for name in ("rank", "rate", "covered")] == ["–", "–", "0/2"]
    assert "the model fell over" in tip(opened, cell(page, address, "imdb"))
    page.click("#failures")
    assert page.locator("dialog li").count() == 4
    page.keyboard.press("Escape")
    opened.context.close()
    assert opened.wrong == []


def test_without_the_sites_colours_what_is_tied_is_framed(browser: Any, wide: Path) -> None:
    """In a high-contrast theme there are no tints: frames and signs must say it."""
    opened = Visit(browser, wide.as_uri(), forced_colors="active")
    page = opened.go("")
    frame = """selector => {
        const style = getComputedStyle(document.querySelector(`.ag-cell > .v${selector}`));
        return [style.outlineStyle, style.boxShadow === 'none' ? '' : 'shadow', style.borderTopStyle];
    }"""
    assert page.evaluate(frame, ".tied") != page.evaluate(frame, ":not(.tied)")
    ground = "getComputedStyle(document.getElementById('heat')).backgroundColor"
    pressed = page.evaluate(ground)
    opened.after(lambda: page.click("#heat"))
    assert page.locator("#heat").get_attribute("aria-pressed") == "false"
    page.mouse.move(0, 0)
    assert page.evaluate(ground) != pressed
    opened.context.close()
    assert opened.wrong == []


def test_magnified_twice_the_scores_are_in_sight(browser: Any, wide: Path) -> None:
    opened = Visit(browser, wide.as_uri(), viewport={"width": 720, "height": 450}, device_scale_factor=2)
    page = opened.go("")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    seen = page.eval_on_selector_all(
        ".ag-row .score",
        """all => all.map(e => e.getBoundingClientRect())
            .filter(at => at.bottom <= innerHeight && at.right <= innerWidth)""",
    )
    assert len(seen) >= 4
    opened.context.close()
    assert opened.wrong == []


def test_search_finds_models_scenarios_runs_and_metrics(visit: Visit) -> None:
    page = visit.go(ALL)
    page.keyboard.press("/")
    visit.until("document.querySelectorAll('[role=option]').length > 3")
    assert visit.texts(".search [role=group] > span")[0].startswith("Models")
    page.keyboard.type("boolq beta first")
    visit.until("document.querySelectorAll('[role=option]').length === 1")
    visit.after(lambda: page.keyboard.press("Enter"))
    visit.until("location.href.includes('#/run/')")
    page.keyboard.press("/")
    page.keyboard.type("nothing at all")
    visit.until("document.querySelector('.search').innerText.includes('Nothing matches “nothing at all”.')")
    page.keyboard.press("Escape")
    assert page.locator("dialog").count() == 0
    visit.go(ALL)
    page.keyboard.press("?")
    assert "Choose models" in page.inner_text("dialog")
    page.keyboard.press("Escape")
    page.keyboard.press("h")
    visit.until("!document.querySelector('.board-grid').classList.contains('heat')")
    visit.until("location.href.includes('heat=0')")


def test_what_is_unknown_is_said(visit: Visit) -> None:
    assert "Unknown suite third. Known: first, order, second." in visit.go("board?suite=third").inner_text("main")
    page = visit.go(f"{ALL}&models=nobody,{ALPHA}&without-columns=nothing&tab=wisdom&sort=-bogus")
    said = page.inner_text("[role=alert]")
    for words in (
        "Unknown model nobody.",
        "Unknown column nothing.",
        "Unknown tab wisdom.",
        "Unknown column bogus to sort by.",
    ):
        assert words in said
    assert order(page) == [ALPHA]


def test_unknown_columns_alone_leave_the_usual_ones(visit: Visit) -> None:
    visit.go("board?suite=first")
    usual = columns(visit.page)
    page = visit.go("board?suite=first&columns=xx")
    assert "Unknown column xx" in page.inner_text(".notice:visible")
    assert columns(page) == usual != []


def test_pages_are_drawn_in_whatever_order_the_scripts_arrive(browser: Any, served: str, site: Path) -> None:
    scripts = re.findall(r'src="assets/([a-z/]+\.js)', (site / "index.html").read_text(encoding="utf-8"))
    assert {"core.js", "shell.js", "components/popover.js"} <= set(scripts)
    for late in [*scripts, "vendor/ag-grid.min.js", "vendor/ag-grid.css", "board/view.js"]:
        opened = Visit(browser, served)

        def delayed(route: Any) -> None:
            time.sleep(0.5)
            route.continue_()

        opened.page.route(f"**/assets/{late}*", delayed)
        page = opened.go(ALL)
        assert page.locator("h1").first.inner_text() == "Leaderboard", late
        assert order(page) == [ALPHA, BETA, GAMMA], late
        opened.context.close()
        assert opened.wrong == [], late


def test_a_suite_is_addressed_by_its_name(visit: Visit) -> None:
    for name in ("board", "plots", "compare"):
        page = visit.go(f"{name}?suite=first")
        assert page.locator("#suite option:checked").inner_text() == "first", name
    page = visit.go("board?suite=first")
    assert "imdb" not in columns(page)
    visit.after(lambda: page.select_option("#suite", label="second · newest"))
    assert "imdb" in columns(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_on_a_wide_board(browser: Any, wide: Path, scheme: Any) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    options = {"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}}
    for width in (1440, 390):
        opened = Visit(
            browser, wide.as_uri(), color_scheme=scheme, bypass_csp=True, viewport={"width": width, "height": 900}
        )
        page = opened.go("")
        found = [axe.run(page, options=options).response["violations"]]
        page.click("#models")
        found.append(axe.run(page, options=options).response["violations"])
        page.keyboard.press("Escape")
        page.keyboard.press("/")
        opened.until("document.querySelectorAll('[role=option]').length > 3")
        found.append(axe.run(page, options=options).response["violations"])
        opened.context.close()
        serious = [
            (one["id"], one["nodes"][0]["html"][:200])
            for several in found
            for one in several
            if one["impact"] in {"serious", "critical"}
        ]
        assert serious == []
