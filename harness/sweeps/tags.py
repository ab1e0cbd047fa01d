"""Entries that choose scenarios by tag: ``tag:reasoning`` means every scenario with the tag.

Each scenario is run as if it were named, with its own defaults; of a parameter that it requires, every value is run.
"""

from __future__ import annotations

import difflib
import re
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic.fields import FieldInfo

from harness.contracts.plugins import Kind
from harness.contracts.specs import RunSpec
from harness.errors import Diagnostic, KeyPath, PluginError, shown
from harness.plugins.parameters import parameters_of
from harness.plugins.registry import Registry
from harness.sweeps.context import Context
from harness.sweeps.diagnostics import Diagnostics
from harness.sweeps.entries import Defaults
from harness.sweeps.expand import expand_entry

PREFIX = "tag:"
"""What such an entry begins with."""

_MOST_NAMED = 8
"""Scenarios that are named in one message."""


def expand(value: Any, path: KeyPath, defaults: Defaults, context: Context) -> Iterator[RunSpec]:
    """Yield the runs of one entry, which may name a tag; every error is reported.

    A scenario that cannot be run as the tag chooses it, such as one whose metric needs a judge to be named, is left out
    with a warning; it is an error if this is so for all of them.
    """
    written = value.get("scenario") if isinstance(value, Mapping) else value
    if not isinstance(written, str) or not _names_tag(written):
        yield from expand_entry(value, path, defaults, context)
        return
    tag, _, settings = written.removeprefix(PREFIX).partition(",")
    tags = context.registry.tags()
    if tag.strip() not in tags:
        place = (*path, "scenario") if isinstance(value, Mapping) else path
        context.diagnostics.add(place, f"there is no tag {shown(tag)}.", unknown_tag_hint(tag, tags))
        return
    refused: dict[str, Sequence[Diagnostic]] = {}
    chosen = 0
    for name in tags[tag.strip()]:
        fields = _parameters(name, context.registry)
        given = {part.partition("=")[0].strip() for part in settings.split(",")}
        asked = [key for key, field in fields.items() if field.is_required() and key not in given]
        open_ended = [key for key in asked if typing.get_origin(fields[key].annotation) is not typing.Literal]
        if open_ended:
            arguments = ",".join(f"{key}=…" for key in asked)
            message = f"a value for {' and '.join(open_ended)} is required."
            refused[name] = [context.diagnostics.at(path, message, f"Write {name}:{arguments} as another run.")]
            continue
        arguments = ",".join([*(f"{key}=all" for key in asked), *filter(None, settings.split(","))])
        shorthand = f"{name}:{arguments}" if arguments else name
        entry = shorthand if isinstance(value, str) else {**value, "scenario": shorthand}
        apart = Diagnostics(context.diagnostics.document, context.diagnostics.options, context.diagnostics.keywords)
        runs = list(expand_entry(entry, path, defaults, replace(context, diagnostics=apart, without_prompt=None)))
        if apart.count:
            refused[name] = apart.found
            continue
        context.diagnostics.take_warnings(apart)
        chosen += 1
        yield from runs
    if chosen:
        for names, found in _alike({name: found[:1] for name, found in refused.items()}):
            hint = found.hint if found.hint.startswith("Write") else ""
            context.diagnostics.warn(path, f"leaves out {_listed(names)}: {_whole(found)}", hint)
    else:
        for names, found in _alike(refused):
            more = f" This applies to {_listed(names)}." if len(names) > 1 else ""
            context.diagnostics.extend([replace(found, message=found.message + more)])


def _alike(refused: Mapping[str, Sequence[Diagnostic]]) -> Iterator[tuple[list[str], Diagnostic]]:
    """Yield each different error with the scenarios that have it; its hint only where it is the same for all."""
    groups: dict[tuple[KeyPath, str], dict[str, Diagnostic]] = {}
    for name, found in refused.items():
        for diagnostic in found:
            groups.setdefault((diagnostic.keys, diagnostic.message), {})[name] = diagnostic
    for group in groups.values():
        first, hints = next(iter(group.values())), {diagnostic.hint for diagnostic in group.values()}
        yield list(group), first if len(hints) == 1 else replace(first, hint="")


def _whole(found: Diagnostic) -> str:
    """Return an error's message, with what it is about where that is left to its place: ``foo is not a parameter``."""
    if not found.message.startswith("is ") or not found.keys:
        return found.message
    last = str(found.keys[-1])
    setting = re.search(r"\[([^\]]+)\]$", last)  # on the command line: --run boolq,foo=1 [foo]
    return f"{setting[1] if setting else last} {found.message}"


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def unknown_tag_hint(tag: str, tags: Mapping[str, Sequence[str]]) -> str:
    """Return the nearest tags and, after them, all that there are with the number of their scenarios."""
    near = difflib.get_close_matches(tag.strip().lower().replace("_", "-").replace(" ", "-"), tags, n=3, cutoff=0.6)
    meant = f"Did you mean {' or '.join(map(repr, near))}? " if near else ""
    return f"{meant}Tags: {', '.join(f'{name} ({len(scenarios)})' for name, scenarios in tags.items())}."


def _names_tag(written: str) -> bool:
    """Return True unless it is the shorthand of a scenario named ``tag``."""
    return written.startswith(PREFIX) and "=" not in written.partition(",")[0]


def _parameters(name: str, registry: Registry) -> Mapping[str, FieldInfo]:
    try:
        return parameters_of(registry.get(Kind.SCENARIO, name)).model_fields
    except PluginError:
        return {}  # reported when it is used
