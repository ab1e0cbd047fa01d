"""Small tokenizations and instances for the adapters' tests."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

import pytest

from harness import Instance, Prompt, Reference, Split, Tokenization


@dataclass
class Characters:
    """A model to which every character is a token; a text begins with one special token, a turn with two."""

    window: int | None = None
    chat: bool = False
    tools: bool = False
    continues: bool = True
    counted: list[Prompt] = field(default_factory=list)

    def count_tokens(self, prompt: Prompt) -> int:
        self.counted.append(prompt)
        if isinstance(prompt, str):
            return 1 + len(prompt)
        return sum(2 + len(message.content) for message in prompt)

    def most_generated(self, max_tokens: int) -> int:
        return max_tokens

    def count_segments(self, segments: Sequence[str]) -> Sequence[int] | None:
        return None

    def truncate(self, text: str, tokens: int) -> str:
        return text[:tokens]


@dataclass
class Words:
    """A model to which every word is a token; whitespace is none."""

    window: int | None = None
    chat: bool = False
    tools: bool = False
    continues: bool = True

    def count_tokens(self, prompt: Prompt) -> int:
        texts = [prompt] if isinstance(prompt, str) else [message.content for message in prompt]
        return sum(len(text.split()) for text in texts)

    def most_generated(self, max_tokens: int) -> int:
        return max_tokens

    def count_segments(self, segments: Sequence[str]) -> Sequence[int] | None:
        return None

    def truncate(self, text: str, tokens: int) -> str:
        return " ".join(text.split()[:tokens])


@pytest.fixture(scope="session")
def characters() -> Callable[..., Characters]:
    return Characters


@pytest.fixture(scope="session")
def words() -> Callable[..., Tokenization]:
    return Words


@pytest.fixture(scope="session")
def make() -> Callable[..., Instance]:
    def make_instance(
        id: str,
        text: str,
        answers: Sequence[str] = ("First", "Second", "Third"),
        correct: Collection[int] = (0,),
        split: Split = Split.TEST,
        perturbation: str | None = None,
    ) -> Instance:
        references = tuple(Reference(answer, correct=index in correct) for index, answer in enumerate(answers))
        return Instance(id, text, references, split, perturbation)

    return make_instance


@pytest.fixture(scope="session")
def helm_train(make: Callable[..., Instance]) -> list[Instance]:
    """The two train instances of HELM's own tests of its adapters."""
    return [
        make("train0", "Second reference is correct", correct={1}, split=Split.TRAIN),
        make("train1", "First and second references are correct", correct={0, 1}, split=Split.TRAIN),
    ]


@pytest.fixture(scope="session")
def helm_eval(make: Callable[..., Instance]) -> Instance:
    """The evaluation instance of HELM's own tests of its adapters."""
    return make("test0", "First reference is correct", correct={0})
