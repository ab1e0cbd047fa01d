"""Which of the seven categories were computed for which scenario, as a Markdown table, from the records of a suite.

A cell is the number of metrics that have a statistic in at least one run that is ok: for robustness and fairness those
on perturbed copies or of groups, for the others those on the instances as they are.

    harness run holistic_stand_ins -m hf:./a -m hf:./b --max-eval-instances 20
    python tests/benchmarks/categories_computed.py results/holistic_stand_ins
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

from harness.contracts.plugins import Kind, ScenarioDetails
from harness.plugins.registry import default_registry
from harness.storage.results import RunRecord, find_runs

CATEGORIES = ("accuracy", "calibration", "robustness", "fairness", "bias", "toxicity", "efficiency")
PERTURBED = {"robustness", "fairness"}


def computed(records: list[RunRecord]) -> dict[str, set[str]]:
    """Return the metrics of each category that some run has a statistic of."""
    metrics: dict[str, set[str]] = defaultdict(set)
    for record in records:
        for stat in record.stats:
            if stat.overall or stat.category in PERTURBED:
                metrics[stat.category].add(stat.metric)
    return metrics


def main() -> None:
    folder = Path(sys.argv[1])
    registry = default_registry()
    by_scenario: dict[str, list[RunRecord]] = defaultdict(list)
    for record in find_runs(folder.parent, [folder.name]):
        if record.status == "ok":
            by_scenario[record.spec.scenario.name].append(record)
    print(f"| scenario | runs | examples | {' | '.join(CATEGORIES)} |")
    print("|---|" + "--:|" * (len(CATEGORIES) + 2))
    for name, records in by_scenario.items():
        details = registry.get(Kind.SCENARIO, name).details
        title = details.title if isinstance(details, ScenarioDetails) else name
        metrics = computed(records)
        counts = [str(len(metrics[category])) if metrics[category] else "–" for category in CATEGORIES]
        examples = sum(int(record.efficiency["examples"]) for record in records)
        print(f"| {title} | {len(records)} | {examples:,} | {' | '.join(counts)} |")


if __name__ == "__main__":
    main()
