"""A CUDA error that costs a process its GPU fails the run that met it; everything else runs in a new process.

There is no GPU here: the checkpoints' own code behaves as CUDA does. When it meets a certain token it raises PyTorch's
error, and from then on every model of this kind fails in this process.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from harness import ModelError, ScoreRequest, Split
from harness.contracts.specs import Component, RunSpec
from harness.models.transformers import cuda_errors, huggingface
from harness.models.transformers.huggingface import HuggingFaceModel
from harness.plugins.registry import default_registry
from harness.runs.runner import Settings, run_sweep

pytest.importorskip("transformers")

ASSERT = "CUDA error: device-side assert triggered"

CODE = f"""\
import torch
from transformers import GPT2Config, GPT2LMHeadModel

torch.simulated_gpu_lost = getattr(torch, "simulated_gpu_lost", False)


class StickyConfig(GPT2Config):
    model_type = "sticky"


class StickyModel(GPT2LMHeadModel):
    config_class = StickyConfig

    def forward(self, input_ids=None, **arguments):
        if (input_ids == self.config.bad_token).any():
            torch.simulated_gpu_lost = True
        if torch.simulated_gpu_lost:
            raise RuntimeError("{ASSERT}\\nCUDA kernel errors might be reported later.")
        return super().forward(input_ids=input_ids, **arguments)
"""

SCENARIO = """\
from harness import *
from harness import scenario

@scenario(
    "letters", title="Letters", source="Made up.", data=Source(),
    adapter={"method": "generation", "max_tokens": 1, "max_train_instances": 0},
    metrics=["exact_match"], main_metric="exact_match",
    taxonomy=dict.fromkeys(("task", "what", "who", "when", "language"), "made up"),
)
def letters(data: Data, *, text: str = "a"):
    '''One letter.'''
    yield Instance("1", text, (Reference("x", True),))
"""


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that has its GPU, before and after."""
    import torch

    monkeypatch.setattr(cuda_errors, "_lost", False)
    monkeypatch.setattr(torch, "simulated_gpu_lost", False, raising=False)


@pytest.fixture
def sticky(tmp_path: Path, tiny_tokenizer: Any, fresh: None) -> Path:
    """A checkpoint that loses the GPU when it reads a Z."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    folder = tmp_path / "sticky"
    torch.manual_seed(1)
    special: dict[str, Any] = {"bos_token_id": 0, "eos_token_id": 0}
    GPT2LMHeadModel(
        GPT2Config(vocab_size=320, n_embd=16, n_layer=1, n_head=2, n_positions=64, **special)
    ).save_pretrained(folder)
    tiny_tokenizer.save_pretrained(folder)
    config = json.loads((folder / "config.json").read_text())
    config |= {
        "model_type": "sticky",
        "architectures": ["StickyModel"],
        "auto_map": {"AutoConfig": "sticky.StickyConfig", "AutoModelForCausalLM": "sticky.StickyModel"},
        "bad_token": tiny_tokenizer("Z")["input_ids"][0],
    }
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "sticky.py").write_text(CODE)
    return folder


@pytest.mark.slow
@pytest.mark.timeout(600)  # several interpreters start
def test_the_runs_of_a_sweep_go_on_in_new_processes(tmp_path: Path, sticky: Path) -> None:
    other = shutil.copytree(sticky, tmp_path / "other")
    (tmp_path / "letters.py").write_text(SCENARIO)
    registry = default_registry([tmp_path / "letters.py"])

    def run(model: Path, text: str) -> RunSpec:
        return RunSpec(
            suite="lost",
            scenario=Component(name="letters", arguments={"text": text}),
            adapter=Component(name="generation", arguments={"max_tokens": 1, "max_train_instances": 0}),
            metrics=(Component(name="exact_match"),),
            main_metric="exact_match",
            model=Component(name=f"hf:{model}", arguments={"trust_remote_code": True, "device": "cpu"}),
            eval_split=Split.TEST,
        )

    specs = [run(sticky, "a"), run(sticky, "Z"), run(sticky, "b"), run(other, "a"), run(other, "c")]
    records = {record.name: record for record in run_sweep(specs, registry, Settings(tmp_path / "results"))}
    bad = records[specs[1].name]
    assert bad.status == "failed"
    assert bad.error is not None
    assert f"hf:{sticky}: {ASSERT}. After this error a process cannot use its GPU" in bad.error
    assert bad.error.count("CUDA error") == 1
    assert "\n" not in bad.error
    assert [records[spec.name].status for spec in specs if spec is not specs[1]] == ["ok"] * 4
    assert cuda_errors.cuda_lost()


@pytest.mark.slow
@pytest.mark.timeout(600)  # several interpreters start
def test_a_gpu_that_something_else_lost_costs_no_run(sticky: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = HuggingFaceModel(str(sticky), trust_remote_code=True, device="cpu")

    def load(*_: object, **__: object) -> None:
        raise ModelError(f"cannot be put on device 'cuda': {ASSERT}")

    monkeypatch.setattr(model, "_load", load)
    try:
        answers = dict(model.answer([ScoreRequest("a", " b")]))
        assert answers[0].error is None
        assert model._pool is not None
    finally:
        model.close()


def test_a_model_that_keeps_losing_the_gpu_is_given_up(sticky: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = HuggingFaceModel(str(sticky), trust_remote_code=True, device="cpu")
    monkeypatch.setattr(huggingface, "MOST_CRASHES", 1)
    with pytest.raises(ModelError, match="device-side assert"):
        list(model.answer([ScoreRequest("Z", " b")]))
    with pytest.raises(ModelError, match="not used again, because CUDA failed 1 time"):
        list(model.answer([ScoreRequest("a", " b")]))


@pytest.mark.parametrize(
    ("text", "sticky"),
    [
        ("CUDA error: device-side assert triggered\nCompile with TORCH_USE_CUDA_DSA", True),
        ("CUDA error: an illegal memory access was encountered", True),
        ("CUDA error: unspecified launch failure", True),
        ("CUDA out of memory. Tried to allocate 20.00 MiB", False),
        ("CUDA error: invalid device ordinal", False),
        ("CUDA error: no kernel image is available for execution on the device", False),
        ("the text speaks of a misaligned address", False),
    ],
)
def test_which_errors_are_sticky(text: str, sticky: bool) -> None:
    assert cuda_errors.is_sticky(RuntimeError(text)) is sticky
