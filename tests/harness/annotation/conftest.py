"""Studies of made-up answers, and a server that asks about them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from harness.annotation.questionnaire import Questionnaire
from harness.annotation.ratings import RatingsFile
from harness.annotation.server import AnnotationServer
from harness.annotation.study import RATINGS_FILE, Answer, Item, Study, keep_study

FORM = {
    "name": "form",
    "title": "A form",
    "guidelines": "Read it.\n\nThen judge it.",
    "questions": [
        {"id": "quality", "question": "How good?", "scale": {"low": 1, "high": 5, "low_means": "bad"}},
        {"id": "tone", "question": "Which tone?", "choices": ["kind", "cold"]},
        {"id": "why", "question": "Why?", "text": True},
    ],
}
PAIR = {
    "name": "pair",
    "title": "A pair",
    "answers": "pair",
    "questions": [{"id": "better", "question": "Which?", "prefer": True}],
}
STRENGTHS = {"id": "better", "question": "Which?", "prefer": True, "strengths": True}
MODELS = ("small", "large")


def made_study(form: dict[str, Any], instances: int = 3, text: str = "answer", gold: int = 0) -> Study:
    """Return a study of answers of two models to each of some instances."""
    questionnaire = Questionnaire.model_validate(form)
    items = []
    for place in range(instances):
        answers = [Answer(model=model, run=f"s/{model}", text=f"{text} {place} {model[0]}") for model in MODELS]
        asked = {"scenario": "quiz", "instance": f"test-{place}", "input": f"{text} question {place}"}
        if questionnaire.answers == "pair":
            items.append(Item(id=f"i{place}", answers=tuple(answers), **asked))
        else:
            items += [Item(id=f"i{place}{one.model[0]}", answers=(one,), **asked) for one in answers]
    for place in range(gold):
        one = (Answer(model="", run="", text="gold"),)
        items.append(
            Item(
                id=f"g{place}", scenario="", instance=f"gold-{place}", input="?", answers=one, expected={"quality": [5]}
            )
        )
    return Study(questionnaire=questionnaire, seed=1, items=tuple(items))


@contextmanager
def serving(study: Study, folder: Path, token: str = "") -> Iterator[AnnotationServer]:
    """Serve a study from a folder, as ``harness annotate`` does."""
    keep_study(study, folder)
    with (
        RatingsFile(folder / RATINGS_FILE, study) as ratings,
        AnnotationServer(study, ratings, port=0, token=token) as at,
    ):
        thread = threading.Thread(target=at.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield at
        finally:
            at.shutdown()
            thread.join()


@pytest.fixture
def form_file(tmp_path: Path) -> Callable[[str], Path]:
    """Write a questionnaire's text to a file."""

    def write(text: str) -> Path:
        path = tmp_path / "form.yaml"
        path.write_text(dedent(text), encoding="utf-8")
        return path

    return write
