"""What the log of a training shows of an evaluation: one number for each run, under a name that does not change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from harness.contracts.specs import RunSpec
from harness.leaderboard.cells import main_stat
from harness.storage.results import RunRecord
from harness.storage.run_labels import distinctions

PREFIX = "eval_harness/"
"""How each name begins. The Trainer, W&B and TensorBoard take ``eval_`` for the mark of an evaluation."""

SECONDS = f"{PREFIX}seconds"
UNFINISHED = f"{PREFIX}unfinished"
"""Number of runs without a result: out of time, or failed."""


def metric_names(specs: Sequence[RunSpec]) -> dict[str, str]:
    """Return the name of each run's main metric, ``eval_harness/boolq/quasi_exact_match``, by the run's question.

    If several runs share scenario and metric, the name has the settings in which they differ, as in progress lines.
    """

    def label(spec: RunSpec) -> str:
        return f"{spec.scenario.label}/{spec.main_metric}"

    ends = distinctions(specs, label)
    return {
        spec.question: f"{PREFIX}{spec.scenario.label}{end.replace(' ', '')}/{spec.main_metric}"
        for spec, end in zip(specs, ends, strict=True)
    }


def logged_metrics(records: Iterable[RunRecord], names: Mapping[str, str]) -> dict[str, float]:
    """Return the numbers of finished runs by their names in logs, with standard errors; a failed run has none."""
    found: dict[str, float] = {}
    for record in records:
        stat = main_stat(record) if record.status == "ok" else None
        if stat is not None:
            name = names[record.spec.question]
            found[name] = stat.mean
            if stat.stderr is not None:
                found[f"{name}_stderr"] = stat.stderr
    return found
