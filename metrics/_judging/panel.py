"""A panel of judges: models that are asked the same questions, and what came of their answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness import (
    GenerateRequest,
    Message,
    MetricError,
    ModelError,
    Origin,
    PluginError,
    Prompt,
    Request,
    Response,
)
from harness.judging import JudgeModel, ModelFinder
from metrics._judging.reading import Unread, Verdict
from metrics._judging.rubric import Rubric

ModelName = str | dict[str, Any]
"""A model, ``backend:identifier``, or a mapping with that ``name``, its arguments and its own settings."""

_SLACK = 8
"""Tokens of the window that are kept free: a model may count its own prompt slightly differently."""

_SHOWN = 300
"""Characters kept of an answer that could not be read."""


@dataclass(frozen=True, slots=True)
class Question:
    """Something to ask every judge."""

    prompt: str
    """The filled-in rubric."""
    origin: Origin | None = None
    """The example that it is about, by which recorded judgements are found."""


class Panel:
    """Judges with one rubric.

    Args:
        models: Finds the models.
        named: The models.
        rubric: What they are asked.
        metric: The metric's name, for messages.
        max_tokens: Maximum tokens of an answer, instead of the rubric's.
        temperature: Of the judges' answers.

    Raises:
        HarnessError: A model does not exist or does not write text, or two have the same name.
    """

    def __init__(
        self,
        models: ModelFinder,
        named: Sequence[ModelName],
        rubric: Rubric,
        *,
        metric: str,
        max_tokens: int | None,
        temperature: float,
    ) -> None:
        if not named:
            raise PluginError(f"metric {metric!r}: model names no judge.")
        self.names = [_name(each) for each in named]
        if twice := [name for name, count in Counter(self.names).items() if count > 1]:
            raise PluginError(
                f"metric {metric!r}: two judges are called {twice[0]!r}. Give each a display_name: "
                f"{{name: {twice[0]}, display_name: …}}."
            )
        self._models: list[JudgeModel] = [models(each) for each in named]
        for name, model in zip(self.names, self._models, strict=True):
            if "generate" not in model.answers:
                raise ModelError(f"metric {metric!r}: {name} does not generate text, so it cannot be a judge.")
        self._metric, self._rubric, self._temperature = metric, rubric, temperature
        self._max_tokens = max_tokens or rubric.front.max_tokens
        self.said: list[list[str]] = [[] for _ in named]
        """The answer of each judge to each question of the last :meth:`ask`."""
        self._unread: list[Counter[str]] = [Counter() for _ in named]
        self._first: list[dict[str, str]] = [{} for _ in named]

    def ready(self) -> None:
        """Ask every judge a short question.

        Raises:
            HarnessError: One cannot answer.
        """
        for model in self._models:
            with _named(self._metric):
                model.ready()

    def fingerprint(self) -> Mapping[str, Any]:
        """Return what decides the judgements: the rubric, the models and how they are asked."""
        with _named(self._metric):
            models = [dict(model.fingerprint()) for model in self._models]
        return {
            "rubric": self._rubric.fingerprint,
            "max_tokens": self._max_tokens,
            "temperature": self._temperature,
            "models": models,
        }

    def ask(self, questions: Sequence[Question]) -> list[list[Verdict | Unread]]:
        """Return every judge's verdict on every question, by judge. Each judge is asked all questions at once.

        Raises:
            MetricError: A judge left questions without any answer. Those that it answered are not asked again.
        """
        return [self._ask(index, model, questions) for index, model in enumerate(self._models)]

    def details(self) -> list[dict[str, Any]]:
        """Return, for each judge, its fingerprint, and how many of its answers had no verdict, and why."""
        return [
            {
                "judge": {"name": name, "model": dict(model.fingerprint())},
                **({"unread": self._reasons(index)} if self._unread[index] else {}),
            }
            for index, (name, model) in enumerate(zip(self.names, self._models, strict=True))
        ]

    def unreadable(self) -> list[str]:
        """Return why each judge's answers could not be read, in a sentence with the first such answer."""
        found = []
        for name, unread, first in zip(self.names, self._unread, self._first, strict=True):
            for reason, count in unread.most_common(1):
                example = f", for example {first[reason][:100]!r}" if first[reason] else ""
                found.append(f"{name} gave {count} answers that could not be read ({reason}){example}.")
        return found

    def _reasons(self, index: int) -> dict[str, Any]:
        first = self._first[index]
        return {
            reason: {"count": count, **({"first_answer": first[reason]} if first[reason] else {})}
            for reason, count in self._unread[index].most_common()
        }

    def _ask(self, index: int, model: JudgeModel, questions: Sequence[Question]) -> list[Verdict | Unread]:
        requests = [self._request(model, question) for question in questions]
        with _named(self._metric):
            answers = iter(model.ask([request for request in requests if request is not None]))
        responses = [None if request is None else next(answers) for request in requests]
        failed = [response.error for response in responses if response is not None and response.error is not None]
        if failed:
            raise MetricError(
                f"metric {self._metric!r}: {self.names[index]} left {len(failed)} of {len(questions)} questions "
                f"unanswered. The first: {failed[0]} Run the same command again: answered ones are not asked again."
            )
        self.said[index] = [_written(response) for response in responses]
        verdicts = [self._verdict(response) for response in responses]
        for verdict in verdicts:
            if isinstance(verdict, Unread):
                self._unread[index][verdict.reason] += 1
                self._first[index].setdefault(verdict.reason, verdict.answer[:_SHOWN])
        return verdicts

    def _request(self, model: JudgeModel, question: Question) -> Request | None:
        """Return the request; None if it does not fit into the model's window."""
        prompt: Prompt = question.prompt
        system = self._rubric.front.system.strip()
        if model.chat:
            prompt = (*([Message("system", system)] if system else []), Message("user", question.prompt))
        elif system:
            prompt = f"{system}\n\n{question.prompt}"
        if model.window is not None:
            most = model.most_generated(self._max_tokens)
            if model.count_tokens(prompt) > model.window - most - _SLACK:
                return None
        return GenerateRequest(prompt, self._max_tokens, temperature=self._temperature, origin=question.origin)

    def _verdict(self, response: Response | None) -> Verdict | Unread:
        if response is None or response.truncated:
            return Unread("rubric and answer do not fit into the judge's window")
        (completion,) = response.completions
        if completion.declined is not None:
            return Unread(f"the judge declined ({completion.declined})", completion.explanation or completion.text)
        if completion.finish_reason == "length":
            # What it had written may be a quotation; its own verdict comes last.
            return Unread("the judge's answer was cut off at max_tokens", completion.text)
        return self._rubric.read(completion.text)


def _written(response: Response | None) -> str:
    return response.completions[0].text if response is not None and response.completions else ""


def _name(written: ModelName) -> str:
    return written if isinstance(written, str) else str(written.get("display_name") or written.get("name"))


class _named:  # noqa: N801 - a context manager, used like a function
    """Put the metric's name before the message of an error of a judge's model."""

    def __init__(self, metric: str) -> None:
        self._metric = metric

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, ModelError):
            raise ModelError(f"metric {self._metric!r}: {error}") from error
