"""Make the pictures of the page for raters and of the site's page of ratings that the documentation shows.

    python docs/ratings_pictures.py

Three models answer ten questions, and three raters judge them; all of it is invented. The pictures go to
``docs/screenshots``. It needs the extra ``browser`` and Chromium.
"""

from __future__ import annotations

import json
import os
import tempfile
import threading
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from playwright.sync_api import sync_playwright

from docs.screenshots import PICTURES, SIZES, chromium, picture
from harness.annotation.people import STUDIES, people_sections
from harness.annotation.questionnaire import Questionnaire
from harness.annotation.ratings import Rating, RatingsFile
from harness.annotation.server import AnnotationServer
from harness.annotation.study import RATINGS_FILE, Study, find_records, keep_study, make_study
from harness.cli import group
from harness.leaderboard.site.builder import build_site
from harness.seeds import derive_rng

FORM = {
    "name": "helpfulness",
    "title": "Is the answer helpful?",
    "guidelines": "Read the question and the answer. Judge the answer alone; do not look anything up.\n\n"
    "Give a 3 to an answer that is right but too short to be of use.",
    "questions": [
        {
            "id": "helpful",
            "title": "Helpful",
            "question": "How helpful is the answer?",
            "help": "Think of the person who asked.",
            "scale": {"low": 1, "high": 5, "low_means": "useless", "high_means": "all one could wish for"},
        },
        {
            "id": "clear",
            "title": "Clear",
            "question": "How easy is it to understand?",
            "scale": {"low": 1, "high": 5, "low_means": "very hard", "high_means": "very easy"},
        },
        {"id": "tone", "title": "Tone", "question": "What is its tone?", "choices": ["friendly", "neutral", "rude"]},
    ],
}
ANSWERS = {
    "test-5": ("Spring comes after winter: the days get longer, and the first flowers appear.", "Spring.", "Snow."),
    "test-7": ("Sailors do, under the orders of a captain.", "A sailor.", "Who cares?"),
    "test-12": ("Foxes live in forests and fields, and some in towns.", "In the forest.", "In a hole."),
    "test-13": ("Cheese is made from milk, most often that of cows, goats or sheep.", "Milk.", "A shop."),
    "test-17": ("A duck says “quack”, and its young peep.", "Quack.", "Woof, I suppose."),
    "test-18": ("The pane is made of glass, and the frame of wood or metal.", "Glass.", "It is a hole."),
    "test-19": ("A spider has eight legs, two more than an insect.", "Eight.", "Too many."),
    "test-22": ("A young dog is called a puppy.", "A puppy.", "Small."),
    "test-23": ("Bread is made from flour, water, salt and mostly yeast.", "Flour.", "Toast."),
    "test-24": ("The opposite of old is young, or new if you speak of a thing.", "New.", "Not old."),
}
"""What the three models answer to questions of ``sample_generation``."""

MODELS = {"large-chat": 4.4, "small-chat": 3.4, "small-base": 1.7}
"""The models, with the mean of what raters think of them."""


def results(folder: Path) -> Path:
    """Run a sweep whose models answer as written above, and return its results folder."""
    for place, model in enumerate(MODELS):
        lines = [json.dumps({"id": name, "text": answers[place]}) for name, answers in ANSWERS.items()]
        (folder / f"{model}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    models = [{"name": f"replay:{model}.jsonl", "display_name": model} for model in MODELS]
    sweep = {
        "suite": "assistants",
        "models": models,
        "runs": [{"scenario": "sample_generation", "max_eval_instances": len(ANSWERS)}],
    }
    (folder / "sweep.yaml").write_text(json.dumps(sweep), encoding="utf-8")
    here = Path.cwd()
    os.chdir(folder)
    try:
        ran = CliRunner().invoke(group, ["run", "sweep.yaml"])
    finally:
        os.chdir(here)
    if ran.exit_code:
        raise RuntimeError(ran.output)
    return folder / "results"


def invented(study: Study) -> list[Rating]:
    """Return ratings of all items by three raters."""
    rng = derive_rng(1, "ratings")
    given = []
    for rater, strictness in (("ann", 0.2), ("bob", -0.2), ("cem", 0.0)):
        for item in study.items:
            mean = MODELS[item.answers[0].model] + strictness
            for question in ("helpful", "clear"):
                value = min(5, max(1, round(rng.gauss(mean, 0.6))))
                given.append(Rating(rater, item.id, question, value))
            unfriendly = "neutral" if mean > 2 or rng.random() < 0.4 else "rude"
            tone = "friendly" if mean + rng.gauss(0, 0.8) > 4 else unfriendly
            given.append(Rating(rater, item.id, "tone", tone))
    return given


def rater_pictures(browser: Any, address: str) -> None:
    """Take the pictures of the page for raters, after a few answers."""
    for width, height in SIZES.items():
        for scheme in ("light", "dark"):
            page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
            page.goto(address)
            page.fill("#rater", f"rater {width} {scheme}")
            page.keyboard.press("Enter")
            page.wait_for_selector("#work:not([hidden]) .answer")
            for _ in range(4):
                item = page.locator("#work").get_attribute("data-item")
                for key in ("4", "5", "2", "Enter"):
                    page.keyboard.press(key)
                while page.locator("#work").get_attribute("data-item") == item:
                    page.wait_for_timeout(20)
            page.keyboard.press("4")
            page.wait_for_timeout(300)
            page.screenshot(path=PICTURES / f"annotate-{width}-{scheme}.png")
            page.close()


def main() -> None:
    """Take all pictures."""
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        found = results(folder)
        study = make_study(Questionnaire.model_validate(FORM), find_records([found]))
        keep_study(study, place := found / STUDIES / study.questionnaire.name)
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        with (
            RatingsFile(folder / "shown.jsonl", study) as file,
            AnnotationServer(study, file, port=0) as server,
        ):
            thread = threading.Thread(target=server.serve_forever)
            thread.start()
            rater_pictures(browser, server.url)
            server.shutdown()
            thread.join()
        with RatingsFile(place / RATINGS_FILE, study) as file:
            file.add(invented(study))
        site = build_site(found, folder / "site", sections=people_sections(found)).parent
        for width in SIZES:
            for scheme in ("light", "dark"):
                picture(browser, site, "people", "people", width, scheme)
        browser.close()


if __name__ == "__main__":
    main()
