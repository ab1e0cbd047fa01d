"""The tests of a sealed data set: what its key allows to ask of a model, and what the answers show."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from harness.contamination.failed_tests import failure_reason
from harness.contamination.order_tests import details_of
from harness.contamination.roles import EXAMPLES_FILE, ORDER_TEST, SEALED_DYE, SEALED_TEXTS
from harness.contamination.sealing.key import DyeQuestion, SealKey
from harness.contamination.statistics.dye import sentence_tokens
from harness.contamination.statistics.verdict import Verdict
from harness.contracts.plugins import AdapterDetails, Kind, ScenarioDetails
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
    alpha: float
    """The level."""
    items: int = 0
    """Number of items that were compared."""
    log10_p: float | None = None
    """Log10 of the exact p-value; None for a test that failed, or of too few rows."""
    log10_p_holm: float | None = None
    """Log10 of it, corrected by Holm for the tests of this model that have one."""
    found: Mapping[str, Any] = field(default_factory=dict)
    """The metric's details, as in run.json."""
    cut: CutAnswers | None = None
    """Answers of the dye test that ended too early to be read; None if there are none."""
    error: str = ""
    """Why the test failed; empty if it did not."""

    @property
    def depends(self) -> bool | None:
        """True if the model depends on what was drawn, at the level; None without a p-value."""
        return None if self.log10_p_holm is None else self.log10_p_holm <= math.log10(self.alpha)

    @property
    def note(self) -> str:
        """Why the test was not possible, or which answers were cut; usually empty."""
        if self.why_not_testable:
            return f"{TESTS[self.kind]} {Verdict.NOT_TESTABLE}: {self.why_not_testable}"
        return str(self.cut or "")

    @property
    def why_not_testable(self) -> str:
        """Why there are too few rows for a p-value; empty if there are enough."""
        return _why_not_testable(self.found)

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
            **({"cut_answers": asdict(self.cut)} if self.cut else {}),
            **({"not_testable": self.why_not_testable} if self.why_not_testable else {}),
            **({"error": self.error} if self.error else {}),
        }


@dataclass(frozen=True, slots=True)
class CutAnswers:
    """Dye answers that ended before an option could be read, which count as wrong."""

    answers: int
    """Number of answers."""
    cut: int
    """Of these, the number that ended at ``max_tokens``."""
    max_tokens: int
    """Most tokens of an answer."""
    enough_tokens: int
    """A ``max_tokens`` that should be enough, estimated from the length of the options."""
    unfinished_reasoning: int
    """The number that ended while the model was still reasoning, which ``max_tokens`` does not limit."""

    def __str__(self) -> str:
        told = []
        if self.cut:
            told.append(
                f"{self.cut:,} of {self.answers:,} dye answers were cut at max_tokens {self.max_tokens} before an "
                f"option could be read, and count as wrong. About {self.enough_tokens} should be enough: --max-tokens "
                f"{self.enough_tokens}."
            )
        if self.unfinished_reasoning:
            told.append(
                f"{self.unfinished_reasoning:,} of {self.answers:,} dye answers have no text, since the model was "
                "still reasoning, and count as wrong. They need a larger reasoning.budget_tokens in the model's entry."
            )
        return " ".join(told)


def cut_answers(found: Iterable[Mapping[str, Any]], key: SealKey) -> CutAnswers | None:
    """Return how many answers of dye tests were cut, given the metric's details; None if none were.

    Args:
        found: The details of tests with this key, or with keys whose options have about the same length.
        key: The key.
    """
    tests = [one for one in found if one.get("max_tokens")]
    cut, unfinished = (sum(one.get(name) or 0 for one in tests) for name in ("cut", "unfinished_reasoning"))
    if not cut and not unfinished:
        return None
    limit = max(one["max_tokens"] for one in tests)
    answers = sum(one["n_items"] for one in tests)
    return CutAnswers(answers, cut, limit, sentence_tokens(_dye_options(key), limit), unfinished)


def dye_advice(key: SealKey, registry: Registry) -> str:
    """Return advice on ``max_tokens`` for the dye test of a key; empty for a key without dye."""
    options = _dye_options(key)
    if not options:
        return ""
    details = registry.with_role(Kind.SCENARIO, SEALED_DYE).details
    adapter = details.adapter if isinstance(details, ScenarioDetails) else {}
    limit = {} if callable(adapter) else adapter
    return (
        f"Answers to dye questions have at most {limit.get('max_tokens', 1)} tokens, enough for a letter. If a model "
        f"answers in sentences, test it with --max-tokens {sentence_tokens(options)}."
    )


def _dye_options(key: SealKey) -> list[str]:
    return [option for item in key.items if isinstance(item, DyeQuestion) for option in item.options]


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
    published: Path | None,
    suite: str,
    seed: int = 0,
    context: int | None = None,
    max_tokens: int | None = None,
) -> tuple[Sweep, Registry]:
    """Return the checked sweep with all tests that a key allows; see :func:`unsealing_runs`.

    Raises:
        DataError: The key allows no test.
        SpecError: A model is wrong; it holds all errors.
    """
    registry = default_registry()
    runs = unsealing_runs(key, key_file, published, registry, context, max_tokens=max_tokens)
    every = [{**run, "models": list(models)} for run in runs]
    return sweep_from_mapping({"suite": suite, "runs": every}, option="--key", seed=seed, registry=registry)


def unsealing_runs(
    key: SealKey,
    key_file: Path,
    published: Path | None,
    registry: Registry,
    context: int | None = None,
    copies: int | None = None,
    max_tokens: int | None = None,
) -> list[dict[str, Any]]:
    """Return the runs of a sweep with all tests that a key allows.

    Args:
        key: The key.
        key_file: Its file.
        published: The published file; None to leave out the test of the order, which needs it.
        registry: Knows the plugins.
        context: Context length of the test of the order, in tokens; None for the model's window.
        copies: Number of copies in the model's training text, if known; it is only recorded.
        max_tokens: Most tokens of an answer to a dye question; None for the scenario's own.

    Raises:
        DataError: The key allows no test.
    """
    path = str(key_file.resolve())
    known = {} if copies is None else {"copies": copies}
    runs: list[dict[str, Any]] = []
    if key.header.shuffled and published is not None:
        adapter = registry.with_role(Kind.ADAPTER, ORDER_TEST)
        main, *others = adapter.details.metrics if isinstance(adapter.details, AdapterDetails) else ()
        file = {"name": registry.with_role(Kind.SCENARIO, EXAMPLES_FILE).name, "path": str(published.resolve())}
        method = {"method": adapter.name, "drawn_at_random": True, **known}
        method |= {} if context is None else {"context": context}
        runs.append({"scenario": file, "adapter": method, "metrics": [main, *others], "main_metric": main})
    texts, dye = (registry.with_role(Kind.SCENARIO, role).name for role in (SEALED_TEXTS, SEALED_DYE))
    for kind in key.kinds():
        own = {"name": dye, "path": path} if kind == "dye" else {"name": texts, "path": path, "kind": kind}
        longer = {"adapter": {"max_tokens": max_tokens}} if kind == "dye" and max_tokens is not None else {}
        runs.append({"scenario": {**own, **known}, **longer})
    if not runs:
        raise DataError("allows no test: nothing was drawn at random when it was made.", file=key_file)
    return runs


def unsealed(
    records: Sequence[RunRecord], key: SealKey, alpha: float, registry: Registry, no_order: str = ""
) -> list[UnsealedTest]:
    """Return what the runs of :func:`unsealing_sweep` show, by model, corrected over each model's tests.

    Args:
        records: The runs.
        key: The key.
        alpha: The level.
        registry: Knows the plugins.
        no_order: Why there are no runs of the test of the order; empty if there are.
    """
    by_model: dict[str, dict[str, UnsealedTest]] = {}
    for record in records:
        model = record.spec.model.label
        own = by_model.setdefault(model, {})
        if no_order:
            own["order"] = UnsealedTest(model, "order", alpha, error=no_order)
        for kind, found in _tests(record):
            items = int(found.get("n_items") or found.get("n_used") or 0)
            cut = cut_answers([found], key) if kind == "dye" else None
            own[kind] = UnsealedTest(model, kind, alpha, items, _log10_p(found), found=found, cut=cut)
        if record.status != "ok":
            kind = _kind(record, registry)
            own[kind] = UnsealedTest(model, kind, alpha, error=failure_reason(record))
    return [test for own in by_model.values() for test in _corrected(own)]


def _corrected(tests: Mapping[str, UnsealedTest]) -> Iterator[UnsealedTest]:
    """Yield a model's tests in the order of reports, those with a p-value corrected by Holm."""
    p_values = {kind: tests[kind].log10_p for kind in TESTS if kind in tests}
    tested = {kind: p_value for kind, p_value in p_values.items() if p_value is not None}
    corrected = dict(zip(tested, holm(list(tested.values()), log10=True), strict=True))
    for kind in p_values:
        yield replace(tests[kind], log10_p_holm=corrected.get(kind))


def _kind(record: RunRecord, registry: Registry) -> str:
    """Return which of ``TESTS`` a run is, whether or not it finished."""
    if record.spec.adapter.name == registry.with_role(Kind.ADAPTER, ORDER_TEST).name:
        return "order"
    return str(record.spec.scenario.arguments.get("kind", "dye"))


def sealed_p_values(record: RunRecord) -> Iterator[tuple[str, float]]:
    """Yield the kind of test, a key of ``TESTS``, and log10 p of what a run of a sealed data set found."""
    for kind, found in _tests(record):
        if (log10_p := _log10_p(found)) is not None:
            yield kind, log10_p


def _tests(record: RunRecord) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for _, found in details_of(record):
        if "headline_log10_p" in found:
            yield "order", found
        elif "sealed_log10_p" in found:
            yield str(record.spec.scenario.arguments.get("kind", "dye")), found


def _why_not_testable(found: Mapping[str, Any]) -> str:
    """Return why there is no p-value; '' if there is one.

    The diagnostics of the text play no part: they guard against orders that were not drawn at random, and the key says
    that this one was.
    """
    return "" if found.get("testable", True) else str(found.get("not_testable") or "too few rows")


def _log10_p(found: Mapping[str, Any]) -> float | None:
    if _why_not_testable(found):
        return None
    return min(0.0, float(found.get("sealed_log10_p", found.get("headline_log10_p", 0.0))))
