"""Builds the site of a results folder: reads the records once, writes each part's data, copies scripts and styles."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING

from harness.leaderboard.site import (
    boards,
    comparisons,
    contamination_page,
    model_pages,
    names,
    plots,
    scenario_pages,
    search,
)
from harness.leaderboard.site.files import SiteFolder
from harness.leaderboard.site.reading import read_runs
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
    plots.write,
    comparisons.write,
    search.write,
)
"""The functions that write the data, in this order."""

NAVIGATION = (
    ("board", "Leaderboard"),
    ("models", "Models"),
    ("coverage", "Coverage"),
    ("plots", "Plots"),
    ("compare", "Compare"),
    ("contamination", "Contamination"),
)
"""The pages in the navigation: name and text of the link."""

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
    results_dir: Path, output: Path, suites: Sequence[str] | None = None, *, registry: Registry | None = None
) -> Path:
    """Build or update the site of a results folder, and return its first page.

    Raises:
        DataError: The results folder or a suite does not exist, or a record cannot be read.
        StorageError: The site's folder cannot be written, or holds other files.
    """
    folder = SiteFolder(output)
    runs, problems = read_runs(results_dir, folder, suites)
    snapshot = Snapshot(runs, registry or default_registry(), problems)
    for write in PARTS:
        write(snapshot, folder)
    pages = _copy_assets(folder)
    stamp = hashlib.sha256()
    for path in sorted(folder.written):
        status = path.stat()
        stamp.update(f"{path}/{status.st_size}/{status.st_mtime_ns}".encode())
    page = _template().render(pages=pages, navigation=NAVIGATION, scripts=FIRST_SCRIPTS, stamp=stamp.hexdigest()[:12])
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
