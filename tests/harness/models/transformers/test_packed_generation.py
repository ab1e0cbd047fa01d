"""Texts that are written side by side are those that each would be alone."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from harness import GenerateRequest, Response
from harness.models.tokens.tokenizer import TextTokenizer
from harness.models.transformers import packed_generation, packed_rows
from harness.models.transformers import prefix_scoring as shared_scoring
from harness.models.transformers.huggingface import HuggingFaceModel
from tests.devices import DEVICE

pytest.importorskip("torch")

Make = Callable[..., Path]
HEADER = "Question: what?\nAnswer: it\n\n"


def ask(model: HuggingFaceModel, requests: Sequence[GenerateRequest]) -> list[Response]:
    answers = dict(model.answer(requests))
    assert sorted(answers) == list(range(len(requests)))
    return [answers[index] for index in range(len(requests))]


def prompts(count: int) -> list[GenerateRequest]:
    """Prompts with a header in common, repeated and unlike, with ends of every sort."""
    rng = Random(1)
    found = []
    for number in range(count):
        header = HEADER if number % 4 else ""
        text = header + "".join(rng.choice(["the ", "answer ", "Q:", "is"]) for _ in range(rng.randint(0, 6)))
        stop = (rng.choice("aei "),) if number % 3 else ()
        temperature = 0.9 if number % 5 == 0 else 0.0
        found.append(GenerateRequest(text, rng.randint(1, 20), temperature, stop, 1 + number % 3, seed=number))
    return found


def tokens_read(model: HuggingFaceModel, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Load the model and return a list that gets the number of tokens of each pass."""
    model._model = model._load()
    inner = model._model.runner.model
    forward = inner.forward
    read: list[int] = []

    def counted(*args: Any, **kwargs: Any) -> Any:
        read.append(kwargs["input_ids"].numel())
        return forward(*args, **kwargs)

    monkeypatch.setattr(inner, "forward", counted)
    return read


def same(one: Response, other: Response) -> bool:
    return [(c.text, c.tokens, c.finish_reason) for c in one.completions] == [
        (c.text, c.tokens, c.finish_reason) for c in other.completions
    ]


@pytest.mark.parametrize("kind", ["gpt2", "llama", "mistral"])
@pytest.mark.parametrize(
    ("side_by_side", "waste", "padding"), [(10**6, 0.25, 0.05), (10**6, 0.0, 1.0), (400, 0.0, 0.0)]
)
def test_completions_are_those_of_the_plain_path(
    tiny_checkpoint: Make, monkeypatch: pytest.MonkeyPatch, kind: str, side_by_side: int, waste: float, padding: float
) -> None:
    folder = str(tiny_checkpoint(kind))
    requests = prompts(24)
    monkeypatch.setitem(packed_generation.SIDE_BY_SIDE, "cpu", side_by_side)
    monkeypatch.setattr(packed_generation, "MAX_UNUSED_SHARE", waste)
    monkeypatch.setattr(packed_generation, "PADDING", padding)
    monkeypatch.setattr(packed_generation, "LEAST_SAVED", 2)
    monkeypatch.setattr(packed_rows, "SHORTEST_ROW", 8)
    packed = HuggingFaceModel(folder, device=DEVICE)
    together = ask(packed, requests)
    assert packed._model is not None
    assert packed._model.sharing.refused is None
    monkeypatch.setattr(shared_scoring, "why_not_shareable", lambda *_: "a test")
    plain = ask(HuggingFaceModel(folder, device=DEVICE), requests)
    for one, other in zip(together, plain, strict=True):
        assert same(one, other)
        for left, right in zip(one.completions, other.completions, strict=True):
            assert left.logprob == pytest.approx(right.logprob, abs=1e-3)
        assert one.seconds > 0


@pytest.mark.parametrize("side_by_side", [10**6, 400])
def test_computed_tokens_are_those_that_are_read_and_generated(
    tiny_checkpoint: Make, monkeypatch: pytest.MonkeyPatch, side_by_side: int
) -> None:
    monkeypatch.setitem(packed_generation.SIDE_BY_SIDE, "cpu", side_by_side)
    monkeypatch.setattr(packed_generation, "LEAST_SAVED", 2)
    monkeypatch.setattr(packed_rows, "SHORTEST_ROW", 8)
    read: list[int] = []
    inner = packed_rows.read_rows

    def counted(runner: Any, rows: Any, *arguments: Any, **others: Any) -> Any:
        read.append(sum(len(row.tokens) for row in rows))
        return inner(runner, rows, *arguments, **others)

    monkeypatch.setattr(packed_generation, "read_rows", counted)
    folder = str(tiny_checkpoint("gpt2"))
    answers = ask(HuggingFaceModel(folder, device=DEVICE), prompts(24))
    generated = sum(answer.completion_tokens or 0 for answer in answers)
    assert sum(answer.computed_tokens or 0 for answer in answers) == sum(read) + generated
    assert sum(read) < sum(answer.prompt_tokens or 0 for answer in answers)

    monkeypatch.setattr(shared_scoring, "why_not_shareable", lambda *_: "a test")
    for request, plain in zip(prompts(24), ask(HuggingFaceModel(folder, device=DEVICE), prompts(24)), strict=True):
        draws = request.completions if request.temperature else 1
        assert plain.computed_tokens == draws * (plain.prompt_tokens or 0) + (plain.completion_tokens or 0)


def test_a_header_is_read_once_for_all_texts(tiny_checkpoint: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    model = HuggingFaceModel(str(tiny_checkpoint("llama")), device=DEVICE)
    read = tokens_read(model, monkeypatch)
    requests = [GenerateRequest(f"{HEADER}{number}", max_tokens=2) for number in range(9)]
    header = model.count_tokens(HEADER)
    ask(model, requests)
    assert sum(read) < 3 * header + 9 * 8 + 16


def test_each_of_several_headers_is_read_once(tiny_checkpoint: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Prompts with another header do not join those that would have to read their own header again for it."""
    model = HuggingFaceModel(str(tiny_checkpoint("llama")), device=DEVICE)
    read = tokens_read(model, monkeypatch)
    monkeypatch.setattr(packed_generation, "LEAST_SAVED", 8)
    headers = ["Question: what? " * 3, "zxcv bnm " * 4, "the answer to it " * 3]
    requests = [GenerateRequest(f"{header}{number}", max_tokens=1) for header in headers for number in range(9)]
    prompts = [model.count_tokens(request.prompt) for request in requests]
    ends = sum(tokens - model.count_tokens(header) for tokens, header in zip(prompts, sorted(headers * 9), strict=True))
    ask(model, requests)
    # Each header once, the first one again to compare, and small change: rows that are filled up, the first look.
    assert sum(read) < sum(map(model.count_tokens, headers)) + max(prompts) + 2 * abs(ends) + 9 * 3 * 4 + 32


def test_texts_that_do_not_fit_together_wait(tiny_checkpoint: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = str(tiny_checkpoint("gpt2"))
    requests = prompts(12)
    expected = ask(HuggingFaceModel(folder, device=DEVICE), requests)
    model = HuggingFaceModel(folder, device=DEVICE)
    model._model = model._load()
    inner = model._model.runner.model
    forward = inner.forward
    refused = 0

    def small(*args: Any, **kwargs: Any) -> Any:
        nonlocal refused
        cache = kwargs.get("past_key_values")
        if kwargs["input_ids"].numel() > 3 and cache is not None and cache.get_seq_length() > 40:
            refused += 1
            raise RuntimeError("CUDA out of memory. Tried to allocate 20 GiB")
        return forward(*args, **kwargs)

    monkeypatch.setattr(inner, "forward", small)
    assert all(same(one, other) for one, other in zip(ask(model, requests), expected, strict=True))
    assert refused


def test_a_model_that_disagrees_with_itself_writes_in_batches(
    tiny_checkpoint: Make, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    folder = str(tiny_checkpoint("mistral"))
    requests = [GenerateRequest(HEADER * 2 + text, max_tokens=12) for text in ("a", "b", "the answer")]
    expected = ask(HuggingFaceModel(folder, device=DEVICE), requests)
    monkeypatch.setattr(shared_scoring, "longest_shareable", lambda *_: None)
    with caplog.at_level(logging.WARNING):
        answers = ask(HuggingFaceModel(folder, device=DEVICE), requests)
    assert len(caplog.records) == 1
    assert all(same(one, other) for one, other in zip(answers, expected, strict=True))


def test_a_stop_string_is_looked_for_wherever_it_may_end(tiny_tokenizer: Any) -> None:
    tokenizer = TextTokenizer(tiny_tokenizer, 0)
    for text in ("the answer", "Question:", "señor \u732b", "a\n\nb", " x "):
        tokens = tokenizer.encode([text], special=False)[text]
        for start in range(len(text)):
            for end in range(start + 1, len(text) + 1):
                found = [n for n in range(1, len(tokens) + 1) if text[start:end] in tokenizer.decode(tokens[:n])]
                assert tokenizer.may_end(tokens[found[0] - 1], ("never!", text[start:end]))
    assert not tokenizer.may_end(tokenizer.encode(["the"], special=False)["the"][0], ("\u732b", "X"))
