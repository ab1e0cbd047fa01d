"""The quickstart's contamination test: a set that one of two models has seen, and a set that neither has."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.contamination.sweep import ContaminationPlan
from harness.quickstart.checkpoints import SEEN_SCENARIO

UNSEEN_SCENARIO = "sample_reading"
"""A scenario whose test split neither model has read."""

WHAT_IT_PROVES = f"""\
The model `seen` prefers the records of {SEEN_SCENARIO} in the
order of their file to other orders of the same records; only a model that has
met that file can. The model `unseen`, of the same architecture and training
text, does not, and neither model does so with {UNSEEN_SCENARIO}, whose test set
was shown to none. Try it on a model and data of your own:
  harness contamination test hf:MODEL --data mmlu:subject=anatomy --data-dir FOLDER
"""


def demonstration(models: Sequence[Path]) -> ContaminationPlan:
    """Return the plan of the tests of the quickstart's models."""
    return ContaminationPlan(
        models=tuple(f"hf:{path}" for path in models),
        data=(SEEN_SCENARIO, UNSEEN_SCENARIO),
        suite="quickstart-contamination",
    )
