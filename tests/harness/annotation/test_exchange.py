"""Items for crowd platforms, their ratings back, and labels for judges."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.annotation.exchange import CROWD, items_csv, judge_labels, read_crowd_csv
from harness.annotation.ratings import Rating
from harness.errors import DataError
from harness.output.display import lines as display_lines
from harness.output.result_table import FORMULA_STARTS
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
        ("item,rater,quality\ni0s,ann,4\ni0l,ann,4\ni0s, ann ,5\n", "row 4: rater 'ann' has already rated item 'i0s'"),
        ("item,rater,quality,note\ni0s,ann,4,a,b\n", "row 2: the row has more cells than the header"),
        ("item,rater,quality\ni0s,ann\n", "row 2: the row has fewer cells than the header"),
        ('item,rater,x,quality\ni0s,ann,"a\nb\nc",4\ni9s,ann,,4\n', r"row 3: .* no item 'i9s' \(line 5 of the file\)"),
        ('item,rater,quality\ni0s,ann,"4\n', "not CSV"),
    ],
)
def test_a_mistake_is_named_with_its_row(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_crowd_csv(written(tmp_path, text), made_study(FORM))


AWKWARD = st.text(
    st.sampled_from([*"=+-@\"',;\n\r\t ab|%", "\u2028", "\x00", "＝", "é", "\U0001f600", "{", "<"]), max_size=12
)


@given(st.lists(AWKWARD, min_size=6, max_size=6))
def test_awkward_texts_stay_whole_and_are_never_formulas(texts: list[str]) -> None:
    study = made_study(FORM)
    items = [
        item.model_copy(update={"input": text, "answers": (item.answers[0].model_copy(update={"text": text}),)})
        for item, text in zip(study.items, texts, strict=True)
    ]
    exported = items_csv(study.model_copy(update={"items": tuple(items)}))
    rows = list(csv.DictReader(io.StringIO(exported, newline=""), strict=True))
    assert [row["item"] for row in rows] == [item.id for item in items]
    for row, text in zip(rows, texts, strict=True):
        for cell in (row["input"], row["answer"]):
            assert not cell.lstrip().startswith(FORMULA_STARTS)
            assert cell.removeprefix("'") == display_lines(text).removeprefix("'")


def test_an_export_comes_back_with_answers_added(tmp_path: Path) -> None:
    study = made_study(FORM, text='=HYPERLINK("x")\n"quoted", and more')
    rows = list(csv.DictReader(io.StringIO(items_csv(study), newline="")))
    names = [f"Input.{name}" for name in rows[0]]
    file = io.StringIO()
    writer = csv.DictWriter(file, [*names, "WorkerId", "AssignmentStatus", "Answer.quality", "Answer.why"])
    writer.writeheader()
    for place, row in enumerate(rows):
        given = {
            "WorkerId": "A1",
            "AssignmentStatus": "Approved",
            "Answer.quality": 1 + place % 5,
            "Answer.why": '=1,"',
        }
        writer.writerow({**dict(zip(names, row.values(), strict=True)), **given})
        rejected = {**given, "WorkerId": "A2", "AssignmentStatus": "Rejected", "Answer.quality": "spam"}
        writer.writerow({**dict(zip(names, row.values(), strict=True)), **rejected})
    ratings = read_crowd_csv(written(tmp_path, file.getvalue()), study)
    assert {rating.rater for rating in ratings} == {"A1"}
    assert [rating.value for rating in ratings if rating.question == "quality"] == [1, 2, 3, 4, 5, 1]
    assert {rating.value for rating in ratings if rating.question == "why"} == {'=1,"'}


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


def test_labels_leave_out_raters_who_fail_gold_and_share_equal_answers() -> None:
    study = made_study(FORM, gold=1)
    answer = study.items[1].answers[0].model_copy(update={"text": "answer 0 s"})
    same = study.items[1].model_copy(update={"answers": (answer,)})
    study = study.model_copy(update={"items": (study.items[0], same, *study.items[2:])})
    ratings = [Rating("ann", "g0", "quality", 5), Rating("bob", "g0", "quality", 1)]
    ratings += [Rating("ann", "i0l", "quality", 4), Rating("bob", "i0s", "quality", 2)]
    both = lines(judge_labels(study, ratings, "quality", "small"))
    assert {(one["rater"], one["score"]) for one in both} == {("ann", 4), ("bob", 2)}
    assert [one["rater"] for one in lines(judge_labels(study, ratings, "quality", "small", 0.8))] == ["ann"]


def test_judges_read_the_labels(tmp_path: Path) -> None:
    study = made_study(FORM)
    again = study.items[0].model_copy(update={"id": "again"})  # the same completion a second time
    study = study.model_copy(update={"items": (*study.items, again)})
    ratings = [Rating(who, item, "quality", 4) for who in ("ann", "bob") for item in ("i0s", "i1s", "again")]
    (tmp_path / "labels.jsonl").write_text(judge_labels(study, ratings, "quality", "small"), encoding="utf-8")
    people = read_labels(tmp_path / "labels.jsonl", Reader(scale=(1, 5)), "scores").find("test-0", "answer 0 s")
    assert people is not None
    assert {rater: verdict.raw for rater, verdict in people.by_rater.items()} == {"ann": 4, "bob": 4}
