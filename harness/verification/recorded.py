"""What a run asked, as its examples have it: its questions, a random sample of them, and digests to compare with.

A *question* is what was asked about one instance at once: all requests of one train trial; of a conversation, those of
one sample. A sample of questions, not of single requests, can be scored again.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from harness.contracts import Adapted, Example
from harness.errors import DataError
from harness.seeds import derive_rng
from harness.storage.encoding import decode_example, encode_example
from harness.storage.example_files import EXAMPLES_FILE, example_lines
from harness.storage.results import RunRecord

_T = TypeVar("_T")

Key = tuple[str, str | None, int, int, int]
"""A question: instance, perturbation, train trial, sample of a conversation, and how many before it were the same."""


@dataclass(frozen=True, slots=True)
class Question:
    """What was asked at once, without its text."""

    requests: tuple[bytes, ...]
    """A digest of each request."""
    instance: bytes
    """A digest of the instance's input, references and meta data."""
    failed: bool
    """True if it has no answer because of an error."""


class RecordedRun:
    """The examples of a finished run.

    Attributes:
        questions: Every question, in the order in which they were asked.

    Args:
        record: The run.
        converses: True if each sample is a conversation of its own, and so a question.

    Raises:
        DataError: The examples are missing, damaged, or not those that the record describes.
    """

    def __init__(self, record: RunRecord, converses: bool) -> None:
        self._record, self._converses = record, converses
        self.questions: dict[Key, Question] = {}
        for key, question in self._read(_question, lambda key: key not in self.questions):
            self.questions[key] = question

    def draw(self, count: int, seed: int) -> list[Key]:
        """Return a random sample of the questions that have answers, in the order in which they were asked."""
        answered = [key for key, question in self.questions.items() if not question.failed]
        if count >= len(answered):
            return answered
        chosen = derive_rng(seed, "reproduce").sample(range(len(answered)), count)
        return [answered[place] for place in sorted(chosen)]

    def examples(self, keys: Sequence[Key]) -> dict[Key, list[tuple[Example, Mapping[str, float]]]]:
        """Return the examples of some questions, one for each sample, with their scores."""
        wanted: dict[Key, list[tuple[Example, Mapping[str, float]]]] = {key: [] for key in keys}
        for key, scored in self._read(_scored, wanted.__contains__):
            wanted[key].append(scored)
        return wanted

    def _read(
        self, decode: Callable[[dict[str, Any]], _T], is_wanted: Callable[[Key], bool]
    ) -> Iterator[tuple[Key, _T]]:
        """Yield what ``decode`` makes of the examples of some questions, in the file's order."""
        count = _Counting()
        number = 0
        try:
            for line in example_lines(self._record):
                number += 1
                value = json.loads(line)
                sample = value.get("sample", 0)
                first = self._converses or sample == 0
                where = value["id"], value.get("perturbation"), value.get("trial", 0)
                key = count.key(*where, sample if self._converses else 0, first)
                if is_wanted(key):
                    yield key, decode(value)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            file = self._record.directory / EXAMPLES_FILE
            raise DataError(f"not an example ({error}).", file=file, row=number) from error


class _Counting:
    """Tells questions with the same instance, perturbation, trial and sample apart by number."""

    def __init__(self) -> None:
        self._before: Counter[tuple[str, str | None, int, int]] = Counter()

    def key(self, instance: str, perturbation: str | None, trial: int, sample: int, first: bool = True) -> Key:
        place = instance, perturbation, trial, sample
        self._before[place] += first
        return (*place, self._before[place] - 1)


def numbered(asked: Iterator[Adapted]) -> Iterator[tuple[Key, Adapted]]:
    """Yield what is asked now, each with the key that its question has in the record."""
    count = _Counting()
    for adapted in asked:
        instance = adapted.instance
        yield count.key(instance.id, instance.perturbation, adapted.trial, adapted.sample), adapted


def question_of(adapted: Adapted) -> Question:
    """Return the digests of what is asked now."""
    example = Example(instance=adapted.instance, requests=adapted.requests)
    value = json.loads(_text(encode_example(example)))
    return Question(tuple(_digests(value)), _instance_digest(value), failed=False)


def _question(value: Mapping[str, Any]) -> Question:
    return Question(tuple(_digests(value)), _instance_digest(value), value.get("error") is not None)


def _scored(value: Mapping[str, Any]) -> tuple[Example, Mapping[str, float]]:
    return decode_example(value), {name: float(score) for name, score in value.get("scores", {}).items()}


def _digests(value: Mapping[str, Any]) -> Iterator[bytes]:
    segments = [_digest(texts).hex() for texts in value.get("segments", ())]
    for request in value["requests"]:
        yield _digest({**request, "of": segments[request["of"]]} if "of" in request else request)


def _instance_digest(value: Mapping[str, Any]) -> bytes:
    return _digest([value["input"], value.get("references", []), value.get("meta", {})])


def _digest(value: Any) -> bytes:
    return hashlib.blake2b(_text(value).encode("utf-8", "surrogatepass"), digest_size=12).digest()


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
