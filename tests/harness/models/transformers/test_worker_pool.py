"""A model in several processes answers each request once, and says what happened when a process dies."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from multiprocessing import Pipe
from pathlib import Path

import pytest

from harness import GenerateRequest, ModelError, Request, ScoreRequest
from harness.models.transformers import worker_pool
from harness.models.transformers.huggingface import HuggingFaceModel

pytest.importorskip("torch")

Make = Callable[..., Path]
REQUESTS: list[Request] = [ScoreRequest(f"question {number}", " answer") for number in range(40)]
REQUESTS += [GenerateRequest(f"question {number}", max_tokens=3) for number in range(10)]


@pytest.fixture
def pooled(tiny_checkpoint: Make) -> Iterator[HuggingFaceModel]:
    """A model in two processes."""
    model = HuggingFaceModel(str(tiny_checkpoint("llama")), device="cpu", devices=2)
    yield model
    model.close()


@pytest.mark.slow
def test_two_processes_answer_what_one_does_and_one_that_dies_is_named(
    pooled: HuggingFaceModel, tiny_checkpoint: Make
) -> None:
    expected = dict(HuggingFaceModel(str(tiny_checkpoint("llama")), device="cpu").answer(REQUESTS))
    for _ in range(2):
        answers = list(pooled.answer(REQUESTS))
        assert sorted(index for index, _ in answers) == list(range(len(REQUESTS)))
        for index, answer in answers:
            assert answer.logprobs == pytest.approx(expected[index].logprobs, abs=1e-4)
            assert [c.text for c in answer.completions] == [c.text for c in expected[index].completions]
    # The processes' parent loads nothing, and says of the model what one that has loaded it says.
    alone = HuggingFaceModel(str(tiny_checkpoint("llama")), device="cpu").description()
    assert pooled.description() == {**alone, "devices": 2}
    assert pooled._pool is not None
    processes = [process for _, process, _ in pooled._pool._workers]
    coming = pooled.answer(REQUESTS * 20)
    next(coming)
    killed = processes[1]
    assert killed.pid is not None
    os.kill(killed.pid, signal.SIGKILL)
    with pytest.raises(ModelError, match="process on cpu was killed by SIGKILL"):
        list(coming)
    assert not pooled._pool.open
    assert not any(process.is_alive() for process in processes)


def test_what_a_process_cannot_load_is_the_model_s_error(
    tiny_checkpoint: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    for file in tiny_checkpoint("llama").iterdir():
        (broken / file.name).write_bytes(file.read_bytes())
    (broken / "model.safetensors").write_bytes(b"no weights")
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    ours, theirs = Pipe()
    ours.send(REQUESTS[:2])
    worker_pool._serve(str(broken), {"device": "cpu"}, 1, theirs)
    message, content = ours.recv()
    assert message == "refused"
    assert "weights" in content
    ours.send("no requests")
    worker_pool._serve(str(tiny_checkpoint("llama")), {"device": "cpu"}, 1, theirs)
    message, content = ours.recv()
    assert message == "failed"
    assert "Traceback" in content


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
