"""Measure the energy that this machine's processors use, where they have counters for it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

from harness.costs.graphics_cards import card_handle, visible_cards

POWERCAP = Path("/sys/class/powercap")

_INTERVAL = 30.0
"""Seconds between two readings. A processor's counter starts again after some 262 kJ, 15 minutes at 300 W."""


@dataclass(frozen=True, slots=True)
class Counter:
    """A counter of joules."""

    kind: str
    """The hardware that it measures: ``gpu``, ``cpu`` or ``memory``."""
    read: Callable[[], float]
    """Returns joules since some moment in the past; raises if it cannot be read."""
    span: float | None = None
    """Joules after which it starts again from 0; None if it does not."""


class EnergyMeter:
    """Measures energy between entering and leaving it.

    The counters are those of whole processors, so other programs and idle power are included. A kind of processor with
    a counter that cannot be read, at any time, is left out.

    Args:
        counters: The counters.
        interval: Seconds between two readings; short enough that no counter starts again twice in it.
    """

    def __init__(self, counters: Sequence[Counter], interval: float = _INTERVAL) -> None:
        self._counters = list(counters)
        self._interval = interval
        self._last: dict[int, float] = {}
        self._joules: dict[str, float] = {}
        self._silent: set[str] = set()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def joules(self) -> dict[str, float]:
        """Joules by kind, after leaving the meter; unknown kinds are absent."""
        return {kind: round(value, 3) for kind, value in self._joules.items() if kind not in self._silent}

    def __enter__(self) -> EnergyMeter:
        """Start counting."""
        self._read()
        if self._last:
            self._thread = threading.Thread(target=self._watch, name="energy", daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop counting."""
        if self._thread is not None:
            self._stop.set()
            self._thread.join()
        self._read()

    def _watch(self) -> None:
        while not self._stop.wait(self._interval):
            self._read()

    def _read(self) -> None:
        for place, counter in enumerate(self._counters):
            try:
                now = counter.read()
            except Exception:  # errors of pynvml and the kernel have many classes
                self._silent.add(counter.kind)
                continue
            used = now - self._last.get(place, now)
            if used < 0.0 and counter.span is not None:
                used += counter.span
            if used < 0.0:
                self._silent.add(counter.kind)
            self._last[place] = now
            self._joules[counter.kind] = self._joules.get(counter.kind, 0.0) + used


def rapl_counters(root: Path = POWERCAP) -> list[Counter]:
    """Return the counters of Intel's and AMD's processors (RAPL), and of their memory if it has one.

    A processor's counter covers its cores and caches, not its memory. By default, Linux lets only root read them.

    Source: Linux kernel documentation, power/powercap.
    """
    counters = []
    for zone in sorted(root.glob("intel-rapl:*")):
        name = _text(zone / "name")
        kind = "cpu" if name.startswith("package") else "memory" if name == "dram" else None
        if kind is not None:
            span = _text(zone / "max_energy_range_uj")
            counters.append(Counter(kind, partial(_zone_joules, zone / "energy_uj"), int(span) / 1e6 if span else None))
    return counters


def gpu_counters() -> list[Counter]:
    """Return the counters of the NVIDIA graphics cards that this process may use; needs nvidia-ml-py and a driver.

    Cards have counters from Volta on. ``CUDA_VISIBLE_DEVICES`` chooses them; if it holds numbers and the cards differ,
    set ``CUDA_DEVICE_ORDER=PCI_BUS_ID`` too, or CUDA may number them differently from NVML.

    Source: NVML API reference, nvmlDeviceGetTotalEnergyConsumption, in millijoules since the driver was loaded.
    """
    try:
        import pynvml

        pynvml.nvmlInit()
        names = visible_cards(pynvml)
    except Exception:  # not installed, or no driver that answers
        return []
    return [Counter("gpu", partial(_card_joules, pynvml, name)) for name in names]


def _card_joules(pynvml: Any, name: str) -> float:
    return float(pynvml.nvmlDeviceGetTotalEnergyConsumption(card_handle(pynvml, name))) / 1e3


def _zone_joules(file: Path) -> float:
    return int(file.read_text(encoding="ascii")) / 1e6


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii").strip()
    except OSError:
        return ""
