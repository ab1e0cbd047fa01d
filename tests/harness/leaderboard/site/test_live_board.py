"""The leaderboard while a sweep runs: cells show how far their runs are, and new results change nothing else."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from harness.leaderboard.site.addresses import model_address
from harness.leaderboard.site.builder import build_site
from harness.leaderboard.site.live import LiveSite
from harness.leaderboard.site.server import SiteServer
from harness.progress.file import ProgressFile
from harness.runs.sweep_state import SweepState
from tests.harness.leaderboard.site.conftest import Record, Visit, save

pytestmark = pytest.mark.slow

SCROLLED = "(({ scrollLeft, scrollTop }) => [scrollLeft, scrollTop])(document.querySelector('.ag-grid-viewport'))"


def test_running_cells_are_counted_and_new_results_keep_order_place_and_panel(
    browser: Any, tmp_path: Path, make_run: Record
) -> None:
    results = tmp_path / "results"
    scenarios = [f"scenario_{n}" for n in range(20)]
    models = [f"hf:org/model-{m:02d}" for m in range(24)]
    for m, model in enumerate(models):
        for n, scenario in enumerate(scenarios[: 19 if m == 0 else 20]):
            save(results, make_run(model, scenario, round(0.9 - 0.02 * m + 0.001 * n, 3), parts=(), suite="live"))
    missing = make_run(models[0], scenarios[19], 0.9, parts=(), suite="live")
    site = LiveSite(results, tmp_path / "site", build_site, poll=0.2)
    sweep = SweepState(runs=1)
    with ProgressFile(sweep, results, "live"), SiteServer(tmp_path / "site", site.state, "127.0.0.1", 0) as server:
        run = sweep.begin(missing.spec)
        sweep.plan(run, 1000)
        site.start()
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        opened = Visit(browser, server.url.rstrip("/"), viewport={"width": 1024, "height": 600})
        page = opened.go("board?width=full&sort=-scenario-3")
        place = f'.ag-row[row-id="{model_address(missing.spec.model)}"] .ag-cell[col-id="scenario-19"]'
        page.evaluate("document.querySelector('.ag-grid-viewport').scrollLeft = 1e5")
        opened.until(f"!!document.querySelector('{place} .running')")
        sweep.advance(run, 120)
        sweep.plan(run, 1000)
        told = f"document.querySelector('{place} > *').getAttribute('aria-label')"
        opened.until(f"{told} === 'running: 0 of 1,000' || {told} === 'running: 120 of 1,000'")
        opened.until("document.querySelector('.key').textContent.includes('running')")
        page.evaluate("document.querySelector('.ag-grid-viewport').scrollTop = 30")
        page.click("#models")
        page.fill("#models-panel-field", "model-1")
        page.wait_for_timeout(200)
        before = page.evaluate(SCROLLED)
        assert before[1] == 30
        assert before[0] > 100
        save(results, missing)
        sweep.end(missing, run)
        opened.until(f"document.querySelector('{place} > *').textContent === '.900'")
        assert page.evaluate(SCROLLED) == before
        assert page.locator("#models-panel").is_visible()
        assert page.input_value("#models-panel-field") == "model-1"
        assert page.locator('.ag-header-cell[col-id="scenario-3"]').first.get_attribute("aria-sort") == "descending"
        opened.until("location.href.includes('sort=-scenario-3')")
        opened.context.close()
        server.shutdown()
        thread.join()
        site.stop()
    assert opened.wrong == []
