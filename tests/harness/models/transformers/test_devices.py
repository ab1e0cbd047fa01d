"""A model on several devices, each with a process of its own, answers as on one."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness import GenerateRequest, ModelError, Request, ScoreRequest
from harness.inference.process_replica import ProcessReplica
from harness.models.transformers.huggingface import HuggingFaceModel

pytest.importorskip("torch")

Make = Callable[..., Path]
REQUESTS: list[Request] = [ScoreRequest(f"question {number}", " answer") for number in range(40)]
REQUESTS += [GenerateRequest(f"question {number}", max_tokens=3) for number in range(10)]


@pytest.fixture
def spread(tiny_checkpoint: Make) -> Iterator[HuggingFaceModel]:
    """A model in two processes."""
    model = HuggingFaceModel(str(tiny_checkpoint("llama")), device="cpu", devices=2)
    yield model
    model.close()


@pytest.mark.slow
def test_two_processes_answer_what_one_does_and_one_that_dies_is_replaced(
    spread: HuggingFaceModel, tiny_checkpoint: Make, caplog: pytest.LogCaptureFixture
) -> None:
    expected = dict(HuggingFaceModel(str(tiny_checkpoint("llama")), device="cpu").answer(REQUESTS))
    assert spread.capacity > 4096
    for _ in range(2):
        answers = list(spread.answer(REQUESTS))
        assert sorted(index for index, _ in answers) == list(range(len(REQUESTS)))
        for index, answer in answers:
            assert answer.logprobs == pytest.approx(expected[index].logprobs, abs=1e-5)
            assert [c.text for c in answer.completions] == [c.text for c in expected[index].completions]
    # The processes' parent loads nothing, and says of the model what one that has loaded it says.
    alone = HuggingFaceModel(str(tiny_checkpoint("llama")), device="cpu").description()
    described = dict(spread.description())
    assert 1 <= len(described.pop("workers")) <= 2
    assert described == {**alone, "devices": 2}
    assert spread._pool is not None
    many = REQUESTS * 20
    coming = spread.answer(many)
    found = [next(coming)]
    killed = spread._pool.running[1]
    assert isinstance(killed, ProcessReplica)
    assert killed.process.pid is not None
    os.kill(killed.process.pid, signal.SIGKILL)
    found += coming
    assert sorted(index for index, _ in found) == list(range(len(many)))
    for index, answer in found:
        assert answer.error is None
        assert answer.logprobs == pytest.approx(expected[index % len(REQUESTS)].logprobs, abs=1e-5)
    assert "was killed by SIGKILL; another takes its place" in caplog.text
    assert len(spread._pool.running) == 2
    assert not killed.process.is_alive()


@pytest.mark.slow
def test_what_a_process_cannot_load_is_the_model_s_error(tiny_checkpoint: Make, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    for file in tiny_checkpoint("llama").iterdir():
        (broken / file.name).write_bytes(file.read_bytes())
    (broken / "model.safetensors").write_bytes(b"no weights")
    model = HuggingFaceModel(str(broken), device="cpu", devices=2)
    with pytest.raises(ModelError, match="weights"):
        list(model.answer(REQUESTS))
    assert model._pool is not None
    assert not model._pool.running


def test_devices_that_make_no_sense_are_refused(tiny_checkpoint: Make) -> None:
    folder = str(tiny_checkpoint("gpt2"))
    with pytest.raises(ModelError, match="at least 1"):
        HuggingFaceModel(folder, devices=0)
    with pytest.raises(ModelError, match="write device: cuda"):
        HuggingFaceModel(folder, device="cuda:1", devices=2)
    with pytest.raises(ModelError, match="leave out device"):
        HuggingFaceModel(folder, device_map="auto", devices=2)
    with pytest.raises(ModelError, match="the number of mps devices here is 1"):
        list(HuggingFaceModel(folder, device="mps", devices=2).answer(REQUESTS))
