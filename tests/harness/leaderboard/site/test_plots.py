"""The numbers behind the plots: by hand, for every plot that there is."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from harness.leaderboard.site.calibration_plots import Bin, adaptive
from harness.leaderboard.site.contamination_plots import copies_of, copies_plot, shuffles_plot
from harness.leaderboard.site.measures import win_rates
from harness.leaderboard.site.plot_specs import LONGEST_LABEL, Plot, short_names
from harness.leaderboard.site.plots import board_plots
from harness.leaderboard.site.snapshot import Snapshot
from harness.plugins.registry import default_registry
from harness.storage.results import find_runs
from tests.harness.leaderboard.site.conftest import Record, save, stat
from tests.harness.leaderboard.site.plotted import COPIES, HOSTILE, MODELS, write_plotted


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory, make_run: Record) -> Snapshot:
    root = tmp_path_factory.mktemp("plots")
    write_plotted(root, make_run)
    return Snapshot(find_runs(root), default_registry())


@pytest.fixture(scope="module")
def plots(snapshot: Snapshot) -> dict[str, Plot]:
    view = next(view for view in snapshot.boards if view.title == "main")
    return {name: plot for name, _, plot in board_plots(view)}


def _rows(plot: Plot) -> list[dict[str, Any]]:
    fields = [field for field, _ in plot.as_json()["columns"]]
    return [dict(zip(fields, row, strict=True)) for row in plot.rows]


def test_every_plot_is_there(plots: dict[str, Plot]) -> None:
    columns = {name.partition("-")[2] for name in plots if name.startswith("scores-")}
    assert len(columns) == 4
    assert {name for name in plots if not re.fullmatch(r"(scores|reliability)-\d", name)} == {
        "categories", "head-to-head", "spread", "accuracy-calibration", "accuracy-robustness", "accuracy-fairness",
        "accuracy-toxicity", "accuracy-efficiency",
    }  # fmt: skip
    assert sum(name.startswith("reliability-") for name in plots) == 3  # not of MMLU, which has no bins


def test_every_field_that_is_drawn_is_a_column_of_the_numbers(plots: dict[str, Plot]) -> None:
    for name, plot in plots.items():
        known = {field for field, _ in plot.as_json()["columns"]}
        drawing = plot.drawing
        fields = [drawing.get(key) for key in ("row", "column", "value", "series", "panels", "choice")]
        drawn = {field for field in fields if field} | {drawing[end]["field"] for end in "xy" if end in drawing}
        assert drawn, name
        assert drawn <= known, name
        assert all(len(row) == len(plot.columns) for row in plot.rows)
        assert plot.title
        assert plot.description.endswith(".")
        json.dumps(plot.as_json(), allow_nan=False)


def test_every_axis_names_what_it_measures(plots: dict[str, Plot]) -> None:
    titles = {name: [plot.drawing[end]["title"] for end in "xy" if end in plot.drawing] for name, plot in plots.items()}
    assert all(all(found) for found in titles.values())
    assert titles["categories"] == ["mean win rate (further right is better)"]
    assert titles["accuracy-toxicity"][1] == "Toxic fraction (lower is better) ↓"


def test_panels_are_the_categories_win_rates(snapshot: Snapshot, plots: dict[str, Plot]) -> None:
    view = next(view for view in snapshot.boards if view.title == "main")
    categories = view.categories
    rows = _rows(plots["categories"])
    title = view.board.titles.category
    assert {row["category"] for row in rows} == {title(category).title for category in categories}
    for category, measures in categories.items():
        expected = sorted(rate.value for rate in win_rates(measures).values())
        shown = [row["mean"] for row in rows if row["category"] == title(category).title]
        assert shown == expected[::-1]  # from the best to the worst
    # A low calibration error is good, and so are few seconds: the best are the first and the last model.
    first = {row["category"]: row["model"] for row in rows[::-1]}
    assert (first["Calibration"], first["Accuracy"]) == ("alpha", "alpha")
    assert first["Efficiency"].endswith("script>")


def test_head_to_head_by_hand(plots: dict[str, Plot]) -> None:
    rates = {(row["model"][:4], row["against"][:4]): row["rate"] for row in _rows(plots["head-to-head"])}
    assert rates["alph", "beta"] == 1.0
    assert rates["beta", "alph"] == 0.0
    assert len(rates) == 6
    assert all(rates[a, b] + rates[b, a] == 1.0 for a, b in rates)


def test_points_of_a_trade_off(plots: dict[str, Plot]) -> None:
    rows = _rows(plots["accuracy-robustness"])
    assert len(rows) == 3 + 9
    assert all(row["value"] == pytest.approx(row["accuracy"] - 0.1) for row in rows)
    means = {row["model"]: row for row in rows if row["scenario"] == "mean of 3 columns"}
    for model, mean in means.items():
        own = [row["accuracy"] for row in rows if row["model"] == model and row is not mean]
        assert mean["accuracy"] == pytest.approx(sum(own) / 3)
    assert plots["accuracy-robustness"].drawing["diagonal"]["below"] == "below: lost by perturbations"
    assert plots["accuracy-calibration"].drawing["diagonal"] is None
    assert plots["accuracy-calibration"].drawing["y"]["title"] == "Calibration error (10 bins) (lower is better) ↓"


def test_no_axis_has_two_units(make_run: Record, tmp_path: Path) -> None:
    """Seconds and tokens are plots of their own; numbers that span decades have a logarithmic axis."""
    for position, model in enumerate(MODELS):
        more = [
            stat("biased_words", "bias", 0.2 + position / 10, higher=False),
            stat("bias_tokens", "bias", 10.0 ** (position + 1), higher=False),
        ]
        save(tmp_path, make_run(model, "boolq", 0.5 + position / 10), stats=more)
    (view,) = Snapshot(find_runs(tmp_path), default_registry()).boards
    found = [plot for name, _, plot in board_plots(view) if name.startswith("accuracy-bias")]
    assert [plot.title for plot in found] == ["Accuracy against bias tokens", "Accuracy against biased words"]
    assert [{row["metric"] for row in _rows(plot)} for plot in found] == [{"Bias tokens"}, {"Biased words"}]
    assert [plot.drawing["y"]["scale"] for plot in found] == ["log", "linear"]


def test_means_are_over_columns_that_all_models_have(make_run: Record, tmp_path: Path) -> None:
    for model, scenarios in {"hf:a": ("boolq", "imdb", "hellaswag"), "hf:b": ("boolq", "imdb")}.items():
        for position, scenario in enumerate(scenarios):
            save(
                tmp_path,
                make_run(model, scenario, 0.2 * (position + 1)),
                stats=[stat("toxic_frac", "toxicity", 0.1, higher=False)],
            )
    (view,) = Snapshot(find_runs(tmp_path), default_registry()).boards
    (plot,) = (plot for name, _, plot in board_plots(view) if name == "accuracy-toxicity")
    means = [row for row in _rows(plot) if row["scenario"].startswith("mean of")]
    assert {row["scenario"] for row in means} == {"mean of 2 columns"}
    assert [row["accuracy"] for row in means] == pytest.approx([0.3, 0.3])


def test_reliability_has_as_many_bins_as_the_predictions_allow(plots: dict[str, Plot]) -> None:
    plot = next(plot for name, plot in plots.items() if name.startswith("reliability-"))
    rows = _rows(plot)
    assert len(rows) == 3 * 6  # the square root of 81 / 2
    alpha = [row for row in rows if row["model"] == "alpha"]
    assert sum(row["count"] for row in alpha) == 81
    assert all(row["probability"] == pytest.approx(row["accuracy"], abs=0.05) for row in alpha)
    assert all(row["low"] <= row["accuracy"] <= row["high"] for row in rows)
    assert plot.drawing["errors"]["alpha"] == [0.1, pytest.approx(0.08), pytest.approx(0.12), 81]


@given(st.lists(st.tuples(st.integers(1, 60), st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=20))
@example([(1, 0.0, 0.10599683913143523), (11, 0.0, 0.10599683913143523)])  # whose mean is rounded up
def test_merged_bins_keep_every_prediction(given_bins: list[tuple[int, float, float]]) -> None:
    bins = [Bin(count, round(share * count), probability) for count, share, probability in given_bins]
    found = adaptive(bins)
    total = sum(one.count for one in bins)
    assert sum(one.count for one in found) == total
    assert sum(one.right for one in found) == sum(one.right for one in bins)
    assert math.fsum(one.count * one.probability for one in found) == pytest.approx(
        math.fsum(one.count * one.probability for one in bins)
    )
    assert [one.probability for one in found] == sorted(one.probability for one in found)
    assert 1 <= len(found) <= max(1, min(10, math.isqrt(total // 2)))


@pytest.mark.parametrize(("predictions", "bins"), [(1, 1), (15, 2), (30, 3), (50, 5), (200, 10), (10_000, 10)])
def test_few_predictions_have_few_bins(predictions: int, bins: int) -> None:
    parts = min(10, predictions)
    sizes = [predictions // parts + (place < predictions % parts) for place in range(parts)]
    found = adaptive(Bin(size, size // 2, (place + 0.5) / parts) for place, size in enumerate(sizes))
    assert len(found) == bins
    counts = [one.count for one in found]
    assert max(counts) <= 2 * min(counts)


def test_scores_of_a_mean_have_its_parts(plots: dict[str, Plot]) -> None:
    plot = next(plot for plot in plots.values() if plot.title == "MMLU: scores")
    rows = _rows(plot)
    assert [row["part"] for row in rows[:3]] == ["all"] * 3
    assert [row["mean"] for row in rows[:3]] == sorted((row["mean"] for row in rows[:3]), reverse=True)
    for row in rows[:3]:
        parts = [part["mean"] for part in rows[3:] if part["model"] == row["model"]]
        assert row["mean"] == pytest.approx(sum(parts) / 2)


def test_orders_by_hand(snapshot: Snapshot) -> None:
    finding = next(finding for finding in snapshot.findings if copies_of(finding) == 10)
    plot = shuffles_plot(finding)
    assert plot is not None
    rows = _rows(plot)
    assert len(rows) == 4 * 3
    published = [row for row in rows if row["order"] == "published"]
    # −10 + 3 against the mean of −12.5 and −11
    assert [row["difference"] for row in published] == pytest.approx([-7.0 + 11.75] * 4)
    shuffled = [row["difference"] for row in rows if row["order"] == "shuffled"]
    assert math.fsum(shuffled) == pytest.approx(0)
    assert shuffles_plot(dataclasses.replace(finding, found={})) is None


def test_evidence_over_copies(snapshot: Snapshot) -> None:
    plot = copies_plot(snapshot, snapshot.findings)
    assert plot is not None
    assert {row["copies"]: row["log10_p"] for row in _rows(plot)} == COPIES
    assert plot.drawing["guides"] == [{"y": pytest.approx(-2), "words": "p = 0.01"}]
    assert copies_plot(snapshot, snapshot.findings[:1]) is None


def test_copies_are_known_from_fields_and_parameters_first(snapshot: Snapshot) -> None:
    finding = snapshot.findings[0]
    told = dataclasses.replace(finding, found={**finding.found, "copies": 7})
    assert copies_of(told) == 7
    bare = dataclasses.replace(
        finding, record=dataclasses.replace(finding.record, provenance={"data": {"files": ["x"]}})
    )
    assert copies_of(bare) is None


def test_names_are_short_and_different() -> None:
    long = "hf:" + "a" * 100
    names = short_names([long, long + "b", HOSTILE, "hf:a\nb"])
    assert len(set(names.values())) == 4
    assert all(len(name) <= LONGEST_LABEL for name in names.values())
    assert "\n" not in names["hf:a\nb"]
    assert "\u202e" not in names[HOSTILE]
    same = short_names(["x" * 30 + "1" * 50 + "y" * 30, "x" * 30 + "2" * 50 + "y" * 30])
    assert len(set(same.values())) == 2


def test_models_of_one_scenario_need_no_spread(make_run: Record, tmp_path: Path) -> None:
    for model in MODELS:
        save(tmp_path, make_run(model, "boolq", 0.5))
    (view,) = Snapshot(find_runs(tmp_path), default_registry()).boards
    names = [name for name, _, _ in board_plots(view)]
    assert "spread" not in names
    assert "scores-0" in names


def test_vendored_scripts_are_the_ones_that_are_said() -> None:
    folder = files("harness.leaderboard.site").joinpath("assets", "vendor")
    said = re.findall(r"^(\S+\.js) +\S+ +[\d.]+ +([0-9a-f]{64})$", folder.joinpath("README.txt").read_text(), re.M)
    assert {name for name, _ in said} == {item.name for item in folder.iterdir() if item.name.endswith(".js")}
    for name, digest in said:
        assert hashlib.sha256(folder.joinpath(name).read_bytes()).hexdigest() == digest
        package = name.removesuffix(".js").removesuffix(".min")
        assert "Copyright" in folder.joinpath(f"{package}.LICENSE.txt").read_text()


def test_one_model_has_its_scores(make_run: Record, tmp_path: Path) -> None:
    save(tmp_path, make_run("hf:only", "boolq", 0.5))
    (view,) = Snapshot(find_runs(tmp_path), default_registry()).boards
    assert [name for name, _, _ in board_plots(view)] == ["scores-0"]
