"""The exhibits of Oren et al. 2023: which models are trained for them, and what these are tested on.

Exhibits share models. One model per size reads slices of one test set with different numbers of copies; the first size
also gets a model that reads the ten test sets of table 1::

    table 1, Min-K%           first size, ten test sets
    duplication               first size, one test set with 0, 1, 2, … copies
    shards, shuffles          the same model, its slices with many copies
    model sizes               every size, the same slices
    table 2                   the models that the user names
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.contamination.lab.checkpoints import CheckpointPlan
from harness.contamination.lab.injections import Injection
from harness.contamination.lab.presets import preset_named
from harness.contamination.lab.study import TABLE_1, dose_slices, example_file, slice_run, table_1_slices
from harness.contamination.roles import EXAMPLE_SCORES, ORDER_TEST
from harness.contracts.plugins import Kind
from harness.plugins.registry import Registry

FOLDER = "test_set_contamination"
"""The paper's repository in the data folder; its test sets lie in the folder itself."""

DOSED_FILE = "piqa.jsonl"
"""The test set of all exhibits but the tables."""

DOSES = (0, 1, 2, 4, 10, 25, 50)
"""Numbers of copies of its slices."""

MANY = 10
"""Fewest copies of the slices whose p-value is shown by number of shards and shuffles; fewer leave nothing to see."""

REPEATS = 2
"""Slices for each number of copies."""

SHARDS = (2, 4, 5, 8, 10, 20)
"""Numbers of shards; a shard needs two examples."""

SHUFFLES = (2, 5, 10, 25, 50)
"""Numbers of shuffled orders of each shard."""

FEWEST_SHUFFLED = 20
"""Fewest examples of a slice for `shuffles`: with fewer, shards have too few orders for a p-value below .01."""

FALSE_POSITIVES = 0.05
"""Share of the controls above the threshold of a membership score."""

EXHIBITS: Mapping[str, str] = {
    "table1": "Table 1: ten test sets with known numbers of copies",
    "table2": "Table 2: benchmarks and open models",
    "duplication": "p by number of copies",
    "shards": "p by number of shards",
    "shuffles": "p by number of shuffled orders",
    "model-sizes": "p by size of the model",
    "min-k": "Min-K% at 5 % false positives, and the sharded test",
    "false-alarms": "False alarms: how often each test rejects without contamination",
}
"""The exhibits in order, with their titles; the simulated one is last."""

SUITES: Mapping[str, tuple[str, ...]] = {
    "table1": ("table1",),
    "table2": ("table2",),
    "duplication": ("copies",),
    "shards": ("shards",),
    "shuffles": ("shuffles",),
    "model-sizes": ("copies",),
    "min-k": ("table1", "min-k"),
    "false-alarms": ("table1",),
}
"""The suites that each exhibit shows."""

_OF_TABLE_1 = {"table1", "table2", "min-k", "false-alarms"}
_OF_COPIES = {"duplication", "shards", "shuffles", "model-sizes"}


@dataclass(frozen=True, slots=True)
class Paper:
    """Everything that determines the exhibits."""

    data: Path
    """The data folder."""
    output: Path
    """The folder of models and results."""
    examples: int | None = 40
    """Examples of each slice; None for whole test sets in table 1, and 40 in the others."""
    presets: tuple[str, ...] = ("tiny", "small", "medium")
    """Sizes of models; the first is that of all exhibits but the model sizes."""
    permutations: int = 99
    """Most orders of the simple permutation test; 99 give p = 0.01 at best."""
    background: Path | None = None
    """A folder of background text; None for generated text."""
    characters: int | None = 300_000
    """Number of characters of background; None for all of a folder, or 600,000 generated ones."""
    seed: int = 0
    """Seeds the slices, the background and the weights."""

    def table_1(self) -> tuple[Path, CheckpointPlan]:
        """Return the folder and the plan of the model of table 1.

        Raises:
            DataError: A test set is missing.
        """
        slices = table_1_slices(self.data / FOLDER, examples=self.examples)
        return self._checkpoint("table1", self.presets[0], slices)

    def dosed(self, preset: str) -> tuple[Path, CheckpointPlan]:
        """Return the folder and the plan of the model that read slices with different numbers of copies.

        Raises:
            DataError: The test set is missing or too short.
        """
        file = example_file(self.data / FOLDER, DOSED_FILE)
        slices = dose_slices(file, DOSES, examples=self.examples or 40, repeats=REPEATS, seed=self.seed)
        return self._checkpoint("copies", preset, slices)

    @property
    def table_1_folder(self) -> Path:
        """The folder of the model of table 1."""
        return self._folder("table1", self.presets[0])

    def test_sets(self, exhibits: Collection[str]) -> Sequence[str]:
        """Return the files of the paper's repository that exhibits need."""
        if _OF_TABLE_1 & set(exhibits):
            return list(TABLE_1)
        return [DOSED_FILE] if _OF_COPIES & set(exhibits) else []

    def checkpoints(self, exhibits: Collection[str]) -> dict[Path, CheckpointPlan]:
        """Return the plans of the models that exhibits need, by folder.

        Raises:
            DataError: A test set is missing or too short.
        """
        found = []
        if _OF_TABLE_1 & set(exhibits):
            found.append(self.table_1())
        if _OF_COPIES & set(exhibits):
            found.append(self.dosed(self.presets[0]))
        if "model-sizes" in exhibits:
            found += [self.dosed(preset) for preset in self.presets[1:]]
        return dict(found)

    def problem(self, exhibit: str) -> str:
        """Return why an exhibit would have nothing to show with these settings, or an empty string."""
        if exhibit == "min-k" and self.examples is None:
            return "min-k needs the controls of table 1, and whole files leave none."
        fewest = {"min-k": round(1 / FALSE_POSITIVES), "shuffles": FEWEST_SHUFFLED}.get(exhibit, 0)
        enough = self.examples is None or self.examples >= fewest
        return "" if enough else f"{exhibit} needs --examples {fewest} or more."

    def suites(self, exhibits: Collection[str], registry: Registry) -> dict[str, list[dict[str, Any]]]:
        """Return the runs that test the models of exhibits, by suite; those of table 2 are not among them."""
        wanted = set(exhibits)
        method = registry.with_role(Kind.ADAPTER, ORDER_TEST).name
        found: dict[str, list[dict[str, Any]]] = {}
        if {"table1", "min-k", "false-alarms"} & wanted:
            both = {"method": method, "simple": {"most": self.permutations}}
            found["table1"] = [slice_run(*one, both, registry) for one in _slices(self.table_1())]
        if "min-k" in wanted:
            scores = {"method": registry.with_role(Kind.ADAPTER, EXAMPLE_SCORES).name}
            found["min-k"] = [slice_run(*one, scores, registry) for one in _slices(self.table_1())]
        presets = self.presets if "model-sizes" in wanted else self.presets[:1] if "duplication" in wanted else ()
        if presets:
            tested = [one for preset in presets for one in _slices(self.dosed(preset))]
            found["copies"] = [slice_run(*one, {"method": method}, registry) for one in tested]
        size = self.examples or 40
        for name, counts in {"shards": [n for n in SHARDS if 2 * n <= size], "shuffles": SHUFFLES}.items():
            if name in wanted:
                many = [one for one in _slices(self.dosed(self.presets[0])) if one[1].copies >= MANY]
                shards = {"method": method, "neighbours": None, "first_look": None}
                found[name] = [slice_run(*one, {**shards, name: n}, registry) for one in many for n in counts]
        return found

    def _checkpoint(self, name: str, preset: str, slices: tuple[Injection, ...]) -> tuple[Path, CheckpointPlan]:
        plan = CheckpointPlan(slices, preset_named(preset), self.background, self.characters, self.seed)
        return self._folder(name, preset), plan

    def _folder(self, name: str, preset: str) -> Path:
        return self.output / "models" / f"{name}-{preset}-{self.seed}"


def _slices(checkpoint: tuple[Path, CheckpointPlan]) -> list[tuple[Path, Injection]]:
    folder, plan = checkpoint
    return [(folder, one) for one in plan.injections]


def training_seconds(plan: CheckpointPlan) -> float:
    """Estimate the time that training takes on one core.

    It assumes three characters for a token, and the speed that was measured for one core of a server of 2022.
    """
    recipe = plan.recipe
    background = plan.characters or 600_000
    tokens = (background + sum(one.copies * len(one.document) for one in plan.injections)) / 3.0
    weights = 12 * recipe.layers * recipe.width**2 + recipe.vocabulary * recipe.width
    return 6 * tokens * weights / OPERATIONS


OPERATIONS = 3e10
"""Floating-point operations a second of one core in training."""
