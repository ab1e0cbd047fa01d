"""The held-out test among runs: which rows were published, what to ask of models, and what the answers show."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.contamination.order_tests import details_of
from harness.contamination.roles import EXAMPLE_SCORES, EXAMPLES_FILE, HELD_OUT_FILE
from harness.contamination.statistics.held_out import (
    MOST_ENUMERATED,
    HeldOutResult,
    Split,
    held_out_test,
    smallest_p,
    split_at_random,
    split_of,
    telling_texts,
)
from harness.contracts.plugins import AdapterDetails, Kind
from harness.errors import DataError
from harness.plugins.registry import Registry, default_registry
from harness.runs.evaluation import prepare
from harness.storage.results import RunRecord
from harness.sweeps.load import Sweep, sweep_from_mapping

SCORES = {"logprob": "", "min_k": "_min_k"}
"""The scores to compare, with what follows the main metric's name: mean log-probability per token, Min-20% Prob."""


@dataclass(frozen=True, slots=True)
class HeldOutData:
    """A published file and the rows that were held back, as a model is asked about them."""

    published: Sequence[str]
    """The ids of the published rows."""
    held_out: Sequence[str]
    """The ids of the others."""
    split: Split
    """How they were split."""
    telling: Mapping[str, float]
    """p-values of whether the texts alone tell the files apart."""

    def untestable(self, alpha: float, draws: int) -> str:
        """Return why the files cannot be compared at the level; empty if they can be."""
        if not split_at_random(dict(self.telling)):
            found = ", ".join(f"{name} p = {p:.2g}" for name, p in self.telling.items())
            return f"the texts alone tell the files apart, so the split was not random ({found}, after Holm)"
        smallest = smallest_p(self.split, draws)
        if smallest <= alpha:
            return ""
        if self.split.ways > MOST_ENUMERATED:
            return f"with {draws} draws the smallest possible p-value is {smallest:.2g}, above the level {alpha:g}"
        needed, ways = 1, 2
        while ways <= MOST_ENUMERATED and ways < 1 / alpha:
            needed += 1
            ways = math.comb(2 * needed, needed)
        more = math.ceil(1 / alpha) - 1 if ways > MOST_ENUMERATED else 0
        return (
            f"these rows can be split in {self.split.ways} ways, so that the smallest possible p-value is "
            f"{smallest:.2g}, above the level {alpha:g}; {needed} different rows in each file are enough"
            + (f", with {more} draws" if more > draws else "")
        )


@dataclass(frozen=True, slots=True)
class HeldOutTest:
    """One model's test."""

    model: str
    """The model's label."""
    data: HeldOutData
    """The rows."""
    score: str
    """The score that was compared, a key of ``SCORES``."""
    alpha: float
    """The level."""
    result: HeldOutResult
    """What it found."""

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        return "depends on publication" if self.result.p <= self.alpha else "no dependence found"

    def as_json(self) -> dict[str, Any]:
        """Return the test as JSON values."""
        return {
            "model": self.model,
            "score": self.score,
            "n_published": len(self.data.published),
            "n_held_out": len(self.data.held_out),
            "n_left_out": self.data.split.left_out,
            "units": len(self.data.split.units),
            "difference": self.result.difference,
            "p": self.result.p,
            "ways": self.result.ways,
            "exact": self.result.exact,
            "texts_alone_p_holm": dict(self.data.telling),
            "alpha": self.alpha,
            "verdict": self.verdict,
        }


def held_out_sweep(
    models: Sequence[str], published: Path, held_out: Path, *, column: str | None = None, suite: str, seed: int = 0
) -> tuple[Sweep, Registry]:
    """Return the checked sweep that scores each row of both files, the published file's run first for each model.

    Raises:
        DataError: Both files are the same.
        SpecError: A model is wrong.
    """
    if published.resolve() == held_out.resolve():
        raise DataError("the published file and the file of held-out rows are the same.")
    registry = default_registry()
    adapter = registry.with_role(Kind.ADAPTER, EXAMPLE_SCORES)
    main, *others = adapter.details.metrics if isinstance(adapter.details, AdapterDetails) else ()
    runs = []
    for path, reads, role in ((published, EXAMPLES_FILE, "target"), (held_out, HELD_OUT_FILE, "control")):
        scenario = registry.with_role(Kind.SCENARIO, reads).name
        file = {"name": scenario, "path": str(path.resolve()), **({} if column is None else {"column": column})}
        method = {"method": adapter.name, "moments": False, "max_examples": 10**9, "role": role}
        runs.append({"scenario": file, "models": list(models), "adapter": method, "metrics": [main, *others],
                     "main_metric": main})  # fmt: skip
    return sweep_from_mapping({"suite": suite, "runs": runs}, option="--published", seed=seed, registry=registry)


def read_held_out(sweep: Sweep, registry: Registry, seed: int) -> HeldOutData:
    """Read both files of a sweep, and split their rows into units; no model is asked.

    Raises:
        DataError: A file cannot be read, or rows are in both files.
    """
    specs = {spec.scenario.label: spec for spec in sweep.runs}
    published, held_out = ([*prepare(spec, registry, None).instances()] for spec in specs.values())
    texts = [[one.published or one.input for one in file] for file in (published, held_out)]
    split = split_of(*texts)
    ids, private_ids = ([one.id for one in file] for file in (published, held_out))
    return HeldOutData(ids, private_ids, split, telling_texts(split, [*texts[0], *texts[1]], seed=seed))


def held_out_tests(
    records: Sequence[RunRecord], data: HeldOutData, *, score: str, draws: int, alpha: float, seed: int
) -> list[HeldOutTest]:
    """Return the test of each model that has scores of all rows of both files."""
    by_model: dict[str, dict[str, Mapping[str, float]]] = {}
    for record in records:
        for _, found in details_of(record):
            if found.get("heuristic"):
                scores = found["scores"].get(record.spec.main_metric + SCORES[score], {})
                by_model.setdefault(record.spec.model.label, {})[str(found.get("role"))] = scores
    tests = []
    for model, roles in by_model.items():
        ours, others = roles.get("target", {}), roles.get("control", {})
        if not (all(key in ours for key in data.published) and all(key in others for key in data.held_out)):
            continue
        values = [*(ours[key] for key in data.published), *(others[key] for key in data.held_out)]
        result = held_out_test(data.split, values, draws, seed)
        tests.append(HeldOutTest(model, data, score, alpha, result))
    return tests
