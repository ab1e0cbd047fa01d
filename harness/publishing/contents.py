"""The files of a published data set, made of a results folder."""

from __future__ import annotations

import hashlib
import os
import re
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

from harness.exports.output_folder import portable_name
from harness.exports.stored_run import StoredRun
from harness.plugins.registry import Registry
from harness.publishing.card import card
from harness.publishing.other_suites import OtherSuites
from harness.publishing.public_run import PublicRun, public_runs
from harness.publishing.secrets import SecretCheck
from harness.publishing.tables import (
    RUNS,
    SAMPLES,
    SCORES,
    STATS,
    Row,
    run_row,
    sample_rows,
    score_rows,
    stat_rows,
    write_table,
)
from harness.storage.durable import writing
from harness.storage.results import RUN_FILE, write_run

_CANARIES = uuid.UUID("6f0f2d0e-57f4-5c8b-9d0c-7a1d5a7c2b11")
"""Makes the canary of a repository from its name."""

NO_OTHERS = OtherSuites()

TABLES: Mapping[str, str] = {
    "runs": "one row for each run, with its main result",
    "stats": "one row for each statistic of each run",
    "scores": "one row for each score of each sample, without texts",
    "samples": "one row for each sample, with questions, answers and references",
}
"""The tables, each a configuration of the data set, and what their rows are."""


@dataclass(frozen=True)
class Contents:
    """The files that will be published."""

    folder: Path
    """The folder that holds them, and nothing else."""
    runs: list[PublicRun]
    """The runs."""
    rows: dict[str, int]
    """Number of rows of each table's file."""
    others: OtherSuites
    """Rows and tables of other suites, which stay in the repository."""
    canary: str
    """Text by which models that were trained on the samples can be recognized; empty without samples."""
    notes: list[str] = field(default_factory=list)
    """Sentences that a user should read."""

    @property
    def tables(self) -> list[str]:
        """The tables of the data set, including those of other suites."""
        own = {file.split("/")[1] for file in self.rows}
        return [name for name in TABLES if name in own | self.others.tables]

    def has_rows(self, table: str) -> bool:
        """Return True if a table has rows of the published suites."""
        return any(file.startswith(f"data/{table}/") for file in self.rows)

    @property
    def files(self) -> list[str]:
        """The paths of the files, sorted, with ``/`` between folders."""
        return sorted(file.relative_to(self.folder).as_posix() for file in self.folder.rglob("*") if file.is_file())


def build_contents(
    runs: Sequence[StoredRun],
    folder: Path,
    repository: str,
    registry: Registry,
    *,
    samples: bool = False,
    site: bool = False,
    token: str | None = None,
    others: OtherSuites = NO_OTHERS,
) -> Contents:
    """Write the files of a published data set.

    Args:
        runs: The runs.
        folder: An empty folder.
        repository: ``owner/name`` of the data set.
        registry: The plugins.
        samples: True to publish the texts of samples as well.
        site: True to add the web site, which then shows no samples.
        token: The token for the Hub, which must not be in any file.
        others: What the repository has of suites that are not among the runs.

    Raises:
        HarnessError: A file would hold a secret, two runs could not be told apart, or a file cannot be written.
    """
    check = SecretCheck(token=token)
    public = public_runs(runs)
    notes: list[str] = []
    canary = f"Do not train on this data. canary GUID {uuid.uuid5(_CANARIES, repository)}"
    tables: dict[str, tuple[Mapping[str, str], Callable[[PublicRun], Iterator[Row]], list[PublicRun]]] = {
        "runs": (RUNS, lambda run: iter([run_row(run)]), public),
        "stats": (STATS, stat_rows, public),
        "scores": (SCORES, score_rows, public),
    }
    if samples:
        withheld = [(_withheld(run, registry), run) for run in public]
        for reason, sentence in _WITHHELD.items():
            if names := sorted({run.record.spec.scenario.name for kind, run in withheld if kind == reason}):
                notes.append(sentence.format(", ".join(names)))
        free = [run for reason, run in withheld if not reason]
        tables["samples"] = (SAMPLES, lambda run: sample_rows(run, canary), free)
    rows = {}
    with writing(folder):
        for name, (columns, make, of) in tables.items():
            for suite in sorted({run.record.suite for run in of}):
                file = folder / "data" / name / f"{portable_name(suite)}.parquet"
                made = chain.from_iterable(make(run) for run in of if run.record.suite == suite)
                count = write_table(file, columns, made, check, f"the table of {name}")
                if count:
                    rows[file.relative_to(folder).as_posix()] = count
        results = folder / "results"
        for run in public:
            place = results / portable_name(run.record.suite) / portable_name(run.record.name)
            write_run(replace(run.record, directory=place))
            os.utime(place / RUN_FILE, (0, 0))  # which the site's files depend on
            check.check((place / RUN_FILE).read_text(encoding="utf-8"), f"the record of {run.stored.record.directory}")
        contents = Contents(folder, public, rows, others, "", notes)
        contents = replace(contents, canary=canary if "samples" in contents.tables else "")
        if site and others.runs:
            notes.append("the web site shows only the suites of this upload.")
        if site:
            _build_site(results, folder / "site", registry)
            for file in sorted((folder / "site").rglob("*")):
                if file.is_file():
                    check.check(file.read_text(encoding="utf-8", errors="replace"), f"the site's {file.name}")
        text = card(contents, repository, TABLES)
        check.check(text, "README.md")
        (folder / "README.md").write_text(text, encoding="utf-8")
    return contents


_WITHHELD = {
    "gated": "samples of gated data are never published: {}.",
    "private": "samples of private data are never published: {}.",
    "unknown": "no samples of {}: whether these data are gated is unknown. Load the scenarios with --plugin.",
}
"""Why samples are not published."""


def _withheld(run: PublicRun, registry: Registry) -> str:
    """Return why a run's samples are not published; empty if they are."""
    source = registry.source(run.record.spec.scenario.name)
    if source is None:
        return "unknown"
    return "gated" if source.gated else "private" if source.private else ""


_STAMP = re.compile(r'data-stamp="([0-9a-f]+)"')


def _build_site(results: Path, output: Path, registry: Registry) -> None:
    """Build the web site reproducibly: its stamp depends on contents instead of times."""
    from harness.leaderboard.site.builder import build_site

    page = build_site(results, output, registry=registry)
    text = page.read_text(encoding="utf-8")
    if (found := _STAMP.search(text)) is not None:
        digest = hashlib.sha256()
        for file in sorted(one for one in output.rglob("*") if one.is_file() and one != page):
            digest.update(file.relative_to(output).as_posix().encode() + b"\0" + file.read_bytes())
        page.write_text(text.replace(found[1], digest.hexdigest()[: len(found[1])]), encoding="utf-8")
