"""Microseconds that each perturbation takes for a text as long as IMDB's reviews, and how much it changes.

With ``HARNESS_DATA_DIR`` set the reviews are IMDB's own; without it, made of common words.

    python tests/benchmarks/perturbation_speed.py
"""

from __future__ import annotations

import itertools
import os
import time
from pathlib import Path

from harness import Instance, Reference, derive_rng
from harness.contracts.plugins import Kind, ScenarioDetails
from harness.data.source import open_data
from harness.errors import HarnessError
from harness.plugins.parameters import build
from harness.plugins.registry import default_registry

COUNT = 500
SENTENCE = "He is sure that Jack and his mother would not have watched these films with their friends because of it. "


def reviews() -> list[Instance]:
    """The first reviews of IMDB, or as many of the usual length (1,300 characters)."""
    folder = os.environ.get("HARNESS_DATA_DIR")
    registry = default_registry()
    plugin = registry.get(Kind.SCENARIO, "imdb")
    if folder and isinstance(plugin.details, ScenarioDetails):
        data = open_data(plugin.details, {"contrast_sets": False}, name="imdb", data_dir=Path(folder))
        return list(itertools.islice(build(plugin, data, arguments={})(), COUNT))
    answers = (Reference("Positive", True), Reference("Negative"))
    return [Instance(f"test-{number}", SENTENCE * 13, answers) for number in range(COUNT)]


def main() -> None:
    """Print microseconds per instance, the first call's loading of word lists left out."""
    instances = reviews()
    length = sum(len(instance.input) for instance in instances) / len(instances)
    print(f"{len(instances)} instances of {length:.0f} characters on average")
    registry = default_registry()
    for name in registry.names(Kind.PERTURBATION):
        plugin = registry.get(Kind.PERTURBATION, name)
        if plugin.target is None:
            continue
        perturb = build(plugin, arguments={})
        try:
            perturb(instances[0], derive_rng(0, name))
        except HarnessError as error:
            print(f"{name:<16}{error}")
            continue
        start = time.perf_counter()
        changed = [perturb(instance, derive_rng(0, f"{name}/{instance.id}")) for instance in instances]
        seconds = time.perf_counter() - start
        pairs = [len(instance.meta["perturbed"]) for instance in changed]
        touched = sum(map(bool, pairs)) / len(pairs)
        average = sum(pairs) / len(pairs)
        print(
            f"{name:<16}{seconds / len(instances) * 1e6:>8.0f} µs  {touched:>6.1%} changed  {average:>6.1f} pairs noted"
        )


if __name__ == "__main__":
    main()
