"""Joules from counters that are faked: what they add up to, and when nothing is said."""

from __future__ import annotations

import itertools
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from harness.costs.energy import Counter, EnergyMeter, gpu_counters, rapl_counters


def _counter(*readings: float | None, kind: str = "cpu", span: float | None = None) -> Counter:
    given: Iterator[float | None] = iter(readings)

    def read() -> float:
        value = next(given)
        if value is None:
            raise OSError("no")
        return value

    return Counter(kind, read, span)


def _measured(*counters: Counter) -> dict[str, float]:
    with EnergyMeter(counters) as meter:
        pass
    return meter.joules


@pytest.mark.parametrize(
    ("counters", "joules"),
    [
        pytest.param([], {}, id="no counter"),
        pytest.param([_counter(5.0, 12.5)], {"cpu": 7.5}, id="difference"),
        pytest.param([_counter(5.0, 6.0), _counter(1.0, 3.0)], {"cpu": 3.0}, id="one kind adds up"),
        pytest.param([_counter(5.0, 6.0), _counter(1.0, 3.0, kind="gpu")], {"cpu": 1.0, "gpu": 2.0}, id="two kinds"),
        pytest.param([_counter(90.0, 20.0, span=100.0)], {"cpu": 30.0}, id="starts again at its span"),
        pytest.param([_counter(90.0, 20.0)], {}, id="goes back without a span"),
        pytest.param([_counter(4.0, 4.0)], {"cpu": 0.0}, id="a true zero is told"),
        pytest.param([_counter(None, 20.0)], {}, id="not readable at first"),
        pytest.param([_counter(1.0, None)], {}, id="not readable at last"),
        pytest.param([_counter(1.0, 2.0), _counter(None, None)], {}, id="half is nothing"),
    ],
)
def test_what_counters_add_up_to(counters: list[Counter], joules: dict[str, float]) -> None:
    assert _measured(*counters) == joules


def test_a_counter_that_starts_again_is_read_in_time() -> None:
    ticks, often = itertools.count(), threading.Event()

    def read() -> float:
        if (tick := next(ticks)) > 2:
            often.set()
        return float(tick * 60 % 100)

    with EnergyMeter([Counter("cpu", read, span=100.0)], interval=0.001) as meter:
        assert often.wait(60)
    readings = next(ticks)
    assert meter.joules == {"cpu": 60.0 * (readings - 1)}


def test_an_error_in_what_is_measured_stays_an_error() -> None:
    meter = EnergyMeter([_counter(1.0, 2.0)])
    with pytest.raises(ValueError, match="mine"), meter:
        raise ValueError("mine")
    assert meter.joules == {"cpu": 1.0}


def _zone(root: Path, folder: str, name: str, microjoules: int) -> None:
    zone = root / folder
    zone.mkdir(parents=True)
    (zone / "name").write_text(f"{name}\n")
    (zone / "energy_uj").write_text(f"{microjoules}\n")
    (zone / "max_energy_range_uj").write_text("262143328850\n")


def test_rapl_counts_packages_and_their_memory_once(tmp_path: Path) -> None:
    _zone(tmp_path, "intel-rapl:0", "package-0", 2_000_000)
    _zone(tmp_path, "intel-rapl:0:0", "core", 1_000_000)
    _zone(tmp_path, "intel-rapl:0:1", "dram", 500_000)
    _zone(tmp_path, "intel-rapl:1", "psys", 9_000_000)
    _zone(tmp_path, "intel-rapl-mmio:0", "package-0", 2_000_000)
    counters = rapl_counters(tmp_path)
    assert [(counter.kind, counter.read(), counter.span) for counter in counters] == [
        ("cpu", 2.0, 262143.32885),
        ("memory", 0.5, 262143.32885),
    ]


def test_a_machine_without_rapl_has_no_counters(tmp_path: Path) -> None:
    assert rapl_counters(tmp_path / "none") == []


@pytest.fixture
def cards(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[float]]:
    """Return what reads the joules of two faked cards, with CUDA_VISIBLE_DEVICES as given."""
    nvml = SimpleNamespace(
        nvmlInit=lambda: None,
        nvmlDeviceGetCount=lambda: 2,
        nvmlDeviceGetHandleByIndex=lambda index: ("first", "second")[index],
        nvmlDeviceGetHandleByUUID=lambda uuid: {"GPU-2": "second"}[uuid],
        nvmlDeviceGetTotalEnergyConsumption=lambda handle: {"first": 1500, "second": 4000}[handle],
    )
    monkeypatch.setitem(sys.modules, "pynvml", nvml)

    def read(visible: str | None) -> list[float]:
        if visible is None:
            monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        else:
            monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
        return [counter.read() for counter in gpu_counters()]

    return read


@pytest.mark.parametrize(
    ("visible", "joules"),
    [(None, [1.5, 4.0]), ("1", [4.0]), ("0, 1", [1.5, 4.0]), ("GPU-2", [4.0]), ("", []), ("-1", [])],
)
def test_only_visible_cards_count(cards: Callable[..., list[float]], visible: str | None, joules: list[float]) -> None:
    assert cards(visible) == joules


def test_without_a_driver_no_card_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert gpu_counters() == []
