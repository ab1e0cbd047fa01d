"""The spec of a run in a file that this harness exported, which lets the imported run share the original's column."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from harness.contracts.specs import RunSpec
from harness.errors import shown


def own_spec(written: Any, key: str, suite: str) -> RunSpec:
    """Return the spec in a file, in another suite.

    Raises:
        ValueError: It is not a spec.
    """
    if not isinstance(written, dict):
        raise ValueError(f"{key} is not a run's spec")
    try:
        return RunSpec.model_validate({**written, "suite": suite})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise ValueError(f"{key}: {place}: {first['msg']}") from None


def check_own_spec(key: str, stated: Mapping[str, tuple[Any, Any]]) -> None:
    """Check that a spec is that of the file's results.

    Args:
        key: Where the spec is, for messages.
        stated: By the key of a value in the file, that value and the spec's.

    Raises:
        ValueError: They differ.
    """
    for place, (there, here) in stated.items():
        if there != here:
            raise ValueError(f"{place} is {shown(there, 60)}, but {key} says {shown(here, 60)}")
