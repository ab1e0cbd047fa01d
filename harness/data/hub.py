"""Data sets on the Hugging Face Hub, at a pinned commit."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies

import yaml

from harness.contracts import Split
from harness.contracts.data import Data
from harness.contracts.plugins import HubSource
from harness.contracts.row import Row
from harness.errors import DataError
from harness.installation import install_advice

_COMMIT = re.compile(r"[0-9a-f]{40}")


class HubData(Data):
    """A data set on the Hub; further files still come from the local data folder.

    Raises:
        DataError: The revision is not a commit, or the extra ``hub`` is not installed.
    """

    def __init__(self, name: str, hub: HubSource, files: Data, looked_for: str) -> None:
        self.name, self.hub, self.files, self.looked_for = name, hub, files, looked_for
        self._builder: Any = None
        self._tables: dict[str, Any] = {}
        self.label = f"{hub.path}{f'/{hub.config}' if hub.config else ''}@{hub.revision[:12]}"
        if not _COMMIT.fullmatch(hub.revision):
            raise DataError(
                f"{name}: Hub revision {hub.revision!r} is not a commit. A branch or tag may move and change results; "
                "give the 40 hexadecimal digits of a commit."
            )
        if importlib.util.find_spec("datasets") is None:
            raise DataError(f"{looked_for} Or read {self.label} from the Hub: {install_advice('hub')}.")

    def rows(self, split: Split | str) -> Iterator[Row]:
        name = self.hub.splits.get(str(split))
        if name is None:
            return
        for number, values in enumerate(self._table(name), start=1):
            yield Row(values, file=f"{self.label} {name}", number=number)

    def check_reachable(self) -> None:
        """Check that the data set is in the cache or the Hub can be reached.

        Raises:
            DataError: Neither is true.
        """
        if self.hub.splits and prepared_folder(self.hub) is None and not hub_reachable():
            self._table(next(iter(self.hub.splits.values())))  # the library may find it in other ways

    def provenance(self) -> dict[str, Any]:
        hub = self.hub
        return {"kind": "hub", "sample": False, "path": hub.path, "config": hub.config, "revision": hub.revision}

    @property
    def identity(self) -> str:
        return self.files.identity

    def has(self, relative: str) -> bool:
        return self.files.has(relative)

    def path(self, relative: str) -> Path:
        return self.files.path(relative)

    def read(self, relative: str) -> Iterator[Row]:
        return self.files.read(relative)

    def _table(self, split: str) -> Any:
        if split not in self._tables:
            folder = prepared_folder(self.hub)
            try:
                if folder is not None:
                    self._tables[split] = _prepared_table(folder, split)
                    return self._tables[split]
                builder = self._prepared()
                if split not in builder.info.splits:
                    raise ValueError(f"it has no split {split!r}, only {', '.join(builder.info.splits)}")
                self._tables[split] = builder.as_dataset(split=split)
            except Exception as error:  # whatever the network, the Hub, its files or its readers raise
                reason = " ".join(str(error).split())[:500] or type(error).__name__
                if "OfflineModeIsEnabled" in reason:
                    reason = "it cannot be reached, and this commit is not in the local cache"
                tried = f"{self.looked_for} Then tried {self.label} on the Hub: {reason.rstrip('.')}."
                ahead = "run `harness data pull` on a machine that has it, or copy the data into the data folder"
                raise DataError(f"{tried} Without network access, {ahead}.") from error
        return self._tables[split]

    def _prepared(self) -> Any:
        if self._builder is None:
            self._builder = prepare(self.hub)
        return self._builder


def prepare(hub: HubSource) -> Any:
    """Download a data set, convert it to Arrow files in the cache, and return its builder; never a loading script.

    Raises:
        Exception: Whatever the network, the Hub, its files or its readers raise.
    """
    import datasets

    if not hub_reachable():
        datasets.config.HF_HUB_OFFLINE = True
    builder = datasets.load_dataset_builder(hub.path, hub.config, revision=hub.revision)
    if builder.hash != hub.revision:
        # Where it cannot reach the Hub, datasets takes whatever revision it has in its cache.
        raise ValueError(f"the Hub cannot be reached, and the cache has another revision, {builder.hash[:12]}")
    with _no_progress_bars():
        builder.download_and_prepare()
    return builder


def prepared_folder(hub: HubSource) -> Path | None:
    """Return the folder of the cache with the data set's Arrow files, if the pinned commit has been prepared.

    A commit never changes, so nothing has to be asked of the Hub then.
    """
    candidates = {
        str(info.get("config_name")): file.parent
        for folder in _cached_folders(hub.path)
        for file in folder.glob(f"*/*/{hub.revision}/dataset_info.json")
        if (info := _json(file))
    }
    config = hub.config or _default_config(hub, candidates)
    return candidates.get(config) if config else None


def prepared_rows(folder: Path) -> dict[str, int]:
    """Return the number of rows of each split of a prepared data set."""
    splits = _json(folder / "dataset_info.json").get("splits") or {}
    return {name: split["num_examples"] for name, split in splits.items() if "num_examples" in split}


@cache
def hub_reachable() -> bool:
    """Return True if the Hub can be asked.

    Where its host cannot be reached, its library is put into offline mode: it would retry for 20 seconds. What is in
    its cache is still found. Behind a proxy this cannot be known, so nothing is tried.
    """
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        return False
    address = urlsplit(constants.ENDPOINT)
    if getproxies().get(address.scheme):
        return True
    port = address.port or (443 if address.scheme == "https" else 80)
    try:
        socket.create_connection((address.hostname or "", port), timeout=5).close()
    except OSError:
        constants.HF_HUB_OFFLINE = True
        return False
    return True


def _prepared_table(folder: Path, split: str) -> Any:
    import datasets
    from datasets.arrow_reader import ArrowReader

    info = datasets.DatasetInfo.from_directory(str(folder))
    if split not in info.splits:
        raise ValueError(f"it has no split {split!r}, only {', '.join(info.splits)}")
    found = ArrowReader(str(folder), info).read(info.dataset_name, split, info.splits.values())
    return datasets.Dataset(**found)


def arrow_cache() -> Path:
    """Return the folder of the data sets that were converted to Arrow's format."""
    from huggingface_hub import constants

    return Path(os.environ.get("HF_DATASETS_CACHE") or Path(constants.HF_HOME, "datasets")).expanduser()


def _cached_folders(name: str) -> Iterator[Path]:
    """Yield the folders in which the library may keep a data set; it writes names in snake case."""
    root = arrow_cache()
    wanted = _plain(name.replace("/", "___"))
    if root.is_dir():
        yield from (folder for folder in root.iterdir() if _plain(folder.name) == wanted and folder.is_dir())


def _plain(name: str) -> str:
    return name.replace("_", "").casefold()


def _default_config(hub: HubSource, prepared: Mapping[str, Path]) -> str | None:
    """Return the name of the configuration that is read if none is named; None if it is not known offline."""
    from huggingface_hub import try_to_load_from_cache

    card = try_to_load_from_cache(hub.path, "README.md", revision=hub.revision, repo_type="dataset")
    configs: list[Mapping[str, Any]] = []
    if isinstance(card, str):
        header = re.match(r"\s*---\s*\n(.*?)\n---", Path(card).read_text("utf-8", errors="replace"), re.DOTALL)
        try:
            known = yaml.safe_load(header[1]) if header else None
        except yaml.YAMLError:
            return None
        listed = known.get("configs") if isinstance(known, dict) else None
        configs = [config for config in listed or () if isinstance(config, dict)]
    names = [str(config.get("config_name")) for config in configs]
    default = next((str(config["config_name"]) for config in configs if config.get("default")), None)
    if default or "default" in names:
        return default or "default"
    if len(names) == 1:
        return names[0]
    return next(iter(prepared)) if not names and len(prepared) == 1 else None


def _json(file: Path) -> dict[str, Any]:
    try:
        known = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


@contextmanager
def _no_progress_bars() -> Iterator[None]:
    """Keep the library's progress bars from drawing over the harness's own."""
    import datasets

    shown = not datasets.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    try:
        yield
    finally:
        if shown:
            datasets.enable_progress_bars()
