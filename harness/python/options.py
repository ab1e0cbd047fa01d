"""What ``harness.run`` and ``harness.evaluate`` can be told, and the sweep that it makes."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping, Sequence
from enum import Enum
from numbers import Integral, Real
from pathlib import Path
from typing import Any, TypedDict

from harness.costs.prices import load_prices
from harness.costs.runtimes import load_runtimes
from harness.errors import DataError, HarnessError, did_you_mean, shown
from harness.inference.cache_file import cache_file
from harness.plugins.registry import Registry
from harness.python.plugins import check_names, files_of, listed, unnoticed_changes
from harness.runs.settings import DATA_DIR, Settings, results_folder
from harness.sweeps.load import Overrides, Sweep, find_sweep, load_sweep, sweep_from_program

SUITE = "python"
"""The suite of runs that name none."""

KEYWORDS = {
    "--model": "models",
    "--plugin": "plugins",
    "--allow": "allow",
    "--executor": "executor",
    "--listener": "listeners",
    "--max-eval-instances": "max_eval_instances",
    "--max-declined": "max_declined",
}
"""For messages: the Python argument that replaces each command-line option."""

AnyPath = str | os.PathLike[str]
Entry = str | Mapping[str, Any]
"""A run or a model as in a sweep: its shorthand, or a mapping."""


class Options(TypedDict, total=False):
    """Options of ``harness.run`` and ``harness.evaluate``; those of the command line with the same names."""

    suite: str
    """Name of the suite (default: the sweep's, or ``python``)."""
    max_eval_instances: int
    """Evaluate at most this many instances per run."""
    max_declined: float
    """Share of examples that may be declined before a run fails, from 0 to 1."""
    plugins: Sequence[Any]
    """Further plugins: files, folders, or decorated objects. Those that the running program or notebook defines are
    known."""
    listeners: Sequence[Entry]
    """Listeners that get each run as it ends, such as ``wandb:project=evals``, besides the sweep's own."""
    allow: Sequence[str]
    """Permissions for actions that metrics need, such as ``code_execution``."""
    results_dir: AnyPath
    """Folder for results (default: ``HARNESS_RESULTS_DIR``, else ``results``)."""
    data_dir: AnyPath
    """Folder with data sets (default: ``HARNESS_DATA_DIR``)."""
    cache_dir: AnyPath
    """Folder for the response cache (default: ``HARNESS_CACHE_DIR``, else the folder of results)."""
    prices: AnyPath
    """YAML table of prices per token."""
    runtimes: AnyPath
    """YAML table of latencies."""
    force: bool
    """True to repeat finished runs; answers in the response cache are reused."""
    progress: bool
    """False to show no progress."""


_OPTIONAL: Mapping[str, tuple[type | tuple[type, ...], str]] = {
    "max_eval_instances": (Integral, "a whole number"),
    "max_declined": (Real, "a number from 0 to 1"),
    **dict.fromkeys(("results_dir", "data_dir", "cache_dir"), ((str, os.PathLike), "a folder")),
    **dict.fromkeys(("prices", "runtimes"), ((str, os.PathLike), "a file")),
}
"""Types of the options that may be None, with the words for them."""


def check_options(options: Options, function: str, own: Sequence[str]) -> None:
    """Refuse an argument that a function does not have, and values of another type.

    Raises:
        TypeError: There is such an argument; the message has the nearest name.
        HarnessError: A value has another type. A text in place of a list would be read letter by letter.
    """
    known = [*own, *Options.__annotations__]
    for name, value in options.items():
        if name not in known:
            raise TypeError(f"{function}() has no argument {name!r}. {did_you_mean(name, known)}")
        if name in ("plugins", "allow", "listeners"):
            listed(value, name)
        elif name in ("force", "progress") and not isinstance(value, bool):
            raise HarnessError(f"{name} must be True or False, not {shown(value)}.")
        elif name in _OPTIONAL and value is not None:
            types, words = _OPTIONAL[name]
            if isinstance(value, bool) or not isinstance(value, types):
                raise HarnessError(f"{name} must be {words}, not {shown(value)}.")


def read_sweep(
    sweep: AnyPath | Mapping[str, Any] | None,
    runs: Sequence[Entry] | None,
    models: Sequence[Entry] | None,
    registry: Registry,
    options: Options,
    executor: str | None = None,
) -> Sweep:
    """Return the sweep that a file, a mapping, or runs and models describe; its warnings are Python's warnings.

    Raises:
        SpecError: There are errors in it; all are reported at once.
        PluginError: A plugin of the program has the name of another.
        HarnessError: Neither or both of a sweep and runs are given.
    """
    if (sweep is None) == (runs is None):
        end = "; nothing to run was given." if sweep is None else ", not both."
        raise HarnessError(f"give a sweep (a file, the name of one, or a mapping), or runs=[…]{end}")
    if runs is not None and not models:
        raise HarnessError("runs need models, for example models=['hf:openai-community/gpt2'].")
    check_names(registry)
    overrides: Overrides = {
        "plugins": files_of(options.get("plugins", ())),
        "suite": options.get("suite"),
        "max_eval_instances": options.get("max_eval_instances"),
        "max_declined": options.get("max_declined"),
        "allow": tuple(options.get("allow", ())),
        "executor": executor,
        "listeners": [_plain(one, "listeners") for one in options.get("listeners", ())],
        "keywords": KEYWORDS,
    }
    if models is not None:
        overrides["models"] = [_plain(model, "models") for model in listed(models, "models")]
    if runs is not None:
        content = {"suite": SUITE, "runs": _plain(listed(runs, "runs"), "runs")}
        found, _ = sweep_from_program(content, registry=registry, **overrides)
    elif isinstance(sweep, Mapping):
        found, _ = sweep_from_program(_plain(sweep, "the sweep"), registry=registry, **overrides)
    elif isinstance(sweep, str | os.PathLike):
        found, _ = load_sweep(find_sweep(os.fspath(sweep)), registry=registry, **overrides)
    else:
        raise HarnessError(f"a sweep is a file, the name of one, or a mapping, not {shown(sweep)}.")
    problems = (f"Not usable: {problem}" for problem in registry.problems)
    for message in (*found.warnings, *problems, *unnoticed_changes(found.runs, registry)):
        warnings.warn(str(message), stacklevel=3)
    return found


def read_settings(options: Options, *, reuse_across_gpus: bool = False) -> Settings:
    """Return the folders and limits that the options name.

    Raises:
        HarnessError: The data folder or a table does not exist, the table has errors, or the folder of results or of
            the response cache is a file.
    """
    data = options.get("data_dir") or os.environ.get(DATA_DIR)
    if data is not None and not Path(data).is_dir():
        raise DataError(f"data_dir is {str(data)!r}, which is not a folder.")
    cache, prices, runtimes = (_path(options.get(key)) for key in ("cache_dir", "prices", "runtimes"))
    results = results_folder(options.get("results_dir"))
    nearest_folder(results, "results_dir")
    nearest_folder(cache_file(results, cache).parent, "cache_dir")
    return Settings(
        results,
        _path(data),
        options.get("force", False),
        load_prices(prices),
        load_runtimes(runtimes),
        cache,
        reuse_across_gpus,
    )


def nearest_folder(path: Path, name: str) -> Path:
    """Return a folder that need not exist, or the nearest one above it that exists.

    Args:
        path: The folder.
        name: The argument that names it, for the message.

    Raises:
        DataError: There is a file in its place, or above it.
    """
    there = next(one for one in (path.absolute(), *path.absolute().parents) if one.exists())
    if not there.is_dir():
        what = "a file" if there == path.absolute() else f"in {there}, a file"
        raise DataError(f"{name} is {str(path)!r}, which is {what}; name a folder.")
    return there


def _path(given: Any) -> Path | None:
    return None if given is None else Path(given)


def _plain(value: Any, name: str) -> Any:
    """Return what a program put together as JSON values, as if it had been read from a file."""

    def encoded(item: Any) -> Any:
        if isinstance(item, os.PathLike):
            return os.fspath(item)
        if isinstance(item, Enum):
            return item.value
        if isinstance(item, Mapping):
            return dict(item)
        if isinstance(item, set | frozenset | range):
            return sorted(item)
        if hasattr(item, "item") and getattr(item, "ndim", None) == 0:  # a number of NumPy
            return item.item()
        raise TypeError(shown(item))

    try:
        return json.loads(json.dumps(value, default=encoded, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        advice = " To evaluate a model in memory, use harness.evaluate." if name == "models" else ""
        raise HarnessError(f"{name}: only what YAML can hold is allowed, not {error}.{advice}") from None
