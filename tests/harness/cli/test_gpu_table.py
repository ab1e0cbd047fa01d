"""``harness run --dry-run --gpus``: what it says of each model, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.cli.gpu_table import duration
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
    table = said[said.index("GPU hours") :]
    assert "Seven" in table
    assert rows["fake:1"][1:3] == ["1", "4"]
    assert rows["fake:2"][1:4] == ["1", "-", "none"]
    assert "64 GPUs: " in said
    assert "of the shortest possible" in said
    assert "2 loadings." in said
    assert "Assumed: NVIDIA H100 SXM, 8 a machine: 45% of 989 TFLOP/s" in said
    assert not Path("results/sized").exists()


def test_a_file_changes_assumptions_and_adds_cost(harness: Harness, sweep: str) -> None:
    Path("ours.yaml").write_text("name: Ours\nteraflops: 1\nbandwidth: 1\nmemory: 80\nprice: 3600\ncurrency: EUR\n")
    said = harness("run", sweep, "--dry-run", "--gpus", "1", "--gpu", "ours.yaml").out
    assert "Assumed: Ours" in said
    assert "1 GPU for that time: " in said
    assert "EUR" in said
    assert "Not in these numbers: fake:1 needs 4 GPUs of one machine, which has 1." in said


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
    ("seconds", "text"), [(59, "59 s"), (120, "2.0 min"), (7100, "118.3 min"), (7200, "2.0 h"), (200_000, "2.3 d")]
)
def test_durations_are_in_a_unit_that_fits(seconds: float, text: str) -> None:
    assert duration(seconds) == text
