"""Detect reasoning in an answer's text that begins with a tag and never ends."""

from __future__ import annotations

from harness.contracts import DECLINES, FinishReason

TAGS = (("<think>", "</think>"), ("<seed:think>", "</seed:think>"), ("[THINK]", "[/THINK]"))
"""Tags around reasoning in the text of Qwen, DeepSeek and many others, of Seed-OSS, and of Magistral."""


def reason_with_thoughts(text: str, reason: FinishReason) -> FinishReason:
    """Return why a completion ended: ``reasoning_cut_off`` where its text begins with reasoning that never ends.

    Args:
        text: The completion's text, without stop string.
        reason: Why it ended, as the model says.
    """
    begun = text.lstrip()
    cut_off = any(begun.startswith(opening) and closing not in begun for opening, closing in TAGS)
    return "reasoning_cut_off" if cut_off and reason not in DECLINES else reason
