"""The NVIDIA graphics cards that this process may use, as their driver describes them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from typing import Any


@dataclass(frozen=True, slots=True)
class GraphicsCards:
    """The cards, in the order in which the process numbers them."""

    names: tuple[str, ...] = ()
    """The kind of each, such as ``NVIDIA H200``."""
    driver: str | None = None
    """Version of their driver; None without a card."""


def visible_cards(pynvml: Any) -> list[str]:
    """Return number or UUID of each card that ``CUDA_VISIBLE_DEVICES`` leaves; all of them where it is not set."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return [str(index) for index in range(pynvml.nvmlDeviceGetCount())]
    return [name for name in map(str.strip, visible.split(",")) if name not in {"", "-1"}]


def card_handle(pynvml: Any, name: str) -> Any:
    """Return the driver's handle of a card, by number or UUID."""
    return pynvml.nvmlDeviceGetHandleByIndex(int(name)) if name.isdigit() else pynvml.nvmlDeviceGetHandleByUUID(name)


def visible_devices() -> list[str]:
    """Return number or UUID of each card that this process may use; none without nvidia-ml-py or a driver."""
    try:
        import pynvml

        pynvml.nvmlInit()
        return visible_cards(pynvml)
    except Exception:  # errors of pynvml have many classes
        return []


@cache
def graphics_cards() -> GraphicsCards:
    """Return this process's cards; none without nvidia-ml-py or a driver. CUDA itself is not started.

    Source: NVML API reference.
    """
    try:
        import pynvml

        pynvml.nvmlInit()
        handles = [card_handle(pynvml, name) for name in visible_cards(pynvml)]
        names = [_text(pynvml.nvmlDeviceGetName(handle)) for handle in handles]
        return GraphicsCards(tuple(names), _text(pynvml.nvmlSystemGetDriverVersion()) if names else None)
    except Exception:  # errors of pynvml have many classes
        return GraphicsCards()


def _text(answer: str | bytes) -> str:
    return answer.decode("utf-8", "replace") if isinstance(answer, bytes) else answer
