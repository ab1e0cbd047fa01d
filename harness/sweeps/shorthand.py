"""HELM's shorthand, ``name:key=value,key=value``, and which of its keys concern the run rather than the scenario.

Source: Liang et al. 2022; stanford-crfm/helm, ``common/object_spec.py`` and ``benchmark/run_expander.py``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.sweeps.foreign_names import KEYS

_LAST_SETTING = re.compile(r"(?P<name>.+),(?P<setting>\s*[a-z_][a-z0-9_.]*\s*=[^,]*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Entry:
    """A name and its arguments, each still the text that was written."""

    name: str
    arguments: Mapping[str, str] = field(default_factory=dict)


def parse_entry(text: str) -> Entry:
    """Split ``name:key=value,…`` at the first colon, every comma, and the first equals sign of each part.

    Raises:
        ValueError: A part is not ``key=value``, or a key is given twice; the message says which.
    """
    name, colon, rest = text.partition(":")
    if not name.strip():
        raise ValueError(f"{text!r} does not begin with a name.")
    if not colon and (found := re.fullmatch(r"([\w.-]+),(.*=.*)", text, re.DOTALL)):
        pairs = [[piece.strip() for piece in part.split("=", 1)] for part in found[2].split(",")]
        meant = f"{found[1]}:{','.join('='.join([KEYS.get(key, key), *value]) for key, *value in pairs)}"
        raise ValueError(f"{text!r} has no colon after the name. Write {meant}.")
    arguments: dict[str, str] = {}
    for part in rest.split(",") if colon else ():
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not key or not equals:
            raise ValueError(f"{part!r} in {text!r} is not of the form key=value.")
        if key in arguments:
            raise ValueError(f"{key!r} is given twice in {text!r}.")
        arguments[key] = value
    return Entry(name.strip(), arguments)


def parse_model(text: str) -> Entry:
    """Split ``backend:identifier,key=value,…``, the settings from the end; other commas are the identifier's.

    Settings end where what precedes them is the name of a file or folder.

    Raises:
        ValueError: A key is given twice.
    """
    name, settings = text, list[str]()
    while (found := _LAST_SETTING.fullmatch(name)) is not None and not _exists(name.partition(":")[2]):
        name = found["name"]
        settings.insert(0, found["setting"])
    if not settings:
        return Entry(text)
    arguments: dict[str, str] = {}
    for part in settings:
        key, _, value = (piece.strip() for piece in part.partition("="))
        if key in arguments:
            raise ValueError(f"{key!r} is given twice in {text!r}.")
        arguments[key] = value
    return Entry(name.strip(), arguments)


def _exists(path: str) -> bool:
    try:
        return Path(os.path.expanduser(path)).exists()
    except (OSError, ValueError, RuntimeError):  # it cannot be a path
        return False


def value_of(text: str) -> int | float | str:
    """Return what a shorthand's value means: a whole number, else a number, else the text itself."""
    if re.fullmatch(r"[-+]?[0-9]{1,18}", text):
        return int(text)
    if re.fullmatch(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]{1,2})?", text):
        return float(text)
    return text


@dataclass(frozen=True, slots=True)
class RunSettings:
    """What the arguments of a shorthand say about the run: by the run's key, and by the adapter's setting."""

    run: Mapping[str, Any]
    adapter: Mapping[str, Any]


RUN_KEYS: Mapping[str, str] = {
    "data_augmentation": "perturbations",
    "eval_split": "eval_split",
    "max_declined": "max_declined",
    "max_eval_instances": "max_eval_instances",
    "max_train_instances": "max_train_instances",
    "method": "adapter",
    "metrics": "metrics",
    "model": "models",
    "num_train_trials": "train_trials",
    "perturbations": "perturbations",
    "train_trials": "train_trials",
}
"""HELM's run expanders that are keys of a run here, and this harness's own keys that take one value."""

ADAPTER_SETTINGS = frozenset({"num_outputs", "temperature"})
"""HELM's run expanders that are settings of the adapter."""

FOREIGN = frozenset(
    {
        "add_to_stop",
        "chatml",
        "follow_format_instructions",
        "follow_the_format_instructions",
        "format_prompt",
        "global_prefix",
        "increase_max_tokens",
        "increase_temperature",
        "instructions",
        "model_deployment",
        "newline",
        "num_output_tokens",
        "num_prompt_tokens",
        "num_trials",
        "output_format_instructions",
        "process_output",
        "stop",
        "tokenizer",
    }
)
"""HELM's run expanders that have no counterpart: what they do is written out as settings of the adapter."""

MODEL_GROUPS = frozenset({"all", "text", "text_code", "code", "full_functionality_text"})
"""HELM's names for groups of models, which its published run entries use."""

_SHOTS = {"zero": 0, "one": 1, "all": [0, 1, 2, 4, 8, 16]}  # HELM's MaxTrainInstancesRunExpander


def run_settings(arguments: Mapping[str, str]) -> RunSettings:
    """Sort those arguments that are HELM's run expanders under the keys of a run and of its adapter."""
    run: dict[str, Any] = {}
    adapter: dict[str, Any] = {}
    for key, text in arguments.items():
        if key in ADAPTER_SETTINGS:
            adapter[key] = value_of(text)
        elif key == "max_train_instances":
            run[key] = _SHOTS.get(text, value_of(text))
        elif key in {"data_augmentation", "metrics", "model", "perturbations"}:
            run[RUN_KEYS[key]] = [text]
        elif key in RUN_KEYS:
            run[RUN_KEYS[key]] = text if key in {"method", "eval_split"} else value_of(text)
    return RunSettings(run, adapter)
