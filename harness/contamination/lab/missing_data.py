"""Data that exhibits need and this machine lacks, found before any model is trained."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from harness.contamination.lab.background import from_folder
from harness.contamination.lab.paper import FOLDER, Paper
from harness.contamination.lab.study import REPOSITORY, lacks
from harness.contamination.lab.table_2 import FILE_SOURCES
from harness.contamination.roles import EXAMPLES_FILE
from harness.contracts.plugins import Kind
from harness.contracts.specs import RunSpec
from harness.data.hub_repository import unreachable_reason
from harness.downloads.survey import Supply, grouped, offline, survey
from harness.errors import DataError
from harness.plugins.registry import Registry


def missing_data(
    paper: Paper,
    exhibits: Collection[str],
    models: Sequence[str],
    runs: Sequence[RunSpec],
    registry: Registry,
) -> list[str]:
    """Return one line for each item that the exhibits need and this machine lacks, saying how to get it.

    Data sets from the Hub count as missing only if the Hub cannot be reached and they are not in its cache; otherwise
    they are downloaded when they are tested.

    Args:
        paper: The settings of the exhibits.
        exhibits: The names of the exhibits.
        models: The models of table 2 that are not trained by the lab.
        runs: The runs of table 2; empty if it is not among the exhibits.
        registry: Knows the plugins.
    """
    return [
        *_test_sets(paper, exhibits, models),
        *_background(paper.background),
        *_supplies(survey(runs, registry, paper.data), models, paper.data, registry),
    ]


def _test_sets(paper: Paper, exhibits: Collection[str], models: Sequence[str]) -> Iterator[str]:
    folder = paper.data / FOLDER
    missing = lacks(folder, paper.test_sets([name for name in exhibits if name != "table2" or not models]))
    if missing:
        yield f"{folder}: {', '.join(missing)}. Copy {'it' if len(missing) == 1 else 'them'} from {REPOSITORY}."


def _background(folder: Path | None) -> Iterator[str]:
    if folder is None:
        return
    try:
        next(from_folder(folder, 1))
    except DataError as error:
        yield f"--background: {error}"


def _supplies(supplies: Sequence[Supply], models: Sequence[str], data: Path, registry: Registry) -> Iterator[str]:
    needed = [supply for supply in supplies if supply.kind == "data" or models]
    scenario = registry.with_role(Kind.SCENARIO, EXAMPLES_FILE).name
    files = {f"{scenario}:path={path}": path for path in FILE_SOURCES}
    for supply in needed:
        if supply.state == "missing" and supply.name in files:
            path = files[supply.name]
            yield f"{data / path}: get it from {FILE_SOURCES[path]}."
        elif supply.state in ("missing", "incomplete"):
            yield f"{supply.name}: {supply.note}"
    to_download = [supply for supply in needed if supply.state == "download"]
    if to_download and offline():
        names = ", ".join(supply.name for supply in grouped(to_download))
        chosen = " ".join(f"-m {model}" for model in models or ["fake:0"])
        yield (
            f"{names}: not on this machine. {unreachable_reason()} On a machine with a network, "
            f"`harness data pull contamination {chosen}` downloads what table 2 needs from the Hub."
        )
