"""The executor of a sweep, as the sweep or the command line names it."""

from __future__ import annotations

from typing import Any

from harness.errors import KeyPath, did_you_mean, shown
from harness.sweeps.diagnostics import Diagnostics
from harness.sweeps.executor_keys import EXECUTORS, ExecutorKeys
from harness.sweeps.fan_out import combinations
from harness.sweeps.shorthand import parse_entry
from harness.sweeps.written import read_component


def read_executor(value: Any, option: str | None, diagnostics: Diagnostics) -> ExecutorKeys | None:
    """Return the executor of a sweep, with errors reported; None if nobody names one.

    The command line's ``--executor`` counts; where it names the sweep's own executor, it changes only the settings that
    it gives.

    Args:
        value: What the sweep has under ``executor``; None without it.
        option: What the command line names; None without it.
        diagnostics: Takes errors.
    """
    own = None if value is None else _read(value, ("executor",), diagnostics)
    if option is None:
        return own
    given = _read(option, ("--executor",), diagnostics)
    if given is None or type(own) is not type(given):
        return given
    return given.model_copy(update={key: getattr(own, key) for key in own.model_fields_set - given.model_fields_set})


def _read(value: Any, path: KeyPath, diagnostics: Diagnostics) -> ExecutorKeys | None:
    written = read_component(value, path, diagnostics, nameless=True, parse=parse_entry)
    if written is None:
        return None
    if not written.name:
        diagnostics.add((*path, "name"), "`name` is required.", f"One of: {', '.join(EXECUTORS)}.")
        return None
    if written.name not in EXECUTORS:
        hint = did_you_mean(written.name, EXECUTORS)
        diagnostics.add(written.name_path, f"there is no executor named {shown(written.name)}.", hint)
        return None
    found = combinations(EXECUTORS[written.name], written.arguments, path, diagnostics, fan_out=False)
    return next((keys for keys in found if isinstance(keys, ExecutorKeys)), None)
