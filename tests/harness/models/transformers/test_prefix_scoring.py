"""Texts that are read together get the answers that each gets alone."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness import Response, ScoreRequest, SequenceRequest
from harness.models.tokens.windows import Span
from harness.models.transformers import causal_scoring, packed_rows, prefix_tree
from harness.models.transformers import prefix_scoring as shared_scoring
from harness.models.transformers.batching import Budget
from harness.models.transformers.causal_scoring import score_spans
from harness.models.transformers.huggingface import HuggingFaceModel
from harness.models.transformers.model_runner import ModelRunner
from harness.models.transformers.prefix_scoring import PrefixSharing
from tests.devices import DEVICE

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

Make = Callable[..., Path]
WINDOW = 64


@pytest.fixture
def eager_sharing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Share wherever anything can be shared, in rows so short that small trees have every shape."""
    monkeypatch.setattr(prefix_tree, "LEAST_SAVED", 2)
    monkeypatch.setattr(shared_scoring, "SHORTEST_ROW", 8)
    monkeypatch.setattr(packed_rows, "SHORTEST_ROW", 8)
    monkeypatch.setattr(shared_scoring, "MAX_PACKED_SHARE", 1.0)


@pytest.fixture(scope="module")
def loaded(tiny_checkpoint: Make) -> Callable[[str], ModelRunner]:
    """Return a function that returns a model by its architecture, loaded once."""
    known: dict[str, ModelRunner] = {}

    def load(kind: str) -> ModelRunner:
        if kind not in known:
            model = transformers.AutoModelForCausalLM.from_pretrained(tiny_checkpoint(kind)).eval()
            known[kind] = ModelRunner(model)
        return known[kind]

    return load


@st.composite
def tries(draw: st.DrawFn) -> list[Span[int]]:
    """Spans that grow out of each other's beginnings, as questions, choices and contexts do, up to the window."""
    rng = Random(draw(st.integers(0, 2**32)))
    texts: list[list[int]] = [[0]]
    for _ in range(draw(st.integers(2, 30))):
        stem = rng.choice(texts)
        kept = stem[: rng.randint(1, len(stem))]
        texts.append(kept + [rng.randrange(1, 320) for _ in range(rng.randint(1, 25))])
    found = []
    for text in texts[1:]:
        tokens = tuple(text[-(WINDOW + 1) :])
        if len(tokens) > 1:
            found.append(Span(tokens, rng.randint(1, len(tokens) - 1) if rng.random() < 0.2 else 1))
    return found


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("kind", ["gpt2", "llama", "granite"])
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(spans=tries(), tokens=st.sampled_from([1, 64, 200, 5000]))
def test_random_tries_are_scored_as_alone(
    loaded: Callable[[str], ModelRunner],
    eager_sharing: None,
    kind: str,
    attention: str,
    spans: list[Span[int]],
    tokens: int,
) -> None:
    rows = loaded(kind)
    rows.model.set_attn_implementation(attention)
    sharing = PrefixSharing(rows)
    answers = list(sharing.score(spans, Budget(tokens, 10_000), pad=0))
    assert sharing.refused is None
    assert sorted(index for index, _ in answers) == list(range(len(spans)))
    plain = dict(score_spans(rows, spans, Budget(1, 10_000), pad=0))
    for index, answer in answers:
        alone = plain[index]
        assert answer is not None
        assert alone is not None
        assert answer.logprobs == pytest.approx(alone.logprobs, abs=1e-4)
        assert answer.greedy == alone.greedy
        assert answer.seconds > 0


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(spans=tries(), tokens=st.sampled_from([1, 64, 200, 5000]), alone=st.booleans())
def test_computed_tokens_are_those_that_are_read(
    loaded: Callable[[str], ModelRunner], eager_sharing: None, spans: list[Span[int]], tokens: int, alone: bool
) -> None:
    """Each span also has its last token, which is scored and not read."""
    read: list[int] = []
    with pytest.MonkeyPatch.context() as patched:
        for module, name, place in ((shared_scoring, "read_rows", 1), (causal_scoring, "_score_batch", 2)):
            patched.setattr(module, name, counting(getattr(module, name), place, read))
        patched.setattr(PrefixSharing, "check", lambda *_, **__: None)
        sharing = PrefixSharing(loaded("gpt2"))
        if alone:
            sharing.refused = "a test"
        answers = dict(sharing.score(spans, Budget(tokens, 10_000), pad=0))
    computed = [answer.computed for answer in answers.values() if answer is not None]
    assert len(computed) == len(spans)
    assert sum(computed) - len(spans) == sum(read)
    assert all(0 < answer.computed <= len(spans[index].tokens) for index, answer in answers.items() if answer)
    if alone:
        assert sum(computed) == sum(map(len, {span.tokens[:-1] for span in spans})) + len(spans)


def counting(function: Callable[..., Any], place: int, read: list[int]) -> Callable[..., Any]:
    """Return the function, noting the tokens of the rows that are its argument at a place."""

    def counted(*arguments: Any, **others: Any) -> Any:
        found = function(*arguments, **others)
        read.append(sum(len(row.tokens) for row in arguments[place]))
        return found

    return counted


@pytest.fixture
def forwards(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """The shape of the tokens of each forward pass."""
    shapes: list[tuple[int, ...]] = []
    inner = ModelRunner._rows

    def counted(self: ModelRunner, tokens: Any, *args: Any, **kwargs: Any) -> Any:
        shapes.append(tuple(tokens.shape))
        return inner(self, tokens, *args, **kwargs)

    monkeypatch.setattr(ModelRunner, "_rows", counted)
    return shapes


def ask(model: HuggingFaceModel, requests: Sequence[ScoreRequest | SequenceRequest]) -> list[Response]:
    answers = dict(model.answer(requests))
    return [answers[index] for index in range(len(requests))]


def choices(header: str, questions: int) -> list[ScoreRequest]:
    return [
        ScoreRequest(f"{header}Q{number}:", f" {ending}")
        for number in range(questions)
        for ending in ("the answer", "the question", "to the answer")
    ]


def test_a_header_is_read_once(tiny_checkpoint: Make, forwards: list[tuple[int, ...]]) -> None:
    model = HuggingFaceModel(str(tiny_checkpoint("llama")), device=DEVICE, max_batch_tokens=160)
    requests = choices("zxcvbnmasdfghjklqwertyuiop1234567890", 12)
    lengths = [model.count_tokens(f"{request.context}{request.continuation}") for request in requests]
    shared = ask(model, requests)
    assert sum(rows * width for rows, width in forwards) < sum(lengths) / 2
    alone = [ask(HuggingFaceModel(str(tiny_checkpoint("llama")), device=DEVICE), [one])[0] for one in requests]
    for one, other in zip(shared, alone, strict=True):
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)


def test_candidates_after_growing_contexts_share_the_contexts(
    tiny_checkpoint: Make, forwards: list[tuple[int, ...]]
) -> None:
    segments = tuple(f"example {number} xyz" for number in range(8))
    requests = [
        SequenceRequest(segments, (*range(length), candidate), scored=1, max_scored_tokens=4)
        for length in range(1, 4)
        for candidate in range(length, 8)
    ]
    folder = str(tiny_checkpoint("gpt2"))
    model = HuggingFaceModel(folder, device=DEVICE)
    shared = ask(model, requests)
    read = sum(rows * width for rows, width in forwards)
    total = sum((answer.prompt_tokens or 0) + 4 for answer in shared)
    assert read < total / 2
    for request, one in zip(requests, shared, strict=True):
        [other] = ask(HuggingFaceModel(folder, device=DEVICE), [request])
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)


def test_orders_of_the_same_segments_take_the_plain_path(
    tiny_checkpoint: Make, forwards: list[tuple[int, ...]]
) -> None:
    segments = ("the answer", " is here", " the question")
    model = HuggingFaceModel(str(tiny_checkpoint("llama")), device=DEVICE)
    ask(model, [SequenceRequest(segments, order) for order in [(0, 1, 2), (1, 2, 0), (2, 0, 1)]])
    rows, width = forwards[-1]
    assert (rows, len(forwards[1:])) == (3, 1)
    assert width == sum(len(model._raw_tokenizer(segment)["input_ids"]) for segment in segments)


@pytest.mark.parametrize("kind", ["mistral", "gemma2", "mamba"])
def test_texts_that_a_model_does_not_see_as_a_whole_are_read_one_by_one(
    tiny_checkpoint: Make, eager_sharing: None, kind: str
) -> None:
    model = HuggingFaceModel(str(tiny_checkpoint(kind)), device=DEVICE)
    requests = [*choices("the question is longer than a window of 16 tokens ", 6), *choices("", 6)]
    together = ask(model, requests)
    assert model._model is not None
    sharing = model._model.sharing
    assert (sharing.refused is None) == (kind != "mamba")
    assert [sharing.takes(16), sharing.takes(17)] == [kind != "mamba", False]
    for request, one in zip(requests, together, strict=True):
        [other] = ask(HuggingFaceModel(str(tiny_checkpoint(kind)), device=DEVICE), [request])
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)


def test_a_model_that_disagrees_with_itself_is_found_out(
    tiny_checkpoint: Make, eager_sharing: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(shared_scoring, "longest_shareable", lambda *_: None)
    model = HuggingFaceModel(str(tiny_checkpoint("mistral")), device=DEVICE)
    requests = choices("the question is much longer than a window of 16 tokens ", 6)
    with caplog.at_level(logging.WARNING):
        together = [*ask(model, requests), *ask(model, requests)]
    [record] = caplog.records
    assert "differ" in record.message
    for request, one in zip([*requests, *requests], together, strict=True):
        [other] = ask(HuggingFaceModel(str(tiny_checkpoint("mistral")), device=DEVICE), [request])
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)


def test_a_model_that_refuses_a_mask_is_found_out(
    tiny_checkpoint: Make, eager_sharing: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = HuggingFaceModel(str(tiny_checkpoint("llama")), device=DEVICE)
    model._model = model._load()
    inner = model._model.runner.model
    forward = inner.forward

    def choosy(*args: Any, **kwargs: Any) -> Any:
        if getattr(kwargs.get("attention_mask"), "ndim", 2) == 4:
            raise ValueError("attention_mask must be 2-D")
        return forward(*args, **kwargs)

    monkeypatch.setattr(inner, "forward", choosy)
    assert all(answer.error is None for answer in ask(model, choices("the question is long ", 6)))
    assert "must be 2-D" in (model._model.sharing.refused or "")


def test_memory_that_runs_out_sends_a_row_to_the_plain_path(
    tiny_checkpoint: Make, eager_sharing: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = str(tiny_checkpoint("llama"))
    requests = choices("the question is long ", 8)
    expected = ask(HuggingFaceModel(folder, device=DEVICE), requests)
    model = HuggingFaceModel(folder, device=DEVICE)
    model._model = model._load()
    inner = model._model.runner.model
    forward = inner.forward

    def small(*args: Any, **kwargs: Any) -> Any:
        if kwargs["input_ids"].numel() > 40:
            raise RuntimeError("CUDA out of memory. Tried to allocate 20 GiB")
        return forward(*args, **kwargs)

    monkeypatch.setattr(inner, "forward", small)
    for one, other in zip(ask(model, requests), expected, strict=True):
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)


@pytest.mark.parametrize("kind", ["gpt2", "gemma2"])
def test_moments_are_those_of_the_prediction(tiny_checkpoint: Make, tiny_tokenizer: Any, kind: str) -> None:
    folder = tiny_checkpoint(kind)
    asked, without = ask(
        HuggingFaceModel(str(folder), device=DEVICE),
        [ScoreRequest("", "the answer to it", vocabulary_moments=True), ScoreRequest("", "the answer to it")],
    )
    tokens = [0, *tiny_tokenizer("the answer to it")["input_ids"]]
    plain = transformers.AutoModelForCausalLM.from_pretrained(folder)
    with torch.no_grad():
        logprobs = plain(torch.tensor([tokens])).logits[0, :-1].double().log_softmax(-1)
    assert without.vocabulary_moments == ()
    assert asked.logprobs == pytest.approx(without.logprobs, abs=1e-5)
    for (mean, deviation), row in zip(asked.vocabulary_moments, logprobs, strict=True):
        chances = row.exp()
        expected = float((chances * row).sum())
        assert mean == pytest.approx(expected, abs=1e-4)
        assert deviation == pytest.approx(math.sqrt(float((chances * (row - expected) ** 2).sum())), abs=1e-4)
