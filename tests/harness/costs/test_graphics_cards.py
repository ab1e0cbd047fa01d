"""The cards that a process may use. No card is here: a stand-in answers as NVML's documentation says."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from harness.costs.graphics_cards import GraphicsCards, graphics_cards

UUIDS = {"GPU-2": 1, "MIG-9": 2}
NAMES = ["NVIDIA H200", b"NVIDIA L4", "NVIDIA H200 MIG 1g.18gb"]


@pytest.fixture(autouse=True)
def two_cards(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    nvml = SimpleNamespace(
        nvmlInit=lambda: None,
        nvmlDeviceGetCount=lambda: 2,
        nvmlDeviceGetHandleByIndex=lambda index: range(2)[index],
        nvmlDeviceGetHandleByUUID=lambda uuid: UUIDS[uuid],
        nvmlDeviceGetName=lambda handle: NAMES[handle],
        nvmlSystemGetDriverVersion=lambda: "580.65",
    )
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    graphics_cards.cache_clear()
    yield
    graphics_cards.cache_clear()


@pytest.mark.parametrize(
    ("visible", "names"),
    [
        (None, ("NVIDIA H200", "NVIDIA L4")),
        ("1", ("NVIDIA L4",)),
        ("1, 0", ("NVIDIA L4", "NVIDIA H200")),
        ("GPU-2", ("NVIDIA L4",)),
        ("MIG-9", ("NVIDIA H200 MIG 1g.18gb",)),
    ],
)
def test_the_visible_cards_are_named(
    monkeypatch: pytest.MonkeyPatch, visible: str | None, names: tuple[str, ...]
) -> None:
    if visible is None:
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    else:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert graphics_cards() == GraphicsCards(names, "580.65")


@pytest.mark.parametrize("visible", ["", "-1", "7", "GPU-none"])
def test_without_a_card_nothing_is_said(monkeypatch: pytest.MonkeyPatch, visible: str) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert graphics_cards() == GraphicsCards()


def test_without_the_library_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert graphics_cards() == GraphicsCards()
