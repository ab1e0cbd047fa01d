"""How often judges prefer a model's answers to those of a baseline, and how far these preferences can be trusted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from harness import DataError, Estimate, Example, MetricError, StrictJsonError, derive_rng, metric, parse_json
from harness.judging import Judgement, ModelFinder
from harness.statistics import BOUNDED, PROPORTION, mean_estimate
from metrics._judging.baseline import read_baseline
from metrics._judging.calibration import KAPPA, length_bias, shown
from metrics._judging.judged import Judged
from metrics._judging.length_control import LengthControlled, length_controlled
from metrics._judging.panel import ModelName, Question
from metrics._judging.reading import Reader, Unread, Verdict

_WON = {"model": 1.0, "tie": 0.5, "baseline": 0.0}

_Orders = Literal["both", "random"]


@metric(
    "judge_pairwise",
    title={
        "judge_pairwise": "Pairwise judgement",
        "judge_win_rate": "Judged win rate",
        "judge_win_rate_length_controlled": "Judged win rate (length-controlled)",
        "judge_win_rate_corrected": "Judged win rate (corrected by people)",
        "judge_win_rate_kappa": "Judge's agreement with people (κ)",
        "judge_win_rate_alpha": "Judges' agreement (α)",
        "judge_win_rate@*": "Judged win rate (*)",
    },
    short={
        "judge_win_rate": "Win rate",
        "judge_win_rate_length_controlled": "LC win rate",
        "judge_win_rate@*": "Win rate (*)",
    },
    category="accuracy",
    models=True,
    scale={"judge_win_rate_kappa": KAPPA, "judge_win_rate_alpha": KAPPA, "*": BOUNDED},
    gives=(
        "judge_win_rate",
        "judge_win_rate@*",
        "judge_win_rate_length_controlled",
        "judge_win_rate_corrected",
        "judge_win_rate_kappa",
        "judge_win_rate_alpha",
    ),
    source="Zheng et al. 2023 (arXiv:2306.05685), pairwise comparison; Dubois et al. 2024 (arXiv:2404.04475), length "
    "control",
)
class JudgePairwise(Judged):
    """``judge_win_rate``: how often a judge prefers the model's answer to a baseline's, 0 to 1; higher is better.

    The judge sees both answers in both orders, and each order counts half: a preference that changes with the order
    is worth as much as a tie, ½. A verdict that cannot be read in one of the orders is missing and counted. Two equal
    answers are a tie, without a question.

    ``judge_win_rate_length_controlled`` is what the win rate would be if both answers were equally long: a logistic
    regression of the preferences on θ + φ · tanh(d/s), d being the difference in characters and s its standard
    deviation, evaluated at d = 0 (AlpacaEval 2). With ``gammas``, the difficulties of the instructions, the term ψ ·
    γ is added as its authors do; a single model's run cannot estimate them.

    Several judges are averaged, and each is also given apart, ``judge_win_rate@JUDGE``. run.json says how often each
    judge prefers the answer that is shown first and how often its preference changes with the order (position bias),
    how preferences grow with length, and how judges of the evaluated model's own family differ from others. With
    people's labels of a random sample, ``judge_win_rate_corrected``, ``judge_win_rate_kappa`` and
    ``judge_win_rate_alpha`` are as for ``judge_score``.

    Rubrics that come with the harness, in our own words: ``alpaca_eval`` and ``arena_hard``, with five grades.

    Args:
        models: Finds the judges.
        model: The judge, ``backend:identifier``, or a mapping with that ``name``, its arguments and its own settings;
            or a list of judges.
        baseline: The baseline's answers: a file with one JSON object a line, ``{"id": …, "text": …}``, or another run's
            folder or ``examples.jsonl.gz``.
        rubric: The name of a rubric that comes with the harness, or the path of a file.
        orders: ``both``, or ``random`` for one order for each instance, at half the price and with more noise.
        labels: A file of people's preferences, one JSON object a line: ``{"id": …, "label": …}`` with the label
            ``model``, ``baseline`` or ``tie``; ``rater`` and ``text``, the model's answer, as for ``judge_score``.
        gammas: A file of instructions' difficulties, one JSON object a line: ``{"id": …, "gamma": …}``.
        max_tokens: Maximum tokens of a judge's answer (default: the rubric's); a judge that reasons needs many.
        temperature: Temperature of the judges' answers.
    """

    prefix = "judge_win_rate"

    def __init__(
        self,
        models: ModelFinder,
        *,
        model: ModelName | list[ModelName],
        baseline: str,
        rubric: str = "alpaca_eval",
        orders: _Orders = "both",
        labels: str | None = None,
        gammas: str | None = None,
        max_tokens: Annotated[int | None, Field(ge=1)] = None,
        temperature: Annotated[float, Field(ge=0)] = 0.0,
    ) -> None:
        super().__init__(
            models,
            "judge_pairwise",
            model=model,
            rubric=rubric,
            asks=("preference",),
            labels=labels,
            max_tokens=max_tokens,
            temperature=temperature,
        )
        self._baseline = read_baseline(Path(baseline))
        self._gammas = None if gammas is None else _read_gammas(Path(gammas))
        self._both = orders == "both"
        self._first: list[list[float]] = [[] for _ in self.judges]
        """How far each judge preferred the answer that was shown first, by instance."""
        self._turned: list[list[float]] = [[] for _ in self.judges]
        """1 for each instance of which a judge preferred the same place in both orders, else 0."""
        self._equal = 0

    def label_reader(self) -> Reader:
        return Reader(labels=_WON)

    def fingerprint(self) -> Mapping[str, Any]:
        files = {"baseline": self._baseline.sha256}
        if self._gammas is not None:
            files["gammas"] = self._gammas[1]
        return {**super().fingerprint(), **files}

    def scores(self, examples: Sequence[Example]) -> list[Mapping[str, float | None] | None]:
        questions: list[Question] = []
        asked: list[list[tuple[int, bool]] | None] = []
        others = [self._baseline.answer(example) for example in examples]
        for example, other in zip(examples, others, strict=True):
            places: list[tuple[int, bool]] = []
            if other is not None and not _same(example, other):
                for model_first in self._orders(example):
                    pair = (example.prediction, other) if model_first else (other, example.prediction)
                    places.append((len(questions), model_first))
                    questions.append(Question(self.rubric.prompt(example, answer_1=pair[0], answer_2=pair[1])))
            asked.append(None if other is None else places)
        by_judge = self.panel.ask(questions)
        self._said = [self._about(places or (), by_judge) for places in asked]
        return [
            None if places is None or other is None else self._scored(example, other, places, by_judge)
            for example, other, places in zip(examples, others, asked, strict=True)
        ]

    def estimates(self) -> Mapping[str, Estimate]:
        if self._baseline.lacking and not self._baseline.found:
            raise MetricError(
                f"metric {self.name!r}: the baseline {self._baseline.path} has no answer to any instance of this run, "
                f"such as {self._baseline.lacking[0]!r}."
            )
        controlled = self._length_controlled()
        found = dict(super().estimates())
        return found if controlled is None else {f"{self.prefix}_length_controlled": controlled.estimate, **found}

    def details(self) -> Mapping[str, Any]:
        baseline = {"file": self._baseline.path.name, "sha256": self._baseline.sha256}
        lacking = self._baseline.lacking
        return {
            **super().details(),
            "baseline": {
                **baseline,
                **({"no_answer_to": {"count": len(lacking), "first": lacking[:3]}} if lacking else {}),
            },
            **({"equal_answers": self._equal} if self._equal else {}),
        }

    def biases(self) -> dict[str, Any]:
        position = {
            name: {
                "first_preferred": shown(mean_estimate(first, BOUNDED)),
                **({"changes_with_order": shown(mean_estimate(turned, PROPORTION))} if turned else {}),
            }
            for name, first, turned in zip(self.panel.names, self._first, self._turned, strict=True)
            if first
        }
        length = length_bias(self.rated[-1], by="characters")
        if (controlled := self._length_controlled()) is not None:
            length["coefficient"] = round(controlled.length_coefficient, 6)
            length["characters_sd"] = round(controlled.spread, 3)
        return {**super().biases(), "position": position, "length": length}

    def _orders(self, example: Example) -> Sequence[bool]:
        """Return the orders in which a pair is shown: True for the model's answer first."""
        if self._both:
            return (True, False)
        instance = example.instance
        return (derive_rng(0, f"pairwise/{instance.id}/{instance.perturbation}/{example.trial}").random() < 0.5,)

    def _scored(
        self,
        example: Example,
        other: str,
        places: Sequence[tuple[int, bool]],
        by_judge: Sequence[Sequence[Verdict | Unread]],
    ) -> Mapping[str, float | None]:
        self._equal += not places
        verdicts = [self._verdict(example, index, places, found) for index, found in enumerate(by_judge)]
        together = self.keep(example, verdicts, len(example.prediction) - len(other))
        scores: dict[str, float | None] = {self.prefix: None if together is None else together.value}
        if len(verdicts) > 1:
            for name, verdict in zip(self.panel.names, verdicts, strict=True):
                scores[f"{self.prefix}@{name}"] = verdict.value if isinstance(verdict, Verdict) else None
        return scores

    def _about(
        self, places: Sequence[tuple[int, bool]], by_judge: Sequence[Sequence[Verdict | Unread]]
    ) -> list[Judgement]:
        """Return what the judges said about one pair of answers, in each order in which they saw it."""
        found = []
        for question, model_first in places:
            verdicts = [verdicts[question] for verdicts in by_judge]
            found += self.said(question, verdicts, f"shown the {'model' if model_first else 'baseline'}’s answer first")
        return found

    def _verdict(
        self, example: Example, judge: int, places: Sequence[tuple[int, bool]], found: Sequence[Verdict | Unread]
    ) -> Verdict | Unread:
        """Return how far a judge prefers the model's answer, over the orders in which it saw the pair."""
        if not places:
            return Verdict(0.5, "tie")
        given: list[tuple[Verdict, bool]] = []
        for number, model_first in places:
            verdict = found[number]
            if isinstance(verdict, Unread):
                return verdict
            given.append((verdict, model_first))
        if not (example.trial or example.sample):  # of several answers to an instance the first, as elsewhere
            self._first[judge].append(sum(verdict.value for verdict, _ in given) / len(given))
            if len(given) > 1:
                turned = all(v.value > 0.5 for v, _ in given) or all(v.value < 0.5 for v, _ in given)
                self._turned[judge].append(float(turned))
        won = sum(verdict.value if model_first else 1.0 - verdict.value for verdict, model_first in given) / len(given)
        return Verdict(won, "model" if won > 0.5 else "baseline" if won < 0.5 else "tie")

    def _length_controlled(self) -> LengthControlled | None:
        rated = self.rated[-1]
        gammas = None
        if self._gammas is not None:
            known, path = self._gammas[0], self._gammas[2]
            lacking = next((each.instance for each in rated if each.instance not in known), None)
            if lacking is not None:
                raise MetricError(f"metric {self.name!r}: {path} has no gamma for instance {lacking!r}.")
            gammas = [known[each.instance] for each in rated]
        return length_controlled([each.verdict.value for each in rated], [each.length for each in rated], gammas)


def _same(example: Example, other: str) -> bool:
    return example.prediction.strip() == other.strip()


def _read_gammas(path: Path) -> tuple[Mapping[str, float], str, Path]:
    """Return the instructions' difficulties by id, the file's hash and its path.

    Raises:
        DataError: The file cannot be read, or is not as described.
    """
    import hashlib

    try:
        content = path.read_bytes()
        lines = content.decode("utf-8").split("\n")
    except OSError as error:
        raise DataError(f"the gammas cannot be read: {error.strerror}.", file=path) from None
    except UnicodeDecodeError as error:
        raise DataError(f"is not UTF-8 ({error.reason}, byte {error.start}).", file=path) from None
    gammas: dict[str, float] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = parse_json(line)
        except StrictJsonError as error:
            raise DataError(f"{error}.", file=path, row=number) from None
        row = row if isinstance(row, dict) else {}
        id, gamma = row.get("id"), row.get("gamma")
        if not isinstance(id, str) or isinstance(gamma, bool) or not isinstance(gamma, int | float):
            raise DataError('must be {"id": "…", "gamma": <number>}.', file=path, row=number)
        if id in gammas:
            raise DataError(f"has a second gamma for {id!r}.", file=path, row=number)
        gammas[id] = float(gamma)
    return gammas, hashlib.sha256(content).hexdigest(), path
