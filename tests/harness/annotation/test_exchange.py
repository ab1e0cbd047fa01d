"""Items for crowd platforms, their ratings back, and labels for judges."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from harness.annotation.exchange import CROWD, items_csv, judge_labels, read_crowd_csv
from harness.annotation.ratings import Rating
from harness.errors import DataError
from metrics._judging.people import read_labels
from metrics._judging.reading import Reader
from tests.harness.annotation.conftest import FORM, PAIR, made_study


def written(folder: Path, text: str) -> Path:
    (folder / "done.csv").write_text(text, encoding="utf-8")
    return folder / "done.csv"


def test_items_are_blinded_and_whole() -> None:
    text = items_csv(made_study(FORM, text='=a,"b"\nc'))
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert list(rows[0]) == ["item", "input", "answer"]
    assert rows[0]["input"] == '\'=a,"b"\nc question 0'
    assert not any("small" in value or "large" in value for row in rows for value in row.values())


@pytest.mark.parametrize("header", ["item,rater,quality,tone,ignored", "Input.item,WorkerId,Answer.quality,tone,x"])
def test_ratings_come_back(tmp_path: Path, header: str) -> None:
    path = written(tmp_path, f"\ufeff{header}\ni0s,ann,4,kind,1\ni0l,bob,,cold,2\n")
    assert read_crowd_csv(path, made_study(FORM)) == [
        Rating("ann", "i0s", "quality", 4),
        Rating("ann", "i0s", "tone", "kind"),
        Rating("bob", "i0l", "tone", "cold"),
    ]


def test_a_preference_comes_back_as_the_items_own(tmp_path: Path) -> None:
    study = made_study(PAIR, 20)
    exported = {row["item"]: row for row in csv.DictReader(io.StringIO(items_csv(study), newline=""))}
    path = written(tmp_path, "item,rater,better\n" + "".join(f"{item.id},ann,A\n" for item in study.items))
    for item, rating in zip(study.items, read_crowd_csv(path, study), strict=True):
        preferred = item.answers[0 if rating.value == "first" else 1]
        assert exported[item.id]["answer_a"] == preferred.text
    assert {study.sides(CROWD, item) for item in study.items} == {(0, 1), (1, 0)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("items,rater,quality\n", "has no column 'item' .* Did you mean 'items'"),
        ("item,rater,qualty\n", "has no column for a question. Questions: quality, tone, why"),
        ("item,rater,quality\ni0s,ann,6\n", "row 2: '6' is not an answer to 'quality'; it has 1, 2, 3, 4, 5"),
        ("item,rater,quality\ni0s,ann,4\nzz,ann,4\n", "row 3: the study has no item 'zz'"),
        ("item,rater,quality\ni0s,,4\n", "row 2: the row names no rater"),
    ],
)
def test_a_mistake_is_named_with_its_row(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_crowd_csv(written(tmp_path, text), made_study(FORM))


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_labels_have_what_judges_read() -> None:
    ratings = [
        Rating("ann", "i0s", "quality", 4),
        Rating("bob", "i0l", "quality", 1),
        Rating("ann", "i1s", "tone", "cold"),
    ]
    study = made_study(FORM)
    assert lines(judge_labels(study, ratings, "quality", "small")) == [
        {"id": "test-0", "score": 4, "rater": "ann", "text": "answer 0 s"}
    ]
    assert lines(judge_labels(study, ratings, "tone", "small"))[0]["label"] == "cold"
    with pytest.raises(DataError, match=r"no answers of 'smal'\. Did you mean 'small'"):
        judge_labels(study, ratings, "quality", "smal")
    with pytest.raises(DataError, match="'why' is not a question about one answer"):
        judge_labels(study, ratings, "why", "small")


def test_judges_read_the_labels(tmp_path: Path) -> None:
    study = made_study(FORM)
    again = study.items[0].model_copy(update={"id": "again"})  # the same completion a second time
    study = study.model_copy(update={"items": (*study.items, again)})
    ratings = [Rating(who, item, "quality", 4) for who in ("ann", "bob") for item in ("i0s", "i1s", "again")]
    (tmp_path / "labels.jsonl").write_text(judge_labels(study, ratings, "quality", "small"), encoding="utf-8")
    people = read_labels(tmp_path / "labels.jsonl", Reader(scale=(1, 5)), "scores").find("test-0", "answer 0 s")
    assert people is not None
    assert {rater: verdict.raw for rater, verdict in people.by_rater.items()} == {"ann": 4, "bob": 4}
