"""Where a result comes from: versions of libraries, the machine, and the files that define each plugin."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import sys
from dataclasses import fields
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType
from typing import Any

from harness.contracts import BatchMetric
from harness.contracts.plugins import Kind, MetricDetails, Plugin
from harness.contracts.specs import Component, RunSpec
from harness.costs.graphics_cards import graphics_cards
from harness.errors import PluginError, reraise_interrupt
from harness.inference.judge_pool import Judges
from harness.installation import DISTRIBUTION, imported_module
from harness.output.redaction import Redaction
from harness.plugins.cell_source import cell_source, plain
from harness.plugins.parameters import build
from harness.plugins.registry import Registry
from harness.plugins.titles import Titles

PACKAGES = (
    DISTRIBUTION,
    "torch",
    "transformers",
    "tokenizers",
    "accelerate",
    "datasets",
    "vllm",
    "numpy",
    "scipy",
    "pydantic",
)

OF_THIS_MACHINE = ("host", "command", "workers")
"""What the provenance says of the machine; it is neither published nor sent to trackers."""

_SECRET = re.compile(r"\bhf_\w{8,}|(?<=://)[^/@\s]+(?=@)")
"""Tokens of the Hub, and users with passwords in addresses, such as that of a tracker."""


def now() -> str:
    """Return the time in UTC, ISO 8601 to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@cache
def environment() -> dict[str, Any]:
    """Return the versions of the software that a run uses, and the machine it runs on."""
    return {
        "versions": {"python": platform.python_version(), **_versions()},
        "host": {
            "name": platform.node(),
            "system": f"{platform.system()} {platform.release()}",
            "machine": platform.machine(),
            "cpu": _processor(),
            "cpus": os.cpu_count(),
            **_graphics(),
        },
        "command": recorded_command(),
    }


def recorded_command() -> list[str]:
    """Return the ``harness`` command that was called, without keys; of any other program only its name.

    A program that calls ``harness.evaluate`` has arguments of its own, such as ``--hub_token``.
    """
    program, *arguments = sys.argv or [""]
    path = Path(program)
    if path.parts[-2:] == ("harness", "__main__.py"):  # python -m harness
        path = path.parent
    elif path.name not in ("harness", "harness.exe"):
        return [path.name]
    redact = Redaction(())
    return [path.name, *(_SECRET.sub(redact.placeholder, redact(argument)) for argument in arguments)]


def scenario_title(spec: RunSpec, registry: Registry) -> dict[str, Any]:
    """Return the title of a run's scenario and its parameters' default values, for tables; nothing if it is missing."""
    name = spec.scenario.name
    if registry.find(Kind.SCENARIO, name) is None:
        return {}
    titles = Titles(registry)
    known = titles.scenario(name)
    return {"title": known.title, "short": known.short, "defaults": dict(titles.defaults(name))}


def definitions(spec: RunSpec, registry: Registry, judges: Judges | None = None) -> dict[str, str]:
    """Return the SHA-256 of what defines each plugin that a run uses; of a missing plugin, nothing.

    That is its file, and the files of those modules of the same package that it uses, directly or through others; where
    a notebook's cell defines it, its source with what it uses of the notebook; of a metric that asks a judge, also the
    judge's; of one that asks models, also theirs. A file counts as it was when the registry was first asked about it.
    """
    used = [(Kind.SCENARIO, spec.scenario), (Kind.ADAPTER, spec.adapter)]
    used += [(Kind.PERTURBATION, part) for part in spec.perturbations]
    used += [(Kind.METRIC, part) for part in spec.configured_metrics]
    found = {}
    for kind, part in used:
        try:
            plugin = registry.get(kind, part.name)
        except PluginError:
            continue
        digest = hashlib.sha256()
        digest.update(_code(plugin, registry))
        if isinstance(plugin.details, MetricDetails) and plugin.details.judges:
            digest.update(_judge(part, registry, judges or Judges(registry)))
        if isinstance(plugin.details, MetricDetails) and plugin.details.models:
            digest.update(_metric(part, plugin, judges or Judges(registry)))
        found[f"{kind} {part.name}"] = digest.hexdigest()
    return found


def _code(plugin: Plugin, registry: Registry) -> bytes:
    """Return digests of a plugin's files; of one that no file defines, its source."""
    files = plugin_files(plugin)
    if not files and plugin.target is not None:
        declared = () if plugin.details is None else [field.name for field in fields(plugin.details)]
        told = {key: text for key in declared if (text := plain(getattr(plugin.details, key))) is not None}
        return f"{told}\n{cell_source(plugin.target)}".encode("utf-8", "surrogatepass")
    return b"".join(map(registry.digest, files))


def _judge(metric: Component, registry: Registry, judges: Judges) -> bytes:
    """Return what decides the judgements of a metric's judge; of one that cannot be built, nothing."""
    written = metric.arguments.get("judge", "")
    try:
        fingerprint = judges(written).fingerprint()
        plugin = registry.get(Kind.JUDGE, written if isinstance(written, str) else written["name"])
    except BaseException as error:
        reraise_interrupt(error)
        return b""  # the run says why
    return json.dumps(dict(fingerprint), sort_keys=True).encode() + _code(plugin, registry)


def _metric(part: Component, plugin: Plugin, judges: Judges) -> bytes:
    """Return what decides the scores of a metric that asks models; of one that cannot be built, nothing."""
    try:
        metric = build(plugin, judges.models, arguments=part.arguments)
        fingerprint = metric.fingerprint() if isinstance(metric, BatchMetric) else {}
    except BaseException as error:
        reraise_interrupt(error)
        return b""  # the run says why
    return json.dumps(dict(fingerprint), sort_keys=True).encode()


@cache
def plugin_files(plugin: Plugin) -> tuple[Path, ...]:
    """Return the files that define a plugin, as :func:`definitions` counts them."""
    modules: dict[str, ModuleType] = {}
    own = plugin.file
    _follow(sys.modules.get(getattr(plugin.target, "__module__", "")), modules)
    files = {Path(file) for module in modules.values() if (file := getattr(module, "__file__", None))}
    return tuple(sorted(file for file in files | ({own} if own else set()) if file.is_file()))


def _follow(module: ModuleType | None, found: dict[str, ModuleType]) -> None:
    if module is None or module.__name__ in found:
        return
    found[module.__name__] = module
    package = module.__name__.partition(".")[0]
    if package == __name__.partition(".")[0]:
        return  # the engine itself is identified by its version
    for value in vars(module).values():
        name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        if isinstance(name, str) and name.partition(".")[0] == package:
            _follow(sys.modules.get(name), found)


def _processor() -> str:
    """Return the kind of processor, as the system names it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            return next(line.partition(":")[2].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def _graphics() -> dict[str, Any]:
    """Return the graphics cards and what runs on them; nothing without a card."""
    cards = graphics_cards()
    if not cards.names:
        return {}
    found: dict[str, Any] = {"gpus": list(cards.names), "driver": cards.driver}
    if (torch := imported_module("torch")) is not None and torch.version.cuda is not None:
        found |= {"cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version()}
    return found


def _versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
