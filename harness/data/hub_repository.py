"""A repository of the Hugging Face Hub at a commit: its files, their sizes and checksums, its terms, what is cached."""

from __future__ import annotations

import fnmatch
import importlib.util
import json
import os
import re
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import wraps
from pathlib import Path, PurePosixPath
from typing import Any, Literal, ParamSpec, TypeVar

import yaml

from harness.contracts.plugins import CheckpointSource, HubSource
from harness.data.hub import hub_reachable
from harness.errors import DataError
from harness.installation import install_advice

RepositoryKind = Literal["dataset", "model"]

T = TypeVar("T")
P = ParamSpec("P")

CARD_FILES = ("README.md", ".huggingface.yaml", "dataset_infos.json")
"""Files of a data set that say which data files its configurations have."""

MODEL_FILES = ("*.json", "*.jinja", "*.model", "*.spm", "*.tiktoken", "*.txt", "additional_chat_templates/*")
"""Files of a model besides its weights and its code."""

WEIGHTS = (("*.safetensors",), ("pytorch_model*.bin",))
"""Patterns of weights in the order in which they are preferred; transformers reads safetensors where there are any."""

COPIES = ("consolidated*", "*.fp16.*", "*.fp32.*", "*.bf16.*")
"""Weights of a second layout or precision, which are not read."""

TIMEOUT_SECONDS = 20

_folders: list[tempfile.TemporaryDirectory[str]] = []
"""Temporary folders, removed when the process ends."""

_LIBRARY = threading.Lock()
"""Held while the library that reads data sets is used: it cannot be imported or used by two threads at once."""


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file of a repository."""

    path: str
    """Its path in the repository."""
    size: int
    """Its bytes."""
    digest: str
    """Its SHA-256, or the SHA-1 that git gives it if it is small; empty if the Hub does not say."""


@dataclass(frozen=True, slots=True)
class Repository:
    """A data set or model on the Hub, at a commit."""

    kind: RepositoryKind
    name: str
    """``owner/name``."""
    commit: str
    files: Sequence[RemoteFile]
    gated: bool
    """True if its terms must be accepted on its page."""
    licence: str
    """The licence that its card names; empty if none."""


class HubError(DataError):
    """The Hub does not give a repository."""

    def __init__(self, message: str, *, unreachable: bool = False) -> None:
        super().__init__(message)
        self.unreachable = unreachable
        """True if nothing could be asked, so that nothing is known."""


def page(kind: RepositoryKind, name: str) -> str:
    """Return the address of a repository's page."""
    return f"{_endpoint()}/{'datasets/' if kind == 'dataset' else ''}{name}"


def has_token() -> bool:
    """Return True if there is a token for the Hub: HF_TOKEN, or that of `hf auth login`."""
    try:
        from huggingface_hub import get_token
    except ImportError:
        return False
    return get_token() is not None


def terms(kind: RepositoryKind, name: str) -> str:
    """Return what a user does to read a gated repository."""
    login = "" if has_token() else " Then run `hf auth login`, or set HF_TOKEN."
    return f"Accept its terms at {page(kind, name)}.{login}"


def _once(ask: Callable[P, T]) -> Callable[P, T]:
    """Make a function that asks the same only once, also by several threads; failures count as answers."""
    outcomes: dict[Any, Future[T]] = {}

    @wraps(ask)
    def asked(*arguments: P.args, **options: P.kwargs) -> T:
        mine = Future[T]()
        found = outcomes.setdefault(arguments, mine)
        if found is mine:
            try:
                mine.set_result(ask(*arguments, **options))
            except BaseException as error:
                mine.set_exception(error)
        return found.result()

    return asked


@_once
def describe(kind: RepositoryKind, name: str, revision: str | None) -> Repository:
    """Return a repository's files and terms, from the Hub.

    Raises:
        HubError: The Hub cannot be reached, or has no such repository or revision.
    """

    def ask() -> Any:
        from huggingface_hub import HfApi

        return HfApi().repo_info(name, repo_type=kind, revision=revision, files_metadata=True, timeout=TIMEOUT_SECONDS)

    info = from_hub(kind, name, revision, ask)
    files = []
    for sibling in info.siblings or ():
        lfs = sibling.lfs
        digest = getattr(lfs, "sha256", None) or sibling.blob_id or ""
        files.append(RemoteFile(sibling.rfilename, getattr(lfs, "size", None) or sibling.size or 0, digest))
    card = getattr(info, "card_data", None)
    licence = getattr(card, "license", None) or ""
    return Repository(
        kind,
        name,
        info.sha,
        tuple(files),
        bool(getattr(info, "gated", False)),
        ", ".join(licence) if isinstance(licence, list) else str(licence),
    )


@_once
def check_access(repository: Repository) -> None:
    """Check that the files of a gated repository can be read.

    Raises:
        HubError: Its terms are not accepted, there is no token, or the Hub cannot be reached.
    """
    if not repository.gated:
        return

    def ask() -> None:
        from huggingface_hub import HfApi

        HfApi().auth_check(repository.name, repo_type=repository.kind)

    from_hub(repository.kind, repository.name, repository.commit, ask)


def from_hub(kind: RepositoryKind, name: str, revision: str | None, ask: Callable[[], T]) -> T:
    """Return what a request to the Hub returns.

    Raises:
        HubError: It fails; the message says why and what to do.
    """
    try:
        from huggingface_hub.errors import (
            EntryNotFoundError,
            GatedRepoError,
            HfHubHTTPError,
            LocalEntryNotFoundError,
            RepositoryNotFoundError,
            RevisionNotFoundError,
        )
    except ImportError:
        raise HubError(unreachable_reason(), unreachable=True) from None
    what = "data set" if kind == "dataset" else "model"
    if not hub_reachable():
        raise HubError(unreachable_reason(), unreachable=True)
    try:
        return ask()
    except GatedRepoError:
        asked = "its terms are not accepted for your token" if has_token() else "it is gated, and there is no token"
        raise HubError(f"{name}: {asked}. {terms(kind, name)}") from None
    except RevisionNotFoundError:
        raise HubError(f"{name}: the Hub has the {what}, but no revision {revision!r}.") from None
    except LocalEntryNotFoundError as error:
        raise HubError(f"{name}: the Hub cannot be reached ({_brief(error)}).", unreachable=True) from None
    except EntryNotFoundError as error:
        raise HubError(f"{name}: the Hub does not have a file that it lists ({_brief(error)}).") from None
    except RepositoryNotFoundError:
        private = "; a private one needs `hf auth login` or HF_TOKEN" if not has_token() else ""
        raise HubError(f"{name}: the Hub has no such {what}. Check the spelling{private}.") from None
    except HfHubHTTPError as error:
        raise HubError(f"{name}: the Hub refuses ({_brief(error)}).") from None
    except (DataError, OSError):
        raise
    except Exception as error:  # the network's exceptions belong to a library that may change
        raise HubError(f"{name}: the Hub cannot be reached ({_brief(error)}).", unreachable=True) from None


def cached_file(kind: RepositoryKind, name: str, revision: str | None, path: str) -> Path | None:
    """Return a file in the Hub's cache; None if it is not there."""
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(name, path, revision=revision, repo_type=kind)
    return Path(found) if isinstance(found, str) else None


def data_files(repository: Repository, hub: HubSource, fetch: Callable[[RemoteFile], Path]) -> list[RemoteFile]:
    """Return the files that a configuration of a data set is read from, with the card.

    The library that reads data sets is shown a folder with the repository's card and, under the names of its other
    files, empty ones: which of them it would read shows without downloading any.

    Args:
        repository: The data set.
        hub: Its configuration.
        fetch: Returns the path of a small file of the repository.

    Raises:
        HubError: There is no such configuration, or no file that can be read without running a script.
    """
    try:
        import datasets
    except ImportError:
        raise HubError(f"data sets of the Hub need more libraries: {install_advice('hub')}.") from None
    by_path = {file.path: file for file in repository.files}
    card = {path: fetch(by_path[path]).read_bytes() for path in CARD_FILES if path in by_path}
    with _LIBRARY:
        root = _folder_of_empty_files(repository)
        for path, content in card.items():
            (root / path).write_bytes(card_of(content, hub.config) if path == "README.md" else content)
        try:
            builder = datasets.load_dataset_builder(str(root), hub.config, cache_dir=str(root.parent / "cache"))
            listed = (builder.config.data_files or {}).values()
            found = [Path(str(path)).resolve().relative_to(root).as_posix() for files in listed for path in files]
        except Exception as error:  # whatever the library raises where it finds no data
            reason = _brief(error).replace(str(root), repository.name)
            raise HubError(f"{repository.name}: its data files cannot be found: {reason}") from None
    wanted = [by_path[path] for path in dict.fromkeys([*card, *found]) if path in by_path]
    if len(wanted) == len(card):
        raise HubError(f"{repository.name}: it has no data files that can be read without running a script.")
    return wanted


@dataclass(frozen=True, slots=True)
class CardInfo:
    """What a data set's card says about one of its configurations."""

    rows: Mapping[str, int]
    """The rows of each split; empty if it does not say."""
    size: int | None
    """The bytes of all splits in memory and as Arrow files; None if it does not say."""


def card_info(repository: Repository, hub: HubSource, fetch: Callable[[RemoteFile], Path]) -> CardInfo:
    """Return what a data set's card says about a configuration; nothing where it has no such part.

    Args:
        repository: The data set.
        hub: Its configuration.
        fetch: Returns the path of a small file of the repository.
    """
    card = next((file for file in repository.files if file.path == CARD_FILES[0]), None)
    known = _front_matter(fetch(card).read_bytes()) if card is not None else {}
    listed = known.get("dataset_info")
    infos = [one for one in (listed if isinstance(listed, list) else [listed]) if isinstance(one, dict)]
    named = [one for one in infos if one.get("config_name", "default") == (hub.config or "default")]
    info = named[0] if named else infos[0] if len(infos) == 1 and not hub.config else {}
    splits = [one for one in info.get("splits") or () if isinstance(one, dict)]
    rows = {str(one.get("name")): one["num_examples"] for one in splits if isinstance(one.get("num_examples"), int)}
    size = info.get("dataset_size")
    return CardInfo(rows, size if isinstance(size, int) and size >= 0 else None)


def _front_matter(content: bytes) -> Mapping[str, Any]:
    """Return the YAML between the dashes at the beginning of a card; empty if there is none."""
    header = re.match(rb"\s*---\s*\n(.*?)\n---", content, re.DOTALL)
    try:
        known = yaml.load(header[1], getattr(yaml, "CSafeLoader", yaml.SafeLoader)) if header else None  # noqa: S506
    except yaml.YAMLError:
        return {}
    return known if isinstance(known, dict) else {}


def card_of(content: bytes, config: str | None) -> bytes:
    """Return a data set's card with one of its configurations alone, which is quicker to read; else as it is."""
    listed = _front_matter(content).get("configs") if config else None
    chosen = [one for one in listed or () if isinstance(one, dict) and one.get("config_name") == config]
    return f"---\n{yaml.safe_dump({'configs': chosen})}---\n".encode() if chosen else content


@_once
def _folder_of_empty_files(repository: Repository) -> Path:
    """Return a temporary folder with an empty file for each file of a repository but scripts."""
    _folders.append(tempfile.TemporaryDirectory(prefix="data-files-"))
    root = Path(_folders[-1].name).resolve() / PurePosixPath(repository.name).name
    for file in repository.files:
        place = root / file.path
        if place.resolve().is_relative_to(root) and not file.path.endswith(".py"):
            place.parent.mkdir(parents=True, exist_ok=True)
            place.touch()
    return root


def model_files(repository: Repository, checkpoint: CheckpointSource, names: Iterable[str] = ()) -> list[RemoteFile]:
    """Return the files that loading a checkpoint reads.

    Args:
        repository: The model.
        checkpoint: What is loaded of it.
        names: Further files, such as those that an index names.
    """
    wanted = list(MODEL_FILES) + list(names)
    if checkpoint.remote_code:
        wanted.append("**.py")
    files = [file for file in repository.files if any(_matches(file.path, pattern) for pattern in wanted)]
    if checkpoint.weights:
        for patterns in WEIGHTS:
            weights = [file for file in repository.files if any(_matches(file.path, one) for one in patterns)]
            weights = [file for file in weights if not any(_matches(file.path, copy) for copy in COPIES)] or weights
            if weights:
                files += weights
                break
    return list(dict.fromkeys(files))


def cached_model(checkpoint: CheckpointSource) -> int | None:
    """Return the bytes of a checkpoint in the Hub's cache; None if files that loading needs are not there.

    Without asking the Hub, this can only be judged by the checkpoint's own files: its configuration, and the weights or
    the index of weights.
    """
    config = cached_file("model", checkpoint.name, checkpoint.revision, "config.json")
    if config is None:
        return None
    folder = config.parent
    files = [path for path in folder.rglob("*") if path.is_file()]
    if checkpoint.weights:
        indexes = [path for path in files if path.name.endswith((".safetensors.index.json", ".bin.index.json"))]
        weights = [path for path in files if path.suffix in {".safetensors", ".bin"}]
        shards = {shard for index in indexes for shard in _shards(index)}
        if not weights or not all((folder / shard).exists() for shard in shards):
            return None
    return sum(path.stat().st_size for path in files)


def _shards(index: Path) -> set[str]:
    try:
        return {str(shard) for shard in json.loads(index.read_bytes())["weight_map"].values()}
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        return set()


def _matches(path: str, pattern: str) -> bool:
    """Return True if a path has a form; only ``**`` reaches below a folder."""
    if pattern.startswith("**"):
        return path.endswith(pattern[2:])
    return path.count("/") == pattern.count("/") and fnmatch.fnmatchcase(path, pattern)


def unreachable_reason() -> str:
    """Return why the Hub is not asked."""
    if importlib.util.find_spec("huggingface_hub") is None:
        return f"The Hub's library is not installed: {install_advice('hub')}."
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "ON", "YES", "TRUE"}:
        return "HF_HUB_OFFLINE is set, so the Hub is not asked; unset it where there is a network."
    return f"{_endpoint()} cannot be reached from this machine."


def _endpoint() -> str:
    return os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")


def _brief(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:300].rstrip(".")
