"""A checkpoint whose weights are quantised scores as one with the numbers that its integers stand for."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness import GenerateRequest, Request, Response, ScoreRequest
from harness.models.transformers.huggingface import HuggingFaceModel

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("accelerate")
quantization = pytest.importorskip("compressed_tensors.quantization")
compressors = pytest.importorskip("compressed_tensors.compressors")

HEADER = "Question: what is the answer? "
REQUESTS: list[Request] = [
    *(
        ScoreRequest(f"{HEADER}{number}\nAnswer:", f" {end}")
        for number in range(4)
        for end in ("the answer", "a question")
    ),
    GenerateRequest(f"{HEADER}1\nAnswer:", 6),
]


def quantise(folder: Path, tokenizer: Any, rounded: Path, quantised: Path) -> None:
    """Write a checkpoint with linear layers of 8-bit integers, a scale for each output, and one with their values."""
    model = transformers.AutoModelForCausalLM.from_pretrained(folder)
    weights = quantization.QuantizationArgs(num_bits=8, type="int", symmetric=True, strategy="channel")
    scheme = quantization.QuantizationScheme(targets=["Linear"], weights=weights)
    quantization.apply_quantization_config(
        model, quantization.QuantizationConfig(config_groups={"all": scheme}, ignore=["lm_head"])
    )
    values = {}
    for name, module in model.named_modules():
        if getattr(module, "quantization_scheme", None) is not None:
            scale = module.weight.abs().amax(1, keepdim=True) / 127
            module.weight_scale.data.copy_(scale)
            module.quantization_status = quantization.QuantizationStatus.FROZEN
            values[f"{name}.weight"] = (module.weight / scale).round() * scale
    compressor = compressors.ModelCompressor.from_pretrained_model(model)
    compressor.compress_model(model)
    model.save_pretrained(quantised)
    compressor.update_config(quantised)
    whole = transformers.AutoModelForCausalLM.from_pretrained(folder)
    whole.load_state_dict({**whole.state_dict(), **values})
    whole.save_pretrained(rounded)
    for out in (quantised, rounded):
        tokenizer.save_pretrained(out)


def ask(folder: Path) -> list[Response]:
    answers = dict(HuggingFaceModel(str(folder), device="cpu").answer(REQUESTS))
    return [answers[index] for index in range(len(REQUESTS))]


def test_quantised_weights_are_read_as_what_they_stand_for(
    tiny_checkpoint: Callable[..., Path], tiny_tokenizer: Any, tmp_path: Path
) -> None:
    whole, rounded, quantised = tiny_checkpoint("llama"), tmp_path / "rounded", tmp_path / "quantised"
    quantise(whole, tiny_tokenizer, rounded, quantised)
    assert json.loads((quantised / "config.json").read_text())["quantization_config"]["quant_method"]
    expected, answers = ask(rounded), ask(quantised)
    for one, other in zip(expected, answers, strict=True):
        assert one.error is None
        assert other.error is None
        assert other.logprobs == pytest.approx(one.logprobs, abs=1e-3)
    [written], [again] = expected[-1].completions, answers[-1].completions
    assert (written.text, written.tokens) == (again.text, again.tokens)
    assert answers[0].logprobs != pytest.approx(ask(whole)[0].logprobs, abs=1e-3)
