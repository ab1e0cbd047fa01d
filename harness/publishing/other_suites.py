"""The suites of a published data set that an upload does not change."""

from __future__ import annotations

import io
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import PurePosixPath

from harness.exports.output_folder import portable_name
from harness.installation import install_advice
from harness.publishing.hub import HubRepository, PublishError
from harness.publishing.tables import Row


@dataclass(frozen=True, slots=True)
class OtherSuites:
    """What a repository has of suites that are not in this upload; empty for a new repository."""

    runs: tuple[Row, ...] = ()
    """Their rows in the table of runs."""
    tables: frozenset[str] = frozenset()
    """The tables that have files of these suites."""


def belongs(file: str, suites: Collection[str]) -> bool:
    """Return True if a file of a published data set is replaced, or removed, when these suites are published.

    Files of other suites are not. The web site always is: it shows the suites that were published last.
    """
    match PurePosixPath(file).parts:
        case ("data", _, name):
            return PurePosixPath(name).stem in map(portable_name, suites)
        case ("results", suite, *_):
            return suite in map(portable_name, suites)
    return file.startswith("site/")


def other_suites(hub: HubRepository, suites: Collection[str]) -> OtherSuites:
    """Return what a repository that ``harness publish`` created has of other suites.

    Raises:
        PublishError: A table cannot be read, or the Hub refuses or cannot be reached.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise PublishError(f"tables need pyarrow: {install_advice('dataframes')}") from None
    rows: list[Row] = []
    tables = set()
    for file in hub.files():
        match PurePosixPath(file).parts:
            case ("data", table, name) if name.endswith(".parquet") and not belongs(file, suites):
                tables.add(table)
                if table == "runs":
                    try:
                        rows += pq.read_table(io.BytesIO(hub.download(file))).to_pylist()
                    except (pa.ArrowException, OSError) as error:
                        raise PublishError(f"{hub.address}: {file} is not a Parquet file ({error}).") from None
    return OtherSuites(tuple(rows), frozenset(tables))
