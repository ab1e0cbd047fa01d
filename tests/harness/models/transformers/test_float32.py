"""Texts read together in 16 bits are judged by float32: large logits round more, and a wrong mask is still found."""

from __future__ import annotations

import logging
from random import Random
from typing import Any

import pytest

from harness.models.tokens.windows import Span
from harness.models.transformers import packed_rows
from harness.models.transformers.batching import Budget
from harness.models.transformers.float32 import all_in_16_bits, in_float32
from harness.models.transformers.model_runner import ModelRunner
from harness.models.transformers.prefix_scoring import PrefixSharing

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

VOCABULARY = 500


def llama(scale: float, dtype: Any = torch.bfloat16) -> Any:
    """Return a model with random weights; the scale makes its logits as large as those of real models."""
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=128, intermediate_size=256, num_hidden_layers=6,
        num_attention_heads=4, num_key_value_heads=2, tie_word_embeddings=False,
    )  # fmt: skip
    model = transformers.LlamaForCausalLM(config).eval()
    with torch.no_grad():
        for weight in model.model.layers.parameters():
            if weight.dim() > 1:
                weight.mul_(3)
        model.lm_head.weight.mul_(scale)
    return model.to(dtype)


def spans() -> list[Span[int]]:
    rng = Random(0)
    header = [rng.randrange(VOCABULARY) for _ in range(120)]
    return [Span((*header, *(rng.randrange(VOCABULARY) for _ in range(30))), 20) for _ in range(24)]


@pytest.mark.parametrize("kind", ["GPT2", "Llama"])
def test_a_model_computes_as_its_copy_in_float32_does(kind: str) -> None:
    if kind == "GPT2":  # whose embeddings are its output layer, too
        config = transformers.GPT2Config(vocab_size=VOCABULARY, n_embd=64, n_layer=2, n_head=2)
        model = transformers.GPT2LMHeadModel(config).eval().to(torch.bfloat16)
    else:
        model = llama(1)
    tokens = torch.arange(40)[None]
    with torch.inference_mode():
        half = model(tokens).logits
        with in_float32(model):
            exact = model(tokens).logits
        again = model(tokens).logits
        copy = model.float()(tokens).logits
    assert half.dtype == again.dtype == torch.bfloat16
    assert torch.equal(half, again)
    assert exact.dtype == torch.float32
    torch.testing.assert_close(exact, copy, atol=1e-4, rtol=1e-4)


def test_weights_are_given_back_after_a_pass_that_failed() -> None:
    model = llama(1)
    with pytest.raises(IndexError), in_float32(model):
        model(torch.tensor([[VOCABULARY + 1]]))
    assert all_in_16_bits(model)


def test_large_logits_are_no_reason_to_read_texts_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []
    rounded = PrefixSharing._rounded

    def noted(*arguments: Any) -> bool:
        asked.append(rounded(*arguments))
        return asked[-1]

    monkeypatch.setattr(PrefixSharing, "_rounded", noted)
    sharing = PrefixSharing(ModelRunner(llama(100)))
    assert len(list(sharing.score(spans(), Budget(1024, 10**6), pad=0))) == 24
    assert asked  # by the fixed tolerance it would have been refused
    assert all(asked)
    assert sharing.refused is None


@pytest.mark.parametrize("scale", [10, 100])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_a_wrong_mask_is_found_in_16_bits(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, scale: float, dtype: Any
) -> None:
    pack = packed_rows.pack

    def shows_too_much(*args: Any) -> packed_rows.PackedRow:
        row = pack(*args)
        assert row.visible is not None
        row.visible[:] = True
        return row

    monkeypatch.setattr("harness.models.transformers.prefix_scoring.pack", shows_too_much)
    sharing = PrefixSharing(ModelRunner(llama(scale, dtype)))
    with caplog.at_level(logging.WARNING):
        answers = list(sharing.score(spans(), Budget(1024, 10**6), pad=0))
    assert len(answers) == 24
    assert "differ by" in (sharing.refused or "")
