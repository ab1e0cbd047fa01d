"""``examples.jsonl.gz``: a run's examples, one per line, checked against run.json whenever they are read."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from harness.contracts import Example, Judgement
from harness.errors import DataError, StorageError
from harness.storage.durable import clear_abandoned, make_folder, partial_path, put_in_place, sync_folder, writing
from harness.storage.encoding import decode_example, encode_example, encode_judgement
from harness.storage.regular_files import open_regular
from harness.storage.results import RUN_FILE, RunRecord
from harness.storage.run_schema import ExamplesDigest

EXAMPLES_FILE = "examples.jsonl.gz"

AGAIN = "Run the sweep again: answers in the response cache are not requested again."

_CHUNK = 1 << 20


class ExampleWriter:
    """Writes a run's examples as they come; the file appears under its name only when all are written and on disk.

    Raises:
        StorageError: The folder or the file cannot be written.
    """

    def __init__(self, directory: Path) -> None:
        self._path = directory / EXAMPLES_FILE
        with writing(self._path):
            make_folder(directory)
            clear_abandoned(directory, (EXAMPLES_FILE, RUN_FILE))
            self._partial = partial_path(self._path)
            self._raw = _Hashed(self._partial.open("wb"))
        self._count = 0
        self._written: ExamplesDigest | None = None
        # Level 3 compresses repeated few-shot headers nearly as well as 9, at a third of the time.
        self._file = gzip.GzipFile(filename="", mode="wb", compresslevel=3, fileobj=self._raw, mtime=0)

    @property
    def written(self) -> ExamplesDigest | None:
        """Count and digest of the file, for the run's record; None until it is in its place."""
        return self._written

    def write(
        self,
        example: Example,
        scores: Mapping[str, float],
        error: str | None = None,
        judgements: Sequence[tuple[str, Judgement]] = (),
    ) -> None:
        """Append one example with its scores by metric, or with the error that kept it from being scored.

        Args:
            example: The example.
            scores: Its scores by metric.
            error: Why it has no scores; None if it was scored.
            judgements: What judges said about it, each with the metric that asked.
        """
        value = encode_example(example)
        value["scores"] = scores
        if judgements:
            value["judgements"] = [{"metric": name, **encode_judgement(one)} for name, one in judgements]
        if error is not None:
            value["error"] = error
        line = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        with writing(self._path):
            self._file.write(line.encode("utf-8", "backslashreplace") + b"\n")
        self._count += 1

    def __enter__(self) -> ExampleWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            with writing(self._path):
                try:
                    self._file.close()
                    if kind is None:
                        self._raw.sync()
                finally:
                    self._raw.close()
                if kind is None:
                    put_in_place(self._partial, self._path)
                    self._written = ExamplesDigest(count=self._count, sha256=self._raw.sha256.hexdigest())
        except StorageError:
            # the error that stopped the writing says more
            if kind is None:
                raise
        finally:
            self._partial.unlink(missing_ok=True)


def read_examples(record: RunRecord) -> Iterator[tuple[Example, dict[str, float], str | None]]:
    """Yield each example of a run with its scores and its error.

    Raises:
        DataError: The file is missing, damaged, or not the one that the record describes.
    """
    number = 0
    try:
        for line in example_lines(record):
            number += 1
            value = json.loads(line)
            yield decode_example(value), value.get("scores", {}), value.get("error")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DataError(f"not an example ({error}).", file=record.directory / EXAMPLES_FILE, row=number) from error


def example_lines(record: RunRecord) -> Iterator[bytes]:
    """Yield the lines of a run's examples; the whole file is checked before the first.

    Raises:
        DataError: The file is missing, or not the one that the record describes.
    """
    with _reading(record) as raw, gzip.GzipFile(fileobj=raw) as lines:
        yield from lines


def check_examples(record: RunRecord) -> None:
    """Check that a run's examples are the ones that its record describes.

    Raises:
        DataError: They are missing or different, or the record has no examples.
    """
    with _reading(record):
        pass


def has_examples(record: RunRecord) -> bool:
    """Return True if a run has examples; they are checked when they are read."""
    return record.examples is not None and (record.directory / EXAMPLES_FILE).exists()


def discard_examples(directory: Path) -> None:
    """Remove the examples of an earlier attempt at a run, which the record that follows does not describe.

    Raises:
        StorageError: They cannot be removed.
    """
    file = directory / EXAMPLES_FILE
    with writing(file):
        if file.exists():
            file.unlink(missing_ok=True)
            sync_folder(directory)


class _Hashed:
    """A file for writing that computes the digest of its content."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.sha256 = hashlib.sha256()

    def write(self, content: bytes) -> int:
        self.sha256.update(content)
        return self._file.write(content)

    def flush(self) -> None:
        self._file.flush()

    def sync(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.close()


@contextmanager
def _reading(record: RunRecord) -> Iterator[BinaryIO]:
    """Open the file and check it; what is read is what was checked, even if the file is replaced meanwhile."""
    file = record.directory / EXAMPLES_FILE
    if record.examples is None:
        raise DataError("the run has no examples.", file=file)
    try:
        with open_regular(file) as raw:
            _check(raw, record.examples, file)
            raw.seek(0)
            yield raw
    except FileNotFoundError:
        raise DataError(f"the run's examples are missing. {AGAIN}", file=file) from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"damaged ({error}). {AGAIN}", file=file) from error
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror or error}).", file=file) from error


def _check(raw: BinaryIO, described: ExamplesDigest, file: Path) -> None:
    digest = hashlib.sha256()
    while chunk := raw.read(_CHUNK):
        digest.update(chunk)
    if digest.hexdigest() != described.sha256:
        raise DataError(
            f"not the examples that {RUN_FILE} describes (SHA-256 {digest.hexdigest()[:12]}…, not "
            f"{described.sha256[:12]}… of {described.count:,} examples): the file was cut short or changed. {AGAIN}",
            file=file,
        )
