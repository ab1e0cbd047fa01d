"""Plots of studies of the contamination test: p by shards, shuffled orders, size of the model, and copies of a seal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean
from typing import Any

from harness.contamination.order_tests import JudgedTest, details_of
from harness.contamination.unsealing import TESTS
from harness.leaderboard.site import plot_specs as draw
from harness.leaderboard.site.model_facts import facts_of
from harness.leaderboard.site.plot_specs import Plot
from harness.leaderboard.site.snapshot import Snapshot
from harness.output.display import brief

SHARDED = {"t-test": "log10_p_t", "exact test": "log10_p_exact"}
"""The tests of the shards by name, with the field of log10 p."""

_P = "log10 p (lower is more evidence)"


def lab_plots(snapshot: Snapshot) -> Iterator[tuple[str, Plot]]:
    """Yield the name and the plot of each study among the runs."""
    known = (finding for finding in snapshot.findings if finding.testable)
    tests = [finding for finding in known if finding.found.get("log10_p_exact") is not None]
    for name, words, field, held in (
        ("shards", "number of shards", "r", "shuffles"),
        ("shuffles", "shuffled orders of each shard", "shuffles", "r"),
    ):
        if plot := _by_setting(snapshot, tests, words, field, held):
            yield name, plot
    if plot := _by_size(snapshot):
        yield "model-sizes", plot
    if plot := _by_seal_copies(snapshot):
        yield "sealed", plot


def usual_tests(findings: Iterable[JudgedTest]) -> list[JudgedTest]:
    """Return one test of each model and testable order: the one that combines most tests, and of these the first.

    Studies of shards and shuffles test the same order with several settings.
    """

    def rank(test: JudgedTest) -> tuple[int, str, str]:
        return -int(test.found.get("headline_tests") or 0), test.record.started or "", test.record.name

    found: dict[int, JudgedTest] = {}
    for test in sorted((test for test in findings if test.testable), key=rank):
        found.setdefault(id((test.retest_of or test).found), test)
    return list(found.values())


def _by_setting(snapshot: Snapshot, tests: Sequence[JudgedTest], words: str, field: str, held: str) -> Plot | None:
    """Return p by a setting of the sharded test, a line for each data set whose other setting is the same."""
    groups: dict[tuple[Any, ...], dict[int, JudgedTest]] = {}
    for test in tests:
        same = (test.model, test.scenario, test.found.get("order_hash"), test.found.get(held))
        if isinstance(test.found.get(field), int):
            groups.setdefault(same, {})[test.found[field]] = test
    lines = {same: by_value for same, by_value in groups.items() if len(by_value) > 2}
    if not lines:
        return None
    names = _names(snapshot, [next(iter(by_value.values())) for by_value in lines.values()])
    rows = [
        [name, which, value, test.found[key]]
        for name, by_value in zip(names, lines.values(), strict=True)
        for which, key in SHARDED.items()
        for value, test in sorted(by_value.items())
        if test.found.get(key) is not None
    ]
    return Plot(
        f"p by {words}",
        f"Each line is a data set: log10 p of the sharded test by the {words}. Choose the number before looking at p: "
        "the smallest of several p-values is not a p-value.",
        [("data", "data set"), "test", (field, words), ("log10_p", "log10 p")],
        rows,
        draw.scatter(
            names, draw.axis(field, words, scale="log"), draw.axis("log10_p", _P), series="data", choice="test",
            lines=True, guides=[_guide([test for by_value in lines.values() for test in by_value.values()])],
        ),
    )  # fmt: skip


def _by_size(snapshot: Snapshot) -> Plot | None:
    """Return the mean of log10 p by a model's number of parameters, a line for each number of copies."""
    sizes = {}
    for model, runs in snapshot.by_model.items():
        fact = facts_of(runs).get("parameters")
        if fact and isinstance(fact[0], int):
            sizes[model] = fact[0]
    found: dict[tuple[int, str], dict[int, list[float]]] = {}
    for test in usual_tests(snapshot.findings):
        model, copies = snapshot.model(test.record), test.record.spec.adapter.arguments.get("copies")
        if model in sizes and isinstance(copies, int):
            by_size = found.setdefault((copies, test.record.suite), {})
            by_size.setdefault(sizes[model], []).append(test.log10_p)
    found = {key: by_size for key, by_size in found.items() if len(by_size) > 1}
    if not found:
        return None
    rows: list[list[Any]] = [
        [_counted(copies), size, fmean(values), len(values)]
        for (copies, _), by_size in sorted(found.items())
        for size, values in sorted(by_size.items())
    ]
    return Plot(
        "p by size of the model",
        "Each line is a number of copies in the training text: the mean of log10 p over data sets, by the model's "
        "number of parameters. Compare models that were trained on the same text.",
        ["copies", "parameters", ("log10_p", "mean log10 p"), ("count", "data sets")],
        rows,
        draw.scatter(
            list(dict.fromkeys(row[0] for row in reversed(rows))),
            draw.axis("parameters", "parameters", scale="log"),
            draw.axis("log10_p", f"mean {_P}"),
            series="copies",
            lines=True,
        ),
    )


def _by_seal_copies(snapshot: Snapshot) -> Plot | None:
    """Return the mean of log10 p of sealed data sets by copies in the training text, a line for each kind of test."""
    found: dict[str, dict[int, list[float]]] = {}
    for kind, copies, log10_p in _sealed(snapshot):
        found.setdefault(kind, {}).setdefault(copies, []).append(log10_p)
    kinds = [kind for kind in ("twin", "canary", "dye") if len(found.get(kind, ())) > 1]
    if not kinds:
        return None
    rows = [
        [TESTS[kind], copies, fmean(values), len(values)]
        for kind in kinds
        for copies, values in sorted(found[kind].items())
    ]
    return Plot(
        "Sealed data sets: p by copies in the training text",
        "Each line is a kind of test: the mean of log10 p over sealed data sets, by the number of copies of the "
        "published file in the training text. Data sets with 0 copies are controls.",
        ["test", "copies", ("log10_p", "mean log10 p"), ("count", "data sets")],
        rows,
        draw.scatter(
            [TESTS[kind] for kind in kinds],
            draw.axis("copies", "copies of the published file in the training text", scale="symlog"),
            draw.axis("log10_p", f"mean {_P}"),
            series="test",
            lines=True,
            guides=[{"y": -2.0, "words": "p = 0.01"}],
        ),
    )


def _sealed(snapshot: Snapshot) -> Iterator[tuple[str, int, float]]:
    for run in snapshot.runs:
        arguments = run.spec.scenario.arguments
        copies = arguments.get("copies")
        for _, found in details_of(run):
            if "sealed_log10_p" in found and isinstance(copies, int):
                yield str(arguments.get("kind", "dye")), copies, float(found["sealed_log10_p"])


def _counted(copies: int) -> str:
    return f"{copies} {'copy' if copies == 1 else 'copies'}"


def _names(snapshot: Snapshot, tests: Iterable[JudgedTest]) -> list[str]:
    """Return a different name for each test: its data set, rows and copies."""
    found = []
    for test in tests:
        arguments = test.record.spec.adapter.arguments
        rows, copies = arguments.get("rows"), arguments.get("copies")
        parts = [brief(snapshot.titles.run(test.record.spec.scenario), 40), f"[{rows}]" if rows else ""]
        parts.append(f"× {copies}" if isinstance(copies, int) else "")
        found.append(" ".join(part for part in parts if part))
    return list(draw.short_names(found).values()) if len(set(found)) == len(found) else _numbered(found)


def _numbered(names: Sequence[str]) -> list[str]:
    return [f"{name} ({number})" if names.count(name) > 1 else name for number, name in enumerate(names, 1)]


def _guide(tests: Sequence[JudgedTest]) -> draw.Json:
    level = min(test.alpha for test in tests)
    return {"y": math.log10(level), "words": f"p = {level:g}"}
