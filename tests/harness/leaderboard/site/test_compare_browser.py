"""The comparison of two models in a real browser: sentence, order, numbers, questions, keys, addresses, phone."""

from __future__ import annotations

import dataclasses
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from harness.contracts import Example
from harness.contracts.scales import COUNT, PROPORTION, Scale
from harness.contracts.specs import Component
from harness.leaderboard.comparison import compare_models
from harness.leaderboard.site.addresses import address_of, model_address
from harness.leaderboard.site.builder import build_site
from harness.plugins.registry import default_registry
from harness.storage.results import RunRecord, find_runs
from tests.harness.leaderboard.site.conftest import Record, Visit, example, save

pytestmark = pytest.mark.slow

HOSTILE = "hf:<img src=x onerror=alert(1)>\"'\u202e&amp;</script>" + "long" * 40
MODELS = {"hf:org/alpha": 0.9, "hf:org/beta": 0.5, HOSTILE: 0.3}
A, B, EVIL = (model_address(Component(name=name)) for name in MODELS)
LINES = ".forest tr[data-key]"


def _bits(rank: int, example: Example) -> float:
    return 1 + 0.3 * rank + len(str(example.prediction)) / 99


def _examples(share: float, shift: int = 0, count: int = 60) -> list[Example]:
    return [example(n, right=((7 * n + shift) % 20) < 20 * share) for n in range(count)]


def _scaled(record: RunRecord, scale: Scale) -> RunRecord:
    return dataclasses.replace(record, stats=[dataclasses.replace(one, scale=scale) for one in record.stats])


def write_compared(root: Path, make_run: Record) -> None:
    """Write three models with a difference that is shown, some that are not, bits, seconds, and two ways to ask."""
    for rank, (model, share) in enumerate(MODELS.items()):
        save(root, _scaled(make_run(model, "boolq", share), PROPORTION), _examples(share))
        save(root, _scaled(make_run(model, "<b>quiz</b>", share), PROPORTION), _examples(0.5, rank))
        save(root, _scaled(make_run(model, "few", share), PROPORTION), _examples(0.5 + rank / 20, count=15))
        bits = _scaled(make_run(model, "wikitext", 1.0, metric="bits_per_byte", higher=False), COUNT)
        save(root, bits, _examples(0.5), score=partial(_bits, rank))
        if rank == 0:
            other = make_run(model, "boolq", 0.4, settings={"max_train_instances": 5})
            save(root, _scaled(other, PROPORTION), _examples(0.4))


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory, make_run: Record) -> Path:
    """A results folder, and its site beside it."""
    root = tmp_path_factory.mktemp("compared") / "results"
    write_compared(root, make_run)
    build_site(root, root.parent / "public")
    return root


@pytest.fixture
def looking(browser: Any, compared: Path) -> Any:
    opened = Visit(browser, (compared.parent / "public").as_uri(), viewport={"width": 1440, "height": 900})
    opened.page.goto("about:blank")
    yield opened
    opened.context.close()
    assert opened.wrong == []


def _questions(visit: Visit, route: str) -> Any:
    page = visit.go(route)
    visit.until("document.querySelector('.question')")
    return page


def test_the_numbers_are_those_of_the_command(looking: Visit, compared: Path) -> None:
    family = compare_models(find_runs(compared), "hf:org/alpha", "hf:org/beta", registry=default_registry())
    page = looking.go(f"compare?a={A}&b={B}")
    lines = {line.locator("th a").inner_text(): line.inner_text() for line in page.locator(LINES).all()}
    assert len(lines) == len(family.comparisons) == 4
    better = sum(one.p_holm < 0.05 for one in family.comparisons)
    assert page.inner_text("#sentence") == (
        f"alpha is better than beta on {better} of 4 scenarios, worse on none; no difference is shown on {4 - better}."
    )
    for one in family.comparisons:
        line = lines[one.title].replace("−", "-").replace("\n", " ")
        assert one.low is not None
        assert one.high is not None
        share = one.metric == "exact_match"
        expected = [f"{value:+.3f}" for value in (one.difference, one.low, one.high)]
        if share:
            expected = [word.replace("0.", ".", 1) if word != "+0.000" else "±.000" for word in expected]
        assert f"{expected[0]} [{expected[1]}, {expected[2]}]" in line
        p = f"{one.p_holm:.3f}".replace("0.", ".", 1) if one.p_holm < 0.9995 else "1.00"
        assert ("<.001" if one.p_holm < 0.001 else p) in line


def test_the_page_says_what_the_comparison_could_have_shown(looking: Visit, compared: Path) -> None:
    family = compare_models(find_runs(compared), "hf:org/alpha", "hf:org/beta", registry=default_registry())
    page = looking.go(f"compare?a={A}&b={B}")
    shares = [one.could_show for one in family.comparisons if one.metric == "exact_match"]
    seen = sorted(f"{value:.3f}".replace("0.", ".", 1) for value in shares if value is not None)
    assert len(seen) == len(shares) >= 2
    words = (
        f"{seen[0]} or more" if seen[0] == seen[-1] else f"{seen[0]} or more at best and {seen[-1]} or more at worst"
    )
    assert f"could have shown differences of {words}, with power 0.8." in page.inner_text("#how")
    line = page.locator(LINES).filter(has_text="+.").first
    line.hover()
    looking.until("document.querySelector('#tip').innerText.includes('Could have shown differences of')")


def test_differences_that_are_shown_come_first_and_units_have_their_own_axes(looking: Visit) -> None:
    page = looking.go(f"compare?a={A}&b={B}")
    rows = page.eval_on_selector_all(
        ".forest tbody tr", "rows => rows.map(row => row.dataset.key || row.querySelector('th').innerText)"
    )
    assert rows == [
        "Difference shown 1", "boolq", "No difference shown 2", rows[3], rows[4],
        "Bits per byte · own axis", "Difference shown 1", "wikitext",
    ]  # fmt: skip
    assert set(rows[3:5]) == {"b-quiz-b", "few"}
    assert page.locator(".forest .axis").count() == 2
    marks = page.eval_on_selector_all(
        f"{LINES} .square", "marks => marks.map(mark => mark.getBoundingClientRect().left)"
    )
    middle = page.locator(".forest [data-key=boolq] .zero").bounding_box()["x"]
    # Fewer bits are better, so alpha's advantage is on the same side as with accuracy.
    assert marks[0] > middle + 20
    assert marks[-1] > middle + 20
    assert page.locator(".forest [data-key=few] .few").count() == 1


def test_the_pair_is_shown_from_either_side(looking: Visit) -> None:
    def numbers(first: str, second: str) -> dict[str, tuple[list[str], list[str]]]:
        page = looking.go(f"compare?a={first}&b={second}")
        return {
            line.get_attribute("data-key"): (
                line.locator(".v").all_inner_texts(),
                line.locator(".by").all_inner_texts(),
            )
            for line in page.locator(LINES).all()
        }

    ours, theirs = numbers(A, B), numbers(B, A)
    assert looking.page.inner_text("#sentence").startswith(
        "beta is worse than alpha on 2 of 4 scenarios, better on none"
    )
    for key, (values, (difference,)) in ours.items():
        assert theirs[key][0] == values[::-1]
        assert theirs[key][1] == [difference.translate({ord("+"): "−", ord("−"): "+"})]
    looking.after(lambda: looking.page.keyboard.press("x"))
    assert looking.page.inner_text("#sentence").startswith("alpha is better")


def test_questions_on_which_they_disagree_have_both_answers(looking: Visit, compared: Path) -> None:
    page = _questions(looking, f"compare?a={A}&b={B}&scenario=boolq")
    counts = dict(zip(("both", "a", "b", "neither"), page.locator(".kinds dd").all_inner_texts(), strict=True))
    right = {
        name: {n for n in range(60) if (7 * n) % 20 < 20 * MODELS[name]} for name in ("hf:org/alpha", "hf:org/beta")
    }
    one, other = right["hf:org/alpha"], right["hf:org/beta"]
    assert {kind: int(amount) for kind, amount in counts.items()} == {
        "both": len(one & other), "a": len(one - other), "b": 0, "neither": 60 - len(one | other),
    }  # fmt: skip
    first = page.locator(".question").first
    assert int(first.locator("h3 button").inner_text().removeprefix("test-")) in one - other
    assert first.locator("dd.verdict").all_inner_texts() == ["", "✓", "✕"]
    assert [words.split(" sample")[0] for words in first.locator("dd.answer").all_inner_texts()] == [
        "yes it is", "yes it is", "no it is not",
    ]  # fmt: skip
    runs = {
        run.spec.model.name: address_of(run)
        for run in find_runs(compared)
        if run.spec.scenario.name == "boolq" and not run.spec.adapter.arguments
    }
    links = first.locator("a.sample").all()
    assert [link.get_attribute("href").split("?")[0] for link in links] == [
        f"#/run/{runs[name]}" for name in ("hf:org/alpha", "hf:org/beta")
    ]
    assert page.locator(".question").count() == 20
    page.click("#more-questions")
    looking.until("document.querySelectorAll('.question').length === 24")
    page.click("#kind-neither")
    looking.until("document.querySelectorAll('.question').length === 6")
    assert "show=neither" in page.url


def test_keys_move_among_scenarios_and_questions_and_the_address_names_them(looking: Visit) -> None:
    page = _questions(looking, f"compare?a={A}&b={B}")
    keys = page.eval_on_selector_all(LINES, "rows => rows.map(row => row.dataset.key)")
    page.keyboard.press("j")
    looking.until(f"document.documentElement.dataset.questions === '{keys[1]}'")
    assert f"scenario={keys[1]}" in page.url
    page.keyboard.press("k")
    looking.until(f"document.documentElement.dataset.questions === '{keys[0]}'")
    page.keyboard.press("w")
    page.keyboard.press("w")
    looking.until("document.querySelector('.question[aria-current]')")
    named = page.locator(".question[aria-current] h3 button").inner_text()
    assert page.locator(".question h3 button").nth(1).inner_text() == named
    assert f"id={named}" in page.url
    there = page.url.split("#/")[1]
    page.goto("about:blank")
    again = _questions(looking, there)
    assert again.locator(".question[aria-current] h3 button").inner_text() == named


def test_what_an_address_names_wrongly_is_said(looking: Visit) -> None:
    page = _questions(looking, "compare?a=nobody&scenario=nothing&id=none")
    said = page.locator("[role=alert]:visible").all_inner_texts()
    assert said == ["Unknown model nobody. Unknown scenario nothing.", "No question in this list has the id none."]
    page = looking.go("compare?a=alpha&b=hf:org/beta")
    assert page.inner_text("#sentence").startswith("alpha is better than beta")


def test_models_are_chosen_by_typing(looking: Visit) -> None:
    page = looking.go(f"compare?a={A}&b={B}")
    page.click("#model-b")
    assert page.locator("#model-b-list [role=option]").count() == 3  # alpha was asked in two ways, too
    page.keyboard.type("img")
    looking.until("document.querySelectorAll('#model-b-list [role=option]').length === 1")
    looking.after(lambda: page.keyboard.press("Enter"))
    assert f"b={EVIL}" in page.url
    assert "script>longlong" in page.inner_text("#sentence")
    assert page.locator("main img").count() == 0


def test_a_model_asked_in_two_ways_is_compared_with_itself(looking: Visit) -> None:
    page = _questions(looking, f"compare?a={A}&b={A}")
    assert page.inner_text("#sentence") == "alpha: the score depends on how it is asked."
    assert "max train instances" in page.inner_text(LINES).lower()
    page = looking.go(f"compare?a={B}&b={B}")
    assert page.locator(LINES).count() == 0
    assert "Choose two models" in page.inner_text("main")


def test_all_pairs_lead_to_their_comparison(looking: Visit) -> None:
    page = looking.go("compare?view=pairs")
    row = next(line for line in page.locator(".matrix tbody tr").all() if line.locator("th").inner_text() == "alpha")
    cell = row.locator(f"a[href*='b={B}']")
    assert cell.inner_text().replace("\n", "") == "2–0"
    looking.after(cell.click)
    assert page.inner_text("#sentence").startswith("alpha is better than beta on 2 of 4")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_phone_and_axe(browser: Any, compared: Path, scheme: Any) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    options = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}
    for width in (1440, 390):
        opened = Visit(
            browser, (compared.parent / "public").as_uri(), color_scheme=scheme, bypass_csp=True,
            viewport={"width": width, "height": 844},
        )  # fmt: skip
        for route in (f"compare?a={A}&b={EVIL}", "compare?view=pairs"):
            page = opened.go(route)
            if "view" not in route:
                opened.until("document.querySelector('.question')")
                page.click("#model-a")
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (route, width)
            found = axe.run(page, options=options).response["violations"]
            serious = [
                (one["id"], one["nodes"][0]["html"][:200]) for one in found if one["impact"] in {"serious", "critical"}
            ]
            assert serious == [], (route, width)
        if width == 390:
            page = opened.go(f"compare?a={A}&b={B}")
            page.locator(LINES).nth(1).locator("th a").click()
            opened.until("document.activeElement.id === 'questions'")
            page.click(".back button")
            assert page.evaluate("document.activeElement.closest('tr').dataset.key") == page.locator(LINES).nth(
                1
            ).get_attribute("data-key")
        opened.context.close()
