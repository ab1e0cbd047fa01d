"""The base of metrics with judges: a rubric, a panel of judges, people's labels, and statistics of the whole run."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from harness import BatchMetric, Estimate, Example, MetricError
from harness.judging import Judgement, ModelFinder
from harness.statistics import mean_estimate
from metrics._judging.calibration import (
    DIFFERENCE,
    Rated,
    agreement,
    corrected,
    family,
    mean_error,
    shown,
)
from metrics._judging.panel import ModelName, Panel
from metrics._judging.people import PeoplesLabels, read_labels
from metrics._judging.reading import Reader, Unread, Verdict
from metrics._judging.rubric import Asks, load_rubric

_LOG = logging.getLogger(__name__)


class Judged(BatchMetric):
    """A metric whose scores are verdicts of judges.

    Args:
        models: Finds the judges.
        name: The metric's name.
        model: The judges.
        rubric: A rubric that comes with the harness, or a file.
        asks: What the rubric may ask for.
        labels: The file of people's labels.
        max_tokens: Maximum tokens of a judge's answer.
        temperature: Of the judges' answers.

    Raises:
        HarnessError: A judge, the rubric or the labels are not as they should be.
    """

    prefix: ClassVar[str]
    """What the names of its stats begin with."""

    def __init__(
        self,
        models: ModelFinder,
        name: str,
        *,
        model: ModelName | list[ModelName],
        rubric: str,
        asks: Sequence[Asks],
        labels: str | None,
        max_tokens: int | None,
        temperature: float,
    ) -> None:
        self.name = name
        self.rubric = load_rubric(rubric, asks=asks)
        self.judges: list[ModelName] = model if isinstance(model, list) else [model]
        self.panel = Panel(
            models, self.judges, self.rubric, metric=name, max_tokens=max_tokens, temperature=temperature
        )
        self.people: PeoplesLabels | None = None
        if labels is not None:
            self.people = read_labels(Path(labels), self.label_reader(), self.label_words())
        self.rated: list[list[Rated]] = [[] for _ in range(len(self.judges) + 1)]
        """What each judge found, and last all of them together."""
        self._said: list[list[Judgement]] = []
        self._group: str | None = None
        self._evaluated = ""

    def label_reader(self) -> Reader:
        """Return the reader of people's labels, which are those of the rubric."""
        return self.rubric.reader

    def label_words(self) -> str:
        """Return what people's labels may be, for messages."""
        reader = self.label_reader()
        if reader.labels is not None:
            return f"one of {', '.join(reader.labels)}"
        worst, best = reader.scale or (0.0, 1.0)
        return f"a number from {min(worst, best):g} to {max(worst, best):g}"

    def ready(self) -> None:
        self.panel.ready()

    def fingerprint(self) -> Mapping[str, Any]:
        people = {} if self.people is None else {"labels": self.people.sha256}
        return {**self.panel.fingerprint(), **people}

    def judgements(self) -> Sequence[Sequence[Judgement]]:
        return self._said

    def said(self, question: int, verdicts: Sequence[Verdict | Unread], about: str = "") -> list[Judgement]:
        """Return what each judge said to a question of the last block, with the verdict that was read from it."""
        return [
            Judgement(
                f"{name}, {about}" if about else name,
                text[question],
                rating=None if isinstance(verdict, Unread) else verdict.raw,
                scale=None if isinstance(verdict, Unread) else self.rubric.front.scale,
                label=None if isinstance(verdict, Unread) else verdict.label,
                problem=verdict.reason if isinstance(verdict, Unread) else "",
            )
            for name, text, verdict in zip(self.panel.names, self.panel.said, verdicts, strict=True)
        ]

    def keep(self, example: Example, verdicts: Sequence[Verdict | Unread], length: float) -> Verdict | None:
        """Keep the verdicts on an example for the whole run; return that of all judges together.

        It is undefined unless every judge gave one: a mean over whichever judges answered would be of other judges
        from answer to answer. Of several samples or trials, only the first is compared with people.
        """
        self._group, self._evaluated = example.instance.perturbation, example.model
        together = None
        given = [verdict for verdict in verdicts if isinstance(verdict, Verdict)]
        if len(given) == len(verdicts):
            votes = Counter(verdict.label for verdict in given).most_common(2)
            clear = len(votes) == 1 or votes[0][1] > votes[1][1]
            together = Verdict(sum(verdict.value for verdict in given) / len(given), votes[0][0] if clear else None)
        if example.trial or example.sample or example.instance.perturbation is not None:
            return together
        found = None if self.people is None else self.people.find(example.instance.id, example.prediction)
        for rated, verdict in zip(self.rated, [*verdicts, together], strict=True):
            if isinstance(verdict, Verdict):
                rated.append(Rated(example.instance.id, verdict, length, found))
        return together

    def estimates(self) -> Mapping[str, Estimate]:
        """Return what people's labels tell, under the metric's own names.

        Raises:
            MetricError: The labels are about none of the run's answers.
        """
        if not self.rated[-1] and self._group is None:
            for complaint in self.panel.unreadable():
                _LOG.warning("metric %r: %s", self.name, complaint)
        if self.people is None or self._group is not None or not self.rated[-1]:
            return {}
        if not self.people.used:
            about = "none of its ids is in this run"
            if self.people.others:
                about = "its texts are not the answers of this run"
            raise MetricError(
                f"metric {self.name!r}: {self.people.path} has labels of {len(self.people)} instances, and {about}: "
                f"{', '.join(self.people.unused[:3])}. `harness preview` shows the ids of a scenario."
            )
        found, _ = agreement(self.rated[-1], numbers=self.rubric.front.asks == "score")
        named = {f"{self.prefix}_{name}": estimate for name, estimate in found.items()}
        estimate, _ = corrected(self.rated[-1])
        return named if estimate is None else {f"{self.prefix}_corrected": estimate, **named}

    def details(self) -> Mapping[str, Any]:
        """Return the rubric, the judges, and with people's labels their agreement and biases."""
        found: dict[str, Any] = {
            "rubric": {**self.rubric.fingerprint, "title": self.rubric.front.title},
            "judges": {each["judge"]["name"]: each for each in self.panel.details()},
        }
        if self.rated[-1]:
            found["bias"] = self.biases()
        if self.people is not None and self._group is None:
            found["people"] = self._peoples_details(self.people)
        return found

    def biases(self) -> dict[str, Any]:
        """Return the judges' biases, as far as they can be measured."""
        return self.self_preference()

    def self_preference(self) -> dict[str, Any]:
        """Return how judges of the evaluated model's own family differ from people and from the other judges."""
        names = [each if isinstance(each, str) else str(each.get("name")) for each in self.judges]
        own = [index for index, name in enumerate(names) if family(name) == family(self._evaluated)]
        if not self._evaluated or not own:
            return {}
        found: dict[str, Any] = {"judges": [self.panel.names[index] for index in own]}
        others = [index for index in range(len(names)) if index not in own]
        if others:
            by_judge = [{each.instance: each.verdict.value for each in rated} for rated in self.rated[:-1]]
            shared = set.intersection(*(set(values) for values in by_judge))
            gaps = [
                sum(by_judge[index][instance] for index in own) / len(own)
                - sum(by_judge[index][instance] for index in others) / len(others)
                for instance in sorted(shared)
            ]
            if gaps:
                found["score_minus_other_judges"] = shown(mean_estimate(gaps, DIFFERENCE))
        for index in own:
            if (error := mean_error(self.rated[index])) is not None:
                found.setdefault("score_minus_people", {})[self.panel.names[index]] = shown(error)
        return {"self_preference": found}

    def _peoples_details(self, people: PeoplesLabels) -> dict[str, Any]:
        numbers = self.rubric.front.asks == "score"
        found: dict[str, Any] = {"labels": len(people), "used": len(people.used), "sha256": people.sha256}
        if people.unused:
            found["not_in_this_run"] = {"count": len(people.unused), "first": people.unused[:3]}
        by_judge = {}
        for name, rated in zip([*self.panel.names, "all judges"], self.rated, strict=True):
            if name == "all judges" and len(self.judges) == 1:
                continue
            _, agreed = agreement(rated, numbers=numbers)
            _, correction = corrected(rated)
            error = mean_error(rated)
            by_judge[name] = {
                **agreed,
                **({} if error is None else {"score_minus_people": shown(error)}),
                "correction": correction,
            }
        return {**found, "agreement": by_judge}
