"""The checkpoints of a training that writes them into a folder: which are complete, changed or gone.

Saving is not atomic: a folder appears first, then its files one by one. A checkpoint is complete when its configuration
can be read and each file of weights is as long as its own header says; and when nothing more is to come, which shows in
the Trainer's ``trainer_state.json``, its last file, or in that nothing has changed since the last look. Tokenizers are
saved after the weights, but some checkpoints never have one: without it, one more look is needed.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from harness.contracts.training_steps import step_in
from harness.errors import HarnessError, ModelError
from harness.models.tokens.checkpoint_files import MOST_HEADER, file_state, files_read

LAST_FILE = "trainer_state.json"
_CONFIGS = ("config.json", "adapter_config.json")
_NOT_WEIGHTS = ("training_args.bin",)
_VOCABULARIES = ("tokenizer.json", "tekken.json", "vocab*", "*.model", "*.spm", "*.tiktoken")
"""Files of which each tokenizer has at least one."""
_PART = re.compile(r"(.*)-\d+-of-(\d+)(\.\w+)")
"""Names of files that hold a part of the weights, such as ``model-00001-of-00003.safetensors``."""
_UNFINISHED = (".", "tmp-")
"""How names of folders begin under which checkpoints are written before they are renamed."""

State = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class SavedCheckpoint:
    """A checkpoint on disk."""

    path: Path
    """Its folder."""
    step: int
    """Optimizer steps before it was saved."""
    state: State
    """Names, sizes and times of the files that loading reads."""


@dataclass(frozen=True, slots=True)
class Scan:
    """What a look into the folder has shown."""

    ready: tuple[SavedCheckpoint, ...] = ()
    """Complete checkpoints that have not been taken, or have been written again since, by step."""
    incomplete: dict[str, str] = field(default_factory=dict)
    """Why the others are incomplete, by name."""
    news: tuple[str, ...] = ()
    """Messages for the user, each reported once."""


class CheckpointFolder:
    """A folder in which checkpoints appear, such as the ``output_dir`` of a Trainer.

    Args:
        path: The folder.

    Raises:
        HarnessError: It is not a folder, or a checkpoint itself.
    """

    def __init__(self, path: Path) -> None:
        if not path.is_dir():
            raise HarnessError(f"{path} is not a folder. Name the folder in which the training saves its checkpoints.")
        if any((path / config).is_file() for config in _CONFIGS) and step_in(path.name):
            raise HarnessError(f"{path} is a checkpoint; name the folder that it is in, {path.parent}.")
        self.path = path
        self._seen: dict[Path, tuple[State, int]] = {}  # the state at the last look, and for how many looks
        self._taken: dict[Path, State] = {}
        self._told: set[str] = set()

    def scan(self) -> Scan:
        """Look into the folder.

        Raises:
            HarnessError: The folder is gone.
        """
        if not self.path.is_dir():
            raise HarnessError(f"{self.path} is gone.")
        news: list[str] = []
        skipped: list[str] = []
        ready: list[SavedCheckpoint] = []
        incomplete: dict[str, str] = {}
        steps: dict[int, Path] = {}
        now: dict[Path, tuple[State, int]] = {}
        for folder in sorted(self.path.iterdir(), key=lambda one: (step_of(one), one.name)):
            if folder.name.startswith(_UNFINISHED) or not _is_checkpoint(folder):
                continue
            step = step_of(folder)
            if step < 0:
                skipped.append(f"{folder.name} is skipped: its name has no step (a name with one: checkpoint-500).")
                continue
            if step in steps:
                skipped.append(f"{folder.name} is skipped: {steps[step].name} has the same step.")
                continue
            steps[step] = folder
            try:
                state = _state(folder)
                lacks = lacking(folder)
            except (OSError, ModelError) as error:  # it is just being written, or deleted
                state, lacks = (), str(error)
            before, looks = self._seen.get(folder, (None, 0))
            looks = looks + 1 if before == state else 1
            now[folder] = state, looks
            if not lacks and looks < _looks_needed(folder, state):
                lacks = "it may still be growing"
            if lacks:
                incomplete[folder.name] = lacks
            elif self._taken.get(folder) != state:
                if folder in self._taken:
                    news.append(f"{folder.name} was written again; it is evaluated again.")
                    del self._taken[folder]
                ready.append(SavedCheckpoint(folder, step, state))
        for folder in self._seen.keys() - now.keys() - self._taken.keys():
            news.append(f"{folder.name} was deleted before it was evaluated.")
        self._seen = now
        told = (*(text for text in skipped if text not in self._told), *news)
        self._told.update(skipped)
        return Scan(tuple(ready), incomplete, told)

    def take(self, checkpoint: SavedCheckpoint) -> None:
        """Note that a checkpoint is evaluated; it is ready again only when it is written again."""
        self._taken[checkpoint.path] = checkpoint.state


def step_of(folder: Path) -> int:
    """Return the step in a folder's name; -1 without one."""
    found = step_in(folder.name)
    return -1 if found is None else found[1]


def lacking(folder: Path) -> str:
    """Return what a checkpoint lacks to be loaded; '' if it is complete.

    Raises:
        OSError: A file has just gone.
        ModelError: An index of weights is damaged, or half-written.
    """
    configs = [folder / name for name in _CONFIGS if (folder / name).is_file()]
    for config in configs:
        try:
            json.loads(config.read_bytes())
        except ValueError:
            return f"{config.name} is incomplete"
    if not configs:
        return "it has no config.json"
    named: set[str] = set()
    for index in sorted(folder.glob("*.index.json")):
        try:
            named.update(json.loads(index.read_bytes())["weight_map"].values())
        except (ValueError, LookupError, AttributeError, TypeError):
            return f"{index.name} is incomplete"
    files = files_read(folder, folder.name, remote_code=False)
    held = [file for path, file in files.items() if path.endswith((".safetensors", ".bin"))]
    held = [file for file in held if file.name not in _NOT_WEIGHTS]
    if missing := sorted(name for name in named if not (folder / name).is_file()):
        return f"{missing[0]} is missing" + (f", and {len(missing) - 1} more" if len(missing) > 1 else "")
    if not named and (parts := _parts_missing([file.name for file in held])):
        return parts
    if not held:
        return "it has no weights"
    for file in held:
        whole = _whole_safetensors(file) if file.suffix == ".safetensors" else zipfile.is_zipfile(file)
        if not whole:
            return f"{file.name} is incomplete"
    return ""


def _is_checkpoint(folder: Path) -> bool:
    """Return whether a folder is a checkpoint or may become one."""
    return folder.is_dir() and (step_of(folder) >= 0 or any((folder / name).is_file() for name in _CONFIGS))


def _parts_missing(names: Sequence[str]) -> str:
    """Return what is missing by the names of files of weights, if no index names them all; '' if nothing is."""
    found = Counter(part.groups() for name in names if (part := _PART.fullmatch(name)))
    for (_, count, _), there in found.items():
        if there < int(count):
            return f"{int(count) - there} of {int(count)} files of weights are missing"
    return ""


def _looks_needed(folder: Path, state: State) -> int:
    """Return how many looks in a row must find a checkpoint in the same state before it counts as complete."""
    if _finished(folder):
        return 1
    names = [Path(path).name for path, *_ in state]
    return 2 if any(fnmatch(name, pattern) for name in names for pattern in _VOCABULARIES) else 3


def _finished(folder: Path) -> bool:
    """Return whether the Trainer has written its last file."""
    try:
        return isinstance(json.loads((folder / LAST_FILE).read_bytes()), dict)
    except (OSError, ValueError):
        return False


def _state(folder: Path) -> State:
    """Return what changes when a checkpoint is written: names, sizes and times of the files that loading reads."""
    return tuple((path, *file_state(file)) for path, file in files_read(folder, folder.name, remote_code=False).items())


def _whole_safetensors(file: Path) -> bool:
    """Return whether a file is as long as its header says (https://github.com/huggingface/safetensors#format)."""
    size = file.stat().st_size
    with file.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if size < 8 or length > min(size - 8, MOST_HEADER):
            return False
        try:
            header = json.loads(stream.read(length))
            ends = [entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"]
            return size == 8 + length + max(ends, default=0)
        except (ValueError, LookupError, AttributeError, TypeError, RecursionError):
            return False
