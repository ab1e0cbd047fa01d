"""What a graphics card answers, and how fast: a check of about ten minutes.

Models have random weights, so no download is needed. Each line of the table says what was measured, and whether it is
as it must be; the same lines are written as JSON. What fails does not stop the others.

    python tests/gpu/check.py [--device cuda] [--shapes 0.5B 1B 8B] [--out check.json]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))  # the repository, where this runs as a script

from harness import GenerateRequest, Request, Response, ScoreRequest
from harness.backends import graphics_cards
from harness.costs.energy import EnergyMeter, gpu_counters
from harness.models.transformers.huggingface import HuggingFaceModel
from tests.gpu.shapes import LLAMA, write_checkpoint

ROOT = Path(__file__).parents[2]
WORDS = [f"word{number}" for number in range(500)]
PEAK = {"NVIDIA H200": 989e12, "NVIDIA H100": 989e12, "NVIDIA A100": 312e12, "NVIDIA L4": 121e12}
"""Operations a second in bfloat16 without sparsity, from the cards' data sheets."""

FLOAT32_TOLERANCE = 1e-3


@dataclass(frozen=True)
class Line:
    """One line of the table."""

    check: str
    found: str
    passed: bool | None
    """None where there is nothing to pass."""


Check = Callable[[], Iterator[Line]]


def scores(count: int, header: int = 200, seed: int = 0) -> list[ScoreRequest]:
    """Return questions with a common header and four choices each."""
    rng = Random(seed)
    shared = " ".join(rng.choices(WORDS, k=header))
    found = []
    for _ in range(count):
        question = f"{shared}\nQ: {' '.join(rng.choices(WORDS, k=20))}\nA:"
        found += [ScoreRequest(question, f" {word}") for word in rng.choices(WORDS, k=4)]
    return found


def answers(model: HuggingFaceModel, requests: Sequence[Request]) -> list[Response]:
    """Return a model's responses in the order of the requests."""
    found = dict(model.answer(requests))
    return [found[number] for number in range(len(requests))]


def apart(some: Sequence[Response], others: Sequence[Response]) -> float:
    """Return the largest difference of a log-probability."""
    found = [(one.logprobs or (), other.logprobs or ()) for one, other in zip(some, others, strict=True)]
    return max(abs(one - other) for pair in found for one, other in zip(*pair, strict=True))


def plain(folder: Path, device: str, **settings: Any) -> HuggingFaceModel:
    """Return a model that reads every text by itself."""
    model = HuggingFaceModel(str(folder), device=device, **settings)
    assert model._loaded_here()
    assert model._model is not None
    model._model.sharing.refused = "for this check"
    return model


def versions(device: str) -> Iterator[Line]:
    """The machine."""
    import torch
    import transformers

    cards = graphics_cards()
    yield Line("cards", f"{', '.join(cards.names) or 'none'}; driver {cards.driver}", None)
    cudnn = torch.backends.cudnn.version()
    yield Line("versions", f"torch {torch.__version__}, transformers {transformers.__version__}, cuDNN {cudnn}", None)
    yield Line("device", device, device == "cpu" or torch.cuda.is_available())


def tests(device: str) -> Iterator[Line]:
    """The tests of the backend, on the device."""
    folders = ["tests/harness/models/transformers", "tests/harness/models/tokens"]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow", *folders]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "HARNESS_TEST_DEVICE": device},
        capture_output=True,
        text=True,
        check=False,
    )
    yield Line("tests", (done.stdout.strip().splitlines() or [done.stderr[-200:]])[-1], done.returncode == 0)


def equality(folder: Path, device: str, shape: str) -> Iterator[Line]:
    """Answers together, alone, on the CPU and on the device."""
    for kind in ("llama", "mha", "mistral", "gpt2"):
        for dtype in ("float32", "bfloat16", "float16"):
            checkpoint = write_checkpoint(folder / f"{kind}-{dtype}", shape, kind, dtype, device)
            requests = scores(16, 60)
            model = HuggingFaceModel(str(checkpoint), device=device)
            together = answers(model, requests)
            alone = answers(plain(checkpoint, device, max_batch_tokens=1), requests)
            difference = apart(together, alone)
            assert model._model is not None
            refused = model._model.sharing.refused
            shown = f"together and alone: {difference:.2g}" + (f"; refused: {refused}" if refused else "")
            passed = refused is None and (dtype != "float32" or difference < FLOAT32_TOLERANCE)
            if dtype == "float32" and device != "cpu":
                other = apart(together, answers(HuggingFaceModel(str(checkpoint), device="cpu"), requests))
                shown, passed = f"{shown}; CPU: {other:.2g}", passed and other < FLOAT32_TOLERANCE
            yield Line(f"equal, {kind} {dtype}", shown, passed)


def decoding(folder: Path, device: str, shape: str) -> Iterator[Line]:
    """Milliseconds of a step of 64 texts; with and without cuDNN's attention."""
    import torch

    checkpoint = write_checkpoint(folder, shape, "llama", "bfloat16", device)
    requests = [GenerateRequest(f"{word} {' '.join(WORDS[:30])}", 64, stop=()) for word in WORDS[:64]]
    for cudnn in [False, True] if device != "cpu" else [False]:
        model = HuggingFaceModel(str(checkpoint), device=device)
        answers(model, requests[:2])
        torch.backends.cuda.enable_cudnn_sdp(cudnn)
        started = time.perf_counter()
        answers(model, requests)
        seconds = time.perf_counter() - started
        yield Line(f"decoding, {shape}", f"{seconds / 64 * 1e3:.1f} ms a step, cuDNN's attention: {cudnn}", None)
    torch.backends.cuda.enable_cudnn_sdp(False)


def memory(folder: Path, device: str, shape: str) -> Iterator[Line]:
    """Batches far too large for the memory: they shrink, and answers stay right."""
    import torch

    checkpoint = write_checkpoint(folder, shape, "llama", "float32", device)
    requests = scores(64, 400)
    expected = answers(HuggingFaceModel(str(checkpoint), device=device), requests)
    if device != "cpu":
        torch.cuda.set_per_process_memory_fraction(0.1)
    try:
        found = answers(HuggingFaceModel(str(checkpoint), device=device, max_batch_tokens=2**20), requests)
    finally:
        if device != "cpu":
            torch.cuda.set_per_process_memory_fraction(1.0)
    difference = apart(found, expected)
    yield Line("memory", f"a tenth of it: answers differ by {difference:.2g}", difference < FLOAT32_TOLERANCE)


def throughput(folder: Path, device: str, shape: str, dtype: str, questions: int) -> Iterator[Line]:
    """Scoring and generating, against plain transformers in the same process."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    checkpoint = write_checkpoint(folder, shape, "llama", dtype, device)
    requests = scores(questions)
    model = HuggingFaceModel(str(checkpoint), device=device)
    answers(model, requests[:8])
    started = time.perf_counter()
    answers(model, requests)
    ours = time.perf_counter() - started
    alone = plain(checkpoint, device)
    started = time.perf_counter()
    answers(alone, requests)
    unshared = time.perf_counter() - started
    # Plain reading does two operations for each weight and token; a character is a token here.
    tokens = sum(len(f"{request.context}{request.continuation}") for request in requests)
    operations = 2 * int(model.description()["parameters"]) * tokens / unshared
    peaks = [value for name, value in PEAK.items() if name in " ".join(graphics_cards().names)]
    share = f", {operations / peaks[0]:.0%} of the card's peak read one by one" if peaks else ""
    shown = f"{len(requests) / ours:,.0f} a second, {unshared / ours:.1f} times as fast as one by one{share}"
    yield Line(f"scoring, {shape}", shown, None if shape == "tiny" else ours <= unshared * 1.05)
    del alone
    prompts = [f"{word} {' '.join(WORDS[:20])}" for word in WORDS[:64]]
    started = time.perf_counter()
    answers(model, [GenerateRequest(prompt, 64, stop=()) for prompt in prompts])
    ours = time.perf_counter() - started
    model.close()
    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    tokenizer.pad_token, tokenizer.padding_side = tokenizer.eos_token, "left"
    theirs: Any = AutoModelForCausalLM.from_pretrained(checkpoint, dtype=getattr(torch, dtype)).eval()
    theirs.to(device)
    batch = tokenizer(prompts, return_tensors="pt", padding=True).to(device)
    started = time.perf_counter()
    with torch.inference_mode():
        theirs.generate(**batch, max_new_tokens=64, min_new_tokens=64, do_sample=False)
    other = time.perf_counter() - started
    shown = f"64 × 64 tokens in {ours:.2f} s, generate() {other:.2f} s"
    yield Line(f"generating, {shape}", shown, None if shape == "tiny" else ours <= other * 1.05)


def energy(device: str, seconds: float = 10.0) -> Iterator[Line]:
    """The counter of joules against the power, added up."""
    import torch

    counters = gpu_counters()
    if device == "cpu" or not counters:
        yield Line("energy", "no counter here", None)
        return
    import pynvml

    handle = pynvml.nvmlDeviceGetHandleByIndex(0)
    factor = torch.randn(4096, 4096, device=device)
    with EnergyMeter(counters[:1], 1.0) as meter:
        started, joules = time.perf_counter(), 0.0
        while (now := time.perf_counter()) - started < seconds:
            for _ in range(20):
                factor = (factor @ factor).tanh()
            torch.cuda.synchronize()
            joules += pynvml.nvmlDeviceGetPowerUsage(handle) / 1e3 * (time.perf_counter() - now)
    counted = meter.joules.get("gpu", 0.0)
    yield Line("energy", f"counter {counted:.0f} J, power × time {joules:.0f} J", abs(counted / joules - 1) < 0.05)


def lost(folder: Path, device: str) -> Iterator[Line]:
    """An assertion that fails on the device: the message says so, and the next request is answered."""
    import torch

    if device == "cpu":
        yield Line("lost card", "needs a card", None)
        return
    checkpoint = write_checkpoint(folder, "tiny", "llama", "float32", device)
    model = HuggingFaceModel(str(checkpoint), device=device)
    requests = scores(2, 20)
    expected = answers(model, requests)
    said = ""
    with contextlib.suppress(RuntimeError):
        torch.zeros(4, device=device)[torch.tensor([9], device=device)].sum().item()
    try:
        found = answers(model, requests)
    except Exception as error:  # the first request after it may still fail, with a message that says why
        said = str(error)
        found = answers(model, requests)
    difference = apart(found, expected)
    yield Line(
        "lost card", f"answers after it differ by {difference:.2g}. {said[:100]}", difference < FLOAT32_TOLERANCE
    )


def run(checks: Sequence[tuple[str, Check]]) -> list[Line]:
    """Run checks and print their lines; what raises is a line that failed."""
    found: list[Line] = []
    for name, check in checks:
        started = time.perf_counter()
        try:
            for line in check():
                found.append(line)
                mark = {True: "ok", False: "FAILED", None: ""}[line.passed]
                print(f"{mark:7}{line.check:28}{line.found}", flush=True)
        except Exception as error:
            found.append(Line(name, f"{type(error).__name__}: {error}", False))
            print(f"FAILED {name:28}{''.join(traceback.format_exception(error))}", flush=True)
        print(f"       ({name}: {time.perf_counter() - started:.0f} s)", flush=True)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the checks; return 0 if none failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--shapes", nargs="+", choices=LLAMA, default=["0.5B", "1B", "8B"])
    parser.add_argument("--questions", type=int, default=500)
    parser.add_argument("--skip-tests", action="store_true")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args(arguments)
    device, first = options.device, options.shapes[0]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        checks: list[tuple[str, Check]] = [("versions", partial(versions, device))]
        if not options.skip_tests:
            checks.append(("tests", partial(tests, device)))
        checks += [
            ("equality", partial(equality, folder / "equal", device, "tiny")),
            ("decoding", partial(decoding, folder / "decoding", device, first)),
            ("memory", partial(memory, folder / "memory", device, "tiny")),
        ]
        dtype = "float32" if device == "cpu" else "bfloat16"
        for shape in options.shapes:
            checks.append(
                (f"throughput {shape}", partial(throughput, folder / shape, device, shape, dtype, options.questions))
            )
        checks += [("energy", partial(energy, device)), ("lost card", partial(lost, folder / "lost", device))]
        lines = run(checks)
    if options.out:
        options.out.write_text(json.dumps([asdict(line) for line in lines], indent=1), encoding="utf-8")
    failed = sum(line.passed is False for line in lines)
    print(f"{failed} failed of {sum(line.passed is not None for line in lines)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
