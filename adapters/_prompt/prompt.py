"""Prompts put together: instructions, examples and a question, as plain text or as a conversation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from adapters._prompt.prompt_policy import PromptPolicy
from harness import Instance, Message, Prompt

NO_ANSWER = "n/a"
"""The answer of an example without a correct reference (as in HELM)."""


@dataclass(frozen=True, slots=True)
class Question:
    """The question of a prompt, up to the output prefix."""

    before: str
    """The part before the text that may be cut."""
    text: str
    """The only part that is cut if a prompt is too long."""
    after: str
    """The part after it."""

    def __str__(self) -> str:
        return self.before + self.text + self.after

    def cut_to(self, text: str) -> Question:
        """Return the question with a shorter text."""
        return replace(self, text=text)


@dataclass(frozen=True, slots=True)
class Shot:
    """One train instance as an example: questions with their answers."""

    instance: str
    """The train instance's id."""
    turns: tuple[tuple[Question, str], ...]
    """Pairs of a question and its answer; several for methods that show an instance in several ways."""


def plain_question(instance: Instance, policy: PromptPolicy) -> Question:
    """Return the question that consists of the instance's input."""
    return Question(policy.input_prefix, instance.input, policy.input_suffix)


def gold_answer(instance: Instance, answers: Sequence[str], *, multi_label: bool) -> str:
    """Return the answer that an example shows.

    Args:
        instance: The example.
        answers: The text or the letter of each reference.
        multi_label: Show all correct answers, joined by ", ", instead of the first.
    """
    correct = [answer for answer, reference in zip(answers, instance.references, strict=True) if reference.correct]
    if not correct:
        return NO_ANSWER
    return ", ".join(correct) if multi_label else correct[0]


class PromptWriter:
    """Writes the prompts of one train trial, which share their examples.

    Args:
        policy: The prompt policy.
        shots: The examples, in order.
        chat: Write conversations instead of plain text.
    """

    def __init__(self, policy: PromptPolicy, shots: Sequence[Shot], *, chat: bool) -> None:
        self.policy = policy
        self.shots = tuple(shots)
        self.chat = chat
        self._turns = chat and policy.examples_as_turns
        self._heads: dict[int, str] = {}

    def write(self, question: Question, examples: int) -> Prompt:
        """Return the prompt with the first ``examples`` examples and the question."""
        if self._turns:
            return self._conversation(question, examples)
        block = str(question) + self.policy.question_end
        text = self._substituted(self._head(examples) + block + self.policy.global_suffix)
        if not self.chat:
            return text
        return (*self._system(self.policy.system_prompt), Message("user", text))

    def write_alone(self, question: Question) -> Prompt:
        """Return a prompt of the question alone, for counting the question's tokens."""
        text = self._substituted(str(question) + self.policy.question_end)
        return (Message("user", text),) if self.chat else text

    def _head(self, examples: int) -> str:
        if examples not in self._heads:
            policy = self.policy
            blocks = [policy.instructions] if policy.instructions else []
            blocks += [self._block(*turn) for shot in self.shots[:examples] for turn in shot.turns]
            self._heads[examples] = policy.global_prefix + policy.instance_prefix.join([*blocks, ""])
        return self._heads[examples]

    def _block(self, question: Question, answer: str) -> str:
        return f"{question}{self.policy.output_prefix}{answer}{self.policy.output_suffix}"

    def _conversation(self, question: Question, examples: int) -> tuple[Message, ...]:
        policy = self.policy
        turns = [turn for shot in self.shots[:examples] for turn in shot.turns]
        users = [f"{asked}{policy.question_end}" for asked in [*(asked for asked, _ in turns), question]]
        system = ""
        if policy.system_prompt:
            system = "\n".join(part for part in (policy.system_prompt, policy.instructions.strip()) if part)
        elif policy.instructions:
            users[0] = policy.instructions + policy.instance_prefix + users[0]
        users[0] = policy.global_prefix + users[0]
        users[-1] += policy.global_suffix
        messages = [*self._system(system)]
        for user, (_, answer) in zip(users[:-1], turns, strict=True):
            messages += [Message("user", self._substituted(user)), Message("assistant", self._substituted(answer))]
        return (*messages, Message("user", self._substituted(users[-1])))

    def _system(self, text: str) -> tuple[Message, ...]:
        return (Message("system", self._substituted(text)),) if text else ()

    def _substituted(self, text: str) -> str:
        for pattern, replacement in self.policy.substitutions:
            text = re.sub(pattern, replacement, text)
        return text
