"""A checkpoint is known by every file that loading it reads, wherever in its folder the file lies."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness import ModelError, ScoreRequest
from harness.models.api.openai_tokens import tokenizer_digest
from harness.models.tokens.checkpoint import Checkpoint
from harness.models.transformers.huggingface import HuggingFaceModel
from harness.models.vllm.backend import VllmModel
from harness.plugins.registry import default_registry
from harness.runs.runner import Settings, run_sweep
from harness.runs.sweep_state import SweepState
from harness.storage.results import RunRecord
from harness.sweeps.load import load_sweep
from tests.devices import DEVICE

pytest.importorskip("transformers")

Make = Callable[..., Path]


class _Quiet(SweepState):
    skips = 0

    def skip(self, record: RunRecord) -> None:
        super().skip(record)
        self.skips += 1


def digest(folder: Path, *, remote_code: bool = False) -> str:
    return Checkpoint(f"hf:{folder}", str(folder), True, None, remote_code).digest()


def write(folder: Path, name: str, content: str) -> None:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content)


def index(*names: str) -> str:
    return json.dumps({"metadata": {}, "weight_map": {f"layer.{number}": name for number, name in enumerate(names)}})


def sharded(folder: Path, source: Path, place: str) -> Path:
    """Copy a checkpoint, its weights in a file of a subfolder that an index names."""
    from safetensors import safe_open

    shutil.copytree(source, folder, ignore=shutil.ignore_patterns("model.safetensors"))
    (folder / place).parent.mkdir(parents=True)
    shutil.copy(source / "model.safetensors", folder / place)
    with safe_open(folder / place, framework="pt") as weights:
        names = list(weights.keys())
    write(
        folder, "model.safetensors.index.json", json.dumps({"metadata": {}, "weight_map": dict.fromkeys(names, place)})
    )
    return folder


def shuffle_weights(file: Path) -> None:
    """Replace the weights by others of the same size."""
    import torch
    from safetensors.torch import load_file, save_file

    torch.manual_seed(1)
    weights = {name: torch.randn_like(tensor) for name, tensor in load_file(file).items()}
    save_file(weights, file, metadata={"format": "pt"})


def scores(record: RunRecord) -> dict[str, float | None]:
    return {stat.metric: stat.mean for stat in record.stats if "seconds" not in stat.metric}


@pytest.mark.parametrize(
    "name",
    [
        "adapter_config.json",
        "adapter_model.bin",
        "adapter_model.safetensors",
        "chat_template.jinja",
        "additional_chat_templates/tool_use.jinja",
        "modeling/attention.py",
        "generation_config.json",
        "quantize_config.json",
        "quant_config.json",
        "hf_quant_config.json",
        "tekken.json",
        "vocab.bpe",
        "spiece.model",
        "source.spm",
        "pytorch_model.bin",
        "weights/model.safetensors",
        "weights/named_by_config.safetensors",
        "words.dat",
    ],
)
def test_what_is_read_changes_the_digest(tmp_path: Path, name: str) -> None:
    write(tmp_path, "config.json", json.dumps({"transformers_weights": "weights/named_by_config.safetensors"}))
    write(tmp_path, "tokenizer_config.json", json.dumps({"init": [{"vocab_file": "words.dat"}]}))
    write(tmp_path, "model.safetensors.index.json", index("weights/model.safetensors", "weights/model.safetensors"))
    write(tmp_path, "weights/model.safetensors", "one")
    before = digest(tmp_path)
    write(tmp_path, name, "two")
    changed = digest(tmp_path)
    assert changed != before
    write(tmp_path, name, "three")
    assert digest(tmp_path) not in {before, changed}


@pytest.mark.parametrize(
    "name", ["README.md", "optimizer.pt", "checkpoint-10/model.safetensors", "runs/events.out", "words.dat"]
)
def test_what_is_not_read_does_not(tmp_path: Path, name: str) -> None:
    write(tmp_path, "config.json", "{}")
    before = digest(tmp_path)
    write(tmp_path, name, "x")
    assert digest(tmp_path) == before


def test_code_of_a_checkpoint_may_read_any_file(tmp_path: Path) -> None:
    write(tmp_path, "config.json", json.dumps({"auto_map": {"AutoConfig": "mine.Config"}}))
    before = digest(tmp_path, remote_code=True)
    write(tmp_path, "tables/a.dat", "x")
    changed = digest(tmp_path, remote_code=True)
    assert changed != before
    write(tmp_path, "README.md", "x")
    assert digest(tmp_path, remote_code=True) == changed


def test_a_file_of_the_same_size_and_time_is_read_again(tmp_path: Path) -> None:
    write(tmp_path, "config.json", "{}")
    write(tmp_path, "model.safetensors", "one")
    os.utime(tmp_path / "model.safetensors", ns=(10**18, 10**18))
    before = digest(tmp_path)
    assert digest(tmp_path) == before
    write(tmp_path, "model.safetensors", "two")
    os.utime(tmp_path / "model.safetensors", ns=(10**18, 10**18))
    assert digest(tmp_path) != before


@pytest.mark.parametrize(
    "name",
    ["/etc/hostname", "../weights.safetensors", "a/../../b.safetensors", "C:\\w.safetensors", "..\\w", "", 7, None],
)
def test_an_index_that_leaves_the_folder_is_refused(tmp_path: Path, tiny_checkpoint: Make, name: Any) -> None:
    folder = tmp_path / "model"
    shutil.copytree(tiny_checkpoint("gpt2"), folder, ignore=shutil.ignore_patterns("model.safetensors"))
    write(folder, "model.safetensors.index.json", json.dumps({"metadata": {}, "weight_map": {"a": name}}))
    model = HuggingFaceModel(str(folder))
    for use in (model.fingerprint, lambda: list(model.answer([ScoreRequest("a", " b")]))):
        with pytest.raises(ModelError) as caught:
            use()
        assert f"hf:{folder}: model.safetensors.index.json" in str(caught.value)
        assert repr(name) in str(caught.value)


@pytest.mark.parametrize("text", ["{", "[]", '{"weight_map": []}', "{}", '{"weight_map": "x"}', "\x00", "[" * 100_000])
def test_an_index_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    write(tmp_path, "config.json", "{}")
    write(tmp_path, "model.safetensors.index.json", text)
    with pytest.raises(ModelError, match=r"model\.safetensors\.index\.json"):
        digest(tmp_path)


def test_a_named_file_that_is_missing_is_told_when_it_is_needed(tmp_path: Path, tiny_checkpoint: Make) -> None:
    folder = shutil.copytree(tiny_checkpoint("gpt2"), tmp_path / "model")
    write(folder, "model.safetensors.index.json", index("w/model-1.safetensors"))
    assert digest(folder)
    (folder / "model.safetensors").unlink()
    with pytest.raises(ModelError, match=r"model-1\.safetensors"):
        list(HuggingFaceModel(str(folder), device=DEVICE).answer([ScoreRequest("a", " b")]))


def test_an_adapter_that_would_be_left_out_is_refused(
    tmp_path: Path, tiny_checkpoint: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "peft", None)
    folder = shutil.copytree(tiny_checkpoint("gpt2"), tmp_path / "model")
    write(folder, "adapter_config.json", json.dumps({"peft_type": "LORA", "base_model_name_or_path": "gpt2"}))
    with pytest.raises(ModelError, match=r"adapter.*peft"):
        list(HuggingFaceModel(str(folder), device=DEVICE).answer([ScoreRequest("a", " b")]))


def test_a_run_is_done_again_when_weights_in_a_subfolder_change(tmp_path: Path, tiny_checkpoint: Make) -> None:
    folder = sharded(tmp_path / "model", tiny_checkpoint("gpt2"), "w/deep/m.safetensors")
    write(
        tmp_path,
        "sweep.yaml",
        f"suite: swapped\nmodels: ['hf:{folder}']\n"
        "runs: [{scenario: sample_multiple_choice, adapter: {method: multiple_choice_separate_original}}]\n",
    )
    registry = default_registry()
    sweep, _ = load_sweep(tmp_path / "sweep.yaml", registry=registry)
    watcher = _Quiet()

    def run() -> RunRecord:
        return next(iter(run_sweep(sweep.runs, registry, Settings(tmp_path / "results"), watcher)))

    first = run()
    assert first.status == "ok"
    run()
    assert watcher.skips == 1
    shuffle_weights(folder / "w/deep/m.safetensors")
    second = run()
    assert watcher.skips == 1

    fresh = next(iter(run_sweep(sweep.runs, registry, Settings(tmp_path / "fresh"), _Quiet())))
    assert scores(second) == scores(fresh)
    assert scores(second) != scores(first)


def test_vllm_refuses_an_adapter_that_it_would_leave_out(
    tmp_path: Path, tiny_checkpoint: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shutil.copytree(tiny_checkpoint("gpt2"), tmp_path / "model")
    write(folder, "adapter_config.json", "{}")
    monkeypatch.setattr("harness.models.tokens.checkpoint.importlib.util.find_spec", lambda name: object())
    with pytest.raises(ModelError, match=rf"vllm:{folder}.*adapter"):
        VllmModel(str(folder))


def test_a_tokenizer_alone_is_known_without_its_weights(tmp_path: Path) -> None:
    write(tmp_path, "config.json", "{}")
    write(tmp_path, "tokenizer_config.json", json.dumps({"vocab_file": "words.dat"}))
    write(tmp_path, "words.dat", "x")
    before = tokenizer_digest(str(tmp_path))
    write(tmp_path, "model.safetensors", "x")
    assert tokenizer_digest(str(tmp_path)) == before
    for name in ("words.dat", "additional_chat_templates/a.jinja", "tekken.json"):
        write(tmp_path, name, "other")
        changed = tokenizer_digest(str(tmp_path))
        assert changed != before
        before = changed
