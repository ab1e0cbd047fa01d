"""The installed packages, with digests of what is installed, and as requirements that pip can install again."""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from importlib.metadata import Distribution, distributions
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field

from harness.errors import DataError
from harness.output.redaction import shown_address
from harness.verification.parts import part

_OF_THE_MACHINE = frozenset({"INSTALLER", "REQUESTED", "RECORD", "direct_url.json"})
"""Files of a ``.dist-info`` folder that say how a package was installed, not what it is."""

_WHEEL = re.compile(r"(?P<name>[^-]+)-(?P<version>[^-]+)(-[^-]+){3,4}\.whl")
_SDIST = re.compile(r"(?P<name>.+)-(?P<version>[^-]+)\.(tar\.gz|zip)")
_CHUNK = 1 << 20


class Package(BaseModel):
    """An installed package."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: str
    """Its version."""
    files_sha256: str | None = None
    """SHA-256 of its list of files with their hashes (``RECORD``), without entries that differ between machines; null
    if the package has no such list.
    """
    source: str | None = None
    """Where it came from, if not from an index: an address as pip takes it, with the commit but without credentials."""
    editable: bool = False
    """True if it is used from its source folder, so that its files can change."""
    archive_sha256: tuple[str, ...] = Field(default=())
    """SHA-256 of its wheels or archives, as far as known."""


def installed_packages(wheels: Path | None = None) -> dict[str, Package]:
    """Return the installed packages by name, sorted.

    Args:
        wheels: A folder with the wheels or archives of packages, as ``pip download`` writes it, for their hashes.

    Raises:
        DataError: The folder cannot be read.
    """
    archives = {} if wheels is None else _archives(wheels)
    found: dict[str, Package] = {}
    for distribution in distributions():
        name = canonical(distribution.metadata["Name"] or "")
        if name and name not in found:  # the first on the path is the one that is imported
            found[name] = _package(distribution, archives.get((name, distribution.version), []))
    return dict(sorted(found.items()))


def canonical(name: str) -> str:
    """Return a package's name as indexes compare it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _package(distribution: Distribution, archives: list[str]) -> Package:
    origin = _direct_url(distribution)
    sha256 = part(origin, "archive_info", "hashes").get("sha256")
    return Package(
        version=distribution.version,
        files_sha256=_files_digest(distribution),
        source=_source(origin),
        editable=bool(part(origin, "dir_info").get("editable")),
        archive_sha256=tuple(sorted({*archives, *([sha256] if isinstance(sha256, str) else [])})),
    )


def _source(origin: Mapping[str, Any]) -> str | None:
    """Return the address of a package for pip, with neither credentials nor query, which may be a signature."""
    url, subdirectory = origin.get("url"), origin.get("subdirectory")
    if not isinstance(url, str):
        return None
    source = shown_address(url)
    if url.startswith("ssh://git@"):  # not a secret, and without it no login
        source = source.replace("ssh://", "ssh://git@", 1)
    vcs, commit = (part(origin, "vcs_info").get(name) for name in ("vcs", "commit_id"))
    if isinstance(vcs, str) and isinstance(commit, str):
        source = f"{quote(vcs)}+{source}@{quote(commit)}"
    return f"{source}#subdirectory={quote(subdirectory)}" if isinstance(subdirectory, str) else source


def _direct_url(distribution: Distribution) -> Mapping[str, Any]:
    """Return where a package was installed from, if not from an index (PEP 610)."""
    try:
        found = json.loads(distribution.read_text("direct_url.json") or "{}")
    except (ValueError, OSError):
        return {}
    return found if isinstance(found, dict) else {}


def _files_digest(distribution: Distribution) -> str | None:
    try:
        record = distribution.read_text("RECORD")
    except OSError:
        return None
    if not record:
        return None
    lines = []
    for row in csv.reader(record.splitlines()):
        path = PurePosixPath(row[0]) if row else PurePosixPath()
        machine = path.parent.suffix == ".dist-info" and path.name in _OF_THE_MACHINE
        # Scripts, outside of the folder, hold the interpreter's path; compiled files have no hash.
        if len(row) > 1 and row[1] and not machine and path.parts[0] != ".." and not path.is_absolute():
            lines.append(f"{path} {row[1]}\n")
    return hashlib.sha256("".join(sorted(lines)).encode("utf-8", "surrogateescape")).hexdigest() if lines else None


def _archives(folder: Path) -> dict[tuple[str, str], list[str]]:
    """Return the SHA-256 of the wheels and archives in a folder, by name and version."""
    found: dict[tuple[str, str], list[str]] = {}
    try:
        for file in sorted(folder.iterdir()):
            named = _WHEEL.fullmatch(file.name) or _SDIST.fullmatch(file.name)
            if named is None or not file.is_file():
                continue
            with file.open("rb") as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
            found.setdefault((canonical(named["name"]), named["version"].replace("_", "+")), []).append(digest)
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror or error}).", file=folder) from None
    return found


def requirements(packages: Mapping[str, Package]) -> Iterator[str]:
    """Yield the lines of a requirements file that installs the packages again.

    With hashes, pip wants them for all packages; where one is unknown, none is written, and a comment says so. Packages
    that are used from a source folder are comments. So are those from a local folder or file, unless their hashes are
    written: pip would search for them in an index, where anyone can publish a package of that name.
    """
    own = {
        name: package
        for name, package in packages.items()
        if not package.editable and (package.archive_sha256 or not _is_local(package))
    }
    lacking = [name for name, package in own.items() if not package.archive_sha256]
    yield "# The packages of the environment, written by `harness lock`."
    if lacking:
        yield f"# Without hashes: those of {len(lacking)} of {len(own)} packages are unknown, such as {lacking[0]}."
        yield "# To add them: pip download --no-deps -r FILE -d WHEELS; harness lock --wheels WHEELS"
    else:
        yield "# pip install --require-hashes --no-deps -r FILE"
    for name, package in packages.items():
        if package.editable:
            yield f"# {name}=={package.version} is used from its source folder."
            continue
        if _is_local(package) and (lacking or name not in own):
            yield f"# {name}=={package.version} was installed from a local folder or file."
            continue
        at = None if _is_local(package) else package.source
        pinned = f"{name} @ {at}" if at else f"{name}=={package.version}"
        hashes = [] if lacking else [f"    --hash=sha256:{digest}" for digest in package.archive_sha256]
        yield " \\\n".join([pinned, *hashes])


def _is_local(package: Package) -> bool:
    return package.source is not None and package.source.startswith("file:")
