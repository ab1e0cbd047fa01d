"""Tokenizing in a process that asks no model: without torch, and with the same tokens."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = """
import sys
from harness.contracts.specs import Component
from harness.inference.asked import ask_no_model
from harness.inference.model_pool import load_model
from harness.plugins.registry import default_registry

if sys.argv[2] == "unasked":
    ask_no_model()
model = load_model(Component(name=f"hf:{sys.argv[1]}"), default_registry())
print([model.count_tokens(text) for text in ("The answer is 42.", "", "a b\\\\n" * 9)], dict(model.fingerprint()))
print("torch" in sys.modules)
import torch
print(torch.tensor([1, 2]).sum().item())
"""


def test_tokens_are_those_with_torch_and_others_may_still_import_it(models_dir: Path) -> None:
    def said(how: str) -> list[str]:
        command = [sys.executable, "-c", SCRIPT, str(models_dir / "small-llama"), how]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=200)
        assert (ran.returncode, ran.stderr) == (0, "")
        return ran.stdout.splitlines()

    usual, unasked = said("asked"), said("unasked")
    assert usual[0] == unasked[0]
    assert (usual[1], unasked[1]) == ("True", "False")
    assert unasked[2] == "3"
