"""Plots of studies: p by shards, shuffled orders, size of the model and copies of a sealed file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.leaderboard.site.builder import build_site
from harness.leaderboard.site.files import SiteFolder
from harness.leaderboard.site.lab_plots import lab_plots
from harness.leaderboard.site.pictures import write_pictures
from harness.leaderboard.site.plot_specs import Plot
from harness.leaderboard.site.reading import read_runs
from harness.leaderboard.site.snapshot import Snapshot
from harness.plugins.registry import default_registry
from tests.harness.leaderboard.site.conftest import Record, save

SIZES = {"hf:lab/tiny": 300_000, "hf:lab/small": 600_000}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory, make_run: Record) -> Path:
    root = tmp_path_factory.mktemp("lab") / "results"
    for model, size in SIZES.items():
        for copies in (0, 10, 50):
            order(root, make_run, model, copies, -copies / 10 * size / 3e5, size=size)
    for shards in (2, 4, 8):
        order(root, make_run, "hf:lab/tiny", 50, -float(shards), shards=shards)
    for copies in (0, 1, 4):
        for kind in ("twin", "canary"):
            sealed(root, make_run, kind, copies, -3.0 * copies - 0.2)
    return root


def order(root: Path, make_run: Record, model: str, copies: int, log10_p: float, size: int = 0, **varied: int) -> None:
    fields = {
        "headline_log10_p": log10_p, "log10_p_exact": log10_p, "log10_p_t": log10_p / 2, "r": 10, "shuffles": 10,
        "order_hash": f"order {copies}", "alpha": 0.01, "headline_tests": 1 if varied else 2,
        "role": "target" if copies else "control",
        "rows": f"{copies}:{copies + 5}", "copies": copies,
    } | {{"shards": "r"}.get(name, name): value for name, value in varied.items()}  # fmt: skip
    settings = {"copies": copies, "rows": f"{copies}:{copies + 5}", **varied}
    run = make_run(model, {"name": "file", "path": "piqa"}, None, metric="contamination", method="exchangeability",
                   suite="shards" if varied else "copies", settings=settings)  # fmt: skip
    about = {"parameters": size, "architecture": "gpt2"} if size else None
    save(root, run, details={"contamination": {"test": {"original": fields}}}, model=about)


def sealed(root: Path, make_run: Record, kind: str, copies: int, log10_p: float) -> None:
    scenario = {"name": "sealed_texts", "path": f"exam-{copies}.key.jsonl", "kind": kind, "copies": copies}
    run = make_run("hf:lab/tiny", scenario, None, metric="sealed_choice", method="sealed_choice", suite="sealed")
    save(root, run, details={"sealed_choice": {"test": {"original": {"sealed_log10_p": log10_p, "n_items": 9}}}})


@pytest.fixture(scope="module")
def plots(root: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Plot]:
    runs, problems = read_runs(root, SiteFolder(tmp_path_factory.mktemp("site")), None, None)
    return dict(lab_plots(Snapshot(runs, default_registry(), problems)))


def rows(plot: Plot) -> list[dict[str, Any]]:
    names = [column if isinstance(column, str) else column[0] for column in plot.columns]
    return [dict(zip(names, row, strict=True)) for row in plot.rows]


def test_which_plots_there_are(plots: dict[str, Plot]) -> None:
    assert list(plots) == ["shards", "model-sizes", "sealed"]  # the shuffled orders were not varied


def test_p_by_shards_has_both_tests(plots: dict[str, Plot]) -> None:
    found = rows(plots["shards"])
    assert {row["test"] for row in found} == {"t-test", "exact test"}
    assert {row["r"]: row["log10_p"] for row in found if row["test"] == "exact test"} == {
        2: -2.0,
        4: -4.0,
        8: -8.0,
        10: -5.0,
    }
    assert len({row["data"] for row in found}) == 1
    assert "× 50" in found[0]["data"]


def test_p_by_size_has_a_line_for_each_number_of_copies(plots: dict[str, Plot]) -> None:
    found = {(row["copies"], row["parameters"]): row["log10_p"] for row in rows(plots["model-sizes"])}
    assert found["50 copies", 300_000] == pytest.approx(-5.0)
    assert found["50 copies", 600_000] == pytest.approx(-10.0)
    assert plots["model-sizes"].drawing["order"][0] == "50 copies"


def test_sealed_files_by_copies(plots: dict[str, Plot]) -> None:
    assert plots["sealed"].drawing["order"] == ["published twins", "canaries"]
    assert {row["copies"]: row["log10_p"] for row in rows(plots["sealed"]) if row["test"] == "canaries"} == {
        0: -0.2, 1: -3.2, 4: -12.2,
    }  # fmt: skip


@pytest.mark.slow
def test_plots_are_written_as_svg_and_pdf(root: Path, browser: Any, tmp_path: Path) -> None:
    page = build_site(root, tmp_path / "site")
    files = write_pictures(browser, page, tmp_path / "pictures")
    assert sorted(file.name for file in files if file.suffix == ".svg") == [
        "evidence-over-copies-in-the-training-text.svg",
        "p-by-number-of-shards-exact-test.svg",
        "p-by-number-of-shards-t-test.svg",
        "p-by-size-of-the-model.svg",
        "sealed-data-sets-p-by-copies-in-the-training-text.svg",
    ]
    for file in files:
        content = file.read_bytes()
        assert content.startswith(b"%PDF" if file.suffix == ".pdf" else b"<svg")
        assert len(content) > 1000
    exact, t_test = (
        (tmp_path / "pictures" / f"p-by-number-of-shards-{name}.svg").read_text("utf-8")
        for name in ("exact-test", "t-test")
    )
    assert exact != t_test
