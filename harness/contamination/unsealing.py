"""The tests of a sealed data set: what its key allows to ask of a model, and what the answers show."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.contamination.order_tests import details_of
from harness.contamination.roles import EXAMPLES_FILE, ORDER_TEST, SEALED_DYE, SEALED_TEXTS
from harness.contamination.sealing.key import SealKey
from harness.contracts.plugins import AdapterDetails, Kind
from harness.errors import DataError
from harness.plugins.registry import Registry, default_registry
from harness.statistics.families import holm
from harness.storage.results import RunRecord
from harness.sweeps.load import Sweep, sweep_from_mapping

TESTS = {"order": "published order", "twin": "published twins", "canary": "canaries", "dye": "dye"}
"""The tests in the order of reports, with their names."""


@dataclass(frozen=True, slots=True)
class UnsealedTest:
    """One test of one model."""

    model: str
    """The model's label."""
    kind: str
    """A key of ``TESTS``."""
    items: int
    """Number of items that were compared."""
    log10_p: float
    """Log10 of the exact p-value."""
    log10_p_holm: float
    """Log10 of it, corrected for the tests of this model by Holm."""
    alpha: float
    """The level."""
    found: Mapping[str, Any]
    """The metric's details, as in run.json."""

    @property
    def depends(self) -> bool:
        """True if the model depends on what was drawn, at the level."""
        return self.log10_p_holm <= math.log10(self.alpha)

    def as_json(self) -> dict[str, Any]:
        """Return the test as JSON values."""
        return {
            "model": self.model,
            "test": TESTS[self.kind],
            "items": self.items,
            "log10_p": self.log10_p,
            "log10_p_holm": self.log10_p_holm,
            "alpha": self.alpha,
            "depends": self.depends,
        }


def check_published(key: SealKey, published: Path) -> None:
    """Check that a file is the one that a key belongs to.

    Raises:
        DataError: It is not, or cannot be read.
    """
    try:
        digest = hashlib.sha256(published.read_bytes()).hexdigest()
    except OSError as error:
        reason = error.strerror or str(error)
        raise DataError(
            f"cannot be read: {reason}. The test of the order needs the published file, {key.header.published}; "
            "name it with --published.",
            file=published,
        ) from None
    if digest != key.header.published_sha256:
        raise DataError("is not the file that the key belongs to: its SHA-256 differs.", file=published)


def unsealing_sweep(
    models: Sequence[str],
    key: SealKey,
    key_file: Path,
    published: Path,
    suite: str,
    seed: int = 0,
    context: int | None = None,
) -> tuple[Sweep, Registry]:
    """Return the checked sweep that asks models everything that a key allows.

    Raises:
        DataError: The key allows no test.
        SpecError: A model is wrong; it holds all errors.
    """
    registry = default_registry()
    runs = unsealing_runs(key, key_file, published, registry, context)
    every = [{**run, "models": list(models)} for run in runs]
    return sweep_from_mapping({"suite": suite, "runs": every}, option="--key", seed=seed, registry=registry)


def unsealing_runs(
    key: SealKey,
    key_file: Path,
    published: Path,
    registry: Registry,
    context: int | None = None,
    copies: int | None = None,
) -> list[dict[str, Any]]:
    """Return the runs of a sweep that ask everything that a key allows; ``copies``, where known, is recorded.

    Raises:
        DataError: The key allows no test.
    """
    path = str(key_file.resolve())
    known = {} if copies is None else {"copies": copies}
    runs: list[dict[str, Any]] = []
    if key.header.shuffled:
        adapter = registry.with_role(Kind.ADAPTER, ORDER_TEST)
        main, *others = adapter.details.metrics if isinstance(adapter.details, AdapterDetails) else ()
        file = {"name": registry.with_role(Kind.SCENARIO, EXAMPLES_FILE).name, "path": str(published.resolve())}
        method = {"method": adapter.name, **known, **({"context": context} if context is not None else {})}
        runs.append({"scenario": file, "adapter": method, "metrics": [main, *others], "main_metric": main})
    texts, dye = (registry.with_role(Kind.SCENARIO, role).name for role in (SEALED_TEXTS, SEALED_DYE))
    for kind in key.kinds():
        own = {"name": dye, "path": path} if kind == "dye" else {"name": texts, "path": path, "kind": kind}
        runs.append({"scenario": {**own, **known}})
    if not runs:
        raise DataError("allows no test: nothing was drawn at random when it was made.", file=key_file)
    return runs


def unsealed(records: Sequence[RunRecord], key: SealKey, alpha: float) -> list[UnsealedTest]:
    """Return what the runs of :func:`unsealing_sweep` show, by model, corrected over each model's tests.

    The order of a sealed file was drawn at random, and its key says so. That is why the text's diagnostics, which guard
    against orders that were not, play no part here.
    """
    by_model: dict[str, dict[str, Mapping[str, Any]]] = {}
    for record in records:
        for kind, found in _tests(record):
            by_model.setdefault(record.spec.model.label, {})[kind] = found
    tests = []
    for model, found_by_kind in by_model.items():
        kinds = [kind for kind in TESTS if kind in found_by_kind]
        p_values = [_log10_p(found_by_kind[kind]) for kind in kinds]
        for kind, p_value, corrected in zip(kinds, p_values, holm(p_values, log10=True), strict=True):
            found = found_by_kind[kind]
            items = int(found.get("n_items") or found.get("n_used") or 0)
            tests.append(UnsealedTest(model, kind, items, p_value, corrected, alpha, found))
    return tests


def sealed_p_values(record: RunRecord) -> Iterator[tuple[str, float]]:
    """Yield the kind of test, a key of ``TESTS``, and log10 p of what a run of a sealed data set found."""
    for kind, found in _tests(record):
        yield kind, _log10_p(found)


def _tests(record: RunRecord) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for _, found in details_of(record):
        if "headline_log10_p" in found:
            yield "order", found
        elif "sealed_log10_p" in found:
            yield str(record.spec.scenario.arguments.get("kind", "dye")), found


def _log10_p(found: Mapping[str, Any]) -> float:
    return min(0.0, float(found.get("sealed_log10_p", found.get("headline_log10_p", 0.0))))
