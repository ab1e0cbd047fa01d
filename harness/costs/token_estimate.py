"""An estimate of a text's tokens, where no tokenizer is known."""

from __future__ import annotations


def estimated_tokens(text: str) -> int:
    """Return the estimated number of tokens of a text: four ASCII characters each, as in English, or one other."""
    ascii_ = len(text.encode("ascii", "ignore"))
    return ascii_ // 4 + len(text) - ascii_ + 1
