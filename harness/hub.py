"""Data sets on the Hugging Face Hub, at a pinned commit."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.contracts import Split
from harness.data import Data
from harness.errors import DataError
from harness.plugins import HubSource
from harness.row import Row

_COMMIT = re.compile(r"[0-9a-f]{40}")


class HubData(Data):
    """A data set on the Hub; files beside it still come from the local data folder.

    Args:
        name: The scenario's name, for messages.
        hub: The data set, with its templates filled in.
        files: The local data folder, which does not have the data set itself.

    Raises:
        DataError: The revision is no commit, or the extra ``hub`` is not installed.
    """

    def __init__(self, name: str, hub: HubSource, files: Data, looked_for: str) -> None:
        self.name, self.hub, self.files, self.looked_for = name, hub, files, looked_for
        self.label = f"{hub.path}{f'/{hub.config}' if hub.config else ''}@{hub.revision[:12]}"
        if not _COMMIT.fullmatch(hub.revision):
            raise DataError(
                f"{name}: the Hub revision {hub.revision!r} is no commit. A branch or tag may move and change results; "
                "give the 40 hexadecimal digits of a commit."
            )
        if importlib.util.find_spec("datasets") is None:
            raise DataError(f"{looked_for} Or read {self.label} from the Hub: pip install 'holistic-harness[hub]'.")

    def rows(self, split: Split | str) -> Iterator[Row]:
        theirs = self.hub.splits.get(str(split))
        if theirs is None:
            return
        table = self._load(theirs)
        for number, values in enumerate(table, start=1):
            yield Row(values, file=f"{self.label} {theirs}", number=number)

    def provenance(self) -> dict[str, Any]:
        hub = self.hub
        return {"kind": "hub", "sample": False, "path": hub.path, "config": hub.config, "revision": hub.revision}

    def has(self, relative: str) -> bool:
        return self.files.has(relative)

    def path(self, relative: str) -> Path:
        return self.files.path(relative)

    def read(self, relative: str) -> Iterator[Row]:
        return self.files.read(relative)

    def _load(self, split: str) -> Any:
        import datasets

        try:
            return datasets.load_dataset(self.hub.path, self.hub.config, split=split, revision=self.hub.revision)
        except Exception as error:  # whatever the network, the Hub, its files or the data set's builder raise
            reason = " ".join(str(error).split()) or type(error).__name__
            raise DataError(
                f"{self.looked_for} Tried the Hub's {self.label}, split {split!r}, which failed: {reason[:500]}"
            ) from error
