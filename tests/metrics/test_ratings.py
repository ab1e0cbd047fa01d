"""Ratings by people as a metric: of the run's own answers, on the question's scale; in a sweep, and for a judge."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness import DataError, Example, Instance, Reference
from harness.annotation.questionnaire import Questionnaire
from harness.annotation.ratings import Rating, RatingsFile
from harness.annotation.study import RATINGS_FILE, Study, find_records, keep_study, make_study
from harness.statistics import clustered_mean
from metrics.ratings import Ratings
from tests.harness.annotation.conftest import FORM, PAIR, made_study
from tests.metrics.judge_server import JudgeServer


def kept(folder: Path, study: Study, *ratings: Rating) -> str:
    keep_study(study, folder)
    with RatingsFile(folder / RATINGS_FILE, study) as file:
        file.add(ratings)
    return str(folder)


def answered(metric: Ratings, model: str, instances: int, **more: Any) -> Ratings:
    for place in range(instances):
        instance = Instance(f"test-{place}", f"answer question {place}", (Reference("x", correct=True),))
        metric.add(Example(instance, (), (), prediction=f"answer {place} {model[0]}", **more))
    return metric


def test_a_run_has_the_ratings_of_its_own_answers(tmp_path: Path) -> None:
    study = made_study(FORM, 6)
    ratings = [
        Rating(rater, f"i{place}{model}", "quality", value)
        for place in range(6)
        for rater, model, value in (("ann", "s", 4), ("bob", "s", 1 + place % 5), ("ann", "l", 5))
    ]
    metric = answered(Ratings(study=kept(tmp_path, study, *ratings)), "small", 6)
    expected = [float(rating.value or 0) for rating in ratings if rating.item.endswith("s")]
    clusters = [rating.item for rating in ratings if rating.item.endswith("s")]
    estimate = metric.estimates()["rating@quality"]
    by_hand = clustered_mean(expected, clusters, study.questionnaire.questions[0].range)
    assert (estimate.value, estimate.low, estimate.high) == (by_hand.value, by_hand.low, by_hand.high)
    details = metric.details()["questions"]["quality"]
    assert (details["ratings"], details["items"], details["raters"]) == (12, 6, 2)
    assert details["alpha"]["ratings"] == 12
    assert answered(Ratings(study=str(tmp_path)), "large", 6).estimates()["rating@quality"].value == 5.0


def test_only_answers_that_were_rated_count(tmp_path: Path) -> None:
    folder = kept(tmp_path, made_study(FORM), Rating("ann", "i0s", "quality", 4))
    other = answered(Ratings(study=folder), "unknown", 3)
    assert other.estimates() == {}
    assert other.details() == {"note": "none of the run's answers has a rating"}
    assert answered(Ratings(study=folder), "small", 3, trial=1).estimates() == {}


def test_a_win_rate_counts_ties_one_half_and_no_direction_gives_no_column(tmp_path: Path) -> None:
    form = {**PAIR, "questions": [*PAIR["questions"], {"id": "sure", "question": "Sure?", "scale": {}}]}
    rated = [Rating("ann", f"i{place}", "better", value) for place, value in enumerate(("first", "tie", "second"))]
    folder = kept(tmp_path / "pair", made_study(form), *rated, Rating("ann", "i0", "sure", 3))
    for model, rate in (("small", 0.5), ("large", 0.5)):
        found = answered(Ratings(study=folder), model, 3).estimates()
        assert {name: estimate.value for name, estimate in found.items()} == {"rating@better": rate}
    neutral: dict[str, Any] = {"id": "quality", "question": "How good?", "scale": {}, "better": "neither"}
    folder = kept(tmp_path / "neutral", made_study({**FORM, "questions": [neutral]}), Rating("a", "i0s", "quality", 2))
    metric = answered(Ratings(study=folder), "small", 3)
    assert metric.estimates() == {}
    assert metric.details()["questions"]["quality"]["value"] == 2.0


def test_raters_who_fail_gold_can_be_left_out_and_a_missing_study_is_said(tmp_path: Path) -> None:
    rated = [Rating("ann", "g0", "quality", 5), Rating("bob", "g0", "quality", 1)]
    rated += [Rating("ann", "i0s", "quality", 2), Rating("bob", "i0s", "quality", 4)]
    folder = kept(tmp_path, made_study(FORM, gold=1), *rated)
    assert answered(Ratings(study=folder), "small", 3).estimates()["rating@quality"].value == 3.0
    assert answered(Ratings(study=folder, min_gold=0.8), "small", 3).estimates()["rating@quality"].value == 2.0
    with pytest.raises(DataError, match=r"there is no study here\. `harness annotate` makes one"):
        Ratings(study=str(tmp_path / "elsewhere"))


JUDGED = {
    "name": "judged",
    "title": "Is it right?",
    "questions": [
        {"id": "verdict", "question": "Is the answer right?", "choices": ["correct", "incorrect", "not_attempted"]},
        {"id": "help", "question": "How helpful is it?", "scale": {}},
    ],
}
SWEEP = """\
suite: judged
models: [{{name: "fake:a", display_name: A}}]
runs:
- scenario: sample_generation
  metrics: [exact_match{more}]
  main_metric: {main}
"""


def harness(folder: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "harness", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def run(folder: Path, more: str, main: str) -> dict[str, Any]:
    (folder / "sweep.yaml").write_text(SWEEP.format(more=more, main=main), encoding="utf-8")
    harness(folder, "run", "sweep.yaml")
    files = sorted((folder / "results").glob("judged/*/run.json"), key=lambda file: file.stat().st_mtime_ns)
    found: dict[str, Any] = json.loads(files[-1].read_text(encoding="utf-8"))
    return found


def stats_of(record: dict[str, Any]) -> dict[str, float]:
    return {stat["metric"]: stat["mean"] for stat in record["stats"]}


@pytest.mark.slow
def test_two_raters_become_a_column_and_correct_a_judge(tmp_path: Path) -> None:
    pytest.importorskip("openai")
    run(tmp_path, "", "exact_match")
    study = make_study(Questionnaire.model_validate(JUDGED), find_records([tmp_path / "results"]))
    people, right = {}, {}
    for place, item in enumerate(study.items[:20]):
        right[item.answers[0].text] = "correct" if place % 4 else "incorrect"
        for rater in ("ann", "bob"):
            verdict = "incorrect" if rater == "bob" and place == 1 else right[item.answers[0].text]
            people[rater, item.id] = [Rating(rater, item.id, "verdict", verdict), Rating(rater, item.id, "help", 4)]
    kept(tmp_path / "study", study, *(one for both in people.values() for one in both))

    record = run(tmp_path, ", {name: ratings, study: study}", "rating@help")
    assert record["status"] == "ok"
    assert stats_of(record)["rating@help"] == 4.0
    assert record["details"]["ratings"]["test"]["original"]["questions"]["verdict=correct"]["value"] == pytest.approx(
        29 / 40
    )
    assert "Rated by people: help" in harness(tmp_path, "leaderboard", "judged")

    with RatingsFile(tmp_path / "study" / RATINGS_FILE, study) as file:
        file.add(Rating("cem", item.id, "help", 1) for item in study.items[:20])
    harness(tmp_path, "score", str(Path("results") / "judged" / record["name"]))
    (file_,) = (tmp_path / "results" / "judged" / record["name"]).glob("run.json")
    assert stats_of(json.loads(file_.read_text(encoding="utf-8")))["rating@help"] == pytest.approx(3.0)

    harness(tmp_path, "ratings", "study", "--labels", "verdict", "--model", "A", "-o", "labels.jsonl")
    assert len((tmp_path / "labels.jsonl").read_text(encoding="utf-8").splitlines()) == 40

    def judge(prompt: str) -> str:  # agrees with people but for every fifth answer
        found = re.search(r"<answer (\w+)>\n(.*?)\n</answer \1>", prompt, re.DOTALL)
        text = found[2] if found else ""
        kind = right.get(text, "correct")
        wrong = sorted(right).index(text) % 5 == 0 if text in right else False
        return f"<grade>{'incorrect' if wrong and kind == 'correct' else kind}</grade>"

    with JudgeServer(judge).serving() as server:
        asked = f'{{name: "openai:judge", base_url: "{server.url}", api: chat}}'
        metric = f", {{name: judge_score, rubric: simpleqa, labels: labels.jsonl, model: {asked}}}"
        record = run(tmp_path, metric, "judge_score")
    stats = stats_of(record)
    details = record["details"]["judge_score"]["test"]["original"]
    assert 0.0 < stats["judge_score_corrected"] < 1.0
    assert stats["judge_score_corrected"] > stats["judge_score"]  # the judge is stricter than people
    assert 0.3 < stats["judge_score_kappa"] < 1.0
    assert 0.3 < stats["judge_score_alpha"] < 1.0
    assert 0.8 < details["people"]["agreement"]["openai:judge"]["alpha_among_people"]["value"] < 1.0, details
