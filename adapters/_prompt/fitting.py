"""Prompts that fit the model's window: whole examples are dropped first, then the end of the input is cut.

Everything after the input, such as the output prefix, is always kept. HELM cuts the end of the prompt, and with it the
place where the answer belongs.
"""

from __future__ import annotations

import logging
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from adapters._prompt.prompt import PromptWriter, Question
from harness import Adapted, HarnessError, Instance, Prompt, Request, Tokenization

_LOG = logging.getLogger(__name__)

LENGTH_TOLERANCE = 8
"""Largest difference, in tokens, between the length of a prompt and the sum of the lengths of its parts.

Tokens can merge where parts meet, and special tokens are counted with each part.
"""

CHARACTERS_OF_A_TOKEN = 4
"""For models whose tokenizer is unknown. English prose has 4.2 to 4.6 for each token of the usual tokenizers."""

NEARBY = 32
"""Most characters by which a text of a number of tokens may begin later, or end elsewhere, than the first one tried."""

EMPTY_QUESTION = Question("", "", "")


@dataclass(frozen=True, slots=True)
class Fitted:
    """The prompts of one instance."""

    prompts: tuple[Prompt, ...]
    """One for each question; all show the same examples."""
    train_instances: tuple[str, ...]
    """Ids of the examples that they show."""
    dropped_examples: int
    """Number of examples that did not fit."""
    truncated: bool
    """True if a question was cut."""

    def adapted(
        self, instance: Instance, requests: Sequence[Request], trial: int, *, labels: tuple[str, ...] = ()
    ) -> Adapted:
        """Return the instance with the requests that were made from these prompts."""
        return Adapted(
            instance=instance,
            requests=tuple(requests),
            labels=labels,
            train_instances=self.train_instances,
            dropped_examples=self.dropped_examples,
            truncated=self.truncated,
            trial=trial,
        )


class PromptFitter:
    """Writes prompts that leave room for the model's answer.

    Tokenizing every prompt would be slow, so that each is checked in the cheapest way that decides::

        bytes of examples + question             ≤ room   it fits: a token has at least one byte
        tokens of examples (counted once)
          + tokens of the question               ≤ room   it fits, or not, unless within the tolerance
        tokens of the whole prompt               ≤ room   the rest: fewer examples until it fits

    Args:
        writer: Writes the prompts.
        tokenization: The model's window and tokenizer.
        max_tokens: Number of tokens that the model may generate.

    Raises:
        HarnessError: The window leaves no room for a prompt.
    """

    def __init__(self, writer: PromptWriter, tokenization: Tokenization, *, max_tokens: int = 0) -> None:
        self._writer = writer
        self._tokenization = tokenization
        self._max_tokens = max_tokens
        self._window = tokenization.window
        self._head_tokens: dict[int, int] = {}
        self._estimates = False
        self._ids = tuple(shot.instance for shot in writer.shots)
        self._adds_up = not writer.policy.substitutions  # a substitution can change the length of a part
        if self._window is not None and max_tokens >= self._window:
            raise HarnessError(
                f"max_tokens is {max_tokens}, which leaves no room for a prompt in the model's window of "
                f"{self._window} tokens. Set max_tokens well below it."
            )

    def fit(self, questions: Sequence[Question], *, answers: Sequence[str] = (), instance: str) -> Fitted:
        """Return one prompt for each question, all with as many examples as fit with the longest question.

        Args:
            questions: The questions about one instance; their prompts show the same examples, so that answers can be
                compared.
            answers: The texts that are scored after the prompt, if any; the prompts leave room for the longest.
            instance: The instance's id, for messages.

        Raises:
            HarnessError: A prompt does not fit even without examples and input.
        """
        examples = len(self._ids)
        if self._window is not None:
            longest = max(map(_bytes, answers), default=self._max_tokens)
            if not all(self._surely_fits(question, examples, self._window - longest) for question in questions):
                budget = self._window - self._reserve(answers)
                examples = min(self._most_examples(question, budget) for question in questions)
                if examples < 0:
                    return self._cut(questions, budget, instance)
        prompts = tuple(self._writer.write(question, examples) for question in questions)
        return Fitted(prompts, self._ids[:examples], len(self._ids) - examples, truncated=False)

    def beginning(self, text: str, tokens: int, *, instance: str) -> str:
        """Return the beginning of a text that has exactly that many tokens; a text that is shorter is repeated.

        Tokens are counted without special tokens and chat template. Where a character is several tokens, so that no
        beginning has exactly as many, the text begins a few characters later.

        Raises:
            HarnessError: The text is empty, or no part of it has exactly that many tokens.
        """
        if not text:
            raise HarnessError(f"instance {instance!r} has no input that could be cut to {tokens} tokens.")
        while (count := self._segment_tokens(text)) is not None and count < tokens:
            if not count:
                raise HarnessError(
                    f"the input of instance {instance!r} has no tokens, so it cannot be cut to {tokens}."
                )
            text = f"{text} {text}"
        if count is None:
            if not self._estimates:
                _LOG.warning("the model's tokenizer is unknown; inputs have about %d tokens, not exactly.", tokens)
            self._estimates = True
            length = tokens * CHARACTERS_OF_A_TOKEN
            return (text * (length // len(text) + 1))[:length]
        for start in range(min(NEARBY, len(text))):
            if (stretch := self._exactly(text[start:], tokens)) is not None:
                return stretch
        raise HarnessError(f"instance {instance!r}: no part of its input has exactly {tokens} tokens.")

    def _exactly(self, text: str, tokens: int) -> str | None:
        """Return the beginning of a text that has exactly that many tokens, if there is one."""
        first = len(self._tokenization.truncate(text, tokens))
        # A token of the whole text can be several, or part of another, where the text is cut.
        lengths = range(max(first - NEARBY, 0), min(first + NEARBY, len(text)) + 1)
        nearest = sorted(lengths, key=lambda length: abs(length - first))
        return next((text[:length] for length in nearest if self._segment_tokens(text[:length]) == tokens), None)

    def _segment_tokens(self, text: str) -> int | None:
        counts = self._tokenization.count_segments([text])
        return None if counts is None else counts[0]

    @property
    def chat(self) -> bool:
        """True if the prompts are conversations."""
        return self._writer.chat

    def without_examples(self, question: Question) -> Prompt:
        """Return the prompt of a short question, without examples."""
        return self._writer.write(question, 0)

    def _surely_fits(self, question: Question, examples: int, budget: int) -> bool:
        """Return True if a prompt fits even if every byte is a token."""
        return self._adds_up and self._head(examples) + _bytes(str(question)) + LENGTH_TOLERANCE <= budget

    def _most_examples(self, question: Question, budget: int) -> int:
        """Return the number of examples that fit with the question; -1 if the question alone is too long."""
        if self._surely_fits(question, len(self._ids), budget):
            return len(self._ids)
        own = self._count(self._writer.write_alone(question)) - self._empty
        most = len(self._ids)
        if self._adds_up:
            # A prompt grows with every example, so that bisection finds the most that could fit.
            most = bisect_right(range(most + 1), budget - own + LENGTH_TOLERANCE, key=self._head) - 1
        for examples in range(most, -1, -1):
            if self._adds_up and budget - self._head(examples) - own >= LENGTH_TOLERANCE:
                return examples
            if self._count(self._writer.write(question, examples)) <= budget:
                return examples
        return -1

    def _cut(self, questions: Sequence[Question], budget: int, instance: str) -> Fitted:
        cut = [self._cut_one(question, budget, instance) for question in questions]
        prompts = tuple(self._writer.write(question, 0) for question in cut)
        return Fitted(prompts, (), len(self._ids), truncated=cut != list(questions))

    def _cut_one(self, question: Question, budget: int, instance: str) -> Question:
        """Return the question with as much of its text as fits without examples."""
        if self._surely_fits(question, 0, budget) or self._count(self._writer.write(question, 0)) <= budget:
            return question
        shortest = self._count(self._writer.write(question.cut_to(""), 0))
        if shortest > budget:
            raise HarnessError(
                f"instance {instance!r} does not fit the model's window of {self._window} tokens: without examples and "
                f"input the prompt still has {shortest}, and the answer needs {(self._window or 0) - budget}. Shorten "
                "the instructions or the system prompt, set fewer max_tokens, or take a model with a longer window."
            )
        room = budget - shortest
        while room > 0:
            cut = question.cut_to(self._tokenization.truncate(question.text, room))
            excess = self._count(self._writer.write(cut, 0)) - budget
            if excess <= 0:
                return cut
            room -= excess
        return question.cut_to("")

    @cached_property
    def _empty(self) -> int:
        return self._count(self._writer.write_alone(EMPTY_QUESTION))

    def _head(self, examples: int) -> int:
        if examples not in self._head_tokens:
            self._head_tokens[examples] = self._count(self._writer.write(EMPTY_QUESTION, examples))
        return self._head_tokens[examples]

    def _reserve(self, answers: Sequence[str]) -> int:
        return max((self._tokenization.count_tokens(answer) for answer in answers), default=self._max_tokens)

    def _count(self, prompt: Prompt) -> int:
        return self._tokenization.count_tokens(prompt)


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
