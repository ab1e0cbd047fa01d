"""Plots of the contamination test: published against shuffled orders, and evidence by number of copies read."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from harness.contamination.order_tests import JudgedTest
from harness.leaderboard.site import plot_specs as draw
from harness.leaderboard.site.addresses import address_of
from harness.leaderboard.site.files import SiteFolder
from harness.leaderboard.site.lab_plots import lab_plots, usual_tests
from harness.leaderboard.site.plot_specs import Plot
from harness.leaderboard.site.snapshot import Snapshot
from harness.output.display import brief
from harness.plugins.titles import Titles

ALPHA = 0.01
"""The level of a verdict if a finding does not state its own."""

# The names that harness lab gives to the parts of test sets on which it trains a model.
_COPIES = re.compile(r"_x([0-9]{1,6})\.[a-z]")


def write_contamination_plots(snapshot: Snapshot, folder: SiteFolder) -> None:
    """Write ``plots/contamination``, the list, and ``plots/contamination/NAME``.

    A finding's plot has the name of its key, ``ADDRESS.SPLIT``; the one of all copies is named ``copies``.
    """
    listed = []
    for finding in snapshot.findings:
        if plot := shuffles_plot(finding, snapshot.titles):
            name = f"{address_of(finding.record)}.{finding.split}"
            folder.put(f"plots/contamination/{name}", plot.as_json())
            listed.append([name, plot.title, "orders"])
    if plot := copies_plot(snapshot, snapshot.findings):
        folder.put("plots/contamination/copies", plot.as_json())
        listed.insert(0, ["copies", plot.title, "copies"])
    for name, plot in lab_plots(snapshot):
        folder.put(f"plots/contamination/{name}", plot.as_json())
        listed.append([name, plot.title, "copies"])
    folder.put("plots/contamination", {"title": "contamination", "plots": listed})


def shuffles_plot(finding: JudgedTest, titles: Titles | None = None) -> Plot | None:
    """Return, for each shard, the log-likelihood of the published order among the shuffled ones."""
    shards = finding.found.get("shard_scores")
    rows: list[list[Any]] = []
    for number, shard in enumerate(shards if isinstance(shards, Sequence) else (), start=1):
        shuffled = shard.get("shuffled") if isinstance(shard, Mapping) else None
        if not shuffled:
            continue
        middle = fmean(shuffled)
        rows += [[number, "shuffled", value, value - middle] for value in shuffled]
        rows.append([number, "published", shard["canonical"], shard["canonical"] - middle])
    if not rows:
        return None
    label = brief((titles or Titles()).run(finding.record.spec.scenario), 60)
    return Plot(
        f"{label}: the published order among shuffled ones",
        "Each line is a shard of the data set. The point is the published order, the ticks are shuffled orders, placed "
        "by how much more probable they are than the average shuffled order. For a model that has not learnt the "
        "order, points lie among the ticks; points to the right of them are evidence that it has.",
        ["shard", "order", ("log_likelihood", "log-likelihood"), ("difference", "difference from the shuffled mean")],
        rows,
        draw.ranking(
            "shard",
            sorted({row[0] for row in rows}),
            draw.axis("difference", "log-likelihood − mean of the shuffled orders, in nats"),
            series="order",
            points=("order", "published"),
        ),
    )


def copies_plot(snapshot: Snapshot, findings: Sequence[JudgedTest]) -> Plot | None:
    """Return log10 p over the number of copies that a model has read, if at least two numbers are known."""
    known = [(finding, copies) for finding in usual_tests(findings) if (copies := copies_of(finding)) is not None]
    if len({copies for _, copies in known}) < 2:
        return None
    labels = draw.short_names(sorted({snapshot.model(finding.record) for finding, _ in known}))
    rows = [
        [
            labels[snapshot.model(finding.record)],
            brief(snapshot.titles.run(finding.record.spec.scenario), 60),
            copies,
            finding.log10_p,
            finding.verdict,
        ]
        for finding, copies in known
    ]
    alphas = [value for finding, _ in known if isinstance(value := finding.found.get("alpha"), float)]
    return Plot(
        "Evidence over copies in the training text",
        "Each point is a data set: log10 of the headline p-value, by the number of copies in the training text. Below "
        "the dashed line the test reports dependence on the published order. Controls are at 0 copies.",
        ["model", ("data", "data set"), "copies", ("log10_p", "log10 p"), "verdict"],
        rows,
        draw.scatter(
            list(labels.values()),
            draw.axis("copies", "copies of the data set in the training text", scale="symlog"),
            draw.axis("log10_p", "log10 p (lower is more evidence)"),
            guides=[{"y": math.log10(min(alphas, default=ALPHA)), "words": f"p = {min(alphas, default=ALPHA):g}"}],
        ),
    )


def copies_of(finding: JudgedTest) -> int | None:
    """Return how often the data set was in the model's training text, if the run says so; else None.

    The test's fields or the scenario's parameters may have ``copies``, or the data may be a file whose name, given by
    ``harness lab``, contains it.
    """
    for place in (finding.found, finding.record.spec.scenario.arguments):
        value = place.get("copies")
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    data = finding.record.provenance.get("data")
    files = data.get("files") if isinstance(data, Mapping) else None
    for file in files if isinstance(files, Sequence) else ():
        if isinstance(file, Mapping) and (found := _COPIES.search(str(file.get("path", "")))):
            return int(found[1])
    return None
