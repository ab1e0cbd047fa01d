"""A built site: what is in it, and that a second build does only what is needed."""

from __future__ import annotations

import dataclasses
import gc
import json
import os
import random
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.contracts import Example
from harness.contracts.specs import Component
from harness.errors import DataError
from harness.leaderboard.aggregate import build_board
from harness.leaderboard.comparison import compare_models
from harness.leaderboard.pairwise import snapped
from harness.leaderboard.site import reading
from harness.leaderboard.site.addresses import address_of, model_address, scenario_address
from harness.leaderboard.site.boards import to_odd
from harness.leaderboard.site.builder import build_site
from harness.leaderboard.site.reading import ReadRun
from harness.storage.example_files import read_examples
from harness.storage.results import RunRecord, find_runs, read_run, write_run
from tests.harness.leaderboard.site.conftest import Record, example, save


def data(site: Path, key: str) -> Any:
    """Return what a page would read under a key."""
    script = (site / "data" / f"{key}.js").read_text(encoding="utf-8")
    found = re.fullmatch(r"harness\.put\('([^']*)','(.*)'\);\n", script, re.DOTALL)
    assert found is not None
    assert found[1] == key
    return json.loads(re.sub(r"\\(.)", lambda m: {"n": "\n"}.get(m[1], m[1]), found[2]))


@pytest.fixture
def copied(results: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(results, tmp_path / "results"))


def times(site: Path) -> dict[str, int]:
    return {str(path.relative_to(site)): path.stat().st_mtime_ns for path in site.rglob("*") if path.is_file()}


def test_the_board_is_that_of_the_terminal(site: Path, results: Path) -> None:
    board, shown = build_board(find_runs(results)), data(site, "boards/all")
    assert [(m["name"], m["rank"]) for m in shown["models"]] == [(row.model, row.rank) for row in board.rows]
    assert [m["rate"] and m["rate"][0] for m in shown["models"]] == [
        row.win_rate and row.win_rate.value for row in board.rows
    ]
    main = data(site, "boards/all/main")["measures"]
    for position, measure in enumerate(main):
        cells = [row.cells[position] for row in board.rows]
        means = [None if cell is None or cell.mean is None else snapped(cell.mean) for cell in cells]
        assert [cell and cell[0] for cell in measure["cells"]] == means
    runs, model = data(site, "boards/all/main/runs"), [row.model for row in board.rows].index("alpha")
    first = next(key for key, title, *_ in data(site, "site")["boards"] if title == "first")
    page = data(site, f"models/{model_address(Component(name='hf:org/alpha'))}")
    own = {run["address"] for run in page["runs"]}
    assert own.issuperset(filter(None, (column[model] for column in runs)))
    ((*_, of_columns),) = [suite for suite in page["suites"] if suite[0] == first]
    at = [m["address"] for m in data(site, f"boards/{first}")["models"]].index(page["about"]["address"])
    assert of_columns == [column[at] for column in data(site, f"boards/{first}/main/runs")]
    assert any(of_columns)


@given(st.integers(-(10**12), 10**12), st.integers(2, 9), st.integers(0, 8))
def test_fewer_digits_are_shown_as_all_of_them_would_be(number: int, kept: int, shown: int) -> None:
    value = number / 10**10
    fewer = to_odd(value, kept)
    assert abs(fewer - value) <= 10.0**-kept
    if shown < kept:
        assert f"{fewer:.{shown}f}" == f"{value:.{shown}f}"


def test_sample_columns_are_shown_where_the_win_rate_counts_them(tmp_path: Path, make_run: Record) -> None:
    for model in ("hf:a", "hf:b"):
        save(tmp_path / "results", make_run(model, "sample_reading", 0.5, sample=True))
    save(tmp_path / "results", make_run("hf:a", "boolq", 0.5))
    site = build_site(tmp_path / "results", tmp_path / "site").parent
    board = data(site, "boards/all")
    assert board["sample"]
    assert {column["scenario"]: column["shown"] for column in board["columns"]} == {
        "boolq": True,
        "sample_reading": True,
    }
    save(tmp_path / "results", make_run("hf:b", "boolq", 0.7))
    board = data(build_site(tmp_path / "results", tmp_path / "site").parent, "boards/all")
    assert {column["scenario"]: column["shown"] for column in board["columns"]} == {
        "boolq": True,
        "sample_reading": False,
    }


def test_no_two_columns_of_a_board_have_one_name(tmp_path: Path, make_run: Record) -> None:
    """Two scenarios of one title: the definition of the second, which failed, is gone, and its record has its title."""
    for model in ("hf:a", "hf:b"):
        save(tmp_path / "results", make_run(model, "bbq", 0.5))
        gone = make_run(model, "bbq_lite", None, error="out of memory")
        title = {"title": "BBQ", "short": "BBQ", "defaults": {}}
        save(tmp_path / "results", replace(gone, provenance={**gone.provenance, "scenario": title}))
    board = data(build_site(tmp_path / "results", tmp_path / "site").parent, "boards/all")
    shown = [column for column in board["columns"] if column["shown"]]
    assert [column["title"] for column in shown] == ["BBQ · bbq", "BBQ · bbq_lite"]
    assert len({(column["group"], column["label"]) for column in shown}) == 2


def test_a_column_that_only_models_without_any_number_were_run_on_is_hidden(tmp_path: Path, make_run: Record) -> None:
    for scenario, mean in (("boolq", 0.5), ("imdb", None)):
        save(tmp_path / "results", make_run("hf:a", scenario, mean, error=None if mean else "out of memory"))
    save(tmp_path / "results", make_run("hf:gone", "gsm8k", None, error="no such folder"))
    board = data(build_site(tmp_path / "results", tmp_path / "site").parent, "boards/all")
    assert {column["scenario"]: column["shown"] for column in board["columns"]} == {
        "boolq": True,
        "gsm8k": False,
        "imdb": True,
    }


def test_categories_have_win_rates_of_their_own(site: Path) -> None:
    board = data(site, "boards/all")
    rates = {category["name"]: [rate and rate[0] for rate in category["rates"]] for category in board["categories"]}
    names = [model["name"] for model in board["models"]]
    assert list(rates) == [
        "accuracy",
        "calibration",
        "robustness",
        "fairness",
        "toxicity",
        "efficiency",
    ]
    by_name = dict(zip(names, rates["calibration"], strict=True))
    assert by_name == {"alpha": 1.0, "beta": 0.5, "gamma": 0.0}
    assert dict(zip(names, rates["efficiency"], strict=True)) == {name: 1 - rate for name, rate in by_name.items()}


def test_names_say_what_a_tooltip_needs(site: Path) -> None:
    names = data(site, "names")
    about = names["metrics"]["ece_10_bin"]
    assert (about["title"], about["short"], about["direction"]) == ("Calibration error (10 bins)", "ECE-10", "lower")
    assert (about["range"], about["category"]) == ([0.0, 1.0], "calibration")
    assert about["definition"].endswith(".")
    assert about["source"]
    assert names["scenarios"]["mmlu"]["title"] == "MMLU"
    assert "MMLU · anatomy" in names["runs"].values()
    assert names["perturbations"]["typos"]["title"] == "Typos"
    model = next(model for model in names["models"].values() if model["name"] == "alpha")
    assert (model["identifier"], model["backend"]) == ("hf:org/alpha", "hf")


def test_a_suite_has_a_board_of_its_own(site: Path) -> None:
    keys = [key for key, title, *_ in data(site, "site")["boards"] if title == "second"]
    board = data(site, f"boards/{keys[0]}")
    assert [column["scenario"] for column in board["columns"]] == ["imdb", "sample_reading"]
    assert board["dependent"] == []


def test_what_depends_on_the_published_order_is_marked_with_its_run(site: Path, results: Path) -> None:
    board = data(site, "boards/all")
    ((model, column, log10_p, run),) = board["dependent"]
    assert board["models"][model]["name"] == "alpha"
    assert (board["columns"][column]["scenario"], board["columns"][column]["test"]) == ("boolq", False)
    assert log10_p == -12.5
    assert run in {address_of(found) for found in find_runs(results, ["order"])}


def test_a_run_shows_all_its_statistics_and_examples(site: Path, results: Path) -> None:
    run = next(run for run in find_runs(results) if run.spec.scenario.name == "boolq" and run.suite == "first")
    page = data(site, f"runs/{address_of(run)}/run")
    assert len(page["stats"]) == len(run.stats)
    assert [row[13] for row in page["stats"]] == [stat.note for stat in run.stats]
    index = data(site, f"runs/{address_of(run)}/index")
    examples = [(example, scores) for example, scores, _ in read_examples(run)]
    assert index["count"] == len(examples)
    assert index["score"] == [scores["exact_match"] for _, scores in examples]
    assert [index["perturbations"][p] for p in index["perturbation"]] == [e.instance.perturbation for e, _ in examples]
    lines = [line for at in range(len(index["starts"])) for line in data(site, f"runs/{address_of(run)}/{at}")]
    assert [line["id"] for line in lines] == [example.instance.id for example, _ in examples]
    assert [lines[start]["id"] for start in index["starts"]] == [
        examples[start][0].instance.id for start in index["starts"]
    ]


def test_declined_answers_are_marked_wherever_the_score_is(tmp_path: Path, make_run: Record) -> None:
    served = [{"model": "another", "system_fingerprint": None, "answers": 100}]
    declining = make_run("openai:a", "quiz", 0.25, declined={"refusal": 2}, served=served)
    save(tmp_path / "results", declining)
    save(tmp_path / "results", make_run("openai:b", "quiz", 0.5))
    site = build_site(tmp_path / "results", tmp_path / "site").parent
    board = data(site, "boards/all")
    names = [model["name"] for model in board["models"]]
    marks = dict(zip(names, [cell[8] for cell in data(site, "boards/all/main")["measures"][0]["cells"]], strict=True))
    assert marks == {"openai:a": "⊘", "openai:b": ""}
    assert "⊘" in dict(board["legend"])
    told = "2 of 100 answers were declined (2 refusals)"
    assert [note for note in board["notes"] if told in note]
    assert [note for note in board["notes"] if "the server answered with 'another' (100 answers)" in note]
    (scenario,) = data(site, f"scenarios/{scenario_address('quiz')}")["columns"]
    assert [cell[8] for cell in scenario["measures"][0]["cells"]] == ["", "⊘"], "by rank"
    page = data(site, f"runs/{address_of(declining)}/run")
    # The page of a run is about all of its answers, those to perturbed copies as well.
    assert page["declined"] == "102 of 200 answers were declined (2 refusals, 100 tool calls)"
    assert page["served"] == ["the server answered with 'another' (100 answers), not with 'a' as requested"]
    (run,) = data(site, f"models/{model_address(Component(name='openai:a'))}")["runs"]
    assert run["declined"] == page["declined"]


def test_a_model_adds_up_what_its_runs_took(site: Path) -> None:
    address = model_address(Component(name="hf:org/alpha"))
    about = data(site, f"models/{address}")["about"]
    assert about["runs"] == 6
    assert about["queries"] == 6 * 40
    assert about["facts"]["parameters"] == [1_000_000, "backend"]
    assert [about["facts"][name][0] for name in ("creator", "window")] == ["The makers", 1024]
    assert "money" not in about


def test_a_scenario_says_what_it_is_and_lists_its_runs(site: Path) -> None:
    page = data(site, f"scenarios/{scenario_address('mmlu')}")
    assert page["about"]["title"] == "MMLU"
    assert page["about"]["licence"]
    (column,) = page["columns"]
    assert [label for label, _ in column["parts"]] == ["mmlu:subject=anatomy", "mmlu:subject=virology"]
    unknown = data(site, f"scenarios/{scenario_address('sample_reading')}")
    assert unknown["about"]["title"]


def test_a_second_build_changes_nothing(copied: Path, tmp_path: Path) -> None:
    site = build_site(copied, tmp_path / "public").parent
    before = times(site)
    build_site(copied, site)
    assert times(site) == before


def test_a_changed_run_changes_its_pages_and_a_removed_one_goes(copied: Path, tmp_path: Path) -> None:
    site = build_site(copied, tmp_path / "public").parent
    before = times(site)
    runs = find_runs(copied)
    changed, removed = runs[0], runs[-1]
    record = changed.directory / "run.json"
    record.write_text(record.read_text().replace('"queries": 40', '"queries": 41'))
    shutil.rmtree(removed.directory)
    build_site(copied, site)
    after = times(site)
    assert not any(address_of(removed) in name for name in after)
    own = f"data/runs/{address_of(changed)}/run.js"
    assert after[own] != before[own]
    others = {name for name in after if name.startswith("data/runs/") and address_of(changed) not in name}
    assert all(after[name] == before[name] for name in others)


def contents(site: Path) -> dict[str, bytes]:
    """Return the data files of a site, without the marks that name files' times."""
    return {
        str(path.relative_to(site)): path.read_bytes()
        for path in (site / "data").rglob("*.js")
    }  # fmt: skip


def test_a_process_reads_only_the_records_that_changed_since_its_last_build(
    copied: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Path] = []

    def noted(directory: Path) -> RunRecord:
        read.append(directory)
        return read_run(directory)

    monkeypatch.setattr(reading, "read_run", noted)
    earlier: dict[Path, ReadRun] = {}
    site = build_site(copied, tmp_path / "site", earlier=earlier).parent
    everything = sorted(file.parent for file in copied.glob("*/*/run.json"))
    assert sorted(read) == everything

    read.clear()
    before = contents(site)
    build_site(copied, site, earlier=earlier)
    assert (read, contents(site)) == ([], before)

    changed = next(run for run in find_runs(copied) if run.status == "ok" and run.spec.scenario.name == "boolq")
    stats = [replace(each, mean=0.25, ci95=None, min=None, max=None) for each in changed.stats]
    write_run(replace(changed, stats=stats))
    shutil.rmtree(next(directory for directory in everything if directory != changed.directory))
    build_site(copied, site, earlier=earlier)
    assert read == [changed.directory]
    assert contents(site) != before
    assert contents(site) == contents(build_site(copied, tmp_path / "fresh").parent)

    read.clear()
    next((site / "data" / "runs").glob("*/run.js")).unlink()
    build_site(copied, site, earlier=earlier)
    assert len(read) == 1
    assert contents(site) == contents(tmp_path / "fresh")


def test_a_build_leaves_the_collection_of_garbage_as_it_was(results: Path, tmp_path: Path) -> None:
    assert gc.isenabled()
    build_site(results, tmp_path / "site")
    assert gc.isenabled()
    with pytest.raises(DataError):
        build_site(tmp_path / "none", tmp_path / "other")
    assert gc.isenabled()


def test_a_model_with_a_display_name_in_one_suite_only_has_one_name(make_run: Any, tmp_path: Path) -> None:
    named = make_run({"name": "hf:a"}, "quiz", 0.5, suite="one", finished="2025-01-01T00:00:00+00:00")
    operational = {"display_name": "Nice"}
    save(tmp_path / "results", replace(named, spec=named.spec.model_copy(update={"operational": operational})))
    save(tmp_path / "results", make_run("hf:a", "quiz", 0.5, suite="two", finished="2025-01-02T00:00:00+00:00"))
    save(tmp_path / "results", make_run("hf:b", "quiz", 0.25, suite="one"))
    site = build_site(tmp_path / "results", tmp_path / "site").parent
    boards = [data(site, f"boards/{file.stem}") for file in sorted((site / "data" / "boards").glob("*.js"))]
    shown = {board["title"]: {model["name"] for model in board["models"]} for board in boards if "models" in board}
    assert shown == {"all suites": {"hf:a", "hf:b"}, "one": {"hf:a", "hf:b"}, "two": {"hf:a"}}


def test_damaged_examples_are_said_on_the_runs_page_and_spoil_no_other(copied: Path, tmp_path: Path) -> None:
    run = next(run for run in find_runs(copied) if run.spec.scenario.name == "boolq" and run.suite == "first")
    (run.directory / "examples.jsonl.gz").write_bytes(b"no gzip")
    site = build_site(copied, tmp_path / "public").parent
    page = data(site, f"runs/{address_of(run)}/run")
    assert page["examples"] is False
    assert "not the examples that run.json describes" in page["problem"]
    board, main = data(site, "boards/all"), data(site, "boards/all/main")["measures"]
    marked = [
        (board["columns"][measure["column"]]["scenario"], board["models"][m]["name"])
        for measure in main
        for m, cell in enumerate(measure["cells"])
        if cell and "◊" in cell[8]
    ]
    assert marked == [("boolq", run.spec.model.name.rpartition("/")[2])]
    assert "◊" in dict(board["legend"])
    assert [note for note in board["notes"] if "not the examples that run.json describes" in note]


def _pair_rows(site: Path, first: str, second: str) -> dict[str, list[Any]]:
    """Return the rows of two models by the title of their question."""
    questions = data(site, "compare/all")["questions"]
    key = "/".join(sorted(model_address(Component(name=model)) for model in (first, second)))
    return {questions[at]["title"]: values for at, _, *values in data(site, f"compare/all/{key}")}


def test_pairs_of_models_have_the_statistics_of_the_command(tmp_path: Path, make_run: Record) -> None:
    """Trials that one run lacks, undefined scores, other questions, and scores that are not 0 or 1 are in it."""

    def examples(seed: int) -> list[Example]:
        rng = random.Random(seed)
        found = []
        for n in range(30):
            one = example(n, right=rng.random() < 0.5 + seed / 5, text="another?" if n == seed else "")
            found += [dataclasses.replace(one, trial=trial) for trial in range(3) if (n + trial) % 7 != seed]
            found.append(example(n, right=True, perturbation="typos"))
        return found

    root = tmp_path / "results"
    for seed, model in enumerate(("hf:a", "hf:b")):
        save(root, make_run(model, "quiz", 0.5), examples(seed))
        save(
            root, make_run(model, "essay", 0.5), examples(seed), score=lambda one: len(one.prediction) / 30 + one.trial
        )
        shifted = [example(n + 40 * seed, right=True) for n in range(3)]
        save(root, make_run(model, "apart", 0.5), shifted)
    rows = _pair_rows(build_site(root, tmp_path / "site").parent, "hf:a", "hf:b")
    family = compare_models(find_runs(root), "hf:a", "hf:b")
    assert set(rows) == {"quiz", "essay", "apart"}
    assert "no instance in common" in rows["apart"][0]
    turned = model_address(Component(name="hf:a")) > model_address(Component(name="hf:b"))
    for comparison in compare_models(find_runs(root), "hf:b", "hf:a").comparisons if turned else family.comparisons:
        count, first, second, difference, low, high, p, differing, higher, binary, *left_out = rows[comparison.scenario]
        assert (count, first, second) == pytest.approx((comparison.count, comparison.first, comparison.second))
        assert (difference, low, high) == (comparison.difference, comparison.low, comparison.high)
        assert p == comparison.p
        assert 0 < differing < count
        assert (higher, bool(binary)) == (comparison.first_higher, comparison.binary)
        assert comparison.binary == (comparison.test == "mcnemar")
        expected = [comparison.only_first, comparison.only_second, comparison.undefined, comparison.changed]
        power = [comparison.variance, comparison.units, comparison.widest, comparison.could_show]
        assert left_out == pytest.approx([*expected, *power])
        assert comparison.changed == 2


def test_pairs_pool_repeats_and_samples_as_the_command_does(tmp_path: Path, make_run: Record) -> None:
    """Over clusters, too: the first model has two repeats of three samples each, the second one run."""

    def examples(seed: int, samples: int) -> list[Example]:
        rng = random.Random(seed)
        found = []
        for n in range(24):
            one = example(n, right=True)
            instance = one.instance.replace(meta={"passage": n // 3})
            for sample in range(samples):
                again = example(n, right=rng.random() < 0.4 + 0.1 * seed)
                found.append(dataclasses.replace(again, instance=instance, sample=sample))
        return found

    def clustered(run: RunRecord) -> RunRecord:
        spec = run.spec.model_copy(update={"cluster": "passage"})
        return dataclasses.replace(run, spec=spec, name=spec.name)

    root = tmp_path / "results"
    for seed in (1, 2):
        save(root, clustered(make_run("hf:a", "quiz", 0.5, seed=seed)), examples(seed, 3))
    save(root, clustered(make_run("hf:b", "quiz", 0.5)), examples(4, 1))
    rows = _pair_rows(build_site(root, tmp_path / "site").parent, "hf:a", "hf:b")
    turned = model_address(Component(name="hf:a")) > model_address(Component(name="hf:b"))
    (found,) = compare_models(find_runs(root), *(("hf:b", "hf:a") if turned else ("hf:a", "hf:b"))).comparisons
    count, first, second, difference, low, high, p, *_, variance, units, _, could_show = rows["quiz"]
    assert (variance, could_show) == pytest.approx((found.variance, found.could_show))
    assert (units, found.units) == (8, 8)
    assert (count, first, second, difference) == pytest.approx((24, found.first, found.second, found.difference))
    assert (low, high, p) == pytest.approx((found.low, found.high, found.p))
    assert found.test == "permutation"


def test_pairs_whose_runs_have_not_changed_are_not_computed_again(copied: Path, tmp_path: Path) -> None:
    site = build_site(copied, tmp_path / "public").parent
    names = ("hf:org/alpha", "hf:org/beta")
    true = _pair_rows(site, *names)
    pair = "/".join(sorted(model_address(Component(name=name)) for name in names))
    for file in site.glob(f"data/compare/*/{pair}.js"):
        file.write_text(file.read_text().replace(f",{true['BoolQ'][0]},", ",4321,", 1))
    build_site(copied, site)
    kept = _pair_rows(site, *names)
    assert kept != true
    assert 4321 in {row[0] for row in kept.values()}
    for run in find_runs(copied, ["first"]):
        os.utime(run.directory / "run.json", ns=(1, 1))
    build_site(copied, site)
    assert _pair_rows(site, *names) == true


def test_only_the_suites_that_are_named_are_shown(copied: Path, tmp_path: Path) -> None:
    site = build_site(copied, tmp_path / "public", ["second"]).parent
    assert data(site, "site")["boards"] == [["all", "second", "second", "2025-01-01T00:00:00+00:00"]]
    with pytest.raises(DataError, match="first, order, second"):
        build_site(copied, tmp_path / "public", ["third"])


def test_a_model_without_any_number_is_marked(make_run: Record, tmp_path: Path) -> None:
    for run in (
        make_run("hf:good", "quiz", 0.5),
        make_run("hf:good", "wiki", None, error="e"),
        make_run("hf:gone", "quiz", None, error="e"),
    ):
        save(tmp_path / "results", run)
    page = build_site(tmp_path / "results", tmp_path / "site")
    board = data(page.parent, "boards/all")
    assert [(model["name"], model["failed"]) for model in board["models"]] == [("gone", True), ("good", False)]
    assert len(board["failures"]) == 2


def test_no_results_give_a_site_that_says_so(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    site = build_site(tmp_path / "results", tmp_path / "results" / "site").parent
    assert data(site, "boards/all")["models"] == []
    build_site(tmp_path / "results", site)


def test_the_document_admits_only_its_own_scripts_and_styles(site: Path) -> None:
    page = (site / "index.html").read_text()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    assert "default-src 'none'; script-src 'self'; style-src 'self'" in policy[1]
    assert "unsafe" not in policy[1]
    assert not re.search(r"<script(?![^>]* src=)|<style|\son\w+=|\sstyle=", page)
    for place in (*re.findall(r'(?:src|href)="(assets/[^"?]*)', page),):
        assert (site / place).is_file()


def test_scripts_use_nothing_that_would_make_markup_of_text() -> None:
    assets = Path(build_site.__code__.co_filename).parent / "assets"
    for script in (path for path in assets.rglob("*.js") if path.parent.name != "vendor"):
        found = re.findall(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|\.style\s*=",
            script.read_text(),
        )
        assert found == [], script.name
