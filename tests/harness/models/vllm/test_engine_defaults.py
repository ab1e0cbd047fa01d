"""What the engine is given where a model's entry says nothing; vLLM itself is not imported."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from harness.models.vllm.engine import CPU_CACHE, GPU_SHARE, _defaults


@pytest.fixture
def platform(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    found = SimpleNamespace(is_cpu=lambda: False)
    platforms: Any = ModuleType("vllm.platforms")
    platforms.current_platform = found
    monkeypatch.setitem(sys.modules, "vllm", ModuleType("vllm"))
    monkeypatch.setitem(sys.modules, "vllm.platforms", platforms)
    monkeypatch.delenv("VLLM_CPU_KVCACHE_SPACE", raising=False)
    return found


def test_a_gpu_keeps_room_for_the_log_probabilities_of_prompts(platform: SimpleNamespace) -> None:
    assert _defaults({})["gpu_memory_utilization"] == GPU_SHARE
    left, needed = (1 - GPU_SHARE) * 24e9, 10 * 2048 * 150_000
    assert left > needed
    given = {"gpu_memory_utilization": 0.7}
    assert {**_defaults(given), **given}["gpu_memory_utilization"] == 0.7


def test_a_cpu_gets_a_cache_of_fixed_size(platform: SimpleNamespace) -> None:
    platform.is_cpu = lambda: True
    found = _defaults({})
    assert found["kv_cache_memory_bytes"] == CPU_CACHE
    assert "gpu_memory_utilization" not in found
