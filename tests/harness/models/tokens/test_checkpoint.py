"""What is said of a model that is not there, and how to get one."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from harness import ModelError, ScoreRequest
from harness.models.tokens import checkpoint
from harness.models.transformers.huggingface import HuggingFaceModel
from tests.devices import DEVICE

pytest.importorskip("transformers")

Make = Callable[..., Path]


def refusal(identifier: str, revision: str | None = None) -> str:
    with pytest.raises(ModelError) as caught:
        HuggingFaceModel(identifier, revision=revision)
    return str(caught.value)


@pytest.mark.parametrize("name", ["./nowhere", "/no/such/folder", "~/nowhere", "a/b/c", "with space", "../x"])
def test_a_path_that_does_not_exist(name: str) -> None:
    message = refusal(name)
    assert message.startswith(f"hf:{name}: there is no such folder.")
    assert "hf:openai-community/gpt2" in message


def test_a_folder_that_is_no_checkpoint(tmp_path: Path) -> None:
    assert "no config.json" in refusal(str(tmp_path))
    file = tmp_path / "model.safetensors"
    file.touch()
    assert "this is a file" in refusal(str(file))


def test_a_folder_has_no_revision(tiny_checkpoint: Make) -> None:
    assert "no revision" in refusal(str(tiny_checkpoint("gpt2")), "main")


def copy_of(folder: Path, target: Path) -> Path:
    shutil.copytree(folder, target)
    return target


def load(folder: Path) -> str:
    with pytest.raises(ModelError) as caught:
        list(HuggingFaceModel(str(folder), device=DEVICE).answer([ScoreRequest("a", " b")]))
    message = str(caught.value)
    assert str(folder) in message
    assert "\n" not in message
    return message


def test_weights_that_are_missing_or_damaged(tiny_checkpoint: Make, tmp_path: Path) -> None:
    folder = copy_of(tiny_checkpoint("gpt2"), tmp_path / "a")
    weights = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(weights[: len(weights) // 2])
    assert "weights" in load(folder)
    (folder / "model.safetensors").unlink()
    assert "weights cannot be loaded" in load(folder)


def test_weights_that_would_be_random(tiny_checkpoint: Make, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    folder = copy_of(tiny_checkpoint("llama"), tmp_path / "a")
    weights = load_file(folder / "model.safetensors")
    del weights["model.layers.1.mlp.up_proj.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    message = load(folder)
    assert "lacks 1 of the model's weights (model.layers.1.mlp.up_proj.weight" in message


def test_a_config_of_another_sort(tiny_checkpoint: Make, tmp_path: Path) -> None:
    folder = copy_of(tiny_checkpoint("gpt2"), tmp_path / "a")
    (folder / "config.json").write_text("{")
    assert "configuration" in load(folder)
    (folder / "config.json").write_text(json.dumps({"model_type": "no-such-architecture"}))
    assert "no-such-architecture" in load(folder)


def test_a_folder_without_tokenizer(tiny_checkpoint: Make, tmp_path: Path) -> None:
    folder = copy_of(tiny_checkpoint("gpt2"), tmp_path / "a")
    for file in folder.glob("tokenizer*"):
        file.unlink()
    assert "tokenizer" in load(folder)


def test_code_that_comes_with_a_checkpoint_runs_only_when_allowed(tiny_checkpoint: Make, tmp_path: Path) -> None:
    folder = copy_of(tiny_checkpoint("gpt2"), tmp_path / "a")
    config = {"model_type": "mine", "auto_map": {"AutoConfig": "mine.MyConfig", "AutoModelForCausalLM": "mine.MyModel"}}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "mine.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    assert "trust_remote_code: true" in load(folder)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("package", ["torch", "transformers"])
def test_packages_that_are_not_installed(
    tiny_checkpoint: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    checkpoint = copy_of(tiny_checkpoint("gpt2"), tmp_path / "a")  # a new folder, of which no facts are remembered
    monkeypatch.setitem(sys.modules, package, None)
    model = HuggingFaceModel(str(checkpoint))
    for use in (model.fingerprint, lambda: model.count_tokens("x"), lambda: model.window):
        with pytest.raises(ModelError, match=r"pip install .*torch"):
            use()


def test_a_hub_that_cannot_be_reached(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.HfApi.model_info", _unreachable)
    model = HuggingFaceModel("some-org/some-model")
    with pytest.raises(ModelError) as caught:
        model.fingerprint()
    assert "cannot be reached (no route)" in str(caught.value)
    assert "hf download some-org/some-model --local-dir ./some-model" in str(caught.value)


def _unreachable(*_: object, **__: object) -> None:
    raise ConnectionError("no route")


def test_a_hub_name_is_pinned_to_its_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    class Info:
        sha = "c0ffee"

    monkeypatch.setattr("huggingface_hub.HfApi.model_info", lambda *_, **__: Info())
    found = checkpoint.resolve_commit(checkpoint.find_checkpoint("hf:some-org/some-model", "main", False))
    assert found.revision == "c0ffee"


def test_digests_are_of_what_can_change_an_answer(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    found = checkpoint.find_checkpoint(f"hf:{tmp_path}")
    first = found.digest()
    (tmp_path / "README.md").write_text("x")
    (tmp_path / "optimizer.pt").write_text("x")
    assert found.digest() == first
    (tmp_path / "tokenizer.json").write_text("x")
    assert found.digest() != first


def test_a_model_that_is_spread_needs_accelerate(tiny_checkpoint: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "accelerate" else find(name))
    model = HuggingFaceModel(str(tiny_checkpoint("llama")), device_map="auto")
    with pytest.raises(ModelError, match=r"pip install .*accelerate"):
        list(model.answer([ScoreRequest("a", " b")]))


def test_a_model_that_is_spread_answers_the_same(tiny_checkpoint: Make) -> None:
    pytest.importorskip("accelerate")
    folder = str(tiny_checkpoint("llama"))
    requests = [ScoreRequest(f"question {number}", " the answer") for number in range(4)]
    spread = dict(HuggingFaceModel(folder, device_map="auto").answer(requests))
    whole = dict(HuggingFaceModel(folder, device=DEVICE).answer(requests))
    assert all(spread[index].logprobs == pytest.approx(whole[index].logprobs, abs=1e-4) for index in whole)


def test_quantised_weights_are_made_on_their_device(tiny_checkpoint: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    model = HuggingFaceModel(str(tiny_checkpoint("llama")), device=DEVICE)
    model._config.quantization_config = {"quant_method": "a test"}
    given: list[object] = []

    def load(*arguments: object) -> None:
        given.extend(arguments)
        raise ModelError("far enough")

    monkeypatch.setattr("harness.models.transformers.huggingface.load_weights", load)
    with pytest.raises(ModelError, match="far enough"):
        list(model.answer([ScoreRequest("a", " b")]))
    assert given[2] == {"": "cpu"}


def test_one_kernel_computes_what_the_activation_of_gpt2_computes() -> None:
    import torch
    from transformers.activations import NewGELUActivation

    values = torch.linspace(-12, 12, 4001)
    model = torch.nn.Sequential(NewGELUActivation())
    spelt_out = model(values)
    checkpoint.fuse_activations(model)
    assert isinstance(model[0], torch.nn.GELU)
    torch.testing.assert_close(model(values), spelt_out, rtol=1e-6, atol=1e-6)


class _RunsCode:
    """An object whose pickle makes a file when it is read."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        return open, (str(self.file), "w")


@pytest.mark.parametrize("sharded", [False, True])
def test_a_pickle_that_could_run_code_is_refused_as_what_it_is(
    tiny_checkpoint: Make, tmp_path: Path, sharded: bool
) -> None:
    import torch

    folder = copy_of(tiny_checkpoint("gpt2"), tmp_path / "a")
    (folder / "model.safetensors").unlink()
    name = "parts/one.bin" if sharded else "pytorch_model.bin"
    (folder / "parts").mkdir()
    torch.save({"transformer.wte.weight": _RunsCode(tmp_path / "ran")}, folder / name)
    if sharded:
        index = {"metadata": {}, "weight_map": {"transformer.wte.weight": name}}
        (folder / "pytorch_model.bin.index.json").write_text(json.dumps(index))
    message = load(folder)
    assert not (tmp_path / "ran").exists()
    assert f"{name} is a Python pickle that holds more than tensors" in message
    assert "safetensors" in message
    assert "weights_only" not in message
    assert "bug" not in message


def test_a_pickle_of_tensors_alone_is_read(tiny_checkpoint: Make, tmp_path: Path) -> None:
    import torch
    from safetensors.torch import load_file

    folder = copy_of(tiny_checkpoint("gpt2"), tmp_path / "a")
    expected = dict(HuggingFaceModel(str(folder), device=DEVICE).answer([ScoreRequest("a", " b")]))
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    assert dict(HuggingFaceModel(str(folder), device=DEVICE).answer([ScoreRequest("a", " b")]))[0].logprobs == (
        pytest.approx(expected[0].logprobs)
    )


@pytest.mark.parametrize(
    ("kind", "change", "said"),
    [
        ("llama", {"num_hidden_layers": 10**7}, "num_hidden_layers is 10,000,000, and the weights hold 21 tensors"),
        ("gpt2", {"n_layer": 10**7}, "num_hidden_layers is 10,000,000"),
        ("llama", {"hidden_size": 10**8, "head_dim": 8}, "320 tokens by 100,000,000 does not fit"),
        ("llama", {"vocab_size": 10**10}, "10,000,000,000 tokens by 32 does not fit"),
    ],
)
def test_a_configuration_far_larger_than_the_weights_is_refused_at_once(
    tiny_checkpoint: Make, tmp_path: Path, kind: str, change: dict[str, int], said: str
) -> None:
    folder = copy_of(tiny_checkpoint(kind), tmp_path / "a")
    config = json.loads((folder / "config.json").read_text())
    config.pop("layer_types", None)
    (folder / "config.json").write_text(json.dumps(config | change))
    clock = time.process_time()
    message = load(folder)
    assert time.process_time() - clock < 15
    assert "config.json does not match the weights" in message
    assert said in message


def test_the_window_is_what_the_checkpoint_says(tiny_checkpoint: Make, tmp_path: Path) -> None:
    folder = copy_of(tiny_checkpoint("gpt2"), tmp_path / "a")
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps({**settings, "model_max_length": 1024}))
    assert HuggingFaceModel(str(folder)).window == 64


@pytest.mark.slow
@pytest.mark.parametrize("name", ["AutoConfig", "AutoTokenizer", "AutoModelForCausalLM"])
def test_a_process_that_loaded_transformers_ends_in_silence(name: str) -> None:
    pytest.importorskip("triton")
    code = f"from harness.models.tokens.checkpoint import _auto_class; _auto_class({name!r})"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (ended.stdout, ended.stderr) == ("", "")
