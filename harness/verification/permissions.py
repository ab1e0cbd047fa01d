"""What a foreign run.json must not do by itself: run code, use files, or send questions and keys to its own server."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from harness.contracts.specs import RunSpec
from harness.errors import HarnessError
from harness.output.display import brief
from harness.verification.results_files import is_inside

PERMISSION = "allow_"
"""The beginning of the names of parameters by which a user permits something, such as ``allow_code_execution``."""

_ENVIRONMENT = ("api_key_env", "headers_env")
"""Settings that name an environment variable whose value is sent to the model's server."""

_KEYS = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
"""The variable that a backend reads without being told."""

_OFFICIAL = {"openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com"}
"""Default addresses of backends: those of their own providers."""

_FILE = re.compile(r"log|(.+_)?(file|folder|dir)|.+_path")
"""Names of parameters that are local files, such as ``log`` and ``mapping_file``. Which are only read is unknown."""


def check_permissions(spec: RunSpec, allow: Collection[str]) -> None:
    """Check that what a run needs beyond asking a model is permitted.

    ``code_execution`` and the like are what its metrics need; ``remote_code`` is Python code that comes with a
    checkpoint; ``server`` is an address of a server other than this machine or the provider's own, or an environment
    variable that is sent to the server, other than the backend's own key; ``files`` is a local file that a plugin reads
    or writes, other than data in the data folder.

    Raises:
        HarnessError: Something is not permitted; the message names all permissions that are missing.
    """
    missing: dict[str, list[str]] = {}
    for name, why in dict.fromkeys(_needed(spec)):
        if name not in allow:
            missing.setdefault(name, []).append(why)
    if missing:
        wanted = "; ".join(f"--allow {name} ({', '.join(reasons)})" for name, reasons in sorted(missing.items()))
        raise HarnessError(f"the run needs permissions, since its run.json may come from elsewhere: {wanted}.")


def _needed(spec: RunSpec) -> Iterator[tuple[str, str]]:
    model = spec.configured_model
    yield from _of_entry("the model", {**model.arguments, "name": model.name})
    yield from _of_entry("the scenario", spec.scenario.arguments)
    yield from _of_entry("the adapter", spec.adapter.arguments)
    for perturbation in spec.perturbations:
        yield from _of_entry(f"perturbation {perturbation.name}", perturbation.arguments)
    for metric in spec.configured_metrics:
        yield from _of_entry(f"metric {metric.name}", metric.arguments)


def _of_entry(where: str, arguments: Any) -> Iterator[tuple[str, str]]:
    """Yield what a plugin's arguments need, and those of all plugins and models that they name, and why."""
    if isinstance(arguments, list | tuple):
        for one in arguments:
            yield from _of_entry(where, one)
    elif isinstance(arguments, Mapping):
        for key, value in arguments.items():
            yield from _of_key(where, key.rpartition(".")[2], value, str(arguments.get("name")))
            yield from _of_entry(where, value)
    elif isinstance(arguments, str) and arguments.startswith("litellm:") and "://" in arguments:
        yield "server", f"{where} is at {brief(arguments, 60)}"  # litellm takes an address as the name of a model


def _of_key(where: str, key: str, value: Any, model: str) -> Iterator[tuple[str, str]]:
    # A plugin may read 1, "yes" or "on" as true.
    if key.startswith(PERMISSION) and value is not False and value is not None:
        yield key.removeprefix(PERMISSION), where
    elif key == "trust_remote_code" and value:
        yield "remote_code", f"{where} runs Python code of its checkpoint"
    elif key == "base_url" and isinstance(value, str) and not (_is_local(value) or _is_official(value, model)):
        yield "server", f"{where} is at {brief(value, 60)}"
    elif key in _ENVIRONMENT and isinstance(value, str) and value != _KEYS.get(model.partition(":")[0]):
        yield "server", f"{where} is sent the environment variable {brief(value, 60)}"
    elif isinstance(value, str) and value and _is_file(key, value):
        yield "files", f"{where} uses the file {brief(value, 60)}"


def _is_file(key: str, value: str) -> bool:
    if key == "path":  # of a scenario's data, which are in the data folder unless it leads out of it
        return not is_inside(value.removeprefix("./"))
    return _FILE.fullmatch(key) is not None


def _is_official(url: str, model: str) -> bool:
    return url.rstrip("/") == _OFFICIAL.get(model.partition(":")[0])


def _is_local(url: str) -> bool:
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
