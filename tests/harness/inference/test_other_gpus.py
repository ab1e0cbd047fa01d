"""Answers of another kind of GPU: taken only where that is chosen, and then counted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from harness import GenerateRequest, Response
from harness.inference.cache import ResponseCache
from harness.inference.cache_entries import asked_model, of_other_gpus
from harness.inference.cache_file import FILE_NAME
from harness.inference.caching_model import CachingModel
from harness.inference.head_cache import HeadCache
from harness.inference.merging import SegmentMerger
from harness.models.offline.fake import FakeModel
from harness.runs.claims import Claims
from tests.harness.cli.conftest import Harness, folder, harness

__all__ = ["folder", "harness"]  # fixtures


class OnGpu(FakeModel):
    """The fake model, as if in 16 bits on some kind of GPU."""

    gpu: list[str]

    def __init__(self, identifier: str, gpu: list[str]) -> None:
        super().__init__(identifier)
        self.gpu = gpu

    def fingerprint(self) -> Mapping[str, Any]:
        return {**super().fingerprint(), **({"gpu": self.gpu} if self.gpu else {})}


REQUESTS = [GenerateRequest(f"question {number}", 3) for number in range(6)]


def ask(cache: ResponseCache | HeadCache, model: FakeModel, count: int = 6) -> list[Response]:
    return CachingModel(model, "fake:0", cache).ask(REQUESTS[:count])


def test_only_the_kind_of_gpu_may_differ() -> None:
    def model(name: str, **fingerprint: Any) -> Any:
        return asked_model(name, fingerprint, used=0)

    own = model("hf:a", weights="1", gpu=["NVIDIA H100"])
    a100, mixed = model("hf:a", weights="1", gpu=["NVIDIA A100"]), model("hf:b", weights="1", gpu=["L4", "T4"])
    none = model("hf:a", weights="1")
    others = [model("hf:a", weights="2", gpu=["NVIDIA A100"]), model("vllm:a", weights="1", gpu=["NVIDIA A100"])]
    assert of_other_gpus(own.digest, [own, none, mixed, a100, a100, *others]) == [
        (mixed.digest, "L4 and T4"),
        (a100.digest, "NVIDIA A100"),
        (none.digest, "no GPU"),
    ]
    assert of_other_gpus(b"unknown", [own, a100]) == []


@pytest.mark.parametrize("chosen", [False, True])
def test_answers_of_another_gpu_are_taken_if_that_is_chosen(tmp_path: Path, chosen: bool) -> None:
    with closing(ResponseCache(tmp_path / FILE_NAME, reuse_across_gpus=chosen)) as cache:
        before = ask(cache, OnGpu("0", ["NVIDIA A100"]), 4)
        model = OnGpu("0", ["NVIDIA H100"])
        answers = ask(cache, model)
        assert [one.completions for one in answers[:4]] == [one.completions for one in before]
        assert [one.other_gpu for one in answers] == (["NVIDIA A100"] * 4 if chosen else [None] * 4) + [None] * 2
        assert [one.cached for one in answers] == [chosen] * 4 + [False] * 2
        assert model.asked == (2 if chosen else 6)
        again = ask(cache, OnGpu("0", ["NVIDIA H100"]))  # its own are preferred, the others are not stored as its own
        assert [one.other_gpu for one in again] == [one.other_gpu for one in answers]
        assert all(one.other_gpu is None for one in ask(cache, OnGpu("1", ["NVIDIA H100"])))


@pytest.mark.parametrize("state", ["open", "closed", "merged"])
def test_a_head_takes_them_too(tmp_path: Path, state: str) -> None:
    results = tmp_path / "results"
    with Claims(results) as claims:
        first = HeadCache(results, claims, "first", tmp_path / "local")
        ask(first, OnGpu("0", ["NVIDIA A100"]), 4)
        if state != "open":
            first.close()
        if state == "merged":
            SegmentMerger(results, claims).merge()
        with closing(HeadCache(results, claims, "second", tmp_path / "local", reuse_across_gpus=True)) as second:
            model = OnGpu("0", [])
            assert [one.other_gpu for one in ask(second, model)] == ["NVIDIA A100"] * 4 + [None] * 2
            assert model.asked == 2
            if state == "open":
                ask(first, OnGpu("0", ["NVIDIA A100"]), 5)
                second.catch_up()
                assert [one.other_gpu for one in ask(second, OnGpu("0", []))] == ["NVIDIA A100"] * 4 + [None] * 2
        first.close()


@pytest.mark.parametrize("how", ["option", "sweep"])
def test_run_json_counts_them(harness: Harness, folder: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    own = FakeModel.fingerprint

    def on(gpu: str) -> None:
        monkeypatch.setattr(FakeModel, "fingerprint", lambda model: {**own(model), "gpu": [gpu]})

    def run(*options: str, reuse: bool = False) -> tuple[int, dict[str, int] | None]:
        key = "reuse_across_gpus: true\n" if reuse and how == "sweep" else ""
        (folder / "sweep.yaml").write_text(f"suite: s\nplugins: [./quiz.yaml]\nmodels: ['fake:0']\n{key}runs: [quiz]\n")
        said = harness("run", "sweep.yaml", *options, *(["--reuse-across-gpus"] if reuse and how == "option" else []))
        assert said.code == 0, said.err
        (file,) = (folder / "results").glob("s/*/run.json")
        value = json.loads(file.read_text())
        return value["efficiency"]["cached_queries"], value["provenance"].get("answers_of_other_gpus")

    on("NVIDIA A100")
    assert run() == (0, None)
    on("NVIDIA H100")
    assert run("--force", reuse=True) == (20, {"NVIDIA A100": 20})
    assert run(reuse=True) == (20, {"NVIDIA A100": 20})  # found finished
    assert run() == (0, None)  # not as it was chosen now
    on("NVIDIA A100")
    assert run() == (0, None)  # a finished run is kept whichever card it ran on
