"""Reading the files of Every Eval Ever: strict JSON of a limited size that fits the schema and its samples."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from harness.data.strict_json import parse_json
from harness.errors import DataError, StrictJsonError
from harness.imports.every_eval_ever.layout import SAMPLES_SUFFIX
from harness.imports.every_eval_ever.validation import Kind, problem
from harness.imports.foreign_files import identity
from harness.storage.regular_files import open_regular
from harness.storage.results import is_hidden

ARCHIVE = "Every Eval Ever"

LONGEST_FILE = 64 << 20
"""Bytes of the longest aggregate file, and of the longest line of a samples file; real ones have some kilobytes."""


def every_eval_ever_files(path: Path) -> list[Path]:
    """Return the aggregate files in a folder, or the file itself if it is one.

    Raises:
        DataError: There are none.
    """
    if path.is_file():
        return [path]
    found = sorted(file for file in path.rglob("*.json") if not is_hidden(file.relative_to(path)))
    if not found:
        raise DataError(f"{path} has no files of {ARCHIVE}: there is no .json file.")
    return found


def read_aggregate(file: Path) -> Mapping[str, Any]:
    """Return the content of an aggregate file.

    Raises:
        DataError: It cannot be read, or does not fit the schema or contradicts itself.
    """
    value, wrong = _fitting(_value(_content(file), file), "aggregate")
    if wrong is not None:
        raise DataError(f"is not a file of {ARCHIVE}: {wrong}.", file=file)
    return value


def _fitting(value: Any, kind: Kind) -> tuple[Mapping[str, Any], str | None]:
    """Return a value that fits the schema, and what is wrong with it otherwise.

    Programs write null for what they do not know, also where the schema has the key optional but not null.
    """
    if (wrong := problem(value, kind)) is None:
        return value, None
    without: Mapping[str, Any] = _without_nulls(value)
    return (value, wrong) if problem(without, kind) is not None else (without, None)


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def _content(file: Path) -> bytes:
    try:
        with open_regular(file) as opened:
            content = opened.read(LONGEST_FILE + 1)
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror or error}).", file=file) from error
    if len(content) > LONGEST_FILE:
        raise DataError(f"is longer than {LONGEST_FILE >> 20} MB: not an aggregate file of {ARCHIVE}.", file=file)
    return content


def _value(content: bytes, file: Path, row: int | None = None) -> Any:
    try:
        return parse_json(content.decode("utf-8"))
    except UnicodeDecodeError:
        raise DataError("is not UTF-8 text.", file=file, row=row) from None
    except StrictJsonError as error:
        raise DataError(f"{error}.", file=file, row=row) from None


def read_rows(file: Path, value: Mapping[str, Any]) -> tuple[list[Mapping[str, Any]], list[dict[str, str]]]:
    """Return the lines of the samples file beside an aggregate file, and the file's identity; nothing without one.

    Raises:
        DataError: It is missing, or is not what the aggregate file says.
    """
    detailed = value.get("detailed_evaluation_results")
    if detailed is None:
        return [], []
    # Only a file beside the aggregate is read, whatever folder it names.
    samples = file.with_name(PurePosixPath(detailed["file_path"]).name)
    if samples.name != f"{file.stem}{SAMPLES_SUFFIX}" and not samples.is_file():
        samples = file.with_name(f"{file.stem}{SAMPLES_SUFFIX}")
    rows = []
    digests = {name: hashlib.new(name, usedforsecurity=False) for name in ("sha256", "md5")}
    try:
        with open_regular(samples) as opened:
            number = 0
            while line := opened.readline(LONGEST_FILE + 1):
                number += 1
                if len(line) > LONGEST_FILE:
                    raise DataError(f"is longer than {LONGEST_FILE >> 20} MB.", file=samples, row=number)
                for digest in digests.values():
                    digest.update(line)
                if line.strip():
                    rows.append(_row(line, samples, number, value))
    except FileNotFoundError:
        raise DataError(
            f"{file.name} names this samples file, which does not exist; remove detailed_evaluation_results to import "
            "without samples.",
            file=samples,
        ) from None
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror or error}).", file=samples) from error
    if (told := detailed.get("total_rows")) is not None and told != len(rows):
        raise DataError(f"has {len(rows):,} samples; {file.name} says {told:,}.", file=samples)
    algorithm = detailed.get("hash_algorithm", "sha256")
    if (checksum := detailed.get("checksum")) and checksum.lower() != digests[algorithm].hexdigest():
        raise DataError(f"was changed: its {algorithm} is not the one in {file.name}.", file=samples)
    return rows, [identity(samples)]


def _row(line: bytes, samples: Path, number: int, value: Mapping[str, Any]) -> Mapping[str, Any]:
    row, wrong = _fitting(_value(line, samples, number), "sample")
    if wrong is not None:
        raise DataError(f"is not a sample of {ARCHIVE}: {wrong}.", file=samples, row=number)
    for key, of in (("evaluation_id", value["evaluation_id"]), ("model_id", value["model_info"]["id"])):
        if row[key] != of:
            raise DataError(f"{key} is {row[key]!r}; the aggregate file says {of!r}.", file=samples, row=number)
    return row
