"""Scores that judges give to answers by a rubric, and how far these scores can be trusted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from harness import Estimate, Example, Origin, metric
from harness.judging import ModelFinder
from harness.statistics import BOUNDED, InstanceTable, mean_estimate, ratio_estimate
from metrics._judging.calibration import KAPPA, length_bias, shown
from metrics._judging.judged import Judged
from metrics._judging.panel import ModelName, Question
from metrics._judging.reading import Unread, Verdict


@metric(
    "judge_score",
    title={
        "judge_score": "Judge's score",
        "judge_score@*": "Judge's score (*)",
        "judge_score_corrected": "Judge's score (corrected by people)",
        "judge_score_kappa": "Judge's agreement with people (κ)",
        "judge_score_alpha": "Judges' agreement (α)",
        "judge_correct_given_attempted": "Correct of those attempted (judged)",
        "judge_f_score": "F-score (judged)",
    },
    short={
        "judge_score": "Judged",
        "judge_score@*": "Judged (*)",
        "judge_correct_given_attempted": "Correct if attempted",
        "judge_f_score": "F-score",
    },
    category="accuracy",
    models=True,
    scale={"judge_score_kappa": KAPPA, "judge_score_alpha": KAPPA, "*": BOUNDED},
    gives=(
        "judge_score",
        "judge_score@*",
        "judge_score_corrected",
        "judge_score_kappa",
        "judge_score_alpha",
        "judge_correct_given_attempted",
        "judge_f_score",
    ),
    source="Zheng et al. 2023 (arXiv:2306.05685), single-answer grading; Angelopoulos, Duchi and Zrnic 2023 "
    "(arXiv:2311.01453), correction by labels",
)
class JudgeScore(Judged):
    """``judge_score``: the score that a judge, a model with a rubric, gives an answer, from 0 to 1; higher is better.

    The judge sees the question or conversation, the references, the instance's checklist (``meta.checklist``) and the
    answer, and answers as the rubric asks: with a number, which is rescaled so that the rubric's worst is 0 and its
    best 1, or with a label that has a score. run.json has the share of each label. A judge's answer without a
    verdict, with several different ones, or cut off, is missing and counted, never 0; run.json says why.

    With several judges, ``judge_score`` is the mean over them where all gave a verdict, and ``judge_score@JUDGE``
    that of each. A rubric that has a label for answers that do not attempt the question (``simpleqa``) also gives
    ``judge_correct_given_attempted`` and ``judge_f_score``, the harmonic mean of that and of the share of correct
    answers (Wei et al. 2024, arXiv:2411.04368).

    With people's labels of a random sample of the answers, ``judge_score_corrected`` estimates the mean that people
    would give to all answers: prediction-powered inference, whose interval keeps its coverage also with few labels
    (at least 20); it takes instances to be independent. ``judge_score_kappa`` is Cohen's kappa of judge and people
    (labels: of the label that most people gave; numbers: quadratic weights, of people's mean), ``judge_score_alpha``
    Krippendorff's alpha of judge and all people. run.json also has the judge's mean error, the slope of its error on
    the answer's length, and how judges of the evaluated model's own family differ from people and from other judges.

    Rubrics that come with the harness, in our own words: ``wildbench``, ``mt_bench``, ``omni_math``, ``simpleqa``,
    ``harm_bench``, ``xstest``, ``simple_safety_tests``, ``anthropic_red_team``.

    Args:
        models: Finds the judges.
        model: The judge, ``backend:identifier``, or a mapping with that ``name``, its arguments and its own settings;
            or a list of judges.
        rubric: The name of a rubric that comes with the harness, or the path of a file.
        labels: A file of people's labels, one JSON object a line: ``{"id": …, "label": …}`` or
            ``{"id": …, "score": …}`` on the rubric's scale, with ``rater`` where several people read an answer, and
            ``text``, the answer, where the file is about several models.
        max_tokens: Maximum tokens of a judge's answer (default: the rubric's); a judge that reasons needs many.
        temperature: Temperature of the judges' answers.
    """

    prefix = "judge_score"

    def __init__(
        self,
        models: ModelFinder,
        *,
        model: ModelName | list[ModelName],
        rubric: str,
        labels: str | None = None,
        max_tokens: Annotated[int | None, Field(ge=1)] = None,
        temperature: Annotated[float, Field(ge=0)] = 0.0,
    ) -> None:
        super().__init__(
            models,
            "judge_score",
            model=model,
            rubric=rubric,
            asks=("score", "label"),
            labels=labels,
            max_tokens=max_tokens,
            temperature=temperature,
        )
        self._attempts = InstanceTable()
        self._labels = InstanceTable()

    def scores(self, examples: Sequence[Example]) -> list[Mapping[str, float | None] | None]:
        asked = [index for index, example in enumerate(examples) if self._given(example) is None]
        by_judge = self.panel.ask([self._question(examples[index]) for index in asked])
        by_question = list(zip(*by_judge, strict=True))
        answered = dict(zip(asked, by_question, strict=True))
        self._said = [[] for _ in examples]
        for question, (index, verdicts) in enumerate(answered.items()):
            self._said[index] = self.said(question, verdicts)
        found: list[Mapping[str, float | None] | None] = []
        for index, example in enumerate(examples):
            given = self._given(example)
            found.append(self._scored(example, answered[index] if given is None else [given] * len(self.judges)))
        return found

    def estimates(self) -> Mapping[str, Estimate]:
        found = dict(super().estimates())
        correct, tried = self._attempts.sums("correct"), self._attempts.sums("tried")
        attempted = [pair for pair in zip(correct, tried, strict=True) if pair[1] > 0.0]
        if attempted:
            found["judge_correct_given_attempted"] = ratio_estimate(*zip(*attempted, strict=True), low=0.0, high=1.0)
            answers = self._attempts.sums("answers")
            upper = [2.0 * each for each in correct]
            lower = [count + each for count, each in zip(answers, tried, strict=True)]
            found["judge_f_score"] = ratio_estimate(upper, lower, low=0.0, high=1.0)
        return found

    def details(self) -> Mapping[str, Any]:
        if self.rubric.front.labels is not None:
            labels = [label for label in self.rubric.front.labels if label in self._labels]
            shares = {label: shown(mean_estimate(self._labels.means(label), BOUNDED)) for label in labels}
            return {**super().details(), "labels": shares}
        scale = self.rubric.front.scale
        raw = [each.verdict.value for each in self.rated[-1]]
        if scale is None or not raw:
            return super().details()
        mean = scale[0] + mean_estimate(raw, BOUNDED).value * (scale[1] - scale[0])
        return {**super().details(), "scale": list(scale), "mean_on_scale": round(mean, 6)}

    def biases(self) -> dict[str, Any]:
        return {**super().biases(), "length": length_bias(self.rated[-1])}

    def _given(self, example: Example) -> Verdict | None:
        """Return the verdict on an answer that is empty, if the rubric has one."""
        return None if example.prediction.strip() else self.rubric.empty

    def _question(self, example: Example) -> Question:
        instance = example.instance
        origin = Origin(instance.id, instance.perturbation, example.trial, role="judgement")
        return Question(self.rubric.prompt(example, answer=example.prediction), origin)

    def _scored(self, example: Example, verdicts: Sequence[Verdict | Unread]) -> Mapping[str, float | None]:
        together = self.keep(example, verdicts, len(example.prediction))
        scores: dict[str, float | None] = {"judge_score": None if together is None else together.value}
        if len(verdicts) > 1:
            for name, verdict in zip(self.panel.names, verdicts, strict=True):
                scores[f"judge_score@{name}"] = verdict.value if isinstance(verdict, Verdict) else None
        labels = [verdict.label for verdict in verdicts if isinstance(verdict, Verdict)]
        row = self._labels.row(example.instance.id)
        for label in (self.rubric.front.labels or ()) if together is not None else ():
            self._labels.add(row, label, labels.count(label) / len(labels))
        if (none := self.rubric.front.not_attempted) is not None and together is not None:
            place = self._attempts.row(example.instance.id)
            tried = 1.0 - labels.count(none) / len(labels)
            for name, value in (("correct", together.value), ("tried", tried), ("answers", 1.0)):
                self._attempts.add(place, name, value)
        return scores
