"""The files that loading a checkpoint reads from its folder, and a digest of them."""

from __future__ import annotations

import fnmatch
import hashlib
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath
from typing import Any

from harness import ModelError

READ_FILES = (
    "*config.json",
    "tokenizer*",
    "tekken.json",
    "vocab*",
    "merges.txt",
    "added_tokens.json",
    "special_tokens_map.json",
    "chat_template*",
    "*.model",
    "*.spm",
    "*.tiktoken",
)
"""Files directly in the folder that can change an answer, except the weights."""
WEIGHTS = ("adapter_model*", "*.safetensors", "pytorch_model*.bin", "*.index.json")

TEMPLATES = "additional_chat_templates"
CONFIGS = ("config.json", "tokenizer_config.json", "processor_config.json", "adapter_config.json")
INDEXES = ("*.safetensors.index.json", "pytorch_model*.bin.index.json")

INERT_FILES = (
    "*.md",
    "*.log",
    "LICENSE*",
    "NOTICE*",
    "optimizer*",
    "scheduler*",
    "rng_state*",
    "trainer_state.json",
    "training_args.bin",
    "events.out.*",
)
"""Files that not even a checkpoint's own code has a reason to read."""
INERT_FOLDERS = frozenset({"__pycache__", ".git", ".cache"})

MOST_HEADER = 100_000_000
"""Bytes of a safetensors header; the format's own limit."""
HASHING_THREADS = 4
SETTLED_SECONDS = 2.0
"""Age from which a later change of a file is sure to change its times."""

_digests: dict[tuple[int, ...], str] = {}


def folder_digest(folder: Path, name: str, *, remote_code: bool, weights: bool = True) -> str:
    """Return the SHA-256 of the names and contents of the files that loading a checkpoint reads.

    Args:
        folder: The checkpoint.
        name: The model's, for messages.
        remote_code: True if the checkpoint's own code may run; it may read any file of the folder.
        weights: False to leave out the weights, for a tokenizer.

    Raises:
        ModelError: A file cannot be read, or an index names files outside of the folder.
    """
    files = files_read(folder, name, remote_code=remote_code, weights=weights)
    total = hashlib.sha256()
    try:
        with ThreadPoolExecutor(HASHING_THREADS) as threads:
            for path, digest in zip(files, threads.map(_file_digest, files.values()), strict=True):
                total.update(f"{path}\0{digest}\n".encode())
    except OSError as error:
        raise ModelError(f"{name}: {error.filename}: {error.strerror}.") from error
    return total.hexdigest()


def files_read(folder: Path, name: str, *, remote_code: bool, weights: bool = True) -> Mapping[str, Path]:
    """Return the files that loading a checkpoint reads, by their paths within its folder, in a fixed order.

    These are the configurations, tokenizer, templates and weights directly in the folder; Python code at any depth;
    and whatever an index of weights or a string in a configuration names. Named files that do not exist are left out.

    Raises:
        ModelError: An index is damaged, or names a file outside of the folder.
    """
    patterns = READ_FILES + WEIGHTS if weights else READ_FILES
    found = {path for path in _listed(folder) if any(fnmatch.fnmatch(path, pattern) for pattern in patterns)}
    found.update(f"{TEMPLATES}/{path}" for path in _listed(folder / TEMPLATES))
    for path in _tree(folder):
        inert = any(fnmatch.fnmatch(PurePosixPath(path).name, pattern) for pattern in INERT_FILES)
        if path.endswith(".py") or (remote_code and not inert):
            found.add(path)
    for config in CONFIGS:
        found.update(path for path in _strings(_json(folder / config)) if _is_inside(folder, path))
    for path in [*found]:
        if any(fnmatch.fnmatch(PurePosixPath(path).name, pattern) for pattern in INDEXES):
            found.update(shard for shard in _shards(folder, path, name) if (folder / shard).is_file())
    return {path: folder / path for path in sorted(found)}


def weights_held(files: Mapping[str, Path]) -> tuple[int, int]:
    """Return the number of tensors in files of weights, by their headers, and the files' size in bytes.

    A pickle has no header, so each of its bytes counts as a tensor.
    """
    tensors = size = 0
    for path, file in files.items():
        if any(fnmatch.fnmatch(PurePosixPath(path).name, pattern) for pattern in ("*.safetensors", "*.bin")):
            held = file.stat().st_size
            size += held
            tensors += _tensors(file, held) if path.endswith(".safetensors") else held
    return tensors, size


def _tensors(file: Path, size: int) -> int:
    """Return the number of tensors in a safetensors file; 0 for a damaged one, which loading reports."""
    with file.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if length > min(size, MOST_HEADER):
            return 0
        try:
            header = json.loads(stream.read(length))
        except (ValueError, RecursionError):
            return 0
    return len(header.keys() - {"__metadata__"}) if isinstance(header, dict) else 0


def _listed(folder: Path) -> Iterator[str]:
    if folder.is_dir():
        yield from (file.name for file in folder.iterdir() if file.is_file())


def _tree(folder: Path) -> Iterator[str]:
    """Yield the paths of all files below a folder; folders that are links are followed once."""
    visited = set[str]()
    for place, folders, files in os.walk(folder, followlinks=True):
        real = os.path.realpath(place)
        if real in visited:
            folders.clear()
            continue
        visited.add(real)
        folders[:] = sorted(set(folders) - INERT_FOLDERS)
        yield from ((Path(place) / file).relative_to(folder).as_posix() for file in files)


def _shards(folder: Path, path: str, name: str) -> set[str]:
    """Return the files that an index of weights names."""
    index = _json(folder / path)
    shards = index.get("weight_map") if isinstance(index, dict) else None
    if not isinstance(shards, dict):
        raise ModelError(
            f"{name}: {path} is damaged: it must be a JSON object whose weight_map names files of weights."
        )
    for shard in shards.values():
        if not isinstance(shard, str) or not _is_relative(shard):
            raise ModelError(
                f"{name}: {path} names the file {shard!r}; an index may only name files inside of the checkpoint's "
                "folder, by relative paths without '..'."
            )
    return set(shards.values())


def _is_relative(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return bool(parts) and not path.startswith("/") and ".." not in parts and not set("\\\0") & set(path)


def _is_inside(folder: Path, path: str) -> bool:
    try:
        return _is_relative(path) and (folder / path).is_file()
    except OSError:  # too long to be a name
        return False


def _json(file: Path) -> Any:
    """Return a file's content; None if it cannot be read, which loading reports."""
    try:
        return json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None


def _strings(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one


def file_state(file: Path) -> tuple[int, ...]:
    """Return what changes with a file's content; no program can set the change time, which is the last."""
    status = file.stat()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def is_settled(*states: Sequence[int]) -> bool:
    """Return True if any later change of files in these states would change their times."""
    return all(time.time() - state[-1] / 1e9 > SETTLED_SECONDS for state in states)


def _file_digest(file: Path) -> str:
    key = file_state(file)
    if key in _digests:
        return _digests[key]
    with file.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    if is_settled(key):
        _digests[key] = digest
    return digest
