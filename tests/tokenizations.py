"""A tokenization that needs no model: what adapters ask of a model before any request is sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness import Prompt


@dataclass
class Unlimited:
    """A model whose window holds every prompt, and to which every character is a token."""

    chat: bool = False
    window: int | None = None
    tools: bool = False
    continues: bool = True

    def count_tokens(self, prompt: Prompt) -> int:
        return len(prompt)

    def most_generated(self, max_tokens: int) -> int:
        return max_tokens

    def count_segments(self, segments: Sequence[str]) -> Sequence[int] | None:
        return None

    def truncate(self, text: str, tokens: int) -> str:
        return text[:tokens]
