"""``harness run --dry-run --gpus``: what it says of each model, and what it refuses."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from harness.cli.gpu_table import _cost, duration
from harness.costs.gpu_speed import Gpu
from tests.harness.cli.conftest import Harness

MODELS = [
    {"name": "fake:0", "display_name": "Seven", "about": {"parameters": 7_000_000_000}},
    {"name": "fake:1", "about": {"parameters": 70_000_000_000}, "resources": {"gpus": 4, "replicas": "auto"}},
    "fake:2",
]


@pytest.fixture
def sweep(folder: Path) -> str:
    """A sweep of models of said sizes."""
    content = {"suite": "sized", "plugins": ["./quiz.yaml"], "models": MODELS, "runs": ["quiz"]}
    file = Path("sized.yaml")
    file.write_text(json.dumps(content))
    return str(file)


def test_the_plan_says_time_gpus_and_assumptions(harness: Harness, sweep: str) -> None:
    said = harness("run", sweep, "--dry-run", "--gpus", "64").out
    rows = {line.split()[0]: line.split() for line in said.splitlines() if line.strip()}
    table = said[said.index("GPU time") :]
    assert "Seven" in table
    assert rows["fake:1"][1:3] == ["1", "4"]
    assert rows["fake:2"][1:4] == ["1", "-", "none"]
    assert "64 GPUs: " in said
    assert "of the shortest possible" in said
    assert "for 2 loadings." in said
    assert "Assumptions:\n  NVIDIA H100 SXM, 8 a machine, 16-bit weights\n  prompts at 45% of 989 TFLOP/s\n" in said
    assert not re.search(r"\de-\d", said)
    assert not Path("results/sized").exists()


def test_a_file_changes_assumptions_and_adds_cost(harness: Harness, sweep: str) -> None:
    Path("ours.yaml").write_text("name: Ours\nteraflops: 1\nbandwidth: 1\nmemory: 80\nprice: 3600\ncurrency: EUR\n")
    said = harness("run", sweep, "--dry-run", "--gpus", "4", "--gpu", "ours.yaml")
    assert said.code == 0
    assert "Assumptions:\n  Ours" in said.out
    assert re.search(r"4 GPUs for that time: [\d.,]+ EUR\.", said.out)


def test_fewer_gpus_than_a_model_needs_are_an_error(harness: Harness, sweep: str) -> None:
    said = harness("run", sweep, "--dry-run", "--gpus", "2")
    assert said.code == 2
    assert "2 GPUs: " in said.out
    assert (
        "Too few GPUs: fake:1 needs 4 GPUs of one machine, says `resources` of its entry; here a machine has 2."
        in said.out
    )
    Path(sweep).write_text(Path(sweep).read_text().replace('"about": {"parameters": 70000000000}, ', ""))
    without_size = harness("run", sweep, "--dry-run", "--gpus", "2")
    assert (without_size.code, "fake:1 needs 4 GPUs" in without_size.out) == (2, True)
    assert "needs a GPU" not in without_size.out


def test_a_model_of_unknown_size_is_not_guessed(harness: Harness) -> None:
    Path("backend.py").write_text(
        "from harness import backend\nfrom harness.models.offline.fake import FakeModel\n\n\n"
        '@backend("unsized", source="A test.")\nclass Unsized(FakeModel):\n    """Says nothing of itself.\n\n'
        '    Args:\n        identifier: The seed.\n    """\n\n    def __init__(self, identifier: str) -> None:\n'
        "        super().__init__(identifier)\n\n    def description(self):\n        return {}\n"
    )
    said = harness("run", "-r", "quiz.yaml", "-m", "unsized:0", "--plugin", "backend.py", "--dry-run", "--gpus=8").out
    assert "no parameters known for unsized:0: add `about: {parameters: …}` to its entry." in said
    assert "8 GPUs: no time can be estimated." in said


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--gpus", "8"], "add --dry-run"),
        (["--gpu", "h100", "--dry-run"], "--gpus N"),
        (["--dry-run", "--gpus", "8", "--gpu", "h10"], "Did you mean 'h100'"),
        (["--dry-run", "--gpus", "8", "--gpu", "none.yaml"], "none.yaml"),
        (["--dry-run", "--gpus", "0"], "0 is not in the range"),
    ],
)
def test_mistakes_are_said_before_anything_is_planned(harness: Harness, options: list[str], message: str) -> None:
    said = harness("run", "sweep.yaml", *options)
    assert said.code == 2
    assert message in said.err
    assert "Traceback" not in said.err


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.01, "< 0.1 s"),
        (0.1, "0.1 s"),
        (9.96, "10 s"),
        (59, "59 s"),
        (59.7, "1 min"),
        (180, "3 min"),
        (7100, "1 h 58 min"),
        (7200, "2 h"),
        (7800, "2 h 10 min"),
        (200_000, "55 h 33 min"),
        (4_640_400, "1,289 h"),
    ],
)
def test_durations_are_in_a_unit_that_fits(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0.00 EUR"), (1, "< 0.01 EUR"), (3600, "2.10 EUR"), (1e7, "5,833.33 EUR")]
)
def test_costs_have_two_decimals(seconds: float, text: str) -> None:
    assert _cost(seconds, Gpu(name="Ours", teraflops=1, bandwidth=1, memory=80, price=2.1, currency="EUR")) == text
