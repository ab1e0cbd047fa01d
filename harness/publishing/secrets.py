"""Refuses to publish keys: values of this process's environment, and texts that look like keys of known services."""

from __future__ import annotations

import html
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import yaml

from harness.errors import HarnessError
from harness.output.markdown import escaped

_NAMES = re.compile(r"TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|(^|_)(API_?)?KEY(_|$)", re.IGNORECASE)
_KEYS = re.compile(
    r"\b(?:hf_[A-Za-z0-9]{30,}|sk-(?:ant-|proj-)?[A-Za-z0-9_-]{24,}|gh[pousr]_[A-Za-z0-9]{36,}"
    r"|AKIA[A-Z0-9]{16}|AIza[A-Za-z0-9_-]{35}|xox[abprs]-[A-Za-z0-9-]{10,})"
)
_SHORTEST = 12
"""Shortest value that is searched for; shorter ones occur by chance."""


class SecretCheck:
    """Checks texts before they are published.

    Args:
        environment: The environment variables; those whose names say that they are secret are searched for.
        token: The token for the Hub; None without one.
    """

    def __init__(self, environment: Mapping[str, str] | None = None, token: str | None = None) -> None:
        given = os.environ if environment is None else environment
        values = {
            value.strip(): f"the value of the environment variable {name}"
            for name, value in given.items()
            # os.path, which takes values that are too long for a path
            if _NAMES.search(name) and len(value.strip()) >= _SHORTEST and not os.path.exists(value.strip())
        }
        if token is not None and len(token) >= _SHORTEST:
            values[token] = "your token for the Hub"
        self._values = {spelling: name for value, name in values.items() for spelling in _spellings(value)}

    def check(self, text: str, where: str) -> None:
        """Check one text.

        Raises:
            HarnessError: It holds a secret; the message says where, not which.
        """
        what = next((name for value, name in self._values.items() if value in text), None)
        if what is None and _KEYS.search(text):
            what = "what looks like the key of a service"
        if what is not None:
            raise HarnessError(f"{where} contains {what}; nothing is published. Remove it from the results first.")

    def check_all(self, texts: Iterable[str], where: str) -> None:
        """Check several texts, like :meth:`check`."""
        for text in texts:
            self.check(text, where)

    def check_yaml(self, text: str, where: str) -> None:
        """Check a YAML file and its strings, which it may spread over several lines, like :meth:`check`."""
        self.check(text, where)
        self.check_all(_strings(yaml.safe_load(text)), where)


def _spellings(value: str) -> set[str]:
    """Return a value as files have it: plain, in JSON (also twice), HTML and Markdown, with line breaks or spaces."""
    once = {json.dumps(value, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False)}
    twice = {json.dumps(one, ensure_ascii=ascii_only)[1:-1] for one in once for ascii_only in (True, False)}
    spelled = {value, *once, *twice}
    in_script = {one.replace("<", "\\u003c") for one in once | twice}
    flat = {one.replace("\n", " ") for one in spelled}
    return spelled | in_script | {form(one) for one in spelled | flat for form in (str, html.escape, escaped)}


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for pair in value.items():
            yield from _strings(list(pair))
    elif isinstance(value, list):
        for one in value:
            yield from _strings(one)
