"""What an evaluation changes is put back."""

from __future__ import annotations

import inspect
import random
from typing import Any

import pytest

from harness.python.undisturbed import undisturbed
from tests.tiny_checkpoints import tokenizer


def test_everything_is_as_before() -> None:
    numpy, torch = pytest.importorskip("numpy"), pytest.importorskip("torch")
    module: Any = torch.nn.Sequential(torch.nn.BatchNorm1d(2), torch.nn.Dropout(0.5))
    module[0].eval()
    module[0].register_buffer("frequencies", torch.ones(3))
    module[0].longest = 8
    tokens = tokenizer()
    tokens.padding_side = "left"
    ids = tokens("the answer")["input_ids"]
    tokens.backend_tokenizer.enable_truncation(max_length=5)
    kept = module[0].frequencies
    before = random.getstate(), numpy.random.get_state()[1].tolist(), torch.get_rng_state()

    def disturb() -> None:
        random.random(), numpy.random.rand(), torch.rand(1)
        module.train()
        module[0].longest = 99
        module[0].frequencies = torch.zeros(99)
        tokens.padding_side = "right"
        tokens.pad_token = tokens.eos_token
        tokens.add_bos_token = tokens.add_eos_token = True
        tokens.backend_tokenizer.no_truncation()
        tokens.backend_tokenizer.enable_padding()
        raise ValueError("on purpose")

    with pytest.raises(ValueError, match="on purpose"), undisturbed(module, tokens):
        disturb()
    assert (random.getstate(), numpy.random.get_state()[1].tolist()) == before[:2]
    assert torch.equal(torch.get_rng_state(), before[2])
    assert (module.training, module[0].training, module[0].longest) == (True, False, 8)
    assert module[0].frequencies is kept
    assert (tokens.padding_side, tokens.pad_token) == ("left", None)
    assert (tokens.add_bos_token, tokens.add_eos_token) == (False, False)
    assert tokens.backend_tokenizer.truncation["max_length"] == 5
    assert tokens.backend_tokenizer.padding is None
    assert tokens("the answer")["input_ids"] == ids


def test_the_generator_of_apples_gpus_is_kept_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hardware is replaced by a generator of the processor; PyTorch must have the two functions that are used."""
    torch = pytest.importorskip("torch")
    metal = torch.Generator().manual_seed(5)
    inspect.signature(torch.mps.get_rng_state).bind()
    inspect.signature(torch.mps.set_rng_state).bind(metal.get_state())
    monkeypatch.setattr(torch.mps, "get_rng_state", metal.get_state)
    monkeypatch.setattr(torch.mps, "set_rng_state", metal.set_state)
    drawn = []
    for available in (True, False):
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda available=available: available)
        metal.manual_seed(5)
        with undisturbed():
            torch.rand(3, generator=metal)
        drawn.append(torch.rand(3, generator=metal).tolist())
    kept = torch.rand(3, generator=torch.Generator().manual_seed(5)).tolist()
    assert drawn[0] == kept
    assert drawn[1] != kept
