"""What an evaluation changes is put back."""

from __future__ import annotations

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
    tokens.backend_tokenizer.enable_truncation(max_length=5)
    kept = module[0].frequencies
    before = random.getstate(), numpy.random.get_state()[1].tolist(), torch.get_rng_state()

    def disturb() -> None:
        random.random(), numpy.random.rand(), torch.rand(1)
        module.train()
        module[0].longest = 99
        module[0].frequencies = torch.zeros(99)
        tokens.padding_side = "right"
        tokens.backend_tokenizer.no_truncation()
        tokens.backend_tokenizer.enable_padding()
        raise ValueError("on purpose")

    with pytest.raises(ValueError, match="on purpose"), undisturbed(module, tokens):
        disturb()
    assert (random.getstate(), numpy.random.get_state()[1].tolist()) == before[:2]
    assert torch.equal(torch.get_rng_state(), before[2])
    assert (module.training, module[0].training, module[0].longest) == (True, False, 8)
    assert module[0].frequencies is kept
    assert tokens.padding_side == "left"
    assert tokens.backend_tokenizer.truncation["max_length"] == 5
    assert tokens.backend_tokenizer.padding is None
