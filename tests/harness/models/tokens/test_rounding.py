"""Answers in 16 bits are cached by kind of graphics card; the cards are stand-ins, as none is here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.backends import GraphicsCards
from harness.models.tokens import checkpoint_model
from harness.models.transformers.huggingface import HuggingFaceModel

Make = Callable[..., Path]


@pytest.mark.parametrize(
    ("cards", "settings", "added"),
    [
        ((), {"dtype": "bfloat16", "device": "cuda"}, {}),
        (("NVIDIA A100", "NVIDIA H200"), {"dtype": "bfloat16", "device": "cuda:1"}, {"gpu": ["NVIDIA H200"]}),
        (
            ("NVIDIA H200", "NVIDIA A100"),
            {"dtype": "float16", "device": "cuda", "devices": 2},
            {"gpu": ["NVIDIA A100", "NVIDIA H200"]},
        ),
        (("NVIDIA H200", "NVIDIA A100"), {"dtype": "float16", "device": "cuda"}, {"gpu": ["NVIDIA H200"]}),
        (("NVIDIA H200",), {"dtype": "float32", "device": "cuda"}, {}),
        (("NVIDIA H200",), {"dtype": "bfloat16", "device": "cpu"}, {}),
        (("NVIDIA H200",), {"dtype": "bfloat16"}, {}),  # PyTorch cannot use the card
    ],
)
def test_the_card_is_part_of_the_key_where_it_decides_answers(
    monkeypatch: pytest.MonkeyPatch,
    tiny_checkpoint: Make,
    cards: tuple[str, ...],
    settings: Mapping[str, Any],
    added: Mapping[str, object],
) -> None:
    def keys() -> dict[str, object]:
        return dict(HuggingFaceModel(str(tiny_checkpoint("gpt2")), **settings).fingerprint())

    monkeypatch.setattr(checkpoint_model, "best_device", lambda: "cpu")
    monkeypatch.setattr(checkpoint_model, "graphics_cards", GraphicsCards)
    plain = keys()
    monkeypatch.setattr(checkpoint_model, "graphics_cards", lambda: GraphicsCards(cards, "580.65"))
    assert keys() == {**plain, **added}
