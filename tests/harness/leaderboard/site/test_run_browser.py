"""The run's page in a real browser: metrics, table of samples, open sample, keys, addresses, phone and paper."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness import Completion, GenerateRequest, Message, Response, Tool, ToolCall
from harness.contracts import Judgement
from harness.leaderboard.site.addresses import address_of
from harness.leaderboard.site.builder import build_site
from harness.storage.example_files import ExampleWriter
from harness.storage.results import RunRecord, find_runs, write_run
from tests.harness.leaderboard.site.conftest import Record, Visit, example, generated, save

pytestmark = pytest.mark.slow

ACTING = "<img src=x onerror='window.acted = 1'>"


@pytest.fixture(scope="module")
def runs(results: Path) -> Callable[[str, str], str]:
    """Finds the address of a run of the first suite by model and scenario."""

    def find(model: str, scenario: str = "boolq") -> str:
        (found,) = [
            run
            for run in find_runs(results, ["first"])
            if run.spec.model.name == f"hf:org/{model}" and run.spec.scenario.name == scenario
        ]
        return address_of(found)

    return find


def opened(visit: Visit, route: str) -> Any:
    """Show a run's page; waits until a sample is open."""
    page = visit.go(route)
    visit.until("document.documentElement.dataset.sample")
    return page


def ids(page: Any) -> list[str]:
    """Return the ids of the rows that are seen, from the top."""
    found: list[str] = page.evaluate(
        "[...document.querySelectorAll('.sample-grid .ag-row')].sort((a, b) => a.getAttribute('row-index') "
        "- b.getAttribute('row-index')).map(row => row.querySelector('[col-id=id]').innerText)"
    )
    return found


def listed(visit: Visit, words: str) -> None:
    """Wait until the page says how many samples are listed."""
    visit.until(f"document.querySelector('.listed')?.textContent === '{words}'")


def current(page: Any) -> str:
    """Return the heading of the open sample."""
    return str(page.inner_text(".sample-head h2"))


@pytest.fixture
def one_run(browser: Any, tmp_path: Path) -> Any:
    """Opens the page of a run on a site of its own; nothing may have gone wrong at the end."""
    visits: list[Visit] = []

    def show(run: RunRecord, query: str = "", **settings: Any) -> Visit:
        site = build_site(tmp_path / "results", tmp_path / "site").parent
        visits.append(Visit(browser, site.as_uri(), **settings))
        opened(visits[-1], f"run/{address_of(run)}{query}")
        return visits[-1]

    yield show
    for visit in visits:
        visit.context.close()
        assert visit.wrong == []


def test_metrics_by_category_come_first(visit: Visit, runs: Callable[..., str]) -> None:
    page = opened(visit, f"run/{runs('alpha')}")
    cells = visit.texts(".measured > div")
    assert [line for line in cells[0].splitlines() if line] == [
        "Accuracy · Exact match ↑", ".800", "[.760, .840] · n 100 · chance .500"
    ]  # fmt: skip
    headings = [cell.splitlines()[0] for cell in cells]
    assert "Robustness · worst copy ↑" in headings
    assert any(heading.startswith("Calibration") for heading in headings)
    assert cells[-1].startswith("Not measured:")
    assert "bias" in cells[-1]
    assert page.evaluate("document.querySelector('.measured').getBoundingClientRect().bottom") < 220


def test_samples_are_filtered_by_correctness_copies_and_words(visit: Visit, runs: Callable[..., str]) -> None:
    page = opened(visit, f"run/{runs('alpha')}")
    listed(visit, "40 of 80 samples")  # the originals
    assert page.text_content("#only-wrong") == "Wrong 8"
    page.click("#only-wrong")
    listed(visit, "8 of 80 samples")
    assert ids(page)[:3] == ["test-8", "test-9", "test-18"]
    visit.until("document.querySelector('.sample-head h2').innerText === 'test-8'")  # the first of what is left
    page.click("#only-all")
    page.fill("#sample-filter", "number 37 about")
    listed(visit, "1 of 80 samples")
    page.click("#filters")
    page.select_option("#filters-panel select", "all")
    listed(visit, "2 of 80 samples")
    page.keyboard.press("Escape")
    page.fill("#sample-filter", "number 37 about the moon? Answer:")  # in a prompt alone
    visit.until("!document.querySelector('.samples > .empty').hidden")
    assert page.inner_text(".samples > .empty") == "No sample matches. Clear the filter to see all."
    page.click("#deep")
    listed(visit, "1 of 80 samples")
    page.fill("#sample-filter", "nothing says this")
    visit.until("!document.querySelector('.samples > .empty').hidden")
    page.click(".samples > .empty button")
    listed(visit, "40 of 80 samples")


def test_headings_sort_and_the_order_is_in_the_address(visit: Visit, runs: Callable[..., str]) -> None:
    page = opened(visit, f"run/{runs('alpha')}")
    page.click(".ag-header-cell[col-id=score]")
    assert ids(page)[0] == "test-8"
    assert "sort=score" in page.evaluate("location.hash")
    page.click(".ag-header-cell[col-id=id]")
    assert ids(page)[:3] == ["test-0", "test-1", "test-2"]
    page.click(".ag-header-cell[col-id=id]")
    assert ids(page)[:3] == ["test-39", "test-38", "test-37"]  # numbers as numbers
    page = opened(visit, f"run/{runs('alpha')}?sort=score&only=wrong")
    assert ids(page)[0] == "test-8"
    page = opened(visit, f"run/{runs('alpha')}?sort=nothing")
    assert "Unknown column nothing" in page.inner_text("[role=alert]")


def test_keys_go_through_the_samples(visit: Visit, runs: Callable[..., str]) -> None:
    page = opened(visit, f"run/{runs('alpha')}")
    moves = [("j", "test-1"), ("ArrowDown", "test-2"), ("k", "test-1"), ("w", "test-8"), ("w", "test-9")]
    for key, then in moves:
        page.keyboard.press(key)
        visit.until(f"document.querySelector('.sample-head h2').innerText === '{then}'")
        assert f"id={then}" in page.evaluate("location.hash")
    page.click(".ag-row[row-index='3'] [col-id=input]")
    visit.until("document.querySelector('.sample-head h2').innerText === 'test-3'")
    page.keyboard.press("ArrowDown")  # now in the grid
    visit.until("document.querySelector('.sample-head h2').innerText === 'test-4'")
    page.keyboard.press("j")
    page.keyboard.press("ArrowDown")
    visit.until("document.querySelector('.sample-head h2').innerText === 'test-6'")
    page.focus(".sample-side")
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.closest('.ag-row')?.getAttribute('row-index')") == "6"
    page.fill("#sample-filter", "j")  # a field keeps its keys
    assert current(page) == "test-6"


def test_keys_pressed_faster_than_the_grid_reports_its_focus(visit: Visit, runs: Callable[..., str]) -> None:
    page = opened(visit, f"run/{runs('alpha')}")
    page.click(".ag-row[row-index='3'] [col-id=input]")
    visit.until("document.querySelector('.sample-head h2').innerText === 'test-3'")
    press = "key => document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}))"
    page.evaluate(f"['j', 'ArrowDown', 'j', 'j', 'ArrowDown', 'ArrowUp'].forEach({press})")
    visit.until("document.querySelector('.sample-head h2').innerText === 'test-7'")
    assert page.evaluate("document.activeElement.closest('.ag-row')?.getAttribute('row-index')") == "7"


def test_an_address_names_a_sample(visit: Visit, runs: Callable[..., str]) -> None:
    page = opened(visit, f"run/{runs('alpha')}?id=test-17")
    visit.until("document.querySelector('.sample-head h2').innerText === 'test-17'")
    assert "18 of 40" in page.inner_text(".sample-head")
    page = opened(visit, f"run/{runs('alpha')}?id=test-17&copy=typos")
    visit.until("document.querySelector('.sample-head')?.innerText.includes('hidden by the filter')")
    assert page.locator(".sample del").all_inner_texts() == ["moon?"]
    assert page.locator(".sample ins").all_inner_texts() == ["m00n?"]
    page = opened(visit, f"run/{runs('alpha')}?id=nobody")
    assert page.inner_text("[role=alert]") == "Unknown sample “nobody”."
    assert current(page) == "test-0"
    page.evaluate("location.hash = location.hash.replace('nobody', 'test-5')")
    visit.until("document.querySelector('.sample-head h2').innerText === 'test-5'")


def test_answers_of_another_model_are_beside(visit: Visit, runs: Callable[..., str]) -> None:
    alpha, beta = runs("alpha"), runs("beta")
    page = opened(visit, f"run/{alpha}")
    page.select_option("#with", beta)
    # Alpha is right on the first eight of ten, beta on the first six.
    listed(visit, "8 of 80 samples")
    assert ids(page)[:2] == ["test-6", "test-7"]
    visit.until("document.querySelector('.sample .theirs .mark')")
    assert visit.texts(".sample .theirs .mark") == ["wrong"]
    assert visit.texts(".sample-head .mark") == ["right"]
    page = visit.go(f"run/{alpha}?with=nobody")
    assert "No other run nobody has these questions" in page.inner_text("[role=alert]")


def test_options_have_their_shares_and_copies_their_changes(visit: Visit, runs: Callable[..., str]) -> None:
    page = opened(visit, f"run/{runs('alpha')}")
    rows = [text.split() for text in page.locator(".options tbody tr").all_inner_texts()]
    assert rows[0][-7:] == ["expected", "chosen", ".269", "-2.000", "-1.000", "-2.000", "2"]
    assert rows[1][-5:] == [".731", "-1.000", "-1.500", "-3.000", "2"]  # of scores of -2 and -1: 1 / (1 + e^-1)
    assert visit.texts(".copied h4")[0].replace("\n", " ") == "Typos wrong answers no it is not instead"
    assert page.locator(".copied ins").all_inner_texts() == ["m00n?"]


def test_few_shot_examples_are_folded_and_the_prompt_shows_its_end(
    one_run: Any, tmp_path: Path, make_run: Record
) -> None:
    shots = "\n\n".join(f"Q: Number {n}?\nA: {n}" for n in range(50))
    question = f"{'A long passage. ' * 100}Where does it end?"
    asked = GenerateRequest(f"{shots}\n\nQ: {question}\nA:", 5)
    told = replace(generated(1, question, "here", True), requests=(asked,), train_instances=("a", "b"))
    visit = one_run(save(tmp_path / "results", make_run("hf:org/a", "boolq", 0.5), [told], score=lambda one: 1.0))
    page = visit.page
    assert "Number 7?" not in page.inner_text(".sample")
    assert page.inner_text(".sample details.few summary").startswith("2 examples before the question, ")
    text = page.inner_text(".turn[data-name='the input'] .words")
    assert text.startswith("…")
    assert text.endswith("Where does it end?\nA:")
    page.keyboard.press("f")
    visit.until("document.querySelector('.sample').innerText.includes('Number 7?')")
    page.click(".turn[data-name='the input'] .more")
    assert page.inner_text(".turn[data-name='the input'] .words").startswith("Q: A long passage.")
    assert "\\n" not in page.inner_text("main")


def test_what_was_read_is_marked_in_the_answer(one_run: Any, tmp_path: Path, make_run: Record) -> None:
    told = generated(1, "How many?", "It is 2 + 2, so\n#### 4 <b> as in 42", True)
    told = replace(told, prediction="4", predictions=("4",), readings={"strict": "4", "flexible": "4"})
    silent = generated(2, "How many?", "I cannot say.", False)
    silent = replace(silent, prediction="", unread=True, readings={"strict": None, "flexible": None})
    record = save(
        tmp_path / "results",
        make_run("hf:org/a", "boolq", 0.5),
        [told, silent],
        score=lambda one: float(not one.unread),
    )
    visit = one_run(record)
    page = visit.page
    assert visit.texts(".sample .read dd") == ["4", "4"]
    assert visit.texts(".sample mark") == ["4"]
    assert page.evaluate("document.querySelector('.sample mark').nextSibling.textContent") == " <b> as in 42"
    page.keyboard.press("w")
    visit.until("document.querySelector('.sample-head h2').innerText === 'test-2'")
    assert visit.texts(".sample .read dd") == ["nothing", "nothing"]
    assert "no answer could be read" in page.inner_text(".sample .flags")
    assert page.inner_text(".ag-row[row-index='1'] [col-id=answer]") == "not read"
    assert visit.texts(".sample mark") == []


def test_an_answer_cannot_stop_the_page(one_run: Any, tmp_path: Path, make_run: Record) -> None:
    """What was read is looked for in time that grows with the text, whatever a model has written."""
    answers = [
        ("It is _______x, not " + "_" * 5000 + " y", "_______x", "x"),
        ("* " * 3000 + "so **1,234** or 12", "1234", "1,234"),
        ("İ" * 50 + " The **Eiffel tower**.", "eiffel tower", "Eiffel tower"),
        ("twelve or 12, not 123", "12", "12"),
    ]
    asked = []
    for n, (written, read, _) in enumerate(answers):
        one = generated(n, "Which?", written, True)
        asked.append(replace(one, prediction=read, predictions=(read,), readings={"strict": read}))
    record = save(tmp_path / "results", make_run("hf:org/a", "boolq", 0.5), asked, score=lambda one: 1.0)
    began = time.monotonic()
    visit = one_run(record)
    for n, (_, _, marked) in enumerate(answers):
        visit.until(f"document.querySelector('.sample-head h2').innerText === 'test-{n}'")
        assert visit.texts(".sample mark") == [marked]
        visit.page.keyboard.press("j")
    assert time.monotonic() - began < 15


def test_exports_have_all_texts_and_say_that_long_ones_are_cut(one_run: Any, tmp_path: Path, make_run: Record) -> None:
    asked = [example(n, right=True, text=f"{n} " + "word " * (60 if n == 450 else 2)) for n in range(460)]
    visit = one_run(save(tmp_path / "results", make_run("hf:org/a", "boolq", 1.0, count=460), asked))
    page = visit.page
    page.click("#export")
    with page.expect_download() as download:
        page.click("#export-panel button:text-is('CSV')")
    lines = Path(download.value.path()).read_text().splitlines()
    assert lines[0].split(",")[:3] == ["Id", "Input (of long texts the end)", "Expected"]
    assert len(lines) == 461
    assert all(line.split(",")[2] == "yes it is" for line in lines[1:])


def test_names_of_an_address_that_objects_have_are_unknown(visit: Visit, runs: Callable[..., str]) -> None:
    page = visit.go(f"run/{runs('alpha')}?state=constructor")
    assert "Unknown state constructor" in page.inner_text(".notice")
    visit.go("run/nope")
    assert "There is no run with the address nope" in page.inner_text("main")
    visit.wrong = [wrong for wrong in visit.wrong if "ERR_FILE_NOT_FOUND" not in wrong]


def test_subsets_equal_to_the_whole_set_are_folded(one_run: Any, tmp_path: Path, make_run: Record) -> None:
    record = make_run("hf:org/a", "boolq", 0.5)
    whole = record.stats[-1]
    record = replace(record, stats=[whole])
    same = [replace(whole, perturbation=f"change{n}", computed_on="original") for n in range(30)]
    other = replace(whole, perturbation="typos", computed_on="worst", mean=0.25)
    record = save(tmp_path / "results", record, [example(0, right=True)], stats=[*same, other])
    visit = one_run(record)
    visit.go(f"run/{address_of(record)}?view=stats")
    assert len(visit.texts("#stats tbody tr")) == 2
    visit.after(lambda: visit.page.click("#equal"))
    assert len(visit.texts("#stats tbody tr")) == 32


def test_a_dialog_closes_when_the_page_changes(visit: Visit, runs: Callable[..., str]) -> None:
    visit.go("models")
    page = visit.go("board")
    page.click("#failures")
    assert page.locator("dialog[open]").count() == 1
    visit.after(lambda: page.evaluate("history.back()"))
    assert page.title() == "Models"
    assert page.locator("dialog").count() == 0


def test_calls_of_tools_are_shown_as_text(one_run: Any, tmp_path: Path, make_run: Record) -> None:
    calls = (ToolCall(f"weather{ACTING}", {f"city{ACTING}": ACTING}), ToolCall("half", f'{{"a": {ACTING}'))
    asked = (Message("user", "Before?"), Message("assistant", "", calls), Message("tool", ACTING, tool_call_id="x"))
    request = GenerateRequest(asked, 5, tools=(Tool("weather", ACTING, {"type": ACTING}),))
    response = Response((Completion("", finish_reason="tool_call", tool_calls=calls),))
    told = replace(generated(1, "Which tools?", "", True), requests=(request,), responses=(response,))
    visit = one_run(save(tmp_path / "results", make_run("hf:org/a", "boolq", 0.5), [told], score=lambda one: 1.0))
    page, panel = visit.page, visit.page.locator(".sample")
    assert visit.texts(".sample .who")[:3] == ["User", f"Calls weather{ACTING}", "Calls half"]
    for summary in panel.locator("summary").all():
        summary.click()
    opened = "[...document.querySelectorAll('.sample summary')].every((one) => one.parentElement.open)"
    visit.until(f"{opened} && document.querySelector('.sample').innerText.split('Calls weather').length === 5")
    assert panel.inner_text().count(f"Calls weather{ACTING}") == 4  # of the conversation and the answer, twice each
    assert panel.inner_text().count(f'{{"a": {ACTING}') == 4
    assert f'"description": "{ACTING}"' in panel.inner_text()
    assert page.inner_text("[col-id=answer] bdi").startswith("weather<img")
    assert page.evaluate("window.acted === undefined")
    assert page.locator("main img").count() == 0


def test_reasoning_is_folded_and_shown_as_text(one_run: Any, tmp_path: Path, make_run: Record) -> None:
    thought = Completion("4", reasoning=f"Two and two.\n{ACTING}", reasoning_tokens=1234)
    endless = Completion("", finish_reason="unfinished_reasoning", reasoning="Let me")
    first = replace(generated(1, "How many?", "4", True), responses=(Response((thought,)),))
    second = replace(generated(2, "How many?", "", False), responses=(Response((endless,)),))
    used = {"examples": 2, "unfinished_reasoning": 1, "prompt_tokens": 9, "completion_tokens": 1300}
    made = make_run("hf:org/a", "boolq", 0.5, efficiency={**used, "reasoning_tokens": 1234})
    visit = one_run(save(tmp_path / "results", made, [first, second], score=lambda one: 1.0))
    page = visit.page
    assert "Two and two" not in page.inner_text(".sample")
    page.get_by_text("Reasoning, 1,234 tokens").click()
    visit.until("document.querySelector('.sample').innerText.includes('Two and two.\\n<img')")
    page.keyboard.press("j")
    visit.until("document.querySelector('.sample').innerText.includes('unfinished reasoning')")
    assert page.get_by_text("Reasoning, 6 characters, unfinished").count() == 1
    assert "1 of 2 answers end in unfinished reasoning" in page.inner_text(".remarks")
    assert "1,234\nfor reasoning" in page.inner_text(".measured")
    page.click("#filters")
    page.select_option("#filters-panel select", "unfinished")
    listed(visit, "1 of 2 samples")
    assert page.evaluate("window.acted === undefined")
    assert page.locator("main img").count() == 0


def test_a_judge_is_quoted_with_its_rating(one_run: Any, tmp_path: Path, make_run: Record) -> None:
    record = make_run("hf:org/a", "boolq", 0.5)
    directory = tmp_path / "results" / record.suite / "judged"
    said = Judgement("hf:judge", f"Nearly.\n{ACTING}\n<score>8</score>", rating=8, scale=(1, 10))
    with ExampleWriter(directory) as writer:
        writer.write(generated(1, "How many?", "4", True), {"exact_match": 0.7}, None, [("judge_score", said)])
    record = replace(record, directory=directory, examples=writer.written)
    write_run(record)
    visit = one_run(record)
    assert visit.texts(".judged strong") == ["8"]
    assert visit.texts(".judged > div:first-child small") == ["1 to 10"]
    assert f"Nearly.\n{ACTING}" in visit.page.inner_text(".judged .reason")
    assert visit.page.locator("main img").count() == 0


def test_samples_of_a_prompt_are_told_apart(one_run: Any, tmp_path: Path, make_run: Record) -> None:
    told = [generated(n, f"How many {n}?", "four", True) for n in range(3)]
    drawn = [replace(one, sample=k) for one in told for k in range(4)]
    record = save(tmp_path / "results", make_run("hf:a", "boolq", 0.5), drawn, score=lambda one: float(one.sample % 2))
    visit = one_run(record, "?id=test-1&draw=3")
    page = visit.page
    visit.until("document.querySelector('.sample .flags')?.innerText.includes('sample 3 of 4')")
    assert visit.texts(".draws button") == ["1", "2", "4"]
    page.click(".draws button >> text=4")
    visit.until("location.hash.includes('draw=4')")
    page.click("#filters")
    page.select_option("#filters-panel select", "2")
    listed(visit, "3 of 12 samples")
    assert page.text_content("#only-right") == "Right 3"


def test_metadata_filter(one_run: Any, tmp_path: Path, make_run: Record) -> None:
    told = [generated(n, f"How many {n}?", "4", True) for n in range(6)]
    told = [
        replace(one, instance=replace(one.instance, meta={"__proto__": f"{ACTING}{n % 2}", "line": n}))
        for n, one in enumerate(told)
    ]
    visit = one_run(save(tmp_path / "results", make_run("hf:org/a", "boolq", 0.5), told, score=lambda one: 1.0))
    page = visit.page
    page.click("#filters")
    page.select_option("#filters-panel label:has-text('__proto__') select", f"{ACTING}1")
    listed(visit, "3 of 6 samples")
    assert ids(page) == ["test-1", "test-3", "test-5"]
    assert page.evaluate("window.acted === undefined")
    page = visit.go(page.evaluate("location.hash").removeprefix("#/").replace("%27%3E1", "%27%3E7"))
    assert "No sample has __proto__ = <img" in page.inner_text("[role=alert]")


def test_on_a_phone_samples_are_cards_and_one_covers_the_screen(
    browser: Any, site: Path, runs: Callable[..., str]
) -> None:
    visit = Visit(browser, site.as_uri(), viewport={"width": 390, "height": 844}, has_touch=True)
    page = visit.go(f"run/{runs('alpha')}")
    assert page.locator(".sample-cards li").count() == 40
    assert page.locator("[role=grid]").count() == 0
    assert "yes it is" in page.inner_text(".sample-cards li >> nth=1")
    page.click(".sample-cards li >> nth=1")
    visit.until("document.querySelector('.sample-side.open .sample')")
    box = page.locator(".sample-side").bounding_box()
    assert (box["x"], box["y"], box["width"], box["height"]) == (0, 0, 390, 844)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.click("text=‹ Samples")
    assert not page.locator(".sample-side").is_visible()
    page.click(".sample-cards li >> nth=2")
    visit.until("document.querySelector('.sample-side.open')")
    page.go_back()
    visit.until("!document.querySelector('.sample-side.open')")
    page = visit.go(f"run/{runs('alpha')}?id=test-9")
    visit.until("document.querySelector('.sample-side.open h2')?.innerText === 'test-9'")
    visit.context.close()
    assert visit.wrong == []


def test_paper_has_every_sample_of_the_filter_and_the_open_one(visit: Visit, runs: Callable[..., str]) -> None:
    page = opened(visit, f"run/{runs('alpha')}?only=wrong")
    page.emulate_media(media="print")
    visit.until("document.querySelectorAll('.sample-paper tbody tr').length === 8")
    assert page.locator(".sample-paper tbody tr").last.inner_text().split("\t")[1] == "test-39"
    assert not page.locator(".sample-grid").is_visible()
    assert page.locator(".sample").is_visible()
    page.emulate_media(media="screen")
    visit.until("!document.querySelector('.sample-paper')")


@pytest.mark.parametrize("late", ["vendor/ag-grid.min.js", "vendor/ag-grid.css", "run/samples.js", "run/panel.js"])
def test_the_page_is_drawn_in_whatever_order_the_scripts_arrive(
    browser: Any, served: str, runs: Callable[..., str], late: str
) -> None:
    visit = Visit(browser, served)

    def delayed(route: Any) -> None:
        time.sleep(0.5)
        route.continue_()

    visit.page.route(f"**/assets/{late}*", delayed)
    page = opened(visit, f"run/{runs('alpha')}")
    assert ids(page)[:2] == ["test-0", "test-1"]
    assert current(page) == "test-0"
    visit.context.close()
    assert visit.wrong == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(browser: Any, site: Path, runs: Callable[..., str], scheme: Any) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    options = {"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}}
    found = []
    for width in (1440, 390):
        visit = Visit(
            browser, site.as_uri(), color_scheme=scheme, bypass_csp=True, viewport={"width": width, "height": 900}
        )
        page = opened(visit, f"run/{runs('alpha')}?id=test-8&with={runs('beta')}")
        found.append(axe.run(page, options=options).response["violations"])
        if width > 700:
            page.click("#filters")
            found.append(axe.run(page, options=options).response["violations"])
        visit.context.close()
    serious = [one for violations in found for one in violations if one["impact"] in {"serious", "critical"}]
    assert [(one["id"], [node["html"][:200] for node in one["nodes"][:3]]) for one in serious] == []


def test_sorting_and_filtering_of_many_samples_is_quick(one_run: Any, tmp_path: Path, make_run: Record) -> None:
    """Of 20,000 samples here; ``tests/benchmarks/site_scale.py`` measures 100,000."""
    told = [example(n, right=n % 3 > 0) for n in range(20_000)]
    visit = one_run(save(tmp_path / "results", make_run("hf:org/a", "boolq", 0.5), told))
    page = visit.page
    visit.until("document.querySelector('[col-id=id]') && !document.querySelector('.ag-row .faint')")
    took = page.evaluate(
        """async () => {
          const frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
          const times = [];
          for (const name of ["score", "input", "id"]) {
            const start = performance.now();
            document.querySelector(`.ag-header-cell[col-id=${name}] .ag-header-cell-label`).click();
            await frame();
            times.push(performance.now() - start);
          }
          return times;
        }"""
    )
    assert max(took) < 2000, took  # on a machine with other work
    page.fill("#sample-filter", "number 12345 ")
    listed(visit, "1 of 20,000 samples")
    assert (
        re.match(r"test-12345", current(page))
        or visit.until("document.querySelector('.sample-head h2').innerText === 'test-12345'") is None
    )
