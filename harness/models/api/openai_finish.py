"""Why a completion of an OpenAI-compatible server ended: with an answer, without one, or in a failure.

Sources: OpenAI's API reference (``finish_reason``, ``refusal``, ``tool_calls``, ``completion_tokens_details``);
``reasoning_content`` and ``reasoning`` are fields of DeepSeek, vLLM and OpenRouter, and ``error`` is OpenRouter's;
``abort`` is vLLM's and SGLang's; ``insufficient_system_resource`` is DeepSeek's.
"""

from __future__ import annotations

from harness import FinishReason
from harness.models.api.failures import UnusableAnswerError
from harness.models.api.openai_answers import Choice, Usage, error_text

_BROKEN = frozenset({"error", "abort", "insufficient_system_resource"})
_TOOLS = frozenset({"tool_calls", "function_call"})


def finish_of(choice: Choice, usage: Usage | None) -> FinishReason:
    """Return why a choice ended.

    Args:
        choice: The server's.
        usage: The tokens of the answer that holds it, where the server counts them.

    Raises:
        UnusableAnswerError: It holds an error, or neither a text nor a reason for having none.
    """
    # Gemini's OpenAI-compatible endpoint appends a category: "content_filter: RECITATION".
    stated = (choice.finish_reason or "").partition(":")[0].strip()
    if choice.error:
        raise UnusableAnswerError(f"an error in place of a completion: {error_text(choice.error)}")
    if stated in _BROKEN:
        raise UnusableAnswerError(f"the server gave up on the completion (finish_reason {choice.finish_reason!r})")
    message = choice.message
    if choice.text is None and message is None:
        raise UnusableAnswerError("a choice with neither text nor message")
    content = choice.text if message is None else message.content
    if stated == "content_filter":
        return "content_filter"
    if stated == "refusal" or (message is not None and message.refusal):
        return "refusal"
    if stated in _TOOLS or (message is not None and not content and (message.tool_calls or message.function_call)):
        return "tool_call"
    reasoned = (message is not None and message.reasoned) or (usage is not None and usage.reasoning_tokens > 0)
    if not content and stated == "length" and (content is None or reasoned):
        return "reasoning_cut_off"
    if content is None and not (stated == "stop" and reasoned):
        given = f"finish_reason {choice.finish_reason!r}"
        raise UnusableAnswerError(f"the answer's text is null, and {given} does not explain why")
    if not content and not stated:
        raise UnusableAnswerError("the answer is empty and has no finish_reason")
    return "stop" if stated == "stop" else "length" if stated == "length" else "unknown"
