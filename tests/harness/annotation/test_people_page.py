"""The site's page of ratings: its data, and the page in a real browser."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from harness.annotation.people import STUDIES, people_sections
from harness.annotation.questionnaire import Questionnaire
from harness.annotation.ratings import Rating, RatingsFile, read_ratings
from harness.annotation.study import RATINGS_FILE, Study, find_records, keep_study, make_study, read_study
from harness.annotation.table import ratings_table
from harness.cli import group
from harness.errors import DataError
from harness.leaderboard.site.builder import build_site
from harness.leaderboard.site.files import SiteFolder
from tests.harness.annotation.conftest import FORM, serving
from tests.harness.leaderboard.site.conftest import Visit
from tests.harness.leaderboard.site.test_hostile import HANDLERS, STRINGS

SWEEP = """\
suite: s
models: [{name: "fake:0", display_name: First}, {name: "fake:1", display_name: Second}]
runs: [{scenario: sample_generation, max_eval_instances: 10}]
"""
GOLD = {"input": "?", "answers": ["yes"], "expected": {"quality": 5}}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    (folder / "sweep.yaml").write_text(SWEEP)
    here = Path.cwd()
    os.chdir(folder)
    try:
        ran = CliRunner().invoke(group, ["run", "sweep.yaml"])
    finally:
        os.chdir(here)
    assert ran.exit_code == 0, ran.output
    return folder / "results"


def study_of(runs: Path, form: dict[str, Any]) -> Study:
    return make_study(Questionnaire.model_validate(form), find_records([runs / "s"]))


def rated(runs: Path, folder: Path, form: dict[str, Any], *raters: str) -> Path:
    study = study_of(runs, form)
    keep_study(study, folder)
    given = []
    for rater in raters:
        for place, item in enumerate(study.items):
            good = item.answers[0].model == "First"
            right = 1 if rater == "careless-cem" else 5
            given.append(Rating(rater, item.id, "quality", right if item.expected else 4 + place % 2 if good else 1))
            given.append(Rating(rater, item.id, "tone", "kind" if good else "cold"))
    with RatingsFile(folder / RATINGS_FILE, study) as file:
        file.add(given)
    return folder


def test_the_page_has_the_tables_numbers_and_no_raters_name(runs: Path, tmp_path: Path) -> None:
    form = {**FORM, "gold": [GOLD]}
    folder = rated(runs, tmp_path / "study", form, "anna-maria", "bob-the-rater", "careless-cem")
    build_site(runs, tmp_path / "site", sections=people_sections(runs, [folder]))
    (study,) = SiteFolder(tmp_path / "site").read("people")
    found = dict(SiteFolder(tmp_path / "site").read("search"))
    assert found["People"] == [[study["title"], study["key"], f"people?study={study['key']}"]]
    everyone, strict = study["views"]
    table = ratings_table(read_study(folder), read_ratings(folder / RATINGS_FILE, read_study(folder)))
    numbers = {(one["model"], one["question"], one["choice"]): one for one in table.records if one["model"]}
    for row in everyone["rows"]:
        for question, cell in zip(study["questions"], row["cells"], strict=True):
            name, _, choice = question["id"].partition("=")
            record = numbers[row["model"], name, choice or None]
            assert (cell["value"], cell["sd"], cell["ratings"]) == (record["value"], record["sd"], record["ratings"])
            assert cell["ci95"] == [record["low"], record["high"]]
    assert [rater["counted"] for rater in strict["raters"]] == [True, True, False]
    assert {cell["raters"] for row in strict["rows"] for cell in row["cells"]} == {2}
    written = "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "site" / "data").rglob("*.js"))
    assert not any(name in written for name in ("anna-maria", "bob-the-rater", "careless-cem"))


def test_a_site_without_studies_has_no_such_page(runs: Path, tmp_path: Path) -> None:
    assert people_sections(runs) == []
    page = build_site(runs, tmp_path / "site").read_text(encoding="utf-8")
    assert 'data-page="people"' not in page


def test_a_damaged_study_in_the_results_is_left_out_and_a_named_one_stops_the_site(
    runs: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    results = tmp_path / "results"
    shutil.copytree(runs / "s", results / "s")
    rated(results, results / STUDIES / "good", FORM, "ann")
    bad = rated(results, results / STUDIES / "bad", {**FORM, "name": "bad"}, "ann")
    with (bad / RATINGS_FILE).open("a", encoding="utf-8") as file:
        file.write("{not JSON}\n{}\n")
    build_site(results, tmp_path / "site", sections=people_sections(results))
    assert [study["name"] for study in SiteFolder(tmp_path / "site").read("people")] == ["form"]
    (warning,) = caplog.messages
    assert "left out of the site" in warning
    assert RATINGS_FILE in warning
    with pytest.raises(DataError, match=RATINGS_FILE):
        build_site(results, tmp_path / "site", sections=people_sections(results, [bad]))


@pytest.mark.slow
def test_two_raters_annotate_twenty_answers_and_the_sites_table_appears(
    browser: Any, runs: Path, tmp_path: Path
) -> None:
    study = study_of(runs, FORM)
    assert len(study.items) == 20
    texts = {item.answers[0].text.strip(): item.answers[0].model for item in study.items}
    with serving(study, tmp_path / "study") as server:
        for rater, lower in (("ann", "2"), ("bob", "1")):
            visit = Visit(browser, server.url)
            page = visit.page
            page.goto(server.url)
            page.fill("#rater", rater)
            page.keyboard.press("Enter")
            for item in study.order(rater):
                visit.until(f"document.getElementById('work').dataset.item === '{item}'")
                model = texts[page.locator(".answer").inner_text().strip()]
                page.keyboard.press("4" if model == "First" else lower)
                page.keyboard.press("1")
                page.keyboard.press("Enter")
            page.wait_for_selector("#end:not([hidden])")
            visit.context.close()
            assert visit.wrong == []
    build_site(runs, tmp_path / "site", sections=people_sections(runs, [tmp_path / "study"]))
    visit = Visit(browser, (tmp_path / "site").as_uri())
    page = visit.go("board")
    visit.after(lambda: page.click("text=People"))
    assert "2 raters judged 20 answers of 2 models on 10 instances" in page.locator(".lead").inner_text()
    rows = {row[0]: row[1] for row in (line.split("\t") for line in page.locator("#people tr").all_inner_texts())}
    assert list(rows)[1:] == ["First", "Second", "Agreement (α)"]  # the best first
    assert rows["First"].split()[0] == "4.00"
    assert rows["Second"].split()[0] == "1.50"
    assert "n 20" in rows["Second"]
    page.hover("#people td >> nth=0")
    visit.until("document.getElementById('tip') && !document.getElementById('tip').hidden")
    assert "20 ratings of 10 answers by 2 raters" in page.locator("#tip").inner_text()
    visit.after(lambda: page.click("#sort-quality"))
    assert page.locator("#people tbody th").all_inner_texts() == ["Second", "First"]
    visit.after(lambda: page.click("#people tbody th a >> nth=1"))
    assert page.locator("h1").inner_text() == "First"
    shares = [
        [" ".join(cell.split()).removesuffix(" share") for cell in row.split("\t")]
        for row in page.locator("#ratings tbody tr").all_inner_texts()
    ]
    assert [row[:2] for row in shares] == [["quality ↑ 1 to 5", "4.00"], ["tone: kind", "1.00"], ["tone: cold", ".000"]]
    assert shares[0][-3:-1] == ["20", "2"]  # ratings, raters
    assert float(shares[0][-1].replace("low", "").replace("−", "-")) < 1  # the raters agreed on one model alone
    visit.after(lambda: page.click("#ratings h3 a"))
    assert page.locator("h1").inner_text() == "Ratings by people"
    visit.context.close()
    assert visit.wrong == []


@pytest.mark.slow
def test_hostile_texts_are_only_read(browser: Any, runs: Path, tmp_path: Path) -> None:
    folders = []
    for number, text in enumerate(STRINGS):
        clean = text.encode("utf-8", "backslashreplace").decode()
        scale = {"low": 1, "high": 5, "low_means": clean, "high_means": clean}
        quality = {"id": "quality", "title": clean, "question": clean, "help": clean, "scale": scale}
        tone = {"id": "tone", "question": clean, "choices": {"kind": clean, "cold": f"{clean}2"}}
        form = {**FORM, "name": f"form{number}", "title": clean, "questions": [quality, tone]}
        folder = rated(runs, tmp_path / str(number), form, clean[:40] or "x", "bob")
        study = json.loads((folder / "study.json").read_text(encoding="utf-8"))
        study["items"] = [
            {**item, "answers": [{**one, "model": clean + one["model"]} for one in item["answers"]]}
            for item in study["items"]
        ]
        (folder / "study.json").write_text(json.dumps(study), encoding="utf-8")
        folders.append(folder)
    build_site(runs, tmp_path / "site", sections=people_sections(runs, folders))
    visit = Visit(browser, (tmp_path / "site").as_uri())
    for number in range(len(STRINGS)):
        page = visit.go(f"people?study=form{number}")
        assert page.locator("#people tbody tr").count() == 2
        page.hover("#people td >> nth=0")
        page.hover("#people thead th >> nth=1")
        assert page.evaluate("window.acted") is None
        assert page.evaluate(HANDLERS) == 0
    visit.context.close()
    assert visit.wrong == []


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_the_page_fits_and_axe_finds_nothing_serious(
    browser: Any, runs: Path, tmp_path: Path, width: int, scheme: Any
) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    folder = rated(runs, tmp_path / "study", {**FORM, "gold": [GOLD]}, "ann", "careless-cem")
    build_site(runs, tmp_path / "site", sections=people_sections(runs, [folder]))
    size = {"width": width, "height": 800}
    visit = Visit(browser, (tmp_path / "site").as_uri(), viewport=size, color_scheme=scheme, bypass_csp=True)
    page = visit.go("people")
    assert page.locator("#people").is_visible() == (width > 700)
    assert page.locator(".people-cards").is_visible() == (width <= 700)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    visit.after(lambda: page.check("#gold"))
    assert "1 rater judged" in page.locator(".lead").inner_text()
    found = axe.run(page).response["violations"]
    visit.context.close()
    assert [each for each in found if each["impact"] in {"serious", "critical"}] == []
