"""Seconds of a kind of GPU by closed forms, and where the kind comes from."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.costs.gpu_speed import BUILT_IN, DEFAULT, Gpu, load_gpu
from harness.errors import SpecError
from harness.yaml_lines import load

GPU = Gpu(name="G", teraflops=100, bandwidth=2, memory=80, compute_share=0.5, bandwidth_share=0.5, texts_at_once=100)
BILLION = 1_000_000_000


def test_prompts_cost_arithmetic_and_requests_the_host() -> None:
    seconds = GPU.seconds(BILLION, prompt=25_000, generated=0, requests=10)
    assert seconds == pytest.approx(2 * 1e9 * 25_000 / 50e12 + 10 * 0.0003)


def test_generated_tokens_also_read_the_weights_once_for_many_texts() -> None:
    more = GPU.seconds(BILLION, 0, 1000, 0) - GPU.seconds(BILLION, 1000, 0, 0)
    assert more == pytest.approx(2e9 * 1000 / (100 * 1e12))


def test_gpus_of_a_replica_share_the_work_and_not_the_host() -> None:
    assert GPU.seconds(BILLION, 1000, 1000, 0, gpus=4) == pytest.approx(GPU.seconds(BILLION, 1000, 1000, 0) / 4)
    assert GPU.seconds(BILLION, 0, 0, 10, gpus=4) == GPU.seconds(BILLION, 0, 0, 10)


def test_loading_is_the_start_and_the_weights() -> None:
    assert GPU.loading(3 * BILLION) == pytest.approx(35 + 6 / 1.5)


@pytest.mark.parametrize(("billions", "gpus"), [(1, 1), (36, 1), (37, 2), (70, 2), (73, 4), (405, 16)])
def test_weights_need_a_power_of_two_of_gpus(billions: int, gpus: int) -> None:
    assert GPU.needed(billions * BILLION) == gpus


@pytest.mark.parametrize("kind", load(BUILT_IN).data)
def test_every_kind_that_comes_with_the_harness_can_be_used(kind: str) -> None:
    gpu = load_gpu(kind.upper())
    assert gpu.price is None
    assert gpu.name in gpu.assumptions()[0]


def test_the_default_is_known() -> None:
    assert load_gpu(DEFAULT).name.startswith("NVIDIA H100")


def test_a_file_can_say_everything(tmp_path: Path) -> None:
    file = tmp_path / "ours.yaml"
    file.write_text("name: Ours\nteraflops: 300\nbandwidth: 2\nmemory: 80\nprice: 2.5\nnode: 4\nstart_seconds: 60\n")
    gpu = load_gpu(str(file))
    assert (gpu.price, gpu.node, gpu.start_seconds, gpu.compute_share) == (2.5, 4, 60, 0.45)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("name: X\nteraflops: 0\nbandwidth: 2\nmemory: 80\n", "teraflops"),
        ("name: X\nbandwidth: 2\nmemory: 80\n", "teraflops"),
        ("name: X\nteraflops: 1\nbandwidth: 2\nmemory: 80\nflops: 3\n", "flops"),
    ],
)
def test_a_wrong_file_is_an_error_with_its_key(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "ours.yaml"
    file.write_text(content)
    with pytest.raises(SpecError, match=message):
        load_gpu(str(file))


def test_an_unknown_kind_names_the_nearest() -> None:
    with pytest.raises(SpecError, match="Did you mean 'h100'"):
        load_gpu("h10")
