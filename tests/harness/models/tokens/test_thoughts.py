"""What is read token by token is what the whole text says."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from harness import GenerateRequest, Message, Reasoning
from harness.backends import KNOWN_MARKS, split_reasoning
from harness.models.tokens.completions import answer_ended, completion_of_tokens
from harness.models.tokens.thoughts import Thinking, Thoughts, thinking_of
from harness.models.tokens.tokenizer import TextTokenizer
from tests.harness.models.thinking_checkpoint import END, OPENING, SILENT, TEMPLATE, make_checkpoint

pytest.importorskip("torch")

THINK = KNOWN_MARKS[0]
WORDS = (" Let", " me", "Yes", " so.\nThat", "\n", "\n\n", " it", "<", "/", "thin", ">")
words = st.lists(st.sampled_from(WORDS), max_size=8)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_checkpoint(tmp_path_factory.mktemp("thinking"), ("<think>", *WORDS[:3], "</think>", *WORDS[3:], END))


@pytest.fixture(scope="module")
def tokenizer(folder: Path) -> TextTokenizer:
    from transformers import AutoTokenizer

    raw = AutoTokenizer.from_pretrained(folder)
    return TextTokenizer(raw, raw.eos_token_id)


def written(tokenizer: TextTokenizer, pieces: list[str]) -> list[int]:
    return [token for piece in pieces for token in tokenizer.encode([piece], special=False)[piece]]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(words, words, words, st.sampled_from([(), ("\n",), ("it",), ("Yes", "so")]), st.integers(1, 6), st.booleans())
@example([], ["\n"], ["\n\n", "Yes"], ("\n",), 1, False)
@example([" Let"], [], ["<", "thin", ">"], (), 6, True)
@example([], [], ["<", "/"], (), 1, False)
@example([" Let"], [], ["\n", "<", "/"], (), 1, True)
def test_stops_and_max_tokens_hold_for_the_answer(
    tokenizer: TextTokenizer,
    thought: list[str],
    more: list[str],
    answer: list[str],
    stop: tuple[str, ...],
    max_tokens: int,
    opened: bool,
) -> None:
    pieces = [*([] if opened else ["<think>"]), *thought, *more, "</think>", *answer]
    tokens = written(tokenizer, pieces)
    thoughts = Thoughts(Thinking((THINK,), opened, budget=1000))
    taken: list[int] = []
    for token in tokens:
        taken.append(token)
        if answer_ended(taken, thoughts, max_tokens, stop, tokenizer):
            break
    found = completion_of_tokens(
        taken, [-1.0] * len(taken), [], tokenizer, ended=False, stop=stop, max_tokens=max_tokens, thoughts=thoughts
    )
    whole = split_reasoning(tokenizer.decode_marked(tokens), (THINK,), opened=opened)
    assert whole is not None
    assert whole.answer is not None
    assert found.reasoning == whole.reasoning
    # The answer by itself: its first tokens after whitespace, up to a stop string.
    spelled = written(tokenizer, answer)
    while spelled and not tokenizer.decode(spelled[:1]).strip():
        del spelled[0]
    expected = tokenizer.decode(spelled[:max_tokens]).lstrip()
    places = [place for string in stop if (place := expected.find(string)) >= 0]
    assert found.text == (expected[: min(places)] if places else expected)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(words.filter(lambda pieces: "".join(pieces).strip() != "" and pieces[0] != "<"), st.integers(1, 6))
def test_an_answer_at_once_is_read_as_ever(tokenizer: TextTokenizer, pieces: list[str], max_tokens: int) -> None:
    tokens = written(tokenizer, pieces)[:max_tokens]
    thoughts = Thoughts(Thinking((THINK,), opened=False, budget=1000))
    for end in range(1, len(tokens) + 1):
        ended = answer_ended(tokens[:end], thoughts, max_tokens, (), tokenizer)
        assert ended == (end == max_tokens)
    found = completion_of_tokens(
        tokens, [-1.0] * len(tokens), [], tokenizer, ended=False, stop=(), max_tokens=max_tokens, thoughts=thoughts
    )
    assert (found.text, found.reasoning, found.reasoning_tokens) == (tokenizer.decode(tokens), "", None)


@pytest.mark.parametrize(
    ("template", "text", "reasoning", "expected"),
    [
        (TEMPLATE, "…assistant\n", None, (THINK.open, False)),
        (OPENING, "…assistant\n<think>", None, (THINK.open, True)),
        (OPENING, "…assistant\n<think>\n", None, (THINK.open, True)),
        (TEMPLATE, "Say <think>!…assistant\n", None, (THINK.open, False)),
        (SILENT, "…assistant\n", None, None),
        (SILENT, "…assistant\n", Reasoning(), (THINK.open, False)),
        (SILENT, "…assistant\n[THINK]", Reasoning(), ("[THINK]", True)),
        (SILENT, "…assistant\n", Reasoning(open="", close="</t>"), ("", True)),
        (TEMPLATE, "…", Reasoning(open="<a>", close="</a>"), ("<a>", False)),
    ],
)
def test_marks_are_the_entrys_or_the_templates(
    folder: Path, template: str, text: str, reasoning: Reasoning | None, expected: tuple[str, bool] | None
) -> None:
    from transformers import AutoTokenizer

    raw = AutoTokenizer.from_pretrained(folder)
    raw.chat_template = template
    request = GenerateRequest((Message("user", "Is it so?"),), 5, reasoning=reasoning)
    found = thinking_of(request, text, (1, 2, 3), TextTokenizer(raw, raw.eos_token_id), 100)
    assert (found and (found.marks[0].open, found.opened)) == expected
    assert found is None or found.budget == 92


def test_a_begun_answer_can_open_the_reasoning(folder: Path, tokenizer: TextTokenizer) -> None:
    for prefill, opened in (("<think>Let", True), ("<think>Let</think>", False), ("Yes", False)):
        request = GenerateRequest("Q", 5, prefill=prefill)
        found = thinking_of(request, f"Q{prefill}", (1,), tokenizer, None)
        assert found is not None
        assert (found.opened, found.budget) == (opened, 16_384)
