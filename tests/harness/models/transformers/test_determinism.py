"""What the grades ``float32`` and ``batched`` promise of ``hf:``."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from harness import GenerateRequest, Request, Response, ScoreRequest
from harness.contracts import Determinism
from tests.tiny_checkpoints import tokenizer, write_checkpoint

pytest.importorskip("torch")

WORDS = ("the", "of", "and", "answer", "question", "to", "in")


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny Llama."""
    folder = tmp_path_factory.mktemp("checkpoint") / "llama"
    write_checkpoint(folder, "llama", tokenizer())
    return folder


def requests() -> list[Request]:
    rng = random.Random(5)

    def text(most: int) -> str:
        return " ".join(rng.choice(WORDS) for _ in range(rng.randint(2, most)))

    scores = [ScoreRequest(text(12), f" {text(3)}") for _ in range(24)]
    greedy = [GenerateRequest(text(8), max_tokens=6) for _ in range(8)]
    sampled = [GenerateRequest(text(8), max_tokens=6, temperature=1.0, seed=1 + number) for number in range(8)]
    return [*scores, *greedy, *sampled]


def ask(folder: Path, asked: Sequence[Request], dtype: str = "float32") -> list[Response]:
    from harness.models.transformers.huggingface import HuggingFaceModel

    model = HuggingFaceModel(str(folder), dtype=dtype, device="cpu")  # type: ignore[arg-type]
    found = dict(model.answer(asked))
    model.close()
    return [found[number] for number in range(len(asked))]


def bits(responses: Sequence[Response]) -> list[object]:
    return [(one.logprobs, [(each.text, each.logprob) for each in one.completions]) for one in responses]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_whole_run_repeated_gives_the_same_bits(checkpoint: Path, dtype: str) -> None:
    asked = requests()
    assert bits(ask(checkpoint, asked, dtype)) == bits(ask(checkpoint, asked, dtype))


@pytest.mark.slow
def test_another_process_gives_the_same_bits(checkpoint: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from tests.harness.models.transformers.test_determinism import *; "
        "import torch; torch.set_num_threads(1); print(repr(bits(ask(Path(sys.argv[1]), requests()))))"
    )
    command = [sys.executable, "-c", program, str(checkpoint)]
    first, second = (subprocess.run(command, check=True, capture_output=True, text=True).stdout for _ in range(2))
    assert first == second


def test_a_sample_in_float32_gives_the_same_text_and_log_probabilities_up_to_rounding(checkpoint: Path) -> None:
    asked = requests()
    whole = ask(checkpoint, asked)
    chosen = random.Random(1).sample(range(len(asked)), 12)
    for number, again in zip(chosen, ask(checkpoint, [asked[number] for number in chosen]), strict=True):
        before = whole[number]
        assert again.logprobs == pytest.approx(before.logprobs, abs=1e-4)
        assert [one.text for one in again.completions] == [one.text for one in before.completions]


def test_the_grade_follows_the_precision(checkpoint: Path) -> None:
    from harness.models.transformers.huggingface import HuggingFaceModel

    assert HuggingFaceModel(str(checkpoint)).determinism is Determinism.FLOAT32
    assert HuggingFaceModel(str(checkpoint), dtype="bfloat16").determinism is Determinism.BATCHED
