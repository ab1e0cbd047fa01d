"""The table of ratings: its numbers by hand, and the published example of Krippendorff's alpha through it."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.annotation.ratings import Rating
from harness.annotation.study import Study
from harness.annotation.table import AGREEMENT, PAIRS, ratings_table
from harness.output.result_table import FORMATS, render
from harness.statistics import THESE_RATERS, clustered_mean
from tests.harness.annotation.conftest import FORM, PAIR, STRENGTHS, made_study

KRIPPENDORFF = {  # Krippendorff 2011, section C: four observers, twelve units
    "A": "1 2 3 3 2 1 4 1 2 . . .",
    "B": "1 2 3 3 2 2 4 1 2 5 . 3",
    "C": ". 3 3 3 2 3 4 2 2 5 1 .",
    "D": "1 2 3 3 2 4 4 1 2 5 1 .",
}


def found(table: object, **wanted: object) -> dict[str, object]:
    (record,) = [one for one in table.records if wanted.items() <= one.items()]  # type: ignore[attr-defined]
    return dict(record)


@pytest.mark.parametrize(("level", "expected"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_agreement_is_that_of_krippendorffs_example(level: str, expected: float) -> None:
    form = {**FORM, "questions": [{"id": "q", "question": "?", "scale": {"low": 1, "high": 5}, "level": level}]}
    study = made_study(form, 12)
    items = [item for item in study.items if item.answers[0].model == "small"]
    ratings = [
        Rating(rater, item.id, "q", int(value))
        for rater, values in KRIPPENDORFF.items()
        for item, value in zip(items, values.split(), strict=True)
        if value != "."
    ]
    record = found(ratings_table(study, ratings), statistic=f"Krippendorff's alpha ({level})")
    assert record["value"] == pytest.approx(expected, abs=0.0005)
    assert (record["ratings"], record["items"], record["raters"]) == (40, 11, 4)


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=6, max_size=30))
def test_means_are_over_ratings_and_intervals_over_instances(values: list[tuple[int, int]]) -> None:
    study = made_study(FORM, len(values))
    ratings = [
        Rating(rater, f"i{place}s", "quality", value)
        for place, pair in enumerate(values)
        for rater, value in zip(("ann", "bob"), pair, strict=True)
    ]
    record = found(ratings_table(study, ratings), model="small", question="quality")
    flat = [float(value) for pair in values for value in pair]
    scale = study.questionnaire.questions[0].range
    expected = clustered_mean(flat, [place for place in range(len(values)) for _ in range(2)], scale)
    assert record["value"] == pytest.approx(statistics.fmean(flat))
    assert record["sd"] == pytest.approx(statistics.stdev(flat))
    assert (record["low"], record["high"]) == (expected.low, expected.high)
    assert (record["ratings"], record["instances"], record["raters"]) == (len(flat), len(values), 2)


@given(st.lists(st.integers(1, 5), min_size=2, max_size=12).filter(lambda values: len(set(values)) > 1))
def test_raters_who_never_differ_agree_perfectly_whatever_they_are_called(values: list[int]) -> None:
    study = made_study(FORM, len(values))
    for people in (("ann", "bob"), ("z", "a", "m")):
        ratings = [Rating(who, f"i{place}l", "quality", v) for place, v in enumerate(values) for who in people]
        record = found(ratings_table(study, ratings), statistic="Krippendorff's alpha (ordinal)")
        assert record["value"] == pytest.approx(1.0)


def test_choices_without_numbers_have_shares() -> None:
    ratings = [Rating("ann", f"i{place}s", "tone", "kind" if place else "cold") for place in range(3)]
    table = ratings_table(made_study(FORM), ratings)
    assert found(table, model="small", choice="kind")["value"] == pytest.approx(2 / 3)
    assert found(table, model="small", choice="cold")["value"] == pytest.approx(1 / 3)


def test_names_of_raters_are_in_the_terminal_and_not_in_papers() -> None:
    ratings = [Rating(who, f"i{place}s", "quality", 3) for place in range(3) for who in ("anna-maria", "bob")]
    table = ratings_table(made_study(FORM), ratings)
    assert "anna-maria: 0 of 6 items" in render(table, "terminal")
    assert "anna-maria" not in render(table, "latex")
    assert "n: ratings by 2 raters" in render(table, "latex")


def test_a_preference_is_a_win_rate_with_ties_as_a_half() -> None:
    form = {**PAIR, "questions": [*PAIR["questions"], {"id": "sure", "question": "Sure?", "scale": {}}]}
    ratings = [Rating("ann", f"i{place}", "better", value) for place, value in enumerate(("first", "tie", "first"))]
    table = ratings_table(made_study(form), [*ratings, Rating("ann", "i0", "sure", 4)])
    assert found(table, model="small")["value"] == pytest.approx(5 / 6)
    assert found(table, model="large")["value"] == pytest.approx(1 / 6)
    assert found(table, question="sure")["model"] is None
    assert [row[0].text for row in table.rows] == ["large", "small", PAIRS, AGREEMENT]


def test_slight_preferences_count_three_quarters_as_in_wildbench() -> None:
    # Lin et al. 2024: much better, slightly better and tie are 1, 1/2 and 0 on a scale from -1 to 1
    form = {**PAIR, "questions": [STRENGTHS]}
    for value, reward in (("first_much", 1.0), ("first", 0.5), ("tie", 0.0), ("second", -0.5), ("second_much", -1.0)):
        table = ratings_table(made_study(form), [Rating("ann", "i0", "better", value)])
        assert found(table, model="small")["value"] == (1 + reward) / 2
        assert found(table, model="large")["value"] == (1 - reward) / 2


def test_what_cannot_be_judged_does_not_count() -> None:
    ratings = [
        Rating("ann", "i0s", "quality", 1),
        Rating("ann", "i0s", "skip", True),
        Rating("ann", "i1s", "quality", 5),
    ]
    table = ratings_table(made_study(FORM), ratings)
    assert found(table, model="small")["value"] == 5
    assert any("1 item could not be judged" in note.text for note in table.notes)


def test_gold_items_measure_raters_and_not_models() -> None:
    study = made_study(FORM, gold=2)
    ratings = [Rating("ann", "g0", "quality", 5), Rating("bob", "g0", "quality", 1), Rating("bob", "g1", "quality", 5)]
    ratings += [Rating("ann", "i0s", "quality", 2), Rating("bob", "i0s", "quality", 4)]
    assert found(ratings_table(study, ratings), model="small")["value"] == 3
    kept = ratings_table(study, ratings, min_gold=0.8)
    assert found(kept, model="small")["value"] == 2
    raters = kept.value["raters"]
    assert [(one["rater"], one["gold_right"], one["gold"], one["counted"]) for one in raters] == [
        ("ann", 1, 1, True),
        ("bob", 1, 2, False),
    ]


@pytest.mark.parametrize("format_", FORMATS)
def test_every_format_has_the_numbers(format_: str) -> None:
    ratings = [Rating(who, f"i{place}s", "quality", 1 + place) for place in range(3) for who in ("ann", "bob")]
    text = render(ratings_table(made_study(FORM), ratings), format_)
    assert "small" in text
    assert "2.0" in text
    assert "There are no ratings yet." in render(ratings_table(made_study(FORM), []), "terminal")


RATERS = ("a", "b", "c", "d", "e", "f")


def rated_by(study: Study, people: Sequence[str], ending: str) -> list[Rating]:
    return [
        Rating(who, item.id, "quality", 1 + (place + row) % 5)
        for row, who in enumerate(people)
        for place, item in enumerate(study.items)
        if item.id.endswith(ending)
    ]


def test_the_caption_says_what_each_models_interval_covers() -> None:
    study = made_study(FORM, 8)
    both = ratings_table(study, [*rated_by(study, RATERS[:3], "s"), *rated_by(study, RATERS, "l")])
    assert found(both, model="small", question="quality")["note"] == THESE_RATERS
    assert not found(both, model="large", question="quality")["note"]
    assert "where fewer than 5 people rated, over instances alone, for these raters" in both.notes[0].text
    assert {row[0].text: row[1].detail for row in both.rows[:2]} == {"large": "n=48", "small": "n=24, for these raters"}
    few = ratings_table(study, [*rated_by(study, RATERS[:3], "s"), *rated_by(study, RATERS[3:], "l")])
    assert "95 % interval over instances, for these raters;" in few.notes[0].text
    many = ratings_table(study, [*rated_by(study, RATERS, "s"), *rated_by(study, RATERS, "l")])
    assert "95 % interval over instances and raters;" in many.notes[0].text


def test_a_rater_who_only_skipped_is_not_one_of_five() -> None:
    study = made_study(FORM, 8)
    ratings = [*rated_by(study, RATERS[:4], "s"), *(Rating("e", item.id, "skip", True) for item in study.items)]
    assert "95 % interval over instances, for these raters;" in ratings_table(study, ratings).notes[0].text
