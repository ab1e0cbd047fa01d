"""The Slurm executor's keys: durations and sizes are read as Slurm reads them, and mistakes are named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError

from harness.errors import SpecError
from harness.plugins.parameters import field_docs
from harness.sweeps.executor_keys import SlurmKeys
from harness.sweeps.load import Sweep
from harness.sweeps.slurm_values import memory, minutes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("30m", 30),
        ("4h", 240),
        ("1h30m", 90),
        ("1h 30m", 90),
        ("2d", 2880),
        ("1d12h", 2160),
        ("90s", 2),
        ("30", 30),  # from here on as `man sbatch` lists them
        ("10:30", 11),
        ("4:00:00", 240),
        ("1-12", 2160),
        ("1-12:30", 2190),
        ("1-00:00:00", 1440),
        ("1-00:00:01", 1441),
    ],
)
def test_durations_in_minutes(text: str, expected: int) -> None:
    assert minutes(text) == expected


@pytest.mark.parametrize(
    "text", ["", "0", "0m", "0-00:00:00", "4 hours", "-4h", "1.5h", "h", "1-", ":30", "m30", "4h4h"]
)
def test_what_is_not_a_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a duration; write 4h, 30m or"):
        minutes(text)


@pytest.mark.parametrize(("text", "expected"), [("64G", "64G"), ("64 GB", "64G"), ("500m", "500M"), ("1TiB", "1T")])
def test_sizes(text: str, expected: str) -> None:
    assert memory(text) == expected


@pytest.mark.parametrize("text", ["64", "0G", "lots", "-1G", "1.5G", ""])
def test_what_is_not_a_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a size; write 64G"):
        memory(text)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"time": 4}, "4 has no unit; write 4m for minutes or 4h for hours"),
        ({"time": "later"}, "is not a duration"),
        ({"memory": "64"}, "is not a size"),
        ({"heads": 0}, "greater than or equal to 1"),
        ({"gpus": -1}, "greater than or equal to 0"),
        ({"gpus": "two"}, "should match pattern"),
        ({"partition": "gpu; rm -rf ~"}, "should match pattern"),
        ({"constraint": "a100\n#SBATCH --exclusive"}, "has a line break"),
        ({"setup": ["module load cuda\nrm x"]}, "has a line break"),
        ({"options": {"--reservation": "x"}}, "without dashes in front"),
        ({"options": {"time": "4h"}}, "time is set by the harness; use `time`"),
        ({"options": {"reservation": "a\nb"}}, "has a line break"),
        ({"partitoin": "gpu"}, "Extra inputs are not permitted"),
    ],
)
def test_mistakes_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError) as caught:
        SlurmKeys.model_validate(given)
    assert said in str(caught.value)


def test_every_key_is_described_with_an_example_that_fits() -> None:
    described = field_docs(SlurmKeys)
    for name, field in SlurmKeys.model_fields.items():
        assert described[name].endswith(".")
        for example in field.examples or pytest.fail(name):
            SlurmKeys.model_validate({name: example})


SWEEP = """
suite: s
executor:
  name: slurm
  time: soon
  memory: 64
  partitoin: gpu
models: [echo:0]
runs: [toy_questions]
"""


def test_mistakes_in_a_sweep_are_reported_together_with_their_lines(load: Callable[..., Sweep]) -> None:
    with pytest.raises(SpecError) as caught:
        load(SWEEP)
    found = {(one.path, one.line): f"{one.message} {one.hint}" for one in caught.value.diagnostics}
    assert "'soon' is not a duration" in found["executor.time", 5]
    assert "must be text, not 64" in found["executor.memory", 6]
    assert "Did you mean 'partition'?" in found["executor.partitoin", 7]
