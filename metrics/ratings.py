"""People's ratings of a run's answers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from harness import Estimate, Example, RunMetric, metric
from harness.annotation import read_results


@metric(
    "ratings",
    title={"ratings": "Ratings by people", "rating@*": "Rated by people: *"},
    short={"ratings": "Ratings", "rating@*": "*"},
    category="accuracy",
    gives="rating@*",
    source="Liang et al. 2022 (arXiv:2211.09110), section 8.5.2; Krippendorff 2011 (agreement)",
)
class Ratings(RunMetric):
    """``rating@QUESTION``: the mean of people's ratings of the run's answers, on the question's own scale.

    The ratings are collected with ``harness annotate``. A rating counts for this run if the run gave the rated answer
    to the same question, even if the rater saw it as another model's, since raters do not know which model wrote an
    answer. If the questionnaire is about pairs, the number is the win rate, ties counting one half.

    Only questions for which higher is better (``better: high``, the default of scales) give a statistic, since
    leaderboards rank by it. run.json has all questions under ``details.ratings``, with the standard deviation, the
    number of ratings, items and raters, and Krippendorff's alpha over the whole study. The 95 % interval is over
    instances; with five raters or more, over raters as well.

    After more ratings, ``harness score`` computes the statistics again.

    Args:
        study: The study's folder, made by ``harness annotate``.
        min_gold: Leave out raters whose share of right ratings of gold items is below this; None to keep all.
    """

    def __init__(self, *, study: str, min_gold: Annotated[float | None, Field(ge=0, le=1)] = None) -> None:
        self._results = read_results(Path(study), min_gold)
        self._answers: set[tuple[str, str, str]] = set()

    def add(self, example: Example) -> None:
        instance = example.instance
        if instance.perturbation is not None or example.trial:
            return  # people rate originals alone
        every = self._results.study.questionnaire.completions == "all"
        for text in (example.predictions if every else ()) or (example.prediction,):
            self._answers.add((instance.id, instance.input, text))

    def estimates(self) -> Mapping[str, Estimate]:
        found = self._results.of_run(self._answers)
        return {f"rating@{measure.name}": number.estimate for measure, number in found if measure.better == "high"}

    def details(self) -> Mapping[str, Any]:
        results = self._results
        found = results.of_run(self._answers)
        if not found:
            return {"note": "none of the run's answers has a rating"} if self._answers else {}
        numbers: dict[str, Any] = {measure.name: number.described() for measure, number in found}
        for measure, _ in found:
            alpha = results.agreement(measure.question)
            numbers[measure.name]["alpha"] = None if alpha is None else alpha.described()
        return {"questionnaire": results.study.questionnaire.name, "questions": numbers}
