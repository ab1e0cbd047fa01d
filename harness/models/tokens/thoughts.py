r"""Where reasoning ends among the tokens of a completion that is being written.

    <think> \n Let me see . </think> \n\n Yes \n That
    |------ the budget's tokens ------| |- max_tokens, stop sequences -|

The answer begins with the first token that is not whitespace after the closing mark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from harness import Completion, GenerateRequest
from harness.backends import DEFAULT_BUDGET, KNOWN_MARKS, Marks, marks_of, split_reasoning
from harness.models.tokens.tokenizer import TextTokenizer, Tokens


@dataclass(frozen=True, slots=True)
class Thinking:
    """How a completion may reason."""

    marks: tuple[Marks, ...]
    """The marks that may surround the reasoning."""
    opened: bool
    """True if the prompt ends with the opening mark of the first of them."""
    budget: int
    """Most tokens of reasoning, with its marks."""
    keep: bool = False
    """True to leave the reasoning in the text."""


def effort_objection(request: GenerateRequest) -> str | None:
    """Return why a request's effort cannot be honoured by a model on this machine; None if it names none."""
    if request.reasoning is None or request.reasoning.effort is None:
        return None
    return (
        "a model on this machine does not take `effort`; if its chat template has a variable for it, set that "
        f"in the model's entry, such as `chat_template_kwargs: {{reasoning_effort: {request.reasoning.effort}}}`."
    )


def thinking_of(
    request: GenerateRequest, text: str, prompt: Tokens, tokenizer: TextTokenizer, window: int | None
) -> Thinking | None:
    """Return how a completion may reason; None if neither the model's settings nor its chat template say that it does.

    Args:
        request: What is asked.
        text: Its prompt as the model reads it.
        prompt: The prompt's tokens.
        tokenizer: The model's.
        window: Most tokens of prompt and completion together; None when unlimited.
    """
    reasoning = request.reasoning
    marks = marks_of(reasoning)
    if marks == KNOWN_MARKS:
        named = _marks_in(tokenizer.template)
        if not named and reasoning is None:
            return None
        marks = named or marks
    opened = [one for one in marks if _open_at_the_end(text, request.prefill, one)]
    budget = (reasoning.budget_tokens if reasoning is not None else None) or DEFAULT_BUDGET
    if window is not None:
        budget = max(0, min(budget, window - len(prompt) - request.max_tokens))
    ordered = (*opened, *(one for one in marks if one not in opened))
    return Thinking(ordered, bool(opened), budget, reasoning is not None and reasoning.keep)


@lru_cache(maxsize=8)
def _marks_in(template: str) -> tuple[Marks, ...]:
    return tuple(one for one in KNOWN_MARKS if one.close in template)


def _open_at_the_end(text: str, prefill: str, marks: Marks) -> bool:
    """Return True if the model writes on within reasoning that the prompt, or the answer's given beginning, opens."""
    if not marks.open:
        return True
    return text.rstrip().endswith(marks.open) or prefill.rfind(marks.open) > prefill.rfind(marks.close)


@dataclass(slots=True)
class Thoughts:
    """Follows the tokens of one completion as they come."""

    thinking: Thinking
    """How the completion may reason."""
    answer: int | None = None
    """Index of the answer's first token; None while the model reasons, or may be about to."""
    head: str = ""
    """The beginning of the answer, where the token that ends the closing mark holds it."""
    _inside: Marks | None = None
    _since: int = 0
    _thought: bool = False

    def __post_init__(self) -> None:
        if self.thinking.opened:
            self._inside, self._thought = self.thinking.marks[0], True

    @property
    def unfinished(self) -> bool:
        """True if the model is still reasoning."""
        return self.answer is None and self._inside is not None

    @property
    def closing(self) -> str | None:
        """The mark that ends the reasoning; None while the model does not reason."""
        return None if self._inside is None else self._inside.close

    def begin(self, tokens: Sequence[int]) -> int:
        """Return the index of the answer's first token among the tokens so far."""
        return len(tokens) if self.unfinished else self._since if self.answer is None else self.answer

    def follow(self, tokens: Sequence[int], tokenizer: TextTokenizer, max_tokens: int) -> bool:
        """Read the last token; return True if the completion ends with it, since nothing is left of the budget."""
        if self._inside is not None:
            self._look_for_the_end(tokens, tokenizer)
        if self._inside is None:
            self._look_for_a_beginning(tokens, tokenizer, max_tokens)
        return self.answer is None and self._thought and len(tokens) >= self.thinking.budget

    def _look_for_the_end(self, tokens: Sequence[int], tokenizer: TextTokenizer) -> None:
        assert self._inside is not None  # noqa: S101 - its caller's condition
        close = self._inside.close
        if not tokenizer.may_end_marked(tokens[-1], close):
            return
        reach = max(self._since, len(tokens) - 4 * len(close) - 8)  # a character is at most 4 bytes, hence tokens
        _, closed, after = tokenizer.decode_marked(tokens[reach:]).partition(close)
        if closed:
            self._inside, self._since, self.head = None, len(tokens), after.lstrip()
            if self.head and not any(one.open.startswith(self.head) for one in self.thinking.marks):
                self.answer = len(tokens)

    def _look_for_a_beginning(self, tokens: Sequence[int], tokenizer: TextTokenizer, max_tokens: int) -> None:
        if self.answer is not None:
            return
        begun = self.head + tokenizer.decode_marked(tokens[self._since :]).lstrip()
        for marks in self.thinking.marks:
            if marks.open and begun.startswith(marks.open):
                self._inside, self._thought, self.head = marks, True, ""
                self._look_for_the_end(tokens, tokenizer)
                return
            if begun.startswith(marks.close):
                self._since, self._thought, self.head = len(tokens), True, ""
                return
        expected = [mark for one in self.thinking.marks for mark in (one.open, one.close)]
        if begun and any(mark.startswith(begun) for mark in expected):
            return  # at most as many tokens as the mark has characters
        if not begun and (self._thought or len(tokens) < max_tokens):
            return
        self.settle(tokens, tokenizer)

    def settle(self, tokens: Sequence[int], tokenizer: TextTokenizer) -> None:
        """Take what follows the reasoning for the answer, also if it began like a mark."""
        if self.answer is None and self._inside is None:
            self.answer = self._since
            while self._thought and self.answer < len(tokens) and not tokenizer.decode([tokens[self.answer]]).strip():
                self.answer += 1

    def text(self, tokens: Sequence[int], tokenizer: TextTokenizer) -> str:
        """Return the answer among a completion's tokens; after reasoning, without the whitespace before it."""
        if self.unfinished:
            return ""
        text = self.head + tokenizer.decode(tokens[self.begin(tokens) :])
        return text.lstrip() if self._thought else text

    def reasoning(self, tokens: Sequence[int], tokenizer: TextTokenizer) -> str:
        """Return the reasoning, without marks."""
        if not self._thought:
            return ""
        written = tokenizer.decode_marked(tokens[: self.begin(tokens)])
        found = split_reasoning(written, self.thinking.marks, opened=self.thinking.opened)
        return "" if found is None else found.reasoning

    def noted(self, completion: Completion, tokens: Sequence[int], tokenizer: TextTokenizer) -> Completion:
        """Return a completion whose text is the answer with its reasoning, if there is any.

        Args:
            completion: The answer, with ``tokens`` and ``finish_reason`` of the whole.
            tokens: All tokens, without the one that ends the text.
            tokenizer: Decodes.
        """
        if not self._thought:
            return completion
        begin = min(self.begin(tokens), len(tokens))
        return replace(
            completion,
            text=tokenizer.decode_marked(tokens[:begin]) + completion.text if self.thinking.keep else completion.text,
            finish_reason="unfinished_reasoning" if self.unfinished else completion.finish_reason,
            reasoning=self.reasoning(tokens, tokenizer),
            reasoning_tokens=begin,
        )
