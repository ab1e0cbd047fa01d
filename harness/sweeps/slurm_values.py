"""Durations, sizes and options as Slurm takes them, for the settings of its executor."""

from __future__ import annotations

import math
import re
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

_UNITS = re.compile(r"(?:(?P<days>\d+)d)?\s*(?:(?P<hours>\d+)h)?\s*(?:(?P<minutes>\d+)m)?\s*(?:(?P<seconds>\d+)s)?")
_DAYS = re.compile(r"(?P<days>\d+)-(?P<hours>\d+)(?::(?P<minutes>\d+))?(?::(?P<seconds>\d+))?")
_CLOCK = re.compile(r"(?:(?P<hours>\d+):)?(?P<minutes>\d+):(?P<seconds>\d+)")
_MINUTES = re.compile(r"(?P<minutes>\d+)")
_MEMORY = re.compile(r"(?P<size>\d+)\s*(?P<unit>[KMGT])(?:i?B)?", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def minutes(text: str) -> int:
    """Return a duration in minutes, rounded up: ``4h``, ``1h 30m``, or as Slurm writes it, ``30`` or ``1-00:00:00``.

    Raises:
        ValueError: It is not a duration, or is zero.
    """
    for form in (_UNITS, _DAYS, _CLOCK, _MINUTES):
        match = form.fullmatch(text.strip())
        if match is not None and match[0]:
            parts = {unit: int(value or 0) for unit, value in match.groupdict().items()}
            hours = 24 * parts.get("days", 0) + parts.get("hours", 0)
            found = 60 * hours + parts.get("minutes", 0) + math.ceil(parts.get("seconds", 0) / 60)
            if found:
                return found
    raise ValueError(f"{text!r} is not a duration; write 4h, 30m or, as Slurm does, 1-00:00:00")


def memory(text: str) -> str:
    """Return a size as ``sbatch --mem`` takes it: ``64G``.

    Raises:
        ValueError: It is not a size, has no unit, or is zero.
    """
    match = _MEMORY.fullmatch(text.strip())
    if match is None or not int(match["size"]):
        raise ValueError(f"{text!r} is not a size; write 64G or 500M")
    return f"{int(match['size'])}{match['unit'].upper()}"


def _quoted(value: object) -> object:
    if isinstance(value, int) and not isinstance(value, bool):
        raise ValueError(f"{value} has no unit; write {value}m for minutes or {value}h for hours")
    return value


def _is_duration(text: str) -> str:
    minutes(text)
    return text


def _is_one_line(text: str) -> str:
    if _CONTROL.search(text):
        raise ValueError(f"{text!r} has a line break or another control character")
    return text


def _is_option(name: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9-]*", name):
        raise ValueError(f"{name!r} is not an option of sbatch; write it without dashes in front, such as reservation")
    if name in _OWN:
        raise ValueError(f"{name} is set by the harness{_OWN[name]}")
    return name


_OWN = {
    "array": "; use `heads`",
    "error": "",
    "output": "",
    "open-mode": "",
    "signal": "",
    "ntasks": "; use `heads`",
    "ntasks-per-node": "; use `heads`",
    "nodes": "; a head has one node",
    "requeue": "; use `requeues`",
    "no-requeue": "; use `requeues`",
    "partition": "; use `partition`",
    "time": "; use `time`",
    "gpus-per-node": "; use `gpus`",
    "cpus-per-task": "; use `cpus`",
    "mem": "; use `memory`",
    "account": "; use `account`",
    "qos": "; use `qos`",
    "constraint": "; use `constraint`",
}

Duration = Annotated[str, BeforeValidator(_quoted), AfterValidator(_is_duration)]
Size = Annotated[str, AfterValidator(memory)]
Line = Annotated[str, AfterValidator(_is_one_line)]
Option = Annotated[str, AfterValidator(_is_option)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
Names = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.,-]*$")]
Gpus = Annotated[int, Field(ge=0)] | Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]+:[1-9]\d*$")]
