"""Logits of chosen positions are those of a full pass, and what nothing reads is not computed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.models.transformers.model_runner import ModelRunner

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

TOKENS = torch.arange(1, 41).reshape(2, 20)
BATCH, POSITION = torch.tensor([0, 1, 1]), torch.tensor([19, 3, 19])


def load(folder: Path) -> Any:
    return transformers.AutoModelForCausalLM.from_pretrained(folder).eval()


def full(model: Any) -> Any:
    return model(input_ids=TOKENS).logits[BATCH, POSITION]


@pytest.mark.parametrize("kind", ["gpt2", "llama", "mistral", "granite"])
def test_rows_are_those_of_full_logits(tiny_checkpoint: Callable[..., Path], kind: str) -> None:
    model = load(tiny_checkpoint(kind))
    runner = ModelRunner(model)
    seen: list[int] = []
    last = [module for name, module in model.named_modules() if name.endswith(".mlp")][-1]
    with torch.inference_mode():
        expected = full(model)
        runner.logits_at(TOKENS, BATCH, POSITION)  # the first call compares
        handle = last.register_forward_hook(lambda module, args, output: seen.append(args[0].shape[-2]))
        found, _ = runner.logits_at(TOKENS, BATCH, POSITION)
        handle.remove()
        again = full(model)
    assert torch.allclose(found, expected, atol=1e-5)
    assert seen == [len(BATCH)]
    assert torch.equal(again, expected)  # nothing is left behind in the model


class _Mixes(torch.nn.Module):  # type: ignore[misc, name-defined]
    """A feed-forward module whose positions see each other, as none should."""

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, hidden: Any) -> Any:
        return self.inner(hidden) + 100 * hidden.cumsum(-2)


class _Pairs(torch.nn.Module):  # type: ignore[misc, name-defined]
    """A feed-forward module that returns more than hidden states, as some mixtures of experts do."""

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, hidden: Any) -> Any:
        return (self.inner(hidden),)


class _First(torch.nn.Module):  # type: ignore[misc, name-defined]
    def forward(self, hidden: Any) -> Any:
        return hidden[0]


@pytest.mark.parametrize("odd", ["mixes", "pairs"])
def test_a_model_whose_last_block_is_odd_is_run_in_full(
    tiny_checkpoint: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, odd: str
) -> None:
    model = load(tiny_checkpoint("llama"))
    block = model.model.layers[-1]
    if odd == "mixes":
        block.mlp = _Mixes(block.mlp)
    else:
        block.mlp = _Pairs(block.mlp)
        forward = type(block).forward

        def unpacked(*args: Any, **kwargs: Any) -> Any:
            inner = block.mlp
            block._modules["mlp"] = torch.nn.Sequential(inner, _First())
            try:
                return forward(block, *args, **kwargs)
            finally:
                block._modules["mlp"] = inner

        monkeypatch.setattr(block, "forward", unpacked)
    runner = ModelRunner(model)
    with torch.inference_mode():
        expected = full(model)
        found, _ = runner.logits_at(TOKENS, BATCH, POSITION)
    assert torch.allclose(found, expected, atol=1e-4)


def test_one_token_shows_nothing_of_a_model(tiny_checkpoint: Callable[..., Path]) -> None:
    model = load(tiny_checkpoint("llama"))
    model.model.layers[-1].mlp = _Mixes(model.model.layers[-1].mlp)
    runner = ModelRunner(model)
    with torch.inference_mode():
        expected = full(model)
        runner.logits_at(TOKENS[:1, :1], torch.tensor([0]), torch.tensor([0]))
        found, _ = runner.logits_at(TOKENS, BATCH, POSITION)
    assert torch.allclose(found, expected, atol=1e-4)


class _Some(torch.nn.Module):  # type: ignore[misc, name-defined]
    """A feed-forward module that wants a position at least."""

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, hidden: Any) -> Any:
        return self.inner(hidden.reshape(*hidden.shape[:-1], 2, -1).flatten(-2))


def test_no_rows_may_be_wanted(tiny_checkpoint: Callable[..., Path]) -> None:
    model = load(tiny_checkpoint("llama"))
    model.model.layers[-1].mlp = _Some(model.model.layers[-1].mlp)
    runner = ModelRunner(model)
    none = torch.zeros(0, dtype=torch.long)
    with torch.inference_mode():
        runner.logits_at(TOKENS, BATCH, POSITION)
        found, _ = runner.logits_at(TOKENS, none, none)
    assert found.shape == (0, model.config.vocab_size)
