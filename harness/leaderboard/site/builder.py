"""Builds the site of a results folder: reads the records once, writes each part's data, copies scripts and styles."""

from __future__ import annotations

import gc
import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING

from harness.leaderboard.site import (
    boards,
    checkpoint_page,
    comparisons,
    contamination_page,
    coverage_page,
    model_pages,
    names,
    peers,
    plots,
    scenario_pages,
    search,
)
from harness.leaderboard.site.files import SiteFolder, data_file
from harness.leaderboard.site.reading import ReadRun, read_runs
from harness.leaderboard.site.snapshot import Snapshot
from harness.plugins.registry import Registry, default_registry

if TYPE_CHECKING:
    from jinja2 import Template

PARTS: tuple[Callable[[Snapshot, SiteFolder], None], ...] = (
    names.write,
    boards.write,
    model_pages.write,
    scenario_pages.write,
    contamination_page.write,
    coverage_page.write,
    plots.write,
    comparisons.write,
    checkpoint_page.write,
    peers.write,
)
"""The functions that write the data, in this order."""

NAVIGATION = (
    ("board", "Leaderboard"),
    ("models", "Models"),
    ("coverage", "Scenarios"),
    ("plots", "Plots"),
    ("compare", "Compare"),
    (checkpoint_page.PAGE, "Checkpoints"),
    ("contamination", "Contamination"),
)
"""The pages in the navigation: name and text of the link. Checkpoints are there only if there are any."""


@dataclass(frozen=True, slots=True)
class Section:
    """A page that only some sites have, such as one about ratings by people."""

    page: str
    """Its name, that of its script under ``assets/pages``."""
    title: str
    """The text of its link in the navigation."""
    write: Callable[[Snapshot, SiteFolder], Sequence[search.Entry]]
    """Writes its data, and returns what the search finds of it."""


FIRST_SCRIPTS = (
    "core.js",
    "components/tooltip.js",
    "components/popover.js",
    "components/marks.js",
    "components/export.js",
    "table.js",
    "rates.js",
    "shell.js",
)
"""Scripts under ``assets`` that are loaded with the document; those of a page are loaded when it is first shown."""


def build_site(
    results_dir: Path,
    output: Path,
    suites: Sequence[str] | None = None,
    *,
    registry: Registry | None = None,
    sections: Sequence[Section] = (),
    earlier: dict[Path, ReadRun] | None = None,
) -> Path:
    """Build or update the site of a results folder, and return its first page.

    Args:
        results_dir: The results folder.
        output: The site's folder.
        suites: The suites to show; None for all.
        registry: Knows the plugins; None for those that are installed.
        sections: Further pages.
        earlier: For a process that builds the same site repeatedly: what its last build read; updated.

    Raises:
        DataError: The results folder or a suite does not exist, or a record cannot be read.
        StorageError: The site's folder cannot be written, or holds other files.
    """
    with _without_collection():
        return _build(results_dir, output, suites, registry or default_registry(), sections, earlier)


@contextmanager
def _without_collection() -> Iterator[None]:
    """Keep Python from searching objects that all stay for garbage: a quarter of the time of a large build."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _build(
    results_dir: Path,
    output: Path,
    suites: Sequence[str] | None,
    registry: Registry,
    sections: Sequence[Section],
    earlier: dict[Path, ReadRun] | None,
) -> Path:
    folder = SiteFolder(output)
    runs, problems = read_runs(results_dir, folder, suites, earlier)
    snapshot = Snapshot(runs, registry, problems)
    for write in PARTS:
        write(snapshot, folder)
    found = [(section.title, section.write(snapshot, folder)) for section in sections]
    search.write(snapshot, folder, found)
    pages = _copy_assets(folder)
    stamp = hashlib.sha256()
    for path in sorted(folder.written):
        status = path.stat()
        stamp.update(f"{path}/{status.st_size}/{status.st_mtime_ns}".encode())
    has_checkpoints = output / data_file(checkpoint_page.PAGE) in folder.written
    navigation = (
        *(one for one in NAVIGATION if one[0] != checkpoint_page.PAGE or has_checkpoints),
        *((section.page, section.title) for section in sections),
    )
    page = _template().render(pages=pages, navigation=navigation, scripts=FIRST_SCRIPTS, stamp=stamp.hexdigest()[:12])
    folder.write("index.html", page + "\n")
    folder.sweep()
    return output / "index.html"


def _copy_assets(folder: SiteFolder) -> list[str]:
    """Copy everything under ``assets``; return the pages' names."""
    copied: list[str] = []

    def copy(place: Traversable, name: str) -> None:
        for child in sorted(place.iterdir(), key=lambda child: child.name):
            path = f"{name}/{child.name}"
            if child.is_dir():
                copy(child, path)
            else:
                folder.write(path, child.read_text(encoding="utf-8"))
                copied.append(path)

    copy(files("harness.leaderboard.site").joinpath("assets"), "assets")
    return [Path(path).stem for path in copied if Path(path).parent == Path("assets/pages")]


@cache
def _template() -> Template:
    from jinja2 import PackageLoader, StrictUndefined
    from jinja2.sandbox import SandboxedEnvironment

    environment = SandboxedEnvironment(
        loader=PackageLoader("harness.leaderboard.site", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("index.html.jinja")
