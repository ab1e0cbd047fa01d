"""Batches fit what a model's weights leave of the device's memory."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace

import pytest

from harness.models.transformers.memory import LEAST_TOKENS, MOST_TOKENS, batch_tokens, cache_bytes

GB = 10**9
LLAMA_8B = SimpleNamespace(
    hidden_size=4096, intermediate_size=14336, num_hidden_layers=32, num_attention_heads=32, num_key_value_heads=8
)
LLAMA_7B = SimpleNamespace(hidden_size=4096, intermediate_size=11008, num_hidden_layers=32, num_attention_heads=32)
MAMBA = SimpleNamespace(hidden_size=768, num_hidden_layers=24)


def test_keys_and_values_are_those_of_the_published_shapes() -> None:
    assert cache_bytes(LLAMA_8B, 2) == 2 * 32 * 8 * 128 * 2  # 128 KiB a token
    assert cache_bytes(LLAMA_7B, 2) == 512 * 1024  # Kwon et al. 2023 reckon 800 KB for a 13B model of this kind


@pytest.mark.parametrize("config", [LLAMA_8B, LLAMA_7B, MAMBA])
@pytest.mark.parametrize("free", [0, 2 * GB, 8 * GB, 30 * GB, 120 * GB])
def test_a_batch_and_the_cache_fit_the_free_memory(config: SimpleNamespace, free: int) -> None:
    tokens = batch_tokens(config, "cuda", 2, free)
    assert LEAST_TOKENS <= tokens <= MOST_TOKENS["cuda"]
    if tokens > LEAST_TOKENS:
        assert 3 * tokens * cache_bytes(config, 2) < free
    assert batch_tokens(config, "cuda", 2, free + GB) >= tokens


def test_a_small_card_gets_smaller_batches_and_unknown_memory_the_default() -> None:
    assert batch_tokens(LLAMA_8B, "cuda", 2, 7 * GB) < batch_tokens(LLAMA_8B, "cuda", 2, 120 * GB) == 65536
    assert batch_tokens(LLAMA_8B, "cpu", 4, None) == MOST_TOKENS["cpu"]
    assert batch_tokens(LLAMA_8B, "xpu", 4, None) == MOST_TOKENS["cpu"]


def test_every_architecture_of_transformers_gets_a_number() -> None:
    transformers = pytest.importorskip("transformers")
    kinds = set(transformers.models.auto.modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES)
    configs = {}
    for kind in sorted(kinds):
        with contextlib.suppress(Exception):  # a few have no defaults
            configs[kind] = transformers.AutoConfig.for_model(kind).get_text_config()
    assert len(configs) > 100
    for kind, config in configs.items():
        assert LEAST_TOKENS <= batch_tokens(config, "cuda", 2, 40 * GB) <= MOST_TOKENS["cuda"], kind
