"""Which runs each listener has received, so that none is left out and few are sent twice."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from harness.contracts.specs import Component
from harness.errors import DataError
from harness.storage.durable import make_folder, writing
from harness.storage.results import RunRecord

FOLDER = ".listeners"


class Sent:
    """The runs that a listener with certain settings has been given: a file with a line of JSON for each.

    Raises:
        DataError: The file cannot be read.
    """

    def __init__(self, results_dir: Path, listener: Component) -> None:
        settings = json.dumps(listener.arguments, sort_keys=True, default=str)
        digest = hashlib.sha256(settings.encode()).hexdigest()[:8]
        self._file = results_dir / FOLDER / f"{listener.name}-{digest}.jsonl"
        try:
            self._lines = set(self._file.read_text("utf-8", "replace").splitlines())
        except FileNotFoundError:
            self._lines = set()
        except OSError as error:
            raise DataError(f"cannot be read ({error.strerror or error}).", file=self._file) from None

    def __contains__(self, key: str) -> bool:
        return key in self._lines

    def add(self, keys: Iterable[str]) -> None:
        """Note that runs have been sent, by their keys.

        Raises:
            StorageError: The file cannot be written.
        """
        lines = [key for key in keys if key not in self._lines]
        if not lines:
            return
        with writing(self._file):
            make_folder(self._file.parent)
            with self._file.open("a", encoding="utf-8") as file:
                file.writelines(f"{line}\n" for line in lines)
        self._lines.update(lines)


def key_of(record: RunRecord) -> str:
    """Return what identifies a run in the file; a run that is made again has another key."""
    return json.dumps({"suite": record.suite, "run": record.name, "finished": record.finished}, ensure_ascii=False)
