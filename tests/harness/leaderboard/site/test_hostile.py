"""What models, data and folders may be named, and models may answer, does nothing but stand there to be read."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest

from harness.leaderboard.site.addresses import address_of
from harness.leaderboard.site.builder import FIRST_SCRIPTS, build_site
from harness.storage.results import find_runs
from tests.harness.leaderboard.site.conftest import Record, Visit, example, save

pytestmark = pytest.mark.slow

ACTING = "window.acted = 1; alert(1)"
STRINGS = [
    f"<script>{ACTING}</script>",
    f'"><img src=x onerror="{ACTING}"><svg onload="{ACTING}">',
    f"');{ACTING};//",
    f"\\');{ACTING};//\u2028{ACTING}\n{ACTING}",
    f"javascript:{ACTING}",
    "</title></style></script><base href='https://evil.example/'><meta http-equiv=refresh content='0;url=https://evil.example/'>",
    "{{ 7 * 7 }}${alert(1)}{% for x in y %}",
    "\u202egnp.exe\u202d\u2066\u200b\u0000\u0007\u001b[2J\ufeff\u2029",
    "../../../../etc/passwd",
    "__proto__",
    "a\u0336" * 200,
    "\ud800 half a character",
]
HANDLERS = """[...document.querySelectorAll('*')].filter(e => [...e.attributes].some(
    a => /^on/.test(a.name) || (a.name === 'href' && /^\\s*javascript:/i.test(a.value)))).length"""
LONG = f"<b onmouseover='{ACTING}'>" * 80_000


def hostile_results(root: Path, make_run: Record) -> None:
    for position, text in enumerate(STRINGS):
        name = f"{text}{position}" if text != "__proto__" else text
        record = make_run(
            {"name": f"hf:{name}", "argument": name}, {"name": name, text: text}, 0.5,
            metric=name, settings={"x": name, text: text}, suite=f"suite{position}",
        )  # fmt: skip
        folder = re.sub("[/\0\ud800]", "_", text)[:100]
        record = dataclasses.replace(record, suite=folder, name=folder)
        told = [example(n, right=n > 0, text=text, answer=text, name=f"{text}{n}") for n in range(2)]
        told.append(example(0, right=True, text=f"{text} moon", answer=text, name=f"{text}0", perturbation="typos"))
        details = {name: {"test": {"original": {text: text}}}}
        save(root, record, told, details=details, model={"creator": text, text: text, "tokenizer": text})
        failed = make_run("hf:b", {"name": name, "part": "2"}, None, error=text, method=name, suite=f"f{position}")
        save(root, dataclasses.replace(failed, suite="failed"))
    long = make_run({"name": f"hf:{LONG}"}, {"name": "long", "text": LONG}, 0.5, metric=LONG[:1000])
    long = dataclasses.replace(long, suite="long", name="long")
    save(root, long, [example(0, right=True, text=LONG, answer=LONG, name=LONG)], model={"creator": LONG})


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory, make_run: Record) -> tuple[Path, Path]:
    root = tmp_path_factory.mktemp("hostile")
    hostile_results(root / "results", make_run)
    return root / "results", build_site(root / "results", root / "public").parent


def test_file_names_are_harmless(hostile: tuple[Path, Path]) -> None:
    _, site = hostile
    for path in site.rglob("*"):
        assert re.fullmatch(r"[a-zA-Z0-9._-]{1,80}", path.name), path


def test_nothing_acts(browser: Any, hostile: tuple[Path, Path]) -> None:
    results, site = hostile
    visit = Visit(browser, site.as_uri())
    visit.page.set_default_timeout(60_000)
    addresses = [address_of(run) for run in find_runs(results) if run.status == "ok"]
    models = [path.stem for path in (site / "data" / "models").glob("*.js")]
    scenarios = [path.stem for path in (site / "data" / "scenarios").glob("*.js")]
    routes = ["", "board?suites=all", "board?suites=all&tab=categories", "models", "coverage", "contamination"]
    routes.append("board?suites=all&models=%3Cscript%3Ealert(1)%3C/script%3E")
    routes += [f"model/{name}" for name in models] + [f"scenario/{name}" for name in scenarios]
    routes += [f"run/{name}" for name in addresses] + [f"run/{name}?view=spec" for name in addresses[::4]]
    for route in routes:
        page = visit.go(route)
        assert page.locator("h1").first.inner_text() != "This page cannot be shown", route
        if route.startswith("run/") and "view" not in route:
            visit.until("document.documentElement.dataset.sample")
        for summary in page.locator("article.sample summary").all():
            summary.click()
        assert page.evaluate("window.acted === undefined"), route
        assert (
            page.evaluate("document.querySelectorAll('main script, main img, main svg, main base, main b').length") == 0
        )
        assert page.evaluate("document.querySelectorAll('script').length") <= len(FIRST_SCRIPTS) + 1
        assert page.evaluate(HANDLERS) == 0
        said = page.inner_text("body")
        assert len(said) < 400_000, route
        assert not re.search(r"[\u202a-\u202e\u2066-\u2069\u200b\u0000\u0007\u001b\ufeff\u2028\u2029]", said), route
        assert not re.search(r"[\u202a-\u202e\u2066-\u2069]", page.title())
    visit.context.close()
    assert visit.wrong == []


def test_what_is_long_is_shown_in_parts(browser: Any, hostile: tuple[Path, Path]) -> None:
    results, site = hostile
    (run,) = [address_of(run) for run in find_runs(results, ["long"])]
    visit = Visit(browser, site.as_uri())
    page = visit.go(f"run/{run}")
    visit.until("document.documentElement.dataset.sample")
    shown = page.locator("article.sample .turn[data-name='the input'] .words")
    assert len(shown.inner_text()) == 701  # the end, after an ellipsis
    page.locator("article.sample .turn[data-name='the input'] button", has_text="characters before").click()
    assert len(shown.inner_text()) == 20_701
    visit.context.close()
    assert visit.wrong == []


def test_invisible_characters_are_shown_as_what_they_are(browser: Any, hostile: tuple[Path, Path]) -> None:
    results, site = hostile
    found = [run for run in find_runs(results) if "gnp.exe" in run.spec.scenario.name]
    visit = Visit(browser, site.as_uri())
    (run,) = [address_of(run) for run in found if run.status == "ok"]
    page = visit.go(f"run/{run}")
    visit.until("document.documentElement.dataset.sample")
    text = page.locator("article.sample .turn .words").first.inner_text()
    assert text.startswith(r"\u202egnp.exe\u202d\u2066\u200b\x00\x07\x1b[2J\ufeff\u2029")
    assert page.locator("article.sample .turn .escape").count() >= 8
    visit.context.close()
    assert visit.wrong == []


def test_comparisons_checkpoints_and_plots_only_show_hostile_names(
    browser: Any, tmp_path: Path, make_run: Record
) -> None:
    for position, text in enumerate([*STRINGS, "W" * 10_000]):
        for step in (100, 200):
            about = {"series": text[:90], "step": step}
            record = make_run(f"hf:{text}{step}", {"name": f"{text}{position}", text[:50]: text}, 0.5, metric=text)
            record = dataclasses.replace(record, suite="pairs", name=f"{position}-{step}")
            spec = record.spec.model_copy(
                update={"operational": {"display_name": f"{text[:90]} {step}", "about": about}}
            )
            told = [
                example(n, right=(n + step // 100) % 3 > 0, text=text, answer=text, name=f"{text}{n}") for n in range(6)
            ]
            save(tmp_path / "results", dataclasses.replace(record, spec=spec), told)
    site = build_site(tmp_path / "results", tmp_path / "public").parent
    first = {stem.rpartition("-")[0]: stem for stem in (path.stem for path in (site / "data" / "models").glob("*.js"))}
    assert len(first) > len(STRINGS) / 2
    for width in (1300, 390):
        visit = Visit(browser, site.as_uri(), viewport={"width": width, "height": 900})
        visit.page.set_default_timeout(60_000)
        routes = ["board", "models", "checkpoints", "plots", "compare?view=pairs", "coverage"]
        routes += [
            f"compare?a={path.stem}"
            for path in sorted((site / "data" / "models").glob("*.js"))[:: 2 if width > 700 else 6]
        ]
        for route in routes:
            page = visit.go(route)
            page.wait_for_timeout(150)
            assert page.locator("h1").first.inner_text() != "This page cannot be shown", route
            assert page.evaluate("window.acted === undefined"), route
            made = "document.querySelectorAll('main script, main img, main base, main b:not([class])').length"
            assert page.evaluate(HANDLERS) == 0, route
            assert route.startswith(("plots", "checkpoints", "compare")) or page.evaluate(made) == 0, route
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), route
            said = page.inner_text("body")
            assert not re.search(r"[\u202a-\u202e\u2066-\u2069\u200b\u0000\u0007\u001b\ufeff\u2028\u2029]", said), route
        visit.context.close()
        assert visit.wrong == []
