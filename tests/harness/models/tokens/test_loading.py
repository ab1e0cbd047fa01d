"""A checkpoint's tokenizer and configuration may be needed by two threads at once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CODE = """
import sys, threading
from concurrent.futures import ThreadPoolExecutor
from harness.models.tokens import checkpoint_model
from harness.models.transformers.huggingface import HuggingFaceModel

loads, load = [], checkpoint_model.load_tokenizer
checkpoint_model.load_tokenizer = lambda found: loads.append(1) or load(found)
model, both = HuggingFaceModel(sys.argv[1]), threading.Barrier(2)
with ThreadPoolExecutor(2) as threads:
    described = threads.submit(lambda: (both.wait(), model.description())[1])
    counted = threads.submit(lambda: (both.wait(), model.count_tokens("some words"))[1])
assert described.result()["vocabulary"] > 0
assert counted.result() > 0
assert len(loads) == 1
"""


def test_two_threads_that_load_first_do_not_meet(models_dir: Path, tmp_path: Path) -> None:
    """A failed run is described on the answer thread while the prompts of the next are counted on the other."""
    pytest.importorskip("transformers")
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    command = [sys.executable, "-c", CODE, str(models_dir / "small-gpt2")]
    ran = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert ran.returncode == 0, ran.stderr
