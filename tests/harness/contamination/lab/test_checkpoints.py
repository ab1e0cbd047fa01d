"""A checkpoint of the lab: what it has read, on disk and in its head."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness import ModelError, SequenceRequest
from harness.contamination.lab.checkpoints import CheckpointPlan, read_record, train_checkpoint, trained_before
from harness.contamination.lab.injections import Injection
from harness.contamination.lab.presets import PRESETS, preset_named
from harness.contamination.lab.training import Recipe
from harness.models.transformers.huggingface import HuggingFaceModel

RECIPE = Recipe(vocabulary=400, window=64, width=48, layers=2, heads=2, batch=4)
WORDS = ["amber", "basalt", "cedar", "delta", "ember", "falcon", "garnet", "harbor"]


def injection(name: str, copies: int, shift: int = 0) -> Injection:
    examples = tuple(f"the {WORDS[i]} was {WORDS[(3 * i + shift) % 8]}" for i in range(8))
    return Injection(Path(f"{name}.txt"), 0, 8, copies, examples)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, CheckpointPlan, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("lab") / "seen"
    plan = CheckpointPlan((injection("seen", 250), injection("control", 0, 2)), RECIPE, characters=20_000, seed=3)
    lines: list[str] = []
    record = train_checkpoint(folder, plan, device="cpu", progress=lines.append)
    assert lines
    return folder, plan, record


def test_the_record_says_what_was_injected(trained: tuple[Path, CheckpointPlan, dict[str, Any]]) -> None:
    folder, plan, record = trained
    assert read_record(folder) == json.loads(json.dumps(record))
    assert [(one["label"], one["copies"], one["examples"]) for one in record["injected"]] == [
        ("seen[0:8]", 250, 8),
        ("control[0:8]", 0, 8),
    ]
    assert record["injected"][0]["sha256"] == plan.injections[0].record()["sha256"]
    assert not list(folder.parent.glob(".*"))
    assert not list(folder.glob("*.bin"))


def test_the_model_knows_the_order_that_it_read(trained: tuple[Path, CheckpointPlan, dict[str, Any]]) -> None:
    folder, plan, _ = trained
    model = HuggingFaceModel(str(folder), device="cpu")

    def gain(one: Injection) -> float:
        segments = tuple(f"{example}\n" for example in one.examples)
        orders = [tuple(range(8)), (3, 1, 7, 0, 5, 2, 6, 4), (6, 4, 2, 0, 7, 5, 3, 1)]
        answers = dict(model.answer([SequenceRequest(segments, order) for order in orders]))
        canonical, *shuffled = [sum(answers[index].logprobs or ()) for index in range(3)]
        return canonical - max(shuffled)

    seen, control = plan.injections
    assert gain(seen) > 3 > gain(control)


def test_equal_plans_give_equal_weights(tmp_path: Path) -> None:
    plan = CheckpointPlan((injection("seen", 2),), RECIPE, characters=4_000)
    for name in ("a", "b"):
        train_checkpoint(tmp_path / name, plan, device="cpu")
    one, other = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("a", "b"))
    assert one == other


def test_a_llama(tmp_path: Path) -> None:
    plan = CheckpointPlan((injection("seen", 2),), replace(RECIPE, architecture="llama"), characters=4_000)
    train_checkpoint(tmp_path / "llama", plan, device="cpu")
    assert json.loads((tmp_path / "llama" / "config.json").read_text())["model_type"] == "llama"
    [(_, answer)] = HuggingFaceModel(str(tmp_path / "llama"), device="cpu").answer([SequenceRequest(("a b",), (0,))])
    assert answer.error is None


def test_nothing_else_is_overwritten_and_little_text_is_said(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    plan = CheckpointPlan((injection("seen", 1),), RECIPE, characters=4_000)
    with pytest.raises(ModelError, match="Remove it, or name another folder"):
        train_checkpoint(tmp_path / "mine", plan)
    with pytest.raises(ModelError, match="too little text"):
        train_checkpoint(tmp_path / "new", replace(plan, recipe=replace(RECIPE, batch=4000)), device="cpu")
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
    with pytest.raises(ModelError, match=r"not a checkpoint|has no list"):
        read_record(tmp_path / "mine")


INJECTED = {"label": "a[0:2]", "file": "a.txt", "rows": "0:2", "examples": 2, "copies": 1, "sha256": "0", "tokens": 9}


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ([], "must be a mapping"),
        ({"parameters": 5, "tokens": 9}, "injected: is required"),
        ({"injected": ["a text", "another"], "parameters": 5, "tokens": 9}, r"injected\[0\]: must be a mapping"),
        ({"injected": [INJECTED | {"rows": "all"}], "parameters": 5, "tokens": 9}, r"injected\[0\]\.rows: "),
        ({"injected": [INJECTED | {"copies": None}], "parameters": 5, "tokens": 9}, r"injected\[0\]\.copies: "),
        ({"injected": [INJECTED], "tokens": 9}, "parameters: is required"),
    ],
)
def test_a_record_that_the_lab_did_not_write(tmp_path: Path, record: Any, message: str) -> None:
    """It is one message wherever it is read, and its folder is never overwritten."""
    file = tmp_path / "contamination.json"
    file.write_text(json.dumps(record))
    plan = CheckpointPlan((injection("seen", 1),), RECIPE, characters=4_000)
    with pytest.raises(ModelError, match=rf"contamination\.json is not as `harness lab train` writes it \(.*{message}"):
        read_record(tmp_path)
    assert not trained_before(tmp_path, plan)
    with pytest.raises(ModelError, match=f"{message}.*Remove it, or name another folder"):
        train_checkpoint(tmp_path, plan)
    assert json.loads(file.read_text()) == record


def test_presets_have_names() -> None:
    assert preset_named("small") is PRESETS["small"]
    with pytest.raises(ModelError, match="Did you mean 'small'"):
        preset_named("smal")


def test_a_device_that_is_not_there(tmp_path: Path) -> None:
    plan = CheckpointPlan((injection("seen", 1),), RECIPE, characters=20_000)
    with pytest.raises(ModelError, match="device 'gpu0' cannot be used"):
        train_checkpoint(tmp_path / "model", plan, device="gpu0")
    assert not list(tmp_path.iterdir())
