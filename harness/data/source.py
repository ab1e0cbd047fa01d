"""Where a scenario's rows come from: the local data folder, then the Hub at a pinned revision, and nothing else.

Sample files that ship with a scenario are read only if the scenario has no other data.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

from harness.contracts import Split
from harness.contracts.data import Data
from harness.contracts.plugins import ScenarioDetails, Source
from harness.contracts.row import Row
from harness.errors import DataError

Parts = tuple[str, ...]
"""The files of one split: one, or several whose columns are joined row by row."""


def open_data(
    details: ScenarioDetails,
    arguments: Mapping[str, Any],
    *,
    name: str,
    data_dir: Path | None,
    root: Path | None = None,
) -> Data:
    """Return a scenario's data.

    Args:
        details: The scenario's.
        arguments: The scenario's parameters, which names in the source may contain as ``{{ parameter }}``.
        name: The scenario's name, for messages.
        data_dir: The local data folder.
        root: The folder of samples and of files named with ``./``; the scenario file's own by default.

    Raises:
        DataError: There are no data; the message says which files were looked for, where, and how to get them.
    """
    source = _filled(details.data, arguments, name)
    home = root or (details.file.parent if details.file else None)
    files = _Files(name, source, data_dir, arguments, home=home)
    if source.files and files.any():
        return files
    if source.hub is not None:
        from harness.data.hub import HubData

        return HubData(name, source.hub, files, str(files.missing()))
    if source.sample and not source.files:
        return _Files(name, replace(source, files=source.sample), home or Path(), arguments, sample=True)
    if not source.files:
        return files  # the scenario computes its instances
    raise files.missing()


@dataclass(frozen=True, slots=True)
class LocalFiles:
    """What of a scenario's data is in local files."""

    source: Source
    """The scenario's source, with the parameters filled in."""
    files: Mapping[str, Sequence[Path]]
    """The files of each split that are there."""
    lacking: str
    """Why the data cannot be read from local files; empty if they can."""

    @property
    def found(self) -> bool:
        """True if data of any split are there; then nothing else is read."""
        return any(self.files.values())


def local_files(
    details: ScenarioDetails, arguments: Mapping[str, Any], *, name: str, data_dir: Path | None, split: str
) -> LocalFiles:
    """Return what of a scenario's data is in local files; the arguments are those of :func:`open_data`.

    Args:
        details: The scenario's.
        arguments: The scenario's parameters.
        name: The scenario's name, for messages.
        data_dir: The local data folder.
        split: The split that must be there.

    Raises:
        DataError: The source cannot be filled in, or a file cannot be looked at.
    """
    source = _filled(details.data, arguments, name)
    files = _Files(name, source, data_dir, arguments, home=details.file.parent if details.file else None)
    found = files.found()
    lacking = files.lacking(split) if any(found.values()) else str(files.missing()) if source.files else ""
    return LocalFiles(source, found, lacking)


class _Files(Data):
    """Data in a folder; a name that begins with ``./`` is relative to the scenario file's folder, ``home``."""

    def __init__(
        self,
        name: str,
        source: Source,
        folder: Path | None,
        arguments: Mapping[str, Any],
        *,
        home: Path | None = None,
        sample: bool = False,
    ) -> None:
        self.name, self.source, self.folder, self.home, self.sample = name, source, folder, home, sample
        self.alternatives = {split: _alternatives(declared) for split, declared in source.files.items()}
        self.used: dict[str, Path] = {}

    @property
    def identity(self) -> str:
        return f"{self.source} in {self.folder} and {self.home}"

    def any(self) -> bool:
        """Return whether any file that is needed is there."""
        return any(self.found().values())

    def found(self) -> dict[str, list[Path]]:
        """Return the files of each split; none for a split that is not there."""
        found = {split: self._find(alternatives) or [] for split, alternatives in self.alternatives.items()}
        return {split: [path for _, path in parts] for split, parts in found.items()}

    def rows(self, split: Split | str) -> Iterator[Row]:
        alternatives = self.alternatives.get(str(split))
        if alternatives is None:
            return
        parts = self._find(alternatives)
        if parts is None:
            raise self.missing(str(split))
        if len(parts) == 1:
            yield from self._read(*parts[0], self.source.columns)
        else:
            named = self.source.columns
            each = [(name,) for name in named] if len(named) == len(parts) else [named] * len(parts)
            readers = [self._read(*part, columns) for part, columns in zip(parts, each, strict=True)]
            yield from _side_by_side(readers, [part[0] for part in parts])

    def lacking(self, split: Split | str) -> str:
        alternatives = self.alternatives.get(str(split))
        return "" if alternatives is None or self._find(alternatives) else str(self.missing(str(split)))

    def provenance(self) -> dict[str, Any]:
        files = [{"path": name, **_fingerprint(path)} for name, path in sorted(self.used.items())]
        kind = "sample" if self.sample else "files" if files or self.source.files else "computed"
        return {"kind": kind, "sample": self.sample, "files": files}

    def unchanged(self, provenance: Mapping[str, Any]) -> bool:
        recorded = provenance.get("files")
        if provenance.get("kind") == "computed":
            return not self.source.files and not self.sample
        if not recorded or provenance.get("sample") is not self.sample:
            return False
        return all(
            (folder := self._folder_of(file["path"])) is not None
            and (path := folder / file["path"]).exists()
            and {**file, **_fingerprint(path)} == file
            for file in recorded
        )

    def has(self, relative: str) -> bool:
        return self._locate(relative) is not None

    def path(self, relative: str) -> Path:
        path = self._locate(relative)
        if path is None:
            raise DataError(f"{self.name}: {_looked_for([(relative,)], self.folder, self.home)}{_advice(self.source)}")
        self._use(path)
        return path

    def read(self, relative: str) -> Iterator[Row]:
        path = self.path(relative)
        return self._read(relative, path, self.source.columns)

    def missing(self, split: str | None = None) -> DataError:
        """Return the error for missing data, of one split or of all."""
        if not self.alternatives:
            return DataError(f"{self.name}: the data are not in local files.")
        wanted = [self.alternatives[split]] if split else list(self.alternatives.values())
        parts = list(dict.fromkeys(part for alternatives in wanted for part in alternatives))
        what = f"no data for split {split!r}" if split else "no data"
        return DataError(f"{self.name}: {what}. {_looked_for(parts, self.folder, self.home)}{_advice(self.source)}")

    def _find(self, alternatives: Sequence[Parts]) -> list[tuple[str, Path]] | None:
        for parts in alternatives:
            paths = [self._locate(part) for part in parts]
            found = [(part, path) for part, path in zip(parts, paths, strict=True) if path is not None]
            if len(found) == len(parts):
                return found
        return None

    def _locate(self, relative: str) -> Path | None:
        pure, folder = PurePosixPath(relative), self._folder_of(relative)
        if folder is None:
            return None
        if self.source.anywhere and pure.is_absolute():
            folder, relative = Path(pure.parent), pure.name
        elif pure.is_absolute() or ".." in pure.parts or "\0" in relative:
            raise DataError(f"{self.name}: {relative!r} is not a path inside the data folder.")
        from harness.data.archives import DAMAGE, find_file

        try:
            return find_file(folder, relative)
        except DAMAGE as error:
            raise DataError(f"{self.name}: cannot look for {relative!r}: {error}.") from None

    def _read(self, declared: str, path: Path, columns: Sequence[str]) -> Iterator[Row]:
        from harness.data.formats import read_rows

        self._use(path)
        form, encoding = self.source.format, self.source.encoding
        return read_rows(path, file=str(path), columns=columns, encoding=encoding, form=form)

    def _use(self, path: Path) -> None:
        from harness.data.archives import containing_file

        file = containing_file(path)
        if self.source.anywhere and not any(file.is_relative_to(home) for home in (self.folder, self.home) if home):
            self.used[file.as_posix()] = file
        elif self.folder is not None and file.is_relative_to(self.folder):
            self.used[file.relative_to(self.folder).as_posix()] = file
        else:
            self.used[f"./{file.relative_to(self.home or path.anchor).as_posix()}"] = file

    def _folder_of(self, relative: str) -> Path | None:
        if self.source.anywhere and PurePosixPath(relative).is_absolute():
            return Path("/")
        return self.home if relative.startswith("./") else self.folder


def _side_by_side(readers: Sequence[Iterator[Row]], names: Sequence[str]) -> Iterator[Row]:
    """Yield rows with the columns of several files, which must have the same number of rows."""
    for number, rows in enumerate(_until_one_ends(readers, names), start=1):
        values: dict[str, Any] = {}
        for row in rows:
            twice = values.keys() & row.keys()
            if twice:
                hint = " Name each file's column in the source: `columns: [NAME, NAME]`." if len(row) == 1 else ""
                raise row.error(f"column {min(twice)!r} is in more than one of the files {', '.join(names)}.{hint}")
            values.update(row)
        first = rows[0]
        yield Row(values, file=first.file, number=number, place=first.place, text=first.published)


def _until_one_ends(readers: Sequence[Iterator[Row]], names: Sequence[str]) -> Iterator[list[Row]]:
    while True:
        rows = [next(reader, None) for reader in readers]
        here = [row for row in rows if row is not None]
        if not here:
            return
        if len(here) < len(rows):
            ended = names[rows.index(None)]
            raise here[0].error(f"{ended} has fewer rows than this file; the two are joined row by row.")
        yield here


# ---------------------------------------------------------------------------------------------------------------
# What a source declares


def _filled(source: Source, arguments: Mapping[str, Any], name: str) -> Source:
    """Return the source with its templates filled in."""

    def fill(value: Any) -> Any:
        if isinstance(value, str):
            return _fill(value, arguments, name)
        if isinstance(value, Mapping):
            return {key: fill(item) for key, item in value.items()}
        return tuple(fill(item) for item in value)

    hub = source.hub
    if hub is not None:
        hub = replace(hub, config=hub.config and _fill(hub.config, arguments, name), splits=fill(hub.splits))
    downloads = tuple(replace(one, url=fill(one.url), file=fill(one.file)) for one in source.downloads)
    return replace(source, files=fill(source.files), sample=fill(source.sample), hub=hub, downloads=downloads)


def _fill(text: str, arguments: Mapping[str, Any], name: str) -> str:
    if "{" not in text:
        return text
    from harness.data.templates import FAILURES, GLOBALS, compile_template

    try:
        return str(compile_template(text)({**GLOBALS, **arguments}))
    except FAILURES as error:
        raise DataError(f"{name}: cannot fill in {text!r} in the source: {error}.") from None


def _alternatives(declared: Any) -> list[Parts]:
    """Return the alternatives for a split, best first: ``a``, ``[a, b]``, ``{zip: [a, b]}`` or a list of these."""
    if isinstance(declared, str):
        return [(declared,)]
    if isinstance(declared, Mapping):
        return [tuple(declared["zip"])]
    return [parts for item in declared for parts in _alternatives(item)]


def _looked_for(wanted: Sequence[Parts], folder: Path | None, home: Path | None) -> str:
    from harness.data.archives import COMPRESSIONS

    names = " or ".join(" with ".join(parts) for parts in wanted) or "no file"
    if home is not None and all(name.startswith("./") for parts in wanted for name in parts):
        return f"Looked for {names} (or the same with {', '.join(COMPRESSIONS)}) in the scenario file's folder, {home}."
    if all(PurePosixPath(name).is_absolute() for parts in wanted for name in parts):
        return f"Looked for {names} (or the same with {', '.join(COMPRESSIONS)})."
    if folder is None:
        return f"No data folder is set (--data-dir or HARNESS_DATA_DIR); it should contain {names}."
    there = "" if folder.is_dir() else ", which does not exist"
    return f"Looked for {names} (or the same with {', '.join(COMPRESSIONS)}) in {folder}{there}."


def _advice(source: Source) -> str:
    names = [name for declared in source.files.values() for parts in _alternatives(declared) for name in parts]
    if all(name.startswith("./") for name in names):
        return ""
    url = f" from {source.url}" if source.url else ""
    pull = " with `harness data pull` or" if source.downloads else ""
    return f" Get the data{pull}{url}, and name the folder with --data-dir or HARNESS_DATA_DIR." if source.files else ""


# ---------------------------------------------------------------------------------------------------------------
# Provenance


def _fingerprint(path: Path) -> dict[str, Any]:
    """Return a file's ``sha256`` and ``bytes``; a folder's are those of its files' listing."""
    if path.is_dir():
        parts = [(child, _fingerprint(child)) for child in sorted(path.rglob("*")) if child.is_file()]
        listing = "".join(f"{part['sha256']}  {child.relative_to(path).as_posix()}\n" for child, part in parts)
        digest = hashlib.sha256(listing.encode("utf-8", "surrogateescape")).hexdigest()
        return {"sha256": digest, "bytes": sum(part["bytes"] for _, part in parts)}
    stat = path.stat()
    return {"sha256": _sha256(path.absolute(), stat.st_ino, stat.st_size, stat.st_mtime_ns), "bytes": stat.st_size}


@cache  # what shows that a file has changed, or a link to it, is part of the key
def _sha256(path: Path, inode: int, size: int, modified: int) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
