"""The quickstart's contamination test: a set that one of two models was trained on, and a set that neither was."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.contamination.sweep import contamination_sweep
from harness.plugins.registry import Registry
from harness.quickstart.checkpoints import SEEN_SCENARIO
from harness.sweeps.load import Sweep

UNSEEN_SCENARIO = "sample_reading"
"""A scenario on whose test split neither model was trained."""

WHAT_IT_SHOWS = f"""\
The model `seen` prefers the records of {SEEN_SCENARIO} in the
order of their file to shuffled orders: it was trained on that file. The model
`unseen` has the same architecture and was trained on the same text without the
file; it shows no preference. Neither model shows one for {UNSEEN_SCENARIO},
whose test set neither was trained on. To test your own models:
  harness contamination test hf:MODEL --data mmlu:subject=anatomy --data-dir FOLDER
"""


def demonstration(models: Sequence[Path]) -> tuple[Sweep, Registry]:
    """Return the sweep that tests the quickstart's models."""
    data = (SEEN_SCENARIO, UNSEEN_SCENARIO)
    return contamination_sweep([f"hf:{path}" for path in models], data, suite="quickstart-contamination")
