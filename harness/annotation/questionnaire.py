"""Questionnaires: what raters are asked about an answer, or about two answers of different models."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from harness.contracts import Scale
from harness.errors import Diagnostic, SpecError, did_you_mean
from harness.yaml_lines import load_as

FIRST, TIE, SECOND = "first", "tie", "second"
"""The values of a preference: which of the two answers, in the order that the study has them."""

MUCH_FIRST, MUCH_SECOND = "first_much", "second_much"
"""Additional values if preferences have strengths."""

OTHER_WAY = {FIRST: SECOND, SECOND: FIRST, TIE: TIE, MUCH_FIRST: MUCH_SECOND, MUCH_SECOND: MUCH_FIRST}
"""What each preference becomes when the two answers are swapped."""

RESERVED = ("answer", "input", "instance", "item", "model", "note", "rater", "references", "scenario", "skip")
"""Words that cannot be a question's id, since files of ratings use them for something else."""

MOST_CELLS = 11
"""Most values of a scale; more do not fit a phone."""

Value = int | str
"""What a rater chooses or writes."""


class _Keys(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class RatingScale(_Keys):
    """A scale of whole numbers."""

    low: int = 1
    """The smallest number."""
    high: int = 5
    """The largest number."""
    low_means: str = ""
    """What the smallest number means, shown under it."""
    high_means: str = ""
    """What the largest number means, shown under it."""

    @model_validator(mode="after")
    def _check(self) -> RatingScale:
        if not self.low < self.high:
            raise ValueError(f"low must be less than high, not {self.low} and {self.high}")
        if self.high - self.low >= MOST_CELLS:
            raise ValueError(f"a scale has at most {MOST_CELLS} numbers, not {self.high - self.low + 1}")
        return self


class Question(_Keys):
    """One question, with exactly one of ``scale``, ``choices``, ``prefer`` and ``text``."""

    id: Annotated[str, Field(pattern="^[a-z][a-z0-9_]*$")]
    """Its name in files and tables: small letters, digits and underscores."""
    question: str
    """The question, as raters read it."""
    title: str = ""
    """The heading of its column in tables (default: the id)."""
    help: str = ""
    """A line under the question."""
    scale: RatingScale | None = None
    """A scale of whole numbers, such as ``{low: 1, high: 5, low_means: poor, high_means: excellent}``."""
    choices: list[str] | dict[str, str] | None = None
    """The choices as a list of texts, or as a mapping from values to texts; values that all are whole numbers have a
    mean, other choices have shares.
    """
    prefer: bool = False
    """True to ask which of two answers is better: A, B or, with ``ties``, neither."""
    ties: bool = True
    """For ``prefer``: allow "about equal"."""
    strengths: bool = False
    """For ``prefer``: distinguish "much better" (a win) from "slightly better" (three quarters of a win)."""
    text: bool = False
    """True for an answer in words, which is kept but not counted."""
    required: bool = True
    """False if raters may skip it; questions with ``text`` can always be skipped."""
    better: Literal["high", "low", "neither"] | None = None
    """Which end of the numbers is better (default: ``high`` for scales and preferences, ``neither`` for choices). If it
    is ``high``, the question can be a column of leaderboards.
    """
    level: Literal["nominal", "ordinal", "interval"] | None = None
    """How Krippendorff's alpha counts disagreement (default: ``ordinal`` for numbers, ``nominal`` for others)."""

    @field_validator("choices", mode="before")
    @classmethod
    def _texts(cls, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {str(key): str(item) if isinstance(item, int | float) else item for key, item in value.items()}
        return value

    @model_validator(mode="after")
    def _check(self) -> Question:
        kinds = [self.scale is not None, self.choices is not None, self.prefer, self.text]
        if sum(kinds) != 1:
            raise ValueError(f"question {self.id!r} needs exactly one of scale, choices, prefer and text")
        if self.id in RESERVED:
            raise ValueError(f"the id {self.id!r} is reserved in files of ratings; choose another")
        if self.strengths and not self.prefer:
            raise ValueError(f"`strengths` is only for preferences; question {self.id!r} needs `prefer: true`")
        if self.choices is not None and not 2 <= len(self.options) <= MOST_CELLS:
            raise ValueError(f"question {self.id!r} needs 2 to {MOST_CELLS} different choices, not {len(self.options)}")
        if self.level in ("ordinal", "interval") and not self.numeric:
            raise ValueError(f"level {self.level} needs numbers, but the answers to {self.id!r} are not numbers")
        if self.better in ("high", "low") and not self.numeric:
            raise ValueError(f"better: {self.better} needs numbers, but the answers to {self.id!r} are not numbers")
        return self

    @property
    def options(self) -> dict[Value, str]:
        """The values that can be chosen, with their texts; none for words."""
        if self.scale is not None:
            return {number: str(number) for number in range(self.scale.low, self.scale.high + 1)}
        if self.prefer:
            tie: dict[Value, str] = {TIE: "about equal"} if self.ties else {}
            if not self.strengths:
                return {FIRST: "A", **tie, SECOND: "B"}
            better: dict[Value, str] = {MUCH_FIRST: "A is much better", FIRST: "A is slightly better"}
            return {**better, **tie, SECOND: "B is slightly better", MUCH_SECOND: "B is much better"}
        if isinstance(self.choices, dict):
            try:
                return {int(value): text for value, text in self.choices.items()}
            except ValueError:
                return {value: text for value, text in self.choices.items()}  # noqa: C416 - of another type
        return {text: text for text in self.choices or ()}

    @property
    def numeric(self) -> bool:
        """True if the values are numbers, which have a mean."""
        return bool(self.options) and all(isinstance(value, int) for value in self.options)

    @property
    def range(self) -> Scale:
        """The range of a numeric question's values."""
        numbers = [float(value) for value in self.options]
        return Scale("bounded", min(numbers), max(numbers))

    @property
    def heading(self) -> str:
        """The heading of its column in tables."""
        return self.title or self.id

    @property
    def better_end(self) -> Literal["high", "low", "neither"]:
        """The end of the numbers that is better; of a preference, to be preferred."""
        return self.better or ("high" if self.scale is not None or self.prefer else "neither")

    @property
    def agreement(self) -> Literal["nominal", "ordinal", "interval"]:
        """How Krippendorff's alpha counts disagreement."""
        return self.level or ("ordinal" if self.numeric else "nominal")

    @property
    def needed(self) -> bool:
        """True if an item is complete only with an answer to it."""
        return self.required and not self.text

    def read(self, value: Any) -> Value | None:
        """Return a value as one of the question's; None if it is not.

        Numbers may be given as text, and choices by their text, as crowd platforms do.
        """
        if self.text:
            return value if isinstance(value, str) else None
        if isinstance(value, bool) or not isinstance(value, int | str):
            return None
        if value in self.options:
            return value
        given = str(value).strip()
        return next((known for known, text in self.options.items() if given in (str(known), text)), None)


class Gold(_Keys):
    """An item whose right ratings are known, to tell raters who pay attention from raters who do not."""

    input: str
    """What the answers answer."""
    answers: Annotated[list[str], Field(min_length=1, max_length=2)]
    """One answer, or two for a questionnaire about pairs."""
    expected: dict[str, Value | list[Value]]
    """For some questions the right value, or a list of those that are right."""


class Questionnaire(_Keys):
    """What raters are asked."""

    name: Annotated[str, Field(pattern="^[a-z0-9][a-z0-9_-]*$")]
    """Its name, which becomes part of file names."""
    title: str
    """The heading of the page."""
    guidelines: str = ""
    """What raters read before they begin, and later with ``g``; empty lines separate paragraphs."""
    answers: Literal["one", "pair"] = "one"
    """Show each answer by itself, or the answers of two models to one question side by side."""
    completions: Literal["first", "all"] = "first"
    """Of a model that gave several completions to a prompt, take the first or all."""
    input_title: str = "Question"
    """What the page calls the input."""
    answer_title: str = "Answer"
    """What the page calls an answer."""
    references: bool = False
    """True to show the correct answers, too."""
    questions: Annotated[list[Question], Field(min_length=1)]
    """The questions, in the order in which they are asked."""
    gold: list[Gold] = []
    """Items whose right ratings are known, mixed among the others."""

    @model_validator(mode="after")
    def _check(self) -> Questionnaire:
        ids = [question.id for question in self.questions]
        if repeated := sorted({name for name in ids if ids.count(name) > 1}):
            raise ValueError(f"two questions have the id {repeated[0]!r}")
        if self.answers == "one" and (asked := [question.id for question in self.questions if question.prefer]):
            raise ValueError(f"question {asked[0]!r} prefers one of two answers, which needs `answers: pair`")
        if self.answers == "pair" and self.completions == "all":
            raise ValueError("pairs are made of first completions; remove `completions: all`")
        for number, gold in enumerate(self.gold, start=1):
            if len(gold.answers) != (2 if self.answers == "pair" else 1):
                raise ValueError(f"gold item {number} has {len(gold.answers)} answers, which `answers` does not fit")
            for name, values in gold.expected.items():
                question = self.question(name)
                if question is None or question.text:
                    raise ValueError(f"gold item {number} expects a value of {name!r}. {did_you_mean(name, ids)}")
                for value in values if isinstance(values, list) else [values]:
                    if value not in question.options:
                        known = ", ".join(map(str, question.options))
                        raise ValueError(f"gold item {number} expects {value!r} of {name!r}, which has {known}")
        return self

    def question(self, name: str) -> Question | None:
        """Return the question with an id; None if there is none."""
        return next((question for question in self.questions if question.id == name), None)


def shipped_questionnaires() -> dict[str, Path]:
    """Return the files of the questionnaires that come with the harness, by name."""
    folder = Path(str(files("harness.annotation") / "forms"))
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def read_questionnaire(name: str) -> Questionnaire:
    """Read a questionnaire by its file, or by the name of one that comes with the harness.

    Raises:
        SpecError: There is no such questionnaire, or the file has errors; each is given with its line.
    """
    shipped = shipped_questionnaires()
    path = shipped.get(name, Path(name))
    if name not in shipped and not path.is_file():
        hint = did_you_mean(name, shipped) or f"Shipped: {', '.join(shipped)}."
        raise SpecError(
            [Diagnostic((), "is neither a file nor a questionnaire that comes with the harness.", hint, name)]
        )
    return load_as(path, Questionnaire)
